//! How each kind of fault is made, and what must become of it at once. What must hold after each of them is looked at by `super`.

use super::chain::{Chain, NORMAL, Waited};
use super::draws::Draws;
use super::kinds::Kind;
use crate::e2e::processes;
use crate::e2e::slow_device::Device;
use crate::e2e::small_disk::{Access, SmallDisk};
use crate::e2e::tool::{Call, Running};
use anyhow::{Context, ensure};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// What became of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Became {
    /// The run went on, and measured more.
    WentOn,
    /// The run ended in order.
    Ended,
    /// All of the run died.
    Killed,
    /// Nothing was measured while it lasted, with a message that says why.
    Refused,
    /// The campaign was done before it could happen.
    Missed,
}

/// What faults are made with.
pub struct Stage<'a> {
    pub chain: Chain<'a>,
    /// Where the store is; none where no file system can be mounted.
    pub store_disk: Option<SmallDisk>,
    /// Where the work directory is.
    pub work_disk: Option<SmallDisk>,
    /// The fake engine's library as it was made.
    pub library: Vec<u8>,
}

/// A run that is asked to end has ended by then. Unmounting, syncing and a side that is stopped may take ten seconds.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// An engine is waited for twice as long to end, but not after Ctrl-C.
const HANG_TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);
/// What shells report for SIGINT.
const INTERRUPTED: i32 = 130;
/// From the start of a process to the middle of what it measures.
const MOMENTS_MS: std::ops::Range<u64> = 0..2500;
/// Writes of a turn.
const WRITES: u64 = 200;
/// More than the limit of the plan ([`super::MEMORY_LIMIT`]).
const TOO_MUCH_MEMORY: &str = "memory-bytes 300000000\n";

pub fn make(kind: Kind, stage: &mut Stage<'_>, draws: &mut Draws) -> anyhow::Result<Became> {
    let chain = &mut stage.chain;
    match kind {
        Kind::EngineCrash => engine_crash(chain, draws),
        Kind::EngineHang => {
            until_a_trial_fails(chain, &format!("hang-at-write {}\n", 1 + draws.below(WRITES)))
        }
        Kind::OutOfMemory => out_of_memory(chain),
        Kind::HangAtExit => hang_at_exit(chain),
        Kind::ProcessLeftBehind => process_left_behind(chain, draws),
        Kind::WorkerKilled => worker_killed(chain),
        Kind::WorkerStopped => worker_stopped(chain, draws),
        Kind::RunKilled => killed(chain, draws, &[Whom::Run]),
        Kind::SupervisorKilled => killed(chain, draws, &[Whom::Supervisor]),
        Kind::BothKilled => killed(chain, draws, &[Whom::Supervisor, Whom::Run]),
        Kind::Terminated => asked_to_end(chain, draws, |run| run.signal(libc::SIGTERM)),
        Kind::HungUp => asked_to_end(chain, draws, |run| run.signal(libc::SIGHUP)),
        Kind::CtrlC => asked_to_end(chain, draws, Running::press_ctrl_c),
        Kind::CtrlCTwice => {
            let between = draws.millis(0..600);
            asked_to_end(chain, draws, |run| {
                run.press_ctrl_c()?;
                std::thread::sleep(between);
                run.press_ctrl_c()
            })
        }
        Kind::StoreLocked => store_locked(chain, draws),
        Kind::StoreDiskFull => store_disk_full(chain, disk(stage.store_disk.as_ref())?),
        Kind::WorkDiskFull => work_disk_full(chain, disk(stage.work_disk.as_ref())?),
        Kind::StoreReadOnly => read_only(chain, disk(stage.store_disk.as_ref())?, "dbdyno.sqlite"),
        Kind::WorkReadOnly => read_only(chain, disk(stage.work_disk.as_ref())?, "Read-only file system"),
        Kind::DeviceErrors => device_errors(chain),
        Kind::BinaryReplaced => binary_replaced(chain, draws),
        Kind::LibraryReplaced => library_replaced(chain, draws, &stage.library),
        Kind::LibraryRebuilt => library_rebuilt(chain, &stage.library),
    }
}

fn disk(disk: Option<&SmallDisk>) -> anyhow::Result<&SmallDisk> {
    disk.context("there is no disk of its own")
}

/// The engine does so until a trial has failed.
fn until_a_trial_fails(chain: &mut Chain<'_>, order: &str) -> anyhow::Result<Became> {
    chain.measuring()?;
    let before = chain.failed_trials();
    chain.fake.order(&format!("{NORMAL}{order}"))?;
    let waited = chain.until("fail a trial", |chain| Ok(chain.failed_trials() > before));
    chain.fake.order(NORMAL)?;
    went_on(chain, waited?)
}

