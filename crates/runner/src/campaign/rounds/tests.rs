//! What a campaign in rounds does, in which order, in a simulated world, with crashes.

use super::machine::{Before, Rounds};
use crate::campaign::action::{Action, DataAfter, Role};
use crate::campaign::drive::drive;
use crate::campaign::samples;
use crate::campaign::simulated::{Fault, SimulatedWorld};
use model::block::{Block, BlockKind, Outcome, Side};
use model::event::{RunEvent, RunOutcome};
use model::plan::{Design, Plan};
use model::reason::Reason;
use model::units::Nanos;
use model::warning::Warning;
use model::wire::{BlockLimit, EngineText, Request};
use std::collections::BTreeSet;

const SUBJECTS: [&str; 3] = ["rocksdb@6.0.2", "rocksdb@8.5.4", "rocksdb@8.7.3"];
const STEPS: [&str; 3] = ["fillseq", "overwrite", "readrandom"];
const DAY: Nanos = Nanos::from_secs(86_400);

fn plan(design: Design, rounds: u32) -> Plan {
    let mut plan = samples::plan(&SUBJECTS, &STEPS, DAY);
    plan.layout.design = design;
    plan.layout.rounds = rounds;
    plan
}

struct Told {
    outcome: RunOutcome,
    events: Vec<RunEvent>,
    world: SimulatedWorld,
}

fn run(plan: &Plan, done: &BTreeSet<(u32, Side)>, faults: Vec<Fault>) -> Told {
    resumed(plan, Before { done: done.clone(), ..Before::default() }, faults)
}

fn resumed(plan: &Plan, before: Before, faults: Vec<Fault>) -> Told {
    let mut world = SimulatedWorld::of(plan, faults);
    let mut events = Vec::new();
    let outcome = drive(Rounds::new(plan.clone(), before), &mut world, &mut |event| events.push(event));
    Told { outcome, events, world }
}

impl Told {
    fn visits(&self) -> Vec<(u32, Side)> {
        self.events
            .iter()
            .filter_map(|event| match event {
                RunEvent::VisitStarted { launch, side } => Some((*launch, *side)),
                _ => None,
            })
            .collect()
    }

    fn blocks(&self) -> Vec<&Block> {
        self.events
            .iter()
            .filter_map(|event| match event {
                RunEvent::BlockMeasured(block) => Some(&**block),
                _ => None,
            })
            .collect()
    }

    fn outcomes(&self, side: Side, launch: u32) -> Vec<(&str, &Outcome)> {
        self.events
            .iter()
            .filter_map(|event| match event {
                RunEvent::TrialEnded { trial, outcome, .. }
                    if (trial.side, trial.launch) == (side, launch) =>
                {
                    Some((trial.step.as_str(), outcome))
                }
                _ => None,
            })
            .collect()
    }
}

