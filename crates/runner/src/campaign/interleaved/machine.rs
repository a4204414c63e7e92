//! The state machine of a run: `next(event) -> action`, with no clock, process or file of its own.
//!
//! pilot -> launch 1 -> (fix the largest number of launches) -> launch 2 -> ... -> end. A failure ends one
//! part of one launch; the other part and the next launches go on ([`super::failures`]).

use super::incomplete::sides_of_launch;
use super::referee::{LaunchCost, Passed, Referee};
use super::script;
use super::sizes::BlockSizes;
use crate::campaign::action::{Action, Line, Meaning, Part, WorkerId};
use crate::campaign::draws::data_seed;
use crate::campaign::drive::{Event, Next, Schedule};
use crate::campaign::measured::MeasuredBlock;
use crate::campaign::query_plans::LastPlans;
use crate::campaign::world::Performed;
use model::block::{Block, BlockKind, Outcome, Side, TrialKey};
use model::event::{Moment, RunEvent, RunOutcome};
use model::plan::Plan;
use model::reason::LeaveReason;
use model::units::Nanos;
use model::warning::Warning;
use model::wire::{EngineText, Reply};
use model::workload::DatabaseKind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// A step that failed in this many launches leaves: the next one would fail too.
const MOST_FAILED_LAUNCHES: u32 = 3;
/// Kept of the budget for the report.
const REPORT_RESERVE: Nanos = Nanos::from_secs(2);

/// A run in progress.
pub struct Campaign<R> {
    pub(super) plan: Plan,
    referee: R,
    sizes: BlockSizes,
    /// Steps without a verdict.
    pub(super) active: BTreeSet<String>,
    pub(super) script: VecDeque<Line>,
    pub(super) current: Option<Line>,
    pub(super) launch: Launch,
    max_launches: Option<u32>,
    /// When the first launch began.
    first_started: Nanos,
    /// The number of the first launch: after those of a run that is gone on with.
    first_launch: u32,
    /// From which share of the time to which it goes.
    shares: Range<f64>,
    /// Whether no launch comes after the last one.
    was_last: bool,
    last_cost: LaunchCost,
    failed_launches: BTreeMap<String, u32>,
    /// Sides that go on, and how many launches in a row each of them failed in.
    pub(super) sides: BTreeMap<Side, u32>,
    /// Sides that could not make the image for all.
    pub(super) no_builders: BTreeSet<Side>,
    delayed_steps: BTreeSet<String>,
    /// Steps and sides of which it was told that events were sent again.
    retried: BTreeSet<(String, Side)>,
    last_plans: LastPlans,
    pub(super) events: Vec<RunEvent>,
    epoch_us: i64,
}

/// What a run has that is gone on with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Before {
    /// The last launch that ended; 0 if none has.
    pub launches: u32,
    /// Absent if the first did not end.
    pub max_launches: Option<u32>,
    /// Steps that have left.
    pub left: BTreeSet<String>,
    /// The time that there is for its further launches.
    pub budget: Nanos,
    /// The share of all time at which the first of these begins, and at the end: 1, or 2 of an extension.
    pub shares: Range<f64>,
}

/// The launch in progress; number 0 is the pilot.
#[derive(Default)]
pub(super) struct Launch {
    pub(super) number: u32,
    started: Nanos,
    part_started: Nanos,
    cost: LaunchCost,
    blocks: Vec<Block>,
    /// Those that it has; all of the pilot.
    pub(super) sides: Vec<Side>,
    pub(super) ended: BTreeSet<String>,
    pub(super) failed: BTreeSet<String>,
    /// Steps that a side is not in, while the others go on.
    pub(super) lost: BTreeSet<(String, Side)>,
    /// Sides that could not be started.
    pub(super) broken: BTreeSet<Side>,
}

impl Default for LaunchCost {
    fn default() -> Self {
        LaunchCost { own: Nanos(0), image: Nanos(0) }
    }
}

impl<R: Referee> Schedule for Campaign<R> {
    fn next(&mut self, event: Event, now: Nanos, epoch_us: i64) -> (Next, Vec<RunEvent>) {
        self.epoch_us = epoch_us;
        match event {
            Event::Begin if self.was_last => {}
            Event::Begin => self.script = script::pilot(&self.plan, &self.active).into(),
            Event::Ended(Ok(performed)) => {
                if let Some(line) = self.current.take() {
                    self.take_in(&line, performed, now);
                }
            }
            Event::Ended(Err(failure)) => {
                if let Some(outcome) = self.take_failure(failure, now) {
                    return (Next::End(outcome), std::mem::take(&mut self.events));
                }
            }
        }
        let next = self.advance(now);
        (next, std::mem::take(&mut self.events))
    }
}

