//! The estimate of one metric: ratio, interval, and how small a change could be seen.

use crate::launch::{LaunchSummary, Totals, unit_values};
use crate::procedure::{LEAST_UNITS, Test};
use crate::signed_rank;
use crate::student;
use model::metric::Metric;
use model::verdict::Verdict;

/// How an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Repeated confidence interval of the group-sequential signed-rank test: valid at every stop.
    SequentialSignedRank,
    /// Student's t: assumes normal values; one look.
    StudentT,
    RatioOnly,
}

/// What is known of one metric. Values are in the unit of the metric, totals over all launches; a value that
/// cannot be had is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    pub metric: Metric,
    pub base_value: Option<f64>,
    pub candidate_value: Option<f64>,
    /// Candidate over base: exp of the Hodges-Lehmann estimate over the launches. It may differ from the
    /// quotient of the two values, which knows no pairs.
    pub ratio: Option<f64>,
    /// Lower end of the interval of the ratio; absent where it is not bounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Smallest and largest ratio of a unit.
    pub range: Option<(f64, f64)>,
    /// Confidence of the interval, 0.99.
    pub confidence: f64,
    /// Units of inference: launches, or images where launches share them.
    pub units: u32,
    /// How the interval was found.
    pub method: Method,
    /// Standard deviation of the logarithms of the units' ratios.
    pub launch_sd: Option<f64>,
    /// The smallest change that this test would have found with 90 % power (0.03 is 3 %).
    pub visible_change: Option<f64>,
}

/// What an interval says, by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Slower,
    Faster,
    WithinMargin,
    Open,
}

impl Reading {
    /// Whether one rate says slower and the other faster.
    pub(crate) fn contradicts(self, other: Reading) -> bool {
        matches!((self, other), (Reading::Slower, Reading::Faster) | (Reading::Faster, Reading::Slower))
    }

    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Reading::Slower => Verdict::Regression,
            Reading::Faster => Verdict::Improvement,
            Reading::WithinMargin => Verdict::NoChange,
            Reading::Open => Verdict::Inconclusive,
        }
    }
}

/// Normal quantile of 90 %: the power of [`Estimate::visible_change`].
pub(crate) const POWER_QUANTILE: f64 = 1.28;
/// What the signed-rank test needs beyond the t test where noise is normal (statistics 1.3).
const RANK_PENALTY: f64 = 1.02;

/// The change in ln that a signed-rank test with boundary `critical_t` finds in `units` values of this
/// standard deviation with 90 % power.
pub(crate) fn visible_by_ranks(critical_t: f64, deviation: f64, units: f64) -> f64 {
    RANK_PENALTY * (critical_t + POWER_QUANTILE) * deviation / units.sqrt()
}

/// The change in ln that a t of `critical_t` finds in `units` values of this standard deviation with 90 % power.
pub(crate) fn visible_by_t(critical_t: f64, deviation: f64, units: f64) -> f64 {
    (critical_t + POWER_QUANTILE) * deviation / units.sqrt()
}

/// Launches that a signed-rank test with boundary `critical_t` needs to find a change of `ln_change` with 90 %
/// power.
pub(crate) fn launches_to_see(ln_change: f64, critical_t: f64, deviation: f64) -> f64 {
    visible_by_ranks(critical_t, deviation, 1.0).powi(2) / ln_change.powi(2)
}

/// The change in ln that Student's t at two-sided level `alpha` finds with 90 % power; needs three values.
pub(crate) fn visible_by_student(alpha: f64, deviation: f64, units: usize) -> f64 {
    let df = units - 1;
    let quantiles = student::two_sided_quantile(alpha, df) + student::two_sided_quantile(0.2, df);
    quantiles * deviation / (units as f64).sqrt()
}

