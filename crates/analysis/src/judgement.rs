//! The judgement of all steps and candidates of a run, look by look, as the run itself was judged.
//!
//! A report replays the looks that the run took, so it says what the run said when a step left, and of a run that goes on
//! or was interrupted what it said at its last look: launches after that are sizes, not verdicts.

mod in_progress;

pub use crate::case::{Case, StepFacts};
pub(crate) use in_progress::untested;

use crate::counters::CounterFinding;
use crate::estimate::Estimate;
use crate::family::{Family, InFamily, Member};
use crate::flips::MOST_LAUNCHES;
use crate::launch::{LaunchPairs, LaunchSummary, summarize};
use crate::layout;
use crate::procedure::{Look, Procedure};
use crate::provisional::provisional;
use crate::time_identity::TimeIdentity;
use in_progress::InProgress;
use model::metric::Metric;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;
use std::collections::BTreeSet;

/// Whether more launches can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The run goes on: decided at looks only.
    Running,
    /// The run is over.
    Final,
}

/// What is said of one step and one candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub step: String,
    /// The verdict; inconclusive as long as nothing is decided.
    pub verdict: Verdict,
    /// Whether the change holds with all steps and candidates of the run taken together.
    pub confirmed: bool,
    /// Whether the layout of code can account for it; absent without a verdict.
    pub layout: Option<Layout>,
    /// The rate that carries it.
    pub decides: Metric,
    /// Whether the step may leave the later launches.
    pub decided: bool,
    pub wall: Estimate,
    /// The contention-adjusted rate; absent in an open loop, where idle time would count as work, and of a server that is
    /// not ours, whose waiting nobody sees.
    pub adjusted: Option<Estimate>,
    /// Whether the adjusted rate was allowed to decide.
    pub adjusted_may_decide: bool,
    /// CPU of the process per operation. It never decides.
    pub cpu: Estimate,
    /// All counters that both sides have, in the order of [`model::counter::Counter::ALL`].
    pub counters: Vec<CounterFinding>,
    /// Where the time of an operation went; absent where nobody knows, and where the parts do not add up.
    pub time_identity: Option<TimeIdentity>,
    /// Launches that the judgement rests on: those up to the look at which it was reached.
    pub launches: u32,
    /// Of the step by itself: the smallest alpha at which it would have been called different by now; absent without a
    /// test.
    pub p_value: Option<f64>,
    /// Launches that seeing the margin would take with 90 % power, if nothing was decided.
    pub launches_needed: Option<f64>,
    /// What a reader must know; [`Warning::WaitingTimeChanged`] is about both rates.
    pub warnings: Vec<Warning>,
}

impl Judgement {
    /// The estimate that carries the verdict.
    pub fn deciding(&self) -> &Estimate {
        match (&self.adjusted, self.decides) {
            (Some(adjusted), Metric::OpsPerSecondAdjusted) => adjusted,
            (_, _) => &self.wall,
        }
    }

    /// The smallest change that was visible with 90 % power (0.03 is 3 %), on the rate that decides.
    pub fn visible_change(&self) -> Option<f64> {
        self.deciding().visible_change
    }

    /// Whether a gate with this threshold (0.02 is 2 %) counts the step as a regression: it holds in the family, is
    /// beyond what the layout of code can make, and not wholly within the threshold.
    pub fn fails_gate(&self, threshold: f64) -> bool {
        self.verdict == Verdict::Regression
            && self.confirmed
            && self.layout == Some(Layout::Beyond)
            && !self.deciding().lies_within(threshold.ln_1p())
    }
}

