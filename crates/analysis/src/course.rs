//! How the rate of a trial goes on over its seconds: whether it falls, and whether it goes up and down in waves, as checkpoints, purge and
//! compactions make it do.
//!
//! Waves are found by the autocorrelation of the rates less their trend: seconds that are one period apart go together, so do those two
//! periods apart, and some in between go against each other (Box and Jenkins, *Time Series Analysis*, chapter 2). The thresholds were
//! set on simulated noise, white and autocorrelated, and are held by other seeds in the tests.

use crate::student::median;

/// Fewer seconds show no course.
pub const LEAST_SECONDS: usize = 40;
/// The first and the last of so many parts of a trial are compared.
const PARTS: usize = 5;
/// A rate that has fallen to more than this in one of several trials did not fall; of a single trial to more than the second.
const FALLEN: f64 = 0.8;
const FALLEN_IN_ONE: f64 = 0.65;
/// Correlations of seconds one period and two periods apart, and the least of those closer together.
const TOGETHER: f64 = 0.42;
const TOGETHER_TWICE: f64 = 0.2;
const AGAINST: f64 = -0.12;
/// The shortest period in seconds, and how many periods a trial must have.
const SHORTEST: usize = 4;
const PERIODS: usize = 4;
/// The rate that nine tenths of the seconds stay below over that of one tenth: less is no wave that anybody looks for.
const LEAST_SWING: f64 = 1.2;

/// Waves in the rate of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waves {
    /// Seconds from one to the next.
    pub period_s: f64,
    /// The rate that a tenth of the seconds stays below, over that of the middle second.
    pub low: f64,
    /// The same of nine tenths.
    pub high: f64,
}

/// The rate of the last fifth of the seconds over that of the first, the middle of these trials; absent if it did not fall in each.
pub fn fallen_to(trials: &[&[f64]]) -> Option<f64> {
    let most = if trials.len() > 1 { FALLEN } else { FALLEN_IN_ONE };
    let fell = trials.iter().map(|rates| last_over_first(rates).filter(|ratio| *ratio <= most));
    let mut fell: Vec<f64> = fell.collect::<Option<_>>()?;
    (!fell.is_empty()).then(|| median(&mut fell))
}

fn last_over_first(rates: &[f64]) -> Option<f64> {
    if rates.len() < LEAST_SECONDS {
        return None;
    }
    let length = rates.len() / PARTS;
    let first = median(&mut rates[..length].to_vec());
    let last = median(&mut rates[rates.len() - length..].to_vec());
    (first > 0.0).then(|| last / first)
}

/// The waves of the trial whose period is the middle one; absent if not more than half of the trials have some.
pub fn waves(trials: &[&[f64]]) -> Option<Waves> {
    let mut found: Vec<Waves> = trials.iter().filter_map(|rates| waves_of(rates)).collect();
    found.sort_by(|left, right| left.period_s.total_cmp(&right.period_s));
    found.get(found.len() / 2).filter(|_| 2 * found.len() > trials.len()).copied()
}

fn waves_of(rates: &[f64]) -> Option<Waves> {
    let length = rates.len();
    if length < LEAST_SECONDS {
        return None;
    }
    let flat = without_trend(rates);
    let longest = length / PERIODS;
    let square: f64 = flat.iter().map(|value| value * value).sum();
    let at_lag = |lag: usize| correlation(&flat, square, lag);
    let together: Vec<f64> = (0..=longest + 1).map(at_lag).collect();
    let is_peak = |lag: &usize| {
        let (at, closer) = (together[*lag], &together[1..*lag]);
        at >= TOGETHER
            && at >= together[lag - 1]
            && at >= together[lag + 1]
            && closer.iter().any(|one| *one <= AGAINST)
            && at_lag(2 * lag) >= TOGETHER_TWICE
    };
    let period = (SHORTEST..=longest).find(is_peak)?;
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = |tenths: usize| sorted[(length - 1) * tenths / 10];
    let (low, middle, high) = (below(1), below(5), below(9));
    let swings = middle > 0.0 && high >= LEAST_SWING * low;
    swings.then(|| Waves { period_s: period as f64, low: low / middle, high: high / middle })
}

/// Less the line of least squares.
fn without_trend(rates: &[f64]) -> Vec<f64> {
    let count = rates.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = rates.iter().sum::<f64>() / count;
    let places = || (0..rates.len()).map(|place| place as f64 - middle);
    let rise = places().zip(rates).map(|(place, rate)| place * (rate - mean)).sum::<f64>()
        / places().map(|place| place * place).sum::<f64>();
    places().zip(rates).map(|(place, rate)| rate - mean - rise * place).collect()
}

