//! A thousand campaigns in which anything goes wrong at any moment: stopped, killed, gone on with, until they are done. The world is
//! simulated, the store is real.

use crate::referee;
use model::block::{Block, BlockKind, Outcome, Side, TrialKey};
use model::event::{RunEvent, RunOutcome};
use model::fingerprint::{Fingerprint, HostFigure};
use model::host::Host;
use model::plan::{DecisionRule, Design, Layout, Plan, Purpose};
use model::reason::Reason;
use model::record::{RunRecord, RunStatus, TrialRecord};
use model::server_host::ServerHost;
use model::units::Nanos;
use model::warning::Warning;
use runner::campaign::action::{Action, Role};
use runner::campaign::drive::{Schedule, drive};
use runner::campaign::interleaved::machine::Campaign;
use runner::campaign::rounds::machine::{Before, Rounds};
use runner::campaign::simulated::{Fault, SimulatedWorld, Trouble};
use std::collections::{BTreeMap, BTreeSet};
use store::{ResumedBy, Retry, Writer};

const CAMPAIGNS: u64 = 1000;
const RUN: &str = "20261124-091500-3fa9";
const STEPS: [&str; 3] = ["fillseq", "overwrite", "readrandom"];
const SUBJECTS: [&str; 4] = ["rocksdb@6.0.2", "rocksdb@7.10.2", "rocksdb@8.5.4", "rocksdb@8.7.3"];
const WORKLOAD: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "d"
    tells = "t"
    does_not_tell = "n"
    data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
    [[step]]
    name = "fillseq"
    group = "writes"
    operation = "fill-sequential"
    wal = false
    settle = "drained"
    [[step]]
    name = "overwrite"
    group = "writes"
    operation = "overwrite"
    seconds = 1.0
    cycles = 2
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    database = "image"
    seconds = 1.0
    same_process = true
    cycles = 2
"#;

/// SplitMix64 (Steele et al. 2014): every seed gives a sequence of its own.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ (mixed >> 31)) % u64::from(bound)).unwrap()
    }

    fn plan(&mut self) -> Plan {
        let design = [Design::Rounds, Design::Sequential, Design::Interleaved][self.below(3) as usize];
        let rounds = 1 + self.below(5);
        let layout = Layout { design, rounds, ..Layout::default() };
        let rule = DecisionRule { max_launches: rounds, ..DecisionRule::default() };
        // A base alone has nothing beside it.
        let least = if design == Design::Interleaved { 2 } else { 1 };
        let subjects = &SUBJECTS[..(least + self.below(5 - least)) as usize];
        let (budget, seed) = (Nanos::from_secs(86_400), u64::from(self.below(u32::MAX)));
        Plan { purpose: Purpose::Campaign, layout, rule, budget, seed, ..testing::plan(WORKLOAD, subjects) }
    }

    fn faults(&mut self, plan: &Plan) -> Vec<Fault> {
        let interleaved = plan.is_interleaved_campaign();
        let troubles = u32::try_from(Trouble::ALL.len()).unwrap();
        (0..self.below(5))
            .map(|_| {
                let side = self.below(u32::try_from(plan.subjects.len()).unwrap()) as Side;
                let launch = 1 + self.below(plan.layout.rounds);
                let step = STEPS[self.below(3) as usize];
                match self.below(9) {
                    0 | 1 if interleaved && step == "readrandom" => {
                        Fault::crash(Role::Reader, side, step, launch)
                    }
                    0 | 1 => Fault::crash(Role::Writer, side, step, launch),
                    2 => Fault::full_disk(launch),
                    3 => Fault::interrupt(launch),
                    4 if interleaved => Fault::Refused { side, step: step.to_owned() },
                    4 => Fault::Unsupported { side, step: step.to_owned() },
                    _ => Fault::At {
                        action: 1 + self.below(400) as usize,
                        place: self.below(4) as usize,
                        trouble: Trouble::ALL[self.below(troubles) as usize],
                    },
                }
            })
            .collect()
    }
}

/// What one invocation did.
struct Invocation {
    /// The visits that it began; of an interleaved launch those of all sides.
    begun: BTreeSet<(u32, Side)>,
    killed: bool,
    /// Visits, or interleaved launches, in which a trial failed that the release supports.
    failed: BTreeSet<(u32, Side)>,
}

