//! Which counters changed where the rate did (statistics 1.8, rule 3). Moved together, never caused.
//!
//! The place is fixed by the rate, so each counter is tested once, at that place: no search, no correction for one.
//! A counter that changed more elsewhere is not told, however much it moved here.

use crate::change_points::{AtChange, Change, ErrorFloor, Findings, Series};
use crate::correlation::rank_correlation;
use crate::error::Error;
use crate::family::benjamini_hochberg;
use crate::rounds::{RoundValues, fit, p_of};

/// One counter over the same versions and rounds as the rate.
#[derive(Debug, Clone, Copy)]
pub struct CounterSeries<'a> {
    /// Natural logarithms, per operation or of a level.
    pub values: &'a RoundValues,
    /// Counters of one identity, such as bytes = requests x size, give one line: the same number for each of them;
    /// `None` where none is known.
    pub identity: Option<u32>,
}

/// How counters are held against a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedRule {
    /// Share of false findings among the counters told (Benjamini-Hochberg).
    pub false_discovery_rate: f64,
    pub confidence: f64,
    /// Layout noise tau of one build, in ln; 0 where counters do not feel it.
    pub layout_noise: f64,
    /// Least standard error of single runs.
    pub floor: ErrorFloor,
}

impl Default for MovedRule {
    fn default() -> MovedRule {
        MovedRule {
            false_discovery_rate: 0.01,
            confidence: 0.99,
            layout_noise: 0.0,
            floor: ErrorFloor::default(),
        }
    }
}

/// A counter that changed where the rate did.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// Its index among the counters handed in.
    pub counter: usize,
    /// Mean after the change over the mean before.
    pub ratio: f64,
    /// Lower end of the interval of `ratio`, by Student's t.
    pub low: f64,
    pub high: f64,
    /// Two-sided p of "it did not move here".
    pub p: f64,
    /// E_c: its statistic here over its largest anywhere between the rate's neighbouring changes, 0 to 1.
    pub exclusivity: f64,
    /// `E_c min(|T_c|, 10)`: the order of counters.
    pub score: f64,
    /// Counters of lower rank that say the same, by identity or because they go in step over versions and rounds;
    /// ascending.
    pub twins: Vec<usize>,
}

/// More evidence than this does not raise a counter further (statistics 1.8, rule 3).
const LARGEST_SCORE: f64 = 10.0;
/// A counter whose statistic at this version is less than this share of its largest one changed at another version
/// (statistics 1.8, rule 3).
const LEAST_EXCLUSIVITY: f64 = 0.8;