/// The autocorrelation at a lag of values whose sum of squares is `square`; 0 if all are alike.
fn correlation(flat: &[f64], square: f64, lag: usize) -> f64 {
    let product: f64 = flat.iter().zip(flat.iter().skip(lag)).map(|(one, later)| one * later).sum();
    let pairs = flat.len().saturating_sub(lag) as f64;
    if square > 0.0 && pairs > 0.0 { product / pairs / (square / flat.len() as f64) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::f64::consts::TAU;

    /// A rate over some seconds, with noise whose correlation from one second to the next is `together`.
    fn noisy(seed: u64, seconds: u32, together: f64, noise: f64, rate: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut uniform = || random.next_u64() as f64 / u64::MAX as f64;
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let own = (1.0_f64 - together * together).sqrt();
        let mut now = normal();
        let second = |second| {
            now = together * now + own * normal();
            rate(f64::from(second)) * (1.0 + noise * now).max(0.0)
        };
        (0..seconds).map(second).collect()
    }

    fn share(of: u64, is: impl Fn(u64) -> bool) -> f64 {
        (0..of).filter(|seed| is(*seed)).count() as f64 / of as f64
    }

    #[test]
    fn noise_has_no_waves_and_does_not_fall() {
        for (seconds, together) in
            [(40, 0.0), (40, 0.5), (60, 0.8), (120, 0.0), (120, 0.5), (120, 0.9), (300, 0.97)]
        {
            let of = |seed: u64| noisy(seed, seconds, together, 0.2, |_| 1000.0);
            let three = |seed: u64| [of(3 * seed), of(3 * seed + 1), of(3 * seed + 2)];
            let any = |told: &dyn Fn(&[&[f64]]) -> bool, of: u64| {
                share(of, |seed| told(&three(seed).each_ref().map(Vec::as_slice)))
            };
            let setting = format!("{seconds} s, {together}");
            assert!(share(500, |seed| waves(&[&of(seed)]).is_some()) <= 0.03, "{setting}");
            assert!(any(&|trials| waves(trials).is_some(), 300) <= 0.01, "{setting}");
            // A rate that wanders as slowly as the last two does fall now and then.
            let most = if together > 0.8 { 0.05 } else { 0.01 };
            assert!(any(&|trials| fallen_to(trials).is_some(), 300) <= most, "{setting}");
        }
    }

    #[test]
    fn waves_are_found_with_their_period_and_swing() {
        let right = |found: Option<Waves>, period: f64| {
            found.is_some_and(|waves| {
                (waves.period_s - period).abs() <= 2.0 && waves.low < 0.9 && waves.high > 1.1
            })
        };
        for period in [8.0, 15.0, 28.0] {
            let wave = |second: f64| 1000.0 * (1.0 + 0.25 * (TAU * second / period).sin());
            let of = |seed| waves(&[&noisy(seed, 120, 0.3, 0.1, wave)]);
            assert!(share(100, |seed| right(of(seed), period)) >= 0.95, "{period}");
        }
        // What writes back halves the rate for five seconds of thirty.
        let halved = |second: f64| if second % 30.0 < 5.0 { 500.0 } else { 1000.0 };
        let of = |seed| waves(&[&noisy(seed, 120, 0.3, 0.1, halved)]);
        assert!(share(100, |seed| right(of(seed), 30.0)) >= 0.95);
    }

    #[test]
    fn a_rate_that_falls_in_each_trial_is_told_with_what_is_left() {
        let falling = |seed| noisy(seed, 120, 0.5, 0.1, |second| 1000.0 * (1.0 - 0.4 * second / 120.0));
        let trials = [falling(1), falling(2), falling(3)];
        let slices = trials.each_ref().map(Vec::as_slice);
        let left = fallen_to(&slices).unwrap();
        assert!((0.58..0.76).contains(&left), "{left}");
        let steady = noisy(4, 120, 0.5, 0.1, |_| 1000.0);
        assert_eq!(fallen_to(&[slices[0], slices[1], &steady]), None, "not in each");
        assert_eq!(fallen_to(&[&trials[0][..LEAST_SECONDS - 1]]), None, "too few seconds");
        assert_eq!(fallen_to(&[]), None);
    }

    #[test]
    fn constant_rates_have_no_course() {
        let constant = vec![100.0; 60];
        assert_eq!((waves(&[&constant]), last_over_first(&constant)), (None, Some(1.0)));
        let none = vec![0.0; 60];
        assert_eq!((waves(&[&none]), last_over_first(&none)), (None, None));
    }
}
