//! Whether the harness treats two equal sides alike, from calibrations that are made now and then: e-values that are
//! carried on from one calibration to the next and may be looked at after each.
//!
//! Which process, slot, directory and place in each cycle a side has is drawn in each launch. So if the sides are treated
//! alike, the value of a launch is as likely to be `y` as `-y`, given its size and all launches before, whatever its
//! distribution is. A bet on a direction that pays `exp(b x) / cosh(b x)` for a launch, with an odd function `x` of `y`, then
//! has the mean 1, and so has the product over launches: it is the "Fisher" e-test of symmetry of Vovk and Wang
//! ("Nonparametric e-tests of symmetry", 2024), and equals `exp(b sum x)` over its mean under all sign flips. Here `x` is `y`
//! over the scale of the launches so far, this one included. The scale is made of sizes alone, so no flip changes it; it looks at
//! no later launch, so the product is a martingale and a step may leave its run at any launch.
//!
//! A mean of e-values is an e-value (Vovk and Wang, "E-values: calibration, combination and applications", 2021): the
//! mean over bets, directions and rates needs no further correction, however much the rates depend on each other.
//! P(the e-value ever reaches c) <= 1 / c (Ville 1939): calibrations may be added without end, and each may be looked at.

use crate::launch::LaunchSummary;
use crate::student::{SD_OF_MEDIAN, median};
use model::self_test::{Gains, SelfTestRecord};

/// Share of honest harnesses in which some step of a workload ever fails, however often it is calibrated.
pub const ALPHA: f64 = 0.01;

/// The sizes of bets. The best bet on a shift of `d` launch standard deviations is about `d`, and half or twice that still gains
/// three quarters of it, so powers of two lose little. The largest is for launches that all have one sign. The smallest
/// says what is tolerated: a bet loses on shifts below half of it, so one of less than about 1/16 standard deviation is
/// never found. In a comparison of 48 launches that is 0.43 standard errors, which lets at most 2 % of verdicts be false
/// in place of 1 %.
const BETS: [f64; 6] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0];
/// Each bet in both directions.
const DIRECTIONS: usize = 2;
/// A launch counts as at most so many standard deviations: one that was disturbed must not lose what all others won.
const MOST_SDS: f64 = 2.0;
/// No e-value is told as more than this, so that it stays a number.
const MOST: f64 = 1e300;
/// Launches beyond which it is not looked for how many could reach a threshold; 7 reach the one of a single step.
const MOST_NEEDED: u32 = 1000;

/// What is known of one step after some calibrations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accumulated {
    /// The e-value now.
    pub e_value: f64,
    /// The largest that it was after any of the calibrations: once it has reached the threshold, it stays so.
    pub largest: f64,
    /// The e-value at which the step fails: steps of the workload over alpha.
    pub threshold: f64,
    /// Those in which the step was measured.
    pub calibrations: u32,
    pub launches: u32,
    /// The fewest launches that could have failed the step, if all had favoured one side alike.
    pub needed: u32,
}

/// What the self-test of a step says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum SelfTestResult {
    /// It could have failed, and did not.
    Passed,
    /// Too few launches to fail, whatever they say.
    NotEnough,
    /// The sides are not treated alike.
    Failed,
}

