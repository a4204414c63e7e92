//! Cases of histories: published tables, a campaign of its own with a plan to measure again, wrong tables; and builds of
//! the same source.

use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use crate::workspace;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::path::PathBuf;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("history tables", tables).shares_host(),
        Case::new("history campaign", campaign).shares_host(),
        Case::new("history bad tables", bad_tables).shares_host(),
        Case::new("calibrate builds", builds),
    ]
}

fn fixture(name: &str) -> anyhow::Result<PathBuf> {
    Ok(workspace::root()?.join("crates/formats/fixtures/tables").join(name))
}

/// The two published tables, read by path and from the store; the plan that one of them asks for can be read.
fn tables(scratch: &Scratch) -> anyhow::Result<Ending> {
    let iostat = fixture("rocksdb-2024-iostat.tsv")?;
    let text = Call::new(scratch, ["history", "--width", "200"]).and([&iostat]).succeeds()?.stdout;
    for part in [
        "8.6, the first after 8.5",
        "rareqsz -96 %",
        "rps +1,1",
        "rmbps = rareqsz x rps",
        "nothing can be said",
    ] {
        ensure!(text.contains(part), "the history does not show `{part}`:\n{text}");
    }
    Call::new(scratch, ["import", "table"]).and([&iostat]).and(["--name", "posts"]).succeeds()?;
    let stored = Call::new(scratch, ["history", "posts", "--json"]).succeeds()?.json()?;
    let changes = |metric: &str| -> Vec<String> {
        let series = stored["series"].as_array().into_iter().flatten().filter(|one| one["metric"] == metric);
        let points = series.flat_map(|one| one["change_points"].as_array().into_iter().flatten());
        points.filter_map(|point| point["version"].as_str().map(str::to_owned)).collect()
    };
    // The last release lies seven deviations below those before it, in rps, wps and wmbps too.
    ensure!(changes("wrqmps") == ["8.6", "9.3"], "wrqmps changed at {:?}", changes("wrqmps"));
    ensure!(changes("wareqsz").is_empty(), "wareqsz changed at {:?}", changes("wareqsz"));

    let again = scratch.path("again.toml");
    let rates = Call::new(scratch, ["history"])
        .and([fixture("rocksdb-2021-qps.tsv")?])
        .and([
            "--metric",
            "ops_per_s",
            "--engine",
            "rocksdb",
            "--workload",
            "rocksdb.byrx",
            "--json",
            "--schedule",
        ])
        .and([&again])
        .succeeds()?
        .json()?;
    let kinds =
        rates["series"].as_array().into_iter().flatten().flat_map(|one| one["change_points"].as_array());
    ensure!(
        kinds.flatten().all(|point| point["kind"] == "candidate"),
        "single runs gave more than candidates"
    );
    let plan = std::fs::read_to_string(&again).context("no plan was written")?;
    for part in ["rocksdb@6.4.6", "rocksdb@6.11.", "rounds = 5", "rocksdb.byrx"] {
        ensure!(plan.contains(part), "the plan does not hold `{part}`:\n{plan}");
    }
    Call::new(scratch, ["run", "--dry-run"]).and([&again]).succeeds()?;
    Ok(Ending::Passed)
}

const WORKLOAD: &str = include_str!("tiny.toml");

/// A campaign has series of its releases; what none of them asks for is not written.
fn campaign(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = scratch.write("tiny.toml", WORKLOAD)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"three\"\nworkloads = [\"{}\"]\nrounds = 2\nseed = 7\n\
             subjects = [\"rocksdb@8.7.3\", \"rocksdb@6.0.2\", \"rocksdb@10.6.2\"]\n",
            workload.display()
        ),
    )?;
    Call::new(scratch, ["run"]).and([&plan]).succeeds()?;
    let history = Call::new(scratch, ["history", "last", "--json"]).succeeds()?.json()?;
    let series = history["series"].as_array().context("series is no array")?;
    ensure!(!series.is_empty(), "a campaign without series");
    for one in series {
        let versions: Vec<&str> =
            one["versions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        ensure!(versions == ["6.0.2", "8.7.3", "10.6.2"], "the releases stand as {versions:?}");
        ensure!(
            one["values"].as_array().is_some_and(|values| values.len() == 3),
            "values: {}",
            one["values"]
        );
    }
    Call::new(scratch, ["compare", "rocksdb@8.5.4", "rocksdb@8.7.3", "--max-launches", "1", "--workload"])
        .and([&workload])
        .succeeds()?;
    Call::new(scratch, ["history", "last"]).fails(&[2], &["one base and one candidate"])?;
    Ok(Ending::Passed)
}

fn bad_tables(scratch: &Scratch) -> anyhow::Result<Ending> {
    let check = |text: &str, parts: &[&str]| -> anyhow::Result<()> {
        let table = scratch.write("bad.tsv", text)?;
        let parts: Vec<&str> = ["bad.tsv"].into_iter().chain(parts.iter().copied()).collect();
        Call::new(scratch, ["history"]).and([&table]).fails(&[2], &parts).map(|_| ())
    };
    check("version\trps\n8.0\t1\n8.1\t2\t3\n", &["line 3", "3 cells"])?;
    check("version\trps\n8.0\t1\n8.1\tfast\n", &["line 3", "column 2", "`fast`"])?;
    check("version\trps\n8.0\t1MB\n8.1\t2KB\n", &["line 3", "`2KB`", "MB"])?;
    check("version\trps\n8.0\t1\n8.0\t2\n", &["line 3", "line 2", "8.0"])?;
    check("min\tmax\n1\t2\n", &["line 1", "release"])?;
    check("\0\0\0\n", &["line 1", "no text"])?;
    check("", &["no header"])?;
    let missing = scratch.path("none.tsv");
    Call::new(scratch, ["history"]).and([&missing]).fails(&[2], &["none.tsv", "no file"])?;
    let one = scratch.write("one.tsv", "version\trps\n8.0\t1\n")?;
    let text = Call::new(scratch, ["history"]).and([&one]).succeeds()?.stdout;
    ensure!(text.contains("nothing can be said"), "one release had something to say:\n{text}");
    Ok(Ending::Passed)
}

/// The same library under three names differs by nothing, and the report says that they are one.
fn builds(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = scratch.write("tiny.toml", WORKLOAD)?;
    let report =
        Call::new(scratch, ["calibrate", "rocksdb@8.7.3", "--budget", "20s", "--json", "--workload"])
            .and([&workload])
            .and([
                "--step",
                "readrandom",
                "--max-launches",
                "4",
                "--builds",
                "rocksdb@8.7.3",
                "rocksdb@8.7.3",
                "rocksdb@8.7.3",
            ])
            .succeeds()?
            .json()?;
    ensure!(report["warnings"][0] == "identical-builds", "warnings: {}", report["warnings"]);
    let noise = &report["steps"][0]["ops_per_s"];
    let (tau, upper) = (noise["tau"].as_f64(), noise["upper"].as_f64());
    let (tau, upper) = tau.zip(upper).with_context(|| format!("no build noise in {report}"))?;
    ensure!((0.0..=upper).contains(&tau), "tau {tau}, at most {upper}");
    Ok(Ending::Passed)
}
