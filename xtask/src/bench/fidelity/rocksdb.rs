//! RocksDB: the worker beside Debian's db_bench on the library that it is linked with, with the same options, data and number of operations.

use super::counters::{Counters, ROCKSDB};
use super::row::{Row, Side};
use crate::bench::client::cases::{DATA, DB_BENCH_FLAGS, WORKER_OPTIONS};
use crate::bench::client::sides::Programs;
use crate::bench::{Scratch, printed, race, worker};
use anyhow::Context;
use model::wire::{BlockLimit, EngineText, Library, Request, StepSetup};
use model::workload::{DataSet, Direction, Operation};
use std::path::Path;
use std::process::Command;

/// A step of the sequences and its benchmark.
pub struct Case {
    pub name: &'static str,
    benchmark: &'static str,
    flags: &'static [&'static str],
    operation: Operation,
    wal: bool,
    /// Of the long run; the short one has a tenth of them.
    operations: u64,
}

/// Keys of a fill.
const KEYS: u64 = 200_000;

const fn seeks(direction: Direction) -> Operation {
    Operation::SeekRandom { nexts: 10, direction, among_keys: None }
}

/// Steps of both sequences whose operations depend on no clock.
pub static CASES: [Case; 8] = [
    Case {
        name: "fillseq",
        benchmark: "fillseq",
        flags: &[],
        operation: Operation::FillSequential,
        wal: false,
        operations: KEYS,
    },
    Case {
        name: "fillrandom",
        benchmark: "fillrandom",
        flags: &[],
        operation: Operation::FillRandom,
        wal: true,
        operations: KEYS,
    },
    Case {
        name: "overwrite",
        benchmark: "overwrite",
        flags: &[],
        operation: Operation::Overwrite,
        wal: true,
        operations: 100_000,
    },
    Case {
        name: "readrandom",
        benchmark: "readrandom",
        flags: &[],
        operation: Operation::ReadRandom,
        wal: true,
        operations: 100_000,
    },
    Case {
        name: "multireadrandom",
        benchmark: "multireadrandom",
        flags: &["--batch_size=10", "--multiread_batched=1"],
        operation: Operation::MultiRead { batch: 10 },
        wal: true,
        operations: 100_000,
    },
    Case {
        name: "fwdrange",
        benchmark: "seekrandom",
        flags: &["--seek_nexts=10"],
        operation: seeks(Direction::Forward),
        wal: true,
        operations: 50_000,
    },
    Case {
        name: "revrange",
        benchmark: "seekrandom",
        flags: &["--seek_nexts=10", "--reverse_iterator=1"],
        operation: seeks(Direction::Reverse),
        wal: true,
        operations: 50_000,
    },
    Case {
        name: "readseq",
        benchmark: "readseq",
        flags: &[],
        operation: Operation::ReadSequential { one_pass: true },
        wal: true,
        operations: 150_000,
    },
];

impl Case {
    pub fn name(&self) -> String {
        self.name.to_owned()
    }

    fn fills(&self) -> bool {
        self.operation.fills()
    }
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
        for case in cases {
            let counted = |side: Side| -> anyhow::Result<(Counters, Counters)> {
                let of = |operations| self.counted(case, side, operations, &template);
                Ok((of(case.operations)?, of(case.operations / 10)?))
            };
            let both = (counted(Side::Classic).with_context(|| case.name())?, counted(Side::Ours)?);
            let operations = (case.operations - case.operations / 10) as f64;
            rows.extend(Row::of("rocksdb", case.name, ROCKSDB, both, operations));
        }
        Ok(rows)
    }

    /// The tickers of a process that opens a copy of the database and does so many operations.
    fn counted(&self, case: &Case, side: Side, operations: u64, template: &Path) -> anyhow::Result<Counters> {
        let directory = self.scratch.database("fidelity", (!case.fills()).then_some(template))?;
        let text = match side {
            Side::Classic => self.db_bench(case, operations, &directory)?,
            Side::Ours => self.worker(case, operations, &directory)?,
        };
        Ok(Counters::parse(&text))
    }

    fn db_bench(&self, case: &Case, operations: u64, directory: &Path) -> anyhow::Result<String> {
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
        printed(command.args(case.flags))
    }

    fn worker(&self, case: &Case, operations: u64, directory: &Path) -> anyhow::Result<String> {
        let data = if case.fills() { DataSet { keys: operations, ..DATA } } else { DATA };
        let setup = StepSetup { wal: case.wal, ..StepSetup::plain(case.operation.clone(), data, self.seed) };
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
        worker::blocks(&output)?;
        worker::text(&output)
    }
}
