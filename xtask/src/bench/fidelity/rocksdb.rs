//! RocksDB: the worker beside Debian's db_bench on the library that it is linked with, with the same options, data and number of operations.

use super::counters::{Counters, RATE, ROCKSDB, ROCKSDB_READS, WRITER};
use super::row::{Row, Side};
use crate::bench::client::cases::{DATA, DB_BENCH_FLAGS, WORKER_OPTIONS};
use crate::bench::client::sides::Programs;
use crate::bench::{Scratch, printed, race, worker};
use anyhow::Context;
use load::cpus;
use model::wire::{BlockLimit, EngineText, Library, Request, StepSetup};
use model::workload::{DataSet, Direction, Operation, PerfLevel};
use std::path::Path;
use std::process::Command;
use std::thread;

/// Steps of the sequences and their benchmark.
pub struct Case {
    pub name: &'static str,
    benchmark: &'static str,
    flags: &'static [&'static str],
    operation: Operation,
    wal: bool,
    /// Bytes a second of a writer beside it.
    writer: Option<u64>,
    /// Of the long run; the short one has a tenth of them.
    operations: u64,
}

/// Keys of a fill.
const KEYS: u64 = 200_000;
/// Bytes a second of the writer of the sequence of 2022.
const WRITER_OF_2022: u64 = 2 << 20;
const WRITER_OF_2021: u64 = 1 << 20;

fn case(
    name: &'static str,
    benchmark: &'static str,
    flags: &'static [&'static str],
    operation: Operation,
    operations: u64,
) -> Case {
    Case { name, benchmark, flags, operation, wal: true, writer: None, operations }
}

fn seeks(nexts: u32, direction: Direction, among_keys: Option<u32>) -> Operation {
    Operation::SeekRandom { nexts, direction, among_keys }
}

/// The steps of both sequences. Of those that differ in their length or place alone there is one.
pub fn cases() -> Vec<Case> {
    vec![
        Case { wal: false, ..case("fillseq", "fillseq", &[], Operation::FillSequential, KEYS) },
        case("fillrandom", "fillrandom", &[], Operation::FillRandom, KEYS),
        case("overwrite", "overwrite", &[], Operation::Overwrite, 100_000),
        case("readrandom", "readrandom", &[], Operation::ReadRandom, 100_000),
        case(
            "multireadrandom",
            "multireadrandom",
            &["--batch_size=10", "--multiread_batched=1"],
            Operation::MultiRead { batch: 10 },
            100_000,
        ),
        case("fwdrange", "seekrandom", &["--seek_nexts=10"], seeks(10, Direction::Forward, None), 50_000),
        case(
            "revrange",
            "seekrandom",
            &["--seek_nexts=10", "--reverse_iterator=1", "--num=100"],
            seeks(10, Direction::Reverse, Some(100)),
            50_000,
        ),
        case(
            "seekrandom.nexts-0",
            "seekrandom",
            &["--seek_nexts=0"],
            seeks(0, Direction::Forward, None),
            50_000,
        ),
        case(
            "seekrandom.nexts-1",
            "seekrandom",
            &["--seek_nexts=1"],
            seeks(1, Direction::Forward, None),
            50_000,
        ),
        case(
            "seekrandom.nexts-100",
            "seekrandom",
            &["--seek_nexts=100"],
            seeks(100, Direction::Forward, None),
            20_000,
        ),
        case("readseq", "readseq", &[], Operation::ReadSequential { one_pass: true }, 150_000),
        beside(
            WRITER_OF_2022,
            case("readwhilewriting", "readwhilewriting", &[], Operation::ReadRandom, 1_000_000),
        ),
        beside(
            WRITER_OF_2022,
            case(
                "fwdrangewhilewriting",
                "seekrandomwhilewriting",
                &["--seek_nexts=10"],
                seeks(10, Direction::Forward, None),
                300_000,
            ),
        ),
        beside(
            WRITER_OF_2022,
            case(
                "revrangewhilewriting",
                "seekrandomwhilewriting",
                &["--seek_nexts=10", "--reverse_iterator=1"],
                seeks(10, Direction::Reverse, None),
                300_000,
            ),
        ),
        beside(
            WRITER_OF_2021,
            case(
                "seekrandomwhilewriting.nexts-0",
                "seekrandomwhilewriting",
                &["--seek_nexts=0"],
                seeks(0, Direction::Forward, None),
                500_000,
            ),
        ),
        beside(
            WRITER_OF_2021,
            case(
                "seekrandomwhilewriting.nexts-1",
                "seekrandomwhilewriting",
                &["--seek_nexts=1"],
                seeks(1, Direction::Forward, None),
                500_000,
            ),
        ),
        beside(
            WRITER_OF_2021,
            case(
                "seekrandomwhilewriting.nexts-10",
                "seekrandomwhilewriting",
                &["--seek_nexts=10"],
                seeks(10, Direction::Forward, None),
                300_000,
            ),
        ),
        beside(
            WRITER_OF_2021,
            case(
                "seekrandomwhilewriting.nexts-100",
                "seekrandomwhilewriting",
                &["--seek_nexts=100"],
                seeks(100, Direction::Forward, None),
                100_000,
            ),
        ),
    ]
}

