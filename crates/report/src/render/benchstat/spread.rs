//! How far the repeats of one side scatter: what stands behind the sign in benchstat's layout.

use super::SHOWN;
use analysis::student;
use findings::comparison::{ComparedStep, StepView};
use findings::judge::Case;
use findings::{ComparedRun, Comparison};
use model::block::{BASE, Block, Side};
use model::metric::Metric;
use model::record::RunRecord;
use model::units::Nanos;
use std::collections::BTreeMap;

/// Confidence of the spread of one side, as in benchstat.
const SPREAD_ALPHA: f64 = 0.05;

/// Half width of the interval of one side's mean, as a share of it, by step, candidate, side and metric. The base's
/// differs from candidate to candidate where their launches do.
pub(super) type Spreads = BTreeMap<SpreadKey, f64>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SpreadKey {
    pub(super) step: String,
    pub(super) candidate: Side,
    pub(super) side: Side,
    pub(super) metric: Metric,
}

/// Of every step and side of a run: over the launches that a verdict rests on, or over the rounds that count.
pub(super) fn of(run: &ComparedRun) -> Spreads {
    let mut spreads = Spreads::new();
    for step in &run.view.steps {
        of_rounds(step, &run.view, &mut spreads);
        if step.rows.is_empty() {
            for case in &step.cases {
                of_launches(step, case, &run.record, &mut spreads);
            }
        }
    }
    spreads
}

fn of_launches(step: &StepView, case: &ComparedStep, record: &RunRecord, spreads: &mut Spreads) {
    let Some(definition) = record.plan.workload.steps.iter().find(|one| one.name == step.name) else {
        return;
    };
    let launches = Case::of(record, definition, case.side).launches();
    let judged = &launches[..launches.len().min(case.repeats as usize)];
    let of_side = |block: fn(&analysis::launch::BlockPair<'_>) -> Totals| {
        let totals = judged.iter().map(|launch| launch.pairs.iter().map(block).sum::<Totals>());
        totals.collect::<Vec<Totals>>()
    };
    let sides = [
        (BASE, of_side(|pair| Totals::of(pair.base))),
        (case.side, of_side(|pair| Totals::of(pair.candidate))),
    ];
    for (side, totals) in sides {
        let rates: Vec<f64> = totals.iter().map(Totals::rate).collect();
        let costs: Option<Vec<f64>> = totals.iter().map(Totals::cpu_per_operation).collect();
        for (metric, values) in [(SHOWN[0].0, rates), (SHOWN[1].0, costs.unwrap_or_default())] {
            let key = SpreadKey { step: step.name.clone(), candidate: case.side, side, metric };
            spreads.extend(spread(&values).map(|spread| (key, spread)));
        }
    }
}

fn of_rounds(step: &StepView, view: &Comparison, spreads: &mut Spreads) {
    for row in &step.rows {
        for (metric, _) in SHOWN {
            let values: Vec<f64> = row.rounds.iter().filter_map(|(_, values)| values.get(metric)).collect();
            let Some(spread) = spread(&values) else { continue };
            // The base is the same beside every candidate.
            let candidates: Vec<Side> = match row.side {
                BASE => view.subjects.iter().map(|subject| subject.side).collect(),
                side => vec![side],
            };
            spreads.extend(candidates.into_iter().map(|candidate| {
                (SpreadKey { step: step.name.clone(), candidate, side: row.side, metric }, spread)
            }));
        }
    }
}

/// What the blocks of one side of one launch did together.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    operations: f64,
    seconds: f64,
    /// Absent where any block has none: the server is not ours.
    cpu_seconds: Option<f64>,
}

impl Totals {
    fn of(block: &Block) -> Totals {
        Totals {
            operations: block.operations as f64,
            seconds: block.wall.as_secs_f64(),
            cpu_seconds: block.process_cpu.map(Nanos::as_secs_f64),
        }
    }

    fn rate(&self) -> f64 {
        self.operations / self.seconds
    }

    fn cpu_per_operation(&self) -> Option<f64> {
        Some(self.cpu_seconds? / self.operations)
    }
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Totals>>(all: I) -> Totals {
        let none = Totals { cpu_seconds: Some(0.0), ..Totals::default() };
        all.fold(none, |sum, one| Totals {
            operations: sum.operations + one.operations,
            seconds: sum.seconds + one.seconds,
            cpu_seconds: sum.cpu_seconds.zip(one.cpu_seconds).map(|(sum, one)| sum + one),
        })
    }
}

/// Half width of Student's interval of the mean of the logarithms, as a share; absent below three values.
fn spread(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    if logarithms.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let (low, high) = student::interval(&logarithms, SPREAD_ALPHA)?;
    Some((0.5 * (high - low)).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_needs_three_values_and_is_a_share() {
        assert_eq!(spread(&[1.0, 2.0]), None);
        assert_eq!(spread(&[1.0, 0.0, 2.0]), None);
        let narrow = spread(&[100.0, 101.0, 99.0]).unwrap();
        // t(0.975, 2) = 4.303, sd of the logarithms 0.01, over the root of 3.
        assert!((narrow - 0.0252).abs() < 0.0005, "{narrow}");
        let other_unit = spread(&[700.0, 707.0, 693.0]).unwrap();
        assert!((narrow - other_unit).abs() < 1e-12, "{narrow} {other_unit}");
    }
}
