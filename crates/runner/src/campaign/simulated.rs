//! The simulated twin of the world: workers that answer at once, a clock that only actions move, and faults
//! where a test wants them. It asserts what the real world could only suffer.

mod trouble;

use super::action::{Action, Role, WorkerId};
use super::measured::{EngineIn, MeasuredBlock};
use super::world::{DbBenchRun, Failure, Performed, Severity, World};
use model::block::Latency;
use model::counter::Counters;
use model::event::RunEvent;
use model::host::HarnessCost;
use model::plan::Plan;
use model::shape::Shape;
use model::units::{Bytes, Nanos};
use model::wire::{BlockLimit, BlockReport, Reply, Request};
use model::workload::Operation;
use std::collections::{BTreeMap, BTreeSet};

pub use trouble::Trouble;

/// Something that goes wrong once.
#[derive(Debug, Clone)]
pub enum Fault {
    /// A worker crashes while a step runs.
    Crash { role: Role, side: usize, step: String, launch: u32 },
    /// A release does not support a step.
    Unsupported { side: usize, step: String },
    /// A side refuses a step when it is made ready.
    Refused { side: usize, step: String },
    /// Directories cannot be made any more from this launch on.
    FullDisk { launch: u32 },
    /// The user stops the run in this launch.
    Interrupt { launch: u32 },
    /// The host is suspended for five seconds while a step runs.
    Suspend { side: usize, step: String, launch: u32 },
    /// In the action of this number, or in the next one that can suffer from it.
    At {
        /// From 1.
        action: usize,
        /// Which of its workers, counted round and round.
        place: usize,
        trouble: Trouble,
    },
}

impl Fault {
    pub fn crash(role: Role, side: usize, step: &str, launch: u32) -> Fault {
        Fault::Crash { role, side, step: step.to_owned(), launch }
    }

    pub fn full_disk(launch: u32) -> Fault {
        Fault::FullDisk { launch }
    }

    pub fn interrupt(launch: u32) -> Fault {
        Fault::Interrupt { launch }
    }

    pub fn suspend(side: usize, step: &str, launch: u32) -> Fault {
        Fault::Suspend { side, step: step.to_owned(), launch }
    }
}

/// A million operations a second, whatever they are.
const NANOS_PER_OPERATION: u64 = 1000;
/// Everything but blocks takes this long.
const ACTION_TIME: Nanos = Nanos::from_millis(50);

#[derive(Debug, Default)]
struct SimulatedWorker {
    frozen: bool,
    open: bool,
    prepared: bool,
    /// It has failed, and is good for nothing but to be removed.
    dead: bool,
}

/// A world without processes in which faults happen on demand.
pub struct SimulatedWorld {
    pub time: Nanos,
    suspended: Nanos,
    /// By how much the clock was set.
    clock_step_us: i64,
    pub actions: Vec<Action>,
    pub blocks_run: u64,
    faults: Vec<Fault>,
    /// Whether engines are servers.
    of_servers: bool,
    launch: u32,
    workers: BTreeMap<WorkerId, SimulatedWorker>,
    directories: BTreeSet<WorkerId>,
    step: String,
    /// Of the step that was made ready last.
    companions: usize,
}

impl SimulatedWorld {
    pub fn new(faults: Vec<Fault>) -> SimulatedWorld {
        SimulatedWorld {
            time: Nanos(0),
            suspended: Nanos(0),
            clock_step_us: 0,
            actions: Vec::new(),
            blocks_run: 0,
            faults,
            of_servers: false,
            launch: 0,
            workers: BTreeMap::new(),
            directories: BTreeSet::new(),
            step: String::new(),
            companions: 0,
        }
    }

    /// With the engines of the plan.
    pub fn of(plan: &Plan, faults: Vec<Fault>) -> SimulatedWorld {
        SimulatedWorld { of_servers: plan.workload.is_sql(), ..SimulatedWorld::new(faults) }
    }

    pub fn alive(&self) -> usize {
        self.workers.len()
    }

    pub fn directories(&self) -> usize {
        self.directories.len()
    }

    fn worker(&mut self, id: WorkerId) -> &mut SimulatedWorker {
        let worker = self.workers.get_mut(&id);
        let worker = worker.unwrap_or_else(|| panic!("{id:?} was never started or has ended"));
        assert!(!worker.dead, "something is asked of {id:?}, which has failed");
        worker
    }

