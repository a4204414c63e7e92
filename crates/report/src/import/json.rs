//! An import as JSON: keys in a fixed order, numbers in base units, what is unknown absent.

use super::view::ImportView;
use serde::Serialize;

#[derive(Serialize)]
struct Import<'a> {
    schema: u32,
    import: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    format: &'a str,
    imported_at_us: i64,
    files: Vec<File<'a>>,
    base: &'a str,
    subjects: &'a [String],
    steps: Vec<Step<'a>>,
    warnings: Vec<Warning<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    file: &'a str,
    sha256: &'a str,
}

#[derive(Serialize)]
struct Step<'a> {
    step: &'a str,
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    subject: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    verdict: &'static str,
    file: usize,
    place: &'a str,
    values: Vec<Value<'a>>,
}

#[derive(Serialize)]
struct Value<'a> {
    metric: &'a str,
    unit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    said: &'a str,
}

#[derive(Serialize)]
struct Warning<'a> {
    id: &'static str,
    text: &'a str,
}

/// The view as JSON, with a newline at its end. Errors: none that a view can cause.
pub fn json(view: &ImportView) -> Result<String, serde_json::Error> {
    let steps = view.steps.iter().map(|step| Step {
        step: &step.name,
        rows: step
            .rows
            .iter()
            .map(|row| Row {
                subject: &row.subject,
                ratio: row.relative_rate,
                verdict: model::verdict::Verdict::RatioOnly.name(),
                file: row.file,
                place: &row.place,
                values: row
                    .values
                    .iter()
                    .map(|value| Value {
                        metric: &value.metric,
                        unit: &value.unit,
                        value: value.value,
                        said: &value.said,
                    })
                    .collect(),
            })
            .collect(),
    });
    let single = Warning {
        id: "single-runs",
        text: "one run per test and version: ratio only, no interval and no verdict",
    };
    let told = view.warnings.iter().map(|text| Warning { id: "tool-warned", text });
    let import = Import {
        schema: 1,
        import: &view.id,
        name: view.name.as_deref(),
        format: &view.format,
        imported_at_us: view.imported_at_us,
        files: view.files.iter().map(|file| File { file: &file.file, sha256: &file.sha256 }).collect(),
        base: &view.base,
        subjects: &view.subjects,
        steps: steps.collect(),
        warnings: std::iter::once(single).chain(told).collect(),
    };
    Ok(serde_json::to_string_pretty(&import)? + "\n")
}
