//! What pages show: lists of runs, imports and bisections by page, one step over runs, how far a run has come. Each answer is a few
//! lookups by index, however much the store holds; a whole run is read by [`Store::load_run`].

mod live;

use crate::columns::{from_json, purpose, run_outcome, side, small, unreadable, unsigned};
use crate::error::Error;
use crate::file::Store;
use model::event::RunOutcome;
use model::host::Host;
use model::listing::{Choices, Entry, EntryKind, RunHead, TrialCounts, TrialEnd, TrialRate};
use model::plan::Plan;
use model::record::{RawOutputName, RunStatus};
use model::units::Nanos;
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

/// What a list is narrowed down to; what is absent narrows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Stands in the id, the name, the workload, the host, a subject or a file; of a bisection in its step too. Case of
    /// ASCII letters does not matter.
    pub text: Option<String>,
    /// An engine of a subject, or of an end of a bisection: `rocksdb`.
    pub engine: Option<String>,
    /// The workload of a run or a bisection, the format of an import.
    pub workload: Option<String>,
    pub kind: Option<EntryKind>,
    /// How it ended; imports are done.
    pub status: Option<RunStatus>,
    pub host: Option<String>,
    /// Began at or after this, in microseconds since the epoch.
    pub since_us: Option<i64>,
    pub before_us: Option<i64>,
}

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPage {
    pub entries: Vec<Entry>,
    /// How many there are on all pages.
    pub total: u64,
}

/// Runs, imports and bisections as one list; the column `list` says where `entry_key` belongs.
pub(crate) const ENTRIES: &str = "
    WITH entries AS (
        SELECT run_key AS entry_key, 'run' AS list, id, runs.name AS name, purpose AS kind, outcome,
               started_at_us AS began_at_us, ended_at_us, workload_name AS workload, hosts.name AS host,
               '' AS told
        FROM runs INDEXED BY runs_in_lists JOIN hosts USING (host_key)
        UNION ALL
        SELECT import_key, 'import', id, name, 'import', 'done', imported_at_us, imported_at_us, format, NULL, ''
        FROM imports
        UNION ALL
        SELECT rowid, 'bisection', id, NULL, 'bisection', iif(ended_at_us IS NULL, NULL, 'done'), began_at_us,
               ended_at_us, workload, NULL, concat_ws(' ', step, good, bad)
        FROM bisections)";

/// What the filter leaves of them.
pub(crate) const MATCHING: &str = "
    FROM entries
    WHERE (:kind IS NULL OR kind = :kind)
      AND (:status IS NULL OR coalesce(outcome, 'unfinished') = :status)
      AND (:workload IS NULL OR workload = :workload)
      AND (:host IS NULL OR host = :host)
      AND (:since_us IS NULL OR began_at_us >= :since_us)
      AND (:before_us IS NULL OR began_at_us < :before_us)
      AND (:engine IS NULL
           OR list = 'run' AND EXISTS (
                  SELECT 1 FROM subjects WHERE run_key = entry_key AND instr(reference, :engine || '@') = 1)
           OR list = 'bisection' AND EXISTS (
                  SELECT 1 FROM bisections WHERE rowid = entry_key
                      AND (instr(good, :engine || '@') = 1 OR instr(bad, :engine || '@') = 1)))
      AND (:text IS NULL
           OR instr(lower(concat_ws(' ', id, name, workload, host, told)), :text) > 0
           OR list = 'run' AND EXISTS (
                  SELECT 1 FROM subjects WHERE run_key = entry_key AND instr(lower(reference), :text) > 0)
           OR list = 'import' AND EXISTS (
                  SELECT 1 FROM import_files WHERE import_key = entry_key AND instr(lower(file), :text) > 0))";

/// A step of a run, by its id and its name; a drain is no part of its rate.
pub(crate) const STEP_RATES: &str = "
    SELECT launch, side, trials.outcome AS outcome, sum(operations) AS operations, sum(wall_ns) AS wall_ns
    FROM runs JOIN trials INDEXED BY trials_by_step USING (run_key)
         LEFT JOIN blocks ON blocks.trial_key = trials.trial_key AND kind <> 'drain'
    WHERE runs.id = ? AND put_aside = 0 AND step = ?
    GROUP BY trials.trial_key ORDER BY launch, side";

/// How many trials of a run ended how.
pub(crate) const TRIAL_COUNTS: &str = "
    SELECT outcome, count(*) AS trials FROM trials INDEXED BY trials_by_step
    WHERE run_key = ? AND put_aside = 0 GROUP BY outcome";

