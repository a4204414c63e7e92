//! Where the mean of a series changes: binary segmentation, with every place found again between its neighbours.
//!
//! A segment is split at its best step if that exceeds the critical value; its parts are searched only then. So the
//! share of series without a change in which anything is found is alpha. Where a stretch that differs from both its
//! sides explains more than a step does, the segment is split in three: a regression and its repair soon after
//! hardly move the mean on either side of a single step. A stretch of one point is taken out as a glitch.

use super::critical::{CriticalValues, Law};
use super::evidence::{Reading, STEP};
use super::scan::{self, Bump, Covariance, Peak, Scan, Weighted};
use super::series::{Series, Spread};
use super::single_runs::{self, LEAST_SINGLE_RUNS};
use super::trend::{self, TrendKind};

/// How to search.
pub(super) struct Search<'a> {
    /// Share of series without a change in which anything is found.
    pub(super) alpha: f64,
    /// The same for what is looked for beside a change that was found: not more than `alpha`.
    pub(super) alpha_beside: f64,
    /// The rule's own, which long series are searched at.
    pub(super) alpha_of_rule: f64,
    /// Changes of less than this are dropped; ln.
    pub(super) least_change: f64,
    pub(super) critical: &'a CriticalValues,
}

/// Steps, bumps and trends of repeats share alpha: most changes are steps. What they say alike is what 20,000 simulations do
/// not tell of the critical values, so that the share of false alarms is at most alpha and not about alpha.
const STEP_SHARE: f64 = 0.75;
const BUMP_SHARE: f64 = 0.15;
const TREND_SHARE: f64 = 0.1;
/// Rounds of moving each step to its best place between its neighbours. Two nearly always suffice.
const MOST_REFINEMENTS: usize = 5;

/// A series cut into segments. All positions count the points that have a value.
pub(super) struct Segmentation {
    /// The points; without spikes where there are many single runs, with the errors that the search gave them.
    pub(super) points: Vec<Weighted>,
    /// How the points vary together; absent if they are independent.
    pub(super) covariance: Option<Covariance>,
    /// First points of the later segments, ascending.
    pub(super) steps: Vec<usize>,
    /// Points that belong to no segment, ascending.
    pub(super) glitches: Vec<usize>,
    /// Points far from their segment; ascending, only where there are many single runs.
    pub(super) outliers: Vec<usize>,
    /// Correlation of neighbours that was allowed for.
    pub(super) autocorrelation: f64,
    /// Whether autocorrelation would explain as much.
    pub(super) maybe_autocorrelation: bool,
    pub(super) trend: TrendKind,
}

/// Cuts a series.
pub(super) fn segment(series: &Series, search: &Search<'_>) -> Segmentation {
    let mut found = Segmentation {
        steps: Vec::new(),
        glitches: Vec::new(),
        outliers: Vec::new(),
        autocorrelation: 0.0,
        maybe_autocorrelation: false,
        trend: TrendKind::None,
        points: series.weighted(),
        covariance: series.covariance.clone(),
    };
    match law_of(series) {
        Some(Law::SingleRuns(_)) => single_runs::segment(&mut found, series, search),
        Some(law) => {
            by_values(&mut found, law, search);
            let needed = search.critical.of_step(law, found.points.len(), STEP_SHARE * search.alpha);
            found.trend = trend::of_repeats(&found, series.df(), TREND_SHARE * search.alpha, needed);
        }
        None => {}
    }
    found
}

fn law_of(series: &Series) -> Option<Law> {
    match (series.spread(), series.len()) {
        (Spread::Repeats { df }, 2..) => Some(Law::Repeats { df }),
        (Spread::SingleRuns, points @ LEAST_SINGLE_RUNS..) => Some(Law::SingleRuns(Reading::of(points))),
        (Spread::Repeats { .. } | Spread::SingleRuns, _) => None,
    }
}

/// The normal quantile of a power of 90 %.
const POWER_90: f64 = 1.281_552;

