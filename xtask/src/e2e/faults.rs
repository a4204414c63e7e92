//! Cases of faults: an engine that misbehaves on demand, a store that cannot be written, a run that is killed at any moment.

use super::engines::{RELEASE, library_of};
use super::fake_engine::{Fake, POLL, STEPS, SUBJECT, TIMEOUT, WORKLOAD, done, runs, sound};
use super::processes;
use super::scratch::Scratch;
use super::small_disk::{Access, SmallDisk};
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("faults crash with a long log", crash_with_a_long_log),
        Case::new("faults engine that prints", engine_that_prints),
        Case::new("faults samples while they come", samples_while_they_come),
        Case::new("faults locked store", locked_store),
        Case::new("faults full disk of the store", full_disk),
        Case::new("faults full disk of the work directory", full_work_disk),
        Case::new("faults read-only work directory", read_only_work_directory),
        Case::new("faults replaced binary", replaced_binary),
        Case::new("faults process left behind", process_left_behind),
        Case::new("faults supervisor killed at once", supervisor_killed_at_once),
        Case::new("faults several workloads", several_workloads),
        Case::new("faults killed at any moment", |scratch| killed_at_moments(scratch, 40)),
        Case::new("faults killed at a hundred moments", |scratch| killed_at_moments(scratch, 100)).nightly(),
        Case::new("faults killed on RocksDB", killed_on_rocksdb),
    ]
}

/// What the engine wrote before it crashed is kept, the end of it too, and costs no memory however long it is.
fn crash_with_a_long_log(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("log-bytes 1500000000\ncrash-at-write 150\n")?;
    let report = fake.campaign(1)?.run()?.expect_code(&[0, 3])?.json()?;
    ensure!(report["trials"]["failed"] == 1, "trials: {}", report["trials"]);
    for name in ["LOG", "stderr"] {
        let raw = fake.call(["report", "last", "--raw", &format!("1/0/write/{name}")]).succeeds()?.stdout;
        ensure!(raw.contains("was ordered to crash"), "{name} does not say why: {raw}");
        ensure!(name != "LOG" || raw.contains("left out"), "nothing says that a part of the LOG is left out");
    }
    let peak = report["cost"]["controller_peak_bytes"].as_u64().unwrap_or(0);
    ensure!((1..100 << 20).contains(&peak), "the controller took {peak} bytes for a LOG of 1.5 GB");
    Ok(Ending::Passed)
}

/// Replies stand on standard output: what an engine prints there must not stand between them.
fn engine_that_prints(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("print 1\n")?;
    let report = fake.campaign(1)?.succeeds()?.json()?;
    ensure!(done(&report) == STEPS, "trials: {}", report["trials"]);
    let raw = fake.call(["report", "last", "--raw", "1/0/write/stderr"]).succeeds()?.stdout;
    ensure!(raw.contains("was ordered to print"), "what it printed is not kept: {raw}");
    Ok(Ending::Passed)
}

/// A step's seconds and the host's samples are in the store while it runs, and others may write between them.
fn samples_while_they_come(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("slow-write 40000\n")?; // each step takes four seconds
    let mut run = fake.campaign(1)?.start()?;
    fake.until_rows("seconds", 2, &mut run)?;
    let (seconds, samples) = (fake.count("seconds")?, fake.count("host_samples")?);
    ensure!(samples >= seconds, "{samples} samples of the host beside {seconds} seconds of the step");
    ensure!(fake.count("blocks")? == 0, "the step has ended before it was looked at");
    let other = fake.other_program()?;
    for _ in 0..20 {
        other.execute_batch("BEGIN IMMEDIATE; COMMIT").context("the store is locked while a step runs")?;
        std::thread::sleep(Duration::from_millis(50));
    }
    ensure!(run.is_running()?, "the step has ended before it was looked at");
    let finished = run.finish(TIMEOUT)?.expect_code(&[0])?;
    ensure!(done(&finished.json()?) == STEPS, "trials: {}", finished.json()?["trials"]);
    Ok(Ending::Passed)
}

