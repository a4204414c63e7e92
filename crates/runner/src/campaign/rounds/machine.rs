//! The state machine of a campaign in rounds, or of one subject after another: visit after visit, each with its
//! script. A failure ends one visit, or one step of it; the visits that follow go on.

use super::visit;
use super::visits::{Visit, visits};
use crate::campaign::action::{Action, Line, Meaning};
use crate::campaign::drive::{Event, Next, Schedule};
use crate::campaign::measured::MeasuredBlock;
use crate::campaign::query_plans::LastPlans;
use crate::campaign::world::{DbBenchRun, Failure, Performed, Severity};
use model::block::{BASE, BlockKind, Latency, Outcome, Side, TrialKey};
use model::event::{Moment, RunEvent, RunOutcome};
use model::plan::Plan;
use model::reason::{MOST_FAILURES_IN_A_ROW, Reason};
use model::units::Nanos;
use model::warning::{ApiCall, Warning};
use model::wire::Reply;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Kept of the budget for the report.
const REPORT_RESERVE: Nanos = Nanos::from_secs(2);

/// What an earlier invocation has left of a campaign.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Before {
    /// Visits that are not measured again.
    pub done: BTreeSet<(u32, Side)>,
    /// Visits that have ended and are measured again. Until then what they have counts.
    pub again: BTreeSet<(u32, Side)>,
}

/// A campaign in progress.
pub struct Rounds {
    plan: Plan,
    before: Before,
    visits: VecDeque<Visit>,
    /// Visits of each launch that are still to come, the current one included.
    left_of_launch: BTreeMap<u32, usize>,
    begun_launches: BTreeMap<u32, Nanos>,
    current_visit: Option<CurrentVisit>,
    script: VecDeque<Line>,
    current: Option<Line>,
    /// Of each subject, its latest visits in a row in which nothing was measured.
    failures: BTreeMap<Side, Failures>,
    dearest_visit: Nanos,
    /// The functions of the engine that a step called, by step and side, where releases differ in it.
    calls: BTreeMap<(String, Side), String>,
    /// Sides of a step of which it was told that they call another function than the base.
    told_calls: BTreeSet<(String, Side)>,
    last_plans: LastPlans,
    events: Vec<RunEvent>,
    epoch_us: i64,
}

struct Failures {
    in_a_row: u32,
    last: Reason,
}

struct CurrentVisit {
    visit: Visit,
    started: Nanos,
    measured_anything: bool,
    /// By step; of those whose trial has not ended.
    latency: BTreeMap<String, Latency>,
    /// Steps whose trials have ended.
    ended: BTreeSet<String>,
}

impl Rounds {
    /// A campaign that begins, or goes on.
    pub fn new(plan: Plan, before: Before) -> Rounds {
        let visits: VecDeque<Visit> = visits(&plan, &before.done).into();
        let mut left_of_launch = BTreeMap::new();
        for visit in &visits {
            *left_of_launch.entry(visit.launch).or_insert(0) += 1;
        }
        Rounds {
            plan,
            before,
            visits,
            left_of_launch,
            begun_launches: BTreeMap::new(),
            current_visit: None,
            script: VecDeque::new(),
            current: None,
            failures: BTreeMap::new(),
            dearest_visit: Nanos(0),
            calls: BTreeMap::new(),
            told_calls: BTreeSet::new(),
            last_plans: LastPlans::default(),
            events: Vec::new(),
            epoch_us: 0,
        }
    }

    fn advance(&mut self, now: Nanos) -> Next {
        loop {
            if let Some(line) = self.script.pop_front() {
                let action = line.action.clone();
                self.current = Some(line);
                return Next::Do(action);
            }
            self.end_visit(now);
            let Some(visit) = self.visits.pop_front() else { return Next::End(RunOutcome::Done) };
            if now + self.dearest_visit + REPORT_RESERVE > self.plan.budget {
                self.skip(visit, &Reason::BudgetUsedUp);
                while let Some(visit) = self.visits.pop_front() {
                    self.skip(visit, &Reason::BudgetUsedUp);
                }
                return Next::End(RunOutcome::Done);
            }
            self.begin_visit(visit, now);
        }
    }

