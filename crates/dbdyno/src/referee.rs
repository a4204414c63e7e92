//! The referee of a run: what `analysis` says of the launches so far, asked after each.

use analysis::{Procedure, Stage, least_launches, max_launches};
use findings::judge::{Case, judge};
use model::block::{Block, Side};
use model::plan::{DecisionRule, Plan};
use model::reason::LeaveReason;
use model::units::Nanos;
use model::workload::{DatabaseKind, Step};
use runner::campaign::interleaved::referee::{Fixed, LaunchCost, Referee};
use std::collections::{BTreeMap, BTreeSet};

/// Decides for one plan.
pub struct Judge {
    plan: Plan,
    cpus: u32,
    /// Made when the largest number of launches is fixed.
    procedure: Option<Procedure>,
    blocks: BTreeMap<String, Vec<Block>>,
}

impl Judge {
    /// A referee for a plan on a host with this many CPUs.
    pub fn new(plan: &Plan, cpus: u32) -> Judge {
        Judge { plan: plan.clone(), cpus, procedure: None, blocks: BTreeMap::new() }
    }

    fn is_decided(&self, step: &Step, candidate: Side) -> bool {
        let Some(procedure) = &self.procedure else { return false };
        let Some(blocks) = self.blocks.get(&step.name) else { return false };
        let case = Case { plan: &self.plan, cpus: self.cpus, blocks, record: None, step, candidate };
        // Caps lower a verdict in the report; they do not keep a step from leaving.
        judge(case, &[], procedure, Stage::Running).judgement.decided
    }
}

impl Referee for Judge {
    fn fix(&mut self, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
        let fixed = affordable(&self.plan, cost, left, active);
        let rule = DecisionRule { max_launches: fixed.max_launches, ..self.plan.rule };
        self.procedure = Some(Procedure::new(rule));
        fixed
    }

    fn after_launch(&mut self, blocks: &[Block], active: &BTreeSet<String>) -> Vec<(String, LeaveReason)> {
        for block in blocks {
            self.blocks.entry(block.trial.step.clone()).or_default().push(block.clone());
        }
        self.plan
            .chosen_steps()
            .filter(|step| active.contains(&step.name))
            .filter(|step| self.plan.candidate_sides().all(|side| self.is_decided(step, side)))
            .map(|step| (step.name.clone(), LeaveReason::Decided))
            .collect()
    }
}

/// How many launches the budget allows; where they are too few to decide anything, without the steps that
/// write (statistics 1.9, rule 6), unless the user named the steps.
fn affordable(plan: &Plan, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
    let most = plan.rule.max_launches;
    let affordable = |cost: Nanos| max_launches(left, cost).clamp(1, most);
    let least = least_launches(plan.rule.alpha / 2.0);
    let all = affordable(cost.own + cost.image);
    let of_kind = |kind: DatabaseKind| {
        plan.chosen_steps().filter(move |step| step.database == kind && active.contains(&step.name))
    };
    let can_drop = !plan.steps_named
        && of_kind(DatabaseKind::Own).next().is_some()
        && of_kind(DatabaseKind::Image).next().is_some();
    if all >= least || !can_drop || most < least {
        return Fixed { max_launches: all, dropped: Vec::new() };
    }
    let reason = LeaveReason::Dropped { affordable: all, least };
    let dropped = of_kind(DatabaseKind::Own).map(|step| (step.name.clone(), reason.clone())).collect();
    Fixed { max_launches: affordable(cost.image), dropped }
}
