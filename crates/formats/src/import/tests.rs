//! Values of each format in our spelling and units, from the fixtures of its parser.

use super::*;
use crate::lines::LONGEST_NAME;
use crate::samples::FirstReport;
use crate::{
    benchmark_sh_report, db_bench, fio_json, go_bench, iostat, otava_csv, pgbench, pgbench_log, sysbench,
    vmstat,
};

const SOURCE: Source<'_> = Source { file: 1, subject: "mine" };

/// What a value is: unit, number, what is said of it.
fn told<'a>(values: &'a [ImportedValue], step: &str, metric: &str) -> Vec<(&'a str, Option<f64>, &'a str)> {
    values
        .iter()
        .filter(|value| value.step == step && value.metric == metric)
        .map(|value| (value.unit.as_str(), value.value, value.said.as_str()))
        .collect()
}

fn steps(values: &[ImportedValue]) -> Vec<&str> {
    let mut steps: Vec<&str> = values.iter().map(|value| value.step.as_str()).collect();
    steps.dedup();
    steps
}

#[track_caller]
fn check_metrics(values: &[ImportedValue], step: &str, expected: &[&str]) {
    let metrics: Vec<&str> =
        values.iter().filter(|value| value.step == step).map(|value| value.metric.as_str()).collect();
    assert_eq!(metrics, expected);
}

#[test]
fn queries_of_sysbench_are_its_operations() {
    let text = include_str!("../../fixtures/sysbench/1.1.0.typed.txt");
    let values = of_sysbench(&sysbench::parse(text).unwrap(), SOURCE);
    assert_eq!(steps(&values), ["oltp_read_only.t4"]);
    assert!(values.iter().all(|value| (value.file, value.subject.as_str()) == (1, "mine")));
    assert!(values.iter().all(|value| value.place == "line 3"));
    let of = |metric| told(&values, "oltp_read_only.t4", metric);
    assert_eq!(of("ops_per_s"), [("ops/s", Some(6400.02), "6400.02")]);
    assert_eq!(of("transactions_per_s"), [("1/s", Some(400.0), "400")]);
    assert_eq!(of("latency_us_p95"), [("us", Some(14_460.0), "14460")]);
    assert_eq!(of("operations"), [("", Some(128_000.0), "128000")]);
    assert_eq!(of("ignored_errors_per_s"), [("1/s", Some(0.1), "0.1")]);
}

#[test]
fn parts_of_an_invocation_of_sysbench_are_tests_of_their_own() {
    let text = include_str!("../../fixtures/sysbench/1.0.20.checkpoints.txt");
    let values = of_sysbench(&sysbench::parse(text).unwrap(), SOURCE);
    assert_eq!(steps(&values), ["oltp_point_select.t1@2s", "oltp_point_select.t1"]);
    let text = include_str!("../../fixtures/sysbench/1.0.20.cpu.txt");
    let values = of_sysbench(&sysbench::parse(text).unwrap(), SOURCE);
    let metrics = [
        "ops_per_s",
        "latency_us_min",
        "latency_us_mean",
        "latency_us_max",
        "seconds",
        "operations",
        "thread_events_mean",
        "thread_events_stddev",
        "thread_s_mean",
        "thread_s_stddev",
    ];
    check_metrics(&values, "cpu.t2", &metrics);
}

#[test]
fn a_run_of_sysbench_that_failed_says_so() {
    let text = include_str!("../../fixtures/sysbench/1.0.20.cpu.txt");
    let first_lines = text.split("[ 1s ]").next().unwrap();
    let prepared = "sysbench 1.0.20 (using LuaJIT)\n\nCreating table 'sbtest1'...\n";
    let text = format!("{prepared}{first_lines}FATAL: error 1\n{text}");
    let values = of_sysbench(&sysbench::parse(&text).unwrap(), SOURCE);
    let rates = told(&values, "cpu.t2", "ops_per_s");
    assert_eq!((rates.len(), rates[0]), (2, ("ops/s", None, "no report")));
    assert!(rates[1].1.is_some() && steps(&values) == ["cpu.t2"]);
}

