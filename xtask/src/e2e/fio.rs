//! Cases of fio: jobs by depth with Small Datum's CPU per IO, subjects that differ in storage, an interleaved comparison, and what
//! goes wrong.

use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending, processes};
use anyhow::{Context, anyhow, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A directory of another place, settings that no kernel knows, options that fio does not know, a device that is not there.
const CONFIGS: &str = r#"
engine = "fio"
[[config]]
name = "other"
description = "in another directory"
storage = { directory = "OTHER" }
[[config]]
name = "odd-scheduler"
description = "with a scheduler that nobody wrote"
storage = { queue = { scheduler = "elevator-music" } }
[[config]]
name = "typo"
description = "with an option that fio does not know"
options = { iodeth = "4" }
[[config]]
name = "deeper"
description = "with the depth that the step has"
options = { iodepth = "4" }
[[config]]
name = "no-engine"
description = "by an engine that fio does not have"
options = { ioengine = "imaginary" }
[[config]]
name = "no-device"
description = "on a device that is not there"
storage = { target = "/dev/no-such-device" }
[[config]]
name = "small-target"
description = "on a file that is shorter than the workload's"
storage = { target = "SMALL" }
"#;

/// How often a device is asked how slow it is, on a host that others use too.
const TRIES: u32 = 3;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("fio by depth", by_depth).shares_host(),
        Case::new("fio storage", storage),
        Case::new("fio interleaved", in_turns).nightly(),
        Case::new("fio bad input", bad_input).shares_host(),
        Case::new("fio killed", killed).shares_host(),
    ]
}

fn plan(scratch: &Scratch, subjects: &[&str], more: &str) -> anyhow::Result<PathBuf> {
    let other = scratch.path("other");
    let small = scratch.path("small");
    fs::create_dir_all(&other)?;
    fs::write(&small, [0; 4096])?;
    let configs =
        CONFIGS.replace("OTHER", &other.to_string_lossy()).replace("SMALL", &small.to_string_lossy());
    scratch.write_config("configs/fio-e2e.toml", &configs)?;
    let subjects: Vec<String> = subjects.iter().map(|subject| format!("\"{subject}\"")).collect();
    let text = format!(
        "name = \"fio\"\nworkloads = [\"fio.cpu-per-io\"]\nsubjects = [{}]\nseed = 7\nrounds = 1\n{more}\n\
         [scale]\nfile_mb = 32\nread_seconds = 1.1\n",
        subjects.join(", ")
    );
    scratch.write("plan.toml", &text)
}

fn run(scratch: &Scratch, plan: &Path) -> anyhow::Result<Value> {
    Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).succeeds()?.json()
}

/// Each depth has its rate, latency and CPU; fio says something before its JSON where the engine has no queue.
fn by_depth(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plan = plan(
        scratch,
        &["fio@installed", "fio@installed+psync"],
        "steps = [\"depth-1\", \"depth-2\", \"depth-8\"]",
    )?;
    let report = run(scratch, &plan)?;
    let trials = (&report["trials"]["done"], &report["trials"]["failed"]);
    ensure!(trials == (&6.into(), &0.into()), "trials: {}", report["trials"]);
    let of_subjects = report["depths"].as_array().context("depths is no array")?;
    let set_aside = !report["disturbed"].as_array().is_none_or(Vec::is_empty);
    ensure!(of_subjects.len() == 2 || set_aside, "depths of {} subjects", of_subjects.len());
    for of_subject in of_subjects {
        let jobs = of_subject["jobs"].as_array().context("jobs is no array")?;
        // What others disturbed is in no number.
        let disturbed = report["disturbed"].as_array().context("disturbed is no array")?;
        let of_this = disturbed.iter().filter(|one| one["subject"] == of_subject["subject"]).count();
        let depths: Vec<&Value> = jobs.iter().map(|job| &job["depth"]).collect();
        ensure!(depths.len() + of_this == 3, "depths are {depths:?}, {of_this} set aside");
        for job in jobs {
            let number = |key: &str| job[key].as_f64().with_context(|| format!("no {key} in {job}"));
            ensure!(number("requests_per_s")? > 50.0, "{job}");
            ensure!(number("latency_us_p50")? <= number("latency_us_p99")?, "{job}");
            // The host's has all of fio's in it, but for the ticks that it is counted in.
            ensure!(number("fio_cpu_us")? > 0.0, "{job}");
            ensure!(number("host_cpu_us")? > number("fio_cpu_us")? * 0.5, "{job}");
            // Either as many requests as the depth are in flight, or the engine has no queue.
            let in_flight = number("requests_per_s")? * number("latency_us_p50")? / 1e6;
            ensure!(in_flight < number("depth")? * 1.5, "{in_flight} in flight: {job}");
        }
    }
    let text = Call::new(scratch, ["report", "--detail", "--width", "100"]).succeeds()?.stdout;
    for words in ["Requests in flight", "ioengine", "psync", "A file of 31.0 MiB"] {
        ensure!(text.contains(words), "{words} is not told:\n{text}");
    }
    Ok(Ending::Passed)
}

