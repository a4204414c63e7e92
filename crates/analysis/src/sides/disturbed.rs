//! Launches in which the host disturbed a step: they are set aside, whatever they measured.
//!
//! How much a side's blocks scatter about each other says how well its value is known in that launch, and nothing of where it lies among the
//! values of others. So to leave a launch out for it biases nothing, and the sign flips and permuted labels of what is left are as exact as
//! before. `docs/adr/047-launches-that-the-host-disturbed-are-set-aside.md` has what it is worth.

use super::SideLaunch;
use crate::student::median;

/// So many times the middle launch's scatter, in both rates, is a disturbance.
const DISTURBED: f64 = 3.0;
/// Of fewer launches the middle one may be disturbed itself.
const LEAST_LAUNCHES: usize = 5;

/// Takes the launches out that the host disturbed, the worst first, as long as `least` are left: fewer can show nothing. How many went.
pub fn set_aside(launches: &mut Vec<SideLaunch>, least: usize) -> usize {
    let of = |rate: fn(&super::Scatter) -> f64| {
        let mut known: Vec<f64> =
            launches.iter().filter_map(|launch| launch.scatter.as_ref().map(rate)).collect();
        if known.len() < LEAST_LAUNCHES { f64::INFINITY } else { DISTURBED * median(&mut known) }
    };
    let (most_wall, most_adjusted) = (of(|one| one.wall), of(|one| one.adjusted));
    let mut disturbed: Vec<(f64, u32)> = launches
        .iter()
        .filter_map(|launch| Some((launch.scatter?, launch.launch)))
        .filter(|(one, _)| one.wall > most_wall && one.adjusted > most_adjusted)
        .map(|(one, launch)| (one.wall, launch))
        .collect();
    disturbed.sort_by(|left, right| right.0.total_cmp(&left.0));
    disturbed.truncate(launches.len().saturating_sub(least));
    launches.retain(|launch| disturbed.iter().all(|(_, number)| *number != launch.launch));
    disturbed.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sides::{Scatter, SideStep, side_launches};
    use crate::simulation::blocks::{BlockSpec, STEP, block};
    use model::block::Block;
    use std::collections::{BTreeMap, BTreeSet};

    fn launches(scatters: &[Option<(f64, f64)>]) -> Vec<SideLaunch> {
        (1..)
            .zip(scatters)
            .map(|(launch, scatter)| SideLaunch {
                launch,
                values: BTreeMap::new(),
                scatter: scatter.map(|(wall, adjusted)| Scatter { wall, adjusted }),
            })
            .collect()
    }

    fn numbers(launches: &[SideLaunch]) -> Vec<u32> {
        launches.iter().map(|launch| launch.launch).collect()
    }

    #[test]
    fn a_launch_goes_if_its_blocks_scatter_three_times_as_much_in_both_rates() {
        let quiet = Some((0.01, 0.008));
        let mut all = launches(&[
            quiet,
            Some((0.029, 0.04)),
            quiet,
            Some((0.1, 0.02)),
            Some((0.1, 0.1)),
            quiet,
            None,
            quiet,
        ]);
        assert_eq!(set_aside(&mut all, 3), 1);
        assert_eq!(numbers(&all), [1, 2, 3, 4, 6, 7, 8]);
        assert_eq!(set_aside(&mut all, 3), 0, "what is left is quiet");
        let mut few = launches(&[quiet, quiet, quiet, Some((1.0, 1.0))]);
        assert_eq!(set_aside(&mut few, 3), 0, "too few to know what is usual");
    }

    #[test]
    fn the_worst_go_first_as_long_as_enough_are_left() {
        let quiet = Some((0.01, 0.01));
        let of = || launches(&[quiet, Some((0.1, 0.1)), quiet, quiet, Some((0.2, 0.2)), quiet, quiet, quiet]);
        for (least, expected) in
            [(6, &[1, 3, 4, 6, 7, 8][..]), (7, &[1, 2, 3, 4, 6, 7, 8]), (8, &[1, 2, 3, 4, 5, 6, 7, 8])]
        {
            let mut some = of();
            assert_eq!(set_aside(&mut some, least), 8 - expected.len());
            assert_eq!(numbers(&some), expected);
        }
    }

    /// Eight launches of five sides whose blocks scatter by 2 %; in the sixth, every third block of these sides is slow.
    fn blocks(disturbed: &[usize]) -> Vec<Block> {
        let operations = |launch: u32, cycle: u32, side: usize| {
            let noise =
                (u64::from(launch) * 7919 + u64::from(cycle) * 104_729 + side as u64 * 1_299_709) % 400;
            let is_slow =
                launch == 6 && disturbed.contains(&side) && (cycle as usize + 2 * side).is_multiple_of(3);
            if is_slow { 5000 } else { 10_000 + noise }
        };
        let of = |launch, cycle, side| {
            block(&BlockSpec {
                launch,
                cycle,
                side,
                operations: operations(launch, cycle, side),
                ..BlockSpec::default()
            })
        };
        (1..=8)
            .flat_map(|launch| (0..10).flat_map(move |cycle| (0..5).map(move |side| of(launch, cycle, side))))
            .collect()
    }

    #[test]
    fn what_hits_most_sides_is_the_hosts_and_what_hits_one_is_its_own() {
        for (slow, expected) in [(&[0, 1, 2, 4][..], &[6][..]), (&[3], &[]), (&[], &[])] {
            for writes in [false, true] {
                let none = BTreeSet::new();
                let of = SideStep { step: STEP, writes, excluded: &none };
                let mut launches = side_launches(&blocks(slow), &of);
                let all = numbers(&launches);
                assert_eq!(set_aside(&mut launches, 3), expected.len(), "{slow:?} {writes}");
                let left: Vec<u32> = all.into_iter().filter(|launch| !expected.contains(launch)).collect();
                assert_eq!(numbers(&launches), left, "{slow:?} {writes}");
            }
        }
    }
}
