//! Every warning once: its name in JSON, its id, its sentence.

use super::*;
use crate::reason::Reason;
use std::collections::{BTreeMap, BTreeSet};

fn text(text: &str) -> String {
    text.to_owned()
}

fn call(subject: &str, function: &str) -> ApiCall {
    ApiCall { subject: text(subject), function: text(function) }
}

fn parts() -> Vec<DifferingPart> {
    let part =
        |part: &str, base, candidate, launches| DifferingPart { part: text(part), base, candidate, launches };
    vec![part("L0 files", 1, 9, 14), part("L1 bytes", 5, 70, 8)]
}

const NEW: &str = "rocksdb@8.7.3";
const OLD: &str = "rocksdb@8.5.4";

/// Of each variant one.
fn of_the_host_and_of_measuring() -> Vec<Warning> {
    let shared = |device| Warning::SharedDevice { device };
    vec![
        Warning::DebugBuild,
        Warning::BusyHost { load_1m: 3.1, cpus: 4 },
        Warning::BusyHostThroughout { median_percent: 30.4, step: text("read") },
        Warning::WithheldCpus { usable: 2, online: 8 },
        Warning::CpuGovernor { governor: text("powersave") },
        Warning::HostUnfit { checks: vec![text("steal")] },
        Warning::HostUnfit { checks: vec![text("clock-source"), text("other-dbdyno")] },
        Warning::VirtualMachine,
        Warning::ClientsHost { warning: Box::new(Warning::BusyHost { load_1m: 3.1, cpus: 4 }) },
        Warning::OwnImage,
        Warning::LibrariesInPlace {
            reason: "`/opt/librocksdb.so` finds other libraries in its own directory ($ORIGIN)".to_owned(),
        },
        Warning::SubjectLeft {
            subject: text(NEW),
            rounds: 2,
            reason: text("the worker was killed by signal 9"),
        },
        Warning::SideLeft { subject: text(NEW), launches: 3 },
        Warning::MeasuredAgainLater { visits: 1 },
        Warning::MeasuredAgainLater { visits: 4 },
        Warning::ResumedAfterChange {
            changes: vec![text("it was booted again"), text("kernel was 6.1, is 6.8")],
        },
        Warning::HostDiffers {
            first: text("20261121-091500-3fa9"),
            run: text("20261124-101500-77aa"),
            figures: vec![
                text("memory_latency_ns: 181 then 240 (+32.6 %)"),
                text("fsync_us: 110 then 308 (+180 %)"),
            ],
        },
        Warning::OtherServer { subject: text("mongodb@mine"), server: text("FerretDB"), of: text("MongoDB") },
        Warning::ServerElsewhere { subject: text("postgres@there"), server: text("db:5432") },
        Warning::NoDevice { reason: text("no such file") },
        shared(Some(text("nvme0n1"))),
        shared(None),
        Warning::WritesDelayed { step: text("overwrite") },
        Warning::Retries {
            subject: text(NEW),
            kinds: BTreeMap::from([(text("serialization"), 3), (text("deadlock"), 1)]),
        },
        Warning::BehindItsRate {
            subject: text(NEW),
            step: text("l.i1"),
            round: 2,
            achieved: 812.4,
            rate: 1000.0,
        },
        Warning::FailedOperations {
            subject: text(NEW),
            design: Design::Interleaved,
            launch: 3,
            failed: 7,
            operations: 100,
            error: text("not found"),
        },
        Warning::FailedOperationsCounted { operations: 9 },
        Warning::ApiDiffers { calls: vec![call(NEW, "wait")], base: call(OLD, "poll") },
        Warning::ApiDiffers {
            calls: vec![call(NEW, "wait"), call("rocksdb@9.0.0", "ask")],
            base: call(OLD, "poll"),
        },
    ]
}

fn of_judgements() -> Vec<Warning> {
    let noisy =
        |seconds| Warning::MachineTooNoisy { margin: 0.02, launches: 81.0, max_launches: 12, seconds };
    vec![
        Warning::Errors { of: Party::Candidate, failed: 12.0, operations: 1000.0, most: 0.001 },
        Warning::EmptyBlocks { of: Party::Base, empty: 3, blocks: 20, most: 0.05 },
        Warning::WaitingTimeChanged,
        Warning::WaitingTimeOfEngine,
        Warning::TimesOverlap,
        Warning::Provisional { ratio: 0.92, low: 0.9, high: 0.94, launches: 6 },
        Warning::ContentionAdjusted,
        noisy(None),
        noisy(Some(7500.0)),
        Warning::WithinLayoutNoise { most: 0.0186 },
        Warning::WithinMargin { margin: 0.02 },
        Warning::LaunchDropped { launches: 2 },
        Warning::NoLaunches,
        Warning::LaunchesDisturbed { launches: 2, of: 22 },
        Warning::OneRun,
        Warning::TwoLaunches { ratios: [0.95, 1.0215] },
        Warning::ParametricInterval { launches: 5 },
        Warning::OneImage,
        Warning::SharedImages { images: 4 },
        Warning::OpenLoop,
        Warning::HarnessBiased { steps: vec![text("readrandom"), text("seekrandom")] },
        Warning::NotFrozen { subjects: vec![text("a@1"), text("b@2")], design: Design::Interleaved },
        Warning::ShapeDiffers { parts: parts(), launches: 14 },
        Warning::DebtDiffers { parts: parts()[..1].to_vec(), launches: 15 },
        Warning::MissedRate {
            of: Party::Candidate,
            step: text("qr100.inserts"),
            achieved: 81.2,
            rate: 100.0,
        },
    ]
}

