//! A store of a wanted size, written by the store's own writer: comparisons, campaigns, one with 42 steps of ten builds,
//! a run in progress. The numbers are made by a formula; nothing is measured. `lab` makes its runs of the same pieces.

use anyhow::{Context, bail, ensure};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use model::block::{Block, BlockKind, Latency, Outcome, Second, TrialKey};
use model::build::{BuildProbe, EngineBuild};
use model::counter::{Counter, Counters};
use model::event::{RunEvent, RunOutcome};
use model::host::{HarnessCost, Host, HostSample};
use model::listing::EntryKind;
use model::plan::{Design, Layout, Plan, Purpose, Subject};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use store::{Filter, Store, Writer};

/// What is in the store.
pub struct Made {
    pub measurements: u64,
    /// Runs of all kinds.
    pub runs: u64,
    pub bytes: u64,
    pub comparisons: Vec<String>,
    pub campaigns: Vec<String>,
    /// The campaign of 42 steps and ten builds.
    pub largest: Vec<String>,
    pub unfinished: Vec<String>,
    pub steps: Vec<(String, String)>,
}

const DEFAULTS: &str = include_str!("../../../../crates/formats/fixtures/rocksdb/8.5.4/OPTIONS.txt");
const RELEASES: [&str; 10] =
    ["7.10.2", "8.0.0", "8.1.1", "8.3.3", "8.4.4", "8.5.4", "8.6.7", "8.7.3", "8.8.1", "8.9.1"];
/// Operations, wall time, run delay and two kinds of CPU.
const NUMBERS_OF_A_BLOCK: u64 = 5;
/// Number of operations, five percentiles with the largest.
const NUMBERS_OF_LATENCY: u64 = 6;
/// 2026-01-01.
const FIRST_US: i64 = 1_767_225_600_000_000;
const HOUR_US: i64 = 3_600_000_000;

/// Of an engine's log.
pub const LOG_LINE: &str = "2026/01/01-00:00:00 a line of a log as engines write them\n";

/// What a made run is like.
struct Shape {
    purpose: Purpose,
    workload: &'static str,
    steps: usize,
    subjects: usize,
    launches: u32,
    /// Blocks of a trial; a campaign has one.
    cycles: u32,
    /// Seconds of a trial of a campaign.
    seconds: u32,
    has_ended: bool,
}

const COMPARISON: Shape = Shape {
    purpose: Purpose::Compare,
    workload: "made.small",
    steps: 5,
    subjects: 2,
    launches: 10,
    cycles: 3,
    seconds: 0,
    has_ended: true,
};
const CAMPAIGN: Shape = Shape {
    purpose: Purpose::Campaign,
    workload: "made.rounds",
    steps: 8,
    subjects: 10,
    launches: 3,
    cycles: 1,
    seconds: 60,
    has_ended: true,
};
const LARGEST: Shape = Shape { workload: "made.42", steps: 42, ..CAMPAIGN };
const UNFINISHED: Shape = Shape { workload: "made.live", launches: 2, has_ended: false, ..CAMPAIGN };
/// Campaigns that precede the comparisons.
const CAMPAIGNS: usize = 20;

/// Makes the store where there is none of this size yet.
pub fn store(path: &Path, measurements: u64) -> anyhow::Result<Made> {
    let counted = path.with_extension("count");
    let known = std::fs::read_to_string(&counted).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let made = match known {
        Some(known) if path.exists() => known,
        Some(_) | None => {
            remove(path)?;
            let made = write(path, measurements)?;
            std::fs::write(&counted, made.to_string()).context("failed to note the size of the store")?;
            made
        }
    };
    described(path, made)
}

/// With what SQLite keeps beside it.
fn remove(path: &Path) -> anyhow::Result<()> {
    for ending in ["sqlite", "sqlite-wal", "sqlite-shm"] {
        let path = path.with_extension(ending);
        if path.exists() {
            std::fs::remove_file(&path).with_context(|| format!("failed to remove `{}`", path.display()))?;
        }
    }
    Ok(())
}

fn write(path: &Path, wanted: u64) -> anyhow::Result<u64> {
    let mut writer = Writer::open(path)?;
    let histogram = histogram()?;
    let mut made = 0;
    let mut number = 0;
    let mut add = |shape: &Shape, made: &mut u64| -> anyhow::Result<()> {
        number += 1;
        *made += write_run(&mut writer, shape, number, &histogram)?;
        Ok(())
    };
    add(&LARGEST, &mut made)?;
    for _ in 0..CAMPAIGNS {
        add(&CAMPAIGN, &mut made)?;
    }
    while made < wanted {
        add(&COMPARISON, &mut made)?;
    }
    add(&UNFINISHED, &mut made)?;
    writer.flush()?;
    Ok(made)
}