impl<R: Referee> Campaign<R> {
    /// A run that has not begun.
    pub fn new(plan: Plan, referee: R) -> Campaign<R> {
        let active = plan.steps.iter().cloned().collect();
        let sides: Vec<Side> = (0..plan.subjects.len()).collect();
        Campaign {
            sides: sides.iter().map(|side| (*side, 0)).collect(),
            no_builders: BTreeSet::new(),
            plan,
            referee,
            sizes: BlockSizes::default(),
            active,
            script: VecDeque::new(),
            current: None,
            launch: Launch { sides, ..Launch::default() },
            max_launches: None,
            first_started: Nanos(0),
            first_launch: 1,
            shares: 0.0..1.0,
            was_last: false,
            last_cost: LaunchCost::default(),
            failed_launches: BTreeMap::new(),
            delayed_steps: BTreeSet::new(),
            retried: BTreeSet::new(),
            last_plans: LastPlans::default(),
            events: Vec::new(),
            epoch_us: 0,
        }
    }

    /// A run that is gone on with. Time that has passed between is no part of its budget.
    pub fn resumed(mut plan: Plan, referee: R, before: Before) -> Campaign<R> {
        plan.budget = before.budget;
        let mut campaign = Campaign::new(plan, referee);
        campaign.active.retain(|step| !before.left.contains(step));
        campaign.first_launch = before.launches + 1;
        // Of one that was stopped after its last launch only the end is to come.
        campaign.was_last = before.max_launches.is_some_and(|most| before.launches >= most);
        campaign.max_launches = before.max_launches;
        campaign.shares = before.shares;
        campaign
    }

    fn advance(&mut self, now: Nanos) -> Next {
        loop {
            if let Some(line) = self.script.pop_front() {
                let action = line.action.clone();
                self.current = Some(line);
                return Next::Do(action);
            }
            if let Some(outcome) = self.end_launch(now) {
                return Next::End(outcome);
            }
            self.begin_launch(now);
        }
    }

    fn begin_launch(&mut self, now: Nanos) {
        let number = if self.launch.number == 0 { self.first_launch } else { self.launch.number + 1 };
        if number == self.first_launch {
            self.first_started = now;
        }
        self.launch = Launch { number, started: now, part_started: now, ..Launch::default() };
        self.events.push(RunEvent::LaunchStarted { launch: number, at_us: self.epoch_us });
        let going_on: Vec<Side> = self.sides.keys().copied().collect();
        let sides = sides_of_launch(&self.plan, &going_on, number);
        self.launch.sides = sides.clone();
        let mut builders = sides.clone();
        builders.retain(|side| !self.no_builders.contains(side));
        let builders = if builders.is_empty() { &sides } else { &builders };
        let left = script::Left { steps: &self.active, sides: &sides, builders };
        self.script = script::launch(&self.plan, number, left, &self.sizes).into();
    }

    /// Closes the launch whose script is done; the outcome where the run is over.
    fn end_launch(&mut self, now: Nanos) -> Option<RunOutcome> {
        if self.launch.number > 0 {
            self.close_launch(now);
        }
        if self.nothing_to_compare() {
            return Some(RunOutcome::Failed);
        }
        if self.active.is_empty() {
            let nothing_measured = self.launch.number == 0 && self.first_launch == 1;
            return Some(if nothing_measured { RunOutcome::Failed } else { RunOutcome::Done });
        }
        self.was_last.then_some(RunOutcome::Done)
    }

    /// How far the run came with this launch, by time: what a step that left would have cost is spent on the others.
    fn passed(&self, launch: u32, now: Nanos) -> Passed {
        let next_cost = self.part_cost(DatabaseKind::Own) + self.part_cost(DatabaseKind::Image);
        let out_of_time = now + next_cost + REPORT_RESERVE > self.plan.budget;
        let is_last = out_of_time || self.max_launches.is_some_and(|most| launch >= most);
        let end = self.plan.budget.saturating_sub(REPORT_RESERVE).saturating_sub(self.first_started);
        let of_rest =
            now.saturating_sub(self.first_started).as_secs_f64() / end.as_secs_f64().max(f64::MIN_POSITIVE);
        let Range { start, end } = self.shares;
        // It never is the end's, unless it is the end.
        let share = start + (end - start) * of_rest.clamp(1e-9, 1.0 - 1e-9);
        Passed { launch, share: if is_last { end } else { share }, is_last }
    }