fn invoke(
    writer: &mut Writer,
    plan: &Plan,
    schedule: impl Schedule,
    faults: Vec<Fault>,
    kill_at: Option<u32>,
) -> Invocation {
    let interleaved = plan.is_interleaved_campaign();
    let mut world = SimulatedWorld::of(plan, faults);
    let mut told = 0;
    let mut invocation = Invocation { begun: BTreeSet::new(), killed: false, failed: BTreeSet::new() };
    let mut ended = BTreeSet::new();
    drive(schedule, &mut world, &mut |event| {
        if let RunEvent::TrialEnded { trial, .. } = &event {
            assert!(ended.insert(trial.clone()), "{trial:?} ended twice");
        }
        if kill_at == Some(told) {
            invocation.killed = true; // what follows is lost with the process
            return;
        }
        told += 1;
        match &event {
            RunEvent::VisitStarted { launch, side } => {
                invocation.begun.insert((*launch, *side));
            }
            RunEvent::LaunchStarted { launch, .. } if interleaved => {
                invocation.begun.extend(all_sides(plan, *launch));
            }
            RunEvent::TrialEnded { trial, outcome: Outcome::Failed { reason: Reason::Said(_) }, .. } => {
                invocation.failed.insert((trial.launch, if interleaved { 0 } else { trial.side }));
            }
            _ => {}
        }
        writer.write(RUN, &event).unwrap();
    });
    assert_eq!((world.alive(), world.directories()), (0, 0), "something is left behind");
    let measured = world.actions.iter().filter(|action| matches!(action, Action::Measure { .. })).count();
    assert!(measured <= STEPS.len() * plan.subjects.len() * plan.layout.rounds as usize);
    invocation
}

fn all_sides(plan: &Plan, launch: u32) -> impl Iterator<Item = (u32, Side)> {
    (0..plan.subjects.len()).map(move |side| (launch, side))
}

/// Every trial has one outcome, and what is done has the blocks that belong to it, once.
fn check(record: &RunRecord) {
    let plan = &record.plan;
    let mut outcomes = BTreeMap::new();
    for ended in &record.trials {
        let again = outcomes.insert(&ended.trial, &ended.outcome);
        assert!(again.is_none(), "{:?} has two outcomes", ended.trial);
        if let Outcome::Failed { reason } | Outcome::Skipped { reason } = &ended.outcome {
            assert!(!reason.to_string().is_empty());
        }
    }
    let mut blocks: BTreeMap<&TrialKey, BTreeSet<BlockKind>> = BTreeMap::new();
    for block in &record.blocks {
        let is_new = blocks.entry(&block.trial).or_default().insert(block.kind);
        assert!(is_new, "{:?} was measured twice", block.trial);
        assert!(outcomes.contains_key(&block.trial), "{:?} has no outcome", block.trial);
    }
    let is_done = |trial: &TrialKey| outcomes.get(trial) == Some(&&Outcome::Done);
    for trial in outcomes.keys().filter(|trial| is_done(trial)) {
        assert!(blocks.contains_key(trial), "{trial:?} is done and has no block");
    }
    if !plan.is_interleaved_campaign() {
        let expected = plan.subjects.len() * plan.layout.rounds as usize * STEPS.len();
        assert_eq!(outcomes.len(), expected, "trials without an outcome");
        return;
    }
    let launches: Vec<u32> = record.launches.iter().map(|launch| launch.launch).collect();
    assert!(record.launches.iter().all(|launch| launch.took.is_some()), "a launch has no end");
    assert_eq!(launches, (1..).take(launches.len()).collect::<Vec<_>>(), "a launch is missing");
    let most = plan.rule.max_launches as usize;
    let left_early = !record.step_exits.is_empty();
    assert!(launches.len() == most || left_early && launches.len() < most, "{launches:?} of {most}");
    // What is compared has as many blocks on each side.
    for (trial, kinds) in blocks.iter().filter(|(trial, _)| is_done(trial)) {
        let others = (0..plan.subjects.len()).map(|side| TrialKey { side, ..(*trial).clone() });
        for other in others.filter(is_done) {
            assert_eq!(blocks.get(&other), Some(kinds), "{trial:?} and {other:?}");
        }
    }
}

/// What a run has of some visits.
fn of_visits<'a>(
    record: &'a RunRecord,
    visits: &BTreeSet<(u32, Side)>,
) -> (Vec<&'a TrialRecord>, Vec<&'a Block>) {
    let of_visit = |trial: &TrialKey| visits.contains(&(trial.launch, trial.side));
    let trials = record.trials.iter().filter(|ended| of_visit(&ended.trial)).collect();
    (trials, record.blocks.iter().filter(|block| of_visit(&block.trial)).collect())
}

