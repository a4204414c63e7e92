//! Seeded random draws of the shapes that noise has on real hosts.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of draws.
pub(crate) struct Noise {
    random: Xoshiro256PlusPlus,
}

impl Noise {
    /// The stream of this seed.
    pub(crate) fn new(seed: u64) -> Noise {
        Noise { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Uniform in 0..1, never 0.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A fair coin.
    pub(crate) fn coin(&mut self) -> bool {
        self.random.next_u64() >> 63 == 1
    }

    /// One of the items, each as likely.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        let index = ((self.random.next_u64() >> 32) * items.len() as u64) >> 32;
        items[usize::try_from(index).expect("below the number of items")]
    }

    /// Standard normal, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with three degrees of freedom: a variance, barely.
    pub(crate) fn student_3(&mut self) -> f64 {
        let chi_square: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (chi_square / 3.0).sqrt()
    }
}
