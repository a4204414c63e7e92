//! Critical values of the scan statistics, by simulation of series without a change.
//!
//! 20,000 series from a fixed seed for each law of the noise and each length (statistics 1.6), so the share of
//! change-free series above a critical value is alpha within a seventh of alpha at 1 %. The largest scores are kept,
//! so that any alpha is read off one simulation and results change smoothly with it.

use super::evidence::{self, BUMP, EXPLANATIONS, Evidence, Reading, STEP};
use super::gains::Sums;
use super::scan::{Scan, Weighted};
use crate::simulation::noise::Noise;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// How the scores of a series without a change are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// Normal points over the root of an independent chi-square by its degrees of freedom: errors from repeats.
    Repeats { df: usize },
    /// Evidence in independent normal points whose noise is known from nothing else.
    SingleRuns(Reading),
    /// Evidence beyond autocorrelation, in an AR(1) process of 0.5.
    Autocorrelated(Reading),
}

/// Series in a simulation (statistics 1.6).
const SIMULATIONS: usize = 20_000;
/// Any fixed number: it makes the same critical values on every host.
const SEED: u64 = 0x5ca1_ab1e;
/// The largest alpha that can be asked for: of each simulation this share of the scores is kept, the largest.
pub(super) const LARGEST_ALPHA: f64 = 0.2;
/// Up to here each length has its own simulation; beyond, lengths are rounded up by at most a tenth, which raises
/// the critical value by about 1 %.
const EXACT_LENGTHS: usize = 64;

/// Simulated critical values, each simulated when it is first asked for. One value serves a whole run and many
/// threads; a thread that needs what another simulates waits for it, and for nothing else.
#[derive(Debug, Default)]
pub struct CriticalValues {
    tables: Mutex<BTreeMap<(Law, usize), Made>>,
}

/// A table, from when its simulation has ended.
type Made = Arc<OnceLock<Table>>;

/// What a simulation gave.
#[derive(Debug)]
struct Table {
    /// The largest scores of each explanation, descending.
    scores: [Vec<f64>; EXPLANATIONS],
    /// Of each simulated series the smallest p over its share of alpha, ascending: what makes the alphas of several
    /// explanations one, however much they say the same.
    levels: Vec<f64>,
}

impl CriticalValues {
    /// None simulated yet.
    pub fn new() -> CriticalValues {
        CriticalValues::default()
    }

    /// Those of this process: a simulation takes tens of milliseconds and always gives the same.
    pub fn shared() -> &'static CriticalValues {
        static SHARED: LazyLock<CriticalValues> = LazyLock::new(CriticalValues::new);
        &SHARED
    }

    /// What the best step of a segment of `points` must exceed, so that a share `alpha` (at most 0.2) of segments
    /// without a change does. Infinite where there is no place for a step.
    pub fn of_step(&self, law: Law, points: usize, alpha: f64) -> f64 {
        self.with_table(law, points, |table| quantile(&table.scores[STEP], alpha))
    }

    /// What the best bump must exceed; infinite where there is no place for one.
    pub fn of_bump(&self, law: Law, points: usize, alpha: f64) -> f64 {
        self.with_table(law, points, |table| quantile(&table.scores[BUMP], alpha))
    }

    /// What the evidence for each explanation must exceed, so that a share `alpha` of series without a change has any that
    /// does; infinite for one that has no share or no place.
    pub(super) fn of_any(&self, law: Law, points: usize, alpha: f64) -> Evidence {
        let shares = law.shares();
        self.with_table(law, points, |table| {
            let level = table.level(alpha);
            std::array::from_fn(|one| match shares[one] * level {
                share if share > 0.0 => quantile(&table.scores[one], share.min(LARGEST_ALPHA)),
                _ => f64::INFINITY,
            })
        })
    }

    /// The level, in ln, that the smallest one of a share `alpha` of series without a change does not exceed.
    pub(super) fn level(&self, law: Law, points: usize, alpha: f64) -> f64 {
        self.with_table(law, points, |table| table.level(alpha)).ln()
    }

    /// How unlikely the evidence for each explanation is in series without a change, in units of its share of alpha, in ln;
    /// infinite for one that has no share or no place.
    pub(super) fn levels(&self, law: Law, points: usize, evidence: &Evidence) -> Evidence {
        let shares = law.shares();
        self.with_table(law, points, |table| {
            std::array::from_fn(|one| match shares[one] {
                share if share > 0.0 && evidence[one].is_finite() => {
                    ln_exceeding(&table.scores[one], evidence[one]) - share.ln()
                }
                _ => f64::INFINITY,
            })
        })
    }

    /// How many (law, length) were simulated: what the cache is for.
    pub fn simulated(&self) -> usize {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn with_table<R>(&self, law: Law, points: usize, read: impl FnOnce(&Table) -> R) -> R {
        let points = rounded_up(points);
        let table = {
            // Nothing is simulated while it is held, so that what a panic left behind is whole.
            let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(tables.entry((law, points)).or_default())
        };
        read(table.get_or_init(|| simulate(law, points)))
    }
}

impl Table {
    fn level(&self, alpha: f64) -> f64 {
        let below = |(_, rank): &(&f64, i32)| f64::from(*rank) <= alpha * SIMULATIONS as f64;
        self.levels.iter().zip(0..).take_while(below).last().map_or(0.0, |(level, _)| *level)
    }
}

