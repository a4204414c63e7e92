//! `dbdyno compare BASE CANDIDATE...`: the main job.

use crate::cli::{Compare, DesignName, Places};
use crate::commands::measure::{self, Ready};
use crate::commands::print;
use crate::commands::render::{self, Shown, Wanted};
use crate::commands::report::{ending, threshold};
use crate::commands::run::{self, Reported};
use crate::exit::{Ending, usage};
use crate::planning::{self, Request};
use crate::progress::Progress;
use crate::{interrupt, paths};
use anyhow::{Context, anyhow};
use model::config::Options;
use model::plan::{Design, Purpose};
use model::plan_file::{PlanFile, UnknownOptions};
use model::subject::SubjectRef;
use model::workload::Scale;
use report::selection::Selection;
use runner::clock::Stopwatch;
use std::collections::BTreeMap;
use std::time::Duration;
use store::Writer;

/// `--fast` is this budget.
const FAST: Duration = Duration::from_secs(120);

/// Plans, measures, judges, prints.
pub fn run(places: &Places, arguments: &Compare) -> anyhow::Result<Ending> {
    // A mistake is told before anything is measured.
    threshold(arguments.gate)?;
    print::check(&arguments.output)?;
    if arguments.design != DesignName::Interleaved {
        let wanted = Reported { output: &arguments.output, detail: false, gate: Some(arguments.gate) };
        return run::measure_file(places, &plan_file(arguments)?, wanted);
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
    let mut writer = open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let ready = Ready { plan, written_options, watch: Stopwatch::start() };
    let measured = measure::measure(places, &ready, arguments.name.as_deref(), &mut writer, &mut progress)?;
    let record = writer.store().load_run(&measured.run)?;
    let shown = Shown::new(writer.store(), record, &Selection::default())?;
    let wanted = Wanted { output: &arguments.output, detail: false, threshold: threshold(arguments.gate)? };
    render::show(writer.store(), std::slice::from_ref(&shown), &wanted)?;
    ending(measured.outcome, &shown.verdicts(), arguments.gate)
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
    })
}

/// The store for writing; opened before anything is fetched, so that a store that cannot be used is told at
/// once.
pub fn open_store(places: &Places) -> anyhow::Result<Writer> {
    let path = paths::store_file(places)?;
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("failed to make `{}` for the store", directory.display()))?;
    }
    Ok(Writer::open(&path)?)
}
