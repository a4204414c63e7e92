//! A comparison made by hand: two releases in two steps, interleaved in fourteen launches.

use crate::{NEW_DEFAULTS, OLD_DEFAULTS, plan, probed};
use model::block::{BASE, Block, BlockKind, Outcome, Side, TrialKey};
use model::build::BuildSource;
use model::counter::{Counter, Counters};
use model::elsewhere::ServerElsewhere;
use model::plan::{Plan, Subject};
use model::record::{RunRecord, TrialRecord};
use model::units::{Bytes, Nanos};
use std::path::PathBuf;

const WORKLOAD: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "d"
    tells = "the cost of reads"
    does_not_tell = "the cost of writes"
    block_ms = 100
    data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
    [[step]]
    name = "overwrite-after-fill"
    group = "writes"
    operation = "fill-sequential"
    database = "own"
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    database = "image"
"#;

/// The rate of the candidate over that of the base, by step.
#[derive(Debug, Clone, Copy)]
pub struct Truth {
    pub write: f64,
    pub read: f64,
}

/// A candidate as fast as the base.
pub const EQUAL: Truth = Truth { write: 1.0, read: 1.0 };
/// Of the record, all of them complete.
pub const LAUNCHES: u32 = 14;

fn subject(version: &str, defaults: &str, sha256: &str) -> Subject {
    let mut subject = probed(&format!("rocksdb@{version}"), defaults);
    subject.build.sha256 = sha256.repeat(32);
    subject.build.compilers = vec!["GCC: (GNU) 7.3.1".to_owned()];
    if let Some(probe) = &mut subject.build.probe {
        probe.facts.insert("version".to_owned(), version.to_owned());
    }
    subject.options.insert("write_buffer_size".to_owned(), "16777216".to_owned());
    subject
}

/// A run of two steps with launches that scatter by about 0.3 %, the same in every test.
pub fn record(truth: &Truth) -> RunRecord {
    let subjects = vec![subject("8.5.4", OLD_DEFAULTS, "ab"), subject("8.7.3", NEW_DEFAULTS, "cd")];
    let mut record = crate::record(Plan { subjects, ..plan(WORKLOAD, &[]) }, LAUNCHES);
    record.max_launches = Some(LAUNCHES);
    for launch in 1..=LAUNCHES {
        for (step, ratio) in [("overwrite-after-fill", truth.write), ("readrandom", truth.read)] {
            for side in [BASE, 1] {
                let trial = trial(launch, step, side);
                let rate = 600_000.0 * if side == BASE { 1.0 } else { ratio * (1.0 + wobble(launch, step)) };
                record.blocks.extend((0..4).map(|cycle| block(trial.clone(), cycle, rate)));
                record.trials.push(TrialRecord { trial, outcome: Outcome::Done, latency: None });
            }
        }
    }
    record
}

/// Within 0.4 % of zero, without a trend, half of it on each side.
fn wobble(launch: u32, step: &str) -> f64 {
    let place = (launch as usize * 5 + step.len()) % LAUNCHES as usize;
    (place as f64 - f64::from(LAUNCHES - 1) / 2.0) * 0.0006
}

fn block(trial: TrialKey, cycle: u32, rate: f64) -> Block {
    let on_cpu = Nanos::from_millis(99);
    Block {
        kind: BlockKind::Cycle(cycle),
        position: u32::try_from(trial.side).expect("few sides"),
        foreground_cpu: on_cpu,
        process_cpu: Some(on_cpu),
        counters: Counters::from([(Counter::ReadCalls, 1000 + u64::from(cycle))]),
        ..crate::block(trial, crate::whole(rate / 10.0), Nanos::from_millis(100))
    }
}

/// A trial of it.
pub fn trial(launch: u32, step: &str, side: Side) -> TrialKey {
    TrialKey { launch, step: step.to_owned(), side }
}

/// Makes a side a server that is not ours, on this host, with so many statements of others while it was watched.
pub fn elsewhere(record: &mut RunRecord, side: Side, host: &str, statements_of_others: u64) {
    let dsn = format!("postgres://me@{host}/bench");
    let build = &mut record.plan.subjects[side].build;
    build.source = BuildSource::Elsewhere {
        server: ServerElsewhere::parse(&dsn).expect("an address"),
        statements_of_others: Some(statements_of_others),
    };
    (build.sha256, build.size, build.library) = (String::new(), Bytes(0), PathBuf::new());
    for block in record.blocks.iter_mut().filter(|block| block.trial.side == side) {
        block.process_cpu = None;
        block.counters.clear();
    }
}
