//! Runs written as events and read back, killed runs, and files that are not a store. All on real SQLite, in
//! memory where no second process is needed.

use crate::{Error, Filter, ResumedBy, Store, Writer};
use model::block::{BASE, Block, BlockKind, Latency, Outcome, TrialKey};
use model::build::{BuildProbe, BuildSource, EngineBuild};
use model::config::EngineConfig;
use model::counter::{Counter, Counters};
use model::event::{Moment, RunEvent, RunOutcome};
use model::host::{HarnessCost, Host, HostSample, StepPauses};
use model::plan::{Design, Layout, Plan, Purpose, Subject};
use model::reason::{LeaveReason, Reason};
use model::record::{OPTIONS_OUTPUT, RawOutputName, RunRecord, RunStatus, RunWarning, StepExit};
use model::shape::{Level, Shape};
use model::units::{Bytes, Nanos};
use model::warning::Warning;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

mod bisections;
mod browse;
mod campaigns;
mod export;
mod facts;
mod host_samples;
mod imports;
mod jobs;
mod merge;
mod opening;
mod profiles;
mod queue;
mod self_tests;
mod upkeep;
mod versions;
mod watched;

const RUN: &str = "20261121-091500-3fa9";

const WORKLOAD: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "two steps"
    tells = "t"
    does_not_tell = "n"
    block_ms = 20
    data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
    [[step]]
    name = "fillseq"
    group = "writes"
    operation = "fill-sequential"
    database = "own"
    rate = 1234.5678901234567
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    database = "image"
"#;

fn subject(version: &str) -> Subject {
    let plain = testing::subject(&format!("rocksdb@{version}"));
    Subject {
        build: EngineBuild {
            source: BuildSource::Published { coordinates: format!("org.rocksdb:rocksdbjni:{version}") },
            compilers: vec!["GCC: (GNU) 7.3.1".to_owned()],
            probe: Some(BuildProbe {
                default_options: "[DBOptions]\n  a=b\n".to_owned(),
                facts: BTreeMap::from([("fast crc32".to_owned(), "supported".to_owned())]),
                missing_symbols: vec!["rocksdb_wait_for_compact".to_owned()],
            }),
            ..plain.build
        },
        config: EngineConfig {
            description: "pinned".to_owned(),
            options: BTreeMap::from([("compression".to_owned(), "kNoCompression".to_owned())]),
            ..plain.config
        },
        options: BTreeMap::from([("write_buffer_size".to_owned(), "16777216".to_owned())]),
        planted_slowdown_percent: 0.1 + 0.2,
        ..plain
    }
}

fn plan(purpose: Purpose) -> Plan {
    let subjects = vec![subject("8.5.4"), subject("8.7.3")];
    let design = if purpose == Purpose::Campaign { Design::Rounds } else { Design::Interleaved };
    let layout = Layout { design, ..Layout::default() };
    Plan { purpose, subjects, layout, seed: u64::MAX - 1, ..testing::plan(WORKLOAD, &[]) }
}

fn host() -> Host {
    Host {
        name: "bench-1".to_owned(),
        boot_id: "boot-a".to_owned(),
        cpus: 8,
        memory_bytes: 64 << 30,
        governor: Some("performance".to_owned()),
        load_1m: Some("0.12".to_owned()),
        ..Host::default()
    }
}

/// Who goes on with a run: a later version, after another boot.
fn by() -> ResumedBy {
    let host = Host { boot_id: "another".to_owned(), ..host() };
    ResumedBy { at_us: 100, host, tool_version: "0.2.0".to_owned(), extension: None }
}

fn started(run: &str, at_us: i64, purpose: Purpose) -> RunEvent {
    RunEvent::Started { run: run.to_owned(), at_us, plan: Box::new(plan(purpose)), host: Box::new(host()) }
}

fn ended(at_us: i64) -> RunEvent {
    RunEvent::Ended { at_us, outcome: RunOutcome::Done, cost: cost() }
}

fn cost() -> HarnessCost {
    HarnessCost {
        sampler_core_percent: 0.1 + 0.2,
        block_edge_us: 81.25,
        client_cpu_ns_per_op: Some(163.7),
        controller_peak_bytes: 20 << 20,
        worker_heap_peak_bytes: 3 << 20,
        step_pauses: Some(StepPauses { count: 12, mean: Nanos(17_000_000), longest: Nanos(40_000_000) }),
    }
}

