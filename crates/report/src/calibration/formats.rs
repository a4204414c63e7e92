//! A calibration as text, Markdown and JSON; its sentences and tables.

use super::{CalibrationRow, CalibrationView, Honesty, MetricNoise};
use crate::grids::{Grid, Kind};
use crate::layout::{BOLD, GREEN, RED, marked, paint, wrapped};
use crate::markdown;
use crate::text::{TextOptions, table};
use model::figures::{NONE, and_list, chosen_percent, count, interval, percent, ratio, span};
use model::metric::Metric;
use model::verdict::Verdict;
use serde::Serialize;

/// The calibration as text.
pub fn text(view: &CalibrationView, options: TextOptions) -> String {
    let paragraph = |text: &str| wrapped(text, options.width, 2);
    let mark = match view.honesty {
        Honesty::Honest => GREEN,
        Honesty::Biased { .. } => RED,
        Honesty::TooFew { .. } => BOLD,
    };
    let parts = [
        marked(mark, &wrapped(&verdict(view), options.width, 2)),
        paragraph(&subject(view)),
        table(&grid(view), options.width),
        paragraph(&legend(view)),
        paragraph(&false_verdicts(view)),
        table(&judged_grid(view), options.width),
    ];
    paint(&(parts.join("\n\n") + "\n"), options.colour)
}

/// The calibration as GitHub Markdown.
pub fn markdown(view: &CalibrationView) -> String {
    let parts = [
        format!("**{}**", markdown::escaped(&verdict(view))),
        markdown::escaped(&subject(view)),
        markdown::table(&grid(view)),
        markdown::escaped(&legend(view)),
        markdown::escaped(&false_verdicts(view)),
        markdown::table(&judged_grid(view)),
    ];
    parts.join("\n\n") + "\n"
}

pub(super) fn verdict(view: &CalibrationView) -> String {
    match &view.honesty {
        Honesty::Honest => "The harness is honest here: no step treats the sides differently.".to_owned(),
        Honesty::Biased { steps } => format!(
            "The harness is BIASED here: {} differs between two sides that are the same. No verdict of this host \
             can be trusted; look for what disturbs it, then calibrate again.",
            and_list(steps)
        ),
        Honesty::TooFew { launches, needed } => format!(
            "Too few launches to tell whether the harness is honest: {launches} of the {needed} that it takes."
        ),
    }
}

pub(super) fn subject(view: &CalibrationView) -> String {
    format!(
        "{} against itself on host {}, workload {}; {}: {}.",
        view.subject,
        view.host,
        view.workload,
        count(view.runs.len() as u64, "run", "runs"),
        view.runs.join(", ")
    )
}

pub(super) fn grid(view: &CalibrationView) -> Grid {
    let mut grid = Grid::new(&[
        ("step", Kind::Name),
        ("n", Kind::Number),
        ("QPS\nratio", Kind::Number),
        ("self-\ntest p", Kind::Number),
        ("sd\nQPS", Kind::Number),
        ("sd\nadj", Kind::Number),
        ("sd\nCPU", Kind::Number),
        ("visible\nQPS", Kind::Number),
        ("visible\nadj", Kind::Number),
    ]);
    grid.rows = view.rows.iter().map(cells).collect();
    grid
}

fn cells(row: &CalibrationRow) -> Vec<String> {
    let of = |metric| row.metrics.iter().find(|noise| noise.metric == metric);
    let share = |metric, value: fn(&MetricNoise) -> Option<f64>| {
        of(metric).and_then(value).map_or_else(|| NONE.to_owned(), percent)
    };
    let wall = of(Metric::OpsPerSecond);
    let p_value = |noise: &MetricNoise| {
        if noise.p_value < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", noise.p_value) }
    };
    vec![
        row.step.clone(),
        row.launches.to_string(),
        wall.and_then(|noise| noise.ratio).map_or_else(|| NONE.to_owned(), ratio),
        wall.map_or_else(|| NONE.to_owned(), p_value),
        share(Metric::OpsPerSecond, |noise| noise.launch_sd),
        share(Metric::OpsPerSecondAdjusted, |noise| noise.launch_sd),
        share(Metric::CpuMicrosPerOp, |noise| noise.launch_sd),
        share(Metric::OpsPerSecond, |noise| noise.visible_change),
        share(Metric::OpsPerSecondAdjusted, |noise| noise.visible_change),
    ]
}

