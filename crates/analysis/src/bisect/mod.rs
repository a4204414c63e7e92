//! Bisect: which version was the first to differ from a good one, in as few launches as the noise allows
//! (statistics 1.7).
//!
//! [`Bisection`] is a state machine. It is told what was measured and says what to measure next; it starts nothing and
//! reads no clock, so that a search over a thousand commits is tested in milliseconds.
//!
//! The order of what it does: the two ends are compared by the ordinary procedure, and unless they differ by more than
//! the layout of code can make there is nothing to look for. Then each launch measures one version against the good end,
//! and `posterior` says where the step may lie after it. Once one place is likely enough, the versions on either side of
//! it are compared by the ordinary procedure: only that confirms it, and launches that chose the place have no part in
//! it. If the launches do not look like one step, or the step that was confirmed does not explain what was lost between
//! the ends, `stretches` says which stretches to search by themselves; how far their ends are apart `fit` tells from all
//! launches.
//!
//! The ends are compared and steps confirmed at alpha, so a step that is confirmed and is none is as rare as any
//! false verdict. That the right place is found is a matter of probability, and simulated: see
//! [`crate::simulation::bisect`].

mod actions;
mod confirming;
mod fit;
mod launches;
mod machine;
mod posterior;
mod stretches;

pub use actions::{Action, Event, Why};
pub use machine::Bisection;

use crate::judgement::Judgement;
use crate::{layout, student};
use model::verdict::{Layout, Verdict};

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The first version that is worse.
    Regression,
    /// The first version that is better.
    Improvement,
}

impl Wanted {
    /// The verdict that shows it.
    pub fn verdict(self) -> Verdict {
        match self {
            Wanted::Regression => Verdict::Regression,
            Wanted::Improvement => Verdict::Improvement,
        }
    }

    /// How large a change is in this direction; below zero in the other.
    fn size(self, shift: f64) -> f64 {
        match self {
            Wanted::Regression => -shift,
            Wanted::Improvement => shift,
        }
    }
}

/// How a search goes. Fixed before anything is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// What is looked for.
    pub wanted: Wanted,
    /// The search stops where one place has this probability, and has it confirmed.
    pub stop: f64,
    /// Launches of the search, comparisons not counted.
    pub most_launches: u32,
    /// Layout noise tau of one build, in ln.
    pub layout_noise: f64,
}

impl Default for Rule {
    /// 92 %, not the 95 % of the first design (statistics 1.7): a wrong place is not confirmed and costs the search some
    /// launches, and so would a higher bar (simulated: 0.90 to 0.95 differ by at most 3 % in all launches together). Three
    /// times the launches that a step as large as the noise takes on average: a bound, not an expectation. Layout noise as
    /// assumed until measured.
    fn default() -> Rule {
        Rule { wanted: Wanted::Regression, stop: 0.92, most_launches: 128, layout_noise: 0.005 }
    }
}

impl Rule {
    /// The least change between two builds that can be confirmed, in ln: less may be the layout of code.
    pub fn least_confirmed(&self) -> f64 {
        layout::quantile(ALPHA, 1) * self.layout_noise
    }
}

/// Level of the intervals, and of what layout may account for.
const ALPHA: f64 = 0.01;

/// What a comparison of two versions by the ordinary procedure said of the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    pub verdict: Verdict,
    /// Whether the layout of code can account for the change; absent without a verdict.
    pub layout: Option<Layout>,
    /// The later version over the earlier one.
    pub ratio: Option<f64>,
    /// Lower end of the interval of `ratio`.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Standard deviation of the launch values.
    pub launch_sd: Option<f64>,
    /// Launches that it rests on.
    pub launches: u32,
}

impl Compared {
    /// The rate that decided.
    pub fn of(judgement: &Judgement) -> Compared {
        let deciding = judgement.deciding();
        Compared {
            verdict: judgement.verdict,
            layout: judgement.layout,
            ratio: deciding.ratio,
            low: deciding.low,
            high: deciding.high,
            launch_sd: deciding.launch_sd,
            launches: judgement.launches,
        }
    }

    /// What a search needs to know of a difference; absent where there is none of the kind that is wanted.
    fn effect(&self, wanted: Wanted) -> Option<Effect> {
        self.measured().filter(|effect| self.shows(wanted) && effect.shift.abs() > 0.0)
    }

    /// Whether it shows a change of this kind that is more than the layout of code can make.
    fn shows(&self, wanted: Wanted) -> bool {
        self.verdict == wanted.verdict() && self.layout == Some(Layout::Beyond)
    }

    /// The difference whatever the verdict; absent where there is no rate or no noise.
    fn measured(&self) -> Option<Effect> {
        let noise = self.launch_sd?.max(LEAST_NOISE);
        // The Hodges-Lehmann estimate has 1.02 times the error of the mean where noise is normal.
        let error = 1.02 * noise / f64::from(self.launches.max(1)).sqrt();
        Some(Effect { shift: self.ratio?.ln(), error, noise })
    }
}

