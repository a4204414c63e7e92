//! What the documents of comparisons and campaigns have in common: builds, latency, series in time, raw output.

pub(crate) mod host;
pub(crate) mod ids;
pub(crate) mod latency;
pub(crate) mod series;
pub mod setup;

/// The confidence that all intervals of a chart share; absent where there is none, or more than one.
pub(crate) fn shared_confidence(of_intervals: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut of_intervals = of_intervals.into_iter();
    let first = of_intervals.next()?;
    of_intervals.all(|other| other.total_cmp(&first).is_eq()).then_some(first)
}
