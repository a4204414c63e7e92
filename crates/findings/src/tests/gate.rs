//! What lets a change through, and what does not.

use super::view_of;
use crate::Comparison;
use crate::comparison::{ComparedStep, TrialReason};
use crate::gate::{self, Passage};
use model::event::RunOutcome;
use model::metric::Metric;
use model::record::RunStatus;
use model::verdict::{Layout, Verdict};
use testing::compared::{Truth, record};
use testing::rounds;

/// A comparison of `readrandom` alone, which is slower by 3 to 5.5 %.
fn regression(change: impl Fn(&mut ComparedStep)) -> Comparison {
    let mut view = view_of(&record(&Truth { write: 1.0, read: 0.95 }));
    view.steps.remove(0);
    let case = &mut view.steps[0].cases[0];
    case.repeats = 14;
    set_interval(case, 0.948, 0.970);
    change(case);
    view
}

fn set_interval(case: &mut ComparedStep, low: f64, high: f64) {
    let rate = case.metrics.iter_mut().find(|one| one.metric == Metric::OpsPerSecond).unwrap();
    (rate.ratio, rate.low, rate.high) = (Some(0.959), Some(low), Some(high));
}

fn passage(view: &Comparison, threshold: f64) -> Passage {
    gate::judge(view, threshold).passage
}

#[test]
fn the_gate_stops_a_regression_beyond_the_threshold_only() {
    assert_eq!(passage(&regression(|_| {}), 0.02), Passage::Regression);
    // 0.970 is 3 % less, 0.948 is 5.5 %: within 6 % as a whole, within 4 % in part.
    assert_eq!(passage(&regression(|_| {}), 0.06), Passage::Passed);
    assert_eq!(passage(&regression(|_| {}), 0.04), Passage::Regression);
    assert_eq!(passage(&regression(|case| set_interval(case, 0.99, 0.995)), 0.02), Passage::Passed);
    // Slower by itself only is neither a regression nor none, unless it is within the threshold.
    assert_eq!(passage(&regression(|case| case.confirmed = false), 0.02), Passage::Inconclusive);
    assert_eq!(passage(&regression(|case| case.confirmed = false), 0.06), Passage::Passed);
    let in_layout = gate::judge(&regression(|case| case.layout = Some(Layout::MayBe)), 0.02);
    assert_eq!(in_layout.passage, Passage::Passed);
    assert_eq!(
        in_layout.reasons,
        [
            "no regression beyond 2 % and the layout of code",
            "slower, but may be the layout of code: readrandom of rocksdb@8.7.3: 0.959 [0.948, 0.970] of rocksdb@8.5.4, \
             14 launches",
        ]
    );
    assert_eq!(passage(&regression(|case| case.verdict = Verdict::NoChange), 0.02), Passage::Passed);
}

#[test]
fn the_gate_takes_a_failed_run_before_a_regression_before_an_open_step() {
    let mut view = regression(|_| {});
    let mut open = view.steps[0].clone();
    open.name = "overwrite".to_owned();
    open.cases[0].verdict = Verdict::Inconclusive;
    view.steps.insert(0, open);
    view.trials.reasons = vec![TrialReason {
        step: "overwrite".to_owned(),
        subject: "rocksdb@8.7.3".to_owned(),
        skipped: false,
        reason: "killed by signal 11".to_owned(),
        launches: vec![3, 4],
    }];
    let gated = gate::judge(&view, 0.02);
    assert_eq!(gated.passage, Passage::RunFailed);
    assert_eq!(
        gated.reasons,
        [
            "failed: overwrite of rocksdb@8.7.3 in launches 3, 4: killed by signal 11",
            "regression: readrandom of rocksdb@8.7.3: 0.959 [0.948, 0.970] of rocksdb@8.5.4, 14 launches",
            "inconclusive: overwrite of rocksdb@8.7.3, [0.948, 0.970]",
        ]
    );
    view.trials.reasons.clear();
    assert_eq!(passage(&view, 0.02), Passage::Regression);
    view.steps[1].cases[0].verdict = Verdict::NoChange;
    assert_eq!(passage(&view, 0.02), Passage::Inconclusive);
    view.steps.remove(0);
    assert_eq!(passage(&view, 0.02), Passage::Passed);
    for status in [RunStatus::Unfinished, RunStatus::Ended(RunOutcome::Interrupted)] {
        view.run.status = status;
        assert_eq!(passage(&view, 0.02), Passage::RunFailed);
    }
}

#[test]
fn a_gate_does_not_let_through_what_could_not_be_judged() {
    for verdict in [Verdict::Suspect, Verdict::RatioOnly] {
        assert_eq!(passage(&regression(|case| case.verdict = verdict), 0.02), Passage::Inconclusive);
    }
    let mut nothing = regression(|_| {});
    nothing.steps.clear();
    assert_eq!(passage(&nothing, 0.02), Passage::Inconclusive);
}

#[test]
fn a_gate_of_rounds_fails_for_what_was_not_measured_first() {
    let mut view = view_of(&rounds::record());
    assert!(view.trials.failed > 0 && !view.left_out.is_empty());
    assert_eq!(passage(&view, view.margin), Passage::RunFailed);
    view.trials.reasons.clear();
    assert_eq!(passage(&view, view.margin), Passage::RunFailed, "a candidate was left out");
    view.left_out.clear();
    assert_eq!(passage(&view, view.margin), Passage::Regression);
    view.run.status = RunStatus::Ended(RunOutcome::Interrupted);
    assert_eq!(passage(&view, view.margin), Passage::RunFailed);
}
