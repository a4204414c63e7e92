//! Cases that measure: each release against itself, and the stored run in every format.

use super::engines::RELEASE;
use super::expect::{self, Compared};
use super::scratch::Scratch;
use super::tool::{Call, Finished};
use super::{Case, Ending};
use anyhow::{Context, ensure};
use std::fs;

/// The release runs every step of the tiny workload, without a failed trial.
pub fn of_release(release: &str) -> Case {
    let subject = format!("rocksdb@{release}");
    Case::new(format!("compare {release}"), move |scratch| {
        let finished = Call::compare(scratch, [&subject, &subject], "20s").succeeds()?;
        check_comparison(&finished, &Compared { base: &subject, candidate: &subject })?;
        Ok(Ending::Passed)
    })
    .shares_host()
}

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("compare two releases", two_releases).shares_host(),
        Case::new("compare on one CPU of several", on_one_cpu),
        Case::new("compare hyper clock cache", hyper_clock_cache).shares_host(),
        Case::new("report", report).shares_host(),
        Case::new("workload", workload).shares_host(),
    ]
}

fn check_comparison(finished: &Finished, subjects: &Compared<'_>) -> anyhow::Result<()> {
    let report = finished.json()?;
    expect::comparison(&report, subjects)?;
    let trials = expect::trials(&report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} trials done, {} failed", trials.done, trials.failed);
    Ok(())
}

/// Two compilers, two file formats, one chosen step, two configurations.
fn two_releases(scratch: &Scratch) -> anyhow::Result<Ending> {
    let subjects = Compared { base: "rocksdb@6.0.2", candidate: "rocksdb@11.8.1" };
    let finished = Call::compare(scratch, [subjects.base, subjects.candidate], "20s").succeeds()?;
    check_comparison(&finished, &subjects)?;
    let report = Call::compare(scratch, ["rocksdb@8.5.4+defaults", RELEASE], "10s")
        .and(["--step", "readrandom"])
        .succeeds()?
        .json()?;
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    ensure!(!rows.is_empty(), "nothing was compared");
    ensure!(
        rows.iter().all(|row| row["step"] == "readrandom"),
        "other steps than the chosen one were judged"
    );
    ensure!(report["base"] == "rocksdb@8.5.4+defaults", "base is {}", report["base"]);
    Ok(Ending::Passed)
}

/// A cache that no option makes: the side with it runs, and what differs says so. A release whose C API has none refuses it.
fn hyper_clock_cache(scratch: &Scratch) -> anyhow::Result<Ending> {
    let candidate = format!("{RELEASE}+hyper-clock");
    let arguments = ["compare", RELEASE, &candidate, "--budget", "20s", "--step", "readrandom", "--json"];
    let report = Call::new(scratch, arguments).succeeds()?.json()?;
    let trials = expect::trials(&report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} trials done, {} failed", trials.done, trials.failed);
    let differs = expect::texts(&report["differs"], "what").join(", ");
    ensure!(differs.contains("cache_type"), "what differs does not name the cache: {differs}");
    Ok(Ending::Passed)
}

/// A shell that may use one CPU only: what it begins is measured there, and says so.
fn on_one_cpu(scratch: &Scratch) -> anyhow::Result<Ending> {
    let status = fs::read_to_string("/proc/self/status").context("failed to read our own status")?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("");
    let digits: String = allowed.trim().chars().take_while(char::is_ascii_digit).collect();
    let cpu = digits.parse().with_context(|| format!("no CPU in `{allowed}`"))?;
    let run = Call::compare(scratch, [RELEASE, RELEASE], "10s").and(["--step", "readrandom"]).on_cpu(cpu);
    let report = run.succeeds()?.json()?;
    let online = report["host"]["cpus_online"].as_u64().context("the host has no cpus_online")?;
    if online < 2 {
        return Ok(Ending::NotHere { reason: "the host has one CPU".to_owned() });
    }
    ensure!(report["host"]["cpus"] == 1, "{}", report["host"]);
    let notes = report["notes"].as_array().context("notes is no array")?;
    let said = format!("this run may use 1 of the host's {online} CPUs");
    let warns = |note: &&serde_json::Value| {
        note["id"] == "withheld-cpus" && note["text"].as_str().is_some_and(|text| text.starts_with(&said))
    };
    ensure!(notes.iter().any(|note| warns(&note)), "{notes:?}");
    let text = Call::new(scratch, ["report", "last"]).succeeds()?.stdout;
    ensure!(text.contains(&format!("1 of {online} CPUs")), "{text}");
    Ok(Ending::Passed)
}

/// What `compare` printed can be had again from the store, in each format, by each way to name a run.
fn report(scratch: &Scratch) -> anyhow::Result<Ending> {
    let compared = Call::compare(scratch, [RELEASE, RELEASE], "15s").succeeds()?.json()?;
    let run = compared["run"].as_str().context("the run has no id")?.to_owned();
    ensure!(scratch.data().exists(), "no store in the XDG data directory");

    let again = Call::new(scratch, ["report", "last", "--format", "json"]).succeeds()?.json()?;
    for key in ["schema", "run", "base", "comparisons", "trials"] {
        ensure!(again[key] == compared[key], "`report` gives another {key} than `compare` did");
    }
    let text = Call::new(scratch, ["report", &run]).succeeds()?.stdout;
    let markdown = Call::new(scratch, ["report", &run, "--format", "markdown"]).succeeds()?.stdout;
    for part in ["readrandom", "fillseq", RELEASE, &run, "that everything runs"] {
        ensure!(text.contains(part), "the text does not show `{part}`:\n{text}");
        ensure!(markdown.contains(part), "the Markdown does not show `{part}`:\n{markdown}");
    }
    ensure!(markdown.lines().any(|line| line.starts_with('|')), "no table in the Markdown:\n{markdown}");

    let file = scratch.path("report.md");
    Call::new(scratch, ["report", &run, "--format", "markdown", "-o"]).and([&file]).succeeds()?;
    ensure!(fs::read_to_string(&file)? == markdown, "the file differs from what is printed");
    Call::new(scratch, ["report", "no-such-run"]).fails(&[2], &["no-such-run"])?;
    Ok(Ending::Passed)
}

/// The workload that is shown can be used as a file.
fn workload(scratch: &Scratch) -> anyhow::Result<Ending> {
    let list = Call::new(scratch, ["workload", "list"]).succeeds()?.stdout;
    ensure!(list.contains("quick"), "`workload list` does not show quick: {list}");
    let shown = Call::new(scratch, ["workload", "show", "quick"]).succeeds()?.stdout;
    let definition: toml::Table = shown.parse().context("`workload show quick` is not TOML")?;
    ensure!(definition.get("name").and_then(toml::Value::as_str) == Some("quick"), "it has another name");
    Ok(Ending::Passed)
}