#[test]
fn each_round_is_complete_and_in_an_order_of_its_own() {
    let told = run(&plan(Design::Rounds, 4), &BTreeSet::new(), Vec::new());
    assert_eq!(told.outcome, RunOutcome::Done);
    let visits = told.visits();
    let launches: Vec<u32> = visits.iter().map(|(launch, _)| *launch).collect();
    assert_eq!(launches, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
    let orders: BTreeSet<Vec<Side>> =
        visits.chunks(3).map(|round| round.iter().map(|(_, side)| *side).collect()).collect();
    assert!(orders.len() > 1, "four rounds in one order: {visits:?}");
    assert!(orders.iter().all(|order| order.iter().sum::<Side>() == 3));
    assert_eq!(told.world.directories(), 0);
    let again = run(&plan(Design::Rounds, 4), &BTreeSet::new(), Vec::new());
    assert_eq!(visits, again.visits(), "the seed decides");
}

#[test]
fn one_after_another_keeps_the_order_of_the_plan() {
    let told = run(&plan(Design::Sequential, 2), &BTreeSet::new(), Vec::new());
    assert_eq!(told.visits(), [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]);
    let started = told.events.iter().filter(|event| matches!(event, RunEvent::LaunchStarted { .. })).count();
    let ended = told.events.iter().filter(|event| matches!(event, RunEvent::LaunchEnded { .. })).count();
    assert_eq!((started, ended), (2, 2));
}

#[test]
fn a_turn_in_which_the_host_was_suspended_ends_there_with_that_reason() {
    let told = run(&plan(Design::Rounds, 3), &BTreeSet::new(), vec![Fault::suspend(1, "overwrite", 2)]);
    assert_eq!(told.outcome, RunOutcome::Done);
    let reason = Reason::Said("the host was suspended for 5.0 s while this ran".to_owned());
    let suspended = Outcome::Failed { reason };
    let skipped = Outcome::Skipped { reason: Reason::FailedBefore { step: STEPS[1].to_owned() } };
    let expected = [(STEPS[0], &Outcome::Done), (STEPS[1], &suspended), (STEPS[2], &skipped)];
    assert_eq!(told.outcomes(1, 2), expected);
    for (side, launch) in [(0, 2), (2, 2), (1, 3)] {
        assert!(told.outcomes(side, launch).iter().all(|(_, outcome)| **outcome == Outcome::Done));
    }
}

#[test]
fn a_step_is_one_block_and_what_it_left_behind_another() {
    let told = run(&plan(Design::Rounds, 1), &BTreeSet::new(), Vec::new());
    let of_base: Vec<(&str, BlockKind, u64)> = told
        .blocks()
        .into_iter()
        .filter(|block| block.trial.side == 0)
        .map(|block| (block.trial.step.as_str(), block.kind, block.operations))
        .collect();
    // fillseq settles; the others are four and three blocks of 100 ms long where nothing else is said.
    let expected = [
        ("fillseq", BlockKind::Whole, 100_000),
        ("fillseq", BlockKind::Drain, 0),
        ("overwrite", BlockKind::Whole, 400_000),
        ("readrandom", BlockKind::Whole, 300_000),
    ];
    assert_eq!(of_base, expected);
    assert_eq!(told.outcomes(0, 1), STEPS.map(|step| (step, &Outcome::Done)));
}

#[test]
fn every_step_has_a_process_of_its_own_unless_it_goes_on_in_the_one_before() {
    let starts = |plan: &Plan| {
        let told = run(plan, &BTreeSet::new(), Vec::new());
        told.world.actions.iter().filter(|action| matches!(action, Action::Start { .. })).count()
    };
    let mut plan = plan(Design::Rounds, 1);
    assert_eq!(starts(&plan), 9);
    plan.workload.steps[2].same_process = true;
    assert_eq!(starts(&plan), 6);
}

/// Whose files nobody must have dirty pages of, and whose server must not have to recover.
#[test]
fn a_cold_step_begins_on_files_that_its_process_has_left_in_order_and_that_are_out_of_the_page_cache() {
    let mut plan = plan(Design::Rounds, 1);
    plan.workload.steps[2].cold = true;
    let told = run(&plan, &BTreeSet::new(), Vec::new());
    let of_base = |action: &&Action| match action {
        Action::Stop { workers, .. } | Action::Start { workers } => workers[0].side == 0,
        Action::Evict { worker } => worker.side == 0,
        _ => false,
    };
    let all: Vec<&Action> = told.world.actions.iter().filter(of_base).collect();
    let order: Vec<&str> = all
        .iter()
        .map(|action| match action {
            Action::Start { .. } => "start",
            Action::Evict { .. } => "evict",
            Action::Stop { data: DataAfter::Needed, .. } => "stop in order",
            _ => "stop",
        })
        .collect();
    let expected = ["start", "stop in order", "start", "stop in order", "evict", "start", "stop"];
    assert_eq!(order, expected);
}

/// What the simulated world says of a crash.
fn signal_11() -> Reason {
    Reason::Said("the worker was killed by signal 11".to_owned())
}

#[test]
fn a_crash_costs_the_rest_of_a_visit_and_no_more() {
    let crash = Fault::crash(Role::Writer, 1, "overwrite", 2);
    let told = run(&plan(Design::Rounds, 3), &BTreeSet::new(), vec![crash]);
    assert_eq!(told.outcome, RunOutcome::Done);
    let outcomes = told.outcomes(1, 2);
    assert_eq!(outcomes[0], ("fillseq", &Outcome::Done));
    assert_eq!(outcomes[1], ("overwrite", &Outcome::Failed { reason: signal_11() }));
    let reason = Reason::FailedBefore { step: "overwrite".to_owned() };
    assert_eq!(outcomes[2], ("readrandom", &Outcome::Skipped { reason }));
    assert_eq!(told.outcomes(1, 3).len(), 3);
    assert!(told.outcomes(1, 3).iter().all(|(_, outcome)| **outcome == Outcome::Done));
    assert_eq!((told.world.alive(), told.world.directories()), (0, 0));
}

fn crashes_at_once(launches: &[u32]) -> Vec<Fault> {
    launches.iter().map(|launch| Fault::crash(Role::Writer, 2, "fillseq", *launch)).collect()
}

#[test]
fn a_subject_leaves_after_three_visits_in_a_row_in_which_nothing_was_measured() {
    let told = run(&plan(Design::Rounds, 5), &BTreeSet::new(), crashes_at_once(&[2, 3, 4]));
    let visited: Vec<u32> =
        told.visits().into_iter().filter(|(_, side)| *side == 2).map(|(launch, _)| launch).collect();
    assert_eq!(visited, [1, 2, 3, 4]);
    let later = told.outcomes(2, 5);
    assert_eq!(later.len(), 3);
    let again = Outcome::Skipped { reason: Reason::NotTriedAgain { reason: Box::new(signal_11()) } };
    assert!(later.iter().all(|(_, outcome)| **outcome == again), "{later:?}");
}

#[test]
fn a_failure_now_and_then_takes_no_subject_out_of_the_campaign() {
    let told = run(&plan(Design::Rounds, 6), &BTreeSet::new(), crashes_at_once(&[1, 2, 4, 5]));
    for launch in [3, 6] {
        assert_eq!(told.outcomes(2, launch), STEPS.map(|step| (step, &Outcome::Done)), "round {launch}");
    }
}

#[test]
fn a_step_that_a_release_does_not_support_costs_only_itself() {
    let fault = Fault::Unsupported { side: 0, step: "overwrite".to_owned() };
    let told = run(&plan(Design::Rounds, 1), &BTreeSet::new(), vec![fault]);
    let outcomes = told.outcomes(0, 1);
    let reason = Reason::NotSupported("not supported".to_owned());
    assert_eq!(outcomes[1], ("overwrite", &Outcome::Failed { reason }));
    assert_eq!(outcomes[2], ("readrandom", &Outcome::Done));
}

#[test]
fn a_subject_with_a_db_bench_of_its_own_is_measured_by_that() {
    let mut plan = plan(Design::Rounds, 1);
    plan.layout.db_bench.insert(1, "db_bench".into());
    let told = run(&plan, &BTreeSet::new(), Vec::new());
    assert_eq!(told.outcomes(1, 1), STEPS.map(|step| (step, &Outcome::Done)));
    let starts = told.world.actions.iter().filter(|action| matches!(action, Action::Start { .. })).count();
    assert_eq!(starts, 6, "the two others have workers");
}

#[test]
fn what_was_complete_is_not_measured_again() {
    let done = BTreeSet::from([(1, 0), (1, 1), (1, 2), (2, 1)]);
    let told = run(&plan(Design::Rounds, 2), &done, Vec::new());
    let visited: BTreeSet<(u32, Side)> = told.visits().into_iter().collect();
    assert_eq!(visited, BTreeSet::from([(2, 0), (2, 2)]));
}

#[test]
fn a_visit_that_is_measured_again_keeps_what_it_has_until_it_begins() {
    let before = Before { done: BTreeSet::new(), again: BTreeSet::from([(4, 1), (4, 2)]) };
    let faults = crashes_at_once(&[1, 2, 3]);
    let told = resumed(&plan(Design::Rounds, 4), before, faults);
    // Of side 2 the first three visits failed: it is not tried again, and its fourth stays as it was.
    assert!(!told.visits().contains(&(4, 2)) && told.visits().contains(&(4, 1)), "{:?}", told.visits());
    assert_eq!(told.outcomes(2, 4), []);
    assert_eq!(told.outcomes(1, 4).len(), STEPS.len());
}

#[test]
fn a_budget_ends_the_campaign_with_reasons() {
    let mut plan = plan(Design::Rounds, 50);
    plan.budget = Nanos::from_secs(30);
    let told = run(&plan, &BTreeSet::new(), Vec::new());
    assert!(told.world.time <= plan.budget);
    let skipped = told.outcomes(0, 50);
    assert_eq!(*skipped[0].1, Outcome::Skipped { reason: Reason::BudgetUsedUp });
}

#[test]
fn steps_of_time_and_steps_of_operations_are_sent_as_such() {
    let told = run(&plan(Design::Rounds, 1), &BTreeSet::new(), Vec::new());
    let limits: Vec<BlockLimit> = told
        .world
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Measure { limit, .. } => Some(*limit),
            _ => None,
        })
        .take(2)
        .collect();
    let expected =
        [BlockLimit::Operations { count: 100_000 }, BlockLimit::Time { wall: Nanos::from_millis(400) }];
    assert_eq!(limits, expected);
    let opens_with_creation = told.world.actions.iter().filter(|action| match action {
        Action::Ask { requests, .. } => {
            requests.iter().any(|(_, request)| matches!(request, Request::Open { create: true, .. }))
        }
        _ => false,
    });
    assert_eq!(opens_with_creation.count(), 3, "only the fill of each visit makes a database");
}

