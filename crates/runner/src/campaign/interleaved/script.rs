//! The script of a launch: which actions, in which order, with every random choice drawn from the run's seed.
//! Pure: the same plan, launch and sizes give the same script.

use super::sizes::BlockSizes;
use super::steps::{all_keys_exist, needed_own_steps, oldest_side};
use crate::campaign::action::{Action, DATABASE, DataAfter, Line, Meaning, Part, Role, SCRATCH, WorkerId};
use crate::campaign::draws::{generator, shuffle};
use crate::campaign::query_plans;
use crate::campaign::setup::step_setup;
use model::block::{BASE, Side, TrialKey};
use model::config::rocksdb_option_string;
use model::event::Moment;
use model::plan::Plan;
use model::units::Nanos;
use model::wire::{BlockLimit, EngineText, Request, StepSetup};
use model::workload::sql::Tables;
use model::workload::{DatabaseKind, Operation, Settle, Step};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A request that does nothing heavy is answered within this, even on a busy host.
const REQUEST_TIMEOUT: Nanos = Nanos::from_secs(60);
/// Opening, loading and scanning a data set, and settling it: a timeout against hangs, not an expectation.
const LONG_TIMEOUT: Nanos = Nanos::from_secs(600);
/// Blocks before the first measured one of a read step (statistics 1.1: 0.2 s with blocks of 100 ms); the
/// block cache has been filled by a scan before.
const WARM_UP_BLOCKS: u32 = 2;
/// Blocks of the pilot for each step but a fill, which runs to its end.
const PILOT_BLOCKS: u32 = 3;

/// Who and what is still measured.
#[derive(Debug, Clone, Copy)]
pub struct Left<'a> {
    pub steps: &'a BTreeSet<String>,
    /// In ascending order.
    pub sides: &'a [Side],
    /// Those whose build can make the image for all.
    pub builders: &'a [Side],
}

/// The script of a launch with what is left.
pub fn launch(plan: &Plan, launch: u32, left: Left<'_>, sizes: &BlockSizes) -> Vec<Line> {
    let mut random = generator(plan.seed, launch);
    let data_seed = random.next_u64();
    let mut slots: Vec<usize> = (0..left.sides.len()).collect();
    shuffle(&mut slots, &mut random);
    let sides = left.sides.to_vec();
    let builder = oldest_side(plan, left.builders);
    let active = left.steps;
    let is_scanned = false;
    let mut script =
        Script { plan, launch, data_seed, sides, slots, builder, random, is_scanned, lines: Vec::new() };
    script.own_part(active, sizes);
    script.image_part(active);
    script.lines
}

/// The script that learns block sizes on the base; empty where no chosen step writes.
pub fn pilot(plan: &Plan, active: &BTreeSet<String>) -> Vec<Line> {
    let random = generator(plan.seed, 0);
    let mut script = Script {
        plan,
        launch: 0,
        data_seed: plan.seed,
        sides: vec![BASE],
        slots: vec![0],
        builder: BASE,
        random,
        is_scanned: false,
        lines: Vec::new(),
    };
    script.pilot_part(active);
    script.lines
}

struct Script<'a> {
    plan: &'a Plan,
    launch: u32,
    data_seed: u64,
    sides: Vec<Side>,
    /// Of each of them, in their order.
    slots: Vec<usize>,
    /// Who makes the image for all.
    builder: Side,
    random: Xoshiro256PlusPlus,
    /// Whether all rows were read once since something was written.
    is_scanned: bool,
    lines: Vec<Line>,
}

impl<'a> Script<'a> {
    fn own_part(&mut self, active: &BTreeSet<String>, sizes: &BlockSizes) {
        let steps = needed_own_steps(self.plan, active);
        if steps.is_empty() {
            return;
        }
        let part = Part::Own;
        let writers = self.workers(Role::Writer);
        let mut steps = steps;
        if self.plan.layout.cloned_data {
            let loads = steps.iter().take_while(|step| step.operation.is_one_go()).count();
            let rest = steps.split_off(loads);
            self.begin_on_clones(part, &steps, &writers);
            steps = rest;
        } else {
            self.begin(part, &writers);
        }
        self.open(part, &writers, true, "");
        for step in steps {
            if step.operation.is_one_go() {
                self.once(part, step, &writers);
            } else if step.writes() {
                self.write_step(step, &writers, sizes, self.is_measured(step, active));
                self.settle(part, step, &writers, step.settle);
            } else {
                if self.is_measured(step, active) {
                    self.read_step(part, step, &writers);
                }
                // Also where nothing was read: what was written before it, a load too, settles here for those after it.
                self.settle(part, step, &writers, step.settle);
            }
        }
        self.end(part, &writers);
    }

