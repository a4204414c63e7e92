//! What another series does at the change of one.

use super::scan::{self, Weighted};
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
        let points: Vec<_> =
            series.points.iter().filter(|point| versions.binary_search(&point.version).is_ok()).collect();
        let weighted: Vec<Weighted> =
            points.iter().map(|point| Weighted { value: point.value, error: point.error }).collect();
        let changed = |version: usize| match change.shape {
            Shape::Step => version >= change.version,
            Shape::Glitch => version == change.version,
        };
        let side = |after: bool| {
            let of = points.iter().zip(&weighted).filter(|(point, _)| changed(point.version) == after);
            scan::mean(of.map(|(_, point)| *point))
        };
        let (from, to) = (side(false)?, side(true)?);
        let (ln_ratio, ln_error) = (to.0 - from.0, from.1.hypot(to.1));
        let scores = match change.shape {
            Shape::Step => scan::step_scores(&weighted),
            Shape::Glitch => scan::point_scores(&weighted),
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
