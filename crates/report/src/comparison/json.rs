//! A comparison as JSON: the contract for scripts. Keys stand in a fixed order, numbers are in base units, an unknown
//! value is absent. Keys may be added; none is renamed or dropped within a schema.

use super::{changes, found};
use crate::contract::{self, SCHEMA};
use crate::query_plans;
use findings::background_rates::{AchievedRate, BackgroundRate};
use findings::comparison::{
    AtClients, BothSides, Change, ComparedMetric, ComparedStep, ControlVerdict, ControlView, Course, Depths,
    Disturbed, ReleaseTrend, Repeats, ShapeRow, Stall, StepView, SubjectView, Sweep, TimeParts, TrialReason,
    Values, Waves,
};
use findings::differs::Difference;
use findings::{Comparison, Conditions};
use model::block::Side;
use model::metric::Metric;
use model::plan::LeftOut;
use model::verdict::Verdict;
use model::warning::Warning;
use serde_json::{Value, json};

/// The keys of scripts.
pub fn json(view: &Comparison) -> Value {
    let cases = || view.steps.iter().flat_map(|step| step.cases.iter().map(move |case| (step, case)));
    let comparisons = cases()
        .flat_map(|(step, case)| case.metrics.iter().map(move |one| comparison(view, step, case, one)));
    // In the order of steps, subjects and rounds.
    let columns = view.steps.iter().flat_map(|step| step.rows.iter().map(move |row| (step, row)));
    let columns = columns.flat_map(|(step, row)| {
        row.rounds.iter().map(move |(round, values)| trial(view, step, row.side, *round, values))
    });
    let left_out = |one: &LeftOut| json!({ "subject": one.reference.to_string(), "reason": one.reason });
    let summaries = view
        .candidates()
        .iter()
        .map(|one| json!({ "candidate": one.subject, "text": found::summary(view, one) }));
    let differs = view
        .candidates()
        .iter()
        .flat_map(|one| one.differs.iter().map(|difference| differing(&one.subject, difference)));
    let shapes = view.steps.iter().flat_map(|step| &step.shapes).map(|row| shape(row, view));
    let plan_changes = view.plan_changes.iter().map(|one| query_plans::json(one, view.name(one.side)));
    let mut all = json!({
        "schema": SCHEMA,
        "run": view.run.id,
        "base": view.base,
        "design": view.conditions.design,
        "margin": view.margin,
        "alpha": view.alpha,
        "subjects": view.subjects.iter().map(subject).collect::<Vec<_>>(),
        "comparisons": comparisons.collect::<Vec<_>>(),
        "findings": view.changes.iter().map(|one| change(one, view)).collect::<Vec<_>>(),
        "trends": view.trends.iter().map(|one| trend(one, view)).collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
        "left_out": view.left_out.iter().map(left_out).collect::<Vec<_>>(),
        "trials": { "done": view.trials.done, "failed": view.trials.failed, "skipped": view.trials.skipped },
        "warnings": view.warnings.iter().map(|one| one.warning.id()).collect::<Vec<_>>(),
        "status": view.run.status.name(),
        "workload": view.run.workload,
        "tool_version": view.run.tool_version,
        "seed": view.run.seed,
        "launches": view.run.launches,
        "max_launches": view.run.max_launches,
        "rounds": view.conditions.rounds,
        "summaries": summaries.collect::<Vec<_>>(),
        "groups": view.groups,
        "visible": view.steps.iter().filter_map(|step| visible(step, view)).collect::<Vec<_>>(),
        "control": view.control.as_ref().map(control),
        "depths": view.depths.iter().map(|one| depths(one, view)).collect::<Vec<_>>(),
        "sweeps": view.sweeps.iter().map(|one| sweep(one, view)).collect::<Vec<_>>(),
        "background_rates": view.background_rates.iter().map(|one| background_rate(one, view)).collect::<Vec<_>>(),
        "notes": notes(view),
        "differs": differs.collect::<Vec<_>>(),
        "time_identity": cases().filter_map(|(step, case)| time_identity(view, step, case)).collect::<Vec<_>>(),
        "failures": view.trials.reasons.iter().map(|one| failure(one, view.repeats)).collect::<Vec<_>>(),
        "conditions": conditions(&view.conditions),
        "omitted_options": view.omitted,
        "disturbed": view.disturbed.iter().map(|one| disturbed(one, view)).collect::<Vec<_>>(),
        "stalls": view.stalls.iter().map(|one| stall(one, view)).collect::<Vec<_>>(),
        "courses": view.courses.iter().map(|one| course(one, view)).collect::<Vec<_>>(),
        "shapes": shapes.collect::<Vec<_>>(),
        "elapsed_s": view.run.elapsed_s,
        "cost": view.cost.as_ref().map(contract::cost),
        "host": contract::host(&view.host, view.fingerprint.as_ref()),
    });
    all["plan_changes"] = plan_changes.collect();
    all
}

