//! The script of one visit: the whole sequence on one subject, step after step, by our worker or by the user's
//! db_bench. Pure.

use super::visits::Visit;
use crate::campaign::action::{Action, DATABASE, DataAfter, Line, Meaning, Part, Role, WorkerId};
use crate::campaign::draws::data_seed;
use crate::campaign::query_plans;
use crate::campaign::setup::step_setup;
use model::block::TrialKey;
use model::config::{overlaid, rocksdb_option_string};
use model::event::Moment;
use model::plan::Plan;
use model::units::Nanos;
use model::wire::{EngineText, Request, StepSetup};
use model::workload::{Operation, Settle, Step};
use std::path::PathBuf;

/// A request that does nothing heavy is answered within this, even on a busy host.
const REQUEST_TIMEOUT: Nanos = Nanos::from_secs(60);
/// Opening replays a log, closing may flush: a timeout against hangs, not an expectation.
const OPEN_TIMEOUT: Nanos = Nanos::from_secs(600);
/// The script of a visit.
pub fn script(plan: &Plan, visit: Visit) -> Vec<Line> {
    if plan.layout.db_bench.contains_key(&visit.side) {
        return super::db_bench::script(plan, visit, &needed_steps(plan));
    }
    let worker = WorkerId { role: Role::Writer, side: visit.side, slot: 0 };
    let mut script = Script { plan, visit, worker, lines: Vec::new() };
    script.push(None, Meaning::Done, Action::MakeDirectories { launch: visit.launch, workers: vec![worker] });
    let steps = needed_steps(plan);
    let all_keys_exist = steps.iter().all(|step| step.operation != Operation::FillRandom);
    for (step, index) in steps.iter().zip(0..) {
        if !(step.same_process && index > 0) {
            script.begin_process(step, index);
        }
        script.step(step, all_keys_exist);
    }
    script.end_process(DataAfter::Removed);
    script.push(None, Meaning::Done, Action::RemoveDirectories { workers: vec![worker] });
    script.lines
}

/// The steps of a visit; companions come with the step that they are beside.
fn needed_steps(plan: &Plan) -> Vec<&Step> {
    let mut steps = plan.workload.steps_of_turn(&plan.steps, &plan.layout.steps_of_other_run);
    steps.retain(|step| !step.is_companion());
    steps
}

struct Script<'a> {
    plan: &'a Plan,
    visit: Visit,
    worker: WorkerId,
    lines: Vec<Line>,
}

