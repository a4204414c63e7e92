//! A report of some steps or some subjects of a run only. What holds for all steps together stays judged on all of them:
//! whoever looks at fewer must not find more.

use crate::calibration::CalibrationView;
use crate::comparison::{Change, Comparison, facts};
use model::block::{BASE, Side, TrialKey};
use model::names;
use model::record::{RunRecord, RunWarning};
use model::warning::{Selected, Warning};
use std::collections::BTreeMap;

/// What is selected; an empty list selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    pub steps: Vec<String>,
    /// Subjects, as the user named them; the base is always there.
    pub subjects: Vec<String>,
}

/// Why a run has no such part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchPart {
    #[error("run {run} has no {what} `{name}`{hint}")]
    Stranger {
        run: String,
        /// `step` or `subject`
        what: &'static str,
        name: String,
        hint: String,
    },
    #[error("`{base}` is the base of run {run}: choose a candidate: the base is always shown")]
    BaseOnly { run: String, base: String },
}

/// What is selected of a run. Views are built of the whole run, then cut to the part, so that verdicts stay.
#[derive(Debug, Clone)]
pub struct Part {
    /// The record of it, for what is drawn from records.
    pub record: RunRecord,
    selection: Selection,
    /// The sides that stay, by their numbers in the run. The place in it is the new number, so that views, records and
    /// labels agree.
    sides: Vec<Side>,
    /// What is shown, with its sentence; absent where that is everything.
    told: Option<(Warning, String)>,
}

impl Selection {
    /// Whether everything is selected.
    pub fn is_all(&self) -> bool {
        self.steps.is_empty() && self.subjects.is_empty()
    }

    /// The part of a run that is selected. Refuses names that the run has not.
    pub fn of(&self, record: RunRecord) -> Result<Part, NoSuchPart> {
        let subjects = names_of_subjects(&record);
        let left_out = record.plan.layout.left_out.iter().map(|one| one.reference.to_string());
        let all_subjects: Vec<String> = subjects.iter().cloned().chain(left_out).collect();
        let known = |what: &'static str, chosen: &[String], all: &[String]| {
            let stranger = chosen.iter().find(|name| !all.contains(name));
            stranger.map_or(Ok(()), |name| {
                let hint = names::hint(name, all.iter().map(String::as_str));
                Err(NoSuchPart::Stranger { run: record.id.clone(), what, name: name.clone(), hint })
            })
        };
        known("step", &self.steps, &record.plan.steps)?;
        known("subject", &self.subjects, &all_subjects)?;
        let base: Vec<Side> = record.plan.base_sides().collect();
        let stays = |side: &Side| base.contains(side) || self.has_subject(&subjects[*side]);
        let sides: Vec<Side> = (0..subjects.len()).filter(stays).collect();
        if sides.len() == base.len()
            && self.subjects.iter().all(|name| *name == subjects[BASE])
            && subjects.len() > 1
        {
            return Err(NoSuchPart::BaseOnly { run: record.id, base: subjects[BASE].clone() });
        }
        let of = |names: Vec<String>, shown: usize, all: usize| {
            (shown < all).then_some(Selected { shown: shown as u64, all: all as u64, names })
        };
        // Further processes of the base are no subjects of their own.
        let further = base.len() - 1;
        let shown_subjects: Vec<String> =
            sides[..sides.len() - further].iter().map(|side| subjects[*side].clone()).collect();
        let steps_shown = record.plan.steps.iter().filter(|step| self.has_step(step)).count();
        let steps = of(self.steps.clone(), steps_shown, record.plan.steps.len());
        let subjects = of(shown_subjects, sides.len() - further, subjects.len() - further);
        let warning =
            (steps.is_some() || subjects.is_some()).then_some(Warning::Selection { steps, subjects });
        let told = warning.map(|warning| {
            let sentence = format!("{warning}.");
            (warning, sentence)
        });
        let record = if told.is_some() { self.narrow(record, &sides) } else { record };
        Ok(Part { record, selection: self.clone(), sides, told })
    }

    fn has_step(&self, step: &str) -> bool {
        self.steps.is_empty() || self.steps.iter().any(|chosen| chosen == step)
    }

    fn has_subject(&self, subject: &str) -> bool {
        self.subjects.is_empty() || self.subjects.iter().any(|chosen| chosen == subject)
    }

    fn narrow(&self, mut record: RunRecord, sides: &[Side]) -> RunRecord {
        let stays = |trial: &mut TrialKey| self.has_step(&trial.step) && renumber(sides, &mut trial.side);
        record.blocks.retain_mut(|block| stays(&mut block.trial));
        record.trials.retain_mut(|ended| stays(&mut ended.trial));
        record.shapes.retain_mut(|read| stays(&mut read.trial));
        record.engine_texts.retain_mut(|text| stays(&mut text.trial));
        record.engine_works.retain_mut(|work| renumber(sides, &mut work.side));
        record.seconds = std::mem::take(&mut record.seconds)
            .into_iter()
            .filter_map(|(mut trial, seconds)| stays(&mut trial).then_some((trial, seconds)))
            .collect();
        record.step_exits.retain(|exit| self.has_step(&exit.step));
        record.warnings.retain(|warning| self.is_about(warning));
        record.options_in_effect = renumbered(sides, &mut record.options_in_effect);
        let plan = &mut record.plan;
        let left: Vec<String> =
            plan.steps.iter().filter(|step| !self.has_step(step)).map(|step| format!("{step}/")).collect();
        record.raw_outputs.retain(|output| !left.iter().any(|step| output.name.starts_with(step)));
        if sides.len() < plan.subjects.len() {
            // By the numbers that its sides have in the store, which they must be asked for by.
            record.raw_outputs.clear();
        }
        plan.layout.db_bench = renumbered(sides, &mut plan.layout.db_bench);
        plan.layout.omitted_options.retain_mut(|one| renumber(sides, &mut one.side));
        plan.layout.left_out.retain(|one| self.has_subject(&one.reference.to_string()));
        plan.steps.retain(|step| self.has_step(step));
        let mut side = 0;
        plan.subjects.retain(|_| {
            side += 1;
            sides.contains(&(side - 1))
        });
        record
    }

    fn is_about(&self, warning: &RunWarning) -> bool {
        warning.step.as_ref().is_none_or(|step| self.has_step(step))
    }
}

