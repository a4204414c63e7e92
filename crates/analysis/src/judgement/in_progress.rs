//! One step and candidate on its way through the looks.

use super::{Judgement, LaunchPlaces};
use crate::case::{Case, StepFacts};
use crate::counters::counter_findings;
use crate::decision::{Decision, allowed_rate, choose_rate, decide};
use crate::estimate::{Estimate, Method, value_of, visible_by_t};
use crate::family::InFamily;
use crate::flips::{Spending, narrow, sums};
use crate::launch::{LaunchSummary, Sharing, sharing, unit_values};
use crate::layout;
use crate::procedure::{Design, Look, Procedure, Test};
use crate::refusal::{self, Cap, Ceiling};
use crate::signed_rank::{absolute_sum, exact_p, largest_sum, walsh_averages};
use crate::student::mean_is_zero_p;
use crate::time_identity::time_identity;
use model::metric::Metric;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;

/// A case on its way through the looks.
pub(super) struct InProgress {
    /// Chosen at the first look.
    rate: Option<Metric>,
    /// Of the step by itself.
    spending: Spending,
    /// The p value at the look at which the step by itself was first called different.
    rejected_at: Option<f64>,
    /// What of alpha a test took that was made once, at an end before this look.
    pub(super) spent_once: f64,
    /// Whether the family tests it.
    pub(super) is_tested: bool,
    pub(super) has_left: bool,
    /// It left for want of time, and for nothing else.
    pub(super) is_out_of_time: bool,
    pub(super) confirmed: bool,
    seen: Option<Seen>,
    /// At the last look at which the family tested it.
    in_family: InFamily,
}

/// What was said at the last look that a case took part in.
#[derive(Clone)]
pub(super) struct Seen {
    look: Look,
    test: Test,
    p_value: Option<f64>,
    refusals: Vec<Cap>,
    decision: Decision,
    /// Before the family was asked: the interval of the step alone.
    alone: Estimate,
}

impl InProgress {
    pub(super) fn new() -> InProgress {
        InProgress {
            rate: None,
            spending: Spending::new(),
            rejected_at: None,
            spent_once: 0.0,
            is_tested: false,
            has_left: false,
            is_out_of_time: false,
            confirmed: false,
            seen: None,
            in_family: InFamily::default(),
        }
    }

    pub(super) fn look(&mut self, case: &Case<'_>, look: Look, procedure: &Procedure, family: usize) {
        let launches = &case.usable(look.launch)[..];
        let design = procedure.design(launches, look, self.spent_once);
        if design == Design::Once(Test::Nothing) && !look.is_last() {
            return;
        }
        let chosen = *self.rate.get_or_insert_with(|| choose_rate(&case.facts, launches));
        let rate = allowed_rate(chosen, &case.facts, launches);
        let values = unit_values(launches, value_of(rate));
        let alpha = procedure.spent(look) - self.spent_once;
        let (test, p_value) = match design {
            Design::Flips => self.test_by_flips(&values, alpha),
            Design::Once(test) => (test, p_of(test, &values)),
        };
        // Launches without a rate count here: their blocks may be the very reason of a refusal.
        let refusals =
            refusal::of_blocks(case.launches.iter().take_while(|launch| launch.launch <= look.launch));
        let decision = decide(&case.facts, launches, procedure, (rate, test), Some(look));
        let alone = decision.deciding().clone();
        // Refusals all leave nothing but a ratio. What the caller knows is not asked: the run did not know it when a step
        // left, and its replay must not differ.
        let leaves = decision.leaves || !refusals.is_empty();
        self.is_out_of_time = !leaves && (decision.gives_up || look.is_last());
        self.has_left = leaves || self.is_out_of_time;
        self.is_tested = design == Design::Flips && refusals.is_empty();
        self.seen = Some(Seen { look, test, p_value, refusals, decision, alone });
        if self.confirmed {
            self.confirm();
        }
        if matches!(design, Design::Once(test) if test != Test::Nothing) {
            if p_value.is_some_and(|p| p * family as f64 <= alpha) {
                self.confirm();
            }
            self.spent_once += alpha;
        }
    }

    /// No family is asked here, so an interval is that of the step alone, at all of alpha.
    fn test_by_flips(&mut self, values: &[f64], spent: f64) -> (Test, Option<f64>) {
        let ranks: Vec<f32> = sums(&signed_ranks(values)).into_iter().map(|sum| narrow(sum.abs())).collect();
        let observed = absolute_sum(&walsh_averages(values));
        let p_value = self.rejected_at.unwrap_or_else(|| self.spending.p_value(&ranks, observed as f32));
        let critical = whole(self.spending.look(&ranks, spent));
        if observed > critical {
            self.rejected_at = Some(p_value);
        }
        let can_reject = critical < largest_sum(values.len());
        (if can_reject { Test::SignedRank { critical } } else { Test::Nothing }, Some(p_value))
    }

