//! The statements that write: those of an event stand together. When they are committed is the writer's affair.

use crate::columns::{block_kind_columns, json, leave_reason_json, reason_json, signed, warning_json};
use crate::fingerprints::fingerprint_key;
use crate::resume::{put_launch_aside, put_visit_aside};
use crate::{host_samples, profiles};
use model::block::{Block, Latency, Outcome, Side, TrialKey};
use model::build::EngineBuild;
use model::counter::Counter;
use model::event::RunEvent;
use model::host::Host;
use model::plan::Plan;
use model::reason::Reason;
use rusqlite::{Connection, Params, named_params, params};
use std::collections::{BTreeMap, BTreeSet};

/// The keys of the run that events came for last.
#[derive(Debug)]
pub(crate) struct CurrentRun {
    pub id: String,
    pub key: i64,
    /// Keys of the trials that were written to.
    pub trials: BTreeMap<TrialKey, i64>,
    /// The visit that began last, by launch and side.
    pub visit: Option<(u32, Side)>,
    /// Visits that are measured again.
    pub again: BTreeSet<(u32, Side)>,
}

impl CurrentRun {
    pub fn new(id: &str, key: i64, again: BTreeSet<(u32, Side)>) -> CurrentRun {
        CurrentRun { id: id.to_owned(), key, trials: BTreeMap::new(), visit: None, again }
    }
}

fn execute(connection: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

/// Writes the rows of an event of a run that was begun.
pub(crate) fn event(connection: &Connection, run: &mut CurrentRun, event: &RunEvent) -> rusqlite::Result<()> {
    match event {
        RunEvent::Started { .. } => Ok(()), // written before there is a run to write to
        RunEvent::VisitStarted { launch, side } => {
            run.trials.clear();
            run.visit = Some((*launch, *side));
            match run.again.contains(&(*launch, *side)) {
                true => put_visit_aside(connection, run.key, (*launch, *side)),
                false => Ok(()), // its trials tell as much
            }
        }
        RunEvent::Announced { .. } => Ok(()),    // follows from the blocks
        RunEvent::DroppingTables { .. } | RunEvent::TablesLeft { .. } => Ok(()), // of the server, not of the run
        RunEvent::LaunchStarted { launch, at_us } => {
            if run.again.iter().any(|(of_visit, _)| of_visit == launch) {
                put_launch_aside(connection, run.key, *launch)?;
            }
            execute(
                connection,
                "INSERT INTO launches (run_key, launch, started_at_us) VALUES (?, ?, ?)",
                params![run.key, launch, at_us],
            )
        }
        RunEvent::ImageBuilt { launch, image, seed, shape, took } => execute(
            connection,
            "INSERT INTO images (run_key, launch, image, seed, took_ns, memtable_bytes,
                 pending_compaction_bytes, levels_json)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                run.key,
                launch,
                image,
                signed(*seed),
                signed(took.0),
                signed(shape.memtable.0),
                signed(shape.pending_compaction.0),
                json(&shape.levels)?,
            ],
        ),
        RunEvent::BlockMeasured(measured) => block(connection, run.trial_key(connection, &measured.trial)?, measured),
        RunEvent::SecondMeasured { trial, second } => execute(
            connection,
            "INSERT INTO seconds (trial_key, second, operations, latency_ns_p50, latency_ns_p99, latency_ns_max)
             VALUES (?, ?, ?, ?, ?, ?)",
            params![
                run.trial_key(connection, trial)?,
                second.second,
                signed(second.operations),
                signed(second.p50.0),
                signed(second.p99.0),
                signed(second.max.0),
            ],
        ),
        RunEvent::ShapeRead { trial, moment, shape } => execute(
            connection,
            "INSERT INTO shapes (trial_key, moment, memtable_bytes, pending_compaction_bytes, levels_json)
             VALUES (?, ?, ?, ?, ?)",
            params![
                run.trial_key(connection, trial)?,
                moment.name(),
                signed(shape.memtable.0),
                signed(shape.pending_compaction.0),
                json(&shape.levels)?,
            ],
        ),
        RunEvent::TrialEnded { trial, outcome, latency } => {
            trial_end(connection, run.trial_key(connection, trial)?, outcome, latency.as_ref())
        }
        RunEvent::LaunchEnded { launch, took, max_launches, active_steps, look } => execute(
            connection,
            "UPDATE launches SET took_ns = ?, launches_max = ?, active_steps_json = ?, look_share = ?
             WHERE run_key = ? AND put_aside = 0 AND launch = ?",
            params![signed(took.0), max_launches, json(active_steps)?, look.map(own_share), run.key, launch],
        ),
        RunEvent::StepLeft { step, launch, reason } => execute(
            connection,
            "INSERT INTO step_exits (run_key, step, launch, reason, reason_json) VALUES (?, ?, ?, ?, ?)",
            params![run.key, step, launch, reason.to_string(), leave_reason_json(reason)?],
        ),
        RunEvent::MaxLaunchesFixed { max_launches } => execute(
            connection,
            "UPDATE runs SET launches_max = ? WHERE run_key = ?",
            params![max_launches, run.key],
        ),
        RunEvent::HostMeasured(fingerprint) => execute(
            connection,
            "UPDATE runs SET fingerprint_key = ? WHERE run_key = ?",
            params![fingerprint_key(connection, fingerprint)?, run.key],
        ),
        RunEvent::HostSampled(sample) => host_samples::insert(connection, run.key, sample),
        RunEvent::Profiled(profile) => profiles::insert(connection, run.key, profile),
        RunEvent::RawOutput { launch, side, name, text } => execute(
            connection,
            "INSERT INTO raw_outputs (run_key, launch, side, name, text) VALUES (?, ?, ?, ?, ?)",
            params![run.key, launch, signed(*side as u64), name, text],
        ),
        RunEvent::Warned { step, warning } => execute(
            connection,
            "INSERT INTO warnings (run_key, step, id, text, warning_json, launch, side)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                run.key,
                step,
                warning.id(),
                warning.to_string(),
                warning_json(warning)?,
                run.visit.map(|(launch, _)| launch),
                run.visit.map(|(_, side)| signed(side as u64)),
            ],
        ),
        RunEvent::Ended { at_us, outcome, cost } => execute(
            connection,
            "UPDATE runs SET ended_at_us = ?, outcome = ?, sampler_core_percent = ?, block_edge_us = ?,
                 client_cpu_ns_per_op = ?, controller_peak_bytes = ?, worker_heap_peak_bytes = ?,
                 step_pauses = ?, step_pause_ns_mean = ?, step_pause_ns_max = ?
             WHERE run_key = ?",
            params![
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
                run.key,
            ],
        ),
    }
}

