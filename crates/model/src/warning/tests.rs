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

/// Of each variant one, with its id and its sentence.
fn of_the_host_and_of_measuring() -> Vec<(Warning, &'static str, &'static str)> {
    let shared = |device| Warning::SharedDevice { device };
    vec![
        (Warning::DebugBuild, "debug-build", "dbdyno itself is a debug build: run it with --release"),
        (
            Warning::BusyHost { load_1m: 3.1, cpus: 4 },
            "busy-host",
            "load average 3.1 on 4 CPUs before the run: the host is busy",
        ),
        (
            Warning::BusyHostThroughout { median_percent: 30.4, step: text("read") },
            "busy-host",
            "other processes had 30 % of the host's CPU time in the median trial of read: intervals are wider than on \
             a host of its own",
        ),
        (
            Warning::WithheldCpus { usable: 2, online: 8 },
            "withheld-cpus",
            "this run may use 2 of the host's 8 CPUs: the rest are withheld, by the affinity of the shell or service \
             that began it or by a container",
        ),
        (
            Warning::CpuGovernor { governor: text("powersave") },
            "cpu-governor",
            "the CPU frequency governor is `powersave`, not `performance`",
        ),
        (
            Warning::VirtualMachine,
            "virtual-machine",
            "a virtual machine: other guests of its host can disturb",
        ),
        (
            Warning::OwnImage,
            "own-image",
            "each build made the image that it read: a difference can be one of the files as well as of the code that \
             reads them",
        ),
        (
            Warning::ServerElsewhere { subject: text("postgres@there"), server: text("db:5432") },
            "server-elsewhere",
            "postgres@there, at db:5432, is not ours: neither frozen nor measured inside; its CPU, memory and IO are \
             absent",
        ),
        (
            Warning::NoDevice { reason: text("no such file") },
            "no-device",
            "the columns of the device are absent: no such file",
        ),
        (
            shared(Some(text("nvme0n1"))),
            "shared-device",
            "all sides write to nvme0n1: the kernel may write for one side in a block of another",
        ),
        (
            shared(None),
            "shared-device",
            "all sides write to the same device: the kernel may write for one side in a block of another",
        ),
        (
            Warning::WritesDelayed { step: text("overwrite") },
            "writes-delayed",
            "the engine delayed writes in overwrite: frozen time refills its credit, so this step's rate is not that \
             of an uninterrupted run",
        ),
        (
            Warning::Retries {
                subject: text(NEW),
                kinds: BTreeMap::from([(text("serialization"), 3), (text("deadlock"), 1)]),
            },
            "retries",
            "rocksdb@8.7.3 wanted events to be sent again, in the first block in which it did: deadlock 1, \
             serialization 3",
        ),
        (
            Warning::BehindItsRate {
                subject: text(NEW),
                step: text("l.i1"),
                round: 2,
                achieved: 812.4,
                rate: 1000.0,
            },
            "behind-its-rate",
            "rocksdb@8.7.3 did 812 of the 1000 operations a second of l.i1 in round 2: less than 95 %, so that what \
             ran beside it had less to bear than elsewhere",
        ),
        (
            Warning::FailedOperations {
                subject: text(NEW),
                design: Design::Interleaved,
                launch: 3,
                failed: 7,
                operations: 100,
                error: text("not found"),
            },
            "failed-operations",
            "7 of 100 operations failed on rocksdb@8.7.3 in launch 3: not found",
        ),
        (
            Warning::FailedOperationsCounted { operations: 9 },
            "failed-operations",
            "9 operations of trials that count returned an error or a wrong answer",
        ),
        (
            Warning::ApiDiffers { calls: vec![call(NEW, "wait")], base: call(OLD, "poll") },
            "api-differs",
            "rocksdb@8.7.3 called by wait, rocksdb@8.5.4 by poll: a difference is not one of code alone",
        ),
        (
            Warning::ApiDiffers {
                calls: vec![call(NEW, "wait"), call("rocksdb@9.0.0", "ask")],
                base: call(OLD, "poll"),
            },
            "api-differs",
            "rocksdb@9.0.0, rocksdb@8.7.3 called by wait, rocksdb@8.5.4 by poll: a difference is not one of code alone",
        ),
    ]
}

