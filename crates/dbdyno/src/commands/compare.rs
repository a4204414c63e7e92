//! `dbdyno compare BASE CANDIDATE...`: the main job.

use crate::cli::{Compare, DesignName, Places};
use crate::commands::gate;
use crate::commands::measure::{self, Measured, Origin, Ready, Resuming};
use crate::commands::render::{self, Wanted};
use crate::commands::run::{self, Reported};
use crate::exit::{Ending, usage};
use crate::planning::{self, Request};
use crate::progress::Progress;
use crate::{finding, fingerprints, interrupt, paths, referee};
use anyhow::anyhow;
use findings::Finding;
use findings::selection::Selection;
use model::config::Options;
use model::event::RunOutcome;
use model::plan::{Design, Extension, Purpose};
use model::plan_file::{Interleaved, PlanFile, UnknownOptions};
use model::record::{RunRecord, RunStatus};
use model::subject::SubjectRef;
use model::units::Nanos;
use model::workload::Scale;
use runner::clock::Stopwatch;
use std::collections::BTreeMap;
use std::time::Duration;
use store::{Retry, Writer};

/// `--fast` is this budget.
const FAST: Duration = Duration::from_secs(120);

/// Plans, measures, judges, prints.
pub fn run(places: &Places, arguments: &Compare) -> anyhow::Result<Ending> {
    // A mistake is told before anything is measured.
    gate::threshold(arguments.gate)?;
    render::check(&arguments.output, true)?;
    if arguments.design != DesignName::Interleaved {
        if arguments.extendable {
            return Err(usage(anyhow!(
                "--extendable is of interleaved comparisons: rounds are judged once, at the end"
            )));
        }
        let wanted = Reported { output: &arguments.output, detail: false, gate: Some(arguments.gate) };
        return run::measure_file(places, &plan_file(arguments)?, &arguments.speed, wanted);
    }
    interrupt::listen()?;
    let mut progress = Progress::new();
    let mut writer = paths::open_store(places)?;
    let measured = match &arguments.resume {
        Some(run) => resume(places, arguments, run, &mut writer, &mut progress)?,
        None => measure(places, arguments, &mut writer, &mut progress)?,
    };
    let record = writer.store().load_run(&measured.run)?;
    let may_be_extended = measured.outcome == RunOutcome::Done && open_to_extension(&record).is_ok();
    let run = finding::compared(writer.store(), record, &Selection::default())?;
    let ending = gate::ending(measured.outcome, &run.view, arguments.gate);
    let threshold = gate::threshold(arguments.gate)?;
    let wanted = Wanted { threshold, ..Wanted::of(&arguments.output) };
    render::show(&[Finding::Comparison(Box::new(run))], wanted)?;
    match measured.outcome {
        RunOutcome::Interrupted => {
            progress.say(&format!("`dbdyno compare --resume {}` resumes it", measured.run));
        }
        RunOutcome::Done if may_be_extended => progress.say(&format!(
            "`dbdyno compare --resume {} --extend 10m` gives the inconclusive steps more time, once",
            measured.run
        )),
        RunOutcome::Done | RunOutcome::Failed => {}
    }
    ending
}

fn measure(
    places: &Places,
    arguments: &Compare,
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let request = Request {
        purpose: Purpose::Compare,
        subjects: arguments.base.iter().chain(&arguments.candidates).cloned().collect(),
        measuring: &arguments.measuring,
        budget: if arguments.fast { Some(FAST) } else { arguments.budget },
        extendable: arguments.extendable,
        planted_slowdown_percent: arguments.plant_slowdown,
        planted_as: arguments.plant_as,
    };
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let server_host = plan.layout.server_host.as_deref();
    let fingerprint = fingerprints::before_run(places, server_host, &arguments.speed, progress)?;
    let ready = Ready { plan, written_options, fingerprint, watch: Stopwatch::start() };
    let origin = arguments.name.as_deref().map_or(Origin::Unnamed, Origin::Named);
    measure::measure(places, &ready, origin, writer, progress)
}

