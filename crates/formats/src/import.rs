//! What was read of another program's file, as values in our spelling and units: metric, unit, number, place.

mod fio;
mod go_bench;
mod host;
mod otava;
mod pgbench;
mod sysbench;

pub use fio::of_fio;
pub use go_bench::of_go_bench;
pub use host::{of_iostat, of_vmstat};
pub use otava::of_otava;
pub use pgbench::{of_pgbench, of_pgbench_log};
pub use sysbench::of_sysbench;

use crate::benchmark_sh_report::{Block, Report, Row};
use crate::db_bench::{BenchmarkResult, DbBenchOutput};
use crate::lines::short_name;
use crate::number::{Rounded, bytes, bytes_in};
use crate::table::TableValue;
use crate::{db_bench, iostat, vmstat};
use model::import::{ImportedFile, ImportedValue};
use model::metric::{DeviceMetric, Metric};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A file that values come from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its index within the import.
    pub file: usize,
    /// What the values are of where the text does not say: the file's name, or that of its directory.
    pub subject: &'a str,
}

/// How a number stands in a column.
#[derive(Debug, Clone, Copy)]
enum Scale {
    /// A number, times this.
    Times(f64),
    /// `878GB`
    Size,
    /// No number: a date, a hash.
    Text,
}

/// A column of Small Datum: its heading, our metric and unit, and how the number is written there.
struct Column(&'static str, &'static str, &'static str, Scale);

/// A column: a metric of ours, whose heading, unit and scale the catalogue has, or one that only Small Datum has.
enum Listed {
    Ours(Metric),
    Theirs(Column),
}

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * 1024.0;
const GIB: f64 = MIB * 1024.0;
/// Microseconds of a millisecond.
const MS: f64 = 1000.0;

const fn theirs(heading: &'static str, metric: &'static str, unit: &'static str, scale: Scale) -> Listed {
    Listed::Theirs(Column(heading, metric, unit, scale))
}

const fn device(what: DeviceMetric) -> Listed {
    Listed::Ours(Metric::Device { what, with_drain: false })
}

/// In the order of reports: those of benchmark.sh (classic benchmarks 4.4) with what others have beside them, then those
/// of devices (4.5).
const LISTED: &[Listed] = &[
    // As db_bench says it, where ours counts operations of any kind.
    theirs("ops_sec", "ops_per_s", "ops/s", Scale::Times(1.0)),
    theirs("transactions_per_s", "transactions_per_s", "1/s", Scale::Times(1.0)),
    Listed::Ours(Metric::BytesPerSecond),
    theirs("lsm_sz", "lsm_bytes", "B", Scale::Size),
    theirs("blob_sz", "blob_bytes", "B", Scale::Size),
    Listed::Ours(Metric::CompactionWriteBytes),
    Listed::Ours(Metric::WriteAmplification),
    Listed::Ours(Metric::CompactionWriteBytesPerSecond),
    Listed::Ours(Metric::CompactionSeconds),
    Listed::Ours(Metric::CompactionCpuSeconds),
    Listed::Ours(Metric::BlobReadBytes),
    Listed::Ours(Metric::BlobWriteBytes),
    theirs("usec_op", "us_per_op", "us", Scale::Times(1.0)),
    theirs("latency_us_min", "latency_us_min", "us", Scale::Times(1.0)),
    theirs("latency_us_mean", "latency_us_mean", "us", Scale::Times(1.0)),
    theirs("latency_us_stddev", "latency_us_stddev", "us", Scale::Times(1.0)),
    Listed::Ours(Metric::LatencyP50),
    theirs("p90", "latency_us_p90", "us", Scale::Times(1.0)),
    theirs("p95", "latency_us_p95", "us", Scale::Times(1.0)),
    Listed::Ours(Metric::LatencyP99),
    Listed::Ours(Metric::LatencyP999),
    Listed::Ours(Metric::LatencyP9999),
    Listed::Ours(Metric::LatencyMax),
    Listed::Ours(Metric::UptimeSeconds),
    Listed::Ours(Metric::StallPercent),
    Listed::Ours(Metric::Stalls),
    Listed::Ours(Metric::UserCpuSeconds),
    Listed::Ours(Metric::SystemCpuSeconds),
    theirs("rss", "resident_bytes", "B", Scale::Times(GIB)),
    theirs("c", "samples", "", Scale::Times(1.0)),
    device(DeviceMetric::ReadsPerSecond),
    device(DeviceMetric::ReadBytesPerSecond),
    device(DeviceMetric::ReadsMergedPerSecond),
    device(DeviceMetric::ReadMicrosMean),
    device(DeviceMetric::ReadBytesMean),
    device(DeviceMetric::WritesPerSecond),
    device(DeviceMetric::WriteBytesPerSecond),
    device(DeviceMetric::WritesMergedPerSecond),
    device(DeviceMetric::WriteMicrosMean),
    device(DeviceMetric::WriteBytesMean),
    theirs("date", "date", "", Scale::Text),
    theirs("job_id", "job_id", "", Scale::Text),
    theirs("githash", "githash", "", Scale::Text),
];

static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let column = |listed: &Listed| match listed {
        Listed::Ours(metric) => {
            // A count has no unit in Small Datum.
            let unit = Some(metric.unit()).filter(|unit| *unit != "1").unwrap_or_default();
            Column(metric.header(), metric.name(), unit, Scale::Times(metric.scale()))
        }
        Listed::Theirs(Column(heading, metric, unit, scale)) => Column(heading, metric, unit, *scale),
    };
    LISTED.iter().map(column).collect()
});

