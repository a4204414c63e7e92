//! The view of a run of interleaved launches: every step of every candidate judged, and gathered with what is said of it.

use super::facts;
use super::group::{self, JudgedStep};
use super::rounds::{OverReleases, over_releases};
use super::{
    BothSides, ComparedMetric, ComparedStep, Comparison, LnError, MovedCounter, Repeats, StepView,
    SubjectView, TimeParts, sweeps,
};
use crate::calibration::mean_launch_seconds;
use crate::harness::Harness;
use crate::judge::{self, Evidence, Judged, judge_run};
use crate::sides;
use analysis::counters::CounterFinding;
use analysis::time_identity::{TimeIdentity, TimePart};
use analysis::{Estimate, Judgement, LaunchSummary, Method, Procedure};
use model::block::Side;
use model::counter::Counter;
use model::metric::Metric;
use model::plan::Purpose;
use model::record::{RunRecord, RunWarning};
use model::warning::Warning;
use model::workload::{DatabaseKind, Step};
use std::collections::BTreeMap;

/// Confidence of the counters' intervals, as analysis makes them.
const COUNTER_CONFIDENCE: f64 = 0.99;

pub(crate) fn build(record: &RunRecord, evidence: &Evidence<'_>) -> Comparison {
    let plan = &record.plan;
    let many = plan.is_interleaved_campaign().then(|| sides::judge(record, evidence));
    let cells = many.as_ref().map(|judged| sides::cells(record, judged));
    let over_releases = cells.as_ref().map(|cells| over_releases(plan, cells));
    let (judged, control) = match many {
        Some(sides) => (sides.judged, Some(sides.control)),
        None => (judge_run(record, evidence), None),
    };
    let procedure = Procedure::new(judge::rule(record));
    let mut steps: Vec<StepView> = plan.chosen_steps().map(|step| empty_step(record, step)).collect();
    let mut members: Vec<JudgedStep<'_>> = Vec::new();
    for (step, side, judged) in &judged {
        let case = compared(record, step, *side, judged);
        if let Some(view) = steps.iter_mut().find(|view| view.name == step.name) {
            members.push(JudgedStep { step, launches: &judged.launches, case: case.clone() });
            view.cases.push(case);
        }
    }
    let sweeps = cells.map(|cells| sweeps::of(plan, &steps, &cells, plan.rule.alpha)).unwrap_or_default();
    let view = facts::comparison(record, Repeats::Launches);
    let of_candidate = |one: &SubjectView| group::of_launches(&members, (one.side, &one.subject), &procedure);
    let OverReleases { changes, trends, searched_series } = over_releases.unwrap_or_default();
    Comparison {
        groups: view.candidates().iter().flat_map(of_candidate).collect(),
        steps,
        sweeps,
        changes,
        trends,
        searched_series,
        control,
        warnings: warnings(record, evidence),
        ..view
    }
}

fn empty_step(record: &RunRecord, step: &Step) -> StepView {
    // A step on the image finds the same tree as all others.
    let shapes = if step.database == DatabaseKind::Own { facts::shapes(record, step) } else { Vec::new() };
    StepView {
        name: step.name.clone(),
        group: step.group,
        helper: step.helper,
        columns: Vec::new(),
        rows: Vec::new(),
        cases: Vec::new(),
        shapes,
    }
}

fn compared(record: &RunRecord, step: &Step, side: Side, judged: &Judged) -> ComparedStep {
    let judgement = &judged.judgement;
    let of = |estimate: &Estimate| metric(estimate, judgement.launches);
    let rates = std::iter::once(&judgement.wall).chain(&judgement.adjusted).chain([&judgement.cpu]);
    ComparedStep {
        side,
        verdict: judgement.verdict,
        decides: Some(judgement.decides),
        confirmed: judgement.confirmed,
        layout: judgement.layout,
        discovered: false,
        p_value: judgement.p_value,
        repeats: judgement.launches,
        seconds: judged.seconds(),
        metrics: rates.map(of).chain(counters(judged)).collect(),
        time: judgement.time_identity.as_ref().map(time),
        visible_change: judgement.visible_change(),
        warnings: said(record, step, judgement),
    }
}

fn metric(estimate: &Estimate, repeats: u32) -> ComparedMetric {
    ComparedMetric {
        metric: estimate.metric,
        base: estimate.base_value,
        candidate: estimate.candidate_value,
        ratio: estimate.ratio,
        low: estimate.low,
        high: estimate.high,
        confidence: match estimate.method {
            Method::SequentialSignedRank | Method::StudentT => Some(estimate.confidence),
            Method::RatioOnly => None,
        },
        error: estimate.launch_sd.filter(|_| estimate.units > 1).map(|sd| LnError {
            deviation: sd / f64::from(estimate.units).sqrt(),
            freedom: estimate.units as usize - 1,
        }),
        repeats,
        moved: None,
    }
}

