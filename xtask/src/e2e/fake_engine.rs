//! The fake engine of the cases of faults, and campaigns on it: a library behind the C API of RocksDB that misbehaves on demand
//! (`fake_engine.c`). It makes no case by itself.

use super::scratch::Scratch;
use super::tool::{Call, Running};
use anyhow::{Context, ensure};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What it can be ordered to do stands at its head.
pub const ENGINE: &str = include_str!("fake_engine.c");
pub const WORKLOAD: &str = include_str!("fake.toml");
/// Steps of the workload: a visit has as many trials.
pub const STEPS: u64 = 2;
pub const SUBJECT: &str = "rocksdb@fake";

/// Nothing that a case waits for takes longer.
pub const TIMEOUT: Duration = Duration::from_secs(60);
pub const POLL: Duration = Duration::from_millis(10);

/// The fake engine of one case, made known as a build of its own.
pub struct Fake<'a> {
    pub scratch: &'a Scratch,
    orders: PathBuf,
}

impl<'a> Fake<'a> {
    pub fn new(scratch: &'a Scratch) -> anyhow::Result<Fake<'a>> {
        let source = scratch.write("fake_engine.c", ENGINE)?;
        scratch.write("fake.toml", WORKLOAD)?;
        let (library, orders) = (scratch.path("librocksdb.so"), scratch.path("orders"));
        let compiled = Command::new("cc")
            .args(["-std=gnu11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"])
            .arg(format!("-DORDERS=\"{}\"", orders.display()))
            .args([Path::new("-o"), &library, &source])
            .output()
            .context("failed to start the C compiler `cc`")?;
        ensure!(compiled.status.success(), "cc: {}", String::from_utf8_lossy(&compiled.stderr));
        let fake = Fake { scratch, orders };
        fake.call(["engine", "add", "fake"]).and([library]).succeeds()?;
        Ok(fake)
    }

    pub fn order(&self, orders: &str) -> anyhow::Result<()> {
        fs::write(&self.orders, orders).context("failed to write the fake engine's orders")
    }

    pub fn call<const N: usize>(&self, arguments: [&str; N]) -> Call<'a> {
        Call::new(self.scratch, arguments).own_cache()
    }

    /// A campaign of this many rounds.
    pub fn campaign(&self, rounds: u32) -> anyhow::Result<Call<'a>> {
        self.campaign_of(&[&self.scratch.path("fake.toml")], &[SUBJECT], rounds)
    }

    pub fn campaign_of(
        &self,
        workloads: &[&Path],
        subjects: &[&str],
        rounds: u32,
    ) -> anyhow::Result<Call<'a>> {
        self.campaign_with(workloads, subjects, &format!("rounds = {rounds}\n"))
    }

    /// A campaign whose plan ends with these lines.
    pub fn campaign_with(
        &self,
        workloads: &[&Path],
        subjects: &[&str],
        lines: &str,
    ) -> anyhow::Result<Call<'a>> {
        let workloads: Vec<String> =
            workloads.iter().map(|workload| format!("\"{}\"", workload.display())).collect();
        let text = format!(
            "name = \"faults\"\nworkloads = [{}]\nsubjects = {subjects:?}\nseed = 7\n{lines}",
            workloads.join(", ")
        );
        let plan = self.scratch.write("plan.toml", &text)?;
        Ok(self.call(["run"]).and([plan]).and(["--json"]))
    }

    pub fn store(&self) -> PathBuf {
        self.scratch.data().join("dbdyno/dbdyno.sqlite")
    }

    /// The store as another program sees it.
    pub fn other_program(&self) -> anyhow::Result<Connection> {
        opened(&self.store())
    }

    pub fn count(&self, table: &str) -> anyhow::Result<u64> {
        let count: i64 =
            self.other_program()?
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// Waits until a table of the store has this many rows.
    pub fn until_rows(&self, table: &str, rows: u64, run: &mut Running) -> anyhow::Result<()> {
        let began = Instant::now();
        // The tables come a moment after the file.
        while !self.store().exists() || self.count(table).unwrap_or(0) < rows {
            ensure!(
                run.is_running()?,
                "the run ended before `{table}` had {rows} rows: {}",
                run.stderr_so_far()?
            );
            ensure!(
                began.elapsed() < TIMEOUT,
                "`{table}` has less than {rows} rows after {} s",
                TIMEOUT.as_secs()
            );
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

/// Trials that a report says are done.
pub fn done(report: &Value) -> u64 {
    report["trials"]["done"].as_u64().unwrap_or(0)
}

/// The ids of all runs in a store.
pub fn runs(store: &Path) -> anyhow::Result<BTreeSet<String>> {
    let connection = opened(store)?;
    let mut statement = connection.prepare("SELECT id FROM runs")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// An error if SQLite finds a store damaged.
pub fn sound(store: &Path) -> anyhow::Result<()> {
    let said: String = opened(store)?.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    ensure!(said == "ok", "the store is damaged: {said}");
    Ok(())
}

/// A store as another program sees it.
pub fn opened(store: &Path) -> anyhow::Result<Connection> {
    let connection = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .with_context(|| format!("failed to open the store `{}`", store.display()))?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}
