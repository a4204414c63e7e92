//! What a run says of each step and candidate, whatever its design: what gates, test reports, scrapers and summaries
//! are made from. Every number in here is one of a view; none is computed.

mod campaign;
mod comparison;

pub use campaign::of_campaign;
pub use comparison::of_comparison;

use crate::view::{Note, RunFacts, TrialReason, Trials};
use model::block::Side;
use model::event::RunOutcome;
use model::figures::{and_list, count};
use model::host::Host;
use model::metric::Metric;
use model::plan::LeftOut;
use model::record::{RunStatus, RunWarning};
use model::verdict::Verdict;
use model::workload::Group;

/// A run with a verdict for each step and candidate.
#[derive(Debug, Clone)]
pub struct RunVerdicts<'a> {
    pub run: &'a RunFacts,
    /// The base, as the user named it.
    pub base: &'a str,
    /// A change within plus or minus this share is no change.
    pub margin: f64,
    /// Share of false verdicts per step.
    pub alpha: f64,
    /// Where it was measured.
    pub host: &'a Host,
    /// What a reader of all numbers must know.
    pub warnings: &'a [RunWarning],
    /// How the trials ended.
    pub trials: &'a Trials,
    /// Subjects that were asked for and could not be measured.
    pub left_out: &'a [LeftOut],
    /// What the verdicts count.
    pub repeats: Repeats,
    /// Trials that are done and in no number, because others had the CPU: a line for each visit.
    pub set_aside: Vec<String>,
    /// One for each candidate.
    pub summaries: Vec<CandidateSummary<'a>>,
    /// By candidate, then in the order of the workload.
    pub steps: Vec<StepVerdict<'a>>,
}

/// What was found of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateSummary<'a> {
    pub side: Side,
    /// As the user named it.
    pub candidate: &'a str,
    /// One sentence over all steps.
    pub text: String,
}

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// Launches of a comparison.
    Launches,
    /// Rounds of a campaign.
    Rounds,
}

impl Repeats {
    /// `14 launches`, `1 round`.
    pub fn count(self, number: u32) -> String {
        match self {
            Repeats::Launches => count(u64::from(number), "launch", "launches"),
            Repeats::Rounds => count(u64::from(number), "round", "rounds"),
        }
    }

    /// "failed: overwrite of rocksdb@8.7.3 in rounds 3, 4: reason".
    pub fn trial_reason(self, reason: &TrialReason) -> String {
        let numbers: Vec<String> = reason.launches.iter().map(ToString::to_string).collect();
        let (one, many) = match self {
            Repeats::Launches => ("launch", "launches"),
            Repeats::Rounds => ("round", "rounds"),
        };
        format!(
            "{}: {} of {} in {} {}: {}",
            if reason.skipped { "skipped" } else { "failed" },
            reason.step,
            reason.subject,
            if numbers.len() == 1 { one } else { many },
            numbers.join(", "),
            reason.reason
        )
    }

    /// The plural.
    pub fn name(self) -> &'static str {
        match self {
            Repeats::Launches => "launches",
            Repeats::Rounds => "rounds",
        }
    }
}

/// One step of one candidate.
#[derive(Debug, Clone)]
pub struct StepVerdict<'a> {
    pub step: &'a str,
    pub group: Group,
    pub side: Side,
    /// As the user named it.
    pub candidate: &'a str,
    /// What may be said.
    pub verdict: Verdict,
    /// Whether a regression or an improvement holds among all steps and candidates of the run (Holm at alpha).
    pub confirmed: bool,
    /// The metric that carries the verdict.
    pub deciding: ComparedMetric,
    /// All metrics, the rates first.
    pub metrics: Vec<ComparedMetric>,
    /// p value; of a campaign that of all candidates of the step together. Absent where there was no test.
    pub p_value: Option<f64>,
    /// Launches or rounds that it rests on.
    pub repeats: u32,
    /// Wall time of both sides in them, in seconds.
    pub seconds: f64,
    /// What a reader must know.
    pub notes: Vec<&'a Note>,
    /// Why there is no ratio; absent where there is one.
    pub not_measured: Option<String>,
}

