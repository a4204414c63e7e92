//! The self-tests of calibrations: kept when one ends, read together for whatever they are held against.

use crate::columns::{from_json, json};
use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::self_test::SelfTestRecord;
use rusqlite::{Row, params};

/// The calibrations that count for a run: of its host, host of the clients, kernel, CPUs and version of dbdyno, from the last new start
/// before the run to the next one after it. A fault of the harness can lie in any of these, and goes with it.
pub(crate) const COUNTING: &str = "
     (SELECT hosts.name, kernel, cpu_model, cpus, tool_version, started_at_us AS at_us,
          json_extract(plan_json, '$.layout.server_host.clients.name') AS clients
      FROM runs JOIN hosts USING (host_key) WHERE id = ?) AS asked
     JOIN hosts ON (hosts.name, hosts.kernel, hosts.cpu_model, hosts.cpus)
         = (asked.name, asked.kernel, asked.cpu_model, asked.cpus)
     JOIN runs INDEXED BY runs_by_host
         ON runs.host_key = hosts.host_key AND purpose = 'calibrate' AND runs.tool_version = asked.tool_version
         AND json_extract(runs.plan_json, '$.layout.server_host.clients.name') IS asked.clients
         AND runs.started_at_us >= coalesce((SELECT max(at_us) FROM self_test_starts
             WHERE host_name = asked.name AND at_us <= asked.at_us), runs.started_at_us)
         AND runs.started_at_us < coalesce((SELECT min(at_us) FROM self_test_starts
             WHERE host_name = asked.name AND at_us > asked.at_us), runs.started_at_us + 1)
     JOIN self_tests USING (run_key)";

impl Writer {
    /// Keeps the self-tests of a run, in place of those that were kept of it before.
    ///
    /// # Errors
    /// A run that was not begun, and what SQLite says; then nothing is changed.
    pub fn keep_self_tests(&mut self, run: &str, tests: &[SelfTestRecord]) -> Result<(), Error> {
        self.flush()?;
        let key = self.run_key(run)?.ok_or_else(|| self.not_begun(run))?;
        self.store().sql(format!("keep the self-tests of run {run}"), |connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute("DELETE FROM self_tests WHERE run_key = ?", [key])?;
            for test in tests {
                transaction.execute(
                    "INSERT INTO self_tests (run_key, step, family, gains_json) VALUES (?, ?, ?, ?)",
                    params![key, test.step, test.family, json(&test.gains)?],
                )?;
            }
            transaction.commit()
        })
    }

    /// From this moment on the self-tests of a host begin anew.
    pub fn begin_self_tests_anew(&mut self, host: &str, at_us: i64) -> Result<(), Error> {
        self.flush()?;
        self.store().sql("begin the self-tests again", |connection| {
            connection
                .execute(
                    "INSERT OR IGNORE INTO self_test_starts (host_name, at_us) VALUES (?, ?)",
                    params![host, at_us],
                )
                .map(|_| ())
        })
    }
}

impl Store {
    /// The self-tests that count for a run, from the oldest to the newest. All that were kept count, however their calibrations
    /// ended: to leave some out would be to choose.
    pub fn self_tests(&self, run: &str) -> Result<Vec<SelfTestRecord>, Error> {
        let sql = format!(
            "SELECT runs.id AS run, started_at_us, boot_id, workload_name, workload_sha256, step, family, gains_json
             FROM {COUNTING} ORDER BY started_at_us, runs.id, step"
        );
        self.sql(format!("read the self-tests for run {run}"), |connection| {
            connection.prepare_cached(&sql)?.query_map([run], self_test)?.collect()
        })
    }

    /// How many self-tests count for a run, and when the newest began: changes whenever the answer of
    /// [`Store::self_tests`] does.
    pub fn self_tests_known(&self, run: &str) -> Result<(u32, Option<i64>), Error> {
        let sql = format!("SELECT count(*) AS number, max(started_at_us) AS newest FROM {COUNTING}");
        self.sql(format!("count the self-tests for run {run}"), |connection| {
            connection
                .prepare_cached(&sql)?
                .query_row([run], |row| Ok((row.get("number")?, row.get("newest")?)))
        })
    }
}

fn self_test(row: &Row<'_>) -> rusqlite::Result<SelfTestRecord> {
    Ok(SelfTestRecord {
        run: row.get("run")?,
        started_at_us: row.get("started_at_us")?,
        boot_id: row.get("boot_id")?,
        workload: row.get("workload_name")?,
        workload_sha256: row.get("workload_sha256")?,
        step: row.get("step")?,
        family: row.get("family")?,
        gains: from_json(row, "gains_json")?,
    })
}
