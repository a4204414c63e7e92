//! A report of some steps of a run only. What holds for all steps together stays judged on all of them: whoever looks
//! at fewer steps must not find more.

use crate::assemble;
use crate::campaign::{CampaignView, Finding};
use crate::summary;
use crate::view::{ReportView, TrialReason, Trials};
use model::block::TrialKey;
use model::record::{RunRecord, RunWarning};
use std::collections::BTreeMap;

/// The id of the warning that steps are missing.
const SOME_STEPS: &str = "some-steps";

/// The record of these steps, for what is drawn from it. Views are built of the whole one, then restricted.
pub fn record(record: &RunRecord, steps: &[String]) -> RunRecord {
    let of_trial = |trial: &TrialKey| steps.contains(&trial.step);
    let mut of_steps = record.clone();
    of_steps.plan.steps.retain(|step| steps.contains(step));
    of_steps.blocks.retain(|block| of_trial(&block.trial));
    of_steps.trials.retain(|ended| of_trial(&ended.trial));
    of_steps.shapes.retain(|read| of_trial(&read.trial));
    of_steps.engine_texts.retain(|text| of_trial(&text.trial));
    of_steps.seconds.retain(|trial, _| of_trial(trial));
    of_steps.step_exits.retain(|exit| steps.contains(&exit.step));
    of_steps.warnings.retain(|warning| is_about(warning, steps));
    of_steps
}

/// The view of a comparison, with these steps only; `record` is that of these steps.
pub fn comparison(mut view: ReportView, record: &RunRecord, steps: &[String]) -> ReportView {
    let all = view.candidates.first().map_or(0, |candidate| candidate.rows.len());
    let (base, margin) = (view.base.clone(), view.margin);
    for candidate in &mut view.candidates {
        candidate.rows.retain(|row| steps.contains(&row.step));
        // A group stands for all its steps, or not at all.
        let rows = &candidate.rows;
        candidate.groups.retain(|group| {
            let of_group = rows.iter().filter(|row| row.group == group.group);
            of_group.filter(|row| row.deciding().ratio.is_some()).count() == group.members as usize
        });
        candidate.summary = summary::sentence(&candidate.rows, &candidate.subject, &base, margin);
    }
    let shown = view.candidates.first().map_or(0, |candidate| candidate.rows.len());
    view.shapes.retain(|shape| steps.contains(&shape.step));
    view.trials = trials(assemble::trials(record), steps);
    view.warnings = warnings(view.warnings, steps, shown, all);
    view
}

/// The view of a campaign, with these steps only; `record` is that of these steps.
pub fn campaign(mut view: CampaignView, record: &RunRecord, steps: &[String]) -> CampaignView {
    let all = view.steps.len();
    view.steps.retain(|step| steps.contains(&step.name));
    let steps_left = &view.steps;
    view.groups.retain(|group| {
        let of_group = steps_left.iter().filter(|step| step.group == group.group && !step.helper);
        let deciding = of_group.flat_map(|step| &step.comparisons).filter(|one| one.decides);
        deciding.filter(|one| one.side == group.side && one.ratio.is_some()).count() == group.members as usize
    });
    view.findings = findings(view.findings, steps);
    view.disturbed.retain(|one| steps.contains(&one.step));
    view.trials = trials(assemble::trials(record), steps);
    view.warnings = warnings(view.warnings, steps, view.steps.len(), all);
    view
}

/// Findings of the steps; those that went with one of another step stand by themselves.
fn findings(all: Vec<Finding>, steps: &[String]) -> Vec<Finding> {
    let kept = all.iter().enumerate().filter(|(_, one)| steps.contains(&one.step)).map(|(index, _)| index);
    let places: BTreeMap<usize, usize> = kept.zip(0..).collect();
    all.into_iter()
        .filter(|one| steps.contains(&one.step))
        .map(|one| Finding { part_of: one.part_of.and_then(|whole| places.get(&whole).copied()), ..one })
        .collect()
}

fn trials(counted: Trials, steps: &[String]) -> Trials {
    let reasons: Vec<TrialReason> =
        counted.reasons.iter().filter(|one| steps.contains(&one.step)).cloned().collect();
    Trials { reasons, ..counted }
}

fn is_about(warning: &RunWarning, steps: &[String]) -> bool {
    warning.step.as_ref().is_none_or(|step| steps.contains(step))
}

fn warnings(all: Vec<RunWarning>, steps: &[String], shown: usize, of: usize) -> Vec<RunWarning> {
    let mut warnings: Vec<RunWarning> = all.into_iter().filter(|warning| is_about(warning, steps)).collect();
    if shown < of {
        warnings.push(RunWarning {
            step: None,
            id: SOME_STEPS.to_owned(),
            text: format!(
                "{shown} of {of} steps are shown; what holds for all together is judged on all of them"
            ),
        });
    }
    warnings
}
