//! The referee of a comparison: what `analysis` says of the launches so far, asked after each.

use super::{Blocks, add, affordable, done_blocks};
use analysis::{Judging, Look, Procedure};
use findings::judge::{Case, family, looks};
use model::block::{Block, Side};
use model::plan::Plan;
use model::reason::LeaveReason;
use model::record::RunRecord;
use model::units::Nanos;
use model::warning::Warning;
use model::workload::Step;
use runner::campaign::interleaved::referee::{AfterLaunch, Fixed, LaunchCost, Passed, Referee};
use std::collections::BTreeSet;

/// Decides for one plan.
pub struct OfComparison {
    plan: Plan,
    cpus: u32,
    judging: Judging,
    blocks: Blocks,
    /// Cases of which a change was announced.
    announced: BTreeSet<usize>,
}

impl OfComparison {
    /// A referee for a plan on a host with this many CPUs.
    pub fn new(plan: &Plan, cpus: u32) -> OfComparison {
        let judging = Judging::new(Procedure::new(plan.rule), family(plan).count());
        OfComparison { plan: plan.clone(), cpus, judging, blocks: Blocks::new(), announced: BTreeSet::new() }
    }

    /// With the launches that the run has already, and what was said of them.
    pub fn resumed(record: &RunRecord) -> OfComparison {
        let mut referee = OfComparison::new(&record.plan, record.host.cpus);
        referee.blocks = done_blocks(record);
        for look in looks(record) {
            referee.judge(Some(look));
        }
        referee.judge(None);
        referee
    }

    /// Gives the steps that were open at the end more time.
    pub fn extend(&mut self) {
        self.judging.extend();
    }

    /// The steps that need no more launches.
    pub fn decided(&self) -> impl Iterator<Item = &Step> {
        self.plan.chosen_steps().filter(|step| self.is_decided(step))
    }

    /// Takes in what a launch added: looks at all launches so far, as a report does that replays the look, if it is time to,
    /// and gathers what may be announced. Caps lower a verdict in the report; they do not keep a step from leaving.
    fn judge(&mut self, look: Option<Look>) -> Vec<(String, Side, Warning)> {
        let plan = &self.plan;
        let cases: Vec<Case<'_>> = family(plan)
            .map(|(step, candidate)| Case {
                plan,
                cpus: self.cpus,
                blocks: self.blocks.get(&step.name).map(Vec::as_slice).unwrap_or_default(),
                record: None,
                step,
                candidate,
            })
            .collect();
        let launches: Vec<_> = cases.iter().map(Case::summaries).collect();
        let judged: Vec<_> = cases
            .iter()
            .zip(&launches)
            .map(|(case, launches)| case.for_analysis(launches, &[], None))
            .collect();
        if let Some(look) = look {
            self.judging.look(&judged, look);
        }
        let mut announced = Vec::new();
        for (index, (case, judged)) in cases.iter().zip(&judged).enumerate() {
            if let Some(warning) = self.judging.provisional(index, judged)
                && self.announced.insert(index)
            {
                announced.push((case.step.name.clone(), case.candidate, warning));
            }
        }
        announced
    }

    fn is_decided(&self, step: &Step) -> bool {
        family(&self.plan)
            .enumerate()
            .filter(|(_, (one, _))| one.name == step.name)
            .all(|(case, _)| self.judging.is_decided(case))
    }
}

impl Referee for OfComparison {
    fn fix(&mut self, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
        affordable(&self.plan, cost, left, active)
    }

    fn after_launch(&mut self, blocks: &[Block], active: &BTreeSet<String>, passed: Passed) -> AfterLaunch {
        add(blocks, &mut self.blocks);
        let look = Look::after(passed.launch, passed.share, passed.is_last);
        let announced = self.judge(look);
        let decided = self.decided().filter(|step| active.contains(&step.name));
        let left = decided.map(|step| (step.name.clone(), LeaveReason::Decided)).collect();
        AfterLaunch { look: look.map(|look| look.share), announced, left }
    }
}