    fn begin_visit(&mut self, visit: Visit, now: Nanos) {
        if let std::collections::btree_map::Entry::Vacant(vacant) = self.begun_launches.entry(visit.launch) {
            vacant.insert(now);
            self.events.push(RunEvent::LaunchStarted { launch: visit.launch, at_us: self.epoch_us });
        }
        if let Some(Failures { in_a_row: MOST_FAILURES_IN_A_ROW.., last }) = self.failures.get(&visit.side) {
            let reason = Box::new(last.clone());
            self.skip(visit, &Reason::NotTriedAgain { reason });
            return;
        }
        self.events.push(RunEvent::VisitStarted { launch: visit.launch, side: visit.side });
        self.script = visit::script(&self.plan, visit).into();
        self.current_visit = Some(CurrentVisit {
            visit,
            started: now,
            measured_anything: false,
            latency: BTreeMap::new(),
            ended: BTreeSet::new(),
        });
    }

    fn end_visit(&mut self, now: Nanos) {
        let Some(current) = self.current_visit.take() else { return };
        self.dearest_visit = self.dearest_visit.max(now.saturating_sub(current.started));
        self.end_of_launch(current.visit.launch, now);
    }

    fn end_of_launch(&mut self, launch: u32, now: Nanos) {
        let Some(left) = self.left_of_launch.get_mut(&launch) else { return };
        *left = left.saturating_sub(1);
        if *left == 0 {
            let started = self.begun_launches.get(&launch).copied().unwrap_or(now);
            self.events.push(RunEvent::LaunchEnded {
                launch,
                took: now.saturating_sub(started),
                max_launches: self.plan.layout.rounds,
                active_steps: self.plan.steps.clone(),
                look: None,
            });
        }
    }

    /// Every trial of a visit that does not take place; if it took place before, that stays.
    fn skip(&mut self, visit: Visit, why: &Reason) {
        let again = self.before.again.contains(&(visit.launch, visit.side));
        for step in self.plan.steps.iter().filter(|_| !again) {
            let trial = TrialKey { launch: visit.launch, step: step.clone(), side: visit.side };
            let outcome = Outcome::Skipped { reason: why.clone() };
            self.events.push(RunEvent::TrialEnded { trial, outcome, latency: None });
        }
        let now = self.begun_launches.get(&visit.launch).copied().unwrap_or_default();
        self.end_of_launch(visit.launch, now);
    }

    fn take_in(&mut self, line: &Line, performed: Performed) {
        match (line.meaning, performed) {
            (Meaning::Measured, Performed::Block(measured)) => {
                self.take_block(line, BlockKind::Whole, *measured)
            }
            (Meaning::Drained, Performed::Block(measured)) => {
                self.take_block(line, BlockKind::Drain, *measured)
            }
            (Meaning::DbBench, Performed::DbBench(run)) => self.take_db_bench(line, *run),
            (Meaning::ShapeBefore, Performed::Replies(replies)) => {
                self.take_shape(line, replies, Moment::Before);
            }
            (Meaning::ShapeAfter, Performed::Replies(replies)) => {
                self.take_shape(line, replies, Moment::After)
            }
            (Meaning::ShapeSettled, Performed::Replies(replies)) => {
                self.take_shape(line, replies, Moment::Settled);
            }
            (Meaning::EngineText(moment, what), Performed::Replies(replies)) => {
                for (worker, reply) in replies {
                    if let (Some(step), Reply::Text { text: Some(text) }) = (&line.step, reply) {
                        let name = self.last_plans.name_to_keep(what, step, worker.side, moment, &text);
                        if let Some(name) = name {
                            self.tell_text(worker.side, name, text);
                        }
                    }
                }
            }
            (Meaning::Latency, Performed::Replies(replies)) => {
                for (_, reply) in replies {
                    if let (Some(current), Some(step), Reply::StepFinished { latency, companions }) =
                        (&mut self.current_visit, &line.step, reply)
                    {
                        let streams = streams(&self.plan, step).into_iter();
                        current.latency = streams.zip(std::iter::once(latency).chain(companions)).collect();
                    }
                }
            }
            (Meaning::Raw, Performed::Texts(texts)) => {
                if let Action::Collect { worker } = &line.action {
                    for (name, text) in texts {
                        self.tell_text(worker.side, name, text);
                    }
                }
            }
            (_, _) => {}
        }
        self.end_trial_after(line);
    }