/// The run goes on after it; unless its campaign is done.
fn went_on(chain: &mut Chain<'_>, waited: Waited) -> anyhow::Result<Became> {
    match waited {
        Waited::Done => Ok(Became::WentOn),
        Waited::RunEnded => {
            chain.campaign_ended()?;
            Ok(Became::Missed)
        }
    }
}

/// The run ends another trial after it.
fn goes_on(chain: &mut Chain<'_>) -> anyhow::Result<Became> {
    let waited = chain.until_a_trial_ends()?;
    if waited == Waited::RunEnded {
        // It did go on, to the end of the campaign.
        chain.campaign_ended()?;
    }
    Ok(Became::WentOn)
}

fn engine_crash(chain: &mut Chain<'_>, draws: &mut Draws) -> anyhow::Result<Became> {
    let became = until_a_trial_fails(chain, &format!("crash-at-write {}\n", 1 + draws.below(WRITES)))?;
    if became == Became::WentOn {
        let reason = chain.last_reason()?;
        // Another one may have been, in the same run.
        ensure!(!reason.contains("for memory"), "it was not killed for memory: {reason}");
    }
    Ok(became)
}

fn out_of_memory(chain: &mut Chain<'_>) -> anyhow::Result<Became> {
    let became = until_a_trial_fails(chain, TOO_MUCH_MEMORY)?;
    if became == Became::WentOn {
        let reason = chain.last_reason()?;
        ensure!(reason.contains("killed it for memory"), "a trial failed for another reason: {reason}");
    }
    Ok(became)
}

/// Ctrl-C ends the wait for an engine that does not end.
fn hang_at_exit(chain: &mut Chain<'_>) -> anyhow::Result<Became> {
    chain.measuring()?;
    chain.fake.order(&format!("{NORMAL}hang-at-exit 1\n"))?;
    std::thread::sleep(Duration::from_millis(1200));
    let asked = Instant::now();
    let ended = stop(chain, Running::press_ctrl_c);
    chain.fake.order(NORMAL)?;
    ended?;
    ensure!(asked.elapsed() < HANG_TIMEOUT, "it waited for an engine that hangs, also after Ctrl-C");
    ended_in_order(chain)
}

/// What an engine leaves behind in a session of its own is gone with the run, however that ends.
fn process_left_behind(chain: &mut Chain<'_>, draws: &mut Draws) -> anyhow::Result<Became> {
    chain.measuring()?;
    chain.fake.order(&format!("{NORMAL}fork 1\n"))?;
    std::thread::sleep(draws.millis(300..1200));
    chain.fake.order(NORMAL)?;
    match draws.below(3) {
        0 => goes_on(chain),
        1 => kill(chain, &[Whom::Run]),
        _ => kill(chain, &[Whom::Supervisor]),
    }
}

fn worker(chain: &mut Chain<'_>) -> anyhow::Result<Option<u32>> {
    let binary = chain.binary().to_owned();
    let mut found = None;
    chain.until("start a worker", |_| {
        found = processes::workers(&binary)?.first().copied();
        Ok(found.is_some())
    })?;
    Ok(found)
}

fn worker_killed(chain: &mut Chain<'_>) -> anyhow::Result<Became> {
    chain.measuring()?;
    if let Some(worker) = worker(chain)? {
        processes::signal(worker, libc::SIGKILL)?;
    }
    goes_on(chain)
}

/// It is let go on, killed, or waited for by nobody any more.
fn worker_stopped(chain: &mut Chain<'_>, draws: &mut Draws) -> anyhow::Result<Became> {
    chain.measuring()?;
    let Some(worker) = worker(chain)? else { return goes_on(chain) };
    processes::signal(worker, libc::SIGSTOP)?;
    std::thread::sleep(draws.millis(300..1500));
    match draws.below(3) {
        0 => processes::signal(worker, libc::SIGCONT)?,
        1 => processes::signal(worker, libc::SIGKILL)?,
        _ => {
            stop(chain, Running::press_ctrl_c)?;
            return ended_in_order(chain);
        }
    }
    goes_on(chain)
}

/// Who is killed.
#[derive(Debug, Clone, Copy)]
enum Whom {
    Run,
    Supervisor,
}

/// At a moment from the start of its process on.
fn killed(chain: &mut Chain<'_>, draws: &mut Draws, whom: &[Whom]) -> anyhow::Result<Became> {
    chain.going()?;
    std::thread::sleep(draws.millis(MOMENTS_MS));
    kill(chain, whom)
}

