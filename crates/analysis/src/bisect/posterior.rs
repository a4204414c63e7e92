//! What is believed of one step: the probability of each place and size, after each launch.
//!
//! A launch value of a version before the step is noise, one from it on is noise about the step's size. The noise is
//! Student's t with six degrees of freedom, scaled to the variance of the launch noise: launches have outliers, and
//! the launch noise itself is known from a dozen launches only. (Four need fewer launches if noise has heavy tails, and
//! with normal noise are wrong at first in half as many cases again: statistics 1.7.) Assumed are launches that do not
//! depend on one another, and one step.

use super::{Effect, Stretch, Suspected};

/// Sizes that are considered.
const SIZES: usize = 5;
/// What is believed of each before the search (statistics 1.7).
const SIZE_PRIOR: [f64; SIZES] = [0.1, 0.2, 0.4, 0.2, 0.1];
/// The sizes stand this far apart, as shares of the estimated one (statistics 1.7), or a standard error of it apart
/// where that is more: the prior's standard deviation is 1.1 times the distance. The largest distance keeps the
/// smallest size on its side of zero.
const LEAST_SPACING: f64 = 0.2;
const LARGEST_SPACING: f64 = 0.45;
/// Points at which the value of a launch is considered when what it would tell is weighed. Not tuned: an integral of
/// smooth functions over twelve standard deviations.
const GRID: usize = 97;
/// The grid goes this many standard deviations beyond what is expected.
const GRID_BEYOND: f64 = 5.0;
/// A place whose comparison shows no step keeps at most this share of its probability (statistics 1.7): the comparison
/// misses a step of the size of the noise in about one of twenty cases.
const NOT_CONFIRMED_FACTOR: f64 = 0.05;
/// A mean that is less likely than this explains no launch.
const LEAST_EXPLAINING: f64 = 1e-3;

/// The probability of each place and size.
#[derive(Debug, Clone)]
pub(crate) struct Posterior {
    stretch: Stretch,
    /// ln, up to a constant, by place from `good + 1` on.
    ln_weights: Vec<[f64; SIZES]>,
    shifts: [f64; SIZES],
    noise: Noise,
}

impl Posterior {
    /// Before the first launch. `prior` weighs the versions as the first to differ.
    pub(crate) fn new(stretch: Stretch, effect: Effect, prior: impl Fn(usize) -> f64) -> Posterior {
        let spacing = (effect.error / effect.shift.abs()).clamp(LEAST_SPACING, LARGEST_SPACING);
        let mut shifts = [0.0; SIZES];
        for (shift, step) in shifts.iter_mut().zip(-2..) {
            *shift = effect.shift * (1.0 + f64::from(step) * spacing);
        }
        let of = |version| {
            let place = prior(version).ln();
            SIZE_PRIOR.map(|size| place + size.ln())
        };
        let ln_weights = (stretch.good + 1..=stretch.bad).map(of).collect();
        Posterior { stretch, ln_weights, shifts, noise: Noise { deviation: effect.noise } }
    }

    /// Takes in a launch.
    pub(crate) fn take(&mut self, version: usize, value: f64) {
        self.take_with(version, value, 0.0);
    }

    /// Takes in a launch whose value is that uncertain besides its noise (a standard deviation).
    pub(crate) fn take_with(&mut self, version: usize, value: f64, error: f64) {
        let noise = Noise { deviation: self.noise.deviation.hypot(error) };
        let before = noise.ln_density(value);
        let after = self.shifts.map(|shift| noise.ln_density(value - shift));
        for (place, weights) in (self.stretch.good + 1..).zip(&mut self.ln_weights) {
            for (weight, after) in weights.iter_mut().zip(after) {
                *weight += if place <= version { after } else { before };
            }
        }
    }

