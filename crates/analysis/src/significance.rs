//! The p values of a judgement: how strong the evidence is against "no difference", both rates together.

use crate::boundaries::Seen;
use crate::decision::Decision;
use crate::estimate::{Method, value_of};
use crate::launch::LaunchSummary;
use crate::procedure::{Occasion, Procedure, Test};
use crate::signed_rank::{absolute_sum, exact_p, largest_sum, walsh_averages};
use crate::student::mean_is_zero_p;
use crate::units::{Sharing, sharing, unit_values, unshared_prefix};
use model::metric::Metric;

/// p values of one step: twice the smaller of the rates that may decide, as each is tested at half of alpha.
/// Absent where there is no test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Significance {
    /// Of the test that was used: the smallest alpha at which it would have rejected by now.
    pub p: Option<f64>,
    /// The least `p` that these launches could have given, all agreeing.
    pub p_floor: Option<f64>,
    /// By Student's t at every look, with the look's share of alpha (Bonferroni over looks); for families
    /// that need less than the floor allows.
    pub p_parametric: Option<f64>,
}

/// The rates of a step.
const RATES: f64 = 2.0;

/// The p values after these launches.
pub(crate) fn significance(
    launches: &[LaunchSummary],
    procedure: &Procedure,
    occasion: Occasion,
    decision: &Decision,
) -> Significance {
    let mut rates = vec![Metric::OpsPerSecond];
    if decision.adjusted_may_decide {
        rates.push(Metric::OpsPerSecondAdjusted);
    }
    let looks = looks_taken(launches, procedure, occasion);
    let smallest = |of_rate: &dyn Fn(Metric) -> Option<f64>| {
        rates.iter().filter_map(|rate| of_rate(*rate)).reduce(f64::min).map(|p| (RATES * p).min(1.0))
    };
    let p_parametric = smallest(&|rate| parametric_p(rate, &looks));
    let (p, p_floor) = match decision.wall.method {
        Method::SequentialSignedRank => (
            smallest(&|rate| ranks_p(procedure, &looks, |look| absolute_sum(&look.walsh(rate)))),
            smallest(&|_| ranks_p(procedure, &looks, |look| largest_sum(look.units()))),
        ),
        // At the end of a run that no look could decide, the one test has all that was due by now.
        Method::StudentT => {
            let share = match procedure.test(launches, occasion) {
                Test::StudentT { share, .. } | Test::SignedRank { share, .. } => share,
                Test::Nothing => 1.0,
            };
            (smallest(&|rate| Some((mean_is_zero_p(&values(launches, rate))? / share).min(1.0))), Some(0.0))
        }
        Method::RatioOnly => (None, None),
    };
    Significance { p, p_floor, p_parametric }
}

/// One occasion at which a test could have rejected.
struct LookTaken<'a> {
    launches: &'a [LaunchSummary],
    /// Its share of alpha beyond the looks before it.
    share: f64,
}

impl LookTaken<'_> {
    fn units(&self) -> usize {
        values(self.launches, Metric::OpsPerSecond).len()
    }

    fn walsh(&self, rate: Metric) -> Vec<f64> {
        walsh_averages(&values(self.launches, rate))
    }

    fn shares_images(&self) -> bool {
        sharing(self.launches) == Sharing::Several
    }
}

/// The looks up to now at which no image was shared, and the end.
fn looks_taken<'a>(
    launches: &'a [LaunchSummary],
    procedure: &Procedure,
    occasion: Occasion,
) -> Vec<LookTaken<'a>> {
    let unshared = unshared_prefix(launches);
    let mut ends: Vec<usize> = procedure.looks().into_iter().filter(|look| *look <= unshared).collect();
    if sharing(launches) == Sharing::One {
        ends = procedure.looks().into_iter().filter(|look| *look <= launches.len()).collect();
    }
    if occasion != Occasion::Between && ends.last() != Some(&launches.len()) {
        ends.push(launches.len());
    }
    let mut spent = 0.0;
    ends.into_iter()
        .map(|end| {
            let due = crate::boundaries::spent_share(end, procedure.max_launches());
            let share = due - spent;
            spent = due;
            LookTaken { launches: &launches[..end], share }
        })
        .collect()
}

fn values(launches: &[LaunchSummary], rate: Metric) -> Vec<f64> {
    unit_values(launches, value_of(rate))
}

fn parametric_p(rate: Metric, looks: &[LookTaken<'_>]) -> Option<f64> {
    looks
        .iter()
        .filter_map(|look| Some(mean_is_zero_p(&values(look.launches, rate))? / look.share))
        .reduce(f64::min)
        .map(|p| p.min(1.0))
}

fn ranks_p(
    procedure: &Procedure,
    looks: &[LookTaken<'_>],
    sum: impl Fn(&LookTaken<'_>) -> usize,
) -> Option<f64> {
    let seen: Vec<Seen> = looks
        .iter()
        .filter(|look| !look.shares_images())
        .map(|look| Seen { launches: look.launches.len(), sum: sum(look) })
        .collect();
    let by_launches = procedure.boundaries().map_or(1.0, |boundaries| boundaries.p_value(&seen));
    let by_images = looks
        .iter()
        .filter(|look| look.shares_images())
        .map(|look| exact_p(look.units(), sum(look)) / look.share)
        .fold(1.0, f64::min);
    Some(by_launches.min(by_images))
}
