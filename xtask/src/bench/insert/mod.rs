//! `cargo xtask bench insert`: the Insert Benchmark's client beside one in Python, with the same statements on the same server: client CPU
//! of each inserted row. And what the streams of a query step do to it: by how much inserts begin late, and what the worker has in memory.
//!
//! CPU of a row is (CPU of a long run - CPU of a short one) / (rows of the long one - of the short one), of the whole process with the
//! processes that it started: connecting falls out.

mod streams;

use super::own_server::{BUILDS, OwnServer};
use super::race::run_alone;
use super::ratios::Ratios;
use super::{Ending, Here, difference_ns, printed, scrambled, worker};
use anyhow::{Context, ensure};
use model::address::{Endpoint, ServerAddress};
use model::wire::{BlockLimit, StepSetup};
use model::workload::{Operation, Workload};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use streams::{CLIENTS as STREAM_CLIENTS, Streams};

/// No median of the CPU of a row may be above.
const GOAL_CPU: f64 = 0.2;
const WORKLOAD: &str = "ibench.quick";
const CLIENTS: [u32; 2] = [1, 4];
/// Rows of the long run; the short one has a tenth of them.
const ROWS: u64 = 100_000;
const CLIENT: &str = include_str!("client.py");
/// Where apt-get puts the drivers: for its own Python.
const PYTHON: &str = "/usr/bin/python3";

#[derive(clap::Args)]
pub struct Arguments {
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Pairs of each case; from eight on there is an interval
    #[arg(long, default_value_t = 8)]
    pairs: u64,
    #[command(flatten)]
    here: Here,
}

/// The client CPU of an inserted row on a server.
struct Case {
    build: &'static str,
    clients: u32,
    ratios: Ratios,
    python_ns: f64,
    worker_ns: f64,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let has_drivers = Command::new(PYTHON).args(["-c", "import psycopg2, MySQLdb"]).output();
    if !has_drivers.is_ok_and(|output| output.status.success()) {
        let message = "Python's drivers are not installed: apt-get install python3-psycopg2 python3-mysqldb";
        return Ok(Ending::NotInstalled(message.to_owned()));
    }
    let dbdyno = arguments.here.dbdyno.path()?;
    let scratch = arguments.here.scratch()?;
    let text = printed(Command::new(&dbdyno).args(["workload", "show", WORKLOAD]))?;
    let workload = Workload::parse(&text, WORKLOAD)?;
    let (mut cases, mut streams) = (Vec::new(), Vec::new());
    for (build, number) in BUILDS.iter().zip(0_u32..) {
        let directory = scratch.empty_directory(&format!("insert-{number}"))?;
        let script = directory.join("client.py");
        fs::write(&script, CLIENT).context("failed to write the client in Python")?;
        for clients in CLIENTS {
            let server = OwnServer::start(&dbdyno, build).with_context(|| (*build).to_owned())?;
            let sides =
                Sides { dbdyno: &dbdyno, server: &server, workload: &workload, script: &script, clients };
            cases.push(sides.case(build, arguments).with_context(|| format!("{build}, {clients} clients"))?);
            eprintln!("{build}: {clients} clients are measured");
            server.stop()?;
        }
        for clients in STREAM_CLIENTS {
            let server = OwnServer::start(&dbdyno, build).with_context(|| (*build).to_owned())?;
            let measured =
                Streams::measure(&dbdyno, &server, &workload, clients, &directory.join("streams.out"));
            streams.push(measured.with_context(|| format!("{build}, streams of {clients} clients"))?);
            server.stop()?;
        }
    }
    if arguments.json {
        let cases: Vec<serde_json::Value> = cases.iter().map(Case::json).collect();
        let streams: Vec<serde_json::Value> = streams.iter().map(Streams::json).collect();
        println!("{}", json!({ "bench": "insert", "ratios": cases, "streams": streams }));
    } else {
        println!("client CPU of an inserted row, dbdyno over Python (goal: at most {GOAL_CPU})");
        println!(
            "{:<18} {:>7} {:>8}  {:<16} {:>10} {:>10}",
            "server", "clients", "ratio", "99 % interval", "Python ns", "dbdyno ns"
        );
        cases.iter().for_each(|case| println!("{}", case.text()));
        println!("\n{}", Streams::heading());
        streams.iter().for_each(|one| println!("{}", one.text()));
    }
    let met =
        cases.iter().all(|case| case.ratios.median <= GOAL_CPU) && streams.iter().all(Streams::meets_goals);
    Ok(Ending::of(met))
}

/// Both clients and what they insert into.
struct Sides<'a> {
    dbdyno: &'a Path,
    server: &'a OwnServer,
    workload: &'a Workload,
    script: &'a Path,
    clients: u32,
}

