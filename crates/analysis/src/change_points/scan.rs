//! The scan statistic of one segment: how far the best step, and the best bump, stand out.
//!
//! `Z_t = |S_t - t S_n / n| / sqrt(t (n - t) / n) / SE` (statistics 1.6) is the t statistic of the means before and
//! from t on. Points with unequal standard errors weigh `1 / SE^2`, and t, n become sums of weights.

/// A point as the scan sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    pub(super) value: f64,
    pub(super) error: f64,
}

/// The place where a statistic is largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Peak {
    /// The first point of the second part.
    pub(super) at: usize,
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

/// A stretch of points that differs from those before and after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bump {
    pub(super) from: usize,
    /// The first point after it.
    pub(super) to: usize,
    /// How far its mean lies from that of all others, in standard errors.
    pub(super) score: f64,
}

/// Longer bumps are left to their two steps, each of which then stands out by itself.
const LONGEST_BUMP: usize = 12;

/// The best bump that holds neither the first nor the last point (Olshen et al. 2004, circular binary segmentation);
/// the first of equals.
pub(super) fn best_bump(points: &[Weighted]) -> Option<Bump> {
    let weight = |point: &Weighted| 1.0 / (point.error * point.error);
    let all: f64 = points.iter().map(weight).sum();
    let mean = points.iter().map(|point| weight(point) * point.value).sum::<f64>() / all;
    let inner_end = points.len().saturating_sub(1);
    let mut best: Option<Bump> = None;
    for from in 1..inner_end {
        let (mut sum, mut inside) = (0.0, 0.0);
        for to in from + 1..=inner_end.min(from + LONGEST_BUMP) {
            let own = weight(&points[to - 1]);
            inside += own;
            sum += own * (points[to - 1].value - mean);
            let score = f64::abs(sum) / (inside * (all - inside) / all).sqrt();
            if best.is_none_or(|best| score > best.score) {
                best = Some(Bump { from, to, score });
            }
        }
    }
    best
}

/// How far each point lies from the mean of all others.
pub(super) fn point_scores(points: &[Weighted]) -> Vec<f64> {
    let weight = |point: &Weighted| 1.0 / (point.error * point.error);
    let all: f64 = points.iter().map(weight).sum();
    let mean = points.iter().map(|point| weight(point) * point.value).sum::<f64>() / all;
    // Var(x - mean of the others) = 1/w + 1/(W - w); the distance is W / (W - w) of that from the mean of all.
    let score = |point: &Weighted| {
        let own = weight(point);
        (point.value - mean).abs() * (own * all / (all - own)).sqrt()
    };
    points.iter().map(score).collect()
}

/// Weighted mean and its standard error; absent where there is no point.
pub(super) fn mean(points: impl Iterator<Item = Weighted>) -> Option<(f64, f64)> {
    let (mut sum, mut all) = (0.0, 0.0);
    for point in points {
        let weight = 1.0 / (point.error * point.error);
        all += weight;
        sum += weight * point.value;
    }
    (all > 0.0).then(|| (sum / all, (1.0 / all).sqrt()))
}

fn first_largest(peaks: impl Iterator<Item = Peak>) -> Option<Peak> {
    peaks.fold(None, |best: Option<Peak>, peak| match best {
        Some(best) if best.score >= peak.score => Some(best),
        Some(_) | None => Some(peak),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [(f64, f64); 7] =
        [(0.3, 1.0), (-0.2, 0.5), (0.9, 2.0), (1.7, 1.0), (1.1, 0.7), (2.5, 1.0), (0.4, 1.5)];

    fn points() -> Vec<Weighted> {
        VALUES.iter().map(|(value, error)| Weighted { value: *value, error: *error }).collect()
    }

    /// The difference of the weighted means of two sets over its standard error, from the definition.
    fn naive(points: &[Weighted], inside: impl Fn(usize) -> bool) -> f64 {
        let side = |wanted: bool| {
            let of = || points.iter().enumerate().filter(|(index, _)| inside(*index) == wanted);
            let weights: f64 = of().map(|(_, point)| point.error.powi(-2)).sum();
            (of().map(|(_, point)| point.value * point.error.powi(-2)).sum::<f64>() / weights, 1.0 / weights)
        };
        let (left, right) = (side(false), side(true));
        (left.0 - right.0).abs() / (left.1 + right.1).sqrt()
    }

    #[test]
    fn scores_are_differences_of_means_over_their_errors() {
        let points = points();
        for (index, score) in step_scores(&points).into_iter().enumerate() {
            assert!((score - naive(&points, |other| other > index)).abs() < 1e-12);
        }
        for (index, score) in point_scores(&points).into_iter().enumerate() {
            assert!((score - naive(&points, |other| other == index)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_best_are_the_largest_of_all_places() {
        let points = points();
        let steps = step_scores(&points);
        let step = best_step(&points).unwrap();
        assert!((steps[step.at - 1] - step.score).abs() < 1e-12);
        assert!(steps.iter().all(|score| *score <= step.score));
        let bump = best_bump(&points).unwrap();
        let mut largest: f64 = 0.0;
        for from in 1..6 {
            for to in from + 1..=6 {
                largest = largest.max(naive(&points, |index| (from..to).contains(&index)));
            }
        }
        assert!((bump.score - largest).abs() < 1e-12);
        assert!((naive(&points, |index| (bump.from..bump.to).contains(&index)) - largest).abs() < 1e-12);
    }

    #[test]
    fn few_points_have_no_place() {
        let points = points();
        assert_eq!((best_step(&points[..1]), best_bump(&points[..2])), (None, None));
        assert_eq!(best_step(&[]), None);
        assert_eq!(best_bump(&points[..3]).map(|bump| (bump.from, bump.to)), Some((1, 2)));
        assert_eq!(mean([].into_iter()), None);
    }
}