impl SelfTestResult {
    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Accumulated {
    pub fn result(&self) -> SelfTestResult {
        if self.largest >= self.threshold {
            SelfTestResult::Failed
        } else if self.launches < self.needed {
            SelfTestResult::NotEnough
        } else {
            SelfTestResult::Passed
        }
    }
}

/// What the bets on the launches of one step in one calibration won; in the order in which they were measured.
pub fn gains(launches: &[LaunchSummary]) -> Gains {
    let of = |value: fn(&LaunchSummary) -> Option<f64>| {
        ln_gains(&launches.iter().filter_map(value).collect::<Vec<f64>>())
    };
    Gains {
        launches: count(launches.len()),
        wall: of(|launch| launch.wall),
        adjusted: of(|launch| launch.adjusted),
    }
}

/// The calibrations of one step together, from the oldest to the newest. Absent where there is none.
///
/// The bets go on from calibration to calibration, so that their size and direction are found once: a product of one
/// mean for each calibration would pay for that anew each time, and lose on biases of less than about one and a half
/// standard errors of a calibration.
pub fn accumulate(records: &[&SelfTestRecord]) -> Option<Accumulated> {
    let newest = records.last()?;
    let threshold = threshold(newest.family);
    let mut won = Vec::new();
    let (mut e_value, mut largest, mut launches) = (1.0, 0.0_f64, 0);
    for record in records {
        add(&mut won, &record.gains);
        e_value = mean_of_exp(won.iter()).min(MOST);
        largest = largest.max(e_value);
        launches += record.gains.launches;
    }
    Some(Accumulated {
        e_value,
        largest,
        threshold,
        calibrations: count(records.iter().filter(|record| record.gains.launches > 0).count()),
        launches,
        needed: launches_needed(threshold),
    })
}

/// The e-value that fails one of this many steps.
pub fn threshold(family: u32) -> f64 {
    f64::from(family.max(1)) / ALPHA
}

/// The fewest launches of one calibration that reach an e-value: all of one size and sign.
fn launches_needed(threshold: f64) -> u32 {
    let one = ln_gains(&[1.0]);
    let reaches = |launches: &u32| {
        let gains: Vec<f64> = one.iter().map(|gain| gain * f64::from(*launches)).collect();
        mean_of_exp(gains.iter()) >= threshold
    };
    (1..MOST_NEEDED).find(reaches).unwrap_or(MOST_NEEDED)
}

/// The logarithms of what each bet on these launches pays: all sizes on the candidate, then all on the base.
fn ln_gains(values: &[f64]) -> Vec<f64> {
    let mut gains = vec![0.0; DIRECTIONS * BETS.len()];
    for value in scaled(values) {
        let both = BETS.iter().copied().chain(BETS.map(|bet| -bet));
        for (gain, bet) in gains.iter_mut().zip(both) {
            let stake = bet * value;
            *gain += stake - ln_cosh(stake);
        }
    }
    gains
}

/// Each value over the scale of those up to it. What is not finite is left out.
fn scaled(values: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = Vec::with_capacity(values.len());
    let finite = values.iter().filter(|value| value.is_finite());
    let scale = |value: &f64| {
        let size = value.abs();
        sizes.push(size);
        let median = median(&mut sizes);
        if size > 0.0 {
            // Where most are 0, the median is, and the quotient has no bound of its own.
            (value / (SD_OF_MEDIAN * median)).clamp(-MOST_SDS, MOST_SDS)
        } else {
            0.0
        }
    };
    finite.map(scale).collect()
}

/// Adds what the bets of one calibration won, of both rates in turn.
fn add(won: &mut Vec<f64>, gains: &Gains) {
    won.resize(won.len().max(gains.wall.len() + gains.adjusted.len()), 0.0);
    for (sum, gain) in won.iter_mut().zip(gains.wall.iter().chain(&gains.adjusted)) {
        *sum += gain;
    }
}

/// The mean of the exponentials, by way of the largest: e-values overflow.
fn mean_of_exp<'a>(logarithms: impl Iterator<Item = &'a f64> + Clone) -> f64 {
    let largest = logarithms.clone().copied().fold(f64::NEG_INFINITY, f64::max);
    let (sum, number) =
        logarithms.fold((0.0, 0.0), |(sum, number), one| (sum + (one - largest).exp(), number + 1.0));
    if number > 0.0 { (largest + (sum / number).ln()).exp() } else { 1.0 }
}

/// ln cosh, without overflow.
fn ln_cosh(value: f64) -> f64 {
    value.abs() + (-2.0 * value.abs()).exp().ln_1p() - std::f64::consts::LN_2
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
