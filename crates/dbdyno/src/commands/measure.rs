//! Running one plan: its events go to the store and to the progress line.

use crate::cli::Places;
use crate::exit::usage;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::there::Beginning;
use crate::there::asking::RunThere;
use crate::{finding, interrupt, paths, referee};
use anyhow::{Context, anyhow};
use model::event::{RunEvent, RunOutcome};
use model::figures::count;
use model::fingerprint::Fingerprint;
use model::host::{HarnessCost, Host};
use model::plan::{Design, Extension, Plan, Purpose};
use model::record::RunRecord;
use model::units::Nanos;
use model::warning::Warning;
use runner::campaign::drive::{Schedule, drive};
use runner::campaign::interleaved::machine::Campaign;
use runner::campaign::interleaved::referee::Referee;
use runner::campaign::rounds::machine::{Before, Rounds};
use runner::clock::{self, Stopwatch};
use runner::proc::host;
use runner::process::worker::OWN_PROGRAM;
use runner::real::run_directory::{self, RunDirectory};
use runner::real::world::RealWorld;
use runner::real::{code_files, memory_limit};
use std::path::PathBuf;
use store::{Resumed, ResumedBy, Retry, Store, Writer};

use warned::{clients_warnings, is_of_load};
pub use warned::{host_warnings, unfit};

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
    let stage = stage(places, &ready.plan, &run, ready.watch)?;
    open_run(ready, &run, origin, &stage, writer, progress)?;
    let (cpus, now_us) = (stage.host.cpus, stage.now_us());
    let scene = match scene(ready, &run, stage) {
        Ok(scene) => scene,
        Err(error) => {
            let outcome = RunOutcome::Failed;
            let ended = RunEvent::Ended { at_us: now_us, outcome, cost: HarnessCost::default() };
            writer.write(&run, &ended)?;
            return Err(error);
        }
    };
    let referee = match ready.plan.layout.design {
        Design::Interleaved => Some(referee::of_plan(&ready.plan, cpus)),
        Design::Rounds | Design::Sequential => None,
    };
    carry_out(ready, run, scene, (Beginning::Anew, referee), writer, progress)
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
    let stage = stage(places, &record.plan, &run, Stopwatch::start())?;
    let warning = changes_since(&record, &stage.host, stage.clients.as_ref(), fingerprint.as_ref())?;
    let by = ResumedBy {
        at_us: stage.now_us(),
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
    let unfit = stage.unfit(&ready.plan);
    let scene = scene(&ready, &run, stage)?;
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
    let (beginning, referee) = match going_on {
        Some((plan, referee, before)) => {
            (Beginning::Interleaved { plan: Box::new(plan), before }, Some(referee))
        }
        None => (Beginning::Rounds(Before { done, again }), None),
    };
    carry_out(&ready, run, scene, (beginning, referee), writer, progress)
}

/// The code that a run was planned for is still there, as far as it is on this host; that of servers on another one is looked at there.
///
/// # Errors
/// It has changed.
pub fn check_code(plan: &Plan) -> anyhow::Result<()> {
    match plan.layout.server_host {
        Some(_) => Ok(()),
        None => code_files::check(plan).map_err(usage),
    }
}

/// What has changed on the host since the run began, and on that of its clients if that is another one; how fast it is included if that is known
/// now.
///
/// # Errors
/// It began on another machine.
pub fn changes_since(
    record: &RunRecord,
    host: &Host,
    clients: Option<&Host>,
    fingerprint: Option<&Fingerprint>,
) -> anyhow::Result<Option<Warning>> {
    let of_host = record.host.changes(host).into_iter().map(|one| (one.of_machine, one.to_string()));
    let clients = record.plan.layout.server_host.as_ref().zip(clients);
    let of_clients = clients.map(|(of, now)| of.clients.changes(now)).unwrap_or_default();
    let of_clients =
        of_clients.into_iter().map(|one| (one.of_machine, format!("host of the clients: {one}")));
    let (of_machine, others): (Vec<_>, Vec<_>) =
        of_host.chain(of_clients).partition(|(of_machine, _)| *of_machine);
    let shown = |changes: Vec<(bool, String)>| changes.into_iter().map(|(_, one)| one).collect::<Vec<_>>();
    if !of_machine.is_empty() {
        return Err(usage(anyhow!(
            "run {} began on another machine ({}): resume it there, or begin a new one here",
            record.id,
            shown(of_machine).join("; ")
        )));
    }
    let mut changes = shown(others);
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
    /// The host of the servers, if that is another one.
    there: Option<Box<RunThere>>,
    /// Of servers on another host that of their clients.
    directory: RunDirectory,
    /// That of the servers.
    host: Host,
    /// That of the clients, if it is another one.
    clients: Option<Host>,
}

impl Stage {
    /// By the clock that all times of the run are of.
    fn now_us(&self) -> i64 {
        self.there.as_ref().map_or_else(clock::epoch_us, |there| there.now_us())
    }

    fn warnings(&self, plan: &Plan) -> Vec<RunEvent> {
        match &self.there {
            Some(there) => {
                let clients = self.clients.as_ref().map(clients_warnings).unwrap_or_default();
                there.warnings().into_iter().chain(clients).collect()
            }
            None => host_warnings(plan, &self.host, self.directory.path()),
        }
    }

    fn unfit(&self, plan: &Plan) -> Option<Warning> {
        match &self.there {
            Some(there) => there.unfit(),
            None => unfit(plan, self.directory.path()),
        }
    }
}

