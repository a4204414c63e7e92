//! From a record to the view of a campaign.

use super::columns::COLUMNS;
use super::compare::{comparisons, judge_together};
use super::disturbed;
use super::engine;
use super::findings::findings;
use super::groups::groups;
use super::values::{Cells, TrialData, Values, done_trials, values};
use super::view::{CampaignView, Conditions, OmittedView, StepRow, StepView, SubjectView};
use crate::assemble::{all_warnings, run_facts, subject, trials};
use crate::view::ShapeRow;
use model::block::{BASE, Side};
use model::plan::Plan;
use model::record::{API_DIFFERS, RunRecord, RunWarning};
use model::units::Bytes;
use model::workload::Step;
use std::collections::{BTreeMap, BTreeSet};

/// The option that names the size of the block cache.
const BLOCK_CACHE: &str = "block_based_table_factory.block_cache";

/// The view of a campaign. What failed or was not done yet is left out of every number and listed with its reason.
pub fn build(record: &RunRecord) -> CampaignView {
    let plan = &record.plan;
    let done = done_trials(record);
    let mut warnings = other_calls_gathered(all_warnings(record));
    warnings.extend(wrong_answers(&done));
    let (mut cells, unread) = cells(record, &done);
    warnings.extend(unread);
    let medians = disturbed::medians(&cells);
    warnings.extend(disturbed::busy_host(&medians));
    let disturbed = disturbed::set_aside(&mut cells, &medians);
    let seconds = seconds(&done);
    let (findings, searched_series) = findings(plan, &cells);
    let mut steps: Vec<StepView> =
        plan.chosen_steps().map(|step| step_view(step, record, &cells, &seconds)).collect();
    judge_together(&mut steps, plan);
    CampaignView {
        run: run_facts(record),
        tells: plan.workload.tells.clone(),
        does_not_tell: plan.workload.does_not_tell.clone(),
        conditions: conditions(record),
        base: subject(record, BASE),
        margin: plan.rule.margin,
        alpha: plan.rule.alpha,
        subjects: subjects(plan),
        left_out: plan.layout.left_out.clone(),
        omitted: omitted(record),
        trials: trials(record),
        disturbed,
        groups: groups(&steps, &cells, plan),
        steps,
        findings,
        searched_series,
        warnings,
        cost: record.cost,
        of_servers: record.plan.workload.is_sql(),
        host: record.host.clone(),
    }
}

/// The warnings that steps call other functions of the engine, one for each step: the candidates' names, then what is
/// said of the first.
fn other_calls_gathered(warnings: Vec<RunWarning>) -> Vec<RunWarning> {
    let mut gathered: Vec<RunWarning> = Vec::new();
    for warning in warnings {
        let of_step = |earlier: &&mut RunWarning| earlier.id == warning.id && earlier.step == warning.step;
        let earlier = (warning.id == API_DIFFERS).then(|| gathered.iter_mut().find(of_step)).flatten();
        match (earlier, warning.text.split_once(' ')) {
            (Some(earlier), Some((candidate, _))) => earlier.text = format!("{candidate}, {}", earlier.text),
            (_, _) => gathered.push(warning),
        }
    }
    gathered
}

