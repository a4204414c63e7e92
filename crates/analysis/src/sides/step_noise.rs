//! How much the launch values of a step's sides scatter, as far as the sides are alike: the base's processes show it without any
//! candidate, and candidates that scatter no more than they lend their launches.

use super::Roles;
use super::StepSides;
use super::rows::Places;
use crate::decision::ADJUSTED_IS_QUIETER;
use crate::family::cut;
use crate::student::median;
use model::metric::Metric;

/// More degrees of freedom than this do not make a variance better known for our purposes: Student's t is nearly the normal
/// distribution.
const MOST_FREEDOM: f64 = 120.0;
/// The normal quantile of 99 %: of sides that are alike one of a hundred is taken for noisier than the others.
const QUANTILE_99: f64 = 2.326_348;

/// Sums of squares with their degrees of freedom.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Squares {
    pub(super) sum: f64,
    pub(super) freedom: f64,
}

impl Squares {
    /// 0 without any.
    pub(super) fn variance(self) -> f64 {
        if self.freedom > 0.0 { self.sum / self.freedom } else { 0.0 }
    }

    /// Whether chance alone seldom makes so much of this variance.
    pub(super) fn exceeds(self, variance: f64) -> bool {
        self.variance() > most_of_chance(self.freedom) * variance
    }
}

/// What 99 % of variances with so many degrees of freedom do not exceed, in units of the true one: chi-square by Wilson and Hilferty
/// (1931).
pub(super) fn most_of_chance(freedom: f64) -> f64 {
    let share = 2.0 / (9.0 * freedom.max(1.0));
    (1.0 - share + QUANTILE_99 * share.sqrt()).powi(3)
}

/// The noise that sides share: sums over those that are no noisier than `reference` (a variance) lets chance make them.
pub(super) fn pooled(reference: f64, sides: impl Iterator<Item = Squares>) -> Squares {
    let alike = sides.filter(|side| side.freedom > 0.0 && !side.exceeds(reference));
    let all = alike.fold(Squares::default(), |all, one| Squares {
        sum: all.sum + one.sum,
        freedom: all.freedom + one.freedom,
    });
    let freedom = all.freedom.min(MOST_FREEDOM);
    Squares { sum: all.variance() * freedom, freedom }
}

/// The middle of the variances, of sides that have one.
pub(super) fn median_variance(sides: &[Squares]) -> f64 {
    let known = sides.iter().filter(|side| side.freedom > 0.0);
    median(&mut known.map(|side| side.variance()).collect::<Vec<f64>>())
}

/// The base's processes about their mean in each launch: a side's variance, whatever the candidates are. Values far out are brought
/// down, as those of the candidates are.
pub(super) fn of_base(step: &StepSides<'_>, roles: &Roles, rate: Metric, places: &Places) -> Squares {
    let (deviations, freedom) = base_deviations(step, roles, rate, places);
    Squares { sum: mean_square(&cut(&deviations)) * freedom, freedom }
}

/// The rate that is to decide of all candidates of a step: that in which the base's processes scatter less about their mean. Whatever
/// candidates lose does not show in it, and no flip changes it. Absent if the base runs once.
pub(super) fn choose_rate_by_base(step: &StepSides<'_>, roles: &Roles, places: &Places) -> Option<Metric> {
    let deviation = |rate| {
        let squares = of_base(step, roles, rate, places);
        (squares.freedom > 0.0).then(|| squares.variance().sqrt())
    };
    let (wall, adjusted) = (deviation(Metric::OpsPerSecond)?, deviation(Metric::OpsPerSecondAdjusted)?);
    let is_quieter = step.adjusted_may_decide && adjusted < ADJUSTED_IS_QUIETER * wall;
    Some(if is_quieter { Metric::OpsPerSecondAdjusted } else { Metric::OpsPerSecond })
}

fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64
}

/// Scaled so that each has the variance of a side.
fn base_deviations(step: &StepSides<'_>, roles: &Roles, rate: Metric, places: &Places) -> (Vec<f64>, f64) {
    let (mut deviations, mut freedom) = (Vec::new(), 0.0);
    for launch in step.launches.iter().filter(|launch| places.place(launch.launch).is_some()) {
        let of_side = |side| Some(launch.values.get(side)?.of(rate));
        let values: Vec<f64> = roles.base().iter().filter_map(of_side).collect();
        if values.len() < 2 {
            continue;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        deviations.extend(values.iter().map(|value| (value - mean) * (count / (count - 1.0)).sqrt()));
        freedom += count - 1.0;
    }
    (deviations, freedom)
}
