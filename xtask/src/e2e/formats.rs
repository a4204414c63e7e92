//! Cases of the other formats, of the gate and of the export: on a real run, read back.

use super::engines::RELEASE;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A workload with every operation of the classic sequences, for campaigns.
const SEQUENCE: &str = include_str!("sequence.toml");
const OTHER: &str = "rocksdb@8.7.3";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("formats of a comparison", comparison).shares_host(),
        Case::new("formats of a campaign", campaign).shares_host(),
        Case::new("gate", gate),
        Case::new("export", export).shares_host(),
        Case::new("several runs", several).shares_host(),
    ]
}

/// What `report` prints with these arguments, which must end well.
fn shown(scratch: &Scratch, arguments: &[&str]) -> anyhow::Result<String> {
    Ok(Call::new(scratch, ["report"]).and(arguments).succeeds()?.stdout)
}

fn deciding<'a>(report: &'a Value, step: &str) -> anyhow::Result<&'a Value> {
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    let row = rows.iter().find(|row| row["step"] == step && row["decides"] == true);
    row.with_context(|| format!("nothing decides {step}"))
}

/// Every format of a comparison has its steps, and the figures of the JSON to the digits that it prints.
fn comparison(scratch: &Scratch) -> anyhow::Result<Ending> {
    let report = Call::compare(scratch, [RELEASE, OTHER], "15s").succeeds()?.json()?;
    let run = report["run"].as_str().context("the run has no id")?;
    let row = deciding(&report, "readrandom")?;
    let ratio = row["ratio"].as_f64().context("readrandom has no ratio")?;

    let table = shown(scratch, &[run, "--format", "tsv"])?;
    let mut lines = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().context("the table is empty")?;
    let place = |name: &str| header.iter().position(|known| *known == name).context("a column is missing");
    let line = lines
        .find(|line| line[0] == "readrandom" && line[1] == OTHER)
        .context("the table has no line of readrandom")?;
    let printed: f64 = line[place("rel_ops_sec")?].parse().context("rel_ops_sec is no number")?;
    ensure!((printed / ratio - 1.0).abs() < 1e-5, "the table has {printed}, the JSON {ratio}");
    let rate = row["candidate_value"].as_f64().context("readrandom has no rate")?;
    if row["metric"] == "ops_per_s" {
        let printed: f64 = line[place("ops_sec")?].parse().context("ops_sec is no number")?;
        ensure!((printed / rate - 1.0).abs() < 1e-5, "the table has {printed} operations, the JSON {rate}");
    }

    let metrics = shown(scratch, &[run, "--format", "openmetrics"])?;
    ensure!(metrics.ends_with("# EOF\n"), "the exposition has no end");
    let sample = metrics
        .lines()
        .find(|line| {
            line.starts_with("dbdyno_step_relative_rate_ratio{") && line.contains("step=\"readrandom\"")
        })
        .context("no relative rate of readrandom")?;
    let value: f64 = sample.rsplit(' ').next().context("a sample without value")?.parse()?;
    ensure!((value - ratio).abs() < 1e-12, "the exposition has {value}, the JSON {ratio}");

    let xml = shown(scratch, &[run, "--format", "junit"])?;
    for step in ["fillseq", "overwrite", "readrandom", "seekrandom"] {
        ensure!(xml.contains(&format!("name=\"{step}\"")), "no test case of {step} in:\n{xml}");
    }
    let post = shown(scratch, &[run, "--format", "post"])?;
    for part in
        ["## tl;dr", "## Builds", "## Hardware", "## Benchmark", "## Results", "dbdyno compare", RELEASE]
    {
        ensure!(post.contains(part), "the post has no `{part}`:\n{post}");
    }
    let summary = shown(scratch, &[run, "--format", "step-summary"])?;
    ensure!(
        summary.starts_with("### dbdyno") && summary.contains("summary>Everything"),
        "the summary is:\n{summary}"
    );
    let go = shown(scratch, &[run, "--format", "benchstat"])?;
    ensure!(go.contains("vs base") && go.lines().any(|line| line.starts_with("readrandom")), "{go}");
    let one = shown(scratch, &[run, "--step", "readrandom", "--format", "json"])?;
    let one: Value = serde_json::from_str(&one).context("not JSON with --step")?;
    let steps: BTreeSet<&str> =
        one["comparisons"].as_array().into_iter().flatten().filter_map(|row| row["step"].as_str()).collect();
    ensure!(steps == BTreeSet::from(["readrandom"]), "with --step readrandom there is {steps:?}");
    ensure!(deciding(&one, "readrandom")?["ratio"] == row["ratio"], "--step changes the ratio");
    Call::new(scratch, ["report", run, "--step", "readrandm"]).fails(&[2], &["readrandm", "readrandom"])?;
    files(scratch, run)?;
    Ok(Ending::Passed)
}

