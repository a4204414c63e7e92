//! Many sides in one launch: which candidates differ from a base that runs as several processes of its own, by how much, and
//! whether those processes differ from each other.
//!
//! The order of reading is the order of a verdict: [`values`] makes one value of each side, launch and step; [`disturbed`] leaves
//! launches out that the host disturbed; [`rows`] has the
//! contrasts of a candidate with the base's processes; [`joint`] computes their statistics under sign flips of whole launches, and [`test`]
//! says which changes hold in the family; [`sizes`] has estimates and intervals, [`control`] the base's processes against each other by permuted labels.
//! `docs/adr/040-candidates-are-flipped-about-the-mean-of-the-base.md` says why labels of candidates are not permuted.

pub mod control;
pub mod disturbed;
pub mod judgement;
pub mod sizes;
pub mod test;
pub mod values;

mod joint;
mod rows;
mod step_noise;

pub use control::{Control, ControlVerdict, control};
pub use disturbed::set_aside;
pub use judgement::{JudgedSides, SidesStep, judge_sides, widest_halves};
pub use sizes::{SidesLayout, Size, sizes};
pub use test::{Confirmed, SidesFound, SidesTest};
pub use values::{Scatter, SideLaunch, SideStep, SideValue, side_launches};

use crate::error::Error;
use model::block::Side;
pub use model::plan::MOST_BASE_PROCESSES;
use std::collections::BTreeSet;

/// Which sides are processes of the base, and which are candidates. Fixed before anything is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    base: Vec<Side>,
    candidates: Vec<Side>,
}

impl Roles {
    /// # Errors
    /// No process of the base or more than [`MOST_BASE_PROCESSES`], no candidate, a side that has two roles.
    pub fn new(base: Vec<Side>, candidates: Vec<Side>) -> Result<Roles, Error> {
        if base.is_empty() || base.len() > MOST_BASE_PROCESSES || candidates.is_empty() {
            return Err(Error::BadRoles { base: base.len(), candidates: candidates.len() });
        }
        let mut seen = BTreeSet::new();
        match base.iter().chain(&candidates).find(|side| !seen.insert(**side)) {
            Some(side) => Err(Error::TwoRoles { side: *side }),
            None => Ok(Roles { base, candidates }),
        }
    }

    /// Processes of the base, one to four.
    pub fn base(&self) -> &[Side] {
        &self.base
    }

    /// At least one.
    pub fn candidates(&self) -> &[Side] {
        &self.candidates
    }

    /// Steps times candidates: what one alpha is for.
    pub(crate) fn members(&self, steps: usize) -> usize {
        steps * self.candidates.len()
    }
}

/// What a step has been measured to, the same steps in the same order at each look.
#[derive(Debug, Clone, Copy)]
pub struct StepSides<'a> {
    pub step: &'a str,
    /// Whether the adjusted rate may decide: a step that only reads, with no more threads than CPUs, whose engine leaves the
    /// waiting for a CPU to the host.
    pub adjusted_may_decide: bool,
    /// In ascending order.
    pub launches: &'a [SideLaunch],
}

#[cfg(test)]
mod tests;
