//! What all JSON of reports has in common: keys stand in a fixed order, numbers are in base units, an unknown value is
//! absent. Keys may be added; none is renamed or dropped within a schema.

use model::fingerprint::Fingerprint;
use model::host::{HarnessCost, Host};
use model::warning::Warning;
use serde_json::{Value, json};

pub(crate) use findings::SCHEMA;

/// One object with a line break at its end.
///
/// # Errors
/// None that a view can cause: a number that JSON cannot hold is left out.
pub(crate) fn text(mut object: Value) -> Result<String, serde_json::Error> {
    leave_out_unknown(&mut object);
    Ok(serde_json::to_string_pretty(&object)? + "\n")
}

/// Takes keys without a value out of objects; in an array each value has its place.
fn leave_out_unknown(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(leave_out_unknown);
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out_unknown),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A warning with what it is about.
pub(crate) fn note(warning: &Warning, candidate: Option<&str>, step: Option<&str>) -> Value {
    json!({ "candidate": candidate, "step": step, "id": warning.id(), "text": warning.to_string() })
}

/// What measuring cost.
pub(crate) fn cost(cost: &HarnessCost) -> Value {
    json!({
        "sampler_core_percent": cost.sampler_core_percent,
        "block_edge_us": cost.block_edge_us,
        "client_cpu_ns_per_op": cost.client_cpu_ns_per_op,
        "controller_peak_bytes": cost.controller_peak_bytes,
        "worker_heap_peak_bytes": cost.worker_heap_peak_bytes,
        "step_pauses": cost.step_pauses.map(|pauses| json!({
            "count": pauses.count,
            "mean_s": pauses.mean.as_secs_f64(),
            "longest_s": pauses.longest.as_secs_f64(),
        })),
    })
}

/// What the host is, and how fast it was if it was measured.
pub(crate) fn host(host: &Host, fingerprint: Option<&Fingerprint>) -> Value {
    json!({
        "name": host.name,
        "kernel": host.kernel,
        "cpu_model": host.cpu_model,
        "cpus": host.cpus,
        "cpus_online": host.cpus_online,
        "memory_bytes": host.memory_bytes,
        "virtual_machine": host.virtual_machine,
        "governor": host.governor,
        "transparent_huge_pages": host.transparent_huge_pages,
        "file_system": host.file_system,
        "load_1m": host.load_1m,
        "fingerprint": fingerprint.map(|one| json!({ "at_us": one.at_us, "figures": one.figures })),
    })
}
