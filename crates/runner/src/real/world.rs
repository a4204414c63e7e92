//! [`World`] on this host.

use super::image::link_database;
use super::loop_device::{LoopDeviceError, LoopFileSystem};
use super::memory_limit::{MemoryGroup, MemoryLimitError};
use super::page_cache;
use super::pauses::Pauses;
use super::run_directory::RunDirectory;
use super::sampler::Sampler;
use super::{client_cost, db_bench};
use crate::campaign::action::{Action, Role, WorkerId};
use crate::campaign::world::{Failure, MeasuredBlock, Performed, Severity, World};
use crate::clock::{self, Stopwatch};
use crate::marked_dir;
use crate::proc::side::SideReading;
use crate::proc::{host, parse, side};
use crate::process::tool::{self, Tool, ToolError};
use crate::process::worker::{Worker, WorkerCommand, WorkerError};
use model::block::TrialKey;
use model::event::RunEvent;
use model::host::HarnessCost;
use model::plan::Plan;
use model::units::Nanos;
use model::wire::{BlockLimit, BlockReport, FailureKind, Library, Reply, Request};
use model::workload::{Settle, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The engine's database within a worker's directory.
const DATABASE: &str = "db";
/// Where a builder puts files before they are ingested.
const SCRATCH: &str = "scratch";
/// More dirty bytes than this are written out before a step that writes: what a step before it left behind
/// must not fall into its blocks.
const DIRTY_BOUND_BYTES: u64 = 32 << 20;
/// A block longer than this hangs.
const BLOCK_BOUND: Nanos = Nanos::from_secs(600);
/// A worker that waits up to a bound says that it has given up within this.
const REPLY_GRACE: Nanos = Nanos::from_secs(30);
/// Bytes of an engine's LOG that are kept of each launch.
const LOG_BYTES: usize = 128 << 10;

/// What a plan asks of this host and it cannot give.
#[derive(Debug, thiserror::Error)]
pub enum CannotProvide {
    /// A device with limits of its own.
    #[error(transparent)]
    LoopDevice(#[from] LoopDeviceError),
    /// A memory limit.
    #[error(transparent)]
    MemoryLimit(#[from] MemoryLimitError),
}

/// The real world of one run.
pub struct RealWorld {
    program: PathBuf,
    labels: Vec<String>,
    libraries: Vec<PathBuf>,
    /// Where databases are: on the loop device where there is one.
    root: PathBuf,
    device: Option<String>,
    interrupted: Arc<AtomicBool>,
    plan: Plan,
    watch: Stopwatch,
    launch: u32,
    workers: BTreeMap<WorkerId, Worker>,
    sampler: Sampler,
    edges: Nanos,
    blocks: u64,
    heap_peak: u64,
    client_cpu_ns_per_op: Option<f64>,
    /// Time between the steps of a visit that is ours and not the engine's.
    pauses: Pauses,
    /// What happened beside the actions.
    told: Vec<RunEvent>,
    /// Directories of workers that were made and not yet removed.
    made: BTreeSet<WorkerId>,
    // These three in this order, and after the workers, which have files open on the first and are in the second.
    loop_file_system: Option<LoopFileSystem>,
    memory_group: Option<MemoryGroup>,
    directory: RunDirectory,
}

impl RealWorld {
    /// A world for a plan. `watch` runs since the plan was made; `program` serves requests when called with
    /// the argument `worker`; `interrupted` is set by the user's wish to stop.
    pub fn new(
        plan: &Plan,
        program: PathBuf,
        directory: RunDirectory,
        watch: Stopwatch,
        interrupted: Arc<AtomicBool>,
    ) -> Result<RealWorld, CannotProvide> {
        let loop_file_system = plan
            .layout
            .loop_device
            .as_ref()
            .map(|spec| LoopFileSystem::create(directory.path(), spec))
            .transpose()?;
        let memory_group = plan
            .layout
            .memory_limit
            .map(|limit| MemoryGroup::create(&group_name(directory.path()), limit))
            .transpose()?;
        let root = match &loop_file_system {
            Some(file_system) => file_system.path().to_owned(),
            None => directory.path().to_owned(),
        };
        let device = host::describe(&root).device;
        Ok(RealWorld {
            root,
            program,
            labels: plan.subjects.iter().map(|subject| subject.reference.to_string()).collect(),
            libraries: plan.subjects.iter().map(|subject| subject.build.library.clone()).collect(),
            sampler: Sampler::start(device.clone()),
            directory,
            device,
            interrupted,
            plan: plan.clone(),
            watch,
            launch: 0,
            workers: BTreeMap::new(),
            edges: Nanos(0),
            blocks: 0,
            heap_peak: 0,
            client_cpu_ns_per_op: None,
            pauses: Pauses::default(),
            told: Vec::new(),
            made: BTreeSet::new(),
            loop_file_system,
            memory_group,
        })
    }

    fn worker_directory(&self, worker: WorkerId) -> PathBuf {
        let role = match worker.role {
            Role::Builder => 'b',
            Role::Reader => 'r',
            Role::Writer => 'w',
        };
        self.root.join(format!("{:04}-{role}{}", self.launch, worker.slot))
    }

    fn fail(&self, worker: WorkerId, doing: &str, error: &dyn Error) -> Failure {
        let mut reason = format!("{}, {doing}: {error}", self.labels[worker.side]);
        let mut cause = error.source();
        while let Some(error) = cause {
            reason.push_str(&format!(": {error}"));
            cause = error.source();
        }
        let severity = if reason.contains("No space left on device") {
            reason.push_str(
                "; free space on the file system of the work directory, or name another by --work-dir",
            );
            Severity::Run
        } else {
            Severity::Launch
        };
        Failure { side: Some(worker.side), reason, severity }
    }

    fn fail_worker(&self, worker: WorkerId, doing: &str, error: &WorkerError) -> Failure {
        let failure = self.fail(worker, doing, error);
        match error {
            WorkerError::Interrupted => Failure { severity: Severity::Interrupted, ..failure },
            WorkerError::Start { .. } => Failure { severity: Severity::Run, ..failure },
            WorkerError::Refused { kind: FailureKind::NotSupported, .. } => {
                Failure { severity: Severity::Step, ..failure }
            }
            _ if self.interrupted.load(Ordering::Relaxed) => {
                Failure { severity: Severity::Interrupted, ..failure }
            }
            _ => failure,
        }
    }

    fn make_directories(&mut self, launch: u32, workers: &[WorkerId]) -> Result<Performed, Failure> {
        self.launch = launch;
        self.pauses.forget();
        for worker in workers {
            let path = self.worker_directory(*worker);
            let made = marked_dir::create_marked_dir(&path);
            made.map_err(|error| self.fail(*worker, "making its directory", &error))?;
            self.made.insert(*worker);
            if worker.role == Role::Builder {
                let made = fs::create_dir(path.join(SCRATCH));
                made.map_err(|error| self.fail(*worker, "making its directory", &error))?;
            }
        }
        Ok(Performed::Done)
    }

    fn start(&mut self, workers: &[WorkerId]) -> Result<Performed, Failure> {
        for id in workers {
            let directory = self.worker_directory(*id);
            let command =
                WorkerCommand { program: self.program.clone(), stderr: directory.join("stderr"), directory };
            let started = Worker::start(&command);
            let worker = started.map_err(|error| self.fail_worker(*id, "starting its worker", &error))?;
            if let Some(group) = &self.memory_group {
                let added = group.add(worker.pid());
                added.map_err(|error| self.fail(*id, "limiting its memory", &error))?;
            }
            self.workers.insert(*id, worker);
        }
        let load = |id: &WorkerId| Request::Load {
            library: Library::RocksDb { path: self.libraries[id.side].clone() },
        };
        let requests: Vec<(WorkerId, Request)> = workers.iter().map(|id| (*id, load(id))).collect();
        self.ask(&requests, Nanos::from_secs(60))
    }

    fn ask(&mut self, requests: &[(WorkerId, Request)], bound: Nanos) -> Result<Performed, Failure> {
        for (id, request) in requests {
            let sent = self.worker(*id)?.send(request);
            sent.map_err(|error| self.fail_worker(*id, request_name(request), &error))?;
        }
        let watch = Stopwatch::start();
        let interrupted = Arc::clone(&self.interrupted);
        let mut replies = Vec::new();
        for (id, request) in requests {
            let name = request_name(request);
            let reply = self.worker(*id)?.receive(name, bound, &|| interrupted.load(Ordering::Relaxed));
            replies.push((*id, reply.map_err(|error| self.fail_worker(*id, name, &error))?));
        }
        if requests.iter().any(|(_, request)| is_the_engines_work(request)) {
            self.pauses.engine_worked(watch.elapsed());
        }
        Ok(Performed::Replies(replies))
    }

    fn worker(&mut self, id: WorkerId) -> Result<&mut Worker, Failure> {
        let missing = Failure {
            side: Some(id.side),
            reason: format!("{}: its worker is not running", self.labels[id.side]),
            severity: Severity::Launch,
        };
        self.workers.get_mut(&id).ok_or(missing)
    }

    fn run_block(&mut self, id: WorkerId, limit: BlockLimit) -> Result<Performed, Failure> {
        let watch = Stopwatch::start();
        let device = self.device.clone();
        let interrupted = Arc::clone(&self.interrupted);
        let worker = self.worker(id)?;
        let pid = worker.pid();
        let before = side::read(pid, device.as_deref());
        worker.thaw();
        let replied = worker
            .send(&Request::RunBlock { limit, warm_up: false, seconds: false })
            .and_then(|()| worker.receive("run-block", BLOCK_BOUND, &|| interrupted.load(Ordering::Relaxed)));
        let frozen = worker.freeze();
        let spent = side::difference(&before, &side::read(pid, device.as_deref()));
        let reply = replied.map_err(|error| self.fail_worker(id, "running a block", &error))?;
        frozen.map_err(|error| self.fail_worker(id, "freezing it after a block", &error))?;
        let Reply::Block(report) = reply else {
            return Err(self.fail(id, "running a block", &WorkerError::Protocol(format!("{reply:?}"))));
        };
        self.edges += watch.elapsed().saturating_sub(report.wall);
        self.blocks += 1;
        Ok(measured(report, spent))
    }

    fn database(&self, worker: WorkerId) -> PathBuf {
        self.worker_directory(worker).join(DATABASE)
    }

    /// Runs a step in one go.
    fn measure(
        &mut self,
        id: WorkerId,
        trial: &TrialKey,
        limit: BlockLimit,
        bound: Nanos,
    ) -> Result<Performed, Failure> {
        self.pauses.end();
        let request = Request::RunBlock { limit, warm_up: false, seconds: true };
        let device = self.device.clone();
        let interrupted = Arc::clone(&self.interrupted);
        let mut seconds = Vec::new();
        let worker = self.worker(id)?;
        let before = side::read(worker.pid(), device.as_deref());
        let replied = worker.send(&request).and_then(|()| {
            worker.receive_seconds(
                request_name(&request),
                bound,
                &|| interrupted.load(Ordering::Relaxed),
                &mut |second| seconds.push(second),
            )
        });
        let spent = side::difference(&before, &side::read(worker.pid(), device.as_deref()));
        let told =
            seconds.into_iter().map(|second| RunEvent::SecondMeasured { trial: trial.clone(), second });
        self.told.extend(told);
        let reply =
            replied.map_err(|error| self.fail_worker(id, &format!("running {}", trial.step), &error))?;
        self.pauses.begin();
        let Reply::Block(report) = reply else {
            return Err(self.fail(id, "running a step", &WorkerError::Protocol(format!("{reply:?}"))));
        };
        Ok(measured(report, spent))
    }

    /// Waits for a shape of the tree; what that costs is a block without operations of the client.
    fn drain(&mut self, id: WorkerId, to: Settle, bound: Nanos) -> Result<Performed, Failure> {
        let device = self.device.clone();
        let pid = self.worker(id)?.pid();
        let before = side::read(pid, device.as_deref());
        // The worker gives up at the bound; it is given a while to say so.
        let patience = bound + REPLY_GRACE;
        let Performed::Replies(replies) = self.ask(&[(id, Request::Settle { to, bound })], patience)? else {
            return Err(self.fail(id, "settling", &WorkerError::Protocol("no reply".to_owned())));
        };
        let spent = side::difference(&before, &side::read(pid, device.as_deref()));
        let waited = replies.into_iter().find_map(|(_, reply)| match reply {
            Reply::Settled { waited } => Some(waited),
            _ => None,
        });
        let report = BlockReport { wall: waited.unwrap_or_default(), ..BlockReport::default() };
        Ok(measured(report, spent))
    }

    /// Runs a step by the user's db_bench.
    fn run_db_bench(
        &mut self,
        id: WorkerId,
        step: &str,
        benchmark: &str,
        arguments: &[String],
        bound: Nanos,
    ) -> Result<Performed, Failure> {
        self.pauses.end();
        let directory = self.worker_directory(id);
        let program = self.plan.layout.db_bench.get(&id.side).cloned().unwrap_or_default();
        let output = directory.join("db_bench.txt");
        let tool = Tool { program: &program, arguments, directory: &directory, output: &output, bound };
        let device = self.device.clone();
        let before = side::read_device(device.as_deref());
        let interrupted = Arc::clone(&self.interrupted);
        let ran = tool::run(
            &tool,
            |pid| match &self.memory_group {
                Some(group) => group.add(pid).map_err(std::io::Error::other),
                None => Ok(()),
            },
            &|| interrupted.load(Ordering::Relaxed),
        );
        let spent = side::difference(&before, &side::read_device(device.as_deref()));
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
        ran.counters.extend(spent.counters);
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

    fn freeze(&mut self, workers: &[WorkerId]) -> Result<Performed, Failure> {
        for id in workers {
            let frozen = self.worker(*id)?.freeze();
            frozen.map_err(|error| self.fail_worker(*id, "freezing it", &error))?;
        }
        Ok(Performed::Done)
    }

    fn collect(&self, id: WorkerId) -> Performed {
        let directory = self.worker_directory(id);
        let role = match id.role {
            Role::Builder => "image",
            Role::Reader => "read",
            Role::Writer => "write",
        };
        let mut texts = Vec::new();
        for (name, path) in
            [("LOG", directory.join(DATABASE).join("LOG")), ("stderr", directory.join("stderr"))]
        {
            let bytes = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LOG_BYTES)]).into_owned();
            if !text.is_empty() {
                texts.push((format!("{role}/{name}"), text));
            }
        }
        Performed::Texts(texts)
    }

    fn stop(&mut self, workers: &[WorkerId]) -> Performed {
        let interrupted = Arc::clone(&self.interrupted);
        for id in workers {
            if let Some(worker) = self.workers.remove(id)
                && let Some(Reply::Bye { heap_peak }) = worker.stop(&|| interrupted.load(Ordering::Relaxed))
            {
                self.heap_peak = self.heap_peak.max(heap_peak.0);
            }
        }
        Performed::Done
    }

    fn remove_directories(&mut self, workers: &[WorkerId]) -> Result<Performed, Failure> {
        for id in workers {
            let removed = marked_dir::remove_marked_dir(&self.worker_directory(*id));
            removed.map_err(|error| self.fail(*id, "removing its directory", &error))?;
            self.made.remove(id);
        }
        Ok(Performed::Done)
    }

    /// Ends every worker, frozen or not, and removes what they left.
    fn abandon(&mut self) {
        // Dropping a worker kills it.
        self.workers.clear();
        self.pauses.forget();
        for id in std::mem::take(&mut self.made) {
            let _ = marked_dir::remove_marked_dir(&self.worker_directory(id));
        }
    }

    fn drain_device(&self) -> Performed {
        if host::dirty_bytes() > DIRTY_BOUND_BYTES
            && let Ok(directory) = fs::File::open(self.directory.path())
        {
            // An error here means a file system without sync: then there is nothing to wait for.
            let _ = rustix::fs::syncfs(directory.as_fd());
        }
        Performed::Done
    }
}

impl World for RealWorld {
    fn now(&self) -> Nanos {
        self.watch.elapsed()
    }

    fn epoch_us(&self) -> i64 {
        clock::epoch_us()
    }

    fn perform(&mut self, action: &Action) -> Result<Performed, Failure> {
        if self.interrupted.load(Ordering::Relaxed) {
            let reason = "interrupted".to_owned();
            return Err(Failure { side: None, reason, severity: Severity::Interrupted });
        }
        match action {
            Action::MakeDirectories { launch, workers } => self.make_directories(*launch, workers),
            Action::Start { workers } => self.start(workers),
            Action::Ask { requests, bound } => self.ask(requests, *bound),
            Action::LinkImage { builder, readers } => {
                let from = self.worker_directory(*builder).join(DATABASE);
                for reader in readers {
                    let linked = link_database(&from, &self.worker_directory(*reader).join(DATABASE));
                    linked.map_err(|error| self.fail(*reader, "linking the image", &error))?;
                }
                Ok(Performed::Done)
            }
            Action::Freeze { workers } => self.freeze(workers),
            Action::Thaw { workers } => {
                for id in workers {
                    self.worker(*id)?.thaw();
                }
                Ok(Performed::Done)
            }
            Action::RunBlock { worker, limit, .. } => self.run_block(*worker, *limit),
            Action::Measure { worker, trial, limit, bound, .. } => {
                self.measure(*worker, trial, *limit, *bound)
            }
            Action::Drain { worker, to, bound, .. } => self.drain(*worker, *to, *bound),
            Action::Evict { worker } => {
                // Below a loop device its file may be in the page cache too.
                let evicted = match &self.loop_file_system {
                    Some(file_system) => file_system.evict(),
                    None => page_cache::evict(&self.database(*worker)),
                };
                evicted
                    .map_err(|error| self.fail(*worker, "putting its files out of the page cache", &error))?;
                Ok(Performed::Done)
            }
            Action::RemoveDatabase { worker } => {
                let removed = fs::remove_dir_all(self.database(*worker));
                removed.map_err(|error| self.fail(*worker, "removing its database", &error))?;
                Ok(Performed::Done)
            }
            Action::RunDbBench { worker, trial, benchmark, arguments, bound, .. } => {
                self.run_db_bench(*worker, &trial.step, benchmark, arguments, *bound)
            }
            Action::DrainDevice => Ok(self.drain_device()),
            Action::Collect { worker } => Ok(self.collect(*worker)),
            Action::Stop { workers } => Ok(self.stop(workers)),
            Action::RemoveDirectories { workers } => self.remove_directories(workers),
            Action::Abandon => {
                self.abandon();
                Ok(Performed::Done)
            }
        }
    }

    fn clean_up(&mut self) {
        self.abandon();
        if !self.interrupted.load(Ordering::Relaxed) {
            self.client_cpu_ns_per_op =
                client_cost::measure(&self.program, self.directory.path(), &self.plan).ok();
        }
    }

    fn observed(&mut self) -> Vec<RunEvent> {
        let mut told = std::mem::take(&mut self.told);
        told.extend(self.sampler.take());
        told
    }

    fn cost(&self) -> HarnessCost {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        HarnessCost {
            sampler_core_percent: self.sampler.core_percent(),
            block_edge_us: self.edges.as_micros_f64() / (self.blocks.max(1) as f64),
            client_cpu_ns_per_op: self.client_cpu_ns_per_op,
            controller_peak_bytes: parse::field(&status, "VmHWM").unwrap_or(0) * 1024,
            worker_heap_peak_bytes: self.heap_peak,
            step_pauses: self.pauses.summary(),
        }
    }
}

/// The run's id: whoever finds a group of ours left behind can tell whose it was.
fn group_name(run_directory: &Path) -> String {
    run_directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn measured(report: BlockReport, spent: SideReading) -> Performed {
    Performed::Block(Box::new(MeasuredBlock {
        report,
        process_cpu: spent.process_cpu,
        counters: spent.counters,
    }))
}

/// Opening replays the log, closing flushes, settling compacts: the engine's time, not the harness's.
fn is_the_engines_work(request: &Request) -> bool {
    matches!(request, Request::Open { .. } | Request::Close | Request::Settle { .. })
}

fn request_name(request: &Request) -> &'static str {
    match request {
        Request::Load { .. } => "loading its library",
        Request::Open { .. } => "opening the database",
        Request::BulkLoad { .. } => "writing the image",
        Request::Scan { .. } => "reading the image once",
        Request::Prepare(_) => "preparing a step",
        Request::RunBlock { .. } => "running a block",
        Request::FinishStep => "finishing a step",
        Request::Settle { .. } => "settling",
        Request::ReadShape => "reading the tree's shape",
        Request::ReadText { .. } => "reading the engine's statistics",
        Request::Close => "closing the database",
        Request::Exit => "exiting",
    }
}
