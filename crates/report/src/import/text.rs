//! An import as text, Markdown and tables for spreadsheets.

use super::view::{Compared, ImportView, RowView, StepView};
use crate::grids::{Column, Grid, Kind};
use crate::layout::{BOLD, marked, paint, wrapped};
use crate::markdown;
use crate::split_tables::tables;
use crate::text::{LEAST_WIDTH, TextOptions};
use formats::import::heading;
use std::borrow::Cow;

/// What stands where the file has no value.
const NONE: &str = "-";
/// Digits of a checksum that are enough to tell files apart.
const SHORT_HASH: usize = 12;
/// Columns that are for scripts: a terminal has no room for them.
const ONLY_IN_TABLES: [&str; 3] = ["date", "job_id", "githash"];
/// Least tests and versions from which a table of all ratios tells more than the tests one by one.
const WORTH_A_SUMMARY: usize = 2;
/// The heading of the column of ratios.
const RELATIVE: &str = "relative";

/// For a terminal.
pub fn text(view: &ImportView, options: TextOptions) -> String {
    let width = options.width.max(LEAST_WIDTH);
    let paragraphs =
        |lines: Vec<String>| lines.iter().map(|line| wrapped(line, width, 2)).collect::<Vec<_>>().join("\n");
    let mut parts = vec![wrapped(&headline(view), width, 0), paragraphs(origin(view))];
    parts.extend(summary(view).into_iter().flat_map(|grid| tables(grid, width)));
    for step in &view.steps {
        parts.push(marked(BOLD, &step.name));
        parts.extend(tables(grid(step), width));
    }
    parts.push(paragraphs(closing(view)));
    parts.retain(|part| !part.is_empty());
    paint(&(parts.join("\n\n") + "\n"), options.colour)
}

/// For a pull request or a post.
pub fn markdown(view: &ImportView) -> String {
    let mut parts = vec![format!("### {}", markdown::escaped(&headline(view)))];
    parts.push(origin(view).iter().map(|line| markdown::list_item(line)).collect::<Vec<_>>().join("\n"));
    parts.extend(summary(view).as_ref().map(markdown::table));
    for step in &view.steps {
        parts.push(format!("#### {}", markdown::escaped(&step.name)));
        parts.push(markdown::table(&grid(step)));
    }
    parts.push(closing(view).iter().map(|line| markdown::escaped(line)).collect::<Vec<_>>().join("\n\n"));
    parts.join("\n\n") + "\n"
}

/// Tab-separated: a line per test and version, all columns that any test has, as they stand in the files.
pub fn tsv(view: &ImportView) -> String {
    // A tab or a line break in a name would move every value after it.
    table(view, "\t", |field| field.replace(['\t', '\n', '\r'], " "))
}

/// Comma-separated, quoted where needed (RFC 4180).
pub fn csv(view: &ImportView) -> String {
    table(view, ",", |field| {
        if field.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.to_owned()
        }
    })
}

fn table(view: &ImportView, separator: &str, field: impl Fn(&str) -> String) -> String {
    let mut metrics: Vec<&String> = Vec::new();
    for metric in view.steps.iter().flat_map(|step| &step.metrics) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics.sort_by_key(|metric| formats::import::position(metric));
    let leading = ["test", "version", "rel_ops_sec"].map(str::to_owned);
    let mut lines: Vec<Vec<String>> =
        vec![leading.into_iter().chain(metrics.iter().map(|metric| heading(metric).to_owned())).collect()];
    for step in &view.steps {
        for row in &step.rows {
            let leading = [step.name.clone(), row.subject.clone(), relative(row)];
            lines.push(leading.into_iter().chain(metrics.iter().map(|metric| said(row, metric))).collect());
        }
    }
    let joined =
        |line: Vec<String>| line.iter().map(|cell| field(cell)).collect::<Vec<_>>().join(separator) + "\n";
    lines.into_iter().map(joined).collect()
}

pub(super) fn grid(step: &StepView) -> Grid {
    let column = |header: &str, kind| Column { header: Cow::Owned(header.to_owned()), kind };
    let metrics: Vec<&String> =
        step.metrics.iter().filter(|metric| !ONLY_IN_TABLES.contains(&metric.as_str())).collect();
    let has_ratio = step.rows.iter().any(|row| row.relative_rate.is_some());
    let mut columns = vec![column("version", Kind::Name)];
    columns.extend(has_ratio.then(|| column(RELATIVE, Kind::Number)));
    columns.extend(metrics.iter().map(|metric| {
        let numbers =
            step.rows.iter().any(|row| row.value(metric).is_some_and(|value| value.value.is_some()));
        column(heading(metric), if numbers { Kind::Number } else { Kind::Word })
    }));
    let rows = step.rows.iter().map(|row| {
        let ratio = has_ratio.then(|| relative(row));
        std::iter::once(row.subject.clone())
            .chain(ratio)
            .chain(metrics.iter().map(|metric| said(row, metric)))
            .collect()
    });
    Grid { rows: rows.collect(), columns }
}

/// All ratios: a row per test, a column per version, as the posts summarise them. None where it would only repeat one
/// test, or where a test has a version twice.
pub(super) fn summary(view: &ImportView) -> Option<Grid> {
    if view.steps.len() < WORTH_A_SUMMARY || view.subjects.len() < WORTH_A_SUMMARY || view.compared.is_empty()
    {
        return None;
    }
    let of = |step: &StepView, subject: &String| {
        let mut rows = step.rows.iter().filter(|row| row.subject == *subject);
        rows.next().map_or_else(|| NONE.to_owned(), relative)
    };
    let known = |row: &RowView| view.subjects.contains(&row.subject);
    if !view.steps.iter().flat_map(|step| &step.rows).all(known) {
        return None;
    }
    let by_time = view.compared.contains(&Compared::Time);
    let heading = if by_time { RELATIVE.to_owned() } else { format!("{RELATIVE} ops_sec") };
    let mut columns = vec![Column { header: Cow::Owned(heading), kind: Kind::Name }];
    columns.extend(
        view.subjects
            .iter()
            .map(|subject| Column { header: Cow::Owned(subject.clone()), kind: Kind::Number }),
    );
    let rows = view.steps.iter().map(|step| {
        std::iter::once(step.name.clone()).chain(view.subjects.iter().map(|it| of(step, it))).collect()
    });
    Some(Grid { rows: rows.collect(), columns })
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
