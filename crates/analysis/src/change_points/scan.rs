//! The scan statistic of one segment: how far the best step, and the best glitch, stand out.
//!
//! `Z_t = |S_t - t S_n / n| / sqrt(t (n - t) / n) / SE` (statistics 1.6) is the t statistic of the means before and
//! from t on. Points with unequal standard errors weigh `1 / SE^2`, and t, n become sums of weights.

/// A point as the scan sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    /// ln.
    pub(super) value: f64,
    /// Standard error.
    pub(super) error: f64,
}

/// The place where a statistic is largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Peak {
    /// For a step the first point of the second part, for a glitch the point.
    pub(super) at: usize,
    /// In standard errors.
    pub(super) score: f64,
}

/// Z_t for t = 1 to n - 1, in this order.
pub(super) fn step_scores(points: &[Weighted]) -> Vec<f64> {
    let weight = |point: &Weighted| 1.0 / (point.error * point.error);
    let all: f64 = points.iter().map(weight).sum();
    // Values relative to their mean: sums of numbers near a large common one would lose their digits.
    let mean = points.iter().map(|point| weight(point) * point.value).sum::<f64>() / all;
    let (mut sum, mut before) = (0.0, 0.0);
    points
        .iter()
        .take(points.len().saturating_sub(1))
        .map(|point| {
            let own = weight(point);
            before += own;
            sum += own * (point.value - mean);
            f64::abs(sum) / (before * (all - before) / all).sqrt()
        })
        .collect()
}

/// The best step; the first of equals.
pub(super) fn best_step(points: &[Weighted]) -> Option<Peak> {
    first_largest(
        step_scores(points).into_iter().enumerate().map(|(index, score)| Peak { at: index + 1, score }),
    )
}

/// The best glitch that is neither the first nor the last point: how far it lies from the mean of the others.
pub(super) fn best_glitch(points: &[Weighted]) -> Option<Peak> {
    let weight = |point: &Weighted| 1.0 / (point.error * point.error);
    let all: f64 = points.iter().map(weight).sum();
    let mean = points.iter().map(|point| weight(point) * point.value).sum::<f64>() / all;
    let inner = points.iter().enumerate().skip(1).take(points.len().saturating_sub(2));
    first_largest(inner.map(|(at, point)| {
        // Var(x - mean of the others) = 1/w + 1/(W - w), and the distance is W / (W - w) of that from the mean.
        let own = weight(point);
        let score = (point.value - mean).abs() * (own * all / (all - own)).sqrt();
        Peak { at, score }
    }))
}

fn first_largest(peaks: impl Iterator<Item = Peak>) -> Option<Peak> {
    peaks.fold(None, |best: Option<Peak>, peak| match best {
        Some(best) if best.score >= peak.score => Some(best),
        Some(_) | None => Some(peak),
    })
}
