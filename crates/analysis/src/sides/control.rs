//! The processes of the base against each other: a comparison in which nothing differs, inside every run. What is found there was made by the
//! harness or by the host. It has an alpha of its own and takes nothing from the family's.

use super::rows::Places;
use super::{Roles, StepSides};
use crate::flips::narrow;
use model::metric::Metric;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What the control says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlVerdict {
    /// The controls show no difference.
    NoDifference,
    /// Processes of the same build differ: what is said of candidates must not be trusted.
    Differ,
    /// One process, or too few launches to find anything at this alpha.
    Unknown,
}

/// The base's processes against each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    pub verdict: ControlVerdict,
    /// Share of the permutations of their labels under which they would differ as much; 1 if there is nothing to permute.
    pub p: f64,
    /// The step in which they differ most.
    pub step: Option<usize>,
    /// Largest mean of a process less the smallest, in that step, in ln.
    pub range: f64,
}

/// Draws of labels, the measured ones among them.
const PERMUTATIONS: usize = 10_000;
/// Any fixed number.
const SEED: u64 = 0xc047_2015;

/// Permutes the labels of the base's processes within each launch, all steps together, and compares how far their means are apart in
/// the step in which that is most. Launches in which a process lacks a value of a step are left out of that step.
pub fn control(steps: &[StepSides<'_>], roles: &Roles, rates: &[Metric], alpha: f64) -> Control {
    let processes = roles.base().len();
    let places = Places::of(steps, u32::MAX);
    let candidates = roles.candidates().len();
    let tables: Vec<Table> = steps
        .iter()
        .enumerate()
        .map(|(index, step)| Table::of(step, roles, rates.get(index * candidates).copied(), &places))
        .collect();
    // (processes!)^launches labellings; with fewer than 1 / alpha of them nothing can be found.
    let of_launch: f64 = (2..=processes).map(|factor| factor as f64).product();
    let launches = tables.iter().map(|table| table.rows.len()).max().unwrap_or(0);
    // All labels exchanged alike in each launch are as far apart.
    let labellings = of_launch.powf(launches as f64 - 1.0);
    let unknown = Control { verdict: ControlVerdict::Unknown, p: 1.0, step: None, range: 0.0 };
    if processes < 2 || launches < 2 || labellings * alpha < 1.0 {
        return unknown;
    }
    let mut labels: Vec<Vec<usize>> = vec![(0..processes).collect(); places.count()];
    let measured: Vec<f32> = tables.iter().map(|table| table.statistic(&labels)).collect();
    let largest = measured.iter().copied().fold(0.0, f32::max);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut as_large = 1;
    for _ in 1..PERMUTATIONS {
        for of_launch in &mut labels {
            shuffle(of_launch, &mut random);
        }
        as_large += usize::from(tables.iter().any(|table| table.statistic(&labels) >= largest));
    }
    let p = as_large as f64 / PERMUTATIONS as f64;
    let step = measured.iter().position(|one| *one >= largest);
    let verdict = if p <= alpha { ControlVerdict::Differ } else { ControlVerdict::NoDifference };
    Control { verdict, p, step, range: step.map_or(0.0, |step| tables[step].range()) }
}

/// Values of one step by launch and process, from the launch's mean.
struct Table {
    rows: Vec<(usize, Vec<f64>)>,
    squares: f64,
}

impl Table {
    fn of(step: &StepSides<'_>, roles: &Roles, rate: Option<Metric>, places: &Places) -> Table {
        let rate = rate.unwrap_or(Metric::OpsPerSecond);
        let row = |launch: &super::SideLaunch| {
            let value = |side| Some(launch.values.get(side)?.of(rate));
            let values: Vec<f64> = roles.base().iter().map(value).collect::<Option<_>>()?;
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            Some((places.place(launch.launch)?, values.into_iter().map(|value| value - mean).collect()))
        };
        let rows: Vec<(usize, Vec<f64>)> = step.launches.iter().filter_map(row).collect();
        let squares = rows.iter().flat_map(|(_, values)| values).map(|value| value * value).sum();
        Table { rows, squares }
    }

    fn sums(&self, labels: &[Vec<usize>]) -> [f64; super::MOST_BASE_PROCESSES] {
        let mut sums = [0.0; super::MOST_BASE_PROCESSES];
        for (place, values) in &self.rows {
            for (label, value) in labels[*place].iter().zip(values) {
                sums[*label] += value;
            }
        }
        sums
    }

    /// How far the means of the labels are apart, over what all values scatter by, which no permutation changes.
    fn statistic(&self, labels: &[Vec<usize>]) -> f32 {
        let apart: f64 = self.sums(labels).iter().map(|sum| sum * sum).sum();
        narrow(apart / self.squares.max(f64::MIN_POSITIVE) * (1.0 + 1e-9))
    }

    fn range(&self) -> f64 {
        let processes = self.rows.first().map_or(0, |(_, values)| values.len());
        let labels: Vec<Vec<usize>> =
            vec![(0..processes).collect(); self.rows.iter().map(|(place, _)| place + 1).max().unwrap_or(0)];
        let sums = self.sums(&labels);
        let means = sums[..processes].iter().map(|sum| sum / self.rows.len().max(1) as f64);
        let (low, high) = means
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(mean), high.max(mean)));
        (high - low).max(0.0)
    }
}

fn shuffle(labels: &mut [usize], random: &mut Xoshiro256PlusPlus) {
    for last in (1..labels.len()).rev() {
        let other = ((random.next_u64() >> 32) * (last as u64 + 1)) >> 32;
        labels.swap(last, usize::try_from(other).unwrap_or(0));
    }
}
