//! `dbdyno bisect --good A --bad B`: the first release or commit that differs, in few launches.

use crate::bisecting::{MeasuredBefore, Planted, Search, Session, Setup, Versions};
use crate::cli::{Bisect, Places};
use crate::commands::measure::{changes_since, new_run_id};
use crate::commands::render::{self, Wanted as Shown};
use crate::exit::{Ending, usage};
use crate::progress::Progress;
use crate::{interrupt, paths, resources};
use analysis::bisect::{Bisection, Rule, Wanted};
use analysis::change_points::CriticalValues;
use anyhow::{Context, anyhow};
use findings::Finding;
use findings::bisection::{BisectView, Searched, StretchOutcome, build};
use model::record::BisectionRecord;
use model::warning::Warning;
use runner::clock;
use runner::engines::BuildCache;
use runner::proc::host;
use store::Store;

/// Lists the versions, searches, prints.
pub fn run(places: &Places, arguments: &Bisect) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    render::check(&arguments.output, false)?;
    let mut writer = paths::open_store(places)?;
    let Asked { mut search, mut record, before, warning } = match &arguments.resume {
        None => begun(&Search::of(arguments)?)?,
        Some(wanted) => resumed(places, writer.store(), wanted, arguments)?,
    };
    let progress = Progress::new();
    let catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    let measuring = search.measuring();
    let workload = resources::workload(&search.workload)?;
    workload.step(&search.step).map_err(usage)?;
    let versions = match &search.git {
        Some(repository) => {
            let engine = search.engine.as_deref().unwrap_or(&workload.engine);
            if search.engine.is_none() && !catalog.engines().any(|known| known == engine) {
                return Err(usage(anyhow!(
                    "the workload {} is for more than one engine: name that of the repository, like --engine postgres",
                    workload.name
                )));
            }
            catalog.family(engine).map_err(usage)?;
            Versions::of_commits(places, &search, repository, engine, &record.id)?
        }
        None => Versions::of_releases(&catalog, &cache, &search)?,
    };
    if let Some([good, bad]) = versions.commit_ids() {
        (search.good, search.bad) = (good, bad);
    }
    writer.write_bisection(&record)?;
    let rule = Rule {
        wanted: if search.improvement { Wanted::Improvement } else { Wanted::Regression },
        most_launches: search.max_launches,
        ..Rule::default()
    };
    let setup = Setup {
        places,
        catalog: &catalog,
        cache: &cache,
        measuring: &measuring,
        versions,
        search: rule,
        id: record.id.clone(),
        budget: search.budget,
        planted: Planted { percent: search.plant_slowdown, from: search.plant_from.clone() },
        layout_noise: search.layout_noise,
        before,
    };
    let critical = CriticalValues::shared();
    let mut session = Session::begin(setup, writer, progress)?;
    session.warnings.extend(warning);
    search.seed = Some(session.seed());
    search.layout_noise = Some(session.search_rule().layout_noise);
    record.request_json = Some(serde_json::to_string(&search).context("failed to render JSON")?);
    session.keep(&record)?;
    session.measure_host(&arguments.speed)?;
    let mut bisection = Bisection::new(session.facts.len(), session.search_rule(), critical)?;
    session.carry_out(&mut bisection)?;
    let view = view(&session, &bisection, &search, &record.id);
    record.ended_at_us = Some(clock::epoch_us());
    record.finding_json = Some(serde_json::to_string(&view).context("failed to render JSON")?);
    session.keep(&record)?;
    render::show(&[Finding::Bisection(view.clone())], Shown::of(&arguments.output))?;
    if view.found.stopped.is_some() {
        session.say(&format!(
            "`dbdyno bisect --resume {}` continues from what was measured; --budget gives it more time",
            record.id
        ));
    }
    ending(&session, &view)
}

/// What is to be searched for, and what is known already.
struct Asked {
    search: Search,
    record: BisectionRecord,
    before: MeasuredBefore,
    warning: Option<Warning>,
}

fn begun(search: &Search) -> anyhow::Result<Asked> {
    let record = BisectionRecord {
        id: format!("bisect-{}", new_run_id()?),
        began_at_us: clock::epoch_us(),
        ended_at_us: None,
        workload: search.workload.clone(),
        step: search.step.clone(),
        good: search.good.clone(),
        bad: search.bad.clone(),
        finding_json: None,
        request_json: None,
    };
    Ok(Asked { search: search.clone(), record, before: MeasuredBefore::default(), warning: None })
}

/// A bisection that was stopped or killed: the search begins again, and what it asks for is taken from the store as far as it was
/// measured.
fn resumed(places: &Places, store: &Store, wanted: &str, arguments: &Bisect) -> anyhow::Result<Asked> {
    let id = match wanted {
        "last" => store.last_bisection()?,
        _ => store.find_bisection(wanted)?,
    };
    let id = id.ok_or_else(|| {
        usage(anyhow!("there is no bisection `{wanted}` in the store; `dbdyno report --list` shows them"))
    })?;
    let record = store.load_bisection(&id)?;
    let finding: Option<BisectView> = record
        .finding_json
        .as_deref()
        .map(serde_json::from_str)
        .transpose()
        .with_context(|| format!("what is stored of bisection {id} cannot be read"))?;
    if finding.is_some_and(|view| view.found.stopped.is_none()) {
        return Err(usage(anyhow!(
            "bisection {id} is done: there is nothing to resume; `dbdyno report {id}` shows it"
        )));
    }
    let Some(request) = &record.request_json else {
        return Err(usage(anyhow!(
            "bisection {id} ended before anything was measured, or an older dbdyno began it: begin it again"
        )));
    };
    let mut search: Search = serde_json::from_str(request)
        .with_context(|| format!("what bisection {id} was asked for cannot be read"))?;
    search.budget = arguments.budget.unwrap_or(search.budget);
    let runs = store.runs_of_bisection(&id)?;
    let warning = match runs.first() {
        Some(first) => {
            let host = host::describe(&paths::work_dir(places)?);
            changes_since(&store.load_run(&first.id)?, &host, None, None)?
        }
        None => None,
    };
    Ok(Asked { search, record, before: MeasuredBefore::of(runs), warning })
}

fn view(session: &Session<'_>, bisection: &Bisection<'_>, search: &Search, id: &str) -> BisectView {
    build(&Searched {
        id: id.to_owned(),
        seed: session.seed(),
        workload: session.workload().to_owned(),
        step: search.step.clone(),
        metric: session.metric,
        wanted: session.search_rule().wanted,
        alpha: search.alpha / 100.0,
        versions: session.facts.clone(),
        findings: bisection.findings().clone(),
        measurements: bisection.measurements().to_vec(),
        stopped: session.stopped.clone(),
        seconds: session.seconds(),
        warnings: session.warnings.clone(),
        command: search.command(session.seed()),
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
