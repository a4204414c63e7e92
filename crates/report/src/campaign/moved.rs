//! What moved at the same release as a rate: together, which is not because of it (statistics 1.8).

use super::columns::{COLUMNS, Column, ColumnGroup, DRAINED_RATE, OTHERS, RATE};
use super::compare::logarithms;
use super::findings::{LEAST_CHANGE, Searched, around, mean_over};
use super::series::judged;
use super::values::{Cells, Values};
use super::view::{Moved, Shift};
use crate::tiny;
use analysis::change_points::Change;
use analysis::moved_with::{CounterSeries, MovedRule, moved_with};
use analysis::rounds::RoundValues;
use model::counter::Counter;
use std::collections::{BTreeMap, BTreeSet};

/// Metrics that follow from the rate by arithmetic, and totals of a step, which grow with the operations that it
/// happened to do: they would stand beside every change and say nothing.
const FOLLOW_THE_RATE: [&str; 17] = [
    RATE,
    DRAINED_RATE, // a series of its own
    "bytes_per_s",
    "thread_us_per_op",
    "lsm_bytes",
    "blob_bytes",
    "compaction_write_bytes",
    "compaction_s",
    "compaction_cpu_s",
    "blob_read_bytes",
    "blob_write_bytes",
    "uptime_s",
    "stalls",
    "user_cpu_s",
    "system_cpu_s",
    "device_s",
    "device_s_with_drain",
];

/// One metric over the releases of a series.
struct Candidate {
    shift: Shift,
    identity: Option<u32>,
    values: RoundValues,
}

/// The columns and tickers that changed where the rate did, the clearest first.
pub(super) fn with(rate: &Searched<'_>, change: &Change, cells: &Cells) -> Vec<Moved> {
    let of_series = values_of(rate, cells);
    let columns = COLUMNS.iter().filter(|column| is_asked(rate, column)).collect();
    let columns = without_doubles(columns, &of_series);
    let mut candidates: Vec<Candidate> =
        columns.into_iter().filter_map(|column| of_column(rate, change, cells, column)).collect();
    candidates.extend(tickers(&of_series).iter().filter_map(|name| of_ticker(rate, change, cells, name)));
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
        twins.sort_by_key(|shift| !is_mean(shift));
        Moved {
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
fn is_asked(rate: &Searched<'_>, column: &Column) -> bool {
    let of_device = matches!(column.group, ColumnGroup::Device | ColumnGroup::DeviceWithDrain);
    let per_s = column.metric.contains("_per_s");
    let follows = FOLLOW_THE_RATE.contains(&column.metric) || per_s && of_device;
    !follows && ![rate.column.metric, OTHERS].contains(&column.metric)
}

/// Columns that say the same by arithmetic: all latencies, a number of requests and their size, a cost with the drain
/// and without it.
const IDENTITIES: [&[&str]; 5] = [
    &["latency_us_p50", "latency_us_p99", "latency_us_p999", "latency_us_p9999", "latency_us_max"],
    &[
        "disk_reads_per_op",
        "disk_reads_per_op_with_drain",
        "disk_read_bytes_mean",
        "disk_read_bytes_mean_with_drain",
    ],
    &[
        "disk_writes_per_op",
        "disk_writes_per_op_with_drain",
        "disk_write_bytes_mean",
        "disk_write_bytes_mean_with_drain",
    ],
    &["cpu_us_per_op", "cpu_us_per_op_with_drain", "foreground_cpu_ns_per_op", "background_cpu_ns_per_op"],
    &["disk_read_us_mean", "disk_read_us_mean_with_drain"],
];

fn identity(metric: &str) -> Option<u32> {
    (0..).zip(IDENTITIES).find(|(_, metrics)| metrics.contains(&metric)).map(|(identity, _)| identity)
}

/// Where the drain was measured, a cost with it stands for the one without: what the operations left behind belongs
/// to them.
fn without_doubles(columns: Vec<&'static Column>, of_step: &[&Values]) -> Vec<&'static Column> {
    let measured = |metric: &str| of_step.iter().any(|values| values.get(metric).is_some());
    columns.into_iter().filter(|column| !measured(&format!("{}_with_drain", column.metric))).collect()
}

/// Sizes and waits of requests: they say more than how many there were.
fn is_mean(shift: &Shift) -> bool {
    shift.metric.contains("_mean")
}

fn of_column(
    rate: &Searched<'_>,
    change: &Change,
    cells: &Cells,
    column: &'static Column,
) -> Option<Candidate> {
    let counter = Counter::ALL.into_iter().find(|counter| counter.metric_name() == column.metric);
    if counter.is_some_and(|counter| is_tiny(rate, cells, counter)) {
        return None;
    }
    let value = |values: &Values| judged(values, column);
    candidate(rate, change, cells, &value, (column.metric, column.name, Some(column)))
}

fn values_of<'a>(rate: &Searched<'_>, cells: &'a Cells) -> Vec<&'a Values> {
    let sides = rate.series.sides.iter();
    sides.filter_map(|side| cells.get(&(rate.step.name.clone(), *side))).flat_map(BTreeMap::values).collect()
}

/// Whether every trial counted too little for a ratio to mean anything.
fn is_tiny(rate: &Searched<'_>, cells: &Cells, counter: Counter) -> bool {
    values_of(rate, cells).into_iter().all(|values| {
        let count = values.get(counter.metric_name()).map(|per_op| per_op * values.operations as f64);
        count.is_none_or(|count| tiny::is_tiny(counter, count))
    })
}

fn tickers(of_series: &[&Values]) -> BTreeSet<String> {
    of_series.iter().flat_map(|values| values.tickers.keys().cloned()).collect()
}

fn of_ticker(rate: &Searched<'_>, change: &Change, cells: &Cells, name: &str) -> Option<Candidate> {
    let value = |values: &Values| values.tickers.get(name).copied();
    candidate(rate, change, cells, &value, (name, &format!("{name}/op"), None))
}

fn candidate(
    rate: &Searched<'_>,
    change: &Change,
    cells: &Cells,
    value: &dyn Fn(&Values) -> Option<f64>,
    (metric, name, column): (&str, &str, Option<&'static Column>),
) -> Option<Candidate> {
    let (before, after) = around(rate, change);
    let values = logarithms(cells, &rate.step.name, &rate.series.sides, value, None)?;
    let shift = Shift {
        metric: metric.to_owned(),
        name: name.to_owned(),
        column,
        value_before: mean_over(rate, &before, cells, value),
        value_after: mean_over(rate, &after, cells, value),
    };
    Some(Candidate { shift, identity: identity(metric), values })
}
