//! Who says when a run has measured enough.

mod before;
mod campaign;
mod comparison;

pub use before::{ended_launches, has_open_steps, resumed};

use campaign::OfCampaign;
use comparison::OfComparison;

use analysis::{least_launches, max_launches};
use model::block::{Block, Outcome};
use model::plan::Plan;
use model::reason::LeaveReason;
use model::record::RunRecord;
use model::units::Nanos;
use model::workload::DatabaseKind;
use runner::campaign::interleaved::referee::{Fixed, LaunchCost, Referee};
use std::collections::{BTreeMap, BTreeSet};

/// Of a plan that has not begun, on a host with this many CPUs.
pub fn of_plan(plan: &Plan, cpus: u32) -> Box<dyn Referee> {
    if plan.is_interleaved_campaign() {
        Box::new(OfCampaign::new(plan, cpus))
    } else {
        Box::new(OfComparison::new(plan, cpus))
    }
}

/// Blocks by their step.
type Blocks = BTreeMap<String, Vec<Block>>;

fn add<'a>(blocks: impl IntoIterator<Item = &'a Block>, to: &mut Blocks) {
    for block in blocks {
        to.entry(block.trial.step.clone()).or_default().push(block.clone());
    }
}

/// The blocks of a stored run that count: those of trials that are done.
fn done_blocks(record: &RunRecord) -> Blocks {
    let done = record.trials.iter().filter(|ended| ended.outcome == Outcome::Done);
    let done: BTreeSet<_> = done.map(|ended| &ended.trial).collect();
    let mut blocks = Blocks::new();
    add(record.blocks.iter().filter(|block| done.contains(&block.trial)), &mut blocks);
    blocks
}

/// How many launches there may be: as many as the plan allows if the budget pays for enough of them to decide by ranks,
/// else those that it pays for. If these are too few to decide anything, without the steps that write, unless the user
/// named the steps (statistics 1.9, rule 6).
fn affordable(plan: &Plan, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
    let most = plan.rule.max_launches;
    let least = least_launches(plan.rule.alpha);
    let affordable = |cost: Nanos| max_launches(left, cost).clamp(1, most);
    // The time that steps leave to others is not known yet, so there is no smaller bound than the plan's.
    let fixed = |launches: u32, dropped| Fixed {
        max_launches: if launches >= least { most } else { launches },
        dropped,
    };
    let all = affordable(cost.own + cost.image);
    let of_kind = |kind: DatabaseKind| {
        plan.chosen_steps().filter(move |step| step.database == kind && active.contains(&step.name))
    };
    let can_drop = !plan.steps_named
        && of_kind(DatabaseKind::Own).next().is_some()
        && of_kind(DatabaseKind::Image).next().is_some();
    if all >= least || !can_drop || most < least {
        return fixed(all, Vec::new());
    }
    let reason = LeaveReason::Dropped { affordable: all, least };
    let dropped = of_kind(DatabaseKind::Own).map(|step| (step.name.clone(), reason.clone())).collect();
    fixed(affordable(cost.image), dropped)
}
