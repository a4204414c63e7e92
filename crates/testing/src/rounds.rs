//! A campaign made by hand: four releases in two configurations, three rounds, three steps. From the third release
//! on its own defaults lose the readahead of compactions; pinned, it is kept.

use crate::{NEW_DEFAULTS, OLD_DEFAULTS, plan, probed, whole};
use model::block::{Block, BlockKind, Latency, Outcome, Side, TrialKey};
use model::config::Options;
use model::counter::{Counter, Counters};
use model::event::Moment;
use model::host::{HarnessCost, StepPauses};
use model::plan::{Design, Layout, LeftOut, LoopDevice, OmittedOption, Plan, Purpose, Subject};
use model::reason::Reason;
use model::record::{RunRecord, ShapeRecord, TrialRecord};
use model::shape::{Level, Shape};
use model::units::{Bytes, Nanos};
use std::collections::BTreeMap;

const WORKLOAD: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "d"
    tells = "how compactions read from a device"
    does_not_tell = "the CPU cost of operations"
    data = { keys = 1000000, key_bytes = 20, value_bytes = 400, value_compressible_percent = 50 }
    [[step]]
    name = "fillseq"
    group = "writes"
    operation = "fill-sequential"
    helper = true
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    seconds = 2
    [[step]]
    name = "overwriteandwait"
    group = "writes"
    operation = "overwrite"
    seconds = 3
    settle = "drained"
"#;

/// Complete rounds of the record.
pub const ROUNDS: u32 = 3;
const RELEASES: [&str; 4] = ["8.4.4", "8.5.4", "8.6.7", "8.7.3"];
const CONFIGS: [&str; 2] = ["standard", "defaults"];
/// In the order of the workload; the first one is a helper.
pub const STEPS: [&str; 3] = ["fillseq", "readrandom", LAST];
/// The step that loses.
pub const LAST: &str = "overwriteandwait";

fn subject(version: &str, config: &str) -> Subject {
    let lost = ["8.6.7", "8.7.3"].contains(&version);
    let mut subject =
        probed(&format!("rocksdb@{version}+{config}"), if lost { NEW_DEFAULTS } else { OLD_DEFAULTS });
    let option =
        |name: &str, value: &str| -> Options { BTreeMap::from([(name.to_owned(), value.to_owned())]) };
    if config == "standard" {
        subject.config.pins = option("compaction_readahead_size", "2097152");
    }
    subject.options = option("block_based_table_factory.block_cache", "33554432");
    subject.options.extend(subject.config.pins.clone());
    subject
}

/// The whole record.
pub fn record() -> RunRecord {
    let subjects: Vec<Subject> =
        RELEASES.iter().flat_map(|version| CONFIGS.iter().map(|config| subject(version, config))).collect();
    let budget = Nanos::from_secs(3600);
    let plan = Plan { purpose: Purpose::Campaign, subjects, layout: layout(), budget, ..plan(WORKLOAD, &[]) };
    let mut record = crate::record(plan, ROUNDS);
    record.name = Some("readahead".to_owned());
    record.cost = Some(HarnessCost {
        sampler_core_percent: 0.3,
        block_edge_us: 400.0,
        client_cpu_ns_per_op: Some(160.0),
        controller_peak_bytes: 21 << 20,
        worker_heap_peak_bytes: 3 << 20,
        step_pauses: Some(StepPauses {
            count: 72,
            mean: Nanos::from_millis(310),
            longest: Nanos::from_millis(820),
        }),
    });
    for launch in 1..=ROUNDS {
        for side in 0..record.plan.subjects.len() {
            for step in STEPS {
                add_trial(&mut record, TrialKey { launch, step: step.to_owned(), side });
            }
        }
    }
    fail(&mut record, &TrialKey { launch: 2, step: "readrandom".to_owned(), side: 3 });
    disturb(&mut record, &TrialKey { launch: 3, step: "readrandom".to_owned(), side: 4 });
    record
}

fn layout() -> Layout {
    Layout {
        design: Design::Rounds,
        rounds: ROUNDS,
        left_out: vec![LeftOut {
            reference: "rocksdb@8.2.1".parse().expect("a reference"),
            reason: "no library of it was published".to_owned(),
        }],
        omitted_options: vec![OmittedOption {
            side: 0,
            option: "optimize_filters_for_memory".to_owned(),
            value: "false".to_owned(),
        }],
        memory_limit: Some(Bytes(300_000_000)),
        loop_device: Some(LoopDevice {
            max_sectors_kb: Some(128),
            read_ahead_kb: Some(128),
            ..LoopDevice::new(Bytes(6_000_000_000))
        }),
        ..Layout::default()
    }
}

