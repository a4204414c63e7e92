//! Campaigns whose releases were all there at once.

use super::{case, view_of};
use crate::comparison::{ControlVerdict, Repeats};
use crate::history::{Observed, of_campaign};
use crate::selection::Selection;
use crate::sides::{Noise, known_within};
use model::block::{Block, Outcome, TrialKey};
use model::event::{Moment, RunOutcome};
use model::reason::Reason;
use model::record::{RunStatus, ShapeRecord};
use model::shape::{Level, Shape};
use model::units::{Bytes, Nanos};
use model::verdict::Verdict;
use model::warning::Warning;
use model::workload::Operation;
use std::collections::BTreeMap;
use testing::sides::{LAUNCHES, LOST_FROM, RELEASES, record};

const STEP: &str = "readrandom";

#[test]
fn each_release_is_there_once_and_each_cell_is_decided() {
    let view = view_of(&record());
    assert_eq!(view.repeats, Repeats::Launches);
    let names: Vec<&str> = view.subjects.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(names, RELEASES);
    for (side, release) in RELEASES.iter().enumerate().skip(1) {
        let case = case(&view, STEP, side);
        let expected = if side < LOST_FROM { Verdict::NoChange } else { Verdict::Regression };
        assert_eq!((case.verdict, case.repeats), (expected, LAUNCHES), "{release}");
        let (ratio, truth) = (case.ratio().unwrap(), if side < LOST_FROM { 1.0 } else { 0.9 });
        assert!((ratio - truth).abs() < 0.01, "{release}: {ratio}");
    }
    let control = view.control.unwrap();
    assert_eq!((control.verdict, control.processes), (ControlVerdict::NoDifference, 3));
    assert!(control.range < 0.01, "{control:?}");
}

#[test]
fn the_release_at_which_a_step_lost_is_marked_and_is_in_the_history() {
    let record = record();
    let at = RELEASES[LOST_FROM].strip_prefix("rocksdb@").unwrap();
    let view = view_of(&record);
    let changes: Vec<(&str, &str)> =
        view.changes.iter().map(|one| (one.step.as_str(), one.version.as_str())).collect();
    assert_eq!(changes, [(STEP, at)]);
    assert!((view.changes[0].ratio - 0.9).abs() < 0.01, "{}", view.changes[0].ratio);
    let (series, origin) = of_campaign(&record);
    let rates = series.iter().find(|one| one.metric == "ops_sec").unwrap();
    assert_eq!((rates.releases.len(), rates.in_rounds), (RELEASES.len(), true));
    // 50,000 operations in 25 ms, of which the host took a third in a cycle of four.
    assert!((1.8e6..1.9e6).contains(&rates.values[0].unwrap()), "{:?}", rates.values);
    assert!((1.6e6..1.7e6).contains(&rates.values[LOST_FROM].unwrap()), "{:?}", rates.values);
    assert!(origin.warnings.is_empty(), "{:?}", origin.warnings);
}

#[test]
fn a_step_that_writes_has_the_rates_that_were_measured() {
    let mut record = record();
    record.plan.workload.steps[0].operation = Operation::Overwrite;
    let (series, _) = of_campaign(&record);
    let rates = series.iter().find(|one| one.metric == "ops_sec").unwrap();
    assert!((1.8e6..1.9e6).contains(&rates.values[0].unwrap()), "{:?}", rates.values);
    assert!((1.6e6..1.7e6).contains(&rates.values[LOST_FROM].unwrap()), "{:?}", rates.values);
}

#[test]
fn a_run_that_is_not_done_has_sizes_and_no_verdict() {
    for status in [RunStatus::Unfinished, RunStatus::Ended(RunOutcome::Interrupted)] {
        let mut record = record();
        record.status = status;
        let view = view_of(&record);
        for side in 1..RELEASES.len() {
            let case = case(&view, STEP, side);
            assert_eq!((case.verdict, case.confirmed), (Verdict::Inconclusive, false));
            assert!(case.deciding().unwrap().low.is_some());
        }
    }
}

