//! [`World`] on this host.

mod elsewhere;
mod leaving;
mod measuring;
mod requests;
mod servers;
mod starting;
mod storage;
mod waiting;

use crate::campaign::action::{Action, DATABASE, Role, SCRATCH, WorkerId};
use crate::campaign::draws::generator;
use crate::campaign::world::{Failure, Performed, Severity, World};
use crate::clock::{self, Stopwatch};
use crate::marked_dir;
use crate::proc::{host, parse};
use crate::process::wait::AfterInterrupt;
use crate::process::worker::{Meanwhile, Worker, WorkerError};
use crate::real::client_cost;
use crate::real::code_files::{self, CodeFiles};
use crate::real::image::link_database;
use crate::real::library_copy::{self, LibraryError};
use crate::real::loop_device::{LoopDeviceError, LoopFileSystem};
use crate::real::memory_limit::{MemoryGroup, MemoryLimitError};
use crate::real::page_cache;
use crate::real::pauses::Pauses;
use crate::real::profile::{ProfileError, Profiler};
use crate::real::run_directory::RunDirectory;
use crate::real::sampler::Sampler;
use crate::real::slow_device::SlowDevice;
use crate::real::storage::{SideStorage, StorageError};
use crate::server::Server;
use crate::server::elsewhere::DROP_AFTER_INTERRUPT;
use crate::unwritable::Unwritable;
use model::block::Side;
use model::causes::with_causes;
use model::event::RunEvent;
use model::host::HarnessCost;
use model::plan::Plan;
use model::units::Nanos;
use model::wire::{FailureKind, Request};
use rand_xoshiro::Xoshiro256PlusPlus;
use requests::{is_the_engines_work, request_name};
use starting::ClientsElsewhere;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use waiting::Waiting;

/// More dirty bytes than this are written out before a step that writes: what a step before it left behind
/// must not fall into its blocks.
const DIRTY_BOUND_BYTES: u64 = 32 << 20;
/// A block longer than this hangs.
const BLOCK_TIMEOUT: Nanos = Nanos::from_secs(600);
/// A worker that waits up to a timeout says that it has given up within this.
const REPLY_GRACE: Nanos = Nanos::from_secs(30);

