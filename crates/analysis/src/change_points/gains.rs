//! How much of the spread of a series a step, a stretch or a straight line explains: differences of weighted sums of
//! squares, all from running sums.

use super::scan::Weighted;
use std::ops::Range;

/// Running sums of a series; weights are `1 / error^2` relative to their mean, values relative to theirs.
pub(super) struct Sums {
    weights: Vec<f64>,
    values: Vec<f64>,
    squares: Vec<f64>,
}

/// A place and the squares that it explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gain<P> {
    pub(super) place: P,
    pub(super) squares: f64,
}

/// Lengths of stretches that are searched: the shortest, then each longer by this factor, up to half of the series.
const GROWTH: (usize, usize) = (7, 5);

impl Sums {
    pub(super) fn of(points: &[Weighted]) -> Sums {
        let weight = |point: &Weighted| 1.0 / (point.error * point.error);
        let all: f64 = points.iter().map(weight).sum();
        let mean = points.iter().map(|point| weight(point) * point.value).sum::<f64>() / all;
        let unit = points.len() as f64 / all;
        let weighted = points.iter().map(|point| (unit * weight(point), point.value - mean));
        Sums::of_weighted(weighted, points.len())
    }

    /// Of values that all weigh the same; relative to `mean`.
    pub(super) fn of_equal(values: &[f64], mean: f64) -> Sums {
        Sums::of_weighted(values.iter().map(|value| (1.0, value - mean)), values.len())
    }

    fn of_weighted(points: impl Iterator<Item = (f64, f64)>, count: usize) -> Sums {
        let start = || {
            let mut sums = Vec::with_capacity(count + 1);
            sums.push(0.0);
            sums
        };
        let (mut weights, mut values, mut squares) = (start(), start(), start());
        let mut sum = (0.0, 0.0, 0.0);
        for (weight, value) in points {
            sum = (sum.0 + weight, sum.1 + weight * value, sum.2 + weight * value * value);
            weights.push(sum.0);
            values.push(sum.1);
            squares.push(sum.2);
        }
        Sums { weights, values, squares }
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len() - 1
    }

    fn within(&self, sums: &[f64], range: &Range<usize>) -> f64 {
        sums[range.end] - sums[range.start]
    }

    /// The points as residuals about their mean in units of their errors.
    pub(super) fn standardised(&self) -> Vec<f64> {
        (0..self.len())
            .map(|at| {
                (self.values[at + 1] - self.values[at]) / (self.weights[at + 1] - self.weights[at]).sqrt()
            })
            .collect()
    }

    /// Squared distances from the mean of a range.
    pub(super) fn squares(&self, range: Range<usize>) -> f64 {
        let (weight, value) = (self.within(&self.weights, &range), self.within(&self.values, &range));
        (self.within(&self.squares, &range) - value * value / weight).max(0.0)
    }

    /// What a mean of its own for `inner` explains of `outer`.
    fn explained(&self, inner: &Range<usize>, outer: &Range<usize>) -> f64 {
        let (weight, value) = (self.within(&self.weights, inner), self.within(&self.values, inner));
        let (all, sum) = (self.within(&self.weights, outer), self.within(&self.values, outer));
        (value - sum * weight / all).powi(2) * all / (weight * (all - weight))
    }

    /// What one mean for two ranges leaves more than a mean for each.
    pub(super) fn apart(&self, left: &Range<usize>, right: &Range<usize>) -> f64 {
        let of = |range: &Range<usize>| (self.within(&self.weights, range), self.within(&self.values, range));
        let ((left, left_sum), (right, right_sum)) = (of(left), of(right));
        (left_sum / left - right_sum / right).powi(2) * left * right / (left + right)
    }

    /// The best step of a range with at least `end` points on either side; the first of equals.
    pub(super) fn best_step(&self, range: &Range<usize>, end: usize) -> Option<Gain<usize>> {
        let places = range.start + end..(range.end + 1).saturating_sub(end);
        best(places.map(|at| Gain { place: at, squares: self.explained(&(range.start..at), range) }))
    }