/// A backup by another program that takes eight seconds ends no run, and loses nothing.
fn locked_store(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("slow-write 10000\n")?;
    let mut run = fake.campaign(2)?.start()?;
    fake.until_rows("host_samples", 1, &mut run)?;
    let other = fake.other_program()?;
    other.execute_batch("BEGIN IMMEDIATE")?;
    std::thread::sleep(Duration::from_secs(8));
    other.execute_batch("COMMIT")?;
    let finished = run.finish(TIMEOUT)?.expect_code(&[0])?;
    let finished = finished.expect_stderr(&["is locked by another process", "can be written again"])?;
    ensure!(done(&finished.json()?) == 2 * STEPS, "trials: {}", finished.json()?["trials"]);
    Ok(Ending::Passed)
}

/// A store on a disk that fills up is waited for until there is room.
fn full_disk(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    let disk = scratch.data();
    on_a_small_disk(&disk, |disk| on_a_full_disk(&fake, disk))
}

/// With a file system of 4 MiB mounted in the place of this directory. It is unmounted whatever became of the case.
fn on_a_small_disk(
    disk: &Path,
    case: impl FnOnce(&SmallDisk) -> anyhow::Result<Ending>,
) -> anyhow::Result<Ending> {
    let Some(mounted) = SmallDisk::mount(disk, "4m")? else {
        return Ok(Ending::NotHere { reason: "no file system of its own can be mounted".to_owned() });
    };
    let ended = case(&mounted);
    mounted.unmount()?;
    ended
}

fn on_a_full_disk(fake: &Fake<'_>, disk: &SmallDisk) -> anyhow::Result<Ending> {
    // Each visit stores a LOG: the log of the store cannot stay within the room that it has.
    fake.order("slow-write 5000\nlog-bytes 300000\n")?;
    let mut run = fake.campaign(8)?.start()?;
    fake.until_rows("host_samples", 1, &mut run)?;
    disk.fill();
    let began = Instant::now();
    while !run.stderr_so_far()?.contains("is full") {
        ensure!(run.is_running()?, "the run ended: {}", run.stderr_so_far()?);
        ensure!(began.elapsed() < TIMEOUT, "nothing was said of a full disk");
        std::thread::sleep(POLL);
    }
    disk.make_room()?;
    let finished = run.finish(TIMEOUT)?.expect_code(&[0])?.expect_stderr(&["can be written again"])?;
    ensure!(done(&finished.json()?) == 8 * STEPS, "trials: {}", finished.json()?["trials"]);
    Ok(Ending::Passed)
}

/// The fake engine in a work directory of its own: a build that was added is known to its work directory only.
fn prepare(fake: &Fake<'_>, work_dir: &Path) -> anyhow::Result<()> {
    let add = fake.call(["engine", "add", "fake"]).and([fake.scratch.path("librocksdb.so")]);
    add.and([Path::new("--work-dir"), work_dir]).succeeds()?;
    fake.order("slow-write 5000\n")
}

