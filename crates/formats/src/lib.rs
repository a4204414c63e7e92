//! Texts of other programs to numbers: RocksDB's statistics and options, db_bench, benchmark.sh, sysbench, pgbench, fio,
//! iostat, vmstat, Otava, Go benchmarks, tables; configuration files and logs of servers; the programs of Slurm.
//!
//! Pure: text in, structures out. What a release does not print is absent, never zero. Nothing in here reads a file.

pub mod benchmark_sh_report;
pub mod db_bench;
pub mod engine_log;
pub mod fio_histograms;
pub mod fio_json;
pub mod go_bench;
pub mod import;
pub mod iostat;
mod lines;
mod number;
pub mod options_file;
pub mod otava_csv;
pub mod pgbench;
pub mod pgbench_log;
pub mod proc_stat;
pub mod rocksdb_stats;
pub mod rocksdb_tickers;
pub mod samples;
pub mod server_config;
pub mod server_status;
pub mod slurm;
pub mod sysbench;
pub mod table;
pub mod vmstat;

/// A text that cannot be read as what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to parse {what} at line {line}: {}", readable(.problem))]
pub struct ParseError {
    /// What it should be: `statistics of RocksDB`.
    pub what: &'static str,
    /// The line, from 1; the last one where something is missing.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

/// Longer than any problem of a text; a file of another kind may be one line of many millions of characters.
const LONGEST_PROBLEM: usize = 240;

/// A problem quotes the text: nothing in it that a terminal would obey, and not all of it where it is long.
fn readable(problem: &str) -> String {
    let visible = |character: char| if character.is_control() { '?' } else { character };
    let mut readable: String = problem.chars().map(visible).take(LONGEST_PROBLEM).collect();
    if problem.chars().nth(LONGEST_PROBLEM).is_some() {
        readable.push('\u{2026}');
    }
    readable
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What checks that a text is refused as this, at a line for what is wrong there: `2: 2 values below 3 columns`.
    pub(crate) fn refused<T: std::fmt::Debug>(
        what: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> impl Fn(&str, &str) {
        move |text, expected| {
            let error = parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("failed to parse {what} at line {expected}"));
        }
    }

    #[test]
    fn a_problem_is_readable_whatever_it_quotes() {
        let error =
            |problem: &str| ParseError { what: "log", line: 3, problem: problem.to_owned() }.to_string();
        assert_eq!(error("`\u{1b}[2J\u{0}`"), "failed to parse log at line 3: `?[2J?`");
        let long = error(&"x".repeat(1000));
        assert!(long.ends_with("xx\u{2026}") && long.chars().count() < 300, "{long}");
        assert!(error(&"x".repeat(LONGEST_PROBLEM)).ends_with('x'));
    }
}
