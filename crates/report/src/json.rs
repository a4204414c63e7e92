//! A report as JSON: the contract for scripts. Keys stand in a fixed order, numbers are in base units, an
//! unknown value is absent. Keys may be added; none is renamed or dropped within a schema.

use crate::differs::Difference;
use crate::evidence::is_rate;
use crate::json_groups::{GroupObject, group};
use crate::view::{CandidateView, Figure, ReportView, StepRow};
use model::host::{HarnessCost, Host};
use model::metric::{Direction, Metric};
use model::verdict::Verdict;
use serde::Serialize;

/// Version of the contract.
pub(crate) const SCHEMA: u32 = 1;

/// Ids of warnings that are about the rates alone.
const ABOUT_RATES: [&str; 4] =
    ["waiting-time-changed", "contention-adjusted", "within-layout-noise", "within-margin"];

/// The report of a run, as one object with a line break at its end.
pub fn render(view: &ReportView) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&document(view))? + "\n")
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    run: &'a str,
    base: &'a str,
    margin: f64,
    alpha: f64,
    comparisons: Vec<Comparison<'a>>,
    trials: TrialCounts,
    warnings: Vec<&'a str>,
    // Added to the contract; these may grow.
    status: &'a str,
    workload: &'a str,
    tool_version: &'a str,
    launches: u32,
    max_launches: u32,
    summaries: Vec<Summary<'a>>,
    groups: Vec<GroupObject<'a>>,
    notes: Vec<NoteText<'a>>,
    differs: Vec<DifferenceLine<'a>>,
    time_identity: Vec<TimeIdentity<'a>>,
    failures: Vec<Failure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    host: HostFacts<'a>,
}

#[derive(Serialize)]
struct Comparison<'a> {
    workload: &'a str,
    step: &'a str,
    group: &'a str,
    candidate: &'a str,
    metric: &'a str,
    unit: &'a str,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visible_change: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<bool>,
}

#[derive(Serialize)]
pub(crate) struct TrialCounts {
    pub(crate) done: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

#[derive(Serialize)]
struct Summary<'a> {
    candidate: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
pub(crate) struct NoteText<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) candidate: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<&'a str>,
    pub(crate) id: &'a str,
    pub(crate) text: &'a str,
}

#[derive(Serialize)]
struct DifferenceLine<'a> {
    candidate: &'a str,
    kind: &'a str,
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate_value: Option<&'a str>,
}

#[derive(Serialize)]
struct TimeIdentity<'a> {
    candidate: &'a str,
    step: &'a str,
    parts: [TimePart; 4],
}

#[derive(Serialize)]
struct TimePart {
    part: &'static str,
    us_per_op_base: f64,
    us_per_op_candidate: f64,
}

#[derive(Serialize)]
struct Failure<'a> {
    step: &'a str,
    subject: &'a str,
    outcome: &'static str,
    reason: &'a str,
    launches: &'a [u32],
}

#[derive(Serialize)]
pub(crate) struct Cost {
    pub(crate) sampler_core_percent: f64,
    pub(crate) block_edge_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_cpu_ns_per_op: Option<f64>,
    pub(crate) controller_peak_bytes: u64,
    pub(crate) worker_heap_peak_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step_pauses: Option<Pauses>,
}

#[derive(Serialize)]
pub(crate) struct Pauses {
    count: u32,
    mean_s: f64,
    longest_s: f64,
}

#[derive(Serialize)]
pub(crate) struct HostFacts<'a> {
    pub(crate) name: &'a str,
    pub(crate) kernel: &'a str,
    pub(crate) cpu_model: &'a str,
    pub(crate) cpus: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpus_online: Option<u32>,
    pub(crate) memory_bytes: u64,
    pub(crate) virtual_machine: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) governor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transparent_huge_pages: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_system: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) load_1m: Option<&'a str>,
}

fn document(view: &ReportView) -> Document<'_> {
    let rows = || {
        view.candidates.iter().flat_map(|candidate| candidate.rows.iter().map(move |row| (candidate, row)))
    };
    let of_run = view.warnings.iter().map(|warning| NoteText {
        candidate: None,
        step: warning.step.as_deref(),
        id: &warning.id,
        text: &warning.text,
    });
    let of_rows = rows().flat_map(|(candidate, row)| {
        row.notes.iter().map(move |note| NoteText {
            candidate: Some(&candidate.subject),
            step: Some(&row.step),
            id: &note.id,
            text: &note.text,
        })
    });
    Document {
        schema: SCHEMA,
        run: &view.run.id,
        base: &view.base,
        margin: view.margin,
        alpha: view.alpha,
        comparisons: rows().flat_map(|(candidate, row)| comparisons(view, candidate, row)).collect(),
        trials: TrialCounts {
            done: view.trials.done,
            failed: view.trials.failed,
            skipped: view.trials.skipped,
        },
        warnings: view.warnings.iter().map(|warning| warning.id.as_str()).collect(),
        status: view.run.status.name(),
        workload: &view.run.workload,
        tool_version: &view.run.tool_version,
        launches: view.run.launches,
        max_launches: view.run.max_launches,
        groups: view
            .candidates
            .iter()
            .flat_map(|candidate| candidate.groups.iter().map(|row| group(row, &candidate.subject)))
            .collect(),
        summaries: view
            .candidates
            .iter()
            .map(|candidate| Summary { candidate: &candidate.subject, text: &candidate.summary })
            .collect(),
        notes: of_run.chain(of_rows).collect(),
        differs: view
            .candidates
            .iter()
            .flat_map(|candidate| candidate.differs.iter().map(|one| difference(candidate, one)))
            .collect(),
        time_identity: rows().filter_map(|(candidate, row)| time_identity(candidate, row)).collect(),
        failures: view
            .trials
            .reasons
            .iter()
            .map(|reason| Failure {
                step: &reason.step,
                subject: &reason.subject,
                outcome: if reason.skipped { "skipped" } else { "failed" },
                reason: &reason.reason,
                launches: &reason.launches,
            })
            .collect(),
        cost: view.cost.as_ref().map(cost),
        host: host(&view.host),
    }
}

