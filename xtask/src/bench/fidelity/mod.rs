//! `cargo xtask bench fidelity`: the worker beside the classic programs, on the same engine and the same data: what the engine counts of each
//! event. Counts depend on no noise. Of SQL servers the statements of the workload `sysbench-32.quick` beside Debian's sysbench, with its own
//! scripts and with ours for what it has none; of RocksDB the steps of the sequences beside Debian's db_bench. The CPU time of a server has
//! noise, and depends on the code of the program that asks it. So what both sent is sent again by one program: the median of pairs of runs, with its
//! 99 % interval, on the same server in turns of 25 ms, so that what the machine does meanwhile meets both alike.
//!
//! Each is (count of a long run - count of a short one) / (events of the long one - of the short one): what connecting, preparing and reading
//! the counters cost falls out.

mod cases;
mod counters;
mod rocksdb;
mod row;
mod tape;

use super::client::library_of;
use super::client::sides::Programs;
use super::own_server::{OwnServer, Reached};
use super::sql::{sysbench_connection, table};
use super::{Ending, Here, chosen, difference_ns, on_search_path, printed, scrambled, worker};
use anyhow::{Context, ensure};
use cases::{CASES, Case, OUR_SCRIPT, OURS};
use counters::{CPU, Counters, RATE, measures};
use load::{Connection, cpus};
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
use std::time::{Duration, Instant};
use tape::Tape;

/// How long the server is waited for after a load or a run.
const SETTLE_TIMEOUT: Nanos = Nanos::from_secs(120);
/// One of each dialect, new enough to count the blocks and the log of its clients.
const BUILDS: [&str; 2] = ["postgres@18.6", "mariadb@10.11.19"];
/// Of each side so much is sent again in a pair, as long as the events took that are counted.
const REPLAYED: Duration = Duration::from_millis(600);
/// Or so many events, if they take longer and the step has as many.
const LEAST: u64 = 100;
/// Of an event with one request it has to be more than the worker asks on a connection on which it does no event.
const FEWEST: u64 = 5;
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
        // Servers and clients are on one CPU: what it costs to wake another one is noise, and is in nothing that is counted. This thread, and so all that it
        // starts from now on.
        cpus::allowed().first().copied().into_iter().for_each(cpus::stay_on);
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
        let counted = |side: Side| -> anyhow::Result<((Counters, Counters), f64, Duration)> {
            let (long, long_took) = self.counted(side, case, case.events, seed)?;
            let (short, short_took) = self.counted(side, case, case.short_events(), seed)?;
            let per_s = case.events_between() / difference_ns(long_took, short_took) * 1e9;
            Ok(((long, short), per_s, long_took))
        };
        self.load()?;
        // What the first reader writes, such as hints in system tables, is not counted.
        self.run(Side::Classic, case, case.short_events(), seed)?;
        let (classic, classic_per_s, took) = counted(Side::Classic)?;
        let (ours, our_per_s, _) = counted(Side::Ours)?;
        let dialect = self.address.dialect;
        let (engine, events) = (dialect.name(), case.events_between());
        let mut rows = Row::of(
            engine,
            case.step,
            measures(dialect),
            (classic, ours),
            (events, case.described_columns()),
        );
        rows.push(Row::of_pairs(engine, case.step, &RATE, &[[classic_per_s, our_per_s]])?);
        if pairs > 0 {
            rows.push(Row::of_pairs(engine, case.step, &CPU, &self.cpu_of_pairs(case, took, pairs, seed)?)?);
        }
        self.unload()?;
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

    /// What the server counts while a client does so many events, and how long the client takes.
    fn counted(
        &self,
        side: Side,
        case: &Case,
        events: u64,
        seed: u64,
    ) -> anyhow::Result<(Counters, Duration)> {
        self.renew(case)?;
        let purge_is_held = self.hold_purge()?;
        let before = self.status()?;
        let began = Instant::now();
        self.run(side, case, events, seed)?;
        let took = began.elapsed();
        if purge_is_held.is_none() {
            self.settle()?;
        }
        let after = self.status()?;
        drop(purge_is_held);
        Ok((after.since(&before), took))
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

    /// The server's CPU time, in nanoseconds an event, for what sysbench and for what the worker sends: sent again by this program, in turns; which of them is
    /// first is drawn.
    fn cpu_of_pairs(
        &self,
        case: &Case,
        took: Duration,
        pairs: u64,
        seed: u64,
    ) -> anyhow::Result<Vec<[f64; 2]>> {
        let long = case.events_in(took, REPLAYED).max(case.events.min(LEAST));
        let short = (long / 10).max(FEWEST);
        let taped = |seed| -> anyhow::Result<[[Tape; 2]; 2]> {
            let of = |events| -> anyhow::Result<[Tape; 2]> {
                Ok([
                    self.tape(Side::Classic, case, events, seed)?,
                    self.tape(Side::Ours, case, events, seed)?,
                ])
            };
            Ok([of(long)?, of(short)?])
        };
        // What few events read depends on what was drawn for them, which has to be in the interval.
        let are_few = long <= LEAST;
        let kept = (!are_few).then(|| taped(seed)).transpose()?;
        let cpu_of_pair = |pair: u64, [of_long, of_short]: &[[Tape; 2]; 2]| {
            self.renew(case)?;
            let purge_is_held = self.hold_purge()?;
            let ours_first = scrambled(seed, pair) & 1 == 0;
            let (of_long, of_short) = (self.replay(of_long, ours_first)?, self.replay(of_short, ours_first)?);
            drop(purge_is_held);
            let cpu_ns = |side: Side| {
                difference_ns(of_long[side as usize], of_short[side as usize]) / (long - short) as f64
            };
            Ok([cpu_ns(Side::Classic), cpu_ns(Side::Ours)])
        };
        let of_pair = |pair| match &kept {
            Some(tapes) => cpu_of_pair(pair, tapes),
            None => cpu_of_pair(pair, &taped(scrambled(seed, pair))?),
        };
        (0..pairs).map(of_pair).collect()
    }

    /// What a client sends in a run of so many events; of other values in each: what a row has already is no update.
    fn tape(&self, side: Side, case: &Case, events: u64, seed: u64) -> anyhow::Result<Tape> {
        self.renew(case)?;
        let tape = tape::record(self.address, &self.directory, |recorder| {
            let recorded = Sides { address: recorder, directory: self.directory.clone(), ..*self };
            recorded.run(side, case, events, scrambled(seed, events))
        })?;
        let requests = tape.requests();
        ensure!(requests > events, "{side:?} asked {requests} times on one connection for {events} events");
        Ok(tape)
    }

    /// CPU time of the server for each tape, in their order.
    fn replay(&self, [classic, ours]: &[Tape; 2], ours_first: bool) -> anyhow::Result<[Duration; 2]> {
        let in_turns = |tapes| tape::in_turns(self.address, tapes, || self.server.cpu_time());
        if ours_first {
            let [of_ours, of_classic] = in_turns([ours, classic])?;
            return Ok([of_classic, of_ours]);
        }
        in_turns([classic, ours])
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

    /// Steps that write do it to tables that were just loaded.
    fn renew(&self, case: &Case) -> anyhow::Result<()> {
        if !self.workload.step(case.step)?.operation.writes() {
            return Ok(());
        }
        self.unload()?;
        self.load()
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

fn transaction_of(operation: &Operation) -> Option<&Transaction> {
    match operation {
        Operation::Transaction(transaction) => Some(transaction),
        _ => None,
    }
}
