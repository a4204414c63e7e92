//! What is said of a run alike in every design: which run, its subjects, how its trials ended, its trees.

use super::{Comparison, Repeats, ShapeRow, SubjectView};
use crate::again::{self, Again};
use crate::background_rates;
use crate::differs;
use crate::judge;
use crate::labels::told_apart;
use crate::query_plans;
use model::block::{BASE, Outcome, Side};
use model::block_cache;
use model::plan::{Design, LoopDevice, Purpose};
use model::record::{RunRecord, RunStatus, ShapeRecord};
use model::units::Bytes;
use model::workload::Step;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Which run, and how far it came.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    pub purpose: Purpose,
    pub status: RunStatus,
    pub workload: String,
    /// Version of dbdyno that measured.
    pub tool_version: String,
    /// The seed of all its random choices.
    pub seed: u64,
    /// Launches or rounds that ended.
    pub launches: u32,
    /// The most that there could be.
    pub max_launches: u32,
    /// The last launch after which its verdicts were looked at; of interleaved launches alone.
    pub looked_at: Option<u32>,
    /// Wall time from start to end, in seconds; absent where it is unfinished.
    pub elapsed_s: Option<f64>,
    /// How it is measured again: the whole of it, also where a part is shown.
    pub again: Again,
}

/// What a run was measured under.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// How the trials were laid out in time.
    pub design: Design,
    /// Subjects that were measured, those included that a selection leaves out.
    pub subjects: usize,
    /// Processes of the base in each launch.
    pub base_processes: usize,
    /// Candidates in each launch; all if absent.
    pub candidates_at_once: Option<usize>,
    /// Times that each of them ran the sequence, as planned; 0 where they were interleaved.
    pub rounds: u32,
    /// Steps of the workload that another run of the campaign has, by another design.
    pub steps_of_other_run: Vec<String>,
    /// Whether the data is one file that fio reads and writes.
    pub file_of_fio: bool,
    /// Rows of the data set.
    pub rows: u64,
    pub data: Bytes,
    /// Block cache, where the options name one; absent where the subjects differ.
    pub cache: Option<Bytes>,
    /// Most memory of a worker, page cache included.
    pub memory_limit: Option<Bytes>,
    /// A device of its own for the databases.
    pub loop_device: Option<LoopDevice>,
    /// The device that the databases lay on, where it is known and no loop device.
    pub device: Option<String>,
    /// Whether the engine counted its tickers.
    pub tickers: bool,
}

/// An option that builds do not know and that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OmittedView {
    pub option: String,
    /// The value that it was to have.
    pub value: String,
    pub subjects: Vec<String>,
}

/// How the trials ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trials {
    /// All blocks measured.
    pub done: u32,
    /// Something broke.
    pub failed: u32,
    /// Not tried.
    pub skipped: u32,
    /// Those that are not done, gathered by reason.
    pub reasons: Vec<TrialReason>,
}

impl Trials {
    /// Trials of a step of a subject that failed.
    pub fn failed_of(&self, step: &str, subject: &str) -> usize {
        let failed = self.reasons.iter().filter(|one| !one.skipped);
        let of_it = failed.filter(|one| one.step == step && one.subject == subject);
        of_it.map(|one| one.launches.len()).sum()
    }
}

/// Trials of one step of one subject that were not done, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrialReason {
    pub step: String,
    pub subject: String,
    /// Whether it was not even tried.
    pub skipped: bool,
    pub reason: String,
    /// In which launches or rounds.
    pub launches: Vec<u32>,
}

impl TrialReason {
    /// `skipped`, `failed`
    pub fn outcome(&self) -> &'static str {
        if self.skipped { "skipped" } else { "failed" }
    }
}

pub(crate) fn run(record: &RunRecord) -> RunFacts {
    let ended = record.launches.iter().filter(|launch| launch.took.is_some()).count();
    let elapsed_us = record.ended_at_us.map(|ended| ended.saturating_sub(record.started_at_us));
    let layout = &record.plan.layout;
    RunFacts {
        id: record.id.clone(),
        name: record.name.clone(),
        purpose: record.plan.purpose,
        status: record.status,
        workload: record.plan.workload.name.clone(),
        tool_version: record.plan.tool_version.clone(),
        seed: record.plan.seed,
        launches: u32::try_from(ended).unwrap_or(u32::MAX),
        max_launches: match layout.design {
            Design::Interleaved => judge::rule(record).max_launches,
            Design::Rounds | Design::Sequential => layout.rounds,
        },
        looked_at: record
            .launches
            .iter()
            .rev()
            .find(|launch| launch.look.is_some())
            .map(|launch| launch.launch),
        elapsed_s: elapsed_us.map(|elapsed| elapsed as f64 / 1e6),
        again: again::again(&record.plan),
    }
}

/// What a view has whatever the design, before its steps are judged.
pub(super) fn comparison(record: &RunRecord, repeats: Repeats) -> Comparison {
    let plan = &record.plan;
    Comparison {
        run: run(record),
        repeats,
        tells: plan.workload.tells.clone(),
        does_not_tell: plan.workload.does_not_tell.clone(),
        conditions: conditions(record),
        base: subject(record, BASE),
        margin: plan.rule.margin,
        alpha: plan.rule.alpha,
        subjects: subjects(record),
        left_out: plan.layout.left_out.clone(),
        omitted: omitted(record),
        trials: trials(record),
        disturbed: Vec::new(),
        steps: Vec::new(),
        visible: BTreeMap::new(),
        groups: Vec::new(),
        depths: Vec::new(),
        companions: plan
            .chosen_steps()
            .filter(|step| step.is_companion())
            .map(|step| step.name.clone())
            .collect(),
        background_rates: background_rates::of(plan, &record.blocks),
        plan_changes: query_plans::changes(plan, record),
        sweeps: Vec::new(),
        changes: Vec::new(),
        trends: Vec::new(),
        searched_series: 0,
        stalls: Vec::new(),
        courses: Vec::new(),
        control: None,
        warnings: Vec::new(),
        cost: record.cost,
        of_servers: plan.workload.is_sql(),
        host: record.host.clone(),
        fingerprint: record.fingerprint.clone(),
    }
}

