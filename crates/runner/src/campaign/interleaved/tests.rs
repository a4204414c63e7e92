//! What a run does, in which order, in a simulated world: nine hours in milliseconds, with crashes.

mod resumed;

use super::machine::Campaign;
use super::referee::{AfterLaunch, Fixed, LaunchCost, Passed, Referee};
use super::steps::oldest_side;
use crate::campaign::action::{Action, Role, WorkerId};
use crate::campaign::drive::drive;
use crate::campaign::samples::{WORKLOAD, plan, sql_plan, streams_plan};
use crate::campaign::simulated::{Fault, SimulatedWorld};
use model::block::{Block, BlockKind, Outcome, TrialKey};
use model::build::BuildSource;
use model::event::{RunEvent, RunOutcome};
use model::plan::Plan;
use model::reason::{LeaveReason, Reason};
use model::units::Nanos;
use model::wire::{BlockLimit, Request};
use model::workload::{Operation, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Lets each step leave after a stated launch.
pub(super) struct Script {
    max_launches: u32,
    leaves_after: BTreeMap<&'static str, u32>,
    launches: u32,
    seen: usize,
}

impl Referee for Script {
    fn fix(&mut self, cost: LaunchCost, _left: Nanos, _active: &BTreeSet<String>) -> Fixed {
        assert!(cost.own.0 + cost.image.0 > 0 || self.seen == 0, "a launch costs time");
        Fixed { max_launches: self.max_launches, dropped: Vec::new() }
    }

    fn after_launch(&mut self, blocks: &[Block], active: &BTreeSet<String>, passed: Passed) -> AfterLaunch {
        self.launches += 1;
        assert_eq!(passed.launch, self.launches);
        self.seen += blocks.len();
        let due = |step: &&String| self.leaves_after.get(step.as_str()) == Some(&self.launches);
        let left = active.iter().filter(due).map(|step| (step.clone(), LeaveReason::Decided)).collect();
        AfterLaunch {
            look: Some(if passed.is_last { 1.0 } else { passed.share }),
            announced: Vec::new(),
            left,
        }
    }
}

pub(super) fn referee(max_launches: u32, leaves_after: &[(&'static str, u32)]) -> Script {
    Script { max_launches, leaves_after: leaves_after.iter().copied().collect(), launches: 0, seen: 0 }
}

pub(super) struct Told {
    pub(super) outcome: RunOutcome,
    pub(super) events: Vec<RunEvent>,
    pub(super) world: SimulatedWorld,
}

pub(super) fn run(plan: &Plan, referee: Script, faults: Vec<Fault>) -> Told {
    let mut world = SimulatedWorld::of(plan, faults);
    let mut events = Vec::new();
    let outcome = drive(Campaign::new(plan.clone(), referee), &mut world, &mut |event| events.push(event));
    if outcome == RunOutcome::Done {
        let (told, ended) = trials(&events);
        assert_eq!(told.difference(&ended).next(), None, "every trial of a run that is done has an outcome");
    }
    Told { outcome, events, world }
}

/// The trials of which anything was told, and those that ended.
fn trials(events: &[RunEvent]) -> (BTreeSet<&TrialKey>, BTreeSet<&TrialKey>) {
    let (mut told, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        match event {
            RunEvent::BlockMeasured(block) => told.insert(&block.trial),
            RunEvent::ShapeRead { trial, .. } => told.insert(trial),
            RunEvent::TrialEnded { trial, .. } => ended.insert(trial),
            _ => false,
        };
    }
    (told, ended)
}

impl Told {
    pub(super) fn blocks(&self) -> Vec<&Block> {
        let mut blocks = Vec::new();
        for event in &self.events {
            if let RunEvent::BlockMeasured(block) = event {
                blocks.push(&**block);
            }
        }
        blocks
    }

    pub(super) fn launches_of(&self, step: &str) -> BTreeSet<u32> {
        let of_step = |block: &&&Block| block.trial.step == step;
        self.blocks().iter().filter(of_step).map(|block| block.trial.launch).collect()
    }

    pub(super) fn outcomes(&self, launch: u32) -> BTreeMap<(String, usize), Outcome> {
        let ended = |event: &RunEvent| match event {
            RunEvent::TrialEnded { trial, outcome, .. } if trial.launch == launch => {
                Some(((trial.step.clone(), trial.side), outcome.clone()))
            }
            _ => None,
        };
        self.events.iter().filter_map(ended).collect()
    }
}

pub(super) const ALL: [&str; 3] = ["fillseq", "overwrite", "readrandom"];
const TWO: [&str; 2] = ["rocksdb@8.5.4", "rocksdb@8.7.3"];
pub(super) const LONG: Nanos = Nanos::from_secs(9 * 3600);

#[test]
fn every_block_has_its_neighbour_and_only_one_side_runs_at_a_time() {
    let told = run(&plan(&TWO, &ALL, LONG), referee(2, &[]), Vec::new());
    assert_eq!(told.outcome, RunOutcome::Done);
    let mut sides: BTreeMap<(u32, String, BlockKind), Vec<(usize, u32)>> = BTreeMap::new();
    for block in told.blocks() {
        let key = (block.trial.launch, block.trial.step.clone(), block.kind);
        sides.entry(key).or_default().push((block.trial.side, block.position));
    }
    for (cycle, mut found) in sides {
        found.sort_unstable();
        assert_eq!(found.iter().map(|(side, _)| *side).collect::<Vec<_>>(), [0, 1], "{cycle:?}");
        let positions: BTreeSet<u32> = found.iter().map(|(_, position)| *position).collect();
        assert_eq!(positions, BTreeSet::from([0, 1]), "{cycle:?}");
    }
    // The world itself asserts that all others are frozen while a block runs, and that nothing is sent to a
    // frozen worker; here: that it saw blocks at all, and that nothing is left.
    assert!(told.world.blocks_run > 20);
    assert_eq!(told.world.alive(), 0);
    assert_eq!(told.world.directories(), 0);
}

#[test]
fn three_subjects_share_each_launch() {
    let three = ["rocksdb@8.5.4", "rocksdb@8.6.7", "rocksdb@8.7.3"];
    let told = run(&plan(&three, &["readrandom"], LONG), referee(1, &[]), Vec::new());
    assert_eq!(told.blocks().len(), 3 * 3);
}

#[test]
fn each_side_can_make_its_own_image() {
    let plan = Plan { own_image: true, ..plan(&TWO, &["readrandom"], LONG) };
    let told = run(&plan, referee(1, &[]), Vec::new());
    let mut links: Vec<(usize, Vec<usize>)> = Vec::new();
    for action in &told.world.actions {
        if let Action::LinkImage { builder, readers } = action {
            links.push((builder.side, readers.iter().map(|reader| reader.side).collect()));
        }
    }
    links.sort();
    assert_eq!(links, [(0, vec![0]), (1, vec![1])]);
    assert_eq!(told.world.directories(), 0);
}

#[test]
fn a_decided_step_leaves_but_still_makes_the_tree_for_those_after_it() {
    let told = run(&plan(&TWO, &ALL, LONG), referee(5, &[("fillseq", 2), ("readrandom", 3)]), Vec::new());
    assert_eq!(told.launches_of("fillseq"), BTreeSet::from([1, 2]));
    assert_eq!(told.launches_of("readrandom"), BTreeSet::from([1, 2, 3]));
    assert_eq!(told.launches_of("overwrite"), BTreeSet::from([1, 2, 3, 4, 5]));
    let fills_unmeasured = told.world.actions.iter().any(|action| match action {
        Action::Ask { requests, .. } => requests.iter().any(|(_, request)| {
            matches!(request, Request::RunBlock { limit: BlockLimit::Operations { count }, warm_up: true, .. }
                if *count >= 100_000)
        }),
        _ => false,
    });
    assert!(fills_unmeasured);
}

/// Two reads in a row find the same cache; writes and what settles after them leave blocks in it that are cold.
#[test]
fn all_rows_are_read_before_a_step_that_reads_if_something_was_written_since() {
    const READS: &str = r#"
        [[step]]
        name = "first"
        group = "point"
        operation = "read-random"
        database = "own"
        [[step]]
        name = "second"
        group = "point"
        operation = "read-random"
        database = "own"
        [[step]]
        name = "while-writing"
        group = "point"
        operation = "read-random"
        database = "own"
        background_write_bytes_per_s = 1000000
        [[step]]
        name = "last"
        group = "point"
        operation = "read-random"
        database = "own"
    "#;
    let steps = ["first", "second", "while-writing", "last"];
    let workload = Workload::parse(&format!("{WORKLOAD}{READS}"), "test").unwrap();
    let told = run(&Plan { workload, ..plan(&TWO, &steps, LONG) }, referee(1, &[]), Vec::new());
    assert_eq!(told.outcome, RunOutcome::Done);
    let mut seen: Vec<&str> = Vec::new();
    for action in &told.world.actions {
        let Action::Ask { requests, .. } = action else { continue };
        match &requests[0].1 {
            Request::Scan { .. } => seen.push("scan"),
            Request::Prepare(setup) if setup.operation != Operation::ReadRandom => seen.push("write"),
            Request::Prepare(setup) if setup.background_write_bytes_per_s.is_some() => {
                seen.push("read while writing")
            }
            Request::Prepare(_) => seen.push("read"),
            _ => {}
        }
    }
    // The pilot is on the base alone and measures writes only.
    let last_write = seen.iter().rposition(|name| *name == "write").unwrap();
    assert_eq!(seen[last_write + 1..], ["scan", "read", "read", "read while writing", "scan", "read"]);
}

#[test]
fn both_sides_of_a_step_that_writes_do_the_same_operations() {
    let told = run(&plan(&TWO, &ALL, LONG), referee(2, &[]), Vec::new());
    for step in ["fillseq", "overwrite"] {
        let sums: BTreeMap<usize, u64> =
            told.blocks().iter().filter(|b| b.trial.step == step).fold(BTreeMap::new(), |mut sums, block| {
                *sums.entry(block.trial.side).or_default() += block.operations;
                sums
            });
        assert_eq!(sums[&0], sums[&1], "{step}");
    }
}

#[test]
fn the_order_is_drawn_from_the_seed() {
    let order = |seed| {
        let plan = Plan { seed, ..plan(&TWO, &ALL, LONG) };
        run(&plan, referee(3, &[]), Vec::new()).world.actions
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn a_crash_fails_its_trial_and_the_rest_of_the_run_goes_on() {
    let crash = Fault::crash(Role::Writer, 1, "overwrite", 2);
    let told = run(&plan(&TWO, &ALL, LONG), referee(3, &[]), vec![crash]);
    assert_eq!(told.outcome, RunOutcome::Done);
    let second = told.outcomes(2);
    assert_eq!(second[&("fillseq".to_owned(), 1)], Outcome::Done);
    assert!(matches!(second[&("overwrite".to_owned(), 1)], Outcome::Failed { .. }));
    let skipped = &second[&("overwrite".to_owned(), 0)];
    assert!(
        matches!(skipped, Outcome::Skipped { reason: Reason::SubjectFailed { step: Some(step), .. } }
            if step == "overwrite"),
        "{skipped:?}"
    );
    assert_eq!(second[&("readrandom".to_owned(), 0)], Outcome::Done);
    assert!(told.outcomes(3).values().all(|outcome| *outcome == Outcome::Done));
    assert_eq!(told.world.alive() + told.world.directories(), 0);
}

#[test]
fn a_side_that_always_fails_is_given_up_after_three_launches() {
    let faults = (1..=9).map(|launch| Fault::crash(Role::Writer, 1, "overwrite", launch)).collect();
    let told = run(&plan(&TWO, &ALL, LONG), referee(9, &[]), faults);
    let left = told.events.iter().find_map(|event| match event {
        RunEvent::StepLeft { step, launch, reason } if step == "overwrite" => Some((*launch, reason.clone())),
        _ => None,
    });
    assert_eq!(left, Some((3, LeaveReason::LaunchesFailed { launches: 3 })));
    assert_eq!(told.launches_of("fillseq").len(), 9);
}

#[test]
fn a_full_disk_ends_the_run_and_an_interrupt_too() {
    let full = Fault::full_disk(2);
    let told = run(&plan(&TWO, &ALL, LONG), referee(9, &[]), vec![full]);
    assert_eq!(told.outcome, RunOutcome::Failed);
    assert_eq!(told.launches_of("fillseq"), BTreeSet::from([1]));
    let told = run(&plan(&TWO, &ALL, LONG), referee(9, &[]), vec![Fault::interrupt(3)]);
    assert_eq!(told.outcome, RunOutcome::Interrupted);
    assert!(!told.blocks().is_empty(), "what was measured is kept");
    assert_eq!(told.world.alive() + told.world.directories(), 0);
}

#[test]
fn the_budget_ends_a_run_before_it_is_exceeded() {
    let budget = Nanos::from_secs(60);
    let told = run(&plan(&TWO, &ALL, budget), referee(1000, &[]), Vec::new());
    assert_eq!(told.outcome, RunOutcome::Done);
    assert!(told.world.time <= budget, "{:?}", told.world.time);
    assert!(told.world.time.0 > budget.0 / 2, "and is used: {:?}", told.world.time);
}

#[test]
fn a_pilot_that_fails_drops_the_writes_and_says_so() {
    let told =
        run(&plan(&TWO, &ALL, LONG), referee(2, &[]), vec![Fault::crash(Role::Writer, 0, "overwrite", 0)]);
    assert!(told.launches_of("overwrite").is_empty() && told.launches_of("readrandom").len() == 2);
    let dropped = |event: &RunEvent| {
        matches!(event, RunEvent::StepLeft { reason: LeaveReason::PilotFailed { .. }, .. })
    };
    assert!(told.events.iter().any(dropped));
}

#[test]
fn nine_hours_pass_in_milliseconds() {
    let told = run(&plan(&TWO, &ALL, LONG), referee(4000, &[]), Vec::new());
    assert!(told.world.time > Nanos::from_secs(3 * 3600), "{:?}", told.world.time);
}

#[test]
fn no_side_always_has_the_same_directory() {
    let told = run(&plan(&TWO, &["readrandom"], LONG), referee(12, &[]), Vec::new());
    let slots: BTreeSet<usize> = told
        .world
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Start { workers } => Some(workers.clone()),
            _ => None,
        })
        .flatten()
        .filter(|worker: &WorkerId| worker.role == Role::Reader && worker.side == 0)
        .map(|worker| worker.slot)
        .collect();
    assert_eq!(slots, BTreeSet::from([0, 1]));
}

#[test]
fn images_are_made_by_the_oldest_release_and_own_builds_stand_in_no_order() {
    let oldest = |texts: &[&str], own: &[usize]| {
        let mut plan = plan(texts, &["readrandom"], Nanos::from_secs(1));
        for side in own {
            plan.subjects[*side].build.source = BuildSource::Own { path: "librocksdb.so".into() };
        }
        oldest_side(&plan, &[0, 1])
    };
    assert_eq!(oldest(&["rocksdb@8.10.2", "rocksdb@8.9.1"], &[]), 1);
    assert_eq!(oldest(&["rocksdb@8.9.1", "rocksdb@8.9.1"], &[]), 0);
    // A commit's name that happens to sort first is not the oldest.
    assert_eq!(oldest(&["rocksdb@f00d", "rocksdb@0a1b"], &[0, 1]), 0);
    assert_eq!(oldest(&["rocksdb@mine", "rocksdb@8.7.3"], &[0]), 1);
    assert_eq!(oldest(&["rocksdb@8.7.3", "rocksdb@8.0.0"], &[1]), 0);
}

/// A server is loaded once and not opened; reads run for their time on what is there, after a warm-up, and are left out
/// once they have their verdict; a write that has its verdict is still done, for the reads after it.
#[test]
fn servers_run_the_sequence_in_its_order_on_one_load() {
    let plan = sql_plan(&["read.pre", "write", "read"], Nanos::from_secs(3600));
    let told = run(&plan, referee(3, &[("read.pre", 1), ("write", 2)]), Vec::new());
    assert_eq!(told.outcome, RunOutcome::Done);
    assert_eq!(told.launches_of("read.pre"), BTreeSet::from([1]));
    assert_eq!(told.launches_of("write"), BTreeSet::from([1, 2]));
    assert_eq!(told.launches_of("read"), BTreeSet::from([1, 2, 3]));
    let blocks = |launch: u32| {
        let of_launch = told.blocks().into_iter().filter(move |block| block.trial.launch == launch);
        let mut steps: Vec<String> = of_launch.map(|block| block.trial.step.clone()).collect();
        steps.dedup();
        steps
    };
    assert_eq!(blocks(1), ["read.pre", "write", "read"]);
    assert_eq!(blocks(3), ["read"]);
    let mut requests: Vec<&Request> = Vec::new();
    for action in &told.world.actions {
        if let Action::Ask { requests: asked, .. } = action {
            requests.extend(asked.iter().map(|(_, request)| request));
        }
    }
    let count = |wanted: fn(&Request) -> bool| requests.iter().filter(|request| wanted(request)).count();
    assert_eq!(count(|request| matches!(request, Request::Open { .. } | Request::ReadShape)), 0);
    // The pilot on the base, and three launches on both sides.
    let is_load = |request: &Request| matches!(request, Request::Prepare(setup) if setup.operation == Operation::LoadTables);
    assert_eq!(count(is_load), 1 + 3 * 2);
    // After the read that follows the load, which nobody chose and is not run, and after the write.
    assert_eq!(count(|request| matches!(request, Request::Settle { .. })), 2 * (1 + 3 * 2));
    let by_time = |block: &&&Block| block.trial.step == "read" && block.wall == Nanos::from_millis(50);
    assert_eq!(told.blocks().iter().filter(by_time).count(), 3 * 2 * 3);
}

/// Where the file system clones, one side loads in each launch, not always the same, and every side begins on what it left.
#[test]
fn servers_on_clones_load_once_in_each_launch() {
    let mut plan = sql_plan(&["read.pre", "write", "read"], Nanos::from_secs(3600));
    plan.layout.cloned_data = true;
    let Told { outcome, world, .. } = run(&plan, referee(12, &[]), Vec::new());
    assert_eq!(outcome, RunOutcome::Done);
    let mut builders = Vec::new();
    for action in &world.actions {
        if let Action::LinkImage { builder, readers } = action {
            builders.push(builder.side);
            assert_eq!(
                readers.iter().map(|reader| reader.side).collect::<BTreeSet<_>>(),
                BTreeSet::from([0, 1])
            );
        }
    }
    assert_eq!(builders.len(), 12);
    assert_eq!(builders.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([0, 1]));
    let asked = world.actions.iter().filter_map(|action| match action {
        Action::Ask { requests, .. } => Some(requests),
        _ => None,
    });
    let loads: Vec<&WorkerId> = asked
        .flatten()
        .filter(|(_, request)| {
            matches!(request, Request::Prepare(setup) if setup.operation == Operation::LoadTables)
        })
        .map(|(worker, _)| worker)
        .collect();
    assert_eq!(loads.len(), 1 + 12, "the pilot and each launch");
    assert!(loads[1..].iter().all(|worker| worker.role == Role::Builder));
    assert_eq!((world.alive(), world.directories()), (0, 0));
}

/// A statement that one side refuses costs its own step, on both sides, and no other.
#[test]
fn a_step_that_one_side_refuses_leaves_the_others_alone() {
    let plan = plan(&["rocksdb@8.5.4", "rocksdb@8.7.3"], &["fillseq", "overwrite", "readrandom"], LONG);
    let refused = Fault::Refused { side: 1, step: "overwrite".to_owned() };
    let told = run(&plan, referee(5, &[]), vec![refused]);
    assert_eq!(told.outcome, RunOutcome::Done);
    assert_eq!(told.launches_of("overwrite"), BTreeSet::new());
    assert_eq!(told.launches_of("fillseq"), BTreeSet::from([1, 2, 3, 4, 5]));
    assert_eq!(told.launches_of("readrandom"), BTreeSet::from([1, 2, 3, 4, 5]));
    let outcomes: Vec<(&str, usize, bool)> = told
        .events
        .iter()
        .filter_map(|event| match event {
            RunEvent::TrialEnded { trial, outcome, .. } if trial.step == "overwrite" => {
                Some((trial.step.as_str(), trial.side, matches!(outcome, Outcome::Failed { .. })))
            }
            _ => None,
        })
        .collect();
    // In three launches, after which it leaves.
    assert_eq!(outcomes, [("overwrite", 0, false), ("overwrite", 1, true)].repeat(3));
    let abandoned = |action: &&Action| {
        matches!(action, Action::Ask { requests, .. }
            if requests.iter().all(|(_, request)| *request == Request::AbandonStep))
    };
    assert_eq!(told.world.actions.iter().filter(abandoned).count(), 3);
    assert_eq!(told.world.alive(), 0);
}

/// A step and its companions are one block of one worker, and trials of their own; the one without a verdict keeps the
/// others running, unseen.
#[test]
fn companions_run_with_their_step_and_are_judged_by_themselves() {
    let plan = streams_plan(&["queries", "queries.writes", "queries.more"], LONG);
    let leaves = [("queries", 2), ("queries.more", 1)];
    let told = run(&plan, referee(3, &leaves), Vec::new());
    assert_eq!(told.outcome, RunOutcome::Done);
    assert_eq!(told.launches_of("queries"), BTreeSet::from([1, 2]));
    assert_eq!(told.launches_of("queries.writes"), BTreeSet::from([1, 2, 3]));
    assert_eq!(told.launches_of("queries.more"), BTreeSet::from([1]));
    let done = |step: &str, side: usize| ((step.to_owned(), side), Outcome::Done);
    assert_eq!(
        told.outcomes(2),
        BTreeMap::from([
            done("queries", 0),
            done("queries", 1),
            done("queries.writes", 0),
            done("queries.writes", 1),
        ])
    );
    // No launch asks for a companion by itself.
    let prepared = told.world.actions.iter().filter_map(|action| match action {
        Action::Ask { requests, .. } => Some(requests),
        _ => None,
    });
    let of_queries = prepared
        .flatten()
        .filter(|(_, request)| matches!(request, Request::Prepare(setup) if !setup.companions.is_empty()));
    assert_eq!(of_queries.count(), 2 * 3);
    let block = told.blocks().into_iter().find(|block| block.trial.step == "queries.writes").unwrap();
    assert_eq!((block.operations, block.process_cpu), (7, None), "whose the server's CPU is, is not known");
}
