//! From blocks to one value of each side in each launch, in logarithms. Only differences of sides within a launch mean anything:
//! what all of them share in a launch is in the values of some steps and not of others.

use crate::launch::{
    error_of_trimmed_mean, ln_adjusted_rate, ln_quotient, ln_wall_rate, totals, trimmed_mean,
};
use crate::student::median;
use model::block::{Block, BlockKind, Side};
use std::collections::{BTreeMap, BTreeSet};

/// ln of both rates of one side in one launch, operations per second, less what all sides have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideValue {
    pub wall: f64,
    /// Of the contention-adjusted rate.
    pub adjusted: f64,
}

/// One launch of one step: the sides that have a value.
#[derive(Debug, Clone, PartialEq)]
pub struct SideLaunch {
    /// Its number, from 1.
    pub launch: u32,
    pub values: BTreeMap<Side, SideValue>,
    /// How well these are known; absent if no side has two blocks.
    pub scatter: Option<Scatter>,
}

/// Standard error of a side's value by how its blocks scatter about each other in the launch, in ln, by rate: the middle over the sides, so
/// that what hits one of them is not in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scatter {
    pub wall: f64,
    pub adjusted: f64,
}

/// Which blocks make the values.
#[derive(Debug, Clone, Copy)]
pub struct SideStep<'a> {
    pub step: &'a str,
    /// Whether it changes the database: then sums over the launch count, untrimmed.
    pub writes: bool,
    /// Launch and side of trials that failed: none of their blocks counts.
    pub excluded: &'a BTreeSet<(u32, Side)>,
}

/// The values of a step by launch, in ascending order; a launch in which no side has one is left out.
///
/// Where the step only reads, a side's value is the trimmed mean over cycles of ln(rate) less the cycle's mean over sides. That
/// mean is over the sides that have a rate in every cycle, so that a side that is away for a cycle does not shift the
/// others in it. With two sides the difference of their values is that of [`crate::launch::summarize`]. Where the step
/// writes, it is ln of the quotient of sums over the launch, and a side without a block in a cycle that others have has none: its
/// database would be another one. The order of `blocks` is of no consequence, unless one block is given twice: then the later one
/// counts.
pub fn side_launches<'a>(blocks: impl IntoIterator<Item = &'a Block>, of: &SideStep<'_>) -> Vec<SideLaunch> {
    let mut launches: BTreeMap<u32, Cycles<'a>> = BTreeMap::new();
    for block in blocks {
        let trial = &block.trial;
        let is_excluded = of.excluded.contains(&(trial.launch, trial.side));
        if block.kind != BlockKind::Drain && trial.step == of.step && !is_excluded {
            let cycles = launches.entry(trial.launch).or_default();
            cycles.entry(block.kind).or_default().insert(trial.side, block);
        }
    }
    launches
        .into_iter()
        .map(|(launch, cycles)| SideLaunch {
            launch,
            values: values_of(&cycles, of.writes),
            scatter: scatter_of(&cycles),
        })
        .filter(|launch| !launch.values.is_empty())
        .collect()
}

fn scatter_of(cycles: &Cycles<'_>) -> Option<Scatter> {
    let of = |rate| {
        // The mean would carry a slow block of one side into all others.
        let errors = centered(cycles, rate, median).into_values().filter_map(error_of_trimmed_mean);
        let mut errors: Vec<f64> = errors.collect();
        (!errors.is_empty()).then(|| median(&mut errors))
    };
    Some(Scatter { wall: of(ln_wall_rate)?, adjusted: of(ln_adjusted_rate)? })
}

type Cycles<'a> = BTreeMap<BlockKind, BTreeMap<Side, &'a Block>>;

