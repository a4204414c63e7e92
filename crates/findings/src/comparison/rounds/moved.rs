//! What moved at the same release as a rate: together, which is not because of it (statistics 1.8, rule 3).

use super::against_base::logarithms;
use super::series::{LEAST_CHANGE, Searched, around, mean_over};
use super::values::{Cells, judged};
use crate::comparison::{MovedWith, Shift, Values};
use analysis::change_points::Change;
use analysis::moved_with::{CounterSeries, MovedRule, moved_with};
use analysis::rounds::RoundValues;
use model::counter::Counter;
use model::metric::{DeviceMetric, Metric};
use std::collections::{BTreeMap, BTreeSet};

/// Metrics that follow from the rate by arithmetic.
pub(crate) const FOLLOW_THE_RATE: [Metric; 10] = [
    Metric::OpsPerSecond,
    Metric::OpsPerSecondDrained, // a series of its own
    Metric::RateIn50Percent,
    Metric::RateIn95Percent,
    Metric::RateIn99Percent,
    Metric::RateIn50PercentOfTen,
    Metric::RateIn95PercentOfTen,
    Metric::RateIn99PercentOfTen,
    Metric::BytesPerSecond,
    Metric::ThreadMicrosPerOp,
];

/// Totals of a step, which grow with the operations that it happened to do. They too would be listed with every change and say nothing.
const TOTALS: [Metric; 13] = [
    Metric::LsmBytes,
    Metric::BlobBytes,
    Metric::CompactionWriteBytes,
    Metric::CompactionSeconds,
    Metric::CompactionCpuSeconds,
    Metric::BlobReadBytes,
    Metric::BlobWriteBytes,
    Metric::UptimeSeconds,
    Metric::Stalls,
    Metric::UserCpuSeconds,
    Metric::SystemCpuSeconds,
    Metric::Device { what: DeviceMetric::Seconds, with_drain: false },
    Metric::Device { what: DeviceMetric::Seconds, with_drain: true },
];

/// One metric over the releases of a series.
struct Candidate {
    shift: Shift,
    identity: Option<u32>,
    values: RoundValues,
}

/// The metrics and tickers that changed where the rate did, the clearest first.
pub(super) fn with(rate: &Searched<'_>, change: &Change, cells: &Cells) -> Vec<MovedWith> {
    let of_series = values_of(rate, cells);
    let is_measured = |metric: Metric| of_series.iter().any(|values| values.get(metric).is_some());
    // Where the drain was measured, a cost with it stands for the one without: what the operations left behind belongs
    // to them.
    let has_double = |metric: &Metric| metric.with_drain().is_some_and(is_measured);
    let metrics =
        Metric::columns().into_iter().filter(|metric| is_asked(rate, *metric) && !has_double(metric));
    let mut candidates: Vec<Candidate> =
        metrics.filter_map(|metric| of_metric(rate, change, cells, metric, &of_series)).collect();
    let tickers: BTreeSet<&String> = of_series.iter().flat_map(|values| values.tickers.keys()).collect();
    candidates.extend(tickers.into_iter().filter_map(|name| of_ticker(rate, change, cells, name)));
    let series: Vec<CounterSeries<'_>> = candidates
        .iter()
        .map(|candidate| CounterSeries { values: &candidate.values, identity: candidate.identity })
        .collect();
    if series.is_empty() {
        return Vec::new();
    }
    let found = moved_with(change, &rate.findings, &series, &MovedRule::default()).unwrap_or_default();
    let large = found.into_iter().filter(|one| one.ratio.ln().abs() >= LEAST_CHANGE.ln_1p());
    let moved = large.map(|one| {
        let mut twins: Vec<Shift> = one.twins.iter().map(|twin| candidates[*twin].shift.clone()).collect();
        // Sizes and waits of requests say more than how many there were.
        twins.sort_by_key(|shift| !shift.name.contains("_mean"));
        MovedWith {
            shift: candidates[one.counter].shift.clone(),
            ratio: one.ratio,
            low: one.low,
            high: one.high,
            score: one.score,
            twins,
        }
    });
    moved.collect()
}

