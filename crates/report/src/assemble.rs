//! From a record to the view: judges each step of each candidate and gathers what is said beside it.

use crate::calibration::mean_launch_seconds;
use crate::command;
use crate::differs::{self, Sides as DifferingSides};
use crate::evidence::{self, Case, Harness};
use crate::group_rows::{self, JudgedStep};
use crate::summary;
use crate::tiny;
use crate::view::{
    CandidateView, CounterFigure, Figure, Note, ReportView, RunFacts, ShapeRow, Sides, StepRow, TimeParts,
    TrialReason, Trials,
};
use analysis::counters::CounterFinding;
use analysis::time_identity::TimePart;
use analysis::{Estimate, Judgement, LaunchPairs, LaunchSummary, Method, Procedure, Stage, judge};
use model::block::{BASE, Outcome, Side};
use model::counter::Counter;
use model::figures::span;
use model::metric::Metric;
use model::plan::Purpose;
use model::record::{RunRecord, RunWarning};
use model::workload::{DatabaseKind, Step};
use std::collections::BTreeMap;

/// Confidence of the counters' intervals, as analysis makes them.
const COUNTER_CONFIDENCE: f64 = 0.99;

/// The view of a run: every step of every candidate judged on what was measured. `calibration` is the last
/// one that holds for the host and the version that measured.
pub fn build(record: &RunRecord, calibration: Option<&RunRecord>) -> ReportView {
    let plan = &record.plan;
    let harness = evidence::harness(calibration);
    let procedure = Procedure::new(evidence::rule(record));
    let steps: Vec<&Step> = plan.chosen_steps().collect();
    let mut judged: Vec<Judged<'_>> = Vec::new();
    for candidate in plan.candidate_sides() {
        for step in &steps {
            judged.push(judge_case(Case { record, step, candidate }, &procedure, &harness));
        }
    }
    let judgements: Vec<&Judgement> = judged.iter().map(|judged| &judged.judgement).collect();
    let family = analysis::family::family(&judgements, plan.rule.alpha);
    let candidates = plan.candidate_sides().map(|side| {
        let of_side =
            judged.iter().zip(&family.confirmed).filter(|(judged, _)| judged.case.candidate == side);
        let (rows, launches): (Vec<StepRow>, Vec<&[LaunchSummary]>) =
            of_side.map(|(judged, confirmed)| (row(judged, *confirmed), judged.launches.as_slice())).unzip();
        let judged_steps: Vec<JudgedStep<'_>> =
            rows.iter().zip(launches).map(|(row, launches)| JudgedStep { row, launches }).collect();
        let groups = group_rows::rows(&judged_steps, side, &procedure);
        let subject = subject(record, side);
        CandidateView {
            side,
            summary: summary::sentence(&rows, &subject, &self::subject(record, BASE), plan.rule.margin),
            subject,
            groups,
            rows,
            differs: differs::between(record, DifferingSides { base: BASE, candidate: side }),
        }
    });
    ReportView {
        run: run_facts(record),
        tells: plan.workload.tells.clone(),
        does_not_tell: plan.workload.does_not_tell.clone(),
        base: subject(record, BASE),
        candidates: candidates.collect(),
        margin: plan.rule.margin,
        alpha: plan.rule.alpha,
        host: record.host.clone(),
        warnings: run_warnings(record, &harness, family.parametric),
        cost: record.cost,
        of_servers: plan.workload.is_sql(),
        trials: trials(record),
        shapes: shapes(record, &steps),
    }
}

/// A case with its judgement and the launches that it was judged on.
struct Judged<'a> {
    case: Case<'a>,
    judgement: Judgement,
    /// The launches that it rests on.
    launches: Vec<LaunchSummary>,
    seconds: f64,
    /// Operations of a block, mean.
    block_operations: Sides,
}

fn judge_case<'a>(case: Case<'a>, procedure: &Procedure, harness: &Harness) -> Judged<'a> {
    let caps = evidence::caps(case, harness);
    let launches = evidence::launches(case);
    let judgement = judge(&evidence::facts(case, &caps), &launches, procedure, Stage::Final);
    let judged_on = &launches[..launches.len().min(judgement.launches as usize)];
    let seconds = measured_seconds(judged_on);
    let block_operations = block_operations(judged_on);
    let launches = analysis::summarize(judged_on, case.step.writes());
    Judged { case, judgement, launches, seconds, block_operations }
}