/// Another directory, another file system and a device that is slow on purpose are subjects like any other; what could not be
/// made is left out, and nothing is left behind.
fn storage(scratch: &Scratch) -> anyhow::Result<Ending> {
    if !processes::is_root() {
        return Ok(Ending::NotHere { reason: "loop devices need root".to_owned() });
    }
    for device in ["/dev/loop-control", "/dev/fuse"] {
        if !Path::new(device).exists() {
            return Ok(Ending::NotHere { reason: format!("there is no {device}") });
        }
    }
    let plan = plan(
        scratch,
        &["fio@installed+other", "fio@installed+xfs", "fio@installed+slow-2ms"],
        "steps = [\"depth-1\", \"depth-8\"]",
    )?;
    // Others on the host lengthen what a device takes, and have trials set aside.
    let mut tried = Err(anyhow!("not tried"));
    for number in 1..=TRIES {
        tried = slow_device_as_asked(&run(scratch, &plan)?, number);
        if tried.is_ok() {
            break;
        }
    }
    tried?;
    let left = fs::read_dir(scratch.path("other/dbdyno/runs"))?.filter_map(Result::ok);
    let left: Vec<_> = left.map(|entry| entry.file_name()).filter(|name| name != ".dbdyno").collect();
    ensure!(left.is_empty(), "left in the other directory: {left:?}");
    let mounts = fs::read_to_string("/proc/mounts")?;
    ensure!(!mounts.contains(&*scratch.directory.to_string_lossy()), "left mounted:\n{mounts}");
    Ok(Ending::Passed)
}

/// Whether each subject was measured, and the slow one takes as long as it was told to.
fn slow_device_as_asked(report: &Value, number: u32) -> anyhow::Result<()> {
    ensure!(report["trials"]["failed"] == 0 && report["trials"]["skipped"] == 0, "{}", report["trials"]);
    let depths = report["depths"].as_array().context("depths is no array")?;
    let of_slow = depths.iter().find(|one| one["subject"] == "fio@installed+slow-2ms");
    let jobs = of_slow.and_then(|one| one["jobs"].as_array());
    for job in jobs.with_context(|| format!("try {number}: the slow device has no depths"))? {
        let us = job["latency_us_p50"].as_f64().context("no median")?;
        ensure!((2000.0..2300.0).contains(&us), "try {number}: 2 ms asked for, the median is {us} us: {job}");
    }
    Ok(())
}

/// Sides take turns in blocks as with any engine.
fn in_turns(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = Call::new(scratch, ["workload", "show", "fio.quick"]).succeeds()?.stdout;
    let small = scratch.write("small.toml", &workload.replace("file = \"256 MB\"", "file = \"16 MB\""))?;
    let report =
        Call::new(scratch, ["compare", "fio@installed", "fio@installed+psync", "--json", "--workload"])
            .and([small.as_os_str()])
            .and(["--step", "randread-d1", "--step", "randread-d8", "--max-launches", "2", "--budget", "60s"])
            .succeeds()?
            .json()?;
    ensure!(report["launches"].as_u64() >= Some(1), "{} launches", report["launches"]);
    ensure!(report["trials"]["failed"] == 0, "{}", report["trials"]);
    let rates = report["comparisons"].as_array().context("comparisons is no array")?.iter();
    let rates: Vec<&Value> = rates.filter(|one| one["metric"] == "ops_per_s").collect();
    ensure!(rates.len() == 2 && rates.iter().all(|one| one["ratio"].as_f64() > Some(0.0)), "{rates:?}");
    Ok(Ending::Passed)
}