/// `watch` runs since the plan was made.
fn stage(places: &Places, plan: &Plan, run: &str, watch: Stopwatch) -> anyhow::Result<Stage> {
    let work_dir = paths::work_dir(places)?;
    memory_limit::remove_stale(&work_dir);
    run_directory::remove_stale(&work_dir);
    let directory = RunDirectory::create(&work_dir, run)?;
    let Some(server_host) = &plan.layout.server_host else {
        return Ok(Stage { there: None, directory, host: host::describe(&work_dir), clients: None });
    };
    let there = RunThere::open(places, server_host, run, plan, directory.path(), watch.elapsed())?;
    let host = there.host().clone();
    Ok(Stage { there: Some(Box::new(there)), directory, host, clients: Some(host::describe(&work_dir)) })
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
        at_us: stage.now_us(),
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
    let mut warnings = stage.warnings(plan);
    if follows_closely(origin, writer.store(), stage.now_us())? {
        warnings.retain(|event| !matches!(event, RunEvent::Warned { warning, .. } if is_of_load(warning)));
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
    if let Some(warning) = stage.unfit(plan) {
        let mut recording = Recording::new(run, writer, progress);
        recording.on(&RunEvent::Warned { step: None, warning }, 0);
        recording.end()?;
    }
    Ok(())
}

/// The load average of a minute still contains a run that ended; after so long 1 % of it is left.
const LOAD_FADES: Nanos = Nanos::from_secs(5 * 60);

/// Whether the run before it in its campaign has only just ended; now by the clock of that run.
fn follows_closely(origin: Origin<'_>, store: &Store, now_us: i64) -> anyhow::Result<bool> {
    let Origin::Queue { campaign, .. } = origin else { return Ok(false) };
    let before = store.runs_of_campaign(campaign)?;
    let Some(last) = before.last() else { return Ok(false) };
    let ended_at_us = store.run_head(last)?.and_then(|head| head.ended_at_us);
    let since_us = |at_us: i64| u64::try_from(now_us - at_us).unwrap_or(0);
    Ok(ended_at_us.is_some_and(|at_us| since_us(at_us) < LOAD_FADES.0 / 1000))
}

fn world(ready: &Ready, run: &str, stage: Stage) -> anyhow::Result<RealWorld> {
    let interrupted = interrupt::listen()?;
    RealWorld::new(&ready.plan, PathBuf::from(OWN_PROGRAM), stage.directory, ready.watch, interrupted)
        .with_context(|| format!("skipped: this host cannot give what the plan of run {run} asks for"))
}

/// Where a run is carried out.
enum Scene {
    Here(Box<RealWorld>),
    /// The directory is that of the clients, for as long as they are there.
    There(Box<RunThere>, RunDirectory),
}

fn scene(ready: &Ready, run: &str, stage: Stage) -> anyhow::Result<Scene> {
    match stage {
        Stage { there: Some(there), directory, .. } => {
            there.check_given()?;
            Ok(Scene::There(there, directory))
        }
        stage => Ok(Scene::Here(Box::new(world(ready, run, stage)?))),
    }
}

/// The referee is that of a run that is interleaved.
fn carry_out(
    ready: &Ready,
    run: String,
    scene: Scene,
    (beginning, referee): (Beginning, Option<Box<dyn Referee>>),
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let world = match scene {
        Scene::Here(world) => *world,
        Scene::There(there, _directory) => {
            return drive_there(ready, run, *there, (beginning, referee), writer, progress);
        }
    };
    let plan = ready.plan.clone();
    match (beginning, referee) {
        (Beginning::Anew, Some(referee)) => {
            drive_to_end(ready, run, world, Campaign::new(plan, referee), writer, progress)
        }
        (Beginning::Interleaved { plan, before }, Some(referee)) => {
            drive_to_end(ready, run, world, Campaign::resumed(*plan, referee, before), writer, progress)
        }
        (Beginning::Anew, None) => {
            drive_to_end(ready, run, world, Rounds::new(plan, Before::default()), writer, progress)
        }
        (Beginning::Rounds(before), _) => {
            drive_to_end(ready, run, world, Rounds::new(plan, before), writer, progress)
        }
        (Beginning::Interleaved { .. }, None) => unreachable!("an interleaved run has a referee"),
    }
}

/// The same with the servers on another host. If that is lost, the run has an end, and can be gone on with.
fn drive_there(
    ready: &Ready,
    run: String,
    mut there: RunThere,
    (beginning, referee): (Beginning, Option<Box<dyn Referee>>),
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let mut recording = Recording::new(&run, writer, progress);
    let mut tell = |event: RunEvent| recording.on(&event, ready.watch.elapsed().0 / 1_000_000_000);
    let driven = there.carry_out(beginning, referee, &mut tell);
    if driven.is_err() {
        let (outcome, cost) = (RunOutcome::Failed, HarnessCost::default());
        tell(RunEvent::Ended { at_us: there.now_us(), outcome, cost });
    }
    recording.end()?;
    let kept =
        finding::keep(writer, &run).with_context(|| format!("failed to store what was found in run {run}"));
    let resumes = if ready.plan.purpose == Purpose::Campaign { "run" } else { "compare" };
    let outcome = driven.with_context(|| {
        format!("run {run} has ended early; `dbdyno {resumes} --resume {run}` resumes it")
    })?;
    kept?;
    Ok(Measured { run, outcome })
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

pub mod profiling;
#[cfg(test)]
mod tests;
mod warned;
