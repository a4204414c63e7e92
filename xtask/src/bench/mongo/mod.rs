//! `cargo xtask bench mongo`: the client of MongoDB beside PyMongo, with the same commands on the same server: client CPU of each event, and
//! events a second. The servers are FerretDB, on a hundred documents, and one that costs nothing.
//!
//! CPU of an event is (CPU of a long run - CPU of a short one) / (events of the long one - of the short one), of the whole process:
//! connecting falls out.

mod sink;

use super::race::run_alone;
use super::ratios::Ratios;
use super::{Ending, Here, difference_ns, printed, scrambled, worker};
use crate::{choice, ferretdb};
use anyhow::{Context, ensure};
use model::address::{Endpoint, ServerAddress};
use model::wire::{BlockLimit, StepSetup};
use model::workload::sql::Dialect;
use model::workload::{Operation, Workload};
use serde_json::json;
use sink::Sink;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// No median of the CPU of an event may be above.
const GOAL_CPU: f64 = 0.25;
/// No median of the rates may be below.
const GOAL_RATE: f64 = 1.0;
/// On the server that costs nothing a document of an insert may cost this much.
const GOAL_DOCUMENT_NS: f64 = 2000.0;
const WORKLOAD: &str = "ibench-mongodb.quick";
const CLIENT: &str = include_str!("client.py");
/// Where apt-get puts the driver: for its own Python.
const PYTHON: &str = "/usr/bin/python3";
/// Documents of the collection: FerretDB reads all of them for each find.
const DOCUMENTS: u64 = 100;
const OF_INSERT: u64 = 100;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only these events: insert, find-one, find-ten
    events: Vec<String>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Pairs of each case; from eight on there is an interval
    #[arg(long, default_value_t = 8)]
    pairs: u64,
    #[command(flatten)]
    here: Here,
}

/// What both clients do.
struct Event {
    name: &'static str,
    command: &'static str,
    /// Documents that it inserts or finds.
    documents: u64,
    /// What one operation of the worker is.
    counts: &'static str,
    /// Events of the long run on each server; the short one has a tenth of them.
    on_sink: u64,
    on_ferretdb: u64,
}

static EVENTS: [Event; 3] = [
    Event {
        name: "insert",
        command: r#"{"insert": "{table}", "ordered": true, "documents": "{row*100}"}"#,
        documents: OF_INSERT,
        counts: "rows",
        on_sink: 2000,
        on_ferretdb: 500,
    },
    Event {
        name: "find-one",
        command: r#"{"find": "{table}", "filter": {"_id": "{existing}"}, "limit": 1, "projection": {"_id": 0, "data": 1}}"#,
        documents: 1,
        counts: "statements",
        on_sink: 20_000,
        on_ferretdb: 1500,
    },
    Event {
        name: "find-ten",
        command: r#"{"find": "{table}", "filter": {"price": {"$gte": "{low}"}}, "sort": {"price": 1, "dateandtime": 1, "customerid": 1},
            "limit": 10, "hint": "pdc", "projection": {"_id": 0, "price": 1, "dateandtime": 1, "customerid": 1}}"#,
        documents: 10,
        counts: "statements",
        on_sink: 10_000,
        on_ferretdb: 600,
    },
];