/// Whether a side reads ahead no more.
fn has_lost_readahead(record: &RunRecord, side: Side) -> bool {
    let reference = &record.plan.subjects[side].reference;
    reference.config == "defaults" && ["8.6.7", "8.7.3"].contains(&reference.build.version.as_str())
}

/// Within half a percent of 1, the same in every test, with no pattern over rounds, sides or what is asked for.
fn wobble(key: &TrialKey, of: u64) -> f64 {
    let mut state =
        u64::from(key.launch) * 1_000_003 + key.side as u64 * 7_919 + key.step.len() as u64 * 104_729 + of;
    for _ in 0..3 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^= state >> 29;
    }
    1.0 + 0.01 * ((state >> 40) as f64 / (1u64 << 24) as f64 - 0.5)
}

fn add_trial(record: &mut RunRecord, key: TrialKey) {
    let lost = key.step == LAST && has_lost_readahead(record, key.side);
    let writes = key.step != "readrandom";
    let seconds = if key.step == "readrandom" { 2.0 } else { 3.0 };
    let rate = if writes { 150_000.0 } else { 400_000.0 } * if lost { 0.65 } else { 1.0 } * wobble(&key, 1);
    let operations = rate * seconds;
    record.blocks.push(block(key.clone(), BlockKind::Whole, seconds, operations, lost));
    if key.step == LAST {
        let drain = if lost { 2.5 } else { 0.8 } * wobble(&key, 2);
        record.blocks.push(block(key.clone(), BlockKind::Drain, drain, 0.0, lost));
    }
    let moments = if key.step == LAST {
        vec![Moment::Before, Moment::After, Moment::Settled]
    } else {
        vec![Moment::Before, Moment::After]
    };
    let shape = Shape {
        levels: vec![
            Level { files: 1, bytes: Bytes::from_mib(16) },
            Level { files: 8, bytes: Bytes::from_mib(120) },
        ],
        memtable: Bytes::from_mib(3),
        pending_compaction: Bytes(0),
    };
    record.shapes.extend(moments.into_iter().map(|moment| ShapeRecord {
        trial: key.clone(),
        moment,
        shape: shape.clone(),
    }));
    let micros = |value: f64| Nanos(whole(1000.0 * value));
    let latency = Latency {
        count: whole(operations),
        p50: micros(1e6 / rate * wobble(&key, 3)),
        p99: micros(4e6 / rate * wobble(&key, 4)),
        p999: micros(20e6 / rate * wobble(&key, 5)),
        p9999: Some(micros(90e6 / rate * wobble(&key, 6))),
        max: micros(40_000.0 * wobble(&key, 7)),
        histogram: String::new(),
    };
    record.trials.push(TrialRecord { trial: key, outcome: Outcome::Done, latency: Some(latency) });
}