fn described(path: &Path, measurements: u64) -> anyhow::Result<Made> {
    let store = Store::open_to_browse(path)?;
    let ids = |workload: &str| -> anyhow::Result<Vec<String>> {
        let filter = Filter { workload: Some(workload.to_owned()), ..Filter::default() };
        Ok(store.entries(&filter, 0, 50)?.entries.into_iter().map(|entry| entry.id).collect())
    };
    let kind = Some(EntryKind::Run(Purpose::Compare));
    let runs = store.entries(&Filter::default(), 0, 1)?.total;
    if store.entries(&Filter { kind, ..Filter::default() }, 0, 1)?.total < 2 {
        bail!("the store is too small: ask for more measurements");
    }
    let steps = [(COMPARISON, 2), (CAMPAIGN, 3), (LARGEST, 5)];
    Ok(Made {
        measurements,
        runs,
        bytes: std::fs::metadata(path).context("failed to look at the store")?.len(),
        comparisons: ids(COMPARISON.workload)?,
        campaigns: ids(CAMPAIGN.workload)?,
        largest: ids(LARGEST.workload)?,
        unfinished: ids(UNFINISHED.workload)?,
        steps: steps
            .map(|(shape, steps)| (0..steps).map(move |step| (shape.workload.to_owned(), step_name(step))))
            .into_iter()
            .flatten()
            .collect(),
    })
}

