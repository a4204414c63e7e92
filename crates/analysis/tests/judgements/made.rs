//! Blocks of launches whose ratios are given, for the tests of verdicts.

use analysis::launch::Comparison;
use analysis::simulation::blocks::{BlockSpec, STEP, block, reads};
use analysis::{Judgement, Procedure, Stage, StepFacts, judge, pairs};
use model::block::Block;
use model::plan::DecisionRule;
use std::collections::BTreeSet;

/// Candidate over base in one launch, by rate.
#[derive(Debug, Clone, Copy)]
pub struct Ratios {
    pub wall: f64,
    pub adjusted: f64,
}

impl Ratios {
    /// The same for both rates.
    pub fn both(ratio: f64) -> Ratios {
        Ratios { wall: ratio, adjusted: ratio }
    }
}

/// A reading step of one thread on two CPUs.
pub const READS: StepFacts<'static> = reads(STEP);

/// The default rule with this Lmax.
pub fn procedure(max_launches: u32) -> Procedure {
    Procedure::new(DecisionRule { max_launches, ..DecisionRule::default() })
}

/// Noise of mean about zero within plus or minus 1, all values different.
pub fn wobble(launch: u32) -> f64 {
    f64::from(launch * 37 % 101) / 50.0 - 1.0 + f64::from(launch % 2) * 0.003
}

/// `count` launches with both rates at `ratio`, but for `noise` of this size.
pub fn launches(count: u32, ratio: f64, noise: f64) -> Vec<Ratios> {
    (1..=count).map(|launch| Ratios::both(ratio * (noise * wobble(launch)).exp())).collect()
}

/// Three pairs of blocks for each launch, from the first on; the base waits for a CPU for a fifth of its time.
pub fn blocks(launches: &[Ratios]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (launch, ratios) in (1..).zip(launches) {
        for cycle in 0..3 {
            blocks.push(made(launch, cycle, 0, Ratios::both(1.0)));
            blocks.push(made(launch, cycle, 1, *ratios));
        }
    }
    blocks
}

fn made(launch: u32, cycle: u32, side: usize, ratios: Ratios) -> Block {
    let wall_us = 10_000_000;
    let running_us = whole(0.8 * wall_us as f64 * ratios.wall / ratios.adjusted);
    block(&BlockSpec {
        launch,
        cycle,
        side,
        wall_us,
        operations: whole(1e8 * ratios.wall),
        run_delay_us: wall_us - running_us,
        cpu_us: running_us / 2,
        ..BlockSpec::default()
    })
}

#[expect(clippy::cast_possible_truncation, reason = "made numbers are positive and far below 2^63")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// The judgement of side 1 against side 0.
pub fn judged(facts: &StepFacts<'_>, blocks: &[Block], procedure: &Procedure, stage: Stage) -> Judgement {
    let excluded = BTreeSet::new();
    let comparison = Comparison { step: facts.step, candidate: 1, excluded: &excluded };
    judge(facts, &pairs(blocks, &comparison), procedure, stage)
}
