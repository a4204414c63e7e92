//! `dbdyno explain RUN`: where the time went, which functions it went to, what moved with the rate, and patterns that are known.

use crate::cli::{Explain, Places};
use crate::commands::counterfactual::{self, Found, Further};
use crate::commands::measure::{self, profiling};
use crate::commands::render::{self, Wanted};
use crate::exit::{Ending, usage};
use crate::progress::Progress;
use crate::{finding, interrupt, paths, resources};
use anyhow::{Context, anyhow};
use findings::explanation::{ExplanationView, Known};
use findings::selection::Selection;
use findings::{ComparedRun, Finding, explanation};
use model::event::RunOutcome;
use model::names;
use model::pattern::Pattern;
use store::Store;

/// Loads, matches, prints.
pub fn run(places: &Places, arguments: &Explain) -> anyhow::Result<Ending> {
    let store = Store::open_existing(&paths::store_file(places)?)?;
    let patterns = resources::patterns()?;
    let steps = &arguments.steps;
    let view = match finding::other_called(&store, &arguments.run)? {
        Some(id) => match finding::of_other(&store, &id)? {
            Some(Finding::Import(view)) => {
                known(steps, view.steps.iter().map(|step| step.name.as_str()))?;
                explanation::of_import(&view, &patterns, steps)
            }
            _ => return Err(usage(anyhow!("`{}` is neither a comparison nor an import", arguments.run))),
        },
        None => {
            let id = store.find_run(&arguments.run).map_err(usage)?;
            let record = store.load_run(&id).context("failed to load the run")?;
            let run = finding::compared(&store, record, &Selection::default())?;
            known(steps, run.view.judged_steps().map(|step| step.name.as_str()))?;
            if arguments.profile {
                profile(places, arguments, &run)?;
            }
            let view = explained(&store, &run, &patterns, steps)?;
            if arguments.test || !arguments.chain.is_empty() {
                measure::check_code(&run.record.plan)?;
                let further = Further { places, run: &run, budget: arguments.budget };
                if arguments.test {
                    further.test(&view.cases, &arguments.with)?;
                }
                if !arguments.chain.is_empty() {
                    let steps = explanation::wanted_steps(&run.view, steps);
                    further.chain(&arguments.chain, &steps)?;
                }
                explained(&store, &run, &patterns, steps)?
            } else {
                view
            }
        }
    };
    render::show(&[Finding::Explanation(view)], Wanted::of(&arguments.output))?;
    Ok(Ending::Done)
}

fn explained(
    store: &Store,
    run: &ComparedRun,
    patterns: &[Pattern],
    steps: &[String],
) -> anyhow::Result<ExplanationView> {
    let profiles = store.profiles(&run.record.id)?;
    let Found { tests, chains } = counterfactual::found(store, &run.record)?;
    let known = Known { patterns, profiles: &profiles, tests: &tests, chains: &chains };
    Ok(explanation::of_comparison(&run.view, known, steps))
}

/// Samples the stacks of the steps that are explained.
fn profile(places: &Places, arguments: &Explain, run: &ComparedRun) -> anyhow::Result<()> {
    let steps = explanation::wanted_steps(&run.view, &arguments.steps);
    if steps.is_empty() {
        return Err(usage(anyhow!(
            "no step of run {} differs: name those to profile with --step",
            run.record.id
        )));
    }
    measure::check_code(&run.record.plan)?;
    interrupt::listen()?;
    let mut writer = paths::open_store(places)?;
    let record = run.record.clone();
    let outcome =
        profiling::profile(places, record, &steps, arguments.launches, &mut writer, &mut Progress::new())?;
    match outcome {
        RunOutcome::Done | RunOutcome::Interrupted => Ok(()),
        RunOutcome::Failed => Err(anyhow!("no launch of the profile ended well: the lines above say why")),
    }
}

/// Refuses a step that is not there.
fn known<'a>(wanted: &[String], all: impl Iterator<Item = &'a str>) -> anyhow::Result<()> {
    let all: Vec<&str> = all.collect();
    match wanted.iter().find(|name| !all.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let hint = names::hint(name, all.iter().copied());
            Err(usage(anyhow!("there is no step `{name}`{hint}")))
        }
    }
}
