//! A series: one value of each version, and how its noise is known.

use super::scan::{Covariance, Scan, Weighted};
use crate::error::Error;
use crate::linear::is_positive_definite;
use crate::rounds::RoundsFit;
use crate::student::{SD_OF_MEDIAN, median};

/// How the noise of a series is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// From repeats of the versions.
    Repeats {
        /// Degrees of freedom of the pooled variance.
        df: usize,
    },
    /// From the series itself: each version was run once.
    SingleRuns,
}

/// One version that has a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Its index among all versions.
    pub(super) version: usize,
    pub(super) value: f64,
    /// Standard error of `value`.
    pub(super) error: f64,
    /// Below this no error of a single run is believed.
    pub(super) least: f64,
}

/// One value of each version, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub(super) points: Vec<Point>,
    /// How the points vary together; absent if they are independent.
    pub(super) covariance: Option<Covariance>,
    versions: usize,
    spread: Spread,
}

/// A mean with its standard error; ln.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    pub value: f64,
    /// Its standard error, layout noise included.
    pub error: f64,
}

/// The least standard error of a single run: below it, a small spread is luck or rounding (statistics 1.6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorFloor {
    /// Least error of any value, as a share of it.
    pub share: f64,
    /// The step in which values were printed, in their own unit: 0.01 for `0.44`; 0 where it is not known. What it
    /// makes of the error depends on the value: 0.7 % of 0.44, 5 % of 0.06.
    pub resolution: f64,
}

impl Default for ErrorFloor {
    fn default() -> ErrorFloor {
        ErrorFloor { share: 0.005, resolution: 0.0 }
    }
}

impl ErrorFloor {
    fn checked(self) -> Result<ErrorFloor, Error> {
        let usable = |value: f64| value.is_finite() && value >= 0.0;
        if !usable(self.share) || !usable(self.resolution) {
            return Err(Error::BadSpread { what: "the floor of a standard error" });
        }
        Ok(self)
    }

    /// The larger of the share and the standard deviation of rounding of a value given as its logarithm; in ln.
    fn of(self, ln_value: f64) -> f64 {
        self.share.max(self.resolution / 12f64.sqrt() / ln_value.exp())
    }
}

/// Errors below this are rounding of doubles: values that repeat exactly are told apart by it.
const LEAST_ERROR: f64 = 1e-9;

impl Series {
    /// Of the means of rounds. `SE^2 = s^2 / n + tau^2`, tau being the layout noise of one build in ln, and s^2 the pooled
    /// variance, or the version's own where that is larger. Versions that lack rounds have their covariance with others.
    ///
    /// Rounds that repeat nothing (a single one) make a series of single runs with the default floor.
    ///
    /// # Errors
    /// A layout noise that is negative or not a number.
    pub fn of_rounds(fit: &RoundsFit, layout_noise: f64) -> Result<Series, Error> {
        if !layout_noise.is_finite() || layout_noise < 0.0 {
            return Err(Error::BadSpread { what: "the layout noise" });
        }
        if fit.variance.is_none() {
            let means: Vec<Option<f64>> = fit.versions.iter().map(|version| version.mean).collect();
            return Series::of_single_runs(&means, ErrorFloor::default());
        }
        let points = fit.versions.iter().enumerate().filter_map(|(version, of)| {
            let variance = fit.noise_of(version)?.variance;
            let error = (variance / of.rounds as f64 + layout_noise.powi(2)).sqrt().max(LEAST_ERROR);
            Some(Point { version, value: of.mean?, error, least: 0.0 })
        });
        Ok(Series {
            points: points.collect(),
            covariance: fit.covariance(layout_noise),
            versions: fit.versions.len(),
            spread: Spread::Repeats { df: fit.df },
        })
    }

