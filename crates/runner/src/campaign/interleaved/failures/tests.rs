//! Sides of a campaign that fail while the others go on.

use super::super::tests::{ALL, LONG, Told, referee, run};
use crate::campaign::action::{Action, Role};
use crate::campaign::samples::plan;
use crate::campaign::simulated::{Fault, Trouble};
use model::block::{Block, Outcome};
use model::event::{RunEvent, RunOutcome};
use model::plan::{Plan, Purpose};
use model::reason::Reason;
use model::warning::Warning;
use std::collections::BTreeSet;

/// A campaign of a base that runs twice and two candidates.
fn campaign() -> Plan {
    let four = ["rocksdb@8.5.4", "rocksdb@8.6.7", "rocksdb@8.7.3", "rocksdb@8.5.4"];
    let mut plan = plan(&four, &ALL, LONG);
    plan.purpose = Purpose::Campaign;
    plan.layout.further_base_processes = 1;
    plan
}

fn sides_of(told: &Told, step: &str, launch: u32) -> BTreeSet<usize> {
    let of = |block: &&&Block| block.trial.step == step && block.trial.launch == launch;
    told.blocks().iter().filter(of).map(|block| block.trial.side).collect()
}

#[test]
fn a_side_that_dies_in_a_launch_of_a_campaign_leaves_the_others_alone() {
    let told = run(&campaign(), referee(3, &[]), vec![Fault::crash(Role::Writer, 1, "overwrite", 2)]);
    assert_eq!(told.outcome, RunOutcome::Done);
    let second = told.outcomes(2);
    assert_eq!(second[&("fillseq".to_owned(), 1)], Outcome::Done);
    assert!(matches!(second[&("overwrite".to_owned(), 1)], Outcome::Failed { .. }));
    for side in [0, 2, 3] {
        assert_eq!(second[&("overwrite".to_owned(), side)], Outcome::Done);
    }
    assert_eq!(second[&("readrandom".to_owned(), 1)], Outcome::Done, "it is there again for the image");
    assert!(told.outcomes(3).values().all(|outcome| *outcome == Outcome::Done));
    assert_eq!(told.world.alive() + told.world.directories(), 0);
}

#[test]
fn a_side_of_which_nothing_is_measured_in_three_launches_leaves_the_run() {
    let faults = (1..=9).flat_map(|launch| {
        [
            Fault::crash(Role::Writer, 2, "fillseq", launch),
            Fault::crash(Role::Reader, 2, "readrandom", launch),
        ]
    });
    let told = run(&campaign(), referee(5, &[]), faults.collect());
    assert_eq!(told.outcome, RunOutcome::Done);
    let left = Warning::SideLeft { subject: "rocksdb@8.7.3".to_owned(), launches: 3 };
    assert!(told.events.contains(&RunEvent::Warned { step: None, warning: left }));
    for step in ALL {
        assert_eq!(sides_of(&told, step, 4), BTreeSet::from([0, 1, 3]), "{step}");
    }
    assert_eq!(told.outcomes(3).len(), 4 * 3);
    assert_eq!(told.outcomes(4).len(), 3 * 3);
}

#[test]
fn a_launch_in_which_the_host_was_suspended_has_failed_there_on_all_sides_and_no_side_is_blamed() {
    let told = run(&campaign(), referee(3, &[]), vec![Fault::suspend(1, "overwrite", 2)]);
    assert_eq!(told.outcome, RunOutcome::Done);
    let second = told.outcomes(2);
    let reason = Reason::Said("the host was suspended for 5.0 s while this ran".to_owned());
    for side in 0..4 {
        let outcome = |step: &str| &second[&(step.to_owned(), side)];
        assert_eq!(outcome("overwrite"), &Outcome::Failed { reason: reason.clone() }, "{side}");
        assert_eq!([outcome("fillseq"), outcome("readrandom")], [&Outcome::Done; 2], "{side}");
    }
    assert!(told.outcomes(3).values().all(|outcome| *outcome == Outcome::Done));
    assert_eq!(told.world.alive() + told.world.directories(), 0);
}

