//! How often noise alone does as much: the points of the series itself in other orders.
//!
//! If nothing changed and the noise of the points is independent, each order of them is as likely as any other, whatever the
//! distribution of the noise. So the share of orders that look at least as striking as the order that was measured is an
//! exact p value (Fisher 1935; Antoch and Huskova 2001 for change points), where critical values simulated from normal noise
//! would alarm too often in heavy tails. For noise whose neighbours are alike there is `autocorrelation`.

use super::scan::Weighted;
use crate::simulation::noise::Noise;

/// Orders that are looked at, the measured one among them.
const ORDERS: u32 = 1_000;
/// Any fixed number: a series is judged alike on every host.
const SEED: u64 = 0x5b0f_f1ed;

/// The level below which an order is among the `alpha` most striking ones; absent if the measured one, whose level is
/// `observed`, is not among them. The smaller a level, the more striking.
pub(super) fn bound(
    points: &[Weighted],
    observed: f64,
    alpha: f64,
    level: impl Fn(&[Weighted]) -> f64,
) -> Option<f64> {
    let too_many = |as_striking: u32| f64::from(as_striking) > alpha * f64::from(ORDERS);
    let mut noise = Noise::new(SEED);
    let mut shuffled = points.to_vec();
    let mut levels = Vec::new();
    let mut as_striking = 1;
    for _ in 1..ORDERS {
        noise.shuffle(&mut shuffled);
        let of_order = level(&shuffled);
        as_striking += u32::from(of_order <= observed);
        if too_many(as_striking) {
            return None;
        }
        levels.push(of_order);
    }
    levels.sort_unstable_by(f64::total_cmp);
    levels.into_iter().zip(2..).find(|(_, as_striking)| too_many(*as_striking)).map(|(level, _)| level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Weighted> {
        values.iter().map(|value| Weighted { value: *value, error: 1.0 }).collect()
    }

    /// The smaller, the larger the later points are; different in every order.
    fn of_end(points: &[Weighted]) -> f64 {
        let weights = points.iter().zip(1..).map(|(point, at)| f64::from(at) * point.value);
        -weights.sum::<f64>()
    }

    #[test]
    fn of_noise_of_any_shape_a_share_alpha_is_striking() {
        let mut noise = Noise::new(8);
        for alpha in [0.01, 0.05] {
            let striking = (0..4_000).filter(|_| {
                // One value in twenty is a hundred times as large.
                let mut value = || noise.normal() * if noise.uniform() < 0.05 { 100.0 } else { 1.0 };
                let series = points(&(0..24).map(|_| value()).collect::<Vec<f64>>());
                let observed = of_end(&series);
                bound(&series, observed, alpha, of_end).is_some_and(|bound| observed < bound)
            });
            let share = striking.count() as f64 / 4_000.0;
            let chance = 3.5 * (alpha * (1.0 - alpha) / 4_000.0).sqrt();
            assert!((share - alpha).abs() < chance, "{alpha}: {share}");
        }
    }

    #[test]
    fn the_bound_is_there_if_the_measured_order_is_below_it() {
        let rising: Vec<f64> = (0..12).map(f64::from).collect();
        let least = of_end(&points(&rising));
        assert!(bound(&points(&rising), least, 0.01, of_end).is_some_and(|bound| least < bound));
        let falling: Vec<f64> = rising.into_iter().rev().collect();
        assert!(bound(&points(&falling), of_end(&points(&falling)), 0.01, of_end).is_none());
        // Ten orders of a thousand may be as striking; equal ones all are.
        assert!(bound(&points(&[1.0; 12]), 0.0, 0.01, |_| 0.0).is_none());
    }
}