fn of_judgements() -> Vec<(Warning, &'static str, &'static str)> {
    let noisy =
        |seconds| Warning::MachineTooNoisy { margin: 0.02, launches: 81.0, max_launches: 12, seconds };
    vec![
        (
            Warning::Errors { of: Party::Candidate, failed: 12.0, operations: 1000.0, most: 0.001 },
            "errors",
            "12 of the candidate's 1000 operations failed, more than 0.1 %: no verdict; look at the first error in the \
             raw output",
        ),
        (
            Warning::EmptyBlocks { of: Party::Base, empty: 3, blocks: 20, most: 0.05 },
            "empty-blocks",
            "no operation completed in 3 of the base's 20 blocks, more than 5 %: no verdict; use longer blocks",
        ),
        (
            Warning::WaitingTimeChanged,
            "waiting-time-changed",
            "the wall rate and the contention-adjusted rate moved in opposite directions: waiting time changed; \
             measure again on a quiet host",
        ),
        (
            Warning::WaitingTimeOfEngine,
            "waiting-time-changed",
            "the wall rate and the contention-adjusted rate moved in opposite directions: waiting time changed; here \
             it belongs to the engine, so the wall rate decides",
        ),
        (
            Warning::ContentionAdjusted,
            "contention-adjusted",
            "decided on the contention-adjusted rate: the wall rate is too noisy to tell",
        ),
        (
            noisy(None),
            "machine-too-noisy",
            "too noisy to tell: seeing a change of 2 % here would need about 81 launches, of at most 12; use a quieter \
             host",
        ),
        (
            noisy(Some(7500.0)),
            "machine-too-noisy",
            "too noisy to tell: seeing a change of 2 % here would need about 81 launches, of at most 12; use a quieter \
             host, or 2 h 5 min of measuring",
        ),
        (
            Warning::WithinLayoutNoise { most: 0.0186 },
            "within-layout-noise",
            "real for these two binaries, but within code-layout noise: builds of one source differ by up to 1.9 %",
        ),
        (Warning::WithinMargin { margin: 0.02 }, "within-margin", "real, but within the margin of 2 %"),
        (
            Warning::LaunchDropped { launches: 2 },
            "launch-dropped",
            "2 launches have no rate on one side and do not count",
        ),
        (Warning::NoLaunches, "no-launches", "no launch has a rate on both sides"),
        (Warning::OneRun, "one-run", "no interval: one run"),
        (
            Warning::TwoLaunches { ratios: [0.95, 1.0215] },
            "two-launches",
            "no interval: two launches, ratios 0.950 and 1.022",
        ),
        (
            Warning::ParametricInterval { launches: 5 },
            "parametric-interval",
            "the interval assumes normal noise: 5 launches are too few for ranks",
        ),
        (Warning::OneImage, "one-image", "holds on this data image only: all launches had the same"),
        (
            Warning::SharedImages { images: 4 },
            "shared-images",
            "launches share data images, so the unit is the image: 4 of them",
        ),
        (
            Warning::OpenLoop,
            "open-loop",
            "the rate was given: only a drop below it shows here; compare CPU per operation and latency",
        ),
        (
            Warning::HarnessBiased { steps: vec![text("readrandom"), text("seekrandom")] },
            "harness-biased",
            "no verdict: the last calibration found the harness biased on readrandom, seekrandom; look for what \
             disturbs this host, then run `dbdyno calibrate` again",
        ),
        (
            Warning::NotFrozen { subjects: vec![text("a@1"), text("b@2")], design: Design::Interleaved },
            "not-frozen",
            "at most a suspicion: a@1 and b@2 cannot be frozen and may go on while blocks of the other side run, so \
             what it does by itself, or for other clients, can be in the difference",
        ),
        (
            Warning::ShapeDiffers { parts: parts(), launches: 14 },
            "shape-differs",
            "no verdict: the trees that were read differ between the sides, base and candidate have L0 files 1 and 9 \
             (in 14 of 14 launches), L1 bytes 5 and 70 (in 8 of 14 launches)",
        ),
        (
            Warning::DebtDiffers { parts: parts()[..1].to_vec(), launches: 15 },
            "debt-differs",
            "no verdict: the sides left unequal work behind, base and candidate have L0 files 1 and 9 (in 14 of 15 \
             launches)",
        ),
    ]
}