/// A subject as the user named it.
pub(crate) fn subject(record: &RunRecord, side: Side) -> String {
    let subject = record.plan.subjects.get(side);
    subject.map_or_else(|| format!("side {side}"), |subject| subject.reference.to_string())
}

/// The subjects by their sides; where all share one engine, their labels leave it out.
pub(super) fn subjects(record: &RunRecord) -> Vec<SubjectView> {
    let plan = &record.plan;
    let engines: BTreeSet<&str> =
        plan.distinct_subjects().iter().map(|subject| subject.reference.build.engine.as_str()).collect();
    let short = |subject: &model::plan::Subject| {
        let full = subject.reference.to_string();
        match full.split_once('@') {
            Some((_, rest)) if engines.len() == 1 => rest.to_owned(),
            _ => full,
        }
    };
    let labels = told_apart(plan.distinct_subjects().iter().map(short));
    let of_subject = |((side, subject), label): ((Side, &model::plan::Subject), String)| SubjectView {
        side,
        label,
        subject: subject.reference.to_string(),
        version: subject.reference.build.version.clone(),
        config: subject.reference.config.clone(),
        db_bench: plan.layout.db_bench.contains_key(&side),
        differs: match side {
            BASE => Vec::new(),
            candidate => differs::between(record, differs::Sides { base: BASE, candidate }),
        },
    };
    plan.distinct_subjects().iter().enumerate().zip(labels).map(of_subject).collect()
}

pub(crate) fn trials(record: &RunRecord) -> Trials {
    let mut trials = Trials::default();
    let mut reasons: BTreeMap<(&str, Side, bool, String), Vec<u32>> = BTreeMap::new();
    for ended in &record.trials {
        let (skipped, reason) = match &ended.outcome {
            Outcome::Done => {
                trials.done += 1;
                continue;
            }
            Outcome::Failed { reason } => (false, reason),
            Outcome::Skipped { reason } => (true, reason),
        };
        trials.failed += u32::from(!skipped);
        trials.skipped += u32::from(skipped);
        let key = (ended.trial.step.as_str(), ended.trial.side, skipped, reason.to_string());
        reasons.entry(key).or_default().push(ended.trial.launch);
    }
    let reason = |((step, side, skipped, reason), launches): ((&str, Side, bool, String), Vec<u32>)| {
        TrialReason { step: step.to_owned(), subject: subject(record, side), skipped, reason, launches }
    };
    trials.reasons = reasons.into_iter().map(reason).collect();
    trials
}

/// The trees of a step in the last launch of each side that has any, in the order that they were read.
pub(super) fn shapes(record: &RunRecord, step: &Step) -> Vec<ShapeRow> {
    let sides = 0..record.plan.subjects.len();
    let of_side = |side: Side| -> Vec<&ShapeRecord> {
        let read =
            record.shapes.iter().filter(|read| read.trial.step == step.name && read.trial.side == side);
        let all: Vec<&ShapeRecord> = read.collect();
        let last = all.iter().map(|read| read.trial.launch).max();
        all.into_iter().filter(|read| Some(read.trial.launch) == last).collect()
    };
    let row = |read: &ShapeRecord| ShapeRow {
        step: step.name.clone(),
        side: read.trial.side,
        moment: read.moment,
        launch: read.trial.launch,
        shape: read.shape.clone(),
    };
    sides.flat_map(|side| of_side(side).into_iter().map(row)).collect()
}

pub(super) fn conditions(record: &RunRecord) -> Conditions {
    let plan = &record.plan;
    let caches: BTreeSet<Option<Bytes>> =
        plan.subjects.iter().map(|subject| block_cache::size(&subject.options)).collect();
    let cache = match caches.into_iter().collect::<Vec<_>>()[..] {
        [Some(one)] => Some(one),
        _ => None,
    };
    Conditions {
        steps_of_other_run: plan.layout.steps_of_other_run.clone(),
        design: plan.layout.design,
        subjects: plan.distinct_subjects().len(),
        base_processes: 1 + plan.layout.further_base_processes,
        candidates_at_once: plan.layout.candidates_at_once,
        rounds: plan.layout.rounds,
        file_of_fio: plan.workload.is_fio(),
        rows: plan.workload.data.keys,
        data: plan.workload.data.size(),
        cache,
        memory_limit: plan.layout.memory_limit,
        loop_device: plan.layout.loop_device.clone(),
        device: record.host.device.clone(),
        tickers: plan.layout.tickers,
    }
}

/// Options that were left out, each with all subjects that lack it.
pub(super) fn omitted(record: &RunRecord) -> Vec<OmittedView> {
    let mut by_option: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for one in &record.plan.layout.omitted_options {
        by_option.entry((&one.option, &one.value)).or_default().push(subject(record, one.side));
    }
    let view = |((option, value), subjects): ((&str, &str), Vec<String>)| OmittedView {
        option: option.to_owned(),
        value: value.to_owned(),
        subjects,
    };
    by_option.into_iter().map(view).collect()
}

/// Each once, in the order of the first.
pub(crate) fn each_once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once: Vec<T> = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}
