//! Steps with a stated rate that run beside others, and what each side did of it: numbers of a side that did less than its share were
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
    /// The step beside which it runs.
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

/// What keeps a step of a candidate from a verdict: either side had less than 95 % of the rate of a stream beside it.
pub(crate) fn cap(plan: &Plan, blocks: &[Block], step: &Step, candidate: Side) -> Option<Cap> {
    of_step(plan, blocks, step).into_iter().find_map(|of_stream| {
        let missed = |(of, side)| Some((of, *of_stream.of_side(side).filter(|one| one.missed)?));
        let (of, AchievedRate { achieved, .. }) =
            [(Party::Candidate, candidate), (Party::Base, BASE)].into_iter().find_map(missed)?;
        let warning =
            Warning::MissedRate { of, step: of_stream.stream.clone(), achieved, rate: of_stream.target };
        Some(Cap { ceiling: Ceiling::Inconclusive, warning })
    })
}

fn of_step<'a>(plan: &'a Plan, blocks: &'a [Block], step: &'a Step) -> impl Iterator<Item = BackgroundRate> {
    plan.workload.companions(&step.name).filter_map(|stream| {
        let sides = plan.candidate_sides().collect::<Vec<Side>>();
        let sides = std::iter::once(BASE).chain(sides).filter_map(|side| of_side(plan, blocks, stream, side));
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
