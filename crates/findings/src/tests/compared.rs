//! Comparisons of interleaved launches: what counts, what is refused, what is warned of.

use super::{case, rate, view_of};
use crate::Comparison;
use crate::judge::Evidence;
use crate::self_test::of_run;
use model::block::{BASE, Outcome};
use model::counter::{Counter, Counters};
use model::event::Moment;
use model::metric::Metric;
use model::reason::{LeaveReason, Reason};
use model::record::{RunRecord, RunStatus, RunWarning, ShapeRecord, StepExit};
use model::self_test::SelfTestRecord;
use model::shape::{Level, Shape};
use model::units::Bytes;
use model::verdict::Verdict;
use model::warning::Warning;
use testing::compared::{EQUAL, LAUNCHES, Truth, record, trial};

const WRITE: &str = "overwrite-after-fill";
const READ: &str = "readrandom";

fn verdict(record: &RunRecord, step: &str) -> Verdict {
    case(&view_of(record), step, 1).verdict
}

#[test]
fn a_planted_regression_is_found_and_confirmed_and_the_other_step_is_not_touched() {
    let view = view_of(&record(&Truth { write: 1.0, read: 0.95 }));
    let [write, read] = [WRITE, READ].map(|step| case(&view, step, 1));
    assert_eq!((read.verdict, read.confirmed), (Verdict::Regression, true));
    let ratio = rate(read).ratio.unwrap();
    assert!((ratio - 0.95).abs() < 0.003 && rate(read).low.unwrap() < ratio, "{read:?}");
    assert_eq!(write.verdict, Verdict::NoChange);
    assert!(!write.confirmed);
    // Four pairs of 100 ms blocks in each launch.
    assert!((read.seconds - 0.8 * f64::from(read.repeats)).abs() < 1e-9);
    assert_eq!((view.trials.done, view.run.launches, view.run.elapsed_s), (56, LAUNCHES, Some(420.0)));
}

#[test]
fn a_failed_trial_takes_its_launch_out_and_is_listed_with_its_reason() {
    let mut record = record(&EQUAL);
    for launch in [2, 5] {
        let key = trial(launch, READ, 1);
        let ended = record.trials.iter_mut().find(|ended| ended.trial == key).unwrap();
        ended.outcome = Outcome::Failed { reason: Reason::Said("killed by signal 11".to_owned()) };
        // What it measured before it died is absurd, and must not count.
        let blocks = record.blocks.iter_mut().filter(|block| block.trial == key);
        blocks.for_each(|block| block.operations = 1);
    }
    let view = view_of(&record);
    let read = case(&view, READ, 1);
    assert!(read.repeats <= LAUNCHES - 2 && rate(read).ratio.unwrap() > 0.99, "{read:?}");
    assert_eq!((view.trials.done, view.trials.failed, view.trials.skipped), (54, 2, 0));
    assert_eq!(view.trials.reasons.len(), 1);
    assert_eq!(view.trials.reasons[0].launches, [2, 5]);
    assert_eq!(view.trials.reasons[0].subject, "rocksdb@8.7.3");
}

/// The counters that moved where the candidate's blocks count `more` of what the base's count `few`.
fn moved_counters(few: u64, more: u64) -> Vec<Metric> {
    let mut record = record(&EQUAL);
    for block in record.blocks.iter_mut().filter(|block| block.trial.step == READ) {
        let count = if block.trial.side == BASE { few } else { more } + u64::from(block.trial.launch % 3);
        block.counters = Counters::from([
            (Counter::WriteCalls, count),
            (Counter::WriteCallBytes, count * 100),
            (Counter::StorageWriteBytes, 100_000 * count),
        ]);
    }
    case(&view_of(&record), READ, 1).moved().iter().map(|one| one.metric).collect()
}

#[test]
fn the_few_calls_that_the_worker_makes_itself_do_not_count_as_moved() {
    // All three are twins. Where the first two are the worker's own, the third must not go with them.
    assert_eq!(moved_counters(12, 20), [Metric::Counter(Counter::StorageWriteBytes)]);
    assert_eq!(moved_counters(1200, 2000), [Metric::Counter(Counter::WriteCalls)]);
}

#[test]
fn a_trial_that_did_not_end_does_not_count() {
    let mut record = record(&EQUAL);
    record.status = RunStatus::Unfinished;
    record.trials.retain(|ended| ended.trial.launch < LAUNCHES);
    let view = view_of(&record);
    assert!(view.cases().all(|(_, case)| case.repeats < LAUNCHES), "{:?}", view.steps);
}

#[test]
fn a_run_without_a_block_has_no_verdict() {
    let mut record = record(&EQUAL);
    record.blocks.clear();
    record.trials.clear();
    let view = view_of(&record);
    assert!(view.cases().all(|(_, case)| case.verdict == Verdict::RatioOnly));
    assert!(case(&view, WRITE, 1).warnings.contains(&Warning::NoLaunches));
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
            let trial = trial(launch, step, side);
            let differs = side == 1 && launch <= differing;
            let shape = if differs { candidate.clone() } else { base.clone() };
            record.shapes.push(ShapeRecord { trial, moment, shape });
        }
    }
    record
}

#[test]
fn trees_that_differ_keep_a_read_step_from_a_verdict_unless_in_few_launches() {
    let read = |differing| with_shapes(READ, Moment::Before, differing, tree(1, 0), tree(9, 0));
    assert_eq!(verdict(&read(LAUNCHES), READ), Verdict::Inconclusive);
    assert_eq!(verdict(&read(LAUNCHES), WRITE), Verdict::Regression);
    assert_eq!(verdict(&read(2), READ), Verdict::Regression);
    let view = view_of(&read(LAUNCHES));
    let notes = &case(&view, READ, 1).warnings;
    let note = notes.iter().find(|note| note.id() == "shape-differs").unwrap();
    assert!(note.to_string().contains("L0 files 1 and 9 (in 14 of 14 launches)"), "{note}");
}

