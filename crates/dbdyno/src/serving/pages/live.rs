//! A run in progress, read beside the process that writes it.

use super::super::answers::Failure;
use super::super::asked::{Answer, Kind};
use super::run_called;
use ::report::site::links;
use ::report::site::live::{self, LiveView, NewestTrial};
use anyhow::Context;
use findings::labels::told_apart;
use model::record::RunStatus;
use runner::clock;
use store::{LiveTrial, RunHead, Store, TrialCounts, TrialEnd};

/// The page; of a run that has ended its report.
pub fn page(store: &Store, run: &str) -> Result<Answer, Failure> {
    let head = run_called(store, run)?;
    match head.status {
        RunStatus::Ended(_) => Ok(Answer::redirect(links::report(&head.id))),
        RunStatus::Unfinished if head.id != run => Ok(Answer::redirect(links::live(&head.id))),
        RunStatus::Unfinished => Ok(Answer::page(200, live::page(&view(store, &head)?))),
    }
}

/// What the page's script asks for; it is told when the run has ended.
pub fn json(store: &Store, run: &str) -> Result<Answer, Failure> {
    let head = run_called(store, run)?;
    let json = live::json(&view(store, &head)?).context("failed to render JSON")?;
    Ok(Answer::new(200, Kind::JSON, json))
}

fn view(store: &Store, head: &RunHead) -> Result<LiveView, Failure> {
    let (plan, _) = store.run_plan(&head.id)?;
    let facts = store.live(head)?;
    let subjects = told_apart(plan.subjects.iter().map(|subject| subject.reference.to_string()));
    let now_us = clock::epoch_us();
    let since = |at_us: i64| (now_us - at_us) as f64 / 1e6;
    let counts = |trials: TrialCounts| [trials.done, trials.failed, trials.skipped, trials.unfinished];
    Ok(LiveView {
        id: head.id.clone(),
        name: head.name.clone(),
        purpose: head.purpose,
        status: head.status,
        workload: plan.workload.name.clone(),
        design: plan.layout.design,
        steps: plan.chosen_steps().map(|step| step.name.clone()).collect(),
        rounds: plan.layout.rounds,
        budget_s: plan.budget.as_secs_f64(),
        began_at_us: head.started_at_us,
        elapsed_s: since(head.started_at_us).max(0.0),
        silent_s: facts.alive_at_us.map(since),
        launch: facts.launch.map(|(launch, _)| launch),
        launches_ended: facts.launches_ended,
        launches_max: facts.launches_max,
        trials: facts.steps.into_iter().map(|step| (step.step, counts(step.trials))).collect(),
        newest: facts.newest.into_iter().map(|trial| newest(trial, &subjects)).collect(),
        last_second: facts.last_second,
        exits: facts.exits,
        warnings: facts.warnings,
        subjects,
    })
}

fn newest(trial: LiveTrial, subjects: &[String]) -> NewestTrial {
    let seconds = trial.rate.wall.as_secs_f64();
    NewestTrial {
        launch: trial.rate.launch,
        subject: subjects.get(trial.rate.side).cloned().unwrap_or_default(),
        standing: match trial.rate.ended {
            TrialEnd::Done => "done",
            TrialEnd::Failed => "failed",
            TrialEnd::Skipped => "skipped",
            TrialEnd::Unfinished => "unfinished",
            TrialEnd::NotNeeded => "not needed",
        },
        rate: (seconds > 0.0).then(|| trial.rate.operations as f64 / seconds),
        step: trial.step,
    }
}
