//! The gate of CI: whether the verdicts of a run let a change through, with the reasons.

use crate::verdicts::{RunVerdicts, StepVerdict};
use model::event::RunOutcome;
use model::figures::{chosen_percent, interval, ratio};
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
pub fn judge(run: &RunVerdicts<'_>, threshold: f64) -> Gated {
    let mut found: Vec<(Passage, String)> = failures(run);
    for step in &run.steps {
        if is_regression(step, threshold) {
            found.push((Passage::Regression, regression(step, run)));
        } else if is_open(step) {
            found.push((Passage::Inconclusive, open(step)));
        }
    }
    if run.steps.iter().all(|step| step.verdict == Verdict::RatioOnly) {
        found.push((Passage::Inconclusive, "no step has a verdict".to_owned()));
    }
    // Stable: steps stay in their order.
    found.sort_by_key(|(passage, _)| *passage);
    match found.first() {
        Some((passage, _)) => {
            Gated { passage: *passage, reasons: found.iter().map(|(_, reason)| reason.clone()).collect() }
        }
        None => Gated {
            passage: Passage::Passed,
            reasons: vec![format!("no regression beyond {}", chosen_percent(threshold))],
        },
    }
}

/// A regression that holds among all steps, beyond what the layout of code can make, and not wholly within the
/// threshold (0.02 is 2 %).
pub fn is_regression(step: &StepVerdict<'_>, threshold: f64) -> bool {
    let within = |end: Option<f64>| end.is_some_and(|end| end.ln().abs() <= threshold.ln_1p());
    step.verdict == Verdict::Regression
        && step.confirmed
        && !step.has_note("within-layout-noise")
        && !(within(step.deciding.low) && within(step.deciding.high))
}

/// Whether the step could have had a verdict and has none. One that was dropped or can have no verdict is told of,
/// and does not hold up a change for ever.
fn is_open(step: &StepVerdict<'_>) -> bool {
    matches!(step.verdict, Verdict::Inconclusive | Verdict::Suspect)
}

/// What keeps the run from telling anything.
pub(crate) fn failures(run: &RunVerdicts<'_>) -> Vec<(Passage, String)> {
    let status = match run.run.status {
        RunStatus::Ended(RunOutcome::Done) => None,
        RunStatus::Ended(RunOutcome::Interrupted) => Some("was interrupted by the user"),
        RunStatus::Ended(RunOutcome::Failed) => Some("failed"),
        RunStatus::Unfinished => Some("is unfinished: it still runs, or it was killed"),
    };
    let status = status.map(|status| format!("run {} {status}", run.run.id));
    let failed = run.trials.reasons.iter().filter(|reason| !reason.skipped);
    let trials = failed.map(|reason| run.repeats.trial_reason(reason));
    let left_out = run.left_out.iter().map(|one| format!("left out: {}: {}", one.reference, one.reason));
    status.into_iter().chain(trials).chain(left_out).map(|reason| (Passage::RunFailed, reason)).collect()
}

/// "regression: readrandom of rocksdb@8.7.3: 0.959 [0.948, 0.970] of rocksdb@8.5.4, 14 launches".
pub(crate) fn regression(step: &StepVerdict<'_>, run: &RunVerdicts<'_>) -> String {
    format!(
        "regression: {} of {}: {} {} of {}, {}",
        step.step,
        step.candidate,
        step.deciding.ratio.map_or_else(|| "-".to_owned(), ratio),
        interval(step.deciding.low, step.deciding.high),
        run.base,
        run.repeats.count(step.repeats)
    )
}

fn open(step: &StepVerdict<'_>) -> String {
    let what = match step.verdict {
        Verdict::Suspect => "no more than a suspicion",
        Verdict::Regression
        | Verdict::Improvement
        | Verdict::NoChange
        | Verdict::Inconclusive
        | Verdict::RatioOnly => "inconclusive",
    };
    format!(
        "{what}: {} of {}, {}",
        step.step,
        step.candidate,
        interval(step.deciding.low, step.deciding.high)
    )
}
