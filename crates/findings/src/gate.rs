//! The gate of CI: whether the verdicts of a run let a change through, with the reasons.

use crate::comparison::{ComparedStep, Comparison, StepView};
use model::event::RunOutcome;
use model::figures::{chosen_percent, interval, or_none, ratio};
use model::record::RunStatus;
use model::verdict::Verdict;

/// What a gate says of a run, the gravest first: a run that failed tells nothing, and a regression that is found
/// stays one where another step is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Passage {
    /// The run has no end, or a trial failed, or a subject could not be measured.
    RunFailed,
    /// A regression that counts.
    Regression,
    /// A step without a verdict that could have had one, or none with a verdict at all.
    Inconclusive,
    /// Nothing stands in the way.
    Passed,
}

/// What a gate says, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gated {
    /// The gravest of the reasons.
    pub passage: Passage,
    /// A sentence each, the gravest first; of a gate that is passed, one.
    pub reasons: Vec<String>,
}

/// Holds the verdicts of a run against a threshold (0.02 is 2 %).
pub fn judge(run: &Comparison, threshold: f64) -> Gated {
    let mut found: Vec<(Passage, String)> = failures(run);
    for (step, case) in run.cases() {
        if is_regression(case, threshold) {
            found.push((Passage::Regression, regression(run, step, case)));
        } else if is_open(case, threshold) {
            found.push((Passage::Inconclusive, open(run, step, case)));
        } else if case.verdict == Verdict::Regression && case.may_be_layout() {
            found.push((Passage::Passed, may_be_layout(run, step, case)));
        }
    }
    if run.cases().all(|(_, case)| case.verdict == Verdict::RatioOnly) {
        found.push((Passage::Inconclusive, "no step has a verdict".to_owned()));
    }
    // Stable: steps stay in their order.
    found.sort_by_key(|(passage, _)| *passage);
    let passage = found.first().map_or(Passage::Passed, |(passage, _)| *passage);
    let passed = (passage == Passage::Passed)
        .then(|| format!("no regression beyond {} and the layout of code", chosen_percent(threshold)));
    Gated {
        passage,
        reasons: passed.into_iter().chain(found.into_iter().map(|(_, reason)| reason)).collect(),
    }
}

/// A regression that holds among all steps, beyond what the layout of code can make, and not wholly within the
/// threshold (0.02 is 2 %).
pub fn is_regression(case: &ComparedStep, threshold: f64) -> bool {
    case.verdict == Verdict::Regression && case.counts() && !is_within(case, threshold)
}

fn is_within(case: &ComparedStep, threshold: f64) -> bool {
    let within = |end: Option<f64>| end.is_some_and(|end| end.ln().abs() <= threshold.ln_1p());
    case.deciding().is_some_and(|deciding| within(deciding.low) && within(deciding.high))
}

/// Whether the step could have had a verdict and has none, or is slower by itself only. One that was dropped or can have
/// no verdict is told of, and does not hold up a change for ever.
fn is_open(case: &ComparedStep, threshold: f64) -> bool {
    match case.verdict {
        Verdict::Inconclusive | Verdict::Suspect => true,
        Verdict::Regression => !case.confirmed && !is_within(case, threshold),
        Verdict::Improvement | Verdict::NoChange | Verdict::RatioOnly => false,
    }
}

/// What keeps the run from telling anything.
pub fn failures(run: &Comparison) -> Vec<(Passage, String)> {
    let status = match run.run.status {
        RunStatus::Ended(RunOutcome::Done) => None,
        RunStatus::Ended(RunOutcome::Interrupted) => Some("was interrupted by the user"),
        RunStatus::Ended(RunOutcome::Failed) => Some("failed"),
        RunStatus::Unfinished => Some("is unfinished: it still runs, or it was killed"),
    };
    let status = status.map(|status| format!("run {} {status}", run.run.id));
    let failed = run.trials.reasons.iter().filter(|reason| !reason.skipped);
    let trials = failed.map(|reason| run.repeats.trial_reason(&reason.step, reason));
    let left_out = run.left_out.iter().map(|one| format!("not measured: {}: {}", one.reference, one.reason));
    status.into_iter().chain(trials).chain(left_out).map(|reason| (Passage::RunFailed, reason)).collect()
}

/// "regression: readrandom of rocksdb@8.7.3: 0.959 [0.948, 0.970] of rocksdb@8.5.4, 14 launches".
pub fn regression(run: &Comparison, step: &StepView, case: &ComparedStep) -> String {
    format!("regression: {}", size(run, step, case))
}

fn size(run: &Comparison, step: &StepView, case: &ComparedStep) -> String {
    format!(
        "{} of {}: {} {} of {}, {}",
        step.name,
        run.name(case.side),
        or_none(case.ratio(), ratio),
        interval_of(case),
        run.base,
        run.repeats.count(case.repeats)
    )
}

fn interval_of(case: &ComparedStep) -> String {
    let deciding = case.deciding();
    interval(deciding.and_then(|one| one.low), deciding.and_then(|one| one.high))
}

/// "slower, but may be the layout of code: readrandom of rocksdb@8.7.3: 0.985 [0.978, 0.992] of ..".
fn may_be_layout(run: &Comparison, step: &StepView, case: &ComparedStep) -> String {
    format!("slower, but may be the layout of code: {}", size(run, step, case))
}

fn open(run: &Comparison, step: &StepView, case: &ComparedStep) -> String {
    let what = match case.verdict {
        Verdict::Suspect => "suspect, not proven",
        Verdict::Regression => "slower, significant alone but not after correction for all steps",
        _ => "inconclusive",
    };
    format!("{what}: {} of {}, {}", step.name, run.name(case.side), interval_of(case))
}
