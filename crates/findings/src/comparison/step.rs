//! One step of one candidate against the base: its verdict, its metrics, where the time of an operation went.

use model::block::Side;
use model::counter::Counter;
use model::metric::Metric;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;

/// One candidate against the base in one step: what is said, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedStep {
    pub side: Side,
    pub verdict: Verdict,
    /// The metric that carries the verdict; absent if the step has no rate or is a setup step.
    pub decides: Option<Metric>,
    /// Whether a regression or an improvement is significant after correction for all steps and candidates of the run.
    pub confirmed: bool,
    /// Whether it is significant at a false discovery rate of 5 % over all of them (Benjamini and Hochberg).
    pub discovered: bool,
    /// Whether the layout of code can account for it; absent without a verdict, and in rounds, whose intervals include
    /// it.
    pub layout: Option<Layout>,
    /// p value of the step alone; in rounds, of all candidates of the step. Absent if there was no test.
    pub p_value: Option<f64>,
    /// Launches or rounds that it rests on.
    pub repeats: u32,
    /// Wall time of both sides in them, in seconds.
    pub seconds: f64,
    /// Every metric that either side has, the rates first.
    pub metrics: Vec<ComparedMetric>,
    /// Where the time of an operation went; absent if it was not measured or its parts do not add up.
    pub time: Option<TimeParts>,
    /// The smallest change that would have been found with 90 % power (0.02 is 2 %).
    pub visible_change: Option<f64>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

/// One metric of both sides, in its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedMetric {
    pub metric: Metric,
    pub base: Option<f64>,
    pub candidate: Option<f64>,
    /// Candidate over base, estimated from pairs or complete rounds: it may differ from the quotient of the values.
    pub ratio: Option<f64>,
    /// Lower end of its interval; absent if it has none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Confidence of the interval; absent without one.
    pub confidence: Option<f64>,
    /// The standard error of ln of the ratio; absent if it has none.
    pub error: Option<LnError>,
    /// Launches or rounds that have it on both sides.
    pub repeats: u32,
    /// Of a counter that was tested in addition to the rates.
    pub moved: Option<MovedCounter>,
}

/// A standard error of ln of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LnError {
    pub deviation: f64,
    /// Degrees of freedom that it was estimated with.
    pub freedom: usize,
}

/// Whether a counter moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedCounter {
    pub moved: bool,
    /// The order of those that moved: larger is clearer.
    pub score: f64,
    /// A counter that it is the same finding as.
    pub twin_of: Option<Counter>,
}

/// The time of an operation on a foreground thread, in microseconds: wall is the sum of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeParts {
    pub wall: BothSides,
    /// Running on a CPU.
    pub cpu: BothSides,
    /// Runnable, waiting for a CPU.
    pub run_delay: BothSides,
    /// Blocked or asleep.
    pub other: BothSides,
}

/// A value of both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BothSides {
    pub base: f64,
    pub candidate: f64,
}

impl ComparedStep {
    /// One metric of it.
    pub fn metric(&self, metric: Metric) -> Option<&ComparedMetric> {
        self.metrics.iter().find(|one| one.metric == metric)
    }

    /// The metric that carries the verdict.
    pub fn deciding(&self) -> Option<&ComparedMetric> {
        self.metric(self.decides?)
    }

    /// The ratio of the metric that carries the verdict.
    pub fn ratio(&self) -> Option<f64> {
        self.deciding()?.ratio
    }

    /// The deciding metric with its ratio; absent if either is.
    pub fn deciding_ratio(&self) -> Option<(&ComparedMetric, f64)> {
        self.deciding().zip(self.ratio())
    }

    /// Whether the verdict says that there is a difference.
    pub fn is_directional(&self) -> bool {
        self.verdict.is_directional()
    }

    /// Whether a regression or an improvement is significant alone, but not after correction for all steps.
    pub fn is_alone(&self) -> bool {
        matches!(self.verdict, Verdict::Regression | Verdict::Improvement) && !self.confirmed
    }

    /// A change that was announced while there is no verdict: ratio, low and high.
    pub fn provisional(&self) -> Option<[f64; 3]> {
        let of = |warning: &Warning| match warning {
            Warning::Provisional { ratio, low, high, .. } => Some([*ratio, *low, *high]),
            _ => None,
        };
        self.warnings.iter().filter(|_| self.verdict == Verdict::Inconclusive).find_map(of)
    }

    /// Whether the sides differ, but have no verdict because they did unequal work: they read different trees, one left compactions undone, or
    /// did less than what was asked for beside the step.
    pub fn did_unequal_work(&self) -> bool {
        let is_unequal = |warning: &Warning| {
            matches!(
                warning,
                Warning::ShapeDiffers { .. } | Warning::DebtDiffers { .. } | Warning::MissedRate { .. }
            )
        };
        self.verdict == Verdict::Inconclusive
            && self.provisional().is_none()
            && self.warnings.iter().any(is_unequal)
            && self.deciding().is_some_and(ComparedMetric::excludes_one)
    }

    /// Whether the ratio is that of a difference that was found, with a verdict or without.
    pub fn differs(&self) -> bool {
        self.is_directional() || self.did_unequal_work()
    }

    /// Whether a difference was neither found nor ruled out.
    pub fn is_open(&self) -> bool {
        self.verdict == Verdict::Inconclusive && !self.did_unequal_work()
    }

    /// Whether it holds after correction for all steps, but builds of one source may differ as much.
    pub fn may_be_layout(&self) -> bool {
        self.confirmed && self.layout == Some(Layout::MayBe)
    }

    /// Whether it is a change that counts: it holds after correction for all steps, beyond the layout of code.
    pub fn counts(&self) -> bool {
        self.confirmed && !self.may_be_layout()
    }

    /// Whether the rate decides from which the time spent waiting for a CPU is taken out.
    pub fn is_adjusted(&self) -> bool {
        self.decides == Some(Metric::OpsPerSecondAdjusted)
    }

    /// The counters that moved, the clearest first, one for each group of twins.
    pub fn moved(&self) -> Vec<&ComparedMetric> {
        let clear =
            |one: &&ComparedMetric| one.moved.is_some_and(|moved| moved.moved && moved.twin_of.is_none());
        let mut moved: Vec<&ComparedMetric> = self.metrics.iter().filter(clear).collect();
        let key = |one: &ComparedMetric| {
            (one.moved.map_or(0.0, |moved| moved.score), one.ratio.map_or(0.0, |ratio| ratio.ln().abs()))
        };
        moved.sort_by(|left, right| {
            let ((left_score, left_size), (right_score, right_size)) = (key(left), key(right));
            right_score.total_cmp(&left_score).then(right_size.total_cmp(&left_size))
        });
        moved
    }
}

impl ComparedMetric {
    /// Whether the interval leaves no doubt that something moved.
    pub fn excludes_one(&self) -> bool {
        self.low.is_some_and(|low| low > 1.0) || self.high.is_some_and(|high| high < 1.0)
    }

    /// Whether it has an interval that is bounded on a side.
    pub fn is_bounded(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }
}
