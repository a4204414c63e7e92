//! Preparing a run that was stopped to be gone on with: what was cut off is put aside, not thrown away.

use crate::columns::{from_json, json, reason_json, side, signed};
use crate::error::Error;
use crate::insert::host_key;
use crate::writer::Writer;
use model::block::Side;
use model::host::Host;
use model::plan::{Design, Extension, Plan};
use model::reason::Reason;
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// Which visits are measured again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Those that were cut off.
    CutOff,
    /// Those too in which a step failed or was skipped, unless the release does not support it.
    Failed,
}

/// Who goes on with a run, on what.
#[derive(Debug, Clone)]
pub struct ResumedBy {
    /// Microseconds since the epoch.
    pub at_us: i64,
    pub host: Host,
    /// Of dbdyno.
    pub tool_version: String,
    /// More time, for a run that had ended.
    pub extension: Option<Extension>,
}

/// The visits of a run in rounds that is gone on with, by round and side; of interleaved launches there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resumed {
    /// They are not measured again.
    pub done: BTreeSet<(u32, Side)>,
    /// They have ended and are measured again. What they have counts until they begin.
    pub again: BTreeSet<(u32, Side)>,
}

impl Writer {
    /// Prepares a run that was stopped or killed to be gone on with. It has no end after this.
    ///
    /// What a visit has that was cut off is put aside, raw output included: it is not part of the run's record any more. So is the
    /// start of a launch of which a visit is missing, since it begins again. Errors: a run that was not begun, and what
    /// SQLite says; then nothing is changed.
    pub fn resume(&mut self, run: &str, retry: Retry, by: &ResumedBy) -> Result<Resumed, Error> {
        self.flush()?;
        let key = self.run_key(run)?.ok_or_else(|| self.not_begun(run))?;
        let resumed = self.store().sql(format!("prepare run {run} to be gone on with"), |connection| {
            let transaction = connection.unchecked_transaction()?;
            let plan = plan(&transaction, key, by.extension)?;
            let resumed = put_aside_what_was_cut_off(&transaction, key, (&plan, retry))?;
            transaction.execute(
                "INSERT INTO resumes (run_key, at_us, host_key, tool_version) VALUES (?, ?, ?, ?)",
                params![key, by.at_us, host_key(&transaction, &by.host)?, by.tool_version],
            )?;
            transaction.commit()?;
            Ok(resumed)
        })?;
        self.go_on(run, resumed.again.clone());
        Ok(resumed)
    }
}

/// The plan of a run, which has its extension from now on.
fn plan(connection: &Connection, run_key: i64, extension: Option<Extension>) -> rusqlite::Result<Plan> {
    let mut plan: Plan =
        connection.query_row("SELECT plan_json FROM runs WHERE run_key = ?", [run_key], |row| {
            from_json(row, "plan_json")
        })?;
    if extension.is_some() {
        plan.rule.extension = extension;
        let text = json(&plan)?;
        connection.execute("UPDATE runs SET plan_json = ? WHERE run_key = ?", params![text, run_key])?;
    }
    Ok(plan)
}

fn put_aside_what_was_cut_off(
    connection: &Connection,
    run_key: i64,
    (plan, retry): (&Plan, Retry),
) -> rusqlite::Result<Resumed> {
    connection.execute(
        "UPDATE runs SET ended_at_us = NULL, outcome = NULL, sampler_core_percent = NULL, block_edge_us = NULL,
             client_cpu_ns_per_op = NULL, controller_peak_bytes = NULL, worker_heap_peak_bytes = NULL,
             step_pauses = NULL, step_pause_ns_mean = NULL, step_pause_ns_max = NULL, found_json = NULL
         WHERE run_key = ?",
        [run_key],
    )?;
    if plan.layout.design == Design::Interleaved {
        put_launches_aside_that_did_not_end(connection, run_key)?;
        return Ok(Resumed::default());
    }
    let begun = begun_visits(connection, run_key)?;
    let ended = visits_with_all_steps(connection, run_key, plan, "outcome IS NOT NULL")?;
    let done = match retry {
        Retry::CutOff => ended.clone(),
        Retry::Failed => visits_with_all_steps(connection, run_key, plan, SETTLED)?,
    };
    for (launch, side) in begun.difference(&ended) {
        put_visit_aside(connection, run_key, (*launch, *side))?;
    }
    let sides = 0..plan.subjects.len();
    for launch in begun_launches(connection, run_key)? {
        if sides.clone().any(|side| !ended.contains(&(launch, side))) {
            put_launch_aside(connection, run_key, launch)?;
        }
    }
    Ok(Resumed { again: ended.difference(&done).copied().collect(), done })
}

