//! `dbdyno history RUN|FILE...`: change points over releases, and what to measure again.

use crate::cli::{History, Places};
use crate::commands::import::read_files;
use crate::commands::print;
use crate::commands::render::{self, Wanted};
use crate::exit::{Ending, usage};
use crate::planning::again;
use crate::{finding, paths};
use anyhow::{Context, anyhow};
use findings::Finding;
use findings::again::word;
use findings::history::{HistoryView, Observed, Question, build, of_campaigns, of_values};
use model::import::ImportRecord;
use model::plan::Purpose;
use model::plan_file::PlanText;
use model::record::RunRecord;
use std::path::{Path, PathBuf};
use store::Store;

/// What is searched.
enum Source {
    /// One or several, whose rounds are taken together.
    Campaigns(Vec<RunRecord>),
    Values(ImportRecord),
}

/// Loads, searches, prints.
pub fn run(places: &Places, arguments: &History) -> anyhow::Result<Ending> {
    let question = question(arguments)?;
    let source = source(places, arguments)?;
    let (observed, origin) = match &source {
        Source::Campaigns(records) => of_campaigns(records).map_err(usage)?,
        Source::Values(import) => of_values(import),
    };
    let observed = chosen(observed, &arguments.steps)?;
    let mut view = build(&observed, origin, &question);
    let again = match &source {
        // The conditions are those of the first one.
        Source::Campaigns(records) => {
            records.first().and_then(|record| again::of_campaign(record, &view.remeasure))
        }
        Source::Values(_) => {
            again::of_releases(arguments.engine.as_deref(), arguments.workload.as_deref(), &view)?
        }
    };
    view.commands = commands(arguments, &view, again.as_ref());
    if let Some(path) = &arguments.schedule {
        schedule(path, again.as_ref(), &view)?;
    }
    render::show(&[Finding::History(view)], Wanted::of(&arguments.output))?;
    Ok(Ending::Done)
}

fn question(arguments: &History) -> anyhow::Result<Question> {
    let share = |name: &str, percent: f64, least: f64, most: f64| {
        if (least..=most).contains(&percent) {
            return Ok(percent / 100.0);
        }
        Err(usage(anyhow!("--{name} is {percent}, must be {least} to {most} percent")))
    };
    Ok(Question {
        // Short series of single runs are searched at five times it, and 20 % is the most that is simulated.
        alpha: share("alpha", arguments.alpha, 0.1, 4.0)?,
        least_change: share("least-change", arguments.least_change, 0.0, 90.0)?,
        layout_noise: share("build-noise", arguments.build_noise, 0.0, 50.0)?,
    })
}

/// Names that are files are read as such; all others are looked up in the store.
fn source(places: &Places, arguments: &History) -> anyhow::Result<Source> {
    let files: Vec<PathBuf> = arguments.sources.iter().map(PathBuf::from).collect();
    if files.iter().all(|path| path.is_file()) {
        let import = read_files(arguments.from, &arguments.reading, &files, None)?;
        return Ok(Source::Values(import));
    }
    let looks_like_file = |wanted: &String| Path::new(wanted).extension().is_some() || wanted.contains('/');
    if let Some(file) = files.iter().find(|path| path.is_file()) {
        return Err(usage(anyhow!(
            "`{}` is a file and others are not: name files that are repeats of one another, or runs",
            file.display()
        )));
    }
    let store = Store::open_existing(&paths::store_file(places)?);
    let store = match arguments.sources.iter().find(|wanted| looks_like_file(wanted)) {
        Some(wanted) => store
            .with_context(|| format!("`{wanted}` is no file, and no run can be looked up"))
            .map_err(usage)?,
        None => store?,
    };
    if let [wanted] = &arguments.sources[..]
        && let Some(id) = finding::import_called(&store, wanted)?
    {
        return Ok(Source::Values(store.load_import(&id)?));
    }
    let campaign = |wanted: &String| {
        let record = store.load_run(&store.find_run(wanted).map_err(usage)?)?;
        let of_several = record.plan.purpose == Purpose::Compare && record.plan.distinct_subjects().len() > 2;
        if record.plan.purpose == Purpose::Campaign || of_several {
            return Ok(record);
        }
        Err(usage(anyhow!(
            "run {} has one base and one candidate: a history is of a campaign (`dbdyno run`), or of a comparison of several releases",
            record.id
        )))
    };
    Ok(Source::Campaigns(arguments.sources.iter().map(campaign).collect::<anyhow::Result<_>>()?))
}

fn chosen(observed: Vec<Observed>, steps: &[String]) -> anyhow::Result<Vec<Observed>> {
    let known: Vec<&str> = observed.iter().map(|one| one.step.as_str()).collect();
    if let Some(stranger) = steps.iter().find(|step| !known.contains(&step.as_str())) {
        let hint = model::names::hint(stranger, known);
        return Err(usage(anyhow!("there is no step `{stranger}`{hint}")));
    }
    let is_chosen = |one: &Observed| steps.is_empty() || steps.contains(&one.step);
    Ok(observed.into_iter().filter(is_chosen).collect())
}

/// The commands that measure again what needs it.
fn commands(arguments: &History, view: &HistoryView, again: Option<&PlanText>) -> Vec<String> {
    if view.remeasure.is_empty() || again.is_none() {
        return Vec::new();
    }
    match &arguments.schedule {
        Some(path) => vec![format!("dbdyno run {}", path.display())],
        None => {
            let words: Vec<String> = std::env::args().skip(2).map(|argument| word(&argument)).collect();
            let words = words.join(" ");
            vec![format!("dbdyno history {words} --schedule again.toml && dbdyno run again.toml")]
        }
    }
}

fn schedule(path: &Path, again: Option<&PlanText>, view: &HistoryView) -> anyhow::Result<()> {
    if view.remeasure.is_empty() {
        return Err(usage(anyhow!(
            "nothing needs to be measured again: `{}` is not written",
            path.display()
        )));
    }
    let again = again.ok_or_else(|| {
        usage(anyhow!("--schedule: name the engine of the releases by --engine and a workload by --workload"))
    })?;
    let plan = again.to_toml().context("failed to write the plan as TOML")?;
    let origin =
        "# Written by dbdyno history: the releases around each candidate, with the first one as the base.";
    print::file(path, format!("{origin}\n{plan}").as_bytes())
        .with_context(|| format!("failed to write the plan `{}`", path.display()))
}
