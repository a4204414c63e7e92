//! The statements that write: one function per kind of row. When they are committed is the writer's affair.

use crate::columns::{
    block_kind_columns, counter_name, json, leave_reason_json, reason_json, signed, warning_json,
};
use model::block::{Block, Latency, Outcome, Second, TrialKey};
use model::build::EngineBuild;
use model::counter::Counter;
use model::event::{Moment, RunOutcome};
use model::host::{HarnessCost, Host, HostSample};
use model::plan::Plan;
use model::reason::{LeaveReason, Reason};
use model::shape::Shape;
use model::warning::Warning;
use rusqlite::{Connection, named_params, params};

/// A run's own row, its host, builds and subjects. Returns the run's key.
pub(crate) fn run(
    connection: &Connection,
    id: &str,
    at_us: i64,
    plan: &Plan,
    host: &Host,
) -> rusqlite::Result<i64> {
    let host_key = host_key(connection, host)?;
    connection
        .prepare_cached(
            "INSERT INTO runs (id, purpose, started_at_us, host_key, load_1m, workload_name,
                 workload_sha256, seed, tool_version, plan_json)
             VALUES (:id, :purpose, :started_at_us, :host_key, :load_1m, :workload_name,
                 :workload_sha256, :seed, :tool_version, :plan_json)",
        )?
        .execute(named_params! {
            ":id": id,
            ":purpose": plan.purpose.name(),
            ":started_at_us": at_us,
            ":host_key": host_key,
            ":load_1m": host.load_1m,
            ":workload_name": plan.workload.name,
            ":workload_sha256": plan.workload_sha256,
            ":seed": signed(plan.seed),
            ":tool_version": plan.tool_version,
            ":plan_json": json(plan)?,
        })?;
    let run_key = connection.last_insert_rowid();
    for (side, subject) in plan.subjects.iter().enumerate() {
        let build_key = build_key(connection, &subject.build)?;
        connection
            .prepare_cached(
                "INSERT INTO subjects (run_key, side, reference, build_key, config_name, options_json,
                     planted_slowdown_percent)
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                run_key,
                signed(side as u64),
                subject.reference.to_string(),
                build_key,
                subject.config.name,
                json(&subject.options)?,
                subject.planted_slowdown_percent,
            ])?;
    }
    Ok(run_key)
}

/// The host's row. What changes from run to run is not part of it.
fn host_key(connection: &Connection, host: &Host) -> rusqlite::Result<i64> {
    let lasting = Host { load_1m: None, ..host.clone() };
    let text = json(&lasting)?;
    connection
        .prepare_cached(
            "INSERT INTO hosts (name, boot_id, kernel, cpu_model, cpus, memory_bytes, host_json)
             VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (host_json) DO NOTHING",
        )?
        .execute(params![
            host.name,
            host.boot_id,
            host.kernel,
            host.cpu_model,
            host.cpus,
            signed(host.memory_bytes),
            text,
        ])?;
    connection
        .prepare_cached("SELECT host_key FROM hosts WHERE host_json = ?")?
        .query_row([text], |row| row.get(0))
}

fn build_key(connection: &Connection, build: &EngineBuild) -> rusqlite::Result<i64> {
    let text = json(build)?;
    connection
        .prepare_cached(
            "INSERT INTO builds (reference, sha256, size_bytes, build_json) VALUES (?, ?, ?, ?)
             ON CONFLICT (build_json) DO NOTHING",
        )?
        .execute(params![
            build.reference.to_string(),
            build.checksum(),
            build.file_size().map(|size| signed(size.0)),
            text
        ])?;
    connection
        .prepare_cached("SELECT build_key FROM builds WHERE build_json = ?")?
        .query_row([text], |row| row.get(0))
}

pub(crate) fn launch(connection: &Connection, run_key: i64, launch: u32, at_us: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO launches (run_key, launch, started_at_us) VALUES (?, ?, ?)")?
        .execute(params![run_key, launch, at_us])?;
    Ok(())
}

/// What is known of a launch when it ends.
pub(crate) struct LaunchEnd<'a> {
    pub launch: u32,
    pub took_ns: u64,
    pub max_launches: u32,
    pub active_steps: &'a [String],
}

