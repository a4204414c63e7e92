//! Cases of the doctor: what it finds of this host, and that what it sets is set back.

use super::fake_engine::{Fake, POLL};
use super::scratch::{self, Scratch};
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("doctor finds", finds),
        Case::new("doctor fix and undo", fix_and_undo),
        Case::new("doctor bench", bench),
        Case::new("doctor before a run", before_a_run),
        Case::new("doctor before a run, interrupted", interrupted),
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

const FIGURES: [&str; 5] = ["cpu_ns_per_step", "memory_read_gb_per_s", LATENCY, "fsync_us", "device_read_us"];
const LATENCY: &str = "memory_latency_ns";

/// The host is measured, kept, and held beside what was measured before.
fn bench(scratch: &Scratch) -> anyhow::Result<Ending> {
    let found = Call::new(scratch, ["doctor", "--bench", "--json"]).own_cache().succeeds()?.json()?;
    let figures = found["fingerprint"]["figures"].as_array().context("no figures")?;
    let names: Vec<&str> = figures.iter().filter_map(|figure| figure["name"].as_str()).collect();
    ensure!(names == FIGURES, "the figures are {names:?}");
    for figure in figures {
        ensure!(figure["value"].as_f64().is_some_and(|value| value > 0.0), "{figure}");
    }
    let value = |name: &str| {
        figures.iter().find(|figure| figure["name"] == name).and_then(|figure| figure["value"].as_f64())
    };
    // A line of memory that no prefetcher knows takes longer than a step that needs none, on any machine.
    ensure!(value("memory_latency_ns") > value("cpu_ns_per_step"), "{figures:?}");
    let again = Call::new(scratch, ["doctor", "--bench"]).own_cache().succeeds()?.stdout;
    ensure!(again.matches(" before (").count() == FIGURES.len(), "it is not held beside the first:\n{again}");
    Ok(Ending::Passed)
}

/// Said when the host is measured before a run.
const MEASURING: &str = "measuring the host";

/// Changes the last fingerprint of the case's work directory.
fn change_kept(scratch: &Scratch, change: impl Fn(&mut Value)) -> anyhow::Result<()> {
    let path = scratch::fingerprint(&scratch.path("cache"));
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    change(&mut kept);
    fs::write(&path, kept.to_string()).with_context(|| format!("failed to write `{}`", path.display()))
}

/// As if it had been measured in another boot.
fn of_another_boot(kept: &mut Value) {
    kept["boot_id"] = "another boot".into();
}

/// The fingerprint in the report of a run: names and values.
fn fingerprint_of(report: &Value) -> BTreeMap<String, f64> {
    let figures = report["host"]["fingerprint"]["figures"].as_array().cloned().unwrap_or_default();
    let figure = |one: &Value| Some((one["name"].as_str()?.to_owned(), one["value"].as_f64()?));
    figures.iter().filter_map(figure).collect()
}

/// The host is measured before a run, once for a boot and a work directory, whatever the store; a run keeps what was measured before it,
/// and two that differ in it say so.
fn before_a_run(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    change_kept(scratch, of_another_boot)?;
    let run = |options: &[&str]| fake.campaign(1)?.and(options).succeeds();
    let first = run(&[])?.expect_stderr(&[MEASURING])?;
    let measured = fingerprint_of(&first.json()?);
    ensure!(measured.len() == FIGURES.len(), "of the host is known {measured:?}");

    let other_store = scratch.path("other.sqlite").display().to_string();
    for options in [&["--store", other_store.as_str()][..], &["--no-fingerprint"]] {
        let again = run(options)?;
        ensure!(!again.stderr.contains(MEASURING), "{options:?}: measured again: {}", again.stderr);
        ensure!(fingerprint_of(&again.json()?) == measured, "{options:?}: not what was measured");
    }

    // A host that was faster before.
    change_kept(scratch, |kept| {
        kept["at_us"] = (kept["at_us"].as_i64().unwrap_or(0) + 1).into();
        for figure in
            kept["figures"].as_array_mut().into_iter().flatten().filter(|one| one["name"] == LATENCY)
        {
            figure["value"] = 1.0.into();
            figure["spread"] = 0.0.into();
        }
    })?;
    let faster = run(&[])?.json()?;
    ensure!(fingerprint_of(&faster)[LATENCY] < 2.0, "{}", faster["host"]);
    let runs = [&first.json()?["run"], &faster["run"]].map(|run| run.as_str().unwrap_or_default().to_owned());
    let both = || fake.call(["report"]).and(&runs);
    let text = both().succeeds()?.stdout;
    ensure!(text.contains("host-differs") && text.contains(&format!("{LATENCY}: ")), "not named:\n{text}");
    let history = fake.call(["history"]).and(&runs).succeeds()?.stdout;
    ensure!(history.contains("host-differs"), "not named:\n{history}");
    let json = both().and(["--format", "json"]).succeeds()?.json()?;
    ensure!(json[1]["warnings"].to_string().contains("host-differs"), "not named: {}", json[1]["warnings"]);
    ensure!(!json[0]["warnings"].to_string().contains("host-differs"), "named: {}", json[0]["warnings"]);

    change_kept(scratch, of_another_boot)?;
    let unmeasured = run(&["--no-fingerprint"])?;
    ensure!(!unmeasured.stderr.contains(MEASURING), "it was told not to: {}", unmeasured.stderr);
    ensure!(fingerprint_of(&unmeasured.json()?).is_empty(), "nothing is known of this boot");

    // A device that cannot be measured is said, the rest is kept, and the run goes on.
    let data = scratch::fingerprint(&scratch.path("cache")).with_file_name("fingerprint.data");
    fs::remove_file(&data).context("there is no file that was read")?;
    fs::create_dir(&data)?;
    let changed = format!("the host has changed since it was measured last: {LATENCY}: 1.00 then");
    let partly = run(&[])?.expect_stderr(&[MEASURING, "the device is not measured", &changed])?;
    let of_rest: Vec<String> = fingerprint_of(&partly.json()?).into_keys().collect();
    ensure!(of_rest.len() == 3 && !of_rest.contains(&"fsync_us".to_owned()), "what is known is {of_rest:?}");
    Ok(Ending::Passed)
}

/// Ctrl-C while the host is measured ends the command at once: nothing was begun, and the next run measures it.
fn interrupted(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    change_kept(scratch, of_another_boot)?;
    let mut run = fake.campaign(1)?.start()?;
    while !run.stderr_so_far()?.contains(MEASURING) {
        ensure!(run.is_running()?, "it ended: {}", run.stderr_so_far()?);
        std::thread::sleep(POLL);
    }
    run.press_ctrl_c()?;
    run.finish(Duration::from_secs(3))?.expect_code(&[130])?;
    ensure!(fake.count("runs")? == 0, "a run was begun");
    let resumed = fake.call(["run", "--resume", "last"]).run()?.expect_code(&[2])?;
    ensure!(!resumed.stderr.contains(MEASURING), "measured for nothing: {}", resumed.stderr);
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
