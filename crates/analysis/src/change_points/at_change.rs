//! What another series does at the change of one.

use super::{Change, Findings, Series, Shape};

/// A series at a place that another one gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AtChange {
    /// Mean after less mean before, or glitch less mean around it; ln.
    pub(crate) ln_ratio: f64,
    pub(crate) ln_error: f64,
    /// Degrees of freedom of the error.
    pub(crate) df: usize,
    /// `|ln_ratio| / ln_error`: the scan statistic at the place.
    pub(crate) here: f64,
    /// The largest of that statistic at any place.
    pub(crate) largest: f64,
}

impl AtChange {
    /// `versions` ascending, those that count. Absent where one side of the change has no value.
    pub(crate) fn of(series: &Series, versions: &[usize], change: &Change) -> Option<AtChange> {
        let counts = |at: &usize| versions.binary_search(&series.points[*at].version).is_ok();
        let positions: Vec<usize> = (0..series.len()).filter(counts).collect();
        let below = |bound: usize| positions.partition_point(|at| series.points[*at].version < bound);
        let start = below(change.version);
        let changed = match change.shape {
            Shape::Step => start..positions.len(),
            Shape::Glitch => start..below(change.version + 1),
        };
        if changed.is_empty() || changed.len() == positions.len() {
            return None;
        }
        let scan = series.scan(&positions);
        let (ln_ratio, ln_error) = scan.apart(changed);
        let scores = match change.shape {
            Shape::Step => scan.step_scores(),
            Shape::Glitch => scan.point_scores(),
        };
        Some(AtChange {
            ln_ratio,
            ln_error,
            df: series.df(),
            here: ln_ratio.abs() / ln_error,
            largest: scores.into_iter().fold(0.0, f64::max),
        })
    }
}

impl Findings {
    /// The versions between the neighbours of a change, other glitches left out; ascending.
    pub(crate) fn versions_beside(&self, change: &Change) -> Vec<usize> {
        let is_other_glitch = |version: &usize| {
            self.changes.iter().any(|other| {
                other.shape == Shape::Glitch && other.version == *version && other.version != change.version
            })
        };
        change.window.clone().filter(|version| !is_other_glitch(version)).collect()
    }
}