#[test]
fn a_full_disk_ends_the_run_and_an_interrupt_leaves_nothing() {
    let full = run(&plan(Design::Rounds, 3), &BTreeSet::new(), vec![Fault::full_disk(2)]);
    assert_eq!(full.outcome, RunOutcome::Failed);
    let stopped = run(&plan(Design::Rounds, 3), &BTreeSet::new(), vec![Fault::interrupt(2)]);
    assert_eq!(stopped.outcome, RunOutcome::Interrupted);
    assert_eq!((stopped.world.alive(), stopped.world.directories()), (0, 0));
}

#[test]
fn a_full_disk_in_a_step_that_was_not_chosen_is_told_of_the_one_that_waited_for_it() {
    let mut chosen = plan(Design::Rounds, 3);
    chosen.steps.retain(|step| step == "readrandom");
    let full = run(&chosen, &BTreeSet::new(), vec![Fault::full_disk(2)]);
    let failed = full.events.iter().filter_map(|event| match event {
        RunEvent::TrialEnded { trial, outcome: Outcome::Failed { reason }, .. } => {
            Some((trial.step.as_str(), reason.to_string()))
        }
        _ => None,
    });
    let failed: Vec<(&str, String)> = failed.collect();
    assert_eq!(
        (full.outcome, failed.len(), failed[0].0),
        (RunOutcome::Failed, 1, "readrandom"),
        "{failed:?}"
    );
    assert!(failed[0].1.contains("no space left"), "{failed:?}");
}