impl Script<'_> {
    /// A fresh process for the step, with an empty block cache, as each db_bench of Small Datum is; of a server, one that has been
    /// stopped in order and started again.
    fn begin_process(&mut self, step: &Step, index: usize) {
        let fills = step.operation.fills();
        if index > 0 {
            self.end_process(if fills { DataAfter::Removed } else { DataAfter::Needed });
        }
        if fills && index > 0 {
            self.push(Some(step), Meaning::Done, Action::RemoveDatabase { worker: self.worker });
        }
        if step.cold {
            self.push(Some(step), Meaning::Done, Action::Evict { worker: self.worker });
        }
        self.push(Some(step), Meaning::Done, Action::Start { workers: vec![self.worker] });
        if self.plan.workload.is_sql() {
            return; // a worker is connected to a server from its start on
        }
        let mut options = overlaid(&self.plan.subjects[self.visit.side].options, &step.options);
        let omitted = &self.plan.layout.omitted_options;
        options
            .retain(|name, _| !omitted.iter().any(|one| one.side == self.visit.side && one.option == *name));
        let open = Request::Open {
            directory: PathBuf::from(DATABASE),
            options: rocksdb_option_string(&options),
            create: fills,
            tickers: self.plan.layout.tickers,
        };
        self.ask(Some(step), Meaning::Done, open, OPEN_TIMEOUT);
    }

    fn end_process(&mut self, data: DataAfter) {
        let worker = self.worker;
        self.ask(None, Meaning::Done, Request::Close, OPEN_TIMEOUT);
        self.push(None, Meaning::Raw, Action::Collect { worker });
        self.push(None, Meaning::Done, Action::Stop { workers: vec![worker], data });
    }

    fn step(&mut self, step: &Step, all_keys_exist: bool) {
        let setup = self.setup(step, all_keys_exist);
        // Outside of what is looked at before and after: the server counts these statements too. A planner may read pages of indexes.
        if !step.cold {
            self.explain(step, &setup, Moment::Before);
        }
        self.look(step, Moment::Before);
        let limit = step.limit(&self.plan.workload.data);
        if !step.only_settles() {
            let prepare = Request::Prepare(Box::new(setup.clone()));
            self.ask(Some(step), Meaning::Done, prepare, REQUEST_TIMEOUT);
            let measure = Action::Measure {
                worker: self.worker,
                trial: self.trial(step),
                position: self.visit.position,
                limit,
                timeout: step.timeout(&self.plan.workload.data),
            };
            self.push(Some(step), Meaning::Measured, measure);
            self.ask(Some(step), Meaning::Latency, Request::FinishStep, REQUEST_TIMEOUT);
            self.look(step, Moment::After);
            self.explain(step, &setup, Moment::After);
        }
        if step.settle != Settle::None {
            let drain = Action::Drain {
                worker: self.worker,
                trial: self.trial(step),
                position: self.visit.position,
                to: step.settle,
                timeout: step.grace,
            };
            self.push(Some(step), Meaning::Drained, drain);
            self.look(step, Moment::Settled);
        }
    }

    fn explain(&mut self, step: &Step, setup: &StepSetup, moment: Moment) {
        if let Some(request) = query_plans::request(setup.clone()) {
            let meaning = Meaning::EngineText(moment, EngineText::QueryPlans);
            self.ask(Some(step), meaning, request, REQUEST_TIMEOUT);
        }
    }

    /// Reads the shape of a tree and what the engine says of itself; of a server its settings once.
    fn look(&mut self, step: &Step, moment: Moment) {
        let shape = match moment {
            Moment::Before => Meaning::ShapeBefore,
            Moment::After => Meaning::ShapeAfter,
            Moment::Settled => Meaning::ShapeSettled,
        };
        let texts = if self.plan.workload.is_sql() {
            if step.operation.fills() && moment == Moment::Before {
                vec![EngineText::Settings]
            } else {
                vec![EngineText::Status]
            }
        } else if self.plan.workload.is_fio() {
            // It says something of a step that it has run, and has no tree.
            if moment == Moment::After { vec![EngineText::Stats] } else { return }
        } else {
            self.ask(Some(step), shape, Request::ReadShape, REQUEST_TIMEOUT);
            if self.plan.layout.tickers {
                vec![EngineText::Stats, EngineText::Tickers]
            } else {
                vec![EngineText::Stats]
            }
        };
        for what in texts {
            let meaning = Meaning::EngineText(moment, what);
            self.ask(Some(step), meaning, Request::ReadText { what }, REQUEST_TIMEOUT);
        }
    }

    fn setup(&self, step: &Step, all_keys_exist: bool) -> StepSetup {
        let data_seed = data_seed(self.plan.seed, self.visit.launch);
        StepSetup { all_keys_exist, ..step_setup(self.plan, step, self.visit.side, data_seed) }
    }

    fn trial(&self, step: &Step) -> TrialKey {
        TrialKey { launch: self.visit.launch, step: step.name.clone(), side: self.visit.side }
    }

    fn ask(&mut self, step: Option<&Step>, meaning: Meaning, request: Request, timeout: Nanos) {
        let requests = vec![(self.worker, request)];
        self.push(step, meaning, Action::Ask { requests, timeout });
    }

    fn push(&mut self, step: Option<&Step>, meaning: Meaning, action: Action) {
        let step = step.map(|step| step.name.clone());
        self.lines.push(Line { part: Part::Visit, step, meaning, action });
    }
}
