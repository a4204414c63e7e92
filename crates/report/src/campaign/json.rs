//! A campaign as JSON: the contract for scripts. Keys stand in a fixed order, numbers are in base units, an unknown
//! value is absent. Keys may be added; none is renamed or dropped within a schema.

use super::finding_phrases;
use super::view::{CampaignView, Comparison, Disturbed, Finding, Moved, Shift, StepView};
use crate::json::{Cost, HostFacts, NoteText, SCHEMA, TrialCounts, cost, host};
use crate::json_groups::{GroupObject, group};
use analysis::drift::Cause;
use model::metric::Direction;
use model::verdict::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;

/// The report, as one object with a line break at its end.
///
/// # Errors
/// None that a view can cause: a number that JSON cannot hold is left out.
pub fn json(view: &CampaignView) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&document(view))? + "\n")
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    run: &'a str,
    base: &'a str,
    design: &'static str,
    rounds: u32,
    subjects: Vec<Subject<'a>>,
    comparisons: Vec<ComparisonObject<'a>>,
    findings: Vec<FindingObject<'a>>,
    columns: Vec<ColumnsObject<'a>>,
    left_out: Vec<LeftOutObject<'a>>,
    trials: TrialCounts,
    warnings: Vec<&'a str>,
    // Added to the contract; these may grow.
    status: &'static str,
    workload: &'a str,
    tool_version: &'a str,
    seed: u64,
    margin: f64,
    alpha: f64,
    conditions: ConditionsObject<'a>,
    omitted_options: Vec<OmittedObject<'a>>,
    failures: Vec<Failure<'a>>,
    disturbed: Vec<DisturbedObject<'a>>,
    groups: Vec<GroupObject<'a>>,
    notes: Vec<NoteText<'a>>,
    shapes: Vec<ShapeObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    host: HostFacts<'a>,
}

#[derive(Serialize)]
struct Subject<'a> {
    subject: &'a str,
    version: &'a str,
    config: &'a str,
    client: &'static str,
}

#[derive(Serialize)]
struct ComparisonObject<'a> {
    workload: &'a str,
    step: &'a str,
    group: &'static str,
    candidate: &'a str,
    metric: &'static str,
    unit: &'static str,
    direction: Direction,
    decides: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    verdict: Verdict,
    launches: u32,
    seconds: f64,
    warnings: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p_value: Option<f64>,
    helper: bool,
    discovered: bool,
}

#[derive(Serialize)]
struct FindingObject<'a> {
    config: &'a str,
    step: &'a str,
    metric: &'static str,
    unit: &'static str,
    version: &'a str,
    before: &'a str,
    kind: &'static str,
    suspect: bool,
    at_edge: bool,
    location: &'a [String],
    ratio: f64,
    low: f64,
    high: f64,
    confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_before: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_after: Option<f64>,
    moved: Vec<MovedObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift: Option<DriftObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<usize>,
    text: String,
}

#[derive(Serialize)]
struct MovedObject<'a> {
    #[serde(flatten)]
    shift: ShiftObject<'a>,
    ratio: f64,
    low: f64,
    high: f64,
    score: f64,
    twins: Vec<ShiftObject<'a>>,
}

#[derive(Serialize)]
struct ShiftObject<'a> {
    counter: &'a str,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_before: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_after: Option<f64>,
}

#[derive(Serialize)]
struct DriftObject<'a> {
    cause: &'static str,
    defaults: Vec<DefaultObject<'a>>,
}

#[derive(Serialize)]
struct DefaultObject<'a> {
    option: &'a str,
    before: &'a str,
    after: &'a str,
}

#[derive(Serialize)]
struct ColumnsObject<'a> {
    step: &'a str,
    subject: &'a str,
    round: u32,
    values: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tickers_per_op: &'a BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct LeftOutObject<'a> {
    subject: String,
    reason: &'a str,
}

#[derive(Serialize)]
struct OmittedObject<'a> {
    option: &'a str,
    value: &'a str,
    subjects: &'a [String],
}

#[derive(Serialize)]
struct ConditionsObject<'a> {
    rows: u64,
    data_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_limit_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loop_device: Option<LoopDeviceObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
    tickers: bool,
}

#[derive(Serialize)]
struct LoopDeviceObject {
    bytes: u64,
    direct_io: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_sectors_kb: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_ahead_kb: Option<u32>,
}

