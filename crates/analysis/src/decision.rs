//! What the launches of one step and candidate say at a look, by themselves: which rate decides, its interval, whether
//! more launches could change anything.

use crate::estimate::{Estimate, Reading, estimate, launches_to_see, value_of};
use crate::judgement::StepFacts;
use crate::launch::{LaunchSummary, Sharing, Totals, sharing};
use crate::procedure::{Look, Procedure, Test};
use crate::student;
use model::metric::Metric;
use model::verdict::Verdict;
use model::warning::Warning;

/// What can be said after some launches, before any ceiling.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    pub(crate) decides: Metric,
    /// More launches are not wanted, whatever the family says and however much time there is.
    pub(crate) leaves: bool,
    /// There is no time for as many launches as it takes.
    pub(crate) gives_up: bool,
    pub(crate) wall: Estimate,
    /// Absent in an open loop, where idle time would count as work, and where the engine's CPU is not known.
    pub(crate) adjusted: Option<Estimate>,
    pub(crate) adjusted_may_decide: bool,
    pub(crate) cpu: Estimate,
    pub(crate) launches_needed: Option<f64>,
    pub(crate) warnings: Vec<Warning>,
}

/// Other threads of the engine with less CPU than this share of the wall time leave the run delay of the
/// foreground threads to the host (statistics 1.9, rule 2).
const LARGEST_BACKGROUND_SHARE: f64 = 0.05;
/// The adjusted rate decides if its launches scatter less than this share of what the wall rate's do.
pub(crate) const ADJUSTED_IS_QUIETER: f64 = 0.85;
/// A step is given up if seeing the margin would need more than this many times the launches that there is time for
/// (statistics 1.4).
const HOPELESS_FACTOR: f64 = 4.0;
/// Degrees of freedom at which Student's t is about that of the ranks at the last of 48 launches.
const MANY: usize = 47;

/// The rate that is to decide, from the sizes of the launch values alone: which side is faster does not show in them, so
/// the test of the rate that was chosen is as exact as if there were no choice.
pub(crate) fn choose_rate(facts: &StepFacts<'_>, launches: &[LaunchSummary]) -> Metric {
    let size = |metric: Metric| -> f64 {
        let values = launches.iter().filter_map(value_of(metric));
        values.map(|value| value * value).sum::<f64>().sqrt()
    };
    let quieter = size(Metric::OpsPerSecondAdjusted) < ADJUSTED_IS_QUIETER * size(Metric::OpsPerSecond);
    let chosen = if quieter { Metric::OpsPerSecondAdjusted } else { Metric::OpsPerSecond };
    allowed_rate(chosen, facts, launches)
}

/// The rate that was chosen, if it may decide after these launches.
pub(crate) fn allowed_rate(chosen: Metric, facts: &StepFacts<'_>, launches: &[LaunchSummary]) -> Metric {
    if adjusted_may_decide(facts, launches) { chosen } else { Metric::OpsPerSecond }
}

/// What is said at a look; without a look, only sizes.
pub(crate) fn decide(
    facts: &StepFacts<'_>,
    launches: &[LaunchSummary],
    procedure: &Procedure,
    (decides, test): (Metric, Test),
    look: Option<Look>,
) -> Decision {
    let confidence = 1.0 - procedure.rule().alpha;
    let of = |metric| estimate(metric, launches, test, confidence);
    let (wall, cpu) = (of(Metric::OpsPerSecond), of(Metric::CpuMicrosPerOp));
    // What the threads of a server that is not ours waited for is not known.
    let has_adjusted = !facts.open_loop && launches.iter().all(LaunchSummary::knows_cpu);
    let adjusted = has_adjusted.then(|| of(Metric::OpsPerSecondAdjusted));
    // Boundaries are for one value of each unit; a cost that some lack has no interval.
    let cpu = if cpu.units == wall.units { cpu } else { cpu.without_interval() };
    let adjusted_may_decide = adjusted_may_decide(facts, launches);
    let mut decision = Decision {
        verdict: Verdict::Inconclusive,
        decides,
        leaves: false,
        gives_up: false,
        wall,
        adjusted,
        adjusted_may_decide,
        cpu,
        launches_needed: None,
        warnings: Vec::new(),
    };
    decision.read(procedure);
    if let (Verdict::Inconclusive, Some(look)) = (decision.verdict, look) {
        decision.give_up_if_hopeless(launches, procedure, look);
    }
    decision
}

