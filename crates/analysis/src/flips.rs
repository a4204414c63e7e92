//! The joint sign flips of the launches of a run, sums under each of them, and what of alpha a test by them spends look by
//! look. Which statistics are flipped is the business of others.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::LazyLock;

/// Launches whose signs are flipped independently; signs of later ones are parities of some of these.
const FREE: usize = 13;
/// Flips in the subgroup; the first leaves everything as it is.
pub(crate) const FLIPS: usize = 1 << FREE;
/// Launches of a family: a flip is one machine word.
pub(crate) const MOST_LAUNCHES: usize = 64;
/// Any fixed number: it makes the same flips on every host.
const SEED: u64 = 0x5eed_b0c5;
/// Values are rounded to this before they are summed, so that sums are exact and a flip ties with its opposite.
const GRAIN: f64 = 1.0 / (1u64 << 40) as f64;

/// Bit l of a word is set if the flip changes the sign of launch l.
static WORDS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let masks = parity_masks();
    (0..FLIPS as u64)
        .map(|flip| {
            (0..)
                .zip(&masks)
                .fold(0, |word, (bit, mask)| word | u64::from((flip & mask).count_ones() & 1) << bit)
        })
        .collect()
});

/// Which free launches make up the sign of each launch. No two are alike: no two launches always flip together.
fn parity_masks() -> Vec<u64> {
    let mut masks: Vec<u64> = (0..FREE).map(|bit| 1 << bit).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    while masks.len() < MOST_LAUNCHES {
        let mask = random.next_u64() % FLIPS as u64;
        if mask.count_ones() > 3 && !masks.contains(&mask) {
            masks.push(mask);
        }
    }
    masks
}

/// The sum of the values under each flip, in the order of the flips: one value for each launch, 0 for a launch that has none.
pub(crate) fn sums(values: &[f64]) -> Vec<f64> {
    repeated(distinct_sums(values).collect())
}

/// A statistic of the sum of these values under every flip. Computed once for flips that are the same up to the last value.
pub(crate) fn under_flips(values: &[f64], statistic: impl Fn(f64) -> f64) -> Vec<f32> {
    repeated(distinct_sums(values).map(|sum| narrow(statistic(sum))).collect())
}

/// Flips of the free launches repeat themselves before later launches come in.
fn repeated<T: Copy>(mut of_distinct: Vec<T>) -> Vec<T> {
    of_distinct.reserve_exact(FLIPS - of_distinct.len());
    while of_distinct.len() < FLIPS {
        of_distinct.extend_from_within(..);
    }
    of_distinct
}

fn distinct_sums(values: &[f64]) -> impl Iterator<Item = f64> {
    let rounded: Vec<f64> = values.iter().map(|value| (value / GRAIN).round() * GRAIN).collect();
    let tables: Vec<[f64; 256]> = rounded.chunks(8).map(byte_sums).collect();
    WORDS[..1 << values.len().min(FREE)].iter().map(move |word| {
        let bytes = tables.iter().zip(word.to_le_bytes());
        bytes.map(|(table, byte)| table[usize::from(byte)]).sum::<f64>()
    })
}

/// The sum of up to eight values under each flip of them.
fn byte_sums(values: &[f64]) -> [f64; 256] {
    let mut sums = [0.0; 256];
    sums[0] = values.iter().sum();
    for flip in 1..256usize {
        let lowest = flip.trailing_zeros() as usize;
        sums[flip] = sums[flip & (flip - 1)] - 2.0 * values.get(lowest).copied().unwrap_or(0.0);
    }
    sums
}

/// A statistic as it is kept: it is compared and never computed with.
#[expect(
    clippy::cast_possible_truncation,
    reason = "what is larger than an f32 can be is brought down to it"
)]
pub(crate) fn narrow(statistic: f64) -> f32 {
    statistic.min(f64::from(f32::MAX)) as f32
}

/// How many flips are no more than this share of them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a few thousand")]
fn flips_of(share: f64) -> usize {
    (share.max(0.0) * FLIPS as f64 + 1e-9) as usize
}

