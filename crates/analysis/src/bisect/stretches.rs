//! Where one step does not explain what was measured: which stretches to search by themselves.
//!
//! The means of the versions measured so far are a series with known standard errors, in which change points are
//! looked for as in any other (statistics 1.6).

use super::launches::Against;
use super::{Effect, Stretch, Wanted};
use crate::change_points::{CriticalValues, Mean, Rule, Series, Shape, find};
use crate::student;
use std::collections::BTreeMap;

/// A stretch as far as it was measured.
pub(super) struct Measured {
    pub(super) stretch: Stretch,
    pub(super) effect: Effect,
    /// Launches that the noise is known from.
    pub(super) launches: u32,
    pub(super) measurements: Vec<Against>,
    /// Layout noise of one build, in ln.
    pub(super) layout_noise: f64,
}

/// Means on one side of a place lie this many standard errors from what one step would make them.
const MISFIT_ERRORS: f64 = 3.0;

impl Measured {
    /// Whether the launches before a step at `first_bad` do not average to nothing, or those from it on not to the
    /// difference of the ends.
    pub(super) fn contradicts_step_at(&self, first_bad: usize) -> bool {
        let Effect { shift, error, noise } = self.effect;
        let side = |bad: bool| -> Vec<Against> {
            let is_of_it = |one: &&Against| (one.measurement.version >= first_bad) == bad;
            self.measurements.iter().filter(is_of_it).copied().collect()
        };
        [(side(false), 0.0, 0.0), (side(true), shift, error)].into_iter().any(
            |(launches, expected, error)| {
                let Some(Mean { value, error: of_mean }) = mean(&launches, noise) else { return false };
                let error = of_mean.hypot(error).hypot(self.layout_noise);
                (value - expected).abs() > MISFIT_ERRORS * error
            },
        )
    }

    /// The stretches to search by themselves, each with one change of the kind that is wanted; empty where the series shows
    /// no more than one change.
    ///
    /// A stretch ends at that of the versions between two changes that was measured most: at which version exactly
    /// a change lies is not known yet, and a stretch that ends beside it might miss it.
    pub(super) fn around_changes(&self, wanted: Wanted, critical: &CriticalValues) -> Vec<Stretch> {
        let means = self.means();
        let df = (self.launches as usize).saturating_sub(1).max(1);
        let Ok(series) = Series::of_means(&means, df) else { return Vec::new() };
        let present: Vec<usize> = (0..means.len()).filter(|place| means[*place].is_some()).collect();
        let is_wanted = |ratio: f64| match wanted {
            Wanted::Regression => ratio < 1.0,
            Wanted::Improvement => ratio > 1.0,
        };
        let mut changes: Vec<(usize, bool)> = Vec::new();
        for change in find(&series, &Rule::default(), critical).changes {
            changes.push((change.version, is_wanted(change.ratio)));
            let beyond = present.iter().find(|place| **place > change.version);
            if let (Shape::Glitch, Some(beyond)) = (change.shape, beyond) {
                changes.push((*beyond, !is_wanted(change.ratio)));
            }
        }
        if changes.len() < 2 {
            return Vec::new();
        }
        let between = changes.windows(2).map(|pair| self.most_measured(pair[0].0, pair[1].0));
        let cuts: Vec<usize> =
            [self.stretch.good].into_iter().chain(between).chain([self.stretch.bad]).collect();
        let stretches = cuts.windows(2).map(|pair| Stretch { good: pair[0], bad: pair[1] });
        stretches.zip(&changes).filter(|(_, (_, wanted))| *wanted).map(|(stretch, _)| stretch).collect()
    }

    /// The version of `from..to` (places from the good end on) with the most launches; the first of them.
    fn most_measured(&self, from: usize, to: usize) -> usize {
        let versions = self.stretch.good + from..self.stretch.good + to;
        let launches = |version: usize| {
            self.measurements.iter().filter(|one| one.measurement.version == version).count()
        };
        versions.rev().max_by_key(|version| launches(*version)).unwrap_or(self.stretch.bad)
    }

    /// By place from the good end on.
    fn means(&self) -> Vec<Option<Mean>> {
        let Effect { shift, error, noise } = self.effect;
        let mut launches: BTreeMap<usize, Vec<Against>> = BTreeMap::new();
        for one in &self.measurements {
            launches.entry(one.measurement.version).or_default().push(*one);
        }
        let of_version = |version: usize| {
            if version == self.stretch.bad {
                return Some(Mean { value: shift, error: error.hypot(self.layout_noise) });
            }
            if version == self.stretch.good {
                // Zero by definition. Its own share of the noise is in each launch, and counts there.
                return Some(Mean { value: 0.0, error: error.hypot(self.layout_noise) });
            }
            let found = mean(launches.get(&version)?, noise)?;
            Some(Mean { error: found.error.hypot(self.layout_noise), ..found })
        };
        (self.stretch.good..=self.stretch.bad).map(of_version).collect()
    }
}

/// Absent without launches. What is not known of their bases does not average out: they may have the same.
fn mean(launches: &[Against], noise: f64) -> Option<Mean> {
    let values: Vec<f64> = launches.iter().map(|one| one.measurement.value).collect();
    let of_bases = launches.iter().map(|one| one.error).fold(0.0, f64::max);
    let error = (noise / (values.len() as f64).sqrt()).hypot(of_bases);
    Some(Mean { value: student::mean(&values)?, error })
}