/// The processes of the base against each other.
fn control(of: &ControlView) -> Value {
    json!({
        "differ": match of.verdict {
            ControlVerdict::Differ => Some(true),
            ControlVerdict::NoDifference => Some(false),
            ControlVerdict::Unknown => None,
        },
        "processes": of.processes,
        "p_value": of.p,
        "step": of.step,
        "range": of.range,
    })
}

/// How small a change of a step would have been found; absent if it has no interval.
fn visible(step: &StepView, view: &Comparison) -> Option<Value> {
    let of_step = view.visible.get(&step.name)?;
    let changes = [("between_binaries", of_step.between_binaries), ("beyond_layout", of_step.beyond_layout)];
    let known = changes.into_iter().filter_map(|(key, change)| Some((key.to_owned(), json!(change?))));
    let known: serde_json::Map<String, Value> = known.collect();
    let step = ("step".to_owned(), json!(step.name));
    (!known.is_empty()).then(|| Value::Object(std::iter::once(step).chain(known).collect()))
}

/// Jobs of fio by depth.
fn depths(one: &Depths, view: &Comparison) -> Value {
    let mut depths = json!({ "subject": view.name(one.side), "jobs": one.jobs });
    if let Some(depth) = one.saturated_at {
        depths["saturated_at"] = json!(depth);
    }
    depths
}

/// A step of a candidate by the number of clients.
fn sweep(one: &Sweep, view: &Comparison) -> Value {
    let at = |at: &AtClients| {
        let mut value = json!({ "clients": at.clients, "step": at.step });
        if let Some(over) = at.over_fewest {
            value["over_fewest"] = json!(over);
        }
        value
    };
    let at: Vec<Value> = one.at.iter().map(at).collect();
    let mut sweep = json!({ "step": one.step, "candidate": view.name(one.side), "at": at });
    if let Some(dependence) = one.dependence {
        sweep["dependence"] = json!(dependence);
    }
    sweep
}

/// A stream of stated rate beside a step.
fn background_rate(one: &BackgroundRate, view: &Comparison) -> Value {
    let side = |of: &AchievedRate| json!({ "subject": view.name(of.side), "ops_per_s": of.achieved, "missed": of.missed });
    let sides: Vec<Value> = one.sides.iter().map(side).collect();
    json!({ "step": one.step, "stream": one.stream, "target": one.target, "subjects": sides })
}

fn subject(one: &SubjectView) -> Value {
    json!({
        "subject": one.subject,
        "version": one.version,
        "config": one.config,
        "client": if one.db_bench { "db_bench" } else { "dbdyno" },
    })
}

/// One metric of a candidate in a step.
fn comparison(view: &Comparison, step: &StepView, case: &ComparedStep, one: &ComparedMetric) -> Value {
    let decides = case.decides == Some(one.metric);
    let about_it = |warning: &&Warning| one.metric.is_rate() || !warning.is_about_rates();
    json!({
        "workload": view.run.workload,
        "step": step.name,
        "group": step.group,
        "candidate": view.name(case.side),
        "metric": one.metric,
        "unit": one.metric.unit(),
        "direction": one.metric.direction(),
        "decides": decides,
        "base_value": one.base,
        "candidate_value": one.candidate,
        "ratio": one.ratio,
        "low": one.low,
        "high": one.high,
        "confidence": one.confidence,
        "verdict": verdict(case, one.metric),
        "launches": one.repeats,
        "seconds": case.seconds,
        "warnings": case.warnings.iter().filter(about_it).map(Warning::id).collect::<Vec<_>>(),
        "p_value": case.p_value.filter(|_| decides),
        "confirmed": decides.then_some(case.confirmed),
        "layout": case.layout.filter(|_| decides),
        "helper": step.helper,
        "discovered": decides && case.discovered,
        "visible_change": case.visible_change.filter(|_| decides),
        "moved": one.moved.map(|moved| moved.moved),
    })
}

/// The deciding rate carries the verdict. If the rates contradict each other, both say so.
fn verdict(case: &ComparedStep, metric: Metric) -> Verdict {
    let contradicted = case.verdict == Verdict::Inconclusive
        && case
            .warnings
            .iter()
            .any(|one| matches!(one, Warning::WaitingTimeChanged | Warning::WaitingTimeOfEngine));
    if case.decides == Some(metric) || (contradicted && metric.is_rate()) {
        case.verdict
    } else {
        Verdict::RatioOnly
    }
}

