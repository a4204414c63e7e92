//! `dbdyno bisect --good A --bad B`: the first release or commit that differs, in few launches.

use crate::bisecting::{Planted, Session, Setup, Versions};
use crate::cli::{Bisect, Format, Measuring, Places};
use crate::commands::compare::open_store;
use crate::commands::measure::new_run_id;
use crate::commands::print::{self, Manner};
use crate::commands::render::{Drawn, show_drawn};
use crate::exit::{Ending, usage};
use crate::progress::Progress;
use crate::{interrupt, paths, resources};
use analysis::bisect::{Bisection, Outcome, Rule, Wanted};
use analysis::change_points::CriticalValues;
use anyhow::{Context, anyhow};
use model::plan::DecisionRule;
use report::bisect::BisectView;
use report::text::TextOptions;
use runner::engines::BuildCache;

/// Lists the versions, searches, prints.
pub fn run(places: &Places, arguments: &Bisect) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    let manner = print::manner(&arguments.output);
    if !matches!(manner.format, Format::Text | Format::Json) && Drawn::of(manner.format).is_none() {
        return Err(usage(anyhow!("a bisection is shown as text, json, html, svg or png only")));
    }
    print::check(&arguments.output)?;
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
    let writer = open_store(places)?;
    let setup = Setup {
        places,
        catalog: &catalog,
        cache: &cache,
        measuring: &measuring,
        versions,
        id: id.clone(),
        budget: arguments.budget,
        planted: Planted { percent: arguments.plant_slowdown, from: arguments.plant_from.clone() },
    };
    let critical = CriticalValues::shared();
    let mut session = Session::begin(setup, writer, progress)?;
    let rule = Rule {
        wanted: if arguments.improvement { Wanted::Improvement } else { Wanted::Regression },
        most_launches: arguments.max_launches,
        ..Rule::default()
    };
    let mut search = Bisection::new(session.facts.len(), rule, critical)?;
    session.carry_out(&mut search)?;
    let view = view(&session, &search, arguments, id, rule);
    match Drawn::of(manner.format) {
        Some(drawn) => show_drawn(&report::bisect::document(&view), drawn, &arguments.output)?,
        None => print::report(&arguments.output, &render(&view, &manner)?)?,
    }
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

fn view(
    session: &Session<'_>,
    search: &Bisection<'_>,
    arguments: &Bisect,
    id: String,
    rule: Rule,
) -> BisectView {
    BisectView {
        id,
        seed: session.seed(),
        workload: session.workload().to_owned(),
        step: arguments.step.clone(),
        metric: session.metric,
        wanted: rule.wanted,
        alpha: arguments.alpha / 100.0,
        versions: session.facts.clone(),
        findings: search.findings().clone(),
        measurements: search.measurements().to_vec(),
        stopped: session.stopped.clone(),
        seconds: session.seconds(),
        warnings: session.warnings.clone(),
    }
}

/// As JSON where that is asked for, else as text: every other form is drawn, or was refused before anything was measured.
fn render(view: &BisectView, manner: &Manner) -> anyhow::Result<String> {
    if manner.format == Format::Json {
        return report::bisect::json(view).context("failed to render JSON");
    }
    Ok(report::bisect::text(view, TextOptions { width: manner.width, colour: manner.colour }))
}

fn ending(session: &Session<'_>, view: &BisectView) -> anyhow::Result<Ending> {
    if session.interrupted {
        return Ok(Ending::Interrupted);
    }
    if view.is_refused() {
        return Err(usage(anyhow!("{}", report::bisect::refusal(view))));
    }
    let ends = view.findings.stretches.first().map(|whole| &whole.outcome);
    Ok(if session.failed || matches!(ends, Some(Outcome::EndNotMeasurable)) {
        Ending::RunFailed
    } else {
        Ending::Done
    })
}
