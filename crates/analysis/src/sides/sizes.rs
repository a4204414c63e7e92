//! How much each candidate differs from the base: least squares over all sides, the noise of the base shared, and intervals that hold
//! for all steps and candidates together. They assume normal noise; the verdict is that of [`super::test`].

use super::step_noise::{Squares, median_variance, pooled};
use super::{Roles, StepSides};
use crate::error::Error;
use crate::estimate::POWER_QUANTILE;
use crate::rounds::{self, RoundValues, RoundsFit};
use crate::student;
use model::block::Side;
use model::metric::Metric;

/// One candidate against the base in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Size {
    /// Index of the step.
    pub step: usize,
    pub candidate: Side,
    pub rate: Metric,
    /// Candidate over base, in ln.
    pub ln_ratio: f64,
    /// Standard error of the difference, the base's noise included; absent if no launch repeats.
    pub ln_error: Option<f64>,
    /// Half of the interval, in ln: of all intervals of a run, at least one misses the truth in a share of alpha.
    pub half_width: Option<f64>,
    /// The change in ln that would have been seen with 90 % power at this alpha.
    pub visible: Option<f64>,
    /// Launches in which the candidate has a value.
    pub launches: usize,
    /// Whether it is noisier than the others, so that only its own launches say how much.
    pub is_noisy: bool,
}

/// How a run is laid out, for what it will see.
#[derive(Debug, Clone, Copy)]
pub struct SidesLayout {
    pub base_processes: usize,
    /// Steps times candidates.
    pub family: usize,
    pub launches: f64,
    pub alpha: f64,
}

/// Degrees of freedom of noise that many sides share.
const WELL_KNOWN: usize = 120;

impl SidesLayout {
    /// The change in ln that is seen with 90 % power if a side's value scatters by this in a launch (standard deviation, ln).
    pub fn visible(&self, deviation: f64) -> f64 {
        let level = self.alpha / self.family.max(1) as f64;
        let factor = 1.0 + 1.0 / self.base_processes.max(1) as f64;
        let error = deviation * (factor / self.launches.max(1.0)).sqrt();
        (student::two_sided_quantile(level, WELL_KNOWN) + POWER_QUANTILE) * error
    }
}

/// The sizes of all steps and candidates, by step and then by candidate; `rates` in that order too. Absent where the candidate has no
/// launch that connects it with the base.
///
/// # Errors
/// A value that is no finite number.
pub fn sizes(
    steps: &[StepSides<'_>],
    roles: &Roles,
    rates: &[Metric],
    alpha: f64,
) -> Result<Vec<Option<Size>>, Error> {
    let level = alpha / roles.members(steps.len()).max(1) as f64;
    let mut all = Vec::with_capacity(rates.len());
    for (step, (sides, rates)) in steps.iter().zip(rates.chunks(roles.candidates().len())).enumerate() {
        let fits = [Metric::OpsPerSecond, Metric::OpsPerSecondAdjusted]
            .map(|rate| rates.contains(&rate).then(|| StepFit::of(sides, roles, rate)).transpose());
        let [wall, adjusted] = fits;
        let (wall, adjusted) = (wall?, adjusted?);
        for (index, rate) in rates.iter().enumerate() {
            let fit = if *rate == Metric::OpsPerSecondAdjusted { &adjusted } else { &wall };
            all.push(fit.as_ref().and_then(|fit| fit.size(step, index, level)));
        }
    }
    Ok(all)
}

/// The additive model of launches and sides of one step and rate.
struct StepFit<'a> {
    roles: &'a Roles,
    rate: Metric,
    fit: RoundsFit,
    /// What the sides share.
    noise: Squares,
    /// Of each candidate by itself.
    own: Vec<Squares>,
}

impl<'a> StepFit<'a> {
    fn of(step: &StepSides<'_>, roles: &'a Roles, rate: Metric) -> Result<StepFit<'a>, Error> {
        let sides: Vec<Side> = roles.base().iter().chain(roles.candidates()).copied().collect();
        let cells = |launch: &super::SideLaunch| {
            sides.iter().map(|side| launch.values.get(side).map(|value| value.of(rate))).collect()
        };
        let values = RoundValues::new(sides.len(), step.launches.iter().map(cells).collect())?;
        let fit = rounds::fit(&values);
        let of_side = |side: usize| {
            let (sum, freedom) = fit.own_squares(side);
            Squares { sum, freedom }
        };
        let all: Vec<Squares> = (0..sides.len()).map(of_side).collect();
        let noise = pooled(median_variance(&all), all.iter().copied());
        let own = all[roles.base().len()..].to_vec();
        Ok(StepFit { roles, rate, fit, noise, own })
    }

    fn size(&self, step: usize, candidate: usize, level: f64) -> Option<Size> {
        let processes = self.roles.base().len();
        let base: Vec<usize> =
            (0..processes).filter(|side| self.fit.versions[*side].mean.is_some()).collect();
        let mean = |side: usize| self.fit.versions[side].mean;
        let of_base = base.iter().filter_map(|side| mean(*side)).sum::<f64>() / base.len() as f64;
        let side = processes + candidate;
        let ln_ratio = mean(side)? - of_base;
        let share = -1.0 / base.len() as f64;
        let weights: Vec<(usize, f64)> =
            base.iter().map(|side| (*side, share)).chain([(side, 1.0)]).collect();
        let factor = self.fit.factor_of_sum(&weights)?;
        let launches = self.fit.versions[side].rounds;
        let error = self.error(candidate, factor, launches);
        let half = |error: Known| student::two_sided_quantile(level, error.freedom) * error.deviation;
        Some(Size {
            step,
            candidate: self.roles.candidates()[candidate],
            rate: self.rate,
            ln_ratio,
            ln_error: error.map(|error| error.deviation),
            half_width: error.map(half),
            visible: error.map(|error| half(error) + POWER_QUANTILE * error.deviation),
            launches,
            is_noisy: self.own[candidate].exceeds(self.noise.variance()),
        })
    }

    /// The error of a contrast whose variance is `factor` times a side's, if all sides are alike. A candidate that is noisier than
    /// chance makes it brings what it has more, and its few degrees of freedom (Satterthwaite 1946).
    fn error(&self, candidate: usize, factor: f64, launches: usize) -> Option<Known> {
        let (own, noise) = (self.own[candidate], self.noise);
        if noise.freedom < 1.0 {
            return None;
        }
        let of_shared = factor * noise.variance();
        if !own.exceeds(noise.variance()) {
            return Some(Known { deviation: of_shared.sqrt(), freedom: whole(noise.freedom) });
        }
        let of_rest = (of_shared - noise.variance() / launches as f64).max(0.0);
        let of_own = own.variance() / launches as f64;
        let variance = of_rest + of_own;
        let squares = of_rest.powi(2) / noise.freedom + of_own.powi(2) / own.freedom;
        Some(Known { deviation: variance.sqrt(), freedom: whole(variance * variance / squares) })
    }
}

/// A standard deviation and how well it is known.
#[derive(Debug, Clone, Copy)]
struct Known {
    deviation: f64,
    freedom: usize,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "degrees of freedom, a few hundred at most"
)]
fn whole(freedom: f64) -> usize {
    (freedom + 1e-9).max(1.0) as usize
}