fn change(change: &Change, view: &Comparison) -> Value {
    let mut object = json!(change);
    object["unit"] = change.metric.unit().into();
    object["text"] = changes::sentence(change, view).into();
    object
}

fn trend(trend: &ReleaseTrend, view: &Comparison) -> Value {
    let mut object = json!(trend);
    object["text"] = changes::trend(trend, view).into();
    object
}

/// A trial that is done.
fn trial(view: &Comparison, step: &StepView, side: Side, round: u32, values: &Values) -> Value {
    let tickers = Some(&values.tickers).filter(|tickers| !tickers.is_empty());
    json!({
        "step": step.name,
        "subject": view.name(side),
        "round": round,
        "values": values.metrics,
        "tickers_per_op": tickers,
    })
}

pub(crate) fn differing(candidate: &str, difference: &Difference) -> Value {
    json!({
        "candidate": candidate,
        "kind": difference.kind.name(),
        "what": difference.what,
        "base_value": difference.base,
        "candidate_value": difference.candidate,
    })
}

/// What holds for the run, then what is said of single candidates in single steps.
fn notes(view: &Comparison) -> Vec<Value> {
    let of_run = view.warnings.iter().map(|one| contract::note(&one.warning, None, one.step.as_deref()));
    let of_cases = view.candidates().iter().flat_map(|subject| {
        view.steps.iter().filter_map(|step| Some((step, step.case(subject.side)?))).flat_map(
            |(step, case)| {
                let note = |warning| contract::note(warning, Some(&subject.subject), Some(&step.name));
                case.warnings.iter().map(note)
            },
        )
    });
    of_run.chain(of_cases).collect()
}

fn time_identity(view: &Comparison, step: &StepView, case: &ComparedStep) -> Option<Value> {
    let time = case.time?;
    Some(json!({
        "candidate": view.name(case.side),
        "step": step.name,
        "parts": time_parts(time),
    }))
}

pub(crate) fn time_parts(time: TimeParts) -> Vec<Value> {
    let part = |part: &str, BothSides { base, candidate }| json!({ "part": part, "us_per_op_base": base, "us_per_op_candidate": candidate });
    vec![
        part("wall", time.wall),
        part("cpu", time.cpu),
        part("run_delay", time.run_delay),
        part("other", time.other),
    ]
}

fn failure(one: &TrialReason, repeats: Repeats) -> Value {
    json!({
        "step": one.step,
        "subject": one.subject,
        "outcome": one.outcome(),
        "reason": one.reason,
        repeats.many(): one.launches,
    })
}

fn conditions(conditions: &Conditions) -> Value {
    let others = &conditions.steps_of_other_run;
    json!({
        "rows": conditions.rows,
        "data_bytes": conditions.data,
        "cache_bytes": conditions.cache,
        "memory_limit_bytes": conditions.memory_limit,
        "loop_device": conditions.loop_device,
        "device": conditions.device,
        "tickers": conditions.tickers,
        "candidates_at_once": conditions.candidates_at_once,
        "steps_of_other_run": (!others.is_empty()).then_some(others),
    })
}

fn stall(one: &Stall, view: &Comparison) -> Value {
    let mut stall = json!({
        "step": one.step,
        "subject": view.name(one.side),
        "round": one.round,
        "from_s": one.from_s,
        "lasted_s": one.lasted_s,
        "share": one.share,
    });
    if let Some(works) = &one.engine {
        stall["engine"] = json!(works);
    }
    stall
}

fn course(one: &Course, view: &Comparison) -> Value {
    let mut course = json!({ "step": one.step, "subject": view.name(one.side), "rounds": one.rounds });
    if let Some(left) = one.fallen_to {
        course["fallen_to"] = json!(left);
    }
    if let Some(Waves { period_s, low, high }) = one.waves {
        course["waves"] = json!({ "period_s": period_s, "low": low, "high": high });
    }
    course
}

fn disturbed(one: &Disturbed, view: &Comparison) -> Value {
    let mut disturbed = json!({
        "step": one.step,
        "subject": view.name(one.side),
        "round": one.round,
        "other_cpu_percent": one.others_percent,
        "median_percent": one.median_percent,
    });
    if let Some(stolen) = one.stolen_percent {
        disturbed["stolen_cpu_percent"] = json!(stolen);
    }
    disturbed
}

fn shape(row: &ShapeRow, view: &Comparison) -> Value {
    json!({
        "step": row.step,
        "subject": view.name(row.side),
        "round": row.launch,
        "moment": row.moment,
        "levels": row.shape.levels,
        "memtable_bytes": row.shape.memtable,
        "pending_compaction_bytes": row.shape.pending_compaction,
    })
}