fn block(trial: TrialKey, kind: BlockKind, seconds: f64, operations: f64, lost: bool) -> Block {
    let writes = trial.step != "readrandom";
    let of = if kind == BlockKind::Drain { 100 } else { 0 };
    let read_bytes = if writes { 90e6 * seconds * wobble(&trial, of + 10) } else { 0.0 };
    let read_size = if lost { 4_500.0 } else { 123_000.0 } * wobble(&trial, of + 11);
    let reads = read_bytes / read_size;
    let cpu = 1e3 * (operations * 5.0 + 2e5) * wobble(&trial, of + 12);
    let counters = [
        (Counter::ForegroundCpuNanos, 0.6 * cpu),
        (Counter::BackgroundCpuNanos, 0.4 * cpu),
        (Counter::UserCpuMicros, 0.8 * cpu / 1e3),
        (Counter::SystemCpuMicros, 0.2 * cpu / 1e3),
        (Counter::VoluntarySwitches, operations / 40.0 * wobble(&trial, of + 13)),
        (Counter::ReadCalls, 12.0),
        (Counter::WriteCalls, if writes { operations * wobble(&trial, of + 14) } else { 14.0 }),
        (Counter::StorageReadBytes, read_bytes),
        (
            Counter::StorageWriteBytes,
            if writes { operations * 1400.0 * wobble(&trial, of + 15) } else { 0.0 },
        ),
        (Counter::DiskReads, reads),
        (Counter::DiskReadBytes, read_bytes),
        (Counter::DiskReadsMerged, 0.0),
        (Counter::DiskReadMicros, reads * 95.0 * wobble(&trial, of + 16)),
        (Counter::DiskWrites, if writes { 800.0 * seconds * wobble(&trial, of + 17) } else { 0.0 }),
        (Counter::DiskWriteBytes, if writes { 9e7 * seconds * wobble(&trial, of + 18) } else { 0.0 }),
        (Counter::DiskWritesMerged, 12.0),
        (Counter::DiskWriteMicros, if writes { 5e5 * seconds * wobble(&trial, of + 19) } else { 0.0 }),
        (Counter::ResidentPeakBytes, 1.6e8 * wobble(&trial, of + 20)),
        (Counter::OtherCpuMicros, 1e4 * seconds),
    ];
    Block {
        kind,
        foreground_cpu: Nanos(whole(0.6 * cpu)),
        process_cpu: Some(Nanos(whole(cpu))),
        counters: counters.into_iter().map(|(counter, value)| (counter, whole(value))).collect::<Counters>(),
        ..crate::block(trial, whole(operations), Nanos(whole(seconds * 1e9)))
    }
}

/// Others have half of the CPUs during a trial, which halves its rate.
pub fn disturb(record: &mut RunRecord, key: &TrialKey) {
    let cpus = u64::from(record.host.cpus);
    for block in record.blocks.iter_mut().filter(|block| block.trial == *key) {
        block.operations /= 2;
        block.counters.insert(Counter::OtherCpuMicros, cpus * block.wall.0 / 1000 / 2);
        block.counters.insert(Counter::StolenCpuMicros, cpus * block.wall.0 / 1000 / 8);
    }
}

/// The trial and those of the same visit that come after it.
fn fail(record: &mut RunRecord, key: &TrialKey) {
    for ended in record.trials.iter_mut() {
        let (trial, of_visit) =
            (&ended.trial, ended.trial.launch == key.launch && ended.trial.side == key.side);
        if trial == key {
            ended.outcome =
                Outcome::Failed { reason: Reason::Said("the worker was killed by signal 11".to_owned()) };
            ended.latency = None;
        } else if of_visit && trial.step == LAST {
            ended.outcome =
                Outcome::Skipped { reason: Reason::FailedBefore { step: "readrandom".to_owned() } };
            ended.latency = None;
        }
    }
    // What was measured of a trial before it failed is absurd, and must not count.
    for block in record.blocks.iter_mut().filter(|block| block.trial == *key) {
        block.operations = 1;
    }
}

/// The same rates everywhere in the step that loses, so that only the device tells of the change.
pub fn with_equal_rates() -> RunRecord {
    let mut record = record();
    for block in record.blocks.iter_mut().filter(|block| block.trial.step == LAST) {
        let wobble = 1000 * u64::from(block.trial.launch) + 300 * (block.trial.side as u64 * 5 % 8);
        match block.kind {
            BlockKind::Whole => block.operations = 450_000 + wobble,
            BlockKind::Drain | BlockKind::Cycle(_) => block.wall = Nanos::from_millis(800 + wobble / 1000),
        }
    }
    record
}

/// The pinned sides of the two newer releases lose the same as the others.
pub fn with_loss_by_code() -> RunRecord {
    let mut record = record();
    let loses = |block: &&mut Block| [4, 6].contains(&block.trial.side) && block.trial.step == LAST;
    for block in record.blocks.iter_mut().filter(loses).filter(|block| block.kind == BlockKind::Whole) {
        block.operations = block.operations * 65 / 100;
    }
    record
}

/// Random reads lose a twentieth with each release.
pub fn with_steady_loss() -> RunRecord {
    let mut record = record();
    for block in record.blocks.iter_mut().filter(|block| block.trial.step == "readrandom") {
        for _ in 0..block.trial.side / CONFIGS.len() {
            block.operations = block.operations * 95 / 100;
        }
    }
    record
}

/// The first round alone.
pub fn single_round() -> RunRecord {
    let mut record = record();
    record.blocks.retain(|block| block.trial.launch == 1);
    record.trials.retain(|ended| ended.trial.launch == 1);
    record.plan.layout.rounds = 1;
    record
}