impl Sides<'_> {
    fn case(&self, build: &'static str, arguments: &Arguments) -> anyhow::Result<Case> {
        self.make_tables()?;
        let mut pairs = Vec::new();
        for pair in 0..arguments.pairs {
            let seed = scrambled(arguments.here.seed, pair);
            let (python, worker) = if seed & 1 == 0 {
                let python = Self::cpu_ns(&|rows| self.python(rows, seed))?;
                (python, Self::cpu_ns(&|rows| self.worker(rows, seed))?)
            } else {
                let worker = Self::cpu_ns(&|rows| self.worker(rows, seed))?;
                (Self::cpu_ns(&|rows| self.python(rows, seed))?, worker)
            };
            pairs.push((python, worker));
        }
        Ok(Case {
            build,
            clients: self.clients,
            ratios: Ratios::over(&pairs, |(python, worker)| worker / python)?,
            python_ns: Ratios::over(&pairs, |(python, _)| *python)?.median,
            worker_ns: Ratios::over(&pairs, |(_, worker)| *worker)?.median,
        })
    }

    fn cpu_ns(used: &dyn Fn(u64) -> anyhow::Result<Duration>) -> anyhow::Result<f64> {
        let spent = difference_ns(used(ROWS)?, used(ROWS / 10)?);
        ensure!(spent > 0.0, "a long run took less CPU than a short one");
        Ok(spent / (ROWS - ROWS / 10) as f64)
    }

    /// CPU time of the client in Python.
    fn python(&self, rows: u64, seed: u64) -> anyhow::Result<Duration> {
        let ServerAddress { dialect, endpoint, user, database, .. } = &self.server.address;
        let Endpoint::Socket { path } = endpoint else { anyhow::bail!("the server has no socket") };
        let mut command = Command::new(PYTHON);
        command.arg(self.script).args(["--dialect", dialect.name(), "--user", user, "--database", database]);
        command.arg("--socket").arg(path);
        for (name, number) in [
            ("tables", self.clients.into()),
            ("clients", self.clients.into()),
            ("rows", rows),
            ("seed", seed),
        ] {
            command.args([format!("--{name}"), number.to_string()]);
        }
        Ok(run_alone(command)?.cpu)
    }

    /// CPU time of the worker, which inserted all rows.
    fn worker(&self, rows: u64, seed: u64) -> anyhow::Result<Duration> {
        let setup = self.setup(self.workload.step("l.i1")?.operation.clone(), seed);
        self.run_worker(setup, rows)
    }

    /// A row in each, so that they are there; what inserts cost the client does not depend on indexes.
    fn make_tables(&self) -> anyhow::Result<()> {
        let setup = self.setup(Operation::LoadTables, 1);
        let rows = setup.data.keys;
        self.run_worker(setup, rows).map(drop)
    }

    fn run_worker(&self, setup: StepSetup, rows: u64) -> anyhow::Result<Duration> {
        let step = worker::step(setup, BlockLimit::Operations { count: rows });
        let output = self.script.with_file_name("worker.out");
        let requests = worker::on_server(&self.server.address, step.into());
        let cpu = run_alone(worker::command(self.dbdyno, &requests, &output)?)?.cpu;
        let done: u64 = worker::blocks(&output)?.iter().map(|block| block.operations).sum();
        ensure!(done == rows, "the worker inserted {done} of {rows} rows");
        Ok(cpu)
    }

    fn setup(&self, operation: Operation, seed: u64) -> StepSetup {
        setup(self.workload, self.clients, ROWS_BEFORE, operation, seed)
    }
}

/// A step with a table of this many rows for each client.
fn setup(workload: &Workload, clients: u32, rows: u64, operation: Operation, seed: u64) -> StepSetup {
    let mut tables = workload.tables.clone();
    let mut data = workload.data;
    if let Some(tables) = &mut tables {
        (tables.count, tables.rows) = (clients, rows);
        data.keys = u64::from(clients) * rows;
    }
    StepSetup { tables, threads: clients, ..StepSetup::plain(operation, data, seed) }
}

/// Of each table.
const ROWS_BEFORE: u64 = 1000;

impl Case {
    fn text(&self) -> String {
        let Ratios { median, low, high, .. } = self.ratios;
        let interval = low.zip(high).map(|(low, high)| format!("[{low:.3}, {high:.3}]")).unwrap_or_default();
        format!(
            "{:<18} {:>7} {median:>8.3}  {interval:<16} {:>10.0} {:>10.0}{}",
            self.build,
            self.clients,
            self.python_ns,
            self.worker_ns,
            if median <= GOAL_CPU { "" } else { "  MISSED" },
        )
    }

    fn json(&self) -> serde_json::Value {
        let more = json!({ "python_ns": self.python_ns, "worker_ns": self.worker_ns });
        self.ratios.row(&format!("{} {}", self.build, self.clients), GOAL_CPU, more)
    }
}