    /// What befalls an action, and the worker that it befalls.
    fn befall(&mut self, action: &Action) -> Option<(Option<WorkerId>, Failure)> {
        let now = self.actions.len();
        let due = |fault: &Fault| matches!(fault, Fault::At { action: at, trouble, .. } if *at <= now && trouble.befalls(action));
        let position = self.faults.iter().position(due)?;
        let Fault::At { place, trouble, .. } = self.faults.remove(position) else { return None };
        self.clock_step_us += trouble.clock_step_us();
        match trouble {
            Trouble::Hang => self.time += trouble::timeout(action),
            Trouble::Suspend => self.suspended += Nanos::from_secs(5),
            _ => {}
        }
        let (reason, severity) = trouble.failure()?;
        let workers = trouble::workers(action);
        // Of an interrupt no worker is the cause.
        let of_worker = severity != Severity::Interrupted;
        let worker = of_worker.then(|| workers[place % workers.len()]);
        Some((worker, Failure::new(worker.map(|id| id.side), reason.to_owned(), severity)))
    }

    /// What the real world has done of an action when one of its workers fails: all of it on the others where they are worked on at
    /// the same time, else on those before it.
    fn do_partly(&mut self, action: &Action, failed: WorkerId, failure: &mut Failure) {
        let before = |workers: &[WorkerId]| -> Vec<WorkerId> {
            workers.iter().copied().take_while(|id| *id != failed).collect()
        };
        match action {
            Action::MakeDirectories { launch, workers } => {
                self.launch = *launch;
                self.directories.extend(before(workers));
            }
            Action::Start { workers } => {
                workers.iter().filter(|id| **id != failed).for_each(|id| self.start(*id))
            }
            Action::Ask { requests, .. } => {
                for (id, request) in requests.iter().filter(|(id, _)| *id != failed) {
                    let reply = self.reply(*id, request);
                    failure.others.push((*id, reply));
                }
            }
            Action::Freeze { workers } => {
                before(workers).into_iter().for_each(|id| self.worker(id).frozen = true)
            }
            Action::RemoveDirectories { workers } => {
                before(workers).iter().for_each(|id| assert!(self.directories.remove(id)))
            }
            _ => {}
        }
        if let Some(worker) = self.workers.get_mut(&failed) {
            worker.dead = true;
        }
    }

    fn start(&mut self, id: WorkerId) {
        assert!(self.directories.contains(&id), "{id:?} has no directory");
        let worker = SimulatedWorker { open: self.of_servers, ..SimulatedWorker::default() };
        assert!(self.workers.insert(id, worker).is_none(), "{id:?} was started twice");
    }

    fn crash(&mut self, id: WorkerId) -> Option<Failure> {
        let launch = self.launch;
        let step = self.step.clone();
        let due = |fault: &Fault| match fault {
            Fault::Crash { role, side, step: at, launch: when } => {
                (*role, *side, at, *when) == (id.role, id.side, &step, launch)
            }
            Fault::FullDisk { .. }
            | Fault::Interrupt { .. }
            | Fault::Unsupported { .. }
            | Fault::Refused { .. }
            | Fault::Suspend { .. }
            | Fault::At { .. } => false,
        };
        let position = self.faults.iter().position(due)?;
        self.faults.remove(position);
        Some(Failure::new(Some(id.side), "the worker was killed by signal 11".to_owned(), Severity::Launch))
    }

    fn suspend(&mut self, id: WorkerId) {
        let now = (id.side, &self.step, self.launch);
        let due = |fault: &Fault| matches!(fault, Fault::Suspend { side, step, launch } if (*side, step, *launch) == now);
        if let Some(position) = self.faults.iter().position(due) {
            self.faults.remove(position);
            self.suspended += Nanos::from_secs(5);
        }
    }

    /// The step that was just made ready is one that this side's release does not support.
    fn refusal(&self, id: WorkerId) -> Option<Failure> {
        let refused = |fault: &Fault| matches!(fault, Fault::Refused { side, step } if (*side, step) == (id.side, &self.step));
        self.faults.iter().any(refused).then(|| {
            Failure::new(Some(id.side), "the server refuses the statement".to_owned(), Severity::NotSupported)
        })
    }

