//! Running one plan: its events go to the store and to the progress line.

use crate::cli::Places;
use crate::commands::doctor;
use crate::exit::usage;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::{finding, interrupt, paths, planning, referee};
use anyhow::{Context, anyhow};
use model::build::EngineBuild;
use model::event::{RunEvent, RunOutcome};
use model::figures::count;
use model::fingerprint::Fingerprint;
use model::host::{HarnessCost, Host, HostChange};
use model::plan::{Design, Extension, Plan};
use model::record::RunRecord;
use model::units::Nanos;
use model::warning::Warning;
use model::workload::DatabaseKind;
use runner::campaign::drive::{Schedule, drive};
use runner::campaign::interleaved::machine::Campaign;
use runner::campaign::rounds::machine::{Before, Rounds};
use runner::clock::{self, Stopwatch};
use runner::doctor::Needs;
use runner::proc::host;
use runner::process::worker::OWN_PROGRAM;
use runner::real::run_directory::{self, RunDirectory};
use runner::real::world::RealWorld;
use runner::real::{library_copy, memory_limit};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use store::{Resumed, ResumedBy, Retry, Store, Writer};

/// As it is kept with each run.
pub const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A plan that is about to be run.
pub struct Ready {
    pub plan: Plan,
    /// The options file that each side's build wrote.
    pub written_options: Vec<Option<String>>,
    /// How fast the host is; absent if it is not known.
    pub fingerprint: Option<Fingerprint>,
    /// Started when the plan was made: the budget counts from there.
    pub watch: Stopwatch,
}

/// What a run is called, and where that comes from.
#[derive(Clone, Copy)]
pub enum Origin<'a> {
    Unnamed,
    Named(&'a str),
    /// It is the next of this campaign, which has its name.
    Queue {
        campaign: &'a str,
        /// Of a campaign on several hosts, by its number: runs of two hosts that begin in the same second differ in their ids.
        job: Option<u32>,
    },
}

/// How a run went.
pub struct Measured {
    pub run: String,
    pub outcome: RunOutcome,
}

/// Runs a plan to its end. Everything measured is in the store when it returns, whatever happened.
pub fn measure(
    places: &Places,
    ready: &Ready,
    origin: Origin<'_>,
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let run = match origin {
        Origin::Queue { campaign, job: Some(job) } => {
            run_id_of_job(campaign, job, writer.store().runs_of_campaign(campaign)?.len())?
        }
        Origin::Unnamed | Origin::Named(_) | Origin::Queue { .. } => new_run_id()?,
    };
    let stage = stage(places, &run)?;
    open_run(ready, &run, origin, &stage, writer, progress)?;
    let cpus = stage.host.cpus;
    let world = match world(ready, &run, stage) {
        Ok(world) => world,
        Err(error) => {
            let outcome = RunOutcome::Failed;
            let ended = RunEvent::Ended { at_us: clock::epoch_us(), outcome, cost: HarnessCost::default() };
            writer.write(&run, &ended)?;
            return Err(error);
        }
    };
    match ready.plan.layout.design {
        Design::Interleaved => {
            let campaign = Campaign::new(ready.plan.clone(), referee::of_plan(&ready.plan, cpus));
            drive_to_end(ready, run, world, campaign, writer, progress)
        }
        Design::Rounds | Design::Sequential => {
            let rounds = Rounds::new(ready.plan.clone(), Before::default());
            drive_to_end(ready, run, world, rounds, writer, progress)
        }
    }
}

/// A run that is about to be gone on with.
pub struct Resuming {
    pub record: RunRecord,
    pub retry: Retry,
    /// More time, for a comparison that has ended.
    pub extension: Option<Extension>,
    /// How fast the host is now; absent if it is not known.
    pub fingerprint: Option<Fingerprint>,
}

