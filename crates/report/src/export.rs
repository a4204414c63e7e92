//! A run in long form: one line for each value, with all that is needed to know which one it is. What calls this hands
//! on record by record, so that nothing has to fit in memory as a whole.

use crate::render::separated::{Separator, line};
use findings::Comparison;
use findings::judge::Evidence;
use model::block::{Block, BlockKind, Outcome, Second, Side, TrialKey};
use model::host::HostSample;
use model::metric::Metric;
use model::plan::{Design, Plan, Purpose};
use model::record::{RunRecord, TrialRecord};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Table {
    /// The metrics of each trial that counts, as reports have them.
    Values,
    /// How each trial ended, and its latency.
    Trials,
    /// The second by second values of trials that were measured in one go.
    Seconds,
    /// Every block as it was measured.
    Blocks,
    /// The counters of every block.
    Counters,
    /// The readings of the host.
    Host,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 6] =
        [Table::Values, Table::Trials, Table::Seconds, Table::Blocks, Table::Counters, Table::Host];

    /// The name on the command line and in the first column.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What all values of a run share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedRun {
    id: String,
    workload: String,
    subjects: Vec<String>,
    started_at_us: i64,
}

impl ExportedRun {
    /// Of the run of this id, which began at this time (microseconds since the epoch).
    pub fn new(id: &str, plan: &Plan, started_at_us: i64) -> ExportedRun {
        ExportedRun {
            id: id.to_owned(),
            workload: plan.workload.name.clone(),
            subjects: plan.subjects.iter().map(|subject| subject.reference.to_string()).collect(),
            started_at_us,
        }
    }
}

/// A value of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count or a whole number of a base unit.
    Whole(u64),
    Real(f64),
    /// A word or a reason.
    Text(String),
}

/// One value with what it is of. What does not apply is absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LongRow<'a> {
    table: &'static str,
    run: &'a str,
    workload: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second: Option<f64>,
    metric: &'a str,
    unit: &'a str,
    value: Value,
}

/// The columns, in the order of a line.
const COLUMNS: [&str; 12] = [
    "table", "run", "workload", "step", "subject", "side", "launch", "block", "second", "metric", "unit",
    "value",
];

/// The line of headers of CSV.
pub fn csv_header() -> String {
    line(&COLUMNS, Separator::Comma)
}

impl LongRow<'_> {
    /// The step that the value is of; absent where it belongs to none.
    pub fn step(&self) -> Option<&str> {
        self.step
    }

    /// As a line of CSV, quoted as RFC 4180 says; what is absent is empty. Numbers have all their digits.
    pub fn csv(&self) -> String {
        let or_empty = |value: Option<String>| value.unwrap_or_default();
        let cells = [
            self.table.to_owned(),
            self.run.to_owned(),
            self.workload.to_owned(),
            or_empty(self.step.map(str::to_owned)),
            or_empty(self.subject.map(str::to_owned)),
            or_empty(self.side.map(|side| side.to_string())),
            or_empty(self.launch.map(|launch| launch.to_string())),
            or_empty(self.block.map(|block| block.to_string())),
            or_empty(self.second.map(|second| second.to_string())),
            self.metric.to_owned(),
            self.unit.to_owned(),
            match &self.value {
                Value::Whole(value) => value.to_string(),
                Value::Real(value) => value.to_string(),
                Value::Text(value) => value.clone(),
            },
        ];
        line(&cells, Separator::Comma)
    }

    /// As a JSON object on one line.
    ///
    /// # Errors
    /// None that a value can cause.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Where a value belongs.
struct Place<'a> {
    run: &'a ExportedRun,
    table: Table,
    trial: Option<&'a TrialKey>,
    block: Option<u32>,
    second: Option<f64>,
}

impl<'a> Place<'a> {
    fn of_trial(run: &'a ExportedRun, table: Table, trial: &'a TrialKey) -> Place<'a> {
        Place { run, table, trial: Some(trial), block: None, second: None }
    }

    fn row(&self, metric: &'a str, unit: &'a str, value: Value) -> LongRow<'a> {
        let side = self.trial.map(|trial| trial.side);
        LongRow {
            table: self.table.name(),
            run: &self.run.id,
            workload: &self.run.workload,
            step: self.trial.map(|trial| trial.step.as_str()),
            subject: side.and_then(|side| self.run.subjects.get(side)).map(String::as_str),
            side,
            launch: self.trial.map(|trial| trial.launch),
            block: self.block,
            second: self.second,
            metric,
            unit,
            value,
        }
    }
}

