//! Samples that stand in columns: cells beside their header, and means over them as Small Datum has them.

use crate::number::{Rounded, real};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One row: numbers by column. What the program could not compute is absent.
///
/// Rows share their columns: a day of samples has a million of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    columns: Arc<[String]>,
    numbers: Vec<Option<f64>>,
}

impl Row {
    /// The number in a column; absent also where there is no such column.
    pub fn value(&self, column: &str) -> Option<f64> {
        self.iter().find(|(name, _)| *name == column)?.1
    }

    /// Columns and their numbers, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<f64>)> {
        self.columns.iter().map(String::as_str).zip(self.numbers.iter().copied())
    }

    /// Whether it has no column.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// What the first report of iostat or vmstat covers. Texts do not say, so that the caller has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstReport {
    /// The time since the host was started: it counts for nothing.
    SinceBoot,
    /// An interval like all others: the programs were told so (`-y`).
    Interval,
}

impl FirstReport {
    /// How many reports to leave out in the beginning.
    pub fn skipped(self) -> usize {
        match self {
            FirstReport::SinceBoot => 1,
            FirstReport::Interval => 0,
        }
    }
}

/// A mean, and of how many samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The arithmetic mean, each sample alike.
    pub value: f64,
    /// Samples that had a number. At least one.
    pub samples: usize,
}

/// The means of rows, by column. A column that has no number has no mean.
pub fn means<'a>(rows: impl IntoIterator<Item = &'a Row>) -> BTreeMap<String, Mean> {
    let mut sums: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    for (column, value) in rows.into_iter().flat_map(Row::iter) {
        if let Some(value) = value {
            let (sum, samples) = sums.entry(column).or_default();
            *sum += value;
            *samples += 1;
        }
    }
    let mean = |(sum, samples): (f64, usize)| Mean { value: sum / samples as f64, samples };
    sums.into_iter().map(|(column, sum)| (column.to_owned(), mean(sum))).collect()
}

/// Errors: there are not as many cells as columns.
pub fn fit(columns: &[String], cells: &[&str]) -> Result<(), String> {
    if cells.len() == columns.len() {
        return Ok(());
    }
    // The first column without a cell tells where a line was cut off.
    let missing = columns.get(cells.len()).map(|column| format!(": nothing in column {column}"));
    let missing = missing.unwrap_or_default();
    Err(format!("{} values below {} columns{missing}", cells.len(), columns.len()))
}

/// A row of as many cells as there are columns. Errors: a cell is no number.
pub fn row(columns: &Arc<[String]>, cells: &[&str]) -> Result<Row, String> {
    let number = |(column, cell): (&String, &&str)| match Rounded::parse(cell) {
        Some(number) => Ok(Some(number.value)),
        None => real(cell, &format!("in column {column}")), // seldom: the name of a column is not made for each cell
    };
    let numbers = columns.iter().zip(cells).map(number).collect::<Result<_, _>>()?;
    Ok(Row { columns: columns.clone(), numbers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str]) -> Result<Row, String> {
        let columns: Arc<[String]> = ["r/s", "w/s"].map(str::to_owned).into();
        fit(&columns, cells)?;
        row(&columns, cells)
    }

    #[test]
    fn a_mean_is_of_the_samples_that_have_a_number() {
        let rows: Vec<Row> = [["1.0", "nan"], ["2.0", "3.0"], ["6.0", "nan"]]
            .iter()
            .map(|cells| read(cells).unwrap())
            .collect();
        let found = means(&rows);
        assert_eq!(found["r/s"], Mean { value: 3.0, samples: 3 });
        assert_eq!(found["w/s"], Mean { value: 3.0, samples: 1 });
        assert_eq!(means(&rows[..0]), BTreeMap::new());
        let none = read(&["nan", "nan"]).unwrap();
        assert_eq!((means([&none]), none.value("x"), none.is_empty()), (BTreeMap::new(), None, false));
    }

    #[test]
    fn cells_that_do_not_fit_their_header_are_refused() {
        let wrong = |cells: &[&str]| read(cells).unwrap_err();
        assert_eq!(wrong(&["1.0"]), "1 values below 2 columns: nothing in column w/s");
        assert_eq!(wrong(&["1.0", "2.0", "3.0"]), "3 values below 2 columns");
        assert_eq!(wrong(&["1.0", "2.0x"]), "`2.0x` in column w/s is no number");
    }
}
