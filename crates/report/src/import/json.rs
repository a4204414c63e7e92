//! An import as JSON: keys in a fixed order, numbers in base units, what is unknown absent.

use crate::contract::{self, SCHEMA};
use findings::import::{ImportView, RowView, StepView};
use model::import::{ImportedFile, ImportedValue};
use model::verdict::Verdict;
use serde_json::{Value, json};

/// The view as JSON, with a newline at its end. Errors: none that a view can cause.
pub fn json(view: &ImportView) -> Result<String, serde_json::Error> {
    let file = |one: &ImportedFile| json!({ "file": one.file, "sha256": one.sha256 });
    let single = json!({
        "id": "single-runs",
        "text": "one run per test and version: ratio only, no interval and no verdict",
    });
    let told = view.warnings.iter().map(|text| json!({ "id": "tool-warned", "text": text }));
    contract::text(json!({
        "schema": SCHEMA,
        "import": view.id,
        "name": view.name,
        "format": view.format,
        "imported_at_us": view.imported_at_us,
        "files": view.files.iter().map(file).collect::<Vec<_>>(),
        "base": view.base,
        "subjects": view.subjects,
        "steps": view.steps.iter().map(step).collect::<Vec<_>>(),
        "warnings": std::iter::once(single).chain(told).collect::<Vec<_>>(),
    }))
}

fn step(one: &StepView) -> Value {
    json!({ "step": one.name, "rows": one.rows.iter().map(row).collect::<Vec<_>>() })
}

fn row(one: &RowView) -> Value {
    json!({
        "subject": one.subject,
        "ratio": one.relative_rate,
        "verdict": Verdict::RatioOnly,
        "file": one.file,
        "place": one.place,
        "values": one.values.iter().map(value).collect::<Vec<_>>(),
    })
}

fn value(one: &ImportedValue) -> Value {
    json!({ "metric": one.metric, "unit": one.unit, "value": one.value, "said": one.said })
}