impl Part {
    /// The part of a comparison. Changes of its steps stay whole: they look along releases, the unselected ones with
    /// them.
    pub fn of_comparison(&self, mut view: Comparison) -> Comparison {
        if self.told.is_none() {
            return view;
        }
        let sides = &self.sides;
        view.subjects.retain_mut(|subject| renumber(sides, &mut subject.side));
        view.steps.retain(|step| self.selection.has_step(&step.name));
        for step in &mut view.steps {
            step.rows.retain_mut(|row| renumber(sides, &mut row.side));
            step.cases.retain_mut(|case| renumber(sides, &mut case.side));
            step.shapes.retain_mut(|shape| renumber(sides, &mut shape.side));
            let rows = &step.rows;
            step.columns.retain(|metric| rows.iter().any(|row| row.mean.get(*metric).is_some()));
        }
        view.left_out.retain(|one| self.selection.has_subject(&one.reference.to_string()));
        let subjects = names_of_subjects(&self.record);
        for option in &mut view.omitted {
            option.subjects.retain(|subject| subjects.contains(subject));
        }
        view.omitted.retain(|option| !option.subjects.is_empty());
        let steps = &view.steps;
        // A group stands for all its steps, or not at all.
        view.groups.retain_mut(|group| {
            let of_group = steps.iter().filter(|step| step.group == group.group && !step.helper);
            renumber(sides, &mut group.side)
                && of_group.filter_map(|step| step.case(group.side)?.ratio()).count()
                    == group.members as usize
        });
        view.changes = self.changes(view.changes);
        view.trends.retain(|one| self.selection.has_step(&one.step));
        view.courses.retain_mut(|one| self.selection.has_step(&one.step) && renumber(sides, &mut one.side));
        view.plan_changes
            .retain_mut(|one| self.selection.has_step(&one.step) && renumber(sides, &mut one.side));
        view.background_rates.retain(|one| self.selection.has_step(&one.step));
        for stream in &mut view.background_rates {
            stream.sides.retain_mut(|one| renumber(sides, &mut one.side));
        }
        view.disturbed.retain_mut(|one| self.selection.has_step(&one.step) && renumber(sides, &mut one.side));
        view.trials = facts::trials(&self.record);
        self.warn(&mut view.warnings);
        view
    }

    /// The part of a calibration, whose sides are one subject. Whether the harness is honest is said of all steps.
    pub fn of_calibration(&self, mut view: CalibrationView) -> CalibrationView {
        view.rows.retain(|row| self.selection.has_step(&row.step));
        view.judged.retain(|judged| self.selection.has_step(&judged.step));
        view.part = self.told.as_ref().map(|(_, sentence)| sentence.clone());
        view
    }

    /// Changes of the steps; those that went with one of another step stand by themselves.
    fn changes(&self, all: Vec<Change>) -> Vec<Change> {
        let stays = |one: &Change| self.selection.has_step(&one.step);
        let kept = all.iter().enumerate().filter(|(_, one)| stays(one)).map(|(index, _)| index);
        let places: BTreeMap<usize, usize> = kept.zip(0..).collect();
        all.into_iter()
            .filter(stays)
            .map(|one| Change { part_of: one.part_of.and_then(|whole| places.get(&whole).copied()), ..one })
            .collect()
    }

    fn warn(&self, warnings: &mut Vec<RunWarning>) {
        warnings.retain(|warning| self.selection.is_about(warning));
        let told = self.told.iter().map(|(warning, _)| warning.clone());
        warnings.extend(told.map(|warning| RunWarning { step: None, warning }));
    }
}

fn names_of_subjects(record: &RunRecord) -> Vec<String> {
    record.plan.subjects.iter().map(|subject| subject.reference.to_string()).collect()
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
