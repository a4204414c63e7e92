//! Changes of a series of single runs: whether there is any, then which steps or which trend explain it.
//!
//! Whether: `evidence`, against what independent noise does (`shuffled`; normal noise if there are few points) and what
//! autocorrelation does. Which: the best staircase of each
//! number of steps; a further step must explain of what is left as much as a step must of a series without a change. A
//! staircase of many steps hides its single ones, so several at once may do it together. Last, a straight line is held
//! against the staircase: who leaves far more is ruled out, and else it is said that they cannot be told apart.

use super::autocorrelation;
use super::critical::{LARGEST_ALPHA, Law};
use super::evidence::{self, BUMP, Evidence, RANKED_BUMP, RANKED_STEP, Reading, STEP, TREND};
use super::gains::Sums;
use super::scan::Weighted;
use super::segmentation::{Search, Segmentation};
use super::series::Series;
use super::shuffled;
use super::staircase::{Staircase, staircases};
use super::trend::{self, TrendKind};

/// Fewer single runs than this say nothing of their own noise.
pub(super) const LEAST_SINGLE_RUNS: usize = 4;
/// From this number of points on, a step of two standard deviations in the middle is told from autocorrelation of 0.5 nine
/// times of ten; what is not told from it there is none. In fewer points the two look alike, and the reader is told.
const TOLD_APART: usize = 50;
/// Share of autocorrelated series without a change in which something clear is found, in units of the rule's alpha:
/// short ones say little of their correlation.
const CORRELATED_ALPHA: (f64, f64) = (9.0, 3.8);
/// Steps that are looked for: so many, and one more for so many points.
const MOST_STEPS: (usize, usize) = (8, 25);
/// Points behind each step, at least.
const POINTS_A_STEP: usize = 3;
/// Points farther from their segment than this many standard deviations are told as outliers.
const OUTLIER_BEYOND: f64 = 5.0;

/// A series that is searched.
struct Run<'a> {
    points: Vec<Weighted>,
    sums: Sums,
    reading: Reading,
    /// The least variance of a point: below it a small spread is luck or rounding.
    least: f64,
    search: &'a Search<'a>,
}

pub(super) fn segment(found: &mut Segmentation, series: &Series, search: &Search<'_>) {
    let count = found.points.len();
    if count < LEAST_SINGLE_RUNS {
        return;
    }
    let reading = Reading::of(count);
    let raw = std::mem::take(&mut found.points);
    let points = reading.points(&raw);
    let run = Run { sums: Sums::of(&points), least: series.least_variance(), points, reading, search };
    if let Some(seen) = run.seen(&raw) {
        let staircase = if seen.steps { run.staircase(seen.stretch) } else { run.flat() };
        let maybe_autocorrelation = !run.is_beyond_autocorrelation(&staircase);
        if !maybe_autocorrelation || count < TOLD_APART {
            found.maybe_autocorrelation = maybe_autocorrelation;
            found.trend = if seen.trend { run.trend_beside(&staircase) } else { TrendKind::None };
            if found.trend != TrendKind::Trend {
                (found.steps, found.glitches) = run.without_glitches(&staircase);
            }
        }
    }
    found.points.clone_from(&run.points);
    run.settle(found, &raw);
    found.drop_small_steps(search.least_change);
}

/// What was found at all.
struct Seen {
    steps: bool,
    /// Whether a stretch stands out more than a step.
    stretch: bool,
    trend: bool,
}

