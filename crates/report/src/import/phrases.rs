//! Sentences and tables of an import.

use crate::document::{Column, Kind, Table};
use findings::import::{Compared, ImportView, RowView, StepView, heading, position};
use model::figures::NONE;

/// Digits of a checksum that are enough to tell files apart.
const SHORT_HASH: usize = 12;
/// Columns that are for scripts: a terminal has no room for them.
const ONLY_IN_TABLES: [&str; 3] = ["date", "job_id", "githash"];
/// The heading of the column of ratios.
const RELATIVE: &str = "relative";

/// A line per test and version, all columns that any test has, as they stand in the files.
pub fn table(view: &ImportView) -> Table {
    let mut metrics: Vec<&String> = Vec::new();
    for metric in view.steps.iter().flat_map(|step| &step.metrics) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics.sort_by_key(|metric| position(metric));
    let leading = ["test", "version", "rel_ops_sec"].into_iter();
    let headers = leading.chain(metrics.iter().map(|metric| heading(metric)));
    let mut table = Table::for_scripts(&headers.collect::<Vec<_>>());
    table.fill(view.steps.iter().flat_map(|step| step.rows.iter().map(move |row| (step, row))).map(
        |(step, row)| {
            let leading = [step.name.clone(), row.subject.clone(), relative(row)].into_iter();
            leading.chain(metrics.iter().map(|metric| said(row, metric))).collect::<Vec<_>>()
        },
    ));
    table
}

/// One test: a row per version, the columns that a person reads.
pub(super) fn of_step(step: &StepView) -> Table {
    let metrics: Vec<&String> =
        step.metrics.iter().filter(|metric| !ONLY_IN_TABLES.contains(&metric.as_str())).collect();
    let has_ratio = step.rows.iter().any(|row| row.relative_rate.is_some());
    let mut columns = vec![Column::new("version", Kind::Name)];
    columns.extend(has_ratio.then(|| Column::new(RELATIVE, Kind::Number)));
    columns.extend(metrics.iter().map(|metric| {
        let numbers =
            step.rows.iter().any(|row| row.value(metric).is_some_and(|value| value.value.is_some()));
        Column::new(heading(metric), if numbers { Kind::Number } else { Kind::Word })
    }));
    let rows = step.rows.iter().map(|row| {
        let ratio = has_ratio.then(|| relative(row));
        std::iter::once(row.subject.clone())
            .chain(ratio)
            .chain(metrics.iter().map(|metric| said(row, metric)))
            .collect::<Vec<_>>()
    });
    Table::of(columns, rows)
}

/// Two decimals, as the posts have it.
fn relative(row: &RowView) -> String {
    row.relative_rate.map_or_else(|| NONE.to_owned(), |ratio| format!("{ratio:.2}"))
}

/// What stands in the file: the posts' digits, not ours.
fn said(row: &RowView, metric: &str) -> String {
    let said = row.value(metric).map(|value| value.said.as_str()).filter(|said| !said.is_empty());
    said.unwrap_or(NONE).to_owned()
}

pub(super) fn headline(view: &ImportView) -> String {
    let name = view.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let (steps, subjects) = (view.steps.len(), view.subjects.len());
    format!(
        "Import {}{name}: {} of {}, not measured by dbdyno",
        view.id,
        model::figures::count(steps as u64, "test", "tests"),
        model::figures::count(subjects as u64, "version", "versions"),
    )
}

pub(super) fn origin(view: &ImportView) -> Vec<String> {
    let several = view.files.len() > 1;
    view.files
        .iter()
        .zip(1..)
        .map(|(file, number)| {
            let hash: String = file.sha256.chars().take(SHORT_HASH).collect();
            let file_number = if several { format!("file {number}: ") } else { "from ".to_owned() };
            format!("{file_number}{} ({}, sha256 {hash})", file.file, view.format)
        })
        .collect()
}

pub(super) fn closing(view: &ImportView) -> Vec<String> {
    let mut lines: Vec<String> = view.warnings.iter().map(|warning| format!("from {warning}")).collect();
    let units = match view.format.as_str() {
        "db_bench-report" | "db_bench-text" => "Columns, units and digits are those of the file",
        _ => {
            "Columns that are named like metrics have their units, the others those of the posts (us; MB and KB of \
             powers of 1024; waits of devices in ms)"
        }
    };
    lines.push(format!("{} {units}; dates and hashes are in --format tsv.", comparison(view)));
    lines.push(format!("again: dbdyno report {}", view.id));
    lines
}

fn comparison(view: &ImportView) -> String {
    let base = &view.base;
    let ratio = match (view.compared.contains(&Compared::Rate), view.compared.contains(&Compared::Time)) {
        (true, false) => format!("ops_sec over that of {base} in the same test"),
        (false, true) => format!("usec_op of {base} over that of the row, in the same test"),
        (true, true) => {
            format!(
                "ops_sec over that of {base} in the same test, the inverse of usec_op where there is no ops_sec"
            )
        }
        (false, false) => return "Single runs: no interval and no verdict.".to_owned(),
    };
    format!("{RELATIVE}: {ratio}. Single runs: ratio only, no interval and no verdict.")
}
