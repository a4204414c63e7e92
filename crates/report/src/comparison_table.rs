//! A comparison as one table for spreadsheets: a line for each step and side, a column for each metric under the
//! posts' names and in their units where they have one.

use crate::campaign::{COLUMNS, Column};
use crate::separated::{Separator, line, number};
use crate::view::{CandidateView, Figure, ReportView, StepRow};
use model::counter::Counter;
use model::metric::Metric;
use model::subject::SubjectRef;

/// Columns before those of the metrics.
const LEADING: [&str; 14] = [
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
];

/// As tab-separated values.
pub fn tsv(view: &ReportView) -> String {
    render(view, Separator::Tab)
}

/// As comma-separated values, quoted where needed (RFC 4180).
pub fn csv(view: &ReportView) -> String {
    render(view, Separator::Comma)
}

fn render(view: &ReportView, separator: Separator) -> String {
    let metrics = metrics(view);
    let mut header: Vec<&str> = LEADING.to_vec();
    header.extend(metrics.iter().map(|metric| heading(*metric)));
    let mut text = line(&header, separator);
    let steps = view.candidates.first().map(|candidate| candidate.rows.as_slice()).unwrap_or_default();
    for (index, _) in steps.iter().enumerate() {
        let of_step: Vec<(&CandidateView, &StepRow)> = view
            .candidates
            .iter()
            .filter_map(|candidate| Some((candidate, candidate.rows.get(index)?)))
            .collect();
        text.push_str(&line(&base_line(view, &of_step, &metrics), separator));
        for (candidate, row) in &of_step {
            text.push_str(&line(&candidate_line(view, candidate, row, &metrics), separator));
        }
    }
    text
}

/// The metrics of which some step has a value, in the order of reports.
fn metrics(view: &ReportView) -> Vec<Metric> {
    let rates = [Metric::OpsPerSecond, Metric::OpsPerSecondAdjusted, Metric::CpuMicrosPerOp];
    let all = rates.into_iter().chain(Counter::ALL.map(Metric::Counter));
    let rows = || view.candidates.iter().flat_map(|candidate| &candidate.rows);
    let is_known = |metric: &Metric| {
        rows().filter_map(|row| figure(row, *metric)).any(|of| of.base.or(of.candidate).is_some())
    };
    all.filter(is_known).collect()
}

fn figure(row: &StepRow, metric: Metric) -> Option<&Figure> {
    match metric {
        Metric::OpsPerSecond => Some(&row.wall),
        Metric::OpsPerSecondAdjusted => row.adjusted.as_ref(),
        Metric::CpuMicrosPerOp => Some(&row.cpu),
        Metric::Counter(counter) => {
            row.counters.iter().find(|one| one.counter == counter).map(|one| &one.figure)
        }
    }
}

/// The posts' column of a metric, of which the name and the unit are taken.
fn column(metric: Metric) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.metric == metric.name())
}

fn heading(metric: Metric) -> &'static str {
    column(metric).map_or(metric.name(), |column| column.header)
}

fn shown(value: Option<f64>, metric: Metric) -> String {
    let scale = column(metric).map_or(1.0, |column| column.scale);
    number(value.map(|value| value / scale))
}

/// The base beside the first candidate that has a value: each candidate is held against the launches that it shares
/// with the base, and has the base's rate of those in a column of its own.
fn base_line(view: &ReportView, of_step: &[(&CandidateView, &StepRow)], metrics: &[Metric]) -> Vec<String> {
    let step = of_step.first().map_or("", |(_, row)| row.step.as_str());
    let measured = of_step.iter().find(|(_, row)| row.wall.base.is_some());
    let mut cells = vec![step.to_owned()];
    cells.extend(names(&view.base));
    cells.push(measured.map_or(0, |(_, row)| row.launches).to_string());
    cells.extend(["-", "-", "-", "-", "-"].map(str::to_owned));
    cells.push(view.trials.failed_of(step, &view.base).to_string());
    cells.push(view.run.status.name().to_owned());
    cells.push("-".to_owned());
    cells.extend(metrics.iter().map(|metric| {
        shown(measured.and_then(|(_, row)| figure(row, *metric)).and_then(|figure| figure.base), *metric)
    }));
    cells
}

fn candidate_line(
    view: &ReportView,
    candidate: &CandidateView,
    row: &StepRow,
    metrics: &[Metric],
) -> Vec<String> {
    let deciding = row.deciding();
    let mut cells = vec![row.step.clone()];
    cells.extend(names(&candidate.subject));
    cells.push(row.launches.to_string());
    cells.extend([deciding.ratio, deciding.low, deciding.high].map(number));
    cells.push(row.verdict.name().to_owned());
    cells.push(row.decides.name().to_owned());
    cells.push(view.trials.failed_of(&row.step, &candidate.subject).to_string());
    cells.push(view.run.status.name().to_owned());
    cells.push(number(row.wall.base));
    cells.extend(
        metrics.iter().map(|metric| shown(figure(row, *metric).and_then(|figure| figure.candidate), *metric)),
    );
    cells
}

/// The subject, and engine, version and configuration that it names.
fn names(subject: &str) -> [String; 4] {
    match subject.parse::<SubjectRef>() {
        Ok(SubjectRef { build, config }) => [subject.to_owned(), build.engine, build.version, config],
        Err(_) => [subject, "-", "-", "-"].map(str::to_owned),
    }
}