    /// The values that the family tests, at the places of their launches. A family of one is tested by its ranks, so that
    /// its interval and its verdict are one thing.
    ///
    /// The values of a step that has left are repeated up to this look, so that the largest statistic is that of all steps
    /// after as many launches. Without that the steps that stay, which are those that looked changed, would be compared
    /// with the largest of a few steps.
    pub(super) fn values(
        &self,
        case: &Case<'_>,
        places: &LaunchPlaces,
        now: Look,
        family: usize,
    ) -> Vec<f64> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let launches = case.usable(seen.look.launch);
        let value = value_of(seen.decision.decides);
        let mut values: Vec<f64> = launches.iter().map(|launch| value(launch).unwrap_or(0.0)).collect();
        if family == 1 {
            values = signed_ranks(&values);
        }
        let mut at_places = vec![0.0; places.0.len()];
        for (launch, value) in launches.iter().zip(&values) {
            if let Ok(place) = places.0.binary_search(&launch.launch) {
                at_places[place] = *value;
            }
        }
        if self.has_left {
            let of = |look: Look| places.0.partition_point(|launch| *launch <= look.launch);
            let since_it_left = &mut at_places[of(seen.look)..of(now)];
            since_it_left.iter_mut().zip(values.iter().cycle()).for_each(|(place, value)| *place = *value);
        }
        at_places
    }

    /// What the family said of it, and whether this change holds.
    pub(super) fn learn(&mut self, in_family: InFamily, confirmed: bool) {
        self.in_family = in_family;
        let Some(seen) = &mut self.seen else { return };
        let deciding = seen.decision.deciding_mut();
        if let (Some(visible), Some(deviation)) = (deciding.visible_change, deciding.launch_sd) {
            let in_family = visible_by_t(in_family.critical_t, deviation, f64::from(deciding.units)).exp_m1();
            deciding.visible_change = Some(visible.max(in_family));
        }
        if confirmed {
            self.confirm();
        }
    }

    fn confirm(&mut self) {
        let Some(seen) = &mut self.seen else { return };
        // Rates that contradict each other leave no verdict.
        if seen.decision.warnings.contains(&Warning::WaitingTimeChanged) || !seen.refusals.is_empty() {
            return;
        }
        seen.decision.confirm();
        self.confirmed = true;
    }

    /// A confirmed change is measured on as long as that may tell it from the layout of code.
    pub(super) fn leave_if_settled(&mut self, most_of_layout: f64) {
        let Some(seen) = &self.seen else { return };
        let change = self.change(&seen.alone);
        if self.confirmed && change.is_some_and(|change| change.is_settled(most_of_layout)) {
            self.has_left = true;
            self.is_out_of_time = false;
        }
    }

    /// The change, to be compared with what the layout of code can make.
    fn change(&self, alone: &Estimate) -> Option<layout::Change> {
        layout::Change::of(alone, self.in_family.half_width(alone.units))
    }

    pub(super) fn judgement(&self, case: &Case<'_>, procedure: &Procedure, most_of_layout: f64) -> Judgement {
        let facts = &case.facts;
        let seen = self.seen.clone().unwrap_or_else(|| before_looks(case, procedure));
        let Seen { look, test, p_value, refusals, decision, alone } = seen;
        let launches = &case.usable(look.launch)[..];
        let mut verdict = decision.verdict;
        let mut warnings = decision.warnings.clone();
        let tau = facts.tau.unwrap_or(procedure.rule().tau);
        let layout = match verdict {
            Verdict::Regression | Verdict::Improvement => {
                let grade = |change: layout::Change| change.grade(most_of_layout * tau);
                Some(self.change(&alone).map_or(Layout::MayBe, grade))
            }
            Verdict::NoChange => Some(Layout::Within),
            Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => None,
        };
        warnings.extend(
            layout.and_then(|grade| {
                layout::warning(grade, most_of_layout * tau, &alone, procedure.rule().margin)
            }),
        );
        let (mut wall, mut adjusted, mut cpu) = (decision.wall, decision.adjusted, decision.cpu);
        if look.is_last() || self.has_left {
            warnings.extend(warnings_of_method(facts, launches, &wall));
        }
        if look.is_last() && test == Test::Nothing {
            verdict = Verdict::RatioOnly;
        }
        for cap in refusals.into_iter().chain(facts.caps.iter().cloned()) {
            verdict = cap.ceiling.lower(verdict);
            if cap.ceiling == Ceiling::RatioOnly {
                (wall, cpu) = (wall.without_interval(), cpu.without_interval());
                adjusted = adjusted.map(Estimate::without_interval);
            }
            warnings.push(cap.warning);
        }
        let unusable = case.launches.iter().filter(|launch| !launch.has_rates()).count();
        if unusable > 0 {
            warnings.push(Warning::LaunchDropped { launches: unusable as u64 });
        }
        let mut time_identity = time_identity(launches);
        if time_identity.take_if(|identity| !identity.adds_up()).is_some() {
            warnings.push(Warning::TimesOverlap);
        }
        let is_directional = matches!(verdict, Verdict::Regression | Verdict::Improvement);
        Judgement {
            step: facts.step.to_owned(),
            verdict,
            confirmed: self.confirmed && is_directional,
            layout: layout.filter(|_| is_directional || verdict == Verdict::NoChange),
            decides: decision.decides,
            decided: self.has_left,
            wall,
            adjusted,
            adjusted_may_decide: decision.adjusted_may_decide,
            cpu,
            counters: counter_findings(launches),
            time_identity,
            launches: u32::try_from(launches.len()).unwrap_or(u32::MAX),
            p_value,
            launches_needed: decision.launches_needed,
            warnings,
        }
    }
}

