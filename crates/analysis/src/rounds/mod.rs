//! Complete randomised rounds: each round measures every version once, in random order (statistics 1.6).
//!
//! A cell is the natural logarithm of one value of one metric of one step, and follows the additive model
//! `cell = version + round + noise`: what a round does to the host it does to all its versions. Assumed are
//! independent normal noise, and no interaction of version and round. The noise is that of all versions together, unless a
//! version's own is larger: a release whose compactions come when they like is noisier than the others, and their quiet
//! must not make it look changed. A trial that failed is an absent cell, never a zero.
//!
//! This module says how versions differ and how sure that is; which versions of a series stand apart from those
//! before is the business of [`crate::change_points`].

mod against_base;
mod least_squares;

pub use against_base::{BaseRule, VersionComparison};

use crate::error::Error;
use crate::student;
use least_squares::LeastSquares;

/// Logarithms by round and version.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundValues {
    versions: usize,
    rounds: Vec<Vec<Option<f64>>>,
}

impl RoundValues {
    /// Of `rounds`, each with one cell for each of `versions` versions; a failed trial is `None`.
    ///
    /// # Errors
    /// A round with another number of cells, and a cell that is infinite or not a number.
    pub fn new(versions: usize, rounds: Vec<Vec<Option<f64>>>) -> Result<RoundValues, Error> {
        for (round, cells) in rounds.iter().enumerate() {
            if cells.len() != versions {
                return Err(Error::RaggedRound { round, cells: cells.len(), versions });
            }
            if let Some(version) = cells.iter().position(|cell| cell.is_some_and(|cell| !cell.is_finite())) {
                return Err(Error::NotFinite { round, version });
            }
        }
        Ok(RoundValues { versions, rounds })
    }

    /// How many versions there are, those without a value too.
    pub fn versions(&self) -> usize {
        self.versions
    }

    /// The rounds in the order given, each with one cell for each version.
    pub fn rounds(&self) -> &[Vec<Option<f64>>] {
        &self.rounds
    }

    /// Round and value of every cell of a version that has one.
    pub(crate) fn cells_of(&self, version: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.rounds.iter().enumerate().filter_map(move |(round, cells)| Some((round, cells[version]?)))
    }
}

/// Where the effects of the rounds were taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Every version has a value in every round: the round means.
    AllVersions,
    /// Some cells are absent: the additive model by least squares over all cells.
    LeastSquares,
}

/// One version over its rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VersionMean {
    /// ln, relative to the basis; absent where every trial failed.
    pub mean: Option<f64>,
    /// Rounds in which it has a value.
    pub rounds: usize,
}

/// The additive model fitted to rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundsFit {
    /// By version, in the order given.
    pub versions: Vec<VersionMean>,
    /// Where the effects of the rounds come from.
    pub basis: Basis,
    /// Pooled variance of a cell about the additive model fitted by least squares; absent at `df` 0.
    pub variance: Option<f64>,
    /// Residual degrees of freedom of the additive model: `(R - 1)(V - 1)` where no cell is absent.
    pub df: usize,
    /// Rounds of each version.
    present: Vec<Vec<usize>>,
    least_squares: LeastSquares,
}

/// A question about two versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// What is compared with.
    pub base: usize,
    pub candidate: usize,
    /// Layout noise tau of one build, in ln; 0 where both are the same binary.
    pub layout_noise: f64,
    /// Of the two-sided interval: 0.99 is 99 %.
    pub confidence: f64,
}

/// How two versions differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    pub ratio: f64,
    /// Lower end of the interval of `ratio`, by Student's t; absent at 0 degrees of freedom.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub confidence: f64,
    /// Two-sided p of "no difference beyond layout noise".
    pub p: Option<f64>,
    /// Standard error of ln `ratio`, layout noise of both builds included.
    pub ln_error: Option<f64>,
    /// Degrees of freedom of `ln_error`, fewer where a version's own noise counts. Layout noise is taken as known, so they
    /// are those of the rounds: the interval errs on the wide side.
    pub df: usize,
    /// Rounds of the base.
    pub base_rounds: usize,
    /// Rounds of the candidate.
    pub candidate_rounds: usize,
}