fn block_operations(launches: &[LaunchPairs<'_>]) -> Sides {
    let mean = |operations: fn(&analysis::launch::BlockPair<'_>) -> u64| {
        let pairs = launches.iter().flat_map(|launch| &launch.pairs);
        let values: Vec<f64> = pairs.map(|pair| operations(pair) as f64).collect();
        analysis::student::mean(&values).unwrap_or(0.0)
    };
    Sides { base: mean(|pair| pair.base.operations), candidate: mean(|pair| pair.candidate.operations) }
}

fn measured_seconds(launches: &[LaunchPairs<'_>]) -> f64 {
    let pairs = launches.iter().flat_map(|launch| &launch.pairs);
    pairs.map(|pair| pair.base.wall.as_secs_f64() + pair.candidate.wall.as_secs_f64()).sum()
}

fn row(judged: &Judged<'_>, confirmed: bool) -> StepRow {
    let Judged { case, judgement, seconds, block_operations, .. } = judged;
    StepRow {
        step: case.step.name.clone(),
        group: case.step.group,
        verdict: judgement.verdict,
        decides: judgement.decides,
        confirmed,
        p_value: judgement.significance.p,
        launches: judgement.launches,
        seconds: *seconds,
        wall: figure(&judgement.wall),
        adjusted: judgement.adjusted.as_ref().map(figure),
        cpu: figure(&judgement.cpu),
        counters: counter_figures(&judgement.counters, block_operations),
        time: judgement.time_identity.as_ref().map(|time| TimeParts {
            wall: sides(&time.wall),
            cpu: sides(&time.cpu),
            run_delay: sides(&time.run_delay),
            other: sides(&time.other),
        }),
        visible_change: judgement.visible_change(),
        notes: notes(*case, judgement),
    }
}

fn figure(estimate: &Estimate) -> Figure {
    let confidence = match estimate.method {
        Method::SequentialSignedRank | Method::StudentT => Some(estimate.confidence),
        Method::RatioOnly => None,
    };
    Figure {
        metric: estimate.metric,
        base: estimate.base_value,
        candidate: estimate.candidate_value,
        ratio: estimate.ratio,
        low: estimate.low,
        high: estimate.high,
        confidence,
    }
}

/// All counters. Where the one that twins are named after is tiny, the next of them that moved takes its place.
fn counter_figures(findings: &[CounterFinding], block_operations: &Sides) -> Vec<CounterFigure> {
    let mut figures: Vec<CounterFigure> =
        findings.iter().map(|finding| counter_figure(finding, block_operations)).collect();
    let moved: Vec<Counter> =
        figures.iter().filter(|figure| figure.moved).map(|figure| figure.counter).collect();
    let mut successors: BTreeMap<Counter, Counter> = BTreeMap::new();
    for figure in figures.iter_mut().filter(|figure| figure.moved) {
        let Some(leader) = figure.twin_of.filter(|leader| !moved.contains(leader)) else { continue };
        let successor = *successors.entry(leader).or_insert(figure.counter);
        figure.twin_of = (successor != figure.counter).then_some(successor);
    }
    figures
}

/// A counter that is tiny on both sides did not move, whatever its ratio.
fn counter_figure(finding: &CounterFinding, block_operations: &Sides) -> CounterFigure {
    let tiny =
        [finding.base_value * block_operations.base, finding.candidate_value * block_operations.candidate]
            .into_iter()
            .all(|count| tiny::is_tiny(finding.counter, count));
    CounterFigure {
        counter: finding.counter,
        figure: Figure {
            metric: Metric::Counter(finding.counter),
            base: Some(finding.base_value),
            candidate: Some(finding.candidate_value),
            ratio: Some(finding.ratio),
            low: finding.low,
            high: finding.high,
            confidence: finding.low.or(finding.high).map(|_| COUNTER_CONFIDENCE),
        },
        moved: finding.moved && !tiny,
        score: finding.score,
        twin_of: finding.twin_of,
    }
}

fn sides(part: &TimePart) -> Sides {
    Sides { base: part.base_us, candidate: part.candidate_us }
}

/// What the judgement warns of, what the run warned of this step, and why the step left, where it was not for
/// being decided.
fn notes(case: Case<'_>, judgement: &Judgement) -> Vec<Note> {
    let judged = judgement.warnings.iter().map(|warning| (&warning.id, &warning.text));
    let about_step = |step: &Option<String>| step.as_ref() == Some(&case.step.name);
    let measured = case.record.warnings.iter().filter(|warning| about_step(&warning.step));
    let launch_seconds = mean_launch_seconds(std::slice::from_ref(case.record));
    let mut notes: Vec<Note> = Vec::new();
    for (id, text) in judged.chain(measured.map(|warning| (&warning.id, &warning.text))) {
        let text = match judgement.launches_needed.filter(|_| *id == "machine-too-noisy").zip(launch_seconds)
        {
            Some((launches, seconds)) => format!("{text}, or {} of measuring", span(launches * seconds)),
            None => text.clone(),
        };
        let note = Note { id: id.clone(), text };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let exits = case.record.step_exits.iter().filter(|exit| exit.step == case.step.name);
    notes.extend(exits.filter(|exit| exit.reason.starts_with("dropped")).map(|exit| Note {
        id: "dropped".to_owned(),
        text: format!("{} (after launch {})", exit.reason, exit.launch),
    }));
    notes
}

pub(crate) fn run_facts(record: &RunRecord) -> RunFacts {
    let ended = record.launches.iter().filter(|launch| launch.took.is_some()).count();
    let elapsed_us = record.ended_at_us.map(|ended| ended.saturating_sub(record.started_at_us));
    RunFacts {
        id: record.id.clone(),
        name: record.name.clone(),
        purpose: record.plan.purpose,
        status: record.status,
        workload: record.plan.workload.name.clone(),
        tool_version: record.plan.tool_version.clone(),
        seed: record.plan.seed,
        launches: u32::try_from(ended).unwrap_or(u32::MAX),
        max_launches: evidence::rule(record).max_launches,
        elapsed_s: elapsed_us.map(|elapsed| elapsed as f64 / 1e6),
        again: command::again(&record.plan),
    }
}

/// The warnings of the whole run, each once, and what the report itself has to say of all steps.
fn run_warnings(record: &RunRecord, harness: &Harness, parametric: bool) -> Vec<RunWarning> {
    let own = |id: &str, text: &str| RunWarning { step: None, id: id.to_owned(), text: text.to_owned() };
    let not_calibrated = match (harness, record.plan.purpose) {
        (Harness::NotCalibrated, Purpose::Compare) => Some(own(
            "not-calibrated",
            "the harness is not calibrated here since the host booted: `dbdyno calibrate` tells whether it is \
             honest",
        )),
        // A calibration is about interleaved blocks and says nothing of rounds.
        (Harness::Honest | Harness::Biased { .. }, _)
        | (Harness::NotCalibrated, Purpose::Calibrate | Purpose::Campaign) => None,
    };
    let parametric = parametric.then(|| {
        own(
            "parametric-family",
            "which steps hold together is judged by Student's t, which assumes normal noise: there are too few \
             launches for ranks over so many steps",
        )
    });
    let of_run = record.warnings.iter().filter(|warning| warning.step.is_none()).cloned();
    each_once(of_run.chain(not_calibrated).chain(parametric))
}

/// All warnings of a run, those about a step too, each once.
pub(crate) fn all_warnings(record: &RunRecord) -> Vec<RunWarning> {
    each_once(record.warnings.iter().cloned())
}

/// Each once, in the order of the first.
pub(crate) fn each_once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut once: Vec<T> = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

pub(crate) fn trials(record: &RunRecord) -> Trials {
    let mut trials = Trials::default();
    let mut reasons: BTreeMap<(&str, Side, bool, &str), Vec<u32>> = BTreeMap::new();
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
        let key = (ended.trial.step.as_str(), ended.trial.side, skipped, reason.as_str());
        reasons.entry(key).or_default().push(ended.trial.launch);
    }
    trials.reasons = reasons
        .into_iter()
        .map(|((step, side, skipped, reason), launches)| TrialReason {
            step: step.to_owned(),
            subject: subject(record, side),
            skipped,
            reason: reason.to_owned(),
            launches,
        })
        .collect();
    trials
}

/// The last shape of each side in each step that has a database of its own.
fn shapes(record: &RunRecord, steps: &[&Step]) -> Vec<ShapeRow> {
    let own = steps.iter().filter(|step| step.database == DatabaseKind::Own);
    own.flat_map(|step| {
        (0..record.plan.subjects.len()).filter_map(|side| {
            let of_side =
                |read: &&model::record::ShapeRecord| read.trial.step == step.name && read.trial.side == side;
            let read = record.shapes.iter().rfind(of_side)?;
            Some(ShapeRow {
                step: step.name.clone(),
                subject: subject(record, side),
                moment: read.moment,
                launch: read.trial.launch,
                shape: read.shape.clone(),
            })
        })
    })
    .collect()
}

pub(crate) fn subject(record: &RunRecord, side: Side) -> String {
    record
        .plan
        .subjects
        .get(side)
        .map_or_else(|| format!("side {side}"), |subject| subject.reference.to_string())
}
