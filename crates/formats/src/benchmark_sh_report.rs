//! report.tsv of RocksDB's benchmark.sh, and the summaries that are put together from several: tab separated, one
//! block of header and rows per test.
//!
//! As published for RocksDB 8.0 to 8.8, shortened:
//!
//! ```text
//! ops_sec mb_sec  lsm_sz  blob_sz  c_wgb   w_amp  ..  test                       date               version
//! 678268  271.7   878GB   0GB      1347.0  1.4    ..  fillseq.wal_disabled.v400  2023-11-4T06:50:23  8.0.0
//! 224872  90.1    878GB   0GB      0.0     NA     ..  readrandom.t24             2023-11-4T08:33:48  8.0.0
//! ```
//!
//! Columns are found by the header. Lines of `#` are comments; what stands before the first header names the files
//! that a summary was made from.

use crate::ParseError;

const WHAT: &str = "report of benchmark.sh";
/// Every header begins with it.
const FIRST_COLUMN: &str = "ops_sec";
/// What the first column says where a test failed.
const FAILED: &str = "failed";

/// A report or a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What stands before the first header: names of the reports that a summary was made from.
    pub sources: Vec<String>,
    /// Its rows, block after block.
    pub blocks: Vec<Block>,
}

/// A header and the rows below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

/// One test of one version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The line it stands on, from 1.
    pub line: usize,
    /// What stands in each column, trimmed: also `NA`, `failed` and nothing.
    pub cells: Vec<String>,
}

impl Row {
    /// Whether the test failed: then there are no numbers.
    pub fn failed(&self) -> bool {
        self.cells.first().is_some_and(|cell| cell == FAILED)
    }
}

impl Block {
    /// What stands in a column of a row; absent where there is no such column or nothing in it.
    pub fn cell<'a>(&self, row: &'a Row, column: &str) -> Option<&'a str> {
        let index = self.columns.iter().position(|name| name == column)?;
        row.cells.get(index).map(String::as_str).filter(|cell| !cell.is_empty())
    }
}

/// Reads a report. Errors: there is no row, or one has another number of columns than its header.
pub fn parse(text: &str) -> Result<Report, ParseError> {
    let mut report = Report::default();
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<String> = line.split('\t').map(|cell| cell.trim().to_owned()).collect();
        if cells[0] == FIRST_COLUMN {
            // A report that grew by several invocations repeats its header; so do blocks of a summary.
            report.blocks.push(Block { columns: cells, rows: Vec::new() });
            continue;
        }
        let Some(block) = report.blocks.last_mut() else {
            report.sources.push(line.trim().to_owned());
            continue;
        };
        let (wanted, found) = (block.columns.len(), cells.len());
        if wanted != found {
            let problem = format!("it has {found} columns, its header has {wanted}");
            return Err(ParseError { what: WHAT, line: number, problem });
        }
        block.rows.push(Row { line: number, cells });
    }
    if report.blocks.iter().all(|block| block.rows.is_empty()) {
        let problem = format!("there is no row below a header that begins with `{FIRST_COLUMN}`");
        return Err(ParseError { what: WHAT, line: text.lines().count().max(1), problem });
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const SUMMARY: &str = include_str!("../fixtures/benchmark_sh/summary.tsv");
    const REPORT: &str = include_str!("../fixtures/benchmark_sh/report.tsv");

    #[test]
    fn a_summary_has_a_block_per_test_and_a_row_per_version() {
        let report = parse(SUMMARY).unwrap();
        assert_eq!(report.sources.len(), 3);
        assert_eq!(report.sources[0], "bm.lc.nt24.cm1.d0/8.5.fb.gcc/report.tsv");
        let rows: Vec<usize> = report.blocks.iter().map(|block| block.rows.len()).collect();
        assert_eq!(rows, [3, 3, 3]);
        let block = &report.blocks[1];
        assert_eq!(block.columns.len(), 28);
        let row = &block.rows[1];
        let cell = |column: &str| block.cell(row, column);
        assert_eq!(cell("test"), Some("readrandom.t24"));
        assert_eq!(
            (cell("version"), cell("w_amp"), cell("lsm_sz")),
            (Some("8.6.7"), Some("NA"), Some("878GB"))
        );
        assert_eq!((cell("Nstall"), cell("job_id"), cell("no such column")), (None, None, None));
        assert_eq!(row.line, 12);
    }

    #[test]
    fn a_report_has_comments_and_tests_that_failed() {
        let report = parse(REPORT).unwrap();
        assert!(report.sources.is_empty());
        let rows = &report.blocks[0].rows;
        assert_eq!(rows.len(), 3);
        assert_eq!(rows.iter().map(Row::failed).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(report.blocks[0].cell(&rows[1], "test"), Some("overwrite.t24.s0"));
        assert_eq!(report.blocks[0].cell(&rows[1], "ops_sec"), Some("failed"));
    }

    #[test]
    fn ragged_rows_and_files_of_another_kind_are_refused() {
        let check = refused("report of benchmark.sh", parse);
        check("", "1: there is no row below a header that begins with `ops_sec`");
        check("a\tb\n1\t2\n", "2: there is no row below a header that begins with `ops_sec`");
        check("ops_sec\ttest\n", "1: there is no row below a header that begins with `ops_sec`");
        check("ops_sec\ttest\n5\tr\n\n7\n", "4: it has 1 columns, its header has 2");
        check("ops_sec\ttest\n5\tr\tx\n", "2: it has 3 columns, its header has 2");
    }

    #[test]
    fn a_text_that_was_cut_off_within_a_row_is_refused() {
        let cut = &SUMMARY[..SUMMARY.len() - 90];
        let error = parse(cut).unwrap_err();
        assert_eq!(error.line, SUMMARY.lines().count());
    }
}