/// The normal quantile of a power of 90 %.
const POWER_90: f64 = 1.281_552;

impl Difference {
    /// The change that would have been told from none nine times of ten, in ln; absent without an interval.
    pub fn visible(&self) -> Option<f64> {
        let half = 0.5 * (self.high? / self.low?).ln();
        Some(half + POWER_90 * self.ln_error?).filter(|visible| visible.is_finite())
    }
}

/// How the means of two sets of versions differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    pub ln_ratio: f64,
    /// Its standard error, layout noise included.
    pub ln_error: f64,
    /// Degrees of freedom of the error.
    pub df: usize,
    /// Two-sided p of "no difference".
    pub p: f64,
}

impl Between {
    /// Ratio and the ends of its interval, by Student's t.
    pub fn interval(&self, confidence: f64) -> (f64, f64, f64) {
        let half = student::two_sided_quantile(1.0 - confidence, self.df) * self.ln_error;
        (self.ln_ratio.exp(), (self.ln_ratio - half).exp(), (self.ln_ratio + half).exp())
    }
}

/// Fits the additive model.
///
/// No rounds or no versions give no means and no variance; a single round, means without a variance. The work
/// grows with the cube of the rounds or of the versions, whichever are fewer, and with the square of the rounds.
pub fn fit(values: &RoundValues) -> RoundsFit {
    let present: Vec<Vec<usize>> = (0..values.versions)
        .map(|version| values.cells_of(version).map(|(round, _)| round).collect())
        .collect();
    let rounds = values.rounds.len();
    // A round in which everything failed says nothing, and makes no version incomplete.
    let used = (0..rounds).filter(|round| values.rounds[*round].iter().any(Option::is_some)).count();
    let complete = present.iter().all(|of| used > 0 && of.len() == used);
    let least_squares = LeastSquares::fit(values, &present);
    let basis = if complete { Basis::AllVersions } else { Basis::LeastSquares };
    let means = least_squares.version_effects.clone();
    let versions = means
        .into_iter()
        .zip(&present)
        .map(|(mean, rounds)| VersionMean { mean, rounds: rounds.len() })
        .collect();
    let df = least_squares.df;
    let variance = (df > 0).then(|| least_squares.residual_squares / df as f64);
    RoundsFit { versions, basis, variance, df, present, least_squares }
}

/// The noise of one cell of a version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CellNoise {
    pub(crate) variance: f64,
    /// Its degrees of freedom.
    pub(crate) df: usize,
}

/// Fewer rounds than this of a version say too little of its own noise: beside one degree of freedom no interval is left.
const LEAST_ROUNDS_OF_OWN_NOISE: usize = 3;

/// What versions share that no chain of common rounds connects with others, in variances of a cell: so much that nothing is
/// said of how the parts differ.
const UNCONNECTED: f64 = 1e6;

/// A variance below this is rounding of doubles: values that repeat exactly are all equally noisy.
const ROUNDING: f64 = 1e-18;

