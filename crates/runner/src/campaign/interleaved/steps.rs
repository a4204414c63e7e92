//! Which steps a launch needs, what their databases hold, and who makes these.

use model::block::{BASE, Side};
use model::build::BuildSource;
use model::plan::Plan;
use model::subject::compare_versions;
use model::workload::{DatabaseKind, Operation, Step};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The side whose build makes the images: the oldest release, because newer ones open its files
/// (statistics 7, rule 1). The names of own builds stand in no order, those of commits least of all: they come after
/// the releases, and the base before its candidates.
pub fn oldest_side(plan: &Plan, sides: &[Side]) -> Side {
    let is_own = |side: Side| matches!(plan.subjects[side].build.source, BuildSource::Own { .. });
    let version = |side: Side| plan.subjects[side].reference.build.version.as_str();
    let order = |left: Side, right: Side| match (is_own(left), is_own(right)) {
        (false, false) => compare_versions(version(left), version(right)),
        (true, true) => Ordering::Equal,
        (left, right) => left.cmp(&right),
    };
    sides.iter().copied().min_by(|left, right| order(*left, *right).then(left.cmp(right))).unwrap_or(BASE)
}

/// An image holds every key; an own database does unless it was filled in random order.
pub fn all_keys_exist(plan: &Plan, step: &Step) -> bool {
    step.database == DatabaseKind::Image
        || plan.workload.steps.iter().all(|step| step.operation != Operation::FillRandom)
}

/// The steps on an own database up to the last one that is active: those before it make its tree. Companions come with
/// the step that they are beside.
pub fn needed_own_steps<'a>(plan: &'a Plan, active: &BTreeSet<String>) -> Vec<&'a Step> {
    let own: Vec<&Step> =
        plan.workload.steps.iter().filter(|step| step.database == DatabaseKind::Own).collect();
    let needed = own.iter().rposition(|step| active.contains(&step.name)).map_or(0, |last| last + 1);
    own.into_iter().take(needed).filter(|step| !step.is_companion()).collect()
}
