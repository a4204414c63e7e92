//! Imports of real layouts in every form.

use crate::tests::{assert_no_line_is_wider, plain, shown};
use findings::Finding;
use findings::import::{ImportView, build};
use formats::import::{Source, of_db_bench, of_go_bench, of_iostat, of_report, of_sysbench};
use formats::samples::FirstReport;
use formats::{benchmark_sh_report, db_bench, go_bench, iostat, sysbench};
use insta::assert_snapshot;
use model::import::ImportedValue;

const COLUMNS: &str = "ops_sec\tmb_sec\tlsm_sz\tblob_sz\tc_wgb\tw_amp\tc_mbps\tc_wsecs\tc_csecs\tb_rgb\tb_wgb\t\
                       usec_op\tp50\tp99\tp99.9\tp99.99\tpmax\tuptime\tstall%\tNstall\tu_cpu\ts_cpu\trss\ttest\t\
                       date\tversion\tjob_id\tgithash\n";

/// Two tests of three versions; one test of the second version failed.
fn report_text() -> String {
    let row = |rate: &str, test: &str, version: &str| {
        let middle = "46.4\t999GB\t0GB\t2463.9\tNA\t671.4\t18135\t17905\t0\t0\t207.2\t41.6\t2756\t17967\t31782\t\
                      114398\t3758\t63.8\t\t35.2\t6.7\t22.5";
        format!("{rate}\t{middle}\t{test}\t2023-11-6T13:23:35\t{version}\t\t72820d70cf\n")
    };
    let failed = format!("failed{}overwrite.t24\t\t8.6.7\t\t\n", "\t".repeat(23));
    [
        COLUMNS.to_owned(),
        row("115836", "overwrite.t24", "8.5.4"),
        failed,
        row("109152", "overwrite.t24", "8.7.3"),
        "\n".to_owned(),
        COLUMNS.to_owned(),
        row("224558", "readrandom.t24", "8.5.4"),
        row("225207", "readrandom.t24", "8.6.7"),
        row("218000", "readrandom.t24", "8.7.3"),
    ]
    .concat()
}

fn import(format: &str, file: &str, text: &str, values: Vec<ImportedValue>) -> ImportView {
    build(&testing::import(format, &[(file, text)], values))
}

pub(crate) fn of_summary() -> ImportView {
    let text = report_text();
    let values =
        of_report(&benchmark_sh_report::parse(&text).unwrap(), Source { file: 0, subject: "summary" });
    import("db_bench-report", "u6/summary.tsv", &text, values)
}

fn as_text(view: &ImportView, width: usize) -> String {
    let text = shown(&Finding::Import(view.clone()), "text", plain(width));
    assert_no_line_is_wider(&text, width);
    text
}

#[test]
fn text_at_80_and_120_columns() {
    for width in [80, 120] {
        assert_snapshot!(format!("text_at_{width}_columns"), as_text(&of_summary(), width));
    }
}

#[test]
fn markdown_of_an_import() {
    assert_snapshot!(shown(&Finding::Import(of_summary()), "markdown", plain(80)));
}

#[test]
fn json_of_an_import() {
    let rendered = crate::json(&Finding::Import(of_summary())).unwrap();
    crate::schema_check::check("import", &rendered);
    let parsed: serde_json::Value = serde_json::from_str(&rendered).unwrap();
    let failed = &parsed["steps"][0]["rows"][1];
    assert_eq!(failed["values"][0]["said"], "failed");
    assert!(failed["values"][0].get("value").is_none() && failed.get("ratio").is_none());
    let first: String = rendered.lines().take(46).collect::<Vec<_>>().join("\n");
    assert_snapshot!(first);
}

#[test]
fn tsv_and_csv_have_every_test_and_column() {
    let rendered = shown(&Finding::Import(of_summary()), "tsv", plain(80));
    let widths: Vec<usize> = rendered.lines().map(|line| line.split('\t').count()).collect();
    // Twenty-eight, less the stalls and the job that nobody gave, with the ratio beside test and version.
    assert_eq!(widths, [27; 7]);
    let line: Vec<&str> = rendered.lines().nth(2).unwrap().split('\t').collect();
    assert_eq!(line[..5], ["overwrite.t24", "8.6.7", "-", "failed", "-"]);
    assert!(rendered.contains("readrandom.t24\t8.7.3\t0.97\t218000\t46.4\t999GB\t"), "{rendered}");
    assert_eq!(shown(&Finding::Import(of_summary()), "csv", plain(80)), rendered.replace('\t', ","));
}

