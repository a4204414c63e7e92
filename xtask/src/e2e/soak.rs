//! Cases of long campaigns on the fake engine: what the run's own process takes must not grow with what it has measured, and
//! storing must cost next to nothing while a step runs.

use super::fake_engine::{Fake, STEPS, TIMEOUT, done};
use super::processes::{self, Resources};
use super::scratch::Scratch;
use super::tool::Running;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};

/// Trials of the nightly campaign, and of the one on every change.
const MANY: u64 = 10_000;
const SOME: u64 = 200;
/// What the process takes after this many trials is what it may take at the end.
const MANY_BEGIN: u64 = 500;
const SOME_BEGIN: u64 = 60;
/// Names of the fake engine: a plan has at most 1000 rounds.
const NAMES: [&str; 5] = ["soak-1", "soak-2", "soak-3", "soak-4", "soak-5"];
/// The longest that 10,000 trials may take: about three times what they took on 2 cores that others kept busy too.
const LONGEST: Duration = Duration::from_secs(40 * 60);
/// SQLite keeps 2 MB of pages for each connection, and an allocator some of what was freed.
const MOST_GROWTH_BYTES: u64 = 8 << 20;
/// Often enough that a window of the shorter campaign has readings between two visits, when no worker is there: that lasts some
/// milliseconds.
const INTERVAL: Duration = Duration::from_millis(2);
/// Readings between two looks at the store, which take longer.
const READINGS: u32 = 20;

/// Share of a core that the run's process may take while a step runs, with the sampler on and all of it stored.
const MOST_OF_A_CORE_PERCENT: f64 = 0.5;
/// A step of the fake engine is 100 writes.
const STEP: Duration = Duration::from_secs(60);
const STEP_ORDERS: &str = "slow-write 600000\n";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("soak memory and descriptors", |scratch| stays_flat(scratch, SOME, SOME_BEGIN)),
        Case::new("soak memory and descriptors over 10,000 trials", |scratch| {
            stays_flat(scratch, MANY, MANY_BEGIN)
        })
        .nightly(),
        Case::new("soak cost of storing while a step runs", cost_of_storing).nightly(),
    ]
}

/// What the run's process took at a moment.
struct Reading {
    trials: u64,
    resources: Resources,
}

/// Memory, descriptors and threads of a run after many trials are those after the first ones.
fn stays_flat(scratch: &Scratch, trials: u64, begin: u64) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("")?;
    for name in NAMES {
        fake.call(["engine", "add", name]).and([scratch.path("librocksdb.so")]).succeeds()?;
    }
    let subjects = NAMES.map(|name| format!("rocksdb@{name}"));
    let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
    let rounds = u32::try_from(trials / STEPS / NAMES.len() as u64)?;
    let mut run = fake.campaign_of(&[&scratch.path("fake.toml")], &subjects, rounds)?.start()?;
    fake.until_rows("trials", 1, &mut run)?;
    let began = Instant::now();
    let process = run_below(&run)?;
    let mut readings = Vec::new();
    while run.is_running()? {
        let ended = fake.count("trials")?;
        // The report of the whole run is made after its last trial: that takes memory, and none of it is the run's.
        if ended >= trials {
            break;
        }
        for _ in 0..READINGS {
            if let Some(resources) = processes::resources(process) {
                readings.push(Reading { trials: ended, resources });
            }
            std::thread::sleep(INTERVAL);
        }
        ensure!(began.elapsed() < LONGEST, "{ended} of {trials} trials in {} s", LONGEST.as_secs());
    }
    let took = began.elapsed();
    let of = |these: &dyn Fn(u64) -> bool| {
        let readings = readings.iter().filter(|reading| these(reading.trials));
        Window::of(readings.map(|reading| &reading.resources))
    };
    let first = of(&|ended| ended <= begin)?;
    let last = of(&|ended| ended >= trials - begin)?;
    eprintln!(
        "e2e: {trials} trials in {:.0} s; up to trial {begin}: {first}; in the last {begin}: {last}",
        took.as_secs_f64()
    );
    // The report of a thousand rounds takes minutes.
    let report = run.finish(LONGEST)?.expect_code(&[0])?.json()?;
    ensure!(done(&report) == trials, "trials: {}", report["trials"]);
    last.is_like(&first)?;
    Ok(Ending::Passed)
}

/// What a run took over some of its trials. Of descriptors and threads the least: that is between two visits, as a worker has
/// some of its own.
pub struct Window {
    readings: usize,
    most_resident: u64,
    least_descriptors: usize,
    least_threads: u64,
}

impl Window {
    pub fn of<'a>(readings: impl Iterator<Item = &'a Resources> + Clone) -> anyhow::Result<Window> {
        let taken = || readings.clone();
        let none = "nothing was read";
        Ok(Window {
            readings: taken().count(),
            most_resident: taken().map(|one| one.resident_bytes).max().context(none)?,
            least_descriptors: taken().map(|one| one.descriptors).min().context(none)?,
            least_threads: taken().map(|one| one.threads).min().context(none)?,
        })
    }

    /// An error if it took more than in this earlier one.
    pub fn is_like(&self, first: &Window) -> anyhow::Result<()> {
        let grown = self.most_resident.saturating_sub(first.most_resident);
        ensure!(
            grown <= MOST_GROWTH_BYTES,
            "resident memory grew by {grown} bytes, more than {MOST_GROWTH_BYTES}"
        );
        let (before, now) = (first.least_descriptors, self.least_descriptors);
        ensure!(now == before, "{before} descriptors became {now}");
        let (before, now) = (first.least_threads, self.least_threads);
        ensure!(now == before, "{before} threads became {now}");
        Ok(())
    }
}

impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.1} MB resident, {} descriptors, {} threads ({} readings)",
            self.most_resident as f64 / 1e6,
            self.least_descriptors,
            self.least_threads,
            self.readings
        )
    }
}

/// CPU of the run's process, sampler and store included, over nearly all of a step of a minute.
fn cost_of_storing(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order(STEP_ORDERS)?;
    let mut run = fake.campaign(1)?.start()?;
    fake.until_rows("seconds", 1, &mut run)?;
    let process = run_below(&run)?;
    let cpu = || processes::cpu(process).context("the run has ended before it was looked at");
    let (began, before) = (Instant::now(), cpu()?);
    std::thread::sleep(STEP - Duration::from_secs(6));
    let (wall, spent) = (began.elapsed(), cpu()? - before);
    let seconds = fake.count("seconds")?;
    ensure!(fake.count("blocks")? == 0, "the step has ended before it was looked at");
    ensure!(seconds > STEP.as_secs() / 2, "only {seconds} seconds of the step are in the store");
    let percent = 100.0 * spent.as_secs_f64() / wall.as_secs_f64();
    eprintln!(
        "e2e: {:.2} s of CPU in {:.0} s of a step, with {seconds} seconds and {} samples stored: {percent:.2} % of a core",
        spent.as_secs_f64(),
        wall.as_secs_f64(),
        fake.count("host_samples")?
    );
    run.press_ctrl_c()?;
    run.finish(TIMEOUT)?.expect_code(&[130])?;
    ensure!(
        percent < MOST_OF_A_CORE_PERCENT,
        "the run's process took {percent:.2} % of a core while a step ran, more than {MOST_OF_A_CORE_PERCENT} %"
    );
    Ok(Ending::Passed)
}

/// The process that measures and stores: the one below the supervisor.
fn run_below(run: &Running) -> anyhow::Result<u32> {
    run.below_supervisor()?.context("the run has no process below its supervisor")
}
