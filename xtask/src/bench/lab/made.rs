//! Runs of the hosts of a lab, written by the store's own writer as a job on a host writes them. The numbers are made by a formula; nothing is
//! measured.

use crate::bench::scrambled;
use crate::bench::serve::made;
use model::block::{BlockKind, Outcome, TrialKey};
use model::event::{RunEvent, RunOutcome};
use model::fingerprint::{Fingerprint, HostFigure};
use model::host::{HarnessCost, Host, HostSample};
use model::plan::{Design, Layout, Plan, Purpose};
use model::units::Nanos;
use std::collections::BTreeMap;
use store::{QueuedRun, Writer};

/// Of all runs.
pub const WORKLOAD: &str = "lab.42";
pub const STEPS: usize = 42;
/// Seconds of a trial, with its share of loading and settling. Chosen, not measured, as all of a lab's habits here.
pub const TRIAL_S: u32 = 60;
/// A night has eight hours. Nine turns of 42 trials are 6.3 of them: three subjects in three rounds, the base, the newest release and what was
/// built that day.
pub const NIGHTLY_SUBJECTS: [u32; 3] = [0, RELEASES - 1, RELEASES];
pub const NIGHTLY_ROUNDS: u32 = 3;
/// All releases are measured when one comes out, in two rounds: 80 turns are 56 hours, a weekend.
pub const RELEASES: u32 = 40;
pub const LADDER_ROUNDS: u32 = 2;
/// Releases that come out in a year, of one engine.
pub const LADDERS_A_YEAR: u64 = 8;
/// What a turn leaves of logs: a quarter of the most that is kept of two of them.
const LOG_BYTES: usize = 64 << 10;

/// CPU, CPUs, GiB of memory.
const CLASSES: [(&str, u32, u64); 4] =
    [("made CPU A", 16, 64), ("made CPU B", 32, 128), ("made CPU C", 8, 32), ("made CPU D", 48, 256)];
/// The class whose hosts do not have the change that the others have.
const UNCHANGED: u32 = 2;
/// The release from which on every seventh step is slower.
const SLOWER_FROM: u32 = 30;

/// 2026-01-05T20:00:00Z, a Monday.
const FIRST_NIGHT_US: i64 = 1_767_643_200_000_000;
const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;

/// What a host reads of itself each second, as `runner` names it.
const READINGS: [&str; 42] = [
    "disk.vda.busy_us",
    "disk.vda.in_flight",
    "disk.vda.read_bytes",
    "disk.vda.read_us",
    "disk.vda.reads",
    "disk.vda.reads_merged",
    "disk.vda.write_bytes",
    "disk.vda.write_us",
    "disk.vda.writes",
    "disk.vda.writes_merged",
    "pressure.cpu.full_us",
    "pressure.cpu.some_us",
    "pressure.io.full_us",
    "pressure.io.some_us",
    "pressure.memory.full_us",
    "pressure.memory.some_us",
    "stat.cpu.idle_ticks",
    "stat.cpu.iowait_ticks",
    "stat.cpu.irq_ticks",
    "stat.cpu.nice_ticks",
    "stat.cpu.softirq_ticks",
    "stat.cpu.steal_ticks",
    "stat.cpu.system_ticks",
    "stat.cpu.user_ticks",
    "stat.ctxt",
    "stat.processes",
    "stat.procs_blocked",
    "stat.procs_running",
    "vmstat.allocstall_normal",
    "vmstat.nr_dirty",
    "vmstat.nr_free_pages",
    "vmstat.nr_writeback",
    "vmstat.oom_kill",
    "vmstat.pgfault",
    "vmstat.pgmajfault",
    "vmstat.pgpgin",
    "vmstat.pgpgout",
    "vmstat.pgscan_direct",
    "vmstat.pgscan_kswapd",
    "vmstat.pgsteal_kswapd",
    "vmstat.pswpin",
    "vmstat.pswpout",
];

/// What all runs are made with.
pub struct Making {
    pub seed: u64,
    /// Seconds between two samples of a host.
    pub sample_every: u32,
    /// Of every trial.
    pub histogram: String,
}

