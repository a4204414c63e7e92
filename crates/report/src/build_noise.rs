//! How much builds of the same source differ, as a document, as JSON and as a table.

use crate::contract::SCHEMA;
use crate::document::Kind::{Name, Number};
use crate::document::{Block, Document, Notice, Section, Sentence, Table};
use crate::render::separated::number;
use analysis::build_noise::BuildNoise;
use findings::build_noise::{BuildNoiseView, CONFIDENCE, StepNoise};
use model::figures::{NONE, and_list, chosen_percent, or_none, percent};
use serde_json::{Value, json};

/// The document of build noise.
pub fn document(view: &BuildNoiseView) -> Document {
    let identical = view.identical.iter().map(|one| {
        Notice::of_all("identical-builds", format!("{one}, byte for byte: no second build of it"))
    });
    let blocks = vec![Block::Table(noise(view)), Block::Paragraph(legend(view))];
    Document {
        title: format!("Build noise: how much {} differ that should be the same", and_list(&view.builds)),
        kind: "build noise",
        runs: vec![view.run.id.clone()],
        found: vec![Sentence { verdict: None, text: largest(view) }],
        warnings: identical.collect(),
        sections: vec![Section::new("noise", "Noise of each step", blocks)],
        footer: vec![
            crate::comparison::host_line(&view.host),
            format!("As a comparison: dbdyno report {}", view.run.id),
        ],
        ..Document::default()
    }
}

/// Where builds differ most.
fn largest(view: &BuildNoiseView) -> String {
    let rates = view.steps.iter().filter_map(|step| Some((&step.step, step.rate.as_ref()?)));
    match rates.max_by(|left, right| left.1.tau.total_cmp(&right.1.tau)) {
        Some((step, noise)) => format!(
            "Rates of these builds differ most on {step}: by {}, at most {}.",
            percent(noise.tau),
            percent(noise.upper)
        ),
        None => "Too few launches to say how much these builds differ.".to_owned(),
    }
}

fn noise(view: &BuildNoiseView) -> Table {
    let share = |noise: Option<BuildNoise>, of: fn(BuildNoise) -> f64| or_none(noise.map(of), percent);
    Table::by_columns(
        &view.steps,
        &[
            ("step", Name, &|step| step.step.clone()),
            ("rate:\ntau", Number, &|step| share(step.rate, |noise| noise.tau)),
            ("at most", Number, &|step| share(step.rate, |noise| noise.upper)),
            ("of one\nlaunch", Number, &|step| share(step.rate, |noise| noise.launch_sd)),
            ("CPU/op:\ntau", Number, &|step| share(step.cpu, |noise| noise.tau)),
            ("at most", Number, &|step| share(step.cpu, |noise| noise.upper)),
            ("launches", Number, &|step| or_none(step.rate, |noise| noise.launches.to_string())),
        ],
    )
}

fn legend(view: &BuildNoiseView) -> String {
    format!(
        "tau, the build noise, is the standard deviation between builds in excess of that between launches; at most: its upper \
         limit at {} confidence. If it was not measured, {} is assumed. Pass tau to compare and history as --build-noise.",
        chosen_percent(CONFIDENCE),
        chosen_percent(view.assumed)
    )
}

/// A line for each step; shares in ln.
pub fn table(view: &BuildNoiseView) -> Table {
    const OF_METRIC: [&str; 5] = ["tau", "upper", "launch_sd", "builds", "launches"];
    let of_metric = |metric: &str| OF_METRIC.map(|what| format!("{metric}_{what}"));
    let headers: Vec<String> =
        [vec!["step".to_owned()], of_metric("ops_per_s").to_vec(), of_metric("cpu_us_per_op").to_vec()]
            .concat();
    let mut table = Table::for_scripts(&headers);
    let values = |noise: &Option<BuildNoise>| {
        noise.as_ref().map_or([NONE; 5].map(str::to_owned), |noise| {
            [
                number(Some(noise.tau)),
                number(Some(noise.upper)),
                number(Some(noise.launch_sd)),
                noise.builds.to_string(),
                noise.launches.to_string(),
            ]
        })
    };
    table.fill(
        view.steps.iter().map(|step| {
            std::iter::once(step.step.clone()).chain(values(&step.rate)).chain(values(&step.cpu))
        }),
    );
    table
}

/// The keys of scripts; shares in ln.
pub fn json(view: &BuildNoiseView) -> Value {
    json!({
        "schema": SCHEMA,
        "run": view.run.id,
        "builds": view.builds,
        "confidence": CONFIDENCE,
        "assumed": view.assumed,
        "steps": view.steps.iter().map(step).collect::<Vec<_>>(),
        "warnings": if view.identical.is_empty() { vec![] } else { vec!["identical-builds"] },
        "identical": view.identical,
    })
}

fn step(one: &StepNoise) -> Value {
    let noise = |BuildNoise { tau, upper, launch_sd, builds, launches }| json!({ "tau": tau, "upper": upper, "launch_sd": launch_sd, "builds": builds, "launches": launches });
    json!({ "step": one.step, "ops_per_s": one.rate.map(noise), "cpu_us_per_op": one.cpu.map(noise) })
}
