//! `dbdyno compare BASE CANDIDATE...`: the main job.

use crate::cli::{Compare, Places};
use crate::commands::measure::{self, Ready};
use crate::commands::print;
use crate::commands::report::{ending, render};
use crate::exit::Ending;
use crate::planning::{self, Request};
use crate::progress::Progress;
use crate::{interrupt, paths};
use anyhow::Context;
use model::plan::Purpose;
use runner::clock::Stopwatch;
use std::time::Duration;
use store::Writer;

/// `--fast` is this budget.
const FAST: Duration = Duration::from_secs(120);

/// Plans, measures, judges, prints.
pub fn run(places: &Places, arguments: &Compare) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    let mut progress = Progress::new();
    let mut subjects = vec![arguments.base.clone()];
    subjects.extend(arguments.candidates.iter().cloned());
    let request = Request {
        purpose: Purpose::Compare,
        subjects,
        measuring: &arguments.measuring,
        budget: if arguments.fast { FAST } else { arguments.budget },
        planted_slowdown_percent: arguments.plant_slowdown,
    };
    let mut writer = open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let ready = Ready { plan, written_options, watch: Stopwatch::start() };
    let measured = measure::measure(places, &ready, arguments.name.as_deref(), &mut writer, &mut progress)?;
    let record = writer.store().load_run(&measured.run)?;
    let calibration = super::report::calibration_of(writer.store(), &record)?;
    let view = report::build(&record, calibration.as_ref());
    let rendered = render(&view, &print::manner(&arguments.output))?;
    print::report(&arguments.output, &rendered)?;
    Ok(ending(measured.outcome, &record, &view, arguments))
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