fn campaign(seed: u64) -> usize {
    let mut draws = Draws(seed);
    let plan = draws.plan();
    let mut writer = Writer::in_memory().unwrap();
    let started = RunEvent::Started {
        run: RUN.to_owned(),
        at_us: 1,
        plan: Box::new(plan.clone()),
        host: Box::new(Host::default()),
    };
    writer.write(RUN, &started).unwrap();
    let interleaved = plan.is_interleaved_campaign();
    let mut before = Before::default();
    for invocation in 1.. {
        assert!(invocation < 50, "seed {seed}: never done");
        // The first few go wrong; a campaign ends when nothing does any more.
        let goes_wrong = invocation <= 4;
        let faults = if goes_wrong { draws.faults(&plan) } else { Vec::new() };
        let most_failed = faults.len();
        let kill_at = (goes_wrong && draws.below(2) == 0).then(|| draws.below(60));
        let at_begin = writer.store().load_run(RUN).unwrap();
        let (done, again, went) = if interleaved {
            let ended = 1..=referee::ended_launches(&at_begin);
            let campaign = if invocation == 1 {
                Campaign::new(plan.clone(), referee::of_plan(&plan, 2))
            } else {
                let (referee, before) = referee::resumed(&at_begin);
                Campaign::resumed(plan.clone(), referee, before)
            };
            let went = invoke(&mut writer, &plan, campaign, faults, kill_at);
            (ended.flat_map(|launch| all_sides(&plan, launch)).collect(), BTreeSet::new(), went)
        } else {
            let Before { done, again } = before.clone();
            let rounds = Rounds::new(plan.clone(), before);
            (done, again, invoke(&mut writer, &plan, rounds, faults, kill_at))
        };
        let Invocation { begun, killed, failed } = went;
        let record = writer.store().load_run(RUN).unwrap();
        assert!(begun.iter().all(|visit| !done.contains(visit)), "seed {seed}: measured again");
        let kept: BTreeSet<(u32, Side)> =
            done.union(&again).filter(|visit| !begun.contains(visit)).copied().collect();
        assert_eq!(of_visits(&at_begin, &kept), of_visits(&record, &kept), "seed {seed}: something was lost");
        assert!(failed.len() <= most_failed, "seed {seed}: {most_failed} faults cost {failed:?}");
        assert_eq!(killed, record.status == RunStatus::Unfinished, "seed {seed}: {:?}", record.status);
        let is_done = record.status == RunStatus::Ended(RunOutcome::Done);
        if is_done {
            check(&record);
        }
        if is_done && (interleaved || !goes_wrong || draws.below(2) == 0) {
            return invocation;
        }
        let measures_failed = !interleaved && (is_done || draws.below(3) == 0);
        let retry = if measures_failed { Retry::Failed } else { Retry::CutOff };
        let by = ResumedBy { at_us: 2, host: Host::default(), tool_version: "0".to_owned(), extension: None };
        let resumed = writer.resume(RUN, retry, &by).unwrap();
        before = Before { done: resumed.done, again: resumed.again };
    }
    unreachable!()
}

#[test]
fn a_campaign_that_is_stopped_and_killed_at_random_ends_with_every_trial_once() {
    let most = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || (1..=CAMPAIGNS).filter(|seed| seed % 2 == half).map(campaign).max())
        });
        halves.into_iter().map(|half| half.join().unwrap()).max().flatten()
    });
    assert!(most > Some(4), "nothing was stopped or killed: at most {most:?} invocations");
}

#[test]
fn a_run_that_is_gone_on_with_on_a_host_that_became_slower_says_so() {
    let mut record = testing::rounds::record();
    record.plan.tool_version = super::TOOL_VERSION.to_owned();
    let of = |value| Fingerprint {
        at_us: 1,
        host: record.host.name.clone(),
        boot_id: String::new(),
        device: None,
        figures: vec![HostFigure { name: "memory_latency_ns".to_owned(), value, spread: 0.01 }],
    };
    let (before, slower) = (of(181.0), of(240.0));
    let record = RunRecord { fingerprint: Some(before.clone()), ..record };
    let said = |now: Option<&Fingerprint>| super::changes_since(&record, &record.host, None, now).unwrap();
    let changes = vec!["memory_latency_ns: 181 then 240 (+32.6 %)".to_owned()];
    assert_eq!(said(Some(&slower)), Some(Warning::ResumedAfterChange { changes }));
    assert_eq!((said(Some(&before)), said(None)), (None, None));
}

#[test]
fn a_change_of_the_host_of_the_clients_is_told_and_another_machine_is_refused() {
    let mut record = testing::rounds::record();
    record.plan.tool_version = super::TOOL_VERSION.to_owned();
    let clients = Host { kernel: "6.1".to_owned(), ..record.host.clone() };
    record.plan.layout.server_host = Some(Box::new(ServerHost {
        target: "lab-1".to_owned(),
        address: None,
        clients: clients.clone(),
        round_trip: Nanos(1),
    }));
    let said = |now: &Host| super::changes_since(&record, &record.host, Some(now), None);
    assert_eq!(said(&clients).unwrap(), None);
    let newer = Host { kernel: "6.2".to_owned(), ..clients.clone() };
    let changes = vec!["host of the clients: kernel was 6.1, is 6.2".to_owned()];
    assert_eq!(said(&newer).unwrap(), Some(Warning::ResumedAfterChange { changes }));
    let other = Host { cpu_model: "another".to_owned(), ..clients };
    assert!(said(&other).unwrap_err().to_string().contains("host of the clients: CPU model was"));
}
