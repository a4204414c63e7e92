//! What the documents of comparisons and campaigns have in common: builds, latency, series in time, raw output.

pub(crate) mod builds;
pub(crate) mod host;
pub(crate) mod ids;
pub(crate) mod latency;
pub(crate) mod raw;
pub(crate) mod series;

use crate::document::Caution;
use crate::grids::{Column, Kind};
use crate::view::Trials;
use model::figures::count;
use model::record::RunWarning;
use std::borrow::Cow;

/// A column whose header is only known now.
pub(crate) fn column(header: &str, kind: Kind) -> Column {
    Column { header: Cow::Owned(header.to_owned()), kind }
}

/// The confidence that all intervals of a chart share; absent where there is none, or more than one.
pub(crate) fn shared_confidence(of_intervals: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut of_intervals = of_intervals.into_iter();
    let first = of_intervals.next()?;
    of_intervals.all(|other| other.total_cmp(&first).is_eq()).then_some(first)
}

/// Warnings of a run as those of a document.
pub(crate) fn cautions(warnings: &[RunWarning]) -> Vec<Caution> {
    let of =
        |one: &RunWarning| Caution { id: one.id.clone(), step: one.step.clone(), text: one.text.clone() };
    warnings.iter().map(of).collect()
}

/// That some trials failed; absent where none did.
pub(crate) fn failed_trials(trials: &Trials) -> Option<Caution> {
    let failed = count(u64::from(trials.failed), "trial", "trials");
    (trials.failed > 0).then(|| Caution {
        id: "failed-trials".to_owned(),
        step: None,
        text: format!("{failed} failed; the reasons stand under Trials"),
    })
}
