//! The view of a run in complete rounds, or one after another. The order of reading is that of the numbers: `values` makes
//! the metrics of one trial, `against_base` holds each candidate against the base, `changes` looks along the releases of
//! each configuration.

mod against_base;
mod changes;
mod disturbed;
mod drift;
mod moved;
mod seconds;
mod series;
mod values;

pub(crate) use changes::{OverReleases, over_releases};
pub(crate) use moved::FOLLOW_THE_RATE;
pub(crate) use series::series_of;
pub(crate) use values::Cells;

use super::{Comparison, Course, Disturbed, Repeats, Stall, StepView, SubjectRow, Values};
use super::{depths, facts, sweeps};
use against_base::{Together, cases, groups, judge_together};
use analysis::course;
use formats::engine_log::EngineWork;
use model::block::{Outcome, Side};
use model::metric::Metric;
use model::plan::Plan;
use model::reason::{MOST_FAILURES_IN_A_ROW, Reason};
use model::record::{RunRecord, RunWarning};
use model::warning::Warning;
use model::workload::Step;
use std::collections::BTreeMap;
use values::{TrialData, cells, done_trials};

/// What failed or was not done yet is left out of every number and listed with its reason.
pub(crate) fn build(record: &RunRecord) -> Comparison {
    let plan = &record.plan;
    let done = done_trials(record);
    let mut warnings = other_calls_gathered(facts::each_once(record.warnings.iter().cloned()));
    warnings.extend(wrong_answers(&done));
    warnings.extend(subjects_that_left(record));
    let Counted { cells, unread, medians, disturbed } = counted(record, &done);
    warnings.extend(unread);
    warnings.extend(disturbed::busy_host(&medians));
    let wall_times = wall_times(&done);
    let over_releases = changes::over_releases(plan, &cells);
    let mut together = Together::default();
    let mut steps: Vec<StepView> =
        plan.chosen_steps().map(|step| step_view(step, record, &cells, &wall_times, &mut together)).collect();
    judge_together(&mut steps, plan, &together.alone);
    Comparison {
        disturbed,
        depths: depths::of(plan, &steps),
        sweeps: sweeps::of(plan, &steps, &cells, plan.rule.alpha),
        groups: groups(&steps, &cells, record),
        steps,
        visible: together.visible,
        changes: over_releases.changes,
        trends: over_releases.trends,
        searched_series: over_releases.searched_series,
        stalls: stalls(&done, record),
        courses: courses(&done, plan),
        warnings,
        ..facts::comparison(record, Repeats::Rounds)
    }
}

/// The values that a run in rounds is judged by.
pub(crate) fn cells_that_count(record: &RunRecord) -> Cells {
    counted(record, &done_trials(record)).cells
}

/// The values of a run without those of disturbed trials, and what is said of both.
struct Counted {
    cells: Cells,
    unread: Option<RunWarning>,
    medians: disturbed::Medians,
    disturbed: Vec<Disturbed>,
}

fn counted(record: &RunRecord, done: &[TrialData<'_>]) -> Counted {
    let (mut cells, unread) = cells(record, done);
    let medians = disturbed::medians(&cells);
    let disturbed = disturbed::set_aside(&mut cells, &medians);
    Counted { cells, unread, medians, disturbed }
}

/// The subjects of which nothing was measured in the last rounds, so many that they were not tried again, or would not be.
fn subjects_that_left(record: &RunRecord) -> Vec<RunWarning> {
    let mut visits: BTreeMap<(Side, u32), Vec<&Outcome>> = BTreeMap::new();
    for ended in &record.trials {
        visits.entry((ended.trial.side, ended.trial.launch)).or_default().push(&ended.outcome);
    }
    let left = (0..record.plan.subjects.len()).filter_map(|side| {
        let of_side = visits.range((side, 0)..(side + 1, 0)).rev().map(|(_, outcomes)| outcomes);
        let lacking: Vec<&Reason> =
            of_side.map_while(|outcomes| why_nothing_was_measured(outcomes)).collect();
        let reason = *lacking.first()?;
        (lacking.len() as u64 >= u64::from(MOST_FAILURES_IN_A_ROW)).then(|| Warning::SubjectLeft {
            subject: record.plan.subjects[side].reference.to_string(),
            rounds: lacking.len() as u64,
            reason: reason.to_string(),
        })
    });
    left.map(|warning| RunWarning { step: None, warning }).collect()
}

/// Why a visit has nothing; absent if a trial of it is done, or none was tried for want of time.
fn why_nothing_was_measured<'a>(outcomes: &[&'a Outcome]) -> Option<&'a Reason> {
    if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Done)) {
        return None;
    }
    outcomes.iter().find_map(|outcome| match outcome {
        Outcome::Skipped { reason: Reason::NotTriedAgain { reason } } => Some(&**reason),
        Outcome::Failed { reason } => Some(reason),
        Outcome::Skipped { .. } | Outcome::Done => None,
    })
}

