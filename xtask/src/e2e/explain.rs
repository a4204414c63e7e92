//! `explain`: what a run and an import say of why a step differs, and functions of sampled stacks.

use super::engines::RELEASE;
use super::scratch::Scratch;
use super::servers::{POSTGRES, WORKLOAD};
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;

/// A release to compare it with.
const CANDIDATE: &str = "rocksdb@8.7.3";
/// Said if this host lets nobody sample stacks, as some containers do.
const NOT_PERMITTED: [&str; 2] = ["lets this user sample no thread", "has no perf_event_open"];
/// The function that burns CPU on the side with the planted slowdown.
const BURNER: &str = "planted_burn";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("explain profile", profile),
        Case::new("explain profile of rounds", profile_of_rounds).shares_host(),
        Case::new("explain query plan", query_plan).shares_host(),
        Case::new("explain test and chain", test_and_chain).nightly(),
        Case::new("explain bad input", bad_input),
    ]
}

/// A slowdown that is planted in a function is found in it.
fn profile(scratch: &Scratch) -> anyhow::Result<Ending> {
    // Some sixteen samples of a side each: of fifty in all, chance takes half of what the function has.
    const LAUNCHES: u64 = 9;
    let report = Call::compare(scratch, [RELEASE, RELEASE], "10s")
        .and(["--step", "readrandom", "--plant-slowdown", "50"])
        .succeeds()?
        .json()?;
    let run = report["run"].as_str().context("the run has no id")?;
    let explain = || Call::new(scratch, ["explain", run, "--step", "readrandom", "--json"]);
    let before = explain().succeeds()?.json()?;
    ensure!(before["cases"][0]["profile"].is_null(), "there is a profile that nobody asked for: {before}");
    let finished = explain().and(["--profile", "--launches", &LAUNCHES.to_string()]).run()?;
    if NOT_PERMITTED.iter().any(|words| finished.stderr.contains(words)) {
        return Ok(Ending::NotHere { reason: "stacks cannot be sampled here".to_owned() });
    }
    let sampled = finished.expect_code(&[0])?.json()?;
    let profile = &sampled["cases"][0]["profile"];
    ensure!(profile["launches"] == LAUNCHES, "launches of the profile: {profile}");
    for side in 0..2 {
        let samples = profile["samples"][side].as_u64().context("no samples")?;
        let broken = profile["broken"][side].as_f64().context("no share of broken stacks")?;
        ensure!(samples > 60 && broken < 0.2, "{samples} samples on side {side}, {broken} of them broken");
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
    // A thread that waits for its next block does not wait within an operation.
    let times = profile["times"].as_array().context("times is no array")?;
    let waits = times.iter().filter(|one| one["part"].as_str().is_some_and(|part| part.starts_with("wait")));
    let waits: f64 = waits.filter_map(|one| one["us_per_op"][0].as_f64()).sum();
    ensure!(waits <= 0.1 * cpu, "a read from memory waits {waits} us beside {cpu} us of CPU: {times:?}");
    let is_of_engine = |one: &Value| one["name"].as_str().is_some_and(|name| name.starts_with("rocksdb::"));
    ensure!(functions.iter().any(is_of_engine), "no function of the engine has a name: {functions:?}");
    // The run itself is what it was, and what was sampled is kept.
    let again = Call::new(scratch, ["report", run, "--json"]).succeeds()?.json()?;
    ensure!(
        again["launches"] == report["launches"] && again["comparisons"] == report["comparisons"],
        "the profile changed the run"
    );
    let kept = explain().succeeds()?.json()?;
    ensure!(kept["cases"][0]["profile"]["launches"] == profile["launches"], "the profile was not kept");
    let text = Call::new(scratch, ["explain", run, "--step", "readrandom"]).succeeds()?.stdout;
    let launches = format!("samples in {LAUNCHES} launches");
    for words in ["CPU of an operation", "with callees", &launches] {
        ensure!(text.contains(words), "`{words}` is not said:\n{text}");
    }
    Ok(Ending::Passed)
}

/// Rounds are profiled by rounds, each with a visit of both subjects.
fn profile_of_rounds(scratch: &Scratch) -> anyhow::Result<Ending> {
    let compare = Call::new(scratch, ["compare", RELEASE, CANDIDATE, "--design", "rounds", "--rounds", "2"]);
    let workload = scratch.write("tiny.toml", include_str!("tiny.toml"))?;
    let compare = compare.and(["--step", "readrandom", "--json", "--workload"]).and([workload]);
    let report = compare.succeeds()?.json()?;
    let run = report["run"].as_str().context("the run has no id")?;
    let explain = ["explain", run, "--step", "readrandom", "--profile", "--launches", "2", "--json"];
    let finished = Call::new(scratch, explain).run()?;
    if NOT_PERMITTED.iter().any(|words| finished.stderr.contains(words)) {
        return Ok(Ending::NotHere { reason: "stacks cannot be sampled here".to_owned() });
    }
    let profile = &finished.expect_code(&[0])?.json()?["cases"][0]["profile"];
    ensure!(profile["launches"] == 2, "rounds of the profile: {profile}");
    ensure!(
        profile["samples"][0].as_u64().is_some_and(|samples| samples > 0),
        "nothing was sampled: {profile}"
    );
    Ok(Ending::Passed)
}

/// From Postgres 16 on an aggregate over distinct values reads sorted rows: its plan has a sort that the plan of 15 has not.
fn query_plan(scratch: &Scratch) -> anyhow::Result<Ending> {
    const SCAN: &str = "SELECT * FROM {table} WHERE LENGTH(c) < 0\", rows = 0";
    const DISTINCT: &str = "SELECT COUNT(DISTINCT c) FROM {table} WHERE id <= {id}\", rows = 1";
    ensure!(WORKLOAD.contains(SCAN), "the small tables have another scan");
    let workload = scratch.write("distinct.toml", &WORKLOAD.replace(SCAN, DISTINCT))?;
    let compare =
        Call::new(scratch, ["compare", POSTGRES[0], POSTGRES[1], "--budget", "20s", "--json", "--workload"]);
    let report = compare.and([workload]).and(["--step", "point", "--step", "scan"]).succeeds()?.json()?;
    let changes = report["plan_changes"].as_array().context("plan_changes is no array")?;
    ensure!(changes.len() == 1 && changes[0]["step"] == "scan", "the plans that changed: {changes:?}");
    let has_sort = |plan: &Value| plan["nodes"].to_string().contains("Sort Key: c");
    ensure!(
        !has_sort(&changes[0]["base_plan"]) && has_sort(&changes[0]["candidate_plan"]),
        "the sort is not that of the candidate: {changes:?}"
    );
    let run = report["run"].as_str().context("the run has no id")?;
    let text = Call::new(scratch, ["explain", run, "--step", "scan"]).succeeds()?.stdout;
    for words in ["another query plan of `SELECT COUNT(DISTINCT c)", "Sort Key: c"] {
        ensure!(text.contains(words), "`{words}` is not said:\n{text}");
    }
    let point = Call::new(scratch, ["explain", run, "--step", "point"]).succeeds()?.stdout;
    ensure!(!point.contains("query plan"), "a plan that is the same is told of:\n{point}");
    Ok(Ending::Passed)
}

/// Both measure further subjects, and say the same of what both have measured.
fn test_and_chain(scratch: &Scratch) -> anyhow::Result<Ending> {
    const CONFIG: &str = "direct";
    let compare = Call::compare(scratch, [RELEASE, CANDIDATE], "10s").and(["--step", "readrandom"]);
    let report = compare.succeeds()?.json()?;
    let run = report["run"].as_str().context("the run has no id")?;
    let explain =
        |more: &[&str]| Call::new(scratch, ["explain", run, "--step", "readrandom", "--json"]).and(more);
    let tested = explain(&["--test", "--with", CONFIG, "--budget", "25s"]).succeeds()?.json()?;
    let test = &tested["cases"][0]["tests"][0];
    ensure!(test["with"] == CONFIG && test["run"] != run, "the test: {test}");
    let ratio = |of: &Value| of["ratio"].as_f64().context("a ratio is missing");
    let given_back = ratio(&test["given_back"])?;
    let expected = ratio(&test["change_with"])? / ratio(&test["change"])?;
    ensure!((given_back / expected - 1.0).abs() < 1e-6, "{given_back} is given back, {expected} expected");
    let chained =
        explain(&["--chain", &format!("base,+{CONFIG},candidate"), "--budget", "25s"]).succeeds()?.json()?;
    let step = &chained["chains"][0]["steps"][0];
    let links = step["links"].as_array().context("links is no array")?;
    let product = links.iter().map(|link| ratio(&link["change"])).product::<anyhow::Result<f64>>()?;
    let whole = ratio(&step["whole"])?;
    ensure!(links.len() == 2 && (product / whole - 1.0).abs() < 1e-6, "{product} of links, {whole} in all");
    ensure!(chained["cases"][0]["tests"][0] == *test, "the test was forgotten: {chained}");
    let text = Call::new(scratch, ["explain", run, "--step", "readrandom"]).succeeds()?.stdout;
    for words in ["effect of `direct` on the candidate", "What lies between the ends", "of the whole"] {
        ensure!(text.contains(words), "`{words}` is not said:\n{text}");
    }
    let known = Call::new(scratch, ["report", run, "--json"]).succeeds()?.json()?;
    ensure!(known["comparisons"] == report["comparisons"], "the test changed the run");
    Ok(Ending::Passed)
}

fn bad_input(scratch: &Scratch) -> anyhow::Result<Ending> {
    let report =
        Call::compare(scratch, [RELEASE, RELEASE], "6s").and(["--step", "readrandom"]).succeeds()?.json()?;
    let run = report["run"].as_str().context("the run has no id")?;
    Call::new(scratch, ["explain", "no-such-run"]).fails(&[2], &["no-such-run"])?;
    Call::new(scratch, ["explain", run, "--step", "readrando"]).fails(&[2], &["readrando", "readrandom"])?;
    Call::new(scratch, ["explain", run, "--launches", "3"]).fails(&[2], &["--profile"])?;
    let step = ["explain", run, "--step", "readrandom"];
    Call::new(scratch, step).and(["--test"]).fails(&[2], &["--with"])?;
    Call::new(scratch, step)
        .and(["--test", "--with", "direct"])
        .fails(&[2], &["the same build", "--chain"])?;
    Call::new(scratch, step).and(["--with", "direct"]).fails(&[2], &["--test"])?;
    Call::new(scratch, step).and(["--chain", "base,candidate"]).fails(&[2], &["three subjects"])?;
    Ok(Ending::Passed)
}
