//! Build noise as JSON: keys in a fixed order, what is unknown absent.

use crate::contract::{self, SCHEMA};
use analysis::build_noise::BuildNoise;
use findings::build_noise::{BuildNoiseView, CONFIDENCE, StepNoise};
use serde_json::{Value, json};

/// One object with a line break at its end; shares in ln.
///
/// # Errors
/// None that a view can cause.
pub fn json(view: &BuildNoiseView) -> Result<String, serde_json::Error> {
    contract::text(json!({
        "schema": SCHEMA,
        "run": view.run.id,
        "builds": view.builds,
        "confidence": CONFIDENCE,
        "assumed": view.assumed,
        "steps": view.steps.iter().map(step).collect::<Vec<_>>(),
        "warnings": if view.identical.is_empty() { vec![] } else { vec!["identical-builds"] },
        "identical": view.identical,
    }))
}

fn step(one: &StepNoise) -> Value {
    let noise = |BuildNoise { tau, upper, launch_sd, builds, launches }| json!({ "tau": tau, "upper": upper, "launch_sd": launch_sd, "builds": builds, "launches": launches });
    json!({ "step": one.step, "ops_per_s": one.rate.map(noise), "cpu_us_per_op": one.cpu.map(noise) })
}
