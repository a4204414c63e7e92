//! What db_bench prints: its settings, a result line per benchmark, and with the right flags histograms, RocksDB's
//! statistics and tickers.
//!
//! Result lines up to 6.x and from 7.0 on:
//!
//! ```text
//! fillrandom   :       4.785 micros/op 209001 ops/sec;   23.1 MB/s
//! readrandom   :       3.937 micros/op 253963 ops/sec 1.000 seconds 253999 operations;   28.1 MB/s (253999 of 253999 found)
//! Percentiles: P50: 2.72 P75: 3.62 P99: 6.43 P99.9: 21.04 P99.99: 1138.43
//! ```
//!
//! `micros/op` is time of one thread: with two threads it is twice the wall time per operation.

use crate::ParseError;
use crate::lines::last;
use crate::number::{bytes, whole};
use crate::rocksdb_stats::{self, RocksDbStats};
use crate::rocksdb_tickers::{self, Tickers};
use std::collections::BTreeMap;

const WHAT: &str = "output of db_bench";

/// The labels of the header; they may stand anywhere, since some go to standard error.
const LABELS: [&str; 17] = [
    "RocksDB",
    "LevelDB",
    "Date",
    "CPU",
    "CPUCache",
    "Keys",
    "Values",
    "Entries",
    "Prefix",
    "Keys per prefix",
    "RawSize",
    "FileSize",
    "Write rate",
    "Read rate",
    "Compression",
    "Memtablerep",
    "Perf Level",
];

/// The label that every release prints, before any benchmark runs.
const ALWAYS_THERE: &str = "Entries";

/// The output of one invocation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DbBenchOutput {
    /// What it says of itself and its settings, by label: `Entries` -> `100000`.
    pub header: BTreeMap<String, String>,
    /// Lines that begin with `WARNING:`, each once.
    pub warnings: Vec<String>,
    /// The benchmarks, in their order.
    pub results: Vec<BenchmarkResult>,
    /// Tickers of the whole invocation, where it was told to count them.
    pub tickers: Option<Tickers>,
}

/// One benchmark.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BenchmarkResult {
    /// Its name: `readrandom`.
    pub name: String,
    /// The line it stands on, from 1.
    pub line: usize,
    /// Microseconds of one thread per operation.
    pub us_per_op: f64,
    /// Operations per second of all threads; absent before 2013 or so, and in LevelDB.
    pub ops_per_s: Option<f64>,
    /// Wall seconds; from 7.0 on.
    pub seconds: Option<f64>,
    /// Operations of all threads; from 7.0 on.
    pub operations: Option<u64>,
    /// Bytes of keys and values per second; absent where the benchmark does not count them.
    pub bytes_per_s: Option<f64>,
    /// Reads that found their key, and how many were tried.
    pub found: Option<Found>,
    /// With `--histogram`: latency, by what one operation is.
    pub latencies: Vec<OperationLatency>,
    /// RocksDB's statistics that were printed after this benchmark; totals since the database was opened.
    pub stats: Option<RocksDbStats>,
}

/// `(253999 of 253999 found)`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Reads that found their key.
    pub found: u64,
    pub tried: u64,
}

/// Latency of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OperationLatency {
    /// `read`, `write`, `seek`.
    pub operation: String,
    pub count: u64,
    pub us_mean: f64,
    /// Largest, in microseconds; absent where the text was cut off.
    pub us_max: Option<f64>,
    /// Microseconds by percentile, as it is written: `P50`, `P99`, `P99.9`, `P99.99`.
    pub us_percentiles: BTreeMap<String, f64>,
}

impl DbBenchOutput {
    /// `7.8.3`; absent where the text does not say.
    pub fn version(&self) -> Option<&str> {
        let said = self.header.get("RocksDB").or_else(|| self.header.get("LevelDB"))?;
        Some(said.strip_prefix("version ").unwrap_or(said).trim())
    }
}