#[test]
fn transactions_of_pgbench_are_its_operations() {
    let text = include_str!("../../fixtures/pgbench/13.typed.txt");
    let values = of_pgbench(&pgbench::parse(text).unwrap(), SOURCE);
    let step = "/srv/scripts/update.sql.s10.c8.extended";
    assert_eq!((steps(&values), values[0].subject.as_str()), (vec![step], "mine"));
    assert_eq!(told(&values, step, "ops_per_s"), [("ops/s", Some(256.0025), "256.002")]);
    assert_eq!(told(&values, step, "latency_us_mean"), [("us", Some(15_602.0), "15602")]);
    let text = include_str!("../../fixtures/pgbench/17.typed.txt");
    let values = of_pgbench(&pgbench::parse(text).unwrap(), SOURCE);
    let expected = ["multiple scripts.s1.c4", "a.sql.s1.c4 (script 1)", "b.sql.s1.c4 (script 2)"];
    assert_eq!(steps(&values), expected);
    assert!(values.iter().all(|value| value.subject == "16.6"));
    assert_eq!(told(&values, expected[1], "failed"), [("", Some(10.0), "10")]);
    assert_eq!(told(&values, expected[2], "ops_per_s"), [("ops/s", Some(854.522_613), "854.523")]);
}

#[test]
fn a_log_of_pgbench_becomes_percentiles() {
    let lines: String = (1..=1000).map(|us| format!("0 {us} {us} 0 1795278249 {us}\n")).collect();
    let text = format!("{lines}0 1001 failed 0 1795278249 5\n1 1 7 3 1795278249 9\n");
    let values = of_pgbench_log(&pgbench_log::parse(&text).unwrap(), SOURCE);
    assert_eq!(steps(&values), ["script 0", "script 3"]);
    let expected = [
        ("latency_us_min", 1.0),
        ("latency_us_mean", 500.5),
        ("latency_us_p50", 500.0),
        ("latency_us_p95", 950.0),
        ("latency_us_p99", 990.0),
        ("latency_us_p999", 999.0),
        ("latency_us_p9999", 1000.0),
        ("latency_us_max", 1000.0),
        ("operations", 1000.0),
        ("failed", 1.0),
        ("skipped", 0.0),
    ];
    let found: Vec<(&str, f64)> = values
        .iter()
        .filter(|value| value.step == "script 0")
        .map(|value| (value.metric.as_str(), value.value.unwrap()))
        .collect();
    assert_eq!(found, expected);
    assert!(told(&values, "script 3", "latency_us_p9999").iter().all(|(_, value, _)| *value == Some(7.0)));
    let only_failed = pgbench_log::parse("0 1 failed 0 1795278249 5\n").unwrap();
    check_metrics(&of_pgbench_log(&only_failed, SOURCE), "script 0", &["operations", "failed", "skipped"]);
}

#[test]
fn an_aggregated_log_becomes_means() {
    let text = include_str!("../../fixtures/pgbench/14.interval.log");
    let values = of_pgbench_log(&pgbench_log::parse(text).unwrap(), SOURCE);
    let of = |metric| told(&values, "all scripts", metric)[0].1.unwrap();
    // 1,000 transactions of 2,000,000 us and 500 of 1,500,000; squares 5e9 and 6e9.
    let mean = 3_500_000.0 / 1500.0;
    assert!((of("latency_us_mean") - mean).abs() < 1e-6);
    assert!((of("latency_us_stddev") - (11e9_f64 / 1500.0 - mean * mean).sqrt()).abs() < 1e-6);
    assert_eq!((of("latency_us_min"), of("latency_us_max"), of("skipped")), (800.0, 12_000.0, 10.0));
    let nothing = pgbench_log::parse("1650000000 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n").unwrap();
    check_metrics(
        &of_pgbench_log(&nothing, SOURCE),
        "all scripts",
        &["operations", "failed", "skipped", "retried"],
    );
}

