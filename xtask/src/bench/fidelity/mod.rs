//! `cargo xtask bench fidelity`: the worker beside the classic programs, on the same engine and the same data: what the engine counts of each
//! event. Counts depend on no noise. Of SQL servers the statements of the workload `sysbench-32.quick` beside Debian's sysbench, with its own
//! scripts and with ours for what it has none; of RocksDB the steps of the sequences beside Debian's db_bench. The CPU time of a server has
//! noise: it is the median of pairs of runs, with its 99 % interval.
//!
//! Each is (count of a long run - count of a short one) / (events of the long one - of the short one): what connecting, preparing and reading
//! the counters cost falls out.

mod cases;
mod counters;
mod rocksdb;
mod row;

use super::client::library_of;
use super::client::sides::Programs;
use super::own_server::{OwnServer, Reached};
use super::sql::{sysbench_connection, table};
use super::{Ending, Here, chosen, difference_ns, on_search_path, printed, scrambled, worker};
use anyhow::{Context, ensure};
use cases::{CASES, Case, OUR_SCRIPT, OURS};
use counters::{CPU, Counters, RATE, measures};
use load::Connection;
use model::address::ServerAddress;
use model::units::Nanos;
use model::wire::{BlockLimit, EngineText, Request, StepSetup};
use model::workload::sql::{Dialect, Transaction};
use model::workload::{Operation, Settle, Workload};
use rocksdb::Rocksdb;
use row::{Row, Side, Verdict};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How long the server is waited for after a load or a run.
const SETTLE_TIMEOUT: Nanos = Nanos::from_secs(120);
/// One of each dialect, new enough to count the blocks and the log of its clients.
const BUILDS: [&str; 2] = ["postgres@18.6", "mariadb@10.11.19"];
/// Its tables and statements are compared.
const WORKLOAD: &str = "sysbench-32.quick";

#[derive(clap::Args)]
pub struct Arguments {
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    here: Here,
    /// Pairs of runs for the CPU time of servers, which has an interval from eight on; none leaves it out
    #[arg(long, default_value_t = 9)]
    pairs: u64,
    /// Over TCP, not by the servers' sockets
    #[arg(long)]
    tcp: bool,
    /// Only these steps: point-query_range=100, readrandom, ..
    cases: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let rocksdb_cases = rocksdb::cases();
    let names: Vec<String> =
        CASES.iter().map(Case::name).chain(rocksdb_cases.iter().map(rocksdb::Case::name)).collect();
    let wanted = chosen(&names, String::clone, &arguments.cases)?;
    let of_sql: Vec<&Case> = CASES.iter().filter(|case| wanted.contains(&case.name())).collect();
    let of_rocksdb: Vec<&rocksdb::Case> =
        rocksdb_cases.iter().filter(|case| wanted.contains(&case.name())).collect();
    let dbdyno = arguments.here.dbdyno.path()?;
    let scratch = arguments.here.scratch()?;
    let told = Told { as_json: arguments.json };
    told.begin();
    let mut rows = Vec::new();
    if !of_rocksdb.is_empty() {
        let Some(db_bench) = on_search_path("db_bench") else {
            return Ok(Ending::NotInstalled(
                "db_bench is not on the search path; apt-get install rocksdb-tools librocksdb7.8".to_owned(),
            ));
        };
        let library = library_of(&db_bench)?;
        let programs = Programs { db_bench, library, dbdyno: dbdyno.clone(), db_bench_perf_level: 1 };
        let seed = arguments.here.seed;
        let sides = Rocksdb { programs: &programs, scratch: &scratch, seed };
        let of_all = sides.compare(&of_rocksdb)?;
        told.tell(&of_all);
        rows.extend(of_all);
    }
    if !of_sql.is_empty() {
        let Some(sysbench) = on_search_path("sysbench") else {
            let message = "sysbench is not on the search path; apt-get install sysbench";
            return Ok(Ending::NotInstalled(message.to_owned()));
        };
        let text = printed(Command::new(&dbdyno).args(["workload", "show", WORKLOAD]))?;
        let workload = Workload::parse(&text, WORKLOAD)?;
        for (build, number) in BUILDS.iter().zip(0_u32..) {
            let reached = if arguments.tcp { Reached::Tcp } else { Reached::Socket };
            let server =
                OwnServer::start_for(&dbdyno, build, reached).with_context(|| (*build).to_owned())?;
            let directory = scratch.empty_directory(&format!("server-{number}"))?;
            fs::write(directory.join(OURS), OUR_SCRIPT).context("failed to write the script")?;
            let sides = Sides {
                sysbench: &sysbench,
                dbdyno: &dbdyno,
                server: &server,
                address: &server.address,
                workload: &workload,
                directory,
            };
            sides.keep_still()?;
            for case in &of_sql {
                let seed = scrambled(arguments.here.seed, u64::from(number));
                let of_case = sides.compare(case, arguments.pairs, seed);
                let of_case = of_case.with_context(|| format!("{build}, {}", case.step))?;
                told.tell(&of_case);
                rows.extend(of_case);
            }
            server.stop()?;
        }
    }
    if arguments.json {
        let json_rows: Vec<serde_json::Value> = rows.iter().map(Row::json).collect();
        println!("{}", json!({ "bench": "fidelity", "seed": arguments.here.seed, "rows": json_rows }));
    }
    let of = |verdict: Verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
    let (differ, intended, open) = (of(Verdict::Differs), of(Verdict::Intended), of(Verdict::Open));
    eprintln!(
        "{differ} of {} counts differ, {intended} differ as they are meant to, {open} are open",
        rows.len()
    );
    Ok(Ending::of(differ == 0))
}

