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
    /// Drops steps if there is no time for them. The number of launches is left to the time: the first launch is often the costliest,
    /// so an estimate from it would end the campaign early. The test at the end stays valid, since the duration of a launch does not
    /// depend on which side is called the base.
    fn fix(&mut self, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
        let max_launches = self.plan.rule.max_launches;
        Fixed { max_launches, ..affordable(&self.plan, cost, left, active) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_costly_first_launch_does_not_cut_a_campaign_short() {
        let plan = testing::sides::record().plan;
        let active: BTreeSet<String> = plan.chosen_steps().map(|step| step.name.clone()).collect();
        let cost = LaunchCost { own: Nanos::from_secs(70), image: Nanos(0) };
        let fixed = OfCampaign::new(&plan, 2).fix(cost, Nanos::from_secs(450), &active);
        assert_eq!(fixed.max_launches, plan.rule.max_launches);
        let of_comparison =
            affordable(&Plan { steps_named: true, ..plan }, cost, Nanos::from_secs(450), &active);
        assert_eq!(
            of_comparison.max_launches, 6,
            "a comparison's looks are planned from what the first launch took"
        );
    }
}
