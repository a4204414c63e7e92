//! The two programs, how each is told to run a case, and what it did.

use super::cases::{Case, DATA, ROWS, tables};
use super::table;
use crate::bench::worker;
use anyhow::{Context, bail};
use model::address::{Endpoint, ServerAddress};
use model::units::Nanos;
use model::wire::{BlockLimit, BlockReport, Request, StepSetup};
use model::workload::Operation;
use model::workload::sql::Dialect;
use std::path::PathBuf;
use std::process::Command;

/// How long the server is waited for after the load.
const SETTLE_TIMEOUT: Nanos = Nanos::from_secs(60);

/// How much of a case is run.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    /// So many events over all connections.
    Events(u64),
    Seconds(u32),
}

/// The programs and the server that both are run against.
pub struct Sides {
    pub sysbench: PathBuf,
    pub dbdyno: PathBuf,
    pub address: ServerAddress,
    /// For what they are told and what they tell.
    pub directory: PathBuf,
}

/// An open loop: operations per second over so many connections, for so long.
#[derive(Debug, Clone, Copy)]
pub struct OpenLoop {
    pub rate: f64,
    pub connections: u32,
    pub seconds: u32,
}

impl Sides {
    /// sysbench on a case.
    pub fn sysbench(&self, case: &Case, amount: Amount, seed: u64) -> anyhow::Result<Command> {
        let mut command = Command::new(&self.sysbench);
        command.arg(case.script).args(sysbench_connection(&self.address)?).args([
            format!("--table-size={ROWS}"),
            "--tables=1".to_owned(),
            format!("--threads={}", case.threads),
            "--rand-type=uniform".to_owned(),
            format!("--rand-seed={}", seed % 1_000_000 + 1),
            "--range-size=100".to_owned(),
            format!("--skip-trx={}", if case.begin { "off" } else { "on" }),
        ]);
        match amount {
            Amount::Events(events) => command.args([format!("--events={events}"), "--time=0".to_owned()]),
            Amount::Seconds(seconds) => command.args(["--events=0".to_owned(), format!("--time={seconds}")]),
        };
        command.arg("run").stdout(worker::create(&self.output("sysbench"))?);
        Ok(command)
    }

    /// The worker on a case.
    pub fn worker(&self, case: &Case, amount: Amount, seed: u64) -> anyhow::Result<Command> {
        let limit = match amount {
            Amount::Events(events) => BlockLimit::Operations { count: events * case.queries },
            Amount::Seconds(seconds) => BlockLimit::Time { wall: Nanos::from_secs(u64::from(seconds)) },
        };
        let setup = setup(case.operation().context("failed to make the statements")?, case.threads, seed)?;
        self.worker_on(worker::step(setup, limit).into())
    }

    /// The worker on point queries at a rate that any server keeps.
    pub fn open_loop(&self, case: &Case, schedule: OpenLoop, seed: u64) -> anyhow::Result<Command> {
        let operation = case.operation().context("failed to make the statements")?;
        let closed = setup(operation, schedule.connections, seed)?;
        let wall = Nanos::from_secs(u64::from(schedule.seconds));
        let open = StepSetup { rate: Some(schedule.rate), ..closed };
        self.worker_on(worker::step(open, BlockLimit::Time { wall }).into())
    }

    /// The worker making the table.
    pub fn load(&self) -> anyhow::Result<Command> {
        self.worker_on(table::load(ROWS, SETTLE_TIMEOUT, |operation| setup(operation, 1, 1))?)
    }

    /// The worker removing the table.
    pub fn unload(&self) -> anyhow::Result<Command> {
        self.worker_on(table::unload(|operation| setup(operation, 1, 1))?)
    }

    fn worker_on(&self, steps: Vec<Request>) -> anyhow::Result<Command> {
        let requests = worker::on_server(&self.address, steps);
        worker::command(&self.dbdyno, &requests, &self.output("worker"))
    }

    fn output(&self, program: &str) -> PathBuf {
        self.directory.join(format!("{program}.out"))
    }

    /// Queries per second of the worker's last run, in which nothing failed.
    pub fn worker_queries_per_s(&self) -> anyhow::Result<f64> {
        let block = self.worker_block()?;
        Ok(block.operations as f64 / block.wall.as_secs_f64())
    }

    /// The last block of the worker's last run, in which nothing failed.
    pub fn worker_block(&self) -> anyhow::Result<BlockReport> {
        worker::blocks(&self.output("worker"))?.pop().context("the worker reported no block")
    }

    /// Queries per second of sysbench's last run.
    pub fn sysbench_queries_per_s(&self) -> anyhow::Result<f64> {
        let text = worker::read(&self.output("sysbench"))?;
        queries_per_s(&text).with_context(|| format!("sysbench reported no queries: {text}"))
    }
}

/// What tells sysbench where the server is, and who asks.
pub fn sysbench_connection(address: &ServerAddress) -> anyhow::Result<Vec<String>> {
    let prefix = match address.dialect {
        Dialect::Postgres => "pgsql",
        Dialect::Mysql => "mysql",
        Dialect::Mongodb => bail!("sysbench does not speak the protocol of MongoDB"),
    };
    let mut options = vec![
        format!("--db-driver={prefix}"),
        format!("--{prefix}-user={}", address.user),
        format!("--{prefix}-db={}", address.database),
    ];
    let password = address.password.iter();
    options.extend(password.map(|password| format!("--{prefix}-password={}", password.reveal())));
    match (&address.endpoint, address.dialect) {
        (Endpoint::Socket { path }, Dialect::Mysql) => {
            options.push(format!("--mysql-socket={}", path.display()));
        }
        (Endpoint::Socket { path }, Dialect::Postgres) => {
            // `.s.PGSQL.5432` in the directory that libpq wants.
            let port = path.extension().context("the name of a Postgres socket ends with its port")?;
            let directory = path.parent().context("the socket is in no directory")?;
            options.push(format!("--pgsql-host={}", directory.display()));
            options.push(format!("--pgsql-port={}", port.display()));
        }
        (Endpoint::Socket { .. }, Dialect::Mongodb) => {}
        (Endpoint::Tcp { host, port }, _) => {
            options.push(format!("--{prefix}-host={host}"));
            options.push(format!("--{prefix}-port={port}"));
        }
    }
    Ok(options)
}

/// Of sysbench 1.0.20: `    queries:                             150873 (15077.89 per sec.)`.
fn queries_per_s(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("queries:"))?;
    line.split_once('(')?.1.split_once(' ')?.0.parse().ok()
}

fn setup(operation: Operation, threads: u32, seed: u64) -> anyhow::Result<StepSetup> {
    let tables = Some(tables().context("failed to make the table's description")?);
    Ok(StepSetup { tables, threads, ..StepSetup::plain(operation, DATA, seed) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_queries_is_found_in_what_sysbench_prints() {
        let text = "    transactions:  10 (1.00 per sec.)\n    queries:      150873 (15077.89 per sec.)\n";
        assert_eq!(queries_per_s(text), Some(15077.89));
        assert_eq!(queries_per_s("queries performed:\n"), None);
    }
}