#[test]
fn ratios_are_to_the_first_version_and_absent_where_it_failed() {
    let mut text = report_text();
    let view = of_summary();
    let ratios = |view: &ImportView, step: usize| -> Vec<Option<f64>> {
        view.steps[step].rows.iter().map(|row| row.relative_rate).collect()
    };
    assert_eq!(ratios(&view, 0), [Some(1.0), None, Some(109_152.0 / 115_836.0)]);
    text = text.replacen("115836", "failed", 1);
    let values = of_report(&benchmark_sh_report::parse(&text).unwrap(), Source { file: 0, subject: "s" });
    let view = import("db_bench-report", "f", &text, values);
    assert_eq!(ratios(&view, 0), [None, None, None]);
    assert_eq!(view.base, "8.5.4");
}

#[test]
fn a_version_that_stands_there_twice_is_told_apart_by_its_place() {
    let text = format!("{COLUMNS}{0}{0}", report_text().lines().nth(1).unwrap().to_owned() + "\n");
    let values = of_report(&benchmark_sh_report::parse(&text).unwrap(), Source { file: 0, subject: "s" });
    let view = import("db_bench-report", "a.tsv", &text, values);
    let subjects: Vec<&str> = view.steps[0].rows.iter().map(|row| row.subject.as_str()).collect();
    assert_eq!(subjects, ["8.5.4 (file 1 line 2)", "8.5.4 (file 1 line 3)"]);
    assert_eq!(view.steps[0].rows[1].relative_rate, Some(1.0));
}

#[test]
fn output_of_db_bench_is_shown_with_its_warnings() {
    let printed = "RocksDB:    version 6.11.4\n\
                   WARNING: Assertions are enabled; benchmarks unnecessarily slow\n\
                   fillrandom   :       4.785 micros/op 209001 ops/sec;   23.1 MB/s\n";
    let values = of_db_bench(&db_bench::parse(printed).unwrap(), Source { file: 0, subject: "out" });
    let view = import("db_bench-text", "out.txt", printed, values);
    assert_snapshot!(as_text(&view, 100));
}

#[test]
fn results_of_go_are_compared_by_their_time() {
    let printed = "BenchmarkGet-2 10 2000 ns/op 16 B/op\nBenchmarkGet-2 10 2500 ns/op 16 B/op\n";
    let values = of_go_bench(&go_bench::parse(printed).unwrap(), Source { file: 0, subject: "old.txt" });
    let view = import("go-bench", "old.txt", printed, values);
    let ratios: Vec<Option<f64>> = view.steps[0].rows.iter().map(|row| row.relative_rate).collect();
    assert_eq!(ratios, [Some(1.0), Some(0.8)]);
    assert_snapshot!(as_text(&view, 80));
}

#[test]
fn what_has_no_rate_has_no_column_of_ratios() {
    let printed = "Device r/s rkB/s w_await %util\nvda 1.00 2.00 3.00 4.00\n\n\
                   Device r/s rkB/s w_await %util\nvda 5.00 6.00 7.00 8.00\nvd";
    let means = of_iostat(
        &iostat::parse(printed).unwrap(),
        FirstReport::SinceBoot,
        Source { file: 0, subject: "pg17" },
    );
    let view = import("iostat", "x.pg17/io", printed, means);
    assert!(view.compared.is_empty());
    assert_snapshot!(as_text(&view, 80));
}

#[test]
fn a_report_of_sysbench_keeps_to_its_width() {
    let printed = include_str!("../../../formats/fixtures/sysbench/1.1.0.typed.txt");
    let values =
        of_sysbench(&sysbench::parse(printed).unwrap(), Source { file: 0, subject: "sb.o.read-only" });
    let view = import("sysbench", "x.my84/sb.o.read-only", printed, values);
    as_text(&view, 120);
    assert_snapshot!(as_text(&view, 80));
}
