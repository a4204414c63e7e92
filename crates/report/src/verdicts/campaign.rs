//! The verdicts of a campaign, from its view: confirmed over all steps, with a sentence for each candidate.

use super::{
    CandidateSummary, ComparedMetric, MOST_NAMES, Repeats, RunVerdicts, StepVerdict, finite, why_not,
};
use crate::campaign::{CampaignView, Comparison, StepView, disturbed_lines};
use model::block::Side;
use model::figures::{and_list, change, chosen_percent};
use model::metric::Metric;
use model::verdict::Verdict;

/// The verdicts of a campaign; helper steps have none.
pub fn of_campaign(view: &CampaignView) -> RunVerdicts<'_> {
    let candidates = || view.subjects.iter().skip(1);
    let steps: Vec<StepVerdict<'_>> = candidates()
        .flat_map(|subject| {
            let judged = view.steps.iter().filter(|step| !step.helper);
            judged.map(move |step| of_step(step, subject.side, &subject.subject, view))
        })
        .collect();
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
        set_aside: disturbed_lines(view),
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
        confirmed: decides.is_some_and(|one| one.confirmed),
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