/// What a host measures from a moment on.
pub enum Kind {
    /// In the night of this number, from 0.
    Night(u32),
    /// All releases, before the first night.
    Ladder,
}

/// A run on a host.
pub struct LabRun {
    pub host: u32,
    pub kind: Kind,
}

impl LabRun {
    pub fn id(&self) -> String {
        format!("{}-{:04}", self.campaign(), self.host)
    }

    /// The same on all hosts.
    pub fn campaign(&self) -> String {
        match self.kind {
            Kind::Night(night) => campaign_of_night(night),
            Kind::Ladder => "lab-ladder".to_owned(),
        }
    }

    fn begins_at_us(&self) -> i64 {
        match self.kind {
            Kind::Night(night) => FIRST_NIGHT_US + i64::from(night) * DAY_US + i64::from(self.host),
            Kind::Ladder => FIRST_NIGHT_US - 3 * DAY_US + i64::from(self.host),
        }
    }

    /// By their numbers: the one behind the last release is what was built that day.
    fn subjects(&self) -> Vec<u32> {
        match self.kind {
            Kind::Night(_) => NIGHTLY_SUBJECTS.to_vec(),
            Kind::Ladder => (0..RELEASES).collect(),
        }
    }

    fn rounds(&self) -> u32 {
        match self.kind {
            Kind::Night(_) => NIGHTLY_ROUNDS,
            Kind::Ladder => LADDER_ROUNDS,
        }
    }

    fn version(&self, subject: u32) -> String {
        match self.kind {
            Kind::Night(night) if subject == RELEASES => format!("10.0.{night}"),
            Kind::Night(_) | Kind::Ladder => format!("6.{subject}.0"),
        }
    }

    fn plan(&self, seed: u64) -> anyhow::Result<Plan> {
        let subjects =
            self.subjects().into_iter().map(|subject| made::subject(&self.version(subject))).collect();
        let layout = Layout { design: Design::Rounds, rounds: self.rounds(), ..Layout::default() };
        let text = made::workload(WORKLOAD, STEPS, false)?;
        let plain = testing::plan(&text, &[]);
        Ok(Plan {
            purpose: Purpose::Campaign,
            subjects,
            layout,
            budget: Nanos::from_secs(8 * 3600),
            seed,
            ..plain
        })
    }

    /// Operations per second: later steps slower, hosts and repeats scattered by half a percent, a change of 4 % that one class of hosts
    /// does not have.
    fn rate(&self, seed: u64, trial: (u32, usize, u32)) -> u64 {
        let (round, step, subject) = trial;
        let is_slower = step % 7 == 3 && subject >= SLOWER_FROM && self.host % 4 != UNCHANGED;
        let place = (u64::from(round) * 64 + step as u64) * 64 + u64::from(subject);
        // The moment is that of one host and no other.
        let scatter = scrambled(seed ^ self.begins_at_us().unsigned_abs(), place) % 101;
        let thousandths = if is_slower { 960 } else { 1000 };
        (500_000 - 9_000 * step as u64) * thousandths / 1000 * (9_950 + scatter) / 10_000
    }
}

/// Of all hosts in a night.
pub fn campaign_of_night(night: u32) -> String {
    format!("lab-night-{night:04}")
}

pub fn host_name(host: u32) -> String {
    format!("lab-{host:03}")
}