/// What a plan asks of this host and it cannot give.
#[derive(Debug, thiserror::Error)]
pub enum CannotProvide {
    /// A device with limits of its own.
    #[error(transparent)]
    LoopDevice(#[from] LoopDeviceError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    MemoryLimit(#[from] MemoryLimitError),
    #[error(transparent)]
    Library(#[from] LibraryError),
}

/// The real world of one run.
pub struct RealWorld {
    program: PathBuf,
    labels: Vec<String>,
    interrupted: Arc<AtomicBool>,
    /// The files with code as they were when the run began.
    code: CodeFiles,
    /// Draws where in memory they lie in a launch.
    places: Xoshiro256PlusPlus,
    plan: Plan,
    watch: Stopwatch,
    launch: u32,
    workers: BTreeMap<WorkerId, Worker>,
    /// The servers that workers are clients of.
    servers: BTreeMap<WorkerId, Server>,
    /// Where workers are, if they are on another host than their servers.
    clients: Option<ClientsElsewhere>,
    sampler: Sampler,
    /// Of stacks; absent but in launches for profiles.
    profiler: Option<Profiler>,
    edges: Nanos,
    blocks: u64,
    heap_peak: u64,
    client_cpu_ns_per_op: Option<f64>,
    /// Time between the steps of a visit that is ours and not the engine's.
    pauses: Pauses,
    /// Directories of workers that were made and not yet removed.
    made: BTreeSet<WorkerId>,
    /// Sides whose server is not ours and may have tables of ours.
    claimed: BTreeSet<Side>,
    /// The time to drop them if the user wants to stop.
    drop_after_interrupt: AfterInterrupt,
    // These in this order, and after workers and servers, which have files open on the first and are in the second.
    /// Where databases are: on the loop device where there is one, and where configurations say so.
    storage: SideStorage,
    loop_file_system: Option<LoopFileSystem>,
    memory_group: Option<MemoryGroup>,
    /// Processes of the group that the kernel killed, as far as they were told.
    oom_kills: u64,
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
        code_files::check(plan)?;
        let plan = library_copy::in_place(plan, directory.path())?;
        let loop_file_system = plan
            .layout
            .loop_device
            .as_ref()
            .map(|spec| {
                LoopFileSystem::create(directory.path(), spec, &|| interrupted.load(Ordering::Relaxed))
            })
            .transpose()?;
        let memory_group = plan
            .layout
            .memory_limit
            .map(|limit| MemoryGroup::create(&group_name(directory.path()), limit))
            .transpose()?;
        let root = match &loop_file_system {
            // Its files have a device number of no device where the file system is btrfs.
            Some(file_system) => (file_system.path().to_owned(), Some(file_system.device().to_owned())),
            None => (directory.path().to_owned(), host::device_of(directory.path()).ok()),
        };
        let storage =
            SideStorage::make(&plan, root, directory.path(), &|| interrupted.load(Ordering::Relaxed))?;
        Ok(RealWorld {
            program,
            labels: plan.subjects.iter().map(|subject| subject.reference.to_string()).collect(),
            sampler: Sampler::start(storage.common_device().map(str::to_owned)),
            profiler: None,
            storage,
            directory,
            interrupted,
            code: CodeFiles::now(&plan.subjects, &plan.layout),
            places: generator(plan.seed, 0),
            plan,
            watch,
            launch: 0,
            workers: BTreeMap::new(),
            servers: BTreeMap::new(),
            clients: None,
            edges: Nanos(0),
            blocks: 0,
            heap_peak: 0,
            client_cpu_ns_per_op: None,
            pauses: Pauses::default(),
            made: BTreeSet::new(),
            claimed: BTreeSet::new(),
            drop_after_interrupt: AfterInterrupt::of(DROP_AFTER_INTERRUPT),
            loop_file_system,
            memory_group,
            oom_kills: 0,
        })
    }

    /// Samples the stacks of the sides from now on, in whatever is measured.
    pub fn sample_stacks(&mut self) -> Result<(), ProfileError> {
        self.profiler = Some(Profiler::new()?);
        Ok(())
    }

    fn worker_directory(&self, worker: WorkerId) -> PathBuf {
        let role = match worker.role {
            Role::Builder => 'b',
            Role::Reader => 'r',
            Role::Writer => 'w',
        };
        self.storage.root(worker.side).join(format!("{:04}-{role}{}", self.launch, worker.slot))
    }

    fn fail(&self, worker: WorkerId, doing: &str, error: &dyn Error) -> Failure {
        let mut reason = format!("{}, {doing}: {}", self.labels[worker.side], with_causes(error));
        let severity = if let Some(disk) = self.unwritable(worker.side, &reason) {
            let (state, remedy) = (disk.state(), disk.remedy());
            reason.push_str(&match self.elsewhere(worker.side) {
                Some(server) => format!("; the disk of {server} is {state}"),
                None => format!(
                    "; its disk is {state}: {remedy} the file system of `{}`, or name another directory (--work-dir, `storage` of \
                     the configuration)",
                    self.storage.root(worker.side).display()
                ),
            });
            // A disk that is a side's own costs that side alone.
            if self.storage.is_own(worker.side) { Severity::Launch } else { Severity::Run }
        } else {
            Severity::Launch
        };
        Failure::new(Some(worker.side), reason, severity)
    }

    /// Whether a message says that the disk of a side takes nothing more.
    fn unwritable(&self, side: Side, message: &str) -> Option<Unwritable> {
        match self.elsewhere(side) {
            Some(_) => Unwritable::of(message),
            None => Unwritable::on(message, self.storage.root(side)),
        }
    }

    fn fail_worker(&mut self, worker: WorkerId, doing: &str, error: &WorkerError) -> Failure {
        let mut failure = self.fail(worker, doing, error);
        if let Some(Err(gone)) = self.servers.get_mut(&worker).map(Server::check_after_failure) {
            // What the client saw of it is a consequence.
            failure = self.fail(worker, doing, &gone);
        }
        if let (WorkerError::Crashed { .. }, Some(limit)) = (error, self.plan.layout.memory_limit)
            && self.was_killed_for_memory()
        {
            failure.reason.push_str(&format!(
                "; the kernel killed it for memory: the plan's memory_limit of {:.0} MB is too small for this step",
                limit.0 as f64 / 1e6
            ));
        }
        let own = self.storage.file_system(worker.side).or(self.loop_file_system.as_mut());
        if let Some(Err(gone)) = own.and_then(LoopFileSystem::slow_device).map(SlowDevice::check) {
            // What the engine saw of it are errors of its files.
            failure.reason.push_str(&format!("; the slow device below its files is gone: {gone}"));
        }
        match error {
            WorkerError::Interrupted => Failure { severity: Severity::Interrupted, ..failure },
            WorkerError::Start { .. } => Failure { severity: Severity::Run, ..failure },
            WorkerError::Refused { kind: FailureKind::NotSupported, .. } => {
                Failure { severity: Severity::NotSupported, ..failure }
            }
            _ if self.interrupted.load(Ordering::Relaxed) => {
                Failure { severity: Severity::Interrupted, ..failure }
            }
            _ => failure,
        }
    }

    /// Whether the kernel has killed a worker for memory since this was last asked.
    fn was_killed_for_memory(&mut self) -> bool {
        let kills = self.memory_group.as_ref().and_then(MemoryGroup::oom_kills).unwrap_or(0);
        kills > std::mem::replace(&mut self.oom_kills, kills)
    }

    fn make_directories(&mut self, launch: u32, workers: &[WorkerId]) -> Result<Performed, Failure> {
        self.launch = launch;
        self.pauses.forget();
        self.place_code_anew(workers);
        for worker in workers {
            self.code
                .check(worker.side)
                .map_err(|error| self.fail(*worker, "looking at its files", &error))?;
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

    /// Where in memory the pages of a side's code lie shows in its rates by up to 2 %, and they stay in the page cache from launch to
    /// launch: processes of one build would differ by it all the run long (decision record 045).
    fn place_code_anew(&mut self, workers: &[WorkerId]) {
        let files = workers.iter().flat_map(|worker| self.code.of(worker.side));
        page_cache::place_anew(files.map(Path::to_owned).collect(), &mut self.places);
    }

    fn limit_memory(&self, id: WorkerId, pid: u32) -> Result<(), Failure> {
        match &self.memory_group {
            Some(group) => group.add(pid).map_err(|error| self.fail(id, "limiting its memory", &error)),
            None => Ok(()),
        }
    }

    fn ask(
        &mut self,
        requests: &[(WorkerId, Request)],
        timeout: Nanos,
        tell: &mut dyn FnMut(RunEvent),
    ) -> Result<Performed, Failure> {
        let mut failures: Vec<Failure> = Vec::new();
        let mut asked: Vec<&(WorkerId, Request)> = Vec::new();
        for one in requests {
            let (id, request) = one;
            match self.worker(*id)?.send(request) {
                Ok(()) => asked.push(one),
                // The others' replies are taken all the same: a later request must not find them.
                Err(error) => failures.push(self.fail_worker(*id, request_name(request), &error)),
            }
        }
        let watch = Stopwatch::start();
        let mut replies = Vec::new();
        for (id, request) in asked {
            let name = request_name(request);
            let worker = running(&mut self.workers, &self.labels, *id)?;
            let mut waiting =
                Waiting::new(&self.sampler, &self.interrupted, &mut *tell, self.servers.get_mut(id));
            let reply = worker.receive_seconds(name, timeout, &mut |meanwhile| match meanwhile {
                Meanwhile::Second(..) => true,
                Meanwhile::Waited => waiting.go_on(),
            });
            match (reply, waiting.stuck) {
                (Ok(reply), _) => replies.push((*id, reply)),
                (Err(_), Some(stuck)) => failures.push(self.fail_server(*id, name, &stuck)),
                (Err(error), None) => failures.push(self.fail_worker(*id, name, &error)),
            }
        }
        let replies = Failure::replies_unless(failures, replies)?;
        if requests.iter().any(|(_, request)| is_the_engines_work(request)) {
            self.pauses.engine_worked(watch.elapsed());
        }
        Ok(Performed::Replies(replies))
    }

    fn worker(&mut self, id: WorkerId) -> Result<&mut Worker, Failure> {
        running(&mut self.workers, &self.labels, id)
    }

    fn database(&self, worker: WorkerId) -> PathBuf {
        self.worker_directory(worker).join(DATABASE)
    }

    fn freeze(&mut self, workers: &[WorkerId]) -> Result<Performed, Failure> {
        for id in workers {
            self.freeze_side(*id).map_err(|error| self.fail_worker(*id, "freezing it", &error))?;
        }
        Ok(Performed::Done)
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

    fn suspended(&self) -> Nanos {
        clock::suspended()
    }

    fn perform(&mut self, action: &Action, tell: &mut dyn FnMut(RunEvent)) -> Result<Performed, Failure> {
        if self.interrupted.load(Ordering::Relaxed) {
            let reason = "interrupted".to_owned();
            return Err(Failure::new(None, reason, Severity::Interrupted));
        }
        match action {
            Action::MakeDirectories { launch, workers } => self.make_directories(*launch, workers),
            Action::Start { workers } => self.start(workers, tell),
            Action::Ask { requests, timeout } => self.ask(requests, *timeout, tell),
            Action::LinkImage { builder, readers } if self.plan.workload.is_sql() => {
                self.clone_data(*builder, readers)
            }
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
                    self.thaw_side(*id);
                }
                Ok(Performed::Done)
            }
            Action::RunBlock { worker, trial, cycle, limit, .. } => {
                self.run_block(*worker, trial, *cycle, *limit)
            }
            Action::Measure { worker, trial, limit, timeout, .. } => {
                self.measure(*worker, trial, *limit, *timeout, tell)
            }
            Action::Drain { worker, to, timeout, .. } => self.drain(*worker, *to, *timeout, tell),
            Action::Evict { worker } => self.evict(*worker),
            Action::RemoveDatabase { worker } => {
                let removed = fs::remove_dir_all(self.database(*worker));
                removed.map_err(|error| self.fail(*worker, "removing its database", &error))?;
                Ok(Performed::Done)
            }
            Action::RunDbBench { worker, trial, benchmark, arguments, timeout, .. } => {
                self.run_db_bench(*worker, trial, benchmark, arguments, *timeout, tell)
            }
            Action::DrainDevice => Ok(self.drain_device()),
            Action::Collect { worker } => Ok(Performed::Texts(self.texts(*worker))),
            Action::Stop { workers, data } => self.stop(workers, *data, tell),
            Action::RemoveDirectories { workers } => self.remove_directories(workers),
            Action::Abandon => {
                self.tell_texts(tell);
                self.abandon();
                Ok(Performed::Done)
            }
            Action::AbandonSide { worker } => {
                self.abandon_side(*worker, tell);
                Ok(Performed::Done)
            }
        }
    }

    fn clean_up(&mut self, tell: &mut dyn FnMut(RunEvent)) {
        self.abandon();
        self.drop_tables_left(tell);
        let interrupted = || self.interrupted.load(Ordering::Relaxed);
        // The client of a server is another process: what it costs is counted in each block.
        if !(interrupted() || self.plan.workload.is_sql()) {
            self.client_cpu_ns_per_op =
                client_cost::measure(&self.program, self.directory.path(), &self.plan, &interrupted).ok();
        }
    }

    fn observed(&mut self) -> Vec<RunEvent> {
        self.sampler.take()
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

fn running<'a>(
    workers: &'a mut BTreeMap<WorkerId, Worker>,
    labels: &[String],
    id: WorkerId,
) -> Result<&'a mut Worker, Failure> {
    let missing = || {
        let reason = format!("{}: its worker is not running", labels[id.side]);
        Failure::new(Some(id.side), reason, Severity::Launch)
    };
    workers.get_mut(&id).ok_or_else(missing)
}

/// The run's id: whoever finds a group of ours left behind can tell whose it was.
fn group_name(run_directory: &Path) -> String {
    run_directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
