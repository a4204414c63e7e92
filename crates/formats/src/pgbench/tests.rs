//! Summaries of pgbench, recorded by `fixtures/pgbench/record.sh`, others typed after older and newer releases, and what
//! is cut off.

use super::*;
use crate::tests::refused;

const TPCB: &str = include_str!("../../fixtures/pgbench/15.18.tpcb.txt");
const SCRIPTS: &str = include_str!("../../fixtures/pgbench/15.18.scripts.txt");
const CONNECT: &str = include_str!("../../fixtures/pgbench/15.18.connect.txt");
const OLDER: &str = include_str!("../../fixtures/pgbench/13.typed.txt");
const NEWER: &str = include_str!("../../fixtures/pgbench/17.typed.txt");

fn only(text: &str) -> PgbenchRun {
    let mut runs = parse(text).unwrap();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

#[test]
fn a_summary_has_its_settings_and_its_rate() {
    let run = only(TPCB);
    assert_eq!((run.version.as_deref(), run.transaction_type.as_str()), (Some("15.18"), "TPC-B (sort of)"));
    assert_eq!((run.scale, run.clients, run.threads), (Some(1), Some(2), Some(1)));
    assert_eq!((run.query_mode.as_deref(), run.duration_s), (Some("simple"), Some(3)));
    assert_eq!((run.transactions_per_client, run.transactions_per_s_with_connecting), (None, None));
    let rate = run.total.processed.unwrap() as f64 / 3.0;
    assert!((run.transactions_per_s.unwrap() / rate - 1.0).abs() < 0.02, "{run:?}");
    assert_eq!((run.total.failed, run.total.retried), (Some(0), None));
    // Two clients, so that their latency is twice the time between transactions.
    assert!((run.total.us_mean.unwrap() * rate / 2e6 - 1.0).abs() < 0.02, "{run:?}");
    assert!(run.us_connecting.unwrap() > 100.0 && run.us_connecting_mean.is_none());
}

#[test]
fn progress_lines_belong_to_the_summary_after_them() {
    let run = only(TPCB);
    assert_eq!(run.progress.iter().map(|line| line.end_s).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
    let first = &run.progress[0];
    assert!(first.us_mean.unwrap() > first.us_stddev.unwrap() / 10.0);
    assert_eq!((first.failed, first.skipped, first.us_lag), (Some(0), None, None));
    let older = only(OLDER);
    let none = Progress {
        end_s: 10.0,
        transactions_per_s: Some(0.0),
        us_lag: Some(1250.0),
        skipped: Some(3),
        ..Progress::default()
    };
    assert_eq!(older.progress[1], none);
}

#[test]
fn statements_have_their_latencies() {
    let run = only(TPCB);
    assert_eq!((run.scripts.len(), run.scripts[0].name.as_deref()), (1, None));
    let statements = &run.scripts[0].statements;
    assert_eq!((statements.len(), statements[10].text.as_str()), (11, "END;"));
    assert_eq!(statements[0].text, "\\set aid random(1, 100000 * :scale)");
    let sum: f64 = statements.iter().filter_map(|statement| statement.us_mean).sum();
    assert!((sum / run.total.us_mean.unwrap() - 1.0).abs() < 0.02, "{statements:?}");
    assert!(statements.iter().all(|statement| (statement.failures, statement.retries) == (Some(0), None)));
    let of_older = &only(OLDER).scripts[0].statements;
    assert_eq!((of_older.len(), of_older[1].us_mean, of_older[1].failures), (2, Some(15_100.0), None));
    let of_newer = &only(NEWER).scripts[0].statements[0];
    let expected = Statement {
        text: "UPDATE a SET v = v + 1;".to_owned(),
        us_mean: Some(1000.0),
        failures: Some(7),
        retries: Some(60),
    };
    assert_eq!(*of_newer, expected);
}

#[test]
fn scripts_of_a_run_are_told_apart() {
    let run = only(SCRIPTS);
    assert_eq!(
        (run.transaction_type.as_str(), run.query_mode.as_deref()),
        ("multiple scripts", Some("prepared"))
    );
    let names: Vec<&str> = run.scripts.iter().filter_map(|script| script.name.as_deref()).collect();
    assert_eq!(names, ["select only", "simple update"]);
    let sum = |of: fn(&Transactions) -> Option<u64>| {
        run.scripts.iter().filter_map(|it| of(&it.transactions)).sum::<u64>()
    };
    assert_eq!(Some(sum(|it| it.processed)), run.total.processed);
    assert_eq!(Some(sum(|it| it.skipped)), run.total.skipped);
    let rate: f64 = run.scripts.iter().filter_map(|script| script.transactions_per_s).sum();
    assert!((run.transactions_per_s.unwrap() / rate - 1.0).abs() < 0.001, "{run:?}");
    let lag = run.lag.unwrap();
    assert!(lag.us_mean < lag.us_max && run.total.over_limit.unwrap() > 0);
}

#[test]
fn other_releases_say_it_in_other_words() {
    let older = only(OLDER);
    assert_eq!(
        (older.version.as_deref(), older.transaction_type.as_str()),
        (None, "/srv/scripts/update.sql")
    );
    assert_eq!(older.transactions_per_s, Some(256.0025));
    assert_eq!(older.transactions_per_s_with_connecting, Some(255.87125));
    assert_eq!(
        (older.total.us_mean, older.total.us_stddev, older.total.failed),
        (Some(15_602.0), Some(4_100.0), None)
    );
    let newer = only(NEWER);
    assert_eq!(newer.version.as_deref(), Some("16.6"), "that of the server");
    let total = Transactions {
        processed: Some(1990),
        failed: Some(10),
        serialization_failures: Some(7),
        deadlock_failures: Some(3),
        retried: Some(40),
        retries: Some(90),
        us_mean: Some(2_345.0),
        ..Transactions::default()
    };
    assert_eq!(newer.total, total);
    assert_eq!(newer.scripts[0].transactions.processed, Some(990), "without those that failed");
    assert_eq!(newer.scripts[1].transactions_per_s, Some(854.522_613));
}

#[test]
fn several_runs_stand_in_one_file() {
    let runs = parse(CONNECT).unwrap();
    assert_eq!(runs.iter().map(|run| run.clients).collect::<Vec<_>>(), [Some(1), Some(4)]);
    assert!(runs[0].us_connecting_mean.is_some() && runs[0].us_connecting.is_none(), "connects each time");
    assert!(runs[1].us_connecting_mean.is_none() && runs[1].us_connecting.is_some());
    assert_eq!(parse(&format!("$ pgbench\n{OLDER}{TPCB}{NEWER}")).unwrap().len(), 3);
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let check = refused("output of pgbench", parse);
    check("", "1: there is no summary that begins with `transaction type: `");
    check("\u{0}\u{fffd}\n\u{1}\n", "2: there is no summary that begins with `transaction type: `");
    let cut = "2: there is no `transaction type: ` after the last progress line: it was cut off";
    check("progress: 1.0 s, 5.0 tps\nprogress: 2.0 s, 5.", cut);
    check("progress: now, 5.0 tps\n", "1: a progress line has no time");
    let comma = "decimal commas are not read: record with LC_ALL=C";
    check("progress: 1,0 s, 5,1 tps\n", &format!("1: `1,0` of a progress line is no number; {comma}"));
    check("progress: 1.0 s, x tps\n", "1: `x` of tps is no number");
    let summary = |line: &str| format!("transaction type: t\n{line}\n");
    check(&summary("number of clients: many"), "2: `many` of number of clients is no count");
    check(&summary("latency average = 2.5 s"), "2: `2.5 s` of latency average is not in ms");
    check(&summary("tps = 5"), "2: `5` of tps says not what");
    check(
        &summary("tps = 5,5 (without initial connection time)"),
        "2: `5,5` of tps is no number; decimal commas are not read: record with LC_ALL=C",
    );
    check(
        &summary("rate limit schedule lag: avg 1 ms"),
        "2: `avg 1 ms` of rate limit schedule lag is not like `avg 1.250 (max 9.998) ms`",
    );
    let statement = "statement latencies in milliseconds and failures:\n   0.1  x END;";
    check(&summary(statement), "3: `x` in column failures of a statement is no count");
}

#[test]
fn a_text_that_was_cut_off_is_an_error_or_has_less() {
    for text in [TPCB, SCRIPTS, OLDER, NEWER] {
        let whole = only(text);
        for end in (0..text.len()).step_by(3) {
            let Ok(runs) = parse(&text[..end]) else { continue };
            let run = &runs[0];
            let said = format!("cut at {end}: {run:?}");
            assert!(
                run.transactions_per_s.is_none() || run.transactions_per_s == whole.transactions_per_s,
                "{said}"
            );
            assert!(run.total.processed.is_none() || run.total.processed == whole.total.processed, "{said}");
            assert!(run.total.us_mean.is_none() || run.total.us_mean == whole.total.us_mean, "{said}");
            assert!(run.clients.is_none() || run.clients == whole.clients, "{said}");
            for (script, whole) in run.scripts.iter().zip(&whole.scripts) {
                assert!(script.statements.iter().eq(&whole.statements[..script.statements.len()]), "{said}");
            }
        }
    }
}