/// What is wrong with one subject is said, and the others are measured.
fn bad_input(scratch: &Scratch) -> anyhow::Result<Ending> {
    let odd = ["typo", "no-engine", "no-device", "deeper"].map(|config| format!("fio@installed+{config}"));
    let mut subjects = vec!["fio@installed", "fio@installed+small-target"];
    subjects.extend(odd.iter().map(String::as_str));
    let has_queue = fs::metadata("/sys/class/block").is_ok() && processes::is_root();
    if has_queue {
        subjects.push("fio@installed+odd-scheduler");
    }
    let plan_file = plan(scratch, &subjects, "steps = [\"depth-1\"]")?;
    let report = run(scratch, &plan_file)?;
    let left_out = |config: &str, words: &str| -> anyhow::Result<()> {
        let all = report["left_out"].as_array().context("left_out is no array")?;
        let subject = format!("fio@installed+{config}");
        let one = all
            .iter()
            .find(|one| one["subject"] == *subject)
            .with_context(|| format!("{subject}: {all:?}"))?;
        ensure!(one["reason"].as_str().is_some_and(|reason| reason.contains(words)), "{one}");
        Ok(())
    };
    left_out("typo", "iodeth")?;
    left_out("deeper", "is what a step is")?;
    left_out("no-engine", "imaginary")?;
    left_out("no-device", "no-such-device")?;
    let failures = report["failures"].as_array().context("failures is no array")?;
    let said = |words: &str| failures.iter().any(|one| one.to_string().contains(words));
    left_out("small-target", "4096 bytes of")?;
    let refused = report["left_out"].to_string().contains("lies on none") || said("elevator-music");
    ensure!(!has_queue || refused, "the odd scheduler is not told: {failures:?}");
    let jobs = report["depths"].as_array().map_or(0, Vec::len);
    ensure!(jobs == 0 && report["trials"]["done"] == 1, "{}", report["trials"]);

    // A host without fio, and a program that is none.
    let nothing = scratch.path("nothing");
    fs::create_dir_all(&nothing)?;
    Call::new(scratch, ["compare", "fio@installed", "fio@installed+psync", "--workload", "fio.quick"])
        .search_path(nothing)
        .fails(&[1, 2, 3], &["this host has no program `fio`", "install the package fio"])?;
    Call::new(scratch, ["compare", "fio@installed", "fio@installed+psync", "--workload", "fio.cpu-per-io"])
        .fails(&[2], &["make the file smaller", "scale.file_mb"])?;
    Call::new(scratch, ["engine", "add", "fio@mine", "/etc/passwd"]).fails(&[2], &["/etc/passwd"])?;
    let missing_step = scratch.write("bad.toml", "name = \"bad\"\nengine = \"fio\"\ndescription = \"d\"\ntells = \"t\"\n\
        does_not_tell = \"n\"\nfile = \"1 MB\"\n[[step]]\nname = \"a\"\ngroup = \"reads\"\noperation = \"fio\"\n\
        options = { rw = \"randraed\" }\n")?;
    Call::new(scratch, ["compare", "fio@installed", "fio@installed+psync", "--workload"])
        .and([missing_step.as_os_str()])
        .fails(&[2], &["did you mean `randread`"])?;
    Ok(Ending::Passed)
}

/// A fio that fails half way costs its step, and the next ones are measured.
fn killed(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plan = plan(scratch, &["fio@installed"], "steps = [\"depth-1\", \"depth-2\"]")?;
    let running = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).start()?;
    let began = std::time::Instant::now();
    let is_job = |pid: &u32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&arguments);
        text.contains("--runtime") && text.contains("--iodepth=1\0")
    };
    loop {
        ensure!(began.elapsed() < Duration::from_secs(60), "no job of depth 1 was seen");
        let mut jobs = processes::below_process(running.pid())?;
        jobs.retain(is_job);
        if let Some(pid) = jobs.first() {
            std::thread::sleep(Duration::from_millis(300));
            processes::signal(*pid, libc::SIGKILL)?;
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let report = running.finish(Duration::from_secs(120))?.expect_code(&[0])?.json()?;
    ensure!(report["trials"]["done"] == 1 && report["trials"]["failed"] == 1, "{}", report["trials"]);
    let failures = report["failures"].to_string();
    ensure!(failures.contains("depth-1") && failures.contains("signal 9"), "{failures}");
    Ok(Ending::Passed)
}
