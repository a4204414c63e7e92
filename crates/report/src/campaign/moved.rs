//! What moved at the same release as a rate: together, which is not because of it (statistics 1.8).

use super::columns::{COLUMNS, Column, ColumnGroup, DRAINED_RATE, RATE};
use super::compare::logarithms;
use super::findings::{Searched, around, mean_over};
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
const FOLLOW_THE_RATE: [&str; 16] = [
    RATE,
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
    values: RoundValues,
}

/// The columns and tickers that changed where the rate did, the clearest first.
pub(super) fn with(rate: &Searched<'_>, change: &Change, cells: &Cells) -> Vec<Moved> {
    let columns = COLUMNS.iter().filter(|column| is_asked(rate, column));
    let mut candidates: Vec<Candidate> =
        columns.filter_map(|column| of_column(rate, change, cells, column)).collect();
    candidates.extend(tickers(rate, cells).iter().filter_map(|name| of_ticker(rate, change, cells, name)));
    let series: Vec<CounterSeries<'_>> = candidates
        .iter()
        .map(|candidate| CounterSeries { values: &candidate.values, identity: None })
        .collect();
    if series.is_empty() {
        return Vec::new();
    }
    let found = moved_with(change, &rate.findings, &series, &MovedRule::default()).unwrap_or_default();
    let moved = found.into_iter().map(|one| {
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
    column.metric != rate.column.metric
        && !FOLLOW_THE_RATE.contains(&column.metric)
        && (column.metric == DRAINED_RATE || !per_s || !of_device)
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

/// Whether every trial counted too little for a ratio to mean anything.
fn is_tiny(rate: &Searched<'_>, cells: &Cells, counter: Counter) -> bool {
    let of_series = rate.series.sides.iter().filter_map(|side| cells.get(&(rate.step.name.clone(), *side)));
    of_series.flat_map(BTreeMap::values).all(|values| {
        let count = values.get(counter.metric_name()).map(|per_op| per_op * values.operations as f64);
        count.is_none_or(|count| tiny::is_tiny(counter, count))
    })
}

fn tickers(rate: &Searched<'_>, cells: &Cells) -> BTreeSet<String> {
    let of_series = rate.series.sides.iter().filter_map(|side| cells.get(&(rate.step.name.clone(), *side)));
    of_series.flat_map(BTreeMap::values).flat_map(|values| values.tickers.keys().cloned()).collect()
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
    Some(Candidate { shift, values })
}