pub(crate) fn launch_end(connection: &Connection, run_key: i64, end: &LaunchEnd<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE launches SET took_ns = ?, launches_max = ?, active_steps_json = ?
             WHERE run_key = ? AND put_aside = 0 AND launch = ?",
        )?
        .execute(params![
            signed(end.took_ns),
            end.max_launches,
            json(&end.active_steps)?,
            run_key,
            end.launch
        ])?;
    Ok(())
}

/// What is known of an image when it is there.
pub(crate) struct Image<'a> {
    pub launch: u32,
    pub image: u32,
    pub seed: u64,
    pub took_ns: u64,
    pub shape: &'a Shape,
}

pub(crate) fn image(connection: &Connection, run_key: i64, image: &Image<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO images (run_key, launch, image, seed, took_ns, memtable_bytes,
                 pending_compaction_bytes, levels_json)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            run_key,
            image.launch,
            image.image,
            signed(image.seed),
            signed(image.took_ns),
            signed(image.shape.memtable.0),
            signed(image.shape.pending_compaction.0),
            json(&image.shape.levels)?,
        ])?;
    Ok(())
}

/// The trial's row, made where there is none. Returns its key.
pub(crate) fn trial_key(connection: &Connection, run_key: i64, trial: &TrialKey) -> rusqlite::Result<i64> {
    let side = signed(trial.side as u64);
    connection
        .prepare_cached(
            "INSERT INTO trials (run_key, launch, step, side) VALUES (?, ?, ?, ?)
             ON CONFLICT (run_key, put_aside, launch, step, side) DO NOTHING",
        )?
        .execute(params![run_key, trial.launch, trial.step, side])?;
    connection
        .prepare_cached(
            "SELECT trial_key FROM trials
             WHERE run_key = ? AND put_aside = 0 AND launch = ? AND step = ? AND side = ?",
        )?
        .query_row(params![run_key, trial.launch, trial.step, side], |row| row.get(0))
}

pub(crate) fn trial_end(
    connection: &Connection,
    trial_key: i64,
    outcome: &Outcome,
    latency: Option<&Latency>,
) -> rusqlite::Result<()> {
    let (name, reason) = match outcome {
        Outcome::Done => ("done", None),
        Outcome::Failed { reason } => ("failed", Some(reason)),
        Outcome::Skipped { reason } => ("skipped", Some(reason)),
    };
    let data = reason.map_or(Ok(None), reason_json)?;
    connection
        .prepare_cached(
            "UPDATE trials SET outcome = ?, reason = ?, reason_json = ?, latency_operations = ?,
                 latency_ns_p50 = ?, latency_ns_p99 = ?, latency_ns_p999 = ?, latency_ns_p9999 = ?,
                 latency_ns_max = ?, latency_histogram = ?
             WHERE trial_key = ?",
        )?
        .execute(params![
            name,
            reason.map(Reason::to_string),
            data,
            latency.map(|latency| signed(latency.count)),
            latency.map(|latency| signed(latency.p50.0)),
            latency.map(|latency| signed(latency.p99.0)),
            latency.map(|latency| signed(latency.p999.0)),
            latency.and_then(|latency| latency.p9999).map(|p9999| signed(p9999.0)),
            latency.map(|latency| signed(latency.max.0)),
            latency.map(|latency| &latency.histogram),
            trial_key,
        ])?;
    Ok(())
}

/// A second of a trial that is measured in one go.
pub(crate) fn second(connection: &Connection, trial_key: i64, second: &Second) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO seconds (trial_key, second, operations, latency_ns_p50, latency_ns_p99, latency_ns_max)
             VALUES (?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            trial_key,
            second.second,
            signed(second.operations),
            signed(second.p50.0),
            signed(second.p99.0),
            signed(second.max.0),
        ])?;
    Ok(())
}

/// A block and its counters.
pub(crate) fn block(connection: &Connection, trial_key: i64, block: &Block) -> rusqlite::Result<()> {
    let (kind, cycle) = block_kind_columns(block.kind);
    connection
        .prepare_cached(
            "INSERT INTO blocks (trial_key, image, kind, cycle, position, started_at_us, operations,
                 failed_operations, wall_ns, run_delay_ns, foreground_cpu_ns, foreground_threads, process_cpu_ns)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            trial_key,
            block.image,
            kind,
            cycle,
            block.position,
            block.started_at_us,
            signed(block.operations),
            signed(block.failed_operations),
            signed(block.wall.0),
            signed(block.run_delay.0),
            signed(block.foreground_cpu.0),
            block.foreground_threads,
            block.process_cpu.map(|cpu| signed(cpu.0)),
        ])?;
    let block_key = connection.last_insert_rowid();
    let mut insert = connection
        .prepare_cached("INSERT INTO block_counters (block_key, counter_key, value) VALUES (?, ?, ?)")?;
    for (counter, value) in &block.counters {
        insert.execute(params![block_key, counter_key(connection, *counter)?, signed(*value)])?;
    }
    Ok(())
}

