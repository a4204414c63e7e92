//! The decision after one prefix of the launches: which rate decides, what it says, whether the step may leave.

use crate::estimate::{Estimate, Reading, estimate, launches_to_see};
use crate::judgement::StepFacts;
use crate::launch::{LaunchSummary, Totals};
use crate::procedure::{Occasion, Procedure};
use crate::units::{Sharing, sharing};
use model::metric::Metric;
use model::verdict::Verdict;
use model::warning::Warning;

/// What can be said after some launches, before any ceiling.
pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    pub(crate) decides: Metric,
    /// No further launch would change it.
    pub(crate) decided: bool,
    pub(crate) wall: Estimate,
    /// Absent in an open loop, where idle time would count as work, and where the engine's CPU is not known.
    pub(crate) adjusted: Option<Estimate>,
    pub(crate) adjusted_may_decide: bool,
    pub(crate) cpu: Estimate,
    /// The machine is too noisy for this step.
    pub(crate) gave_up: bool,
    pub(crate) launches_needed: Option<f64>,
    pub(crate) warnings: Vec<Warning>,
}

/// Other threads of the engine with less CPU than this share of the wall time leave the run delay of the
/// foreground threads to the host (1.9, rule 2).
const LARGEST_BACKGROUND_SHARE: f64 = 0.05;
/// A step is given up where seeing the margin would need more than this many times Lmax (statistics 1.4).
const HOPELESS_FACTOR: f64 = 4.0;
/// Changes below 1 % are never called more than layout noise (m_min of the specification).
const LEAST_LAYOUT_CHANGE: f64 = 0.01;
/// 99 % of the differences of two builds lie within this many standard deviations of one build.
const LAYOUT_QUANTILE: f64 = 2.6 * std::f64::consts::SQRT_2;

/// Decides on these launches alone.
pub(crate) fn decide(
    facts: &StepFacts<'_>,
    launches: &[LaunchSummary],
    procedure: &Procedure,
    occasion: Occasion,
) -> Decision {
    let test = procedure.test(launches, occasion);
    let confidence = 1.0 - procedure.rate_alpha();
    let of = |metric| estimate(metric, launches, test, confidence);
    let (wall, cpu) = (of(Metric::OpsPerSecond), of(Metric::CpuMicrosPerOp));
    // What the threads of a server that is not ours waited for is not known.
    let has_adjusted = !facts.open_loop && launches.iter().all(LaunchSummary::knows_cpu);
    let adjusted = has_adjusted.then(|| of(Metric::OpsPerSecondAdjusted));
    // Boundaries are for one value of each unit; a cost that some lack has no interval.
    let cpu = if cpu.units == wall.units { cpu } else { cpu.without_interval() };
    let adjusted_may_decide = adjusted.is_some() && adjusted_may_decide(facts, launches);
    let margin = procedure.rule().margin;
    let wall_reading = wall.reading(margin);
    let adjusted_reading = adjusted.as_ref().map_or(Reading::Open, |adjusted| adjusted.reading(margin));
    let mut decision = Decision {
        verdict: wall_reading.verdict(),
        decides: Metric::OpsPerSecond,
        decided: occasion == Occasion::End || wall_reading != Reading::Open,
        wall,
        adjusted,
        adjusted_may_decide,
        cpu,
        gave_up: false,
        launches_needed: None,
        warnings: Vec::new(),
    };
    let contradict = matches!(
        (wall_reading, adjusted_reading),
        (Reading::Slower, Reading::Faster) | (Reading::Faster, Reading::Slower)
    );
    if contradict {
        decision.contradict();
    } else if wall_reading == Reading::Open && adjusted_may_decide && adjusted_reading != Reading::Open {
        decision.follow_adjusted(adjusted_reading);
    }
    if decision.verdict == Verdict::Inconclusive && !contradict && occasion != Occasion::Between {
        decision.give_up_if_hopeless(launches, procedure);
    }
    decision.compare_with_layout_noise(procedure);
    decision
}