impl CurrentRun {
    /// The key of the trial's row, which is made where there is none.
    fn trial_key(&mut self, connection: &Connection, trial: &TrialKey) -> rusqlite::Result<i64> {
        if let Some(key) = self.trials.get(trial) {
            return Ok(*key);
        }
        let side = signed(trial.side as u64);
        execute(
            connection,
            "INSERT INTO trials (run_key, launch, step, side) VALUES (?, ?, ?, ?)
             ON CONFLICT (run_key, put_aside, launch, step, side) DO NOTHING",
            params![self.key, trial.launch, trial.step, side],
        )?;
        let key = connection
            .prepare_cached(
                "SELECT trial_key FROM trials
                 WHERE run_key = ? AND put_aside = 0 AND launch = ? AND step = ? AND side = ?",
            )?
            .query_row(params![self.key, trial.launch, trial.step, side], |row| row.get(0))?;
        self.trials.insert(trial.clone(), key);
        Ok(key)
    }
}

fn trial_end(
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
    execute(
        connection,
        "UPDATE trials SET outcome = ?, reason = ?, reason_json = ?, latency_operations = ?,
             latency_ns_p50 = ?, latency_ns_p99 = ?, latency_ns_p999 = ?, latency_ns_p9999 = ?,
             latency_ns_max = ?, latency_histogram = ?
         WHERE trial_key = ?",
        params![
            name,
            reason.map(Reason::to_string),
            reason.map_or(Ok(None), reason_json)?,
            latency.map(|latency| signed(latency.count)),
            latency.map(|latency| signed(latency.p50.0)),
            latency.map(|latency| signed(latency.p99.0)),
            latency.map(|latency| signed(latency.p999.0)),
            latency.and_then(|latency| latency.p9999).map(|p9999| signed(p9999.0)),
            latency.map(|latency| signed(latency.max.0)),
            latency.map(|latency| &latency.histogram),
            trial_key,
        ],
    )
}

/// A block and its counters.
fn block(connection: &Connection, trial_key: i64, block: &Block) -> rusqlite::Result<()> {
    let (kind, cycle) = block_kind_columns(block.kind);
    execute(
        connection,
        "INSERT INTO blocks (trial_key, image, kind, cycle, position, started_at_us, operations,
             failed_operations, wall_ns, run_delay_ns, foreground_cpu_ns, foreground_threads, process_cpu_ns)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
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
        ],
    )?;
    let block_key = connection.last_insert_rowid();
    let mut insert = connection
        .prepare_cached("INSERT INTO block_counters (block_key, counter_key, value) VALUES (?, ?, ?)")?;
    for (counter, value) in &block.counters {
        insert.execute(params![block_key, counter_key(connection, *counter)?, signed(*value)])?;
    }
    Ok(())
}

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
pub(crate) fn host_key(connection: &Connection, host: &Host) -> rusqlite::Result<i64> {
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
    execute(
        connection,
        "INSERT INTO builds (reference, sha256, size_bytes, build_json) VALUES (?, ?, ?, ?)
         ON CONFLICT (build_json) DO NOTHING",
        params![
            build.reference.to_string(),
            build.checksum(),
            build.file_size().map(|size| signed(size.0)),
            text
        ],
    )?;
    connection
        .prepare_cached("SELECT build_key FROM builds WHERE build_json = ?")?
        .query_row([text], |row| row.get(0))
}

fn counter_key(connection: &Connection, counter: Counter) -> rusqlite::Result<i64> {
    let name = counter.total_name();
    execute(connection, "INSERT INTO counters (name) VALUES (?) ON CONFLICT (name) DO NOTHING", [name])?;
    connection
        .prepare_cached("SELECT counter_key FROM counters WHERE name = ?")?
        .query_row([name], |row| row.get(0))
}
/// The share of the budget, or of the extension: whose it is follows from the launch.
fn own_share(share: f64) -> f64 {
    if share > 1.0 { share - 1.0 } else { share }
}
