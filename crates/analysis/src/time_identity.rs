//! Where the time of an operation went: an exact sum, so that its parts explain a difference completely.

use crate::launch::{LaunchSummary, Totals};
use crate::student;

/// `wall per operation = CPU + run delay + everything else`, on a foreground thread, in microseconds. With T
/// threads an operation takes T times the wall time divided by the operations of all.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeIdentity {
    pub wall: TimePart,
    /// Running on a CPU.
    pub cpu: TimePart,
    /// Runnable, waiting for a CPU.
    pub run_delay: TimePart,
    /// Blocked on IO or a lock, asleep, and what the clocks of the kernel do not share. May be slightly
    /// negative: the parts come from different clocks. If it is more than that, see [`TimeIdentity::adds_up`].
    pub other: TimePart,
}

/// One part of the time of an operation: means over launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimePart {
    /// The base's, in microseconds per operation.
    pub base_us: f64,
    pub candidate_us: f64,
    /// Share of the difference in wall time; absent where that is zero. It may exceed 1 or be negative, where
    /// parts moved in opposite directions.
    pub share: Option<f64>,
    /// 99 % interval of candidate less base by Student's t, in microseconds; absent below three launches.
    pub difference_us: Option<(f64, f64)>,
}

/// Level of the intervals.
const INTERVAL_ALPHA: f64 = 0.01;

/// CPU and run delay together may be more than the wall time by this share of it. Chosen: CPU alone, by clocks that are read
/// one after the other, is at most 0.1 % more in the 42 steps of the shipped example, so more than 2 % is no matter of
/// clocks; and it is the margin within which nothing is called a change.
const MOST_OVERLAP: f64 = 0.02;

impl TimeIdentity {
    /// Whether the parts are a sum that can be shown: on neither side is the rest much below zero. It is where times
    /// overlap, as those of a client and a server on one CPU in runs of versions that charged each with its turns.
    pub fn adds_up(&self) -> bool {
        let is_sum = |wall: f64, other: f64| other >= -MOST_OVERLAP * wall;
        is_sum(self.wall.base_us, self.other.base_us)
            && is_sum(self.wall.candidate_us, self.other.candidate_us)
    }
}

/// The identity over these launches; absent where none has operations on both sides, and where a side's CPU is not
/// known.
pub fn time_identity(launches: &[LaunchSummary]) -> Option<TimeIdentity> {
    if !launches.iter().all(LaunchSummary::knows_cpu) {
        return None;
    }
    let usable: Vec<&LaunchSummary> = launches
        .iter()
        .filter(|launch| launch.base.operations > 0.0 && launch.candidate.operations > 0.0)
        .collect();
    let wall = part(&usable, |totals| totals.thread_wall_s)?;
    let change = wall.candidate_us - wall.base_us;
    let shared = |of: fn(&Totals) -> f64| {
        let part = part(&usable, of)?;
        let share = (change.abs() > 0.0).then(|| (part.candidate_us - part.base_us) / change);
        Some(TimePart { share, ..part })
    };
    Some(TimeIdentity {
        wall: TimePart { share: (change.abs() > 0.0).then_some(1.0), ..wall },
        cpu: shared(|totals| totals.thread_cpu_s)?,
        run_delay: shared(|totals| totals.thread_run_delay_s)?,
        other: shared(|totals| totals.thread_wall_s - totals.thread_cpu_s - totals.thread_run_delay_s)?,
    })
}

fn part(launches: &[&LaunchSummary], of: fn(&Totals) -> f64) -> Option<TimePart> {
    let per_operation = |totals: &Totals| 1e6 * of(totals) / totals.operations;
    let base: Vec<f64> = launches.iter().map(|launch| per_operation(&launch.base)).collect();
    let candidate: Vec<f64> = launches.iter().map(|launch| per_operation(&launch.candidate)).collect();
    let differences: Vec<f64> =
        base.iter().zip(&candidate).map(|(base, candidate)| candidate - base).collect();
    Some(TimePart {
        base_us: student::mean(&base)?,
        candidate_us: student::mean(&candidate)?,
        share: None,
        difference_us: student::interval(&differences, INTERVAL_ALPHA),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Comparison, pairs, summarize};
    use crate::simulation::blocks::{BlockSpec, block};
    use std::collections::BTreeSet;

    #[test]
    fn the_parts_add_up_and_the_right_one_is_on_top() {
        let mut blocks = Vec::new();
        for launch in 1..=4 {
            let spec = BlockSpec {
                launch,
                operations: 1000,
                wall_us: 100_000 + 100 * u64::from(launch),
                cpu_us: 60_000,
                run_delay_us: 10_000,
                foreground_threads: 2,
                ..BlockSpec::default()
            };
            blocks.push(block(&spec));
            blocks.push(block(&BlockSpec {
                side: 1,
                wall_us: spec.wall_us + 20_000,
                cpu_us: 80_000,
                ..spec
            }));
        }
        let excluded = BTreeSet::new();
        let comparison = Comparison { step: "readrandom", candidate: 1, excluded: &excluded };
        let identity = time_identity(&summarize(&pairs(&blocks, &comparison), false)).unwrap();
        // Two threads: 100 ms for 1000 operations are 200 us of a thread's time each.
        assert!((identity.cpu.base_us - 120.0).abs() < 1e-9);
        assert!((identity.cpu.share.unwrap() - 1.0).abs() < 1e-9, "{identity:?}");
        assert!(identity.other.share.unwrap().abs() < 1e-9);
        let (low, high) = identity.cpu.difference_us.unwrap();
        assert!((low - 40.0).abs() < 1e-6 && (high - 40.0).abs() < 1e-6);
        for side in [|part: &TimePart| part.base_us, |part: &TimePart| part.candidate_us] {
            let sum = side(&identity.cpu) + side(&identity.run_delay) + side(&identity.other);
            assert!((sum - side(&identity.wall)).abs() < 1e-9);
        }
        assert_eq!(time_identity(&[]), None);
    }

    #[test]
    fn parts_that_overlap_by_more_than_clocks_differ_are_no_sum() {
        let adds_up = |base_delay_us, candidate_delay_us| {
            let side = |side, run_delay_us| {
                let spec = BlockSpec { wall_us: 100_000, cpu_us: 90_000, ..BlockSpec::default() };
                block(&BlockSpec { launch: 1, side, operations: 1000, run_delay_us, ..spec })
            };
            let blocks = [side(0, base_delay_us), side(1, candidate_delay_us)];
            let excluded = BTreeSet::new();
            let comparison = Comparison { step: "readrandom", candidate: 1, excluded: &excluded };
            time_identity(&summarize(&pairs(&blocks, &comparison), false)).unwrap().adds_up()
        };
        assert!(adds_up(5_000, 10_000));
        assert!(adds_up(11_900, 11_900));
        assert!(!adds_up(12_100, 5_000), "the base's");
        assert!(!adds_up(5_000, 12_100), "the candidate's");
    }
}
