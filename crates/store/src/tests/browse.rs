//! Lists by page and filter, one step over runs, progress, and readers that change nothing.

use super::{block, by, cost, ended, plan, started, trial};
use crate::browse::{ENTRIES, HEADS, MATCHING, NEWEST, STEP_RATES, TRIAL_COUNTS};
use crate::queue::RUNS_OF_CAMPAIGN;
use crate::self_tests::COUNTING;
use crate::{Error, Filter, Retry, Store, Writer};
use model::block::{BlockKind, Outcome, Second};
use model::counter::Counters;
use model::event::{RunEvent, RunOutcome};
use model::host::HostSample;
use model::import::{ImportRecord, ImportedFile};
use model::listing::{EntryKind, TrialCounts, TrialEnd};
use model::plan::Purpose;
use model::reason::Reason;
use model::record::RunStatus;
use model::units::Nanos;
use std::collections::BTreeMap;

fn end(launch: u32, step: &str, side: usize, outcome: Outcome) -> RunEvent {
    RunEvent::TrialEnded { trial: trial(launch, step, side), outcome, latency: None }
}

/// Three runs and an import, a second apart: a comparison, a campaign that failed, a calibration without an end.
fn store() -> Writer {
    let mut writer = Writer::in_memory().unwrap();
    let mut write = |run: &str, events: &[RunEvent]| {
        for event in events {
            writer.write(run, event).unwrap();
        }
    };
    write(
        "a",
        &[
            started("a", 1_000_000, Purpose::Compare),
            RunEvent::LaunchStarted { launch: 1, at_us: 1_000_001 },
            RunEvent::BlockMeasured(Box::new(block(
                trial(1, "readrandom", 0),
                BlockKind::Cycle(0),
                Counters::new(),
            ))),
            RunEvent::BlockMeasured(Box::new(block(
                trial(1, "readrandom", 0),
                BlockKind::Cycle(1),
                Counters::new(),
            ))),
            end(1, "readrandom", 0, Outcome::Done),
            end(1, "readrandom", 1, Outcome::Failed { reason: Reason::Said("killed".to_owned()) }),
            ended(1_500_000),
        ],
    );
    write(
        "b",
        &[
            started("b", 2_000_000, Purpose::Campaign),
            RunEvent::Ended { at_us: 2_100_000, outcome: RunOutcome::Failed, cost: cost() },
        ],
    );
    write("c", &[started("c", 3_000_000, Purpose::Calibrate)]);
    writer.name_run("b", "readahead \"100 %\" <b>").unwrap();
    writer
        .write_import(&ImportRecord {
            id: "d".to_owned(),
            name: None,
            format: "sysbench".to_owned(),
            imported_at_us: 4_000_000,
            tool_version: "0.1.0".to_owned(),
            files: vec![ImportedFile {
                file: "x.pg17/sb.o".to_owned(),
                sha256: "ab".repeat(32),
                text: "t".to_owned(),
            }],
            values: Vec::new(),
        })
        .unwrap();
    writer
}

fn check(filter: Filter, expected: &[&str]) {
    let page = store().store().entries(&filter, 0, 50).unwrap();
    let found: Vec<&str> = page.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(found, expected, "{filter:?}");
    assert_eq!(page.total, expected.len() as u64, "{filter:?}");
}

