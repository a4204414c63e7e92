//! Tables of results as people publish them: separated by tabs, commas or semicolons, a row for each release or a column
//! for each.
//!
//! ```text
//! version  rps    rareqsz        step  test        v64     v611
//! 8.5      1489   100.5          1     fillrandom  357763  339811
//! 8.6      18854  4.3            2     overwrite   344379  344567
//! ```
//!
//! Columns are found by the header, and no row may have more or fewer cells than it. A table whose columns are called
//! `col-1`, `col-2` may name them above (`col-1 : pg1411_def`) and end its rows with their names, as the summaries of
//! the 42 microbenchmarks do. A line of `#` is a comment, one of `-` nothing.

mod cell;
mod layout;
mod lines;

pub use layout::Releases;

use crate::ParseError;
use cell::Cell;
use layout::Layout;
use lines::Lines;
use std::collections::BTreeMap;

const WHAT: &str = "table";

/// How a table is read where it does not say so itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices {
    /// Where the releases stand; found by the header where absent.
    pub releases: Option<Releases>,
    /// What the numbers are, where each release has a column: `ops_per_s`.
    pub metric: Option<String>,
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableValue {
    /// The release, as the table names it.
    pub release: String,
    /// What was measured, in the words of the table; empty where it does not say.
    pub step: String,
    /// The name of the column, or the metric that was chosen.
    pub metric: String,
    /// What stands behind the number; empty where there is nothing.
    pub unit: String,
    /// The number; absent where the cell is empty, `NA`, `-` or the like.
    pub value: Option<f64>,
    pub said: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What it shares with the other values of its release: `line 3`, or `line 3, column 4`.
    pub place: String,
}

/// The metric of a table whose columns are releases and that says nothing of its numbers.
pub const UNNAMED_METRIC: &str = "value";

/// Reads a table.
///
/// # Errors
/// No text, no header, a row with another number of cells than the header, a cell that is no number among numbers,
/// units that are mixed, a release that stands there twice; each with its line, and its column where it has one.
pub fn parse(text: &str, choices: &Choices) -> Result<Vec<TableValue>, ParseError> {
    let lines = Lines::read(text)?;
    let layout = Layout::of(&lines, choices.releases)?;
    let values = match &layout {
        Layout::InRows(rows) => layout::values_in_rows(&lines, rows)?,
        Layout::InColumns(columns) => {
            let metric = choices.metric.as_deref().unwrap_or(UNNAMED_METRIC);
            layout::values_in_columns(&lines, columns, metric)?
        }
    };
    without_doubles(&values)?;
    one_unit_each(&values)?;
    Ok(values)
}

/// A release has one number of each step and metric. Repeats belong into files of their own: which of two rows is the
/// other run of the same, and which a mistake, no table tells.
fn without_doubles(values: &[TableValue]) -> Result<(), ParseError> {
    let mut places: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for value in values {
        let key = (value.release.as_str(), value.step.as_str(), value.metric.as_str());
        if let Some(line) = places.insert(key, value.line) {
            let step = if value.step.is_empty() { String::new() } else { format!(" {}", value.step) };
            return Err(wrong(
                value.line,
                format!(
                    "{}{step} has `{}` in line {line} already; put repeats into files of their own",
                    value.release, value.metric
                ),
            ));
        }
    }
    Ok(())
}

fn one_unit_each(values: &[TableValue]) -> Result<(), ParseError> {
    let mut units: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for value in values.iter().filter(|value| value.value.is_some()) {
        let unit = *units.entry((&value.step, &value.metric)).or_insert(&value.unit);
        if unit != value.unit {
            let unit = if unit.is_empty() { "no unit" } else { unit };
            return Err(wrong(
                value.line,
                format!(
                    "column {} (`{}`): `{}` beside numbers with {unit}",
                    value.column, value.metric, value.said
                ),
            ));
        }
    }
    Ok(())
}

fn wrong(line: usize, problem: String) -> ParseError {
    ParseError { what: WHAT, line, problem }
}

/// A cell that should be a number.
fn number(said: &str, line: usize, column: usize, name: &str) -> Result<Cell, ParseError> {
    Cell::read(said).ok_or_else(|| {
        wrong(line, format!("column {column} (`{name}`): `{said}` is no number, nor a gap (`-`, `NA`)"))
    })
}

#[cfg(test)]
mod tests;