fn beside(writer: u64, case: Case) -> Case {
    Case { writer: Some(writer), ..case }
}

impl Case {
    pub fn name(&self) -> String {
        self.name.to_owned()
    }

    fn fills(&self) -> bool {
        self.operation.fills()
    }

    /// Of long and short runs of both sides. The clock on the wall counts what they differ by, too.
    fn rows(&self, classic: (Counted, Counted), ours: (Counted, Counted)) -> anyhow::Result<Vec<Row>> {
        let operations = (self.operations - self.operations / 10) as f64;
        let sides = [&classic, &ours];
        let seconds = sides.map(|(long, short)| long.seconds - short.seconds);
        let of = |name: &str| {
            sides.map(|(long, short)| {
                let written = |counted: &Counted| counted.counters.sum(&[name]).unwrap_or(f64::NAN);
                written(long) - written(short)
            })
        };
        let written = of("rocksdb.bytes.written");
        let measures = if self.writer.is_some() { ROCKSDB_READS } else { ROCKSDB };
        let both = ((classic.0.counters, classic.1.counters), (ours.0.counters, ours.1.counters));
        let mut rows = Row::of("rocksdb", self.name, measures, both, (operations, 0.0));
        let a_second = |of: [f64; 2]| [of[0] / seconds[0], of[1] / seconds[1]];
        if self.writer.is_some() {
            rows.push(Row::of_pairs("rocksdb", self.name, &WRITER, &[a_second(written)])?);
        }
        rows.push(Row::of_pairs("rocksdb", self.name, &RATE, &[a_second([operations; 2])])?);
        Ok(rows)
    }
}

/// What was counted while a process did so many operations, and how long it says that they took.
struct Counted {
    counters: Counters,
    seconds: f64,
}

/// Both programs.
pub struct Rocksdb<'a> {
    pub programs: &'a Programs,
    pub scratch: &'a Scratch,
    pub seed: u64,
}