    /// A trial is over when the next line is of another step.
    fn end_trial_after(&mut self, line: &Line) {
        let Some(step) = &line.step else { return };
        if self.script.front().is_some_and(|next| next.step.as_ref() == Some(step)) {
            return;
        }
        for stream in streams(&self.plan, step) {
            let latency = self.current_visit.as_mut().and_then(|current| current.latency.remove(&stream));
            self.end_trial(stream, Outcome::Done, latency);
        }
    }

    fn end_trial(&mut self, step: String, outcome: Outcome, latency: Option<Latency>) {
        let Some(current) = &mut self.current_visit else { return };
        if !self.plan.steps.contains(&step) || !current.ended.insert(step.clone()) {
            return;
        }
        let trial = TrialKey { launch: current.visit.launch, step, side: current.visit.side };
        self.events.push(RunEvent::TrialEnded { trial, outcome, latency });
    }

    fn tell_text(&mut self, side: Side, name: String, text: String) {
        let Some(current) = &self.current_visit else { return };
        self.events.push(RunEvent::RawOutput { launch: current.visit.launch, side, name, text });
    }

    fn take_shape(
        &mut self,
        line: &Line,
        replies: Vec<(crate::campaign::action::WorkerId, Reply)>,
        moment: Moment,
    ) {
        let Some(current) = &self.current_visit else { return };
        for (worker, reply) in replies {
            if let (Some(step), Reply::Shape(shape)) = (&line.step, reply) {
                let trial = TrialKey { launch: current.visit.launch, step: step.clone(), side: worker.side };
                self.events.push(RunEvent::ShapeRead { trial, moment, shape });
            }
        }
    }

    fn take_db_bench(&mut self, line: &Line, run: DbBenchRun) {
        let Action::RunDbBench { trial, .. } = &line.action else { return };
        if let Some(current) = &mut self.current_visit {
            current.latency.extend(run.latency.map(|latency| (trial.step.clone(), latency)));
        }
        self.take_block(line, BlockKind::Whole, run.measured);
    }

    fn take_block(&mut self, line: &Line, kind: BlockKind, measured: MeasuredBlock) {
        let (Action::Measure { trial, position, .. }
        | Action::Drain { trial, position, .. }
        | Action::RunDbBench { trial, position, .. }) = &line.action
        else {
            return;
        };
        if let Some(current) = &mut self.current_visit {
            current.measured_anything = true;
            self.failures.remove(&current.visit.side);
        }
        for (trial, measured) in measured.streams(&self.plan, trial) {
            self.take_stream(trial, kind, *position, measured);
        }
    }

    fn take_stream(&mut self, trial: TrialKey, kind: BlockKind, position: u32, measured: MeasuredBlock) {
        self.events.extend(measured.failed_operations(&self.plan, &trial));
        self.events.extend(measured.retries(&self.plan, &trial));
        self.events.extend(measured.behind_its_rate(&self.plan, &trial));
        if let Some(call) = &measured.report.api {
            self.calls.insert((trial.step.clone(), trial.side), call.clone());
            self.tell_different_calls(&trial.step);
        }
        let block = measured.into_block(trial, kind, position);
        self.events.push(RunEvent::BlockMeasured(Box::new(block)));
    }

