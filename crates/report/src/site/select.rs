//! Some steps or some candidates of a report. What was judged stays judged: a selection made after the fact must not
//! change what holds for all steps together.

use crate::calibration::CalibrationView;
use crate::campaign::CampaignView;
use crate::view::ReportView;
use model::block::{BASE, Side, TrialKey};
use model::names;
use model::record::RunRecord;
use std::collections::BTreeMap;

/// What is selected; an empty list selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names of steps.
    pub steps: Vec<String>,
    /// Subjects, as the user named them; the base is always there.
    pub subjects: Vec<String>,
}

/// A name that is not in the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run has no {what} `{name}`{hint}")]
pub struct Stranger {
    /// `step` or `subject`
    pub what: &'static str,
    /// The name.
    pub name: String,
    /// The nearest ones that are.
    pub hint: String,
}

impl Selection {
    /// Whether everything is selected.
    pub fn is_all(&self) -> bool {
        self.steps.is_empty() && self.subjects.is_empty()
    }

    /// Refuses names that the run has not.
    pub fn check(&self, record: &RunRecord) -> Result<(), Stranger> {
        let subjects: Vec<String> =
            record.plan.subjects.iter().map(|subject| subject.reference.to_string()).collect();
        known("step", &self.steps, &record.plan.steps)?;
        known("subject", &self.subjects, &subjects)
    }

    /// Says what is shown; absent where that is everything.
    pub fn sentence(&self, record: &RunRecord) -> Option<String> {
        let of = |what: &str, chosen: &[String], all: usize| {
            (!chosen.is_empty()).then(|| format!("{} of {all} {what}: {}", chosen.len(), chosen.join(", ")))
        };
        let parts = [
            of("steps", &self.steps, record.plan.steps.len()),
            of("subjects", &self.subjects, record.plan.subjects.len()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| {
            format!(
                "A selection: {}. Verdicts and sentences are those of the whole run, not of the selection.",
                parts.join("; ")
            )
        })
    }

    fn has_step(&self, step: &str) -> bool {
        self.steps.is_empty() || self.steps.iter().any(|chosen| chosen == step)
    }

    /// The sides that stay, with the base: the index in it is the new side, so that views, records and labels agree.
    fn sides(&self, record: &RunRecord) -> Vec<Side> {
        let has = |side: &Side| {
            let reference = record.plan.subjects[*side].reference.to_string();
            *side == BASE || self.subjects.is_empty() || self.subjects.contains(&reference)
        };
        (0..record.plan.subjects.len()).filter(has).collect()
    }

    /// Leaves the selected rows of a comparison of this record. Groups stay where all their steps do.
    pub fn apply(&self, view: &mut ReportView, record: &RunRecord) {
        let sides = self.sides(record);
        view.candidates.retain_mut(|candidate| renumber(&sides, &mut candidate.side));
        for candidate in &mut view.candidates {
            candidate.rows.retain(|row| self.has_step(&row.step));
            candidate.groups.retain_mut(|group| self.steps.is_empty() && renumber(&sides, &mut group.side));
        }
        view.shapes.retain(|shape| self.has_step(&shape.step));
    }

    /// The same of a campaign. Findings stay: they look along releases, the unselected ones with them.
    pub fn apply_to_campaign(&self, view: &mut CampaignView, record: &RunRecord) {
        let sides = self.sides(record);
        view.subjects.retain_mut(|subject| renumber(&sides, &mut subject.side));
        view.steps.retain(|step| self.has_step(&step.name));
        for step in &mut view.steps {
            step.rows.retain_mut(|row| renumber(&sides, &mut row.side));
            step.comparisons.retain_mut(|one| renumber(&sides, &mut one.side));
        }
        view.groups.retain_mut(|group| self.steps.is_empty() && renumber(&sides, &mut group.side));
        view.disturbed.retain_mut(|one| self.has_step(&one.step) && renumber(&sides, &mut one.side));
    }

    /// The same of a calibration, whose sides are one subject. Whether the harness is honest is said of all steps.
    pub fn apply_to_calibration(&self, view: &mut CalibrationView) {
        view.rows.retain(|row| self.has_step(&row.step));
        view.judged.retain(|judged| self.has_step(&judged.step));
    }

    /// The record of what is selected. The list of raw output goes with the whole report: its sides are those of the run.
    pub fn apply_to_record(&self, record: &mut RunRecord) {
        let sides = self.sides(record);
        let stays = |trial: &mut TrialKey| self.has_step(&trial.step) && renumber(&sides, &mut trial.side);
        record.blocks.retain_mut(|block| stays(&mut block.trial));
        record.trials.retain_mut(|ended| stays(&mut ended.trial));
        record.shapes.retain_mut(|read| stays(&mut read.trial));
        record.engine_texts.retain_mut(|text| stays(&mut text.trial));
        record.seconds = std::mem::take(&mut record.seconds)
            .into_iter()
            .filter_map(|(mut trial, seconds)| stays(&mut trial).then_some((trial, seconds)))
            .collect();
        record.options_in_effect = renumbered(&sides, &mut record.options_in_effect);
        record.raw_outputs.clear();
        let plan = &mut record.plan;
        plan.layout.db_bench = renumbered(&sides, &mut plan.layout.db_bench);
        plan.layout.omitted_options.retain_mut(|one| renumber(&sides, &mut one.side));
        plan.steps.retain(|step| self.has_step(step));
        let mut side = 0;
        plan.subjects.retain(|_| {
            side += 1;
            sides.contains(&(side - 1))
        });
    }
}

/// Whether a side stays; if so it gets its new number.
fn renumber(sides: &[Side], side: &mut Side) -> bool {
    let new = sides.iter().position(|stays| stays == side);
    *side = new.unwrap_or(*side);
    new.is_some()
}

fn renumbered<V>(sides: &[Side], of_side: &mut BTreeMap<Side, V>) -> BTreeMap<Side, V> {
    let all = std::mem::take(of_side).into_iter();
    all.filter_map(|(mut side, value)| renumber(sides, &mut side).then_some((side, value))).collect()
}

fn known(what: &'static str, chosen: &[String], all: &[String]) -> Result<(), Stranger> {
    match chosen.iter().find(|name| !all.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Stranger {
            what,
            name: name.clone(),
            hint: names::hint(name, all.iter().map(String::as_str)),
        }),
    }
}
