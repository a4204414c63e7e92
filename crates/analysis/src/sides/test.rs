//! Which steps of which candidates differ from the base, look by look, all of them one family.
//!
//! Sign flips of whole launches turn the contrasts of all candidates with the mean of the base's processes ([`super::joint`]); alpha is spent
//! look by look, step-down, as [`crate::family`] does. With one process of the base it is the same test. Below the launches at which flips can
//! reject, Student's t decides once, at the end.

use super::joint::{SideMember, as_family, statistics};
use super::rows::{Places, Row, choose_rate, rows};
use super::step_noise::{choose_rate_by_base, of_base};
use super::{Roles, StepSides};
use crate::budget::least_launches;
use crate::family::Family;
use crate::procedure::Look;
use crate::student;
use model::block::Side;
use model::metric::Metric;
use std::collections::BTreeSet;

/// A step of a candidate that differs from the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confirmed {
    /// Index of the step.
    pub step: usize,
    pub candidate: Side,
}

/// What a look found.
#[derive(Debug, Clone, PartialEq)]
pub struct SidesFound {
    /// What counts since this look.
    pub confirmed: Vec<Confirmed>,
    /// The t that the family asked for in the end; 0 where the flips were not asked.
    pub critical_t: f64,
    /// Standard deviation of a launch's contrast, moderated, by step and then by candidate; empty where the flips were not asked.
    pub deviations: Vec<f64>,
    /// Whether Student's t was asked instead, once, since there were too few launches for flips: it assumes normal noise.
    pub is_parametric: bool,
}

/// The test of a run with many sides.
pub struct SidesTest {
    roles: Roles,
    alpha: f64,
    /// By step and then by candidate, chosen at the first look.
    rates: Vec<Metric>,
    family: Family,
    confirmed: BTreeSet<usize>,
}

impl SidesTest {
    /// `alpha` is the share of runs without a change in which some step of some candidate is called changed.
    pub fn new(roles: Roles, alpha: f64) -> SidesTest {
        SidesTest { roles, alpha, rates: Vec::new(), family: Family::new(), confirmed: BTreeSet::new() }
    }

    /// Takes a look at all launches up to the look's. Steps are the same in the same order at each look.
    pub fn look(&mut self, steps: &[StepSides<'_>], look: Look) -> SidesFound {
        let places = Places::of(steps, look.launch);
        if places.count() < least_launches(self.alpha) as usize {
            return if look.is_last() { self.once(steps, &places) } else { nothing() };
        }
        if self.rates.is_empty() {
            self.rates = choose_rates(steps, &self.roles, &places);
        }
        let members = self.side_members(steps, &places);
        let spent = self.alpha * look.spent_share();
        // One process has no noise to show.
        let found = if self.roles.base().len() == 1 {
            self.family.look(&as_family(&members, places.count()), spent)
        } else {
            self.family.take(statistics(&members, self.roles.candidates().len(), places.count()), spent)
        };
        self.confirmed.extend(&found.confirmed);
        SidesFound {
            confirmed: found.confirmed.iter().map(|index| self.member(*index)).collect(),
            critical_t: found.critical,
            deviations: found.deviations,
            is_parametric: false,
        }
    }

    /// What counts by now.
    pub fn confirmed(&self) -> Vec<Confirmed> {
        self.confirmed.iter().map(|index| self.member(*index)).collect()
    }

    /// The rate that decides, by step and then by candidate; empty before the first look that tested.
    pub fn rates(&self) -> &[Metric] {
        &self.rates
    }

    fn member(&self, index: usize) -> Confirmed {
        let candidates = self.roles.candidates();
        Confirmed { step: index / candidates.len(), candidate: candidates[index % candidates.len()] }
    }

    /// By step and then by candidate.
    fn side_members(&self, steps: &[StepSides<'_>], places: &Places) -> Vec<SideMember> {
        let mut members = Vec::with_capacity(self.roles.members(steps.len()));
        for step in steps {
            let of_rate = |rate| of_base(step, &self.roles, rate, places);
            let (wall, adjusted) = (of_rate(Metric::OpsPerSecond), of_rate(Metric::OpsPerSecondAdjusted));
            for candidate in self.roles.candidates() {
                let index = members.len();
                let is_adjusted =
                    step.adjusted_may_decide && self.rates[index] == Metric::OpsPerSecondAdjusted;
                let rate = if is_adjusted { Metric::OpsPerSecondAdjusted } else { Metric::OpsPerSecond };
                let base = if is_adjusted { adjusted } else { wall };
                members.push(SideMember {
                    index,
                    rows: rows(step, &self.roles, *candidate, rate, places),
                    base,
                });
            }
        }
        members
    }

    /// Too few launches for flips: Student's t of each step and candidate by its own noise, alpha shared out among all of them.
    fn once(&mut self, steps: &[StepSides<'_>], places: &Places) -> SidesFound {
        self.rates = choose_rates(steps, &self.roles, places);
        let alpha = self.alpha / self.roles.members(steps.len()).max(1) as f64;
        for member in self.side_members(steps, places) {
            let contrasts: Vec<f64> = member.rows.iter().map(Row::contrast).collect();
            if student::mean_is_zero_p(&contrasts).is_some_and(|p| p <= alpha) {
                self.confirmed.insert(member.index);
            }
        }
        SidesFound { confirmed: self.confirmed(), is_parametric: true, ..nothing() }
    }
}

/// The rate that decides, by step and then by candidate.
pub(super) fn choose_rates(steps: &[StepSides<'_>], roles: &Roles, places: &Places) -> Vec<Metric> {
    let of_step = |step| {
        let of_base = choose_rate_by_base(step, roles, places);
        let of = move |side: &Side| of_base.unwrap_or_else(|| choose_rate(step, roles, *side, places));
        roles.candidates().iter().map(of)
    };
    steps.iter().flat_map(of_step).collect()
}

fn nothing() -> SidesFound {
    SidesFound { confirmed: Vec::new(), critical_t: 0.0, deviations: Vec::new(), is_parametric: false }
}
