//! The scan statistic of one segment: how far the best step, and the best bump, stand out.
//!
//! For points from t on it is `Z_t`, the difference of their mean from that of the points before over its standard error, by
//! generalised least squares (Aitken 1935). With equal independent noise that is
//! `|S_t - t S_n / n| / sqrt(t (n - t) / n) / SE` (statistics 1.6); with unequal standard errors points weigh `1 / SE^2`; with a
//! covariance what the points share, a base or a launch, is in no difference.

use crate::linear::inverse_of_positive_definite;
use std::ops::Range;

/// A point as the scan sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    pub(super) value: f64,
    pub(super) error: f64,
}

/// How points vary together: a row for each.
pub(super) type Covariance = Vec<Vec<f64>>;

/// The place where a statistic is largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Peak {
    /// The first point of the second part.
    pub(super) at: usize,
    pub(super) score: f64,
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

/// The points of a segment, ready to be cut anywhere.
///
/// With P the inverse of the covariance, `M = P - P 1 1' P / 1' P 1` takes out the mean; of points A the difference from all
/// others is `1_A' M y / 1_A' M 1_A`, with the variance `1 / 1_A' M 1_A`.
pub(super) struct Scan {
    /// Of the first so many points, the sum of `M y`.
    sums: Vec<f64>,
    spread: Spread,
}

/// What gives `1_A' M 1_A`.
enum Spread {
    /// Of independent points, the sum of the weights of the first so many.
    Weights(Vec<f64>),
    /// Sums of M over the first so many rows and columns.
    Blocks(Vec<Vec<f64>>),
}

