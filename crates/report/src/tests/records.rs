//! Views made of records: what counts, what is refused, what differs, what a calibration says.

use super::plain;
use crate::calibration::{self, Honesty};
use crate::differs::{Difference, DifferenceKind};
use crate::{build, json, text};
use model::block::{BASE, Block, Outcome, Side, TrialKey};
use model::build::{BuildProbe, BuildSource, EngineBuild};
use model::config::EngineConfig;
use model::counter::{Counter, Counters};
use model::event::{Moment, RunOutcome};
use model::host::Host;
use model::plan::{DecisionRule, Layout, Plan, Purpose, Subject};
use model::record::{LaunchRecord, RunRecord, RunStatus, RunWarning, ShapeRecord, StepExit, TrialRecord};
use model::shape::{Level, Shape};
use model::units::{Bytes, Nanos};
use model::verdict::Verdict;
use model::workload::Workload;
use std::collections::BTreeMap;

const OLD_DEFAULTS: &str = include_str!("../../fixtures/rocksdb/8.5.4/OPTIONS.txt");
const NEW_DEFAULTS: &str = include_str!("../../fixtures/rocksdb/8.7.3/OPTIONS.txt");

const WORKLOAD: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "d"
    tells = "the cost of reads"
    does_not_tell = "the cost of writes"
    block_ms = 100
    data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
    [[step]]
    name = "overwrite-after-fill"
    group = "writes"
    operation = "fill-sequential"
    database = "own"
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    database = "image"
"#;

/// The rate of the candidate over that of the base, by step.
pub(super) struct Truth {
    pub(super) write: f64,
    pub(super) read: f64,
}

const EQUAL: Truth = Truth { write: 1.0, read: 1.0 };
const LAUNCHES: u32 = 14;

fn subject(version: &str, defaults: &str) -> Subject {
    let reference = format!("rocksdb@{version}");
    Subject {
        build: EngineBuild {
            reference: reference.parse().unwrap(),
            library: "/cache/librocksdb.so".into(),
            sha256: if version == "8.5.4" { "ab".repeat(32) } else { "cd".repeat(32) },
            size: Bytes::from_mib(50),
            server: None,
            source: BuildSource::Own { path: "/cache".into() },
            compilers: vec!["GCC: (GNU) 7.3.1".to_owned()],
            probe: Some(BuildProbe {
                default_options: defaults.to_owned(),
                facts: BTreeMap::from([("version".to_owned(), version.to_owned())]),
                missing_symbols: Vec::new(),
            }),
        },
        reference: reference.parse().unwrap(),
        config: EngineConfig {
            name: "standard".to_owned(),
            description: String::new(),
            pins: BTreeMap::new(),
            options: BTreeMap::new(),
            memory: BTreeMap::new(),
            when: Vec::new(),
        },
        options: BTreeMap::from([("write_buffer_size".to_owned(), "16777216".to_owned())]),
        planted_slowdown_percent: 0.0,
    }
}

/// A run of two steps with launches that scatter by about 0.3 %, the same in every test.
pub(super) fn record(truth: &Truth) -> RunRecord {
    let mut record = RunRecord {
        id: "20261121-091500-3fa9".to_owned(),
        name: None,
        status: RunStatus::Ended(RunOutcome::Done),
        started_at_us: 1_000_000,
        ended_at_us: Some(421_000_000),
        plan: Plan {
            purpose: Purpose::Compare,
            subjects: vec![subject("8.5.4", OLD_DEFAULTS), subject("8.7.3", NEW_DEFAULTS)],
            workload: Workload::parse(WORKLOAD, "test").unwrap(),
            workload_sha256: "cd".repeat(32),
            steps: vec!["overwrite-after-fill".to_owned(), "readrandom".to_owned()],
            steps_named: false,
            own_image: false,
            layout: Layout::default(),
            rule: DecisionRule::default(),
            budget: Nanos::from_secs(600),
            seed: 7,
            tool_version: "0.1.0".to_owned(),
        },
        host: Host { name: "bench-1".to_owned(), cpus: 8, ..Host::default() },
        launches: Vec::new(),
        images: Vec::new(),
        blocks: Vec::new(),
        trials: Vec::new(),
        shapes: Vec::new(),
        step_exits: Vec::new(),
        warnings: Vec::new(),
        max_launches: Some(LAUNCHES),
        cost: None,
        options_in_effect: BTreeMap::new(),
        raw_outputs: Vec::new(),
        engine_texts: Vec::new(),
        seconds: BTreeMap::new(),
    };
    for launch in 1..=LAUNCHES {
        record.launches.push(LaunchRecord {
            launch,
            started_at_us: i64::from(launch) * 30_000_000,
            took: Some(Nanos::from_secs(30)),
            active_steps: Vec::new(),
        });
        for (step, ratio) in [("overwrite-after-fill", truth.write), ("readrandom", truth.read)] {
            for side in [BASE, 1] {
                let trial = TrialKey { launch, step: step.to_owned(), side };
                let rate = 600_000.0 * if side == BASE { 1.0 } else { ratio * (1.0 + wobble(launch, step)) };
                record.blocks.extend((0..4).map(|cycle| block(trial.clone(), cycle, rate)));
                record.trials.push(TrialRecord { trial, outcome: Outcome::Done, latency: None });
            }
        }
    }
    record
}