#[test]
fn a_filter_leaves_what_it_names_and_nothing_else() {
    let text = |text: &str| Filter { text: Some(text.to_owned()), ..Filter::default() };
    check(Filter::default(), &["d", "c", "b", "a"]);
    check(text("READAHEAD"), &["b"]);
    check(text("8.7.3"), &["c", "b", "a"]);
    check(text("pg17"), &["d"]);
    check(text("bench-1"), &["c", "b", "a"]);
    check(text("100 % or '"), &[]);
    check(Filter { engine: Some("rocksdb".to_owned()), ..Filter::default() }, &["c", "b", "a"]);
    check(Filter { engine: Some("rocks".to_owned()), ..Filter::default() }, &[]);
    check(Filter { workload: Some("small".to_owned()), ..Filter::default() }, &["c", "b", "a"]);
    check(Filter { workload: Some("sysbench".to_owned()), ..Filter::default() }, &["d"]);
    check(Filter { kind: Some(EntryKind::Import), ..Filter::default() }, &["d"]);
    check(Filter { kind: Some(EntryKind::Run(Purpose::Campaign)), ..Filter::default() }, &["b"]);
    check(Filter { status: Some(RunStatus::Unfinished), ..Filter::default() }, &["c"]);
    check(Filter { status: Some(RunStatus::Ended(RunOutcome::Done)), ..Filter::default() }, &["d", "a"]);
    check(Filter { host: Some("bench-1".to_owned()), ..Filter::default() }, &["c", "b", "a"]);
    let of_days = Filter { since_us: Some(2_000_000), before_us: Some(4_000_000), ..Filter::default() };
    check(of_days, &["c", "b"]);
}

#[test]
fn pages_follow_one_another_and_each_says_how_many_there_are() {
    let writer = store();
    let ids = |offset| -> Vec<String> {
        let page = writer.store().entries(&Filter::default(), offset, 3).unwrap();
        assert_eq!(page.total, 4);
        page.entries.into_iter().map(|entry| entry.id).collect()
    };
    assert_eq!(ids(0), ["d", "c", "b"]);
    assert_eq!(ids(3), ["a"]);
    assert_eq!(ids(u64::MAX), Vec::<String>::new());
    let entries = writer.store().entries(&Filter::default(), 0, 50).unwrap().entries;
    assert_eq!(entries[0].subjects, ["x.pg17/sb.o"]);
    assert_eq!(entries[3].subjects, ["rocksdb@8.5.4", "rocksdb@8.7.3"]);
    assert_eq!(
        entries[3].trials,
        TrialCounts { done: 1, failed: 1, skipped: 0, unfinished: 0, not_needed: 0 }
    );
    assert_eq!(
        (entries[3].kind, entries[3].ended_at_us),
        (EntryKind::Run(Purpose::Compare), Some(1_500_000))
    );
    let choices = writer.store().choices().unwrap();
    assert_eq!(
        (choices.engines, choices.workloads, choices.hosts),
        (vec!["rocksdb".to_owned()], vec!["small".to_owned()], vec!["bench-1".to_owned()])
    );
}

#[test]
fn a_step_is_followed_over_runs_with_what_failed() {
    let writer = store();
    let store = writer.store();
    let heads = store.runs_of("small", 2).unwrap();
    assert_eq!(heads.iter().map(|head| head.id.as_str()).collect::<Vec<_>>(), ["c", "b"]);
    assert_eq!(store.count_runs_of("small").unwrap(), 3);
    let head = store.run_head("a").unwrap().unwrap();
    assert_eq!(store.run_head("nobody").unwrap(), None);
    assert_eq!(store.run_plan("a").unwrap().0, plan(Purpose::Compare));
    let rates = store.step_rates(&head, "readrandom").unwrap();
    let found: Vec<_> =
        rates.iter().map(|rate| (rate.launch, rate.side, rate.ended, rate.operations, rate.wall)).collect();
    assert_eq!(
        found,
        [(1, 0, TrialEnd::Done, 246_912, Nanos(400_000_002)), (1, 1, TrialEnd::Failed, 0, Nanos(0)),]
    );
    assert_eq!(store.step_rates(&head, "overwrite").unwrap(), Vec::new());
}

