//! Reading one run back: the rows as the structures that they were written from.

use crate::columns::{
    block_kind, from_json, moment, reason, run_outcome, run_warning, shape, side, signed, small, step_exit,
    unreadable, unsigned,
};
use crate::error::Error;
use crate::export::{PlannedRun, second};
use crate::file::Store;
use crate::fingerprints::of_run;
use crate::host_samples::{HOST_SAMPLES, host_sample};
use model::block::{Block, Latency, Outcome, Second, Side, TrialKey};
use model::counter::{Counter, Counters};
use model::host::{HarnessCost, Host, HostSample, StepPauses};
use model::plan::Extension;
use model::record::{
    ENGINE_WORK_OUTPUT, EngineTextRecord, EngineWorkRecord, ImageRecord, LaunchRecord, OPTIONS_OUTPUT,
    RawOutputName, RunRecord, RunStatus, ShapeRecord, TrialRecord, engine_text_of,
};
use model::units::Nanos;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;

impl Store {
    /// Everything of the run of this id but its samples and raw output.
    pub fn load_run(&self, id: &str) -> Result<RunRecord, Error> {
        let key = self.run_key(id)?;
        self.sql(format!("read run {id}"), |connection| run_record(connection, key))
    }

    /// The host's samples in a run, in their order.
    pub fn host_samples(&self, id: &str) -> Result<Vec<HostSample>, Error> {
        let key = self.run_key(id)?;
        self.sql(format!("read the samples of run {id}"), |connection| {
            rows(connection, HOST_SAMPLES, key, host_sample)
        })
    }

    /// The texts of one kind of raw output, in the order they came; empty where there is none.
    pub fn raw_output(&self, id: &str, output: &RawOutputName) -> Result<Vec<String>, Error> {
        let key = self.run_key(id)?;
        self.sql(format!("read `{}` of run {id}", output.name), |connection| {
            connection
                .prepare_cached(
                    "SELECT text FROM raw_outputs
                     WHERE run_key = ? AND put_aside = 0 AND launch = ? AND side = ? AND name = ?
                     ORDER BY raw_output_key",
                )?
                .query_map(params![key, output.launch, signed(output.side as u64), output.name], |row| {
                    row.get(0)
                })?
                .collect()
        })
    }

    pub(crate) fn run_key(&self, id: &str) -> Result<i64, Error> {
        // An id in full needs no list of all runs.
        let exact = self.sql(format!("look for run {id}"), |connection| {
            connection
                .prepare_cached("SELECT run_key FROM runs WHERE id = ?")?
                .query_row([id], |row| row.get(0))
                .optional()
        })?;
        if let Some(key) = exact {
            return Ok(key);
        }
        let id = self.find_run(id)?;
        self.sql(format!("look for run {id}"), |connection| {
            connection.query_row("SELECT run_key FROM runs WHERE id = ?", [id], |row| row.get(0))
        })
    }
}

/// A run's own row with its host.
const RUN_ROW: &str =
    "SELECT runs.name AS run_name, * FROM runs JOIN hosts USING (host_key) WHERE run_key = ?";

/// What stands in a run's own row, of what concerns the whole of it.
pub(crate) fn planned_run(connection: &Connection, key: i64) -> rusqlite::Result<PlannedRun> {
    Ok(connection.prepare_cached(RUN_ROW)?.query_row([key], head)?.run)
}

fn run_record(connection: &Connection, key: i64) -> rusqlite::Result<RunRecord> {
    let Head { run, max_launches, cost } = connection.prepare_cached(RUN_ROW)?.query_row([key], head)?;
    let blocks = "SELECT * FROM blocks JOIN trials USING (trial_key) WHERE run_key = ? AND put_aside = 0
                  ORDER BY block_key";
    let blocks = rows(connection, blocks, key, |row| block_with_counters(connection, row))?;
    let extension = run.plan.rule.extension;
    let options = "SELECT side, text FROM raw_outputs WHERE run_key = ?1 AND name = ?2 AND put_aside = 0
                   ORDER BY raw_output_key DESC";
    let options_in_effect: BTreeMap<Side, String> = connection
        .prepare_cached(options)?
        .query_map(params![key, OPTIONS_OUTPUT], |row| Ok((side(row, "side")?, row.get("text")?)))?
        .collect::<rusqlite::Result<_>>()?; // in falling order: the first of each side stays
    Ok(RunRecord {
        id: run.id,
        name: run.name,
        status: run.status,
        started_at_us: run.started_at_us,
        ended_at_us: run.ended_at_us,
        plan: run.plan,
        host: run.host,
        fingerprint: of_run(connection, key)?,
        launches: rows(
            connection,
            "SELECT * FROM launches WHERE run_key = ? AND put_aside = 0 ORDER BY launch",
            key,
            |row| launch(row, extension),
        )?,
        images: rows(connection, "SELECT * FROM images WHERE run_key = ? ORDER BY image_key", key, image)?,
        blocks,
        trials: rows(
            connection,
            "SELECT * FROM trials WHERE run_key = ? AND put_aside = 0 AND outcome IS NOT NULL
             ORDER BY launch, step, side",
            key,
            trial,
        )?,
        shapes: rows(
            connection,
            "SELECT * FROM shapes JOIN trials USING (trial_key) WHERE run_key = ? AND put_aside = 0 ORDER BY shape_key",
            key,
            shape_record,
        )?,
        step_exits: rows(
            connection,
            "SELECT * FROM step_exits WHERE run_key = ? ORDER BY step_exit_key",
            key,
            step_exit,
        )?,
        warnings: rows(
            connection,
            "SELECT * FROM warnings WHERE run_key = ? AND put_aside = 0 ORDER BY warning_key",
            key,
            run_warning,
        )?,
        max_launches,
        cost,
        options_in_effect,
        raw_outputs: rows(
            connection,
            "SELECT DISTINCT launch, side, name FROM raw_outputs WHERE run_key = ? AND put_aside = 0
             ORDER BY launch, side, name",
            key,
            |row| {
                Ok(RawOutputName {
                    launch: small(row, "launch")?,
                    side: side(row, "side")?,
                    name: row.get("name")?,
                })
            },
        )?,
        engine_texts: rows(
            connection,
            "SELECT launch, side, name, text FROM raw_outputs
             WHERE run_key = ? AND put_aside = 0 AND name LIKE '%/%/%' ORDER BY raw_output_key",
            key,
            engine_text,
        )?
        .into_iter()
        .flatten()
        .collect(),
        engine_works: engine_works(connection, key)?,
        seconds: seconds(connection, key)?,
    })
}

