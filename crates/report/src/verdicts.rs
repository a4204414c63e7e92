//! What a run says of each step and candidate, whatever its design: what gates, test reports, scrapers and summaries
//! are made from. Every number in here is one of a view; none is computed.

use crate::campaign::{self, CampaignView, Comparison, StepView};
use crate::figures::{and_list, change, chosen_percent, count};
use crate::view::{CandidateView, Figure, Note, ReportView, RunFacts, StepRow, TrialReason, Trials};
use model::block::Side;
use model::event::RunOutcome;
use model::host::Host;
use model::metric::Metric;
use model::plan::LeftOut;
use model::record::{RunStatus, RunWarning};
use model::verdict::Verdict;
use model::workload::Group;

/// A run with a verdict for each step and candidate.
#[derive(Debug, Clone)]
pub struct RunVerdicts<'a> {
    /// Which run.
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
    /// Its side.
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
    /// The step.
    pub step: &'a str,
    /// Its group.
    pub group: Group,
    /// The candidate.
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
    /// The base's value.
    pub base: Option<f64>,
    /// The candidate's.
    pub candidate: Option<f64>,
    /// Candidate over base.
    pub ratio: Option<f64>,
    /// Lower end of its interval; absent where it is not bounded.
    pub low: Option<f64>,
    /// Upper end.
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

/// The verdicts of a comparison.
pub fn of_comparison(view: &ReportView) -> RunVerdicts<'_> {
    RunVerdicts {
        run: &view.run,
        base: &view.base,
        margin: view.margin,
        alpha: view.alpha,
        host: &view.host,
        warnings: &view.warnings,
        trials: &view.trials,
        left_out: &[],
        repeats: Repeats::Launches,
        set_aside: Vec::new(),
        summaries: view
            .candidates
            .iter()
            .map(|candidate| CandidateSummary {
                side: candidate.side,
                candidate: &candidate.subject,
                text: candidate.summary.clone(),
            })
            .collect(),
        steps: view
            .candidates
            .iter()
            .flat_map(|candidate| candidate.rows.iter().map(move |row| of_row(row, candidate, view)))
            .collect(),
    }
}

fn of_row<'a>(row: &'a StepRow, candidate: &'a CandidateView, view: &'a ReportView) -> StepVerdict<'a> {
    let rates = [Some(&row.wall), row.adjusted.as_ref(), Some(&row.cpu)].into_iter().flatten();
    let counters = row.counters.iter().map(|counter| &counter.figure);
    let deciding = row.deciding();
    let said = || row.notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ");
    StepVerdict {
        step: &row.step,
        group: row.group,
        side: candidate.side,
        candidate: &candidate.subject,
        verdict: row.verdict,
        confirmed: row.confirmed,
        deciding: of_figure(deciding),
        metrics: rates.chain(counters).map(of_figure).collect(),
        p_value: row.p_value,
        repeats: row.launches,
        seconds: row.seconds,
        notes: row.notes.iter().collect(),
        not_measured: match deciding.ratio {
            Some(_) => None,
            None => Some(why_not(
                (&view.trials, Repeats::Launches),
                &row.step,
                [&candidate.subject, &view.base],
                said(),
            )),
        },
    }
}

fn of_figure(figure: &Figure) -> ComparedMetric {
    ComparedMetric {
        metric: figure.metric.name(),
        unit: figure.metric.unit(),
        base: finite(figure.base),
        candidate: finite(figure.candidate),
        ratio: finite(figure.ratio),
        low: finite(figure.low),
        high: finite(figure.high),
        confidence: figure.confidence,
    }
}

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

/// The verdicts of a campaign; helper steps have none.
pub fn of_campaign(view: &CampaignView) -> RunVerdicts<'_> {
    let candidates = || view.subjects.iter().skip(1);
    let mut steps: Vec<StepVerdict<'_>> = candidates()
        .flat_map(|subject| {
            let judged = view.steps.iter().filter(|step| !step.helper);
            judged.map(move |step| of_step(step, subject.side, &subject.subject, view))
        })
        .collect();
    confirm(&mut steps, view.alpha, candidates().count());
    let summaries = candidates()
        .map(|subject| {
            let of_side: Vec<&StepVerdict<'_>> =
                steps.iter().filter(|step| step.side == subject.side).collect();
            CandidateSummary {
                side: subject.side,
                candidate: &subject.subject,
                text: sentence(&of_side, &subject.subject, view),
            }
        })
        .collect();
    RunVerdicts {
        run: &view.run,
        base: &view.base,
        margin: view.margin,
        alpha: view.alpha,
        host: &view.host,
        warnings: &view.warnings,
        trials: &view.trials,
        left_out: &view.left_out,
        repeats: Repeats::Rounds,
        set_aside: campaign::disturbed_lines(view),
        summaries,
        steps,
    }
}

