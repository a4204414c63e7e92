//! Concurrent steps with a stated rate, and the rate that each side reached: numbers of a side that reached less than 95 % of it were
//! measured under another load.

use analysis::{Cap, Ceiling};
use model::block::{BASE, Block, BlockKind, Side};
use model::plan::Plan;
use model::units::Nanos;
use model::warning::{Party, Warning};
use model::workload::Step;

/// A concurrent step with a stated rate.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundRate {
    /// The step that it runs concurrently with.
    pub step: String,
    pub stream: String,
    /// Operations per second that were asked for, over all clients.
    pub target: f64,
    /// Those that ran it, by side.
    pub sides: Vec<AchievedRate>,
}

/// What one side did, over all launches or rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AchievedRate {
    pub side: Side,
    /// Operations per second.
    pub achieved: f64,
    /// Whether that is less than 95 % of the rate.
    pub missed: bool,
}

impl BackgroundRate {
    pub fn of_side(&self, side: Side) -> Option<&AchievedRate> {
        self.sides.iter().find(|one| one.side == side)
    }
}

/// Those of the steps of a plan, in the order of its workload.
pub(crate) fn of(plan: &Plan, blocks: &[Block]) -> Vec<BackgroundRate> {
    plan.chosen_steps().flat_map(|step| of_step(plan, blocks, step)).collect()
}

/// What keeps a step of a candidate from a verdict: the base or the candidate reached less than 95 % of the rate of a concurrent step.
pub(crate) fn cap(plan: &Plan, blocks: &[Block], step: &Step, candidate: Side) -> Option<Cap> {
    plan.workload.companions(&step.name).find_map(|stream| {
        let rate = stream.rate?;
        let missed = |(of, side)| Some((of, of_side(plan, blocks, stream, side).filter(|one| one.missed)?));
        let (of, AchievedRate { achieved, .. }) =
            [(Party::Candidate, candidate), (Party::Base, BASE)].into_iter().find_map(missed)?;
        let warning = Warning::MissedRate { of, step: stream.name.clone(), achieved, rate };
        Some(Cap { ceiling: Ceiling::Inconclusive, warning })
    })
}

fn of_step<'a>(plan: &'a Plan, blocks: &'a [Block], step: &'a Step) -> impl Iterator<Item = BackgroundRate> {
    plan.workload.companions(&step.name).filter_map(|stream| {
        let sides = std::iter::once(BASE).chain(plan.candidate_sides());
        let sides = sides.filter_map(|side| of_side(plan, blocks, stream, side));
        let of_stream = BackgroundRate {
            step: step.name.clone(),
            stream: stream.name.clone(),
            target: stream.rate?,
            sides: sides.collect(),
        };
        (!of_stream.sides.is_empty()).then_some(of_stream)
    })
}

/// The base is all of its processes.
fn of_side(plan: &Plan, blocks: &[Block], stream: &Step, side: Side) -> Option<AchievedRate> {
    let is_of_side = |of: Side| of == side || side == BASE && plan.base_sides().any(|base| base == of);
    let measured = blocks.iter().filter(|block| {
        block.kind != BlockKind::Drain && block.trial.step == stream.name && is_of_side(block.trial.side)
    });
    let (operations, wall) =
        measured.fold((0, 0), |sum, block| (sum.0 + block.operations, sum.1 + block.wall.0));
    let wall = Nanos(wall);
    (wall > Nanos(0)).then(|| AchievedRate {
        side,
        achieved: operations as f64 / wall.as_secs_f64(),
        missed: stream.missed_rate(operations, wall).is_some(),
    })
}