/// The warnings that steps call other functions of the engine, one for each step: the candidates' names, then what is
/// said of the first.
fn other_calls_gathered(warnings: Vec<RunWarning>) -> Vec<RunWarning> {
    let mut gathered: Vec<RunWarning> = Vec::new();
    for RunWarning { step, warning } in warnings {
        let Warning::ApiDiffers { calls: more, .. } = &warning else {
            gathered.push(RunWarning { step, warning });
            continue;
        };
        let earlier = gathered.iter_mut().filter(|earlier| earlier.step == step);
        let mut calls = earlier.filter_map(|earlier| match &mut earlier.warning {
            Warning::ApiDiffers { calls, .. } => Some(calls),
            _ => None,
        });
        match calls.next() {
            Some(calls) => calls.extend(more.iter().cloned()),
            None => gathered.push(RunWarning { step, warning }),
        }
    }
    gathered
}

/// The stalls of all trials that are done, the longest first.
fn stalls(done: &[TrialData<'_>], record: &RunRecord) -> Vec<Stall> {
    let works = record.engine_works.iter();
    let works: Vec<((u32, Side), EngineWork)> =
        works.filter_map(|one| Some(((one.launch, one.side), EngineWork::parse(&one.text)?))).collect();
    let mut stalls = Vec::new();
    for trial in done {
        let began_at_us = trial.measured.and_then(|block| block.started_at_us);
        let found = trial.rates().map(|rates| seconds::stretches(&rates)).unwrap_or_default();
        stalls.extend(found.into_iter().map(|(from_s, lasted_s, share)| {
            let began_at_us = began_at_us.map(|at| at + i64::from(from_s) * 1_000_000);
            let of_trial = works.iter().filter(|(of, _)| *of == (trial.key.launch, trial.key.side));
            Stall {
                step: trial.key.step.clone(),
                side: trial.key.side,
                round: trial.key.launch,
                from_s,
                lasted_s,
                share,
                began_at_us,
                engine: began_at_us.and_then(|from_us| {
                    worked(of_trial.map(|(_, work)| work), from_us, from_us + i64::from(lasted_s) * 1_000_000)
                }),
            }
        }));
    }
    stalls.sort_by_key(|stall| std::cmp::Reverse(stall.lasted_s));
    stalls
}

/// What the logs of an engine tell of a stretch of time: a server with RocksDB has two. Absent where none tells of it.
fn worked<'a>(works: impl Iterator<Item = &'a EngineWork>, from_us: i64, to_us: i64) -> Option<Vec<String>> {
    let told = works.filter_map(|work| work.between(from_us, to_us));
    told.map(|works| works.into_iter().map(str::to_owned).collect()).reduce(|mut all: Vec<String>, more| {
        all.extend(more);
        all
    })
}

/// How the rates of each subject go on over the seconds of each step, in the order of the workload.
fn courses(done: &[TrialData<'_>], plan: &Plan) -> Vec<Course> {
    let of_case = |step: &Step, side: Side| {
        let of_case = done.iter().filter(|trial| trial.key.step == step.name && trial.key.side == side);
        let rounds: Vec<Vec<f64>> = of_case.filter_map(TrialData::rates).collect();
        let rates: Vec<&[f64]> = rounds.iter().map(Vec::as_slice).collect();
        let (fallen_to, waves) = (course::fallen_to(&rates), course::waves(&rates));
        (fallen_to.is_some() || waves.is_some()).then(|| Course {
            step: step.name.clone(),
            side,
            rounds: u32::try_from(rates.len()).unwrap_or(u32::MAX),
            fallen_to,
            waves,
        })
    };
    let sides = 0..plan.subjects.len();
    plan.chosen_steps().flat_map(|step| sides.clone().filter_map(move |side| of_case(step, side))).collect()
}

/// Seconds that were measured, by step and side.
fn wall_times(done: &[TrialData<'_>]) -> BTreeMap<(String, Side), f64> {
    let mut seconds = BTreeMap::new();
    for trial in done {
        *seconds.entry((trial.key.step.clone(), trial.key.side)).or_insert(0.0) += trial.seconds();
    }
    seconds
}

fn wrong_answers(done: &[TrialData<'_>]) -> Option<RunWarning> {
    let wrong: u64 = done.iter().map(TrialData::failed_operations).sum();
    (wrong > 0)
        .then_some(RunWarning { step: None, warning: Warning::FailedOperationsCounted { operations: wrong } })
}

fn step_view(
    step: &Step,
    record: &RunRecord,
    cells: &Cells,
    seconds: &BTreeMap<(String, Side), f64>,
    together: &mut Together,
) -> StepView {
    let sides = 0..record.plan.subjects.len();
    let row = |side: Side| {
        let rounds = cells.get(&(step.name.clone(), side))?;
        Some(SubjectRow {
            side,
            mean: Values::mean(rounds.values()),
            rounds: rounds.iter().map(|(round, values)| (*round, values.clone())).collect(),
        })
    };
    let rows: Vec<SubjectRow> = sides.filter_map(row).collect();
    let has = |metric: &Metric| rows.iter().any(|row| row.mean.get(*metric).is_some());
    StepView {
        name: step.name.clone(),
        group: step.group,
        helper: step.helper,
        columns: Metric::columns().into_iter().filter(has).collect(),
        rows,
        cases: cases(cells, step, record, seconds, together),
        shapes: facts::shapes(record, step),
    }
}
