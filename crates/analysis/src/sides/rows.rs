//! The contrast of a candidate in each launch: its value less the mean of the base's processes, in the rate that decides.

use super::{Roles, StepSides};
use crate::decision::ADJUSTED_IS_QUIETER;
use crate::flips::MOST_LAUNCHES;
use model::block::Side;
use model::metric::Metric;
use std::collections::BTreeSet;

/// What one launch says of a step and a candidate.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// Which of the run's launches it is.
    pub(super) place: usize,
    pub(super) candidate: f64,
    /// The base's processes that have a value, at least one.
    pub(super) base: Vec<f64>,
}

impl Row {
    /// Candidate less the mean of the base's processes: what it is compared by.
    pub(super) fn contrast(&self) -> f64 {
        self.candidate - self.base_mean()
    }

    /// Variance of the contrast in units of a side's.
    pub(super) fn factor(&self) -> f64 {
        1.0 + 1.0 / self.base.len() as f64
    }

    fn base_mean(&self) -> f64 {
        self.base.iter().sum::<f64>() / self.base.len() as f64
    }

    /// Candidate and base about their common mean, squared and summed: no exchange of labels changes it, and neither does turning
    /// the noise round.
    fn squares(&self) -> f64 {
        let values = || std::iter::once(self.candidate).chain(self.base.iter().copied());
        let mean = values().sum::<f64>() / (1 + self.base.len()) as f64;
        values().map(|value| (value - mean).powi(2)).sum()
    }
}

/// The launches of a run in ascending order, whichever steps they have.
pub(super) struct Places(Vec<u32>);

impl Places {
    /// Those up to `last`; beyond the most that can be flipped there is none.
    pub(super) fn of(steps: &[StepSides<'_>], last: u32) -> Places {
        let numbers = steps.iter().flat_map(|step| step.launches.iter().map(|launch| launch.launch));
        let all: BTreeSet<u32> = numbers.filter(|launch| *launch <= last).collect();
        Places(all.into_iter().take(MOST_LAUNCHES).collect())
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn place(&self, launch: u32) -> Option<usize> {
        self.0.binary_search(&launch).ok()
    }
}

/// The rows of a step and candidate: launches in which it and some process of the base have a value.
pub(super) fn rows(
    step: &StepSides<'_>,
    roles: &Roles,
    candidate: Side,
    rate: Metric,
    places: &Places,
) -> Vec<Row> {
    let row = |launch: &super::SideLaunch| {
        let value = |side: &Side| launch.values.get(side).map(|value| value.of(rate));
        let base: Vec<f64> = roles.base.iter().filter_map(value).collect();
        let row = Row { place: places.place(launch.launch)?, candidate: value(&candidate)?, base };
        (!row.base.is_empty()).then_some(row)
    };
    step.launches.iter().filter_map(row).collect()
}

/// The rate that is to decide of a step and candidate if the base runs once, from sizes alone that neither a flip nor an exchange of labels changes, so that
/// the tests of the rate that was chosen are as exact as if there were no choice.
pub(super) fn choose_rate(step: &StepSides<'_>, roles: &Roles, candidate: Side, places: &Places) -> Metric {
    let size = |rate| -> f64 {
        rows(step, roles, candidate, rate, places).iter().map(Row::squares).sum::<f64>().sqrt()
    };
    let quieter = || size(Metric::OpsPerSecondAdjusted) < ADJUSTED_IS_QUIETER * size(Metric::OpsPerSecond);
    if step.adjusted_may_decide && quieter() { Metric::OpsPerSecondAdjusted } else { Metric::OpsPerSecond }
}

impl super::SideValue {
    /// Of a rate.
    pub(super) fn of(&self, rate: Metric) -> f64 {
        if rate == Metric::OpsPerSecondAdjusted { self.adjusted } else { self.wall }
    }
}
