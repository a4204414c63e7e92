//! `explain --profile`: further launches of a run in which the stacks of the sides are sampled. They carry no verdict: only the profiles are kept.

use super::{changes_since, stage, world};
use crate::cli::Places;
use crate::commands::measure::Ready;
use crate::exit::usage;
use crate::progress::Progress;
use anyhow::{Context, anyhow};
use model::block::Block;
use model::event::{RunEvent, RunOutcome};
use model::plan::{Design, Plan};
use model::reason::LeaveReason;
use model::record::RunRecord;
use model::units::Nanos;
use runner::campaign::drive::drive;
use runner::campaign::interleaved::machine::{Before, Campaign};
use runner::campaign::interleaved::referee::{AfterLaunch, Fixed, LaunchCost, Passed, Referee};
use runner::campaign::rounds::machine::{self as rounds, Rounds};
use runner::clock::Stopwatch;
use std::collections::BTreeSet;
use store::Writer;

/// No launch of a profile is left out for want of time: there are as many as were asked for.
const NO_BUDGET: Nanos = Nanos::from_secs(1_000_000);

/// Times as many cycles of blocks as a launch of the plan has.
const LONGER: u32 = 8;

/// Measures these steps in so many further launches, or rounds, and stores the profiles.
pub fn profile(
    places: &Places,
    record: RunRecord,
    steps: &[String],
    launches: u32,
    writer: &mut Writer,
    progress: &mut Progress,
) -> anyhow::Result<RunOutcome> {
    let run = record.id.clone();
    let before = writer.store().last_launch(&run)?;
    let stage = stage(places, &run)?;
    // What has changed on the host meanwhile is the same for both sides; another machine has other functions.
    changes_since(&record, &stage.host, None)?;
    let plan = plan(record.plan, steps, launches)?;
    let ready = Ready { plan, written_options: Vec::new(), fingerprint: None, watch: Stopwatch::start() };
    let mut world = world(&ready, &run, stage)?;
    world.sample_stacks().map_err(|error| usage(anyhow!(error)))?;
    progress.say(&format!("  profiling {} in {launches} launches, which carry no verdict", steps.join(", ")));
    let mut failed = None;
    let mut sink = |event: RunEvent| match event {
        RunEvent::LaunchStarted { launch, .. } => {
            let number = if launch > before { launch - before } else { launch };
            progress.say(&format!("  launch {number} of {launches}"));
        }
        RunEvent::Profiled(mut profile) => {
            // Rounds count from 1, whatever the run has.
            if profile.trial.launch <= before {
                profile.trial.launch += before;
            }
            failed = writer.write(&run, &RunEvent::Profiled(profile)).err().or(failed.take());
        }
        RunEvent::TrialEnded { .. } => progress.on(&event, 0), // says why one failed
        _ => {}
    };
    let outcome = match ready.plan.layout.design {
        Design::Interleaved => {
            let before = Before {
                launches: before,
                max_launches: Some(before + launches),
                left: BTreeSet::new(),
                budget: NO_BUDGET,
                shares: 0.0..1.0,
            };
            drive(Campaign::resumed(ready.plan.clone(), AsMany(launches), before), &mut world, &mut sink)
        }
        Design::Rounds | Design::Sequential => {
            drive(Rounds::new(ready.plan.clone(), rounds::Before::default()), &mut world, &mut sink)
        }
    };
    match failed {
        Some(error) => Err(error).with_context(|| format!("failed to store the profiles of run {run}")),
        None => Ok(writer.flush().map(|()| outcome)?),
    }
}

fn plan(mut plan: Plan, steps: &[String], launches: u32) -> anyhow::Result<Plan> {
    plan.steps.retain(|step| steps.contains(step));
    plan.budget = NO_BUDGET;
    match plan.layout.design {
        Design::Interleaved => {
            plan.rule.max_launches = launches;
            // A function of one percent needs thousands of samples, a verdict fewer blocks than these take. Fills keep the operations that they
            // state.
            plan.workload.steps.iter_mut().for_each(|step| step.cycles *= LONGER);
        }
        Design::Rounds | Design::Sequential => plan.layout.rounds = launches,
    }
    if plan.layout.design != Design::Interleaved && !plan.layout.db_bench.is_empty() {
        return Err(usage(anyhow!(
            "the steps of this run are run by db_bench, which is not sampled: run the plan without `db_bench`"
        )));
    }
    Ok(plan)
}

/// Ends after so many launches, and judges nothing.
struct AsMany(u32);

impl Referee for AsMany {
    fn fix(&mut self, _: LaunchCost, _: Nanos, _: &BTreeSet<String>) -> Fixed {
        Fixed { max_launches: self.0, dropped: Vec::<(String, LeaveReason)>::new() }
    }

    fn after_launch(&mut self, _: &[Block], _: &BTreeSet<String>, _: Passed) -> AfterLaunch {
        AfterLaunch::default()
    }
}
