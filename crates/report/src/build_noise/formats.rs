//! Build noise as text, Markdown and JSON.

use super::{BuildNoiseView, CONFIDENCE, StepNoise};
use crate::grids::{Grid, Kind};
use crate::json::SCHEMA;
use crate::layout::{paint, wrapped};
use crate::markdown::{escaped, table as markdown_table};
use crate::text::{LEAST_WIDTH, TextOptions, table};
use analysis::build_noise::BuildNoise;
use model::figures::{NONE, and_list, chosen_percent, percent};
use serde::Serialize;

/// For a terminal.
pub fn text(view: &BuildNoiseView, options: TextOptions) -> String {
    let width = options.width.max(LEAST_WIDTH);
    let mut parts = vec![wrapped(&headline(view), width, 0), table(&grid(view), width)];
    parts.push(closing(view).iter().map(|line| wrapped(line, width, 2)).collect::<Vec<_>>().join("\n"));
    paint(&(parts.join("\n\n") + "\n"), options.colour)
}

/// For a pull request.
pub fn markdown(view: &BuildNoiseView) -> String {
    let mut parts = vec![escaped(&headline(view)), markdown_table(&grid(view))];
    parts.extend(closing(view).iter().map(|line| escaped(line)));
    parts.join("\n\n") + "\n"
}

fn headline(view: &BuildNoiseView) -> String {
    format!("Build noise: how much {} differ that should be the same.", and_list(&view.builds))
}

fn grid(view: &BuildNoiseView) -> Grid {
    let mut grid = Grid::new(&[
        ("step", Kind::Name),
        ("rate:\ntau", Kind::Number),
        ("at most", Kind::Number),
        ("of one\nlaunch", Kind::Number),
        ("CPU/op:\ntau", Kind::Number),
        ("at most", Kind::Number),
        ("launches", Kind::Number),
    ]);
    grid.rows = view.steps.iter().map(cells).collect();
    grid
}

fn cells(step: &StepNoise) -> Vec<String> {
    let share = |noise: &Option<BuildNoise>, of: fn(&BuildNoise) -> f64| {
        noise.as_ref().map_or_else(|| NONE.to_owned(), |noise| percent(of(noise)))
    };
    vec![
        step.step.clone(),
        share(&step.rate, |noise| noise.tau),
        share(&step.rate, |noise| noise.upper),
        share(&step.rate, |noise| noise.launch_sd),
        share(&step.cpu, |noise| noise.tau),
        share(&step.cpu, |noise| noise.upper),
        step.rate.as_ref().map_or_else(|| NONE.to_owned(), |noise| noise.launches.to_string()),
    ]
}

fn closing(view: &BuildNoiseView) -> Vec<String> {
    let mut lines = vec![format!(
        "tau is the standard deviation between builds beyond that of repeated launches; at most: with {} confidence. \
         Assumed where nobody measures it: {}. Give what was found as --build-noise to history and compare.",
        chosen_percent(CONFIDENCE),
        chosen_percent(view.assumed)
    )];
    lines.extend(
        view.identical
            .iter()
            .map(|one| format!("WARNING identical-builds: {one}, byte for byte: no second build of it")),
    );
    lines.push(crate::phrases::host_line(&view.host));
    lines.push(format!("As a comparison: dbdyno report {}", view.run.id));
    lines
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    run: &'a str,
    builds: &'a [String],
    confidence: f64,
    assumed: f64,
    steps: Vec<StepObject<'a>>,
    warnings: Vec<&'static str>,
    identical: &'a [String],
}

#[derive(Serialize)]
struct StepObject<'a> {
    step: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ops_per_s: Option<NoiseObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_us_per_op: Option<NoiseObject>,
}

#[derive(Serialize)]
struct NoiseObject {
    tau: f64,
    upper: f64,
    launch_sd: f64,
    builds: usize,
    launches: usize,
}

/// One object with a line break at its end; shares in ln.
///
/// # Errors
/// None that a view can cause.
pub fn json(view: &BuildNoiseView) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA,
        run: &view.run.id,
        builds: &view.builds,
        confidence: CONFIDENCE,
        assumed: view.assumed,
        steps: view.steps.iter().map(step_object).collect(),
        warnings: if view.identical.is_empty() { Vec::new() } else { vec!["identical-builds"] },
        identical: &view.identical,
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn step_object(one: &StepNoise) -> StepObject<'_> {
    let noise = |of: BuildNoise| NoiseObject {
        tau: of.tau,
        upper: of.upper,
        launch_sd: of.launch_sd,
        builds: of.builds,
        launches: of.launches,
    };
    StepObject { step: &one.step, ops_per_s: one.rate.map(noise), cpu_us_per_op: one.cpu.map(noise) }
}
