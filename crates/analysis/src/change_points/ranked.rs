//! The scan statistic of many single runs: ranks, so that no value counts for more than its place.
//!
//! Values are replaced by normal scores, the quantiles of `rank / (n + 1)` (van der Waerden). Under "no change" any
//! order of independent points is as likely as another, so the distribution of whatever is computed from the
//! scores is known for every continuous distribution of the noise: normal, Student's t, or with a spike. The
//! statistic is the largest standardised difference of scores before and from t on, divided by what
//! autocorrelation adds to it: `sqrt((1 + phi) / (1 - phi))` for an AR(1) process, with phi from the scores after
//! the best step is taken out. As phi is part of the statistic, the simulated critical values know of it.

/// From this number of single runs on, ranks are used. Below, ranks cannot tell a large step from a small one: of
/// eight points no arrangement is rare enough.
pub const LEAST_RANKED: usize = 20;

/// A segment is not searched below this: of six points no order is rarer than 5 %.
pub(super) const LEAST_SEARCHED: usize = 8;
/// No autocorrelation above this is believed: the correction would grow without bound.
const LARGEST_CORRELATION: f64 = 0.9;

/// What a scan of ranks finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RankedPeak {
    /// The first point of the second part.
    pub(super) at: usize,
    /// Standardised, after the correction for autocorrelation.
    pub(super) score: f64,
}

/// Normal scores with mid-ranks for ties; all 0 where all values are equal.
pub(super) fn normal_scores(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|left, right| values[*left].total_cmp(&values[*right]));
    let size = values.len() as f64 + 1.0;
    let mut scores = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let tied = order[start..].iter().take_while(|index| values[**index] <= values[order[start]]).count();
        let score = normal_quantile((start as f64 + 0.5 * (tied as f64 + 1.0)) / size);
        order[start..start + tied].iter().for_each(|index| scores[*index] = score);
        start += tied;
    }
    scores
}

/// The best step of scores; absent where they are all equal or too few.
pub(super) fn best_step(scores: &[f64]) -> Option<RankedPeak> {
    let count = scores.len();
    if count < LEAST_SEARCHED {
        return None;
    }
    let size = count as f64;
    let mean = scores.iter().sum::<f64>() / size;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    if squares <= f64::EPSILON * size {
        return None;
    }
    let (mut sum, mut best, mut at, mut sum_at) = (0.0, -1.0, 0, 0.0);
    for (index, score) in scores[..count - 1].iter().enumerate() {
        sum += score - mean;
        let before = index as f64 + 1.0;
        let square = sum * sum / (before * (size - before));
        if square > best {
            (best, at, sum_at) = (square, index + 1, sum);
        }
    }
    let score = (best * size / (squares / (size - 1.0))).sqrt();
    let (before, after) = (at as f64, size - at as f64);
    let means = (mean + sum_at / before, mean - sum_at / after);
    let correlation = correlation_about(scores, at, means);
    Some(RankedPeak { at, score: score / inflation(correlation) })
}

/// What autocorrelation multiplies the standard error of a mean by.
pub(super) fn inflation(correlation: f64) -> f64 {
    let correlation = correlation.clamp(0.0, LARGEST_CORRELATION);
    ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// Correlation of neighbours about the means before and from `at` on, corrected for the bias of short series
/// (Kendall 1954: about `(1 + 4 phi) / n`, and two means are estimated).
fn correlation_about(scores: &[f64], at: usize, means: (f64, f64)) -> f64 {
    let residual = |index: usize| scores[index] - if index < at { means.0 } else { means.1 };
    let (mut products, mut squares, mut last) = (0.0, 0.0, 0.0);
    for index in 0..scores.len() {
        let residual = residual(index);
        products += last * residual;
        squares += residual * residual;
        last = residual;
    }
    if squares <= 0.0 {
        return 0.0;
    }
    corrected(products / squares, scores.len())
}

/// A correlation of neighbours about fitted means, without its bias.
pub(super) fn corrected(correlation: f64, count: usize) -> f64 {
    correlation + (1.0 + 4.0 * correlation) / count as f64
}

/// The standard normal quantile, by Acklam's rational approximation (relative error below 1.2e-9), for p in (0, 1).
pub(super) fn normal_quantile(p: f64) -> f64 {
    const CENTRAL_TOP: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const CENTRAL_BOTTOM: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const TAIL_TOP: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const TAIL_BOTTOM: [f64; 5] =
        [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    /// Below this the tail's approximation holds.
    const TAIL: f64 = 0.02425;
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p < TAIL {
        let q = (-2.0 * p.ln()).sqrt();
        return polynomial(&TAIL_TOP, q) / polynomial(&TAIL_BOTTOM, q);
    }
    let q = p - 0.5;
    q * polynomial(&CENTRAL_TOP, q * q) / polynomial(&CENTRAL_BOTTOM, q * q)
}
