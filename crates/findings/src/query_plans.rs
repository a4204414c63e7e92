//! Statements that two sides of a step run by other query plans. Of each side all plans count that it had in the run: one that flips within it
//! differs from one that does not.

use model::block::Side;
use model::plan::Plan;
use model::query_plan::{PlanText, QueryPlan, of_text};
use model::record::RunRecord;
use model::wire::EngineText;
use serde::Serialize;
use std::collections::BTreeMap;

/// A statement of a step that a candidate runs otherwise than the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChange {
    pub step: String,
    /// The candidate.
    pub side: Side,
    /// With placeholders for its values.
    pub statement: String,
    pub base: PlanOfSide,
    pub candidate: PlanOfSide,
}

/// The plan of a statement on one side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PlanOfSide {
    /// The last one that the other side never had, or the last: a line for each node, without costs and values.
    pub nodes: Vec<String>,
    /// The same as the server told it.
    pub texts: Vec<PlanText>,
    /// Different plans that it had within the run.
    pub plans: usize,
    /// Why the server does not explain the statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The plans of each statement that a side had, in the order in which they were seen.
type Seen = BTreeMap<String, Vec<QueryPlan>>;

/// Those of the chosen steps, in the order of the workload, then of the candidates.
pub(crate) fn changes(plan: &Plan, record: &RunRecord) -> Vec<PlanChange> {
    let mut changes = Vec::new();
    for step in plan.chosen_steps() {
        let base = seen(record, &step.name, |side| plan.base_sides().any(|one| one == side));
        for side in plan.candidate_sides() {
            let candidate = seen(record, &step.name, |one| one == side);
            changes.extend(base.iter().filter_map(|(statement, base)| {
                let candidate = candidate.get(statement)?;
                differ(base, candidate).then(|| PlanChange {
                    step: step.name.clone(),
                    side,
                    statement: statement.clone(),
                    base: of_side(base, candidate),
                    candidate: of_side(candidate, base),
                })
            }));
        }
    }
    changes
}

impl PlanChange {
    /// Whether both plans are known.
    pub fn is_known(&self) -> bool {
        self.base.refused.is_none() && self.candidate.refused.is_none()
    }
}

fn seen(record: &RunRecord, step: &str, is_side: impl Fn(Side) -> bool) -> Seen {
    let mut seen = Seen::new();
    let texts = record.engine_texts.iter().filter(|one| {
        one.what == EngineText::QueryPlans && one.trial.step == step && is_side(one.trial.side)
    });
    for plan in texts.flat_map(|one| of_text(&one.text)) {
        seen.entry(plan.statement.clone()).or_default().push(plan);
    }
    seen
}

/// Whether one of them has a plan that the other never had; a refusal is one of its own.
fn differ(base: &[QueryPlan], candidate: &[QueryPlan]) -> bool {
    base.iter().any(|one| lacks(candidate, one)) || candidate.iter().any(|one| lacks(base, one))
}

fn lacks(all: &[QueryPlan], one: &QueryPlan) -> bool {
    !all.iter().any(|other| is_same(one, other))
}

fn is_same(one: &QueryPlan, other: &QueryPlan) -> bool {
    one.nodes == other.nodes && one.refused.is_some() == other.refused.is_some()
}

/// By the last plan that the other side never had, else by the last.
fn of_side(seen: &[QueryPlan], other: &[QueryPlan]) -> PlanOfSide {
    let Some(shown) = seen.iter().rev().find(|plan| lacks(other, plan)).or(seen.last()) else {
        return PlanOfSide::default();
    };
    let is_new = |(place, plan): &(usize, &QueryPlan)| lacks(&seen[..*place], plan);
    PlanOfSide {
        nodes: shown.nodes.clone(),
        texts: shown.texts.clone(),
        plans: seen.iter().enumerate().filter(is_new).count(),
        refused: shown.refused.clone(),
    }
}