/// Reads the text. Lines that are not known are passed over. An invocation of benchmarks that print no result (`flush`,
/// `waitforcompaction`) has a header and no results. Errors: there is neither, or a known line cannot be read.
pub fn parse(text: &str) -> Result<DbBenchOutput, ParseError> {
    let mut output = DbBenchOutput::default();
    let mut after: Vec<usize> = Vec::new(); // byte offset behind each result line
    let mut offset = 0;
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        offset += line.len();
        let line = line.trim_end();
        let failed = |problem| ParseError { what: WHAT, line: number, problem };
        if let Some(result) = result_line(line).transpose().map_err(failed)? {
            output.results.push(BenchmarkResult { line: number, ..result });
            after.push(offset);
        } else if let Some(result) = output.results.last_mut() {
            latency_line(line, &mut result.latencies).map_err(failed)?;
        }
        header_line(line, &mut output);
    }
    if output.results.is_empty() && !output.header.contains_key(ALWAYS_THERE) {
        let problem = "there is no result line like `readrandom : 3.937 micros/op ..`".to_owned();
        return Err(ParseError { what: WHAT, line: text.lines().count().max(1), problem });
    }
    for index in 0..after.len() {
        let end = after.get(index + 1).copied().unwrap_or(text.len());
        let part = &text[after[index]..end];
        let first_line = output.results[index].line;
        let found = rocksdb_stats::parse_all(part)
            .map_err(|error| ParseError { line: error.line + first_line, ..error })?;
        output.results[index].stats = found.into_iter().next_back();
    }
    if let Some((before, tickers)) = text.split_once("STATISTICS:\n") {
        let lines_before = before.matches('\n').count() + 1;
        let tickers = rocksdb_tickers::parse(tickers)
            .map_err(|error| ParseError { line: (error.line + lines_before).min(last(text)), ..error })?;
        output.tickers = Some(tickers);
    }
    Ok(output)
}

fn header_line(line: &str, output: &mut DbBenchOutput) {
    if line.starts_with("WARNING:") {
        if !output.warnings.iter().any(|warning| warning == line) {
            output.warnings.push(line.to_owned());
        }
    } else if let Some((label, value)) = line.split_once(':')
        && LABELS.contains(&label)
    {
        output.header.entry(label.to_owned()).or_insert_with(|| value.trim().to_owned());
    }
}

type Read<T> = Result<T, String>;

/// None where it is no result line. `name : X micros/op N ops/sec S seconds O operations; message`
fn result_line(line: &str) -> Option<Read<BenchmarkResult>> {
    let (name, rest) = line.split_once(" : ")?;
    let name = name.trim_end();
    if name.is_empty() || name.contains(' ') || !rest.contains(" micros/op") {
        return None; // also `readrandom [AVG 3 runs] : ..`, which sums up lines that stand there
    }
    Some(result(name, rest))
}

fn result(name: &str, rest: &str) -> Read<BenchmarkResult> {
    let (numbers, message) = rest.split_once(';').unwrap_or((rest, ""));
    let words: Vec<&str> = numbers.split_whitespace().collect();
    let mut result = BenchmarkResult { name: name.to_owned(), ..BenchmarkResult::default() };
    for pair in words.chunks(2) {
        let [number, unit] = pair else { return Err(format!("`{}` has no unit", pair.join(" "))) };
        let wrong = || format!("`{number} {unit}` of {name} is no number");
        let real = || number.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0).ok_or_else(wrong);
        match *unit {
            "micros/op" => result.us_per_op = real()?,
            "ops/sec" => result.ops_per_s = Some(real()?),
            "seconds" => result.seconds = Some(real()?),
            "operations" => result.operations = Some(number.parse().map_err(|_| wrong())?),
            _ => return Err(format!("`{unit}` of {name} is no unit that db_bench has")),
        }
    }
    let message = message.trim();
    if let Some((number, rest)) = message.split_once(" MB/s") {
        let rate =
            bytes(number.trim(), "MB").ok_or_else(|| format!("`{number} MB/s` of {name} is no rate"))?;
        result.bytes_per_s = Some(rate.value);
        result.found = found(rest);
    } else {
        result.found = found(message);
    }
    Ok(result)
}

/// `(253999 of 253999 found)`, or several numbers of another kind, which are none of ours.
fn found(message: &str) -> Option<Found> {
    let inner = message.trim().strip_prefix('(')?.split(')').next()?.strip_suffix(" found")?;
    let (found, tried) = inner.split_once(" of ")?;
    Some(Found { found: found.trim().parse().ok()?, tried: tried.trim().parse().ok()? })
}

