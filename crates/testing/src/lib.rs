//! Plain subjects, plans, blocks and records that tests of several crates begin with; each changes what it is about
//! (`Plan { seed: 7, ..plan(..) }`). Nothing that ships may use it: it panics where what it is given is wrong.

pub mod compared;
pub mod profiles;
pub mod rounds;
pub mod sides;
pub mod streams;

use model::block::{Block, BlockKind, TrialKey};
use model::build::{BuildProbe, BuildSource, EngineBuild};
use model::config::EngineConfig;
use model::counter::Counters;
use model::event::RunOutcome;
use model::host::Host;
use model::import::{ImportRecord, ImportedFile, ImportedValue};
use model::plan::{DecisionRule, Layout, Plan, Purpose, Subject};
use model::record::{LaunchRecord, RunRecord, RunStatus};
use model::subject::SubjectRef;
use model::units::{Bytes, Nanos};
use model::workload::Workload;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `certificate.pem`, which is for `localhost`, `bench.example` and 127.0.0.1 and signs itself; its `key.pem`; `other-key.pem`.
pub fn tls_fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls").join(name)
}

/// A published release with no option set: `rocksdb@8.7.3`.
pub fn subject(reference: &str) -> Subject {
    let reference: SubjectRef = reference.parse().expect("a reference of a subject");
    let build = EngineBuild {
        reference: reference.build.clone(),
        library: "/cache/librocksdb.so".into(),
        sha256: "ab".repeat(32),
        size: Bytes(50 << 20),
        server: None,
        source: BuildSource::Published { coordinates: "nowhere".to_owned() },
        compilers: Vec::new(),
        probe: None,
        made: None,
    };
    let config = EngineConfig { name: reference.config.clone(), ..EngineConfig::default() };
    Subject::new(reference, build, config, BTreeMap::new())
}

/// What a RocksDB of before and after 8.6 has by default; among others the readahead of compactions differs.
pub const OLD_DEFAULTS: &str = include_str!("../../formats/fixtures/rocksdb/8.5.4/OPTIONS.txt");
/// See [`OLD_DEFAULTS`].
pub const NEW_DEFAULTS: &str = include_str!("../../formats/fixtures/rocksdb/8.7.3/OPTIONS.txt");

/// The same of a build of one's own with these default options.
fn probed(reference: &str, default_options: &str) -> Subject {
    let mut subject = subject(reference);
    subject.build.source = BuildSource::Own { path: "/cache".into() };
    subject.build.probe = Some(BuildProbe {
        default_options: default_options.to_owned(),
        facts: BTreeMap::new(),
        missing_symbols: Vec::new(),
    });
    subject
}

/// A workload of one step that reads, small.
pub const SMALL_WORKLOAD: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "d"
    tells = "t"
    does_not_tell = "n"
    data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    database = "image"
"#;

/// A comparison of these subjects in all steps of a workload, given as text.
pub fn plan(workload: &str, subjects: &[&str]) -> Plan {
    let workload = Workload::parse(workload, "test").expect("a workload");
    Plan {
        purpose: Purpose::Compare,
        subjects: subjects.iter().copied().map(subject).collect(),
        workload_sha256: "cd".repeat(32),
        steps: workload.steps.iter().map(|step| step.name.clone()).collect(),
        workload,
        steps_named: false,
        own_image: false,
        layout: Layout::default(),
        rule: DecisionRule::default(),
        budget: Nanos::from_secs(600),
        seed: 7,
        tool_version: "0.1.0".to_owned(),
    }
}

/// The first block of a trial: one thread that was on its CPU all the time.
pub fn block(trial: TrialKey, operations: u64, wall: Nanos) -> Block {
    Block {
        image: trial.launch,
        trial,
        kind: BlockKind::Cycle(0),
        position: 0,
        started_at_us: None,
        operations,
        failed_operations: 0,
        wall,
        run_delay: Nanos(0),
        foreground_cpu: wall,
        foreground_threads: 1,
        process_cpu: Some(wall),
        counters: Counters::new(),
    }
}

/// A run of seven minutes that is done, before anything was measured in it; its launches follow each other.
pub fn record(plan: Plan, launches: u32) -> RunRecord {
    let took = 420 / i64::from(launches);
    let launch = |launch: u32| LaunchRecord {
        launch,
        started_at_us: i64::from(launch) * took * 1_000_000,
        took: Some(Nanos::from_secs(took.unsigned_abs())),
        active_steps: Vec::new(),
        look: (launch == launches).then_some(1.0),
    };
    RunRecord {
        id: "20261121-091500-3fa9".to_owned(),
        name: None,
        status: RunStatus::Ended(RunOutcome::Done),
        started_at_us: 1_000_000,
        ended_at_us: Some(421_000_000),
        plan,
        host: Host { name: "bench-1".to_owned(), cpus: 8, ..Host::default() },
        fingerprint: None,
        launches: (1..=launches).map(launch).collect(),
        images: Vec::new(),
        blocks: Vec::new(),
        trials: Vec::new(),
        shapes: Vec::new(),
        step_exits: Vec::new(),
        warnings: Vec::new(),
        max_launches: None,
        cost: None,
        options_in_effect: BTreeMap::new(),
        raw_outputs: Vec::new(),
        engine_texts: Vec::new(),
        engine_works: Vec::new(),
        seconds: BTreeMap::new(),
    }
}

/// Results of others, from files with these names and texts.
pub fn import(format: &str, files: &[(&str, &str)], values: Vec<ImportedValue>) -> ImportRecord {
    let file = |(name, text): &(&str, &str)| ImportedFile {
        file: (*name).to_owned(),
        sha256: "0123456789abcdef".repeat(4),
        text: (*text).to_owned(),
    };
    ImportRecord {
        id: "20261121-091500-3fa9".to_owned(),
        name: Some("nov23".to_owned()),
        format: format.to_owned(),
        imported_at_us: 1_764_000_000_000_000,
        tool_version: "0.1.0".to_owned(),
        files: files.iter().map(file).collect(),
        values,
    }
}

/// The nearest whole number, which a count is.
fn whole(value: f64) -> u64 {
    format!("{:.0}", value.max(0.0)).parse().expect("a whole number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_tls_are_there() {
        for name in ["certificate.pem", "key.pem", "other-key.pem"] {
            assert!(tls_fixture(name).is_file(), "{name}");
        }
    }
}