fn counter_key(connection: &Connection, counter: Counter) -> rusqlite::Result<i64> {
    let name = counter_name(counter);
    connection
        .prepare_cached("INSERT INTO counters (name) VALUES (?) ON CONFLICT (name) DO NOTHING")?
        .execute([name])?;
    connection
        .prepare_cached("SELECT counter_key FROM counters WHERE name = ?")?
        .query_row([name], |row| row.get(0))
}

pub(crate) fn shape(
    connection: &Connection,
    trial_key: i64,
    moment: Moment,
    shape: &Shape,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO shapes (trial_key, moment, memtable_bytes, pending_compaction_bytes, levels_json)
             VALUES (?, ?, ?, ?, ?)",
        )?
        .execute(params![
            trial_key,
            moment.name(),
            signed(shape.memtable.0),
            signed(shape.pending_compaction.0),
            json(&shape.levels)?,
        ])?;
    Ok(())
}

pub(crate) fn step_exit(
    connection: &Connection,
    run_key: i64,
    step: &str,
    launch: u32,
    reason: &LeaveReason,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO step_exits (run_key, step, launch, reason, reason_json) VALUES (?, ?, ?, ?, ?)",
        )?
        .execute(params![run_key, step, launch, reason.to_string(), leave_reason_json(reason)?])?;
    Ok(())
}

pub(crate) fn max_launches(connection: &Connection, run_key: i64, max_launches: u32) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE runs SET launches_max = ? WHERE run_key = ?")?
        .execute(params![max_launches, run_key])?;
    Ok(())
}

pub(crate) fn host_sample(
    connection: &Connection,
    run_key: i64,
    sample: &HostSample,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO host_samples (run_key, at_us, readings_json) VALUES (?, ?, ?)")?
        .execute(params![run_key, sample.at_us, json(&sample.readings)?])?;
    Ok(())
}

/// Raw output as it came.
pub(crate) struct RawOutput<'a> {
    pub launch: u32,
    pub side: usize,
    pub name: &'a str,
    pub text: &'a str,
}

pub(crate) fn raw_output(
    connection: &Connection,
    run_key: i64,
    output: &RawOutput<'_>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO raw_outputs (run_key, launch, side, name, text) VALUES (?, ?, ?, ?, ?)")?
        .execute(params![run_key, output.launch, signed(output.side as u64), output.name, output.text])?;
    Ok(())
}

pub(crate) fn warning(
    connection: &Connection,
    run_key: i64,
    step: Option<&str>,
    warning: &Warning,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO warnings (run_key, step, id, text, warning_json) VALUES (?, ?, ?, ?, ?)",
        )?
        .execute(params![run_key, step, warning.id(), warning.to_string(), warning_json(warning)?])?;
    Ok(())
}

pub(crate) fn run_end(
    connection: &Connection,
    run_key: i64,
    at_us: i64,
    outcome: RunOutcome,
    cost: &HarnessCost,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE runs SET ended_at_us = ?, outcome = ?, sampler_core_percent = ?, block_edge_us = ?,
                 client_cpu_ns_per_op = ?, controller_peak_bytes = ?, worker_heap_peak_bytes = ?,
                 step_pauses = ?, step_pause_ns_mean = ?, step_pause_ns_max = ?
             WHERE run_key = ?",
        )?
        .execute(params![
            at_us,
            outcome.name(),
            cost.sampler_core_percent,
            cost.block_edge_us,
            cost.client_cpu_ns_per_op,
            signed(cost.controller_peak_bytes),
            signed(cost.worker_heap_peak_bytes),
            cost.step_pauses.map(|pauses| pauses.count),
            cost.step_pauses.map(|pauses| signed(pauses.mean.0)),
            cost.step_pauses.map(|pauses| signed(pauses.longest.0)),
            run_key,
        ])?;
    Ok(())
}
