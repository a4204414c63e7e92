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
        items[self.below(items.len())]
    }

    fn below(&mut self, bound: usize) -> usize {
        let index = ((self.random.next_u64() >> 32) * bound as u64) >> 32;
        usize::try_from(index).expect("below the bound")
    }

    /// Another order of the items, each as likely (Durstenfeld 1964).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
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

    /// Standard normals: both of each pair that Box and Muller give.
    pub(crate) fn normals(&mut self, values: &mut [f64]) {
        for pair in values.chunks_mut(2) {
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
            for (value, of_angle) in pair.iter_mut().zip([cos, sin]) {
                *value = radius * of_angle;
            }
        }
    }

    /// Chi-square with `df` degrees of freedom: sums of squares of normals, two of which are `-2 ln` of a uniform
    /// draw. Beyond 64 by Wilson and Hilferty (1931), whose error there is below 0.1 %.
    pub(crate) fn chi_square(&mut self, df: usize) -> f64 {
        if df > 64 {
            let share = 2.0 / (9.0 * df as f64);
            return df as f64 * (1.0 - share + self.normal() * share.sqrt()).powi(3);
        }
        let product: f64 = (0..df / 2).map(|_| self.uniform()).product();
        let odd = if df % 2 == 1 { self.normal().powi(2) } else { 0.0 };
        odd - 2.0 * product.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = crate::student::mean(values).unwrap();
        (mean, crate::student::standard_deviation(values).unwrap().powi(2))
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let mut noise = Noise::new(3);
        let mut normals = vec![0.0; 40_001];
        noise.normals(&mut normals);
        let (mean, variance) = moments(&normals);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        // Exact, odd, and by Wilson and Hilferty: mean df, variance 2 df.
        for df in [1usize, 4, 7, 64, 65, 400] {
            let (mean, variance) = moments(&(0..20_000).map(|_| noise.chi_square(df)).collect::<Vec<f64>>());
            let df = df as f64;
            assert!((mean / df - 1.0).abs() < 0.04, "df {df}: {mean}");
            assert!((variance / (2.0 * df) - 1.0).abs() < 0.12, "df {df}: {variance}");
        }
    }
}
