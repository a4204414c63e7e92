//! Everything that was measured of one step, column by column.

use crate::document::Kind::{Name, Number, Word};
use crate::document::{Column, Table};
use findings::Comparison;
use findings::comparison::{ComparedMetric, ComparedStep, StepView, SubjectView};
use model::figures::{self, NONE, or_none, quantity, quantity_or_none, ratio};
use model::metric::{ColumnGroup, Metric};
use std::collections::BTreeSet;

/// The columns of one group of a step, a row for each subject; absent where no trial has any of them.
pub(super) fn columns(view: &Comparison, step: &StepView, group: ColumnGroup) -> Option<Table> {
    let is_of_group = |metric: &Metric| metric.column().is_some_and(|column| column.group == group);
    let metrics: Vec<Metric> = step.columns.iter().copied().filter(is_of_group).collect();
    let mut columns = vec![Column::new(format!("{}\n{}", step.name, group.title()), Name)];
    columns.extend(metrics.iter().map(|metric| Column::new(metric.header(), Number)));
    let rows = step.rows.iter().map(|row| {
        let cells = metrics.iter().map(|metric| scaled(row.mean.get(*metric), *metric));
        std::iter::once(view.label(row.side).to_owned()).chain(cells).collect::<Vec<_>>()
    });
    let rows: Vec<Vec<String>> = if metrics.is_empty() { Vec::new() } else { rows.collect() };
    Table::of(columns, rows).unless_empty()
}

/// The value of a column in a table: three digits at least, also of what is far below 1 at a small scale.
fn scaled(value: Option<f64>, metric: Metric) -> String {
    let Some(value) = value.map(|value| value / metric.scale()) else { return NONE.to_owned() };
    match value.abs() {
        0.1..1.0 => format!("{value:.3}"),
        0.01..0.1 => format!("{value:.4}"),
        0.001..0.01 => format!("{value:.5}"),
        _ => quantity(value),
    }
}

/// What the headers of the columns mean that are not Small Datum's own.
pub(super) fn columns_legend() -> String {
    let ours = [
        "ops_dr", "drain_s", "fg_us", "bg_us", "delay_us", "rcallB", "wcallB", "rstorB", "wstorB", "rd_op",
        "wr_op",
    ];
    let meanings: Vec<String> = Metric::columns()
        .into_iter()
        .filter(|metric| ours.contains(&metric.header()))
        .map(|metric| format!("{} {}", metric.header(), metric.label()))
        .collect();
    format!(
        "Column names and units are Small Datum's (GB, MB and KB are binary); values are means over rounds; +d includes \
         the time until the tree had settled; {}.",
        meanings.join(", ")
    )
}

/// Tickers per operation of a step: a row for each ticker, a column for each subject; absent where there are none.
pub(super) fn tickers(view: &Comparison, step: &StepView) -> Option<Table> {
    let names: BTreeSet<&String> = step.rows.iter().flat_map(|row| row.mean.tickers.keys()).collect();
    let mut columns = vec![Column::new(format!("{}\ntickers/op", step.name), Name)];
    columns.extend(step.rows.iter().map(|row| Column::new(view.label(row.side), Number)));
    let rows = names.into_iter().map(|name| {
        let cells = step.rows.iter().map(|row| quantity_or_none(row.mean.tickers.get(name).copied()));
        std::iter::once(name.clone()).chain(cells).collect::<Vec<_>>()
    });
    Table::of(columns, rows).unless_empty()
}

/// Every metric of a step: a row for each that any candidate is compared in, a column for each candidate.
pub(super) fn relative_metrics(view: &Comparison, step: &StepView) -> Option<Table> {
    let mut columns = vec![Column::new("metric", Name)];
    columns.extend(view.candidates().iter().map(|subject| Column::new(&subject.label, Number)));
    let cell = |compared: Option<&ComparedMetric>| match compared.and_then(|one| Some((one, one.ratio?))) {
        None => NONE.to_owned(),
        Some((one, center)) if one.is_bounded() => {
            format!("{} {}", ratio(center), figures::interval(one.low, one.high))
        }
        Some((_, center)) => ratio(center),
    };
    let is_compared = |metric: &&Metric| step.cases.iter().any(|case| case.metric(**metric).is_some());
    let rows = step.columns.iter().filter(is_compared).map(|metric| {
        let of = |subject: &SubjectView| cell(step.case(subject.side).and_then(|case| case.metric(*metric)));
        std::iter::once(metric.header().to_owned())
            .chain(view.candidates().iter().map(of))
            .collect::<Vec<_>>()
    });
    Table::of(columns, rows).unless_empty()
}

/// Every metric of a candidate in a step: both values, the ratio with its interval, what moved.
pub(super) fn metrics(case: &ComparedStep) -> Table {
    let remark = |one: &ComparedMetric| match one.moved {
        _ if case.decides == Some(one.metric) => "decides",
        Some(moved) if moved.moved => "moved",
        Some(_) | None => "",
    };
    let interval = |one: &ComparedMetric| figures::interval(one.low, one.high);
    Table::by_columns(
        &case.metrics,
        &[
            ("metric", Name, &|one| one.metric.name().to_owned()),
            ("unit", Word, &|one| one.metric.unit().to_owned()),
            ("base", Number, &|one| quantity_or_none(one.base)),
            ("candidate", Number, &|one| quantity_or_none(one.candidate)),
            ("ratio", Number, &|one| or_none(one.ratio, ratio)),
            ("interval", Word, &|one| or_none(one.confidence, |_| interval(one))),
            ("", Word, &|one| remark(one).to_owned()),
        ],
    )
}
