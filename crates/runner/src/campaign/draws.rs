//! Every random choice of a run, drawn from its seed: the same seed gives the same run.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The random numbers of one launch.
pub fn generator(seed: u64, launch: u32) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ (u64::from(launch) << 40))
}

/// The seed of keys and values of a launch: the same for all sides.
pub fn data_seed(seed: u64, launch: u32) -> u64 {
    generator(seed, launch).next_u64()
}

/// A number below `bound`, each alike.
pub fn below(random: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    usize::try_from((u128::from(random.next_u64()) * bound as u128) >> 64).unwrap_or(0)
}

/// Fisher and Yates.
pub fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(random, last + 1));
    }
}