/// One server for the whole sequence; the load is measured as every other step is.
#[test]
fn a_server_is_started_once_a_visit_and_tells_its_settings_once() {
    let mut plan = samples::sql_plan(&["load", "read.pre", "write", "read"], DAY);
    plan.layout.design = Design::Rounds;
    plan.layout.rounds = 1;
    let told = run(&plan, &BTreeSet::new(), Vec::new());
    assert_eq!(told.outcome, RunOutcome::Done);
    let starts = told.world.actions.iter().filter(|action| matches!(action, Action::Start { .. })).count();
    assert_eq!(starts, 2);
    let measured: Vec<&str> = told
        .blocks()
        .iter()
        .filter(|block| block.kind == BlockKind::Whole)
        .map(|block| block.trial.step.as_str())
        .collect();
    assert_eq!(measured.len(), 2 * 5);
    assert_eq!(measured[..5], ["load", "read.warm", "read.pre", "write", "read"]);
    let texts = |what: EngineText| {
        let asked = told.world.actions.iter().filter_map(|action| match action {
            Action::Ask { requests, .. } => Some(requests),
            _ => None,
        });
        asked.flatten().filter(|(_, request)| *request == Request::ReadText { what }).count()
    };
    assert_eq!(texts(EngineText::Settings), 2);
    assert!(texts(EngineText::Status) > 2 * 5 && texts(EngineText::Stats) == 0);
}

#[test]
fn companions_are_measured_with_their_step() {
    let mut plan = samples::streams_plan(&["load", "queries", "queries.writes", "queries.more"], DAY);
    plan.layout.design = Design::Rounds;
    plan.layout.rounds = 1;
    let told = run(&plan, &BTreeSet::new(), Vec::new());
    assert_eq!(told.outcome, RunOutcome::Done);
    let outcomes: Vec<&str> = told.outcomes(0, 1).into_iter().map(|(step, _)| step).collect();
    assert_eq!(outcomes, ["load", "queries", "queries.writes", "queries.more"]);
    let latencies = told.events.iter().filter(|event| {
        matches!(event, RunEvent::TrialEnded { trial, latency: Some(_), .. } if trial.step.starts_with("queries"))
    });
    assert_eq!(latencies.count(), 2 * 3);
    let behind =
        |event: &RunEvent| matches!(event, RunEvent::Warned { warning: Warning::BehindItsRate { .. }, .. });
    assert!(!told.events.iter().any(behind), "a block of 100 ms is too short to tell");
}