#[test]
fn directions_of_a_job_of_fio_are_tests() {
    let text = include_str!("../../fixtures/fio/3.33.mixed.txt");
    let outputs = fio_json::parse(text).unwrap();
    let values = of_fio(&outputs, SOURCE);
    assert_eq!(steps(&values), ["mixed.read", "mixed.write", "mixed"]);
    let read = &outputs[0].jobs[0].directions[0];
    let of = |metric| told(&values, "mixed.read", metric)[0].1;
    assert_eq!((of("ops_per_s"), of("bytes_per_s")), (read.requests_per_s, read.bytes_per_s));
    assert_eq!(of("latency_us_p999"), Some(read.completion.ns_percentiles["99.9"] * 1e-3));
    assert_eq!(of("read_bytes"), Some(read.bytes as f64));
    check_metrics(&values, "mixed", &["user_cpu_percent", "system_cpu_percent", "context_switches"]);
    let text = include_str!("../../fixtures/fio/3.33.bins.json");
    let outputs = fio_json::parse(text).unwrap();
    let values = of_fio(&outputs, SOURCE);
    assert_eq!(steps(&values), ["scan.read"], "the CPU is that of its only direction");
    let whole = &outputs[0].jobs[0].directions[0].whole;
    assert_eq!(told(&values, "scan.read", "latency_us_p99")[0].1, Some(whole.ns_percentiles["99"] * 1e-3));
    assert_eq!(told(&values, "scan.read", "latency_us_mean")[0].1, whole.ns_mean.map(|ns| ns * 1e-3));
}

#[test]
fn a_job_of_fio_that_failed_has_no_numbers() {
    let text = "{\"jobs\": [{\"jobname\": \"a\", \"error\": 28, \"write\": {\"io_bytes\": 5, \"iops\": 2.0}}, \
                {\"jobname\": \"b\", \"error\": 5}]}";
    let values = of_fio(&fio_json::parse(text).unwrap(), SOURCE);
    let said: Vec<(&str, Option<f64>, &str)> =
        values.iter().map(|value| (value.step.as_str(), value.value, value.said.as_str())).collect();
    assert_eq!(said, [("a.write", None, "failed (28)"), ("b", None, "failed (5)")]);
}

#[test]
fn reports_of_iostat_become_means_with_the_headings_of_the_posts() {
    let text = include_str!("../../fixtures/iostat/10.2.typed.txt");
    let output = iostat::parse(text).unwrap();
    let values = of_iostat(&output, FirstReport::SinceBoot, SOURCE);
    assert_eq!(steps(&values), ["sda", "dm-0", "cpu"]);
    assert!(values.iter().all(|value| value.place == "line 10"));
    let of = |metric| told(&values, "sda", metric);
    assert_eq!(of("disk_reads_per_s"), [("1/s", Some(200.0), "200")]);
    assert_eq!(of("disk_read_bytes_per_s"), [("B/s", Some(3200.0 * 1024.0), "3.125")]);
    assert_eq!(of("disk_read_us_mean"), [("us", Some(1500.0), "1.5")]);
    assert_eq!(of("disk_bytes_mean")[0].1, Some(32.215 * 512.0));
    assert_eq!(of("samples"), [("", Some(2.0), "2")]);
    assert_eq!(told(&values, "cpu", "user_cpu_percent"), [("%", Some(25.0), "25")]);
    assert_eq!((heading("disk_read_bytes_per_s"), heading("disk_read_us_mean")), ("rmbps", "rawait"));
    let all = of_iostat(&output, FirstReport::Interval, SOURCE);
    assert_eq!(told(&all, "sda", "samples"), [("", Some(3.0), "3")]);
    let text = include_str!("../../fixtures/iostat/12.6.1.xk.txt");
    let values = of_iostat(&iostat::parse(text).unwrap(), FirstReport::SinceBoot, SOURCE);
    assert_eq!(steps(&values), ["vda", "cpu"], "the others did nothing");
    let alone = text.split("\n\n\n").next().unwrap().to_owned() + "\n";
    assert_eq!(of_iostat(&iostat::parse(&alone).unwrap(), FirstReport::SinceBoot, SOURCE), []);
}