/// Of a case that is not tested: sizes, counters and where the time went.
pub(crate) fn untested(case: &Case<'_>, procedure: &Procedure) -> Judgement {
    // Without a verdict nothing asks what layout may account for.
    InProgress::new().judgement(case, procedure, 0.0)
}

/// Before the first look there are sizes only.
fn before_looks(case: &Case<'_>, procedure: &Procedure) -> Seen {
    let launches = case.usable(u32::MAX);
    let decision = decide(&case.facts, &launches, procedure, (Metric::OpsPerSecond, Test::Nothing), None);
    let alone = decision.deciding().clone();
    let look = Look { launch: u32::MAX, share: 0.0 };
    Seen { look, test: Test::Nothing, p_value: None, refusals: Vec::new(), decision, alone }
}

/// The ranks of the sizes, with the signs of the values.
fn signed_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|left, right| values[*left].abs().total_cmp(&values[*right].abs()));
    let mut ranks = vec![0.0; values.len()];
    for (rank, index) in (1u32..).zip(order) {
        ranks[index] = f64::from(rank).copysign(values[index]);
    }
    ranks
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of ranks, or below all of them"
)]
fn whole(sum: f32) -> usize {
    sum.max(0.0) as usize
}

/// The p value of a test that is made once.
fn p_of(test: Test, values: &[f64]) -> Option<f64> {
    match test {
        Test::SignedRank { .. } => Some(exact_p(values.len(), absolute_sum(&walsh_averages(values)))),
        Test::StudentT { .. } => mean_is_zero_p(values),
        Test::Nothing => None,
    }
}

fn warnings_of_method(facts: &StepFacts<'_>, launches: &[LaunchSummary], wall: &Estimate) -> Vec<Warning> {
    let mut warnings = Vec::new();
    match launches {
        [] => warnings.push(Warning::NoLaunches),
        [_] => warnings.push(Warning::OneRun),
        [first, second] => {
            let ratio = |launch: &LaunchSummary| value_of(Metric::OpsPerSecond)(launch).unwrap_or(0.0).exp();
            warnings.push(Warning::TwoLaunches { ratios: [ratio(first), ratio(second)] });
        }
        [..] => {}
    }
    if wall.method == Method::StudentT {
        warnings.push(Warning::ParametricInterval { launches: launches.len() as u64 });
    }
    match sharing(launches) {
        Sharing::None => {}
        Sharing::One => warnings.push(Warning::OneImage),
        Sharing::Several => warnings.push(Warning::SharedImages { images: wall.units }),
    }
    if facts.open_loop {
        warnings.push(Warning::OpenLoop);
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::blocks::{STEP, launch, reads};
    use model::plan::DecisionRule;

    #[test]
    fn a_step_that_left_counts_on_as_if_its_launches_came_once_more() {
        let of_launch = |number: u32| launch(number, 0.01 * f64::from(number));
        let launches: Vec<LaunchSummary> = (1..=9).filter(|number| *number != 4).map(of_launch).collect();
        let case = Case { facts: reads(STEP), launches: &launches };
        let (then, now) = (Look { launch: 9, share: 0.5 }, Look { launch: 12, share: 0.7 });
        let mut state = InProgress::new();
        state.look(&case, then, &Procedure::new(DecisionRule::default()), 2);
        let places = LaunchPlaces((1..=13).collect());
        let by_then: Vec<f64> =
            (1..=9).map(|number| if number == 4 { 0.0 } else { 0.01 * f64::from(number) }).collect();
        let values = |state: &InProgress, look: Look| state.values(&case, &places, look, 2);
        for (has_left, look, since) in
            [(false, now, [0.0; 4]), (true, then, [0.0; 4]), (true, now, [0.01, 0.02, 0.03, 0.0])]
        {
            state.has_left = has_left;
            assert_eq!(values(&state, look), [&by_then[..], &since].concat(), "{has_left} {look:?}");
        }
    }
}