/// The lines of a histogram, up to its percentiles. RocksDB's own histograms look the same but for the first line.
fn latency_line(line: &str, latencies: &mut Vec<OperationLatency>) -> Read<()> {
    if let Some(operation) = line.strip_prefix("Microseconds per ").and_then(|it| it.strip_suffix(':')) {
        latencies.push(OperationLatency { operation: operation.to_owned(), ..OperationLatency::default() });
        return Ok(());
    }
    let Some(latency) = latencies.last_mut().filter(|latency| latency.us_percentiles.is_empty()) else {
        return Ok(());
    };
    let known = ["Count: ", "Min: ", "Percentiles: "].iter().any(|label| line.starts_with(label));
    if !known {
        return Ok(());
    }
    let mut words = line.strip_prefix("Percentiles:").unwrap_or(line).split_whitespace();
    while let Some(label) = words.next() {
        let number = words.next().unwrap_or_default();
        let value: f64 = number.parse().map_err(|_| format!("`{label} {number}` is no number"))?;
        match label.trim_end_matches(':') {
            "Count" => latency.count = whole(value),
            "Average" => latency.us_mean = value,
            "Max" => latency.us_max = Some(value),
            percentile if percentile.starts_with('P') => {
                latency.us_percentiles.insert(percentile.to_owned(), value);
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = include_str!("../fixtures/db_bench/7.8.3.txt");
    const PLAIN: &str = include_str!("../fixtures/db_bench/7.8.3.plain.txt");

    #[test]
    fn an_invocation_with_everything_is_read() {
        let output = parse(FULL).unwrap();
        assert_eq!(output.version(), Some("7.8.3"));
        assert_eq!(output.header["Entries"], "100000");
        assert_eq!(output.header["Values"], "100 bytes each (50 bytes after compression)");
        assert_eq!(output.warnings, ["WARNING: Assertions are enabled; benchmarks unnecessarily slow"]);
        let names: Vec<&str> = output.results.iter().map(|result| result.name.as_str()).collect();
        let expected =
            ["fillseq", "readrandom", "seekrandom", "overwrite", "multireadrandom", "readwhilewriting"];
        assert_eq!(names, expected);
        for result in &output.results {
            let (operations, seconds) = (result.operations.unwrap() as f64, result.seconds.unwrap());
            let rate = operations / seconds;
            assert!((result.ops_per_s.unwrap() / rate - 1.0).abs() < 0.01, "{result:?}");
            let latency = &result.latencies[0];
            assert_eq!(latency.count, result.operations.unwrap(), "{result:?}");
            assert!((latency.us_mean / result.us_per_op - 1.0).abs() < 0.02, "{result:?}");
            let of = |name: &str| latency.us_percentiles[name];
            assert!(of("P50") <= of("P99") && of("P99.99") <= latency.us_max.unwrap(), "{result:?}");
        }
        let tickers = output.tickers.unwrap();
        assert!(tickers.counts["rocksdb.number.keys.written"] > 100_000);
    }

    #[test]
    fn numbers_are_those_that_stand_there() {
        let output = parse(FULL).unwrap();
        let read = &output.results[1];
        assert_eq!((read.us_per_op, read.ops_per_s, read.seconds), (3.937, Some(253_963.0), Some(1.0)));
        assert_eq!((read.operations, read.bytes_per_s), (Some(253_999), Some(28.1 * 1_048_576.0)));
        assert_eq!(read.found, Some(Found { found: 253_999, tried: 253_999 }));
        assert_eq!(output.results[2].bytes_per_s, None);
        assert_eq!(output.results[0].found, None);
        let operations: Vec<&str> =
            output.results.iter().map(|result| result.latencies[0].operation.as_str()).collect();
        assert_eq!(operations, ["write", "read", "seek", "write", "read", "read"]);
    }

    #[test]
    fn statistics_belong_to_the_benchmark_before_them() {
        let output = parse(FULL).unwrap();
        let with: Vec<bool> = output.results.iter().map(|result| result.stats.is_some()).collect();
        assert_eq!(with, [true, false, false, false, false, true]);
        assert_eq!(output.results[0].stats.as_ref().unwrap().writes, Some(100_000));
        let last = output.results[5].stats.as_ref().unwrap();
        assert!(
            last.compaction_write_bytes > output.results[0].stats.as_ref().unwrap().compaction_write_bytes
        );
    }

    #[test]
    fn an_invocation_without_flags_has_its_result_lines() {
        let output = parse(PLAIN).unwrap();
        assert_eq!(output.results.len(), 2);
        // db_bench counts the operations of both threads and the reads of each.
        assert_eq!(output.results[1].operations, Some(40_000));
        assert!(output.results.iter().all(|it| it.latencies.is_empty() && it.stats.is_none()));
        assert_eq!(output.tickers, None);
    }

    #[test]
    fn benchmarks_that_print_no_result_leave_a_header() {
        let header = PLAIN.split("fillseq").next().unwrap();
        let output = parse(&format!("{header}flush memtable\n")).unwrap();
        assert!(output.results.is_empty());
        assert_eq!(output.version(), Some("7.8.3"));
    }

    #[test]
    fn lines_of_other_releases_are_read() {
        let text = "fillrandom   :       4.785 micros/op 209001 ops/sec;   23.1 MB/s\n\
                    multireadrandom :       4.100 micros/op 243902 ops/sec; (63200 of 100000 found)\n\
                    readrandom [AVG    3 runs] : 1000 ops/sec;    0.1 MB/sec\n\
                    compact      : 15983532.000 micros/op 0 ops/sec;\n\
                    readseq      :       0.586 micros/op; 8166.4 MB/s\n";
        let results = parse(text).unwrap().results;
        let rates: Vec<Option<f64>> = results.iter().map(|result| result.ops_per_s).collect();
        assert_eq!(rates, [Some(209_001.0), Some(243_902.0), Some(0.0), None]);
        assert_eq!(results[1].found, Some(Found { found: 63_200, tried: 100_000 }));
        assert_eq!((results[1].bytes_per_s, results[0].seconds), (None, None));
        assert_eq!(results[3].bytes_per_s, Some(8166.4 * 1_048_576.0));
        assert_eq!(results[3].line, 5);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = |text: &str, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("failed to parse {expected}"));
        };
        check(
            "hello\n",
            "output of db_bench at line 1: there is no result line like `readrandom : 3.937 micros/op ..`",
        );
        check(
            "a : 1 micros/op 5 ops/hour;",
            "output of db_bench at line 1: `ops/hour` of a is no unit that db_bench has",
        );
        check("a : 1 micros/op 5;", "output of db_bench at line 1: `5` has no unit");
        check("a : x micros/op 5 ops/sec;", "output of db_bench at line 1: `x micros/op` of a is no number");
        check(
            "a : 1 micros/op 5 ops/sec; many MB/s",
            "output of db_bench at line 1: `many MB/s` of a is no rate",
        );
        check(
            "a : 1 micros/op 5 ops/sec;\nMicroseconds per read:\nCount: some Average: 2.0",
            "output of db_bench at line 3: `Count: some` is no number",
        );
        check(
            "a : 1 micros/op 5 ops/sec;\n\n** Compaction Stats [default] **\nUptime(secs): x total",
            "statistics of RocksDB at line 4: `x` is no number of seconds",
        );
        check(
            "a : 1 micros/op 5 ops/sec;\nSTATISTICS:\nrocksdb.x COUNT : y\n",
            "tickers of RocksDB at line 3: `y` of COUNT of rocksdb.x is no count",
        );
        check(
            "a : 1 micros/op 5 ops/sec;\nSTATISTICS:\n",
            "tickers of RocksDB at line 2: there is no line like `rocksdb.block.cache.miss COUNT : 5`",
        );
    }

    #[test]
    fn a_text_that_was_cut_off_is_an_error_or_has_less() {
        let whole = parse(FULL).unwrap();
        for end in (0..FULL.len()).filter(|end| FULL.is_char_boundary(*end)).step_by(53) {
            match parse(&FULL[..end]) {
                Ok(output) => assert!(output.results.len() <= whole.results.len()),
                Err(error) => assert!(error.line <= FULL.lines().count(), "{error}"),
            }
        }
    }
}