/// The values of every trial that is done, and a warning for engine texts that could not be read.
pub(super) fn cells(record: &RunRecord, done: &[TrialData<'_>]) -> (Cells, Option<RunWarning>) {
    let texts = engine::Texts::of(record);
    let mut cells = Cells::new();
    let mut unread: BTreeMap<Side, (u32, String)> = BTreeMap::new();
    for trial in done {
        let Some(step) = record.plan.workload.steps.iter().find(|step| step.name == trial.key.step) else {
            continue;
        };
        let mut values = values(trial, step, &record.plan, &record.host);
        for problem in texts.add(&mut values, trial) {
            let (count, _) = unread.entry(trial.key.side).or_insert((0_u32, problem.clone()));
            *count += 1;
        }
        let rounds = cells.entry((trial.key.step.clone(), trial.key.side)).or_default();
        rounds.insert(trial.key.launch, values);
    }
    let unread = (!unread.is_empty()).then(|| RunWarning {
        step: None,
        id: "engine-text-unread".to_owned(),
        text: format!(
            "what the engine said of itself could not be read, its columns are absent: {}",
            unread
                .into_iter()
                .map(|(side, (count, first))| format!(
                    "{} ({count} texts; the first: {first})",
                    subject(record, side)
                ))
                .collect::<Vec<_>>()
                .join("; ")
        ),
    });
    (cells, unread)
}

fn seconds(done: &[TrialData<'_>]) -> BTreeMap<(String, Side), f64> {
    let mut seconds = BTreeMap::new();
    for trial in done {
        *seconds.entry((trial.key.step.clone(), trial.key.side)).or_insert(0.0) += trial.seconds();
    }
    seconds
}

fn wrong_answers(done: &[TrialData<'_>]) -> Option<RunWarning> {
    let wrong: u64 = done.iter().map(TrialData::failed_operations).sum();
    (wrong > 0).then(|| RunWarning {
        step: None,
        id: "failed-operations".to_owned(),
        text: format!("{wrong} operations of trials that count returned an error or a wrong answer"),
    })
}

fn step_view(
    step: &Step,
    record: &RunRecord,
    cells: &Cells,
    seconds: &BTreeMap<(String, Side), f64>,
) -> StepView {
    let sides = 0..record.plan.subjects.len();
    let rows: Vec<StepRow> = sides
        .filter_map(|side| {
            let rounds = cells.get(&(step.name.clone(), side))?;
            Some(StepRow {
                side,
                mean: Values::mean(rounds.values()),
                rounds: rounds.iter().map(|(round, values)| (*round, values.clone())).collect(),
            })
        })
        .collect();
    let has = |metric: &str| rows.iter().any(|row| row.mean.get(metric).is_some());
    StepView {
        name: step.name.clone(),
        group: step.group,
        helper: step.helper,
        columns: COLUMNS.iter().filter(|column| has(column.metric)).collect(),
        rows,
        comparisons: comparisons(cells, step, record, seconds),
        shapes: shapes(step, record),
    }
}

/// The trees of the last round of each subject, in the order that they were read.
fn shapes(step: &Step, record: &RunRecord) -> Vec<ShapeRow> {
    let sides = 0..record.plan.subjects.len();
    sides
        .flat_map(|side| {
            let of_side = || {
                let of_step = record.shapes.iter().filter(|read| read.trial.step == step.name);
                of_step.filter(move |read| read.trial.side == side)
            };
            let last = of_side().map(|read| read.trial.launch).max();
            of_side().filter(move |read| Some(read.trial.launch) == last).map(move |read| ShapeRow {
                step: step.name.clone(),
                subject: subject(record, side),
                moment: read.moment,
                launch: read.trial.launch,
                shape: read.shape.clone(),
            })
        })
        .collect()
}

fn conditions(record: &RunRecord) -> Conditions {
    let plan = &record.plan;
    let caches: BTreeSet<Option<&String>> =
        plan.subjects.iter().map(|subject| subject.options.get(BLOCK_CACHE)).collect();
    let cache = match caches.into_iter().collect::<Vec<_>>().as_slice() {
        [Some(one)] => one.parse().ok().map(Bytes),
        _ => None,
    };
    Conditions {
        design: plan.layout.design,
        subjects: plan.subjects.len(),
        rounds: plan.layout.rounds,
        rows: plan.workload.data.keys,
        data: plan.workload.data.size(),
        cache,
        memory_limit: plan.layout.memory_limit,
        loop_device: plan.layout.loop_device.clone(),
        device: record.host.device.clone(),
        tickers: plan.layout.tickers,
    }
}

/// The subjects; where all share one engine, their labels leave it out.
fn subjects(plan: &Plan) -> Vec<SubjectView> {
    let engines: BTreeSet<&str> =
        plan.subjects.iter().map(|subject| subject.reference.build.engine.as_str()).collect();
    let of_subject = |(side, subject): (Side, &model::plan::Subject)| {
        let full = subject.reference.to_string();
        let label = match full.split_once('@') {
            Some((_, rest)) if engines.len() == 1 => rest.to_owned(),
            _ => full.clone(),
        };
        SubjectView {
            side,
            label,
            subject: full,
            version: subject.reference.build.version.clone(),
            config: subject.reference.config.clone(),
            db_bench: plan.layout.db_bench.contains_key(&side),
        }
    };
    plan.subjects.iter().enumerate().map(of_subject).collect()
}

/// Options that were left out, each with all subjects that lack it.
fn omitted(record: &RunRecord) -> Vec<OmittedView> {
    let mut by_option: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for one in &record.plan.layout.omitted_options {
        by_option.entry((&one.option, &one.value)).or_default().push(subject(record, one.side));
    }
    by_option
        .into_iter()
        .map(|((option, value), subjects)| OmittedView {
            option: option.to_owned(),
            value: value.to_owned(),
            subjects,
        })
        .collect()
}