    /// One side, another one in each launch, loads a data directory and ends; all sides start on clones of it, and read
    /// them once, for a server that has loaded has the tables in its caches.
    fn begin_on_clones(&mut self, part: Part, loads: &[&Step], writers: &[WorkerId]) {
        // The slots were drawn, and so is who has the first.
        let builder = WorkerId { role: Role::Builder, ..writers[0] };
        self.begin(part, &[builder]);
        for step in loads {
            self.once(part, step, &[builder]);
        }
        self.ask_all(part, None, &[builder], LONG_TIMEOUT, &Request::Close);
        self.push(part, None, Meaning::Raw, Action::Collect { worker: builder });
        let stop = Action::Stop { workers: vec![builder], data: DataAfter::Needed };
        self.push(part, None, Meaning::Done, stop);
        self.make_directories(part, writers);
        let link = Action::LinkImage { builder, readers: writers.to_vec() };
        self.push(part, None, Meaning::Done, link);
        self.push(part, None, Meaning::Done, Action::RemoveDirectories { workers: vec![builder] });
        self.push(part, None, Meaning::Done, Action::Start { workers: writers.to_vec() });
        self.scan(part, None, writers);
    }

    /// Whether the step or one that runs beside it still has no verdict.
    fn is_measured(&self, step: &Step, active: &BTreeSet<String>) -> bool {
        self.plan.workload.streams(&step.name).any(|stream| active.contains(stream))
    }

    fn write_step(&mut self, step: &Step, writers: &[WorkerId], sizes: &BlockSizes, measured: bool) {
        let part = Part::Own;
        let Some(operations) = sizes.operations(step, &self.plan.workload.data) else { return };
        let cycles = BlockSizes::cycles(step, &self.plan.workload.data, operations);
        if measured {
            self.look(part, step, writers, Moment::Before);
            self.shapes(part, step, writers, Meaning::ShapeBefore);
        }
        self.fill_cache(part, step, writers);
        self.prepare(part, step, writers);
        if measured {
            self.cycles(part, step, writers, cycles, BlockLimit::Operations { count: operations });
        } else {
            // A step that has its verdict still makes the tree for those after it.
            self.unmeasured(part, step, writers, operations * u64::from(cycles));
        }
        self.is_scanned = false;
        self.finish(part, step, writers, measured);
        if measured {
            self.shapes(part, step, writers, Meaning::ShapeAfter);
            self.look(part, step, writers, Moment::After);
        }
    }

    fn read_step(&mut self, part: Part, step: &Step, readers: &[WorkerId]) {
        self.look(part, step, readers, Moment::Before);
        self.shapes(part, step, readers, Meaning::ShapeBefore);
        if part == Part::Own {
            self.fill_cache(part, step, readers);
        }
        self.prepare(part, step, readers);
        let limit = BlockLimit::Time { wall: step.block };
        // Counters would have warm-up blocks in them, whose operations are not counted.
        let warm_ups = if self.plan.layout.reads_status { 0 } else { WARM_UP_BLOCKS };
        for _ in 0..warm_ups {
            let warm = Request::RunBlock { limit, warm_up: true, seconds: false };
            self.ask_all(part, Some(step), readers, LONG_TIMEOUT, &warm);
        }
        self.cycles(part, step, readers, step.cycles, limit);
        self.finish(part, step, readers, true);
        self.look(part, step, readers, Moment::After);
    }