impl Store {
    /// The runs, imports and bisections that a filter leaves, the latest by the clock first: `limit` of them from the one at `offset` on.
    pub fn entries(&self, filter: &Filter, offset: u64, limit: u32) -> Result<EntryPage, Error> {
        self.sql("list runs, imports and bisections", |connection| {
            let text = filter.text.as_ref().map(|text| text.to_ascii_lowercase());
            let kind = filter.kind.map(EntryKind::name);
            let total = format!("{ENTRIES} SELECT count(*) {MATCHING}");
            let total: i64 = connection.prepare_cached(&total)?.query_row(
                named_params! {
                    ":kind": kind, ":status": filter.status.map(RunStatus::name), ":workload": filter.workload,
                    ":host": filter.host, ":since_us": filter.since_us, ":before_us": filter.before_us,
                    ":engine": filter.engine, ":text": text,
                },
                |row| row.get(0),
            )?;
            let page = format!(
                "{ENTRIES} SELECT * {MATCHING} ORDER BY began_at_us DESC, id DESC LIMIT :limit OFFSET :offset"
            );
            let entries = connection
                .prepare_cached(&page)?
                .query_map(
                    named_params! {
                        ":kind": kind, ":status": filter.status.map(RunStatus::name),
                        ":workload": filter.workload, ":host": filter.host, ":since_us": filter.since_us,
                        ":before_us": filter.before_us, ":engine": filter.engine, ":text": text,
                        ":limit": limit, ":offset": i64::try_from(offset).unwrap_or(i64::MAX),
                    },
                    |row| entry(connection, row),
                )?
                .collect::<rusqlite::Result<_>>()?;
            Ok(EntryPage { entries, total: total.unsigned_abs() })
        })
    }

    /// What lists can be narrowed down to.
    pub fn choices(&self) -> Result<Choices, Error> {
        self.sql("list engines, workloads and hosts", |connection| {
            let names = |sql: &str| -> rusqlite::Result<Vec<String>> {
                connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
            };
            Ok(Choices {
                engines: names(
                    "SELECT DISTINCT substr(reference, 1, instr(reference, '@') - 1) FROM builds ORDER BY 1",
                )?,
                workloads: names("SELECT DISTINCT workload_name FROM runs ORDER BY 1")?,
                hosts: names("SELECT DISTINCT name FROM hosts ORDER BY 1")?,
            })
        })
    }

    /// The run of exactly this id; absent where there is none.
    pub fn run_head(&self, id: &str) -> Result<Option<RunHead>, Error> {
        self.sql(format!("look for run {id}"), |connection| {
            connection.prepare_cached(&format!("{HEADS} WHERE id = ?"))?.query_row([id], head).optional()
        })
    }

    /// The plan and the host of the run of this id.
    pub fn run_plan(&self, id: &str) -> Result<(Plan, Host), Error> {
        self.sql(format!("read the plan of run {id}"), |connection| {
            connection
                .prepare_cached(
                    "SELECT plan_json, host_json, load_1m FROM runs JOIN hosts USING (host_key) WHERE id = ?",
                )?
                .query_row([id], |row| {
                    let host = Host { load_1m: row.get("load_1m")?, ..from_json(row, "host_json")? };
                    Ok((from_json(row, "plan_json")?, host))
                })
        })
    }

    /// The runs of a workload that were stored last, at most `limit`, the last one first.
    pub fn runs_of(&self, workload: &str, limit: u32) -> Result<Vec<RunHead>, Error> {
        self.sql(format!("list the runs of {workload}"), |connection| {
            connection
                .prepare_cached(&format!("{HEADS} {NEWEST}"))?
                .query_map(params![workload, limit], head)?
                .collect()
        })
    }

    /// How many runs a workload has.
    pub fn count_runs_of(&self, workload: &str) -> Result<u64, Error> {
        self.sql(format!("count the runs of {workload}"), |connection| {
            let count: i64 = connection
                .prepare_cached("SELECT count(*) FROM runs WHERE workload_name = ?")?
                .query_row([workload], |row| row.get(0))?;
            Ok(count.unsigned_abs())
        })
    }

    /// The trials of one step of a run, by launch and side: what was measured in them, drains left out; those without an
    /// end too.
    pub fn step_rates(&self, head: &RunHead, step: &str) -> Result<Vec<TrialRate>, Error> {
        self.sql(format!("read {step} of run {}", head.id), |connection| {
            connection
                .prepare_cached(STEP_RATES)?
                .query_map(params![head.id, step], |row| trial_rate(row, head.status))?
                .collect()
        })
    }

    /// Names of the raw output that a run keeps, without that of visits that were cut off.
    pub fn raw_output_names(&self, id: &str) -> Result<Vec<RawOutputName>, Error> {
        let key = self.run_key(id)?;
        self.sql(format!("list the raw output of run {id}"), |connection| {
            connection
                .prepare_cached(
                    "SELECT DISTINCT launch, side, name FROM raw_outputs WHERE run_key = ? AND put_aside = 0
                     ORDER BY launch, side, name",
                )?
                .query_map([key], |row| {
                    Ok(RawOutputName {
                        launch: small(row, "launch")?,
                        side: side(row, "side")?,
                        name: row.get("name")?,
                    })
                })?
                .collect()
        })
    }
}