impl RoundsFit {
    /// How the candidate differs from the base.
    ///
    /// `SE^2 = s_a^2 / n_a + s_b^2 / n_b + 2 tau^2` where no cell is absent, s^2 being the larger of the pooled variance and
    /// the version's own, with the degrees of freedom of Satterthwaite (1946) and Welch (1947). Where cells are absent, the
    /// round effects that make the versions comparable are estimated too: what that adds is in the variance, at the
    /// pooled noise. Absent where a version has no value, where both are the
    /// same, and where no chain of common rounds connects them.
    pub fn difference(&self, contrast: &Contrast) -> Option<Difference> {
        let Contrast { base, candidate, layout_noise, confidence } = *contrast;
        let (base_mean, candidate_mean) = (self.versions.get(base)?, self.versions.get(candidate)?);
        let center = candidate_mean.mean? - base_mean.mean?;
        if base == candidate || !self.least_squares.connected(&self.present, base, candidate) {
            return None;
        }
        let noise = self.noise_of_sum(&[(base, -1.0), (candidate, 1.0)]);
        let df = noise.map_or(0, |noise| noise.df);
        let ln_error = noise.map(|noise| (noise.variance + 2.0 * layout_noise.powi(2)).sqrt());
        let half = ln_error.map(|error| student::two_sided_quantile(1.0 - confidence, df) * error);
        Some(Difference {
            ratio: center.exp(),
            low: half.map(|half| (center - half).exp()),
            high: half.map(|half| (center + half).exp()),
            confidence,
            p: ln_error.map(|error| p_of(center, error, df)),
            ln_error,
            df,
            base_rounds: base_mean.rounds,
            candidate_rounds: candidate_mean.rounds,
        })
    }

    /// The noise of one cell of a version: the pooled one, or its own where that is larger.
    pub(crate) fn noise_of(&self, version: usize) -> Option<CellNoise> {
        let pooled = CellNoise { variance: self.variance?, df: self.df };
        let rounds = self.versions[version].rounds;
        if rounds < LEAST_ROUNDS_OF_OWN_NOISE {
            return Some(pooled);
        }
        let (squares, df) = self.own_squares(version);
        let variance = squares / df;
        let own = variance > pooled.variance && variance > ROUNDING;
        Some(if own { CellNoise { variance, df: rounds - 1 } } else { pooled })
    }

    /// Squares of a version about the model, and their degrees of freedom: its rounds less one. The effects of the rounds take a
    /// share of each version's residuals with them, which is given back.
    pub(crate) fn own_squares(&self, version: usize) -> (f64, f64) {
        let measured = self.present.iter().filter(|of| !of.is_empty()).count() as f64;
        let share = measured / (measured - 1.0).max(1.0);
        let df = self.versions[version].rounds.saturating_sub(1) as f64;
        (share * self.least_squares.squares_of_versions[version], df)
    }

    /// Covariance of the means, tau^2 of each build included: a row and a column for each version that has a value. Absent
    /// where no cell is, since then the means differ as independent ones do.
    pub(crate) fn covariance(&self, layout_noise: f64) -> Option<Vec<Vec<f64>>> {
        let pooled = self.variance.filter(|_| self.basis == Basis::LeastSquares)?;
        let measured: Vec<usize> =
            (0..self.versions.len()).filter(|version| self.versions[*version].mean.is_some()).collect();
        let connected = |left: usize, right: usize| self.least_squares.connected(&self.present, left, right);
        let in_parts = measured.iter().any(|version| !connected(measured[0], *version));
        let row = |left: &usize| {
            let noise = self.noise_of(*left).map_or(pooled, |noise| noise.variance);
            let own = noise / self.versions[*left].rounds as f64 + layout_noise.powi(2);
            let of = |right: &usize| {
                let shared = pooled * self.least_squares.covariance_factor(&self.present, *left, *right);
                let of_part = if in_parts && connected(*left, *right) { UNCONNECTED * pooled } else { 0.0 };
                // Of values that repeat exactly the variance is rounding of doubles.
                shared + of_part + if left == right { own.max(ROUNDING) } else { 0.0 }
            };
            measured.iter().map(of).collect()
        };
        Some(measured.iter().map(row).collect())
    }

    /// Variance of a weighted sum of means whose weights add up to 0 (a difference of averages), in units of the variance of a cell; absent where no chain of
    /// common rounds connects the versions, or one has no value.
    pub(crate) fn factor_of_sum(&self, weights: &[(usize, f64)]) -> Option<f64> {
        let mut factor = 0.0;
        for (place, (left, left_weight)) in weights.iter().enumerate() {
            for (right, right_weight) in &weights[place + 1..] {
                if !self.least_squares.connected(&self.present, *left, *right) {
                    return None;
                }
                let of_pair = self.least_squares.variance_factor(&self.present, *left, *right);
                factor -= left_weight * right_weight * of_pair;
            }
        }
        Some(factor)
    }

