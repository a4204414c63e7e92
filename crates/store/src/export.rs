//! Reading a run row by row, for who hands on more than fits in memory: an hour of seconds of many subjects, and every
//! reading of the host.

use crate::columns::{small, unsigned};
use crate::error::Error;
use crate::file::Store;
use crate::host_samples::{HOST_SAMPLES, host_sample};
use crate::load::{block_with_counters, planned_run, trial, trial_key};
use model::block::{Block, Second, TrialKey};
use model::host::{Host, HostSample};
use model::plan::Plan;
use model::record::{RunStatus, TrialRecord};
use model::units::Nanos;
use rusqlite::Row;

/// A run with its plan, before its values are read.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// How it ended, or that it did not.
    pub status: RunStatus,
    /// Microseconds since the epoch.
    pub started_at_us: i64,
    /// Microseconds since the epoch; absent where the run is unfinished.
    pub ended_at_us: Option<i64>,
    pub plan: Plan,
    pub host: Host,
}

/// A trial, whether it has ended or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialRow {
    pub trial: TrialKey,
    /// How it ended; absent where it did not.
    pub ended: Option<TrialRecord>,
}

impl Store {
    /// The run's own row: its plan and host without anything that was measured.
    ///
    /// # Errors
    /// A run that is not there, and what SQLite says.
    pub fn load_head(&self, id: &str) -> Result<PlannedRun, Error> {
        let key = self.run_key(id)?;
        self.sql(format!("read run {id}"), |connection| planned_run(connection, key))
    }

    /// Hands on every trial, by launch, step and side.
    ///
    /// # Errors
    /// What SQLite says, and the first error of `each`, which ends the reading; so with all below.
    pub fn each_trial<E: From<Error>>(
        &self,
        id: &str,
        each: impl FnMut(TrialRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT * FROM trials WHERE run_key = ? AND put_aside = 0 ORDER BY launch, step, side";
        let read = |row: &Row<'_>| {
            let has_ended = row.get::<_, Option<String>>("outcome")?.is_some();
            Ok(TrialRow { trial: trial_key(row)?, ended: if has_ended { Some(trial(row)?) } else { None } })
        };
        self.each_row(id, "the trials", sql, read, each)
    }

    /// Hands on every block with its counters, in the order they were measured.
    ///
    /// # Errors
    /// As above.
    pub fn each_block<E: From<Error>>(
        &self,
        id: &str,
        each: impl FnMut(Block) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT * FROM blocks JOIN trials USING (trial_key) WHERE run_key = ? AND put_aside = 0
                   ORDER BY block_key";
        let read = |row: &Row<'_>| block_with_counters(&self.connection, row);
        self.each_row(id, "the blocks", sql, read, each)
    }

    /// Hands on every second of every trial that was measured in one go, by trial.
    ///
    /// # Errors
    /// As above.
    pub fn each_second<E: From<Error>>(
        &self,
        id: &str,
        each: impl FnMut((TrialKey, Second)) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT launch, step, side, seconds.* FROM seconds JOIN trials USING (trial_key)
                   WHERE run_key = ? AND put_aside = 0 ORDER BY trial_key, second";
        let read = |row: &Row<'_>| Ok((trial_key(row)?, second(row)?));
        self.each_row(id, "the seconds", sql, read, each)
    }

    /// Hands on every sample of the host, in their order.
    ///
    /// # Errors
    /// As above.
    pub fn each_host_sample<E: From<Error>>(
        &self,
        id: &str,
        each: impl FnMut(HostSample) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_row(id, "the samples", HOST_SAMPLES, host_sample, each)
    }

    /// Reads row by row; the statement asks for the run's key.
    fn each_row<T, E: From<Error>>(
        &self,
        id: &str,
        what: &str,
        sql: &str,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let key = self.run_key(id)?;
        let mut ended = Ok(());
        self.sql(format!("read {what} of run {id}"), |connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([key])?;
            while let Some(row) = rows.next()? {
                ended = each(read(row)?);
                if ended.is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        ended
    }
}

/// One second of a trial.
pub(crate) fn second(row: &Row<'_>) -> rusqlite::Result<Second> {
    Ok(Second {
        second: small(row, "second")?,
        operations: unsigned(row, "operations")?,
        p50: Nanos(unsigned(row, "latency_ns_p50")?),
        p99: Nanos(unsigned(row, "latency_ns_p99")?),
        max: Nanos(unsigned(row, "latency_ns_max")?),
    })
}