    /// What the part cost last time, where a step of it is still active.
    fn part_cost(&self, kind: DatabaseKind) -> Nanos {
        if !self.is_active(kind) {
            return Nanos(0);
        }
        match kind {
            DatabaseKind::Own => self.last_cost.own,
            DatabaseKind::Image => self.last_cost.image,
        }
    }

    fn is_active(&self, kind: DatabaseKind) -> bool {
        self.plan.chosen_steps().any(|step| step.database == kind && self.active.contains(&step.name))
    }

    fn close_launch(&mut self, now: Nanos) {
        let launch = std::mem::take(&mut self.launch);
        self.launch.number = launch.number;
        self.last_cost = launch.cost;
        let complete: BTreeSet<String> = launch.ended.difference(&launch.failed).cloned().collect();
        let blocks: Vec<Block> = launch
            .blocks
            .into_iter()
            .filter(|block| {
                let trial = &block.trial;
                complete.contains(&trial.step) && !launch.lost.contains(&(trial.step.clone(), trial.side))
            })
            .collect();
        self.count_failures(&launch.sides, &launch.lost, &launch.broken, &blocks);
        if self.max_launches.is_none() {
            let left = self.plan.budget.saturating_sub(now + REPORT_RESERVE);
            let fixed = self.referee.fix(launch.cost, left, &self.active);
            self.max_launches = Some(fixed.max_launches);
            self.events.push(RunEvent::MaxLaunchesFixed { max_launches: fixed.max_launches });
            for (step, reason) in fixed.dropped {
                self.leave(&step, reason);
            }
        }
        let passed = self.passed(launch.number, now);
        self.was_last = passed.is_last;
        let said = self.referee.after_launch(&blocks, &self.active, passed);
        for (step, candidate, warning) in said.announced {
            self.events.push(RunEvent::Announced { step, candidate, warning: Box::new(warning) });
        }
        for (step, reason) in said.left {
            self.leave(&step, reason);
        }
        for step in launch.failed {
            let failures = self.failed_launches.entry(step.clone()).or_insert(0);
            *failures += 1;
            if *failures >= MOST_FAILED_LAUNCHES {
                self.leave(&step, LeaveReason::LaunchesFailed { launches: MOST_FAILED_LAUNCHES });
            }
        }
        self.events.push(RunEvent::LaunchEnded {
            launch: launch.number,
            took: now.saturating_sub(launch.started),
            max_launches: self.max_launches.unwrap_or(0),
            active_steps: self.active.iter().cloned().collect(),
            look: said.look,
        });
    }

    pub(super) fn leave(&mut self, step: &str, reason: LeaveReason) {
        if self.active.remove(step) {
            let launch = self.launch.number;
            self.events.push(RunEvent::StepLeft { step: step.to_owned(), launch, reason });
        }
    }

    pub(super) fn take_in(&mut self, line: &Line, performed: Performed, now: Nanos) {
        match (line.meaning, performed) {
            (Meaning::Measured, Performed::Block(measured)) => self.take_block(line, *measured),
            (Meaning::Sized, Performed::Replies(replies)) => {
                for (_, reply) in replies {
                    if let (Some(step), Reply::Block(report)) = (&line.step, reply) {
                        self.sizes.learn(step, &report);
                    }
                }
            }
            (Meaning::ImageShape, Performed::Replies(replies)) => self.take_image(replies, now),
            (Meaning::ShapeBefore, Performed::Replies(replies)) => {
                self.take_shapes(line, replies, Moment::Before);
            }
            (Meaning::ShapeAfter, Performed::Replies(replies)) => {
                self.take_shapes(line, replies, Moment::After);
            }
            (Meaning::EngineText(moment, what), Performed::Replies(replies)) => {
                self.take_engine_texts(line, replies, moment, what);
            }
            (Meaning::Latency, Performed::Replies(replies)) => self.take_latency(line, replies),
            (Meaning::Raw, Performed::Texts(texts)) => self.take_texts(line, texts),
            (_, _) => {}
        }
        let last_of_part = self.script.front().is_none_or(|next| next.part != line.part);
        if last_of_part {
            let took = now.saturating_sub(self.launch.part_started);
            match line.part {
                Part::Own => self.launch.cost.own = took,
                Part::Image => self.launch.cost.image = took,
                Part::Pilot | Part::Visit => {}
            }
            self.launch.part_started = now;
        }
    }