fn cumulative(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.map(|value| {
        sum += value;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

impl Scan {
    /// Of independent points.
    pub(super) fn of(points: &[Weighted]) -> Scan {
        let weight = |point: &Weighted| 1.0 / (point.error * point.error);
        let all: f64 = points.iter().map(weight).sum();
        // Values relative to their mean: sums of numbers near a large common one would lose their digits.
        let mean = points.iter().map(|point| weight(point) * point.value).sum::<f64>() / all;
        Scan {
            sums: cumulative(points.iter().map(|point| weight(point) * (point.value - mean))),
            spread: Spread::Weights(cumulative(points.iter().map(weight))),
        }
    }

    /// Of points that vary together.
    pub(super) fn with_covariance(values: &[f64], covariance: &Covariance) -> Scan {
        let mut inverse = inverse_of_positive_definite(&mut covariance.clone());
        let rows: Vec<f64> = inverse.iter().map(|row| row.iter().sum()).collect();
        let all: f64 = rows.iter().sum();
        for (row, of_row) in inverse.iter_mut().zip(&rows) {
            row.iter_mut().zip(&rows).for_each(|(value, of_column)| *value -= of_row * of_column / all);
        }
        let from = values.first().copied().unwrap_or(0.0);
        let residual = |row: &Vec<f64>| row.iter().zip(values).map(|(of, value)| of * (value - from)).sum();
        let sums = cumulative(inverse.iter().map(residual));
        let mut blocks = vec![vec![0.0; values.len() + 1]];
        for row in &inverse {
            let above = &blocks[blocks.len() - 1];
            blocks.push(
                cumulative(row.iter().copied()).iter().zip(above).map(|(of, above)| of + above).collect(),
            );
        }
        Scan { sums, spread: Spread::Blocks(blocks) }
    }

    /// Of the points at these positions, ascending.
    pub(super) fn at(points: &[Weighted], covariance: Option<&Covariance>, positions: &[usize]) -> Scan {
        let chosen = positions.iter().map(|position| points[*position]);
        let Some(covariance) = covariance else { return Scan::of(&chosen.collect::<Vec<_>>()) };
        let values: Vec<f64> = chosen.map(|point| point.value).collect();
        let row = |row: &usize| positions.iter().map(|column| covariance[*row][*column]).collect();
        Scan::with_covariance(&values, &positions.iter().map(row).collect())
    }

    fn len(&self) -> usize {
        self.sums.len() - 1
    }

    /// One over the variance of the difference of the mean of a range from that of all others.
    fn spread(&self, range: &Range<usize>) -> f64 {
        let Range { start, end } = *range;
        match &self.spread {
            Spread::Weights(weights) => {
                let (own, all) = (weights[end] - weights[start], weights[self.len()]);
                own * (all - own) / all
            }
            Spread::Blocks(sums) => sums[end][end] - 2.0 * sums[start][end] + sums[start][start],
        }
    }

    fn sum(&self, range: &Range<usize>) -> f64 {
        self.sums[range.end] - self.sums[range.start]
    }

    /// How much the mean of a range is above that of all other points, and the standard error of that.
    pub(super) fn apart(&self, range: Range<usize>) -> (f64, f64) {
        let spread = self.spread(&range);
        (self.sum(&range) / spread, spread.sqrt().recip())
    }

    fn score(&self, range: Range<usize>) -> f64 {
        self.sum(&range).abs() / self.spread(&range).sqrt()
    }

    /// Z_t for t = 1 to n - 1, in this order.
    pub(super) fn step_scores(&self) -> Vec<f64> {
        (1..self.len()).map(|at| self.score(0..at)).collect()
    }

    /// The best step; the first of equals.
    pub(super) fn best_step(&self) -> Option<Peak> {
        first_largest((1..self.len()).map(|at| Peak { at, score: self.score(0..at) }))
    }

    /// The best bump that holds neither the first nor the last point (Olshen et al. 2004, circular binary segmentation);
    /// the first of equals.
    pub(super) fn best_bump(&self) -> Option<Bump> {
        let inner_end = self.len().saturating_sub(1);
        let mut best: Option<Bump> = None;
        for from in 1..inner_end {
            for to in from + 1..=inner_end.min(from + LONGEST_BUMP) {
                let score = self.score(from..to);
                if best.is_none_or(|best| score > best.score) {
                    best = Some(Bump { from, to, score });
                }
            }
        }
        best
    }

    /// How far each point lies from the mean of all others.
    pub(super) fn point_scores(&self) -> Vec<f64> {
        (0..self.len()).map(|at| self.score(at..at + 1)).collect()
    }
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
        let scan = Scan::of(&points);
        for (index, score) in scan.step_scores().into_iter().enumerate() {
            assert!((score - naive(&points, |other| other > index)).abs() < 1e-12);
        }
        for (index, score) in scan.point_scores().into_iter().enumerate() {
            assert!((score - naive(&points, |other| other == index)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_best_are_the_largest_of_all_places() {
        let points = points();
        let scan = Scan::of(&points);
        let steps = scan.step_scores();
        let step = scan.best_step().unwrap();
        assert!((steps[step.at - 1] - step.score).abs() < 1e-12);
        assert!(steps.iter().all(|score| *score <= step.score));
        let bump = scan.best_bump().unwrap();
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
        assert_eq!((Scan::of(&points[..1]).best_step(), Scan::of(&points[..2]).best_bump()), (None, None));
        assert_eq!(Scan::of(&[]).best_step(), None);
        assert_eq!(Scan::of(&points[..3]).best_bump().map(|bump| (bump.from, bump.to)), Some((1, 2)));
        assert_eq!(mean([].into_iter()), None);
    }

    /// Each point shares a part of its noise with its neighbours.
    fn joint() -> Covariance {
        let of = |row: usize, column: usize| match row.abs_diff(column) {
            0 => VALUES[row].1.powi(2),
            1 => 0.4 * VALUES[row].1 * VALUES[column].1,
            _ => 0.0,
        };
        (0..7).map(|row| (0..7).map(|column| of(row, column)).collect()).collect()
    }

    fn values() -> Vec<f64> {
        points().iter().map(|point| point.value).collect()
    }

    /// The second coefficient, and its error, of a regression on a constant and on being inside.
    fn regression(values: &[f64], covariance: &Covariance, inside: impl Fn(usize) -> bool) -> (f64, f64) {
        let inverse = inverse_of_positive_definite(&mut covariance.clone());
        let columns: [Vec<f64>; 2] =
            [vec![1.0; 7], (0..7).map(|at| f64::from(u8::from(inside(at)))).collect()];
        let product = |left: &[f64], right: &[f64]| -> f64 {
            (0..7)
                .flat_map(|row| (0..7).map(move |column| (row, column)))
                .map(|(row, column)| left[row] * inverse[row][column] * right[column])
                .sum()
        };
        let normal = |row: usize| columns.iter().map(|column| product(&columns[row], column)).collect();
        let solved = inverse_of_positive_definite(&mut [normal(0), normal(1)]);
        let estimate = (0..2).map(|row| solved[1][row] * product(&columns[row], values)).sum();
        (estimate, solved[1][1].sqrt())
    }

    #[test]
    fn points_that_vary_together_are_a_generalised_regression() {
        let (values, covariance) = (values(), joint());
        let scan = Scan::with_covariance(&values, &covariance);
        for range in (0..7).flat_map(|from| (from + 1..=7).map(move |to| from..to)).filter(|of| of.len() < 7)
        {
            let wanted = regression(&values, &covariance, |at| range.contains(&at));
            let found = scan.apart(range.clone());
            assert!((found.0 - wanted.0).abs() < 1e-9 && (found.1 - wanted.1).abs() < 1e-9, "{range:?}");
        }
    }

    #[test]
    fn what_all_points_share_is_in_no_difference() {
        let points = points();
        let independent = Scan::of(&points);
        for shared in [0.0, 0.3, 50.0] {
            let of = |row: usize, column: usize| {
                shared + if row == column { points[row].error.powi(2) } else { 0.0 }
            };
            let covariance: Covariance =
                (0..7).map(|row| (0..7).map(|column| of(row, column)).collect()).collect();
            let joint = Scan::at(&points, Some(&covariance), &[0, 1, 2, 3, 4, 5, 6]);
            let (left, right) = (independent.step_scores(), joint.step_scores());
            assert!(left.iter().zip(&right).all(|(left, right)| (left - right).abs() < 1e-7), "{shared}");
            let (left, right) = (independent.best_bump().unwrap(), joint.best_bump().unwrap());
            assert_eq!((left.from, left.to), (right.from, right.to));
        }
    }

    #[test]
    fn a_part_of_the_points_has_its_part_of_the_covariance() {
        let (points, covariance) = (points(), joint());
        let some = [0, 2, 3, 6];
        let own: Covariance =
            some.iter().map(|row| some.iter().map(|column| covariance[*row][*column]).collect()).collect();
        let values: Vec<f64> = some.iter().map(|at| points[*at].value).collect();
        let wanted = Scan::with_covariance(&values, &own).step_scores();
        assert_eq!(Scan::at(&points, Some(&covariance), &some).step_scores(), wanted);
    }
}