fn kill(chain: &mut Chain<'_>, whom: &[Whom]) -> anyhow::Result<Became> {
    if !chain.is_running()? {
        chain.campaign_ended()?;
        return Ok(Became::Missed);
    }
    let run = chain.run()?;
    let supervisor = run.pid();
    // Before the run was started there is only one to kill.
    let below = run.below_supervisor()?.unwrap_or(supervisor);
    for one in whom {
        let process = match one {
            Whom::Run => below,
            Whom::Supervisor => supervisor,
        };
        processes::signal(process, libc::SIGKILL)?;
    }
    chain.until_ended(END_TIMEOUT)?;
    chain.was_killed()?;
    Ok(Became::Killed)
}

/// At a moment from the start of its process on.
fn asked_to_end(
    chain: &mut Chain<'_>,
    draws: &mut Draws,
    ask: impl Fn(&Running) -> anyhow::Result<()>,
) -> anyhow::Result<Became> {
    chain.going()?;
    std::thread::sleep(draws.millis(MOMENTS_MS));
    stop(chain, ask)?;
    ended_in_order(chain)
}

/// Asks the run to end, and waits until it has.
fn stop(chain: &mut Chain<'_>, ask: impl Fn(&Running) -> anyhow::Result<()>) -> anyhow::Result<()> {
    if chain.is_running()? {
        ask(chain.run()?)?;
    }
    chain.until_ended(END_TIMEOUT)
}

/// Of a run that was asked to end.
fn ended_in_order(chain: &mut Chain<'_>) -> anyhow::Result<Became> {
    let finished = chain.take_end()?;
    if let Some(signal) = finished.signal() {
        // It had not begun to listen.
        ensure!([libc::SIGINT, libc::SIGTERM, libc::SIGHUP].contains(&signal), "signal {signal} ended it");
        return Ok(Became::Ended);
    }
    let code = finished.code()?;
    let by_signal = [INTERRUPTED, 128 + libc::SIGTERM, 128 + libc::SIGHUP];
    if !chain.has_campaign() && !by_signal.contains(&code) {
        finished.expect_code(&[0, 3])?;
        return Ok(Became::Missed);
    }
    finished.expect_code(&by_signal)?;
    Ok(Became::Ended)
}

/// A backup by another program.
fn store_locked(chain: &mut Chain<'_>, draws: &mut Draws) -> anyhow::Result<Became> {
    chain.measuring()?;
    let other = chain.fake.other_program()?;
    other.execute_batch("BEGIN IMMEDIATE")?;
    std::thread::sleep(draws.millis(500..4000));
    other.execute_batch("COMMIT")?;
    drop(other);
    goes_on(chain)
}

/// It is waited for until there is room.
fn store_disk_full(chain: &mut Chain<'_>, disk: &SmallDisk) -> anyhow::Result<Became> {
    chain.measuring()?;
    let (full, again) = ("is full", "can be written again");
    let before = (times_said(chain, full)?, times_said(chain, again)?);
    // Each turn stores a LOG: the log of the store cannot stay within the room that it has.
    chain.fake.order(&format!("{NORMAL}log-bytes 300000\n"))?;
    disk.fill();
    let noticed =
        chain.until("notice that the disk is full", |chain| Ok(times_said(chain, full)? > before.0));
    disk.make_room()?;
    chain.fake.order(NORMAL)?;
    if noticed? == Waited::Done
        && chain.until("write again", |chain| Ok(times_said(chain, again)? > before.1))? == Waited::Done
    {
        return goes_on(chain);
    }
    // The campaign may have come to its end, whose last words had no room.
    chain.take_end()?.expect_code(&[0, 3])?;
    Ok(Became::Ended)
}

fn times_said(chain: &mut Chain<'_>, words: &str) -> anyhow::Result<usize> {
    Ok(chain.run()?.stderr_so_far()?.matches(words).count())
}

/// The run ends with what it had, and says which directory is full.
fn work_disk_full(chain: &mut Chain<'_>, disk: &SmallDisk) -> anyhow::Result<Became> {
    chain.measuring()?;
    chain.fake.order(&format!("{NORMAL}data-bytes 50000\n"))?;
    let began = Instant::now();
    // Again and again: what an engine has written goes with its turn.
    while chain.is_running()? && began.elapsed() < END_TIMEOUT {
        disk.fill();
        std::thread::sleep(POLL);
    }
    let ended = chain.until_ended(END_TIMEOUT);
    disk.make_room()?;
    chain.fake.order(NORMAL)?;
    ended?;
    let finished = chain.take_end()?.expect_code(&[0, 3])?;
    if chain.has_campaign() {
        finished.expect_code(&[3])?.expect_stderr(&["its disk is full"])?;
    }
    Ok(Became::Ended)
}