    /// Takes in a comparison of the versions on either side of a place that did not show the step. Its estimate speaks
    /// for or against each size there, but whatever it is, the place loses at least by [`NOT_CONFIRMED_FACTOR`]: a
    /// place that only nearly was confirmed is not compared again before others have been looked at.
    pub(crate) fn take_not_confirmed(&mut self, between: Stretch, found: Option<Effect>) {
        let losses = self.shifts.map(|shift| {
            let Some(found) = found else { return 0.0 };
            let noise = Noise { deviation: found.error };
            noise.ln_density(found.shift - shift) - noise.ln_density(found.shift)
        });
        for (place, weights) in (self.stretch.good + 1..).zip(&mut self.ln_weights) {
            if between.good < place && place <= between.bad {
                for (weight, loss) in weights.iter_mut().zip(losses) {
                    *weight += loss.min(NOT_CONFIRMED_FACTOR.ln());
                }
            }
        }
    }

    /// What is expected of the step's size, ln.
    pub(crate) fn size(&self) -> f64 {
        let joint = self.joint();
        joint
            .iter()
            .flat_map(|sizes| sizes.iter().zip(&self.shifts))
            .map(|(share, shift)| share * shift)
            .sum()
    }

    /// The probability of each place, in their order.
    pub(crate) fn suspected(&self) -> Vec<Suspected> {
        let joint = self.joint();
        let places = self.stretch.good + 1..;
        places
            .zip(&joint)
            .map(|(version, sizes)| Suspected { version, probability: sizes.iter().sum::<f64>().min(1.0) })
            .collect()
    }

    /// The probability that the step lies at or before each version, from `good + 1` on.
    pub(crate) fn behind(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let add = |sizes: &[f64; SIZES]| {
            sum += sizes.iter().sum::<f64>();
            sum.min(1.0) // Rounding takes it above.
        };
        self.joint().iter().map(add).collect()
    }

    /// How far, in standard deviations, a launch lies from all that is expected of its version.
    pub(crate) fn surprise(&self, version: usize, value: f64) -> f64 {
        let sizes = self.sizes_at(version);
        let good = 1.0 - sizes.iter().sum::<f64>();
        let means = [(0.0, good)].into_iter().chain(self.shifts.into_iter().zip(sizes));
        let distances =
            means.filter(|(_, share)| *share >= LEAST_EXPLAINING).map(|(mean, _)| (value - mean).abs());
        distances.fold(f64::INFINITY, f64::min) / self.noise.deviation
    }

    /// What a launch of each version from `good + 1` on is expected to tell of whether the step lies behind it: the
    /// mutual information, in nats. 0 for the last, of which that is known.
    pub(crate) fn information(&self) -> Vec<f64> {
        let reach = GRID_BEYOND * self.noise.deviation;
        let farthest = self.shifts[SIZES - 1];
        let (low, high) = (farthest.min(0.0) - reach, farthest.max(0.0) + reach);
        let width = (high - low) / GRID as f64;
        let grid: Vec<f64> = (0..GRID).map(|index| low + (index as f64 + 0.5) * width).collect();
        let density = |mean: f64| -> Vec<f64> {
            grid.iter().map(|value| self.noise.ln_density(value - mean).exp()).collect()
        };
        let before = density(0.0);
        let after = self.shifts.map(density);
        let mut behind = [0.0; SIZES];
        let joint = self.joint();
        let of_version = |sizes: &[f64; SIZES]| {
            for (sum, size) in behind.iter_mut().zip(sizes) {
                *sum += size;
            }
            let bad: f64 = behind.iter().sum::<f64>().min(1.0);
            let mut information = 0.0;
            for (index, before) in before.iter().enumerate() {
                let bad_density: f64 =
                    after.iter().zip(&behind).map(|(density, size)| size * density[index]).sum();
                let good_density = (1.0 - bad) * before;
                let together = bad_density + good_density;
                for (share, density) in [(1.0 - bad, good_density), (bad, bad_density)] {
                    if density > 0.0 && share > 0.0 {
                        information += density * (density / share / together).ln() * width;
                    }
                }
            }
            information.max(0.0)
        };
        joint.iter().map(of_version).collect()
    }

