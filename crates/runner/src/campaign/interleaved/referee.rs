//! Who says when enough has been measured. The runner knows no statistics: it asks.

use model::block::{Block, Side};
use model::reason::LeaveReason;
use model::units::Nanos;
use model::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What launches cost, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchCost {
    /// The steps on own databases.
    pub own: Nanos,
    /// The steps on the image.
    pub image: Nanos,
}

/// How many launches there will be, and without which steps; fixed before any difference is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fixed {
    /// The largest number of launches.
    pub max_launches: u32,
    /// Steps that are dropped, and why.
    pub dropped: Vec<(String, LeaveReason)>,
}

/// How much of a run has passed when a launch ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    pub launch: u32,
    /// The share of the time from the first launch to the end of the budget, which is 1; of an extension 1 more.
    pub share: f64,
    /// No launch comes after it: there is no time for another, or there may be no more.
    pub is_last: bool,
}

/// What is said after a launch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AfterLaunch {
    /// The share of the budget that had passed, if the launches so far were looked at.
    pub look: Option<f64>,
    /// Steps and candidates with a change that is announced before there is a verdict.
    pub announced: Vec<(String, Side, Warning)>,
    /// The steps that leave, and why.
    pub left: Vec<(String, LeaveReason)>,
}

/// Decides on the launches of a run.
pub trait Referee {
    /// Called once, after the first launch: what it cost, and how much of the budget is left.
    fn fix(&mut self, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed;

    /// Called after each launch with the blocks that it added.
    fn after_launch(&mut self, blocks: &[Block], active: &BTreeSet<String>, passed: Passed) -> AfterLaunch;
}

impl Referee for Box<dyn Referee> {
    fn fix(&mut self, cost: LaunchCost, left: Nanos, active: &BTreeSet<String>) -> Fixed {
        (**self).fix(cost, left, active)
    }

    fn after_launch(&mut self, blocks: &[Block], active: &BTreeSet<String>, passed: Passed) -> AfterLaunch {
        (**self).after_launch(blocks, active, passed)
    }
}