#[test]
fn a_side_that_cannot_be_started_is_measured_in_the_next_launch() {
    let undisturbed = run(&campaign(), referee(1, &[]), Vec::new()).world.actions;
    let begins = |action: &Action| matches!(action, Action::MakeDirectories { launch: 1, .. });
    let first = undisturbed.iter().position(begins);
    let fault = Fault::At { action: first.unwrap() + 1, place: 2, trouble: Trouble::PortTaken };
    let told = run(&campaign(), referee(2, &[]), vec![fault]);
    assert_eq!(told.outcome, RunOutcome::Done);
    let not_done = |launch| -> Vec<(String, usize)> {
        let outcomes = told.outcomes(launch).into_iter();
        outcomes.filter(|(_, outcome)| *outcome != Outcome::Done).map(|(trial, _)| trial).collect()
    };
    let failed = not_done(1);
    let side = failed[0].1;
    assert_eq!(failed, [("fillseq".to_owned(), side), ("overwrite".to_owned(), side)]);
    assert_eq!(not_done(2), []);
}

#[test]
fn a_trial_of_a_side_that_was_lost_does_not_end_again_with_its_launch() {
    let faults = vec![Fault::crash(Role::Writer, 1, "fillseq", 2), Fault::suspend(2, "overwrite", 2)];
    let told = run(&campaign(), referee(3, &[]), faults);
    let of_lost = |event: &&RunEvent| {
        matches!(event, RunEvent::TrialEnded { trial, .. }
            if (trial.launch, trial.side, trial.step.as_str()) == (2, 1, "overwrite"))
    };
    assert_eq!(told.events.iter().filter(of_lost).count(), 1);
    let reason = Reason::Said("the worker was killed by signal 11".to_owned());
    assert_eq!(told.outcomes(2)[&("overwrite".to_owned(), 1)], Outcome::Failed { reason });
}

#[test]
fn a_step_that_one_release_of_a_campaign_refuses_is_measured_on_the_others() {
    let refused = Fault::Refused { side: 1, step: "overwrite".to_owned() };
    let told = run(&campaign(), referee(4, &[]), vec![refused]);
    assert_eq!(told.outcome, RunOutcome::Done);
    for launch in 1..=4 {
        assert_eq!(sides_of(&told, "overwrite", launch), BTreeSet::from([0, 2, 3]));
        assert_eq!(sides_of(&told, "readrandom", launch), BTreeSet::from([0, 1, 2, 3]));
        assert!(matches!(
            told.outcomes(launch)[&("overwrite".to_owned(), 1)],
            Outcome::Failed { reason: Reason::NotSupported(_) }
        ));
    }
}

#[test]
fn several_releases_that_refuse_a_step_lose_no_other() {
    let refused = |side| Fault::Refused { side, step: "overwrite".to_owned() };
    let told = run(&campaign(), referee(4, &[]), vec![refused(1), refused(2)]);
    assert_eq!(told.outcome, RunOutcome::Done);
    for launch in 1..=4 {
        assert_eq!(sides_of(&told, "overwrite", launch), BTreeSet::from([0, 3]));
        assert_eq!(sides_of(&told, "fillseq", launch), BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(sides_of(&told, "readrandom", launch), BTreeSet::from([0, 1, 2, 3]));
    }
}

#[test]
fn a_run_without_its_base_ends() {
    let faults = (1..=3).flat_map(|launch| {
        [0, 3].into_iter().flat_map(move |side| {
            [
                Fault::crash(Role::Writer, side, "fillseq", launch),
                Fault::crash(Role::Reader, side, "readrandom", launch),
            ]
        })
    });
    let told = run(&campaign(), referee(9, &[]), faults.collect());
    assert_eq!(told.outcome, RunOutcome::Failed);
    assert_eq!(sides_of(&told, "readrandom", 3), BTreeSet::from([1, 2]), "the others' values stay");
    assert!(told.launches_of("readrandom").len() == 3);
}
