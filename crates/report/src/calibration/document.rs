//! A calibration as a document and as JSON.

use super::phrases::{false_verdicts, judged, legend, noise, subject, verdict};
use super::self_test;
use crate::charts::{BarSeries, Bars, Chart, Point};
use crate::contract::SCHEMA;
use crate::document::{Block, Document, Figure, Section, Sentence};
use analysis::self_test::SelfTestResult;
use findings::calibration::{CalibrationRow, CalibrationView, Honesty, Judged, MetricNoise};
use model::figures::{chosen_percent, count};
use model::metric::Metric;
use model::verdict::Verdict;
use serde_json::{Value, json};

/// Panels of more runs than this cannot be read: the table has them all.
const MOST_RUNS: usize = 20;

/// The document of a calibration.
pub fn document(view: &CalibrationView) -> Document {
    let mut noise_blocks = vec![Block::Table(noise(view)), Block::Paragraph(legend(view))];
    noise_blocks.extend(visible(view).map(Block::Figure));
    let mut judged_blocks: Vec<Block> = equal_sides(view).map(Block::Figure).into_iter().collect();
    judged_blocks.push(Block::Table(judged(view)));
    Document {
        title: format!("{} against itself", view.subject),
        kind: "calibration",
        runs: view.runs.clone(),
        found: vec![
            Sentence { verdict: Some(of_harness(&view.honesty)), text: verdict(view) },
            Sentence { verdict: None, text: false_verdicts(view) },
        ],
        intro: view.part.iter().cloned().chain([subject(view)]).collect(),
        warnings: Vec::new(),
        sections: vec![
            Section::new("self-test", "Self-test of the harness", self_test::blocks(view)),
            Section::new("noise", "Noise of each step", noise_blocks),
            Section::new("judged", "Steps judged", judged_blocks),
        ],
        command: None,
        footer: vec![format!("Again: dbdyno report {}", view.runs.join(" "))],
    }
}

/// The verdict that stands for what is said of the harness: its sides are the same build.
fn of_harness(honesty: &Honesty) -> Verdict {
    match honesty {
        Honesty::Honest => Verdict::NoChange,
        Honesty::Biased { .. } => Verdict::Suspect,
        Honesty::TooFew { .. } => Verdict::Inconclusive,
    }
}

/// How small a change each step shows; absent where no step has two launches.
fn visible(view: &CalibrationView) -> Option<Figure> {
    let series = |name: &str, metric: Metric| BarSeries {
        name: name.to_owned(),
        values: view.rows.iter().map(|row| visible_percent(row, metric)).collect(),
    };
    let series = vec![
        series("QPS", Metric::OpsPerSecond),
        series("contention-adjusted rate", Metric::OpsPerSecondAdjusted),
    ];
    let launches = count(u64::from(view.visible_launches), "launch", "launches");
    has_values(&series).then(|| Figure {
        name: "visible-change".to_owned(),
        caption: format!("Smallest change that {launches} show with 90 % power: shorter is better."),
        chart: Chart::Bars(Bars {
            title: format!("Smallest change visible in {launches}"),
            axis: "change of the rate, %".to_owned(),
            reference: 0.0,
            confidence: None,
            labels: view.rows.iter().map(|row| row.step.clone()).collect(),
            series,
        }),
    })
}

fn visible_percent(row: &CalibrationRow, metric: Metric) -> Option<Point> {
    let change = |noise: &MetricNoise| noise.visible_change.filter(|change| change.is_finite());
    let value = 100.0 * row.metrics.iter().find(|noise| noise.metric == metric).and_then(change)?;
    Some(Point { value, low: None, high: None })
}

/// What each run measured between the equal sides; absent where there are too many runs, or no rate.
fn equal_sides(view: &CalibrationView) -> Option<Figure> {
    let steps: Vec<&str> = view.rows.iter().map(|row| row.step.as_str()).collect();
    let of = |run: &str, step: &str| {
        let of_case = |judged: &&Judged| judged.run == run && judged.step == step;
        let estimate = &view.judged.iter().find(of_case)?.estimate;
        Some(Point { value: estimate.ratio?, low: estimate.low, high: estimate.high })
    };
    let series: Vec<BarSeries> = view
        .runs
        .iter()
        .map(|run| BarSeries { name: run.clone(), values: steps.iter().map(|step| of(run, step)).collect() })
        .collect();
    let confidence = 1.0 - view.alpha;
    (has_values(&series) && series.len() <= MOST_RUNS).then(|| Figure {
        name: "equal-sides".to_owned(),
        caption: format!(
            "Rate of one side over that of the other, by step: the build is the same, so that its {} interval should \
             hold 1.",
            chosen_percent(confidence)
        ),
        chart: Chart::Bars(Bars {
            title: format!("{} against itself", view.subject),
            axis: "relative QPS".to_owned(),
            reference: 1.0,
            confidence: Some(confidence),
            labels: steps.into_iter().map(str::to_owned).collect(),
            series,
        }),
    })
}

fn has_values(series: &[BarSeries]) -> bool {
    series.iter().flat_map(|one| &one.values).any(Option::is_some)
}

/// The keys of scripts: `harness` is `honest`, `biased` or
/// `unknown`; one entry of `steps` for each step and metric. Unknown values are absent.
pub fn json(view: &CalibrationView) -> Value {
    let (harness, biased_steps) = match &view.honesty {
        Honesty::Honest => ("honest", None),
        Honesty::Biased { steps } => ("biased", Some(steps)),
        Honesty::TooFew { .. } => ("unknown", None),
    };
    let judged = |one: &Judged| {
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
    };
    let noise = |row: &CalibrationRow, one: &MetricNoise| {
        json!({
            "step": row.step,
            "metric": one.metric,
            "launches": row.launches,
            "ratio": one.ratio,
            "p_value": one.p_value,
            "biased": one.metric.is_rate() && row.self_test.accumulated.result() == SelfTestResult::Failed,
            "launch_sd": one.launch_sd,
            "image_sd": one.image_sd,
            "visible_change": one.visible_change,
        })
    };
    let steps = view.rows.iter().flat_map(|row| row.metrics.iter().map(move |one| noise(row, one)));
    json!({
        "schema": SCHEMA,
        "runs": view.runs,
        "subject": view.subject,
        "workload": view.workload,
        "host": view.host,
        "harness": harness,
        "biased_steps": biased_steps,
        "self_tests": view.rows.iter().map(self_test::json).collect::<Vec<_>>(),
        "alpha": view.alpha,
        "verdicts": view.verdicts,
        "false_verdicts": view.false_verdicts,
        "judged": view.judged.iter().map(judged).collect::<Vec<_>>(),
        "visible_launches": view.visible_launches,
        "visible_seconds": view.visible_seconds,
        "steps": steps.collect::<Vec<_>>(),
    })
}