    /// Of one run of each version, natural logarithms; a version without a value is `None`. The standard error is
    /// `1.4826 MAD(differences of neighbours) / sqrt 2`, which a few steps do not raise, or the floor of the
    /// value where that is larger.
    ///
    /// # Errors
    /// A value that is infinite or not a number, and a floor that is negative or not a number.
    pub fn of_single_runs(values: &[Option<f64>], floor: ErrorFloor) -> Result<Series, Error> {
        let floor = floor.checked()?;
        if let Some(index) = values.iter().position(|value| value.is_some_and(|value| !value.is_finite())) {
            return Err(Error::PointNotFinite { index });
        }
        let present: Vec<f64> = values.iter().flatten().copied().collect();
        let own = deviation_of_differences(&present).max(LEAST_ERROR);
        let points = values.iter().enumerate().filter_map(|(version, value)| {
            let value = (*value)?;
            let least = floor.of(value).max(LEAST_ERROR);
            Some(Point { version, value, error: own.max(least), least })
        });
        Ok(Series {
            points: points.collect(),
            covariance: None,
            versions: values.len(),
            spread: Spread::SingleRuns,
        })
    }

    /// Of means whose standard errors are known from elsewhere, by `df` degrees of freedom; a version without a value
    /// is `None`.
    ///
    /// # Errors
    /// A mean that is infinite or not a number, and an error that is negative or not a number.
    pub fn of_means(means: &[Option<Mean>], df: usize) -> Result<Series, Error> {
        if let Some(index) = means.iter().position(|mean| mean.is_some_and(|mean| !mean.value.is_finite())) {
            return Err(Error::PointNotFinite { index });
        }
        if means.iter().flatten().any(|mean| !mean.error.is_finite() || mean.error < 0.0) {
            return Err(Error::BadSpread { what: "a standard error" });
        }
        let points = means.iter().enumerate().filter_map(|(version, mean)| {
            let mean = (*mean)?;
            Some(Point { version, value: mean.value, error: mean.error.max(LEAST_ERROR), least: 0.0 })
        });
        Ok(Series {
            points: points.collect(),
            covariance: None,
            versions: means.len(),
            spread: Spread::Repeats { df },
        })
    }

    /// Of means that vary together, by `df` degrees of freedom: relative to one base, or of launches that they share. The
    /// covariance has a row and a column for each version that has a mean, in their order. What all of them share alike does
    /// not matter.
    ///
    /// # Errors
    /// A mean that is infinite or not a number, and a covariance that is not symmetric, not positive definite, or of
    /// another number of versions.
    pub fn of_joint_means(
        means: &[Option<f64>],
        covariance: Vec<Vec<f64>>,
        df: usize,
    ) -> Result<Series, Error> {
        let present: Vec<f64> = means.iter().flatten().copied().collect();
        if covariance.len() != present.len() || !is_positive_definite(&covariance) {
            return Err(Error::BadSpread { what: "the covariance of the means" });
        }
        let scan = Scan::with_covariance(&present, &covariance);
        // A point is held against all others: its own error is what of that is not theirs.
        let own = (1.0 - 1.0 / present.len() as f64).sqrt();
        let mut errors = (0..present.len()).map(|at| match present.len() {
            1 => covariance[at][at].sqrt(),
            _ => own * scan.apart(at..at + 1).1,
        });
        let with_error = |mean: &Option<f64>| {
            let value = (*mean)?;
            errors.next().map(|error| Mean { value, error })
        };
        let means: Vec<Option<Mean>> = means.iter().map(with_error).collect();
        Ok(Series { covariance: Some(covariance), ..Series::of_means(&means, df)? })
    }

    /// The points at these positions, to be cut.
    pub(super) fn scan(&self, positions: &[usize]) -> Scan {
        Scan::at(&self.weighted(), self.covariance.as_ref(), positions)
    }

    pub(super) fn weighted(&self) -> Vec<Weighted> {
        self.points.iter().map(|point| Weighted { value: point.value, error: point.error }).collect()
    }

    /// Versions that have a value.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether no version has a value.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// All versions, those without a value too.
    pub fn versions(&self) -> usize {
        self.versions
    }

    /// How the noise is known.
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// The least variance of a point, where errors are relative to their mean square.
    pub(super) fn least_variance(&self) -> f64 {
        let weights: f64 = self.points.iter().map(|point| point.error.powi(-2)).sum();
        let unit = self.points.len() as f64 / weights;
        let least = |point: &Point| unit * (point.least / point.error).powi(2);
        self.points.iter().map(least).fold(f64::INFINITY, f64::min)
    }

