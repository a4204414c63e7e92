//! Which sides are in a launch if not all candidates can be there at once: all processes of the base, and candidates that are neighbours
//! in the plan, so that each is often measured beside those that it is most like.

use crate::campaign::draws::{below, generator};
use model::block::Side;
use model::plan::Plan;

/// The generators of launches are numbered from 1 up: those of sets of launches begin far above.
const FIRST_SET: u32 = 1 << 20;

/// The sides of a launch, counted from 1, in ascending order, of those that go on.
///
/// Candidates stand in a circle. Launches come in sets of as many as it takes until each candidate was in one; a set cuts the circle at a place of
/// its own, drawn from the seed, into groups of the stated size. If they do not come out even, the last group has the first of the first as well.
pub fn sides_of_launch(plan: &Plan, going_on: &[Side], launch: u32) -> Vec<Side> {
    let (candidates, base): (Vec<Side>, Vec<Side>) =
        going_on.iter().copied().partition(|side| plan.candidate_sides().contains(side));
    let at_once = plan.layout.candidates_at_once.unwrap_or(candidates.len());
    if candidates.len() <= at_once {
        return going_on.to_vec();
    }
    let count = candidates.len();
    let launches_of_set = u32::try_from(count.div_ceil(at_once)).unwrap_or(u32::MAX);
    let (set, place) = ((launch - 1) / launches_of_set, (launch - 1) % launches_of_set);
    let mut random = generator(plan.seed, FIRST_SET + set);
    let cut = below(&mut random, count);
    let first = cut + place as usize * at_once;
    let mut sides: Vec<Side> = (first..first + at_once).map(|index| candidates[index % count]).collect();
    sides.extend(base);
    sides.sort_unstable();
    sides
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::samples::plan;
    use model::plan::{Design, Purpose};
    use model::units::Nanos;
    use std::collections::BTreeMap;

    /// Seven candidates, and two processes of the base.
    fn seven(at_once: Option<usize>) -> Plan {
        let mut plan = plan(&["rocksdb@8.5.4"; 9], &["readrandom"], Nanos(0));
        plan.purpose = Purpose::Campaign;
        plan.layout.design = Design::Interleaved;
        plan.layout.further_base_processes = 1;
        plan.layout.candidates_at_once = at_once;
        plan
    }

    #[test]
    fn every_launch_has_the_base_and_neighbours_and_every_set_of_launches_each_candidate() {
        let plan = seven(Some(3));
        let all: Vec<Side> = (0..9).collect();
        let mut pairs: BTreeMap<(Side, Side), u32> = BTreeMap::new();
        let mut launches_of: BTreeMap<Side, u32> = BTreeMap::new();
        for set in 0..200 {
            let mut seen = Vec::new();
            for launch in set * 3 + 1..=set * 3 + 3 {
                let sides = sides_of_launch(&plan, &all, launch);
                assert_eq!(sides, sides_of_launch(&plan, &all, launch), "drawn from the seed");
                assert_eq!(sides.len(), 5);
                assert!(sides.contains(&0) && sides.contains(&8), "{sides:?}");
                let candidates = sides[1..4].to_vec();
                let step = |pair: &[Side]| (pair[1] + 7 - pair[0]) % 7;
                let gaps: usize = candidates.windows(2).map(step).filter(|gap| *gap > 1).count();
                assert!(gaps <= 1, "{candidates:?} are neighbours in the circle");
                for (index, side) in candidates.iter().enumerate() {
                    *launches_of.entry(*side).or_default() += 1;
                    candidates[index + 1..]
                        .iter()
                        .for_each(|other| *pairs.entry((*side, *other)).or_default() += 1);
                }
                seen.extend(candidates);
            }
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7], "each candidate is in some launch of set {set}");
        }
        // Nine places for seven candidates in each of 200 sets.
        assert!(launches_of.values().all(|launches| (220..=300).contains(launches)), "{launches_of:?}");
        let neighbours = (1..7).map(|side| pairs[&(side, side + 1)]).min();
        assert!(neighbours > Some(80), "{pairs:?}");
    }

    #[test]
    fn all_are_there_if_they_fit() {
        let all: Vec<Side> = (0..9).collect();
        for plan in [seven(None), seven(Some(7)), seven(Some(20))] {
            assert_eq!(sides_of_launch(&plan, &all, 4), all);
        }
        // Sides that have left are in no launch, and what is left may fit.
        assert_eq!(sides_of_launch(&seven(Some(3)), &[0, 2, 4, 6, 8], 1), [0, 2, 4, 6, 8]);
        let five = sides_of_launch(&seven(Some(3)), &[0, 2, 3, 4, 6, 8], 1);
        assert!(five.len() == 5 && five.iter().all(|side| [0, 2, 3, 4, 6, 8].contains(side)), "{five:?}");
    }
}
