//! Candidates against the base, step by step and metric by metric, in complete rounds (statistics 1.6).

use super::columns::{COLUMNS, Column, OTHERS};
use super::findings::mean_of_side;
use super::series::judged;
use super::values::{Cells, Values};
use super::view::{Comparison, StepView};
use crate::view::Note;
use analysis::Ceiling;
use analysis::rounds::{self, BaseRule, RoundValues, RoundsFit, VersionComparison};
use model::block::{BASE, Side};
use model::plan::{DecisionRule, Design, Plan};
use model::record::{API_DIFFERS, RunRecord, RunWarning};
use model::verdict::Verdict;
use model::workload::Step;
use std::collections::{BTreeMap, BTreeSet};

/// Stalls of a release that has hardly any must not look like a change by a factor: half a percent of the time
/// counts for nothing.
const STALL_PERCENT_RESOLUTION: f64 = 0.5;

/// A metric of a step as the natural logarithms of rounds by subjects, for the subjects in the order of `sides`;
/// absent where no trial has it.
///
/// Where a value is 0, half of the resolution is added throughout (statistics 1.8); where the resolution is not
/// known, half of the smallest value that is not 0.
pub(super) fn logarithms(
    cells: &Cells,
    step: &str,
    sides: &[Side],
    value: &dyn Fn(&Values) -> Option<f64>,
    resolution: Option<f64>,
) -> Option<RoundValues> {
    let of_side = |side: Side| cells.get(&(step.to_owned(), side));
    let rounds: BTreeSet<u32> =
        sides.iter().filter_map(|side| of_side(*side)).flat_map(|rounds| rounds.keys().copied()).collect();
    let cell = |round: u32, side: Side| value(of_side(side)?.get(&round)?);
    let matrix: Vec<Vec<Option<f64>>> =
        rounds.iter().map(|round| sides.iter().map(|side| cell(*round, *side)).collect()).collect();
    let known = || matrix.iter().flatten().flatten().copied();
    let least_positive = known().filter(|value| *value > 0.0).min_by(f64::total_cmp)?;
    let added = match resolution {
        _ if known().any(|value| value < 0.0) => return None,
        Some(resolution) => 0.5 * resolution,
        None if known().any(|value| value <= 0.0) => 0.5 * least_positive,
        None => 0.0,
    };
    let logarithms = matrix
        .into_iter()
        .map(|round| round.into_iter().map(|cell| cell.map(|cell| (cell + added).ln())).collect());
    RoundValues::new(sides.len(), logarithms.collect()).ok()
}

/// [`logarithms`] of a column.
pub(super) fn of_column(cells: &Cells, step: &str, sides: &[Side], column: &Column) -> Option<RoundValues> {
    let resolution = (column.metric == "stall_percent").then_some(STALL_PERCENT_RESOLUTION);
    logarithms(cells, step, sides, &|values| judged(values, column), resolution)
}

/// Every candidate against the base in every metric of a step.
pub(super) fn comparisons(
    cells: &Cells,
    step: &Step,
    record: &RunRecord,
    seconds: &BTreeMap<(String, Side), f64>,
) -> Vec<Comparison> {
    let plan = &record.plan;
    let sides: Vec<Side> = (0..plan.subjects.len()).collect();
    let compared: Vec<(&'static Column, Vec<VersionComparison>)> = COLUMNS
        .iter()
        .filter(|column| column.metric != OTHERS)
        .filter_map(|column| {
            let fit = rounds::fit(&of_column(cells, &step.name, &sides, column)?);
            Some((column, against_base(&fit, &plan.rule, column)))
        })
        .collect();
    let mean = |side: Side, column: &Column| {
        mean_of_side(cells, &step.name, side, &|values| values.get(column.metric))
    };
    let took = |side: Side| seconds.get(&(step.name.clone(), side)).copied().unwrap_or(0.0);
    let mut found = Vec::new();
    for side in plan.candidate_sides() {
        for (index, (column, versions)) in compared.iter().enumerate() {
            let Some(version) = versions.iter().find(|version| version.version == side) else { continue };
            if mean(side, column).is_none() && mean(BASE, column).is_none() {
                continue;
            }
            let values = [mean(BASE, column), mean(side, column)];
            // The rate is the first column; where a step has none, nothing of it decides. A helper step only brings
            // the tree into a state: a script that counts verdicts must not count it.
            let decides = index == 0 && column.metric == super::columns::RATE && !step.helper;
            let mut one = comparison(version, column, values, decides, plan, took(BASE) + took(side));
            if let Some(warning) = other_call(record, step, side) {
                one.verdict = Verdict::RatioOnly;
                one.notes.push(Note { id: warning.id.clone(), text: warning.text.clone() });
            }
            if let Some(cap) = crate::elsewhere::cap(plan, side).filter(|_| decides) {
                one.verdict = cap.ceiling.lower(one.verdict);
                one.notes.push(Note { id: cap.warning.id, text: cap.warning.text });
            }
            found.push(one);
        }
    }
    found
}

/// The warning that a step calls another function of the engine on a side than on the base: no verdict about code.
fn other_call<'a>(record: &'a RunRecord, step: &Step, side: Side) -> Option<&'a RunWarning> {
    let begins = format!("{} ", record.plan.subjects[side].reference);
    record.warnings.iter().find(|warning| {
        warning.id == API_DIFFERS
            && warning.step.as_ref() == Some(&step.name)
            && warning.text.starts_with(&begins)
    })
}