/// Within 0.4 % of zero, without a trend, half of it on each side.
fn wobble(launch: u32, step: &str) -> f64 {
    let place = (launch * 5 + u32::try_from(step.len()).unwrap()) % LAUNCHES;
    (f64::from(place) - f64::from(LAUNCHES - 1) / 2.0) * 0.0006
}

fn block(trial: TrialKey, cycle: u32, rate: f64) -> Block {
    let operations = (rate / 10.0).round();
    Block {
        image: trial.launch,
        cycle,
        position: u32::try_from(trial.side).unwrap(),
        started_at_us: None,
        operations: format!("{operations}").parse().unwrap(),
        failed_operations: 0,
        wall: Nanos::from_millis(100),
        run_delay: Nanos(0),
        foreground_cpu: Nanos::from_millis(99),
        foreground_threads: 1,
        process_cpu: Some(Nanos::from_millis(99)),
        counters: Counters::from([(Counter::ReadCalls, 1000 + u64::from(cycle))]),
        trial,
    }
}

fn verdicts(record: &RunRecord, calibration: Option<&RunRecord>) -> Vec<(String, Verdict)> {
    let view = build(record, calibration);
    view.candidates[0].rows.iter().map(|row| (row.step.clone(), row.verdict)).collect()
}

fn verdict_of(record: &RunRecord, step: &str) -> Verdict {
    verdicts(record, None).into_iter().find(|(name, _)| name == step).unwrap().1
}

#[test]
fn a_planted_regression_is_found_and_confirmed_and_the_other_step_is_not_touched() {
    let view = build(&record(&Truth { write: 1.0, read: 0.95 }), None);
    let [write, read] = view.candidates[0].rows.as_slice() else { panic!("two steps") };
    assert_eq!((read.verdict, read.confirmed), (Verdict::Regression, true));
    let ratio = read.wall.ratio.unwrap();
    assert!((ratio - 0.95).abs() < 0.003 && read.wall.low.unwrap() < ratio, "{read:?}");
    assert_eq!(write.verdict, Verdict::NoChange);
    assert!(!write.confirmed);
    // Four pairs of 100 ms blocks in each launch.
    assert!((read.seconds - 0.8 * f64::from(read.launches)).abs() < 1e-9);
    assert_eq!((view.trials.done, view.run.launches, view.run.elapsed_s), (56, LAUNCHES, Some(420.0)));
    assert!(
        view.candidates[0].summary.starts_with("rocksdb@8.7.3 is slower than rocksdb@8.5.4 on readrandom")
    );
}

#[test]
fn a_failed_trial_takes_its_launch_out_and_is_listed_with_its_reason() {
    let mut record = record(&EQUAL);
    for launch in [2, 5] {
        let key = TrialKey { launch, step: "readrandom".to_owned(), side: 1 };
        let ended = record.trials.iter_mut().find(|ended| ended.trial == key).unwrap();
        ended.outcome = Outcome::Failed { reason: "killed by signal 11".to_owned() };
        // What it measured before it died is absurd, and must not count.
        let blocks = record.blocks.iter_mut().filter(|block| block.trial == key);
        blocks.for_each(|block| block.operations = 1);
    }
    let view = build(&record, None);
    let read = &view.candidates[0].rows[1];
    assert!(read.launches <= LAUNCHES - 2 && read.wall.ratio.unwrap() > 0.99, "{read:?}");
    assert_eq!((view.trials.done, view.trials.failed, view.trials.skipped), (54, 2, 0));
    assert_eq!(view.trials.reasons.len(), 1);
    assert_eq!(view.trials.reasons[0].launches, [2, 5]);
    assert_eq!(view.trials.reasons[0].subject, "rocksdb@8.7.3");
}