/// One metric of both sides, in its base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparedMetric {
    /// Its name in JSON.
    pub metric: &'static str,
    /// Its unit in JSON.
    pub unit: &'static str,
    pub base: Option<f64>,
    pub candidate: Option<f64>,
    pub ratio: Option<f64>,
    /// Lower end of its interval; absent where it is not bounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Confidence of the interval; absent where there is none.
    pub confidence: Option<f64>,
}

impl RunVerdicts<'_> {
    /// The sentences of candidates of which a difference was found; the others in one.
    pub fn telling(&self) -> Vec<String> {
        let differs = |summary: &&CandidateSummary<'_>| {
            let of_side = self.steps.iter().filter(|step| step.side == summary.side);
            of_side.into_iter().any(StepVerdict::is_directional)
        };
        let (telling, others): (Vec<_>, Vec<_>) = self.summaries.iter().partition(differs);
        let mut sentences: Vec<String> = telling.iter().map(|summary| summary.text.clone()).collect();
        match others.as_slice() {
            [] => {}
            [one] => sentences.push(one.text.clone()),
            several => {
                let names: Vec<String> = several.iter().map(|one| one.candidate.to_owned()).collect();
                let names = if names.len() > MOST_NAMES {
                    format!("{} candidates", names.len())
                } else {
                    and_list(&names)
                };
                sentences.push(format!("{names} against {}: no difference was found.", self.base));
            }
        }
        sentences
    }

    /// What must be known before the numbers are believed: a run that is not done, trials that failed or do not
    /// count, subjects that are missing, warnings.
    pub fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        let status = self.run.status.name();
        if status != RunStatus::Ended(RunOutcome::Done).name() {
            cautions.push(format!("the run is {status}"));
        }
        let trials = self.trials;
        if trials.failed + trials.skipped > 0 {
            cautions.push(format!(
                "trials: {} done, {} failed, {} skipped",
                trials.done, trials.failed, trials.skipped
            ));
        }
        cautions.extend(trials.reasons.iter().map(|reason| self.repeats.trial_reason(reason)));
        cautions.extend(self.set_aside.iter().cloned());
        cautions
            .extend(self.left_out.iter().map(|one| format!("left out: {}: {}", one.reference, one.reason)));
        let warnings = self.warnings.iter();
        cautions.extend(warnings.map(|warning| format!("warning {}: {}", warning.id, warning.text)));
        cautions
    }
}

impl StepVerdict<'_> {
    /// Whether the verdict says that there is a difference.
    pub fn is_directional(&self) -> bool {
        matches!(self.verdict, Verdict::Regression | Verdict::Improvement | Verdict::Suspect)
    }

    /// Operations per second of wall time, as users see them; absent where no trial has a rate.
    pub fn wall_rate(&self) -> Option<&ComparedMetric> {
        self.metrics.iter().find(|metric| metric.metric == Metric::OpsPerSecond.name())
    }

    /// `*` where the contention-adjusted rate decides, else nothing: the mark of the tables of a comparison.
    pub fn adjusted_mark(&self) -> &'static str {
        if self.deciding.metric == Metric::OpsPerSecondAdjusted.name() { "*" } else { "" }
    }

    /// Whether a note of this id stands with it.
    pub fn has_note(&self, id: &str) -> bool {
        self.notes.iter().any(|note| note.id == id)
    }
}

/// More names than this are counted.
const MOST_NAMES: usize = 8;

/// A number that can be shown.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// Why a step has no ratio: how its trials ended, else what is said of it.
fn why_not((trials, repeats): (&Trials, Repeats), step: &str, subjects: [&str; 2], said: String) -> String {
    let of = |subject: &str| {
        let is_it = |one: &&TrialReason| one.step == step && one.subject == subject;
        trials.reasons.iter().find(is_it).map(|reason| repeats.trial_reason(reason))
    };
    match subjects.into_iter().find_map(of) {
        Some(reason) => reason,
        None if said.is_empty() => "no trial of it is done on both sides".to_owned(),
        None => said,
    }
}