#[test]
fn a_side_that_left_more_work_behind_is_slower_if_it_was_and_is_never_faster() {
    let of = |write: f64, base: u64, candidate: u64| {
        let shaped = with_shapes(WRITE, Moment::After, LAUNCHES, tree(1, base), tree(9, candidate));
        verdict(&RunRecord { shapes: shaped.shapes, ..record(&Truth { write, read: 1.0 }) }, WRITE)
    };
    const MUCH: u64 = 1 << 30;
    assert_eq!(of(0.9, 0, MUCH), Verdict::Regression);
    assert_eq!(of(1.1, 0, MUCH), Verdict::Inconclusive);
    assert_eq!(of(0.9, MUCH, 0), Verdict::Inconclusive);
    assert_eq!(of(1.1, MUCH, 0), Verdict::Improvement);
    // Other shapes do not matter to a step that writes.
    assert_eq!(of(0.9, 0, 0), Verdict::Regression);
}

#[test]
fn a_biased_step_has_no_verdict_the_others_keep_theirs_and_an_uncalibrated_harness_is_said() {
    let slower = record(&Truth { write: 0.9, read: 0.9 });
    let honest = of_run(&record(&EQUAL));
    let biased = of_run(&record(&Truth { write: 1.0, read: 0.98 }));
    let view = Comparison::of(&slower, &held(&honest));
    assert!(view.cases().all(|(_, case)| case.verdict == Verdict::Regression));
    let refused = Comparison::of(&slower, &held(&biased));
    let [write, read] = [WRITE, READ].map(|step| case(&refused, step, 1));
    assert_eq!((write.verdict, read.verdict), (Verdict::Regression, Verdict::RatioOnly));
    let named = vec![READ.to_owned()];
    assert!(read.warnings.contains(&Warning::HarnessBiased { steps: named.clone() }));
    assert!(write.warnings.iter().all(|warning| warning.id() != "harness-biased"));
    let told = |view: &Comparison, warning: &Warning| view.warnings.iter().any(|one| one.warning == *warning);
    let elsewhere = Warning::HarnessBiasedElsewhere { steps: named };
    assert!(told(&refused, &elsewhere) && !told(&view, &elsewhere));
    let uncalibrated = Comparison::of(&slower, &held(&[]));
    assert!(told(&uncalibrated, &Warning::NotCalibrated) && !told(&view, &Warning::NotCalibrated));
    // Of an earlier boot: what it found holds, and nobody knows of this one.
    let earlier: Vec<SelfTestRecord> =
        biased.into_iter().map(|test| SelfTestRecord { boot_id: "earlier".to_owned(), ..test }).collect();
    let view = Comparison::of(&slower, &held(&earlier));
    assert!(told(&view, &Warning::NotCalibrated) && told(&view, &elsewhere));
    assert_eq!(case(&view, READ, 1).verdict, Verdict::RatioOnly);
}

#[test]
fn warnings_and_dropped_steps_stand_where_they_belong() {
    let mut record = record(&EQUAL);
    let warning = |step: Option<&str>, id: &str| RunWarning {
        step: step.map(str::to_owned),
        warning: Warning::Recorded { id: id.to_owned(), text: format!("about {id}") },
    };
    record.warnings =
        vec![warning(None, "busy-host"), warning(None, "busy-host"), warning(Some(READ), "image-cold")];
    let exit = |reason| StepExit { step: READ.to_owned(), launch: 3, reason };
    record.step_exits = vec![
        exit(LeaveReason::Decided),
        exit(LeaveReason::LaunchesFailed { launches: 3 }),
        exit(LeaveReason::Dropped { affordable: 1, least: 11 }),
        exit(LeaveReason::Recorded("dropped: the budget is over".to_owned())),
    ];
    let view = view_of(&record);
    let ids: Vec<&str> = view.warnings.iter().map(|one| one.warning.id()).collect();
    assert_eq!(ids, ["busy-host", "not-calibrated"]);
    let notes: Vec<String> =
        case(&view, READ, 1).warnings.iter().map(|note| format!("{}: {note}", note.id())).collect();
    let last = [
        "image-cold: about image-cold",
        "dropped: dropped: the budget allows 1 launch with the steps that write, 11 are the fewest that can decide \
         (after launch 3)",
        "dropped: dropped: the budget is over (after launch 3)",
    ];
    assert!(notes.ends_with(&last.map(str::to_owned)), "{notes:?}");
}

fn held(self_tests: &[SelfTestRecord]) -> Evidence<'_> {
    Evidence { self_tests, ..Evidence::default() }
}

#[test]
fn a_large_change_is_told_of_a_run_that_goes_on_and_is_no_verdict() {
    let mut record = record(&Truth { write: 1.0, read: 0.85 });
    let told = |record: &RunRecord, step| {
        let view = view_of(record);
        let case = case(&view, step, 1);
        assert!(!case.confirmed, "{case:?}");
        (case.verdict, case.provisional())
    };
    record.status = RunStatus::Unfinished;
    record.launches.iter_mut().for_each(|launch| launch.look = None);
    record.blocks.retain(|block| block.trial.launch <= 6);
    let (verdict, provisional) = told(&record, READ);
    let [ratio, low, high] = provisional.unwrap();
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!((ratio - 0.85).abs() < 0.005 && low < ratio && ratio < high && high < 0.98, "{provisional:?}");
    assert_eq!(told(&record, WRITE), (Verdict::Inconclusive, None));
    record.blocks.retain(|block| block.trial.launch <= 4);
    assert_eq!(told(&record, READ), (Verdict::Inconclusive, None));
}
