//! One step of a workload over its runs.

use super::super::answers::{Failure, Site};
use super::super::asked::Answer;
use super::conditions;
use ::report::site::history::{self, HistoryPage, RunRates, SubjectRates, gathered};
use findings::conditions::RunConditions;
use model::listing::{RunHead, TrialCounts, TrialEnd, TrialRate};
use std::collections::BTreeMap;
use store::Store;

/// Runs on a page: the newest.
const MOST_RUNS: u32 = 100;

/// The page. Without a step the form offers those of the workload.
pub fn answer(
    site: &Site,
    store: &Store,
    workload: String,
    step: String,
    engine: String,
) -> Result<Answer, Failure> {
    let choices = store.choices()?;
    let heads = if workload.is_empty() { Vec::new() } else { store.runs_of(&workload, MOST_RUNS)? };
    let shown = heads.len() as u64;
    let mut steps: Vec<String> = Vec::new();
    let mut runs = Vec::new();
    for head in heads {
        let conditions = conditions(site, store, &head.id)?;
        let new =
            conditions.step_names.iter().filter(|name| !steps.contains(name)).cloned().collect::<Vec<_>>();
        steps.extend(new);
        if conditions.steps.contains_key(&step) {
            let rates = rates(store, &head, &conditions, &step, &engine)?;
            runs.push(((*conditions).clone(), rates));
        }
    }
    let view = HistoryPage {
        older_runs: if shown < u64::from(MOST_RUNS) {
            0
        } else {
            store.count_runs_of(&workload)?.saturating_sub(shown)
        },
        workload,
        step,
        engine,
        workloads: choices.workloads,
        steps,
        engines: choices.engines,
        comparable: gathered(runs),
    };
    Ok(Answer::page(200, history::page(&view)))
}

fn rates(
    store: &Store,
    head: &RunHead,
    conditions: &RunConditions,
    step: &str,
    engine: &str,
) -> Result<RunRates, Failure> {
    let mut by_side: BTreeMap<usize, Vec<TrialRate>> = BTreeMap::new();
    for trial in store.step_rates(head, step)? {
        by_side.entry(trial.side).or_default().push(trial);
    }
    let subjects = by_side.into_iter().filter_map(|(side, trials)| {
        let facts = conditions.subjects.get(side)?.clone();
        (engine.is_empty() || facts.engine == engine).then(|| SubjectRates {
            side,
            facts,
            other_binary: false,
            rates: trials.iter().filter_map(rate).collect(),
            trials: counted(&trials),
        })
    });
    Ok(RunRates { head: head.clone(), step: step.to_owned(), subjects: subjects.collect() })
}

/// Of a trial that is done.
fn rate(trial: &TrialRate) -> Option<f64> {
    trial.per_second().filter(|_| trial.ended == TrialEnd::Done)
}

fn counted(trials: &[TrialRate]) -> TrialCounts {
    let mut counts = TrialCounts::default();
    trials.iter().for_each(|trial| counts.add(trial.ended, 1));
    counts
}