    /// A step that calls another function of the engine than it does on the base compares two APIs as well as two
    /// releases. Told once for each side, as soon as the base is known.
    fn tell_different_calls(&mut self, step: &str) {
        let Some(of_base) = self.calls.get(&(step.to_owned(), BASE)) else { return };
        for ((of_step, side), function) in &self.calls {
            let key = (of_step.clone(), *side);
            if of_step == step && function != of_base && self.told_calls.insert(key) {
                let call = |side: Side, function: &String| ApiCall {
                    subject: self.plan.subjects[side].reference.to_string(),
                    function: function.clone(),
                };
                let warning =
                    Warning::ApiDiffers { calls: vec![call(*side, function)], base: call(BASE, of_base) };
                self.events.push(RunEvent::Warned { step: Some(step.to_owned()), warning });
            }
        }
    }

    /// Records what failed; the outcome where the run cannot go on.
    fn take_failure(&mut self, failure: &Failure) -> Option<RunOutcome> {
        let line = self.current.take()?;
        match failure.severity {
            Severity::Interrupted => return Some(RunOutcome::Interrupted),
            Severity::Run => {
                // The other steps keep no outcome: the visit is not complete, and `--resume` measures it again.
                if let Some(step) = self.step_that_failed(&line) {
                    self.end_trial(step, Outcome::Failed { reason: failure.as_reason() }, None);
                }
                return Some(RunOutcome::Failed);
            }
            Severity::NotSupported | Severity::Step => {
                if let Some(step) = line.step {
                    self.script.retain(|other| other.step.as_ref() != Some(&step));
                    for stream in streams(&self.plan, &step) {
                        self.end_trial(stream, Outcome::Failed { reason: failure.as_reason() }, None);
                    }
                }
            }
            Severity::Launch => {
                self.fail_visit(&line, failure);
                self.script.clear();
                if line.action != Action::Abandon {
                    let abandon =
                        Line { meaning: Meaning::Done, action: Action::Abandon, step: None, ..line };
                    self.script.push_front(abandon);
                }
            }
        }
        None
    }

    /// The step of the visit whose trial keeps why a line failed. A step that was not chosen has no trial: the first that was waiting for
    /// it does.
    fn step_that_failed(&self, line: &Line) -> Option<String> {
        let current = self.current_visit.as_ref()?;
        let has_trial = |step: &&String| self.plan.steps.contains(*step);
        let waits = || self.plan.steps.iter().find(|step| !current.ended.contains(*step));
        line.step.as_ref().filter(has_trial).or_else(waits).cloned()
    }

    /// The step under way failed; what would have followed it in this visit is skipped.
    fn fail_visit(&mut self, line: &Line, failure: &Failure) {
        let Some(current) = &self.current_visit else { return };
        if !current.measured_anything {
            let last = failure.as_reason();
            let before = self.failures.get(&current.visit.side).map_or(0, |failures| failures.in_a_row);
            self.failures.insert(current.visit.side, Failures { in_a_row: before + 1, last });
        }
        let pending: Vec<String> =
            self.plan.steps.iter().filter(|step| !current.ended.contains(*step)).cloned().collect();
        let at = self.step_that_failed(line).unwrap_or_default();
        let at_once = streams(&self.plan, &at);
        for step in pending {
            let outcome = if at_once.contains(&step) {
                Outcome::Failed { reason: failure.as_reason() }
            } else {
                Outcome::Skipped { reason: Reason::FailedBefore { step: at.clone() } }
            };
            self.end_trial(step, outcome, None);
        }
    }
}

/// The names of a step and of its companions: their trials begin and end together.
fn streams(plan: &Plan, step: &str) -> Vec<String> {
    plan.workload.streams(step).map(str::to_owned).collect()
}

impl Schedule for Rounds {
    fn next(&mut self, event: Event, now: Nanos, epoch_us: i64) -> (Next, Vec<RunEvent>) {
        self.epoch_us = epoch_us;
        match event {
            Event::Begin => {}
            Event::Ended(Ok(performed)) => {
                if let Some(line) = self.current.take() {
                    self.take_in(&line, performed);
                }
            }
            Event::Ended(Err(failure)) => {
                if let Some(outcome) = self.take_failure(&failure) {
                    return (Next::End(outcome), std::mem::take(&mut self.events));
                }
            }
        }
        let next = self.advance(now);
        (next, std::mem::take(&mut self.events))
    }
}