#[test]
fn a_trial_without_an_end_was_not_needed_once_its_run_is_done() {
    let check = |last: Option<RunOutcome>, expected: TrialCounts, step: TrialEnd| {
        let mut writer = Writer::in_memory().unwrap();
        let helper = block(trial(1, "fillseq", 0), BlockKind::Whole, Counters::new());
        for event in [
            started("r", 1, Purpose::Campaign),
            RunEvent::BlockMeasured(Box::new(helper)),
            end(1, "readrandom", 0, Outcome::Done),
        ] {
            writer.write("r", &event).unwrap();
        }
        if let Some(outcome) = last {
            writer.write("r", &RunEvent::Ended { at_us: 9, outcome, cost: cost() }).unwrap();
        }
        let store = writer.store();
        assert_eq!(store.entries(&Filter::default(), 0, 50).unwrap().entries[0].trials, expected);
        let head = store.run_head("r").unwrap().unwrap();
        assert_eq!(store.step_rates(&head, "fillseq").unwrap()[0].ended, step);
        let live = store.live(&head).unwrap();
        assert_eq!(live.steps["fillseq"], TrialCounts { done: 0, ..expected });
    };
    let cut_off = TrialCounts { done: 1, unfinished: 1, ..TrialCounts::default() };
    check(None, cut_off, TrialEnd::Unfinished);
    check(Some(RunOutcome::Interrupted), cut_off, TrialEnd::Unfinished);
    check(Some(RunOutcome::Failed), cut_off, TrialEnd::Unfinished);
    let not_needed = TrialCounts { done: 1, not_needed: 1, ..TrialCounts::default() };
    check(Some(RunOutcome::Done), not_needed, TrialEnd::NotNeeded);
}

#[test]
fn what_a_run_found_is_listed_until_it_is_gone_on_with() {
    let mut writer = store();
    let found = |writer: &Writer| -> Vec<Option<String>> {
        let page = writer.store().entries(&Filter::default(), 0, 50).unwrap();
        page.entries.into_iter().map(|entry| entry.found).collect()
    };
    assert_eq!(found(&writer), [const { None }; 4]);
    let sentences = r#"[{"verdict":"regression","text":"overwrite 12 % slower"}]"#;
    writer.set_found("b", r#"["first"]"#).unwrap();
    writer.set_found("b", sentences).unwrap();
    assert_eq!(found(&writer), [None, None, Some(sentences.to_owned()), None]);
    let error = writer.set_found("nobody", "[]").unwrap_err();
    assert!(matches!(error, Error::RunNotBegun { .. }), "{error}");
    let error = writer.set_found("b", "slower").unwrap_err().to_string();
    assert!(error.contains("keep what was found in run b"), "{error}");
    writer.resume("b", Retry::CutOff, &by()).unwrap();
    assert_eq!(found(&writer), [const { None }; 4]);
}

#[test]
fn a_campaign_is_followed_without_its_drains_and_without_what_was_put_aside() {
    let mut writer = Writer::in_memory().unwrap();
    let key = trial(1, "fillseq", 0);
    for event in [
        started("r", 1, Purpose::Campaign),
        RunEvent::LaunchStarted { launch: 1, at_us: 10 },
        RunEvent::BlockMeasured(Box::new(block(key.clone(), BlockKind::Whole, Counters::new()))),
        RunEvent::BlockMeasured(Box::new(block(key.clone(), BlockKind::Drain, Counters::new()))),
        RunEvent::SecondMeasured {
            trial: key.clone(),
            second: Second { second: 0, operations: 7, p50: Nanos(1), p99: Nanos(2), max: Nanos(3) },
        },
        RunEvent::HostSampled(HostSample { at_us: 55, readings: BTreeMap::new() }),
    ] {
        writer.write("r", &event).unwrap();
    }
    let head = writer.store().run_head("r").unwrap().unwrap();
    let live = writer.store().live(&head).unwrap();
    assert_eq!((live.launch, live.launches_took.len(), live.launches_max), (Some((1, 10)), 0, None));
    assert_eq!((live.alive_at_us, live.last_second.map(|second| second.operations)), (Some(55), Some(7)));
    assert_eq!(live.steps["fillseq"].unfinished, 1);
    assert_eq!(
        (live.newest[0].step.as_str(), live.newest[0].rate.operations, live.newest[0].rate.ended),
        ("fillseq", 123_456, TrialEnd::Unfinished)
    );
    writer.resume("r", Retry::CutOff, &by()).unwrap();
    let live = writer.store().live(&head).unwrap();
    assert_eq!((live.launch, live.steps.len(), live.newest.len()), (None, 0, 0));
}

#[test]
fn a_reader_changes_nothing_and_says_what_is_in_its_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    assert!(matches!(Store::open_to_browse(&path), Err(Error::Missing { .. })));
    std::fs::write(&path, "").unwrap();
    assert!(matches!(Store::open_to_browse(&path), Err(Error::Older { found: 0, .. })));
    let mut writer = Writer::open(&path).unwrap();
    // Beside a writer in the middle of a batch: what is committed is seen.
    writer.write("a", &started("a", 1, Purpose::Compare)).unwrap();
    writer.write("a", &RunEvent::LaunchStarted { launch: 1, at_us: 10 }).unwrap();
    writer
        .write(
            "a",
            &RunEvent::BlockMeasured(Box::new(block(trial(1, "x", 0), BlockKind::Cycle(0), Counters::new()))),
        )
        .unwrap();
    let reader = Store::open_to_browse(&path).unwrap();
    assert_eq!(reader.entries(&Filter::default(), 0, 50).unwrap().total, 1);
    let head = reader.run_head("a").unwrap().unwrap();
    assert_eq!(reader.live(&head).unwrap().newest, Vec::new());
    let error = reader.connection.execute("UPDATE runs SET name = 'x'", []).unwrap_err();
    assert!(error.to_string().contains("readonly"), "{error}");
    drop((writer, reader));

    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE runs SET name = 'x'; COMMIT")
        .unwrap();
    let error = Store::open_to_browse(&path).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    drop(other);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    drop(other);
    assert!(matches!(Store::open_to_browse(&path), Err(Error::Newer { found: 99, .. })));
}

