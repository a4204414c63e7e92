//! What the report of an import holds.

pub use formats::import::{heading, position};
use model::import::{ImportRecord, ImportedFile, ImportedValue};
use model::metric::Direction;
use std::collections::BTreeSet;

/// What versions may be compared by, best first, with its metric and whether more of it is better.
const COMPARED: [(Compared, &str, Direction); 2] = [
    (Compared::Rate, "ops_per_s", Direction::HigherIsBetter),
    (Compared::Time, "us_per_op", Direction::LowerIsBetter),
];

/// What versions are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compared {
    /// Operations per second, over those of the base.
    Rate,
    /// Time of an operation: the base's over that of the row, so that more is better here too.
    Time,
}

/// An import, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportView {
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// `db_bench-report`
    pub format: String,
    /// Microseconds since the epoch.
    pub imported_at_us: i64,
    /// The files that it was read from.
    pub files: Vec<ImportedFile>,
    /// The version that the others are put beside: the first one.
    pub base: String,
    /// The versions, in the order in which they first appear.
    pub subjects: Vec<String>,
    /// The tests, in the order in which they first appear.
    pub steps: Vec<StepView>,
    /// What their versions are compared by; empty where no file has any of it.
    pub compared: BTreeSet<Compared>,
    /// What the tool that wrote the files warned of.
    pub warnings: Vec<String>,
}

/// One test.
#[derive(Debug, Clone, PartialEq)]
pub struct StepView {
    /// Its name, as the file has it.
    pub name: String,
    /// The metrics that any of its rows has, in the order of Small Datum.
    pub metrics: Vec<String>,
    /// A row per version, in the order of the files.
    pub rows: Vec<RowView>,
}

/// One test of one version.
#[derive(Debug, Clone, PartialEq)]
pub struct RowView {
    /// The version; where a test has it more than once, with the file's number, and with the line within a file.
    pub subject: String,
    /// Rate over that of the base in the same test; absent where either has none.
    pub relative_rate: Option<f64>,
    /// Index of the file.
    pub file: usize,
    /// `line 17`
    pub place: String,
    /// Its values, in the order of the file.
    pub values: Vec<ImportedValue>,
}

impl RowView {
    /// The value of a metric; absent where the row has none.
    pub fn value(&self, metric: &str) -> Option<&ImportedValue> {
        self.values.iter().find(|value| value.metric == metric)
    }
}

/// Makes the view.
pub fn build(import: &ImportRecord) -> ImportView {
    let mut subjects: Vec<String> = Vec::new();
    let mut steps: Vec<StepView> = Vec::new();
    for value in &import.values {
        if !subjects.contains(&value.subject) {
            subjects.push(value.subject.clone());
        }
        let index = steps.iter().position(|step| step.name == value.step).unwrap_or_else(|| {
            steps.push(StepView { name: value.step.clone(), metrics: Vec::new(), rows: Vec::new() });
            steps.len() - 1
        });
        take_in(&mut steps[index], value);
    }
    let base = subjects.first().cloned().unwrap_or_default();
    let mut compared = BTreeSet::new();
    for step in &mut steps {
        compared.extend(finish(step, &base));
    }
    ImportView {
        id: import.id.clone(),
        name: import.name.clone(),
        format: import.format.clone(),
        imported_at_us: import.imported_at_us,
        files: import.files.clone(),
        base,
        subjects,
        steps,
        compared,
        warnings: warnings(import),
    }
}

/// A line of a file is a row: also where two files have the same test of the same version.
fn take_in(step: &mut StepView, value: &ImportedValue) {
    let same = |row: &RowView| row.file == value.file && row.place == value.place;
    match step.rows.iter_mut().find(|row| same(row)) {
        Some(row) => row.values.push(value.clone()),
        None => step.rows.push(RowView {
            subject: value.subject.clone(),
            relative_rate: None,
            file: value.file,
            place: value.place.clone(),
            values: vec![value.clone()],
        }),
    }
    if !value.said.is_empty() && !step.metrics.contains(&value.metric) {
        step.metrics.push(value.metric.clone());
    }
}

/// Gives back what the rows are compared by: the best metric that any of them has. A row that has it not, since its test
/// failed, is not compared by another.
fn finish(step: &mut StepView, base: &str) -> Option<Compared> {
    step.metrics.sort_by_key(|metric| position(metric));
    let has = |metric: &str| step.metrics.iter().any(|known| known == metric);
    let compared = COMPARED.iter().find(|(_, metric, _)| has(metric));
    let base_row = step.rows.iter().find(|row| row.subject == base).cloned();
    if let (Some((_, metric, direction)), Some(base)) = (compared, base_row) {
        for row in &mut step.rows {
            row.relative_rate = relative(metric, *direction, Pair { row, base: &base });
        }
    }
    let names: Vec<(String, usize)> = step.rows.iter().map(|row| (row.subject.clone(), row.file)).collect();
    for row in &mut step.rows {
        let same = names.iter().filter(|(name, _)| *name == row.subject);
        let same_file = same.clone().filter(|(_, file)| *file == row.file).count();
        match (same.count(), same_file) {
            (1, _) => {}
            (_, 1) => row.subject = format!("{} (file {})", row.subject, row.file + 1),
            (_, _) => row.subject = format!("{} (file {} {})", row.subject, row.file + 1, row.place),
        }
    }
    compared.map(|(by, _, _)| *by)
}

struct Pair<'a> {
    row: &'a RowView,
    base: &'a RowView,
}

/// Nothing cannot be divided by, and says nothing.
fn relative(metric: &str, direction: Direction, pair: Pair<'_>) -> Option<f64> {
    let of = |row: &RowView| row.value(metric)?.value.filter(|value| *value > 0.0);
    let (value, base) = (of(pair.row)?, of(pair.base)?);
    Some(match direction {
        Direction::HigherIsBetter => value / base,
        Direction::LowerIsBetter => base / value,
    })
}

fn warnings(import: &ImportRecord) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for file in &import.files {
        for warning in formats::import::warnings(&import.format, file) {
            let warning = format!("{}: {warning}", file.file);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}