#[test]
fn rows_of_vmstat_become_means() {
    let text = include_str!("../../fixtures/vmstat/3.3.typed.txt");
    let values = of_vmstat(&vmstat::parse(text).unwrap(), FirstReport::SinceBoot, SOURCE);
    let of = |metric| told(&values, "host", metric);
    assert_eq!(of("context_switches_per_s"), [("1/s", Some(9250.0), "9250")]);
    assert_eq!((of("user_cpu_percent")[0].1, of("cpu_percent")), (Some(65.0), vec![("%", Some(86.0), "86")]));
    assert_eq!(of("disk_write_bytes_per_s")[0].1, Some(3000.0 * 1024.0));
    assert_eq!(
        (of("samples")[0].1, of("guest_percent"), values[0].place.as_str()),
        (Some(2.0), vec![], "line 4")
    );
}

#[test]
fn points_of_otava_are_subjects() {
    let text = include_str!("../../fixtures/otava/sample.csv");
    let values = of_otava(&otava_csv::parse(text).unwrap(), SOURCE);
    assert_eq!((steps(&values), values.len()), (vec!["mine"], 12));
    let subjects: Vec<&str> = values.iter().step_by(3).map(|value| value.subject.as_str()).collect();
    assert_eq!(subjects, ["aaa0", "aaa1", "aaa2", "aaa3"]);
    assert_eq!(told(&values, "mine", "ops_per_s")[1], ("ops/s", Some(138_455.0), "138455"));
    assert_eq!(told(&values, "mine", "latency p99")[2], ("", None, "nan"));
    assert_eq!(told(&values, "mine", "date")[0], ("", None, "2026.01.01 3:00:00 +0100"));
}

#[test]
fn results_of_go_are_in_our_units_and_told_apart_by_their_lines() {
    let text = include_str!("../../fixtures/go_bench/1.26.8.txt");
    let output = go_bench::parse(text).unwrap();
    let values = of_go_bench(&output, SOURCE);
    assert_eq!(steps(&values), ["Repeat/size=16-2", "Repeat/size=1k-2", "Nothing-2"]);
    let metrics = [
        "us_per_op",
        "bytes_per_s",
        "p99_latency_us",
        "words_per_op",
        "bytes_per_op",
        "allocs_per_op",
        "operations",
    ];
    check_metrics(&values[..7], "Repeat/size=16-2", &metrics);
    let places: Vec<&str> = values.iter().step_by(7).take(3).map(|value| value.place.as_str()).collect();
    assert_eq!(places, ["line 5", "line 6", "line 7"]);
    let ns = output.results[0].values[0].value.unwrap();
    assert_eq!((values[0].value, values[0].unit.as_str()), (Some(ns * 1e-3), "us"));
    let text = "pkg: a\nversion: v2\nBenchmarkGet 10 2 sec/op 7 misses/op 3 GC/s 5 L1-miss-ns/op\npkg: b\nBenchmarkGet 1 NaN ns/op\n";
    let values = of_go_bench(&go_bench::parse(text).unwrap(), SOURCE);
    assert_eq!((steps(&values), values[0].subject.as_str()), (vec!["a.Get", "b.Get"], "v2"));
    assert_eq!(told(&values, "a.Get", "us_per_op"), [("us", Some(2e6), "2000000")]);
    assert_eq!(told(&values, "a.Get", "misses_per_op"), [("", Some(7.0), "7")]);
    assert_eq!(told(&values, "a.Get", "gc_per_s"), [("1/s", Some(3.0), "3")]);
    assert_eq!(told(&values, "a.Get", "l1_miss_us_per_op"), [("us", Some(0.005), "0.005")]);
    assert_eq!(told(&values, "b.Get", "us_per_op"), [("us", None, "NaN")]);
}

