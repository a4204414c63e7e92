//! Neighbours that are alike: how well autocorrelation alone explains a series, and what it does to an error.

/// No autocorrelation above this is believed: the correction would grow without bound.
const LARGEST: f64 = 0.9;
/// A correlation below this over the root of n is luck: twice the standard error under independence.
const LEAST: f64 = 2.0;

/// The correlations that a change is held against. Up to 0.5 is what hosts do to series of single runs; held against
/// more, a ramp would have to be a cliff to be seen.
const HELD_AGAINST: [f64; 6] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5];

/// Twice the negative logarithm of the likelihood of residuals under the AR(1) process that explains them best, up to a
/// constant: the exact likelihood, with the first point at the variance of the process.
pub(super) fn deviance(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    let of = |correlation: f64| {
        let first = residuals.first().map_or(0.0, |first| (1.0 - correlation.powi(2)) * first.powi(2));
        let later: f64 = residuals.windows(2).map(|pair| (pair[1] - correlation * pair[0]).powi(2)).sum();
        count * ((first + later) / count).ln() - (1.0 - correlation.powi(2)).ln()
    };
    HELD_AGAINST.into_iter().map(of).fold(f64::INFINITY, f64::min)
}

/// What autocorrelation multiplies the standard error of a mean by.
pub(super) fn inflation(correlation: f64) -> f64 {
    ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// Correlation of neighbours of residuals about so many fitted means, without its bias: about `(1 + 4 phi) / n` for each
/// (Kendall 1954); 0 where it may be luck.
pub(super) fn of_residuals(residuals: &[f64], means: usize) -> f64 {
    let count = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|residual| residual.powi(2)).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = products / squares;
    let corrected = raw + means as f64 * (1.0 + 4.0 * raw).max(0.0) / count;
    if corrected < LEAST / count.sqrt() { 0.0 } else { corrected.min(LARGEST) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::noise::Noise;

    fn process(correlation: f64, count: usize) -> Vec<f64> {
        let mut noise = Noise::new(5);
        let mut last = noise.normal();
        (0..count)
            .map(|_| {
                last = correlation * last + (1.0 - correlation * correlation).sqrt() * noise.normal();
                last
            })
            .collect()
    }

    #[test]
    fn a_correlation_is_found_again_and_luck_is_none() {
        assert!((of_residuals(&process(0.5, 4000), 1) - 0.5).abs() < 0.05);
        assert!(of_residuals(&process(0.0, 400), 1).abs() < 1e-12);
        assert!(of_residuals(&[0.0; 20], 1).abs() < 1e-12);
        assert!((inflation(0.5) - 3f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn correlated_residuals_are_explained_better_than_independent_ones_of_their_size() {
        let residuals = process(0.5, 400);
        let squares: f64 = residuals.iter().map(|one| one * one).sum();
        let independent = 400.0 * (squares / 400.0).ln();
        // n ln(1 / (1 - 0.25)) = 115.
        assert!((independent - deviance(&residuals) - 115.0).abs() < 40.0);
    }
}