/// The heading that a metric has in Small Datum; the metric itself where it has none.
pub fn heading(metric: &str) -> &str {
    COLUMNS.iter().find(|column| column.1 == metric).map_or(metric, |column| column.0)
}

/// The place of a metric among the columns of Small Datum; metrics that Small Datum does not have come last.
pub fn position(metric: &str) -> usize {
    COLUMNS.iter().position(|column| column.1 == metric).unwrap_or(COLUMNS.len())
}

/// What the program that wrote a file warned of, and what was left out of it; of a format by its name in the store.
pub fn warnings(format: &str, file: &ImportedFile) -> Vec<String> {
    let left_out = |line: Option<usize>| {
        line.map(|line| format!("line {line} has no line break: it was cut off, and is left out")).into_iter()
    };
    let text = &file.text;
    match format {
        "db_bench-text" => db_bench::parse(text).map_or_else(|_| Vec::new(), |output| output.warnings),
        "iostat" => iostat::parse(text).into_iter().flat_map(|output| left_out(output.cut_off)).collect(),
        "vmstat" => vmstat::parse(text).into_iter().flat_map(|output| left_out(output.cut_off)).collect(),
        _ => Vec::new(),
    }
}

/// The unit of a metric; absent if Small Datum has no such metric.
fn unit_of(metric: &str) -> Option<&'static str> {
    COLUMNS.iter().find(|column| column.1 == metric).map(|column| column.2)
}

/// One test of one subject in a file, and where it stands there.
struct Case<'a> {
    file: usize,
    subject: &'a str,
    step: &'a str,
    place: &'a str,
}

impl Case<'_> {
    /// A value of it; none where it is absent.
    fn value(&self, metric: &str, unit: &str, value: Option<f64>) -> Option<ImportedValue> {
        let value = value?;
        Some(self.said(metric, unit, Some(value), &shown(metric, value)))
    }

    fn said(&self, metric: &str, unit: &str, value: Option<f64>, said: &str) -> ImportedValue {
        ImportedValue {
            file: self.file,
            subject: short_name(self.subject).to_owned(),
            step: short_name(self.step).to_owned(),
            metric: short_name(metric).to_owned(),
            unit: short_name(unit).to_owned(),
            value,
            said: said.to_owned(),
            place: self.place.to_owned(),
        }
    }
}

/// The metric of a percentile of latency: 99.9 is `latency_us_p999`.
fn percentile_metric(percent: &str) -> String {
    format!("latency_us_p{}", percent.replace('.', ""))
}

fn real(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

/// The values of a report of benchmark.sh, in their order. A row that does not say its test is one of its block's; one
/// that does not say its version is named after its place among the sources of a summary.
pub fn of_report(report: &Report, source: Source<'_>) -> Vec<ImportedValue> {
    let mut values = Vec::new();
    for block in &report.blocks {
        let named = block.rows.iter().find_map(|row| block.cell(row, "test")).unwrap_or("unnamed");
        for (index, row) in block.rows.iter().enumerate() {
            let step = block.cell(row, "test").unwrap_or(named);
            let subject = match block.cell(row, "version") {
                Some(version) => version,
                None if block.rows.len() == report.sources.len() => directory(&report.sources[index]),
                None => source.subject,
            };
            values.extend(of_row(block, row).map(|(column, said)| ImportedValue {
                file: source.file,
                subject: short_name(subject).to_owned(),
                step: short_name(step).to_owned(),
                metric: column.1.to_owned(),
                unit: column.2.to_owned(),
                value: number(said, column.3),
                said: said.to_owned(),
                place: format!("line {}", row.line),
            }));
        }
    }
    values
}

fn of_row<'a>(block: &'a Block, row: &'a Row) -> impl Iterator<Item = (&'static Column, &'a str)> {
    block.columns.iter().zip(&row.cells).filter_map(|(name, cell)| {
        let column = COLUMNS.iter().find(|column| column.0 == name)?;
        Some((column, cell.as_str()))
    })
}

/// `bm.lc.nt24.cm1.d0/8.5.fb.gcc/report.tsv` is of `8.5.fb.gcc`.
fn directory(source: &str) -> &str {
    source.rsplit('/').nth(1).unwrap_or(source)
}