/// The counters that changed at a change of the rate, by rank.
///
/// `change` is one of the rate's `findings`. Only versions between its neighbouring changes count, and none that is
/// a glitch of the rate, unless the glitch is the change. Counters without values on both sides of it are left out.
///
/// # Errors
/// A counter over other versions than the rate, and a floor or layout noise that is no spread.
pub fn moved_with(
    change: &Change,
    findings: &Findings,
    counters: &[CounterSeries<'_>],
    rule: &MovedRule,
) -> Result<Vec<Moved>, Error> {
    let versions = findings.versions_beside(change);
    let rate_versions = findings.segments.last().map_or(0, |segment| segment.versions.end);
    let mut found: Vec<Moved> = Vec::new();
    for (counter, series) in counters.iter().enumerate() {
        if series.values.versions() != rate_versions {
            return Err(Error::LengthsDiffer { left: rate_versions, right: series.values.versions() });
        }
        if let Some(at) = AtChange::of(&series_of(series.values, rule)?, &versions, change) {
            found.push(moved(counter, &at, rule));
        }
    }
    let p_values: Vec<f64> = found.iter().map(|moved| moved.p).collect();
    let passed = benjamini_hochberg(&p_values, rule.false_discovery_rate);
    let mut ranked: Vec<Moved> = found
        .into_iter()
        .zip(passed)
        .filter(|(moved, passed)| *passed && moved.exclusivity >= LEAST_EXCLUSIVITY)
        .map(|(moved, _)| moved)
        .collect();
    // Rounded, so that equal counters keep their order whatever the last bit says.
    let rounded = |number: f64| (number * 1e9).round();
    ranked.sort_by(|left, right| {
        let size = |moved: &Moved| rounded(moved.ratio.ln().abs());
        rounded(right.score).total_cmp(&rounded(left.score)).then(size(right).total_cmp(&size(left)))
    });
    Ok(merge_twins(ranked, &versions, counters))
}

fn series_of(values: &RoundValues, rule: &MovedRule) -> Result<Series, Error> {
    let fitted = fit(values);
    if fitted.variance.is_some() {
        return Series::of_rounds(&fitted, rule.layout_noise);
    }
    let means: Vec<Option<f64>> = fitted.versions.iter().map(|version| version.mean).collect();
    Series::of_single_runs(&means, rule.floor)
}

fn moved(counter: usize, at: &AtChange, rule: &MovedRule) -> Moved {
    let half = crate::student::two_sided_quantile(1.0 - rule.confidence, at.df) * at.ln_error;
    let exclusivity = if at.largest > 0.0 { (at.here / at.largest).min(1.0) } else { 0.0 };
    Moved {
        counter,
        ratio: at.ln_ratio.exp(),
        low: (at.ln_ratio - half).exp(),
        high: (at.ln_ratio + half).exp(),
        p: p_of(at.ln_ratio, at.ln_error, at.df),
        exclusivity,
        score: exclusivity * at.here.min(LARGEST_SCORE),
        twins: Vec::new(),
    }
}

/// Each counter that says the same as one before it becomes its twin.
fn merge_twins(ranked: Vec<Moved>, versions: &[usize], counters: &[CounterSeries<'_>]) -> Vec<Moved> {
    let same = |left: usize, right: usize| {
        let (left, right) = (&counters[left], &counters[right]);
        let known = left.identity.is_some() && left.identity == right.identity;
        known || go_in_step(left.values, right.values, versions)
    };
    let mut leaders: Vec<Moved> = Vec::new();
    for moved in ranked {
        match leaders.iter_mut().find(|leader| same(leader.counter, moved.counter)) {
            Some(leader) => leader.twins.push(moved.counter),
            None => leaders.push(moved),
        }
    }
    leaders.iter_mut().for_each(|leader| leader.twins.sort_unstable());
    leaders
}

/// Rank correlation over versions and rounds above which two counters say the same (statistics 1.8, rule 4).
const TWIN_CORRELATION: f64 = 0.95;
/// With fewer cells such a correlation is too often chance (at 8: about 0.1 %).
const LEAST_CELLS: usize = 8;

/// Whether two counters rise and fall together from cell to cell of these versions, or against each other.
pub fn go_in_step(left: &RoundValues, right: &RoundValues, versions: &[usize]) -> bool {
    let mut cells: (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for (left, right) in left.rounds().iter().zip(right.rounds()) {
        let both: Vec<(f64, f64)> =
            versions.iter().filter_map(|version| left[*version].zip(right[*version])).collect();
        let count = both.len().max(1) as f64;
        // What a round does to all its versions is no sign that two counters are one.
        let (left_mean, right_mean) =
            both.iter().fold((0.0, 0.0), |sums, cell| (sums.0 + cell.0 / count, sums.1 + cell.1 / count));
        // Rounded, so that the last bits of equal values do not rank them.
        let rounded = |value: f64| (value * 1e9).round();
        cells.0.extend(both.iter().map(|cell| rounded(cell.0 - left_mean)));
        cells.1.extend(both.iter().map(|cell| rounded(cell.1 - right_mean)));
    }
    if cells.0.len() < LEAST_CELLS {
        return false;
    }
    rank_correlation(&cells.0, &cells.1).is_some_and(|correlation| correlation.abs() > TWIN_CORRELATION)
}
