//! What else moved: every counter, per operation, by the same paired launches. Moved together, never caused.

use crate::correlation::rank_correlation;
use crate::launch::{LaunchSummary, Totals};
use crate::student;
use model::counter::Counter;

/// One counter on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterFinding {
    pub counter: Counter,
    /// The base's value: per operation, or the level; mean over launches.
    pub base_value: f64,
    pub candidate_value: f64,
    /// Candidate over base: exp of the mean over the launches of the logarithms.
    pub ratio: f64,
    /// Lower end of a 99 % interval by Student's t; absent below three launches.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// p by Student's t over the launches; absent below three.
    pub p: Option<f64>,
    /// Whether it moved: Benjamini-Hochberg at 1 % over all counters.
    pub moved: bool,
    /// |t|, at most 10: the order of those that moved.
    pub score: f64,
    /// The counter of higher rank that it moves in step with, launch by launch, so that it is the same finding.
    pub twin_of: Option<Counter>,
}

/// Share of false findings among those that moved (statistics 1.8, rule 2).
const FALSE_DISCOVERY_RATE: f64 = 0.01;
/// Level of the counters' intervals.
const INTERVAL_ALPHA: f64 = 0.01;
/// Rank correlation over launches above which two counters are one finding (statistics 1.8, rule 4).
const TWIN_CORRELATION: f64 = 0.95;
/// Logarithms closer than this are equal but for rounding: counters with constant ratios have no ranks.
const EQUAL: f64 = 1e-9;
/// With fewer launches such a correlation is too often chance (at 8: about 0.1 %).
const LEAST_LAUNCHES_FOR_TWINS: usize = 8;
/// More evidence than this does not raise a counter further (statistics 1.8, rule 2).
const LARGEST_SCORE: f64 = 10.0;

/// The counters that both sides have in every launch, in the order of [`Counter::ALL`]. One that stayed at zero
/// is left out.
///
/// The value of a launch is the logarithm of a quotient of sums, not a trimmed mean over pairs: a block has
/// few ticks, faults or calls, and their logarithms would be rounding. Where any side of any launch has
/// zero, half of the counter's resolution is added throughout, per operation of a side of mean length: two
/// zeros are equal, however many more operations one side did. Logarithms of few counts lean towards the side
/// that did more, so such a counter has only moved if its counts also differ from what the sides' operations
/// would have shared out. The launches may come from an early stop, which leans a little towards counters that
/// go with the rate.
pub fn counter_findings(launches: &[LaunchSummary]) -> Vec<CounterFinding> {
    let mut series: Vec<Series> =
        Counter::ALL.into_iter().filter_map(|counter| series_of(counter, launches)).collect();
    let p_values: Vec<f64> = series.iter().map(|series| series.finding.p.unwrap_or(1.0)).collect();
    let moved = crate::family::benjamini_hochberg(&p_values, FALSE_DISCOVERY_RATE);
    for (series, moved) in series.iter_mut().zip(moved) {
        series.finding.moved = moved;
    }
    mark_twins(&mut series);
    series.into_iter().map(|series| series.finding).collect()
}

/// A counter and its value in each launch.
struct Series {
    values: Vec<f64>,
    finding: CounterFinding,
}