/// Goes on with a run that was stopped, or is extended. The run stays as it is unless this host can give what its plan asks for.
pub fn resume(
    places: &Places,
    Resuming { record, retry, extension, fingerprint }: Resuming,
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let run = record.id.clone();
    if let Some(origin) = writer.store().origin_of(&run)? {
        return Err(usage(anyhow!(
            "run {run} was measured on {} and came here from {origin}: resume it there",
            record.host.name
        )));
    }
    let stage = stage(places, &run)?;
    let warning = changes_since(&record, &stage.host, fingerprint.as_ref())?;
    let by = ResumedBy {
        at_us: clock::epoch_us(),
        host: stage.host.clone(),
        tool_version: TOOL_VERSION.to_owned(),
        extension,
    };
    let ready = Ready {
        plan: record.plan,
        written_options: Vec::new(),
        fingerprint: None,
        watch: Stopwatch::start(),
    };
    let unfit = unfit(&ready.plan, stage.directory.path());
    let world = world(&ready, &run, stage)?;
    let Resumed { done, again } = writer.resume(&run, retry, &by)?;
    // What was cut off is put aside by now.
    let interleaved = match ready.plan.layout.design {
        Design::Interleaved => Some(writer.store().load_run(&run)?),
        Design::Rounds | Design::Sequential => None,
    };
    // The run keeps the one that it began after.
    if let Some(fingerprint) = &fingerprint {
        writer.keep_fingerprint(fingerprint)?;
    }
    let measured_later =
        (!again.is_empty()).then_some(Warning::MeasuredAgainLater { visits: again.len() as u64 });
    let going_on = interleaved.map(|record| {
        let (referee, before) = referee::resumed(&record);
        (record.plan, referee, before)
    });
    // Of the budget, or of the extension's, what is left of it.
    let budget = going_on.as_ref().map_or(ready.plan.budget, |(_, _, before)| before.budget);
    progress.begin(&run, &Plan { budget, ..ready.plan.clone() });
    let complete = match &going_on {
        Some((_, _, before)) => count(u64::from(before.launches), "launch is", "launches are"),
        None => count(done.len() as u64, "turn is", "turns are"),
    };
    progress.say(&format!("  {complete} complete"));
    for warning in warning.into_iter().chain(unfit).chain(measured_later) {
        progress.say(&format!("  warning: {warning}"));
        writer.write(&run, &RunEvent::Warned { step: None, warning })?;
    }
    if let Some((plan, referee, before)) = going_on {
        let campaign = Campaign::resumed(plan, referee, before);
        return drive_to_end(&ready, run, world, campaign, writer, progress);
    }
    let rounds = Rounds::new(ready.plan.clone(), Before { done, again });
    drive_to_end(&ready, run, world, rounds, writer, progress)
}

/// What has changed on the host since the run began, how fast it is included if that is known now.
///
/// # Errors
/// It began on another machine.
pub fn changes_since(
    record: &RunRecord,
    host: &Host,
    fingerprint: Option<&Fingerprint>,
) -> anyhow::Result<Option<Warning>> {
    let (of_machine, others): (Vec<_>, Vec<_>) =
        record.host.changes(host).into_iter().partition(|change| change.of_machine);
    let shown = |changes: &[HostChange]| changes.iter().map(HostChange::to_string).collect::<Vec<_>>();
    if !of_machine.is_empty() {
        return Err(usage(anyhow!(
            "run {} began on another machine ({}): resume it there, or begin a new one here",
            record.id,
            shown(&of_machine).join("; ")
        )));
    }
    let mut changes = shown(&others);
    if let Some((before, now)) = record.fingerprint.as_ref().zip(fingerprint) {
        changes.extend(before.differences(now).iter().map(ToString::to_string));
    }
    if record.plan.tool_version != TOOL_VERSION {
        changes.push(format!("dbdyno was {}, is {TOOL_VERSION}", record.plan.tool_version));
    }
    Ok((!changes.is_empty()).then_some(Warning::ResumedAfterChange { changes }))
}

/// What a run stands on.
struct Stage {
    directory: RunDirectory,
    host: Host,
}

fn stage(places: &Places, run: &str) -> anyhow::Result<Stage> {
    let work_dir = paths::work_dir(places)?;
    memory_limit::remove_stale(&work_dir);
    run_directory::remove_stale(&work_dir);
    let directory = RunDirectory::create(&work_dir, run)?;
    Ok(Stage { directory, host: host::describe(&work_dir) })
}