    /// A step that cannot be cut into blocks: it is done, on all sides at once, and not measured.
    fn once(&mut self, part: Part, step: &Step, workers: &[WorkerId]) {
        let to = match step.operation {
            Operation::Compact => Settle::FullyCompacted,
            Operation::LoadTables | Operation::BuildIndexes | Operation::LayOutFile => {
                self.prepare(part, step, workers);
                self.unmeasured(part, step, workers, self.plan.workload.data.keys);
                self.finish(part, step, workers, false);
                step.settle
            }
            Operation::Settle
            | Operation::FillSequential
            | Operation::FillRandom
            | Operation::Overwrite
            | Operation::ReadRandom
            | Operation::MultiRead { .. }
            | Operation::ReadSequential { .. }
            | Operation::SeekRandom { .. }
            | Operation::BuildFiles { .. }
            | Operation::Transaction(_)
            | Operation::Fio(_) => step.settle,
        };
        self.settle(part, step, workers, to);
    }

    fn unmeasured(&mut self, part: Part, step: &Step, workers: &[WorkerId], count: u64) {
        let limit = BlockLimit::Operations { count };
        let block = Request::RunBlock { limit, warm_up: true, seconds: false };
        self.ask_all(part, Some(step), workers, LONG_TIMEOUT, &block);
    }

    fn settle(&mut self, part: Part, step: &Step, workers: &[WorkerId], to: Settle) {
        if to != Settle::None {
            self.is_scanned = false;
            let settle = Request::Settle { to, timeout: LONG_TIMEOUT };
            self.ask_all(part, Some(step), workers, LONG_TIMEOUT, &settle);
        }
    }

    fn image_part(&mut self, active: &BTreeSet<String>) {
        let mut steps: Vec<&Step> = self
            .plan
            .chosen_steps()
            .filter(|step| step.database == DatabaseKind::Image && active.contains(&step.name))
            .collect();
        if steps.is_empty() {
            return;
        }
        shuffle(&mut steps, &mut self.random);
        let part = Part::Image;
        let readers = self.workers(Role::Reader);
        let builders = self.builders(&readers);
        for (builder, _) in &builders {
            self.build_image(*builder);
        }
        self.make_directories(part, &readers);
        for (builder, readers) in &builders {
            let link = Action::LinkImage { builder: *builder, readers: readers.clone() };
            self.push(part, None, Meaning::Done, link);
        }
        self.push(part, None, Meaning::Done, Action::Start { workers: readers.clone() });
        self.open(part, &readers, false, ";disable_auto_compactions=true");
        let workers = builders.into_iter().map(|(builder, _)| builder).collect();
        self.push(part, None, Meaning::Done, Action::RemoveDirectories { workers });
        self.scan(part, None, &readers);
        for step in steps {
            self.read_step(part, step, &readers);
        }
        self.end(part, &readers);
    }

    /// What was written or compacted last is in no block cache yet: reads would be the slower the earlier they are.
    fn fill_cache(&mut self, part: Part, step: &Step, workers: &[WorkerId]) {
        let is_lsm = !self.plan.workload.is_sql() && !self.plan.workload.is_fio();
        if is_lsm && !self.is_scanned && step.operation.finds_keys() && all_keys_exist(self.plan, step) {
            self.scan(part, Some(step), workers);
            self.is_scanned = true;
        }
    }

    /// Reads all rows once: with them the block cache has what fits into it.
    fn scan(&mut self, part: Part, step: Option<&Step>, readers: &[WorkerId]) {
        let tables = self.plan.workload.tables.as_ref().map(Tables::names).unwrap_or_default();
        let scan = Request::Scan { data: self.plan.workload.data, tables };
        self.ask_all(part, step, readers, LONG_TIMEOUT, &scan);
    }

    /// Who makes images, and for whom: the oldest release for all, or each build for itself.
    fn builders(&self, readers: &[WorkerId]) -> Vec<(WorkerId, Vec<WorkerId>)> {
        if self.plan.own_image {
            return readers
                .iter()
                .map(|reader| (WorkerId { role: Role::Builder, ..*reader }, vec![*reader]))
                .collect();
        }
        let builder = WorkerId { role: Role::Builder, side: self.builder, slot: 0 };
        vec![(builder, readers.to_vec())]
    }