/// Share of false ones among what a report says stands out (statistics 1.5).
const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// Looks at all decisions of a run together, over steps and candidates: the more there are, the more stand out by chance.
/// Marks those that do and could have a verdict (Benjamini-Hochberg), and the verdicts that hold for all together (Holm, as
/// in a comparison).
pub(super) fn judge_together(steps: &mut [StepView], plan: &Plan) {
    let family = steps.iter().filter(|step| !step.helper).count() * plan.candidate_sides().count();
    let mut all: Vec<&mut Comparison> = steps
        .iter_mut()
        .filter(|step| !step.helper)
        .flat_map(|step| step.comparisons.iter_mut())
        .filter(|one| one.decides && one.p_value.is_some())
        .collect();
    // The p of one comparison: the family of a step is part of the larger one.
    let mut p_values: Vec<f64> =
        all.iter().map(|one| one.p_value.unwrap_or(1.0) / bonferroni(plan)).collect();
    let discovered = analysis::family::benjamini_hochberg(&p_values, FALSE_DISCOVERY_RATE);
    // What has no p is in this family too: it could have had one.
    p_values.resize(family.max(p_values.len()), 1.0);
    let confirmed = analysis::family::holm(&p_values, plan.rule.alpha);
    for (one, (discovered, confirmed)) in all.iter_mut().zip(discovered.into_iter().zip(confirmed)) {
        let could = !matches!(one.verdict, Verdict::RatioOnly | Verdict::Suspect | Verdict::NoChange);
        one.discovered = discovered && could;
        one.confirmed = confirmed && matches!(one.verdict, Verdict::Regression | Verdict::Improvement);
    }
}

/// Candidates that share the alpha of a step.
pub(super) fn bonferroni(plan: &Plan) -> f64 {
    plan.candidate_sides().count().max(1) as f64
}

pub(super) fn against_base(fit: &RoundsFit, rule: &DecisionRule, column: &Column) -> Vec<VersionComparison> {
    let rule = BaseRule {
        base: BASE,
        alpha: rule.alpha,
        margin: rule.margin,
        layout_noise: rule.tau,
        direction: column.direction,
    };
    fit.against_base(&rule).unwrap_or_default()
}

fn comparison(
    version: &VersionComparison,
    column: &'static Column,
    [base_value, candidate_value]: [Option<f64>; 2],
    decides: bool,
    plan: &Plan,
    seconds: f64,
) -> Comparison {
    let difference = version.difference.as_ref();
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let low = finite(difference.and_then(|difference| difference.low));
    let mut notes: Vec<Note> =
        version.warnings.iter().map(|one| Note { id: one.id.clone(), text: one.text.clone() }).collect();
    let mut verdict = if decides { version.verdict } else { Verdict::RatioOnly };
    if plan.layout.design == Design::Sequential && decides && verdict != Verdict::RatioOnly {
        verdict = Ceiling::Suspect.lower(verdict);
        notes.push(Note {
            id: "sequential".to_owned(),
            text: "measured one after another: drift of the host looks like a difference".to_owned(),
        });
    }
    Comparison {
        side: version.version,
        column,
        decides,
        base_value,
        candidate_value,
        ratio: finite(difference.map(|difference| difference.ratio)),
        low,
        high: finite(difference.and_then(|difference| difference.high)),
        confidence: low.and(difference.map(|difference| difference.confidence)),
        p_value: version.p_family.filter(|_| decides),
        discovered: false,
        confirmed: false,
        verdict,
        rounds: difference
            .map_or(0, |of| u32::try_from(of.base_rounds.min(of.candidate_rounds)).unwrap_or(u32::MAX)),
        seconds,
        notes,
    }
}
