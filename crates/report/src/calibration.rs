//! A calibration as a document, as JSON and as a table: whether the harness is honest here, how much it scatters, and its
//! self-test with what all calibrations that count say.

use crate::charts::{BarSeries, Bars, Chart, Point};
use crate::contract::SCHEMA;
use crate::document::Kind::{Name, Number, Word};
use crate::document::{Block, Document, Figure, Section, Sentence, Table};
use crate::render::separated::number;
use analysis::self_test::{ALPHA, SelfTestResult};
use findings::calibration::{CalibrationRow, CalibrationView, Honesty, Judged, MetricNoise};
use model::figures::{NONE, and_list, chosen_percent, count, interval, or_none, percent, ratio, span};
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
        sections: vec![
            Section::new("self-test", "Self-test of the harness", self_test(view)),
            Section::new("noise", "Noise of each step", noise_blocks),
            Section::new("judged", "Steps judged", judged_blocks),
        ],
        footer: vec![format!("Again: dbdyno report {}", view.runs.join(" "))],
        ..Document::default()
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
    let value = 100.0 * noise_of(row, metric).and_then(change)?;
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
            "biased": is_biased(row, one),
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
        "self_tests": view.rows.iter().map(self_test_json).collect::<Vec<_>>(),
        "alpha": view.alpha,
        "verdicts": view.verdicts,
        "false_verdicts": view.false_verdicts,
        "judged": view.judged.iter().map(judged).collect::<Vec<_>>(),
        "visible_launches": view.visible_launches,
        "visible_seconds": view.visible_seconds,
        "steps": steps.collect::<Vec<_>>(),
    })
}