    fn reply(&mut self, id: WorkerId, request: &Request) -> Reply {
        if let Request::Prepare(setup) = request {
            self.companions = setup.companions.len();
            self.step = match setup.operation {
                Operation::FillSequential => "fillseq".to_owned(),
                Operation::ReadRandom => "readrandom".to_owned(),
                _ => "overwrite".to_owned(),
            };
        }
        let companions = self.companions;
        let worker = self.worker(id);
        assert!(!worker.frozen, "{request:?} was sent to the frozen {id:?}");
        match request {
            Request::Load { .. } => Reply::Loaded { missing_symbols: Vec::new(), facts: BTreeMap::new() },
            Request::Open { .. } => {
                assert!(!std::mem::replace(&mut worker.open, true));
                Reply::Opened
            }
            Request::BulkLoad { data, .. } => Reply::BulkLoaded { keys: data.keys },
            Request::Scan { data, .. } => Reply::Scanned { keys: data.keys },
            Request::Prepare(_) => {
                assert!(worker.open && !std::mem::replace(&mut worker.prepared, true));
                Reply::Prepared
            }
            Request::RunBlock { limit, .. } => {
                assert!(worker.prepared);
                Reply::Block(self.block(*limit))
            }
            Request::FinishStep => {
                assert!(std::mem::replace(&mut worker.prepared, false));
                Reply::StepFinished { latency: latency(), companions: vec![latency(); companions] }
            }
            Request::AbandonStep => {
                worker.prepared = false;
                Reply::Abandoned
            }
            Request::Settle { .. } => Reply::Settled { waited: Nanos(0) },
            Request::ClaimTables { .. } => Reply::TablesClaimed,
            Request::DropTables => Reply::TablesDropped,
            Request::WatchOthers { .. } => Reply::OthersWatched { statements: Some(0) },
            Request::ReadShape => Reply::Shape(Shape::default()),
            Request::ReadText { .. } => Reply::Text { text: Some("text".to_owned()) },
            Request::ExplainStatements(_) => Reply::Text { text: Some("[]".to_owned()) },
            Request::Close => {
                assert!(std::mem::replace(&mut worker.open, false));
                Reply::Closed
            }
            Request::Exit => Reply::Bye { heap_peak: Bytes(0) },
        }
    }

    fn block(&mut self, limit: BlockLimit) -> BlockReport {
        let (operations, wall) = match limit {
            BlockLimit::Time { wall } => (wall.0 / NANOS_PER_OPERATION, wall),
            BlockLimit::Operations { count } => (count, Nanos(count * NANOS_PER_OPERATION)),
        };
        self.time += wall;
        BlockReport {
            operations,
            failed_operations: 0,
            first_error: None,
            wall,
            thread_cpu: vec![wall],
            thread_run_delay: Some(vec![Nanos(0)]),
            process_cpu: wall,
            companions: vec![BlockReport { operations: 7, wall, ..BlockReport::default() }; self.companions],
            ..BlockReport::default()
        }
    }
}

fn measured(report: BlockReport) -> Performed {
    Performed::Block(Box::new(MeasuredBlock {
        started_at_us: None,
        process_cpu: Some(report.process_cpu),
        engine: EngineIn::Worker,
        report,
        counters: Counters::new(),
    }))
}

fn latency() -> Latency {
    Latency {
        count: 1,
        p50: Nanos(1),
        p99: Nanos(1),
        p999: Nanos(1),
        p9999: None,
        max: Nanos(1),
        histogram: String::new(),
    }
}

impl World for SimulatedWorld {
    fn now(&self) -> Nanos {
        self.time
    }

    fn epoch_us(&self) -> i64 {
        i64::try_from(self.time.0 / 1000).unwrap_or(i64::MAX).saturating_add(self.clock_step_us)
    }

    fn suspended(&self) -> Nanos {
        self.suspended
    }