/// Launches that repeat more exactly than this are luck or rounding; not measured.
const LEAST_NOISE: f64 = 1e-4;

/// A difference between two versions; ln.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effect {
    /// The later less the earlier.
    pub(crate) shift: f64,
    /// Standard error of `shift`.
    pub(crate) error: f64,
    pub(crate) noise: f64,
}

/// Versions from a good one to one that differs from it, by their places in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    /// The earlier end: what launches are compared with.
    pub good: usize,
    pub bad: usize,
}

/// One launch of a version against the good end of its stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    pub anchor: usize,
    pub version: usize,
    /// The launch value: ln(version / anchor).
    pub value: f64,
}

/// The difference between two versions by all launches of a search, with its 99 % interval: the later over the earlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

impl Fitted {
    /// `df` is of the noise that the error rests on.
    fn of(difference: fit::Difference, df: usize) -> Fitted {
        let half = student::two_sided_quantile(ALPHA, df.max(1)) * difference.error;
        let [ratio, low, high] = [0.0, -half, half].map(|off| (difference.shift + off).exp());
        Fitted { ratio, low, high }
    }
}

/// A version that may be the first to differ, with its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspected {
    pub version: usize,
    /// That it is the first.
    pub probability: f64,
}

/// A step that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundStep {
    /// The last version before it that can be measured.
    pub last_good: usize,
    /// The first version from it on that can be measured.
    pub first_bad: usize,
    /// Versions of which each may be the first to differ: `first_bad`, and those before it that cannot be measured.
    pub candidates: Vec<usize>,
    /// That one of them is, after the search.
    pub probability: f64,
    /// The comparison of `last_good` and `first_bad`; absent where there was no time for it.
    pub confirmation: Option<Compared>,
    /// Whether that comparison shows the step.
    pub confirmed: bool,
    /// What the step leaves unexplained of the difference between the ends of its stretch, where that is more than
    /// chance and layout noise make of it: ln.
    pub remainder: Option<f64>,
}

/// A place whose comparison did not show the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotConfirmed {
    /// The versions that were compared.
    pub between: Stretch,
    /// What came of it.
    pub compared: Compared,
}

/// How the search of a stretch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Step(FoundStep),
    /// Not one step: its stretches are searched by themselves.
    Several,
    /// The ends do not differ in the way that is wanted.
    NoDifference,
    /// An end cannot be measured.
    EndNotMeasurable,
    /// The launches or the time were up: what is likeliest by then.
    Unfinished(Option<FoundStep>),
}

/// What is known of a stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct StretchReport {
    pub stretch: Stretch,
    /// The comparison of its ends, which are those of the whole; absent if it was not made.
    pub ends: Option<Compared>,
    /// Of a part: how far its ends are apart by all launches.
    pub fitted: Option<Fitted>,
    /// Where the step may lie, after the search; versions that cannot be measured keep what they had.
    pub suspected: Vec<Suspected>,
    /// Places that were likely enough and not confirmed, in their order.
    pub not_confirmed: Vec<NotConfirmed>,
    pub outcome: Outcome,
}

/// Launches by what they were for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Launches {
    /// Comparing the ends of the whole, and measuring those of its parts.
    pub ends: u32,
    pub search: u32,
    pub confirmation: u32,
}

impl Launches {
    /// All together.
    pub fn sum(self) -> u32 {
        self.ends + self.search + self.confirmation
    }
}

/// What a bisection found so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The stretches in the order of their search; the first one is the whole.
    pub stretches: Vec<StretchReport>,
    /// Launches that it took.
    pub launches: Launches,
}

impl StretchReport {
    /// The step that was found in it.
    pub fn step(&self) -> Option<&FoundStep> {
        match &self.outcome {
            Outcome::Step(step) | Outcome::Unfinished(Some(step)) => Some(step),
            Outcome::Several
            | Outcome::NoDifference
            | Outcome::EndNotMeasurable
            | Outcome::Unfinished(None) => None,
        }
    }
}

impl Findings {
    /// The steps in the order of versions: confirmed ones, or where there is none, what is likeliest.
    pub fn steps(&self) -> Vec<&FoundStep> {
        let mut steps: Vec<&FoundStep> = self.stretches.iter().filter_map(StretchReport::step).collect();
        let any_confirmed = steps.iter().any(|step| step.confirmed);
        steps.retain(|step| step.confirmed || !any_confirmed);
        steps.sort_by_key(|step| step.first_bad);
        steps
    }

    /// Whether one step does not explain what was measured.
    pub fn more_than_one_step(&self) -> bool {
        let steps = self.steps();
        self.stretches.iter().any(|report| report.outcome == Outcome::Several)
            || steps.iter().filter(|step| step.confirmed).count() > 1
            || steps.iter().any(|step| step.remainder.is_some())
    }
}
