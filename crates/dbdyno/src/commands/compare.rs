//! `dbdyno compare BASE CANDIDATE...`: the main job.

use crate::cli::{Compare, DesignName, Places};
use crate::commands::gate;
use crate::commands::measure::{self, Origin, Ready};
use crate::commands::render::{self, Wanted};
use crate::commands::run::{self, Reported};
use crate::exit::{Ending, usage};
use crate::planning::{self, Request};
use crate::progress::Progress;
use crate::{finding, fingerprints, interrupt, paths};
use anyhow::anyhow;
use findings::Finding;
use findings::selection::Selection;
use model::config::Options;
use model::plan::{Design, Purpose};
use model::plan_file::{Interleaved, PlanFile, UnknownOptions};
use model::subject::SubjectRef;
use model::workload::Scale;
use runner::clock::Stopwatch;
use std::collections::BTreeMap;
use std::time::Duration;

/// `--fast` is this budget.
const FAST: Duration = Duration::from_secs(120);

/// Plans, measures, judges, prints.
pub fn run(places: &Places, arguments: &Compare) -> anyhow::Result<Ending> {
    // A mistake is told before anything is measured.
    gate::threshold(arguments.gate)?;
    render::check(&arguments.output, true)?;
    if arguments.design != DesignName::Interleaved {
        let wanted = Reported { output: &arguments.output, detail: false, gate: Some(arguments.gate) };
        return run::measure_file(places, &plan_file(arguments)?, &arguments.speed, wanted);
    }
    interrupt::listen()?;
    let mut progress = Progress::new();
    let mut subjects = vec![arguments.base.clone()];
    subjects.extend(arguments.candidates.iter().cloned());
    let request = Request {
        purpose: Purpose::Compare,
        subjects,
        measuring: &arguments.measuring,
        budget: if arguments.fast { Some(FAST) } else { arguments.budget },
        planted_slowdown_percent: arguments.plant_slowdown,
    };
    let mut writer = paths::open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let fingerprint = fingerprints::before_run(places, &arguments.speed, &progress)?;
    let ready = Ready { plan, written_options, fingerprint, watch: Stopwatch::start() };
    let origin = arguments.name.as_deref().map_or(Origin::Unnamed, Origin::Named);
    let measured = measure::measure(places, &ready, origin, &mut writer, &mut progress)?;
    let record = writer.store().load_run(&measured.run)?;
    let run = finding::compared(writer.store(), record, &Selection::default())?;
    let ending = gate::ending(measured.outcome, &run.view, arguments.gate);
    let threshold = gate::threshold(arguments.gate)?;
    let wanted = Wanted { threshold, ..Wanted::of(&arguments.output) };
    render::show(&[Finding::Comparison(Box::new(run))], wanted)?;
    ending
}

/// The comparison as a plan: the whole sequence, each step in one go.
fn plan_file(arguments: &Compare) -> anyhow::Result<PlanFile> {
    let subjects = [&arguments.base].into_iter().chain(&arguments.candidates);
    if !(1..=1000).contains(&arguments.rounds) {
        return Err(usage(anyhow!("--rounds is {}, must be 1 to 1000", arguments.rounds)));
    }
    Ok(PlanFile {
        name: arguments.name.clone().unwrap_or_else(|| format!("compare/{}", arguments.measuring.workload)),
        description: "compare".to_owned(),
        design: match arguments.design {
            DesignName::Interleaved => Design::Interleaved,
            DesignName::Rounds => Design::Rounds,
            DesignName::Sequential => Design::Sequential,
        },
        rounds: arguments.rounds,
        workloads: vec![arguments.measuring.workload.clone()],
        subjects: subjects
            .map(|subject| subject.parse::<SubjectRef>().map_err(usage))
            .collect::<anyhow::Result<_>>()?,
        steps: arguments.measuring.steps.clone(),
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
    })
}
