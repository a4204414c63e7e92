//! `dbdyno calibrate BUILD`: the build against itself, again and again: is the harness honest here, and how
//! small a change can it see?

use crate::cli::{Calibrate, Places};
use crate::commands::compare::open_store;
use crate::commands::measure::{self, Ready};
use crate::commands::print::{self, Plain};
use crate::commands::render;
use crate::exit::Ending;
use crate::interrupt;
use crate::planning::{self, Request};
use crate::progress::Progress;
use anyhow::Context;
use model::plan::{Plan, Purpose};
use model::record::RunRecord;
use report::text::TextOptions;
use runner::clock::Stopwatch;

/// The build against itself, or against other builds of its source.
pub fn run(places: &Places, arguments: &Calibrate) -> anyhow::Result<Ending> {
    if arguments.builds.is_empty() {
        render::check_calibration(&arguments.output)?;
        against_itself(places, arguments)
    } else {
        print::plain(arguments.output.chosen_format(), "build noise")?;
        against_builds(places, arguments)
    }
}

/// Measures builds of the same source side by side, as often as the budget allows: how much do they differ?
fn against_builds(places: &Places, arguments: &Calibrate) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    let mut progress = Progress::new();
    let request = Request {
        purpose: Purpose::Compare,
        subjects: std::iter::once(&arguments.build).chain(&arguments.builds).cloned().collect(),
        measuring: &arguments.measuring,
        budget: Some(arguments.budget),
        planted_slowdown_percent: 0.0,
    };
    let mut writer = open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let ready = Ready { plan, written_options, watch: Stopwatch::start() };
    let measured = measure::measure(places, &ready, Some("build-noise"), &mut writer, &mut progress)?;
    let view = report::build_noise::build(&writer.store().load_run(&measured.run)?);
    let manner = print::manner(&arguments.output);
    let rendered = match print::plain(manner.format, "build noise")? {
        Plain::Text => {
            let options = TextOptions { width: manner.width, colour: manner.colour };
            report::build_noise::text(&view, options)
        }
        Plain::Markdown => report::build_noise::markdown(&view),
        Plain::Json => report::build_noise::json(&view).context("failed to render JSON")?,
    };
    print::report(&arguments.output, &rendered)?;
    Ok(measured.outcome.into())
}

/// Plans once, measures as often as the verdicts asked for need, judges, prints.
fn against_itself(places: &Places, arguments: &Calibrate) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    let mut progress = Progress::new();
    let request = Request {
        purpose: Purpose::Calibrate,
        subjects: vec![arguments.build.clone(), arguments.build.clone()],
        measuring: &arguments.measuring,
        budget: Some(arguments.budget),
        planted_slowdown_percent: 0.0,
    };
    let mut writer = open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let steps = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX);
    let mut records: Vec<RunRecord> = Vec::new();
    let mut ending = Ending::Done;
    for repetition in 0..arguments.verdicts.div_ceil(steps) {
        // Each comparison has a seed of its own; the first one's and the number of verdicts give all.
        let plan = Plan { seed: plan.seed.wrapping_add(u64::from(repetition)), ..plan.clone() };
        let ready = Ready { plan, written_options: written_options.clone(), watch: Stopwatch::start() };
        let measured = measure::measure(places, &ready, None, &mut writer, &mut progress)?;
        records.push(writer.store().load_run(&measured.run)?);
        ending = measured.outcome.into();
        if ending != Ending::Done {
            break;
        }
    }
    render::show_calibration(&records, &arguments.output)?;
    Ok(ending)
}
