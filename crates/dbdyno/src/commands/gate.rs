//! The gate of CI on the command line: what it says of a comparison, as reasons and as an exit status.

use crate::cli::Gate;
use crate::exit::{Ending, usage};
use crate::progress::Progress;
use anyhow::anyhow;
use findings::Comparison;
use findings::gate::{self, Passage};
use model::event::RunOutcome;

/// The threshold of a gate as a share; the margin of the run is meant if it is absent.
pub fn threshold(gate: Gate) -> anyhow::Result<Option<f64>> {
    match gate.gate_threshold {
        Some(percent) if !(percent >= 0.0 && percent.is_finite()) => {
            Err(usage(anyhow!("--gate-threshold is {percent}, must be 0 percent or more")))
        }
        percent => Ok(percent.map(|percent| percent / 100.0)),
    }
}

/// What the gate says of comparisons together, told with its reasons.
pub fn of_all<'a>(runs: impl Iterator<Item = &'a Comparison>, threshold: Option<f64>) -> Ending {
    let passages: Vec<Passage> = runs.map(|run| told(run, threshold)).collect();
    match passages.into_iter().min() {
        Some(Passage::RunFailed) => Ending::RunFailed,
        Some(Passage::Regression) => Ending::Regression,
        Some(Passage::Inconclusive) => Ending::Inconclusive,
        Some(Passage::Passed) | None => Ending::Done,
    }
}

fn told(run: &Comparison, threshold: Option<f64>) -> Passage {
    let gated = gate::judge(run, threshold.unwrap_or(run.margin));
    let progress = Progress::new();
    for reason in &gated.reasons {
        progress.say(&format!("gate: {reason}"));
    }
    gated.passage
}

/// The ending of a comparison that was just measured: one that was stopped or failed, with or without a gate, then
/// what the gate says.
pub fn ending(outcome: RunOutcome, run: &Comparison, gate: Gate) -> anyhow::Result<Ending> {
    let threshold = threshold(gate)?;
    Ok(match outcome {
        RunOutcome::Interrupted => Ending::Interrupted,
        RunOutcome::Failed => Ending::RunFailed,
        RunOutcome::Done if gate.gate => of_all(std::iter::once(run), threshold),
        RunOutcome::Done if run.trials.failed > 0 => Ending::RunFailed,
        RunOutcome::Done => Ending::Done,
    })
}