fn trial(launch: u32, step: &str, side: usize) -> TrialKey {
    TrialKey { launch, step: step.to_owned(), side }
}

fn block(trial: TrialKey, kind: BlockKind, counters: Counters) -> Block {
    Block {
        trial,
        image: 3,
        kind,
        position: 1,
        started_at_us: Some(1_780_000_000_123_456),
        operations: 123_456,
        failed_operations: 2,
        wall: Nanos(200_000_001),
        run_delay: Nanos(17),
        foreground_cpu: Nanos(199_000_000),
        foreground_threads: 1,
        process_cpu: Some(Nanos(201_000_000)),
        counters,
    }
}

fn shape(files: u64) -> Shape {
    Shape {
        levels: vec![Level { files, bytes: Bytes(files << 20) }, Level::default()],
        memtable: Bytes(4096),
        pending_compaction: Bytes(17),
    }
}

fn all_counters() -> Counters {
    Counter::ALL.into_iter().zip(1..).map(|(counter, value)| (counter, value * 1000)).collect()
}

const BUSY: Warning = Warning::BusyHost { load_1m: 0.1 + 0.2, cpus: 8 };

fn signal_11() -> Reason {
    Reason::Said("worker was killed by signal 11".to_owned())
}

/// A run with an event of every kind.
fn events(at_us: i64) -> Vec<RunEvent> {
    let base = trial(1, "readrandom", BASE);
    let candidate = trial(1, "readrandom", 1);
    let raw = |name: &str, side, text: &str| RunEvent::RawOutput {
        launch: 1,
        side,
        name: name.to_owned(),
        text: text.to_owned(),
    };
    vec![
        started(RUN, at_us, Purpose::Compare),
        RunEvent::Warned { step: None, warning: BUSY },
        RunEvent::LaunchStarted { launch: 1, at_us: at_us + 10 },
        RunEvent::ImageBuilt { launch: 1, image: 3, seed: u64::MAX, shape: shape(9), took: Nanos(5) },
        raw(OPTIONS_OUTPUT, BASE, "base\n  a=1"),
        raw(OPTIONS_OUTPUT, 1, "candidate, first"),
        raw(OPTIONS_OUTPUT, 1, "candidate, opened again"),
        raw("stderr", 1, ""),
        RunEvent::ShapeRead { trial: base.clone(), moment: Moment::Before, shape: shape(1) },
        RunEvent::BlockMeasured(Box::new(block(base.clone(), BlockKind::Cycle(0), all_counters()))),
        RunEvent::BlockMeasured(Box::new(block(candidate.clone(), BlockKind::Cycle(0), Counters::new()))),
        RunEvent::ShapeRead { trial: base.clone(), moment: Moment::After, shape: shape(2) },
        RunEvent::TrialEnded {
            trial: base,
            outcome: Outcome::Done,
            latency: Some(Latency {
                count: 7,
                p50: Nanos(1),
                p99: Nanos(2),
                p999: Nanos(3),
                p9999: Some(Nanos(3)),
                max: Nanos(4),
                histogram: "1c84".to_owned(),
            }),
        },
        RunEvent::TrialEnded {
            trial: candidate,
            outcome: Outcome::Failed { reason: signal_11() },
            latency: None,
        },
        RunEvent::TrialEnded {
            trial: trial(1, "fillseq", 1),
            outcome: Outcome::Skipped { reason: Reason::BudgetUsedUp },
            latency: None,
        },
        RunEvent::HostSampled(HostSample {
            at_us: at_us + 1_000_000,
            readings: BTreeMap::from([("stat.cpu.user_ticks".to_owned(), 12_345)]),
        }),
        RunEvent::MaxLaunchesFixed { max_launches: 14 },
        RunEvent::StepLeft { step: "fillseq".to_owned(), launch: 1, reason: LeaveReason::Decided },
        RunEvent::LaunchEnded {
            launch: 1,
            took: Nanos(30_000_000_000),
            max_launches: 14,
            active_steps: vec!["readrandom".to_owned()],
            look: Some(0.25),
        },
        ended(at_us + 99_000_000),
    ]
}

fn written(events: &[RunEvent]) -> Writer {
    let mut writer = Writer::in_memory().unwrap();
    for event in events {
        writer.write(RUN, event).unwrap();
    }
    writer
}