/// The table, told row by row: a step that fails an hour later does not take those before it away.
struct Told {
    as_json: bool,
}

impl Told {
    fn begin(&self) {
        if !self.as_json {
            println!("{}", Row::heading());
        }
    }

    fn tell(&self, rows: &[Row]) {
        if !self.as_json {
            rows.iter().for_each(|row| println!("{}", row.text()));
        }
    }
}

/// Both programs and what they are run on.
struct Sides<'a> {
    sysbench: &'a Path,
    dbdyno: &'a Path,
    server: &'a OwnServer,
    address: &'a ServerAddress,
    workload: &'a Workload,
    directory: PathBuf,
}

impl Sides<'_> {
    fn compare(&self, case: &Case, pairs: u64, seed: u64) -> anyhow::Result<Vec<Row>> {
        let counted = |side: Side| -> anyhow::Result<(Counters, Counters)> {
            let long = self.counted(side, case, case.events, seed)?;
            Ok((long, self.counted(side, case, case.short_events(), seed)?))
        };
        let both = (counted(Side::Classic)?, counted(Side::Ours)?);
        let dialect = self.address.dialect;
        let mut rows = Row::of(dialect.name(), case.step, measures(dialect), both, case.events_between());
        if pairs > 0 {
            let Pairs { cpu_ns, per_s } = self.of_pairs(case, pairs, seed)?;
            rows.push(Row::of_pairs(dialect.name(), case.step, &CPU, &cpu_ns)?);
            rows.push(Row::of_pairs(dialect.name(), case.step, &RATE, &per_s)?);
        }
        Ok(rows)
    }

    /// Vacuums that the server begins by itself would leave other pages all-visible from load to load.
    fn keep_still(&self) -> anyhow::Result<()> {
        if self.address.dialect != Dialect::Postgres {
            return Ok(());
        }
        let mut connection = Connection::open(self.address)?;
        connection.run("ALTER SYSTEM SET autovacuum = off")?;
        connection.run("SELECT pg_reload_conf()")?;
        Ok(())
    }

    /// What the server counts while a client does so many events on a table that was just loaded.
    fn counted(&self, side: Side, case: &Case, events: u64, seed: u64) -> anyhow::Result<Counters> {
        self.load()?;
        let purge_is_held = self.hold_purge()?;
        let before = self.status()?;
        self.run(side, case, events, seed)?;
        if purge_is_held.is_none() {
            self.settle()?;
        }
        let after = self.status()?;
        drop(purge_is_held);
        self.unload()?;
        Ok(after.since(&before))
    }

    /// A transaction that may still read all rows as they are now. InnoDB's purge waits for it: what purge logs and counts depends on when it runs,
    /// not on what the client asked for (of write-only 1,800 to 4,900 bytes of log an event, the more the slower the events came).
    fn hold_purge(&self) -> anyhow::Result<Option<Connection>> {
        if self.address.dialect != Dialect::Mysql {
            return Ok(None);
        }
        let mut connection = Connection::open(self.address)?;
        connection.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        Ok(Some(connection))
    }

    /// The server's CPU time, in nanoseconds an event, and events a second, with sysbench and with the worker; which of them is first is drawn. Each
    /// writes to tables that were just loaded.
    fn of_pairs(&self, case: &Case, pairs: u64, seed: u64) -> anyhow::Result<Pairs> {
        let writes = self.workload.step(case.step)?.operation.writes();
        let mut pairs_done = Pairs::default();
        self.load()?;
        for pair in 0..pairs {
            let seed = scrambled(seed, pair);
            let mut sides = [Side::Classic, Side::Ours];
            if seed & 1 == 0 {
                sides.reverse();
            }
            let (mut cpu, mut rates) = ([0.0; 2], [0.0; 2]);
            for side in sides {
                (cpu[side as usize], rates[side as usize]) = self.cpu_and_rate(side, case, seed)?;
                if writes {
                    self.unload()?;
                    self.load()?;
                }
            }
            pairs_done.cpu_ns.push(cpu);
            pairs_done.per_s.push(rates);
        }
        self.unload()?;
        Ok(pairs_done)
    }

    fn cpu_and_rate(&self, side: Side, case: &Case, seed: u64) -> anyhow::Result<(f64, f64)> {
        let _purge_is_held = self.hold_purge()?;
        let used = |events| {
            let (began, before) = (Instant::now(), self.server.cpu_time()?);
            self.run(side, case, events, seed)?;
            let took = began.elapsed();
            anyhow::Ok((self.server.cpu_time()?.saturating_sub(before), took))
        };
        let (long, short) = (used(case.events)?, used(case.short_events())?);
        let cpu_ns = difference_ns(long.0, short.0) / case.events_between();
        Ok((cpu_ns, case.events_between() / difference_ns(long.1, short.1) * 1e9))
    }

    fn run(&self, side: Side, case: &Case, events: u64, seed: u64) -> anyhow::Result<()> {
        match side {
            Side::Classic => self.run_sysbench(case, events, seed),
            Side::Ours => self.run_worker(case, events, seed),
        }
    }

    /// Waits until the server has done what it left for later, purge first.
    fn settle(&self) -> anyhow::Result<()> {
        let settle = Request::Settle { to: Settle::Drained, timeout: SETTLE_TIMEOUT };
        worker::blocks(&self.ask(vec![settle])?).map(drop)
    }

    fn run_sysbench(&self, case: &Case, events: u64, seed: u64) -> anyhow::Result<()> {
        let rows = self.workload.data.keys;
        let mut command = Command::new(self.sysbench);
        // Ours lies in the directory.
        command.current_dir(&self.directory).arg(case.script).args(sysbench_connection(self.address)?).args(
            [
                format!("--table-size={rows}"),
                "--tables=1".to_owned(),
                "--threads=1".to_owned(),
                format!("--rand-seed={}", seed % 1_000_000 + 1),
                format!("--events={events}"),
                "--time=0".to_owned(),
            ],
        );
        if !case.options.iter().any(|option| option.starts_with("--rand-type")) {
            command.arg("--rand-type=uniform");
        }
        printed(command.args(case.options).arg("run")).map(drop)
    }

    fn run_worker(&self, case: &Case, events: u64, seed: u64) -> anyhow::Result<()> {
        let operation = &self.workload.step(case.step)?.operation;
        let transaction =
            transaction_of(operation).with_context(|| format!("{} has no statements", case.step))?;
        let count = events * transaction.operations(self.address.dialect);
        let setup = self.setup(operation.clone(), seed);
        let output = self.ask(worker::step(setup, BlockLimit::Operations { count }).into())?;
        let done: u64 = worker::blocks(&output)?.iter().map(|block| block.operations).sum();
        ensure!(done == count, "the worker did {done} of {count} statements");
        Ok(())
    }

    /// The tables of the workload with their rows, and the server at rest.
    fn load(&self) -> anyhow::Result<()> {
        let setup = |operation| Ok(self.setup(operation, 1));
        worker::blocks(&self.ask(table::load(self.workload.data.keys, SETTLE_TIMEOUT, setup)?)?).map(drop)
    }

    fn unload(&self) -> anyhow::Result<()> {
        let requests = table::unload(|operation| Ok(self.setup(operation, 1)))?;
        worker::blocks(&self.ask(requests)?).map(drop)
    }

    /// By a connection of its own: a backend tells what it counted when it ends.
    fn status(&self) -> anyhow::Result<Counters> {
        let output = self.ask(vec![Request::ReadText { what: EngineText::Status }])?;
        Ok(Counters::parse(&worker::text(&output)?))
    }

    fn setup(&self, operation: Operation, seed: u64) -> StepSetup {
        let tables = self.workload.tables.clone();
        StepSetup { tables, ..StepSetup::plain(operation, self.workload.data, seed) }
    }

    /// The file with the worker's replies.
    fn ask(&self, steps: Vec<Request>) -> anyhow::Result<PathBuf> {
        let output = self.directory.join("worker.out");
        worker::answered(self.dbdyno, &worker::on_server(self.address, steps), &output)?;
        Ok(output)
    }
}

/// Of each pair of runs what was found with sysbench and with the worker.
#[derive(Default)]
struct Pairs {
    /// CPU of the server an event.
    cpu_ns: Vec<[f64; 2]>,
    /// Events.
    per_s: Vec<[f64; 2]>,
}

fn transaction_of(operation: &Operation) -> Option<&Transaction> {
    match operation {
        Operation::Transaction(transaction) => Some(transaction),
        _ => None,
    }
}
