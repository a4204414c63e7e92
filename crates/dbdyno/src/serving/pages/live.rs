//! A run in progress, read beside the process that writes it.

use super::super::answers::Failure;
use super::super::asked::{Answer, Kind};
use super::run_called;
use ::report::site::links;
use ::report::site::live::{self, LiveView};
use anyhow::Context;
use findings::labels::told_apart;
use model::listing::RunHead;
use model::record::RunStatus;
use runner::clock;
use store::Store;

/// The page; of a run that has ended its report.
pub fn page(store: &Store, run: &str) -> Result<Answer, Failure> {
    let head = run_called(store, run)?;
    match head.status {
        RunStatus::Ended(_) => Ok(Answer::redirect(links::report(&head.id))),
        RunStatus::Unfinished if head.id != run => Ok(Answer::redirect(links::live(&head.id))),
        RunStatus::Unfinished => Ok(Answer::page(200, live::page(&view(store, head)?))),
    }
}

/// What the page's script asks for; it is told when the run has ended.
pub fn json(store: &Store, run: &str) -> Result<Answer, Failure> {
    let head = run_called(store, run)?;
    let json = live::json(&view(store, head)?).context("failed to render JSON")?;
    Ok(Answer::new(200, Kind::JSON, json))
}

fn view(store: &Store, head: RunHead) -> Result<LiveView, Failure> {
    let (plan, _) = store.run_plan(&head.id)?;
    let facts = store.live(&head)?;
    let now_us = clock::epoch_us();
    let since = |at_us: i64| (now_us - at_us) as f64 / 1e6;
    Ok(LiveView {
        workload: plan.workload.name.clone(),
        design: plan.layout.design,
        subjects: told_apart(plan.subjects.iter().map(|subject| subject.reference.to_string())),
        steps: plan.chosen_steps().map(|step| step.name.clone()).collect(),
        rounds: plan.layout.rounds,
        budget_s: plan.budget.as_secs_f64(),
        elapsed_s: since(head.started_at_us).max(0.0),
        silent_s: facts.alive_at_us.map(since),
        head,
        facts,
    })
}
