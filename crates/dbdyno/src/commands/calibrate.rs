//! `dbdyno calibrate BUILD`: the build against itself, again and again: is the harness honest here, and how
//! small a change can it see?

use crate::cli::{Calibrate, Places};
use crate::commands::measure::{self, Origin, Ready};
use crate::commands::render::{self, Wanted};
use crate::exit::{Ending, usage};
use crate::planning::{self, Request};
use crate::progress::Progress;
use crate::there::asking;
use crate::{building, finding, fingerprints, interrupt, paths, resources};
use anyhow::anyhow;
use findings::{Finding, build_noise};
use model::plan::{Plan, Purpose};
use model::planted::PlantedAs;
use model::record::RunRecord;
use model::subject::SubjectRef;
use runner::clock::{self, Stopwatch};
use runner::engines::BuildCache;
use runner::proc::host;

/// The build against itself, or against other builds of its source.
pub fn run(places: &Places, arguments: &Calibrate) -> anyhow::Result<Ending> {
    render::check(&arguments.output, false)?;
    if arguments.layouts.is_some() && arguments.measuring.server_host.is_some() {
        return Err(usage(anyhow!(
            "--layouts builds here, and servers of --server-host run builds of that host: build them there, and name them by --builds"
        )));
    }
    match (arguments.layouts, arguments.builds.is_empty()) {
        (Some(layouts), _) => {
            against_builds(places, arguments, &laid_out(places, &arguments.build, layouts)?)
        }
        (None, false) => against_builds(places, arguments, &arguments.builds),
        (None, true) => against_itself(places, arguments),
    }
}

/// Builds the source of a build again with each of the first code layouts; the names of these builds.
fn laid_out(places: &Places, build: &str, layouts: u32) -> anyhow::Result<Vec<String>> {
    interrupt::listen()?;
    let progress = Progress::new();
    let mut tell = |text: &str| progress.say(text);
    let catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    let subject: SubjectRef = build.parse().map_err(usage)?;
    let subject = building::with_commit_built(places, &catalog, &cache, &subject, &mut tell)?;
    let found = cache.resolve(&catalog, &subject.build, &mut tell).map_err(usage)?;
    let made = found.and_then(|build| build.made).ok_or_else(|| {
        usage(anyhow!(
            "{build} is not one of `dbdyno engine build`, so that it cannot be built again: build it so, or name builds of one source by \
             --builds"
        ))
    })?;
    let again = |layout: u32| -> anyhow::Result<String> {
        let build = building::made_again(places, &catalog, &cache, &subject.build, &made, layout, &mut tell)?;
        Ok(SubjectRef { build, config: subject.config.clone() }.to_string())
    };
    (1..=layouts).map(again).collect()
}

/// Measures builds of the same source side by side, as often as the budget allows: how much do they differ?
fn against_builds(places: &Places, arguments: &Calibrate, builds: &[String]) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    let mut progress = Progress::new();
    let request = Request {
        purpose: Purpose::Compare,
        subjects: std::iter::once(&arguments.build).chain(builds).cloned().collect(),
        measuring: &arguments.measuring,
        budget: Some(arguments.budget),
        extendable: false,
        planted_slowdown_percent: 0.0,
        planted_as: PlantedAs::default(),
    };
    let mut writer = paths::open_store(places)?;
    let (plan, written_options) = planning::plan(places, &request, &mut |text| progress.say(text))?;
    let server_host = plan.layout.server_host.as_deref();
    let fingerprint = fingerprints::before_run(places, server_host, &arguments.speed, &progress)?;
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
        // By the clock that the comparisons are timed by.
        let (host, at_us) = match &plan.layout.server_host {
            Some(of) => asking::host(places, &of.target)?,
            None => (host::describe(&paths::work_dir(places)?), clock::epoch_us()),
        };
        writer.begin_self_tests_anew(&host.name, at_us)?;
    }
    let steps = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX);
    let mut records: Vec<RunRecord> = Vec::new();
    let mut ending = Ending::Done;
    for repetition in 0..arguments.verdicts.div_ceil(steps) {
        // Each comparison has a seed of its own; the first one's and the number of verdicts give all.
        let plan = Plan { seed: plan.seed.wrapping_add(u64::from(repetition)), ..plan.clone() };
        let server_host = plan.layout.server_host.as_deref();
        let fingerprint = fingerprints::before_run(places, server_host, &arguments.speed, &progress)?;
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