    /// Probability that the step lies at or before a version, by size.
    fn sizes_at(&self, version: usize) -> [f64; SIZES] {
        let joint = self.joint();
        let mut sizes = [0.0; SIZES];
        for (_, of_place) in (self.stretch.good + 1..).zip(&joint).take_while(|(place, _)| *place <= version)
        {
            for (sum, size) in sizes.iter_mut().zip(of_place) {
                *sum += size;
            }
        }
        sizes
    }

    /// Probabilities of place and size together.
    fn joint(&self) -> Vec<[f64; SIZES]> {
        let largest = self.ln_weights.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut joint: Vec<[f64; SIZES]> =
            self.ln_weights.iter().map(|sizes| sizes.map(|weight| (weight - largest).exp())).collect();
        let total: f64 = joint.iter().flatten().sum();
        joint.iter_mut().flatten().for_each(|weight| *weight /= total);
        joint
    }
}

/// Student's t with six degrees of freedom and this standard deviation.
#[derive(Debug, Clone, Copy)]
struct Noise {
    deviation: f64,
}

impl Noise {
    /// ln of the density. The variance of t6 is 3/2, so its scale is the deviation over the root of that.
    fn ln_density(self, residual: f64) -> f64 {
        let scaled = residual / self.deviation;
        -3.5 * (scaled * scaled / 4.0).ln_1p() - self.deviation.ln() + LN_DENSITY_AT_ZERO
    }
}

/// ln(15/32): the density of t6 at zero, 15 / (16 * sqrt 6), at a deviation of 1.
const LN_DENSITY_AT_ZERO: f64 = -0.757_685_701_7;

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Stretch = Stretch { good: 0, bad: 8 };
    const EFFECT: Effect = Effect { shift: -0.03, error: 0.003, noise: 0.01 };

    fn probability(posterior: &Posterior, version: usize) -> f64 {
        posterior.suspected().iter().find(|one| one.version == version).unwrap().probability
    }

    #[test]
    fn before_the_first_launch_places_have_their_prior() {
        let posterior = Posterior::new(PART, EFFECT, |version| if version == 3 { 2.0 } else { 1.0 });
        assert!((probability(&posterior, 3) - 2.0 / 9.0).abs() < 1e-12);
        assert!((probability(&posterior, 8) - 1.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn a_launch_moves_probability_to_the_side_that_it_speaks_for() {
        let uniform = Posterior::new(PART, EFFECT, |_| 1.0);
        let (mut bad, mut good) = (uniform.clone(), uniform.clone());
        bad.take(4, -0.03);
        good.take(4, 0.0);
        assert!(probability(&bad, 4) > 0.2 && probability(&bad, 5) < 0.05);
        assert!(probability(&good, 4) < 0.05 && probability(&good, 5) > 0.2);
        // An outlier far beyond both says little: Student's t has heavy tails.
        let mut outlier = uniform;
        outlier.take(4, 0.3);
        assert!(probability(&outlier, 4) > 0.05, "{:?}", outlier.suspected());
    }

    #[test]
    fn the_density_is_one() {
        let noise = Noise { deviation: 0.02 };
        let width = 0.0005;
        let sum: f64 =
            (-8000..8000).map(|index| noise.ln_density(f64::from(index) * width).exp() * width).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }

    #[test]
    fn the_middle_tells_most_and_the_end_nothing() {
        let posterior = Posterior::new(PART, EFFECT, |_| 1.0);
        let information = posterior.information();
        let best = (0..8).max_by(|left, right| information[*left].total_cmp(&information[*right])).unwrap();
        assert_eq!(best + 1, 4);
        assert!(
            information[7] < 1e-9 && information[3] < 2f64.ln() && information[3] > 0.4,
            "{information:?}"
        );
    }

    #[test]
    fn a_surprise_is_far_from_all_that_is_expected() {
        let posterior = Posterior::new(PART, EFFECT, |_| 1.0);
        assert!(posterior.surprise(4, -0.015) < 1.0);
        assert!(posterior.surprise(4, 0.05) > 4.0);
        // Of the last version it is known that it differs: that it does not is a surprise.
        assert!(posterior.surprise(8, 0.03) > 4.0);
    }
}