/// A launch in which all sides take part is void if it did not end: its contrasts are of some sides or some steps alone.
fn put_launches_aside_that_did_not_end(connection: &Connection, run_key: i64) -> rusqlite::Result<()> {
    let ended: BTreeSet<u32> = connection
        .prepare("SELECT launch FROM launches WHERE run_key = ? AND put_aside = 0 AND took_ns IS NOT NULL")?
        .query_map([run_key], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for (launch, side) in begun_visits(connection, run_key)? {
        if !ended.contains(&launch) {
            put_visit_aside(connection, run_key, (launch, side))?;
        }
    }
    for launch in begun_launches(connection, run_key)? {
        if !ended.contains(&launch) {
            put_launch_aside(connection, run_key, launch)?;
            // It is built anew, by the same number.
            connection
                .execute("DELETE FROM images WHERE run_key = ? AND launch = ?", params![run_key, launch])?;
        }
    }
    Ok(())
}

type Visits = BTreeSet<(u32, Side)>;

/// A step of which another try would say nothing else.
const SETTLED: &str = "(outcome = 'done' OR json_extract(reason_json, '$.not-supported') IS NOT NULL)";

/// The visits that left anything.
fn begun_visits(connection: &Connection, run_key: i64) -> rusqlite::Result<Visits> {
    connection
        .prepare(
            "SELECT launch, side FROM trials WHERE run_key = ?1 AND put_aside = 0
             UNION SELECT launch, side FROM raw_outputs WHERE run_key = ?1 AND put_aside = 0 AND launch > 0",
        )?
        .query_map([run_key], |row| Ok((row.get("launch")?, side(row, "side")?)))?
        .collect()
}

/// The visits of which every step that the plan has chosen is like that. Other steps make the tree for these and have no outcome.
fn visits_with_all_steps(
    connection: &Connection,
    run_key: i64,
    plan: &Plan,
    like_that: &str,
) -> rusqlite::Result<Visits> {
    let sql =
        format!("SELECT launch, side, step FROM trials WHERE run_key = ? AND put_aside = 0 AND {like_that}");
    let mut steps: BTreeMap<(u32, Side), BTreeSet<String>> = BTreeMap::new();
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([run_key])?;
    while let Some(row) = rows.next()? {
        let visit = (row.get("launch")?, side(row, "side")?);
        steps.entry(visit).or_default().insert(row.get("step")?);
    }
    let has_all = |steps: &BTreeSet<String>| plan.steps.iter().all(|step| steps.contains(step));
    Ok(steps.into_iter().filter(|(_, steps)| has_all(steps)).map(|(visit, _)| visit).collect())
}

fn begun_launches(connection: &Connection, run_key: i64) -> rusqlite::Result<Vec<u32>> {
    connection
        .prepare("SELECT launch FROM launches WHERE run_key = ? AND put_aside = 0")?
        .query_map([run_key], |row| row.get(0))?
        .collect()
}

/// A launch begins again, since a visit of it is measured again.
pub(crate) fn put_launch_aside(connection: &Connection, run_key: i64, launch: u32) -> rusqlite::Result<()> {
    let mark = "SELECT max(put_aside) + 1 FROM launches WHERE run_key = ?1 AND launch = ?2";
    connection
        .prepare_cached(&format!(
            "UPDATE launches SET put_aside = ({mark}) WHERE run_key = ?1 AND launch = ?2 AND put_aside = 0"
        ))?
        .execute(params![run_key, launch])
        .map(|_| ())
}

/// A visit begins again: what it had before is put aside. A trial that failed keeps its reason.
pub(crate) fn put_visit_aside(
    connection: &Connection,
    run_key: i64,
    (launch, side): (u32, Side),
) -> rusqlite::Result<()> {
    let side = signed(side as u64);
    let mark: u32 = connection.query_row(
        "SELECT max(put_aside) + 1 FROM (
             SELECT put_aside FROM trials WHERE run_key = ?1 AND launch = ?2 AND side = ?3
             UNION ALL SELECT put_aside FROM raw_outputs WHERE run_key = ?1 AND launch = ?2 AND side = ?3)",
        params![run_key, launch, side],
        |row| row.get(0),
    )?;
    let cut_off = Reason::CutOff;
    connection.execute(
        "UPDATE trials SET put_aside = ?1, outcome = 'skipped', reason = coalesce(reason, ?5),
             reason_json = iif(reason IS NULL, ?6, reason_json)
         WHERE run_key = ?2 AND put_aside = 0 AND launch = ?3 AND side = ?4",
        params![mark, run_key, launch, side, cut_off.to_string(), reason_json(&cut_off)?],
    )?;
    for table in ["raw_outputs", "warnings"] {
        let sql = format!(
            "UPDATE {table} SET put_aside = ? WHERE run_key = ? AND put_aside = 0 AND launch = ? AND side = ?"
        );
        connection.execute(&sql, params![mark, run_key, launch, side])?;
    }
    Ok(())
}
