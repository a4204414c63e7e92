//! The referee of a run: what `analysis` says of the launches so far, asked after each.

use analysis::{Judging, Look, Procedure, least_launches, max_launches};
use findings::judge::{Case, family};
use model::block::{Block, Side};
use model::plan::Plan;
use model::reason::LeaveReason;
use model::units::Nanos;
use model::warning::Warning;
use model::workload::{DatabaseKind, Step};
use runner::campaign::interleaved::referee::{AfterLaunch, Fixed, LaunchCost, Passed, Referee};
use std::collections::{BTreeMap, BTreeSet};

/// Decides for one plan.
pub struct Judge {
    plan: Plan,
    cpus: u32,
    judging: Judging,
    /// By step.
    blocks: BTreeMap<String, Vec<Block>>,
    /// Cases of which a change was announced.
    announced: BTreeSet<usize>,
}

impl Judge {
    /// A referee for a plan on a host with this many CPUs.
    pub fn new(plan: &Plan, cpus: u32) -> Judge {
        let judging = Judging::new(Procedure::new(plan.rule), family(plan).count());
        Judge { plan: plan.clone(), cpus, judging, blocks: BTreeMap::new(), announced: BTreeSet::new() }
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

impl Referee for Judge {
    fn fix(&mut self, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
        affordable(&self.plan, cost, left, active)
    }

    fn after_launch(&mut self, blocks: &[Block], active: &BTreeSet<String>, passed: Passed) -> AfterLaunch {
        for block in blocks {
            self.blocks.entry(block.trial.step.clone()).or_default().push(block.clone());
        }
        let look = Look::after(passed.launch, passed.share, passed.is_last);
        let announced = self.judge(look);
        let decided =
            self.plan.chosen_steps().filter(|step| active.contains(&step.name) && self.is_decided(step));
        let left = decided.map(|step| (step.name.clone(), LeaveReason::Decided)).collect();
        AfterLaunch { look: look.map(|look| look.share), announced, left }
    }
}

/// How many launches there may be: as many as the plan allows if the budget pays for enough of them to decide by ranks,
/// else those that it pays for. If these are too few to decide anything, without the steps that write (statistics 1.9,
/// rule 6), unless the user named the steps.
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
