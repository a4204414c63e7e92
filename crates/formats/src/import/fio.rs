//! Outputs of fio as values.

use super::{Case, Source, percentile_metric, real};
use crate::fio_json::{FioDirection, FioJob, FioLatency, FioOutput};
use model::import::ImportedValue;

/// The percentiles that become values; fio has 17 of them unless told otherwise.
const PERCENTILES: [&str; 6] = ["50", "90", "95", "99", "99.9", "99.99"];

/// Microseconds of a nanosecond.
const NS: f64 = 1e-3;

/// The values of fio's jobs: a test for each direction in which a job moved something, `randread.read`. An operation is a
/// request. Latency is that of completions, or the whole one where fio was told to have percentiles of that. CPU is the
/// job's, whichever direction: it stands by itself where a job has two.
pub fn of_fio(outputs: &[FioOutput], source: Source<'_>) -> Vec<ImportedValue> {
    outputs.iter().flat_map(|output| &output.jobs).flat_map(|job| of_job(job, source)).collect()
}

fn of_job(job: &FioJob, source: Source<'_>) -> Vec<ImportedValue> {
    let place = format!("line {}", job.line);
    let case = |step| Case { file: source.file, subject: source.subject, step, place: &place };
    let step_of = |direction: &FioDirection| format!("{}.{}", job.name, direction.kind.name());
    let steps: Vec<String> = match job.directions.len() {
        0 => vec![job.name.clone()],
        _ => job.directions.iter().map(step_of).collect(),
    };
    if job.error != 0 {
        let said = format!("failed ({})", job.error);
        return steps.iter().map(|step| case(step).said("ops_per_s", "ops/s", None, &said)).collect();
    }
    let mut values: Vec<ImportedValue> = job
        .directions
        .iter()
        .zip(&steps)
        .flat_map(|(direction, step)| of_direction(direction, &case(step)))
        .collect();
    let of_all = match &steps[..] {
        [only] => case(only),
        _ => case(&job.name),
    };
    values.extend(of_all.value("user_cpu_percent", "%", job.user_cpu_percent));
    values.extend(of_all.value("system_cpu_percent", "%", job.system_cpu_percent));
    values.extend(of_all.value("context_switches", "", real(job.context_switches)));
    values
}

fn of_direction(direction: &FioDirection, case: &Case<'_>) -> Vec<ImportedValue> {
    let latency = latency(direction);
    let mut values = Vec::new();
    let mut add = |metric: &str, unit, value| values.extend(case.value(metric, unit, value));
    let us = |ns: Option<f64>| ns.map(|ns| ns * NS);
    add("ops_per_s", "ops/s", direction.requests_per_s);
    add("bytes_per_s", "B/s", direction.bytes_per_s);
    add("latency_us_min", "us", us(latency.ns_min));
    add("latency_us_mean", "us", us(latency.ns_mean));
    add("latency_us_stddev", "us", us(latency.ns_stddev));
    for percent in PERCENTILES {
        add(&percentile_metric(percent), "us", us(latency.ns_percentiles.get(percent).copied()));
    }
    add("latency_us_max", "us", us(latency.ns_max));
    add("seconds", "s", direction.runtime_ms.map(|ms| ms as f64 / 1000.0));
    add("operations", "", real(direction.requests));
    add(&format!("{}_bytes", direction.kind.name()), "B", Some(direction.bytes as f64));
    values
}

fn latency(direction: &FioDirection) -> &FioLatency {
    let (completion, whole) = (&direction.completion, &direction.whole);
    let is_whole = completion.ns_percentiles.is_empty() && !whole.ns_percentiles.is_empty();
    if is_whole || completion.ns_mean.is_none() { whole } else { completion }
}