#[test]
fn lists_and_lookups_go_by_an_index() {
    let writer = store();
    let check = |sql: &str, index: &str| {
        let plan = format!("EXPLAIN QUERY PLAN {sql}");
        let mut statement = writer.store().connection.prepare(&plan).unwrap();
        let steps: Vec<String> =
            statement.raw_query().mapped(|row| row.get("detail")).map(Result::unwrap).collect();
        assert!(steps.iter().any(|step| step.contains(index)), "{sql}: {steps:?}");
        assert!(!steps.iter().any(|step| step.starts_with("SCAN trials")), "{sql}: {steps:?}");
    };
    check(TRIAL_COUNTS, "COVERING INDEX trials_by_step");
    check(STEP_RATES, "trials_by_step");
    check(&format!("{HEADS} {NEWEST}"), "COVERING INDEX runs_by_workload");
    // A row of a run is as long as its plan: of those that are only looked at none is read.
    let listed = format!("{ENTRIES} SELECT * {MATCHING} ORDER BY began_at_us DESC, id DESC LIMIT :limit");
    check(&listed, "COVERING INDEX runs_in_lists");
    check(&format!("{ENTRIES} SELECT count(*) {MATCHING}"), "COVERING INDEX runs_in_lists");
    check(RUNS_OF_CAMPAIGN, "runs_by_campaign (campaign=?)");
    let self_tests = format!("SELECT count(*) FROM {COUNTING}");
    check(&self_tests, "hosts_by_name (name=?");
    check(&self_tests, "runs_by_host (host_key=? AND purpose=?");
    check(
        "SELECT id FROM runs JOIN hosts USING (host_key) WHERE purpose = 'calibrate' AND outcome = 'done'
             AND boot_id = 'b' ORDER BY started_at_us DESC LIMIT 1",
        "runs_by_purpose",
    );
}