fn values_of(cycles: &Cycles<'_>, writes: bool) -> BTreeMap<Side, SideValue> {
    let both = |wall: BTreeMap<Side, f64>, adjusted: BTreeMap<Side, f64>| {
        wall.into_iter()
            .filter_map(|(side, wall)| Some((side, SideValue { wall, adjusted: *adjusted.get(&side)? })))
            .collect()
    };
    if writes {
        let of_totals = |seconds: fn(&crate::launch::Totals) -> f64| {
            let complete = |side: &Side| cycles.values().all(|of| of.contains_key(side));
            let sides: BTreeSet<Side> = cycles.values().flat_map(|of| of.keys().copied()).collect();
            let rate = |side: Side| {
                let sums = totals(cycles.values().filter_map(|of| of.get(&side).copied()));
                Some((side, ln_quotient(sums.operations, seconds(&sums))?))
            };
            sides.into_iter().filter(complete).filter_map(rate).collect()
        };
        both(of_totals(|sums| sums.wall_s), of_totals(|sums| sums.adjusted_s))
    } else {
        both(trimmed(cycles, ln_wall_rate), trimmed(cycles, ln_adjusted_rate))
    }
}

/// Trimmed means over cycles, by side.
fn trimmed(cycles: &Cycles<'_>, rate: fn(&Block) -> Option<f64>) -> BTreeMap<Side, f64> {
    let mean = |rates: &mut [f64]| rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let of_sides = centered(cycles, rate, mean).into_iter();
    of_sides.filter_map(|(side, values)| Some((side, trimmed_mean(values)?))).collect()
}