/// The step in the middle of a series that would be found nine times of ten, in ln; absent where nothing can be found.
pub(super) fn visible(series: &Series, found: &Segmentation, search: &Search<'_>) -> Option<f64> {
    let law = law_of(series)?;
    let points = found.points.len();
    let critical = match law {
        Law::SingleRuns(_) => {
            // Student's t of a step that has this evidence.
            let per_point =
                (search.critical.of_any(law, points, search.alpha)[STEP] / points as f64).exp_m1();
            (per_point * points.saturating_sub(2) as f64).sqrt()
        }
        law => search.critical.of_step(law, points, STEP_SHARE * search.alpha),
    };
    let all: Vec<usize> = (0..points).collect();
    let (_, of_halves) = found.scan(&all).apart(points / 2..points);
    let visible = (critical + POWER_90) * of_halves;
    Some(visible.max(search.least_change)).filter(|visible| visible.is_finite())
}

impl Segmentation {
    /// Whether nothing was found in it yet.
    fn is_whole(&self) -> bool {
        self.steps.is_empty() && self.glitches.is_empty()
    }

    /// Positions that belong to segments.
    pub(super) fn active(&self) -> Vec<usize> {
        (0..self.points.len()).filter(|position| self.glitches.binary_search(position).is_err()).collect()
    }

    /// The segments' positions, glitches left out.
    pub(super) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.steps.len() + 1];
        for position in self.active() {
            members[self.steps.partition_point(|step| *step <= position)].push(position);
        }
        members
    }

    /// The positions of the two segments beside a step: between its neighbours.
    pub(super) fn window(&self, step: usize) -> Vec<usize> {
        let members = self.members();
        [members[step].as_slice(), members[step + 1].as_slice()].concat()
    }

    /// The variance of a sum of the points at these positions by weights.
    pub(super) fn variance_of_sum(&self, positions: &[usize], weights: &[f64]) -> f64 {
        let Some(covariance) = &self.covariance else {
            let terms = positions.iter().zip(weights);
            return terms.map(|(at, weight)| (weight * self.points[*at].error).powi(2)).sum();
        };
        let row = |(row, weight): (&usize, &f64)| {
            let sum: f64 =
                positions.iter().zip(weights).map(|(at, other)| other * covariance[*row][*at]).sum();
            weight * sum
        };
        positions.iter().zip(weights).map(row).sum()
    }

    /// What lies at these positions.
    pub(super) fn at(&self, positions: &[usize]) -> Vec<Weighted> {
        positions.iter().map(|position| self.points[*position]).collect()
    }

    /// The same, to be cut.
    pub(super) fn scan(&self, positions: &[usize]) -> Scan {
        Scan::at(&self.points, self.covariance.as_ref(), positions)
    }

    /// Weighted mean and its standard error; a segment is never empty.
    pub(super) fn mean(&self, positions: &[usize]) -> (f64, f64) {
        scan::mean(positions.iter().map(|position| self.points[*position])).unwrap_or((0.0, f64::INFINITY))
    }

    /// The mean of the segment of each point; absent for a glitch.
    pub(super) fn levels(&self) -> Vec<Option<f64>> {
        let mut levels = vec![None; self.points.len()];
        for members in self.members() {
            let mean = self.mean(&members).0;
            members.iter().for_each(|at| levels[*at] = Some(mean));
        }
        levels
    }

    /// Moves each step to the best place between its neighbours.
    fn refine(&mut self) {
        for _ in 0..MOST_REFINEMENTS {
            let before = self.steps.clone();
            for step in 0..self.steps.len() {
                let window = self.window(step);
                if let Some(peak) = self.scan(&window).best_step() {
                    self.steps[step] = window[peak.at];
                }
            }
            if self.steps == before {
                break;
            }
        }
    }

    /// How much smaller than `least` each step is; the smallest of those.
    fn smallest_step_below(&self, least: f64) -> Option<usize> {
        let members = self.members();
        let sizes = members.windows(2).map(|pair| (self.mean(&pair[1]).0 - self.mean(&pair[0]).0).abs());
        let smallest = sizes.enumerate().min_by(|left, right| left.1.total_cmp(&right.1))?;
        (smallest.1 < least).then_some(smallest.0)
    }

    pub(super) fn drop_small_steps(&mut self, least: f64) {
        while let Some(smallest) = self.smallest_step_below(least) {
            self.steps.remove(smallest);
            self.refine();
        }
    }
}

