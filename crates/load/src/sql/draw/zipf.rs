//! Ranks by Zipf's law.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Zipf's law is as good as a constant above this.
pub const GREATEST_EXPONENT: f64 = 10.0;

/// Ranks 1 to `count`, rank k with a weight of k to the power of minus `exponent`: rejection-inversion (Hörmann and
/// Derflinger 1996, "Rejection-inversion to generate variates from monotone discrete distributions"). A draw takes
/// about 1.1 tries whatever `count` is, and no table.
///
/// Names are the paper's: `h` is the weight continued to real numbers, `integral` that of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    integral_low: f64,
    integral_high: f64,
    /// Up to this far right of a rank no test is needed.
    sure: f64,
}

impl Zipf {
    /// `count` must be at least 1, `exponent` above 0.
    pub fn new(count: u64, exponent: f64) -> Zipf {
        let mut zipf =
            Zipf { count: count as f64, exponent, integral_low: 0.0, integral_high: 0.0, sure: 0.0 };
        zipf.integral_low = zipf.integral(1.5) - 1.0;
        zipf.integral_high = zipf.integral(zipf.count + 0.5);
        zipf.sure = 2.0 - zipf.integral_inverse(zipf.integral(2.5) - zipf.h(2.0));
        zipf
    }

    #[inline]
    pub fn rank(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            // 53 bits: every f64 from 0 to 1 that has them.
            let share = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let area = self.integral_high + share * (self.integral_low - self.integral_high);
            let x = self.integral_inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.h(rank) {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "clamped to 1 to a count that was a u64"
                )]
                #[expect(clippy::cast_sign_loss, reason = "at least 1")]
                return rank as u64;
            }
        }
    }

    fn h(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// (x^(1-s) - 1) / (1-s), which is ln x for s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        exp_m1_over((1.0 - self.exponent) * log) * log
    }

    fn integral_inverse(&self, area: f64) -> f64 {
        // Rounding may push it below its bound.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (ln_1p_over(t) * area).exp()
    }
}

/// Below this the quotients are 1 to within a rounding.
const TINY: f64 = 1e-8;

fn exp_m1_over(x: f64) -> f64 {
    if x.abs() > TINY { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > TINY { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}