impl Rocksdb<'_> {
    pub fn compare(&self, cases: &[&Case]) -> anyhow::Result<Vec<Row>> {
        let template = self.scratch.path("fidelity-template");
        let files = self.scratch.empty_directory("fidelity-files")?;
        race::run_alone(self.programs.template(&template, &files)?)?;
        let mut rows = Vec::new();
        // The first process that reads a copy of the template does it at a fifth of the speed of all others, whichever it is.
        if let Some(reads) = cases.iter().find(|case| !case.operation.writes()) {
            self.counted(reads, Side::Classic, reads.operations, &template)?;
        }
        for case in cases {
            let counted = |side: Side| -> anyhow::Result<(Counted, Counted)> {
                let of = |operations| self.counted(case, side, operations, &template);
                Ok((of(case.operations)?, of(case.operations / 10)?))
            };
            let classic = counted(Side::Classic).with_context(|| case.name())?;
            rows.extend(case.rows(classic, counted(Side::Ours).with_context(|| case.name())?)?);
        }
        Ok(rows)
    }

    /// The tickers of a process that opens a copy of the database and does so many operations.
    fn counted(&self, case: &Case, side: Side, operations: u64, template: &Path) -> anyhow::Result<Counted> {
        let directory = self.scratch.database("fidelity", (!case.fills()).then_some(template))?;
        let run = || match side {
            Side::Classic => self.db_bench(case, operations, &directory),
            Side::Ours => self.worker(case, operations, &directory),
        };
        // As in a comparison: what it costs to be moved to another CPU differs from run to run.
        let (text, seconds) = match case.writer {
            None => on_one_cpu(run)?,
            Some(_) => run()?,
        };
        Ok(Counted { counters: Counters::parse(&text), seconds })
    }

    fn db_bench(&self, case: &Case, operations: u64, directory: &Path) -> anyhow::Result<(String, f64)> {
        // A fill writes as many keys as there are.
        let keys = if case.fills() { operations } else { DATA.keys };
        let mut command = Command::new(&self.programs.db_bench);
        command.arg(format!("--benchmarks={}", case.benchmark)).arg(format!("--db={}", directory.display()));
        command.args(DB_BENCH_FLAGS).args([
            "--statistics=1".to_owned(),
            format!("--use_existing_db={}", u8::from(!case.fills())),
            format!("--num={keys}"),
            "--threads=1".to_owned(),
            format!("--reads={operations}"),
            format!("--writes={operations}"),
            format!("--disable_wal={}", u8::from(!case.wal)),
            format!("--seed={}", self.seed),
        ]);
        command.args(case.writer.map(|bytes| format!("--benchmark_write_rate_limit={bytes}")));
        let text = printed(command.args(case.flags))?;
        let results = formats::db_bench::parse(&text)?.results;
        let us_per_op = results.last().context("db_bench told no result")?.us_per_op;
        Ok((text, us_per_op * operations as f64 / 1e6))
    }

    fn worker(&self, case: &Case, operations: u64, directory: &Path) -> anyhow::Result<(String, f64)> {
        let data = if case.fills() { DataSet { keys: operations, ..DATA } } else { DATA };
        let background_write_bytes_per_s = case.writer;
        let setup = StepSetup {
            wal: case.wal,
            background_write_bytes_per_s,
            // That of db_bench, and of the workloads with these steps.
            perf_level: PerfLevel::Disable,
            ..StepSetup::plain(case.operation.clone(), data, self.seed)
        };
        let mut requests = vec![
            Request::Load { library: Library::RocksDb { path: self.programs.library.clone() } },
            Request::Open {
                directory: directory.to_owned(),
                options: WORKER_OPTIONS.to_owned(),
                create: case.fills(),
                tickers: true,
            },
        ];
        requests.extend(worker::step(setup, BlockLimit::Operations { count: operations }));
        requests.extend([Request::ReadText { what: EngineText::Tickers }, Request::Close, Request::Exit]);
        let output = directory.with_extension("out");
        worker::answered(&self.programs.dbdyno, &requests, &output)?;
        let seconds = worker::blocks(&output)?.iter().map(|block| block.wall.as_secs_f64()).sum();
        Ok((worker::text(&output)?, seconds))
    }
}

/// Of a thread of its own, so that ours may go on anywhere.
fn on_one_cpu<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let kept = || {
        cpus::allowed().first().copied().into_iter().for_each(cpus::stay_on);
        run()
    };
    thread::scope(|scope| scope.spawn(kept).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::Workload;
    use std::fs;

    fn steps(workload: &str, sequence: &str) -> Workload {
        let root = crate::workspace::root().unwrap();
        let read = |path: &str| fs::read_to_string(root.join("workloads").join(path)).unwrap();
        let text = read(&format!("sequences/{sequence}.toml"));
        Workload::parse_with(&read(workload), "test", &[(sequence, &text)]).unwrap()
    }

    /// Settling is no operation, and has no counterpart.
    #[test]
    fn every_step_of_both_sequences_is_compared() {
        for (workload, sequence) in
            [("rocksdb.byrx.toml", "rocksdb-2022"), ("rocksdb.2021.toml", "rocksdb-2021")]
        {
            for step in steps(workload, sequence).steps {
                let is_compared = cases().iter().any(|case| {
                    case.operation == step.operation
                        && case.writer.is_some() == step.background_write_bytes_per_s.is_some()
                });
                assert!(is_compared || step.operation == Operation::Settle, "{sequence}: {}", step.name);
            }
        }
    }
}
