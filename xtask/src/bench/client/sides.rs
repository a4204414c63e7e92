//! The two programs, how each is told to run a case, and whether it did.

use super::cases::{Case, DATA, DB_BENCH_FLAGS, FILL_KEYS, KEYS, WORKER_OPTIONS};
use crate::bench::worker;
use anyhow::{Context, ensure};
use model::units::Nanos;
use model::wire::{BlockLimit, Library, Request, StepSetup};
use model::workload::{DataSet, Settle};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How long the worker waits for compaction.
const SETTLE_TIMEOUT: Nanos = Nanos::from_secs(120);

/// What is run.
#[derive(Debug)]
pub struct Programs {
    /// Debian's, in `rocksdb-tools`.
    pub db_bench: PathBuf,
    /// The library that it is linked with.
    pub library: PathBuf,
    pub dbdyno: PathBuf,
    /// At which level db_bench's threads count.
    pub db_bench_perf_level: u8,
}

/// One run of one side.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    pub case: &'a Case,
    /// How often, over all threads.
    pub operations: u64,
    /// Of keys and values.
    pub seed: u64,
    pub directory: &'a Path,
}

impl Run<'_> {
    fn keys(&self) -> u64 {
        if self.case.fills() { FILL_KEYS } else { KEYS }
    }
}

impl Programs {
    /// db_bench on a run.
    pub fn db_bench(&self, run: &Run<'_>) -> anyhow::Result<Command> {
        let case = run.case;
        let each = run.operations / u64::from(case.threads);
        let drained = if case.writes() { ",flush,waitforcompaction" } else { "" };
        self.db_bench_command(
            run.directory,
            &format!("{}{drained}", case.test),
            &run.directory.with_extension("out"),
        )
        .map(|mut command| {
            command.args([
                format!("--perf_level={}", self.db_bench_perf_level),
                format!("--use_existing_db={}", u8::from(!case.fills())),
                format!("--num={}", run.keys()),
                format!("--threads={}", case.threads),
                format!("--reads={each}"),
                format!("--writes={each}"),
                format!("--seek_nexts={}", nexts(case)),
                format!("--disable_wal={}", u8::from(!case.wal)),
                format!("--seed={}", run.seed),
            ]);
            command
        })
    }

    /// The worker making the database that is read and overwritten: all keys, in one sorted run in the last level.
    /// A `compact` of db_bench would leave it in level 1, three times as large as that may be, and how the move to
    /// level 2 meets the first compactions of an overwrite is a matter of luck.
    pub fn template(&self, directory: &Path, scratch: &Path) -> anyhow::Result<Command> {
        let requests = [
            Request::Load { library: Library::RocksDb { path: self.library.clone() } },
            Request::Open {
                directory: directory.to_owned(),
                options: WORKER_OPTIONS.to_owned(),
                create: true,
                tickers: false,
            },
            Request::BulkLoad { data: DATA, seed: 1, threads: 1, scratch: scratch.to_owned() },
            Request::Close,
            Request::Exit,
        ];
        worker::command(&self.dbdyno, &requests, &directory.with_extension("out"))
    }

    fn db_bench_command(&self, directory: &Path, tests: &str, output: &Path) -> anyhow::Result<Command> {
        let mut command = Command::new(&self.db_bench);
        command.arg(format!("--benchmarks={tests}")).arg(format!("--db={}", directory.display()));
        command.args(DB_BENCH_FLAGS);
        let output = worker::create(output)?;
        command.stderr(output.try_clone().context("failed to open the output twice")?).stdout(output);
        Ok(command)
    }

    /// The worker on a run.
    pub fn worker(&self, run: &Run<'_>) -> anyhow::Result<Command> {
        self.worker_command(run, Library::RocksDb { path: self.library.clone() })
    }

    /// The worker on a run against the engine that does nothing.
    pub fn client_alone(&self, run: &Run<'_>) -> anyhow::Result<Command> {
        self.worker_command(run, Library::Nothing)
    }

    fn worker_command(&self, run: &Run<'_>, library: Library) -> anyhow::Result<Command> {
        worker::command(&self.dbdyno, &requests(run, library), &run.directory.with_extension("out"))
    }
}

/// The worker's life of one run, in the order of db_bench's.
fn requests(run: &Run<'_>, library: Library) -> Vec<Request> {
    let case = run.case;
    let data = DataSet { keys: run.keys(), ..DATA };
    let setup = StepSetup::plain(case.operation.clone(), data, run.seed);
    let mut requests = vec![
        Request::Load { library },
        Request::Open {
            directory: run.directory.to_owned(),
            options: WORKER_OPTIONS.to_owned(),
            create: case.fills(),
            tickers: false,
        },
    ];
    let setup = StepSetup { threads: case.threads, wal: case.wal, ..setup };
    requests.extend(worker::step(setup, BlockLimit::Operations { count: run.operations }));
    if case.writes() {
        requests.push(Request::Settle { to: Settle::Drained, timeout: SETTLE_TIMEOUT });
    }
    requests.extend([Request::Close, Request::Exit]);
    requests
}

fn nexts(case: &Case) -> u32 {
    match &case.operation {
        model::workload::Operation::SeekRandom { nexts, .. } => *nexts,
        _ => 0,
    }
}

/// db_bench must have done all operations and found every key. Its line of 7.8.3, in full:
///
/// ```text
/// readrandom   :       7.567 micros/op 132148 ops/sec 3.027 seconds 400000 operations;   52.9 MB/s (400000 of 400000 found)
/// ```
pub fn check_db_bench(run: &Run<'_>) -> anyhow::Result<()> {
    let text = worker::read(&run.directory.with_extension("out"))?;
    let line = text
        .lines()
        .find(|line| line.starts_with(run.case.test) && line.contains(" ops/sec "))
        .with_context(|| format!("db_bench printed no result of `{}`: {text}", run.case.test))?;
    ensure!(
        line.contains(&format!(" {} operations;", run.operations)),
        "db_bench did not run {} operations: {line}",
        run.operations
    );
    if let Some((found, tried)) = found(line) {
        ensure!(found == tried, "db_bench did not find every key: {line}");
    }
    Ok(())
}

fn found(line: &str) -> Option<(&str, &str)> {
    let (_, message) = line.split_once('(')?;
    message.strip_suffix(" found)")?.split_once(" of ")
}

/// The worker must have done all operations without an error.
pub fn check_worker(run: &Run<'_>) -> anyhow::Result<()> {
    let operations = operations_of_worker(run.directory)?;
    ensure!(operations == run.operations, "the worker ran {operations} operations of {}", run.operations);
    Ok(())
}

/// How many operations there were in its blocks.
pub fn operations_of_worker(directory: &Path) -> anyhow::Result<u64> {
    let blocks = worker::blocks(&directory.with_extension("out"))?;
    Ok(blocks.iter().map(|block| block.operations).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::client::cases::CASES;

    #[test]
    fn a_key_that_db_bench_did_not_find_is_seen() {
        let line = "readrandom : 7.567 micros/op 132148 ops/sec 3.027 seconds 4 operations; 52.9 MB/s (3 of 4 found)";
        assert_eq!(found(line), Some(("3", "4")));
        assert_eq!(found("fillseq : 2.814 micros/op 351158 ops/sec 1.424 seconds 5 operations;"), None);
    }

    #[test]
    fn every_count_falls_evenly_on_the_threads() {
        for case in CASES {
            for operations in [case.short, case.long] {
                assert_eq!(operations % u64::from(case.threads), 0, "{}", case.name());
            }
            assert!(case.long <= FILL_KEYS);
        }
    }
}