/// How a trial ended and its latency; one without an end says so.
pub fn trial<'a>(
    run: &'a ExportedRun,
    key: &'a TrialKey,
    ended: Option<&'a TrialRecord>,
) -> Vec<LongRow<'a>> {
    let place = Place::of_trial(run, Table::Trials, key);
    let (outcome, reason) = match ended.map(|ended| &ended.outcome) {
        None => ("unfinished", None),
        Some(Outcome::Done) => ("done", None),
        Some(Outcome::Failed { reason }) => ("failed", Some(reason)),
        Some(Outcome::Skipped { reason }) => ("skipped", Some(reason)),
    };
    let mut rows = vec![place.row("outcome", "", Value::Text(outcome.to_owned()))];
    rows.extend(reason.map(|reason| place.row("reason", "", Value::Text(reason.to_string()))));
    if let Some(latency) = ended.and_then(|ended| ended.latency.as_ref()) {
        rows.push(place.row("latency_operations", "1", Value::Whole(latency.count)));
        let quantiles = [
            ("latency_ns_p50", Some(latency.p50)),
            ("latency_ns_p99", Some(latency.p99)),
            ("latency_ns_p999", Some(latency.p999)),
            ("latency_ns_p9999", latency.p9999),
            ("latency_ns_max", Some(latency.max)),
        ];
        rows.extend(
            quantiles
                .into_iter()
                .filter_map(|(metric, nanos)| Some(place.row(metric, "ns", Value::Whole(nanos?.0)))),
        );
        rows.push(place.row("latency_histogram", "hdr-v2", Value::Text(latency.histogram.clone())));
    }
    rows
}

/// One second of a trial.
pub fn second<'a>(run: &'a ExportedRun, trial: &'a TrialKey, second: &Second) -> Vec<LongRow<'a>> {
    let place =
        Place { second: Some(f64::from(second.second)), ..Place::of_trial(run, Table::Seconds, trial) };
    [
        ("operations", "1", second.operations),
        ("latency_ns_p50", "ns", second.p50.0),
        ("latency_ns_p99", "ns", second.p99.0),
        ("latency_ns_max", "ns", second.max.0),
    ]
    .into_iter()
    .map(|(metric, unit, value)| place.row(metric, unit, Value::Whole(value)))
    .collect()
}

/// The number of a block in the long form, as scripts know it: in rounds 0 is the step and 1 its drain.
fn number_of(kind: BlockKind) -> u32 {
    match kind {
        BlockKind::Cycle(cycle) => cycle,
        BlockKind::Whole => 0,
        BlockKind::Drain => 1,
    }
}

/// One block, as it was measured.
pub fn block<'a>(run: &'a ExportedRun, block: &'a Block) -> Vec<LongRow<'a>> {
    let place =
        Place { block: Some(number_of(block.kind)), ..Place::of_trial(run, Table::Blocks, &block.trial) };
    [
        ("operations", "1", Some(block.operations)),
        ("failed_operations", "1", Some(block.failed_operations)),
        ("wall_ns", "ns", Some(block.wall.0)),
        ("run_delay_ns", "ns", Some(block.run_delay.0)),
        ("foreground_cpu_ns", "ns", Some(block.foreground_cpu.0)),
        ("foreground_threads", "1", Some(u64::from(block.foreground_threads))),
        ("process_cpu_ns", "ns", block.process_cpu.map(|cpu| cpu.0)),
        ("started_at_us", "us", block.started_at_us.and_then(|at| u64::try_from(at).ok())),
        ("position", "1", Some(u64::from(block.position))),
        ("image", "1", Some(u64::from(block.image))),
    ]
    .into_iter()
    .filter_map(|(metric, unit, value)| Some(place.row(metric, unit, Value::Whole(value?))))
    .collect()
}

/// The counters of a block: totals over it, and levels at its end.
pub fn counters<'a>(run: &'a ExportedRun, block: &'a Block) -> Vec<LongRow<'a>> {
    let place =
        Place { block: Some(number_of(block.kind)), ..Place::of_trial(run, Table::Counters, &block.trial) };
    block
        .counters
        .iter()
        .map(|(counter, value)| {
            let unit = Metric::Counter(*counter).unit();
            place.row(counter.total_name(), unit, Value::Whole(*value))
        })
        .collect()
}

/// The readings of the host at one moment; the second counts from the start of the run.
pub fn host<'a>(run: &'a ExportedRun, sample: &'a HostSample) -> Vec<LongRow<'a>> {
    let second = (sample.at_us - run.started_at_us) as f64 / 1e6;
    let place = Place { run, table: Table::Host, trial: None, block: None, second: Some(second) };
    sample
        .readings
        .iter()
        .map(|(name, value)| place.row(name, unit_of_reading(name), Value::Whole(*value)))
        .collect()
}

