//! Build noise: by how much the same source differs when it is built again (tau; statistics 1.3).
//!
//! Every build is compared with the first one in the same launches, so that what the first one does in a launch is an
//! effect of that launch and falls out. What is left follows the additive model of [`crate::rounds`]: the spread of
//! the builds' means beyond that of repeats is the build noise (analysis of variance with random effects; Searle,
//! Casella, McCulloch 1992, chapter 3).

use crate::rounds::{RoundValues, fit};
use crate::student;

/// Builds besides the base below which no spread can be seen.
pub const LEAST_BUILDS: usize = 2;

/// The build noise of one metric of one step; in ln.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildNoise {
    /// Standard deviation between builds; 0 where repeats differ as much as builds do.
    pub tau: f64,
    /// It is below this with the confidence asked for.
    pub upper: f64,
    /// Builds besides the base.
    pub builds: usize,
    /// Launches that all of them share.
    pub launches: usize,
    /// Standard deviation of one launch of one build.
    pub launch_sd: f64,
}

/// From logarithms of ratios to the base: a row for each launch, a cell for each other build. Launches in which a build
/// has no value do not count. Absent below two builds or two launches.
pub fn build_noise(launches: &[Vec<Option<f64>>], confidence: f64) -> Option<BuildNoise> {
    let complete: Vec<Vec<Option<f64>>> =
        launches.iter().filter(|cells| cells.iter().all(Option::is_some)).cloned().collect();
    let builds = launches.first()?.len();
    if builds < LEAST_BUILDS || complete.len() < 2 {
        return None;
    }
    let rows = complete.len();
    let fit = fit(&RoundValues::new(builds, complete).ok()?);
    let variance = fit.variance?;
    let means: Vec<f64> = fit.versions.iter().filter_map(|version| version.mean).collect();
    let between = student::standard_deviation(&means)?.powi(2);
    let of_repeats = variance / rows as f64;
    let degrees = builds - 1;
    let at_most = degrees as f64 * between / chi_square_quantile(1.0 - confidence, degrees);
    Some(BuildNoise {
        tau: (between - of_repeats).max(0.0).sqrt(),
        upper: (at_most - of_repeats).max(0.0).sqrt(),
        builds,
        launches: rows,
        launch_sd: variance.sqrt(),
    })
}

/// The x with P(chi-square <= x) = `p`, by bisection.
fn chi_square_quantile(p: f64, degrees: usize) -> f64 {
    let mut high = degrees as f64;
    while chi_square_below(high, degrees) < p && high < 1e9 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if chi_square_below(middle, degrees) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// P(chi-square <= x): the regularised incomplete gamma function of half of both, by its power series (Abramowitz and
/// Stegun 6.5.29).
fn chi_square_below(x: f64, degrees: usize) -> f64 {
    let (shape, half) = (0.5 * degrees as f64, 0.5 * x);
    if half <= 0.0 {
        return 0.0;
    }
    let mut term = 1.0 / shape;
    let mut sum = term;
    let mut step = shape;
    while term > sum * 1e-16 {
        step += 1.0;
        term *= half / step;
        sum += term;
    }
    (sum.ln() + shape * half.ln() - half - ln_gamma_of_half(degrees)).exp().min(1.0)
}

/// ln gamma(n / 2), from gamma(1/2) and gamma(1) upwards.
fn ln_gamma_of_half(n: usize) -> f64 {
    let (mut at, mut value) =
        if n.is_multiple_of(2) { (1.0, 0.0) } else { (0.5, 0.5 * std::f64::consts::PI.ln()) };
    while at + 0.25 < 0.5 * n as f64 {
        value += f64::ln(at);
        at += 1.0;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::noise::Noise;

    #[test]
    fn quantiles_are_those_of_tables() {
        // Abramowitz and Stegun, table 26.8.
        for (degrees, p, expected) in
            [(1, 0.05, 0.003_932), (2, 0.05, 0.102_587), (4, 0.05, 0.710_721), (9, 0.95, 16.918_98)]
        {
            let found = chi_square_quantile(p, degrees);
            assert!((found - expected).abs() < 1e-5 * expected.max(1.0), "{degrees}: {found}");
        }
    }

    fn launches(builds: usize, rows: usize, tau: f64, noise: &mut Noise) -> Vec<Vec<Option<f64>>> {
        let effects: Vec<f64> = (0..builds).map(|_| tau * noise.normal()).collect();
        (0..rows)
            .map(|_| {
                let of_launch = 0.05 * noise.normal();
                effects.iter().map(|effect| Some(of_launch + effect + 0.015 * noise.normal())).collect()
            })
            .collect()
    }

    /// Over many repetitions: tau squared is right on average, and the bound holds as often as it says.
    #[test]
    fn what_was_planted_is_found_and_bounded() {
        let mut noise = Noise::new(1);
        for tau in [0.0, 0.005, 0.01] {
            let (mut squares, mut held) = (0.0, 0);
            const REPETITIONS: u32 = 2000;
            for _ in 0..REPETITIONS {
                let found = build_noise(&launches(6, 20, tau, &mut noise), 0.95).unwrap();
                assert_eq!((found.builds, found.launches), (6, 20));
                squares += found.tau.powi(2);
                held += u32::from(found.upper >= tau);
            }
            let mean = (squares / f64::from(REPETITIONS)).sqrt();
            // Negative estimates count as none, so that a tau of 0 is found a little above it.
            assert!((mean - tau).abs() < if tau > 0.0 { 0.0008 } else { 0.002 }, "{tau}: {mean}");
            assert!(held >= REPETITIONS * 94 / 100, "{tau}: held in {held}");
        }
    }

    #[test]
    fn too_few_builds_or_launches_say_nothing() {
        let mut noise = Noise::new(2);
        assert_eq!(build_noise(&launches(1, 20, 0.0, &mut noise), 0.95), None);
        assert_eq!(build_noise(&launches(4, 1, 0.0, &mut noise), 0.95), None);
        assert_eq!(build_noise(&[], 0.95), None);
        let mut gaps = launches(3, 4, 0.0, &mut noise);
        gaps[0][1] = None;
        assert_eq!(build_noise(&gaps, 0.95).unwrap().launches, 3);
    }
}