/// An event on a server.
struct Case {
    server: &'static str,
    event: &'static Event,
    cpu: Ratios,
    rate: Ratios,
    python_ns: f64,
    worker_ns: f64,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let version = Command::new(PYTHON).args(["-c", "import pymongo; print(pymongo.version)"]).output();
    let Some(version) = version.ok().filter(|output| output.status.success()) else {
        let message = "PyMongo is not installed: apt-get install python3-pymongo python3-bson-ext";
        return Ok(Ending::NotInstalled(message.to_owned()));
    };
    let Some(program) = ferretdb::built()? else {
        return Ok(Ending::NotInstalled(
            "FerretDB is built with go, which is not on the search path".to_owned(),
        ));
    };
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let dbdyno = arguments.here.dbdyno.path()?;
    let scratch = arguments.here.scratch()?;
    let workload =
        Workload::parse(&printed(Command::new(&dbdyno).args(["workload", "show", WORKLOAD]))?, WORKLOAD)?;
    let directory = scratch.empty_directory("mongo")?;
    fs::write(directory.join("client.py"), CLIENT).context("failed to write the client in Python")?;
    let name = |event: &Event| event.name.to_owned();
    let events = choice::chosen(&EVENTS, name, "event", &arguments.events)?;
    let mut cases = Vec::new();
    for (server, number) in ["sink", "ferretdb"].into_iter().zip(0..) {
        let socket = directory.join(format!("{number}.sock"));
        let _server: Box<dyn std::any::Any> = match server {
            "sink" => Box::new(Sink::start(&socket)?),
            _ => Box::new(ferretdb::Server::start(&program, &directory.join("data"), &socket, &[])?),
        };
        let sides = Sides { dbdyno: &dbdyno, workload: &workload, directory: &directory, socket };
        for event in events.iter().copied() {
            let count = if server == "sink" { event.on_sink } else { event.on_ferretdb };
            let case = sides.case(server, event, count, arguments);
            cases.push(case.with_context(|| format!("{server}, {}", event.name))?);
            eprintln!("{server}: {} is measured", event.name);
        }
    }
    if arguments.json {
        let cases: Vec<serde_json::Value> = cases.iter().map(Case::json).collect();
        println!("{}", json!({ "bench": "mongo", "pymongo": version, "ratios": cases }));
    } else {
        println!(
            "client of an event, dbdyno over PyMongo {version} (goals: CPU at most {GOAL_CPU}, rate at least {GOAL_RATE})"
        );
        println!(
            "{:<10} {:<9} {:>6}  {:<16} {:>6}  {:<16} {:>11} {:>11}",
            "server", "event", "CPU", "99 % interval", "rate", "99 % interval", "PyMongo ns", "dbdyno ns"
        );
        cases.iter().for_each(|case| println!("{}", case.text()));
    }
    Ok(Ending::of(cases.iter().all(Case::meets_goals)))
}

/// Both clients and what they speak to.
struct Sides<'a> {
    dbdyno: &'a Path,
    workload: &'a Workload,
    directory: &'a Path,
    socket: PathBuf,
}

/// What a run took of an event.
#[derive(Clone, Copy)]
struct Took {
    cpu_ns: f64,
    wall_ns: f64,
}