fn open_run(
    ready: &Ready,
    run: &str,
    origin: Origin<'_>,
    stage: &Stage,
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let plan = &ready.plan;
    let mut opening = vec![RunEvent::Started {
        run: run.to_owned(),
        at_us: clock::epoch_us(),
        plan: Box::new(plan.clone()),
        host: Box::new(stage.host.clone()),
    }];
    for (text, side) in ready.written_options.iter().zip(0..) {
        if let Some(text) = text {
            let name = model::record::OPTIONS_OUTPUT.to_owned();
            opening.push(RunEvent::RawOutput { launch: 0, side, name, text: text.clone() });
        }
    }
    opening.extend(ready.fingerprint.iter().map(|one| RunEvent::HostMeasured(Box::new(one.clone()))));
    let mut warnings = host_warnings(plan, &stage.host, stage.directory.path());
    if follows_closely(origin, writer.store())? {
        warnings.retain(|event| !matches!(event, RunEvent::Warned { warning: Warning::BusyHost { .. }, .. }));
    }
    opening.extend(warnings);
    let mut recording = Recording::new(run, writer, progress);
    for event in &opening {
        recording.on(event, 0);
    }
    recording.end()?;
    match origin {
        Origin::Unnamed => {}
        Origin::Named(name) => writer.name_run(run, name)?,
        Origin::Queue { campaign, .. } => writer.begin_queued(campaign, run)?,
    }
    progress.begin(run, plan);
    // It takes a third of a second: the run is in the store before, so that it is gone on with if it is killed meanwhile.
    if let Some(warning) = unfit(plan, stage.directory.path()) {
        let mut recording = Recording::new(run, writer, progress);
        recording.on(&RunEvent::Warned { step: None, warning }, 0);
        recording.end()?;
    }
    Ok(())
}

/// The load average of a minute still contains a run that ended; after so long 1 % of it is left.
const LOAD_FADES: Nanos = Nanos::from_secs(5 * 60);

/// Whether the run before it in its campaign has only just ended.
fn follows_closely(origin: Origin<'_>, store: &Store) -> anyhow::Result<bool> {
    let Origin::Queue { campaign, .. } = origin else { return Ok(false) };
    let before = store.runs_of_campaign(campaign)?;
    let Some(last) = before.last() else { return Ok(false) };
    let ended_at_us = store.run_head(last)?.and_then(|head| head.ended_at_us);
    let since_us = |at_us: i64| u64::try_from(clock::epoch_us() - at_us).unwrap_or(0);
    Ok(ended_at_us.is_some_and(|at_us| since_us(at_us) < LOAD_FADES.0 / 1000))
}

fn world(ready: &Ready, run: &str, stage: Stage) -> anyhow::Result<RealWorld> {
    let interrupted = interrupt::listen()?;
    RealWorld::new(&ready.plan, PathBuf::from(OWN_PROGRAM), stage.directory, ready.watch, interrupted)
        .with_context(|| format!("skipped: this host cannot give what the plan of run {run} asks for"))
}

fn drive_to_end(
    ready: &Ready,
    run: String,
    mut world: RealWorld,
    schedule: impl Schedule,
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let mut recording = Recording::new(&run, writer, progress);
    let outcome = drive(schedule, &mut world, &mut |event| {
        recording.on(&event, ready.watch.elapsed().0 / 1_000_000_000);
    });
    recording.end()?;
    finding::keep(writer, &run).with_context(|| format!("failed to store what was found in run {run}"))?;
    Ok(Measured { run, outcome })
}

/// `20261121-091500-3fa9`: sorts by time, and two runs of the same second differ.
pub fn new_run_id() -> anyhow::Result<String> {
    id_of_now(crate::planning::drawn_seed()?)
}

/// The same of a job, before which it has had so many runs: that of another job, or another of its runs, has another end.
fn run_id_of_job(campaign: &str, job: u32, before: usize) -> anyhow::Result<String> {
    let tail = campaign.rsplit('-').next().and_then(|tail| u64::from_str_radix(tail, 16).ok());
    id_of_now(tail.unwrap_or(0) + u64::from(job) + ((before as u64) << 8))
}