fn series_of(counter: Counter, launches: &[LaunchSummary]) -> Option<Series> {
    let mut readings: Vec<[(f64, f64); 2]> = Vec::with_capacity(launches.len());
    for launch in launches {
        readings.push([reading(counter, &launch.base)?, reading(counter, &launch.candidate)?]);
    }
    let all = || readings.iter().flatten();
    if readings.is_empty() || all().all(|(count, _)| *count <= 0.0) {
        return None;
    }
    let added = if all().any(|(count, _)| *count <= 0.0) { 0.5 * counter.resolution() } else { 0.0 };
    let values: Vec<f64> = readings
        .iter()
        .map(|[base, candidate]| {
            let floor = added / (0.5 * (base.1 + candidate.1));
            (candidate.0 / candidate.1 + floor).ln() - (base.0 / base.1 + floor).ln()
        })
        .collect();
    let center = student::mean(&values)?;
    let mean_of = |side: usize| {
        readings.iter().map(|sides| sides[side].0 / sides[side].1).sum::<f64>() / readings.len() as f64
    };
    let interval = student::interval(&values, INTERVAL_ALPHA);
    let error = student::standard_deviation(&values).map(|sd| sd / (values.len() as f64).sqrt());
    let score = match error {
        Some(error) if error > 0.0 => (center / error).abs().min(LARGEST_SCORE),
        Some(_) if center.abs() > 0.0 => LARGEST_SCORE,
        Some(_) | None => 0.0,
    };
    let finding = CounterFinding {
        counter,
        base_value: mean_of(0),
        candidate_value: mean_of(1),
        ratio: center.exp(),
        low: interval.map(|(low, _)| low.exp()),
        high: interval.map(|(_, high)| high.exp()),
        p: p_of(&readings, &values, added > 0.0),
        moved: false,
        score,
        twin_of: None,
    };
    Some(Series { values, finding })
}

/// p of "its rate is the same on both sides", by Student's t over the launches.
fn p_of(readings: &[[(f64, f64); 2]], logarithms: &[f64], has_zeros: bool) -> Option<f64> {
    let p = student::mean_is_zero_p(logarithms)?;
    if !has_zeros {
        return Some(p);
    }
    // At equal rates the candidate's count has, given both together, this mean whatever the lengths: no lean.
    let excess: Vec<f64> = readings
        .iter()
        .map(|[base, candidate]| candidate.0 - (base.0 + candidate.0) * candidate.1 / (base.1 + candidate.1))
        .collect();
    Some(student::mean_is_zero_p(&excess)?.max(p))
}

/// The count and what it is divided by: operations, or 1 for a level.
fn reading(counter: Counter, totals: &Totals) -> Option<(f64, f64)> {
    let count = *totals.counters.get(&counter)?;
    let divisor = if counter.is_level() { 1.0 } else { totals.operations };
    (divisor > 0.0).then_some((count, divisor))
}

/// Among the counters that moved, in the order of their rank, each that goes with an earlier one is its twin.
fn mark_twins(series: &mut [Series]) {
    let mut ranked: Vec<usize> = (0..series.len()).filter(|index| series[*index].finding.moved).collect();
    // Rounded, so that equal counters keep their order whatever the last bit says.
    let rounded = |number: f64| (number * 1e9).round();
    ranked.sort_by(|left, right| {
        let key = |index: &usize| {
            let finding = &series[*index].finding;
            (rounded(finding.score), rounded(finding.ratio.ln().abs()))
        };
        let (left, right) = (key(left), key(right));
        right.0.total_cmp(&left.0).then(right.1.total_cmp(&left.1))
    });
    let mut leaders: Vec<usize> = Vec::new();
    for index in ranked {
        let leader =
            leaders.iter().find(|leader| are_twins(&series[**leader].values, &series[index].values)).copied();
        match leader {
            Some(leader) => series[index].finding.twin_of = Some(series[leader].finding.counter),
            None => leaders.push(index),
        }
    }
}