/// Rates of the device per second follow the rate of the operations; their costs per operation, and the sizes and
/// waits of its requests, do not.
fn is_asked(rate: &Searched<'_>, metric: Metric) -> bool {
    let per_s_of_device = matches!(metric, Metric::Device { .. }) && metric.name().contains("_per_s");
    !FOLLOW_THE_RATE.contains(&metric)
        && !TOTALS.contains(&metric)
        && !per_s_of_device
        && ![rate.metric, Metric::OtherCpuPercent, Metric::StolenCpuPercent].contains(&metric)
}

/// Metrics that say the same by arithmetic: all latencies; a number of requests and their size, with the drain and
/// without it; the CPU of all threads and of some.
fn identity(metric: Metric) -> Option<u32> {
    match metric {
        Metric::LatencyP50
        | Metric::LatencyP99
        | Metric::LatencyP999
        | Metric::LatencyP9999
        | Metric::LatencyMax => Some(0),
        Metric::Counter(Counter::DiskReads)
        | Metric::DiskReadsPerOpWithDrain
        | Metric::Device { what: DeviceMetric::ReadBytesMean, .. } => Some(1),
        Metric::Counter(Counter::DiskWrites)
        | Metric::DiskWritesPerOpWithDrain
        | Metric::Device { what: DeviceMetric::WriteBytesMean, .. } => Some(2),
        Metric::CpuMicrosPerOp
        | Metric::CpuMicrosPerOpWithDrain
        | Metric::Counter(Counter::ForegroundCpuNanos | Counter::BackgroundCpuNanos) => Some(3),
        Metric::Device { what: DeviceMetric::ReadMicrosMean, .. } => Some(4),
        _ => None,
    }
}

fn values_of<'a>(rate: &Searched<'_>, cells: &'a Cells) -> Vec<&'a Values> {
    let sides = rate.series.sides.iter();
    sides.filter_map(|side| cells.get(&(rate.step.name.clone(), *side))).flat_map(BTreeMap::values).collect()
}

fn of_metric(
    rate: &Searched<'_>,
    change: &Change,
    cells: &Cells,
    metric: Metric,
    of_series: &[&Values],
) -> Option<Candidate> {
    // Where every trial counted too little, a ratio means nothing.
    let is_tiny = |counter: Counter| {
        of_series.iter().all(|values| {
            let count = values.get(metric).map(|per_op| per_op * values.operations as f64);
            count.is_none_or(|count| counter.is_tiny(count))
        })
    };
    if matches!(metric, Metric::Counter(counter) if is_tiny(counter)) {
        return None;
    }
    let value = |values: &Values| judged(values, metric);
    candidate(rate, change, cells, &value, (metric.name(), metric.unit(), Some(metric)))
}

fn of_ticker(rate: &Searched<'_>, change: &Change, cells: &Cells, name: &str) -> Option<Candidate> {
    let value = |values: &Values| values.tickers.get(name).copied();
    // A ticker is counted per operation.
    candidate(rate, change, cells, &value, (name, "1", None))
}

fn candidate(
    rate: &Searched<'_>,
    change: &Change,
    cells: &Cells,
    value: &dyn Fn(&Values) -> Option<f64>,
    (name, unit, metric): (&str, &'static str, Option<Metric>),
) -> Option<Candidate> {
    let (before, after) = around(rate, change);
    let values = logarithms(cells, &rate.step.name, &rate.series.sides, value, None)?;
    let shift = Shift {
        name: name.to_owned(),
        unit,
        metric,
        value_before: mean_over(rate, &before, cells, value),
        value_after: mean_over(rate, &after, cells, value),
    };
    Some(Candidate { shift, identity: metric.and_then(identity), values })
}
