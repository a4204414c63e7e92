//! What is measured: blocks, whole steps and settling, each between two readings of its side's counters.

use super::leaving::KEPT_BYTES;
use super::waiting::Waiting;
use super::{BLOCK_TIMEOUT, REPLY_GRACE, RealWorld, request_name, running};
use crate::campaign::action::WorkerId;
use crate::campaign::measured::{EngineIn, MeasuredBlock};
use crate::campaign::world::{Failure, Performed, Severity};
use crate::clock::{self, Stopwatch};
use crate::proc::others::{self, OthersCpu};
use crate::proc::side::{self, SideReading};
use crate::process::output;
use crate::process::tool::{self, Tool, ToolError};
use crate::process::tree;
use crate::process::worker::{Meanwhile, WorkerError};
use crate::real::data_size;
use crate::real::db_bench;
use crate::real::profile::{Profiler, Work};
use model::block::TrialKey;
use model::counter::Counter;
use model::event::{Moment, RunEvent};
use model::record::engine_text_name;
use model::units::Nanos;
use model::wire::{BlockLimit, BlockReport, EngineText, FailureKind, Reply, Request};
use model::workload::{Operation, Settle, Step};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl RealWorld {
    /// Thaws a worker, runs one block, freezes it.
    pub(super) fn run_block(
        &mut self,
        id: WorkerId,
        trial: &TrialKey,
        cycle: u32,
        limit: BlockLimit,
    ) -> Result<Performed, Failure> {
        self.set_storage(id)?;
        let watch = Stopwatch::start();
        let device = self.storage.device(id.side).map(str::to_owned);
        let interrupted = Arc::clone(&self.interrupted);
        let side = self.measured_side(id)?;
        let before = side.read(device.as_deref());
        // Every second cycle is not sampled: what sampling costs is known from the others.
        let profiler = self.profiler.as_mut();
        let processes =
            profiler.map(|profiler| side.followed(profiler, cycle.is_multiple_of(2))).unwrap_or_default();
        self.thaw_side(id);
        let worker = running(&mut self.workers, &self.labels, id)?;
        let mut server = self.servers.get_mut(&id);
        let mut stuck = None;
        let started_at_us = clock::epoch_us();
        let replied = worker
            .send_then_freeze(&Request::RunBlock { limit, warm_up: false, seconds: false })
            .and_then(|()| {
                worker.receive_seconds("run-block", BLOCK_TIMEOUT, &mut |_| {
                    stuck = server.as_mut().and_then(|server| server.gets_on().err());
                    stuck.is_none() && !interrupted.load(Ordering::Relaxed)
                })
            });
        if let Some(profiler) = &mut self.profiler {
            profiler.ended();
        }
        let frozen = self.freeze_side(id);
        let spent = side::difference(&before, &side.read(device.as_deref()));
        let reply = replied.map_err(|error| match &stuck {
            Some(stuck) => self.fail_server(id, "running a block", stuck),
            None => self.fail_worker(id, "running a block", &error),
        })?;
        frozen.map_err(|error| self.fail_worker(id, "freezing it after a block", &error))?;
        let Reply::Block(report) = reply else {
            return Err(self.fail(id, "running a block", &WorkerError::Protocol(format!("{reply:?}"))));
        };
        self.check_disk(id, "running a block", &report)?;
        if let Some(profiler) = &mut self.profiler {
            profiler.take_block(trial, &processes, work(&report, &spent));
        }
        self.edges += watch.elapsed().saturating_sub(report.wall);
        self.blocks += 1;
        Ok(self.measured(id, started_at_us, report, spent))
    }

    /// Runs a step in one go.
    pub(super) fn measure(
        &mut self,
        id: WorkerId,
        trial: &TrialKey,
        limit: BlockLimit,
        timeout: Nanos,
        tell: &mut dyn FnMut(RunEvent),
    ) -> Result<Performed, Failure> {
        self.pauses.end();
        let request = Request::RunBlock { limit, warm_up: false, seconds: true };
        let device = self.storage.device(id.side).map(str::to_owned);
        let slow_before = self.slow_device_cpu(id);
        let side = self.measured_side(id)?;
        let profiler = &mut self.profiler;
        let processes = profiler.as_mut().map(|profiler| side.followed(profiler, true)).unwrap_or_default();
        let worker = running(&mut self.workers, &self.labels, id)?;
        let mut waiting =
            Waiting::new(&self.sampler, &self.interrupted, &mut *tell, self.servers.get_mut(&id));
        let streams: Vec<&str> = self.plan.workload.streams(&trial.step).collect();
        let began = Began::now(side, device.as_deref());
        let started_at_us = clock::epoch_us();
        let replied = worker.send(&request).and_then(|()| {
            worker.receive_seconds(request_name(&request), timeout, &mut |meanwhile| match meanwhile {
                Meanwhile::Waited => {
                    if let Some(profiler) = profiler {
                        profiler.take_samples(trial, &processes);
                    }
                    waiting.go_on()
                }
                Meanwhile::Second(stream, second) => {
                    if let Some(step) = streams.get(stream.place()) {
                        let trial = TrialKey { step: (*step).to_owned(), ..trial.clone() };
                        (waiting.tell)(RunEvent::SecondMeasured { trial, second });
                    }
                    true
                }
            })
        });
        let mut spent = began.spent(device.as_deref());
        let stuck = waiting.stuck;
        let reply = replied.map_err(|error| match stuck {
            Some(stuck) => self.fail_server(id, &format!("running {}", trial.step), &stuck),
            None => self.fail_step(id, &trial.step, &error),
        })?;
        self.pauses.begin();
        let Reply::Block(mut report) = reply else {
            return Err(self.fail(id, "running a step", &WorkerError::Protocol(format!("{reply:?}"))));
        };
        self.check_disk(id, &format!("running {}", trial.step), &report)?;
        if let Some(profiler) = &mut self.profiler {
            profiler.ended();
            profiler.take_block(trial, &processes, work(&report, &spent));
        }
        let data = (!self.plan.workload.is_fio()).then(|| self.data_directory(id));
        spent.counters.extend(
            data.and_then(|data| data_size::allocated(&data)).map(|bytes| (Counter::DirectoryBytes, bytes.0)),
        );
        // A device that is slow on purpose is no part of the host that is measured.
        if let Some(host) = report.counters.get_mut(&Counter::HostCpuMicros) {
            let slow = self.slow_device_cpu(id).saturating_sub(slow_before);
            *host = host.saturating_sub(slow.0 / 1000);
        }
        Ok(self.measured(id, started_at_us, report, spent))
    }

    /// A job of fio that failed leaves the file as it should be, and those after it go on; an engine that failed is not to be trusted.
    fn fail_step(&mut self, id: WorkerId, step: &str, error: &WorkerError) -> Failure {
        let failure = self.fail_worker(id, &format!("running {step}"), error);
        let is_job =
            self.plan.workload.step(step).is_ok_and(|step| matches!(step.operation, Operation::Fio(_)));
        match (failure.severity, error) {
            (Severity::Launch, WorkerError::Refused { .. }) if is_job => {
                Failure { severity: Severity::Step, ..failure }
            }
            _ => failure,
        }
    }

    /// Waits for a shape of the tree; what that costs is a block without operations of the client.
    pub(super) fn drain(
        &mut self,
        id: WorkerId,
        to: Settle,
        timeout: Nanos,
        tell: &mut dyn FnMut(RunEvent),
    ) -> Result<Performed, Failure> {
        let device = self.storage.device(id.side).map(str::to_owned);
        let began = Began::now(self.measured_side(id)?, device.as_deref());
        let started_at_us = clock::epoch_us();
        // The worker gives up at the timeout; it is given a while to say so.
        let settle = [(id, Request::Settle { to, timeout })];
        let Performed::Replies(replies) = self.ask(&settle, timeout + REPLY_GRACE, tell)? else {
            return Err(self.fail(id, "settling", &WorkerError::Protocol("no reply".to_owned())));
        };
        let spent = began.spent(device.as_deref());
        let waited = replies.into_iter().find_map(|(_, reply)| match reply {
            Reply::Settled { waited } => Some(waited),
            _ => None,
        });
        let report = BlockReport { wall: waited.unwrap_or_default(), ..BlockReport::default() };
        Ok(self.measured(id, started_at_us, report, spent))
    }

    /// Runs a step by the user's db_bench.
    pub(super) fn run_db_bench(
        &mut self,
        id: WorkerId,
        trial: &TrialKey,
        benchmark: &str,
        arguments: &[String],
        timeout: Nanos,
        tell: &mut dyn FnMut(RunEvent),
    ) -> Result<Performed, Failure> {
        self.pauses.end();
        let step = trial.step.as_str();
        let directory = self.worker_directory(id);
        let program = self.plan.layout.db_bench.get(&id.side).cloned().unwrap_or_default();
        let output = directory.join("db_bench.txt");
        let set = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let environment = self.plan.subjects[id.side].config.environment.iter().map(set).collect();
        let tool = Tool {
            program: &program,
            arguments,
            directory: &directory,
            output: &output,
            timeout,
            without: &[],
            with: &environment,
        };
        let device = self.storage.device(id.side).map(str::to_owned);
        let began = Began::now(MeasuredSide::Device, device.as_deref());
        let mut waiting = Waiting::new(&self.sampler, &self.interrupted, &mut *tell, None);
        let ran = tool::run(
            &tool,
            |pid| match &self.memory_group {
                Some(group) => group.add(pid).map_err(std::io::Error::other),
                None => Ok(()),
            },
            &mut || !waiting.go_on(),
        );
        let of_device = began.spent(device.as_deref());
        // Before it is read: of one that failed it says why. It holds RocksDB's own statistics, and is read as such when a
        // report is made.
        let text = output::head_and_tail(&output, KEPT_BYTES).unwrap_or_default();
        let name = engine_text_name(step, Moment::After, EngineText::Stats);
        tell(RunEvent::RawOutput { launch: trial.launch, side: trial.side, name, text });
        let mut ran = ran.map_err(|error| {
            let failure = self.fail(id, step, &error);
            let severity = match error {
                ToolError::Interrupted => Severity::Interrupted,
                ToolError::Start { .. } | ToolError::TimedOut { .. } | ToolError::Failed { .. } => {
                    failure.severity
                }
            };
            Failure { severity, ..failure }
        })?;
        self.pauses.begin();
        ran.counters.extend(of_device.counters);
        let definition = self.plan.workload.step(step).ok();
        if definition.is_some_and(Step::only_settles) {
            return Ok(Performed::Done); // it prints no result, and none is asked for
        }
        let threads = definition.map_or(1, |step| step.threads);
        let result = db_bench::result_of(benchmark, threads, ran);
        // The database is as it should be even where the output cannot be read: the next step can go on.
        let result =
            result.map_err(|error| Failure { severity: Severity::Step, ..self.fail(id, step, &error) })?;
        Ok(Performed::DbBench(Box::new(result)))
    }

    /// Operations that failed are a warning of their trial, except on a disk that takes nothing more: those that follow would fail too,
    /// and at the speed of failing.
    fn check_disk(&self, id: WorkerId, doing: &str, report: &BlockReport) -> Result<(), Failure> {
        match &report.first_error {
            Some(message) if self.unwritable(id.side, message).is_some() => {
                let error = WorkerError::Refused { kind: FailureKind::Engine, message: message.clone() };
                Err(self.fail(id, doing, &error))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whose resources are the side's: the server's, or those of the worker that has the engine in it.
    fn measured_side(&mut self, id: WorkerId) -> Result<MeasuredSide, Failure> {
        if self.elsewhere(id.side).is_some() {
            return Ok(MeasuredSide::Nothing);
        }
        Ok(MeasuredSide::Process(match self.servers.get(&id) {
            Some(server) => server.pid(),
            None => self.worker(id)?.pid(),
        }))
    }

    fn measured(
        &self,
        id: WorkerId,
        started_at_us: i64,
        report: BlockReport,
        mut spent: SideReading,
    ) -> Performed {
        let engine = if self.servers.contains_key(&id) {
            EngineIn::Server(spent.busiest(report.thread_cpu.len()))
        } else if self.elsewhere(id.side).is_some() {
            EngineIn::Elsewhere
        } else {
            EngineIn::Worker
        };
        if self.plan.workload.is_fio() {
            // Its start is in what the kernel counts for the worker, and not in what it says of its jobs.
            spent.process_cpu = None;
            spent.counters.extend(report.counters.clone());
            // And so is what others did while it started.
            let span = Nanos(clock::epoch_us().abs_diff(started_at_us) * 1000);
            let (wall, span) = (u128::from(report.wall.0), u128::from(span.0.max(report.wall.0).max(1)));
            for counter in [Counter::OtherCpuMicros, Counter::StolenCpuMicros] {
                let Some(others) = spent.counters.get_mut(&counter) else { continue };
                *others = u64::try_from(u128::from(*others) * wall / span).unwrap_or(*others);
            }
        }
        Performed::Block(Box::new(MeasuredBlock {
            report,
            started_at_us: Some(started_at_us),
            process_cpu: spent.process_cpu,
            engine,
            counters: spent.counters,
        }))
    }
}

fn work(report: &BlockReport, spent: &SideReading) -> Work {
    Work { operations: report.operations, cpu: spent.process_cpu.unwrap_or_default(), wall: report.wall }
}

/// What can be read of a side.
#[derive(Debug, Clone, Copy)]
enum MeasuredSide {
    /// A process of ours with all below it, and the device.
    Process(u32),
    /// The device alone: its process is not there yet.
    Device,
    /// Nothing: it is a server that is not ours.
    Nothing,
}

impl MeasuredSide {
    /// Has the stacks of its processes sampled from now on, or not, and says which these are.
    fn followed(self, profiler: &mut Profiler, samples: bool) -> Vec<u32> {
        let MeasuredSide::Process(pid) = self else { return Vec::new() };
        let processes = tree::descendants(pid);
        profiler.follow(&processes, samples);
        processes
    }

    fn read(self, device: Option<&str>) -> SideReading {
        match self {
            MeasuredSide::Process(pid) => side::read(pid, device),
            MeasuredSide::Device => side::read_device(device),
            MeasuredSide::Nothing => SideReading::default(),
        }
    }
}

/// A side and the host when something that takes seconds began: a block of 20 ms is too short for ticks.
struct Began {
    measured: MeasuredSide,
    side: SideReading,
    others: OthersCpu,
}

impl Began {
    fn now(measured: MeasuredSide, device: Option<&str>) -> Began {
        Began { others: others::read(), side: measured.read(device), measured }
    }

    /// What the side, and others on the host, had since. A server that is not ours may be among these others.
    fn spent(&self, device: Option<&str>) -> SideReading {
        let mut spent = side::difference(&self.side, &self.measured.read(device));
        if !matches!(self.measured, MeasuredSide::Nothing) {
            let now = others::read();
            spent.counters.insert(Counter::OtherCpuMicros, others::taken_between(self.others, now));
            spent.counters.insert(Counter::StolenCpuMicros, others::stolen_between(self.others, now));
            spent.counters.insert(Counter::HostCpuMicros, others::busy_between(self.others, now));
        }
        spent
    }
}
