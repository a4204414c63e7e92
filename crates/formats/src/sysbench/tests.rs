//! Reports of sysbench, recorded by `fixtures/sysbench/record.sh`, one typed after 1.1, and what is cut off.

use super::*;
use crate::tests::refused;

const READ_WRITE: &str = include_str!("../../fixtures/sysbench/1.0.20.read_write.txt");
const HISTOGRAM: &str = include_str!("../../fixtures/sysbench/1.0.20.histogram.txt");
const CHECKPOINTS: &str = include_str!("../../fixtures/sysbench/1.0.20.checkpoints.txt");
const CPU: &str = include_str!("../../fixtures/sysbench/1.0.20.cpu.txt");
const TYPED: &str = include_str!("../../fixtures/sysbench/1.1.0.typed.txt");

fn only(text: &str) -> SysbenchRun {
    let mut runs = parse(text).unwrap();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

#[track_caller]
fn check_near(found: Option<f64>, expected: f64, share: f64) {
    let found = found.unwrap();
    assert!((found / expected - 1.0).abs() <= share, "{found} is not within {share} of {expected}");
}

#[test]
fn a_report_of_1_0_has_everything() {
    let run = only(READ_WRITE);
    assert_eq!((run.version.as_deref(), run.script.as_deref()), (Some("1.0.20"), Some("oltp_read_write")));
    assert_eq!((run.threads, run.checkpoint_s), (Some(2), None));
    let kinds = run.queries_by_kind;
    let (queries, transactions) = (run.queries.unwrap(), run.transactions.unwrap());
    assert_eq!(kinds.total, Some(queries.count));
    assert_eq!(kinds.read.unwrap() + kinds.write.unwrap() + kinds.other.unwrap(), queries.count);
    assert_eq!(run.ops_per_s(), queries.per_s);
    let seconds = run.seconds.unwrap();
    check_near(queries.per_s, queries.count as f64 / seconds, 0.01);
    check_near(transactions.per_s, transactions.count as f64 / seconds, 0.01);
    let latency = &run.latency;
    assert!(latency.us_min < latency.us_mean && latency.us_mean < latency.us_max, "{latency:?}");
    check_near(latency.us_sum, latency.us_mean.unwrap() * run.events.unwrap() as f64, 0.01);
    assert_eq!(latency.percentile.as_ref().unwrap().percent, "95");
    check_near(run.fairness.events.map(|it| it.mean), run.events.unwrap() as f64 / 2.0, 0.001);
    check_near(run.fairness.seconds.map(|it| it.mean), seconds, 0.01);
}

#[test]
fn interval_lines_are_kept() {
    let run = only(READ_WRITE);
    let ends: Vec<f64> = run.intervals.iter().map(|interval| interval.end_s).collect();
    assert_eq!(ends[..3], [1.0, 2.0, 3.0]);
    for interval in &run.intervals {
        let parts =
            interval.reads_per_s.unwrap() + interval.writes_per_s.unwrap() + interval.others_per_s.unwrap();
        check_near(interval.queries_per_s, parts, 0.001);
        assert_eq!((interval.threads, interval.errors_per_s.is_some()), (Some(2), true));
        assert_eq!(interval.latency.as_ref().unwrap().percent, "95");
        assert!(interval.transactions_per_s < interval.queries_per_s && interval.events_per_s.is_none());
    }
}

#[test]
fn the_histogram_has_every_event() {
    let run = only(HISTOGRAM);
    let events: u64 = run.histogram.iter().map(|bucket| bucket.count).sum();
    assert_eq!((Some(events), run.events), (run.events, Some(40)));
    assert!(run.histogram.is_sorted_by(|one, next| one.us < next.us));
    assert!(run.histogram.last().unwrap().us <= run.latency.us_max.unwrap() * 1.05);
}

#[test]
fn a_report_of_1_1_says_its_throughput() {
    let run = only(TYPED);
    assert_eq!(
        (run.version.as_deref(), run.script.as_deref()),
        (Some("1.1.0-3ceba0b"), Some("oltp_read_only"))
    );
    assert_eq!((run.line, run.threads), (3, Some(4)));
    assert_eq!(run.queries, Some(Counted { count: 128_000, per_s: Some(6400.02) }));
    assert_eq!(run.transactions, Some(Counted { count: 8_000, per_s: Some(400.0) }));
    assert_eq!(run.ignored_errors, Some(Counted { count: 2, per_s: Some(0.1) }));
    assert_eq!((run.events, run.events_per_s, run.seconds), (Some(8_000), Some(400.0011), Some(20.0)));
    assert_eq!(run.ops_per_s(), Some(6400.02));
    assert_eq!((run.latency.us_min, run.latency.us_max), (Some(4_500.0), Some(65_250.0)));
    assert_eq!(run.latency.percentile, Some(Percentile { percent: "95".to_owned(), us: 14_460.0 }));
    assert_eq!(run.fairness.events, Some(Spread { mean: 2000.0, stddev: 12.25 }));
}

#[test]
fn a_checkpoint_ends_a_part_of_an_invocation() {
    let runs = parse(CHECKPOINTS).unwrap();
    let checkpoints: Vec<Option<f64>> = runs.iter().map(|run| run.checkpoint_s).collect();
    assert_eq!(checkpoints, [Some(2.0), None]);
    for run in &runs {
        assert_eq!((run.script.as_deref(), run.threads), (Some("oltp_point_select"), Some(1)));
        assert_eq!(run.latency.percentile.as_ref().unwrap().percent, "99");
        check_near(
            run.queries.unwrap().per_s,
            run.queries.unwrap().count as f64 / run.seconds.unwrap(),
            0.02,
        );
    }
}

#[test]
fn a_test_that_is_not_of_sql_has_events() {
    let run = only(CPU);
    assert_eq!((run.queries, run.transactions, run.latency.percentile.clone()), (None, None, None));
    assert_eq!(run.ops_per_s(), run.events_per_s);
    check_near(run.ops_per_s(), run.events.unwrap() as f64 / run.seconds.unwrap(), 0.01);
    assert!(
        run.intervals.iter().all(|interval| interval.events_per_s.is_some() && interval.latency.is_none())
    );
    let without_rate = SysbenchRun { events_per_s: None, ..run.clone() };
    check_near(without_rate.ops_per_s(), run.events_per_s.unwrap(), 0.01);
    assert_eq!(SysbenchRun { seconds: Some(0.0), ..without_rate }.ops_per_s(), None);
}

#[test]
fn several_runs_stand_in_one_file_with_and_without_their_first_lines() {
    let runs = parse(&format!("{READ_WRITE}\n$ {CPU}{TYPED}")).unwrap();
    let scripts: Vec<Option<&str>> = runs.iter().map(|run| run.script.as_deref()).collect();
    assert_eq!(scripts, [Some("oltp_read_write"), Some("cpu"), Some("oltp_read_only")]);
    let (_, report) = TYPED.split_once("Warming up").unwrap();
    let runs =
        parse(&format!("[ 1s ] thds: 4 tps: 1.00 qps: 16.00\n{report}[ 1s ] thds: 8 tps: 2.00\n{report}"))
            .unwrap();
    let first = |run: &SysbenchRun| run.intervals.iter().map(|it| it.threads.unwrap()).collect::<Vec<_>>();
    assert_eq!(runs.iter().map(first).collect::<Vec<_>>(), [[4], [8]]);
    assert_eq!(runs[0].queries, runs[1].queries);
}

#[test]
fn numbers_that_sysbench_could_not_compute_are_absent() {
    let text = TYPED.replace("9.99", "-nan").replace("6400.02", "inf");
    let run = only(&text);
    assert_eq!((run.latency.us_mean, run.queries.unwrap().per_s, run.ops_per_s()), (None, None, None));
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let check = refused("output of sysbench", parse);
    let nothing = "there is no report with `transactions:` or `total number of events:`";
    check("", &format!("1: {nothing}"));
    check("\u{0}\u{fffd}PNG\r\n\u{1}", &format!("2: {nothing}"));
    check("sysbench 1.0.20 (using LuaJIT)\n\nCreating table 'sbtest1'...\n", &format!("3: {nothing}"));
    let sql = |line: &str| format!("SQL statistics:\n    queries performed:\n{line}\n");
    check(&sql("        read:   9,739,160"), "3: `9,739,160` of read is no count");
    check(&sql("    queries:   128000"), "3: `128000` of queries is not like `19300  (6414.57 per sec.)`");
    check(
        &sql("    queries:   12 (1,5 per sec.)"),
        "3: `1,5` of queries is no number; decimal commas are not read: record with LC_ALL=C",
    );
    check("Latency (ms):\n   avg: fast\n", "2: `fast` of avg is no number");
    check(
        "Threads fairness:\n    events (avg/stddev):  5\n",
        "2: `5` of events (avg/stddev) has no deviation",
    );
    check("General statistics:\n    total time: 5\n", "2: `5` of total time has no unit");
    check("[ 1s ] thds: 4 tps: x qps: 1\n", "1: `x` of tps is no number");
    check("[ 1s ] thds: 4 (r/w/o: 1.0/2.0)\n", "1: `1.0/2.0)` of r/w/o is not three numbers");
    check("[ 1s ] thds: 4 lat ms: 1.0\n", "1: `lat ms:` is not like `lat (ms,95%):`");
    check("Number of threads: many\n", "1: `many` of the number of threads is no count");
    check(
        "Latency histogram (values are in milliseconds)\n 1.0 |** x\n",
        "2: `x` of the histogram is no count",
    );
}

#[test]
fn a_text_that_was_cut_off_has_less_and_nothing_else() {
    for text in [READ_WRITE, HISTOGRAM, TYPED] {
        let whole = only(text);
        for end in (0..text.len()).step_by(3) {
            let Ok(runs) = parse(&text[..end]) else { continue };
            let run = &runs[0];
            assert_eq!(runs.len(), 1, "cut at {end}");
            assert!(run.queries.is_none() || run.queries == whole.queries, "cut at {end}: {run:?}");
            assert!(run.events.is_none() || run.events == whole.events, "cut at {end}: {run:?}");
            assert!(run.latency.us_sum.is_none() || run.latency == whole.latency, "cut at {end}: {run:?}");
            assert!(run.intervals.iter().eq(&whole.intervals[..run.intervals.len()]), "cut at {end}");
            assert!(run.histogram.iter().eq(&whole.histogram[..run.histogram.len()]), "cut at {end}");
        }
    }
}