/// Goes on with a comparison that was stopped, or gives one that has ended more time.
fn resume(
    places: &Places,
    arguments: &Compare,
    wanted: &str,
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<Measured> {
    let run = writer.store().find_run(wanted).map_err(usage)?;
    let record = writer.store().load_run(&run)?;
    if record.plan.purpose != Purpose::Compare {
        return Err(usage(anyhow!(
            "run {run} is not a comparison: if it is a campaign, resume it with `dbdyno run --resume {run}`"
        )));
    }
    let extension = extension(&record, arguments.extend).map_err(usage)?;
    measure::check_code(&record.plan)?;
    let server_host = record.plan.layout.server_host.as_deref();
    let fingerprint = fingerprints::before_run(places, server_host, &arguments.speed, progress)?;
    let resuming = Resuming { record, retry: Retry::CutOff, extension, fingerprint };
    measure::resume(places, resuming, writer, progress)
}

/// The time that a comparison is given beyond its budget.
///
/// # Errors
/// One that has ended goes on only if it may, and one that has not ended needs no more time.
fn extension(record: &RunRecord, wanted: Option<Duration>) -> anyhow::Result<Option<Extension>> {
    let is_done = record.status == RunStatus::Ended(RunOutcome::Done);
    let run = &record.id;
    match (is_done, wanted) {
        (false, None) => Ok(None),
        (false, Some(_)) => Err(anyhow!(
            "run {run} was stopped before its time was over: resume it first with `dbdyno compare --resume {run}`"
        )),
        (true, None) => Err(anyhow!(
            "run {run} is done: there is nothing to resume{}",
            if open_to_extension(record).is_ok() {
                "; --extend gives its inconclusive steps more time"
            } else {
                ""
            }
        )),
        (true, Some(time)) => {
            open_to_extension(record).map_err(|why| anyhow!("run {run} cannot be extended: {why}"))?;
            Ok(Some(Extension { after_launch: referee::ended_launches(record), budget: Nanos::from(time) }))
        }
    }
}

/// Why a comparison that has ended is given no more time.
fn open_to_extension(record: &RunRecord) -> Result<(), &'static str> {
    let rule = record.plan.rule;
    if rule.extension.is_some() {
        return Err("it was extended once, and nothing of alpha is left");
    }
    if !rule.extendable {
        return Err(
            "its alpha is spent: another look would raise the share of false verdicts; start a new comparison, with \
             --extendable if you may want to extend it",
        );
    }
    if referee::ended_launches(record) >= rule.max_launches {
        return Err("it has as many launches as there can be");
    }
    if !referee::has_open_steps(record) {
        return Err("none of its steps is open");
    }
    Ok(())
}

/// The comparison as a plan: the whole sequence, each step in one go.
fn plan_file(arguments: &Compare) -> anyhow::Result<PlanFile> {
    let subjects = arguments.base.iter().chain(&arguments.candidates);
    if !(1..=1000).contains(&arguments.rounds) {
        return Err(usage(anyhow!("--rounds is {}, must be 1 to 1000", arguments.rounds)));
    }
    Ok(PlanFile {
        name: arguments.name.clone().unwrap_or_else(|| format!("compare/{}", arguments.measuring.workload)),
        description: "compare".to_owned(),
        design: Some(match arguments.design {
            DesignName::Interleaved => Design::Interleaved,
            DesignName::Rounds => Design::Rounds,
            DesignName::Sequential => Design::Sequential,
        }),
        rounds: arguments.rounds,
        workloads: vec![arguments.measuring.workload.clone()],
        subjects: subjects
            .map(|subject| subject.parse::<SubjectRef>().map_err(usage))
            .collect::<anyhow::Result<_>>()?,
        steps: arguments.measuring.steps.clone(),
        clients: Vec::new(),
        hardware: None,
        scale: Scale::default(),
        options: Options::new(),
        unknown_options: UnknownOptions::Error,
        tickers: false,
        memory_limit: None,
        loop_device: None,
        db_bench: BTreeMap::new(),
        budget_seconds: arguments.budget.map(|budget| budget.as_secs()),
        seed: arguments.measuring.seed,
        interleaved: Interleaved::default(),
        planted: BTreeMap::new(),
        config_files: planning::config_files::named(&arguments.measuring.config_files)?,
        server_host: arguments.measuring.server_host.clone(),
        server_address: arguments.measuring.server_address.clone(),
    })
}
