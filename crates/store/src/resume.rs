//! Preparing a run that was stopped to be gone on with: what was cut off is put aside, not thrown away.

use crate::columns::{from_json, side, signed};
use crate::error::Error;
use crate::writer::Writer;
use model::block::Side;
use model::plan::Plan;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// Launches from this number on are those of visits that were cut off: their own number and a multiple of this. No
/// plan has so many launches. They stay in the store and in no record of a run.
pub(crate) const PUT_ASIDE: u32 = 1_000_000;

/// The reason of a trial that had no end.
const CUT_OFF: &str = "cut off; measured again after --resume";

impl Writer {
    /// Prepares a run that was stopped or killed to be gone on with, and returns its complete visits: those whose
    /// every step of the plan has an outcome.
    ///
    /// The run has no end after this. What the other visits had is put aside, raw output included: it is not part
    /// of the run's record any more. So is the start of a launch of which a visit is missing, since it begins
    /// again. Errors: a run that was not begun, and what SQLite says; then nothing is changed.
    pub fn resume(&mut self, run: &str) -> Result<Vec<(u32, Side)>, Error> {
        self.flush()?;
        let key = self.run_key(run)?.ok_or_else(|| self.not_begun(run))?;
        self.forget_keys();
        let complete = self.store().sql(format!("prepare run {run} to be gone on with"), |connection| {
            let transaction = connection.unchecked_transaction()?;
            let complete = put_aside_what_was_cut_off(&transaction, key)?;
            transaction.commit()?;
            Ok(complete)
        })?;
        Ok(complete.into_iter().collect())
    }
}

fn put_aside_what_was_cut_off(
    connection: &Connection,
    run_key: i64,
) -> rusqlite::Result<BTreeSet<(u32, Side)>> {
    let plan: Plan =
        connection.query_row("SELECT plan_json FROM runs WHERE run_key = ?", [run_key], |row| {
            from_json(row, "plan_json")
        })?;
    connection.execute(
        "UPDATE runs SET ended_at_us = NULL, outcome = NULL, sampler_core_percent = NULL, block_edge_us = NULL,
             client_cpu_ns_per_op = NULL, controller_peak_bytes = NULL, worker_heap_peak_bytes = NULL,
             step_pauses = NULL, step_pause_ns_mean = NULL, step_pause_ns_max = NULL
         WHERE run_key = ?",
        [run_key],
    )?;
    let (visits, complete) = visits(connection, run_key, &plan)?;
    let offset = free_offset(connection, run_key)?;
    for (launch, side) in visits.difference(&complete) {
        put_visit_aside(connection, run_key, (*launch, *side), offset)?;
    }
    // A launch begins again when one of its visits does.
    let sides = 0..plan.subjects.len();
    let launches: BTreeSet<u32> = connection
        .prepare("SELECT launch FROM launches WHERE run_key = ? AND launch < ?")?
        .query_map([run_key, i64::from(PUT_ASIDE)], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for launch in launches {
        if sides.clone().any(|side| !complete.contains(&(launch, side))) {
            connection.execute(
                "UPDATE launches SET launch = launch + ? WHERE run_key = ? AND launch = ?",
                params![offset, run_key, launch],
            )?;
        }
    }
    Ok(complete)
}

type Visits = BTreeSet<(u32, Side)>;

/// The visits that left anything, and the complete ones among them. Steps that the plan has not chosen have blocks
/// where they make the tree for those that it has, and no outcome.
fn visits(connection: &Connection, run_key: i64, plan: &Plan) -> rusqlite::Result<(Visits, Visits)> {
    let all = connection
        .prepare(
            "SELECT launch, side FROM trials WHERE run_key = ?1 AND launch < ?2
             UNION SELECT launch, side FROM raw_outputs WHERE run_key = ?1 AND launch BETWEEN 1 AND ?2 - 1",
        )?
        .query_map(params![run_key, PUT_ASIDE], |row| Ok((row.get("launch")?, side(row, "side")?)))?
        .collect::<rusqlite::Result<Visits>>()?;
    let ended: BTreeSet<(u32, Side, String)> = connection
        .prepare(
            "SELECT launch, side, step FROM trials WHERE run_key = ? AND launch < ? AND outcome IS NOT NULL",
        )?
        .query_map(params![run_key, PUT_ASIDE], |row| {
            Ok((row.get("launch")?, side(row, "side")?, row.get("step")?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let has_all = |(launch, side): &(u32, Side)| {
        plan.steps.iter().all(|step| ended.contains(&(*launch, *side, step.clone())))
    };
    let complete = all.iter().copied().filter(has_all).collect();
    Ok((all, complete))
}

/// A run may be stopped and gone on with several times: each time has its own numbers.
fn free_offset(connection: &Connection, run_key: i64) -> rusqlite::Result<u32> {
    let last: u32 = connection.query_row(
        "SELECT max(launch) FROM (
             SELECT 0 AS launch
             UNION ALL SELECT launch FROM trials WHERE run_key = ?1
             UNION ALL SELECT launch FROM raw_outputs WHERE run_key = ?1
             UNION ALL SELECT launch FROM launches WHERE run_key = ?1)",
        [run_key],
        |row| row.get(0),
    )?;
    Ok((last / PUT_ASIDE + 1) * PUT_ASIDE)
}

fn put_visit_aside(
    connection: &Connection,
    run_key: i64,
    (launch, side): (u32, Side),
    offset: u32,
) -> rusqlite::Result<()> {
    let side = signed(side as u64);
    connection.execute(
        "UPDATE trials SET launch = launch + ?1, outcome = 'skipped', reason = coalesce(reason, ?5)
         WHERE run_key = ?2 AND launch = ?3 AND side = ?4",
        params![offset, run_key, launch, side, CUT_OFF],
    )?;
    connection.execute(
        "UPDATE raw_outputs SET launch = launch + ?1 WHERE run_key = ?2 AND launch = ?3 AND side = ?4",
        params![offset, run_key, launch, side],
    )?;
    Ok(())
}