/// Writes empty finished runs of these ids, each a second after the one before.
fn runs_of(ids: &[&str]) -> Writer {
    let mut writer = Writer::in_memory().unwrap();
    for (at_us, id) in (0..).step_by(1_000_000).zip(ids) {
        writer.write(id, &started(id, at_us, Purpose::Compare)).unwrap();
        writer.write(id, &ended(at_us + 5)).unwrap();
    }
    writer
}

#[test]
fn every_event_is_read_back_as_it_was_written() {
    let writer = written(&events(1_000));
    let run = writer.store().load_run(RUN).unwrap();
    assert_eq!(run.status, RunStatus::Ended(RunOutcome::Done));
    assert_eq!((run.started_at_us, run.ended_at_us), (1_000, Some(99_001_000)));
    assert_eq!(run.plan, plan(Purpose::Compare));
    assert_eq!(run.host, host());
    assert_eq!(run.cost, Some(cost()));
    assert_eq!(run.max_launches, Some(14));
    assert_eq!(run.blocks[0], block(trial(1, "readrandom", BASE), BlockKind::Cycle(0), all_counters()));
    assert_eq!(run.blocks[1], block(trial(1, "readrandom", 1), BlockKind::Cycle(0), Counters::new()));
    let launch = &run.launches[0];
    assert_eq!((launch.launch, launch.started_at_us, launch.took), (1, 1_010, Some(Nanos(30_000_000_000))));
    assert_eq!(launch.active_steps, ["readrandom"]);
    let image = &run.images[0];
    assert_eq!((image.image, image.seed, &image.shape, image.took), (3, u64::MAX, &shape(9), Nanos(5)));
    let left = StepExit { step: "fillseq".to_owned(), launch: 1, reason: LeaveReason::Decided };
    assert_eq!(run.step_exits, [left]);
    assert_eq!(run.warnings, [RunWarning { step: None, warning: BUSY }]);
    let samples = writer.store().host_samples(RUN).unwrap();
    assert_eq!(samples.len(), 1);
    assert_eq!(samples[0].readings["stat.cpu.user_ticks"], 12_345);
}

#[test]
fn trials_come_in_the_order_of_their_keys_with_outcome_and_latency() {
    let run = written(&events(1_000)).store().load_run(RUN).unwrap();
    let trials: Vec<_> = run
        .trials
        .iter()
        .map(|trial| (trial.trial.step.as_str(), trial.trial.side, &trial.outcome))
        .collect();
    let failed = Outcome::Failed { reason: signal_11() };
    let skipped = Outcome::Skipped { reason: Reason::BudgetUsedUp };
    assert_eq!(
        trials,
        [("fillseq", 1, &skipped), ("readrandom", 0, &Outcome::Done), ("readrandom", 1, &failed)]
    );
    let latency = run.trials[1].latency.as_ref().unwrap();
    assert_eq!((latency.count, latency.max, latency.histogram.as_str()), (7, Nanos(4), "1c84"));
    let moments: Vec<_> = run.shapes.iter().map(|read| (read.moment, read.shape.clone())).collect();
    assert_eq!(moments, [(Moment::Before, shape(1)), (Moment::After, shape(2))]);
}

#[test]
fn raw_output_is_kept_verbatim_and_the_first_options_are_those_in_effect() {
    let writer = written(&events(1_000));
    let run = writer.store().load_run(RUN).unwrap();
    assert_eq!(run.options_in_effect[&BASE], "base\n  a=1");
    assert_eq!(run.options_in_effect[&1], "candidate, first");
    let options = RawOutputName { launch: 1, side: 1, name: OPTIONS_OUTPUT.to_owned() };
    assert!(run.raw_outputs.contains(&options));
    assert_eq!(run.raw_outputs.len(), 3);
    let texts = writer.store().raw_output(RUN, &options).unwrap();
    assert_eq!(texts, ["candidate, first", "candidate, opened again"]);
}