#[test]
fn what_a_side_lacks_costs_no_other_side() {
    let mut record = record();
    let whole = view_of(&record);
    for ended in record.trials.iter_mut().filter(|ended| ended.trial.side == 1 && ended.trial.launch > 6) {
        ended.outcome = Outcome::Failed { reason: Reason::Said("killed by signal 9".to_owned()) };
    }
    let view = view_of(&record);
    assert_eq!((case(&view, STEP, 1).repeats, case(&view, STEP, 2).repeats), (6, LAUNCHES));
    let [before, after] = [&whole, &view].map(|view| case(view, STEP, 4).ratio().unwrap());
    assert!((before / after - 1.0).abs() < 0.002, "{before} {after}");
}

/// The host gives a third of a launch's blocks half of its speed.
#[test]
fn a_launch_that_the_host_disturbed_is_in_no_verdict_and_no_history_and_that_is_said() {
    const DISTURBED: u32 = 7;
    let mut record = record();
    let (quiet, (series, _)) = (view_of(&record), of_campaign(&record));
    let rounds = |series: &[Observed]| {
        series[0].logarithms.rounds().iter().filter(|cells| cells.iter().any(Option::is_some)).count()
    };
    for (number, block) in record.blocks.iter_mut().enumerate() {
        if block.trial.launch == DISTURBED && number % 3 == 0 {
            block.wall = Nanos(2 * block.wall.0);
        }
    }
    let view = view_of(&record);
    for side in 1..RELEASES.len() {
        let (before, after) = (case(&quiet, STEP, side), case(&view, STEP, side));
        assert_eq!((after.verdict, after.repeats), (before.verdict, LAUNCHES - 1));
        let said = Warning::LaunchesDisturbed { launches: 1, of: u64::from(LAUNCHES) };
        assert!(after.warnings.contains(&said) && !before.warnings.contains(&said));
    }
    assert_eq!(rounds(&of_campaign(&record).0), rounds(&series) - 1);
}

/// Two processes of one build happen to have other trees: a candidate that is like one of them differs in nothing.
#[test]
fn a_tree_is_held_against_a_candidate_only_if_it_is_unlike_all_of_the_bases() {
    let mut record = record();
    let files = |side: usize| match side {
        0 | 3 | 4 | 5 => 0,
        1 => 10,
        2 => 30,
        _ => 10,
    };
    for launch in 1..=LAUNCHES {
        for side in 0..record.plan.subjects.len() {
            let level = Level { files: files(side), bytes: Bytes(1000 * files(side)) };
            record.shapes.push(ShapeRecord {
                trial: TrialKey { launch, step: STEP.to_owned(), side },
                moment: Moment::Before,
                shape: Shape { levels: vec![level], ..Shape::default() },
            });
        }
    }
    let view = view_of(&record);
    let of = |side: usize| case(&view, STEP, side);
    assert_eq!((of(1).verdict, of(2).verdict), (Verdict::NoChange, Verdict::Inconclusive));
    assert!(of(2).warnings.iter().any(|one| matches!(one, Warning::ShapeDiffers { .. })));
    assert_eq!(of(3).verdict, Verdict::Regression);
}

#[test]
fn a_part_of_the_releases_keeps_the_processes_of_the_base() {
    let record = record();
    let selection = Selection { steps: Vec::new(), subjects: vec![RELEASES[4].to_owned()] };
    let part = selection.of(record.clone()).unwrap();
    assert_eq!(part.record.plan.distinct_subjects().len(), 2);
    assert_eq!(part.record.plan.base_sides().count(), 3);
    let view = part.of_comparison(view_of(&record));
    let names: Vec<&str> = view.subjects.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(names, [RELEASES[0], RELEASES[4]]);
    assert_eq!(case(&view, STEP, 1).verdict, Verdict::Regression);
}

#[test]
fn more_launches_make_it_known_better_and_a_run_tells_what_another_will_see() {
    let record = record();
    let known = |launches: u32| {
        let blocks: Vec<Block> =
            record.blocks.iter().filter(|block| block.trial.launch <= launches).cloned().collect();
        known_within(&record.plan, 2, &BTreeMap::from([(STEP.to_owned(), blocks)]))[STEP]
    };
    assert!(known(LAUNCHES) < known(4) && known(LAUNCHES) < 0.02, "{} {}", known(LAUNCHES), known(4));
    let noise = Noise::of(&record).unwrap();
    let side = noise.deviation_of_a_side[STEP];
    assert!((0.0005..0.01).contains(&side), "{side}");
    let sides = record.plan.subjects.len() as f64;
    assert!((noise.seconds_of_a_side * sides - 42.0).abs() < 1e-9, "{}", noise.seconds_of_a_side);
}
