//! A comparison as one table for spreadsheets: a line for each step and subject, a column for each metric under the
//! names of Small Datum and in its units if they have one. What was not measured is a dash, so that nothing is missed.

use crate::document::{Column, Kind, Table};
use crate::render::separated::number;
use findings::Comparison;
use findings::comparison::{ComparedMetric, StepView, SubjectRow, SubjectView};
use model::block::{BASE, Side};
use model::metric::Metric;
use std::collections::BTreeSet;

/// Columns before those of the metrics.
const LEADING: [&str; 16] = [
    "step",
    "subject",
    "engine",
    "version",
    "config",
    "launches",
    "rel_ops_sec",
    "rel_low",
    "rel_high",
    "verdict",
    "decides",
    "failed_trials",
    "run_status",
    "base_ops_sec",
    "visible_change",
    "visible_beyond_layout",
];
/// The one that counts repeats, which are launches or rounds.
const REPEATS: usize = 5;

/// The table.
pub fn table(view: &Comparison) -> Table {
    let metrics = metrics(view);
    let tickers: BTreeSet<&String> = rows(view).flat_map(|row| row.mean.tickers.keys()).collect();
    let mut columns: Vec<Column> = LEADING.iter().map(|header| Column::new(*header, Kind::Name)).collect();
    columns[REPEATS].header = view.repeats.many().to_owned();
    columns.extend(metrics.iter().map(|metric| Column::new(metric.header(), Kind::Number)));
    columns.extend(tickers.iter().map(|name| Column::new(*name, Kind::Number)));
    let mut table = Table::of(columns, Vec::<Vec<String>>::new());
    for step in &view.steps {
        table.fill(view.subjects.iter().map(|subject| {
            let mut line = leading(view, step, subject);
            line.extend(metrics.iter().map(|metric| {
                number(value(step, subject.side, *metric).map(|value| value / metric.scale()))
            }));
            let mean = row(step, subject.side).map(|row| &row.mean);
            line.extend(
                tickers.iter().map(|name| number(mean.and_then(|mean| mean.tickers.get(*name).copied()))),
            );
            line
        }));
    }
    table
}

fn rows(view: &Comparison) -> impl Iterator<Item = &SubjectRow> {
    view.steps.iter().flat_map(|step| &step.rows)
}

fn row(step: &StepView, side: Side) -> Option<&SubjectRow> {
    step.rows.iter().find(|row| row.side == side)
}

/// The metrics of which some step has a value, in the order of reports.
fn metrics(view: &Comparison) -> Vec<Metric> {
    let has = |metric: &Metric| {
        view.steps.iter().any(|step| view.subjects.iter().any(|one| value(step, one.side, *metric).is_some()))
    };
    let columns = Metric::columns();
    let others = Metric::all().filter(|metric| !columns.contains(metric));
    columns.iter().copied().chain(others).filter(has).collect()
}

/// What a subject has: of rounds the mean; of launches its value in those that it shares with the other side, of the
/// base those shared with the first candidate that has any.
fn value(step: &StepView, side: Side, metric: Metric) -> Option<f64> {
    match row(step, side) {
        Some(row) => row.mean.get(metric),
        None if side == BASE => step.cases.iter().find_map(|case| case.metric(metric)?.base),
        None => step.case(side)?.metric(metric)?.candidate,
    }
}

fn leading(view: &Comparison, step: &StepView, subject: &SubjectView) -> Vec<String> {
    let case = step.case(subject.side);
    let deciding = case.and_then(|case| case.deciding());
    let of_rate = |end: fn(&ComparedMetric) -> Option<f64>| number(deciding.and_then(end));
    let repeats = match (row(step, subject.side), case) {
        (Some(row), _) => row.rounds.len(),
        (None, Some(case)) => case.repeats as usize,
        (None, None) => {
            step.cases.iter().map(|case| case.repeats).find(|repeats| *repeats > 0).unwrap_or(0) as usize
        }
    };
    let visible = view.visible.get(&step.name).copied().unwrap_or_default();
    let dash = || "-".to_owned();
    vec![
        step.name.clone(),
        subject.subject.clone(),
        subject.subject.split('@').next().unwrap_or_default().to_owned(),
        subject.version.clone(),
        subject.config.clone(),
        repeats.to_string(),
        of_rate(|one| one.ratio),
        of_rate(|one| one.low),
        of_rate(|one| one.high),
        case.filter(|_| !step.helper).map_or_else(dash, |case| case.verdict.name().to_owned()),
        case.and_then(|case| case.decides).map_or_else(dash, |metric| metric.name().to_owned()),
        view.trials.failed_of(&step.name, &subject.subject).to_string(),
        view.run.status.name().to_owned(),
        number(case.and_then(|case| case.metric(Metric::OpsPerSecond)?.base)),
        number(visible.between_binaries),
        number(visible.beyond_layout),
    ]
}
