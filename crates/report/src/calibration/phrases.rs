//! Sentences and tables of a calibration.

use crate::document::{Kind, Table};
use crate::render::separated::number;
use analysis::self_test::SelfTestResult;
use findings::calibration::{CalibrationRow, CalibrationView, Honesty, MetricNoise};
use model::figures::{NONE, and_list, chosen_percent, count, interval, percent, ratio, span};
use model::metric::Metric;

/// A line for each step and metric, in base units: standard deviations are of ln(ratio), changes are shares.
pub fn table(view: &CalibrationView) -> Table {
    let mut table = Table::for_scripts(&[
        "step",
        "metric",
        "launches",
        "ratio",
        "p_value",
        "biased",
        "launch_sd",
        "image_sd",
        "visible_change",
        "e_value",
        "e_value_accumulated",
        "self_test",
    ]);
    table.fill(view.rows.iter().flat_map(|row| {
        let result = row.self_test.accumulated.result();
        row.metrics.iter().map(move |noise| {
            [
                row.step.clone(),
                noise.metric.name().to_owned(),
                row.launches.to_string(),
                number(noise.ratio),
                number(Some(noise.p_value)),
                (noise.metric.is_rate() && result == SelfTestResult::Failed).to_string(),
                number(noise.launch_sd),
                number(noise.image_sd),
                number(noise.visible_change),
                number(Some(row.self_test.e_value)),
                number(Some(row.self_test.accumulated.e_value)),
                result.name().to_owned(),
            ]
        })
    }));
    table
}

pub(super) fn verdict(view: &CalibrationView) -> String {
    match &view.honesty {
        Honesty::Honest => "The harness is honest here: no step treats the sides differently.".to_owned(),
        Honesty::Biased { steps } => format!(
            "The harness is BIASED here: {} differs between two sides that are the same. No verdict on it can be trusted \
             on this host; look for what disturbs it, then begin anew by `dbdyno calibrate --anew`.",
            and_list(steps)
        ),
        Honesty::TooFew { launches, needed } => format!(
            "Too few launches to tell whether the harness is honest: {launches} of the {needed} that it takes. They \
             accumulate: calibrate again."
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

pub(super) fn noise(view: &CalibrationView) -> Table {
    let mut grid = Table::new(&[
        ("step", Kind::Name),
        ("n", Kind::Number),
        ("QPS\nratio", Kind::Number),
        ("sd\nQPS", Kind::Number),
        ("sd\nadj", Kind::Number),
        ("sd\nCPU", Kind::Number),
        ("visible\nQPS", Kind::Number),
        ("visible\nadj", Kind::Number),
    ]);
    grid.fill(view.rows.iter().map(cells));
    grid
}

fn cells(row: &CalibrationRow) -> Vec<String> {
    let of = |metric| row.metrics.iter().find(|noise| noise.metric == metric);
    let share = |metric, value: fn(&MetricNoise) -> Option<f64>| {
        of(metric).and_then(value).map_or_else(|| NONE.to_owned(), percent)
    };
    let wall = of(Metric::OpsPerSecond);
    vec![
        row.step.clone(),
        row.launches.to_string(),
        wall.and_then(|noise| noise.ratio).map_or_else(|| NONE.to_owned(), ratio),
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
        "n counts launches; QPS is the ratio of the two equal sides over the last 20 launches; sd is that of ln(ratio) over launches; visible is the smallest change that {}{time} \
         show with 90 % power, on QPS and on the contention-adjusted rate (adj). Each launch has a data image of its \
         own, so the spread of images is part of sd.",
        count(u64::from(view.visible_launches), "launch", "launches")
    )
}

/// All verdicts, so that a reader can count.
pub(super) fn judged(view: &CalibrationView) -> Table {
    let mut grid = Table::new(&[
        ("run", Kind::Name),
        ("seed", Kind::Number),
        ("step", Kind::Name),
        ("relative QPS\nand interval", Kind::Number),
        ("n", Kind::Number),
        ("verdict", Kind::Word),
    ]);
    grid.fill(view.judged.iter().map(|judged| {
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
    }));
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
