//! Results of another program as a document, as JSON and as a table: one table per test with the columns of Small Datum.

use crate::charts::{Bands, BarSeries, Bars, Chart, Line, Point, Releases};
use crate::contract::SCHEMA;
use crate::document::{
    Block, Column, Document, Figure, Kind, Level, Matrix, MatrixCell, MatrixRow, Section, Table,
};
use crate::documents::ids::Ids;
use findings::import::{Compared, ImportView, RowView, StepView, heading, position};
use model::figures::{NONE, or_none};
use model::import::{ImportedFile, ImportedValue};
use model::verdict::Verdict;
use serde_json::{Value, json};

#[cfg(test)]
pub(crate) mod tests;

/// From this many versions on a line over them tells more than bars.
const LEAST_RELEASES: usize = 4;
/// So many tests are read one by one.
const MOST_SHOWN: usize = 8;
/// From so many tests on a table of all ratios tells more than the tests one by one.
const WORTH_A_MATRIX: usize = 2;
/// More lines than this in one chart cannot be told apart.
const MOST_LINES: usize = 12;

/// The document of an import.
pub fn document(view: &ImportView) -> Document {
    let mut ids = Ids::default();
    let steps: Vec<(String, &StepView)> =
        view.steps.iter().map(|step| (ids.of("test", &step.name), step)).collect();
    let mut blocks: Vec<Block> = matrix(view, &steps).map(Block::Matrix).into_iter().collect();
    blocks.extend(figure(view, &mut ids).map(Block::Figure));
    // Where an overview says what the tests say, many of them would bury it.
    let level = if blocks.is_empty() || steps.len() <= MOST_SHOWN { Level::Shown } else { Level::Folded };
    let mut sections = vec![Section::new("overview", "Overview", blocks)];
    sections.retain(|section| !section.blocks.is_empty());
    sections.extend(
        steps
            .iter()
            .map(|(id, step)| Section::new(id, &step.name, vec![Block::Table(of_step(step))]).at(level)),
    );
    Document {
        title: headline(view),
        kind: "import",
        runs: vec![view.id.clone()],
        intro: origin(view),
        sections,
        footer: closing(view),
        ..Document::default()
    }
}

/// Whether every version stands at most once in each test, so that a version names a row.
fn is_plain(view: &ImportView) -> bool {
    view.steps.iter().flat_map(|step| &step.rows).all(|row| view.subjects.contains(&row.subject))
}

fn ratio(step: &StepView, subject: &str) -> Option<f64> {
    let row = step.rows.iter().find(|row| row.subject == subject)?;
    row.relative_rate.filter(|ratio| ratio.is_finite())
}

/// Ratios of tests by versions; absent where nothing can be compared.
fn matrix(view: &ImportView, steps: &[(String, &StepView)]) -> Option<Matrix> {
    let is_worth_it = view.steps.len() >= WORTH_A_MATRIX && view.subjects.len() > 1;
    if !is_worth_it || view.compared.is_empty() || !is_plain(view) {
        return None;
    }
    let candidates = &view.subjects[1..];
    let cell = |step: &StepView, subject: &String| {
        let ratio = ratio(step, subject)?;
        Some(MatrixCell {
            text: format!("{ratio:.2}"),
            ratio: Some(ratio),
            low: None,
            high: None,
            sign: None,
            detail: "a single run: ratio only, no interval and no verdict".to_owned(),
        })
    };
    let base_value = |step: &StepView| {
        let row = step.rows.iter().find(|row| row.subject == view.base);
        let said = row.and_then(|row| Some(row.value("ops_per_s").or(row.value("us_per_op"))?.said.clone()));
        said.unwrap_or_else(|| NONE.to_owned())
    };
    Some(Matrix {
        caption: format!("Relative to {} in the same test.", view.base),
        base: view.base.clone(),
        candidates: candidates.to_vec(),
        rows: steps
            .iter()
            .map(|(id, step)| MatrixRow {
                step: step.name.clone(),
                section: Some(id.clone()),
                group: String::new(),
                base_value: base_value(step),
                cells: candidates.iter().map(|subject| cell(step, subject)).collect(),
                ..MatrixRow::default()
            })
            .collect(),
        legend: "Single runs of another program: ratios without a verdict.".to_owned(),
        ..Matrix::default()
    })
}

