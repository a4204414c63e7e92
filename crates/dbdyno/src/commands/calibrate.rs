//! `dbdyno calibrate BUILD`: the build against itself, again and again: is the harness honest here, and how
//! small a change can it see?

use crate::cli::{Calibrate, Places};
use crate::commands::measure::{self, Origin, Ready};
use crate::commands::render::{self, Wanted};
use crate::exit::Ending;
use crate::planning::{self, Request};
use crate::progress::Progress;
use crate::{finding, fingerprints, interrupt, paths};
use findings::{Finding, build_noise};
use model::plan::{Plan, Purpose};
use model::planted::PlantedAs;
use model::record::RunRecord;
use runner::clock::{self, Stopwatch};
use runner::proc::host;

/// The build against itself, or against other builds of its source.
pub fn run(places: &Places, arguments: &Calibrate) -> anyhow::Result<Ending> {
    render::check(&arguments.output, false)?;
    if arguments.builds.is_empty() {
        against_itself(places, arguments)
    } else {
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
        extendable: false,
        planted_slowdown_percent: 0.0,
        planted_as: PlantedAs::default(),
    };
    let mut writer = paths::open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let fingerprint = fingerprints::before_run(places, &arguments.speed, &progress)?;
    let ready = Ready { plan, written_options, fingerprint, watch: Stopwatch::start() };
    let measured = measure::measure(
        places,
        &ready,
        Origin::Named(build_noise::BUILD_NOISE),
        &mut writer,
        &mut progress,
    )?;
    let view = build_noise::build(&writer.store().load_run(&measured.run)?);
    render::show(&[Finding::BuildNoise(view)], Wanted::of(&arguments.output))?;
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
        extendable: false,
        planted_slowdown_percent: 0.0,
        planted_as: PlantedAs::default(),
    };
    let mut writer = paths::open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    if arguments.anew {
        writer.begin_self_tests_anew(&host::describe(&paths::work_dir(places)?).name, clock::epoch_us())?;
    }
    let steps = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX);
    let mut records: Vec<RunRecord> = Vec::new();
    let mut ending = Ending::Done;
    for repetition in 0..arguments.verdicts.div_ceil(steps) {
        // Each comparison has a seed of its own; the first one's and the number of verdicts give all.
        let plan = Plan { seed: plan.seed.wrapping_add(u64::from(repetition)), ..plan.clone() };
        let fingerprint = fingerprints::before_run(places, &arguments.speed, &progress)?;
        let written_options = written_options.clone();
        let ready = Ready { plan, written_options, fingerprint, watch: Stopwatch::start() };
        let measured = measure::measure(places, &ready, Origin::Unnamed, &mut writer, &mut progress)?;
        records.push(writer.store().load_run(&measured.run)?);
        ending = measured.outcome.into();
        if ending != Ending::Done {
            break;
        }
    }
    let view = finding::of_calibrations(writer.store(), &records)?;
    render::show(&[Finding::Calibration(view)], Wanted::of(&arguments.output))?;
    Ok(ending)
}