    fn build_image(&mut self, builder: WorkerId) {
        let part = Part::Image;
        let workers = [builder];
        self.begin(part, &workers);
        self.open(part, &workers, true, "");
        let load = Request::BulkLoad {
            data: self.plan.workload.data,
            seed: self.data_seed,
            threads: 2,
            scratch: PathBuf::from(SCRATCH),
        };
        self.ask_all(part, None, &workers, LONG_TIMEOUT, &load);
        let shape = Action::Ask { requests: vec![(builder, Request::ReadShape)], timeout: REQUEST_TIMEOUT };
        self.push(part, None, Meaning::ImageShape, shape);
        self.ask_all(part, None, &workers, REQUEST_TIMEOUT, &Request::Close);
        let stop = Action::Stop { workers: workers.to_vec(), data: DataAfter::Needed };
        self.push(part, None, Meaning::Done, stop);
    }

    fn pilot_part(&mut self, active: &BTreeSet<String>) {
        let steps = needed_own_steps(self.plan, active);
        if steps.is_empty() {
            return;
        }
        let part = Part::Pilot;
        let workers = [WorkerId { role: Role::Writer, side: BASE, slot: 0 }];
        self.begin(part, &workers);
        self.open(part, &workers, true, "");
        for step in steps {
            if step.operation.is_one_go() {
                self.once(part, step, &workers);
                continue;
            }
            if !step.writes() {
                // Its blocks are of the time that it states; what was written before it settles here all the same.
                self.settle(part, step, &workers, step.settle);
                continue;
            }
            self.fill_cache(part, step, &workers);
            self.prepare(part, step, &workers);
            let fills = step.operation.fills();
            let (blocks, limit) = if fills {
                (1, BlockLimit::Operations { count: self.plan.workload.data.keys })
            } else {
                (PILOT_BLOCKS, BlockLimit::Time { wall: step.block })
            };
            for _ in 0..blocks {
                let requests = vec![(workers[0], Request::RunBlock { limit, warm_up: true, seconds: false })];
                let ask = Action::Ask { requests, timeout: LONG_TIMEOUT };
                self.push(part, Some(step), Meaning::Sized, ask);
            }
            self.finish(part, step, &workers, false);
            self.settle(part, step, &workers, step.settle);
        }
        self.end(part, &workers);
    }

    /// The workers of a role, in the order of their slots: the order in which they are started.
    fn workers(&self, role: Role) -> Vec<WorkerId> {
        let mut workers: Vec<WorkerId> = self
            .slots
            .iter()
            .zip(&self.sides)
            .map(|(slot, side)| WorkerId { role, side: *side, slot: *slot })
            .collect();
        workers.sort_by_key(|worker| worker.slot);
        workers
    }

    fn begin(&mut self, part: Part, workers: &[WorkerId]) {
        self.make_directories(part, workers);
        self.push(part, None, Meaning::Done, Action::Start { workers: workers.to_vec() });
    }

    fn make_directories(&mut self, part: Part, workers: &[WorkerId]) {
        let make = Action::MakeDirectories { launch: self.launch, workers: workers.to_vec() };
        self.push(part, None, Meaning::Done, make);
    }

    /// Opens a database; a worker is connected to a server from its start on.
    fn open(&mut self, part: Part, workers: &[WorkerId], create: bool, more_options: &str) {
        if self.plan.workload.is_sql() {
            return;
        }
        let requests = workers
            .iter()
            .map(|worker| {
                let options = rocksdb_option_string(&self.plan.subjects[worker.side].options);
                let request = Request::Open {
                    directory: PathBuf::from(DATABASE),
                    options: format!("{options}{more_options}"),
                    create,
                    tickers: false,
                };
                (*worker, request)
            })
            .collect();
        self.push(part, None, Meaning::Done, Action::Ask { requests, timeout: LONG_TIMEOUT });
    }

    fn setup(&self, step: &Step, side: Side) -> StepSetup {
        let all_keys_exist = all_keys_exist(self.plan, step);
        StepSetup { all_keys_exist, ..step_setup(self.plan, step, side, self.data_seed) }
    }