/// The unit that a reading's name ends with; most are counts since the boot.
fn unit_of_reading(name: &str) -> &'static str {
    let ending = name.rsplit(['_', '.']).next().unwrap_or_default();
    match ending {
        "us" => "us",
        "ms" => "ms",
        "ns" => "ns",
        "ticks" => "ticks",
        "bytes" => "B",
        "kb" => "KiB",
        _ => "",
    }
}

/// The metrics of each trial that counts, by step, side and launch: of rounds those of its report, trials that
/// others disturbed left out; of interleaved launches the totals of its blocks.
pub fn values(record: &RunRecord) -> Vec<TrialValues> {
    match (record.plan.purpose, record.plan.layout.design) {
        (Purpose::Campaign, Design::Rounds | Design::Sequential) => campaign_values(record),
        (Purpose::Campaign, Design::Interleaved) | (Purpose::Compare | Purpose::Calibrate, _) => {
            comparison_values(record)
        }
    }
}

/// The metrics of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialValues {
    trial: TrialKey,
    values: Vec<(String, &'static str, f64)>,
}

impl TrialValues {
    /// A row for each metric.
    pub fn rows<'a>(&'a self, run: &'a ExportedRun) -> Vec<LongRow<'a>> {
        let place = Place::of_trial(run, Table::Values, &self.trial);
        let rows = self.values.iter();
        rows.map(|(metric, unit, value)| place.row(metric, unit, Value::Real(*value))).collect()
    }
}

fn campaign_values(record: &RunRecord) -> Vec<TrialValues> {
    let view = Comparison::of(record, &Evidence::default());
    let mut found = Vec::new();
    for step in &view.steps {
        for row in &step.rows {
            for (round, values) in &row.rounds {
                let metrics = step.columns.iter().filter_map(|metric| {
                    Some((metric.name().to_owned(), metric.unit(), values.get(*metric)?))
                });
                let tickers = values.tickers.iter();
                let tickers = tickers.map(|(name, value)| (format!("{name}_per_op"), "1", *value));
                found.push(TrialValues {
                    trial: TrialKey { launch: *round, step: step.name.clone(), side: row.side },
                    values: metrics.chain(tickers).collect(),
                });
            }
        }
    }
    found
}

fn comparison_values(record: &RunRecord) -> Vec<TrialValues> {
    let done: BTreeMap<&TrialKey, &TrialRecord> = record
        .trials
        .iter()
        .filter(|ended| ended.outcome == Outcome::Done)
        .map(|ended| (&ended.trial, ended))
        .collect();
    let mut blocks: BTreeMap<&TrialKey, Vec<&Block>> = BTreeMap::new();
    for block in record.blocks.iter().filter(|block| done.contains_key(&block.trial)) {
        blocks.entry(&block.trial).or_default().push(block);
    }
    let mut found: Vec<TrialValues> =
        blocks
            .into_iter()
            .map(|(trial, blocks)| {
                let mut values = totals(&blocks);
                if let Some(latency) = done.get(trial).and_then(|ended| ended.latency.as_ref()) {
                    let quantiles = [
                        ("latency_us_p50", Some(latency.p50)),
                        ("latency_us_p99", Some(latency.p99)),
                        ("latency_us_p999", Some(latency.p999)),
                        ("latency_us_p9999", latency.p9999),
                        ("latency_us_max", Some(latency.max)),
                    ];
                    values.extend(quantiles.into_iter().filter_map(|(metric, nanos)| {
                        Some((metric.to_owned(), "us", nanos?.as_micros_f64()))
                    }));
                }
                TrialValues { trial: trial.clone(), values }
            })
            .collect();
    let order = |trial: &TrialKey| (trial.step.clone(), trial.side, trial.launch);
    found.sort_by_key(|one| order(&one.trial));
    found
}

/// Rates, costs per operation and mean levels of the blocks of a trial together.
fn totals(blocks: &[&Block]) -> Vec<(String, &'static str, f64)> {
    let totals = analysis::launch::totals(blocks.iter().copied());
    let operations = totals.operations;
    if operations <= 0.0 {
        return Vec::new();
    }
    let counters = totals.counters.iter().map(|(counter, total)| {
        let over = if counter.is_level() { 1.0 } else { operations };
        (Metric::Counter(*counter), total / over)
    });
    let rates = [
        (Metric::OpsPerSecond, operations / totals.wall_s),
        (Metric::OpsPerSecondAdjusted, operations / totals.adjusted_s),
    ];
    let cpu = totals.process_cpu_s.map(|cpu_s| (Metric::CpuMicrosPerOp, 1e6 * cpu_s / operations));
    rates
        .into_iter()
        .chain(cpu)
        .chain(counters)
        .filter(|(_, value)| value.is_finite())
        .map(|(metric, value)| (metric.name().to_owned(), metric.unit(), value))
        .collect()
}
