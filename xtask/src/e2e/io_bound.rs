//! Cases of servers whose reads come from a device: after a start with nothing in any cache, and under a memory limit that is smaller than
//! their tables.

use super::expect;
use super::scratch::Scratch;
use super::servers::WORKLOAD;
use super::tool::{Call, Running};
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("io-bound cold start", cold_start).shares_host(),
        Case::new("io-bound under a limit on a slow device", under_a_limit),
    ]
}

/// A step of [`WORKLOAD`] that begins cold, behind all others.
const COLD_STEP: &str = "\n[[step]]\nname = \"cold\"\ngroup = \"point-1\"\noperation = \"transaction\"\ntransaction = \"point\"\n\
                         operations = 50\ncold = true\n";
/// Whose pages are 8 and 16 KB.
const SUBJECTS: [&str; 2] = ["postgres@15.7", "mariadb@10.11.19"];
/// What each says at its end if it was asked to end, and after a start on files that it had not left in order.
const ORDERLY: [&str; 2] = ["database system is shut down", "Shutdown complete"];
const RECOVERIES: [&str; 2] = ["was not properly shut down", "Starting crash recovery"];
/// Of a read of a row by its key: the smallest page, and what a process that has all of them reads now and then.
const COLD_BYTES: f64 = 4096.0;
const WARM_BYTES: f64 = 200.0;

/// Before a cold step the server is stopped in order, its files are put out of the page cache, and it is started: so it reads them from the
/// device and recovers nothing.
fn cold_start(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = scratch.write("cold.toml", &format!("{WORKLOAD}{COLD_STEP}"))?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"cold\"\nworkloads = [\"{}\"]\nrounds = 1\nseed = 7\nsteps = [\"point\", \"cold\"]\nsubjects = [\"{}\", \"{}\"]\n",
            workload.display(),
            SUBJECTS[0],
            SUBJECTS[1],
        ),
    )?;
    let report = Call::new(scratch, ["run", "--json"]).and([plan]).succeeds()?.json()?;
    let left_out = report["left_out"].as_array().context("left_out is no array")?;
    ensure!(left_out.is_empty(), "not measured: {left_out:?}");
    let trials = expect::trials(&report)?;
    ensure!((trials.done, trials.failed) == (4, 0), "{} trials done, {} failed", trials.done, trials.failed);
    for (subject, side) in SUBJECTS.into_iter().zip(0_usize..) {
        let [warm, cold] = ["point", "cold"].map(|step| value(&report, step, subject, READ_BYTES));
        let (warm, cold) = (warm?, cold?);
        ensure!(warm < WARM_BYTES, "{subject}: {warm:.0} bytes read per operation of a warm step");
        ensure!(cold >= COLD_BYTES, "{subject}: {cold:.0} bytes read per operation of a cold step");
        let log = Call::new(scratch, ["report", "last", "--raw", &format!("1/{side}/write/LOG")])
            .succeeds()?
            .stdout;
        ensure!(log.contains(ORDERLY[side]), "{subject} was not stopped in order:\n{log}");
        ensure!(!log.contains(RECOVERIES[side]), "{subject} had to recover:\n{log}");
    }
    let compare =
        Call::new(scratch, ["compare", SUBJECTS[0], "postgres@16.3", "--step", "cold", "--workload"]);
    compare
        .and([workload])
        .fails(&[2], &["step `cold` of `tiny-sql` begins with a fresh process", "--design rounds"])?;
    Ok(Ending::Passed)
}

const READ_BYTES: &str = "storage_read_bytes_per_op";

/// A value of a step on a subject.
fn value(report: &Value, step: &str, subject: &str, metric: &str) -> anyhow::Result<f64> {
    let rows = report["columns"].as_array().context("columns is no array")?;
    let row = rows.iter().find(|row| row["step"] == step && row["subject"] == subject);
    row.and_then(|row| row["values"][metric].as_f64())
        .with_context(|| format!("{subject} has no {metric} of `{step}`"))
}

/// 200,000 rows and their two indexes are some 50 MB.
const LIMIT_BYTES: u64 = 50_000_000;
/// The kernel charges what cannot wait beyond the limit, a few pages (one was seen).
const FORCED_BYTES: u64 = LIMIT_BYTES / 100;
const ASKED_US: f64 = 2000.0;