    /// Degrees of freedom of the standard errors: those of the rounds, or half the number of single runs.
    pub(super) fn df(&self) -> usize {
        match self.spread {
            Spread::Repeats { df } => df,
            Spread::SingleRuns => (self.points.len() / 2).max(1),
        }
    }
}

/// The standard deviation of a point, from the differences of neighbours: a step is one difference of many. 0 below
/// three values.
pub(super) fn deviation_of_differences(values: &[f64]) -> f64 {
    if values.len() < 3 {
        return 0.0;
    }
    let mut differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    SD_OF_MEDIAN * median_deviation(&mut differences) / std::f64::consts::SQRT_2
}

/// Median of the absolute deviations from the median; 0 of none. The values are changed.
fn median_deviation(values: &mut [f64]) -> f64 {
    let center = median(values);
    for value in values.iter_mut() {
        *value = (*value - center).abs();
    }
    median(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]).to_bits(), 2f64.to_bits());
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]).to_bits(), 2.5f64.to_bits());
        assert_eq!(median(&mut []).to_bits(), 0f64.to_bits());
        assert_eq!(median_deviation(&mut [1.0, 2.0, 3.0, 4.0, 100.0]).to_bits(), 1f64.to_bits());
    }

    #[test]
    fn a_step_does_not_raise_the_deviation_of_differences() {
        let flat: Vec<f64> = (0..21).map(|index| f64::from(index * index % 11)).collect();
        let stepped: Vec<f64> =
            flat.iter().zip(0..).map(|(value, index)| value + if index < 9 { 0.0 } else { 50.0 }).collect();
        let (flat, stepped) = (deviation_of_differences(&flat), deviation_of_differences(&stepped));
        assert!(flat > 1.0 && (stepped / flat - 1.0).abs() < 0.35, "{flat} {stepped}");
        assert!(deviation_of_differences(&[1.0, 2.0]).abs() < 1e-12);
    }

    #[test]
    fn rounding_of_printed_values_is_part_of_the_floor() {
        let floor = |resolution: f64, value: f64| ErrorFloor { share: 0.005, resolution }.of(value.ln());
        assert!((floor(0.0, 0.06) - 0.005).abs() < 1e-12);
        assert!((floor(0.01, 0.06) - 0.01 / 0.06 / 12f64.sqrt()).abs() < 1e-12);
        assert!((floor(0.01, 44.0) - 0.005).abs() < 1e-12);
        let series = Series::of_single_runs(&[Some(1.0); 5], ErrorFloor::default()).unwrap();
        assert!((series.points[0].error - 0.005).abs() < 1e-12);
    }

    #[test]
    fn versions_that_lack_rounds_differ_as_surely_as_two_of_them_do() {
        let cells = |round: usize| {
            let cell = |version: usize| (round * 7 + version * 5) % 11;
            (0..5).map(|version| Some(0.01 * cell(version) as f64)).collect::<Vec<_>>()
        };
        let mut rounds: Vec<Vec<Option<f64>>> = (0..6).map(cells).collect();
        for (round, version) in [(0, 1), (0, 3), (1, 1), (4, 4), (5, 0)] {
            rounds[round][version] = None;
        }
        let fit = crate::rounds::fit(&crate::rounds::RoundValues::new(5, rounds).unwrap());
        let series = Series::of_rounds(&fit, 0.02).unwrap();
        for (base, candidate) in (0..5).flat_map(|left| (left + 1..5).map(move |right| (left, right))) {
            let contrast = crate::rounds::Contrast { base, candidate, layout_noise: 0.02, confidence: 0.99 };
            let wanted = fit.difference(&contrast).unwrap();
            let (size, error) = series.scan(&[base, candidate]).apart(1..2);
            assert!((size - wanted.ratio.ln()).abs() < 1e-9, "{base} {candidate}");
            assert!((error - wanted.ln_error.unwrap()).abs() < 1e-9, "{base} {candidate}: {error}");
        }
    }
}
