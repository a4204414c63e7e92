//! Runs that are gone on with: which launches come, and by which share of the time each of them has ended.

use super::*;
use crate::campaign::interleaved::machine::Before;
use std::ops::Range;

/// Lets no step leave, and tells the share that has passed.
struct Telling;

impl Referee for Telling {
    fn fix(&mut self, _cost: LaunchCost, _left: Nanos, _active: &BTreeSet<String>) -> Fixed {
        Fixed { max_launches: 48, dropped: Vec::new() }
    }

    fn after_launch(&mut self, _: &[Block], _: &BTreeSet<String>, passed: Passed) -> AfterLaunch {
        AfterLaunch { look: Some(passed.share), ..AfterLaunch::default() }
    }
}

/// Number and share of each launch of a run that had three, and has this much time for the others.
fn launches(shares: Range<f64>, budget: Nanos, left: &[&str]) -> (RunOutcome, Vec<(u32, f64)>) {
    let left = left.iter().map(|step| (*step).to_owned()).collect();
    launches_after(Before { launches: 3, max_launches: Some(48), left, budget, shares })
}

fn launches_after(before: Before) -> (RunOutcome, Vec<(u32, f64)>) {
    let plan = plan(&TWO, &["readrandom"], LONG);
    let mut world = SimulatedWorld::of(&plan, Vec::new());
    let mut ended = Vec::new();
    let outcome = drive(Campaign::resumed(plan.clone(), Telling, before), &mut world, &mut |event| {
        if let RunEvent::LaunchEnded { launch, look, .. } = event {
            ended.push((launch, look.unwrap()));
        }
    });
    (outcome, ended)
}

#[test]
fn launches_go_on_with_the_next_number_and_shares_run_from_where_they_were_to_the_end() {
    for shares in [0.4..1.0, 1.0..2.0] {
        let (outcome, ended) = launches(shares.clone(), Nanos::from_secs(120), &[]);
        assert_eq!(outcome, RunOutcome::Done);
        assert!(ended.len() > 2, "{ended:?}");
        assert_eq!(
            ended.iter().map(|(launch, _)| *launch).collect::<Vec<_>>(),
            (4..).take(ended.len()).collect::<Vec<_>>()
        );
        let before_end = &ended[..ended.len() - 1];
        assert!(
            before_end.iter().all(|(_, share)| shares.start < *share && *share < shares.end),
            "{ended:?}"
        );
        assert!(ended.is_sorted_by(|left, right| left.1 < right.1), "{ended:?}");
        assert!((ended[ended.len() - 1].1 - shares.end).abs() < f64::EPSILON, "{ended:?}");
    }
}

#[test]
fn a_run_that_was_stopped_after_its_last_launch_has_no_further_one() {
    let before = |launches| Before {
        launches,
        max_launches: Some(48),
        left: BTreeSet::new(),
        budget: LONG,
        shares: 0.9..1.0,
    };
    assert_eq!(launches_after(before(48)), (RunOutcome::Done, Vec::new()));
    assert_eq!(launches_after(before(47)).1.len(), 1);
}

#[test]
fn a_run_whose_steps_have_all_left_is_done() {
    assert_eq!(launches(0.9..1.0, Nanos::from_secs(120), &["readrandom"]), (RunOutcome::Done, Vec::new()));
}
