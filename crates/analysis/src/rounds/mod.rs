//! Complete randomised rounds: each round measures every version once, in random order (statistics 1.6).
//!
//! A cell is the natural logarithm of one value of one metric of one step, and follows the additive model
//! `cell = version + round + noise`: what a round does to the host it does to all its versions. Assumed are
//! independent normal noise of one variance, and no interaction of version and round. A trial that failed is an
//! absent cell, never a zero.
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
    /// Some cells are absent: the means of the versions that have a value in every round, so that no version
    /// with gaps moves another one.
    CompleteVersions {
        /// How many they are.
        versions: usize,
    },
    /// No version has a value in every round: the additive model by least squares over all cells.
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
    /// Whether each version has a value in every round.
    complete: Vec<bool>,
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
    /// Degrees of freedom of `ln_error`. Layout noise is taken as known, so they are those of the rounds: the
    /// interval errs on the wide side.
    pub df: usize,
    /// Rounds of the base.
    pub base_rounds: usize,
    /// Rounds of the candidate.
    pub candidate_rounds: usize,
}

/// Fits the additive model.
///
/// No rounds or no versions give no means and no variance; a single round, means without a variance. The work
/// grows with the cube of the rounds and linearly with the versions.
pub fn fit(values: &RoundValues) -> RoundsFit {
    let present: Vec<Vec<usize>> = (0..values.versions)
        .map(|version| values.cells_of(version).map(|(round, _)| round).collect())
        .collect();
    let rounds = values.rounds.len();
    // A round in which everything failed says nothing, and makes no version incomplete.
    let used = (0..rounds).filter(|round| values.rounds[*round].iter().any(Option::is_some)).count();
    let complete: Vec<bool> = present.iter().map(|of| used > 0 && of.len() == used).collect();
    let least_squares = LeastSquares::fit(values, &present);
    let complete_count = complete.iter().filter(|complete| **complete).count();
    let (basis, means) = if complete_count == values.versions {
        (Basis::AllVersions, least_squares.version_effects.clone())
    } else if complete_count > 0 {
        let basis = Basis::CompleteVersions { versions: complete_count };
        (basis, means_over_complete(values, &complete, &present))
    } else {
        (Basis::LeastSquares, least_squares.version_effects.clone())
    };
    let versions = means
        .into_iter()
        .zip(&present)
        .map(|(mean, rounds)| VersionMean { mean, rounds: rounds.len() })
        .collect();
    let df = least_squares.df;
    let variance = (df > 0).then(|| least_squares.residual_squares / df as f64);
    RoundsFit { versions, basis, variance, df, complete, present, least_squares }
}

/// Means of the versions, relative to the mean of the complete ones in the same rounds.
fn means_over_complete(values: &RoundValues, complete: &[bool], present: &[Vec<usize>]) -> Vec<Option<f64>> {
    let round_effect = |round: usize| {
        let cells = values.rounds[round].iter().zip(complete).filter(|(_, complete)| **complete);
        student::mean(&cells.filter_map(|(cell, _)| *cell).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let effects: Vec<f64> = (0..values.rounds.len()).map(round_effect).collect();
    (0..present.len())
        .map(|version| {
            let relative: Vec<f64> =
                values.cells_of(version).map(|(round, cell)| cell - effects[round]).collect();
            student::mean(&relative)
        })
        .collect()
}

impl RoundsFit {
    /// How the candidate differs from the base.
    ///
    /// `SE^2 = s^2 (1/n_a + 1/n_b) + 2 tau^2` where no cell is absent. Where cells are absent, the bracket would be
    /// too small, as the round effects that make the versions comparable are estimated too: it is then the
    /// variance of the very estimate that is used. Absent where a version has no value, where both are the
    /// same, and where no chain of common rounds connects them.
    pub fn difference(&self, contrast: &Contrast) -> Option<Difference> {
        let Contrast { base, candidate, layout_noise, confidence } = *contrast;
        let (base_mean, candidate_mean) = (self.versions.get(base)?, self.versions.get(candidate)?);
        let center = candidate_mean.mean? - base_mean.mean?;
        if base == candidate || !self.least_squares.connected(&self.present, base, candidate) {
            return None;
        }
        let ln_error = self.variance.map(|variance| {
            (variance * self.variance_factor(base, candidate) + 2.0 * layout_noise.powi(2)).sqrt()
        });
        let half = ln_error.map(|error| student::two_sided_quantile(1.0 - confidence, self.df) * error);
        Some(Difference {
            ratio: center.exp(),
            low: half.map(|half| (center - half).exp()),
            high: half.map(|half| (center + half).exp()),
            confidence,
            p: ln_error.map(|error| p_of(center, error, self.df)),
            ln_error,
            df: self.df,
            base_rounds: base_mean.rounds,
            candidate_rounds: candidate_mean.rounds,
        })
    }

    /// Variance of the difference of two means in units of the variance of a cell.
    fn variance_factor(&self, base: usize, candidate: usize) -> f64 {
        match self.basis {
            Basis::AllVersions | Basis::LeastSquares => {
                self.least_squares.variance_factor(&self.present, base, candidate)
            }
            Basis::CompleteVersions { versions } => {
                self.factor_over_complete(base, candidate, versions as f64)
            }
        }
    }

    /// The sum of squares of what each cell weighs in the difference, round by round.
    fn factor_over_complete(&self, base: usize, candidate: usize, complete: f64) -> f64 {
        let share = |version: usize, round: usize| {
            let rounds = &self.present[version];
            if rounds.binary_search(&round).is_ok() { 1.0 / rounds.len() as f64 } else { 0.0 }
        };
        let is_complete = |version: usize| f64::from(u8::from(self.complete[version]));
        let rounds = self.present.iter().flatten().max().map_or(0, |last| last + 1);
        (0..rounds)
            .map(|round| {
                let (plus, minus) = (share(candidate, round), share(base, round));
                // What the round's effect weighs, spread over the complete versions.
                let effect = (plus - minus) / complete;
                let others = complete - is_complete(base) - is_complete(candidate);
                (plus - is_complete(candidate) * effect).powi(2)
                    + (minus + is_complete(base) * effect).powi(2)
                    + others * effect.powi(2)
            })
            .sum()
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
