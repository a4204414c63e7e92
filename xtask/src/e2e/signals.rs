//! Cases of signals at bad moments: Ctrl-C early, late and while fetching; a worker that is killed.

use super::engines::RELEASE;
use super::expect;
use super::processes::{self, Watch};
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::ensure;
use std::time::{Duration, Instant};

/// What a shell reports for SIGINT.
const INTERRUPTED: i32 = 130;
/// A run that was interrupted must have cleaned up by then.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(20);
/// Workers of more than two launches of the tiny workload: an image builder, two readers, two writers each.
const WORKERS_OF_TWO_LAUNCHES: usize = 12;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("signal interrupt at once", interrupt_at_once),
        Case::new("signal interrupt", interrupt),
        Case::new("signal interrupt while fetching", interrupt_while_fetching),
        Case::new("signal ignored hangup", ignored_hangup),
        Case::new("signal kill a worker", kill_a_worker),
    ]
}

fn interrupt_at_once(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut controller = Call::compare(scratch, [RELEASE, RELEASE], "60s").start()?;
    Watch::default().until_seen(1, &scratch.shared.binary, &mut controller)?;
    controller.press_ctrl_c()?;
    controller.finish(CLEAN_UP_TIMEOUT)?.expect_code(&[INTERRUPTED])?;
    processes::all_gone(&scratch.shared.binary)?;
    Ok(Ending::Passed)
}

/// The run is shown as interrupted and keeps what it had measured.
fn interrupt(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut controller = Call::compare(scratch, [RELEASE, RELEASE], "60s").start()?;
    Watch::default().until_seen(WORKERS_OF_TWO_LAUNCHES, &scratch.shared.binary, &mut controller)?;
    controller.press_ctrl_c()?;
    controller.finish(CLEAN_UP_TIMEOUT)?.expect_code(&[INTERRUPTED])?;
    processes::all_gone(&scratch.shared.binary)?;

    let text = Call::new(scratch, ["report", "last"]).succeeds()?.stdout;
    ensure!(text.contains("interrupted"), "the report does not say that the run was interrupted:\n{text}");
    let report = Call::new(scratch, ["report", "last", "--format", "json"]).succeeds()?.json()?;
    let done = expect::trials(&report)?.done;
    ensure!(done > 0, "the interrupted run kept no trial");
    Ok(Ending::Passed)
}

/// Maven ends with us, and nothing half-fetched stays.
fn interrupt_while_fetching(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut controller = Call::new(scratch, ["engine", "fetch", RELEASE]).own_cache().start()?;
    let leader = controller.pid();
    let began = Instant::now();
    let ours = &scratch.shared.binary;
    let clients = || -> anyhow::Result<Vec<u32>> {
        let all = processes::below_process(leader)?;
        Ok(all.into_iter().filter(|pid| !processes::runs(*pid, ours)).collect())
    };
    let maven = loop {
        let found = clients()?;
        if !found.is_empty() {
            break found;
        }
        ensure!(controller.is_running()?, "it ended before Maven was seen");
        ensure!(began.elapsed() < CLEAN_UP_TIMEOUT, "Maven was not started");
        std::thread::sleep(Duration::from_millis(5));
    };
    controller.press_ctrl_c()?;
    controller.finish(CLEAN_UP_TIMEOUT)?.expect_code(&[INTERRUPTED])?;
    let left: Vec<u32> = processes::all()?.into_iter().filter(|pid| maven.contains(pid)).collect();
    ensure!(left.is_empty(), "processes left behind: {left:?}");
    Call::new(scratch, ["engine", "fetch", RELEASE]).own_cache().succeeds()?;
    Ok(Ending::Passed)
}

/// `nohup` protects a run from a session that is lost; Ctrl-C still ends it.
fn ignored_hangup(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut controller = Call::compare(scratch, [RELEASE, RELEASE], "60s").through(["nohup"]).start()?;
    let mut watch = Watch::default();
    watch.until_seen(1, &scratch.shared.binary, &mut controller)?;
    controller.signal(libc::SIGHUP)?;
    watch.until_seen(2 * WORKERS_OF_TWO_LAUNCHES, &scratch.shared.binary, &mut controller)?;
    controller.press_ctrl_c()?;
    controller.finish(CLEAN_UP_TIMEOUT)?.expect_code(&[INTERRUPTED])?;
    processes::all_gone(&scratch.shared.binary)?;
    Ok(Ending::Passed)
}

/// Workers to kill, in different launches: one that had just given its last answer is missed by nobody.
const VICTIMS: usize = 3;

/// A worker that dies is a failed trial; the launches that follow go on.
fn kill_a_worker(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut controller = Call::compare(scratch, [RELEASE, RELEASE], "25s").start()?;
    let mut watch = Watch::default();
    for victim in 1..=VICTIMS {
        let worker =
            watch.until_seen(victim * WORKERS_OF_TWO_LAUNCHES, &scratch.shared.binary, &mut controller)?;
        processes::signal(worker, libc::SIGKILL)?;
    }
    let finished = controller.finish(Duration::from_secs(90))?;
    let code = finished.code()?;
    let report = finished.expect_code(&[0, 3])?.json()?;
    let trials = expect::trials(&report)?;
    eprintln!(
        "e2e: signal kill a worker: exit status {code}, {} trials done, {} failed",
        trials.done, trials.failed
    );
    ensure!(trials.failed > 0, "no trial failed although {VICTIMS} workers were killed");
    let launches = report["comparisons"].as_array().into_iter().flatten();
    let most = launches.filter_map(|row| row["launches"].as_u64()).max().unwrap_or(0);
    ensure!(most > 3, "the run did not go on: {most} launches");
    Ok(Ending::Passed)
}
