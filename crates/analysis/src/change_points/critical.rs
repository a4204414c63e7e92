//! Critical values of the scan statistics, by simulation of series without a change.
//!
//! 20,000 series from a fixed seed for each law of the noise and each length (statistics 1.6), so the share of
//! change-free series above a critical value is alpha within a seventh of alpha at 1 %. The largest scores are kept,
//! so that any alpha is read off one simulation and results change smoothly with it.

use super::ranked;
use super::scan::{self, Weighted};
use super::series::deviation_of_differences;
use crate::simulation::noise::Noise;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// How the scores of a series without a change are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// Normal points over the root of an independent chi-square by its degrees of freedom: errors from repeats.
    Repeats { df: usize },
    /// Normal points over the robust deviation of the differences of neighbours, of a series of this many.
    SingleRuns {
        /// Points of the whole series, of which a segment may be a part.
        whole: usize,
    },
    /// Ranks, of independent points of any continuous distribution.
    Ranks,
}

/// Series in a simulation (statistics 1.6).
const SIMULATIONS: usize = 20_000;
/// Any fixed number: it makes the same critical values on every host.
const SEED: u64 = 0x5ca1_ab1e;
/// The largest alpha that can be asked for: of each simulation this share of the scores is kept, the largest.
const LARGEST_ALPHA: f64 = 0.2;
/// Up to here each length has its own simulation; beyond, lengths are rounded up by at most a tenth, which raises
/// the critical value by about 1 %.
const EXACT_LENGTHS: usize = 64;

/// Simulated critical values, each simulated when it is first asked for. One value serves a whole run and many
/// threads; a thread that needs what another simulates waits for it.
#[derive(Debug, Default)]
pub struct CriticalValues {
    tables: Mutex<BTreeMap<(Law, usize), Table>>,
}

/// The largest scores of a simulation, descending.
#[derive(Debug)]
struct Table {
    steps: Vec<f64>,
    bumps: Vec<f64>,
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
        self.with_table(law, points, |table| quantile(&table.steps, alpha))
    }

    /// What the best bump must exceed; infinite where there is no place for one.
    pub fn of_bump(&self, law: Law, points: usize, alpha: f64) -> f64 {
        self.with_table(law, points, |table| quantile(&table.bumps, alpha))
    }

    /// How many (law, length) were simulated: what the cache is for.
    pub fn simulated(&self) -> usize {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn with_table(&self, law: Law, points: usize, read: impl FnOnce(&Table) -> f64) -> f64 {
        let points = rounded_up(points);
        let law = match law {
            Law::SingleRuns { whole } => Law::SingleRuns { whole: rounded_up(whole).max(points) },
            Law::Repeats { df } => Law::Repeats { df },
            Law::Ranks => Law::Ranks,
        };
        // A simulation that panicked left no table behind: the others are whole.
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        read(tables.entry((law, points)).or_insert_with(|| simulate(law, points)))
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

fn simulate(law: Law, points: usize) -> Table {
    let mut stream = Stream { noise: Noise::new(SEED), law, points, values: Vec::new(), scratch: Vec::new() };
    if law == Law::Ranks {
        stream.values = (1..=points).map(|rank| rank as f64).collect();
    }
    let (mut steps, mut bumps) = (Vec::with_capacity(SIMULATIONS), Vec::with_capacity(SIMULATIONS));
    for _ in 0..SIMULATIONS {
        let (step, bump) = stream.next_scores();
        steps.extend(step);
        bumps.extend(bump);
    }
    for scores in [&mut steps, &mut bumps] {
        scores.sort_unstable_by(|left, right| right.total_cmp(left));
        scores.truncate(KEPT);
    }
    Table { steps, bumps }
}

/// Series without a change, one after the other.
struct Stream {
    noise: Noise,
    law: Law,
    points: usize,
    values: Vec<f64>,
    scratch: Vec<f64>,
}

impl Stream {
    /// The best step and the best bump of the next series.
    fn next_scores(&mut self) -> (Option<f64>, Option<f64>) {
        let error = match self.law {
            Law::Ranks => {
                self.noise.shuffle(&mut self.values);
                let peaks = ranked::best_changes(&self.values, &mut self.scratch);
                let bump = peaks.and_then(|peaks| peaks.bump);
                return (peaks.map(|peaks| peaks.step.score), bump.map(|bump| bump.score));
            }
            Law::Repeats { df } => {
                self.values.resize(self.points, 0.0);
                self.noise.normals(&mut self.values);
                (self.noise.chi_square(df) / df as f64).sqrt()
            }
            Law::SingleRuns { whole } => {
                self.values.resize(whole, 0.0);
                self.noise.normals(&mut self.values);
                deviation_of_differences(&self.values)
            }
        };
        let points: Vec<Weighted> =
            self.values[..self.points].iter().map(|value| Weighted { value: *value, error }).collect();
        let bump = scan::best_bump(&points).map(|bump| bump.score);
        (scan::best_step(&points).map(|step| step.score), bump)
    }
}