/// Charts are files in a directory, and a post names those beside it.
fn files(scratch: &Scratch, run: &str) -> anyhow::Result<()> {
    Call::new(scratch, ["report", run, "--format", "svg"]).fails(&[2], &["-o DIR"])?;
    let charts = scratch.path("charts");
    Call::new(scratch, ["report", run, "--format", "svg", "-o"]).and([&charts]).succeeds()?;
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(&charts)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        ensure!(text.contains("xmlns="), "`{}` is no SVG", path.display());
        names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    ensure!(!names.is_empty(), "there is no chart");
    let images = scratch.path("images");
    Call::new(scratch, ["report", run, "--format", "png", "-o"]).and([&images]).succeeds()?;
    for entry in fs::read_dir(&images)? {
        let path = entry?.path();
        ensure!(fs::read(&path)?.starts_with(b"\x89PNG\r\n\x1a\n"), "`{}` is no PNG", path.display());
    }
    let mut directory = scratch.path("post").into_os_string();
    directory.push("/");
    Call::new(scratch, ["report", run, "--format", "post", "-o"]).and([&directory]).succeeds()?;
    let post = fs::read_to_string(scratch.path("post").join("post.md"))?;
    for name in &names {
        ensure!(post.contains(&format!("]({name})")), "the post does not show {name}");
        ensure!(scratch.path("post").join(name).exists(), "{name} does not lie beside the post");
    }
    Ok(())
}

/// The same for a campaign in which a build is missing.
fn campaign(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = scratch.write("sequence.toml", SEQUENCE)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"small\"\nworkloads = [\"{}\"]\nsubjects = [\"{RELEASE}\", \"{OTHER}\", \"rocksdb@8.2.1\"]\n\
             rounds = 2\nseed = 7\nsteps = [\"readrandom\", \"overwriteandwait\"]\n",
            workload.display()
        ),
    )?;
    Call::new(scratch, ["run".as_ref(), plan.as_os_str()]).succeeds()?;
    for (format, part) in [
        ("post", "As a file, this measures the same again:"),
        ("step-summary", "not measured: rocksdb@8.2.1"),
        ("benchstat", "not measured: rocksdb@8.2.1"),
        ("junit", "not measured: rocksdb@8.2.1"),
        ("openmetrics", "dbdyno_run_left_out{"),
        ("csv", "overwriteandwait"),
    ] {
        let text = shown(scratch, &["last", "--format", format])?;
        ensure!(
            text.contains(part) && text.contains("readrandom"),
            "{format} does not show `{part}`:\n{text}"
        );
    }
    // A candidate that was asked for and not measured tells nothing of a change.
    Call::new(scratch, ["report", "last", "--gate"]).fails(&[3], &["gate: not measured: rocksdb@8.2.1"])?;
    Ok(Ending::Passed)
}

/// A planted slowdown ends `compare` and `report` alike; what is within the threshold does not.
fn gate(scratch: &Scratch) -> anyhow::Result<Ending> {
    let planted = |more: &[&str]| {
        Call::compare(scratch, [RELEASE, RELEASE], "40s")
            .and(["--step", "readrandom", "--plant-slowdown", "60"])
            .and(more)
            .run()
    };
    planted(&["--gate"])?.expect_code(&[1])?.expect_stderr(&["gate: regression: readrandom"])?;
    let again = |arguments: &[&str], code: i32| -> anyhow::Result<()> {
        Call::new(scratch, ["report", "last"]).and(arguments).run()?.expect_code(&[code])?;
        Ok(())
    };
    again(&[], 0)?;
    again(&["--gate"], 1)?;
    again(&["--gate", "--format", "junit"], 1)?;
    again(&["--gate", "--gate-threshold", "100000"], 0)?;
    again(&["--gate", "--gate-threshold", "-1"], 2)?;
    again(&["--gate-threshold", "5"], 2)?;
    let xml = shown(scratch, &["last", "--format", "junit"])?;
    ensure!(xml.contains("<failure type=\"regression\""), "no failure in:\n{xml}");
    let xml = shown(scratch, &["last", "--format", "junit", "--gate", "--gate-threshold", "100000"])?;
    ensure!(!xml.contains("<failure"), "a failure within the threshold in:\n{xml}");
    Ok(Ending::Passed)
}