impl Sides<'_> {
    fn case(
        &self,
        server: &'static str,
        event: &'static Event,
        events: u64,
        arguments: &Arguments,
    ) -> anyhow::Result<Case> {
        let mut pairs = Vec::new();
        for pair in 0..arguments.pairs {
            let seed = scrambled(arguments.here.seed, pair);
            // Each finds the collection as it was loaded: one that has grown is slower.
            let python = |events| self.load().and_then(|()| self.python(event, events, seed));
            let worker = |events| self.load().and_then(|()| self.worker(event, events, seed));
            let both = if seed & 1 == 0 {
                let python = took(events, &python)?;
                (python, took(events, &worker)?)
            } else {
                let worker = took(events, &worker)?;
                (took(events, &python)?, worker)
            };
            pairs.push(both);
        }
        Ok(Case {
            server,
            event,
            cpu: Ratios::over(&pairs, |(python, worker)| worker.cpu_ns / python.cpu_ns)?,
            rate: Ratios::over(&pairs, |(python, worker)| python.wall_ns / worker.wall_ns)?,
            python_ns: Ratios::over(&pairs, |(python, _)| python.cpu_ns)?.median,
            worker_ns: Ratios::over(&pairs, |(_, worker)| worker.cpu_ns)?.median,
        })
    }

    fn python(&self, event: &Event, events: u64, seed: u64) -> anyhow::Result<Command> {
        let mut command = Command::new(PYTHON);
        command.arg(self.directory.join("client.py")).args(["--database", DATABASE, "--case", event.name]);
        command.arg("--socket").arg(&self.socket);
        for (name, number) in [("events", events), ("documents", DOCUMENTS), ("seed", seed % 1000 + 1)] {
            command.args([format!("--{name}"), number.to_string()]);
        }
        Ok(command)
    }

    fn worker(&self, event: &Event, events: u64, seed: u64) -> anyhow::Result<Command> {
        let rows = if event.counts == "rows" { event.documents } else { 1 };
        let transaction = json!({
            "table": "of-client", "prepared": false, "counts": event.counts,
            "statements": [{ "sql": event.command, "rows": event.documents }],
        });
        let transaction = serde_json::from_value(transaction).context("failed to make the command")?;
        let setup = self.setup(Operation::Transaction(transaction), seed);
        let step = worker::step(setup, BlockLimit::Operations { count: events * rows });
        worker::command(self.dbdyno, &worker::on_server(&self.address(), step.into()), &self.output())
    }

    /// A collection with its indexes, in place of the one that is there.
    fn load(&self) -> anyhow::Result<()> {
        let drop = json!({ "prepared": false, "statements": [{ "sql": r#"{"drop": "{table}"}"# }] });
        let drop =
            Operation::Transaction(serde_json::from_value(drop).context("failed to make the command")?);
        let steps = [(drop, 1), (Operation::LoadTables, DOCUMENTS), (Operation::BuildIndexes, DOCUMENTS)];
        let requests = steps.into_iter().flat_map(|(operation, count)| {
            worker::step(self.setup(operation, 1), BlockLimit::Operations { count })
        });
        worker::answered(
            self.dbdyno,
            &worker::on_server(&self.address(), requests.collect()),
            &self.output(),
        )?;
        worker::blocks(&self.output())?;
        Ok(())
    }

    fn setup(&self, operation: Operation, seed: u64) -> StepSetup {
        let mut tables = self.workload.tables.clone();
        let mut data = self.workload.data;
        if let Some(tables) = &mut tables {
            tables.rows = DOCUMENTS;
            data.keys = DOCUMENTS;
            let low = json!({ "draw": "uniform", "low": 0, "high": 1 });
            tables.parameters.extend(serde_json::from_value(low).ok().map(|low| ("low".to_owned(), low)));
        }
        StepSetup { tables, server_is_ours: true, ..StepSetup::plain(operation, data, seed) }
    }

    fn address(&self) -> ServerAddress {
        ServerAddress::new(
            Dialect::Mongodb,
            Endpoint::Socket { path: self.socket.clone() },
            "bench",
            DATABASE,
        )
    }

    fn output(&self) -> PathBuf {
        self.directory.join("worker.out")
    }
}

const DATABASE: &str = "bench";

fn took(events: u64, client: &dyn Fn(u64) -> anyhow::Result<Command>) -> anyhow::Result<Took> {
    let used = |events| {
        let command = client(events)?;
        let began = Instant::now();
        anyhow::Ok((run_alone(command)?.cpu, began.elapsed()))
    };
    let (long, short) = (used(events)?, used(events / 10)?);
    let per_event =
        |long: Duration, short: Duration| difference_ns(long, short) / (events - events / 10) as f64;
    let took = Took { cpu_ns: per_event(long.0, short.0), wall_ns: per_event(long.1, short.1) };
    ensure!(took.cpu_ns > 0.0 && took.wall_ns > 0.0, "a long run took less than a short one");
    Ok(took)
}

impl Case {
    fn document_ns(&self) -> Option<f64> {
        let is_judged = self.server == "sink" && self.event.name == "insert";
        is_judged.then_some(self.worker_ns / self.event.documents as f64)
    }

    fn meets_goals(&self) -> bool {
        self.cpu.median <= GOAL_CPU
            && self.rate.median >= GOAL_RATE
            && self.document_ns().is_none_or(|ns| ns <= GOAL_DOCUMENT_NS)
    }

    fn text(&self) -> String {
        let interval = |of: &Ratios| {
            of.low.zip(of.high).map(|(low, high)| format!("[{low:.3}, {high:.3}]")).unwrap_or_default()
        };
        let document = self.document_ns().map(|ns| format!("  {ns:.0} ns a document")).unwrap_or_default();
        format!(
            "{:<10} {:<9} {:>6.3}  {:<16} {:>6.2}  {:<16} {:>11.0} {:>11.0}{document}{}",
            self.server,
            self.event.name,
            self.cpu.median,
            interval(&self.cpu),
            self.rate.median,
            interval(&self.rate),
            self.python_ns,
            self.worker_ns,
            if self.meets_goals() { "" } else { "  MISSED" },
        )
    }

    fn json(&self) -> serde_json::Value {
        let more =
            json!({ "python_ns": self.python_ns, "worker_ns": self.worker_ns, "rate": self.rate.median });
        self.cpu.row(&format!("{} {}", self.server, self.event.name), GOAL_CPU, more)
    }
}