/// The score that a share `alpha` of the simulations exceeds.
fn quantile(descending: &[f64], alpha: f64) -> f64 {
    assert!(alpha > 0.0 && alpha <= LARGEST_ALPHA, "alpha lies between 0 and {LARGEST_ALPHA}, not {alpha}");
    // Between two scores in proportion, so that a little more alpha gives a little less score.
    let exceeding = alpha * SIMULATIONS as f64;
    let below = descending.iter().zip(descending.iter().skip(1)).zip(1..);
    let around = below.take_while(|(_, rank)| f64::from(*rank) <= exceeding).last();
    match around {
        Some(((upper, lower), rank)) => upper + (lower - upper) * (exceeding - f64::from(rank)).min(1.0),
        None => descending.first().copied().unwrap_or(f64::INFINITY),
    }
}

/// The rank from which on the share that exceeds a score is taken to fall as a likelihood ratio does: fewer simulations say
/// little of it.
const EXTRAPOLATED: usize = 20;

/// The share of simulations with at least this evidence, in ln. All evidence below the scores that were kept has one share.
fn ln_exceeding(descending: &[f64], evidence: f64) -> f64 {
    let share = |rank: usize| (rank as f64 / SIMULATIONS as f64).ln();
    match descending.get(EXTRAPOLATED - 1) {
        Some(last) if evidence > *last => share(EXTRAPOLATED) + 0.5 * (last - evidence),
        _ => share(descending.partition_point(|score| *score >= evidence)),
    }
}

/// The length that is simulated for this one.
fn rounded_up(points: usize) -> usize {
    let mut length = EXACT_LENGTHS;
    if points <= length {
        return points;
    }
    while length < points {
        length += length / 10;
    }
    length
}

/// Scores that are kept of a simulation, and one more to interpolate to.
const KEPT: usize = SIMULATIONS / 5 + 1;

/// The autocorrelation that a change must exceed what can be explained by.
const CORRELATION: f64 = 0.5;

impl Law {
    /// How alpha is shared out among the explanations.
    fn shares(self) -> [f64; EXPLANATIONS] {
        match self {
            Law::Repeats { .. } => [0.75, 0.15, 0.0, 0.0, 0.0],
            Law::SingleRuns(reading) => reading.shares(),
            // Values alone are held against autocorrelation.
            Law::Autocorrelated(_) => Reading::Values.shares(),
        }
    }
}

fn simulate(law: Law, points: usize) -> Table {
    let mut noise = Noise::new(SEED);
    let mut values = vec![0.0; points];
    let series: Vec<Evidence> = (0..SIMULATIONS).map(|_| next_scores(law, &mut noise, &mut values)).collect();
    let mut scores: [Vec<f64>; EXPLANATIONS] = std::array::from_fn(|one| {
        series.iter().map(|scores| scores[one]).filter(|score| score.is_finite()).collect()
    });
    for of_one in &mut scores {
        of_one.sort_unstable_by(|left, right| right.total_cmp(left));
    }
    let shares = law.shares();
    let level = |of_series: &Evidence| {
        let levels =
            (0..EXPLANATIONS).filter(|one| shares[*one] > 0.0 && of_series[*one].is_finite()).map(|one| {
                let not_smaller = scores[one].partition_point(|score| *score >= of_series[one]);
                not_smaller as f64 / SIMULATIONS as f64 / shares[one]
            });
        levels.fold(f64::INFINITY, f64::min)
    };
    let mut levels: Vec<f64> = series.iter().map(level).collect();
    levels.sort_unstable_by(f64::total_cmp);
    levels.truncate(KEPT);
    for of_one in &mut scores {
        of_one.truncate(KEPT);
    }
    Table { scores, levels }
}

/// The scores of the next series without a change.
fn next_scores(law: Law, noise: &mut Noise, values: &mut [f64]) -> Evidence {
    noise.normals(values);
    let with_error = |values: &[f64], error: f64| {
        values.iter().map(|value| Weighted { value: *value, error }).collect::<Vec<_>>()
    };
    match law {
        Law::Repeats { df } => {
            let error = (noise.chi_square(df) / df as f64).sqrt();
            let scan = Scan::of(&with_error(values, error));
            let mut scores = [f64::NEG_INFINITY; EXPLANATIONS];
            scores[STEP] = scan.best_step().map_or(f64::NEG_INFINITY, |step| step.score);
            scores[BUMP] = scan.best_bump().map_or(f64::NEG_INFINITY, |bump| bump.score);
            scores
        }
        Law::SingleRuns(reading) => {
            let raw = with_error(values, 1.0);
            evidence::of_series(&raw, &Sums::of(&reading.points(&raw)), reading, 0.0)
        }
        Law::Autocorrelated(reading) => {
            let innovation = (1.0 - CORRELATION * CORRELATION).sqrt();
            for at in 1..values.len() {
                values[at] = CORRELATION * values[at - 1] + innovation * values[at];
            }
            let sums = Sums::of(&reading.points(&with_error(values, 1.0)));
            let correlated = evidence::beyond_autocorrelation(&sums, 0.0);
            evidence::of_values(&sums, reading, 0.0).map(|one| one + correlated)
        }
    }
}