fn id_of_now(number: u64) -> anyhow::Result<String> {
    let now = jiff::Timestamp::from_microsecond(clock::epoch_us()).context("the clock is out of range")?;
    Ok(format!("{}-{:04x}", now.strftime("%Y%m%d-%H%M%S"), number & 0xffff))
}

/// Checks with a warning of their own.
const SAID_ALREADY: [&str; 2] = ["cpu-governor", "other-load"];

/// Why this host is not fit for the plan. A bisection has hundreds of runs that take the same: only the first of a process looks.
fn unfit(plan: &Plan, directory: &Path) -> Option<Warning> {
    static LOOKED_FOR: Mutex<Option<Needs>> = Mutex::new(None);
    let needs = planning::needs(plan);
    let before = LOOKED_FOR.lock().unwrap_or_else(PoisonError::into_inner).replace(needs);
    if before == Some(needs) {
        return None;
    }
    let mut checks = doctor::failing(&doctor::look(directory, Some(needs)));
    checks.retain(|check| !SAID_ALREADY.contains(&check.as_str()));
    (!checks.is_empty()).then_some(Warning::HostUnfit { checks })
}

/// More than this share of the CPUs busy before we begin: somebody else is at work.
const BUSY_LOAD_PER_CPU: f64 = 0.5;

/// Whether a server that speaks the protocol of MongoDB says of itself that it is another one.
fn is_ferretdb(build: &EngineBuild) -> bool {
    let facts = build.probe.iter().flat_map(|probe| probe.facts.keys());
    facts.into_iter().any(|name| name.starts_with("ferretdb"))
}

/// What about this host and this plan a reader of the numbers must know.
fn host_warnings(plan: &Plan, host: &Host, directory: &Path) -> Vec<RunEvent> {
    let mut warnings = Vec::new();
    let mut warn = |warning| warnings.push(RunEvent::Warned { step: None, warning });
    if cfg!(debug_assertions) {
        warn(Warning::DebugBuild);
    }
    let load = host.load_1m.as_deref().and_then(|load| load.parse::<f64>().ok());
    let cpus = host.counted_cpus();
    if let Some(load_1m) = load.filter(|load| *load > f64::from(cpus) * BUSY_LOAD_PER_CPU) {
        warn(Warning::BusyHost { load_1m, cpus });
    }
    if let Some(online) = host.withheld_from() {
        warn(Warning::WithheldCpus { usable: host.cpus, online });
    }
    if let Some(governor) = host.governor.as_ref().filter(|governor| *governor != "performance") {
        warn(Warning::CpuGovernor { governor: governor.clone() });
    }
    if host.virtual_machine {
        warn(Warning::VirtualMachine);
    }
    if plan.own_image {
        warn(Warning::OwnImage);
    }
    for subject in &plan.subjects {
        if let Some(server) = subject.build.elsewhere() {
            let (subject, server) = (subject.reference.to_string(), server.to_string());
            warn(Warning::ServerElsewhere { subject, server });
        }
    }
    for subject in plan.subjects.iter().filter(|subject| is_ferretdb(&subject.build)) {
        let (server, of) = ("FerretDB".to_owned(), "MongoDB".to_owned());
        warn(Warning::OtherServer { subject: subject.reference.to_string(), server, of });
    }
    if let Some(obstacle) = library_copy::obstacle(&plan.subjects, directory) {
        warn(Warning::LibrariesInPlace { reason: obstacle.to_string() });
    }
    let interleaved = plan.layout.design == Design::Interleaved;
    let here = plan.subjects.iter().filter(|subject| subject.build.elsewhere().is_none()).count();
    if !interleaved
        && here > 0
        && plan.layout.loop_device.is_none()
        && let Err(reason) = host::device_of(directory)
    {
        warn(Warning::NoDevice { reason: reason.to_string() });
    }
    if interleaved && here > 1 && plan.chosen_steps().any(|step| step.database == DatabaseKind::Own) {
        warn(Warning::SharedDevice { device: host.device.clone() });
    }
    warnings
}

pub mod profiling;
#[cfg(test)]
mod tests;