impl Run<'_> {
    fn count(&self) -> usize {
        self.points.len()
    }

    /// Whether anything is there; absent where nothing is.
    fn seen(&self, raw: &[Weighted]) -> Option<Seen> {
        let levels = self.levels(raw, &self.sums);
        let bound = match self.reading {
            // Of few points too few orders are as striking as a step at an end.
            Reading::Values => self.search.critical.level(self.law(), self.count(), self.search.alpha),
            Reading::Ranks => {
                let of_order = |order: &[Weighted]| {
                    smallest(&self.levels(order, &Sums::of(&self.reading.points(order))))
                };
                shuffled::bound(raw, smallest(&levels), self.search.alpha, of_order)?
            }
        };
        let of = |explanations: [usize; 2]| smallest(&explanations.map(|one| levels[one]));
        let (step, stretch) = (of([STEP, RANKED_STEP]), of([BUMP, RANKED_BUMP]));
        let (trend, steps) = (levels[TREND] < bound, step.min(stretch) < bound);
        (trend || steps).then_some(Seen { steps, stretch: stretch < step, trend })
    }

    fn law(&self) -> Law {
        Law::SingleRuns(self.reading)
    }

    /// How striking each explanation is: the smaller, the more.
    fn levels(&self, raw: &[Weighted], sums: &Sums) -> Evidence {
        let evidence = evidence::of_series(raw, sums, self.reading, self.least);
        self.search.critical.levels(self.law(), self.count(), &evidence)
    }

    /// Whether a step, a stretch, a line or the staircase explains the series better than autocorrelation could.
    fn is_beyond_autocorrelation(&self, staircase: &Staircase) -> bool {
        let factor = match self.reading {
            Reading::Values => CORRELATED_ALPHA.0,
            Reading::Ranks => CORRELATED_ALPHA.1,
        };
        let alpha = (factor * self.search.alpha_of_rule).min(LARGEST_ALPHA);
        let law = Law::Autocorrelated(self.reading);
        let needed = self.search.critical.of_any(law, self.count(), alpha);
        let flat = self.sums.squares(0..self.count());
        let beyond = |evidence: f64| evidence::beyond_autocorrelation(&self.sums, evidence);
        let single = evidence::of_values(&self.sums, self.reading, self.least);
        if single.iter().zip(&needed).any(|(one, needed)| beyond(*one) > *needed) {
            return true;
        }
        let further = staircase.steps.len().saturating_sub(1) as f64 * self.needed_beside(0).0;
        let evidence = evidence::evidence(self.count(), flat, flat - staircase.squares, self.least);
        beyond(evidence) > needed[STEP] + further
    }

    fn flat(&self) -> Staircase {
        Staircase { steps: Vec::new(), squares: self.sums.squares(0..self.count()) }
    }

    /// What a further step, and a further stretch, of what is left beside `steps` steps must exceed.
    fn needed_beside(&self, steps: usize) -> (f64, f64) {
        let left = coarse(self.count().saturating_sub(steps).max(LEAST_SINGLE_RUNS));
        let of = |one: usize| (Reading::Values.shares()[one] * self.search.alpha_beside).min(LARGEST_ALPHA);
        let critical = self.search.critical;
        (critical.of_step(self.law(), left, of(STEP)), critical.of_bump(self.law(), left, of(BUMP)))
    }

    /// The staircase that explains the series, of one step at least.
    fn staircase(&self, stretch: bool) -> Staircase {
        let count = self.count();
        let most = ((count - 1) / POINTS_A_STEP).min(MOST_STEPS.0 + count / MOST_STEPS.1).max(1);
        let mut all = staircases(&self.sums, most, self.reading.shortest());
        all.retain(|one| one.squares.is_finite());
        let most = all.len() - 1;
        let mut steps = if stretch { 2 } else { 1 }.min(most);
        while let Some(further) = self.further(&all, steps) {
            steps = (steps + further).min(most);
        }
        all.swap_remove(steps)
    }

    /// How many steps more a staircase needs.
    fn further(&self, all: &[Staircase], steps: usize) -> Option<usize> {
        let now = &all[steps];
        let left = self.count() - steps;
        let (step, bump) = self.best_within(now);
        let of = |explained: f64| evidence::evidence(left, now.squares, explained, self.least);
        let (needed_step, needed_bump) = self.needed_beside(steps);
        let (step, bump) = (of(step) - needed_step, of(bump) - needed_bump);
        let room = all.len() - 1 - steps;
        if room > 0 && step.max(bump) > 0.0 {
            return Some(if bump > step { 2 } else { 1 });
        }
        // Several together hide one another: each must still be worth what a single one is.
        let mut needed = needed_step;
        (2..=room).find(|more| {
            needed += self.needed_beside(steps + more - 1).0;
            of(now.squares - all[steps + more].squares) > needed
        })
    }

    /// What the best step, and the best stretch, within a segment explains.
    fn best_within(&self, staircase: &Staircase) -> (f64, f64) {
        let shortest = self.reading.shortest();
        let starts = std::iter::once(0).chain(staircase.steps.iter().copied());
        let ends = staircase.steps.iter().copied().chain([self.count()]);
        starts.zip(ends).fold((0.0, 0.0), |(step, bump): (f64, f64), (start, end)| {
            let segment = start..end;
            let of_step = self.sums.best_step(&segment, shortest.end).map_or(0.0, |best| best.squares);
            let of_bump = self.sums.best_bump(&segment, shortest.inner).map_or(0.0, |best| best.squares);
            (step.max(of_step), bump.max(of_bump))
        })
    }

    /// A straight line held against a staircase.
    fn trend_beside(&self, staircase: &Staircase) -> TrendKind {
        let count = self.count() as f64;
        let least = (self.least * count).max(f64::MIN_POSITIVE);
        let of_line = (self.sums.squares(0..self.count()) - self.sums.trend()).max(least);
        let better = count * (of_line / staircase.squares.max(least)).ln();
        trend::held_against(staircase.steps.len(), better, self.needed_beside(0).0)
    }

    /// Steps and glitches: a single point between two segments that agree is no two steps.
    fn without_glitches(&self, staircase: &Staircase) -> (Vec<usize>, Vec<usize>) {
        let (mut steps, mut glitches) = (staircase.steps.clone(), Vec::new());
        let mut at = 0;
        while at + 1 < steps.len() {
            let (from, to) = (steps[at], steps[at + 1]);
            let start = if at == 0 { 0 } else { steps[at - 1] };
            let end = steps.get(at + 2).copied().unwrap_or(self.count());
            let apart = self.sums.apart(&(start..from), &(to..end));
            let left = self.count() - steps.len();
            let evidence = evidence::evidence(left, staircase.squares + apart, apart, self.least);
            if to == from + 1 && evidence <= self.needed_beside(steps.len()).0 {
                steps.drain(at..at + 2);
                glitches.push(from);
            } else {
                at += 1;
            }
        }
        (steps, glitches)
    }

    /// Errors of the points from what is left about the segments, or about the line, with what autocorrelation does to
    /// them; and the runs that lie far off.
    fn settle(&self, found: &mut Segmentation, raw: &[Weighted]) {
        let levels = match found.trend {
            TrendKind::Trend => trend::line(&self.points),
            TrendKind::None | TrendKind::TrendOrSteps => found.levels(),
        };
        let weights: f64 = self.points.iter().map(|point| point.error.powi(-2)).sum();
        let unit = (self.count() as f64 / weights).sqrt();
        let relative: Vec<f64> = self.points.iter().map(|point| point.error / unit).collect();
        let residuals: Vec<f64> = self
            .points
            .iter()
            .zip(&levels)
            .zip(&relative)
            .filter_map(|((point, level), relative)| Some((point.value - (*level)?) / relative))
            .collect();
        let fitted = match found.trend {
            TrendKind::Trend => 2,
            TrendKind::None | TrendKind::TrendOrSteps => found.steps.len() + 1,
        };
        let squares: f64 = residuals.iter().map(|residual| residual.powi(2)).sum();
        let variance = squares / residuals.len().saturating_sub(fitted).max(1) as f64;
        found.autocorrelation = match self.reading {
            Reading::Values => 0.0,
            Reading::Ranks => autocorrelation::of_residuals(&residuals, fitted),
        };
        let inflation = autocorrelation::inflation(found.autocorrelation);
        for (point, relative) in found.points.iter_mut().zip(&relative) {
            point.error = variance.max(self.least).sqrt() * relative * inflation;
        }
        let far = |at: &usize| {
            let bound = OUTLIER_BEYOND * found.points[*at].error / inflation;
            levels[*at].is_some_and(|level| (raw[*at].value - level).abs() > bound)
        };
        if self.reading == Reading::Ranks {
            found.outliers = (0..raw.len()).filter(far).collect();
        }
    }
}

fn smallest(levels: &[f64]) -> f64 {
    levels.iter().copied().fold(f64::INFINITY, f64::min)
}

/// A length less than a quarter longer: what is left beside changes is asked for at many lengths, and evidence hardly
/// depends on them.
fn coarse(points: usize) -> usize {
    points.next_multiple_of((points.next_power_of_two() / 8).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_lengths_are_less_than_a_quarter_longer() {
        for points in 4..500 {
            let found = coarse(points);
            assert!(found >= points && 4 * found < 5 * points, "{points}: {found}");
        }
        assert_eq!([4, 9, 13, 20, 39, 65].map(coarse), [4, 10, 14, 20, 40, 80]);
    }
}