/// The counters that moved where the candidate's blocks count `more` of what the base's count `few`.
fn moved_counters(few: u64, more: u64) -> Vec<Counter> {
    let mut record = record(&EQUAL);
    for block in record.blocks.iter_mut().filter(|block| block.trial.step == "readrandom") {
        let count = if block.trial.side == BASE { few } else { more } + u64::from(block.trial.launch % 3);
        block.counters = Counters::from([
            (Counter::WriteCalls, count),
            (Counter::WriteCallBytes, count * 100),
            (Counter::StorageWriteBytes, 100_000 * count),
        ]);
    }
    let view = build(&record, None);
    view.candidates[0].rows[1].moved().iter().map(|counter| counter.counter).collect()
}

#[test]
fn the_few_calls_that_the_worker_makes_itself_do_not_count_as_moved() {
    // All three are twins. Where the first two are the worker's own, the third must not go with them.
    assert_eq!(moved_counters(12, 20), [Counter::StorageWriteBytes]);
    assert_eq!(moved_counters(1200, 2000), [Counter::WriteCalls]);
}

#[test]
fn a_trial_that_did_not_end_does_not_count() {
    let mut record = record(&EQUAL);
    record.status = RunStatus::Unfinished;
    record.trials.retain(|ended| ended.trial.launch < LAUNCHES);
    let rows = build(&record, None).candidates.remove(0).rows;
    assert!(rows.iter().all(|row| row.launches < LAUNCHES), "{rows:?}");
}

#[test]
fn a_run_without_a_block_is_a_report_without_numbers() {
    let mut record = record(&EQUAL);
    record.blocks.clear();
    record.trials.clear();
    let view = build(&record, None);
    assert!(view.candidates[0].rows.iter().all(|row| row.verdict == Verdict::RatioOnly));
    assert!(view.candidates[0].rows[0].notes.iter().any(|note| note.id == "no-launches"));
    let text = text::render(&view, plain(160));
    assert!(text.contains("no verdict on overwrite-after-fill and readrandom"), "{text}");
    assert!(!json::render(&view).unwrap().contains("null"));
}

fn tree(files: u64, debt: u64) -> Shape {
    Shape {
        levels: vec![Level { files, bytes: Bytes(files << 20) }],
        memtable: Bytes(0),
        pending_compaction: Bytes(debt),
    }
}

fn with_shapes(step: &str, moment: Moment, differing: u32, base: Shape, candidate: Shape) -> RunRecord {
    let mut record = record(&Truth { write: 0.9, read: 0.9 });
    for launch in 1..=LAUNCHES {
        for side in [BASE, 1] {
            let trial = TrialKey { launch, step: step.to_owned(), side };
            let differs = side == 1 && launch <= differing;
            let shape = if differs { candidate.clone() } else { base.clone() };
            record.shapes.push(ShapeRecord { trial, moment, shape });
        }
    }
    record
}

#[test]
fn trees_that_differ_keep_a_read_step_from_a_verdict_unless_in_few_launches() {
    let read = |differing| with_shapes("readrandom", Moment::Before, differing, tree(1, 0), tree(9, 0));
    assert_eq!(verdict_of(&read(LAUNCHES), "readrandom"), Verdict::Inconclusive);
    assert_eq!(verdict_of(&read(LAUNCHES), "overwrite-after-fill"), Verdict::Regression);
    assert_eq!(verdict_of(&read(2), "readrandom"), Verdict::Regression);
    let view = build(&read(LAUNCHES), None);
    let note = view.candidates[0].rows[1].notes.iter().find(|note| note.id == "shape-differs").unwrap();
    assert!(note.text.contains("L0 files 1 and 9 (in 14 of 14 launches)"), "{}", note.text);
}

#[test]
fn unequal_debt_keeps_a_write_step_from_a_verdict_and_other_shapes_do_not() {
    let write =
        |debt| with_shapes("overwrite-after-fill", Moment::After, LAUNCHES, tree(1, 0), tree(9, debt));
    assert_eq!(verdict_of(&write(1 << 30), "overwrite-after-fill"), Verdict::Inconclusive);
    assert_eq!(verdict_of(&write(0), "overwrite-after-fill"), Verdict::Regression);
}