    fn take_block(&mut self, line: &Line, measured: MeasuredBlock) {
        let Action::RunBlock { trial, cycle, position, .. } = &line.action else { return };
        for (trial, measured) in measured.streams(&self.plan, trial) {
            // One that has its verdict runs on beside another that has none.
            if self.active.contains(&trial.step) {
                self.take_stream(&trial, BlockKind::Cycle(*cycle), *position, measured);
            }
        }
    }

    fn take_stream(&mut self, trial: &TrialKey, kind: BlockKind, position: u32, measured: MeasuredBlock) {
        self.events.extend(measured.failed_operations(&self.plan, trial));
        if let Some(retries) = measured.retries(&self.plan, trial)
            && self.retried.insert((trial.step.clone(), trial.side))
        {
            self.events.push(retries);
        }
        if measured.report.writes_delayed {
            self.warn_of_delay(&trial.step);
        }
        let block = measured.into_block(trial.clone(), kind, position);
        self.launch.blocks.push(block.clone());
        self.events.push(RunEvent::BlockMeasured(Box::new(block)));
    }

    /// Once per step: the credit of delayed writes refills by elapsed time, frozen time included, so that
    /// interleaved blocks flatter a side that is delayed (statistics 1.9, rule 14).
    fn warn_of_delay(&mut self, step: &str) {
        if self.delayed_steps.insert(step.to_owned()) {
            self.events.push(RunEvent::Warned {
                step: Some(step.to_owned()),
                warning: Warning::WritesDelayed { step: step.to_owned() },
            });
        }
    }

    fn take_image(&mut self, replies: Vec<(WorkerId, Reply)>, now: Nanos) {
        let launch = self.launch.number;
        for (_, reply) in replies {
            if let Reply::Shape(shape) = reply {
                self.events.push(RunEvent::ImageBuilt {
                    launch,
                    image: launch,
                    seed: data_seed(self.plan.seed, launch),
                    shape,
                    took: now.saturating_sub(self.launch.part_started),
                });
            }
        }
    }

    fn take_shapes(&mut self, line: &Line, replies: Vec<(WorkerId, Reply)>, moment: Moment) {
        // A step that only makes the tree for another one has no trial that a shape could belong to.
        let judged = line.step.as_ref().filter(|step| self.active.contains(*step));
        for (worker, reply) in replies {
            if let (Some(step), Reply::Shape(shape)) = (judged, reply) {
                let trial = TrialKey { launch: self.launch.number, step: step.clone(), side: worker.side };
                self.events.push(RunEvent::ShapeRead { trial, moment, shape });
            }
        }
    }

    fn take_engine_texts(
        &mut self,
        line: &Line,
        replies: Vec<(WorkerId, Reply)>,
        moment: Moment,
        what: EngineText,
    ) {
        let Some(step) = &line.step else { return };
        for (worker, reply) in replies {
            let Reply::Text { text: Some(text) } = reply else { continue };
            if let Some(name) = self.last_plans.name_to_keep(what, step, worker.side, moment, &text) {
                let launch = self.launch.number;
                self.events.push(RunEvent::RawOutput { launch, side: worker.side, name, text });
            }
        }
    }

    fn take_latency(&mut self, line: &Line, replies: Vec<(WorkerId, Reply)>) {
        let Some(step) = &line.step else { return };
        let streams: Vec<&str> = self.plan.workload.streams(step).collect();
        for (worker, reply) in replies {
            let mut latencies = match reply {
                Reply::StepFinished { latency, companions } => {
                    std::iter::once(latency).chain(companions).collect::<VecDeque<_>>()
                }
                _ => VecDeque::new(),
            };
            for stream in &streams {
                let latency = latencies.pop_front();
                if !self.active.contains(*stream) {
                    continue;
                }
                self.launch.ended.insert((*stream).to_owned());
                let trial =
                    TrialKey { launch: self.launch.number, step: (*stream).to_owned(), side: worker.side };
                self.events.push(RunEvent::TrialEnded { trial, outcome: Outcome::Done, latency });
            }
        }
    }

    fn take_texts(&mut self, line: &Line, texts: Vec<(String, String)>) {
        let Action::Collect { worker } = &line.action else { return };
        for (name, text) in texts {
            let launch = self.launch.number;
            self.events.push(RunEvent::RawOutput { launch, side: worker.side, name, text });
        }
    }
}