#[derive(Serialize)]
struct Failure<'a> {
    step: &'a str,
    subject: &'a str,
    outcome: &'static str,
    reason: &'a str,
    rounds: &'a [u32],
}

#[derive(Serialize)]
struct DisturbedObject<'a> {
    step: &'a str,
    subject: &'a str,
    round: u32,
    other_cpu_percent: f64,
    median_percent: f64,
}

#[derive(Serialize)]
struct ShapeObject<'a> {
    step: &'a str,
    subject: &'a str,
    round: u32,
    moment: &'static str,
    levels: Vec<LevelObject>,
    memtable_bytes: u64,
    pending_compaction_bytes: u64,
}

#[derive(Serialize)]
struct LevelObject {
    files: u64,
    bytes: u64,
}

fn document(view: &CampaignView) -> Document<'_> {
    Document {
        schema: SCHEMA,
        run: &view.run.id,
        base: &view.base,
        design: view.conditions.design.name(),
        rounds: view.conditions.rounds,
        subjects: view.subjects.iter().map(subject).collect(),
        comparisons: view
            .steps
            .iter()
            .flat_map(|step| step.comparisons.iter().map(move |one| comparison(one, step, view)))
            .collect(),
        findings: view.findings.iter().map(|one| finding(one, view)).collect(),
        columns: view.steps.iter().flat_map(|step| columns(step, view)).collect(),
        left_out: view
            .left_out
            .iter()
            .map(|one| LeftOutObject { subject: one.reference.to_string(), reason: &one.reason })
            .collect(),
        trials: TrialCounts {
            done: view.trials.done,
            failed: view.trials.failed,
            skipped: view.trials.skipped,
        },
        warnings: view.warnings.iter().map(|warning| warning.id.as_str()).collect(),
        status: view.run.status.name(),
        workload: &view.run.workload,
        tool_version: &view.run.tool_version,
        seed: view.run.seed,
        margin: view.margin,
        alpha: view.alpha,
        conditions: conditions(view),
        omitted_options: view
            .omitted
            .iter()
            .map(|one| OmittedObject { option: &one.option, value: &one.value, subjects: &one.subjects })
            .collect(),
        failures: failures(view),
        disturbed: view.disturbed.iter().map(|one| disturbed(one, view)).collect(),
        groups: view.groups.iter().map(|one| group(one, name(view, one.side))).collect(),
        notes: notes(view),
        shapes: view.steps.iter().flat_map(shapes).collect(),
        elapsed_s: view.run.elapsed_s,
        cost: view.cost.as_ref().map(cost),
        host: host(&view.host),
    }
}

fn subject(one: &super::view::SubjectView) -> Subject<'_> {
    Subject {
        subject: &one.subject,
        version: &one.version,
        config: &one.config,
        client: if one.db_bench { "db_bench" } else { "dbdyno" },
    }
}

pub(super) fn name(view: &CampaignView, side: usize) -> &str {
    view.subjects.get(side).map_or("", |subject| subject.subject.as_str())
}

fn comparison<'a>(one: &'a Comparison, step: &'a StepView, view: &'a CampaignView) -> ComparisonObject<'a> {
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    ComparisonObject {
        workload: &view.run.workload,
        step: &step.name,
        group: step.group.name(),
        candidate: name(view, one.side),
        metric: one.column.metric,
        unit: one.column.unit,
        direction: one.column.direction,
        decides: one.decides,
        base_value: finite(one.base_value),
        candidate_value: finite(one.candidate_value),
        ratio: finite(one.ratio),
        low: finite(one.low),
        high: finite(one.high),
        confidence: one.confidence,
        verdict: one.verdict,
        launches: one.rounds,
        seconds: one.seconds,
        warnings: one.notes.iter().map(|note| note.id.as_str()).collect(),
        p_value: finite(one.p_value),
        helper: step.helper,
        discovered: one.discovered,
    }
}

fn finding<'a>(one: &'a Finding, view: &CampaignView) -> FindingObject<'a> {
    FindingObject {
        config: &one.config,
        step: &one.step,
        metric: one.column.metric,
        unit: one.column.unit,
        version: &one.version,
        before: &one.before,
        kind: one.kind.name(),
        suspect: one.suspect,
        at_edge: one.at_edge,
        location: &one.location,
        ratio: one.ratio,
        low: one.low,
        high: one.high,
        confidence: one.confidence,
        value_before: one.value_before,
        value_after: one.value_after,
        moved: one.moved.iter().map(moved).collect(),
        drift: one.drift.as_ref().map(|drift| DriftObject {
            cause: cause_name(drift.cause),
            defaults: drift
                .defaults
                .iter()
                .map(|one| DefaultObject { option: &one.option, before: &one.before, after: &one.after })
                .collect(),
        }),
        part_of: one.part_of,
        text: finding_phrases::finding(one, view),
    }
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Code => "code",
        Cause::Default => "default",
        Cause::Undecided => "undecided",
    }
}

