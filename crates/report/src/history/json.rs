//! A history as JSON: the contract for scripts. Keys stand in a fixed order; an unknown value is absent.

use super::view::{ChangeView, HistoryView, SeriesView};
use crate::json::{NoteText, SCHEMA};
use crate::view::Note;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    series: Vec<SeriesObject<'a>>,
    warnings: Vec<&'a str>,
    // Added to the contract; these may grow.
    origin: &'a [String],
    alpha: f64,
    least_change: f64,
    remeasure: Vec<RemeasureObject<'a>>,
    commands: &'a [String],
    notes: Vec<NoteText<'a>>,
}

#[derive(Serialize)]
struct SeriesObject<'a> {
    name: String,
    versions: &'a [String],
    change_points: Vec<ChangeObject<'a>>,
    remeasure: &'a [String],
    step: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    config: &'a str,
    metric: &'a str,
    unit: &'a str,
    values: &'a [Option<f64>],
    runs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    visible_change: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    says_nothing: Option<&'a str>,
    outliers: &'a [String],
    gaps: &'a [String],
}

#[derive(Serialize)]
struct ChangeObject<'a> {
    version: &'a str,
    kind: &'static str,
    ratio: f64,
    low: f64,
    high: f64,
    location: &'a [String],
    same_as: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a str>,
    confidence: f64,
    glitch: bool,
    at_edge: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_before: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_after: Option<f64>,
}

#[derive(Serialize)]
struct RemeasureObject<'a> {
    step: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    config: &'a str,
    versions: &'a [String],
}

/// The report, as one object with a line break at its end.
///
/// # Errors
/// None that a view can cause.
pub fn json(view: &HistoryView) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA,
        series: view.series.iter().map(series).collect(),
        warnings: view.warnings.iter().map(|note| note.id.as_str()).collect(),
        origin: &view.origin,
        alpha: view.alpha,
        least_change: view.least_change,
        remeasure: view
            .remeasure
            .iter()
            .map(|one| RemeasureObject { step: &one.step, config: &one.config, versions: &one.releases })
            .collect(),
        commands: &view.commands,
        notes: view.warnings.iter().map(note).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn series(one: &SeriesView) -> SeriesObject<'_> {
    SeriesObject {
        name: one.name(),
        versions: &one.releases,
        change_points: one.changes.iter().map(change).collect(),
        remeasure: &one.remeasure,
        step: &one.step,
        config: &one.config,
        metric: &one.metric,
        unit: &one.unit,
        values: &one.values,
        runs: one.rounds,
        visible_change: one.visible,
        says_nothing: one.says_nothing.as_deref(),
        outliers: &one.outliers,
        gaps: &one.gaps,
    }
}

fn change(one: &ChangeView) -> ChangeObject<'_> {
    ChangeObject {
        version: &one.version,
        kind: one.kind.name(),
        ratio: one.ratio,
        low: one.low,
        high: one.high,
        location: &one.location,
        same_as: &one.same_as,
        before: one.before.as_deref(),
        confidence: one.confidence,
        glitch: one.glitch,
        at_edge: one.at_edge,
        value_before: one.value_before,
        value_after: one.value_after,
    }
}

fn note(one: &Note) -> NoteText<'_> {
    NoteText { candidate: None, step: None, id: &one.id, text: &one.text }
}
