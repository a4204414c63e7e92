//! Where the releases of a table stand, and its values by release.

use super::lines::Lines;
use super::{Cell, TableValue, number, wrong};
use crate::ParseError;
use crate::lines::check_name;
use std::collections::BTreeSet;

/// Where the releases stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Releases {
    /// A row for each.
    InRows,
    /// A column for each.
    InColumns,
}

/// Which column is what.
pub(super) enum Layout {
    InRows(RowLayout),
    InColumns(ColumnLayout),
}

/// Indexes of columns.
pub(super) struct RowLayout {
    release: usize,
    labels: Vec<usize>,
    metrics: Vec<usize>,
}

/// Indexes of columns.
pub(super) struct ColumnLayout {
    releases: Vec<usize>,
    labels: Vec<usize>,
}

/// Names of a column that holds releases, in lower case.
const RELEASE_COLUMNS: [&str; 9] =
    ["version", "release", "build", "commit", "revision", "subject", "dbms", "tag", "githash"];
/// A release begins with at most so many letters: `postgres16.2`.
const LONGEST_PREFIX: usize = 12;

impl Layout {
    pub(super) fn of(lines: &Lines, wanted: Option<Releases>) -> Result<Layout, ParseError> {
        let release = lines
            .header
            .iter()
            .position(|name| RELEASE_COLUMNS.contains(&name.to_ascii_lowercase().as_str()));
        let columns: Vec<usize> =
            (0..lines.header.len()).filter(|column| looks_like_release(&lines.header[*column])).collect();
        match (wanted, release) {
            (Some(Releases::InRows), release) => {
                let first = release.unwrap_or(0);
                Ok(Layout::InRows(row_layout(lines, first)?))
            }
            (None, Some(release)) => Ok(Layout::InRows(row_layout(lines, release)?)),
            (_, _) if columns.len() >= 2 => {
                let labels = (0..lines.header.len()).filter(|column| !columns.contains(column)).collect();
                Ok(Layout::InColumns(ColumnLayout { labels, releases: columns }))
            }
            (_, _) => Err(wrong(
                lines.line,
                format!(
                    "the header names no column of releases ({}, ..), and no two releases: {}",
                    RELEASE_COLUMNS[..3].join(", "),
                    lines.header.join(", ")
                ),
            )),
        }
    }
}

/// `8.10`, `v611`, `pg1411_def`, `MySQL 8.0.36`; not `p99`, which is a percentile, nor `qps`.
fn looks_like_release(name: &str) -> bool {
    let digits =
        name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || " ._-@".contains(letter));
    let prefix = &name[..name.len() - digits.len()];
    let percentile = ["p", "P"].contains(&prefix) && digits.parse::<f64>().is_ok();
    digits.starts_with(|letter: char| letter.is_ascii_digit())
        && prefix.len() <= LONGEST_PREFIX
        && !percentile
}

fn row_layout(lines: &Lines, release: usize) -> Result<RowLayout, ParseError> {
    let others = (0..lines.header.len()).filter(|column| *column != release);
    // A column with any number in it should hold numbers, and one that is all words is a name.
    let is_metric = |column: &usize| {
        lines.rows.iter().any(|row| Cell::read(&row.cells[*column]).is_some_and(|cell| cell.value.is_some()))
    };
    let (metrics, words): (Vec<usize>, Vec<usize>) = others.partition(is_metric);
    if metrics.is_empty() {
        return Err(wrong(lines.line, "no column below the header holds numbers".to_owned()));
    }
    // A column of gaps alone is a metric that nobody measured.
    let says_something =
        |column: &usize| lines.rows.iter().any(|row| Cell::read(&row.cells[*column]).is_none());
    Ok(RowLayout { release, metrics, labels: words.into_iter().filter(says_something).collect() })
}

pub(super) fn values_in_rows(lines: &Lines, layout: &RowLayout) -> Result<Vec<TableValue>, ParseError> {
    let mut values = Vec::new();
    for row in &lines.rows {
        let release = &row.cells[layout.release];
        if release.is_empty() {
            let name = &lines.header[layout.release];
            return Err(wrong(
                row.line,
                format!("column {} (`{name}`) names no release", layout.release + 1),
            ));
        }
        let step = joined(layout.labels.iter().map(|column| row.cells[*column].as_str()));
        [release, &step].into_iter().try_for_each(|name| named(name, row.line))?;
        for column in &layout.metrics {
            let (name, said) = (&lines.header[*column], &row.cells[*column]);
            let cell = number(said, row.line, column + 1, name)?;
            values.push(TableValue {
                release: release.clone(),
                step: step.clone(),
                metric: name.clone(),
                unit: cell.unit,
                value: cell.value,
                said: said.clone(),
                line: row.line,
                column: column + 1,
                place: format!("line {}", row.line),
            });
        }
    }
    Ok(values)
}

pub(super) fn values_in_columns(
    lines: &Lines,
    layout: &ColumnLayout,
    metric: &str,
) -> Result<Vec<TableValue>, ParseError> {
    let names = row_names(lines, layout);
    let mut values = Vec::new();
    for (row, step) in lines.rows.iter().zip(names) {
        named(&step, row.line)?;
        for column in &layout.releases {
            let (release, said) = (&lines.header[*column], &row.cells[*column]);
            let cell = number(said, row.line, column + 1, release)?;
            values.push(TableValue {
                release: release.clone(),
                step: step.clone(),
                metric: metric.to_owned(),
                unit: cell.unit,
                value: cell.value,
                said: said.clone(),
                line: row.line,
                column: column + 1,
                place: format!("line {}, column {}", row.line, column + 1),
            });
        }
    }
    Ok(values)
}

/// What each row is of: its words where they tell the rows apart, else all that stands beside the releases.
fn row_names(lines: &Lines, layout: &ColumnLayout) -> Vec<String> {
    let is_word = |column: &&usize| lines.rows.iter().any(|row| Cell::read(&row.cells[**column]).is_none());
    let words: Vec<usize> = layout.labels.iter().filter(is_word).copied().collect();
    let named_by = |columns: &[usize]| -> Vec<String> {
        lines
            .rows
            .iter()
            .map(|row| joined(columns.iter().map(|column| row.cells[*column].as_str())))
            .collect()
    };
    let by_words = named_by(&words);
    let different: BTreeSet<&String> = by_words.iter().collect();
    if !words.is_empty() && different.len() == lines.rows.len() { by_words } else { named_by(&layout.labels) }
}

/// Errors: it is too long for a name.
fn named(name: &str, line: usize) -> Result<(), ParseError> {
    check_name(name).map_err(|problem| wrong(line, problem))
}

fn joined<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" ")
}