fn moved(one: &Moved) -> MovedObject<'_> {
    MovedObject {
        shift: shift(&one.shift),
        ratio: one.ratio,
        low: one.low,
        high: one.high,
        score: one.score,
        twins: one.twins.iter().map(shift).collect(),
    }
}

fn shift(one: &Shift) -> ShiftObject<'_> {
    ShiftObject {
        counter: &one.metric,
        // A ticker is counted per operation.
        unit: one.column.map_or("1", |column| column.unit),
        value_before: one.value_before,
        value_after: one.value_after,
    }
}

/// One object for each trial that is done, in the order of steps, subjects and rounds.
fn columns<'a>(step: &'a StepView, view: &'a CampaignView) -> impl Iterator<Item = ColumnsObject<'a>> {
    step.rows.iter().flat_map(move |row| {
        row.rounds.iter().map(move |(round, values)| ColumnsObject {
            step: &step.name,
            subject: name(view, row.side),
            round: *round,
            values: step
                .columns
                .iter()
                .filter_map(|column| Some((column.metric.to_owned(), values.get(column.metric)?.into())))
                .collect(),
            tickers_per_op: &values.tickers,
        })
    })
}

fn conditions(view: &CampaignView) -> ConditionsObject<'_> {
    let conditions = &view.conditions;
    ConditionsObject {
        rows: conditions.rows,
        data_bytes: conditions.data.0,
        cache_bytes: conditions.cache.map(|bytes| bytes.0),
        memory_limit_bytes: conditions.memory_limit.map(|bytes| bytes.0),
        loop_device: conditions.loop_device.as_ref().map(|device| LoopDeviceObject {
            bytes: device.bytes.0,
            direct_io: device.direct_io,
            max_sectors_kb: device.max_sectors_kb,
            read_ahead_kb: device.read_ahead_kb,
        }),
        device: conditions.device.as_deref(),
        tickers: conditions.tickers,
    }
}

fn failures(view: &CampaignView) -> Vec<Failure<'_>> {
    let reasons = view.trials.reasons.iter();
    reasons
        .map(|reason| Failure {
            step: &reason.step,
            subject: &reason.subject,
            outcome: if reason.skipped { "skipped" } else { "failed" },
            reason: &reason.reason,
            rounds: &reason.launches,
        })
        .collect()
}

fn disturbed<'a>(one: &'a Disturbed, view: &'a CampaignView) -> DisturbedObject<'a> {
    DisturbedObject {
        step: &one.step,
        subject: name(view, one.side),
        round: one.round,
        other_cpu_percent: one.others_percent,
        median_percent: one.median_percent,
    }
}

/// The warnings in full, then what the deciding comparisons have to say.
fn notes(view: &CampaignView) -> Vec<NoteText<'_>> {
    let of_run = view.warnings.iter().map(|warning| NoteText {
        candidate: None,
        step: warning.step.as_deref(),
        id: &warning.id,
        text: &warning.text,
    });
    let of_comparisons = view.steps.iter().flat_map(|step| {
        let deciding = step.comparisons.iter().filter(|comparison| comparison.decides);
        deciding.flat_map(move |comparison| {
            comparison.notes.iter().map(move |note| NoteText {
                candidate: Some(name(view, comparison.side)),
                step: Some(&step.name),
                id: &note.id,
                text: &note.text,
            })
        })
    });
    of_run.chain(of_comparisons).collect()
}

fn shapes(step: &StepView) -> impl Iterator<Item = ShapeObject<'_>> {
    step.shapes.iter().map(|row| ShapeObject {
        step: &row.step,
        subject: &row.subject,
        round: row.launch,
        moment: row.moment.name(),
        levels: row
            .shape
            .levels
            .iter()
            .map(|level| LevelObject { files: level.files, bytes: level.bytes.0 })
            .collect(),
        memtable_bytes: row.shape.memtable.0,
        pending_compaction_bytes: row.shape.pending_compaction.0,
    })
}