pub(super) fn legend(view: &CalibrationView) -> String {
    let time = view.visible_seconds.map(|seconds| format!(", about {}", span(seconds))).unwrap_or_default();
    format!(
        "n counts launches; QPS is the ratio of the two equal sides over the last 20 launches, p its self-test \
         (biased at 0.001); sd is that of ln(ratio) over launches; visible is the smallest change that {}{time} \
         show with 90 % power, on QPS and on the contention-adjusted rate (adj). Each launch has a data image of its \
         own, so the spread of images is part of sd.",
        count(u64::from(view.visible_launches), "launch", "launches")
    )
}

/// All verdicts, so that a reader can count.
pub(super) fn judged_grid(view: &CalibrationView) -> Grid {
    let mut grid = Grid::new(&[
        ("run", Kind::Name),
        ("seed", Kind::Number),
        ("step", Kind::Name),
        ("relative QPS\nand interval", Kind::Number),
        ("n", Kind::Number),
        ("verdict", Kind::Name),
    ]);
    grid.rows = view
        .judged
        .iter()
        .map(|judged| {
            let estimate = &judged.estimate;
            let interval = match (estimate.low, estimate.high) {
                (None, None) => String::new(),
                (low, high) => format!(" {}", interval(low, high)),
            };
            vec![
                judged.run.clone(),
                judged.seed.to_string(),
                judged.step.clone(),
                estimate.ratio.map_or_else(|| NONE.to_owned(), |value| format!("{}{interval}", ratio(value))),
                estimate.units.to_string(),
                judged.verdict.to_string(),
            ]
        })
        .collect();
    grid
}

pub(super) fn false_verdicts(view: &CalibrationView) -> String {
    let found = if view.false_verdicts.is_empty() {
        "none".to_owned()
    } else {
        format!("{}: {}", view.false_verdicts.len(), view.false_verdicts.join("; "))
    };
    format!(
        "False verdicts among {} steps judged: {found} (at most {} of them are to be expected).",
        view.verdicts,
        chosen_percent(view.alpha)
    )
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    runs: &'a [String],
    subject: &'a str,
    workload: &'a str,
    host: &'a str,
    harness: &'static str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    biased_steps: &'a [String],
    alpha: f64,
    verdicts: u32,
    false_verdicts: &'a [String],
    judged: Vec<JudgedStep<'a>>,
    visible_launches: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    visible_seconds: Option<f64>,
    steps: Vec<Step<'a>>,
}

#[derive(Serialize)]
struct JudgedStep<'a> {
    run: &'a str,
    seed: u64,
    step: &'a str,
    metric: &'static str,
    verdict: Verdict,
    launches: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
}

#[derive(Serialize)]
struct Step<'a> {
    step: &'a str,
    metric: &'static str,
    launches: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    p_value: f64,
    biased: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch_sd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_sd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visible_change: Option<f64>,
}

/// The calibration as one JSON object with a line break at its end: `harness` is `honest`, `biased` or
/// `unknown`; one entry of `steps` for each step and metric. Unknown values are absent.
pub fn json(view: &CalibrationView) -> Result<String, serde_json::Error> {
    let (harness, biased_steps): (_, &[String]) = match &view.honesty {
        Honesty::Honest => ("honest", &[]),
        Honesty::Biased { steps } => ("biased", steps),
        Honesty::TooFew { .. } => ("unknown", &[]),
    };
    let steps = view.rows.iter().flat_map(|row| {
        row.metrics.iter().map(|noise| Step {
            step: &row.step,
            metric: noise.metric.name(),
            launches: row.launches,
            ratio: noise.ratio,
            p_value: noise.p_value,
            biased: noise.biased,
            launch_sd: noise.launch_sd,
            image_sd: noise.image_sd,
            visible_change: noise.visible_change,
        })
    });
    let judged = view.judged.iter().map(|judged| JudgedStep {
        run: &judged.run,
        seed: judged.seed,
        step: &judged.step,
        metric: judged.estimate.metric.name(),
        verdict: judged.verdict,
        launches: judged.estimate.units,
        ratio: judged.estimate.ratio,
        low: judged.estimate.low,
        high: judged.estimate.high,
    });
    let document = Document {
        schema: 1,
        runs: &view.runs,
        subject: &view.subject,
        workload: &view.workload,
        host: &view.host,
        harness,
        biased_steps,
        alpha: view.alpha,
        verdicts: view.verdicts,
        false_verdicts: &view.false_verdicts,
        judged: judged.collect(),
        visible_launches: view.visible_launches,
        visible_seconds: view.visible_seconds,
        steps: steps.collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