fn figure(view: &ImportView, ids: &mut Ids) -> Option<Figure> {
    if view.subjects.len() < 2 || view.compared.is_empty() || !is_plain(view) {
        return None;
    }
    let point = |step: &StepView, subject: &String| {
        Some(Point { value: ratio(step, subject)?, low: None, high: None })
    };
    let title = format!("Relative to {}", view.base);
    let over_versions = view.subjects.len() >= LEAST_RELEASES && view.steps.len() <= MOST_LINES;
    let chart = if over_versions {
        let lines = view.steps.iter().map(|step| Line {
            name: step.name.clone(),
            points: view.subjects.iter().map(|subject| point(step, subject)).collect(),
            changes: Vec::new(),
        });
        Chart::Releases(Releases {
            bands: Bands::MajorVersions,
            title,
            axis: "relative rate".to_owned(),
            reference: Some(1.0),
            confidence: None,
            releases: view.subjects.clone(),
            lines: lines.collect(),
        })
    } else {
        let series = view.subjects[1..].iter().map(|subject| BarSeries {
            name: subject.clone(),
            values: view.steps.iter().map(|step| point(step, subject)).collect(),
        });
        Chart::Bars(Bars {
            title,
            axis: "relative rate".to_owned(),
            reference: 1.0,
            confidence: None,
            labels: view.steps.iter().map(|step| step.name.clone()).collect(),
            series: series.collect(),
        })
    };
    Some(Figure {
        name: ids.of("relative-rate", ""),
        caption: format!("Rate over that of {} in the same test; single runs.", view.base),
        chart,
    })
}

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
fn of_step(step: &StepView) -> Table {
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

/// Two decimals, as Small Datum has it.
fn relative(row: &RowView) -> String {
    or_none(row.relative_rate, |ratio| format!("{ratio:.2}"))
}

/// What stands in the file: Small Datum's digits, not ours.
fn said(row: &RowView, metric: &str) -> String {
    let said = row.value(metric).map(|value| value.said.as_str()).filter(|said| !said.is_empty());
    said.unwrap_or(NONE).to_owned()
}

fn headline(view: &ImportView) -> String {
    let name = view.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let (steps, subjects) = (view.steps.len(), view.subjects.len());
    format!(
        "Import {}{name}: {} of {}, not measured by dbdyno",
        view.id,
        model::figures::count(steps as u64, "test", "tests"),
        model::figures::count(subjects as u64, "version", "versions"),
    )
}

fn origin(view: &ImportView) -> Vec<String> {
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

fn closing(view: &ImportView) -> Vec<String> {
    let mut lines: Vec<String> = view.warnings.iter().map(|warning| format!("from {warning}")).collect();
    let units = match view.format.as_str() {
        "db_bench-report" | "db_bench-text" => "Columns, units and digits are those of the file",
        _ => {
            "Columns that are named like metrics have their units, the others those of Small Datum (us; MB and KB of \
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

/// The keys of scripts.
pub fn json(view: &ImportView) -> Value {
    let file = |one: &ImportedFile| json!({ "file": one.file, "sha256": one.sha256 });
    let single = json!({
        "id": "single-runs",
        "text": "one run per test and version: ratio only, no interval and no verdict",
    });
    let told = view.warnings.iter().map(|text| json!({ "id": "tool-warned", "text": text }));
    json!({
        "schema": SCHEMA,
        "import": view.id,
        "name": view.name,
        "format": view.format,
        "imported_at_us": view.imported_at_us,
        "files": view.files.iter().map(file).collect::<Vec<_>>(),
        "base": view.base,
        "subjects": view.subjects,
        "steps": view.steps.iter().map(step).collect::<Vec<_>>(),
        "warnings": std::iter::once(single).chain(told).collect::<Vec<_>>(),
    })
}

fn step(one: &StepView) -> Value {
    json!({ "step": one.name, "rows": one.rows.iter().map(row).collect::<Vec<_>>() })
}

fn row(one: &RowView) -> Value {
    json!({
        "subject": one.subject,
        "ratio": one.relative_rate,
        "verdict": Verdict::RatioOnly,
        "file": one.file,
        "place": one.place,
        "values": one.values.iter().map(value).collect::<Vec<_>>(),
    })
}

fn value(one: &ImportedValue) -> Value {
    json!({ "metric": one.metric, "unit": one.unit, "value": one.value, "said": one.said })
}