/// A Postgres whose table does not fit into the memory that it may have: it stays within the limit, and reads rows from a device that takes as long
/// as the plan says.
fn under_a_limit(scratch: &Scratch) -> anyhow::Result<Ending> {
    const SUBJECT: &str = "postgres@16.3";
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"limited\"\nworkloads = [\"{}\"]\nrounds = 1\nseed = 7\nsteps = [\"point\"]\nsubjects = [\"{SUBJECT}\"]\n\
             scale = {{ tables = 1, rows = 200_000, memory_mb = 24, read_seconds = 2 }}\nmemory_limit = \"{} MB\"\n\
             [loop_device]\nsize = \"1 GB\"\nslow = {{ read_latency = \"2 ms\" }}\n",
            workload.display(),
            LIMIT_BYTES / 1_000_000,
        ),
    )?;
    let mut running = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).start()?;
    let seen = watched(&mut running)?;
    let finished = running.finish(TIMEOUT)?;
    if let Some(reason) = finished.not_here()? {
        return Ok(Ending::NotHere { reason });
    }
    let report = finished.expect_code(&[0])?.json()?;
    let seen = seen.context("no control group of the run was seen")?;
    // The kernel rounds down to whole pages.
    ensure!((LIMIT_BYTES - 4095..=LIMIT_BYTES).contains(&seen.limit), "the limit is {} bytes", seen.limit);
    if let Some(peak) = seen.peak {
        ensure!(
            peak <= LIMIT_BYTES + FORCED_BYTES,
            "the server had {peak} bytes, and {LIMIT_BYTES} were its limit"
        );
        ensure!(peak > LIMIT_BYTES / 2, "the server had {peak} bytes at most: it was not in its group");
    }
    // All that was loaded would be in the page cache of the host.
    let bytes = value(&report, "point", SUBJECT, READ_BYTES)?;
    ensure!(bytes > 2048.0, "{bytes:.0} bytes read per operation on a table that does not fit into memory");
    let waited = value(&report, "point", SUBJECT, "disk_read_us_mean")?;
    ensure!(waited >= ASKED_US, "a read took {waited:.0} us on a device that was to take {ASKED_US} us");
    Ok(Ending::Passed)
}

const TIMEOUT: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(20);

/// What the kernel says of a group: its limit, and the most that was charged at any time, where it tells (version 2 from 5.19 on).
struct SeenGroup {
    limit: u64,
    peak: Option<u64>,
}

/// Watches the control group of a run until the run ends; absent if it had none.
fn watched(running: &mut Running) -> anyhow::Result<Option<SeenGroup>> {
    let (mut path, mut seen) = (None, None);
    let began = Instant::now();
    while running.is_running()? && began.elapsed() < TIMEOUT {
        if path.is_none() {
            path = run_id(&running.stderr_so_far()?).and_then(|run| group_of(Path::new(GROUPS), &run, 0));
        }
        // The group ends before the run does.
        seen = path.as_deref().and_then(look).or(seen);
        std::thread::sleep(POLL);
    }
    Ok(seen)
}

/// `run 20261127-210311-027b: 1 subjects, ..`
fn run_id(stderr: &str) -> Option<String> {
    let line = stderr.lines().find_map(|line| line.strip_prefix("run "))?;
    Some(line.split(':').next()?.to_owned())
}

const GROUPS: &str = "/sys/fs/cgroup";
/// How deep a group of ours may be: in that of a session, in that of a service.
const MOST_DEPTH: usize = 8;

/// The directory of the group that limits memory for a run, by the end of its name.
fn group_of(directory: &Path, run: &str, depth: usize) -> Option<PathBuf> {
    let below = fs::read_dir(directory).ok()?.flatten().filter(|entry| entry.path().is_dir());
    below.map(|entry| entry.path()).find_map(|path| {
        let is_it = path.to_string_lossy().ends_with(run) && look(&path).is_some();
        if is_it {
            Some(path)
        } else {
            (depth < MOST_DEPTH).then(|| group_of(&path, run, depth + 1)).flatten()
        }
    })
}

fn look(group: &Path) -> Option<SeenGroup> {
    let number = |names: [&str; 2]| {
        names.iter().find_map(|name| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok())
    };
    let limit = number(["memory.limit_in_bytes", "memory.max"])?;
    Some(SeenGroup { limit, peak: number(["memory.max_usage_in_bytes", "memory.peak"]) })
}