fn are_twins(left: &[f64], right: &[f64]) -> bool {
    left.len() >= LEAST_LAUNCHES_FOR_TWINS
        && (left.iter().zip(right).all(|(left, right)| (left - right).abs() < EQUAL)
            || rank_correlation(left, right).is_some_and(|correlation| correlation.abs() > TWIN_CORRELATION))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Comparison, pairs, summarize};
    use crate::simulation::blocks::{BlockSpec, block};
    use model::block::Block;
    use std::collections::BTreeSet;

    /// Ten launches of two blocks; `set` gives the counters of a block by launch and side.
    fn findings(set: impl Fn(u32, usize, &mut Block)) -> Vec<CounterFinding> {
        findings_of(10, set)
    }

    fn findings_of(launches: u32, set: impl Fn(u32, usize, &mut Block)) -> Vec<CounterFinding> {
        let mut blocks = Vec::new();
        for launch in 1..=launches {
            for side in 0..2 {
                for cycle in 0..2 {
                    let mut block = block(&BlockSpec { launch, side, cycle, ..BlockSpec::default() });
                    set(launch, side, &mut block);
                    blocks.push(block);
                }
            }
        }
        let excluded = BTreeSet::new();
        let comparison = Comparison { step: "readrandom", candidate: 1, excluded: &excluded };
        counter_findings(&summarize(&pairs(&blocks, &comparison), false))
    }

    /// A spread that has no trend: 0, 3, 6, 9, 2, 5, 8, 1, 4, 7.
    fn wobble(launch: u32) -> u64 {
        u64::from(launch * 3 % 10)
    }

    #[test]
    fn a_counter_that_moved_is_found_and_one_that_did_not_is_not() {
        let found = findings(|launch, side, block| {
            let more = if side == 1 { 200 } else { 0 };
            block.counters.insert(Counter::ReadCalls, 1000 + more + wobble(launch));
            // The sides' wobbles differ and have the same mean.
            let noise = if side == 1 { wobble(launch) } else { wobble(11 - launch) };
            block.counters.insert(Counter::MinorFaults, 500 + noise);
            block.counters.insert(Counter::MajorFaults, 0);
        });
        assert_eq!(found.len(), 2, "a counter that stayed at zero is left out");
        let (faults, reads) = (&found[0], &found[1]);
        assert_eq!((faults.counter, reads.counter), (Counter::MinorFaults, Counter::ReadCalls));
        assert!(reads.moved && (reads.ratio - 1.2).abs() < 0.01, "{reads:?}");
        assert!(reads.low.unwrap() < reads.ratio && reads.ratio < reads.high.unwrap());
        assert!(!faults.moved && faults.p.unwrap() > 0.1, "{faults:?}");
    }

    #[test]
    fn a_zero_takes_half_of_the_resolution() {
        let found = findings(|_, side, block| {
            block.counters.insert(Counter::MajorFaults, if side == 1 { 3 } else { 0 });
        });
        // Two blocks: 6 against 0 faults, half a fault added to each.
        assert!((found[0].ratio - 13.0).abs() < 1e-9, "{:?}", found[0]);
        assert!(found[0].moved);
    }

    #[test]
    fn a_counter_at_zero_does_not_follow_the_number_of_operations() {
        let found = findings(|launch, side, block| {
            block.operations = if side == 1 { 1000 + wobble(launch) } else { 5000 };
            block
                .counters
                .insert(Counter::SystemCpuMicros, if launch == 4 && side == 0 { 10_000 } else { 0 });
        });
        let system = found.iter().find(|finding| finding.counter == Counter::SystemCpuMicros).unwrap();
        assert!(!system.moved && system.ratio <= 1.0, "{system:?}");
        assert!(system.candidate_value.abs() < 1e-12, "{system:?}");
    }

    #[test]
    fn few_counts_of_a_shorter_side_are_no_lower_rate() {
        // One fault in 5,000 operations on both sides; the candidate does a fifth of the base's.
        let found = findings_of(80, |launch, side, block| {
            block.operations = if side == 1 { 500 } else { 2500 };
            let faults = if side == 1 { u64::from(launch % 10 == 0) } else { u64::from(launch % 2 == 0) };
            block.counters.insert(Counter::MajorFaults, faults);
        });
        assert!(!found[0].moved && found[0].p.unwrap() > 0.5, "{:?}", found[0]);
    }

    #[test]
    fn arithmetic_twins_are_one_finding() {
        let found = findings(|launch, side, block| {
            let reads = if side == 1 { 130 + wobble(launch) } else { 100 };
            block.counters.insert(Counter::ReadCalls, reads);
            block.counters.insert(Counter::ReadCallBytes, reads * 4096);
            let other = if side == 1 { 130 + wobble(launch * 7 + 3) } else { 100 };
            block.counters.insert(Counter::MinorFaults, other);
        });
        let twins: Vec<_> = found.iter().filter_map(|finding| finding.twin_of).collect();
        assert_eq!(twins, [Counter::ReadCalls]);
        assert!(found.iter().all(|finding| finding.moved));
    }
}
