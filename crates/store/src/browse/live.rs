//! How far a run has come, read beside the process that writes it.

use super::{trial_end, trial_rate};
use crate::columns::{run_warning, small, step_exit, unsigned};
use crate::error::Error;
use crate::export::second;
use crate::file::Store;
use model::block::Second;
use model::listing::{LiveFacts, LiveTrial, RunHead, TrialCounts};
use model::record::RunStatus;
use model::units::Nanos;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;

/// Trials that stand on the page of a run in progress.
const NEWEST_TRIALS: u32 = 12;

impl Store {
    /// How far the run of this id has come.
    pub fn live(&self, head: &RunHead) -> Result<LiveFacts, Error> {
        let key = self.run_key(&head.id)?;
        self.sql(format!("read the progress of run {}", head.id), |connection| {
            live_facts(connection, key, head.status)
        })
    }
}

fn live_facts(connection: &Connection, key: i64, status: RunStatus) -> rusqlite::Result<LiveFacts> {
    let launch = connection
        .prepare_cached(
            "SELECT launch, started_at_us FROM launches WHERE run_key = ? AND put_aside = 0
             ORDER BY launch DESC LIMIT 1",
        )?
        .query_row([key], |row| Ok((small(row, "launch")?, row.get("started_at_us")?)))
        .optional()?;
    let launches_took = connection
        .prepare_cached(
            "SELECT launch, took_ns FROM launches WHERE run_key = ? AND put_aside = 0 AND took_ns IS NOT NULL",
        )?
        .query_map([key], |row| Ok((small(row, "launch")?, Nanos(unsigned(row, "took_ns")?))))?
        .collect::<rusqlite::Result<_>>()?;
    // The last launch that ended knows better than the run's own row, which has it from the first ones.
    let launches_max = connection
        .prepare_cached(
            "SELECT coalesce((SELECT launches_max FROM launches
                              WHERE run_key = ?1 AND put_aside = 0 AND launches_max IS NOT NULL
                              ORDER BY launch DESC LIMIT 1), launches_max)
             FROM runs WHERE run_key = ?1",
        )?
        .query_row([key], |row| row.get(0))?;
    let newest = newest_trials(connection, key, status)?;
    Ok(LiveFacts {
        launch,
        launches_took,
        launches_max,
        steps: live_steps(connection, key, status)?,
        last_second: match newest.first() {
            Some((trial_key, _)) => last_second(connection, *trial_key)?,
            None => None,
        },
        newest: newest.into_iter().map(|(_, trial)| trial).collect(),
        alive_at_us: connection
            .prepare_cached("SELECT max(at_us) FROM host_samples WHERE run_key = ?")?
            .query_row([key], |row| row.get(0))?,
        exits: connection
            .prepare_cached(
                "SELECT step, launch, reason, reason_json FROM step_exits WHERE run_key = ? ORDER BY step_exit_key",
            )?
            .query_map([key], step_exit)?
            .collect::<rusqlite::Result<_>>()?,
        warnings: connection
            .prepare_cached(
                "SELECT step, id, text, warning_json FROM warnings WHERE run_key = ? AND put_aside = 0
                 ORDER BY warning_key",
            )?
            .query_map([key], run_warning)?
            .collect::<rusqlite::Result<_>>()?,
    })
}

fn live_steps(
    connection: &Connection,
    key: i64,
    status: RunStatus,
) -> rusqlite::Result<BTreeMap<String, TrialCounts>> {
    let mut steps: BTreeMap<String, TrialCounts> = BTreeMap::new();
    let mut statement = connection.prepare_cached(
        "SELECT step, outcome, count(*) AS trials FROM trials INDEXED BY trials_by_step
         WHERE run_key = ? AND put_aside = 0 GROUP BY step, outcome",
    )?;
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        steps.entry(row.get("step")?).or_default().add(trial_end(row, status)?, unsigned(row, "trials")?);
    }
    Ok(steps)
}

/// Keys of trials grow with time; those of a run that was gone on with are the newest too.
fn newest_trials(
    connection: &Connection,
    key: i64,
    status: RunStatus,
) -> rusqlite::Result<Vec<(i64, LiveTrial)>> {
    connection
        .prepare_cached(
            "SELECT newest.trial_key, step, launch, side, outcome,
                    sum(operations) AS operations, sum(wall_ns) AS wall_ns
             FROM (SELECT * FROM trials WHERE run_key = ? AND put_aside = 0
                   ORDER BY trial_key DESC LIMIT ?) AS newest
                  LEFT JOIN blocks ON blocks.trial_key = newest.trial_key AND kind <> 'drain'
             GROUP BY newest.trial_key ORDER BY newest.trial_key DESC",
        )?
        .query_map(params![key, NEWEST_TRIALS], |row| {
            Ok((row.get("trial_key")?, LiveTrial { step: row.get("step")?, rate: trial_rate(row, status)? }))
        })?
        .collect()
}

fn last_second(connection: &Connection, trial_key: i64) -> rusqlite::Result<Option<Second>> {
    connection
        .prepare_cached("SELECT * FROM seconds WHERE trial_key = ? ORDER BY second DESC LIMIT 1")?
        .query_row([trial_key], second)
        .optional()
}
