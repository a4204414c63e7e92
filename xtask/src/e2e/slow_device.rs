//! Cases of a device that is slow on purpose, looked at by a program that knows nothing of it: fio.

use super::awake::Awake;
use super::processes;
use super::scratch::Scratch;
use super::tool::{Call, Running};
use super::{Case, Ending};
use crate::bench::ratios::median;
use anyhow::{Context, bail, ensure};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("slow device latency", latency),
        Case::new("slow device errors", errors),
        Case::new("slow device killed", killed),
        Case::new("slow device below RocksDB", below_rocksdb),
    ]
}

/// To make a file system, to unmount one: some tenths of a second.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
/// What is asked of the device, and what a program may see of it: the way there and back takes time too.
const ASKED_US: f64 = 2000.0;
const SEEN_US: std::ops::RangeInclusive<f64> = ASKED_US..=2300.0;
/// Of three tries the one in the middle counts: other programs take the CPU for some milliseconds now and then.
const TRIES: usize = 3;

/// A `dbdyno device start`.
pub struct Device {
    running: Running,
    pub path: PathBuf,
    answers: usize,
}

impl Device {
    /// Starts one for a case that looks at it by fio.
    fn start(scratch: &Scratch, arguments: &[&str]) -> anyhow::Result<Result<Device, Ending>> {
        if let Err(error) = Command::new("fio").arg("--version").output() {
            return Ok(Err(Ending::Skipped { reason: format!("no fio: {error}") }));
        }
        let call = Call::new(scratch, ["device", "start", "--size", "400MB", "--json"]);
        let started = Device::started(call.and(arguments).own_cache())?;
        Ok(started.map_err(|reason| Ending::NotHere { reason }))
    }

    /// Starts one, which tells what it is as JSON; the reason where this host cannot have it.
    pub fn started(call: Call<'_>) -> anyhow::Result<Result<Device, String>> {
        let mut running = call.with_input().start()?;
        let began = Instant::now();
        loop {
            if let Some(line) = running.stdout_so_far()?.lines().next() {
                let told: Value = serde_json::from_str(line).context("what it printed first is no JSON")?;
                let path = told["path"].as_str().context("it does not tell its path")?.into();
                return Ok(Ok(Device { running, path, answers: 1 }));
            }
            if !running.is_running()? {
                let said = running.stderr_so_far()?;
                let missing =
                    ["needs CAP_SYS_ADMIN", "has no loop devices", "has no FUSE", "may not be opened here"];
                let reason = said.trim().to_owned();
                ensure!(missing.iter().any(|part| said.contains(part)), "there is no device: {reason}");
                return Ok(Err(reason));
            }
            ensure!(began.elapsed() < TIMEOUT, "there is no device after {} s", TIMEOUT.as_secs());
            std::thread::sleep(POLL);
        }
    }

    /// Writes a line and gives the answer.
    fn tell(&mut self, line: &str) -> anyhow::Result<String> {
        self.running.write_line(line)?;
        let began = Instant::now();
        loop {
            if let Some(answer) = self.running.stdout_so_far()?.lines().nth(self.answers) {
                self.answers += 1;
                return Ok(answer.to_owned());
            }
            ensure!(self.running.is_running()?, "it ended and did not answer `{line}`");
            ensure!(began.elapsed() < TIMEOUT, "`{line}` is not answered after {} s", TIMEOUT.as_secs());
            std::thread::sleep(POLL);
        }
    }

    pub fn does(&mut self, line: &str) -> anyhow::Result<()> {
        let answer = self.tell(line)?;
        ensure!(answer == "done", "`{line}` was answered by `{answer}`");
        Ok(())
    }

    /// The end of its input ends it, and nothing is left.
    fn end(self, scratch: &Scratch) -> anyhow::Result<()> {
        self.taken_apart()?;
        nothing_mounted(&scratch.directory)
    }

    /// The end of its input ends it.
    pub fn taken_apart(mut self) -> anyhow::Result<()> {
        self.running.end_input();
        self.running.finish(TIMEOUT)?.expect_code(&[0])?;
        nothing_mounted(&self.path)
    }
}