/// The estimate of one metric from these launches.
pub(crate) fn estimate(metric: Metric, launches: &[LaunchSummary], test: Test, confidence: f64) -> Estimate {
    let values = unit_values(launches, value_of(metric));
    let base = Totals::sum(launches.iter().map(|launch| &launch.base));
    let candidate = Totals::sum(launches.iter().map(|launch| &launch.candidate));
    let walsh = signed_rank::walsh_averages(&values);
    let center = signed_rank::hodges_lehmann(&walsh);
    let launch_sd = student::standard_deviation(&values);
    let (interval, method) = match test {
        Test::SignedRank { critical } => {
            (signed_rank::interval(&walsh, critical), Method::SequentialSignedRank)
        }
        Test::StudentT { alpha } => match student::interval(&values, alpha) {
            Some((low, high)) => ((Some(low), Some(high)), Method::StudentT),
            None => ((None, None), Method::RatioOnly),
        },
        Test::Nothing => ((None, None), Method::RatioOnly),
    };
    Estimate {
        metric,
        base_value: total_value(metric, &base),
        candidate_value: total_value(metric, &candidate),
        ratio: center.map(f64::exp),
        low: interval.0.map(f64::exp),
        high: interval.1.map(f64::exp),
        range: walsh.first().zip(walsh.last()).map(|(low, high)| (low.exp(), high.exp())),
        confidence,
        units: u32::try_from(values.len()).unwrap_or(u32::MAX),
        method,
        launch_sd,
        visible_change: launch_sd.and_then(|deviation| visible(test, deviation, values.len())),
    }
}

impl Estimate {
    /// The same without an interval.
    pub(crate) fn without_interval(self) -> Estimate {
        Estimate { low: None, high: None, method: Method::RatioOnly, visible_change: None, ..self }
    }

    /// What the interval of a rate says under a margin, which is symmetric in ln: swapping the sides turns
    /// slower into faster and nothing else.
    pub(crate) fn reading(&self, margin: f64) -> Reading {
        if self.high.is_some_and(|high| high < 1.0) {
            Reading::Slower
        } else if self.low.is_some_and(|low| low > 1.0) {
            Reading::Faster
        } else if self.lies_within(margin.ln_1p()) {
            Reading::WithinMargin
        } else {
            Reading::Open
        }
    }

    /// The change holds among others too; which it is. The interval ends at "no change" at most: a test of all together may be surer of the
    /// direction than the interval of this one.
    pub(crate) fn confirm(&mut self) -> Verdict {
        if self.ratio.is_some_and(|ratio| ratio > 1.0) {
            self.low = Some(self.low.unwrap_or(0.0).max(1.0f64.next_up()));
            Verdict::Improvement
        } else {
            self.high = Some(self.high.unwrap_or(f64::INFINITY).min(1.0f64.next_down()));
            Verdict::Regression
        }
    }

    /// Whether the whole interval lies within plus or minus `ln_bound`.
    pub(crate) fn lies_within(&self, ln_bound: f64) -> bool {
        self.low.is_some_and(|low| low.ln() >= -ln_bound)
            && self.high.is_some_and(|high| high.ln() <= ln_bound)
    }
}

fn visible(test: Test, deviation: f64, units: usize) -> Option<f64> {
    let ln_change = match test {
        Test::SignedRank { critical } => {
            let critical_t = critical as f64 / signed_rank::sum_deviation(units);
            visible_by_ranks(critical_t, deviation, units as f64)
        }
        Test::StudentT { alpha } if units >= LEAST_UNITS => visible_by_student(alpha, deviation, units),
        Test::StudentT { .. } | Test::Nothing => return None,
    };
    Some(ln_change.exp_m1())
}

pub(crate) fn value_of(metric: Metric) -> fn(&LaunchSummary) -> Option<f64> {
    match metric {
        Metric::OpsPerSecond => |launch| launch.wall,
        Metric::OpsPerSecondAdjusted => |launch| launch.adjusted,
        Metric::CpuMicrosPerOp => |launch| launch.cpu,
        // Counters have a module of their own: they need another treatment of zeros. What is left is of trials in one go.
        _ => |_| None,
    }
}

fn total_value(metric: Metric, totals: &Totals) -> Option<f64> {
    let (numerator, denominator) = match metric {
        Metric::OpsPerSecond => (totals.operations, totals.wall_s),
        Metric::OpsPerSecondAdjusted => (totals.operations, totals.adjusted_s),
        Metric::CpuMicrosPerOp => (totals.process_cpu_s? * 1e6, totals.operations),
        _ => return None,
    };
    (denominator > 0.0).then(|| numerator / denominator)
}