/// Every block of the run is in the export once, with the values that the JSON of the run is made from.
fn export(scratch: &Scratch) -> anyhow::Result<Ending> {
    Call::compare(scratch, [RELEASE, OTHER], "15s").succeeds()?;
    let text = Call::new(scratch, ["export", "last"]).succeeds()?.stdout;
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().context("the export is empty")?;
    ensure!(
        header.join(",") == "table,run,workload,step,subject,side,launch,block,second,metric,unit,value",
        "the header is {header:?}"
    );
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut operations: BTreeMap<(String, String, String), f64> = BTreeMap::new();
    let mut rates: BTreeMap<(String, String, String), f64> = BTreeMap::new();
    let mut walls: BTreeMap<(String, String, String), f64> = BTreeMap::new();
    for line in lines.filter(|line| line.len() == header.len()) {
        *counts.entry(line[0].to_owned()).or_default() += 1;
        let key = (line[3].to_owned(), line[5].to_owned(), line[6].to_owned());
        let of = match (line[0], line[9]) {
            ("blocks", "operations") => &mut operations,
            ("blocks", "wall_ns") => &mut walls,
            ("values", "ops_per_s") => &mut rates,
            _ => continue,
        };
        *of.entry(key).or_default() += line[11].parse::<f64>()?;
    }
    for table in ["values", "trials", "blocks", "counters", "host"] {
        ensure!(counts.contains_key(table), "the export has no {table}: {counts:?}");
    }
    ensure!(!rates.is_empty(), "no trial has a rate");
    for (key, rate) in &rates {
        let expected = operations[key] / walls[key] * 1e9;
        ensure!((rate / expected - 1.0).abs() < 1e-9, "{key:?} has {rate}, its blocks {expected}");
    }
    let json =
        Call::new(scratch, ["export", "last", "--format", "json", "--table", "blocks"]).succeeds()?.json()?;
    let values = json["values"].as_array().context("values is no array")?;
    ensure!(values.len() == counts["blocks"], "{} blocks in JSON, {} in CSV", values.len(), counts["blocks"]);
    ensure!(json["runs"][0]["plan"]["seed"].is_u64(), "the run has no plan");
    let mut directory = scratch.path("tables").into_os_string();
    directory.push("/");
    Call::new(scratch, ["export", "last", "--step", "readrandom", "-o"]).and([&directory]).succeeds()?;
    let blocks = fs::read_to_string(scratch.path("tables").join("blocks.csv"))?;
    ensure!(
        blocks.lines().skip(1).all(|line| line.contains(",readrandom,")) && blocks.lines().count() > 1,
        "blocks.csv has other steps than readrandom"
    );
    Ok(Ending::Passed)
}

/// Runs of one workload stand together; those of another are refused.
fn several(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let report = Call::compare(scratch, [RELEASE, OTHER], "10s")
            .and(["--step", "readrandom"])
            .succeeds()?
            .json()?;
        runs.push(report["run"].as_str().context("the run has no id")?.to_owned());
    }
    let [first, second] = [runs[0].as_str(), runs[1].as_str()];
    let text = shown(scratch, &[first, second])?;
    ensure!(text.contains(first) && text.contains(second), "a run is missing:\n{text}");
    let both: Value = serde_json::from_str(&shown(scratch, &[first, second, "--json"])?)?;
    ensure!(both[0]["run"] == first && both[1]["run"] == second, "the array is not of both runs");
    let metrics = shown(scratch, &[first, second, "--format", "openmetrics"])?;
    ensure!(metrics.matches("# TYPE dbdyno_step_verdict ").count() == 1, "a metric is described twice");

    let tiny = fs::read_to_string(&scratch.workload)?;
    let other = scratch.write("other.toml", &tiny.replace("keys = 2000", "keys = 3000"))?;
    let report = Call::new(scratch, ["compare", RELEASE, OTHER, "--budget", "10s", "--json", "--workload"])
        .and([&other])
        .and(["--step", "readrandom"])
        .succeeds()?
        .json()?;
    let third = report["run"].as_str().context("the run has no id")?;
    Call::new(scratch, ["report", first, third])
        .fails(&[2], &["cannot be compared", "text of the workload", third])?;
    Ok(Ending::Passed)
}