fn number(said: &str, scale: Scale) -> Option<f64> {
    match scale {
        Scale::Times(factor) => Some(Rounded::parse(said)?.value * factor),
        Scale::Size => {
            let digits = said.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            let unit = &said[digits.len()..];
            bytes_in(unit)?;
            bytes(digits, unit).map(|size| size.value)
        }
        Scale::Text => None,
    }
}

/// The values of a table, in their order. A table that does not say what was measured is of its source.
pub fn of_table(values: &[TableValue], source: Source<'_>) -> Vec<ImportedValue> {
    let of = |value: &TableValue| ImportedValue {
        file: source.file,
        subject: value.release.clone(),
        step: if value.step.is_empty() { source.subject.to_owned() } else { value.step.clone() },
        metric: value.metric.clone(),
        unit: value.unit.clone(),
        value: value.value,
        said: value.said.clone(),
        place: value.place.clone(),
    };
    values.iter().map(of).collect()
}

/// The values of db_bench's output, benchmark after benchmark. Of a benchmark that ran several times, the second is
/// `overwrite#2`. Statistics of RocksDB are totals since the
/// database was opened, as Small Datum has them.
pub fn of_db_bench(output: &DbBenchOutput, source: Source<'_>) -> Vec<ImportedValue> {
    let subject = output.version().unwrap_or(source.subject);
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    let mut values = Vec::new();
    for result in &output.results {
        let time = times.entry(&result.name).or_insert(0);
        *time += 1;
        let step = if *time == 1 { result.name.clone() } else { format!("{}#{time}", result.name) };
        let place = format!("line {}", result.line);
        let case = Case { file: source.file, subject, step: &step, place: &place };
        values.extend(
            of_result(result)
                .into_iter()
                .filter_map(|(metric, unit, value)| case.value(metric, unit, Some(value))),
        );
    }
    values
}

fn of_result(result: &BenchmarkResult) -> Vec<(&'static str, &'static str, f64)> {
    let mut values = Vec::new();
    let mut add = |metric, unit, value: Option<f64>| values.extend(value.map(|value| (metric, unit, value)));
    add("ops_per_s", "ops/s", result.ops_per_s);
    add("bytes_per_s", "B/s", result.bytes_per_s);
    if let Some(stats) = &result.stats {
        add("lsm_bytes", "B", real(stats.lsm_bytes));
        add("blob_bytes", "B", real(stats.blob_bytes));
        add("compaction_write_bytes", "B", real(stats.compaction_write_bytes));
        add("write_amplification", "", stats.write_amplification());
        add("compaction_write_bytes_per_s", "B/s", stats.compaction_write_bytes_per_s);
        add("compaction_s", "s", stats.compaction_s);
        add("compaction_cpu_s", "s", stats.compaction_cpu_s);
        add("blob_read_bytes", "B", real(stats.blob_read_bytes));
        add("blob_write_bytes", "B", real(stats.blob_write_bytes));
    }
    add("us_per_op", "us", Some(result.us_per_op));
    if let Some(latency) = result.latencies.first() {
        let of = |name: &str| latency.us_percentiles.get(name).copied();
        add("latency_us_p50", "us", of("P50"));
        add("latency_us_p99", "us", of("P99"));
        add("latency_us_p999", "us", of("P99.9"));
        add("latency_us_p9999", "us", of("P99.99"));
        add("latency_us_max", "us", latency.us_max);
    }
    if let Some(stats) = &result.stats {
        add("uptime_s", "s", stats.uptime_s);
        add("stall_percent", "%", stats.stall_percent);
        add("stalls", "", real(stats.stall_count()));
    }
    add("seconds", "s", result.seconds);
    add("operations", "", real(result.operations));
    add("found", "", result.found.map(|found| found.found as f64));
    values
}

/// A number as Small Datum has it: in the unit of its column.
fn shown(metric: &str, value: f64) -> String {
    let scale = COLUMNS.iter().find(|column| column.1 == metric).map_or(Scale::Text, |column| column.3);
    match scale {
        Scale::Times(factor) => plain(value / factor),
        Scale::Size => {
            let unit = ["TB", "GB", "MB", "KB"]
                .into_iter()
                .find_map(|unit| Some((unit, bytes_in(unit).filter(|bytes| value >= *bytes)?)));
            let (unit, bytes) = unit.unwrap_or(("B", 1.0));
            format!("{}{unit}", plain(value / bytes))
        }
        Scale::Text => plain(value),
    }
}

/// At most three decimals, or as many as four digits need: Go has operations of half a nanosecond.
fn plain(value: f64) -> String {
    let decimals = (3..=12).find(|decimals| value.abs() >= 10_f64.powi(3 - decimals)).unwrap_or(3);
    let text = format!("{value:.*}", usize::try_from(decimals).unwrap_or(3));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
