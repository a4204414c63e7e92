//! Preparing a run that was stopped to be gone on with: what was cut off is put aside, not thrown away.

use crate::columns::{from_json, reason_json, side, signed};
use crate::error::Error;
use crate::writer::Writer;
use model::block::Side;
use model::plan::Plan;
use model::reason::Reason;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// Which visits are measured again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Those that were cut off.
    CutOff,
    /// Those too in which a step failed or was skipped.
    Failed,
}

impl Writer {
    /// Prepares a run that was stopped or killed to be gone on with, and returns its complete visits: those whose
    /// every step of the plan has an outcome; with [`Retry::Failed`], whose every step is done.
    ///
    /// The run has no end after this. What the other visits had is put aside, raw output included: it is not part
    /// of the run's record any more. So is the start of a launch of which a visit is missing, since it begins
    /// again. Errors: a run that was not begun, and what SQLite says; then nothing is changed.
    pub fn resume(&mut self, run: &str, retry: Retry) -> Result<Vec<(u32, Side)>, Error> {
        self.flush()?;
        let key = self.run_key(run)?.ok_or_else(|| self.not_begun(run))?;
        self.forget_keys();
        let complete = self.store().sql(format!("prepare run {run} to be gone on with"), |connection| {
            let transaction = connection.unchecked_transaction()?;
            let complete = put_aside_what_is_measured_again(&transaction, key, retry)?;
            transaction.commit()?;
            Ok(complete)
        })?;
        Ok(complete.into_iter().collect())
    }
}

fn put_aside_what_is_measured_again(
    connection: &Connection,
    run_key: i64,
    retry: Retry,
) -> rusqlite::Result<BTreeSet<(u32, Side)>> {
    let plan: Plan =
        connection.query_row("SELECT plan_json FROM runs WHERE run_key = ?", [run_key], |row| {
            from_json(row, "plan_json")
        })?;
    connection.execute(
        "UPDATE runs SET ended_at_us = NULL, outcome = NULL, sampler_core_percent = NULL, block_edge_us = NULL,
             client_cpu_ns_per_op = NULL, controller_peak_bytes = NULL, worker_heap_peak_bytes = NULL,
             step_pauses = NULL, step_pause_ns_mean = NULL, step_pause_ns_max = NULL, found_json = NULL
         WHERE run_key = ?",
        [run_key],
    )?;
    let (visits, complete) = visits(connection, run_key, &plan, retry)?;
    let resume = next_resume(connection, run_key)?;
    for (launch, side) in visits.difference(&complete) {
        put_visit_aside(connection, run_key, (*launch, *side), resume)?;
    }
    // A launch begins again when one of its visits does.
    let sides = 0..plan.subjects.len();
    let launches: BTreeSet<u32> = connection
        .prepare("SELECT launch FROM launches WHERE run_key = ? AND put_aside = 0")?
        .query_map([run_key], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for launch in launches {
        if sides.clone().any(|side| !complete.contains(&(launch, side))) {
            connection.execute(
                "UPDATE launches SET put_aside = ? WHERE run_key = ? AND put_aside = 0 AND launch = ?",
                params![resume, run_key, launch],
            )?;
        }
    }
    Ok(complete)
}

type Visits = BTreeSet<(u32, Side)>;

/// The visits that left anything, and the complete ones among them. Steps that the plan has not chosen have blocks
/// where they make the tree for those that it has, and no outcome.
fn visits(
    connection: &Connection,
    run_key: i64,
    plan: &Plan,
    retry: Retry,
) -> rusqlite::Result<(Visits, Visits)> {
    let all = connection
        .prepare(
            "SELECT launch, side FROM trials WHERE run_key = ?1 AND put_aside = 0
             UNION SELECT launch, side FROM raw_outputs WHERE run_key = ?1 AND put_aside = 0 AND launch > 0",
        )?
        .query_map([run_key], |row| Ok((row.get("launch")?, side(row, "side")?)))?
        .collect::<rusqlite::Result<Visits>>()?;
    let ended: BTreeSet<(u32, Side, String)> = connection
        .prepare(
            "SELECT launch, side, step FROM trials
             WHERE run_key = ? AND put_aside = 0 AND outcome IS NOT NULL AND (outcome = 'done' OR NOT ?)",
        )?
        .query_map(params![run_key, retry == Retry::Failed], |row| {
            Ok((row.get("launch")?, side(row, "side")?, row.get("step")?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let has_all = |(launch, side): &(u32, Side)| {
        plan.steps.iter().all(|step| ended.contains(&(*launch, *side, step.clone())))
    };
    let complete = all.iter().copied().filter(has_all).collect();
    Ok((all, complete))
}

/// What the rows that are put aside now are marked with. A run may be stopped and gone on with several times: each time
/// has its own number, from 1.
fn next_resume(connection: &Connection, run_key: i64) -> rusqlite::Result<u32> {
    connection.query_row(
        "SELECT max(put_aside) + 1 FROM (
             SELECT 0 AS put_aside
             UNION ALL SELECT put_aside FROM trials WHERE run_key = ?1
             UNION ALL SELECT put_aside FROM raw_outputs WHERE run_key = ?1
             UNION ALL SELECT put_aside FROM launches WHERE run_key = ?1)",
        [run_key],
        |row| row.get(0),
    )
}

fn put_visit_aside(
    connection: &Connection,
    run_key: i64,
    (launch, side): (u32, Side),
    resume: u32,
) -> rusqlite::Result<()> {
    let side = signed(side as u64);
    let cut_off = Reason::CutOff;
    // A trial that failed keeps its reason.
    connection.execute(
        "UPDATE trials SET put_aside = ?1, outcome = 'skipped', reason = coalesce(reason, ?5),
             reason_json = iif(reason IS NULL, ?6, reason_json)
         WHERE run_key = ?2 AND put_aside = 0 AND launch = ?3 AND side = ?4",
        params![resume, run_key, launch, side, cut_off.to_string(), reason_json(&cut_off)?],
    )?;
    connection.execute(
        "UPDATE raw_outputs SET put_aside = ? WHERE run_key = ? AND put_aside = 0 AND launch = ? AND side = ?",
        params![resume, run_key, launch, side],
    )?;
    Ok(())
}
