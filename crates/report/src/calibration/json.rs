//! A calibration as JSON: keys in a fixed order, what is unknown absent.

use crate::contract::{self, SCHEMA};
use findings::calibration::{CalibrationRow, CalibrationView, Honesty, Judged, MetricNoise};
use serde_json::{Value, json};

/// The calibration as one JSON object with a line break at its end: `harness` is `honest`, `biased` or
/// `unknown`; one entry of `steps` for each step and metric. Unknown values are absent.
pub fn json(view: &CalibrationView) -> Result<String, serde_json::Error> {
    let (harness, biased_steps) = match &view.honesty {
        Honesty::Honest => ("honest", None),
        Honesty::Biased { steps } => ("biased", Some(steps)),
        Honesty::TooFew { .. } => ("unknown", None),
    };
    let steps = view.rows.iter().flat_map(|row| row.metrics.iter().map(|one| noise(row, one)));
    contract::text(json!({
        "schema": SCHEMA,
        "runs": view.runs,
        "subject": view.subject,
        "workload": view.workload,
        "host": view.host,
        "harness": harness,
        "biased_steps": biased_steps,
        "alpha": view.alpha,
        "verdicts": view.verdicts,
        "false_verdicts": view.false_verdicts,
        "judged": view.judged.iter().map(judged).collect::<Vec<_>>(),
        "visible_launches": view.visible_launches,
        "visible_seconds": view.visible_seconds,
        "steps": steps.collect::<Vec<_>>(),
    }))
}

fn judged(one: &Judged) -> Value {
    json!({
        "run": one.run,
        "seed": one.seed,
        "step": one.step,
        "metric": one.estimate.metric,
        "verdict": one.verdict,
        "launches": one.estimate.units,
        "ratio": one.estimate.ratio,
        "low": one.estimate.low,
        "high": one.estimate.high,
    })
}

fn noise(row: &CalibrationRow, one: &MetricNoise) -> Value {
    json!({
        "step": row.step,
        "metric": one.metric,
        "launches": row.launches,
        "ratio": one.ratio,
        "p_value": one.p_value,
        "biased": one.biased,
        "launch_sd": one.launch_sd,
        "image_sd": one.image_sd,
        "visible_change": one.visible_change,
    })
}