#[test]
fn a_killed_run_keeps_what_it_had_and_shows_as_unfinished() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let mut writer = Writer::open(&path).unwrap();
    for event in &events(1_000)[..17] {
        writer.write(RUN, event).unwrap();
    }
    // A second later comes the next sample; what follows it is lost with the process.
    let sample = |at_us| RunEvent::HostSampled(HostSample { at_us, readings: BTreeMap::new() });
    writer.write(RUN, &sample(2_100_000)).unwrap();
    let lost = block(trial(1, "readrandom", BASE), BlockKind::Cycle(1), Counters::new());
    writer.write(RUN, &RunEvent::BlockMeasured(Box::new(lost))).unwrap();

    // Another connection sees what a later process would see.
    let reader = Store::open_existing(&path).unwrap();
    let run = reader.load_run(RUN).unwrap();
    assert_eq!(run.status, RunStatus::Unfinished);
    assert_eq!(run.status.name(), "unfinished");
    assert_eq!((run.ended_at_us, run.cost), (None, None));
    assert_eq!(run.blocks.len(), 2);
    assert_eq!(reader.host_samples(RUN).unwrap().len(), 2);
    assert_eq!((run.launches[0].took, run.launches[0].active_steps.len()), (None, 0));
}

#[test]
fn blocks_wait_for_the_next_sample_and_no_longer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let mut writer = Writer::open(&path).unwrap();
    writer.write(RUN, &started(RUN, 1_000_000, Purpose::Compare)).unwrap();
    let reader = Store::open(&path).unwrap();
    let measured =
        RunEvent::BlockMeasured(Box::new(block(trial(1, "s", 0), BlockKind::Cycle(0), Counters::new())));
    let sampled = |at_us| RunEvent::HostSampled(HostSample { at_us, readings: BTreeMap::new() });
    let blocks = |expected| {
        let run: RunRecord = reader.load_run(RUN).unwrap();
        assert_eq!(run.blocks.len(), expected);
    };
    writer.write(RUN, &measured).unwrap();
    writer.write(RUN, &sampled(1_999_999)).unwrap();
    blocks(0);
    writer.write(RUN, &sampled(2_000_000)).unwrap();
    blocks(1);
    writer.write(RUN, &measured).unwrap();
    blocks(1);
    writer.flush().unwrap();
    blocks(2);
    writer.write(RUN, &measured).unwrap();
    drop(writer);
    blocks(3);
}

/// The file as another process has it.
fn other_process(path: &Path) -> rusqlite::Connection {
    let other = rusqlite::Connection::open(path).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    other
}

#[test]
fn between_batches_others_may_write_and_the_log_is_moved_only_while_nothing_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let mut writer = Writer::open(&path).unwrap();
    writer.write(RUN, &started(RUN, 1_000_000, Purpose::Compare)).unwrap();
    let other = other_process(&path);
    let measured =
        RunEvent::BlockMeasured(Box::new(block(trial(1, "s", 0), BlockKind::Cycle(0), Counters::new())));
    writer.write(RUN, &measured).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();

    let file_bytes = || std::fs::metadata(&path).unwrap().len();
    let before = file_bytes();
    let text = "x".repeat(8 << 20);
    let raw = RunEvent::RawOutput { launch: 1, side: 0, name: "LOG".to_owned(), text };
    writer.write(RUN, &raw).unwrap();
    writer.flush().unwrap();
    assert_eq!(file_bytes(), before);
    writer.write(RUN, &RunEvent::VisitStarted { launch: 2, side: 0 }).unwrap();
    assert!(file_bytes() > before + (8 << 20));
}

#[test]
fn a_locked_store_holds_events_back_until_it_is_let_go() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let mut writer = Writer::open(&path).unwrap();
    let all = events(1_000);
    let (first, rest) = all.split_at(3);
    first.iter().for_each(|event| writer.write(RUN, event).unwrap());

    let other = other_process(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    rest.iter().for_each(|event| writer.write(RUN, event).unwrap());
    assert!(writer.held_back().unwrap().contains("is locked by another process"), "{:?}", writer.held_back());
    assert!(matches!(writer.flush(), Err(Error::Busy { .. })));
    other.execute_batch("COMMIT").unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.held_back(), None);
    assert_eq!(writer.store().load_run(RUN).unwrap(), written(&all).store().load_run(RUN).unwrap());
}

#[test]
fn an_event_that_cannot_be_written_takes_no_other_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(&directory.path().join("results.sqlite")).unwrap();
    writer.write(RUN, &started(RUN, 1, Purpose::Compare)).unwrap();
    let raw = |side| RunEvent::RawOutput { launch: 1, side, name: "LOG".to_owned(), text: "x".to_owned() };
    let twice = RunEvent::LaunchStarted { launch: 1, at_us: 1 };
    writer.write(RUN, &twice).unwrap();
    writer.write(RUN, &raw(0)).unwrap();
    assert!(matches!(writer.write(RUN, &twice), Err(Error::Sql { .. })));
    writer.write(RUN, &raw(1)).unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.store().load_run(RUN).unwrap().raw_outputs.len(), 2);
}

