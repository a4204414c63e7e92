//! Trials during which others had the CPU. Rounds take out what slows a whole round, not what hits one visit of it:
//! a build that another user starts looks like a slow release. Such trials are set aside, whatever they measured.

use super::values::Cells;
use crate::comparison::Disturbed;
use model::metric::Metric;
use model::record::RunWarning;
use model::warning::Warning;
use std::collections::BTreeMap;

/// Others have this share of the CPU time of a host that has nothing else to do, in percent.
const IDLE_PERCENT: f64 = 5.0;

/// A trial is disturbed where others had more than twice what they had in the median trial of the step, and as much
/// again as on an idle host. On a host that is always busy none stands out; there intervals are wide.
fn most(median: f64) -> f64 {
    2.0 * median + IDLE_PERCENT
}

/// Takes the trials that were disturbed out of the cells and lists them, in the order of steps, subjects and rounds.
pub(super) fn set_aside(cells: &mut Cells, medians: &Medians) -> Vec<Disturbed> {
    let mut found = Vec::new();
    for ((step, side), rounds) in cells.iter_mut() {
        let Some(median) = medians.get(step).copied() else { continue };
        rounds.retain(|round, values| {
            let disturbed = values.get(Metric::OtherCpuPercent).filter(|others| *others > most(median));
            found.extend(disturbed.map(|others_percent| Disturbed {
                step: step.clone(),
                side: *side,
                round: *round,
                others_percent,
                stolen_percent: values.get(Metric::StolenCpuPercent),
                median_percent: median,
            }));
            disturbed.is_none()
        });
    }
    cells.retain(|_, rounds| !rounds.is_empty());
    found
}

/// What others had of the CPU in the median trial of each step, in percent.
pub(super) type Medians = BTreeMap<String, f64>;

/// Those of the trials that are done, before any is set aside.
pub(super) fn medians(cells: &Cells) -> Medians {
    let mut shares: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for ((step, _), rounds) in cells {
        let of_step = rounds.values().filter_map(|values| values.get(Metric::OtherCpuPercent));
        shares.entry(step.clone()).or_default().extend(of_step);
    }
    shares.into_iter().filter_map(|(step, shares)| Some((step, median(shares)?))).collect()
}

/// The lower one of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// A warning where others were busy all along.
pub(super) fn busy_host(medians: &Medians) -> Option<RunWarning> {
    let (step, median) = medians.iter().max_by(|left, right| left.1.total_cmp(right.1))?;
    (*median > IDLE_PERCENT).then(|| RunWarning {
        step: None,
        warning: Warning::BusyHostThroughout { median_percent: *median, step: step.clone() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Values;

    fn cells(shares: &[&[Option<f64>]]) -> Cells {
        let side = |rounds: &[Option<f64>]| {
            let values = |share: &Option<f64>| {
                let mut values = Values::default();
                values.set(Metric::OtherCpuPercent, *share);
                values
            };
            (1..).zip(rounds.iter().map(values)).collect()
        };
        shares.iter().enumerate().map(|(at, rounds)| (("read".to_owned(), at), side(rounds))).collect()
    }

    fn set_aside_of(cells: &mut Cells) -> Vec<(usize, u32)> {
        let medians = medians(cells);
        set_aside(cells, &medians).iter().map(|one| (one.side, one.round)).collect()
    }

    #[test]
    fn a_trial_that_others_disturbed_is_set_aside_and_a_subject_that_has_no_other_with_it() {
        let mut some = cells(&[&[Some(1.0), Some(0.2), Some(45.0)], &[Some(30.0)], &[Some(2.0), None]]);
        assert_eq!(set_aside_of(&mut some), [(0, 3), (1, 1)]);
        assert_eq!(some.keys().map(|(_, side)| *side).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(some[&("read".to_owned(), 0)].len(), 2);
        assert_eq!(some[&("read".to_owned(), 2)].len(), 2, "what is not known is no reason");
        assert_eq!(busy_host(&medians(&some)), None);
    }

    #[test]
    fn on_a_host_that_is_always_busy_none_stands_out_and_that_is_said() {
        let mut busy = cells(&[&[Some(30.0), Some(41.0)], &[Some(22.0), Some(36.0)]]);
        let told = busy_host(&medians(&busy)).unwrap().warning;
        assert_eq!(told, Warning::BusyHostThroughout { median_percent: 30.0, step: "read".to_owned() });
        assert_eq!(set_aside_of(&mut busy), []);
        assert_eq!(set_aside_of(&mut cells(&[&[None]])), []);
    }
}