/// Each value has it: a text of some kilobytes would become gigabytes.
#[test]
fn a_very_long_name_is_cut() {
    let long = "x".repeat(4000);
    let report = format!("ops_sec\ttest\tversion\n5\t{long}\t{long}\n");
    let report = of_report(&benchmark_sh_report::parse(&report).unwrap(), SOURCE);
    assert_eq!((report[0].step.len(), report[0].subject.len()), (LONGEST_NAME, LONGEST_NAME));
    let text = format!("{long} : 1 micros/op 5 ops/sec;\n");
    let values = of_db_bench(&db_bench::parse(&text).unwrap(), SOURCE);
    assert!(values.iter().all(|value| value.step.len() == LONGEST_NAME));
}

#[test]
fn small_numbers_keep_their_digits() {
    let said = [6_400.024_9, 1.0, 0.5, 0.543_21, 0.000_543_21, 1e-15, 0.0, -0.012_345].map(plain);
    assert_eq!(said, ["6400.025", "1", "0.5", "0.5432", "0.0005432", "0", "0", "-0.01235"]);
}

#[test]
fn what_was_left_out_of_a_text_is_told() {
    let told = |format: &str, text: &str| {
        warnings(format, &ImportedFile { file: "a".to_owned(), sha256: String::new(), text: text.to_owned() })
    };
    let text = include_str!("../../fixtures/vmstat/3.3.typed.txt");
    assert_eq!(told("vmstat", text), Vec::<String>::new());
    let cut = "line 7 has no line break: it was cut off, and is left out";
    assert_eq!(told("vmstat", text.trim_end()), [cut]);
    let warned = told("db_bench-text", "WARNING: slow\na : 1 micros/op 5 ops/sec;\n");
    assert_eq!((warned, told("vmstat", "x")), (vec!["WARNING: slow".to_owned()], vec![]));
}

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
    let report = benchmark_sh_report::parse(include_str!("../../fixtures/benchmark_sh/summary.tsv")).unwrap();
    let values = of_report(&report, SOURCE);
    assert_eq!(values.len(), 9 * 26); // test and version are what the values are of
    let of = |metric: &str| one(&values, "overwriteandwait.t24.s0", "8.6.7", metric);
    let rate = of("ops_per_s");
    assert_eq!((rate.value, rate.unit.as_str(), rate.file), (Some(94_053.0), "ops/s", 1));
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
    let report = benchmark_sh_report::parse(include_str!("../../fixtures/benchmark_sh/report.tsv")).unwrap();
    let values = of_report(&report, SOURCE);
    let rate = one(&values, "overwrite.t24.s0", "8.5.4", "ops_per_s");
    assert_eq!((rate.value, rate.said.as_str()), (None, "failed"));
}

#[test]
fn rows_without_test_or_version_are_named_after_their_place() {
    let text = "a/8.5/report.tsv\na/8.6/report.tsv\n\nops_sec\ttest\tversion\n5\tread\t8.5.4\nfailed\t\t\n";
    let values = of_report(&benchmark_sh_report::parse(text).unwrap(), SOURCE);
    assert_eq!(one(&values, "read", "8.6", "ops_per_s").said, "failed");
    let alone = "ops_sec\ttest\tversion\n5\t\t\n";
    let values = of_report(&benchmark_sh_report::parse(alone).unwrap(), SOURCE);
    assert_eq!(one(&values, "unnamed", "mine", "ops_per_s").value, Some(5.0));
}

#[test]
fn benchmarks_become_values_as_the_posts_have_them() {
    let output = db_bench::parse(include_str!("../../fixtures/db_bench/7.8.3.txt")).unwrap();
    let values = of_db_bench(&output, SOURCE);
    let of = |metric: &str| one(&values, "readrandom", "7.8.3", metric);
    assert_eq!((of("bytes_per_s").value, of("bytes_per_s").said.as_str()), (Some(28.1 * MIB), "28.1"));
    assert_eq!((of("us_per_op").said.as_str(), of("us_per_op").unit.as_str()), ("3.937", "us"));
    assert_eq!(of("ops_per_s").place, "line 113");
    let size = one(&values, "fillseq", "7.8.3", "lsm_bytes");
    assert!(size.said.ends_with("MB"), "{size:?}");
    let positions: Vec<usize> =
        values.iter().filter(|value| value.step == "fillseq").map(|value| position(&value.metric)).collect();
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