#[test]
fn a_second_writer_is_told_who_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let first = Writer::open(&path).unwrap();
    let error = Writer::open(&path).unwrap_err().to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    assert!(error.contains("results.sqlite"), "{error}");
    drop(first);
    Writer::open(&path).unwrap();
}

#[test]
fn events_out_of_order_are_refused_and_leave_nothing() {
    let mut writer = written(&events(1_000));
    let error = writer.write(RUN, &started(RUN, 5, Purpose::Compare)).unwrap_err();
    assert!(matches!(error, Error::DuplicateRun { .. }), "{error}");
    let error = writer.write("other", &ended(5)).unwrap_err();
    assert!(matches!(error, Error::RunNotBegun { .. }), "{error}");
    // A launch of the same number breaks a constraint; the writer goes on after it.
    let again = RunEvent::LaunchStarted { launch: 1, at_us: 7 };
    let error = writer.write(RUN, &again).unwrap_err();
    assert!(error.to_string().contains(&format!("write run {RUN}")), "{error}");
    writer.write(RUN, &RunEvent::LaunchStarted { launch: 2, at_us: 8 }).unwrap();
    assert_eq!(writer.store().load_run(RUN).unwrap().launches.len(), 2);
}

#[test]
fn a_run_is_found_by_id_beginning_name_or_as_the_last() {
    let mut writer = runs_of(&["20261121-091500-aaaa", "20261121-091500-bbbb", "20261122-100000-cccc"]);
    writer.name_run("20261121-091500-bbbb", "before upgrade").unwrap();
    let store = writer.store();
    assert_eq!(store.find_run("last").unwrap(), "20261122-100000-cccc");
    assert_eq!(store.find_run("20261122").unwrap(), "20261122-100000-cccc");
    assert_eq!(store.find_run("before upgrade").unwrap(), "20261121-091500-bbbb");
    assert_eq!(store.find_run("20261121-091500-aaaa").unwrap(), "20261121-091500-aaaa");
    let ambiguous = store.find_run("20261121").unwrap_err().to_string();
    assert!(ambiguous.contains("20261121-091500-bbbb, 20261121-091500-aaaa"), "{ambiguous}");
    let unknown = store.find_run("before upgrad").unwrap_err().to_string();
    assert!(unknown.contains("did you mean `before upgrade`?"), "{unknown}");
    assert!(matches!(store.find_run("").unwrap_err(), Error::NoSuchRun { .. }));
    let listed = store.entries(&Filter::default(), 0, 9).unwrap().entries;
    let named: Vec<_> = listed.iter().map(|run| (run.id.as_str(), run.name.as_deref())).collect();
    assert_eq!(
        named[..2],
        [("20261122-100000-cccc", None), ("20261121-091500-bbbb", Some("before upgrade"))]
    );
    assert_eq!(listed[0].subjects, ["rocksdb@8.5.4", "rocksdb@8.7.3"]);
}

#[test]
fn the_last_run_is_the_one_that_was_stored_last_also_if_the_clock_was_set_back() {
    let mut writer = Writer::in_memory().unwrap();
    for (id, at_us) in [("20261122-100000-aaaa", 5_000_000), ("20261121-090000-bbbb", 1_000_000)] {
        writer.write(id, &started(id, at_us, Purpose::Compare)).unwrap();
        writer.write(id, &ended(at_us + 5)).unwrap();
        writer.name_run(id, "nightly").unwrap();
    }
    let store = writer.store();
    let (first, last) = ("20261122-100000-aaaa", "20261121-090000-bbbb");
    assert_eq!(store.find_run("last").unwrap(), last);
    assert_eq!(store.last_named("nightly", "bench-1").unwrap().as_deref(), Some(last));
    assert_eq!(store.runs_named("night").unwrap(), [first, last]);
    assert_eq!(store.runs_below("nightly").unwrap(), [first, last]);
    assert_eq!(store.runs_of("small", 1).unwrap()[0].id, last);
}

