//! The judgement of one step and one candidate: the decision, what caps it, its p values, and what else moved.

use crate::counters::{CounterFinding, counter_findings};
use crate::decision::{Decision, decide};
use crate::estimate::{Estimate, Method, value_of};
use crate::launch::{LaunchPairs, LaunchSummary, summarize};
use crate::procedure::{Occasion, Procedure};
use crate::refusal::{self, Cap, Ceiling};
use crate::significance::{Significance, significance};
use crate::time_identity::{TimeIdentity, time_identity};
use crate::units::{Sharing, sharing};
use model::metric::Metric;
use model::verdict::Verdict;
use model::warning::Warning;
use model::workload::Step;

/// What a verdict needs to know of a step beyond its blocks.
#[derive(Debug, Clone, Copy)]
pub struct StepFacts<'a> {
    pub step: &'a str,
    /// Whether it changes the database: then nothing is trimmed and the wall rate decides.
    pub writes: bool,
    pub foreground_threads: u32,
    /// CPUs that they may use.
    pub cpus: u32,
    /// Whether its rate is given, by a schedule or by a stream that it follows, so that only a drop below it can be
    /// seen.
    pub open_loop: bool,
    /// What the caller knows that keeps it from a verdict.
    pub caps: &'a [Cap],
}

impl<'a> StepFacts<'a> {
    /// Of a step on a host with this many CPUs, under these caps.
    pub fn of(step: &'a Step, cpus: u32, caps: &'a [Cap]) -> StepFacts<'a> {
        StepFacts {
            step: &step.name,
            writes: step.writes(),
            foreground_threads: step.threads,
            cpus,
            open_loop: step.rate.is_some() || step.is_companion(),
            caps,
        }
    }
}

/// Whether more launches can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The run goes on: decided at looks only.
    Running,
    /// The budget is over, or the user stopped the run.
    Final,
}

/// What is said of one step and one candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub step: String,
    /// The verdict; inconclusive as long as nothing is decided.
    pub verdict: Verdict,
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
    /// Where the time of an operation went.
    pub time_identity: Option<TimeIdentity>,
    /// Launches that the judgement rests on: those up to the look at which it was reached.
    pub launches: u32,
    /// The p values, for a family of steps.
    pub significance: Significance,
    /// Launches that seeing the margin would take with 90 % power, where nothing was decided.
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

    /// Whether a gate with this threshold (0.02 is 2 %) counts the step as a regression: it is one, beyond
    /// code-layout noise, and not wholly within the threshold.
    pub fn fails_gate(&self, threshold: f64) -> bool {
        let is_layout = |warning: &Warning| matches!(warning, Warning::WithinLayoutNoise { .. });
        self.verdict == Verdict::Regression
            && !self.warnings.iter().any(is_layout)
            && !self.deciding().lies_within(threshold.ln_1p())
    }
}

/// Judges one step and one candidate.
///
/// The looks are gone through in order, and the first at which the step is decided stands: launches after it
/// are not part of the judgement. So a report that sees all blocks says what the run said when the step left.
pub fn judge(
    facts: &StepFacts<'_>,
    launches: &[LaunchPairs<'_>],
    procedure: &Procedure,
    stage: Stage,
) -> Judgement {
    conclude(facts, &summarize(launches, facts.writes), procedure, stage)
}

/// [`judge`] for launches that are summarised already, in ascending order. Those beyond Lmax are ignored.
pub fn conclude(
    facts: &StepFacts<'_>,
    all: &[LaunchSummary],
    procedure: &Procedure,
    stage: Stage,
) -> Judgement {
    let (mut usable, unusable): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|launch| launch.wall.is_some() && launch.adjusted.is_some());
    usable.truncate(procedure.max_launches());
    let outcome = first_decision(facts, all, &usable, procedure).unwrap_or_else(|| {
        let occasion = match stage {
            Stage::Final => Occasion::End,
            Stage::Running if usable.len() >= procedure.max_launches() => Occasion::End,
            Stage::Running => Occasion::Between,
        };
        Outcome::of(facts, all, &usable, procedure, occasion)
    });
    let mut judgement = outcome.judgement(facts, procedure);
    if !unusable.is_empty() {
        judgement.warnings.push(Warning::LaunchDropped { launches: unusable.len() as u64 });
    }
    judgement
}

/// The decision at the first look that has one.
fn first_decision<'a>(
    facts: &StepFacts<'_>,
    all: &[LaunchSummary],
    usable: &'a [LaunchSummary],
    procedure: &Procedure,
) -> Option<Outcome<'a>> {
    let looks = procedure.looks().into_iter().filter(|look| *look <= usable.len());
    looks
        .map(|look| Outcome::of(facts, all, &usable[..look], procedure, Occasion::Look))
        .find(|outcome| outcome.decision.decided)
}

/// A decision with the launches that it rests on.
struct Outcome<'a> {
    launches: &'a [LaunchSummary],
    occasion: Occasion,
    refusals: Vec<Cap>,
    decision: Decision,
}

impl<'a> Outcome<'a> {
    fn of(
        facts: &StepFacts<'_>,
        all: &[LaunchSummary],
        launches: &'a [LaunchSummary],
        procedure: &Procedure,
        occasion: Occasion,
    ) -> Outcome<'a> {
        // Launches without a rate count here: their blocks may be the very reason of a refusal.
        let last =
            if occasion == Occasion::Look { launches.last().map(|launch| launch.launch) } else { None };
        let so_far = all.iter().take_while(|launch| last.is_none_or(|last| launch.launch <= last));
        let refusals = refusal::of_blocks(so_far);
        let mut decision = decide(facts, launches, procedure, occasion);
        // A step that is given up ends here: it gets the interval of a run that ends here.
        let occasion = if decision.gave_up { Occasion::End } else { occasion };
        if decision.gave_up {
            decision = decide(facts, launches, procedure, occasion);
        }
        let refused = refusals.iter().chain(facts.caps).any(|cap| cap.ceiling == Ceiling::RatioOnly);
        // No further launch would make a refused comparison a verdict.
        decision.decided |= refused && occasion == Occasion::Look;
        Outcome { launches, occasion, refusals, decision }
    }

    fn judgement(self, facts: &StepFacts<'_>, procedure: &Procedure) -> Judgement {
        let Outcome { launches, occasion, refusals, decision } = self;
        let significance = significance(launches, procedure, occasion, &decision);
        let mut warnings = decision.warnings;
        let mut verdict = decision.verdict;
        let (mut wall, mut adjusted, mut cpu) = (decision.wall, decision.adjusted, decision.cpu);
        if occasion != Occasion::Between {
            warnings.extend(warnings_of_method(facts, launches, &wall));
            if wall.method == Method::RatioOnly {
                verdict = Verdict::RatioOnly;
            }
        }
        for cap in refusals.into_iter().chain(facts.caps.iter().cloned()) {
            verdict = cap.ceiling.lower(verdict);
            if cap.ceiling == Ceiling::RatioOnly {
                (wall, cpu) = (wall.without_interval(), cpu.without_interval());
                adjusted = adjusted.map(Estimate::without_interval);
            }
            warnings.push(cap.warning);
        }
        Judgement {
            step: facts.step.to_owned(),
            verdict,
            decides: decision.decides,
            decided: decision.decided,
            wall,
            adjusted,
            adjusted_may_decide: decision.adjusted_may_decide,
            cpu,
            counters: counter_findings(launches),
            time_identity: time_identity(launches),
            launches: u32::try_from(launches.len()).unwrap_or(u32::MAX),
            significance,
            launches_needed: decision.launches_needed,
            warnings,
        }
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