/// What fio says of one job on the file `data` of 64 MB: its errno, and its JSON.
fn fio(directory: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let file = directory.join("data");
    let output = Command::new("fio")
        .args(["--name=job", "--size=64m", "--bs=4k", "--direct=1", "--output-format=json"])
        .arg(format!("--filename={}", file.display()))
        .args(arguments)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // What it has to say of an error stands before.
    let json = text.find('{').map(|begin| &text[begin..]).context("fio printed no JSON")?;
    let mut report: Value = serde_json::from_str(json).context("fio's JSON")?;
    Ok(report["jobs"][0].take())
}

fn fill(directory: &Path) -> anyhow::Result<()> {
    let filled = fio(directory, &["--rw=write", "--bs=1m", "--end_fsync=1"])?;
    ensure!(filled["error"] == 0, "fio could not write its file: {filled}");
    Ok(())
}

/// The median latency of reads in the middle of [`TRIES`], in microseconds. Not the mean: where a hypervisor takes the CPU for milliseconds at a time, it is
/// that of the host, at 2,360 to 2,660 us where the median is 2,110 to 2,180.
fn seen_us(directory: &Path, depth: u32) -> anyhow::Result<f64> {
    let depth = format!("--iodepth={depth}");
    let mut medians = Vec::new();
    for _ in 0..TRIES {
        let job = fio(
            directory,
            &["--rw=randread", &depth, "--ioengine=libaio", "--time_based", "--runtime=1", "--norandommap"],
        )?;
        let of_try = job["read"]["clat_ns"]["percentile"]["50.000000"].as_f64();
        medians.push(of_try.with_context(|| format!("fio reported no latency: {job}"))? / 1000.0);
    }
    median(medians).context("no tries")
}

/// 2 ms are 2 ms, for one request and for eight that wait at the same time; also of writes. What is not slow is not.
///
/// The CPUs are kept awake: a read wakes several threads one after another, and below a hypervisor that took 0.2 to 0.9 ms of a
/// read where the CPUs slept in between. That is the host's and not the device's.
fn latency(scratch: &Scratch) -> anyhow::Result<Ending> {
    let wanted = ["--read-latency", "2ms", "--scheduler", "none"];
    let mut device = match Device::start(scratch, &wanted)? {
        Ok(device) => device,
        Err(ending) => return Ok(ending),
    };
    fill(&device.path)?;
    let awake = Awake::start()?;
    for depth in [1, 8] {
        let seen = seen_us(&device.path, depth)?;
        ensure!(SEEN_US.contains(&seen), "reads take {seen:.0} us at depth {depth}, asked for {ASKED_US} us");
    }
    device.does("read-latency none")?;
    let fast = seen_us(&device.path, 1)?;
    ensure!(fast < ASKED_US / 2.0, "reads take {fast:.0} us without latency");
    drop(awake);

    device.does("fsync-latency 20ms")?;
    let mut file = File::create(device.path.join("synced"))?;
    file.write_all(b"x")?;
    let began = Instant::now();
    file.sync_all()?;
    let took = began.elapsed();
    ensure!(took >= Duration::from_millis(20), "an fsync took {took:?}, asked for 20 ms");
    ensure!(took < Duration::from_secs(2), "an fsync took {took:?}");
    drop(file);
    let answer = device.tell("read-latency soon")?;
    ensure!(answer.contains("`soon` is not a time"), "a wrong line was answered by `{answer}`");
    device.end(scratch)?;
    Ok(Ending::Passed)
}

/// A broken device and a full one are seen by a program, and are over when they are healed.
fn errors(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut device = match Device::start(scratch, &["--file-system", "xfs"])? {
        Ok(device) => device,
        Err(ending) => return Ok(ending),
    };
    fill(&device.path)?;
    let path = device.path.clone();
    let error_of = |rw: &str| -> anyhow::Result<Value> {
        Ok(fio(&path, &[rw, "--ioengine=libaio", "--io_size=1m"])?["error"].take())
    };
    for (line, rw, errno) in [
        ("read-error eio", "--rw=randread", libc::EIO),
        ("write-error enospc next 1", "--rw=randwrite", libc::ENOSPC),
        ("write-error eio next 1", "--rw=randwrite", libc::EIO),
    ] {
        ensure!(error_of(rw)? == 0, "an error before `{line}`");
        device.does(line)?;
        let error = error_of(rw)?;
        ensure!(error == errno, "after `{line}` fio sees {error}, not {errno}");
        device.does("heal")?;
        ensure!(error_of(rw)? == 0, "an error after `{line}` was healed");
    }
    device.end(scratch)?;
    Ok(Ending::Passed)
}

