//! Texts of other programs to numbers: RocksDB's statistics, db_bench, benchmark.sh, sysbench, pgbench, fio, iostat,
//! vmstat, Otava's tables, Go benchmarks.
//!
//! Pure: text in, structures out. What a release does not print is absent, never zero. Nothing in here reads a file.

pub mod benchmark_sh_report;
pub mod db_bench;
pub mod fio_json;
pub mod go_bench;
pub mod import;
pub mod iostat;
mod lines;
mod number;
pub mod otava_csv;
pub mod pgbench;
pub mod pgbench_log;
pub mod rocksdb_stats;
pub mod rocksdb_tickers;
pub mod samples;
pub mod sysbench;
pub mod vmstat;

/// A text that cannot be read as what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to parse {what} at line {line}: {problem}")]
pub struct ParseError {
    /// What it should be: `statistics of RocksDB`.
    pub what: &'static str,
    /// The line, from 1; the last one where something is missing.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}