/// A line for each step and metric, in base units: standard deviations are of ln(ratio), changes are shares.
pub fn table(view: &CalibrationView) -> Table {
    type Row<'a> = (&'a CalibrationRow, &'a MetricNoise);
    let rows = view.rows.iter().flat_map(|row| row.metrics.iter().map(move |noise| (row, noise)));
    Table::by_columns(
        rows,
        &[
            ("step", Word, &|(row, _): &Row<'_>| row.step.clone()),
            ("metric", Word, &|(_, noise)| noise.metric.name().to_owned()),
            ("launches", Word, &|(row, _)| row.launches.to_string()),
            ("ratio", Word, &|(_, noise)| number(noise.ratio)),
            ("p_value", Word, &|(_, noise)| number(Some(noise.p_value))),
            ("biased", Word, &|(row, noise)| is_biased(row, noise).to_string()),
            ("launch_sd", Word, &|(_, noise)| number(noise.launch_sd)),
            ("image_sd", Word, &|(_, noise)| number(noise.image_sd)),
            ("visible_change", Word, &|(_, noise)| number(noise.visible_change)),
            ("e_value", Word, &|(row, _)| number(Some(row.self_test.e_value))),
            ("e_value_accumulated", Word, &|(row, _)| number(Some(row.self_test.accumulated.e_value))),
            ("self_test", Word, &|(row, _)| row.self_test.accumulated.result().name().to_owned()),
        ],
    )
}

fn is_biased(row: &CalibrationRow, noise: &MetricNoise) -> bool {
    noise.metric.is_rate() && row.self_test.accumulated.result() == SelfTestResult::Failed
}

fn verdict(view: &CalibrationView) -> String {
    match &view.honesty {
        Honesty::Honest => "The harness is unbiased here: no step treats the sides differently.".to_owned(),
        Honesty::Biased { steps } => format!(
            "The harness is BIASED here: {} differs between two identical sides. Do not trust those verdicts on this host; \
             find what disturbs the host, then restart the self-test with `dbdyno calibrate --anew`.",
            and_list(steps)
        ),
        Honesty::TooFew { launches, needed } => format!(
            "Too few launches to say whether the harness is unbiased: {launches} of the {needed} that it takes. They \
             accumulate: calibrate again."
        ),
    }
}

fn subject(view: &CalibrationView) -> String {
    format!(
        "{} against itself on host {}, workload {}; {}: {}.",
        view.subject,
        view.host,
        view.workload,
        count(view.runs.len() as u64, "run", "runs"),
        view.runs.join(", ")
    )
}

fn noise(view: &CalibrationView) -> Table {
    let share = |row: &CalibrationRow, metric: Metric, value: fn(&MetricNoise) -> Option<f64>| {
        or_none(noise_of(row, metric).and_then(value), percent)
    };
    let sd = |row: &CalibrationRow, metric| share(row, metric, |noise| noise.launch_sd);
    let visible = |row: &CalibrationRow, metric| share(row, metric, |noise| noise.visible_change);
    let wall_ratio = |row: &CalibrationRow| noise_of(row, Metric::OpsPerSecond)?.ratio;
    Table::by_columns(
        &view.rows,
        &[
            ("step", Name, &|row| row.step.clone()),
            ("n", Number, &|row| row.launches.to_string()),
            ("QPS\nratio", Number, &|row| or_none(wall_ratio(row), ratio)),
            ("sd\nQPS", Number, &|row| sd(row, Metric::OpsPerSecond)),
            ("sd\nadj", Number, &|row| sd(row, Metric::OpsPerSecondAdjusted)),
            ("sd\nCPU", Number, &|row| sd(row, Metric::CpuMicrosPerOp)),
            ("visible\nQPS", Number, &|row| visible(row, Metric::OpsPerSecond)),
            ("visible\nadj", Number, &|row| visible(row, Metric::OpsPerSecondAdjusted)),
        ],
    )
}

fn noise_of(row: &CalibrationRow, metric: Metric) -> Option<&MetricNoise> {
    row.metrics.iter().find(|noise| noise.metric == metric)
}

fn legend(view: &CalibrationView) -> String {
    let time = view.visible_seconds.map(|seconds| format!(", about {}", span(seconds))).unwrap_or_default();
    format!(
        "n counts launches; QPS is the ratio of the two equal sides over the last 20 launches; sd is that of ln(ratio) over launches; visible is the smallest change that {}{time} \
         show with 90 % power, on QPS and on the contention-adjusted rate (adj). Each launch has a data image of its \
         own, so the spread of images is part of sd.",
        count(u64::from(view.visible_launches), "launch", "launches")
    )
}

/// All verdicts, so that a reader can count.
fn judged(view: &CalibrationView) -> Table {
    let relative = |judged: &Judged| {
        let estimate = &judged.estimate;
        let interval = match (estimate.low, estimate.high) {
            (None, None) => String::new(),
            (low, high) => format!(" {}", interval(low, high)),
        };
        or_none(estimate.ratio, |value| format!("{}{interval}", ratio(value)))
    };
    Table::by_columns(
        &view.judged,
        &[
            ("run", Name, &|judged| judged.run.clone()),
            ("seed", Number, &|judged| judged.seed.to_string()),
            ("step", Name, &|judged| judged.step.clone()),
            ("relative QPS\nand interval", Number, &|judged| relative(judged)),
            ("n", Number, &|judged| judged.estimate.units.to_string()),
            ("verdict", Word, &|judged| judged.verdict.to_string()),
        ],
    )
}

fn false_verdicts(view: &CalibrationView) -> String {
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

fn self_test(view: &CalibrationView) -> Vec<Block> {
    let table = Table::by_columns(
        view.rows.iter().map(|row| (row, &row.self_test.accumulated)),
        &[
            ("step", Name, &|(row, _)| row.step.clone()),
            ("e-value\nhere", Number, &|(row, _)| e_value(row.self_test.e_value)),
            ("e-value\nof all", Number, &|(_, all)| e_value(all.e_value)),
            ("calibra-\ntions", Number, &|(_, all)| all.calibrations.to_string()),
            ("n", Number, &|(_, all)| all.launches.to_string()),
            ("since", Word, &|(row, _)| or_none(row.self_test.since_us, date)),
            ("self-test", Word, &|(_, all)| word(all.result()).to_owned()),
        ],
    );
    vec![Block::Table(table), Block::Paragraph(self_test_legend(view))]
}

/// The day of a moment, in UTC.
fn date(at_us: i64) -> String {
    let at = jiff::Timestamp::from_microsecond(at_us);
    at.map_or_else(|_| NONE.to_owned(), |at| at.strftime("%Y-%m-%d").to_string())
}

fn word(result: SelfTestResult) -> &'static str {
    match result {
        SelfTestResult::Passed => "passed",
        SelfTestResult::NotEnough => "not enough",
        SelfTestResult::Failed => "FAILED",
    }
}

/// To two digits where it matters, and no more than its order far away from 1.
fn e_value(value: f64) -> String {
    match value {
        ..0.01 => "<0.01".to_owned(),
        ..10.0 => format!("{value:.2}"),
        ..1e6 => format!("{value:.0}"),
        _ => ">1000000".to_owned(),
    }
}

fn self_test_legend(view: &CalibrationView) -> String {
    let most = |value: fn(&CalibrationRow) -> f64| view.rows.iter().map(value).fold(0.0, f64::max);
    let threshold = most(|row| row.self_test.accumulated.threshold);
    let needed = most(|row| f64::from(row.self_test.accumulated.needed));
    format!(
        "An e-value says how much better a bias explains the launches than two equal sides do: about 1 or less if there is no \
         bias. The e-values of all calibrations by this version on this host are combined (n launches). A step fails once \
         its combined e-value reaches {threshold:.0}; on at most {} of unbiased hosts any step of a workload ever fails, \
         however often they are calibrated. A step cannot fail with fewer than {needed:.0} launches. Later comparisons have no \
         verdict on a step that failed.",
        chosen_percent(ALPHA)
    )
}

/// The keys of scripts; an unknown time is absent.
fn self_test_json(row: &CalibrationRow) -> Value {
    let all = &row.self_test.accumulated;
    json!({
        "step": row.step,
        "e_value": row.self_test.e_value,
        "e_value_accumulated": all.e_value,
        "e_value_largest": all.largest,
        "e_value_threshold": all.threshold,
        "calibrations": all.calibrations,
        "since_us": row.self_test.since_us,
        "launches": all.launches,
        "launches_needed": all.needed,
        "result": all.result().name(),
    })
}
