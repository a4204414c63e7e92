//! A step in progress: its threads, and those of its companions, woken for each block and asleep between blocks.

mod background;
mod companies;

use crate::beside::Turns;
use crate::clock::{self, RunDelay};
use crate::cpus;
use crate::foreground::{Manner, Pace, TellSecond, ThreadBlock};
use crate::idle::IdleTime;
use crate::latency::Recorder;
use crate::operation::{self, Company, OperationError, Target, share_of};
use crate::pace::{Alarm, Schedule};
use crate::planted::Slowdown;
use crate::seconds::SecondCounts;
use background::{BackgroundWriter, Written};
use companies::Companies;
use model::block::{Latency, Second};
use model::counter::Counters;
use model::units::Nanos;
use model::wire::{BlockLimit, BlockReport, SharedCpu, StepSetup, Stream};
use model::workload::Operation;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A thread of the step is gone, which only a panic can do.
#[derive(Debug, thiserror::Error)]
#[error("a thread of the step ended without being asked to: see the worker's standard error")]
pub struct ThreadGone;

/// Why a step cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A thread is gone.
    #[error(transparent)]
    ThreadGone(#[from] ThreadGone),
    /// A thread could not make itself ready.
    #[error(transparent)]
    NotReady(OperationError),
    /// The system has no room for another thread.
    #[error("failed to start a thread")]
    NoThread(#[source] std::io::Error),
    /// A test hook that cannot be had here.
    #[error("failed to make the injected slowdown ready")]
    NoSlowdown(#[source] std::io::Error),
    /// A table was left half loaded, or without an index.
    #[error("the tables are not complete: {0}")]
    Incomplete(String),
    /// A thread lost its connection in the middle of a block.
    #[error("{0}")]
    ConnectionLost(String),
}

/// One block to run.
#[derive(Debug, Clone, Copy)]
pub struct BlockOrder {
    pub limit: BlockLimit,
    /// Whether its latency is not recorded.
    pub warm_up: bool,
    /// Whether its seconds are told.
    pub seconds: bool,
}

/// What a thread tells of a block: each second, where it is asked for them, and then all of it.
enum Told {
    Second(SecondCounts),
    Block(Box<Report>),
}

/// What a thread reports of one block.
struct Report {
    block: ThreadBlock,
    cpu: Nanos,
    run_delay: Option<Nanos>,
    shared_cpu: Option<SharedCpu>,
}

/// A step whose threads are ready.
pub struct RunningStep {
    target: Target,
    /// Whether it says how many keys it found.
    finds: bool,
    api: Option<&'static str>,
    /// Whether what follows needs all of it: a load that failed leaves half a table.
    must_succeed: bool,
    threads: Vec<Foreground>,
    companions: Vec<Companion>,
    writer: Option<BackgroundWriter>,
}

/// A step that runs beside the one in progress.
struct Companion {
    threads: Vec<Foreground>,
    /// If it follows nobody: to say to each thread that the block is over.
    ends: Vec<Sender<()>>,
}

/// What a step did: its own threads, and those of each companion.
pub struct StepLatency {
    pub own: Latency,
    /// Those of its companions.
    pub companions: Vec<Latency>,
}

/// Who is told of a second: of the step's own, or of a companion by its number.
pub type TellStream<'a> = &'a mut dyn FnMut(Stream, Second);

impl RunningStep {
    /// Starts the threads. The operation must not be one that only settles, and must be one of the target. Against a
    /// server an error where a thread cannot connect or a statement cannot be prepared.
    pub fn prepare(target: &Target, setup: &StepSetup) -> Result<RunningStep, StepError> {
        assert!(setup.operation != Operation::Settle, "a step that only settles has no threads");
        let mut step = RunningStep {
            target: target.clone(),
            finds: setup.operation.finds_keys(),
            api: operation::api_of(target, &setup.operation),
            must_succeed: matches!(setup.operation, Operation::LoadTables | Operation::BuildIndexes),
            threads: Vec::new(),
            companions: Vec::new(),
            writer: None,
        };
        let (mut company, leaders) = Companies::of(target, setup)?;
        let cpu = match target {
            Target::Server(_) if !setup.server_is_ours || !setup.companions.is_empty() => None,
            Target::Database(_) | Target::Server(_) => {
                cpus::for_step(setup.threads, setup.seed, &cpus::allowed())
            }
        };
        for thread in 0..setup.threads {
            // Where one is not ready, those before it end with the step.
            let pace = match setup.rate {
                Some(rate) => {
                    let schedule = Schedule::new(rate, setup.threads, thread).in_bursts(setup.in_bursts);
                    Pace::Open(schedule, Alarm::default())
                }
                None => Pace::Closed,
            };
            let company = Company { cpu, ..company.of_thread(Stream::Own, thread) };
            step.threads.push(Foreground::start(target, setup, Role { thread, pace, company })?);
        }
        for ((companion, leaders), number) in setup.companions.iter().zip(leaders).zip(0..) {
            let (mut threads, mut ends) = (Vec::new(), Vec::new());
            let mut leaders = leaders.into_iter();
            for thread in 0..companion.step.threads {
                let mut ended = || {
                    let (end, ended) = channel();
                    ends.push(end);
                    ended
                };
                let turns = match (companion.step.rate, leaders.next()) {
                    (Some(rate), _) => {
                        let schedule = Schedule::new(rate, companion.step.threads, thread);
                        let schedule = schedule.in_bursts(companion.step.in_bursts);
                        Turns::Paced { schedule, ended: ended(), operations: 0, ran: Nanos(0) }
                    }
                    (None, Some(leader)) => Turns::Following(leader),
                    (None, None) => Turns::Free { ended: ended() },
                };
                let company = company.of_thread(Stream::Companion(number), thread);
                let role = Role { thread, pace: Pace::Beside(turns), company };
                threads.push(Foreground::start(target, &companion.step, role)?);
            }
            step.companions.push(Companion { threads, ends });
        }
        if let (Some(bytes_per_s), Target::Database(database)) = (setup.background_write_bytes_per_s, target)
        {
            step.writer = Some(BackgroundWriter::start(database, setup, bytes_per_s));
        }
        Ok(step)
    }

    /// Runs one block on all threads. Where its seconds are asked for, each is told as soon as every thread has
    /// ended it, and those of companions when the block is over. After an error the step is of no more use.
    pub fn run_block(&mut self, order: BlockOrder, tell: TellStream<'_>) -> Result<BlockReport, StepError> {
        let cpu_before = clock::process_cpu();
        for thread in self.companions.iter().flat_map(|companion| &companion.threads) {
            // It ends with the block of the step.
            let order = BlockOrder { limit: BlockLimit::Operations { count: u64::MAX }, ..order };
            thread.orders.send(order).map_err(|_| ThreadGone)?;
        }
        if let Some(writer) = &self.writer {
            writer.begin()?;
        }
        let count = self.threads.len() as u64;
        for (thread, index) in self.threads.iter().zip(0..) {
            let order = BlockOrder { limit: part_of(order.limit, index, count), ..order };
            thread.orders.send(order).map_err(|_| ThreadGone)?;
        }
        let reports = reports(&self.threads, &mut |second| tell(Stream::Own, second))?;
        let mut companions = Vec::new();
        for (companion, number) in self.companions.iter().zip(0..) {
            for end in &companion.ends {
                end.send(()).map_err(|_| ThreadGone)?;
            }
            companions.push(self::reports(&companion.threads, &mut |second| {
                tell(Stream::Companion(number), second);
            })?);
        }
        let background = match &self.writer {
            Some(writer) => writer.end()?,
            None => Written::default(),
        };
        let process_cpu = clock::process_cpu().saturating_sub(cpu_before);
        if let Some(lost) = companions.iter().flatten().chain(&reports).find(|report| report.block.lost) {
            return Err(StepError::ConnectionLost(lost.block.first_error.clone().unwrap_or_default()));
        }
        let writes_delayed = match &self.target {
            Target::Database(database) => database.writes_are_delayed(),
            Target::Server(_) => false,
        };
        let report = gathered(reports, background, process_cpu);
        if let (true, Some(error)) = (self.must_succeed, &report.first_error) {
            return Err(StepError::Incomplete(error.clone()));
        }
        Ok(BlockReport {
            writes_delayed,
            found: if self.finds { report.found } else { None },
            api: self.api.map(str::to_owned),
            companions: companions.into_iter().map(of_companion).collect(),
            ..report
        })
    }

    /// Ends the threads; gives the latency of all operations since [`Self::prepare`].
    pub fn finish(mut self) -> Result<StepLatency, ThreadGone> {
        self.end_threads()
    }

    fn end_threads(&mut self) -> Result<StepLatency, ThreadGone> {
        // First those that others may wait for.
        let own = latency(self.threads.drain(..));
        let companions = self.companions.drain(..).map(|companion| {
            drop(companion.ends);
            latency(companion.threads.into_iter())
        });
        let companions: Vec<Result<Latency, ThreadGone>> = companions.collect();
        if let Some(writer) = self.writer.take() {
            writer.stop()?;
        }
        Ok(StepLatency { own: own?, companions: companions.into_iter().collect::<Result<_, _>>()? })
    }
}

/// Ends threads; the latency of all that they did.
fn latency(threads: impl Iterator<Item = Foreground>) -> Result<Latency, ThreadGone> {
    let mut all = Recorder::new();
    let mut gone = None;
    for thread in threads {
        drop(thread.orders);
        match thread.handle.join() {
            Ok(recorder) => all.merge(&recorder),
            Err(_) => gone = Some(ThreadGone),
        }
    }
    gone.map_or(Ok(all.summary()), Err)
}

impl Drop for RunningStep {
    /// Threads hold the database: it can only be closed when they are gone, whatever happened before.
    fn drop(&mut self) {
        let _ = self.end_threads();
    }
}

/// Waits for all threads. A second is told when each thread that still runs has told its own.
fn reports(threads: &[Foreground], tell: &mut dyn FnMut(Second)) -> Result<Vec<Report>, ThreadGone> {
    let mut reports: Vec<Option<Report>> = threads.iter().map(|_| None).collect();
    for second in 0.. {
        let mut all: Option<SecondCounts> = None;
        for (thread, report) in threads.iter().zip(&mut reports).filter(|(_, report)| report.is_none()) {
            match thread.told.recv().map_err(|_| ThreadGone)? {
                Told::Second(counts) => all.get_or_insert_with(SecondCounts::none).merge(&counts),
                Told::Block(block) => *report = Some(*block),
            }
        }
        match all {
            Some(all) => tell(all.summary(second)),
            None => break,
        }
    }
    Ok(reports.into_iter().flatten().collect())
}

/// The part of a block that falls to one of `count` threads.
fn part_of(limit: BlockLimit, index: u64, count: u64) -> BlockLimit {
    match limit {
        BlockLimit::Time { .. } => limit,
        BlockLimit::Operations { count: operations } => {
            BlockLimit::Operations { count: share_of(operations, index, count) }
        }
    }
}

fn gathered(reports: Vec<Report>, background: Written, process_cpu: Nanos) -> BlockReport {
    let start = reports.iter().map(|report| report.block.start).min().unwrap_or_default();
    let end = reports.iter().map(|report| report.block.end).max().unwrap_or_default();
    let first_error = reports.iter().find_map(|report| report.block.first_error.clone());
    let mut lags: Option<Recorder> = None;
    for of_thread in reports.iter().filter_map(|report| report.block.lags.as_ref()) {
        lags.get_or_insert_with(Recorder::new).merge(of_thread);
    }
    let mut retries = BTreeMap::new();
    reports.iter().for_each(|report| report.block.retries.add_to(&mut retries));
    BlockReport {
        operations: reports.iter().map(|report| report.block.operations).sum(),
        failed_operations: reports.iter().map(|report| report.block.failed_operations).sum::<u64>()
            + background.failed,
        found: Some(reports.iter().map(|report| report.block.found).sum()),
        api: None,
        first_error: first_error.or(background.first_error),
        retries,
        lag: lags.map(|lags| lags.lag()),
        wall: end.saturating_sub(start),
        thread_cpu: reports.iter().map(|report| report.cpu).collect(),
        thread_run_delay: reports.iter().map(|report| report.run_delay).collect(),
        // Only a thread that has no others beside it shares its CPU.
        shared_cpu: reports.iter().find_map(|report| report.shared_cpu),
        process_cpu,
        writes_delayed: false,
        counters: Counters::new(),
        companions: Vec::new(),
    }
}

/// The report of a companion: of the process it has what its threads had.
fn of_companion(reports: Vec<Report>) -> BlockReport {
    let cpu = reports.iter().map(|report| report.cpu).sum();
    BlockReport { found: None, ..gathered(reports, Written::default(), cpu) }
}

/// What a thread is in its step.
struct Role {
    thread: u32,
    pace: Pace,
    company: Company,
}

/// A foreground thread.
struct Foreground {
    orders: Sender<BlockOrder>,
    told: Receiver<Told>,
    handle: JoinHandle<Recorder>,
}

impl Foreground {
    /// Returns when the thread is ready, on its CPU if it has one, or cannot be. All that it writes in an operation it
    /// allocates itself: what two threads write must not lie in one cache line.
    fn start(target: &Target, setup: &StepSetup, role: Role) -> Result<Foreground, StepError> {
        let Role { thread, pace, company } = role;
        let planted =
            Slowdown::new(setup.planted_slowdown_percent, setup.planted_as).map_err(StepError::NoSlowdown)?;
        let mut manner = Manner { pace, planted };
        let (orders, to_run) = channel::<BlockOrder>();
        let (teller, told) = channel();
        let (ready, readiness) = channel();
        let (target, setup) = (target.clone(), setup.clone());
        // By this name profiles know the threads that do the operations.
        let named = std::thread::Builder::new().name(format!("client-{thread}"));
        let started = named.spawn(move || {
            // Before anything is allocated, so that memory comes from the CPU's own node.
            company.cpu.into_iter().for_each(cpus::stay_on);
            let mut recorder = Recorder::new();
            let mut runner = match operation::foreground(&target, &setup, thread, company) {
                Ok(runner) => runner,
                Err(error) => {
                    let _ = ready.send(error);
                    return recorder;
                }
            };
            let run_delay = RunDelay::of_this_thread().ok();
            let delay = || run_delay.as_ref().and_then(RunDelay::read);
            let shared_cpu = runner.shared_cpu();
            let idle_time = shared_cpu.and_then(IdleTime::of);
            let idle = || idle_time.as_ref().and_then(IdleTime::read);
            let mut unrecorded = Recorder::new();
            drop(ready);
            for order in to_run {
                let recorder = if order.warm_up { &mut unrecorded } else { &mut recorder };
                // Nobody listens where the step is being ended; the end of the orders says so next.
                let mut tell = |second| drop(teller.send(Told::Second(second)));
                let tell: TellSecond<'_> = if order.seconds { Some(&mut tell) } else { None };
                // The outermost readings: idle time that is missed would look like time of others.
                let idle_before = idle();
                let (cpu_before, delay_before) = (clock::thread_cpu(), delay());
                let block = runner.run(order.limit, &mut manner, recorder, tell);
                let cpu = clock::thread_cpu().saturating_sub(cpu_before);
                let since = |(after, before): (Nanos, Nanos)| after.saturating_sub(before);
                let run_delay = delay().zip(delay_before).map(since);
                let idle = idle().zip(idle_before).map(since);
                let shared_cpu = shared_cpu.map(|_| SharedCpu { idle });
                let report = Report { block, cpu, run_delay, shared_cpu };
                if teller.send(Told::Block(Box::new(report))).is_err() {
                    break;
                }
            }
            recorder
        });
        let handle = started.map_err(StepError::NoThread)?;
        // Nothing comes where the thread is ready, or gone, which the first block will tell.
        match readiness.recv() {
            Ok(error) => Err(StepError::NotReady(error)),
            Err(_) => Ok(Foreground { orders, told, handle }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rocksdb::database::{Database, Options};
    use crate::rocksdb::nothing;
    use model::workload::DataSet;
    use std::sync::Arc;

    #[test]
    fn operations_are_shared_out_without_loss() {
        let shares: u64 = (0..3)
            .map(|index| match part_of(BlockLimit::Operations { count: 100 }, index, 3) {
                BlockLimit::Operations { count } => count,
                BlockLimit::Time { .. } => panic!("the kind of limit must stay"),
            })
            .sum();
        assert_eq!(shares, 100);
    }

    #[test]
    fn a_step_that_is_let_go_in_the_middle_of_a_block_ends_all_its_threads() {
        let api = nothing::api();
        let options = Options::parse(&api, "", false).unwrap();
        let database = Arc::new(Database::open(&api, std::path::Path::new("none"), &options).unwrap());
        let data = DataSet { keys: 10, key_bytes: 8, value_bytes: 10, value_compressible_percent: 0 };
        let setup = StepSetup {
            threads: 2,
            background_write_bytes_per_s: Some(100_000),
            ..StepSetup::plain(Operation::Overwrite, data, 1)
        };
        let step = RunningStep::prepare(&Target::Database(Arc::clone(&database)), &setup).unwrap();
        let limit = BlockLimit::Time { wall: Nanos::from_millis(5) };
        step.threads[0].orders.send(BlockOrder { limit, warm_up: false, seconds: true }).unwrap();
        step.writer.as_ref().unwrap().begin().unwrap();
        drop(step);
        assert!(Arc::into_inner(database).is_some(), "nobody holds the database any more");
    }
}