fn of_series_and_reports() -> Vec<(Warning, &'static str, &'static str)> {
    let none = |why| Warning::NoInterval { why };
    let selected = |shown, names: &[&str]| {
        Some(Selected { shown, all: 4, names: names.iter().map(|name| text(name)).collect() })
    };
    vec![
        (
            Warning::RoundsMissing { of: Party::Version, rounds: 2, most: 3 },
            "rounds-missing",
            "the version has a value in 2 of 3 rounds",
        ),
        (
            Warning::NotConnected,
            "not-connected",
            "no chain of common rounds connects the version with the base: nothing can be compared",
        ),
        (none(NoInterval::FewerThanTwoRounds), "no-interval", "no interval: fewer than two rounds"),
        (
            none(NoInterval::TwoRoundsOfFewVersions),
            "no-interval",
            "no interval: two rounds of so few versions do not tell how large the noise is",
        ),
        (none(NoInterval::NothingRepeats), "no-interval", "no interval: no round repeats another"),
        (
            Warning::Sequential,
            "sequential",
            "measured one after another: drift of the host looks like a difference",
        ),
        (
            Warning::SequentialReleases,
            "sequential",
            "measured one after another: drift of the host looks like a change",
        ),
        (
            Warning::TooFewVersions { versions: 1, needed: 2 },
            "too-few-versions",
            "1 versions with a value: at least 2 are needed to look for changes",
        ),
        (
            Warning::SingleRuns,
            "single-runs",
            "one run of each version: changes are candidates that need repeats",
        ),
        (
            Warning::SingleRunsOfReleases,
            "single-runs",
            "one run of each release: what is found is a candidate, to be measured again",
        ),
        (Warning::VersionsMissing { versions: 3 }, "versions-missing", "3 versions have no value"),
        (
            Warning::Autocorrelated { correlation: 0.427 },
            "autocorrelated",
            "neighbours go together (correlation 0.43): changes must be larger to stand out",
        ),
        (
            Warning::OrderUnknown,
            "order-unknown",
            "nobody says in which order the repeats were measured: drift of the host looks like a change, so what is \
             found is a candidate",
        ),
        (
            Warning::Sorted,
            "sorted",
            "the releases stand in the order of their numbers, not in that of the file",
        ),
        (Warning::Joined { campaigns: 2 }, "joined", "rounds of 2 campaigns are taken together"),
        (
            Warning::Disturbed { trials: 4 },
            "disturbed",
            "4 trials are set aside because others had the CPU meanwhile",
        ),
        (
            Warning::NotCalibrated,
            "not-calibrated",
            "the harness is not calibrated here since the host booted: `dbdyno calibrate` tells whether it is honest",
        ),
        (
            Warning::ParametricFamily,
            "parametric-family",
            "which steps hold together is judged by Student's t, which assumes normal noise: there are too few \
             launches for ranks over so many steps",
        ),
        (
            Warning::Dropped {
                reason: LeaveReason::PilotFailed { reason: Reason::Said(text("signal 11")) },
                launch: 3,
            },
            "dropped",
            "dropped: the pilot failed: signal 11 (after launch 3)",
        ),
        (
            Warning::Selection {
                steps: selected(1, &["readrandom"]),
                subjects: selected(2, &["a@1", "a@2"]),
            },
            "selection",
            "A selection: 1 of 4 steps (readrandom) and 2 of 4 subjects (a@1, a@2); what holds for all together is \
             judged on all of them",
        ),
        (
            Warning::Selection { steps: None, subjects: selected(2, &["a@1", "a@2"]) },
            "selection",
            "A selection: 2 of 4 subjects (a@1, a@2); what holds for all together is judged on all of them",
        ),
        (
            Warning::EngineTextUnread {
                texts: vec![UnreadTexts { subject: text(NEW), count: 2, first: text("line 4") }],
            },
            "engine-text-unread",
            "what the engine said of itself could not be read, its columns are absent: rocksdb@8.7.3 (2 texts; the \
             first: line 4)",
        ),
        (Warning::Recorded { id: text("busy-host"), text: text("load 3.1") }, "busy-host", "load 3.1"),
    ]
}

fn all() -> Vec<(Warning, &'static str, &'static str)> {
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
    for (warning, id, sentence) in all() {
        assert_eq!((warning.id(), warning.to_string().as_str()), (id, sentence));
        assert!(!sentence.is_empty() && !sentence.ends_with('.'), "{sentence}");
    }
}

#[test]
fn no_warning_is_missing_here() {
    // The error for a name that is none tells all that are.
    let error = serde_json::from_str::<Warning>(r#"{"kind":"?"}"#).unwrap_err().to_string();
    let known: BTreeSet<&str> = error.split('`').skip(3).step_by(2).collect();
    let here: BTreeSet<String> = all().iter().map(|(warning, _, _)| name(warning)).collect();
    assert_eq!(here.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
}

#[test]
fn a_name_in_json_is_the_id_or_tells_apart_those_that_share_one() {
    let recorded = |warning: &Warning| matches!(warning, Warning::Recorded { .. });
    let mut names: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (warning, id, _) in all().iter().filter(|(warning, _, _)| !recorded(warning)) {
        names.entry(id).or_default().insert(name(warning));
    }
    for (id, names) in names {
        assert!(names.contains(id), "{id} is the name of none of {names:?}");
        let shared = ["busy-host", "failed-operations", "waiting-time-changed", "sequential", "single-runs"];
        assert_eq!(names.len(), if shared.contains(&id) { 2 } else { 1 }, "{names:?}");
    }
}

#[test]
fn every_warning_is_read_back_from_json() {
    for (warning, _, _) in all() {
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
