//! What an interleaved run has already that is gone on with.

use super::{OfCampaign, OfComparison};
use model::reason::LeaveReason;
use model::record::RunRecord;
use runner::campaign::interleaved::machine::Before;
use runner::campaign::interleaved::referee::Referee;
use std::collections::BTreeSet;

/// The referee of a run that is gone on with, and what the run has.
pub fn resumed(record: &RunRecord) -> (Box<dyn Referee>, Before) {
    if record.plan.is_interleaved_campaign() {
        let left = record.step_exits.iter().map(|exit| exit.step.clone()).collect();
        return (Box::new(OfCampaign::resumed(record)), before(record, left));
    }
    // Which steps have their verdict follows from the looks. An extension is for those that were open at the end.
    let mut referee = OfComparison::resumed(record);
    let is_over = last_look(record) >= end(record);
    if record.plan.rule.extension.is_some() && !is_over {
        referee.extend();
    }
    let left = left(record, &referee);
    (Box::new(referee), before(record, left))
}

/// Whether an extension of a comparison that has ended would measure anything.
pub fn has_open_steps(record: &RunRecord) -> bool {
    let mut referee = OfComparison::resumed(record);
    referee.extend();
    left(record, &referee).len() < record.plan.steps.len()
}

/// The steps of a comparison that are not measured any more.
fn left(record: &RunRecord, referee: &OfComparison) -> BTreeSet<String> {
    let dropped = record.step_exits.iter().filter(|exit| exit.reason != LeaveReason::Decided);
    let decided = referee.decided().map(|step| step.name.clone());
    dropped.map(|exit| exit.step.clone()).chain(decided).collect()
}

/// The number of the last launch that ended.
pub fn ended_launches(record: &RunRecord) -> u32 {
    record
        .launches
        .iter()
        .filter(|launch| launch.took.is_some())
        .map(|launch| launch.launch)
        .max()
        .unwrap_or(0)
}

fn before(record: &RunRecord, left: BTreeSet<String>) -> Before {
    let rule = record.plan.rule;
    let ended = record.launches.iter().filter_map(|launch| Some((launch.launch, launch.took?)));
    let (budget, spent) = record.plan.budget_and_spent(ended);
    let end = end(record);
    let by_time = end - 1.0 + spent.as_secs_f64() / budget.as_secs_f64().max(f64::MIN_POSITIVE);
    Before {
        launches: ended_launches(record),
        max_launches: rule.extension.map(|_| rule.max_launches).or(record.max_launches),
        left,
        budget: budget.saturating_sub(spent),
        // The time before the first launch is no part of a share: a look may have seen more than the launches took.
        shares: by_time.max(last_look(record)).min(end - 1e-6)..end,
    }
}

/// The share of the time at which the run is over.
fn end(record: &RunRecord) -> f64 {
    if record.plan.rule.extension.is_some() { 2.0 } else { 1.0 }
}

fn last_look(record: &RunRecord) -> f64 {
    record.launches.iter().filter_map(|launch| launch.look).fold(0.0, f64::max)
}
