//! A steady change: how much a straight line falls or rises from the first version to the last, and how large a single
//! step could hide in it.

use super::Rule;
use super::scan::Weighted;
use super::segmentation::Segmentation;
use super::series::{Series, Spread};
use crate::student;

/// Whether a series changes steadily.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum TrendKind {
    /// Nothing says so, or steps explain far more.
    None,
    /// A straight line explains the series, and steps do not.
    Trend,
    /// A straight line explains it as well as the steps that were found.
    TrendOrSteps,
}

impl TrendKind {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Twice the logarithm of thirty: a staircase that is this much less likely than a line is ruled out.
const RULED_OUT: f64 = 6.8;
/// What the place of each further step is worth to a staircase that follows a line.
const A_PLACE: f64 = 2.0;

/// Which of a line and a staircase of so many steps explains a series, where the staircase is `better` by this much and a
/// single step must be by `needed`; both are twice the logarithm of a likelihood ratio.
pub(super) fn held_against(steps: usize, better: f64, needed: f64) -> TrendKind {
    match better {
        _ if steps == 0 => TrendKind::Trend,
        _ if better > needed + A_PLACE * (steps - 1) as f64 => TrendKind::None,
        _ if better < -RULED_OUT => TrendKind::Trend,
        _ => TrendKind::TrendOrSteps,
    }
}

/// Of a series with repeats, whose points have known errors. Each step that was found holds by itself there, so none is
/// ruled out by a line. `needed` is the score of a step.
pub(super) fn of_repeats(found: &Segmentation, df: usize, alpha: f64, needed: f64) -> TrendKind {
    let active = found.active();
    let points = found.at(&active);
    let Some(fit) = Fit::of(&points).filter(|_| points.len() >= LEAST_POINTS) else { return TrendKind::None };
    if student::two_sided_p(fit.slope.abs() / fit.error_of_slope(found, &active), df) >= alpha {
        return TrendKind::None;
    }
    let levels = found.levels();
    let left = |(point, at): (&Weighted, &usize)| {
        levels[*at].map_or(0.0, |level| ((point.value - level) / point.error).powi(2))
    };
    let of_steps: f64 = points.iter().zip(&active).map(left).sum();
    match held_against(found.steps.len(), fit.squares - of_steps, needed.powi(2)) {
        TrendKind::Trend if !found.steps.is_empty() => TrendKind::TrendOrSteps,
        kind => kind,
    }
}

/// The straight line through a series, by weighted least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    pub kind: TrendKind,
    /// The last version over the first, on the line.
    pub ratio: f64,
    /// Lower end of its interval, by Student's t.
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
    /// The largest step in the direction of the trend that any one version may hide, as a ratio: the farthest end of the
    /// intervals of a step beside the line.
    pub largest_step: f64,
}

/// Fewer points than this have no line with a noise of its own.
const LEAST_POINTS: usize = 4;

/// The values of the line at each point; absent for all where there are too few.
pub(super) fn line(points: &[Weighted]) -> Vec<Option<f64>> {
    let Some(fit) = Fit::of(points) else { return vec![None; points.len()] };
    (0..points.len()).map(|at| Some(fit.at(at))).collect()
}

pub(super) fn of(series: &Series, found: &Segmentation, rule: &Rule) -> Option<Trend> {
    let active = found.active();
    let points = found.at(&active);
    if points.len() < LEAST_POINTS {
        return None;
    }
    let fit = Fit::of(&points)?;
    let error_of_slope = fit.error_of_slope(found, &active);
    // Repeats say what the error of a point is; of single runs it is at least what is left about the line.
    let (scale, df) = match series.spread() {
        Spread::Repeats { df } => (1.0, df),
        Spread::SingleRuns => {
            let df = points.len() - 2;
            ((fit.squares / df as f64).sqrt().max(1.0), df)
        }
    };
    let last = (points.len() - 1) as f64;
    let center = fit.slope * last;
    let quantile = student::two_sided_quantile(1.0 - rule.confidence, df);
    let half = quantile * scale * last * error_of_slope;
    let largest = (1..points.len())
        .filter_map(|at| fit.step_beside(&points, at))
        .map(|(step, error)| step * center.signum() + quantile * scale * error)
        .fold(0.0, f64::max);
    let kind = match found.trend {
        _ if center.abs() < rule.least_change.ln_1p() => TrendKind::None,
        TrendKind::TrendOrSteps if found.steps.is_empty() => TrendKind::Trend,
        kind => kind,
    };
    Some(Trend {
        kind,
        ratio: center.exp(),
        low: (center - half).exp(),
        high: (center + half).exp(),
        confidence: rule.confidence,
        largest_step: (largest * center.signum()).exp(),
    })
}

