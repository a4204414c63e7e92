//! `explain`: what a run and an import say of why a step differs, and functions of sampled stacks.

use super::engines::RELEASE;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;

/// Said if this host lets nobody sample stacks, as some containers do.
const NOT_PERMITTED: [&str; 2] = ["lets this user sample no thread", "has no perf_event_open"];
/// What burns CPU on the side with the planted slowdown.
const BURNER: &str = "Burner::burn";

pub fn cases() -> Vec<Case> {
    vec![Case::new("explain profile", profile), Case::new("explain bad input", bad_input)]
}

/// A slowdown that is planted in a function is found in it.
fn profile(scratch: &Scratch) -> anyhow::Result<Ending> {
    let report = Call::compare(scratch, [RELEASE, RELEASE], "10s")
        .and(["--step", "readrandom", "--plant-slowdown", "50"])
        .succeeds()?
        .json()?;
    let run = report["run"].as_str().context("the run has no id")?;
    let explain = || Call::new(scratch, ["explain", run, "--step", "readrandom", "--json"]);
    let before = explain().succeeds()?.json()?;
    ensure!(before["cases"][0]["profile"].is_null(), "there is a profile that nobody asked for: {before}");
    let finished = explain().and(["--profile", "--launches", "3"]).run()?;
    if NOT_PERMITTED.iter().any(|words| finished.stderr.contains(words)) {
        return Ok(Ending::NotHere { reason: "stacks cannot be sampled here".to_owned() });
    }
    let sampled = finished.expect_code(&[0])?.json()?;
    let profile = &sampled["cases"][0]["profile"];
    ensure!(profile["launches"] == 3, "launches of the profile: {profile}");
    for side in 0..2 {
        let samples = profile["samples"][side].as_u64().context("no samples")?;
        let broken = profile["broken"][side].as_f64().context("no share of broken stacks")?;
        ensure!(samples > 20 && broken < 0.2, "{samples} samples on side {side}, {broken} of them broken");
    }
    let functions = profile["functions"].as_array().context("functions is no array")?;
    let burner = functions.iter().find(|one| one["name"].as_str().is_some_and(|name| name.contains(BURNER)));
    let total = |side: usize| burner.and_then(|one| one["total_us_per_op"][side].as_f64()).unwrap_or(0.0);
    let cpu = profile["cpu_us_per_op"][0].as_f64().context("no CPU per operation")?;
    ensure!(
        total(0) <= 0.01 * cpu && total(1) >= 0.25 * cpu,
        "{BURNER} takes {} and {} of {cpu} us",
        total(0),
        total(1)
    );
    let is_of_engine = |one: &Value| one["name"].as_str().is_some_and(|name| name.starts_with("rocksdb::"));
    ensure!(functions.iter().any(is_of_engine), "no function of the engine has a name: {functions:?}");
    // The run itself is what it was, and what was sampled is kept.
    let again = Call::new(scratch, ["report", run, "--json"]).succeeds()?.json()?;
    ensure!(
        again["launches"] == report["launches"] && again["comparisons"] == report["comparisons"],
        "the profile changed the run"
    );
    let kept = explain().succeeds()?.json()?;
    ensure!(kept["cases"][0]["profile"]["launches"] == 3, "the profile was not kept");
    let text = Call::new(scratch, ["explain", run, "--step", "readrandom"]).succeeds()?.stdout;
    for words in ["CPU of an operation", "with callees", "samples in 3 launches"] {
        ensure!(text.contains(words), "`{words}` is not said:\n{text}");
    }
    Ok(Ending::Passed)
}

fn bad_input(scratch: &Scratch) -> anyhow::Result<Ending> {
    let report =
        Call::compare(scratch, [RELEASE, RELEASE], "6s").and(["--step", "readrandom"]).succeeds()?.json()?;
    let run = report["run"].as_str().context("the run has no id")?;
    Call::new(scratch, ["explain", "no-such-run"]).fails(&[2], &["no-such-run"])?;
    Call::new(scratch, ["explain", run, "--step", "readrando"]).fails(&[2], &["readrando", "readrandom"])?;
    Call::new(scratch, ["explain", run, "--launches", "3"]).fails(&[2], &["--profile"])?;
    Ok(Ending::Passed)
}