pub(crate) const HEADS: &str =
    "SELECT id, runs.name AS name, purpose, outcome, started_at_us, ended_at_us, boot_id, tool_version
                     FROM runs JOIN hosts USING (host_key)";

/// The newest of a workload, found among keys: of all others not even a row is read.
pub(crate) const NEWEST: &str = "
    WHERE run_key IN (SELECT run_key FROM runs WHERE workload_name = ? ORDER BY run_key DESC LIMIT ?)
    ORDER BY run_key DESC";

fn head(row: &Row<'_>) -> rusqlite::Result<RunHead> {
    Ok(RunHead {
        id: row.get("id")?,
        name: row.get("name")?,
        purpose: purpose(row, "purpose")?,
        status: status(row)?,
        started_at_us: row.get("started_at_us")?,
        ended_at_us: row.get("ended_at_us")?,
        boot_id: row.get("boot_id")?,
        tool_version: row.get("tool_version")?,
    })
}

fn status(row: &Row<'_>) -> rusqlite::Result<RunStatus> {
    Ok(run_outcome(row, "outcome")?.map_or(RunStatus::Unfinished, RunStatus::Ended))
}

fn entry(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Entry> {
    let key: i64 = row.get("entry_key")?;
    let names = |sql: &str| -> rusqlite::Result<Vec<String>> {
        connection.prepare_cached(sql)?.query_map([key], |row| row.get(0))?.collect()
    };
    let status = status(row)?;
    let kind = entry_kind(row)?;
    let (subjects, trials, found) = match kind {
        EntryKind::Run(_) => {
            let subjects = names("SELECT reference FROM subjects WHERE run_key = ? ORDER BY side")?;
            (subjects, trial_counts(connection, key, status)?, found(connection, key)?)
        }
        EntryKind::Import => {
            let files = names("SELECT file FROM import_files WHERE import_key = ? ORDER BY import_file_key")?;
            (files, TrialCounts::default(), None)
        }
        EntryKind::Bisection => {
            let ends = "SELECT good FROM bisections WHERE rowid = ?1
                        UNION ALL SELECT bad FROM bisections WHERE rowid = ?1";
            (names(ends)?, TrialCounts::default(), None)
        }
    };
    Ok(Entry {
        id: row.get("id")?,
        name: row.get("name")?,
        kind,
        status,
        began_at_us: row.get("began_at_us")?,
        ended_at_us: row.get("ended_at_us")?,
        workload: row.get("workload")?,
        host: row.get("host")?,
        subjects,
        trials,
        found,
    })
}

/// Read for the runs of a page alone: it stands behind the plan, which is long.
fn found(connection: &Connection, run_key: i64) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT found_json FROM runs WHERE run_key = ?")?
        .query_row([run_key], |row| row.get(0))
}

fn entry_kind(row: &Row<'_>) -> rusqlite::Result<EntryKind> {
    match row.get_ref("list")?.as_str()? {
        "import" => Ok(EntryKind::Import),
        "bisection" => Ok(EntryKind::Bisection),
        _ => Ok(EntryKind::Run(purpose(row, "kind")?)),
    }
}

fn trial_counts(connection: &Connection, run_key: i64, status: RunStatus) -> rusqlite::Result<TrialCounts> {
    let mut counts = TrialCounts::default();
    let mut statement = connection.prepare_cached(TRIAL_COUNTS)?;
    let mut rows = statement.query([run_key])?;
    while let Some(row) = rows.next()? {
        counts.add(trial_end(row, status)?, unsigned(row, "trials")?);
    }
    Ok(counts)
}

/// How the trial in a row ended, of a run that stands like this. A run that is done has every outcome that it wanted.
fn trial_end(row: &Row<'_>, status: RunStatus) -> rusqlite::Result<TrialEnd> {
    match row.get::<_, Option<String>>("outcome")?.as_deref() {
        None if status == RunStatus::Ended(RunOutcome::Done) => Ok(TrialEnd::NotNeeded),
        None => Ok(TrialEnd::Unfinished),
        Some("done") => Ok(TrialEnd::Done),
        Some("failed") => Ok(TrialEnd::Failed),
        Some("skipped") => Ok(TrialEnd::Skipped),
        Some(other) => Err(unreadable("outcome", format!("`{other}` is not known to this version").into())),
    }
}

/// A trial without blocks has sums that are NULL: nothing was measured.
fn trial_rate(row: &Row<'_>, status: RunStatus) -> rusqlite::Result<TrialRate> {
    let sum = |column: &str| -> rusqlite::Result<u64> {
        Ok(row.get::<_, Option<i64>>(column)?.unwrap_or(0).cast_unsigned())
    };
    Ok(TrialRate {
        launch: small(row, "launch")?,
        side: side(row, "side")?,
        ended: trial_end(row, status)?,
        operations: sum("operations")?,
        wall: Nanos(sum("wall_ns")?),
    })
}