fn engine_works(connection: &Connection, key: i64) -> rusqlite::Result<Vec<EngineWorkRecord>> {
    let sql = "SELECT launch, side, text FROM raw_outputs
               WHERE run_key = ?1 AND put_aside = 0 AND name LIKE '%/' || ?2 ORDER BY raw_output_key";
    let work = |row: &Row<'_>| {
        Ok(EngineWorkRecord {
            launch: small(row, "launch")?,
            side: side(row, "side")?,
            text: row.get("text")?,
        })
    };
    connection.prepare_cached(sql)?.query_map(params![key, ENGINE_WORK_OUTPUT], work)?.collect()
}

fn seconds(connection: &Connection, key: i64) -> rusqlite::Result<BTreeMap<TrialKey, Vec<Second>>> {
    let trials = "SELECT trial_key, launch, step, side FROM trials WHERE run_key = ? AND put_aside = 0";
    // One query for each trial: joined, the name of the step would be read in each second.
    let of_trial = "SELECT second, operations, latency_ns_p50, latency_ns_p99, latency_ns_max FROM seconds
                    WHERE trial_key = ? ORDER BY second";
    let mut seconds: BTreeMap<TrialKey, Vec<Second>> = BTreeMap::new();
    for (trial_key, trial) in rows(connection, trials, key, |row| Ok((row.get(0)?, trial_key(row)?)))? {
        let found = rows(connection, of_trial, trial_key, second)?;
        if !found.is_empty() {
            seconds.entry(trial).or_default().extend(found);
        }
    }
    Ok(seconds)
}

/// Absent where the name is that of another output.
fn engine_text(row: &Row<'_>) -> rusqlite::Result<Option<EngineTextRecord>> {
    let name: String = row.get("name")?;
    let Some((step, moment, what)) = engine_text_of(&name) else { return Ok(None) };
    let trial = TrialKey { launch: small(row, "launch")?, step: step.to_owned(), side: side(row, "side")? };
    Ok(Some(EngineTextRecord { trial, moment, what, text: row.get("text")? }))
}

/// What stands in the run's own row.
struct Head {
    run: PlannedRun,
    max_launches: Option<u32>,
    cost: Option<HarnessCost>,
}

fn head(row: &Row<'_>) -> rusqlite::Result<Head> {
    let status = run_outcome(row, "outcome")?.map_or(RunStatus::Unfinished, RunStatus::Ended);
    let cost = match status {
        RunStatus::Unfinished => None,
        RunStatus::Ended(_) => Some(cost(row)?),
    };
    let run = PlannedRun {
        id: row.get("id")?,
        name: row.get("run_name")?, // the host has a name too
        status,
        started_at_us: row.get("started_at_us")?,
        ended_at_us: row.get("ended_at_us")?,
        plan: from_json(row, "plan_json")?,
        host: Host { load_1m: row.get("load_1m")?, ..from_json(row, "host_json")? },
    };
    Ok(Head { run, max_launches: row.get("launches_max")?, cost })
}