#[test]
fn an_empty_store_says_so() {
    let store = Store::in_memory().unwrap();
    assert!(matches!(store.find_run("last").unwrap_err(), Error::NoRuns { .. }));
    let error = Store::open_existing(Path::new("no/such/store.sqlite")).unwrap_err().to_string();
    assert!(error.contains("no/such/store.sqlite") && error.contains("dbdyno compare"), "{error}");
}

#[test]
fn hosts_and_builds_are_kept_once() {
    let writer = runs_of(&["a", "b", "c"]);
    let count = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        writer.store().connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("runs"), count("hosts"), count("builds"), count("subjects")), (3, 1, 2, 6));
}

#[test]
fn what_is_not_a_store_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let check = |path: &Path, expected: &str| {
        let error = Store::open(path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(&*path.to_string_lossy()), "{error}");
    };
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "not a database, but longer than the header of one\n".repeat(40)).unwrap();
    check(&text, "is not a store of dbdyno");
    check(directory.path(), "failed to open the store");
    check(&text.join("below-a-file.sqlite"), "failed to open the store");
}

#[test]
fn a_new_store_is_for_its_owner_only_and_one_that_is_there_keeps_its_mode() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/s.sqlite");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let writer = Writer::open(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&directory.path().join("new/s.sqlite-wal")), 0o600);
    assert_eq!(mode(&directory.path().join("new")), 0o700);
    drop(writer);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(Writer::open(&path).unwrap());
    assert_eq!(mode(&path), 0o644);
}

#[test]
fn a_full_disk_and_a_missing_permission_say_what_to_do() {
    let mut writer = Writer::in_memory().unwrap();
    writer.write(RUN, &started(RUN, 1, Purpose::Compare)).unwrap();
    let pages: i64 = writer.store().connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    writer.store().connection.pragma_update(None, "max_page_count", pages).unwrap();
    let text = "x".repeat(1 << 20);
    let raw = RunEvent::RawOutput { launch: 1, side: 0, name: "LOG".to_owned(), text };
    writer.write(RUN, &raw).unwrap();
    assert!(writer.held_back().unwrap().contains("the disk of the store"), "{:?}", writer.held_back());
    let error = writer.flush().unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert_eq!(writer.store().load_run(RUN).unwrap().raw_outputs.len(), 0);
    // When there is room again, what was kept comes before what is new.
    writer.store().connection.pragma_update(None, "max_page_count", 1 << 20).unwrap();
    let later = RunEvent::RawOutput { launch: 1, side: 0, name: "LOG".to_owned(), text: "later".to_owned() };
    writer.write(RUN, &later).unwrap();
    assert_eq!(writer.held_back(), None);
    let name = RawOutputName { launch: 1, side: 0, name: "LOG".to_owned() };
    let texts = writer.store().raw_output(RUN, &name).unwrap();
    assert_eq!(texts.iter().map(String::len).collect::<Vec<_>>(), [1 << 20, 5]);

    writer.store().connection.pragma_update(None, "query_only", true).unwrap();
    let error = writer.write(RUN, &raw).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
}

proptest! {
    #[test]
    fn any_block_is_read_back(
        numbers in prop::array::uniform6(any::<u64>()),
        small in prop::array::uniform4(any::<u32>()),
        counters in prop::collection::btree_map(0..Counter::ALL.len(), any::<u64>(), 0..20),
        step in "\\PC{0,20}",
        side in 0usize..9,
    ) {
        let [operations, failed_operations, wall, run_delay, foreground_cpu, process_cpu] = numbers;
        let block = Block {
            trial: trial(small[0], &step, side),
            image: small[1],
            kind: match side % 3 {
                0 => BlockKind::Cycle(small[2]),
                1 => BlockKind::Whole,
                _ => BlockKind::Drain,
            },
            position: small[3],
            started_at_us: small[1].is_multiple_of(2).then_some(i64::from(small[2])),
            operations,
            failed_operations,
            wall: Nanos(wall),
            run_delay: Nanos(run_delay),
            foreground_cpu: Nanos(foreground_cpu),
            foreground_threads: small[0],
            process_cpu: (side % 2 == 0).then_some(Nanos(process_cpu)),
            counters: counters.into_iter().map(|(index, value)| (Counter::ALL[index], value)).collect(),
        };
        let events =
            [started(RUN, 1, Purpose::Compare), RunEvent::BlockMeasured(Box::new(block.clone()))];
        let run = written(&events).store().load_run(RUN).unwrap();
        prop_assert_eq!(run.blocks, vec![block]);
    }
}