/// Judges one step and one candidate as a family of its own.
pub fn judge(
    facts: &StepFacts<'_>,
    launches: &[LaunchPairs<'_>],
    procedure: &Procedure,
    stage: Stage,
) -> Judgement {
    conclude(facts, &summarize(launches, facts.writes), procedure, stage)
}

/// [`judge`] for launches that are summarised already, in ascending order, and were looked at as planned. Those beyond
/// the most launches are ignored.
pub fn conclude(
    facts: &StepFacts<'_>,
    all: &[LaunchSummary],
    procedure: &Procedure,
    stage: Stage,
) -> Judgement {
    let usable: Vec<u32> =
        all.iter().filter(|launch| launch.has_rates()).map(|launch| launch.launch).collect();
    let number = |count: u32| usable.get(count.checked_sub(1)? as usize).copied();
    let of_plan = |look: Look| Some(Look { launch: number(look.launch)?, ..look });
    let mut looks: Vec<Look> = procedure.planned().into_iter().filter_map(of_plan).collect();
    let ended = looks.last().is_some_and(|look| look.is_last());
    if let (Stage::Final, false) = (stage, ended) {
        let last = usable.last().or(all.last().map(|launch| &launch.launch)).copied().unwrap_or(1);
        looks.retain(|look| look.launch < last);
        looks.push(Look { launch: last, share: 1.0 });
    }
    let case = Case { facts: *facts, launches: all };
    judge_family(&[case], procedure, &looks).pop().expect("as many judgements as cases")
}

/// Judges all steps and candidates of a run by the looks that it took, in ascending order.
pub fn judge_family(cases: &[Case<'_>], procedure: &Procedure, looks: &[Look]) -> Vec<Judgement> {
    let mut judging = Judging::new(*procedure, cases.len());
    for look in looks {
        judging.look(cases, *look);
    }
    judging.judgements(cases)
}

/// A family that is judged look by look, while it is measured.
pub struct Judging {
    procedure: Procedure,
    family: Family,
    cases: Vec<InProgress>,
    /// How many deviations of one build the layout of code may account for.
    most_of_layout: f64,
}

impl Judging {
    /// Of so many cases, none of which was looked at.
    pub fn new(procedure: Procedure, cases: usize) -> Judging {
        let most_of_layout = layout::quantile(procedure.rule().alpha, cases);
        let cases = std::iter::repeat_with(InProgress::new).take(cases).collect();
        Judging { procedure, family: Family::new(), cases, most_of_layout }
    }

    /// Gives the cases that left for want of time more of it. Looks of the extension do so by themselves.
    pub fn extend(&mut self) {
        for state in &mut self.cases {
            state.has_left &= !state.is_out_of_time;
            state.is_out_of_time = false;
        }
    }

    /// Takes a look at the cases, always the same in the same order, with all launches that they have by now.
    pub fn look(&mut self, cases: &[Case<'_>], look: Look) {
        if look.is_of_extension() {
            self.extend();
        }
        // A case that was tested once was held against its share of alpha.
        let spent_once =
            self.cases.iter().map(|state| state.spent_once).sum::<f64>() / self.cases.len().max(1) as f64;
        let places = LaunchPlaces::of(cases);
        let mut members = Vec::new();
        for (index, (state, case)) in self.cases.iter_mut().zip(cases).enumerate() {
            let is_open = !state.has_left;
            if is_open {
                state.look(case, look, &self.procedure, cases.len());
            }
            // A step that left without a change still counts: those that stay are the ones that looked changed, and to
            // compare their largest with the largest of fewer would find too much.
            if state.is_tested && !state.confirmed {
                members.push(Member {
                    index,
                    is_open,
                    values: state.values(case, &places, look, cases.len()),
                });
            }
        }
        let found = self.family.look(&members, self.procedure.spent(look) - spent_once);
        // A family of one asks for no more than the step alone.
        let critical_t = if cases.len() > 1 { found.critical } else { 0.0 };
        for (member, deviation) in members.iter().zip(found.deviations).filter(|(member, _)| member.is_open) {
            let is_confirmed = found.confirmed.contains(&member.index);
            self.cases[member.index].learn(InFamily { critical_t, deviation }, is_confirmed);
        }
        // By the build noise that the rule assumes: what was measured since must not change when a step left.
        let most = self.most_of_layout * self.procedure.rule().tau;
        self.cases.iter_mut().for_each(|state| state.leave_if_settled(most));
    }

    /// Whether a case may leave the later launches.
    pub fn is_decided(&self, case: usize) -> bool {
        self.cases.get(case).is_some_and(|state| state.has_left)
    }

    /// What is said of each case by now.
    pub fn judgements(&self, cases: &[Case<'_>]) -> Vec<Judgement> {
        let of = |(index, case): (usize, &Case<'_>)| {
            let mut judgement = self.cases[index].judgement(case, &self.procedure, self.most_of_layout);
            judgement.warnings.extend(self.provisional(index, case));
            judgement
        };
        cases.iter().enumerate().map(of).collect()
    }

    /// What may be announced of a case by now, though it has no verdict.
    pub fn provisional(&self, index: usize, case: &Case<'_>) -> Option<Warning> {
        let state = self.cases.get(index)?;
        let is_open = !state.has_left && !state.confirmed;
        is_open.then(|| provisional(case, self.procedure.rule(), self.cases.len())).flatten()
    }
}

/// The place of each launch of the run among the signs that are flipped together.
struct LaunchPlaces(Vec<u32>);

impl LaunchPlaces {
    fn of(cases: &[Case<'_>]) -> LaunchPlaces {
        let all: BTreeSet<u32> =
            cases.iter().flat_map(|case| case.launches.iter().map(|launch| launch.launch)).collect();
        LaunchPlaces(all.into_iter().take(MOST_LAUNCHES).collect())
    }
}