    /// The best stretch of at least `shortest` points that holds neither end of the range; the first of equals.
    pub(super) fn best_bump(&self, range: &Range<usize>, shortest: usize) -> Option<Gain<(usize, usize)>> {
        let longest = (range.len() / 2).max(1);
        let mut lengths = Vec::new();
        let mut length = shortest;
        while length <= longest && length + 2 <= range.len() {
            lengths.push(length);
            length = (length + 1).max(length * GROWTH.0 / GROWTH.1);
        }
        let places = lengths
            .into_iter()
            .flat_map(|length| (range.start + 1..range.end - length).map(move |from| (from, from + length)));
        best(places.map(|(from, to)| Gain { place: (from, to), squares: self.explained(&(from..to), range) }))
    }

    /// What a straight line explains beyond the mean.
    pub(super) fn trend(&self) -> f64 {
        let count = self.len();
        let weight = |at: usize| self.weights[at + 1] - self.weights[at];
        let all = self.weights[count];
        let middle = (0..count).map(|at| weight(at) * at as f64).sum::<f64>() / all;
        let (mut product, mut spread) = (0.0, 0.0);
        for at in 0..count {
            let from_middle = at as f64 - middle;
            product += from_middle * (self.values[at + 1] - self.values[at]);
            spread += weight(at) * from_middle * from_middle;
        }
        if spread > 0.0 { product * product / spread } else { 0.0 }
    }
}

fn best<P: Copy>(gains: impl Iterator<Item = Gain<P>>) -> Option<Gain<P>> {
    gains.fold(None, |best: Option<Gain<P>>, gain| match best {
        Some(best) if best.squares >= gain.squares => Some(best),
        Some(_) | None => Some(gain),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [(f64, f64); 8] =
        [(0.3, 1.0), (-0.2, 0.5), (0.9, 2.0), (1.7, 1.0), (1.1, 0.7), (2.5, 1.0), (0.4, 1.5), (0.8, 1.0)];

    fn points() -> Vec<Weighted> {
        VALUES.iter().map(|(value, error)| Weighted { value: *value, error: *error }).collect()
    }

    /// Squared distances from the weighted mean, from the definition; weights have a mean of one.
    fn naive(members: &[usize]) -> f64 {
        let points = points();
        let unit = 8.0 / points.iter().map(|point| point.error.powi(-2)).sum::<f64>();
        let weight = |at: &usize| unit * points[*at].error.powi(-2);
        let all: f64 = members.iter().map(weight).sum();
        let mean = members.iter().map(|at| weight(at) * points[*at].value).sum::<f64>() / all;
        members.iter().map(|at| weight(at) * (points[*at].value - mean).powi(2)).sum()
    }

    #[test]
    fn gains_are_differences_of_squares() {
        let sums = Sums::of(&points());
        let all: Vec<usize> = (0..8).collect();
        let whole = naive(&all);
        assert!((sums.squares(0..8) - whole).abs() < 1e-12);
        let step = sums.best_step(&(0..8), 1).unwrap();
        let gain = |at: usize| whole - naive(&all[..at]) - naive(&all[at..]);
        assert!((step.squares - gain(step.place)).abs() < 1e-12);
        assert!((1..8).all(|at| gain(at) <= step.squares + 1e-12));
        let bump = sums.best_bump(&(0..8), 2).unwrap();
        let gain = |from: usize, to: usize| {
            whole - naive(&all[from..to]) - naive(&[&all[..from], &all[to..]].concat())
        };
        assert!((bump.squares - gain(bump.place.0, bump.place.1)).abs() < 1e-12);
        for (from, to) in (1..6).flat_map(|from| (from + 2..=(from + 4).min(7)).map(move |to| (from, to))) {
            assert!(gain(from, to) <= bump.squares + 1e-12, "{from}..{to}");
        }
    }

    #[test]
    fn a_line_explains_all_of_a_line() {
        let values: Vec<f64> = (0..9).map(|at| 0.25 * f64::from(at)).collect();
        let sums = Sums::of_equal(&values, 1.0);
        assert!((sums.trend() - sums.squares(0..9)).abs() < 1e-12);
    }

    #[test]
    fn short_ranges_have_no_place() {
        let sums = Sums::of(&points());
        assert!(sums.best_step(&(2..3), 1).is_none() && sums.best_step(&(0..3), 2).is_none());
        assert!(sums.best_bump(&(0..2), 1).is_none() && sums.best_bump(&(0..4), 3).is_none());
    }
}
