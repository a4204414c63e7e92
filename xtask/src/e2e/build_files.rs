//! Cases of steps that build sorted files: each codec interleaved and in rounds, on the oldest and the newest release, and
//! what is refused.

use super::engines::RELEASE;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::path::PathBuf;

const WORKLOAD: &str = include_str!("build-files.toml");
const STEPS: [&str; 4] = ["build-none", "build-snappy", "build-lz4", "build-zstd"];
const OLDEST_AND_NEWEST: [&str; 2] = ["rocksdb@6.0.2", "rocksdb@11.8.1"];
/// Bytes of a key and its value.
const ROW_BYTES: f64 = 1000.0;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("build files interleaved", in_turns).shares_host(),
        Case::new("build files in rounds", in_rounds).shares_host(),
        Case::new("build files by db_bench", by_db_bench).shares_host(),
    ]
}

fn workload(scratch: &Scratch) -> anyhow::Result<PathBuf> {
    scratch.write("build-files.toml", WORKLOAD)
}

/// Each codec has a rate on both sides, and one that compresses costs more CPU.
fn in_turns(scratch: &Scratch) -> anyhow::Result<Ending> {
    let report = Call::new(scratch, ["compare", RELEASE, RELEASE, "--budget", "5s", "--json", "--workload"])
        .and([workload(scratch)?])
        .succeeds()?
        .json()?;
    ensure!(report["trials"]["failed"] == 0, "trials: {}", report["trials"]);
    for step in STEPS {
        for side in ["base_value", "candidate_value"] {
            ensure!(value(&report, step, "ops_per_s", side)? > 1000.0, "the rate of {step} is too low");
        }
    }
    let cpu_us = |step| value(&report, step, "cpu_us_per_op", "base_value");
    let (none, lz4) = (cpu_us("build-none")?, cpu_us("build-lz4")?);
    ensure!(lz4 > none, "lz4 costs {lz4} us a key, no compression {none} us");
    Ok(Ending::Passed)
}

fn value(report: &Value, step: &str, metric: &str, side: &str) -> anyhow::Result<f64> {
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    let row = rows.iter().find(|row| row["step"] == step && row["metric"] == metric);
    let row = row.with_context(|| format!("step {step} has no {metric}"))?;
    row[side].as_f64().with_context(|| format!("{side} of {metric} in {step} is {}", row[side]))
}

/// Every release builds the files, and the rate in bytes is that of keys and values.
fn in_rounds(scratch: &Scratch) -> anyhow::Result<Ending> {
    workload(scratch)?;
    let plan = scratch.write("plan.toml", &plan(&OLDEST_AND_NEWEST, ""))?;
    let report =
        Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).succeeds()?.json()?;
    // With the fill of each subject.
    let expected = OLDEST_AND_NEWEST.len() * (STEPS.len() + 1);
    ensure!(
        report["trials"]["done"] == expected && report["trials"]["failed"] == 0,
        "trials: {}",
        report["trials"]
    );
    let shown = Call::new(scratch, ["report", "last", "--format", "csv"]).succeeds()?.stdout;
    ensure!(STEPS.iter().all(|step| shown.contains(step)), "{shown}");
    let trials = report["columns"].as_array().context("columns is no array")?;
    // What others disturbed is in no number.
    let disturbed = report["disturbed"].as_array().map_or(0, Vec::len);
    ensure!(
        trials.len() + disturbed >= expected,
        "numbers of {} trials, {disturbed} set aside",
        trials.len()
    );
    for trial in trials.iter().filter(|trial| STEPS.iter().any(|step| trial["step"] == *step)) {
        let of =
            |metric: &str| trial["values"][metric].as_f64().with_context(|| format!("{metric}: {trial}"));
        let (rate, bytes_per_s) = (of("ops_per_s")?, of("bytes_per_s")?);
        ensure!((bytes_per_s / rate - ROW_BYTES).abs() < 1.0, "{bytes_per_s} B/s at {rate} keys/s");
    }
    Ok(Ending::Passed)
}

fn by_db_bench(scratch: &Scratch) -> anyhow::Result<Ending> {
    workload(scratch)?;
    let text = plan(&[RELEASE], &format!("db_bench = {{ \"{RELEASE}\" = \"./db_bench\" }}\n"));
    let plan = scratch.write("plan.toml", &text)?;
    let says = ["`db_bench` cannot run step `build-none` of `tiny-files`", "leave db_bench out"];
    Call::new(scratch, ["run".as_ref(), plan.as_os_str()]).fails(&[2], &says)?;
    Ok(Ending::Passed)
}

/// One round of the workload, on these subjects.
fn plan(subjects: &[&str], more: &str) -> String {
    format!(
        "name = \"files\"\nworkloads = [\"build-files.toml\"]\nsubjects = {subjects:?}\nrounds = 1\nseed = 7\n{more}"
    )
}