/// A run whose work directory is on a disk that fills up ends with what it had measured, says which directory is full, and goes on
/// where there is room again.
fn full_work_disk(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    let disk = scratch.path("work");
    let work_dir = disk.join("dbdyno");
    on_a_small_disk(&disk, |_| {
        prepare(&fake, &work_dir)?;
        let run = fake.campaign(4)?.and([Path::new("--work-dir"), &work_dir]);
        let mut run = run.start()?;
        fake.until_rows("trials", STEPS, &mut run)?;
        // Read when a worker loads the engine: the next visit writes 20 MB.
        fake.order("data-bytes 100000\n")?;
        let full = format!("its disk is full: free space on the file system of `{}", disk.display());
        let ended =
            run.finish(TIMEOUT)?.expect_code(&[3])?.expect_stderr(&["No space left on device", &full])?;
        // What cannot be measured of the host in this place was said, and did not keep the run from beginning.
        let ended = ended.expect_stderr(&["measuring the host", "the device is not measured: of `"])?;
        let report = ended.json()?;
        ensure!(report["trials"]["failed"] == 1, "trials: {}", report["trials"]);
        ensure!((STEPS..4 * STEPS).contains(&done(&report)), "trials: {}", report["trials"]);
        let left =
            fs::read_dir(work_dir.join("runs"))?.flatten().filter(|entry| entry.path().is_dir()).count();
        ensure!(left == 0, "{left} directories of runs are left on the full disk");
        fake.order("")?;
        let again = fake.call(["run", "--resume", "last", "--work-dir"]).and([&work_dir]);
        again.succeeds()?;
        let report = fake.call(["report", "last", "--format", "json"]).succeeds()?.json()?;
        ensure!(done(&report) == 4 * STEPS, "trials: {}", report["trials"]);
        Ok(Ending::Passed)
    })
}

/// Where nothing can be written a run does not begin, and is what it was; it goes on as soon as something can.
fn read_only_work_directory(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    let disk = scratch.path("work");
    let work_dir = disk.join("dbdyno");
    on_a_small_disk(&disk, |disk| {
        prepare(&fake, &work_dir)?;
        let mut run = fake.campaign(3)?.and([Path::new("--work-dir"), &work_dir]).start()?;
        fake.until_rows("trials", STEPS, &mut run)?;
        run.press_ctrl_c()?;
        run.finish(TIMEOUT)?.expect_code(&[130])?;
        let trials = fake.count("trials")?;
        let resume = || fake.call(["run", "--resume", "last", "--work-dir"]).and([&work_dir]);
        disk.set_access(Access::ReadOnly)?;
        resume().fails(&[3], &["Read-only file system", &work_dir.display().to_string()])?;
        ensure!(fake.count("trials")? == trials, "something was stored although nothing was measured");
        disk.set_access(Access::ReadWrite)?;
        resume().succeeds()?;
        let report = fake.call(["report", "last", "--format", "json"]).succeeds()?.json()?;
        ensure!(done(&report) == 3 * STEPS, "trials: {}", report["trials"]);
        Ok(Ending::Passed)
    })
}

/// Workers come from the file that the run began with, whatever is done to its name.
fn replaced_binary(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("slow-write 5000\n")?;
    let binary = scratch.path("dbdyno");
    fs::copy(&scratch.shared.binary, &binary)?;
    let mut run = fake.campaign(3)?.binary(&binary).start()?;
    fake.until_rows("trials", 1, &mut run)?;
    fs::remove_file(&binary)?;
    fs::copy("/bin/false", &binary)?;
    let report = run.finish(TIMEOUT)?.expect_code(&[0])?.json()?;
    ensure!(done(&report) == 3 * STEPS, "trials: {}", report["trials"]);
    Ok(Ending::Passed)
}

/// What an engine leaves behind in a session of its own is ended with its visit, and with the run if that is killed.
fn process_left_behind(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("fork 1\n")?;
    let mut run = fake.campaign(20)?.start()?;
    let mut most = 0;
    while run.is_running()? {
        most = most.max(processes::alive(&scratch.shared.binary)?.len());
    }
    run.finish(TIMEOUT)?.expect_code(&[0])?;
    // The supervisor, the run, a worker, and what it has left behind: two while one of them is about to end.
    ensure!(most <= 6, "{most} processes at once: what a visit leaves behind is there in the next");
    fake.order("fork 1\nslow-write 10000\n")?;
    for supervisor in [true, false] {
        let mut run = fake.campaign(2)?.start()?;
        let before = fake.count("trials")?;
        fake.until_rows("trials", before + 1, &mut run)?;
        run.kill(supervisor)?;
        processes::all_gone(&scratch.shared.binary)?;
    }
    Ok(Ending::Passed)
}

