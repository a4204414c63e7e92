//! What was read of another program's file, as values in our spelling and units: metric, unit, number, place.

use crate::benchmark_sh_report::{Block, Report, Row};
use crate::db_bench::{BenchmarkResult, DbBenchOutput};
use crate::number::{Rounded, bytes, bytes_in};
use crate::table::TableValue;
use model::import::ImportedValue;
use std::collections::BTreeMap;

/// A file that values come from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its index within the import.
    pub file: usize,
    /// What the values are of where the text does not say: the file's name.
    pub subject: &'a str,
}

/// How a number stands in a column of benchmark.sh.
#[derive(Debug, Clone, Copy)]
enum Scale {
    /// A number, times this.
    Times(f64),
    /// `878GB`
    Size,
    /// No number: a date, a hash.
    Text,
}

/// One column of benchmark.sh: its heading, our metric and unit, and how the number stands there.
struct Column(&'static str, &'static str, &'static str, Scale);

const MIB: f64 = 1_048_576.0;
const GIB: f64 = MIB * 1024.0;

/// In the order of the report. Sizes are in powers of 1024, CPU in thousands of seconds (classic benchmarks 4.4).
const COLUMNS: [Column; 26] = [
    Column("ops_sec", "ops_per_s", "ops/s", Scale::Times(1.0)),
    Column("mb_sec", "bytes_per_s", "B/s", Scale::Times(MIB)),
    Column("lsm_sz", "lsm_bytes", "B", Scale::Size),
    Column("blob_sz", "blob_bytes", "B", Scale::Size),
    Column("c_wgb", "compaction_write_bytes", "B", Scale::Times(GIB)),
    Column("w_amp", "write_amplification", "", Scale::Times(1.0)),
    Column("c_mbps", "compaction_write_bytes_per_s", "B/s", Scale::Times(MIB)),
    Column("c_wsecs", "compaction_s", "s", Scale::Times(1.0)),
    Column("c_csecs", "compaction_cpu_s", "s", Scale::Times(1.0)),
    Column("b_rgb", "blob_read_bytes", "B", Scale::Times(GIB)),
    Column("b_wgb", "blob_write_bytes", "B", Scale::Times(GIB)),
    Column("usec_op", "us_per_op", "us", Scale::Times(1.0)),
    Column("p50", "latency_us_p50", "us", Scale::Times(1.0)),
    Column("p99", "latency_us_p99", "us", Scale::Times(1.0)),
    Column("p99.9", "latency_us_p999", "us", Scale::Times(1.0)),
    Column("p99.99", "latency_us_p9999", "us", Scale::Times(1.0)),
    Column("pmax", "latency_us_max", "us", Scale::Times(1.0)),
    Column("uptime", "uptime_s", "s", Scale::Times(1.0)),
    Column("stall%", "stall_percent", "%", Scale::Times(1.0)),
    Column("Nstall", "stalls", "", Scale::Times(1.0)),
    Column("u_cpu", "user_cpu_s", "s", Scale::Times(1000.0)),
    Column("s_cpu", "system_cpu_s", "s", Scale::Times(1000.0)),
    Column("rss", "resident_bytes", "B", Scale::Times(GIB)),
    Column("date", "date", "", Scale::Text),
    Column("job_id", "job_id", "", Scale::Text),
    Column("githash", "githash", "", Scale::Text),
];

/// The heading that a metric has in the posts; the metric itself where it has none.
pub fn heading(metric: &str) -> &str {
    COLUMNS.iter().find(|column| column.1 == metric).map_or(metric, |column| column.0)
}

/// The place of a metric among the columns of the posts; metrics that the posts do not have come last.
pub fn position(metric: &str) -> usize {
    COLUMNS.iter().position(|column| column.1 == metric).unwrap_or(COLUMNS.len())
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
                subject: subject.to_owned(),
                step: step.to_owned(),
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
/// database was opened, as the posts have them.
pub fn of_db_bench(output: &DbBenchOutput, source: Source<'_>) -> Vec<ImportedValue> {
    let subject = output.version().unwrap_or(source.subject);
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    let mut values = Vec::new();
    for result in &output.results {
        let time = times.entry(&result.name).or_insert(0);
        *time += 1;
        let step = if *time == 1 { result.name.clone() } else { format!("{}#{time}", result.name) };
        values.extend(of_result(result).into_iter().map(|(metric, unit, value)| ImportedValue {
            file: source.file,
            subject: subject.to_owned(),
            step: step.clone(),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            value: Some(value),
            said: shown(metric, value),
            place: format!("line {}", result.line),
        }));
    }
    values
}

fn of_result(result: &BenchmarkResult) -> Vec<(&'static str, &'static str, f64)> {
    let mut values = Vec::new();
    let mut add = |metric, unit, value: Option<f64>| values.extend(value.map(|value| (metric, unit, value)));
    let real = |value: Option<u64>| value.map(|value| value as f64);
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

/// A number as the posts have it: in the unit of its column, with at most three decimals.
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

fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{benchmark_sh_report, db_bench};

    const SOURCE: Source<'_> = Source { file: 2, subject: "mine" };

    fn one<'a>(values: &'a [ImportedValue], step: &str, subject: &str, metric: &str) -> &'a ImportedValue {
        let mut found = values
            .iter()
            .filter(|value| value.step == step && value.subject == subject && value.metric == metric);
        let value = found.next().unwrap();
        assert_eq!(found.next(), None);
        value
    }

    #[test]
    fn a_summary_becomes_values_in_base_units() {
        let report =
            benchmark_sh_report::parse(include_str!("../fixtures/benchmark_sh/summary.tsv")).unwrap();
        let values = of_report(&report, SOURCE);
        assert_eq!(values.len(), 9 * 26); // test and version are what the values are of
        let of = |metric: &str| one(&values, "overwriteandwait.t24.s0", "8.6.7", metric);
        let rate = of("ops_per_s");
        assert_eq!((rate.value, rate.unit.as_str(), rate.file), (Some(94_053.0), "ops/s", 2));
        assert_eq!(rate.place, "line 17");
        assert_eq!(of("lsm_bytes").value, Some(1000.0 * GIB));
        assert_eq!(of("bytes_per_s").value, Some(37.7 * MIB));
        assert_eq!(of("user_cpu_s").value, Some(29_400.0));
        assert_eq!((of("date").value, of("date").said.as_str()), (None, "2023-11-6T22:51:55"));
        let amplification = one(&values, "readrandom.t24", "8.6.7", "write_amplification");
        assert_eq!((amplification.value, amplification.said.as_str()), (None, "NA"));
    }

    #[test]
    fn a_test_that_failed_keeps_what_is_said_of_it() {
        let report = benchmark_sh_report::parse(include_str!("../fixtures/benchmark_sh/report.tsv")).unwrap();
        let values = of_report(&report, SOURCE);
        let rate = one(&values, "overwrite.t24.s0", "8.5.4", "ops_per_s");
        assert_eq!((rate.value, rate.said.as_str()), (None, "failed"));
    }

    #[test]
    fn rows_without_test_or_version_are_named_after_their_place() {
        let text =
            "a/8.5/report.tsv\na/8.6/report.tsv\n\nops_sec\ttest\tversion\n5\tread\t8.5.4\nfailed\t\t\n";
        let values = of_report(&benchmark_sh_report::parse(text).unwrap(), SOURCE);
        assert_eq!(one(&values, "read", "8.6", "ops_per_s").said, "failed");
        let alone = "ops_sec\ttest\tversion\n5\t\t\n";
        let values = of_report(&benchmark_sh_report::parse(alone).unwrap(), SOURCE);
        assert_eq!(one(&values, "unnamed", "mine", "ops_per_s").value, Some(5.0));
    }

    #[test]
    fn benchmarks_become_values_as_the_posts_have_them() {
        let output = db_bench::parse(include_str!("../fixtures/db_bench/7.8.3.txt")).unwrap();
        let values = of_db_bench(&output, SOURCE);
        let of = |metric: &str| one(&values, "readrandom", "7.8.3", metric);
        assert_eq!((of("bytes_per_s").value, of("bytes_per_s").said.as_str()), (Some(28.1 * MIB), "28.1"));
        assert_eq!((of("us_per_op").said.as_str(), of("us_per_op").unit.as_str()), ("3.937", "us"));
        assert_eq!(of("ops_per_s").place, "line 113");
        let size = one(&values, "fillseq", "7.8.3", "lsm_bytes");
        assert!(size.said.ends_with("MB"), "{size:?}");
        let positions: Vec<usize> = values
            .iter()
            .filter(|value| value.step == "fillseq")
            .map(|value| position(&value.metric))
            .collect();
        assert!(positions.is_sorted(), "{positions:?}");
        assert_eq!((heading("latency_us_p999"), heading("operations")), ("p99.9", "operations"));
    }

    #[test]
    fn a_benchmark_that_ran_twice_has_two_names() {
        let text = "overwrite : 5 micros/op 200000 ops/sec;\noverwrite : 10 micros/op 100000 ops/sec;\n";
        let values = of_db_bench(&db_bench::parse(text).unwrap(), SOURCE);
        assert_eq!(one(&values, "overwrite", "mine", "ops_per_s").value, Some(200_000.0));
        assert_eq!(one(&values, "overwrite#2", "mine", "ops_per_s").value, Some(100_000.0));
    }
}