/// Whatever is killed, no mount, no loop device and no process is left: at once as long as one process is left to see to it,
/// otherwise when the next begins.
fn killed(scratch: &Scratch) -> anyhow::Result<Ending> {
    for what in ["run", "supervisor", "both", "device", "all"] {
        let slow = ["--read-latency", "2ms", "--write-latency", "1ms", "--fsync-latency", "5ms"];
        let device = match Device::start(scratch, &slow)? {
            Ok(device) => device,
            Err(ending) => return Ok(ending),
        };
        // What the kernel has still to write when the device is gone.
        fs::write(device.path.join("data"), vec![7; 32 << 20])?;
        let supervisor = device.running.pid();
        let run = device.running.below_supervisor()?.context("there is no run")?;
        let below = processes::below_process(run)?;
        let [server] = below[..] else { bail!("below the run are {} processes, not one", below.len()) };
        let victims: &[u32] = match what {
            "run" => &[run],
            "supervisor" => &[supervisor],
            "both" => &[supervisor, run],
            "device" => &[server],
            _ => &[server, run, supervisor],
        };
        for victim in victims {
            processes::signal(*victim, libc::SIGKILL)?;
        }
        processes::all_gone(&scratch.shared.binary).with_context(|| format!("{what} killed"))?;
        if what == "all" {
            match Device::start(scratch, &[])? {
                Ok(next) => next.end(scratch)?,
                Err(_) => bail!("there is no device after {what} was killed"),
            }
        }
        nothing_mounted(&scratch.directory).with_context(|| format!("{what} killed"))?;
    }
    Ok(Ending::Passed)
}

/// No file system below this directory is mounted, and no loop device has a file there.
fn nothing_mounted(directory: &Path) -> anyhow::Result<()> {
    let directory = directory.to_string_lossy().into_owned();
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let mounted: Vec<&str> = mounts.lines().filter(|line| line.contains(&directory)).collect();
    ensure!(mounted.is_empty(), "still mounted: {}", mounted.join("; "));
    for device in fs::read_dir("/sys/block")?.flatten() {
        let file = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        ensure!(!file.contains(&directory), "{} still has {}", device.path().display(), file.trim());
    }
    Ok(())
}

/// A campaign on a slow device: its cold reads take what was asked for, and the report says so.
fn below_rocksdb(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plan = scratch.write(
        "plan.toml",
        "name = \"slow\"\nworkloads = [\"rocksdb.12038\"]\nrounds = 2\nseed = 7\nsubjects = [\"rocksdb@8.6.7\"]\n\
         configs = [\"readahead-96k\"]\nsteps = [\"coldcompact\"]\nscale = { keys = 50000, write_seconds = 0.5 }\n\
         [loop_device]\nsize = \"1 GB\"\nmax_sectors_kb = 128\nread_ahead_kb = 128\nscheduler = \"mq-deadline\"\n\
         slow = { read_latency = \"2 ms\" }\n",
    )?;
    let finished = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).run()?;
    if let Some(reason) = finished.not_here()? {
        return Ok(Ending::NotHere { reason });
    }
    let report = finished.expect_code(&[0])?.json()?;
    ensure!(
        report["conditions"]["loop_device"]["slow"]["read_latency_us"] == ASKED_US,
        "conditions: {}",
        report["conditions"]
    );
    let rows = report["columns"].as_array().context("columns is no array")?;
    let row = rows.iter().find(|row| row["step"] == "coldcompact").context("coldcompact was not measured")?;
    let seen = row["values"]["disk_read_us_mean"].as_f64().context("no wait of reads")?;
    ensure!(seen >= ASKED_US, "a cold read took {seen:.0} us on a device that was to take {ASKED_US} us");
    // Reads of 100 KB, of which the kernel sends some together: more than fio's, and far from a device that is slow by itself.
    ensure!(
        seen < 2.0 * ASKED_US,
        "a cold read took {seen:.0} us on a device that was to take {ASKED_US} us"
    );
    let text = Call::new(scratch, ["report", "last"]).succeeds()?.stdout;
    for part in ["scheduler mq-deadline", "slow on purpose: reads 2 ms"] {
        ensure!(text.contains(part), "the report does not say `{part}`");
    }
    nothing_mounted(&scratch.directory)?;
    Ok(Ending::Passed)
}