/// Stops the run that is going; whether its campaign has more to measure.
fn stopped(chain: &mut Chain<'_>) -> anyhow::Result<bool> {
    chain.measuring()?;
    stop(chain, Running::press_ctrl_c)?;
    ended_in_order(chain)?;
    Ok(chain.has_campaign())
}

/// Where nothing can be written, nothing goes on.
fn read_only(chain: &mut Chain<'_>, disk: &SmallDisk, words: &str) -> anyhow::Result<Became> {
    if !stopped(chain)? {
        return Ok(Became::Missed);
    }
    disk.set_access(Access::ReadOnly)?;
    let refused = chain.resume().run();
    disk.set_access(Access::ReadWrite)?;
    refused?.expect_code(&[2, 3])?.expect_stderr(&[words])?;
    Ok(Became::Refused)
}

/// The work directory is on a device that returns EIO for what is written.
fn device_errors(chain: &mut Chain<'_>) -> anyhow::Result<Became> {
    if !stopped(chain)? {
        return Ok(Became::Missed);
    }
    let mut device = device(chain)?.map_err(|reason| anyhow::anyhow!("there is no device: {reason}"))?;
    chain.fake.order(&format!("{NORMAL}data-bytes 4096\nsync 1\n"))?;
    chain.begin(chain.resume().cache(&device.path))?;
    let mut waited = chain.until_a_trial_ends()?;
    if waited == Waited::Done {
        let before = chain.failed_trials();
        device.does("write-error eio")?;
        waited = chain.until("see an error", |chain| Ok(chain.failed_trials() > before))?;
        device.does("heal")?;
    }
    chain.fake.order(NORMAL)?;
    stop(chain, Running::press_ctrl_c)?;
    device.taken_apart()?;
    // Its file system may have become read-only, which ends a run.
    let finished = chain.take_end()?.expect_code(&[0, 3, INTERRUPTED])?;
    ensure!(
        waited == Waited::Done || finished.code()? != INTERRUPTED,
        "it ended before an error was seen; it said: {}",
        finished.stderr
    );
    Ok(Became::Ended)
}

/// A device that is slow on purpose, with errors on demand; the reason where there is none.
pub fn device(chain: &Chain<'_>) -> anyhow::Result<Result<Device, String>> {
    Device::started(Call::new(chain.fake.scratch, ["device", "start", "--size", "400MB", "--json"]))
}

/// Workers come from the file that the run began with, whatever its name leads to.
fn binary_replaced(chain: &mut Chain<'_>, draws: &mut Draws) -> anyhow::Result<Became> {
    chain.measuring()?;
    let binary = chain.binary().to_owned();
    let aside = binary.with_extension("aside");
    fs::rename(&binary, &aside).context("failed to rename the binary")?;
    let put = fs::copy("/bin/false", &binary).context("failed to put another program in its place");
    std::thread::sleep(draws.millis(200..1000));
    fs::rename(&aside, &binary).context("failed to put the binary back")?;
    put?;
    goes_on(chain)
}

/// The run has a copy.
fn library_replaced(chain: &mut Chain<'_>, draws: &mut Draws, library: &[u8]) -> anyhow::Result<Became> {
    chain.measuring()?;
    let path = chain.fake.scratch.path("librocksdb.so");
    write_anew(&path, b"no library")?;
    std::thread::sleep(draws.millis(200..1000));
    write_anew(&path, library)?;
    goes_on(chain)
}

/// What was planned is what is measured.
fn library_rebuilt(chain: &mut Chain<'_>, library: &[u8]) -> anyhow::Result<Became> {
    if !stopped(chain)? {
        return Ok(Became::Missed);
    }
    let path = chain.fake.scratch.path("librocksdb.so");
    // What follows the sections of a library changes nothing but its checksum.
    write_anew(&path, &[library, b"rebuilt"].concat())?;
    let refused = chain.resume().run();
    write_anew(&path, library)?;
    refused?.expect_code(&[2])?.expect_stderr(&["no longer the file that was planned", "SHA-256"])?;
    Ok(Became::Refused)
}

fn write_anew(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes).with_context(|| format!("failed to write `{}`", new.display()))?;
    fs::rename(&new, path).with_context(|| format!("failed to replace `{}`", path.display()))
}
