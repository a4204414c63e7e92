//! Who runs when: the visits of a campaign in their order, drawn from the run's seed.

use crate::campaign::draws::{generator, shuffle};
use model::block::Side;
use model::plan::{Design, Plan};
use std::collections::BTreeSet;

/// One subject's turn: the whole sequence once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visit {
    /// The round, from 1: the launch of its trials.
    pub launch: u32,
    pub side: Side,
    /// Its place within the round, from 0.
    pub position: u32,
}

/// All visits in their order, without those that are done.
pub fn visits(plan: &Plan, done: &BTreeSet<(u32, Side)>) -> Vec<Visit> {
    let sides: Vec<Side> = (0..plan.subjects.len()).collect();
    let mut all: Vec<Visit> = match plan.layout.design {
        Design::Sequential => sides
            .iter()
            .zip(0..)
            .flat_map(|(side, position)| {
                (1..=plan.layout.rounds).map(move |launch| Visit { launch, side: *side, position })
            })
            .collect(),
        Design::Rounds | Design::Interleaved => (1..=plan.layout.rounds)
            .flat_map(|launch| {
                let mut order = sides.clone();
                shuffle(&mut order, &mut generator(plan.seed, launch));
                order.into_iter().zip(0..).map(move |(side, position)| Visit { launch, side, position })
            })
            .collect(),
    };
    all.retain(|visit| !done.contains(&(visit.launch, visit.side)));
    all
}
