//! How many launches a comparison gets that is to confirm a step.

use super::Rule;
use super::fit::Difference;

/// A step may be so much smaller than the launches that found it say: they were the ones that looked large.
const SIZE_SHARE: f64 = 0.8;
/// Standard errors that a step is off by to be shown in 19 of 20 comparisons at 1 %: 2.6 and 1.6, and a tenth for looks.
const CONFIRMING_ERRORS: f64 = 4.6;
/// With fewer, one launch that goes the other way keeps a step from being shown.
const LEAST_TO_CONFIRM: u32 = 10;
const MOST_TO_CONFIRM: u32 = 48;

/// What shows a step of the size that was searched for, with room for its being smaller, to be beyond layout. `expected`
/// is that size as the search believes it, `known` the difference of the neighbours by all launches: the belief in one
/// step takes too much for its size if there are several.
pub(super) fn most_launches(rule: &Rule, expected: f64, known: Option<Difference>, noise: f64) -> u32 {
    let believed = SIZE_SHARE * rule.wanted.size(expected);
    let measured = known.map_or(believed, |known| rule.wanted.size(known.shift) - known.error);
    let size = believed.min(measured);
    let layout = rule.least_confirmed();
    if size <= layout {
        return MOST_TO_CONFIRM;
    }
    let beyond = (size * size - layout * layout).sqrt();
    let launches = (CONFIRMING_ERRORS * noise / beyond).powi(2);
    (LEAST_TO_CONFIRM..MOST_TO_CONFIRM).find(|most| f64::from(*most) >= launches).unwrap_or(MOST_TO_CONFIRM)
}