    /// Variance of a weighted sum of means whose weights add up to 0 (a difference of averages), and its degrees of freedom; absent where no chain of common
    /// rounds connects the versions.
    ///
    /// The covariance of the means is in it: those of a round that others lack hang on the versions that it shares with
    /// the others. With F the variances of differences, that of the sum is `-1/2 w' F w`.
    fn noise_of_sum(&self, weights: &[(usize, f64)]) -> Option<CellNoise> {
        let pooled = CellNoise { variance: self.variance?, df: self.df };
        let factor = self.factor_of_sum(weights)?;
        let of_mean =
            |(version, weight): &(usize, f64)| weight.powi(2) / self.versions[*version].rounds as f64;
        let of_rounds = -weights.iter().map(of_mean).sum::<f64>();
        let of_mean = |(version, weight): &(usize, f64)| {
            let noise = self.noise_of(*version)?;
            let variance = weight.powi(2) * noise.variance / self.versions[*version].rounds as f64;
            Some(CellNoise { variance, ..noise })
        };
        let parts: Vec<CellNoise> = weights.iter().map(of_mean).collect::<Option<_>>()?;
        let of_rounds = pooled.variance * (factor + of_rounds).max(0.0);
        let variance = parts.iter().map(|part| part.variance).sum::<f64>() + of_rounds;
        // Parts of the pooled noise are one estimate.
        let (own, shared): (Vec<CellNoise>, Vec<CellNoise>) =
            parts.into_iter().partition(|part| part.df < pooled.df);
        let shared = shared.iter().map(|part| part.variance).sum::<f64>() + of_rounds;
        let squares = own.iter().map(|part| part.variance.powi(2) / part.df as f64).sum::<f64>()
            + shared.powi(2) / pooled.df as f64;
        // The largest whole number that is not more than Welch's; without any spread all of them.
        let within = |df: &usize| *df as f64 * squares <= variance * variance * (1.0 + 1e-9);
        Some(CellNoise { variance, df: (1..=pooled.df).rev().find(within).unwrap_or(1) })
    }

    /// How the mean of some versions differs from that of others; absent where either has no value or nothing connects them.
    pub fn between(&self, before: &[usize], after: &[usize], layout_noise: f64) -> Option<Between> {
        let with_value = |of: &[usize]| -> Vec<(usize, f64)> {
            of.iter().filter_map(|version| Some((*version, self.versions[*version].mean?))).collect()
        };
        let (before, after) = (with_value(before), with_value(after));
        let mean =
            |of: &[(usize, f64)]| student::mean(&of.iter().map(|(_, mean)| *mean).collect::<Vec<f64>>());
        let ln_ratio = mean(&after)? - mean(&before)?;
        let share = |of: &[(usize, f64)], sign: f64| {
            let weight = sign / of.len() as f64;
            of.iter().map(|(version, _)| (*version, weight)).collect::<Vec<_>>()
        };
        let weights = [share(&before, -1.0), share(&after, 1.0)].concat();
        let noise = self.noise_of_sum(&weights)?;
        let layout = layout_noise.powi(2) * weights.iter().map(|(_, weight)| weight.powi(2)).sum::<f64>();
        let ln_error = (noise.variance + layout).sqrt();
        Some(Between { ln_ratio, ln_error, df: noise.df, p: p_of(ln_ratio, ln_error, noise.df) })
    }
}

/// Two-sided p of a difference; without any spread it is certain, one way or the other.
pub(crate) fn p_of(center: f64, error: f64, df: usize) -> f64 {
    if error > 0.0 {
        student::two_sided_p(center / error, df)
    } else if center.abs() > 0.0 {
        student::LEAST_P
    } else {
        1.0
    }
}