/// The adjusted rate decides only if waiting for a CPU is the host's doing, not the engine's.
pub(crate) fn adjusted_may_decide(facts: &StepFacts<'_>, launches: &[LaunchSummary]) -> bool {
    let quiet = |totals: Totals| totals.background_cpu_s < LARGEST_BACKGROUND_SHARE * totals.wall_s;
    !facts.writes
        && !facts.open_loop
        && facts.foreground_threads <= facts.cpus
        && launches.iter().all(LaunchSummary::knows_cpu)
        && quiet(Totals::sum(launches.iter().map(|launch| &launch.base)))
        && quiet(Totals::sum(launches.iter().map(|launch| &launch.candidate)))
}

impl Decision {
    fn read(&mut self, procedure: &Procedure) {
        let margin = procedure.rule().margin;
        let wall = self.wall.reading(margin);
        let adjusted = self.adjusted.as_ref().map_or(Reading::Open, |adjusted| adjusted.reading(margin));
        let reading = if self.is_adjusted() { adjusted } else { wall };
        self.verdict = reading.verdict();
        self.leaves |= reading == Reading::WithinMargin;
        let contradict = wall.contradicts(adjusted);
        if contradict && self.adjusted_may_decide {
            self.verdict = Verdict::Inconclusive;
            self.leaves = true;
            self.warnings.push(Warning::WaitingTimeChanged);
        } else if contradict {
            // The engine makes its own threads wait: that is part of its speed, the wall rate stands.
            self.warnings.push(Warning::WaitingTimeOfEngine);
        }
        if self.is_adjusted() && self.verdict != Verdict::Inconclusive {
            self.warnings.push(Warning::ContentionAdjusted);
        }
    }

    /// Gives the step up if four times the launches that there is time for would not show the margin, nor a change as
    /// large as the one that was estimated. The steps that go on are then those that look changed:
    /// `InProgress::values` keeps their test valid.
    fn give_up_if_hopeless(&mut self, launches: &[LaunchSummary], procedure: &Procedure, look: Look) {
        let deciding = self.deciding();
        let (Some(ratio), Some(deviation)) = (deciding.ratio, deciding.launch_sd) else { return };
        if deciding.visible_change.is_none() || sharing(launches) == Sharing::Several {
            return;
        }
        let critical_t = student::two_sided_quantile(procedure.rule().alpha, MANY);
        let margin = procedure.rule().margin.ln_1p();
        let needed = |ln_change: f64| launches_to_see(ln_change, critical_t, deviation).ceil();
        self.launches_needed = Some(needed(margin));
        if look.is_of_extension() {
            return; // the user has asked for this time
        }
        let most = crate::budget::expected_launches(launches.len(), look.share).min(procedure.max_launches());
        if needed(margin.max(ratio.ln().abs())) > HOPELESS_FACTOR * most as f64 {
            self.gives_up = true;
            self.warnings.push(Warning::MachineTooNoisy {
                margin: procedure.rule().margin,
                launches: needed(margin),
                max_launches: most as u64,
                seconds: None,
            });
        }
    }

    /// The change holds in the family.
    pub(crate) fn confirm(&mut self) {
        self.verdict = self.deciding_mut().confirm();
    }

    fn is_adjusted(&self) -> bool {
        self.decides == Metric::OpsPerSecondAdjusted && self.adjusted.is_some()
    }

    pub(crate) fn deciding(&self) -> &Estimate {
        match &self.adjusted {
            Some(adjusted) if self.is_adjusted() => adjusted,
            Some(_) | None => &self.wall,
        }
    }

    pub(crate) fn deciding_mut(&mut self) -> &mut Estimate {
        let is_adjusted = self.is_adjusted();
        match &mut self.adjusted {
            Some(adjusted) if is_adjusted => adjusted,
            Some(_) | None => &mut self.wall,
        }
    }
}