    fn perform(&mut self, action: &Action, _tell: &mut dyn FnMut(RunEvent)) -> Result<Performed, Failure> {
        self.time += ACTION_TIME;
        self.actions.push(action.clone());
        if let Some((worker, mut failure)) = self.befall(action) {
            if let Some(worker) = worker {
                self.do_partly(action, worker, &mut failure);
            }
            return Err(failure);
        }
        match action {
            Action::MakeDirectories { launch, workers } => {
                self.launch = *launch;
                for fault in &self.faults {
                    match fault {
                        Fault::FullDisk { launch: when } if *when == *launch => {
                            let reason = "no space left".to_owned();
                            return Err(Failure::new(None, reason, Severity::Run));
                        }
                        Fault::Interrupt { launch: when } if *when == *launch => {
                            let reason = "interrupted".to_owned();
                            return Err(Failure::new(None, reason, Severity::Interrupted));
                        }
                        Fault::FullDisk { .. }
                        | Fault::Interrupt { .. }
                        | Fault::Crash { .. }
                        | Fault::Unsupported { .. }
                        | Fault::Refused { .. }
                        | Fault::Suspend { .. }
                        | Fault::At { .. } => {}
                    }
                }
                self.directories.extend(workers);
            }
            Action::Start { workers } => workers.iter().for_each(|id| self.start(*id)),
            Action::Ask { requests, .. } => {
                let (mut replies, mut failed) = (Vec::new(), Vec::new());
                for (id, request) in requests {
                    let reply = self.reply(*id, request);
                    let runs = matches!(request, Request::RunBlock { .. });
                    if let (Request::Prepare(_), Some(failure)) = (request, self.refusal(*id)) {
                        self.worker(*id).prepared = false;
                        failed.push(failure);
                    } else if let Some(failure) = runs.then(|| self.crash(*id)).flatten() {
                        failed.push(failure);
                    } else {
                        replies.push((*id, reply));
                    }
                }
                return Failure::replies_unless(failed, replies).map(Performed::Replies);
            }
            Action::LinkImage { builder, readers } => {
                assert!(self.directories.contains(builder) && !self.workers.contains_key(builder));
                assert!(readers.iter().all(|reader| self.directories.contains(reader)));
            }
            Action::Freeze { workers } => {
                for id in workers {
                    self.worker(*id).frozen = true;
                }
            }
            Action::Thaw { workers } => {
                for id in workers {
                    self.worker(*id).frozen = false;
                }
            }
            Action::RunBlock { worker, limit, trial, .. } => {
                assert!(self.workers.values().all(|other| other.frozen), "all stand still between blocks");
                assert!(self.worker(*worker).prepared);
                self.step.clone_from(&trial.step);
                if let Some(failure) = self.crash(*worker) {
                    return Err(failure);
                }
                self.suspend(*worker);
                self.blocks_run += 1;
                return Ok(measured(self.block(*limit)));
            }
            Action::Measure { worker, trial, limit, .. } => {
                assert_eq!(self.workers.len(), 1, "one subject is alive at a time");
                assert!(self.worker(*worker).prepared);
                self.step.clone_from(&trial.step);
                let refused = |fault: &Fault| {
                    matches!(fault, Fault::Unsupported { side, step }
                        if (*side, step) == (worker.side, &trial.step))
                };
                if self.faults.iter().any(refused) {
                    self.worker(*worker).prepared = false;
                    let reason = "not supported".to_owned();
                    return Err(Failure::new(Some(worker.side), reason, Severity::NotSupported));
                }
                if let Some(failure) = self.crash(*worker) {
                    return Err(failure);
                }
                self.suspend(*worker);
                self.blocks_run += 1;
                return Ok(measured(self.block(*limit)));
            }
            Action::Drain { worker, .. } => {
                assert!(self.worker(*worker).open && !self.worker(*worker).prepared);
                return Ok(measured(BlockReport::default()));
            }
            Action::Evict { worker } | Action::RemoveDatabase { worker } => {
                assert!(self.directories.contains(worker) && !self.workers.contains_key(worker));
            }
            Action::RunDbBench { worker, trial, .. } => {
                assert!(self.directories.contains(worker) && self.workers.is_empty());
                self.step.clone_from(&trial.step);
                let measured = MeasuredBlock {
                    report: BlockReport::default(),
                    started_at_us: None,
                    process_cpu: None,
                    engine: EngineIn::Worker,
                    counters: Counters::new(),
                };
                return Ok(Performed::DbBench(Box::new(DbBenchRun { measured, latency: None })));
            }
            Action::DrainDevice => {}
            Action::Collect { .. } => return Ok(Performed::Texts(Vec::new())),
            Action::Stop { workers, .. } => {
                for id in workers {
                    let worker = self.worker(*id);
                    assert!(!worker.open && !worker.frozen, "{id:?} is stopped only after it was closed");
                    self.workers.remove(id);
                }
            }
            Action::RemoveDirectories { workers } => {
                for id in workers {
                    assert!(!self.workers.contains_key(id) && self.directories.remove(id));
                }
            }
            Action::Abandon => self.clean_up(&mut |_| {}),
            Action::AbandonSide { worker } => {
                self.workers.remove(worker);
                self.directories.remove(worker);
            }
        }
        Ok(Performed::Done)
    }

    fn clean_up(&mut self, _tell: &mut dyn FnMut(RunEvent)) {
        self.workers.clear();
        self.directories.clear();
    }

    fn observed(&mut self) -> Vec<RunEvent> {
        Vec::new()
    }

    fn cost(&self) -> HarnessCost {
        HarnessCost::default()
    }
}
