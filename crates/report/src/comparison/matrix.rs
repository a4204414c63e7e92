//! The matrix of a comparison: relative rates of every step and candidate, how small a change of each step would have been
//! found, and where it changed.

use super::found::verdict_words;
use super::{changes, tables};
use crate::document::{CHANGED, Matrix, MatrixCell, MatrixChange, MatrixRow, PERHAPS_CHANGED};
use findings::Comparison;
use findings::comparison::{Change, ComparedMetric, ComparedStep, Repeats, StepView, SubjectView};
use model::figures::{self, chosen_percent, or_none, quantity_or_none, ratio, span};
use model::metric::Metric;
use model::subject::compare_versions;
use std::cmp::Ordering;

/// Intervals of more candidates than these hide the ratios: then they are shown if they are asked for.
const FEW_CANDIDATES: usize = 3;

/// Relative rates: steps by candidates; `steps` with the ids of their sections.
pub(super) fn matrix(view: &Comparison, steps: &[(String, &StepView)]) -> Matrix {
    let shown = steps.iter().filter(|(_, step)| !step.helper);
    let rows: Vec<MatrixRow> = shown.map(|(id, step)| row(id, step, view)).collect();
    let cases: Vec<&ComparedStep> = view.cases().map(|(_, case)| case).collect();
    let mut matrix = Matrix {
        caption: format!("Relative QPS, candidate over {}: below 1 is slower.", view.base),
        base: view.base.clone(),
        base_metric: "QPS".to_owned(),
        candidates: view.candidates().iter().map(|subject| subject.label.clone()).collect(),
        rows,
        legend: String::new(),
        interval_legend: interval_legend(view, &cases),
        intervals: view.candidates().len() <= FEW_CANDIDATES,
        is_series: is_series(view),
    };
    matrix.legend = legend(view, &cases, &matrix);
    matrix
}

fn row(id: &str, step: &StepView, view: &Comparison) -> MatrixRow {
    let of_candidate = |subject: &SubjectView| step.case(subject.side).map(|case| cell(case, view));
    MatrixRow {
        step: step.name.clone(),
        section: Some(id.to_owned()),
        group: step.group.name().to_owned(),
        base_value: quantity_or_none(step.base_rate()),
        cells: view.candidates().iter().map(of_candidate).collect(),
        visible: view.visible.get(&step.name).copied().unwrap_or_default(),
        changes: view.changes.iter().filter_map(|change| change_of(step, change, view)).collect(),
    }
}

/// A change of the rate of a step; absent if it is of another step or metric, or at no candidate that is shown.
fn change_of(step: &StepView, change: &Change, view: &Comparison) -> Option<MatrixChange> {
    let is_rate = matches!(change.metric, Metric::OpsPerSecond | Metric::OpsPerSecondAdjusted);
    let is_at =
        |one: &SubjectView| one.config == change.config && one.version == change.version && !one.db_bench;
    let is_of_step = is_rate && change.step == step.name;
    let candidate = view.candidates().iter().position(is_at).filter(|_| is_of_step)?;
    Some(MatrixChange {
        candidate,
        confirmed: changes::is_confirmed(change),
        detail: changes::sentence_with(change, &[], view),
    })
}

fn cell(case: &ComparedStep, view: &Comparison) -> MatrixCell {
    let deciding = case.deciding();
    let of = |end: fn(&ComparedMetric) -> Option<f64>| deciding.and_then(end);
    let interval = match deciding.and_then(|deciding| deciding.confidence) {
        Some(confidence) => {
            let confidence = chosen_percent(confidence);
            format!("{confidence} interval {}", figures::interval(of(|one| one.low), of(|one| one.high)))
        }
        None => "no interval".to_owned(),
    };
    let rate = case.metric(Metric::OpsPerSecond);
    MatrixCell {
        text: or_none(of(|one| one.ratio), ratio),
        ratio: of(|one| one.ratio),
        low: of(|one| one.low),
        high: of(|one| one.high),
        sign: tables::sign(case),
        detail: format!(
            "{}: {} -> {} QPS, {interval}, {}, {} measured",
            verdict_words(case, view.margin),
            quantity_or_none(rate.and_then(|rate| rate.base)),
            quantity_or_none(rate.and_then(|rate| rate.candidate)),
            view.repeats.count(case.repeats),
            span(case.seconds)
        ),
    }
}

/// Whether all subjects are releases of one configuration, each newer than the one before.
fn is_series(view: &Comparison) -> bool {
    let rises = |pair: &[SubjectView]| {
        pair[0].config == pair[1].config
            && compare_versions(&pair[0].version, &pair[1].version) == Ordering::Less
    };
    view.subjects.iter().all(|one| !one.db_bench) && view.subjects.windows(2).all(rises)
}

/// What occurs in it: signs, marks of changes, visible changes.
fn legend(view: &Comparison, cases: &[&ComparedStep], matrix: &Matrix) -> String {
    let mut parts = tables::legend_of_signs(view, cases);
    let marks =
        |confirmed| matrix.rows.iter().flat_map(|row| &row.changes).any(|one| one.confirmed == confirmed);
    parts.extend(match (marks(true), marks(false)) {
        (true, true) => {
            Some(format!("{CHANGED}: the step changes at that release; {PERHAPS_CHANGED}: perhaps."))
        }
        (true, false) => Some(format!("{CHANGED}: the step changes at that release.")),
        (false, true) => Some(format!("{PERHAPS_CHANGED}: the step perhaps changes at that release.")),
        (false, false) => None,
    });
    parts.extend(matrix.has_visible_changes().then(|| {
        "Visible change: the smallest difference between these binaries that this run finds in nine of ten cases; beyond layout: the smallest that code layout alone cannot explain."
            .to_owned()
    }));
    parts.join(" ")
}

fn interval_legend(view: &Comparison, cases: &[&ComparedStep]) -> String {
    if !tables::any(cases, &|_, one| one.is_bounded()) {
        return String::new();
    }
    let confidence = chosen_percent(1.0 - view.alpha);
    let mut text = match view.repeats {
        Repeats::Launches if view.control.is_some() => {
            format!("Intervals: {confidence} for all steps and candidates together")
        }
        Repeats::Launches => format!("Intervals: {confidence}, valid under early stopping"),
        Repeats::Rounds => {
            format!("Intervals: of means over rounds, {confidence} for all candidates of a step together")
        }
    };
    if tables::has_open_end(cases) {
        text.push_str("; - means not bounded");
    }
    text + "."
}
