//! `explain --profile`: further launches of a run in which the stacks of the sides are sampled. They carry no verdict: only the profiles are kept.

use super::{changes_since, stage, world};
use crate::cli::Places;
use crate::commands::measure::Ready;
use crate::exit::usage;
use crate::progress::Progress;
use anyhow::{Context, anyhow};
use findings::profile::per_op;
use model::block::{Block, Side, TrialKey};
use model::event::{Moment, RunEvent, RunOutcome};
use model::plan::{Design, Plan};
use model::profile::Profile;
use model::reason::LeaveReason;
use model::record::{RunRecord, engine_text_of};
use model::units::Nanos;
use model::wire::EngineText;
use runner::campaign::drive::drive;
use runner::campaign::interleaved::machine::{Before, Campaign};
use runner::campaign::interleaved::referee::{AfterLaunch, Fixed, LaunchCost, Passed, Referee};
use runner::campaign::rounds::machine::{self as rounds, Rounds};
use runner::clock::Stopwatch;
use std::collections::{BTreeMap, BTreeSet};
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
    if let Some(server_host) = &record.plan.layout.server_host {
        return Err(usage(anyhow!(
            "run {run} has its servers on {}, where no stacks are sampled yet: run the plan there without `server_host`, and explain that run",
            server_host.target
        )));
    }
    let stage = stage(places, &record.plan, &run, Stopwatch::start())?;
    // What has changed on the host meanwhile is the same for both sides; another machine has other functions.
    changes_since(&record, &stage.host, None, None)?;
    let plan = plan(record.plan, steps, launches)?;
    let ready = Ready { plan, written_options: Vec::new(), fingerprint: None, watch: Stopwatch::start() };
    let mut world = world(&ready, &run, stage)?;
    world.sample_stacks().map_err(|error| usage(anyhow!(error)))?;
    progress.say(&format!("  profiling {} in {launches} launches, which carry no verdict", steps.join(", ")));
    let mut failed = None;
    let mut statuses = Statuses::default();
    let mut sink = |event: RunEvent| match event {
        RunEvent::LaunchStarted { launch, .. } => {
            let number = if launch > before { launch - before } else { launch };
            progress.say(&format!("  launch {number} of {launches}"));
        }
        RunEvent::RawOutput { launch, side, name, text } => statuses.keep(launch, side, &name, text),
        RunEvent::Profiled(mut profile) => {
            // Of several streams at once the server counts all, and a profile has the operations of one.
            if ready.plan.workload.companions(&profile.trial.step).next().is_none() {
                profile.counters.extend(statuses.per_op(&profile));
            }
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
            plan.layout.reads_status = plan.workload.is_sql();
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

/// What servers said of their state before and after each step.
#[derive(Default)]
struct Statuses(BTreeMap<(TrialKey, &'static str), String>);

impl Statuses {
    fn keep(&mut self, launch: u32, side: Side, name: &str, text: String) {
        if let Some((step, moment, EngineText::Status)) = engine_text_of(name) {
            self.0.insert((TrialKey { launch, step: step.to_owned(), side }, moment.name()), text);
        }
    }

    /// What was counted per operation of a profile; nothing if the engine did not tell.
    fn per_op(&self, profile: &Profile) -> BTreeMap<String, f64> {
        let text = |moment: Moment| self.0.get(&(profile.trial.clone(), moment.name()));
        match (text(Moment::Before), text(Moment::After)) {
            (Some(before), Some(after)) => {
                per_op(before, after, profile.operations + profile.unsampled_operations)
            }
            _ => BTreeMap::new(),
        }
    }
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
