//! Cells with noise that is small, fixed and without a pattern.

use analysis::change_points::{CriticalValues, Findings, Rule, Series, find};
use analysis::rounds::{RoundValues, fit};
use std::sync::LazyLock;

/// Simulated once for all tests of the process.
pub static CRITICAL: LazyLock<CriticalValues> = LazyLock::new(CriticalValues::new);

/// A stream of numbers in -1..1 with the same values on every host (Lehmer, modulus 2^31 - 1).
pub struct Wobble(u64);

impl Wobble {
    pub fn new(seed: u64) -> Wobble {
        Wobble(seed * 2_654_435_761 % 2_147_483_646 + 1)
    }

    pub fn next(&mut self) -> f64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        self.0 as f64 / 1_073_741_823.5 - 1.0
    }

    /// About normal with standard deviation 1: the sum of three.
    pub fn normal(&mut self) -> f64 {
        self.next() + self.next() + self.next()
    }
}

/// Five rounds of these levels (ln) with a noise of `sd`.
pub fn rounds(levels: &[f64], sd: f64, seed: u64) -> RoundValues {
    let mut wobble = Wobble::new(seed);
    let rounds = (0..5).map(|_| {
        let host = 0.1 * wobble.next();
        levels.iter().map(|level| Some(host + level + sd * wobble.normal())).collect()
    });
    RoundValues::new(levels.len(), rounds.collect()).expect("finite cells")
}

/// `before` versions at 0 and `after` at `size`.
pub fn step(before: usize, after: usize, size: f64) -> Vec<f64> {
    [vec![0.0; before], vec![size; after]].concat()
}

pub const LAYOUT_NOISE: f64 = 0.005;

pub fn series(values: &RoundValues) -> Series {
    Series::of_rounds(&fit(values), LAYOUT_NOISE).expect("a noise that is one")
}

pub fn found(series: &Series) -> Findings {
    find(series, &Rule::default(), &CRITICAL)
}
