//! Steps at several numbers of clients: whether what a candidate lost or gained depends on how many there are.
//!
//! What two numbers of clients say of a candidate is compared within each repeat, where both were measured within minutes: the logarithm of
//! the relative rate at one less that at the fewest. That one of two changes is significant and the other is not proves no difference between
//! them (Gelman and Stern 2006), so nothing is said to begin at a number of clients unless this difference is significant.

use super::rounds::Cells;
use super::{ComparedStep, StepView};
use crate::change::Change;
use model::block::{BASE, Side};
use model::metric::Metric;
use model::plan::Plan;
use model::verdict::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;

/// A step of the workload at several numbers of clients, of one candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// As the workload names it.
    pub step: String,
    pub side: Side,
    /// At least two, the fewest clients first.
    pub at: Vec<AtClients>,
    /// Absent if no dependence on the number of clients is proven.
    pub dependence: Option<Dependence>,
}

/// The candidate at one number of clients.
#[derive(Debug, Clone, PartialEq)]
pub struct AtClients {
    pub clients: u32,
    /// The step of the run.
    pub step: String,
    /// Its relative rate over that at the fewest clients; absent of the fewest, and if no repeat has both.
    pub over_fewest: Option<OverFewest>,
}

/// How a relative rate is to that at the fewest clients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OverFewest {
    pub ratio: f64,
    /// Lower end of the interval by Student's t; absent below three repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Of this interval: those of all sweeps of the run hold together at 1 - alpha (Bonferroni).
    pub confidence: f64,
    /// Launches or rounds that have both.
    pub repeats: u32,
}

/// How a change depends on the number of clients. That the relative rate there differs from that at the fewest is proven, in the direction
/// of what begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Dependence {
    /// None below, and the same verdict at this number and all above.
    Begins { at: u32 },
    /// The same verdict at all below, and none from this number on.
    Ends { at: u32 },
    /// Neither: its size depends on the number of clients.
    Varies,
}

impl OverFewest {
    /// In which direction the relative rate is proven to differ; absent if it is not.
    fn proven(&self) -> Option<Verdict> {
        let slower = self.high.is_some_and(|high| high < 1.0).then_some(Verdict::Regression);
        slower.or_else(|| self.low.is_some_and(|low| low > 1.0).then_some(Verdict::Improvement))
    }
}

/// Those of every candidate, by step and then by side; `alpha` is shared out among all of their intervals.
pub(super) fn of(plan: &Plan, steps: &[StepView], cells: &Cells, alpha: f64) -> Vec<Sweep> {
    let mut swept: Vec<(&str, Vec<(u32, &str)>)> = Vec::new();
    for step in plan.chosen_steps().filter(|step| !step.is_companion()) {
        let Some(of) = &step.sweep_of else { continue };
        let at = (step.threads, step.name.as_str());
        match swept.iter_mut().find(|(name, _)| name == of) {
            Some((_, all)) => all.push(at),
            None => swept.push((of, vec![at])),
        }
    }
    swept.retain(|(_, all)| all.len() > 1);
    swept.iter_mut().for_each(|(_, all)| all.sort_unstable());
    let intervals: usize =
        swept.iter().map(|(_, all)| all.len() - 1).sum::<usize>() * plan.candidate_sides().count();
    let alpha = alpha / intervals.max(1) as f64;
    let of_side = |(name, all): &(&str, Vec<(u32, &str)>), side: Side| {
        sweep((*name).to_owned(), all, side, steps, cells, alpha)
    };
    swept.iter().flat_map(|of| plan.candidate_sides().map(move |side| of_side(of, side))).collect()
}

fn sweep(
    step: String,
    all: &[(u32, &str)],
    side: Side,
    steps: &[StepView],
    cells: &Cells,
    alpha: f64,
) -> Sweep {
    let fewest = relative_rates(cells, all[0].1, side);
    let at: Vec<AtClients> = all
        .iter()
        .enumerate()
        .map(|(place, (clients, step))| AtClients {
            clients: *clients,
            step: (*step).to_owned(),
            over_fewest: (place > 0)
                .then(|| over_fewest(&fewest, &relative_rates(cells, step, side), alpha))
                .flatten(),
        })
        .collect();
    let case = |at: &AtClients| steps.iter().find(|view| view.name == at.step)?.case(side);
    let verdicts: Vec<Option<Verdict>> = at
        .iter()
        .map(|at| case(at).filter(|case| ComparedStep::is_directional(case)).map(|case| case.verdict))
        .collect();
    Sweep { step, side, dependence: dependence(&at, &verdicts), at }
}

/// The logarithm of the candidate's rate over the base's, by repeat.
fn relative_rates(cells: &Cells, step: &str, side: Side) -> BTreeMap<u32, f64> {
    let of = |side: Side| cells.get(&(step.to_owned(), side));
    let (Some(base), Some(candidate)) = (of(BASE), of(side)) else { return BTreeMap::new() };
    let rate = |values: &super::Values| values.get(Metric::OpsPerSecond).filter(|rate| *rate > 0.0);
    let quotient = |(repeat, values): (&u32, &super::Values)| {
        Some((*repeat, rate(values)?.ln() - rate(base.get(repeat)?)?.ln()))
    };
    candidate.iter().filter_map(quotient).collect()
}

