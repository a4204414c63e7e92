//! What the JSON of a comparison must look like: the contract that scripts rely on.

use anyhow::{Context, ensure};
use serde_json::Value;
use std::path::PathBuf;

const STEPS: [&str; 4] = ["fillseq", "overwrite", "readrandom", "seekrandom"];
const VERDICTS: [&str; 6] =
    ["regression", "improvement", "no-change", "inconclusive", "suspect", "ratio-only"];
const TEXTS: [&str; 9] =
    ["workload", "step", "group", "candidate", "metric", "unit", "direction", "verdict", "warnings"];

/// Two subjects whose comparison was printed.
pub struct Compared<'a> {
    pub base: &'a str,
    pub candidate: &'a str,
}

/// Checks a comparison on the tiny workload: keys, types, one deciding object per step, wall rate first.
pub fn comparison(report: &Value, subjects: &Compared<'_>) -> anyhow::Result<()> {
    ensure!(report["schema"] == 1, "schema is {}", report["schema"]);
    ensure!(report["run"].as_str().is_some_and(|run| !run.is_empty()), "run is {}", report["run"]);
    ensure!(report["base"] == subjects.base, "base is {}, not {}", report["base"], subjects.base);
    for key in ["margin", "alpha"] {
        let number = report[key].as_f64().with_context(|| format!("{key} is {}", report[key]))?;
        ensure!(number > 0.0 && number < 1.0, "{key} is {number}");
    }
    ensure!(report["warnings"].is_array(), "warnings is {}", report["warnings"]);
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for step in STEPS {
        let of_step: Vec<&Value> = rows.iter().filter(|row| row["step"] == step).collect();
        step_rows(&of_step, subjects).with_context(|| format!("step `{step}`"))?;
    }
    ensure!(rows.iter().all(|row| STEPS.iter().any(|step| row["step"] == *step)), "an unknown step is there");
    Ok(())
}

fn step_rows(rows: &[&Value], subjects: &Compared<'_>) -> anyhow::Result<()> {
    let first = rows.first().context("it is missing")?;
    ensure!(first["metric"] == "ops_per_s", "the first metric is {}", first["metric"]);
    for row in rows {
        comparison_row(row, subjects).with_context(|| format!("metric {}", row["metric"]))?;
    }
    let deciding = rows.iter().filter(|row| row["decides"] == true).count();
    ensure!(deciding == 1, "{deciding} objects decide");
    let has_metric = |name: &str| rows.iter().any(|row| row["metric"] == name);
    ensure!(has_metric("cpu_us_per_op"), "cpu_us_per_op is missing");
    Ok(())
}

fn comparison_row(row: &Value, subjects: &Compared<'_>) -> anyhow::Result<()> {
    for key in TEXTS {
        let is_right = if key == "warnings" { row[key].is_array() } else { row[key].is_string() };
        ensure!(is_right, "{key} is {}", row[key]);
    }
    ensure!(row["candidate"] == subjects.candidate, "candidate is {}", row["candidate"]);
    ensure!(row["decides"].is_boolean(), "decides is {}", row["decides"]);
    let verdict = row["verdict"].as_str().unwrap_or_default();
    ensure!(VERDICTS.contains(&verdict), "verdict is {verdict}");
    let is_shown_only = row["decides"] == false;
    ensure!(!is_shown_only || matches!(verdict, "ratio-only" | "inconclusive"), "shown only, but {verdict}");
    let launches = row["launches"].as_u64().with_context(|| format!("launches is {}", row["launches"]))?;
    ensure!(launches >= 1, "launches is 0");
    ensure!(row["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0), "seconds is {}", row["seconds"]);
    interval(row)
}

/// The ratio lies within its interval; an end that is not bounded is absent.
fn interval(row: &Value) -> anyhow::Result<()> {
    let Some(ratio) = row.get("ratio") else {
        return Ok(());
    };
    let ratio = ratio.as_f64().with_context(|| format!("ratio is {ratio}"))?;
    ensure!(ratio.is_finite() && ratio > 0.0, "ratio is {ratio}");
    if let Some(low) = row.get("low") {
        ensure!(low.as_f64().is_some_and(|low| low > 0.0 && low <= ratio), "low {low} above ratio {ratio}");
    }
    if let Some(high) = row.get("high") {
        ensure!(high.as_f64().is_some_and(|high| high >= ratio), "high {high} below ratio {ratio}");
    }
    Ok(())
}

/// How many trials were done and failed.
pub struct Trials {
    pub done: u64,
    pub failed: u64,
}

pub fn trials(report: &Value) -> anyhow::Result<Trials> {
    let count = |key: &str| {
        report["trials"][key].as_u64().with_context(|| format!("trials.{key} is {}", report["trials"][key]))
    };
    count("skipped")?;
    Ok(Trials { done: count("done")?, failed: count("failed")? })
}

/// All texts under this key, at any depth.
pub fn texts<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    match value {
        Value::Object(fields) => {
            let own = fields.get(key).and_then(Value::as_str);
            own.into_iter().chain(fields.values().flat_map(|inner| texts(inner, key))).collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| texts(item, key)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Paths for a message.
pub fn paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(step: &str, metric: &str, decides: bool) -> Value {
        json!({
            "workload": "tiny", "step": step, "group": "writes", "candidate": "rocksdb@2", "metric": metric,
            "unit": "1/s", "direction": "higher-is-better", "decides": decides, "base_value": 10.0,
            "candidate_value": 9.0, "ratio": 0.9, "low": 0.8, "high": 1.0, "confidence": 0.99,
            "verdict": if decides { "inconclusive" } else { "ratio-only" }, "launches": 9, "seconds": 3.5,
            "warnings": [],
        })
    }

    fn report() -> Value {
        let rows: Vec<Value> = STEPS
            .iter()
            .flat_map(|step| [row(step, "ops_per_s", true), row(step, "cpu_us_per_op", false)])
            .collect();
        json!({
            "schema": 1, "run": "r1", "base": "rocksdb@1", "margin": 0.02, "alpha": 0.01, "comparisons": rows,
            "trials": { "done": 4, "failed": 0, "skipped": 0 }, "warnings": [],
        })
    }

    const SUBJECTS: Compared<'_> = Compared { base: "rocksdb@1", candidate: "rocksdb@2" };

    #[test]
    fn the_contract_passes() {
        comparison(&report(), &SUBJECTS).unwrap();
        assert_eq!(trials(&report()).unwrap().done, 4);
        assert_eq!(texts(&report(), "run"), ["r1"]);
    }

    #[test]
    fn a_breach_of_the_contract_is_named() {
        let check = |pointer: &str, planted: Value, expected: &str| {
            let mut report = report();
            *report.pointer_mut(pointer).unwrap() = planted;
            let message = format!("{:#}", comparison(&report, &SUBJECTS).unwrap_err());
            assert!(message.contains(expected), "{message}");
        };
        check("/schema", json!(2), "schema is 2");
        check("/base", json!("rocksdb@3"), "base is");
        check("/comparisons/0/decides", json!(false), "0 objects decide");
        check("/comparisons/0/verdict", json!("slower"), "verdict is slower");
        check("/comparisons/0/low", json!(0.95), "low 0.95 above ratio 0.9");
        check("/comparisons/0/metric", json!("cpu_us_per_op"), "the first metric is");
        check("/comparisons/1/verdict", json!("regression"), "shown only, but regression");
        check("/comparisons/0/step", json!("other"), "step `fillseq`");
    }
}
