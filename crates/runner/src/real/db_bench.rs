//! A step run by the user's db_bench: its output read, its resources from the kernel.

use crate::campaign::measured::{EngineIn, MeasuredBlock};
use crate::campaign::world::DbBenchRun;
use crate::process::tool::ToolRun;
use formats::ParseError;
use formats::db_bench::{self, BenchmarkResult};
use model::block::Latency;
use model::units::Nanos;
use model::wire::BlockReport;

/// Why the output of db_bench says nothing of a step.
#[derive(Debug, thiserror::Error)]
pub enum DbBenchError {
    #[error("failed to read what db_bench printed")]
    Unknown(#[from] ParseError),
    #[error("db_bench printed no result of `{benchmark}`; it printed: {beginning}")]
    NoResult { benchmark: String, beginning: String },
}

/// Characters of output that an error shows.
const SHOWN: usize = 300;

/// What an invocation measured of a benchmark. A benchmark that prints no result (`flush`, `compact`) is one operation.
pub fn result_of(benchmark: &str, threads: u32, run: ToolRun) -> Result<DbBenchRun, DbBenchError> {
    let parsed = db_bench::parse(&run.output)?;
    let Some(result) = parsed.results.iter().find(|result| result.name == benchmark) else {
        return Err(DbBenchError::NoResult {
            benchmark: benchmark.to_owned(),
            beginning: run.output.chars().take(SHOWN).collect(),
        });
    };
    let (operations, wall) = extent(result, threads);
    let report = BlockReport {
        operations,
        found: result.found.as_ref().map(|found| found.found),
        wall,
        // db_bench does not tell its threads apart: their CPU is the process's.
        thread_cpu: Vec::new(),
        process_cpu: run.cpu,
        ..BlockReport::default()
    };
    Ok(DbBenchRun {
        measured: MeasuredBlock {
            report,
            started_at_us: None, // it opens the database first, and does not tell how long that takes
            process_cpu: Some(run.cpu),
            engine: EngineIn::Worker,
            counters: run.counters,
        },
        latency: latency(result),
    })
}

/// Operations and wall time. Releases before 7.0 print neither, but micros per operation of a thread and operations a
/// second; the histogram has their number.
fn extent(result: &BenchmarkResult, threads: u32) -> (u64, Nanos) {
    let counted = result.latencies.iter().map(|latency| latency.count).max();
    let operations = result.operations.or(counted).unwrap_or(1).max(1);
    let per_s = result.ops_per_s.unwrap_or(1e6 * f64::from(threads) / result.us_per_op.max(1e-6));
    let seconds = result.seconds.unwrap_or(operations as f64 / per_s.max(1e-9));
    let wall = std::time::Duration::try_from_secs_f64(seconds.max(0.0)).map_or(Nanos(u64::MAX), Nanos::from);
    (operations, wall)
}

/// The histogram of the operations that a benchmark is about: the one with the most of them.
fn latency(result: &BenchmarkResult) -> Option<Latency> {
    let histogram = result.latencies.iter().max_by_key(|latency| latency.count)?;
    let nanos = |micros: f64| {
        std::time::Duration::try_from_secs_f64(micros.max(0.0) / 1e6).map_or(Nanos(u64::MAX), Nanos::from)
    };
    let at = |name: &str| histogram.us_percentiles.get(name).copied().map(nanos);
    Some(Latency {
        count: histogram.count,
        p50: at("P50")?,
        p99: at("P99")?,
        p999: at("P99.9")?,
        p9999: at("P99.99"),
        max: nanos(histogram.us_max?),
        histogram: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::counter::Counters;

    const REAL: &str = include_str!("../../../formats/fixtures/db_bench/7.8.3.txt");

    fn ran(output: &str) -> ToolRun {
        ToolRun { output: output.to_owned(), cpu: Nanos::from_secs(1), counters: Counters::new() }
    }

    #[test]
    fn a_real_output_gives_rate_and_latency() {
        let read = result_of("readrandom", 1, ran(REAL)).unwrap();
        let report = &read.measured.report;
        assert!(report.operations > 1000 && report.wall > Nanos::from_millis(1), "{report:?}");
        let latency = read.latency.unwrap();
        assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.max, "{latency:?}");
    }

    #[test]
    fn what_no_parser_knows_is_an_error_that_shows_it() {
        assert!(matches!(
            result_of("readrandom", 1, ran("Segmentation fault")),
            Err(DbBenchError::Unknown(_))
        ));
        let other = result_of("overwrte", 1, ran(REAL)).unwrap_err().to_string();
        assert!(other.contains("overwrte"), "{other}");
    }
}
