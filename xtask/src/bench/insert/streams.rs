//! A query step of the Insert Benchmark with its inserts and deletes: by how much inserts begin after they are due while queries run at full
//! speed, and what the worker has in memory.

use super::setup;
use crate::bench::own_server::OwnServer;
use crate::bench::worker;
use crate::e2e::processes;
use anyhow::{Context, ensure};
use model::units::Nanos;
use model::wire::{BlockLimit, CompanionSetup, Lag, StepSetup, Stream};
use model::workload::{Operation, Workload};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Of each three connections: queries, inserts, deletes.
pub const CLIENTS: [u32; 2] = [1, 12];
/// With one client inserts may begin this much late in the median, and the worker may have this much in memory whatever the clients.
const GOAL_LAG_US: f64 = 1000.0;
const GOAL_RESIDENT_MB: f64 = 200.0;
const STEP: &str = "qr1000";
/// Rows of each table.
const ROWS: u64 = 20_000;
const SECONDS: u64 = 15;
const POLL: Duration = Duration::from_millis(20);

/// What was measured.
pub struct Streams {
    server: String,
    clients: u32,
    /// Rows a second that were asked for and inserted.
    target: f64,
    inserted: f64,
    queries: f64,
    lag: Lag,
    resident_mb: f64,
}

impl Streams {
    pub fn measure(
        dbdyno: &Path,
        server: &OwnServer,
        workload: &Workload,
        clients: u32,
        output: &Path,
    ) -> anyhow::Result<Streams> {
        let setup = |operation, seed| setup(workload, clients, ROWS, operation, seed);
        let operation_of = |step: &str| anyhow::Ok(workload.step(step)?.operation.clone());
        let target = workload.step(&format!("{STEP}.inserts"))?.rate.context("the inserts have no rate")?
            * f64::from(clients);
        let inserts = StepSetup { rate: Some(target), ..setup(operation_of(&format!("{STEP}.inserts"))?, 3) };
        let deletes = setup(operation_of(&format!("{STEP}.deletes"))?, 4);
        let queries = StepSetup {
            companions: vec![
                CompanionSetup { step: inserts, follows: None },
                CompanionSetup { step: deletes, follows: Some(Stream::Companion(0)) },
            ],
            ..setup(operation_of(STEP)?, 2)
        };
        let all_rows = BlockLimit::Operations { count: u64::from(clients) * ROWS };
        let time = BlockLimit::Time { wall: Nanos::from_secs(SECONDS) };
        let steps = [
            (setup(Operation::LoadTables, 1), all_rows),
            (setup(Operation::BuildIndexes, 1), all_rows),
            (queries, time),
        ];
        let steps = steps.into_iter().flat_map(|(setup, limit)| worker::step(setup, limit)).collect();
        let requests = worker::on_server(&server.address, steps);
        let mut child =
            worker::command(dbdyno, &requests, output)?.spawn().context("failed to start the worker")?;
        let mut resident = 0;
        let status = loop {
            // Gone when the worker has just ended.
            resident = resident.max(processes::peak_resident_bytes(child.id()).unwrap_or(0));
            match child.try_wait().context("failed to wait for the worker")? {
                Some(status) => break status,
                None => std::thread::sleep(POLL),
            }
        };
        ensure!(status.success(), "the worker failed ({status}): {}", worker::read(output)?);
        let block = worker::blocks(output)?.pop().context("the worker reported no block")?;
        let inserts = block.companions.first().context("no inserts ran beside the queries")?;
        let per_s = |operations: u64| operations as f64 / block.wall.as_secs_f64();
        Ok(Streams {
            server: server.address.dialect.name().to_owned(),
            clients,
            target,
            inserted: per_s(inserts.operations),
            queries: per_s(block.operations),
            lag: inserts.lag.context("the inserts have no lag")?,
            resident_mb: resident as f64 / 1_048_576.0,
        })
    }

    pub fn meets_goals(&self) -> bool {
        let is_in_time = self.clients > 1 || self.lag.p50.as_micros_f64() < GOAL_LAG_US;
        is_in_time && self.resident_mb < GOAL_RESIDENT_MB
    }

    pub fn heading() -> String {
        format!(
            "inserts beside queries at full speed (goals: median lag below {GOAL_LAG_US:.0} us with one client, below {GOAL_RESIDENT_MB:.0} MB)\n\
             {:<10} {:>7} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}",
            "server",
            "clients",
            "rows/s",
            "of target",
            "queries/s",
            "lag p50 us",
            "p99 us",
            "max us",
            "RSS MB"
        )
    }

    pub fn text(&self) -> String {
        format!(
            "{:<10} {:>7} {:>8.0} {:>10.3} {:>10.0} {:>10.0} {:>10.0} {:>10.0} {:>8.1}{}",
            self.server,
            self.clients,
            self.inserted,
            self.inserted / self.target,
            self.queries,
            self.lag.p50.as_micros_f64(),
            self.lag.p99.as_micros_f64(),
            self.lag.max.as_micros_f64(),
            self.resident_mb,
            if self.meets_goals() { "" } else { "  MISSED" }
        )
    }

    pub fn json(&self) -> serde_json::Value {
        json!({
            "server": self.server, "clients": self.clients, "target": self.target, "inserted_per_s": self.inserted,
            "queries_per_s": self.queries, "lag_us_p50": self.lag.p50.as_micros_f64(),
            "lag_us_p99": self.lag.p99.as_micros_f64(), "lag_us_max": self.lag.max.as_micros_f64(),
            "resident_mb": self.resident_mb, "met": self.meets_goals(),
        })
    }
}