/// A run whose supervisor is gone before it looks does not begin again as a supervisor of its own, which nobody would know of.
fn supervisor_killed_at_once(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    // The first process, which is not our parent.
    let gone = fake.campaign(1)?.variable("DBDYNO_SUPERVISOR", "1").run()?;
    ensure!(gone.code()? == 128 + libc::SIGKILL, "it ended with {}: {}", gone.code()?, gone.stderr);
    ensure!(!scratch.data().join("dbdyno/dbdyno.sqlite").exists(), "it began");
    Ok(Ending::Passed)
}

/// A campaign that is killed in its first workload goes on to the second.
fn several_workloads(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("slow-write 5000\n")?;
    let more = scratch.write("more.toml", &WORKLOAD.replace("name = \"fake\"", "name = \"more\""))?;
    let mut run = fake.campaign_of(&[&scratch.path("fake.toml"), &more], &[SUBJECT], 1)?.start()?;
    fake.until_rows("blocks", 1, &mut run)?;
    run.kill(true)?;
    processes::all_gone(&scratch.shared.binary)?;
    fake.order("")?;
    fake.call(["run", "--resume", "last"]).succeeds()?;
    for name in ["faults/fake", "faults/more"] {
        let report = fake.call(["report", name, "--format", "json"]).succeeds()?.json()?;
        ensure!(done(&report) == STEPS, "{name}: {}", report["trials"]);
    }
    fake.call(["run", "--resume", "last"]).fails(&[2], &["is done"])?;
    Ok(Ending::Passed)
}

/// On the fake engine.
fn killed_at_moments(scratch: &Scratch, moments: u32) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("slow-write 100\n")?;
    killed(&fake, moments, 4 * STEPS, || fake.campaign(4))
}

/// Ten moments on RocksDB.
fn killed_on_rocksdb(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.call(["engine", "add", "real"]).and([library_of(scratch, RELEASE)?]).succeeds()?;
    let steps = fs::read_to_string(&scratch.workload)?.matches("[[step]]").count() as u64;
    killed(&fake, 10, 2 * steps, || fake.campaign_of(&[&scratch.workload], &["rocksdb@real"], 2))
}

/// A run that is killed at any moment goes on to the same trials as one that was not; nothing of it is left behind, and the store is
/// sound.
fn killed<'a>(
    fake: &Fake<'a>,
    kills: u32,
    trials: u64,
    campaign: impl Fn() -> anyhow::Result<Call<'a>>,
) -> anyhow::Result<Ending> {
    let scratch = fake.scratch;
    let began = Instant::now();
    campaign()?.succeeds()?;
    let whole = began.elapsed();
    let mut cut_off = 0;
    for kill in 0..kills {
        let known = runs(&fake.store())?;
        let mut run = campaign()?.start()?;
        // From the beginning to the end of a run, in steps that fall on no rhythm of its own.
        std::thread::sleep(whole.mul_f64(f64::from(kill * 37 % kills) / f64::from(kills)));
        run.kill(kill % 2 == 0)?;
        processes::all_gone(&scratch.shared.binary).with_context(|| format!("kill {kill}"))?;
        let new: Vec<String> = runs(&fake.store())?.difference(&known).cloned().collect();
        let Some(id) = new.first() else { continue }; // it had not begun
        sound(&fake.store())?;
        let resumed = fake.call(["run", "--resume", id, "--json"]).run()?.expect_code(&[0, 2])?;
        cut_off += u32::from(resumed.code()? == 0);
        let report = fake.call(["report", id, "--format", "json"]).succeeds()?.json()?;
        ensure!(done(&report) == trials, "kill {kill}: {} instead of {trials} trials done", report["trials"]);
    }
    sound(&fake.store())?;
    eprintln!("e2e: {cut_off} of {kills} runs of {:.2} s were cut off and went on", whole.as_secs_f64());
    ensure!(cut_off >= kills / 3, "only {cut_off} of {kills} runs were cut off");
    Ok(Ending::Passed)
}