fn of_step<'a>(
    step: &'a StepView,
    side: Side,
    candidate: &'a str,
    view: &'a CampaignView,
) -> StepVerdict<'a> {
    let of_side = || step.comparisons.iter().filter(move |one| one.side == side);
    let decides = of_side().find(|one| one.decides);
    let deciding = decides.map_or_else(no_rate, of_column);
    let said = || {
        let texts = decides.iter().flat_map(|one| &one.notes).map(|note| note.text.as_str());
        texts.collect::<Vec<_>>().join("; ")
    };
    StepVerdict {
        step: &step.name,
        group: step.group,
        side,
        candidate,
        verdict: decides.map_or(Verdict::RatioOnly, |one| one.verdict),
        confirmed: false,
        deciding,
        metrics: of_side().map(of_column).collect(),
        p_value: decides.and_then(|one| finite(one.p_value)),
        repeats: decides.map_or(0, |one| one.rounds),
        seconds: decides.map_or(0.0, |one| one.seconds),
        notes: decides.iter().flat_map(|one| &one.notes).collect(),
        not_measured: match deciding.ratio {
            Some(_) => None,
            None => {
                Some(why_not((&view.trials, Repeats::Rounds), &step.name, [candidate, &view.base], said()))
            }
        },
    }
}

/// What stands where no trial has a rate.
fn no_rate() -> ComparedMetric {
    let metric = Metric::OpsPerSecond;
    ComparedMetric {
        metric: metric.name(),
        unit: metric.unit(),
        base: None,
        candidate: None,
        ratio: None,
        low: None,
        high: None,
        confidence: None,
    }
}

fn of_column(one: &Comparison) -> ComparedMetric {
    ComparedMetric {
        metric: one.column.metric,
        unit: one.column.unit,
        base: finite(one.base_value),
        candidate: finite(one.candidate_value),
        ratio: finite(one.ratio),
        low: finite(one.low),
        high: finite(one.high),
        confidence: one.confidence,
    }
}

/// Holm over all steps and candidates, as in a comparison: a verdict of a campaign holds for the candidates of its
/// step together, and many steps have many chances.
fn confirm(steps: &mut [StepVerdict<'_>], alpha: f64, candidates: usize) {
    let of_one = |step: &StepVerdict<'_>| step.p_value.unwrap_or(1.0) / candidates.max(1) as f64;
    let p_values: Vec<f64> = steps.iter().map(of_one).collect();
    for (step, passed) in steps.iter_mut().zip(analysis::family::holm(&p_values, alpha)) {
        step.confirmed = passed
            && step.p_value.is_some()
            && matches!(step.verdict, Verdict::Regression | Verdict::Improvement);
    }
}

/// More names than this are counted.
const MOST_NAMES: usize = 8;

/// "rocksdb@8.7.3 against rocksdb@8.5.4: slower on readrandom (-4.1 %); no difference beyond 2 % on seekrandom."
fn sentence(steps: &[&StepVerdict<'_>], candidate: &str, view: &CampaignView) -> String {
    let margin = chosen_percent(view.margin);
    let parts = [
        (Verdict::Regression, "slower on".to_owned()),
        (Verdict::Improvement, "faster on".to_owned()),
        (Verdict::Suspect, "no more than a suspicion on".to_owned()),
        (Verdict::NoChange, format!("no difference beyond {margin} on")),
        (Verdict::Inconclusive, "no difference found, nor ruled out, on".to_owned()),
        (Verdict::RatioOnly, "no verdict on".to_owned()),
    ];
    let said: Vec<String> = parts
        .iter()
        .filter_map(|(verdict, words)| {
            let of_verdict: Vec<&&StepVerdict<'_>> =
                steps.iter().filter(|step| step.verdict == *verdict).collect();
            match of_verdict.len() {
                0 => None,
                many if many > MOST_NAMES => Some(format!("{words} {many} steps")),
                _ => {
                    let names: Vec<String> = of_verdict.iter().map(|step| named(step)).collect();
                    Some(format!("{words} {}", and_list(&names)))
                }
            }
        })
        .collect();
    let said = if said.is_empty() { "no step was measured".to_owned() } else { said.join("; ") };
    format!("{candidate} against {}: {said}.", view.base)
}

/// A change that is none has no number beside its name.
fn named(step: &StepVerdict<'_>) -> String {
    match step.deciding.ratio.filter(|_| step.is_directional()) {
        Some(ratio) => format!("{} ({})", step.step, change(ratio)),
        None => step.step.to_owned(),
    }
}
