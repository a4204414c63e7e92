//! Code or default? One step over the same releases twice: with the options pinned, and with each release's own.
//!
//! A change that both series show came with the code. One that only the release's own options show came with a new
//! default, if the pinned series is precise enough to exclude half of it.

use crate::change_points::{AtChange, Change, Findings, Series};
use crate::error::Error;
use crate::student;

/// What a change with the release's own options is due to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Cause {
    /// The same change, as large, is there with pinned options.
    Code,
    /// With pinned options there is none of even half its size.
    Default,
    /// The pinned series can tell neither.
    Undecided,
}

/// One change of the series with the releases' own options.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// Which: its place in the findings of that series.
    pub change: usize,
    /// What it is due to.
    pub cause: Cause,
    /// The change of the pinned series that it is matched with, by its place in the findings.
    pub standard_change: Option<usize>,
    /// What the pinned series does at that place: ratio and interval; absent where it has no value on one side.
    pub standard: Option<Effect>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    pub ratio: f64,
    /// Lower end, by Student's t.
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
}

/// A series with what was found in it.
#[derive(Debug, Clone, Copy)]
pub struct Searched<'a> {
    pub series: &'a Series,
    pub findings: &'a Findings,
}

/// For each change of `defaults`, what it is due to, judged by `standard`.
///
/// A change is matched where shapes agree, location sets overlap and the intervals of the sizes overlap. Where several
/// match, the one nearest in size counts.
///
/// # Errors
/// Series over different versions.
pub fn drift(standard: Searched<'_>, defaults: Searched<'_>) -> Result<Vec<Drift>, Error> {
    let (left, right) = (standard.series.versions(), defaults.series.versions());
    if left != right {
        return Err(Error::LengthsDiffer { left, right });
    }
    let changes = defaults.findings.changes.iter().enumerate();
    Ok(changes.map(|(index, change)| judge(index, change, standard, defaults)).collect())
}

fn judge(index: usize, change: &Change, standard: Searched<'_>, defaults: Searched<'_>) -> Drift {
    let versions = defaults.findings.versions_beside(change);
    let effect = AtChange::of(standard.series, &versions, change).map(|at| effect(&at, change.confidence));
    let matched = matching(change, standard.findings);
    let half = 0.5 * change.ratio.ln();
    let cause = match (matched, effect) {
        (Some(_), _) => Cause::Code,
        (None, Some(effect)) if effect.excludes(half) => Cause::Default,
        (None, Some(_) | None) => Cause::Undecided,
    };
    Drift { change: index, cause, standard_change: matched, standard: effect }
}

fn effect(at: &AtChange, confidence: f64) -> Effect {
    let half = student::two_sided_quantile(1.0 - confidence, at.df) * at.ln_error;
    Effect {
        ratio: at.ln_ratio.exp(),
        low: (at.ln_ratio - half).exp(),
        high: (at.ln_ratio + half).exp(),
        confidence,
    }
}

impl Effect {
    /// Whether the whole interval lies on this side of `ln_size`, towards no change or beyond it the other way.
    fn excludes(&self, ln_size: f64) -> bool {
        if ln_size > 0.0 { self.high.ln() < ln_size } else { self.low.ln() > ln_size }
    }
}

fn matching(change: &Change, standard: &Findings) -> Option<usize> {
    let matches = |other: &Change| {
        other.shape == change.shape
            && other.location.iter().any(|version| change.location.contains(version))
            && other.low <= change.high
            && change.low <= other.high
    };
    let distance = |other: &Change| (other.ratio / change.ratio).ln().abs();
    standard
        .changes
        .iter()
        .enumerate()
        .filter(|(_, other)| matches(other))
        .min_by(|left, right| distance(left.1).total_cmp(&distance(right.1)))
        .map(|(index, _)| index)
}
