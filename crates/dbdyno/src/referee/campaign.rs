//! The referee of an interleaved campaign: it ends with its budget, or as soon as every interval is as narrow as the plan asks. Which side
//! is faster is never looked at before the end.

use super::{Blocks, add, affordable, done_blocks};
use analysis::least_launches;
use findings::sides::known_within;
use model::block::Block;
use model::plan::Plan;
use model::reason::LeaveReason;
use model::record::RunRecord;
use model::units::Nanos;
use runner::campaign::interleaved::referee::{AfterLaunch, Fixed, LaunchCost, Passed, Referee};
use std::collections::BTreeSet;

/// Decides for one plan.
pub struct OfCampaign {
    plan: Plan,
    cpus: u32,
    blocks: Blocks,
}

impl OfCampaign {
    /// A referee for a plan on a host with this many CPUs.
    pub fn new(plan: &Plan, cpus: u32) -> OfCampaign {
        OfCampaign { plan: plan.clone(), cpus, blocks: Blocks::new() }
    }

    /// With the blocks that the run has already.
    pub fn resumed(record: &RunRecord) -> OfCampaign {
        OfCampaign { blocks: done_blocks(record), ..OfCampaign::new(&record.plan, record.host.cpus) }
    }
}

impl Referee for OfCampaign {
    fn fix(&mut self, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
        affordable(&self.plan, cost, left, active)
    }

    fn after_launch(&mut self, blocks: &[Block], active: &BTreeSet<String>, passed: Passed) -> AfterLaunch {
        add(blocks, &mut self.blocks);
        let Some(until) = self.plan.rule.until else { return AfterLaunch::default() };
        if passed.launch < least_launches(self.plan.rule.alpha) {
            return AfterLaunch::default();
        }
        let known = known_within(&self.plan, self.cpus, &self.blocks);
        let is_known = |(step, half): &(String, f64)| active.contains(step) && *half <= until;
        let left = known.into_iter().filter(is_known);
        let left = left.map(|(step, half_width)| (step, LeaveReason::KnownWithin { half_width }));
        AfterLaunch { left: left.collect(), ..AfterLaunch::default() }
    }
}