/// Which flips were rejected at a look so far: a test of one statistic, or of the largest of several, look by look.
#[derive(Debug, Clone)]
pub(crate) struct Spending {
    rejected: Vec<bool>,
    count: usize,
}

impl Spending {
    pub(crate) fn new() -> Spending {
        Spending { rejected: vec![false; FLIPS], count: 0 }
    }

    /// Takes a look at which `spent` of alpha may be spent in all: a statistic is rejected if it is larger than what is
    /// returned, which is the smallest number that so few flips exceed.
    pub(crate) fn look(&mut self, statistic: &[f32], spent: f64) -> f32 {
        let critical = self.critical(statistic, spent);
        for (rejected, value) in self.rejected.iter_mut().zip(statistic) {
            if !*rejected && *value > critical {
                *rejected = true;
                self.count += 1;
            }
        }
        critical
    }

    fn critical(&self, statistic: &[f32], spent: f64) -> f32 {
        let may_exceed = flips_of(spent).saturating_sub(self.count);
        // The largest, ascending, one more than may exceed: few of thousands.
        let mut largest: Vec<f32> = Vec::with_capacity(may_exceed + 2);
        for (rejected, value) in self.rejected.iter().zip(statistic) {
            let belongs = largest.len() <= may_exceed || largest.first().is_some_and(|least| value > least);
            if !rejected && belongs {
                largest.insert(largest.partition_point(|one| one < value), *value);
                if largest.len() > may_exceed + 1 {
                    largest.remove(0);
                }
            }
        }
        if largest.len() <= may_exceed { f32::NEG_INFINITY } else { largest[0] }
    }

    /// The p value of a statistic at the look that is taken next: flips that were rejected before, or are as large.
    /// By the order of stages: what is rejected earlier is the stronger evidence.
    pub(crate) fn p_value(&self, statistic: &[f32], observed: f32) -> f64 {
        let as_large =
            self.rejected.iter().zip(statistic).filter(|(rejected, value)| **rejected || **value >= observed);
        as_large.count() as f64 / FLIPS as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_flips_are_a_group_and_the_first_changes_nothing() {
        let all: BTreeSet<u64> = WORDS.iter().copied().collect();
        assert_eq!((all.len(), WORDS[0]), (FLIPS, 0));
        for (left, right) in [(1, 2), (5, 4099), (8191, 77), (1234, 4321)] {
            assert!(all.contains(&(WORDS[left] ^ WORDS[right])));
        }
        let first: BTreeSet<u64> = WORDS.iter().map(|word| word & (FLIPS as u64 - 1)).collect();
        assert_eq!(first.len(), FLIPS, "up to 13 launches these are all flips");
        for launch in 0..MOST_LAUNCHES {
            let flipped = WORDS.iter().filter(|word| **word >> launch & 1 == 1).count();
            assert_eq!(flipped, FLIPS / 2, "launch {launch}");
        }
    }

    #[test]
    fn a_critical_value_spends_no_more_than_it_may() {
        let statistic: Vec<f32> =
            sums(&[1.0, 2.0, 4.0, 8.0]).into_iter().map(|sum| narrow(sum.abs())).collect();
        let mut spending = Spending::new();
        // Sixteen sums of equal weight, two of each size: 15, 13, .. 1.
        assert!((spending.p_value(&statistic, 15.0) - 0.125).abs() < 1e-12);
        assert!((spending.look(&statistic, 0.124) - 15.0).abs() < 1e-6, "two of sixteen are more than that");
        assert!((spending.look(&statistic, 0.125) - 13.0).abs() < 1e-6);
        assert!((spending.look(&statistic, 0.30) - 11.0).abs() < 1e-6, "what was rejected stays rejected");
        assert!((spending.p_value(&statistic, 9.0) - 0.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_flipped_values(values in prop::collection::vec(-1.0f64..1.0, 1..64), flip in 0..FLIPS) {
            let sign = |launch: usize| if WORDS[flip] >> launch & 1 == 1 { -1.0 } else { 1.0 };
            let naive: f64 = values.iter().enumerate().map(|(launch, value)| sign(launch) * value).sum();
            prop_assert!((sums(&values)[flip] - naive).abs() < 1e-9);
        }
    }
}