#[test]
fn a_biased_harness_refuses_every_verdict_and_an_uncalibrated_one_is_said() {
    let slower = record(&Truth { write: 1.0, read: 0.9 });
    let honest =
        RunRecord { plan: Plan { purpose: Purpose::Calibrate, ..slower.plan.clone() }, ..record(&EQUAL) };
    let biased = RunRecord { plan: honest.plan.clone(), ..record(&Truth { write: 1.0, read: 0.98 }) };
    assert_eq!(verdicts(&slower, Some(&honest))[1].1, Verdict::Regression);
    assert!(verdicts(&slower, Some(&biased)).iter().all(|(_, verdict)| *verdict == Verdict::RatioOnly));
    let ids = |calibration: Option<&RunRecord>| -> Vec<String> {
        build(&slower, calibration).warnings.into_iter().map(|warning| warning.id).collect()
    };
    assert!(ids(None).contains(&"not-calibrated".to_owned()));
    assert!(!ids(Some(&honest)).contains(&"not-calibrated".to_owned()));
    let text = text::render(&build(&slower, Some(&biased)), plain(160));
    assert!(text.contains("found the harness biased on") && text.contains("readrandom"), "{text}");
}

#[test]
fn warnings_and_dropped_steps_stand_where_they_belong() {
    let mut record = record(&EQUAL);
    let warning = |step: Option<&str>, id: &str| RunWarning {
        step: step.map(str::to_owned),
        id: id.to_owned(),
        text: format!("about {id}"),
    };
    record.warnings = vec![
        warning(None, "busy-host"),
        warning(None, "busy-host"),
        warning(Some("readrandom"), "image-cold"),
    ];
    let exit =
        |reason: &str| StepExit { step: "readrandom".to_owned(), launch: 3, reason: reason.to_owned() };
    record.step_exits = vec![exit("decided"), exit("dropped: the budget is over")];
    let view = build(&record, None);
    let ids: Vec<&str> = view.warnings.iter().map(|warning| warning.id.as_str()).collect();
    assert_eq!(ids, ["busy-host", "not-calibrated"]);
    let notes: Vec<&str> = view.candidates[0].rows[1].notes.iter().map(|note| note.text.as_str()).collect();
    assert!(notes.contains(&"about image-cold"), "{notes:?}");
    assert!(notes.contains(&"dropped: the budget is over (after launch 3)"), "{notes:?}");
    assert!(!notes.iter().any(|note| note.contains("decided")), "{notes:?}");
}

fn differing(record: &RunRecord) -> Vec<Difference> {
    build(record, None).candidates.remove(0).differs
}

fn kind_of(differs: &[Difference], what: &str) -> Option<DifferenceKind> {
    differs.iter().find(|one| one.what == what).map(|one| one.kind)
}

#[test]
fn a_changed_default_is_in_effect_unless_it_is_pinned() {
    let mut record = record(&EQUAL);
    let readahead = "compaction_readahead_size";
    assert_eq!(kind_of(&differing(&record), readahead), Some(DifferenceKind::DefaultInEffect));
    for subject in &mut record.plan.subjects {
        subject.options.insert(readahead.to_owned(), "0".to_owned());
    }
    assert_eq!(kind_of(&differing(&record), readahead), Some(DifferenceKind::DefaultPinned));
    // What the engines wrote down when they were opened counts for more than what was asked for.
    for side in [BASE, 1] {
        let defaults = if side == BASE { OLD_DEFAULTS } else { NEW_DEFAULTS };
        record.options_in_effect.insert(side, defaults.to_owned());
    }
    assert_eq!(kind_of(&differing(&record), readahead), Some(DifferenceKind::DefaultInEffect));
    assert_eq!(
        kind_of(&differing(&record), "compaction_verify_record_count"),
        Some(DifferenceKind::OptionOfOneRelease)
    );
}

#[test]
fn options_that_differ_for_another_reason_are_listed_too() {
    let mut record = record(&EQUAL);
    record.options_in_effect.insert(BASE, OLD_DEFAULTS.to_owned());
    let changed = OLD_DEFAULTS.replace("  block_size=4096", "  block_size=8192");
    record.options_in_effect.insert(1 as Side, changed);
    let differs = differing(&record);
    let block_size = "block_based_table_factory.block_size";
    assert_eq!(kind_of(&differs, block_size), Some(DifferenceKind::OptionInEffect));
    assert_eq!(kind_of(&differs, "compaction_readahead_size"), Some(DifferenceKind::DefaultPinned));
    assert_eq!(kind_of(&differs, "library sha256"), Some(DifferenceKind::Library));
    assert_eq!(kind_of(&differs, "version"), Some(DifferenceKind::Fact));
    assert_eq!(kind_of(&differs, "compiler"), None);
}