fn cost(row: &Row<'_>) -> rusqlite::Result<HarnessCost> {
    // SQLite keeps what is not a number as NULL.
    let real = |column: &str| -> rusqlite::Result<f64> {
        Ok(row.get::<_, Option<f64>>(column)?.unwrap_or(f64::NAN))
    };
    Ok(HarnessCost {
        sampler_core_percent: real("sampler_core_percent")?,
        block_edge_us: real("block_edge_us")?,
        client_cpu_ns_per_op: row.get("client_cpu_ns_per_op")?,
        controller_peak_bytes: unsigned(row, "controller_peak_bytes")?,
        worker_heap_peak_bytes: unsigned(row, "worker_heap_peak_bytes")?,
        step_pauses: match row.get::<_, Option<u32>>("step_pauses")? {
            None => None,
            Some(count) => Some(StepPauses {
                count,
                mean: Nanos(unsigned(row, "step_pause_ns_mean")?),
                longest: Nanos(unsigned(row, "step_pause_ns_max")?),
            }),
        },
    })
}

fn launch(row: &Row<'_>, extension: Option<Extension>) -> rusqlite::Result<LaunchRecord> {
    let took: Option<i64> = row.get("took_ns")?;
    let launch = small(row, "launch")?;
    let is_extended = extension.is_some_and(|extension| launch > extension.after_launch);
    let look: Option<f64> = row.get("look_share")?;
    Ok(LaunchRecord {
        launch,
        started_at_us: row.get("started_at_us")?,
        took: took.map(|took| Nanos(took.cast_unsigned())),
        active_steps: match took {
            Some(_) => from_json(row, "active_steps_json")?,
            None => Vec::new(),
        },
        look: look.map(|share| if is_extended { 1.0 + share } else { share }),
    })
}

fn image(row: &Row<'_>) -> rusqlite::Result<ImageRecord> {
    Ok(ImageRecord {
        launch: small(row, "launch")?,
        image: small(row, "image")?,
        seed: unsigned(row, "seed")?,
        shape: shape(row)?,
        took: Nanos(unsigned(row, "took_ns")?),
    })
}

/// A block, with a query of its own for its counters.
pub(crate) fn block_with_counters(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Block> {
    let mut statement = connection.prepare_cached(
        "SELECT name, value FROM block_counters JOIN counters USING (counter_key) WHERE block_key = ?",
    )?;
    let mut read = Counters::new();
    let mut found = statement.query([row.get::<_, i64>("block_key")?])?;
    while let Some(found) = found.next()? {
        // A counter that only a later version knows says nothing to this one.
        if let Some(counter) = Counter::of_total(&found.get::<_, String>("name")?) {
            read.insert(counter, unsigned(found, "value")?);
        }
    }
    block(row, read)
}

fn block(row: &Row<'_>, counters: Counters) -> rusqlite::Result<Block> {
    Ok(Block {
        trial: trial_key(row)?,
        image: small(row, "image")?,
        kind: block_kind(row)?,
        position: small(row, "position")?,
        started_at_us: row.get("started_at_us")?,
        operations: unsigned(row, "operations")?,
        failed_operations: unsigned(row, "failed_operations")?,
        wall: Nanos(unsigned(row, "wall_ns")?),
        run_delay: Nanos(unsigned(row, "run_delay_ns")?),
        foreground_cpu: Nanos(unsigned(row, "foreground_cpu_ns")?),
        foreground_threads: small(row, "foreground_threads")?,
        process_cpu: row.get::<_, Option<i64>>("process_cpu_ns")?.map(|cpu| Nanos(cpu.cast_unsigned())),
        counters,
    })
}

pub(crate) fn trial(row: &Row<'_>) -> rusqlite::Result<TrialRecord> {
    let outcome = match row.get::<_, String>("outcome")?.as_str() {
        "done" => Outcome::Done,
        "failed" => Outcome::Failed { reason: reason(row)? },
        "skipped" => Outcome::Skipped { reason: reason(row)? },
        other => return Err(unreadable("outcome", format!("`{other}` is not known to this version").into())),
    };
    let latency = match row.get::<_, Option<String>>("latency_histogram")? {
        None => None,
        Some(histogram) => Some(Latency {
            count: unsigned(row, "latency_operations")?,
            p50: Nanos(unsigned(row, "latency_ns_p50")?),
            p99: Nanos(unsigned(row, "latency_ns_p99")?),
            p999: Nanos(unsigned(row, "latency_ns_p999")?),
            p9999: row.get::<_, Option<i64>>("latency_ns_p9999")?.map(|p9999| Nanos(p9999.cast_unsigned())),
            max: Nanos(unsigned(row, "latency_ns_max")?),
            histogram,
        }),
    };
    Ok(TrialRecord { trial: trial_key(row)?, outcome, latency })
}

fn shape_record(row: &Row<'_>) -> rusqlite::Result<ShapeRecord> {
    Ok(ShapeRecord { trial: trial_key(row)?, moment: moment(row, "moment")?, shape: shape(row)? })
}

pub(crate) fn trial_key(row: &Row<'_>) -> rusqlite::Result<TrialKey> {
    Ok(TrialKey { launch: small(row, "launch")?, step: row.get("step")?, side: side(row, "side")? })
}

/// The rows of one run, or one trial; the statement asks for its key.
fn rows<T>(
    connection: &Connection,
    sql: &str,
    key: i64,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map([key], read)?.collect()
}