/// Writes a run into the store of its host.
pub fn write(writer: &mut Writer, run: &LabRun, making: &Making) -> anyhow::Result<()> {
    let (id, campaign) = (run.id(), run.campaign());
    let plan = run.plan(making.seed)?;
    let host = host(run.host);
    let fingerprint = fingerprint(&host, run.begins_at_us());
    let queued = QueuedRun { name: campaign.clone(), plan: plan.clone(), written_options: Vec::new() };
    writer.queue(&campaign, &[queued])?;
    let at_us = run.begins_at_us();
    let begun = RunEvent::Started { run: id.clone(), at_us, plan: Box::new(plan), host: Box::new(host) };
    writer.write(&id, &begun)?;
    writer.write(&id, &RunEvent::HostMeasured(Box::new(fingerprint)))?;
    writer.begin_queued(&campaign, &id)?;
    let mut clock_us = at_us;
    for launch in 1..=run.rounds() {
        writer.write(&id, &RunEvent::LaunchStarted { launch, at_us: clock_us })?;
        for (side, subject) in run.subjects().into_iter().enumerate() {
            writer.write(&id, &RunEvent::VisitStarted { launch, side })?;
            for step in 0..STEPS {
                let trial = TrialKey { launch, step: made::step_name(step), side };
                let rate = run.rate(making.seed, (launch, step, subject));
                for event in of_trial(trial, rate, clock_us, making) {
                    writer.write(&id, &event)?;
                }
                clock_us += i64::from(TRIAL_S) * SECOND_US;
            }
            let text = made::LOG_LINE.repeat(LOG_BYTES / made::LOG_LINE.len());
            writer.write(&id, &RunEvent::RawOutput { launch, side, name: "LOG".to_owned(), text })?;
        }
        let look = (launch == run.rounds()).then_some(1.0);
        let took = Nanos::from_secs(u64::from(TRIAL_S) * (STEPS * run.subjects().len()) as u64);
        let max_launches = run.rounds();
        let ended = RunEvent::LaunchEnded { launch, took, max_launches, active_steps: Vec::new(), look };
        writer.write(&id, &ended)?;
    }
    let cost = HarnessCost::default();
    writer.write(&id, &RunEvent::Ended { at_us: clock_us, outcome: RunOutcome::Done, cost })?;
    // As `dbdyno run` keeps it.
    writer.set_found(&id, r#"[{"verdict":"regression","text":"It is slower on 6 of 42 steps."}]"#)?;
    Ok(())
}

/// What a trial writes, in the order of time.
fn of_trial(trial: TrialKey, rate: u64, begins_at_us: i64, making: &Making) -> Vec<RunEvent> {
    let mut events = Vec::new();
    for second in 0..TRIAL_S {
        let at_us = begins_at_us + i64::from(second) * SECOND_US;
        if second % making.sample_every == 0 {
            events.push(RunEvent::HostSampled(HostSample { at_us, readings: readings(at_us) }));
        }
        let measured = made::second(second, rate);
        events.push(RunEvent::SecondMeasured { trial: trial.clone(), second: measured });
    }
    events.push(RunEvent::BlockMeasured(Box::new(made::block(&trial, BlockKind::Whole, rate))));
    let latency = Some(made::latency(rate, &making.histogram));
    events.push(RunEvent::TrialEnded { trial, outcome: Outcome::Done, latency });
    events
}

/// Counters that grow, of seven to ten digits as those of a host that has been up for weeks.
fn readings(at_us: i64) -> BTreeMap<String, u64> {
    let seconds = (at_us - FIRST_NIGHT_US + 30 * DAY_US).unsigned_abs() / 1_000_000;
    let reading = |(name, number): (&str, u64)| (name.to_owned(), seconds * number * number);
    READINGS.into_iter().zip(1..).map(reading).collect()
}

fn host(number: u32) -> Host {
    let (cpu_model, cpus, gibibytes) = CLASSES[number as usize % CLASSES.len()];
    Host {
        name: host_name(number),
        boot_id: format!("boot-{number}"),
        kernel: "6.12.57".to_owned(),
        cpu_model: cpu_model.to_owned(),
        cpus,
        memory_bytes: gibibytes << 30,
        device: Some("vda".to_owned()),
        ..Host::default()
    }
}

fn fingerprint(host: &Host, at_us: i64) -> Fingerprint {
    let figures =
        ["cpu_ns_per_step", "memory_read_gb_per_s", "memory_latency_ns", "fsync_us", "device_read_us"];
    let figure = |name: &str| HostFigure { name: name.to_owned(), value: 100.0, spread: 0.01 };
    Fingerprint {
        at_us: at_us - SECOND_US,
        host: host.name.clone(),
        boot_id: host.boot_id.clone(),
        device: host.device.clone(),
        figures: figures.map(figure).to_vec(),
    }
}