/// The adjusted rate decides only where waiting for a CPU is the host's doing, not the engine's.
fn adjusted_may_decide(facts: &StepFacts<'_>, launches: &[LaunchSummary]) -> bool {
    let quiet = |totals: Totals| totals.background_cpu_s < LARGEST_BACKGROUND_SHARE * totals.wall_s;
    !facts.writes
        && !facts.open_loop
        && facts.foreground_threads <= facts.cpus
        && quiet(Totals::sum(launches.iter().map(|launch| &launch.base)))
        && quiet(Totals::sum(launches.iter().map(|launch| &launch.candidate)))
}

impl Decision {
    /// Where the adjusted rate may decide, its contradiction leaves no verdict. Where it may not, the engine
    /// makes its own threads wait: that is part of its speed, the wall rate stands, and the reader is told.
    fn contradict(&mut self) {
        if self.adjusted_may_decide {
            self.verdict = Verdict::Inconclusive;
            self.decided = true;
            self.warnings.push(Warning::WaitingTimeChanged);
        } else {
            self.warnings.push(Warning::WaitingTimeOfEngine);
        }
    }

    fn follow_adjusted(&mut self, reading: Reading) {
        self.verdict = reading.verdict();
        self.decides = Metric::OpsPerSecondAdjusted;
        self.decided = true;
        self.warnings.push(Warning::ContentionAdjusted);
    }

    /// Gives the step up where 4 Lmax launches would not show the margin, nor a change as large as the one
    /// that was estimated. Giving up can only make verdicts fewer, so it may look at the estimate.
    fn give_up_if_hopeless(&mut self, launches: &[LaunchSummary], procedure: &Procedure) {
        let Some(boundaries) = procedure.boundaries() else { return };
        let Some(critical_t) = boundaries.critical_t(boundaries.max_launches()) else { return };
        if launches.len() < boundaries.looks()[0] || sharing(launches) == Sharing::Several {
            return;
        }
        let margin = procedure.rule().margin.ln_1p();
        let adjusted = self.adjusted.as_ref().filter(|_| self.adjusted_may_decide);
        let rates = [Some(&self.wall), adjusted];
        let needed = |ln_change: fn(f64, f64) -> f64| {
            rates
                .iter()
                .flatten()
                .filter_map(|rate| {
                    let ln_change = ln_change(margin, rate.ratio?.ln().abs());
                    Some(launches_to_see(ln_change, critical_t, rate.launch_sd?).ceil())
                })
                .fold(f64::INFINITY, f64::min)
        };
        let for_margin = needed(|margin, _| margin);
        let for_estimate = needed(f64::max);
        if for_margin.is_finite() {
            self.launches_needed = Some(for_margin);
        }
        if for_estimate.is_finite() && for_estimate > HOPELESS_FACTOR * boundaries.max_launches() as f64 {
            (self.decided, self.gave_up) = (true, true);
            self.warnings.push(Warning::MachineTooNoisy {
                margin: procedure.rule().margin,
                launches: for_margin,
                max_launches: boundaries.max_launches() as u64,
                seconds: None,
            });
        }
    }

    fn compare_with_layout_noise(&mut self, procedure: &Procedure) {
        if !matches!(self.verdict, Verdict::Regression | Verdict::Improvement) {
            return;
        }
        let rule = procedure.rule();
        let layout = LEAST_LAYOUT_CHANGE.ln_1p().max(LAYOUT_QUANTILE * rule.tau);
        let deciding = self.deciding();
        let warning = if deciding.lies_within(layout) {
            Warning::WithinLayoutNoise { most: layout.exp_m1() }
        } else if deciding.lies_within(rule.margin.ln_1p()) {
            Warning::WithinMargin { margin: rule.margin }
        } else {
            return;
        };
        self.warnings.push(warning);
    }

    pub(crate) fn deciding(&self) -> &Estimate {
        match (&self.adjusted, self.decides) {
            (Some(adjusted), Metric::OpsPerSecondAdjusted) => adjusted,
            (_, _) => &self.wall,
        }
    }
}
