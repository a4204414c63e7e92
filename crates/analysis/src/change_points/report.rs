//! What is said of a segmentation: sizes, intervals, and where each change may also have happened.

use super::segmentation::Segmentation;
use super::series::{Series, Spread};
use super::trend;
use super::{Change, Findings, Rule, Segment, Shape, Standing};
use crate::student;
use model::warning::Warning;
use std::ops::Range;

/// The location set holds the change with this probability.
const LOCATION_SHARE: f64 = 0.95;
/// Correlation of neighbours above which the reader is told.
const NOTABLE_CORRELATION: f64 = 0.3;

pub(super) fn findings(series: &Series, found: &Segmentation, rule: &Rule, alpha: f64) -> Findings {
    let reporter = Reporter { series, found, rule };
    let steps = (0..found.steps.len()).map(|step| reporter.step(step));
    let glitches = found.glitches.iter().map(|glitch| reporter.glitch(*glitch));
    let mut changes: Vec<Change> = steps.chain(glitches).collect();
    changes.sort_by_key(|change| change.version);
    Findings {
        changes,
        segments: reporter.segments(),
        outliers: found.outliers.iter().map(|position| reporter.version(*position)).collect(),
        ln_error: found.points.iter().map(|point| point.error).reduce(f64::max),
        autocorrelation: found.autocorrelation,
        maybe_autocorrelation: found.maybe_autocorrelation,
        trend: trend::of(series, found, rule),
        alpha,
        visible: None,
        warnings: reporter.warnings(),
    }
}

struct Reporter<'a> {
    series: &'a Series,
    found: &'a Segmentation,
    rule: &'a Rule,
}

impl Reporter<'_> {
    /// The version at a position; one past the last version where there is none.
    fn version(&self, position: usize) -> usize {
        self.series.points.get(position).map_or(self.series.versions(), |point| point.version)
    }

    /// Positions of a segment, glitches included.
    fn positions(&self, segment: usize) -> Range<usize> {
        let start = if segment == 0 { 0 } else { self.found.steps[segment - 1] };
        start..self.found.steps.get(segment).copied().unwrap_or(self.found.points.len())
    }

    fn versions(&self, positions: Range<usize>) -> Range<usize> {
        let start = if positions.start == 0 { 0 } else { self.version(positions.start) };
        start..self.version(positions.end)
    }

    fn segments(&self) -> Vec<Segment> {
        if self.found.points.is_empty() {
            return Vec::new();
        }
        let members = self.found.members();
        let of = |(segment, members): (usize, &Vec<usize>)| Segment {
            versions: self.versions(self.positions(segment)),
            points: members.len(),
            mean: self.found.mean(members).0,
        };
        members.iter().enumerate().map(of).collect()
    }

    fn standing(&self) -> Standing {
        match self.series.spread() {
            Spread::Repeats { .. } => Standing::Found,
            Spread::SingleRuns => Standing::Candidate,
        }
    }

    fn step(&self, step: usize) -> Change {
        let members = self.found.members();
        let window = self.found.window(step);
        let scan = self.found.scan(&window);
        let at = window.partition_point(|position| *position < self.found.steps[step]);
        let location = location_set(&scan.step_scores(), at)
            .into_iter()
            .map(|index| self.version(window[index]))
            .collect();
        let (before, after) = (&members[step], &members[step + 1]);
        let last = step + 1 == self.found.steps.len();
        let at_edge = (step == 0 && before.len() == 1) || (last && after.len() == 1);
        let size = scan.apart(at..window.len());
        let window = self.positions(step).start..self.positions(step + 1).end;
        let place = Place { position: self.found.steps[step], shape: Shape::Step, at_edge, location, window };
        self.change(place, size)
    }

    fn glitch(&self, glitch: usize) -> Change {
        let segment = self.found.steps.partition_point(|step| *step <= glitch);
        let mut with_glitch = self.found.members().swap_remove(segment);
        let at = with_glitch.partition_point(|position| *position < glitch);
        with_glitch.insert(at, glitch);
        let size = self.found.scan(&with_glitch).apart(at..at + 1);
        let place = Place {
            position: glitch,
            shape: Shape::Glitch,
            at_edge: false,
            location: vec![self.version(glitch)],
            window: self.positions(segment),
        };
        self.change(place, size)
    }

    fn change(&self, place: Place, (center, ln_error): (f64, f64)) -> Change {
        let Place { position, shape, at_edge, location, window } = place;
        let df = self.series.df();
        let half = student::two_sided_quantile(1.0 - self.rule.confidence, df) * ln_error;
        Change {
            version: self.version(position),
            shape,
            standing: self.standing(),
            at_edge,
            ratio: center.exp(),
            low: (center - half).exp(),
            high: (center + half).exp(),
            confidence: self.rule.confidence,
            ln_error,
            df,
            score: center.abs() / ln_error,
            location,
            window: self.versions(window),
        }
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let points = self.series.len();
        let needed = match self.series.spread() {
            Spread::Repeats { .. } => 2,
            Spread::SingleRuns => 4,
        };
        if (points as u64) < needed {
            warnings.push(Warning::TooFewVersions { versions: points as u64, needed });
        }
        if self.series.spread() == Spread::SingleRuns && points > 0 {
            warnings.push(Warning::SingleRuns);
        }
        let gaps = self.series.versions() - points;
        if gaps > 0 {
            warnings.push(Warning::VersionsMissing { versions: gaps as u64 });
        }
        if self.found.autocorrelation > NOTABLE_CORRELATION {
            warnings.push(Warning::Autocorrelated { correlation: self.found.autocorrelation });
        }
        warnings
    }
}

/// Where a change is and what it looks like; positions.
struct Place {
    position: usize,
    shape: Shape,
    at_edge: bool,
    location: Vec<usize>,
    window: Range<usize>,
}

/// The smallest set of places, ascending, that holds the change with 95 %, by `p(t) ~ exp(Z_t^2 / 2)`. It always holds
/// the place itself. `scores[0]` is of place 1.
fn location_set(scores: &[f64], place: usize) -> Vec<usize> {
    let best = scores.iter().copied().fold(0.0, f64::max);
    let likelihood = |score: f64| (0.5 * (score * score - best * best)).exp();
    let total: f64 = scores.iter().copied().map(likelihood).sum();
    let mut places: Vec<(usize, f64)> =
        scores.iter().enumerate().map(|(index, score)| (index + 1, likelihood(*score))).collect();
    places.sort_by(|left, right| right.1.total_cmp(&left.1));
    let mut set = vec![place];
    let mut held = 0.0;
    for (other, likelihood) in places {
        if held >= LOCATION_SHARE * total {
            break;
        }
        held += likelihood;
        if other != place {
            set.push(other);
        }
    }
    set.sort_unstable();
    set
}