/// Writes one run; how many numbers of trials it has.
fn write_run(writer: &mut Writer, shape: &Shape, number: u32, histogram: &str) -> anyhow::Result<u64> {
    let id = format!("made-{number:06}");
    let at_us = FIRST_US + i64::from(number) * HOUR_US;
    let mut numbers = 0;
    let mut write = |event: RunEvent| writer.write(&id, &event);
    let host = Host {
        name: "made-host".to_owned(),
        boot_id: "made-boot".to_owned(),
        cpu_model: "made CPU".to_owned(),
        cpus: 16,
        memory_bytes: 64 << 30,
        ..Host::default()
    };
    let plan = plan(shape, u64::from(number))?;
    write(RunEvent::Started { run: id.clone(), at_us, plan: Box::new(plan), host: Box::new(host) })?;
    for launch in 1..=shape.launches {
        write(RunEvent::LaunchStarted { launch, at_us: at_us + i64::from(launch) * 1_000_000 })?;
        let readings = BTreeMap::from([("stat.ctxt".to_owned(), u64::from(launch))]);
        write(RunEvent::HostSampled(HostSample { at_us: at_us + i64::from(launch) * 1_000_000, readings }))?;
        for step in 0..shape.steps {
            for side in 0..shape.subjects {
                let trial = TrialKey { launch, step: step_name(step), side };
                let rate = rate(number, launch, step, side);
                for cycle in 0..shape.cycles {
                    let kind = match shape.purpose {
                        Purpose::Campaign => BlockKind::Whole,
                        Purpose::Compare | Purpose::Calibrate => BlockKind::Cycle(cycle),
                    };
                    let block = block(&trial, kind, rate + u64::from(cycle) * 130);
                    numbers += (NUMBERS_OF_A_BLOCK + block.counters.len() as u64) / u64::from(shape.cycles);
                    write(RunEvent::BlockMeasured(Box::new(block)))?;
                }
                for second in 0..shape.seconds {
                    let second = self::second(second, rate);
                    write(RunEvent::SecondMeasured { trial: trial.clone(), second })?;
                }
                numbers += NUMBERS_OF_LATENCY;
                let latency = Some(latency(rate, histogram));
                write(RunEvent::TrialEnded { trial: trial.clone(), outcome: Outcome::Done, latency })?;
            }
        }
        let took = Nanos::from_secs(30);
        let max_launches = shape.launches;
        let look = (launch == shape.launches).then_some(1.0);
        write(RunEvent::LaunchEnded { launch, took, max_launches, active_steps: Vec::new(), look })?;
    }
    for side in 0..shape.subjects {
        let text = LOG_LINE.repeat(200);
        write(RunEvent::RawOutput { launch: 1, side, name: "read/LOG".to_owned(), text })?;
    }
    if shape.has_ended {
        let cost = HarnessCost::default();
        write(RunEvent::Ended { at_us: at_us + HOUR_US / 2, outcome: RunOutcome::Done, cost })?;
        // As `dbdyno compare` and `run` keep it.
        writer.set_found(&id, r#"[{"verdict":"regression","text":"It is slower on 3 of 5 steps."}]"#)?;
    }
    Ok(numbers)
}

/// About 500,000/s, the later releases slower, with some scatter that a seed would make.
fn rate(run: u32, launch: u32, step: usize, side: usize) -> u64 {
    let scatter =
        (u64::from(run) * 7919 + u64::from(launch) * 104_729 + step as u64 * 1299 + side as u64 * 15_485)
            % 4001;
    500_000 - 10_000 * step as u64 % 300_000 - 1500 * side as u64 + scatter
}

/// With every counter there is.
pub fn block(trial: &TrialKey, kind: BlockKind, rate: u64) -> Block {
    let counters: Counters = Counter::ALL
        .into_iter()
        .zip(1..)
        .map(|(counter, value): (_, u64)| (counter, value * rate / 1000))
        .collect();
    let operations = rate / 10;
    Block {
        kind,
        run_delay: Nanos(rate % 1000),
        foreground_cpu: Nanos::from_millis(99),
        counters,
        ..testing::block(trial.clone(), operations, Nanos::from_millis(100))
    }
}

/// The second of this number of a trial.
pub fn second(number: u32, rate: u64) -> Second {
    Second {
        second: number,
        operations: rate + u64::from(number % 7) * 100,
        p50: Nanos(1500),
        p99: Nanos(9000 + u64::from(number) * 10),
        max: Nanos(80_000),
    }
}

/// With the largest percentile.
pub fn latency(rate: u64, histogram: &str) -> Latency {
    Latency {
        count: rate,
        p50: Nanos(1500),
        p99: Nanos(9000),
        p999: Nanos(20_000),
        p9999: Some(Nanos(40_000)),
        max: Nanos(80_000),
        histogram: histogram.to_owned(),
    }
}

/// As workers tell it: latencies of about a microsecond and a half, and a tail.
pub fn histogram() -> anyhow::Result<String> {
    const DIGITS: u8 = 3;
    let mut histogram = Histogram::<u64>::new(DIGITS).context("failed to make a histogram")?;
    for value in 0..2000_u64 {
        histogram.record_n(1200 + value, 2000 / (1 + value / 10)).context("failed to record a value")?;
        histogram.record(10_000 + value * 35).context("failed to record a value")?;
    }
    let mut bytes = Vec::new();
    let written = V2Serializer::new().serialize(&histogram, &mut bytes);
    ensure!(written.is_ok(), "failed to write a histogram");
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Of the step at this place, from 0.
pub fn step_name(step: usize) -> String {
    format!("step-{:02}", step + 1)
}

/// The text of a workload.
pub fn workload(name: &str, steps: usize, interleaved: bool) -> anyhow::Result<String> {
    let mut text = format!(
        "name = \"{name}\"\nengine = \"rocksdb\"\ndescription = \"d\"\ntells = \"t\"\ndoes_not_tell = \"n\"\nblock_ms = 100\n\
         data = {{ keys = 100000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }}\n"
    );
    for step in 0..steps {
        let (group, operation, rest) = match (interleaved, step) {
            (true, _) => ("point", "read-random", "database = \"image\""),
            (false, 0) => ("writes", "fill-sequential", ""),
            (false, _) => ("point", "read-random", "seconds = 60"),
        };
        let name = step_name(step);
        write!(
            text,
            "[[step]]\nname = \"{name}\"\ngroup = \"{group}\"\noperation = \"{operation}\"\n{rest}\n"
        )?;
    }
    Ok(text)
}

fn plan(shape: &Shape, seed: u64) -> anyhow::Result<Plan> {
    let interleaved = shape.purpose != Purpose::Campaign;
    let text = workload(shape.workload, shape.steps, interleaved)?;
    let subjects =
        RELEASES[RELEASES.len() - shape.subjects..].iter().map(|version| subject(version)).collect();
    let layout = if interleaved {
        Layout::default()
    } else {
        Layout { design: Design::Rounds, rounds: shape.launches, ..Layout::default() }
    };
    let budget = Nanos::from_secs(3600);
    Ok(Plan { purpose: shape.purpose, subjects, layout, budget, seed, ..testing::plan(&text, &[]) })
}

/// A release, with the default options that a real one wrote.
pub fn subject(version: &str) -> Subject {
    let plain = testing::subject(&format!("rocksdb@{version}"));
    let probe = BuildProbe {
        default_options: DEFAULTS.to_owned(),
        facts: BTreeMap::new(),
        missing_symbols: Vec::new(),
    };
    let sha256 = format!("{:0>64}", version.replace('.', ""));
    Subject { build: EngineBuild { sha256, probe: Some(probe), ..plain.build }, ..plain }
}