/// All counters. Where the one that twins are named after is tiny, the next of them that moved takes its place.
fn counters(judged: &Judged) -> Vec<ComparedMetric> {
    let block = block_operations(&judged.launches);
    let findings = &judged.judgement.counters;
    let moved: Vec<Counter> =
        findings.iter().filter(|finding| has_moved(finding, block)).map(|finding| finding.counter).collect();
    let mut successors: BTreeMap<Counter, Counter> = BTreeMap::new();
    let mut twin_of = |finding: &CounterFinding| match finding.twin_of {
        Some(leader) if moved.contains(&finding.counter) && !moved.contains(&leader) => {
            let successor = *successors.entry(leader).or_insert(finding.counter);
            (successor != finding.counter).then_some(successor)
        }
        known => known,
    };
    let counter = |finding: &CounterFinding| ComparedMetric {
        metric: Metric::Counter(finding.counter),
        base: Some(finding.base_value),
        candidate: Some(finding.candidate_value),
        ratio: Some(finding.ratio),
        low: finding.low,
        high: finding.high,
        confidence: finding.low.or(finding.high).map(|_| COUNTER_CONFIDENCE),
        error: None,
        repeats: judged.judgement.launches,
        moved: Some(MovedCounter {
            moved: moved.contains(&finding.counter),
            score: finding.score,
            twin_of: twin_of(finding),
        }),
    };
    findings.iter().map(counter).collect()
}

/// Operations of a block, mean over all.
fn block_operations(launches: &[LaunchSummary]) -> BothSides {
    let mean = |of: fn(&LaunchSummary) -> (f64, usize)| {
        let sum = launches.iter().map(of).fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        sum.0 / (sum.1.max(1) as f64)
    };
    BothSides {
        base: mean(|launch| (launch.base.operations, launch.base.blocks)),
        candidate: mean(|launch| (launch.candidate.operations, launch.candidate.blocks)),
    }
}

/// A counter that is tiny on both sides did not move, whatever its ratio.
fn has_moved(finding: &CounterFinding, block: BothSides) -> bool {
    let counts = [finding.base_value * block.base, finding.candidate_value * block.candidate];
    finding.moved && !counts.into_iter().all(|count| finding.counter.is_tiny(count))
}

fn time(identity: &TimeIdentity) -> TimeParts {
    let sides = |part: &TimePart| BothSides { base: part.base_us, candidate: part.candidate_us };
    TimeParts {
        wall: sides(&identity.wall),
        cpu: sides(&identity.cpu),
        run_delay: sides(&identity.run_delay),
        other: sides(&identity.other),
    }
}

/// What the judgement warns of, what the run warned of this step, and why the step left, where it was not for being
/// decided.
fn said(record: &RunRecord, step: &Step, judgement: &Judgement) -> Vec<Warning> {
    let of_step = record.warnings.iter().filter(|warning| warning.step.as_ref() == Some(&step.name));
    let of_run = of_step.map(|warning| warning.warning.clone());
    let launch_seconds = mean_launch_seconds(std::slice::from_ref(record));
    let with_time = |warning: &Warning| {
        let mut warning = warning.clone();
        if let Warning::MachineTooNoisy { seconds, .. } = &mut warning {
            let needed = judgement.launches_needed.zip(launch_seconds);
            *seconds = needed.map(|(launches, seconds)| launches * seconds);
        }
        warning
    };
    let exits = record.step_exits.iter().filter(|exit| exit.step == step.name && exit.reason.is_drop());
    let dropped = exits.map(|exit| Warning::Dropped { reason: exit.reason.clone(), launch: exit.launch });
    facts::each_once(judgement.warnings.iter().map(with_time).chain(of_run))
        .into_iter()
        .chain(dropped)
        .collect()
}

/// The warnings of the whole run, each once, and what is to be said of all steps.
fn warnings(record: &RunRecord, evidence: &Evidence<'_>) -> Vec<RunWarning> {
    let own = |warning| RunWarning { step: None, warning };
    let harness = Harness::of(record, evidence.self_tests);
    let is_unknown = !harness.calibrated && record.plan.purpose == Purpose::Compare;
    let not_calibrated = is_unknown.then(|| own(Warning::NotCalibrated));
    let of_others = harness.warning_of_others(&record.plan).map(own);
    let of_run = record.warnings.iter().filter(|warning| warning.step.is_none()).cloned();
    facts::each_once(of_run.chain(not_calibrated).chain(of_others))
}