    /// How the servers would run the statements of the step; and, if the plan asks for it, what they have counted. That is read before the
    /// connections of the step are opened and after they are closed, because a server may count what a connection did only when it ends.
    fn look(&mut self, part: Part, step: &Step, workers: &[WorkerId], moment: Moment) {
        let explain = |worker: &WorkerId| query_plans::request(self.setup(step, worker.side));
        let explains: Vec<(WorkerId, Request)> =
            workers.iter().filter_map(|worker| Some((*worker, explain(worker)?))).collect();
        let read = |worker: &WorkerId| (*worker, Request::ReadText { what: EngineText::Status });
        let reads_status = self.plan.layout.reads_status;
        let reads: Vec<(WorkerId, Request)> = workers.iter().filter(|_| reads_status).map(read).collect();
        // EXPLAIN itself is kept out of the counters: asked before the first reading and after the last.
        let mut texts = [(EngineText::QueryPlans, explains), (EngineText::Status, reads)];
        if moment == Moment::After {
            texts.reverse();
        }
        for (what, requests) in texts.into_iter().filter(|(_, requests)| !requests.is_empty()) {
            let meaning = Meaning::EngineText(moment, what);
            self.push(part, Some(step), meaning, Action::Ask { requests, timeout: REQUEST_TIMEOUT });
        }
    }

    fn prepare(&mut self, part: Part, step: &Step, workers: &[WorkerId]) {
        let request =
            |worker: &WorkerId| (*worker, Request::Prepare(Box::new(self.setup(step, worker.side))));
        let requests = workers.iter().map(request).collect();
        self.push(part, Some(step), Meaning::Done, Action::Ask { requests, timeout: REQUEST_TIMEOUT });
    }

    fn cycles(&mut self, part: Part, step: &Step, workers: &[WorkerId], cycles: u32, limit: BlockLimit) {
        if step.writes() {
            self.push(part, Some(step), Meaning::Done, Action::DrainDevice);
        }
        let workers = workers.to_vec();
        self.push(part, Some(step), Meaning::Done, Action::Freeze { workers: workers.clone() });
        for cycle in 0..cycles {
            let mut order = workers.clone();
            shuffle(&mut order, &mut self.random);
            for (worker, position) in order.into_iter().zip(0..) {
                let trial = TrialKey { launch: self.launch, step: step.name.clone(), side: worker.side };
                let block = Action::RunBlock { worker, trial, cycle, position, limit };
                self.push(part, Some(step), Meaning::Measured, block);
            }
        }
        self.push(part, Some(step), Meaning::Done, Action::Thaw { workers });
    }

    fn finish(&mut self, part: Part, step: &Step, workers: &[WorkerId], measured: bool) {
        let meaning = if measured { Meaning::Latency } else { Meaning::Done };
        let requests = workers.iter().map(|worker| (*worker, Request::FinishStep)).collect();
        self.push(part, Some(step), meaning, Action::Ask { requests, timeout: REQUEST_TIMEOUT });
    }

    fn shapes(&mut self, part: Part, step: &Step, workers: &[WorkerId], meaning: Meaning) {
        if self.plan.workload.is_sql() || self.plan.workload.is_fio() {
            return; // no LSM tree whose levels could be told
        }
        let requests = workers.iter().map(|worker| (*worker, Request::ReadShape)).collect();
        self.push(part, Some(step), meaning, Action::Ask { requests, timeout: REQUEST_TIMEOUT });
    }

    fn end(&mut self, part: Part, workers: &[WorkerId]) {
        self.ask_all(part, None, workers, LONG_TIMEOUT, &Request::Close);
        for worker in workers {
            self.push(part, None, Meaning::Raw, Action::Collect { worker: *worker });
        }
        let stop = Action::Stop { workers: workers.to_vec(), data: DataAfter::Removed };
        self.push(part, None, Meaning::Done, stop);
        self.push(part, None, Meaning::Done, Action::RemoveDirectories { workers: workers.to_vec() });
    }

    fn ask_all(
        &mut self,
        part: Part,
        step: Option<&Step>,
        workers: &[WorkerId],
        timeout: Nanos,
        request: &Request,
    ) {
        let requests = workers.iter().map(|worker| (*worker, request.clone())).collect();
        self.push(part, step, Meaning::Done, Action::Ask { requests, timeout });
    }

    fn push(&mut self, part: Part, step: Option<&Step>, meaning: Meaning, action: Action) {
        let step = step.map(|step| step.name.clone());
        self.lines.push(Line { part, step, meaning, action });
    }
}