fn of_series_and_reports() -> Vec<Warning> {
    let none = |why| Warning::NoInterval { why };
    let selected = |shown, names: &[&str]| {
        Some(Selected { shown, all: 4, names: names.iter().map(|name| text(name)).collect() })
    };
    vec![
        Warning::RoundsMissing { of: Party::Version, rounds: 2, most: 3 },
        Warning::NotConnected,
        none(NoInterval::FewerThanTwoRounds),
        none(NoInterval::TwoRoundsOfFewVersions),
        none(NoInterval::NothingRepeats),
        Warning::Sequential,
        Warning::SequentialReleases,
        Warning::TooFewVersions { versions: 1, needed: 2 },
        Warning::SingleRuns,
        Warning::SingleRunsOfReleases,
        Warning::VersionsMissing { versions: 3 },
        Warning::Autocorrelated { correlation: 0.427 },
        Warning::OrderUnknown,
        Warning::Sorted,
        Warning::Joined { campaigns: 2 },
        Warning::Disturbed { trials: 4 },
        Warning::NotCalibrated,
        Warning::HarnessBiasedElsewhere { steps: vec![text("seekrandom (workload mixed)")] },
        Warning::Dropped {
            reason: LeaveReason::PilotFailed { reason: Reason::Said(text("signal 11")) },
            launch: 3,
        },
        Warning::Selection { steps: selected(1, &["readrandom"]), subjects: selected(2, &["a@1", "a@2"]) },
        Warning::Selection { steps: None, subjects: selected(2, &["a@1", "a@2"]) },
        Warning::EngineTextUnread {
            texts: vec![UnreadTexts { subject: text(NEW), count: 2, first: text("line 4") }],
        },
        Warning::Recorded { id: text("busy-host"), text: text("load 3.1") },
    ]
}

fn all() -> Vec<Warning> {
    let mut all = of_the_host_and_of_measuring();
    all.extend(of_judgements());
    all.extend(of_series_and_reports());
    all
}

/// The name that a warning has in JSON.
fn name(warning: &Warning) -> String {
    serde_json::to_value(warning).unwrap()["kind"].as_str().unwrap().to_owned()
}

#[test]
fn every_warning_has_its_id_and_its_sentence_without_a_full_stop() {
    let lines: Vec<String> = all().iter().map(|warning| format!("{}: {warning}", warning.id())).collect();
    assert!(lines.iter().all(|line| !line.ends_with(['.', ' '])));
    insta::assert_snapshot!("sentences", lines.join("\n"));
}

#[test]
fn no_warning_is_missing_here() {
    // The error for a name that is none tells all that are.
    let error = serde_json::from_str::<Warning>(r#"{"kind":"?"}"#).unwrap_err().to_string();
    let known: BTreeSet<&str> = error.split('`').skip(3).step_by(2).collect();
    let here: BTreeSet<String> = all().iter().map(name).collect();
    assert_eq!(here.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
}

#[test]
fn a_name_in_json_is_the_id_or_tells_apart_those_that_share_one() {
    let recorded = |warning: &Warning| matches!(warning, Warning::Recorded { .. });
    let mut names: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let all = all();
    for warning in all.iter().filter(|warning| !recorded(warning)) {
        names.entry(warning.id()).or_default().insert(name(warning));
    }
    for (id, names) in names {
        assert!(names.contains(id), "{id} is the name of none of {names:?}");
        let shared = ["busy-host", "failed-operations", "waiting-time-changed", "sequential", "single-runs"];
        assert_eq!(names.len(), if shared.contains(&id) { 2 } else { 1 }, "{names:?}");
    }
}

#[test]
fn every_warning_is_read_back_from_json() {
    for warning in all() {
        let json = serde_json::to_string(&warning).unwrap();
        assert_eq!(serde_json::from_str::<Warning>(&json).unwrap(), warning, "{json}");
    }
}

#[test]
fn another_call_is_held_against_the_candidates_that_it_names_and_without_data_against_all() {
    let two =
        Warning::ApiDiffers { calls: vec![call(NEW, "wait"), call("b", "ask")], base: call(OLD, "poll") };
    let old = Warning::Recorded { id: text("api-differs"), text: text("rocksdb@8.7.3 called by wait, ...") };
    let held = |warning: &Warning| [NEW, "b", "c"].map(|candidate| warning.is_other_call_of(candidate));
    assert_eq!(held(&two), [true, true, false]);
    assert_eq!(held(&old), [true; 3]);
    assert_eq!(held(&Warning::VirtualMachine), [false; 3]);
}