/// A weighted regression on the place in the series.
struct Fit {
    mean: f64,
    middle: f64,
    slope: f64,
    /// Weighted squared distances of the places from their middle.
    spread: f64,
    /// Weighted squares about the line.
    squares: f64,
    weight: f64,
}

fn weight(point: &Weighted) -> f64 {
    1.0 / (point.error * point.error)
}

impl Fit {
    fn of(points: &[Weighted]) -> Option<Fit> {
        let all: f64 = points.iter().map(weight).sum();
        let average = |of: &dyn Fn(usize, &Weighted) -> f64| {
            points.iter().enumerate().map(|(at, point)| weight(point) * of(at, point)).sum::<f64>() / all
        };
        let (mean, middle) = (average(&|_, point| point.value), average(&|at, _| at as f64));
        let spread = all * average(&|at, _| (at as f64 - middle).powi(2));
        let slope = all * average(&|at, point| (at as f64 - middle) * (point.value - mean)) / spread;
        let fit = Fit { mean, middle, slope, spread, squares: 0.0, weight: all };
        let squares = all * average(&|at, point| (point.value - fit.at(at)).powi(2));
        (spread > 0.0).then_some(Fit { squares, ..fit })
    }

    /// With the covariance of the points, if they have one: the weights are those of their errors alone.
    fn error_of_slope(&self, found: &Segmentation, positions: &[usize]) -> f64 {
        let of = |(at, position): (usize, &usize)| {
            weight(&found.points[*position]) * (at as f64 - self.middle) / self.spread
        };
        let weights: Vec<f64> = positions.iter().enumerate().map(of).collect();
        found.variance_of_sum(positions, &weights).sqrt()
    }

    fn at(&self, place: usize) -> f64 {
        self.mean + self.slope * (place as f64 - self.middle)
    }

    /// The step at a place in a regression on line and step, and its error.
    fn step_beside(&self, points: &[Weighted], place: usize) -> Option<(f64, f64)> {
        let after = || points.iter().enumerate().skip(place);
        let share = after().map(|(_, point)| weight(point)).sum::<f64>() / self.weight;
        let lean =
            after().map(|(at, point)| weight(point) * (at as f64 - self.middle)).sum::<f64>() / self.spread;
        // What of the step neither the mean nor the line can take on.
        let own = |at: usize| f64::from(u8::from(at >= place)) - share - lean * (at as f64 - self.middle);
        let squares: f64 = points.iter().enumerate().map(|(at, point)| weight(point) * own(at).powi(2)).sum();
        let product: f64 = after().map(|(at, point)| weight(point) * (point.value - self.at(at))).sum();
        (squares > 1e-9 * self.weight).then(|| (product / squares, (1.0 / squares).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Weighted> {
        values.iter().map(|value| Weighted { value: *value, error: 0.1 }).collect()
    }

    #[test]
    fn a_line_has_the_slope_and_the_squares_of_a_regression() {
        // By hand: 11 / 10, and residuals 0, -0.1, 0.8, -1.3 and 0.6, over 0.1.
        let fit = Fit::of(&points(&[1.0, 2.0, 4.0, 3.0, 6.0])).unwrap();
        assert!((fit.slope - 1.1).abs() < 1e-12 && (fit.squares - 270.0).abs() < 1e-9);
        assert!((fit.at(0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_step_on_a_line_is_found_beside_it() {
        let values: Vec<f64> =
            (0..12).map(|at| 0.5 * f64::from(at) + if at >= 7 { 3.0 } else { 0.0 }).collect();
        let points = points(&values);
        let (step, error) = Fit::of(&points).unwrap().step_beside(&points, 7).unwrap();
        assert!((step - 3.0).abs() < 1e-9 && error > 0.05, "{step} {error}");
    }
}
