//! A run in progress, read beside the process that writes it.

use super::super::answers::Failure;
use super::super::asked::{Answer, Kind};
use super::run_called;
use ::report::site::links;
use ::report::site::live::{self, LiveView};
use anyhow::Context;
use findings::labels::told_apart;
use model::listing::{LiveFacts, RunHead};
use model::plan::{Design, Plan};
use model::record::RunStatus;
use model::units::Nanos;
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
    let (budget, elapsed_s) = match plan.layout.design {
        Design::Interleaved => of_its_budget(&plan, &facts, since),
        Design::Rounds | Design::Sequential => (plan.budget, since(head.started_at_us)),
    };
    Ok(LiveView {
        workload: plan.workload.name.clone(),
        design: plan.layout.design,
        subjects: told_apart(plan.subjects.iter().map(|subject| subject.reference.to_string())),
        steps: plan.chosen_steps().map(|step| step.name.clone()).collect(),
        rounds: plan.layout.rounds,
        budget_s: budget.as_secs_f64(),
        elapsed_s: elapsed_s.max(0.0),
        silent_s: facts.alive_at_us.map(since),
        head,
        facts,
    })
}

/// The time that interleaved launches may take, and how many seconds of it have passed, those of the current launch included. The time
/// that a run was stopped is no part of it.
fn of_its_budget(plan: &Plan, facts: &LiveFacts, since: impl Fn(i64) -> f64) -> (Nanos, f64) {
    let ended = facts.launches_took.iter().map(|(launch, took)| (*launch, *took));
    let (budget, spent) = plan.budget_and_spent(ended);
    let current = facts.launch.filter(|(launch, _)| !facts.launches_took.contains_key(launch));
    (budget, spent.as_secs_f64() + current.map_or(0.0, |(_, began_at_us)| since(began_at_us)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Extension;
    use std::collections::BTreeMap;

    #[test]
    fn the_time_of_a_run_is_that_of_its_launches_and_of_an_extension_that_of_its_own() {
        let mut plan = Plan { budget: Nanos::from_secs(300), ..testing::plan(testing::SMALL_WORKLOAD, &[]) };
        let facts = |launch: Option<(u32, i64)>| LiveFacts {
            launch,
            launches_took: BTreeMap::from([(1, Nanos::from_secs(100)), (2, Nanos::from_secs(50))]),
            launches_max: None,
            steps: BTreeMap::new(),
            newest: Vec::new(),
            last_second: None,
            alive_at_us: None,
            exits: Vec::new(),
            warnings: Vec::new(),
        };
        let since = |at_us: i64| 20.0 - at_us as f64 / 1e6;
        assert_eq!(of_its_budget(&plan, &facts(Some((2, 0))), since), (Nanos::from_secs(300), 150.0));
        assert_eq!(
            of_its_budget(&plan, &facts(Some((3, 15_000_000))), since),
            (Nanos::from_secs(300), 155.0)
        );
        plan.rule.extension = Some(Extension { after_launch: 1, budget: Nanos::from_secs(60) });
        assert_eq!(of_its_budget(&plan, &facts(Some((3, 15_000_000))), since), (Nanos::from_secs(60), 55.0));
    }
}
