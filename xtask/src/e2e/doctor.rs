//! Cases of the doctor: what it finds of this host, and that what it sets is set back.

use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("doctor finds", finds),
        Case::new("doctor fix and undo", fix_and_undo),
        Case::new("doctor bench", bench),
    ]
}

fn call<'a>(scratch: &'a Scratch, options: &[&str]) -> Call<'a> {
    let state = scratch.path("state").display().to_string();
    Call::new(scratch, ["doctor", "--json"]).and(options).variable("XDG_STATE_HOME", &state)
}

/// The checks by id: status and what was found.
fn checks(found: &Value) -> anyhow::Result<BTreeMap<String, (String, String)>> {
    ensure!(found["schema"] == 1, "schema is {}", found["schema"]);
    let checks = found["checks"].as_array().context("checks is no array")?;
    let text = |check: &Value, key: &str| {
        check[key].as_str().map(str::to_owned).with_context(|| format!("no {key} in {check}"))
    };
    checks
        .iter()
        .map(|check| {
            let (id, status) = (text(check, "id")?, text(check, "status")?);
            for key in ["want", "why", "fix"] {
                text(check, key)?;
            }
            let is_bad = matches!(status.as_str(), "warn" | "fail");
            ensure!(is_bad || matches!(status.as_str(), "ok" | "unknown"), "{id} is {status}");
            ensure!(!is_bad || check["fix"] != "", "{id} does not say what to do");
            Ok((id, (status, text(check, "found")?)))
        })
        .collect()
}

/// Every check is there and says something of this host, in text too.
fn finds(scratch: &Scratch) -> anyhow::Result<Ending> {
    let found = Call::new(scratch, ["doctor", "--json"]).succeeds()?.json()?;
    let checks = checks(&found)?;
    for id in [
        "cpu-governor",
        "cpu-boost",
        "cpu-smt",
        "clock-source",
        "aslr",
        "numa",
        "steal",
        "transparent-huge-pages",
        "swap",
        "dirty-limits",
        "memory-free",
        "file-system",
        "mount-options",
        "device",
        "device-scheduler",
        "max-sectors",
        "read-ahead",
        "free-space",
        "open-files",
        "perf",
        "ptrace",
        "other-load",
        "other-dbdyno",
        "tool-mvn",
    ] {
        ensure!(checks.contains_key(id), "there is no check {id}: {checks:?}");
    }
    let known = checks.values().filter(|(status, _)| status != "unknown").count();
    ensure!(known >= 15, "only {known} checks are known here: {checks:?}");
    let text = Call::new(scratch, ["doctor", "--width", "80"]).succeeds()?.stdout;
    ensure!(checks.keys().all(|id| text.contains(id.as_str())), "a check is missing in:\n{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    ensure!(widest <= 80, "a line of {widest} characters:\n{text}");
    Call::new(scratch, ["doctor", "--fix", "--undo"]).fails(&[2], &["cannot be used with"])?;
    Ok(Ending::Passed)
}

/// The host is measured, kept, and held beside what was measured before.
fn bench(scratch: &Scratch) -> anyhow::Result<Ending> {
    let found = Call::new(scratch, ["doctor", "--bench", "--json"]).own_cache().succeeds()?.json()?;
    let figures = found["fingerprint"]["figures"].as_array().context("no figures")?;
    let names: Vec<&str> = figures.iter().filter_map(|figure| figure["name"].as_str()).collect();
    let wanted =
        ["cpu_ns_per_step", "memory_read_gb_per_s", "memory_latency_ns", "fsync_us", "device_read_us"];
    ensure!(names == wanted, "the figures are {names:?}");
    for figure in figures {
        ensure!(figure["value"].as_f64().is_some_and(|value| value > 0.0), "{figure}");
    }
    let value = |name: &str| {
        figures.iter().find(|figure| figure["name"] == name).and_then(|figure| figure["value"].as_f64())
    };
    // A line of memory that no prefetcher knows takes longer than a step that needs none, on any machine.
    ensure!(value("memory_latency_ns") > value("cpu_ns_per_step"), "{figures:?}");
    let again = Call::new(scratch, ["doctor", "--bench"]).own_cache().succeeds()?.stdout;
    ensure!(again.matches(" before (").count() == wanted.len(), "it is not held beside the first:\n{again}");
    Ok(Ending::Passed)
}

/// What the kernel is told by `--fix` is taken back by `--undo`.
fn fix_and_undo(scratch: &Scratch) -> anyhow::Result<Ending> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(Ending::NotHere { reason: "only root may set anything".to_owned() });
    }
    let limits = || -> anyhow::Result<Vec<String>> {
        let files =
            ["dirty_ratio", "dirty_bytes", "dirty_background_ratio", "dirty_background_bytes", "swappiness"];
        let read = |file: &str| fs::read_to_string(format!("/proc/sys/vm/{file}"));
        files.into_iter().map(|file| read(file).with_context(|| format!("failed to read {file}"))).collect()
    };
    let before = limits()?;
    let status = |found: &Value| anyhow::Ok(checks(found)?["dirty-limits"].0.clone());
    if status(&call(scratch, &[]).run()?.json()?)? != "warn" {
        return Ok(Ending::NotHere { reason: "nothing is to be set here that a guest may set".to_owned() });
    }
    // Some settings are refused in a container: then it ends with 3, and has set the others.
    let fixed = call(scratch, &["--fix"]).run();
    let after = limits();
    // Whatever came of it, the host is set back.
    let undone = call(scratch, &["--undo"]).run()?.expect_code(&[0])?;
    let (fixed, after) = (fixed?.expect_code(&[0, 3])?, after?);
    let restored = limits()?;
    ensure!(restored == before, "it was {before:?}, then {after:?}, and is {restored:?}: {}", undone.stderr);
    if fixed.stderr.contains("failed to write") && after == before {
        return Ok(Ending::NotHere { reason: "the kernel's settings cannot be written here".to_owned() });
    }
    ensure!(after != before, "nothing was set: {}", fixed.stderr);
    ensure!(status(&fixed.json()?)? == "ok", "it was set and is not seen: {}", fixed.stdout);
    ensure!(status(&undone.json()?)? == "warn", "it was set back and is not seen: {}", undone.stdout);
    Ok(Ending::Passed)
}