/// Repeats: values and their standard errors.
fn by_values(found: &mut Segmentation, law: Law, search: &Search<'_>) {
    let mut waiting: Vec<Vec<usize>> = vec![found.active()];
    while let Some(segment) = waiting.pop() {
        let scan = found.scan(&segment);
        let Some(step) = scan.best_step() else { continue };
        let place = Place { law, points: segment.len(), first: found.is_whole() };
        match search.best(step, scan.best_bump(), place) {
            None => {}
            Some(Best::Bump(from, to)) if to == from + 1 => {
                found.glitches.push(segment[from]);
                waiting.push([&segment[..from], &segment[to..]].concat());
            }
            Some(Best::Bump(from, to)) => {
                found.steps.extend([segment[from], segment[to]]);
                waiting.extend([&segment[..from], &segment[from..to], &segment[to..]].map(<[usize]>::to_vec));
            }
            Some(Best::Step(at)) => {
                found.steps.push(segment[at]);
                waiting.extend([&segment[..at], &segment[at..]].map(<[usize]>::to_vec));
            }
        }
    }
    found.steps.sort_unstable();
    found.glitches.sort_unstable();
    found.refine();
    while let Some(weakest) = weakest_step(found, law, search) {
        found.steps.remove(weakest);
        found.refine();
    }
    settle_glitches(found, search.least_change);
    found.drop_small_steps(search.least_change);
}

/// A segment that is searched.
struct Place {
    law: Law,
    points: usize,
    /// Whether nothing was found yet.
    first: bool,
}

/// The best change of a segment, if it stands out.
enum Best {
    Step(usize),
    Bump(usize, usize),
}

impl Search<'_> {
    /// Which of the two explains more beyond what chance explains: by squared scores, twice the logarithm of the
    /// likelihood, over those of the critical values.
    fn best(&self, step: Peak, bump: Option<Bump>, place: Place) -> Option<Best> {
        let Place { law, points, first } = place;
        let alpha = if first { self.alpha } else { self.alpha_beside };
        let excess = |score: f64, critical: f64| score.powi(2) - critical.powi(2);
        let of_step = excess(step.score, self.critical.of_step(law, points, STEP_SHARE * alpha));
        let of_bump = bump.map_or(f64::NEG_INFINITY, |bump| {
            excess(bump.score, self.critical.of_bump(law, points, BUMP_SHARE * alpha))
        });
        match bump {
            Some(bump) if of_bump > 0.0 && of_bump > of_step => Some(Best::Bump(bump.from, bump.to)),
            Some(_) | None => (of_step > 0.0).then_some(Best::Step(step.at)),
        }
    }
}

/// The step that stands out least between its neighbours, if it does not stand out enough: what made it stand out
/// in its parent was another step that has been found since.
fn weakest_step(found: &Segmentation, law: Law, search: &Search<'_>) -> Option<usize> {
    let alpha = if found.steps.len() > 1 { search.alpha_beside } else { search.alpha };
    let excess = |step: usize| {
        let window = found.window(step);
        let score = found.scan(&window).best_step().map_or(0.0, |peak| peak.score);
        score / search.critical.of_step(law, window.len(), STEP_SHARE * alpha)
    };
    let weakest = (0..found.steps.len()).map(excess).enumerate();
    let (step, excess) = weakest.min_by(|left, right| left.1.total_cmp(&right.1))?;
    (excess <= 1.0).then_some(step)
}

/// A glitch lies between versions that agree. One at a step is a segment of its own; one that hardly differs from
/// its segment belongs to it.
fn settle_glitches(found: &mut Segmentation, least_change: f64) {
    for glitch in found.glitches.clone() {
        let segment = found.steps.partition_point(|step| *step <= glitch);
        let members = found.members();
        let after = members[segment].iter().find(|position| **position > glitch);
        let before = members[segment].iter().find(|position| **position < glitch);
        let (at_step, next) = match (before, after) {
            (Some(_), Some(_)) => (false, None),
            // The last of its segment: the next one begins right after it.
            (Some(_), None) => (true, None),
            (None, after) => (true, after.copied()),
        };
        let distance = (found.points[glitch].value - found.mean(&members[segment]).0).abs();
        if !at_step && distance >= least_change {
            continue;
        }
        found.glitches.retain(|other| *other != glitch);
        if !at_step {
            continue;
        }
        // A step into the glitch and one out of it; where it began its segment, the first is there already.
        let step = next.unwrap_or(glitch);
        if let Err(place) = found.steps.binary_search(&step) {
            found.steps.insert(place, step);
        }
    }
}