fn over_fewest(fewest: &BTreeMap<u32, f64>, here: &BTreeMap<u32, f64>, alpha: f64) -> Option<OverFewest> {
    let differences: Vec<f64> =
        here.iter().filter_map(|(repeat, value)| Some(value - fewest.get(repeat)?)).collect();
    let Change { ratio, low, high } = Change::of_logarithms(&differences, alpha)?;
    Some(OverFewest {
        ratio,
        low,
        high,
        confidence: 1.0 - alpha,
        repeats: u32::try_from(differences.len()).unwrap_or(u32::MAX),
    })
}

fn dependence(at: &[AtClients], verdicts: &[Option<Verdict>]) -> Option<Dependence> {
    let proven: Vec<Option<Verdict>> = at.iter().map(|at| at.over_fewest?.proven()).collect();
    let has_none = |verdicts: &[Option<Verdict>]| verdicts.iter().all(Option::is_none);
    let only = |verdicts: &[Option<Verdict>]| {
        verdicts[0].filter(|_| verdicts.iter().all(|verdict| *verdict == verdicts[0]))
    };
    for (place, proven) in proven.iter().enumerate().skip(1).filter(|(_, proven)| proven.is_some()) {
        let ((below, above), clients) = (verdicts.split_at(place), at[place].clients);
        if has_none(below) && only(above) == *proven {
            return Some(Dependence::Begins { at: clients });
        }
        // A loss ends where the relative rate is higher.
        if has_none(above) && only(below).is_some_and(|verdict| Some(verdict) != *proven) {
            return Some(Dependence::Ends { at: clients });
        }
    }
    (!has_none(&proven)).then_some(Dependence::Varies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Values;

    fn at(clients: u32, over: Option<(f64, f64, f64)>) -> AtClients {
        let over_fewest = over.map(|(ratio, low, high)| OverFewest {
            ratio,
            low: Some(low),
            high: Some(high),
            confidence: 0.99,
            repeats: 9,
        });
        AtClients { clients, step: String::new(), over_fewest }
    }

    #[test]
    fn a_loss_begins_where_its_verdicts_begin_and_the_difference_is_proven() {
        const SLOWER: Option<Verdict> = Some(Verdict::Regression);
        const FASTER: Option<Verdict> = Some(Verdict::Improvement);
        let proven = Some((0.9, 0.85, 0.95));
        let not = Some((0.97, 0.9, 1.05));
        let of = |eight, forty, verdicts: [Option<Verdict>; 3]| {
            dependence(&[at(1, None), at(8, eight), at(40, forty)], &verdicts)
        };
        assert_eq!(of(proven, proven, [None, SLOWER, SLOWER]), Some(Dependence::Begins { at: 8 }));
        assert_eq!(of(not, proven, [None, None, SLOWER]), Some(Dependence::Begins { at: 40 }));
        assert_eq!(
            of(not, proven, [None, SLOWER, SLOWER]),
            Some(Dependence::Varies),
            "that it begins at 8 is not proven"
        );
        assert_eq!(
            of(proven, proven, [None, FASTER, FASTER]),
            Some(Dependence::Varies),
            "proven the other way"
        );
        assert_eq!(of(not, not, [None, SLOWER, SLOWER]), None, "one verdict and none prove no difference");
        assert_eq!(of(not, proven, [FASTER, FASTER, None]), Some(Dependence::Ends { at: 40 }));
        assert_eq!(of(proven, proven, [SLOWER, SLOWER, SLOWER]), Some(Dependence::Varies));
        assert_eq!(of(proven, not, [None, FASTER, SLOWER]), Some(Dependence::Varies));
        assert_eq!(of(None, None, [None, SLOWER, SLOWER]), None);
    }

    #[test]
    fn relative_rates_are_compared_within_each_repeat() {
        // The host is twice as fast in the second repeat; the candidate is as fast at one client and a tenth slower at eight.
        let mut cells = Cells::new();
        for (repeat, host) in [(1, 100.0), (2, 200.0), (3, 101.0), (4, 99.0)] {
            for (step, side, rate) in
                [("q1", 0, host), ("q1", 1, host), ("q8", 0, 3.0 * host), ("q8", 1, 2.7 * host)]
            {
                let mut values = Values::default();
                values.set(Metric::OpsPerSecond, Some(rate));
                cells.entry((step.to_owned(), side)).or_default().insert(repeat, values);
            }
        }
        cells.get_mut(&("q8".to_owned(), 1)).unwrap().remove(&4);
        let of = |step| relative_rates(&cells, step, 1);
        let over = over_fewest(&of("q1"), &of("q8"), 0.01).unwrap();
        assert_eq!(over.repeats, 3);
        assert!(
            (over.ratio - 0.9).abs() < 1e-9 && over.high.unwrap() < 0.91 && over.low.unwrap() > 0.89,
            "{over:?}"
        );
        assert_eq!(over_fewest(&of("q1"), &of("no such step"), 0.01), None);
    }
}