/// ln of the rate of each block less the middle of its cycle, by side.
fn centered(
    cycles: &Cycles<'_>,
    rate: fn(&Block) -> Option<f64>,
    middle: fn(&mut [f64]) -> f64,
) -> BTreeMap<Side, Vec<f64>> {
    let rates: Vec<BTreeMap<Side, f64>> = cycles
        .values()
        .map(|of| of.iter().filter_map(|(side, block)| Some((*side, rate(block)?))).collect())
        .collect();
    let everywhere = |side: &Side| rates.iter().all(|of: &BTreeMap<Side, f64>| of.contains_key(side));
    let sides: BTreeSet<Side> = rates.iter().flat_map(|of| of.keys().copied()).collect();
    let complete: BTreeSet<Side> = sides.iter().copied().filter(everywhere).collect();
    let mut by_side: BTreeMap<Side, Vec<f64>> = BTreeMap::new();
    for of in &rates {
        let sides = if complete.is_empty() { &sides } else { &complete };
        let center = middle(&mut sides.iter().filter_map(|side| of.get(side).copied()).collect::<Vec<f64>>());
        for (side, rate) in of {
            by_side.entry(*side).or_default().push(rate - center);
        }
    }
    by_side
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Comparison, pairs, summarize};
    use crate::simulation::blocks::{BlockSpec, STEP, block};

    fn at(launch: u32, cycle: u32, side: Side, operations: u64) -> Block {
        block(&BlockSpec { launch, cycle, side, operations, ..BlockSpec::default() })
    }

    fn values(blocks: &[Block], writes: bool) -> Vec<SideLaunch> {
        side_launches(blocks, &SideStep { step: STEP, writes, excluded: &BTreeSet::new() })
    }

    /// Operations of a block that scatter.
    fn scattered(launch: u32, cycle: u32, side: usize) -> u64 {
        1000 + u64::from((launch * 37 + cycle * 53) % 101) + (side as u64 * 29 * u64::from(cycle)) % 67
    }

    #[test]
    fn two_sides_have_the_value_of_their_pairs() {
        let blocks: Vec<Block> = (1..4u32)
            .flat_map(|launch| {
                (0..11u32).flat_map(move |cycle| {
                    [0, 1].map(|side| at(launch, cycle, side, scattered(launch, cycle, side)))
                })
            })
            .collect();
        let none = BTreeSet::new();
        let pairs = pairs(&blocks, &Comparison { step: STEP, candidate: 1, excluded: &none });
        for writes in [false, true] {
            let ours = values(&blocks, writes);
            for (launch, summary) in ours.iter().zip(summarize(&pairs, writes)) {
                let difference = launch.values[&1].wall - launch.values[&0].wall;
                assert!((difference - summary.wall.unwrap()).abs() < 1e-12, "{writes}");
                let difference = launch.values[&1].adjusted - launch.values[&0].adjusted;
                assert!((difference - summary.adjusted.unwrap()).abs() < 1e-12, "{writes}");
            }
            assert_eq!(ours.len(), 3);
        }
    }

    #[test]
    fn what_a_cycle_does_to_all_sides_is_taken_out() {
        // Cycles at half and at full speed; side 2 is slower by a tenth.
        let speed = |cycle: u32| if cycle.is_multiple_of(3) { 500 } else { 1000 };
        let blocks: Vec<Block> = (0..10)
            .flat_map(|cycle| {
                [0, 1, 2].map(|side| {
                    at(1, cycle, side, if side == 2 { speed(cycle) * 9 / 10 } else { speed(cycle) })
                })
            })
            .collect();
        let launch = &values(&blocks, false)[0];
        assert!((launch.values[&2].wall - launch.values[&0].wall - 0.9f64.ln()).abs() < 1e-12);
        assert!((launch.values[&1].wall - launch.values[&0].wall).abs() < 1e-12);
        let sum: f64 = launch.values.values().map(|value| value.wall).sum();
        assert!(sum.abs() < 1e-12, "they are about 0: {sum}");
    }

    #[test]
    fn a_side_that_is_away_for_a_cycle_does_not_shift_the_others() {
        let mut blocks: Vec<Block> = (0..10)
            .flat_map(|cycle| [0, 1, 2].map(|side| at(1, cycle, side, if side == 2 { 500 } else { 1000 })))
            .collect();
        let of_all = values(&blocks, false);
        blocks.remove(5);
        let without = values(&blocks, false);
        let difference = |launch: &SideLaunch, side: Side| launch.values[&side].wall - launch.values[&0].wall;
        for side in [1, 2] {
            assert!((difference(&of_all[0], side) - difference(&without[0], side)).abs() < 1e-12);
        }
        let written = values(&blocks, true);
        assert_eq!(written[0].values.keys().copied().collect::<Vec<Side>>(), [0, 1], "another database");
    }

    #[test]
    fn a_stall_is_trimmed_from_reads_and_counts_in_writes() {
        let blocks: Vec<Block> = (0..10)
            .flat_map(|cycle| {
                [0, 1, 2].map(|side| at(1, cycle, side, if (side, cycle) == (2, 4) { 100 } else { 1000 }))
            })
            .collect();
        let difference = |writes| {
            let launch = &values(&blocks, writes)[0];
            launch.values[&2].wall - launch.values[&0].wall
        };
        assert!(difference(false).abs() < 1e-12);
        assert!((difference(true) - 0.91f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn failed_trials_drains_other_steps_and_empty_blocks_count_for_nothing() {
        let mut blocks =
            vec![at(2, 0, 0, 100), at(2, 0, 1, 90), at(1, 0, 0, 100), at(1, 0, 1, 80), at(1, 1, 1, 0)];
        blocks.push(Block { kind: BlockKind::Drain, ..at(2, 0, 1, 7) });
        let mut other = at(2, 1, 1, 7);
        other.trial.step = "other".to_owned();
        blocks.push(other);
        let excluded = BTreeSet::from([(2, 1)]);
        let launches = side_launches(&blocks, &SideStep { step: STEP, writes: false, excluded: &excluded });
        assert_eq!(
            launches.iter().map(|launch| (launch.launch, launch.values.len())).collect::<Vec<_>>(),
            [(1, 2), (2, 1)]
        );
        assert!(side_launches(&[], &SideStep { step: STEP, writes: false, excluded: &excluded }).is_empty());
    }
}