/// The objects of one step: wall rate, adjusted rate, CPU, counters.
fn comparisons<'a>(
    view: &'a ReportView,
    candidate: &'a CandidateView,
    row: &'a StepRow,
) -> impl Iterator<Item = Comparison<'a>> {
    let rates = [Some(&row.wall), row.adjusted.as_ref(), Some(&row.cpu)].into_iter().flatten();
    let rates = rates.map(|figure| (figure, None));
    let counters = row.counters.iter().map(|counter| (&counter.figure, Some(counter.moved)));
    rates.chain(counters).map(move |(figure, moved)| comparison(view, candidate, row, figure, moved))
}

fn comparison<'a>(
    view: &'a ReportView,
    candidate: &'a CandidateView,
    row: &'a StepRow,
    figure: &'a Figure,
    moved: Option<bool>,
) -> Comparison<'a> {
    let decides = figure.metric == row.decides;
    let of_rate = is_rate(figure.metric);
    let about_it = |id: &&str| of_rate || !ABOUT_RATES.contains(id);
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    Comparison {
        workload: &view.run.workload,
        step: &row.step,
        group: row.group.name(),
        candidate: &candidate.subject,
        metric: figure.metric.name(),
        unit: figure.metric.unit(),
        direction: figure.metric.direction(),
        decides,
        base_value: finite(figure.base),
        candidate_value: finite(figure.candidate),
        ratio: finite(figure.ratio),
        low: finite(figure.low),
        high: finite(figure.high),
        confidence: figure.confidence,
        verdict: verdict(row, figure.metric),
        launches: row.launches,
        seconds: row.seconds,
        warnings: row.notes.iter().map(|note| note.id.as_str()).filter(about_it).collect(),
        p_value: finite(row.p_value).filter(|_| decides),
        confirmed: decides.then_some(row.confirmed),
        visible_change: finite(row.visible_change).filter(|_| decides),
        moved,
    }
}

/// The deciding rate carries the verdict. Where the rates contradict each other, both say so.
fn verdict(row: &StepRow, metric: Metric) -> Verdict {
    let contradicted = row.verdict == Verdict::Inconclusive
        && row.notes.iter().any(|note| note.id == "waiting-time-changed");
    if metric == row.decides || (contradicted && is_rate(metric)) { row.verdict } else { Verdict::RatioOnly }
}

fn difference<'a>(candidate: &'a CandidateView, one: &'a Difference) -> DifferenceLine<'a> {
    DifferenceLine {
        candidate: &candidate.subject,
        kind: one.kind.name(),
        what: &one.what,
        base_value: one.base.as_deref(),
        candidate_value: one.candidate.as_deref(),
    }
}

fn time_identity<'a>(candidate: &'a CandidateView, row: &'a StepRow) -> Option<TimeIdentity<'a>> {
    let time = row.time?;
    let part = |part, sides: crate::view::Sides| TimePart {
        part,
        us_per_op_base: sides.base,
        us_per_op_candidate: sides.candidate,
    };
    Some(TimeIdentity {
        candidate: &candidate.subject,
        step: &row.step,
        parts: [
            part("wall", time.wall),
            part("cpu", time.cpu),
            part("run_delay", time.run_delay),
            part("other", time.other),
        ],
    })
}

pub(crate) fn cost(cost: &HarnessCost) -> Cost {
    Cost {
        sampler_core_percent: cost.sampler_core_percent,
        block_edge_us: cost.block_edge_us,
        client_cpu_ns_per_op: cost.client_cpu_ns_per_op,
        controller_peak_bytes: cost.controller_peak_bytes,
        worker_heap_peak_bytes: cost.worker_heap_peak_bytes,
        step_pauses: cost.step_pauses.map(|pauses| Pauses {
            count: pauses.count,
            mean_s: pauses.mean.as_secs_f64(),
            longest_s: pauses.longest.as_secs_f64(),
        }),
    }
}

pub(crate) fn host(host: &Host) -> HostFacts<'_> {
    HostFacts {
        name: &host.name,
        kernel: &host.kernel,
        cpu_model: &host.cpu_model,
        cpus: host.cpus,
        cpus_online: host.cpus_online,
        memory_bytes: host.memory_bytes,
        virtual_machine: host.virtual_machine,
        governor: host.governor.as_deref(),
        transparent_huge_pages: host.transparent_huge_pages.as_deref(),
        file_system: host.file_system.as_deref(),
        load_1m: host.load_1m.as_deref(),
    }
}
