//! `dbdyno bisect --good A --bad B`: the first release or commit that differs, in few launches.

use crate::bisecting::{Planted, Session, Setup, Versions};
use crate::cli::{Bisect, Measuring, Places};
use crate::commands::measure::new_run_id;
use crate::commands::render::{self, Wanted as Shown};
use crate::exit::{Ending, usage};
use crate::progress::Progress;
use crate::{interrupt, paths, resources};
use analysis::bisect::{Bisection, Rule, Wanted};
use analysis::change_points::CriticalValues;
use anyhow::{Context, anyhow};
use findings::Finding;
use findings::bisection::{BisectView, Searched, StretchOutcome, build};
use model::plan::DecisionRule;
use model::record::BisectionRecord;
use runner::clock;
use runner::engines::BuildCache;

/// Lists the versions, searches, prints.
pub fn run(places: &Places, arguments: &Bisect) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    render::check(&arguments.output, false)?;
    let progress = Progress::new();
    let catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    let measuring = measuring(arguments);
    let workload = resources::workload(&arguments.workload)?;
    workload.step(&arguments.step).map_err(usage)?;
    let id = format!("bisect-{}", new_run_id()?);
    let versions = match &arguments.git {
        Some(repository) => Versions::of_commits(places, arguments, repository, &workload.engine, &id)?,
        None => Versions::of_releases(&catalog, &cache, arguments)?,
    };
    let mut writer = paths::open_store(places)?;
    let mut record = BisectionRecord {
        id: id.clone(),
        began_at_us: clock::epoch_us(),
        ended_at_us: None,
        workload: arguments.workload.clone(),
        step: arguments.step.clone(),
        good: arguments.good.clone(),
        bad: arguments.bad.clone(),
        finding_json: None,
    };
    writer.write_bisection(&record)?;
    let rule = Rule {
        wanted: if arguments.improvement { Wanted::Improvement } else { Wanted::Regression },
        most_launches: arguments.max_launches,
        ..Rule::default()
    };
    let setup = Setup {
        places,
        catalog: &catalog,
        cache: &cache,
        measuring: &measuring,
        versions,
        search: rule,
        id: id.clone(),
        budget: arguments.budget,
        planted: Planted { percent: arguments.plant_slowdown, from: arguments.plant_from.clone() },
    };
    let critical = CriticalValues::shared();
    let mut session = Session::begin(setup, writer, progress)?;
    let mut search = Bisection::new(session.facts.len(), session.search_rule(), critical)?;
    session.carry_out(&mut search)?;
    let view = view(&session, &search, arguments, id);
    record.ended_at_us = Some(clock::epoch_us());
    record.finding_json = Some(serde_json::to_string(&view).context("failed to render JSON")?);
    session.keep(&record)?;
    render::show(&[Finding::Bisection(view.clone())], Shown::of(&arguments.output))?;
    ending(&session, &view)
}

/// Only one step is measured, and how many launches a comparison may have is the procedure's business.
fn measuring(arguments: &Bisect) -> Measuring {
    Measuring {
        workload: arguments.workload.clone(),
        steps: vec![arguments.step.clone()],
        own_image: arguments.own_image,
        margin: arguments.margin,
        alpha: arguments.alpha,
        build_noise: 100.0 * DecisionRule::default().tau,
        max_launches: analysis::budget::MOST_LAUNCHES,
        seed: arguments.seed,
    }
}

fn view(session: &Session<'_>, search: &Bisection<'_>, arguments: &Bisect, id: String) -> BisectView {
    build(&Searched {
        id,
        seed: session.seed(),
        workload: session.workload().to_owned(),
        step: arguments.step.clone(),
        metric: session.metric,
        wanted: session.search_rule().wanted,
        alpha: arguments.alpha / 100.0,
        versions: session.facts.clone(),
        findings: search.findings().clone(),
        measurements: search.measurements().to_vec(),
        stopped: session.stopped.clone(),
        seconds: session.seconds(),
        warnings: session.warnings.clone(),
    })
}

fn ending(session: &Session<'_>, view: &BisectView) -> anyhow::Result<Ending> {
    if session.interrupted {
        return Ok(Ending::Interrupted);
    }
    if view.is_refused() {
        return Err(usage(anyhow!("{}", report::bisection::refusal(view))));
    }
    Ok(if session.failed || view.outcome() == Some(StretchOutcome::EndNotMeasurable) {
        Ending::RunFailed
    } else {
        Ending::Done
    })
}