#[test]
fn options_that_cannot_be_read_are_said_to_be_unknown() {
    let mut record = record(&EQUAL);
    let truncated = include_str!("../../fixtures/rocksdb/8.5.4/truncated.txt");
    record.plan.subjects[1].build.probe.as_mut().unwrap().default_options = truncated.to_owned();
    let differs = differing(&record);
    let unknown = differs.iter().find(|one| one.kind == DifferenceKind::Unknown).unwrap();
    assert_eq!((unknown.what.as_str(), unknown.base.as_deref()), ("default options", None));
    assert!(unknown.candidate.as_ref().unwrap().contains("`write_buf`"), "{unknown:?}");
}

#[test]
fn a_planted_slowdown_is_on_top_of_what_differs() {
    let mut record = record(&EQUAL);
    record.plan.subjects[1].planted_slowdown_percent = 5.0;
    let first = differing(&record).remove(0);
    assert_eq!((first.kind, first.candidate.as_deref()), (DifferenceKind::Planted, Some("5 %")));
}

#[test]
fn an_honest_harness_is_told_from_a_biased_one_and_both_from_too_few_launches() {
    let honesty = |records: &[RunRecord]| calibration::build(records).unwrap().honesty;
    assert_eq!(honesty(&[record(&EQUAL)]), Honesty::Honest);
    let biased = record(&Truth { write: 1.0, read: 0.98 });
    assert_eq!(
        honesty(std::slice::from_ref(&biased)),
        Honesty::Biased { steps: vec!["readrandom".to_owned()] }
    );
    let mut short = record(&EQUAL);
    short.blocks.retain(|block| block.trial.launch <= 6);
    assert_eq!(honesty(std::slice::from_ref(&short)), Honesty::TooFew { launches: 6, needed: 11 });
    // Two short ones are enough together.
    assert_eq!(honesty(&[short.clone(), short]), Honesty::Honest);
    assert!(calibration::build(&[]).is_none());
    let view = calibration::build(&[biased]).unwrap();
    assert_eq!(view.verdicts, 2);
    assert_eq!(view.false_verdicts.len(), 1, "{:?}", view.false_verdicts);
}

#[test]
fn a_calibration_reads_well_in_every_format() {
    let mut record = record(&EQUAL);
    record.plan.subjects[1] = record.plan.subjects[0].clone();
    let mut view = calibration::build(&[record]).unwrap();
    // Figures are set by hand, so that the snapshot holds the layout and not the arithmetic of analysis.
    for (row, scale) in view.rows.iter_mut().zip([3.0, 1.0]) {
        for (noise, sd) in row.metrics.iter_mut().zip([0.013, 0.011, 0.004]) {
            (noise.ratio, noise.p_value) = (Some(1.002), 0.31);
            noise.launch_sd = Some(sd * scale);
            noise.visible_change = Some(1.2 * sd * scale);
        }
    }
    view.rows[1].metrics[0].image_sd = Some(0.0051);
    insta::assert_snapshot!("calibration_text", calibration::text(&view, plain(80)));
    insta::assert_snapshot!("calibration_markdown", calibration::markdown(&view));
    insta::assert_debug_snapshot!("calibration_document", calibration::document(&view));
    insta::assert_snapshot!("calibration_json", calibration::json(&view).unwrap());
    view.honesty = Honesty::Biased { steps: vec!["readrandom".to_owned()] };
    view.false_verdicts = vec!["readrandom in 20261121-091500-3fa9: regression".to_owned()];
    let text = calibration::text(&view, plain(160));
    assert!(text.contains("The harness is BIASED here: readrandom differs"), "{text}");
    assert!(text.contains("1: readrandom in 20261121-091500-3fa9: regression"), "{text}");
    assert_eq!(calibration::document(&view).verdicts[0].verdict, Some(Verdict::Suspect));
}

#[test]
fn a_calibration_without_a_rate_has_no_chart() {
    let mut silent = record(&EQUAL);
    silent.blocks.clear();
    let document = calibration::document(&calibration::build(&[silent]).unwrap());
    assert_eq!(document.verdicts[0].verdict, Some(Verdict::Inconclusive));
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    assert!(!blocks.into_iter().any(|block| matches!(block, crate::document::Block::Figure(_))));
}
