//! What a build says of itself: its defaults, its missing symbols, and whether it takes the options of a plan.
//! Found by opening an empty database before anything is measured.

use crate::process::worker::{Worker, WorkerCommand, WorkerError};
use crate::process::{output, preload};
use model::build::BuildProbe;
use model::environment::{Environment, NO_ENVIRONMENT};
use model::units::Nanos;
use model::wire::{Library, Reply, Request};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const TIMEOUT: Nanos = Nanos::from_secs(60);
/// The facts stand in the first lines of a LOG.
const LOG_BYTES: u64 = 256 << 10;

/// Where a probe runs: a fresh directory and the worker's program.
pub struct ProbePlace<'a> {
    /// The program that serves requests when called with `worker`.
    pub program: &'a Path,
    /// An empty directory of ours; the caller removes it.
    pub directory: &'a Path,
}

/// Opens an empty database with no option set and reads what the build wrote.
pub fn probe(
    place: &ProbePlace<'_>,
    library: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<BuildProbe, WorkerError> {
    let (mut worker, missing_symbols) = loaded(place, library, &NO_ENVIRONMENT, interrupted)?;
    open(&mut worker, "defaults", "", interrupted)?;
    worker.stop(interrupted);
    let database = place.directory.join("defaults");
    let log = output::head_and_tail(&database.join("LOG"), LOG_BYTES).unwrap_or_default();
    Ok(BuildProbe {
        default_options: newest_options_file(&database).unwrap_or_default(),
        facts: facts(&log),
        missing_symbols,
    })
}

/// Opens an empty database with the options of a plan: an option that this release does not know is an error
/// now rather than in the middle of a run, and so is a library that cannot be preloaded. Returns the OPTIONS file that the build wrote.
pub fn check_options(
    place: &ProbePlace<'_>,
    library: &Path,
    environment: &Environment,
    options: &str,
    interrupted: &dyn Fn() -> bool,
) -> Result<Option<String>, WorkerError> {
    let (mut worker, _) = loaded(place, library, environment, interrupted)?;
    open(&mut worker, "options", options, interrupted)?;
    worker.stop(interrupted);
    Ok(newest_options_file(&place.directory.join("options")))
}

/// The OPTIONS file with the largest number in a database's directory.
pub fn newest_options_file(database: &Path) -> Option<String> {
    let newest = fs::read_dir(database)
        .ok()?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let number: u64 = name.strip_prefix("OPTIONS-")?.parse().ok()?;
            Some((number, name))
        })
        .max()?;
    fs::read_to_string(database.join(newest.1)).ok()
}

fn loaded(
    place: &ProbePlace<'_>,
    library: &Path,
    environment: &Environment,
    interrupted: &dyn Fn() -> bool,
) -> Result<(Worker, Vec<String>), WorkerError> {
    let mut worker = Worker::start(&WorkerCommand {
        program: place.program.to_owned(),
        stderr: place.directory.join("stderr"),
        directory: place.directory.to_owned(),
        environment: environment.clone(),
    })?;
    worker.send(&Request::Load { library: Library::RocksDb { path: library.to_owned() } })?;
    let missing = match worker.receive("load", TIMEOUT, interrupted)? {
        Reply::Loaded { missing_symbols, .. } => missing_symbols,
        other => return Err(WorkerError::Protocol(format!("{other:?}"))),
    };
    preload::check(environment, worker.pid())?;
    Ok((worker, missing))
}

fn open(
    worker: &mut Worker,
    directory: &str,
    options: &str,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), WorkerError> {
    let directory = PathBuf::from(directory);
    worker.send(&Request::Open { directory, options: options.to_owned(), create: true, tickers: false })?;
    worker.receive("open", TIMEOUT, interrupted)?;
    worker.send(&Request::Close)?;
    worker.receive("close", TIMEOUT, interrupted).map(|_| ())
}

/// Facts from the first lines of a LOG, which differ a little from release to release:
///
/// ```text
/// 2026/11/21-09:30:00.000000 140 RocksDB version: 8.5.4
/// 2026/11/21-09:30:00.000000 140 Compile date 2023-09-27 10:00:00
/// 2026/11/21-09:30:00.000000 140 Fast CRC32 supported: Not supported on x86
/// ```
fn facts(log: &str) -> BTreeMap<String, String> {
    const MARKS: [(&str, &str); 4] = [
        ("RocksDB version: ", "version"),
        ("Compile date", "compile date"),
        ("Fast CRC32 supported: ", "fast crc32"),
        ("Git sha ", "git"),
    ];
    let mut facts = BTreeMap::new();
    for line in log.lines() {
        for (mark, name) in MARKS {
            if let Some((_, value)) = line.split_once(mark) {
                facts.entry(name.to_owned()).or_insert_with(|| value.trim().to_owned());
            }
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::scripted;

    #[test]
    fn a_build_that_hangs_when_it_is_loaded_is_given_up_at_an_interrupt() {
        let directory = tempfile::tempdir().unwrap();
        let program = scripted::program(directory.path(), scripted::HANGS);
        let place = ProbePlace { program: &program, directory: directory.path() };
        let library = Path::new("librocksdb.so");
        let probed = scripted::started(|| probe(&place, library, &|| true));
        assert!(matches!(probed, Err(WorkerError::Interrupted)), "{probed:?}");
        let checked = scripted::started(|| check_options(&place, library, &NO_ENVIRONMENT, "", &|| true));
        assert!(matches!(checked, Err(WorkerError::Interrupted)), "{checked:?}");
    }

    #[test]
    fn facts_are_read_from_real_logs() {
        let new = facts(include_str!("../../fixtures/rocksdb/8.5.4/LOG.txt"));
        assert_eq!(new["version"], "8.5.4");
        assert_eq!(new["fast crc32"], "Not supported on x86");
        let old = facts(include_str!("../../fixtures/rocksdb/6.0.2/LOG.txt"));
        assert_eq!(old["version"], "6.0.2");
        let truncated = facts(include_str!("../../fixtures/rocksdb/8.5.4/LOG-truncated.txt"));
        assert!(!truncated.contains_key("fast crc32"));
        assert!(facts("").is_empty());
    }

    #[test]
    fn the_newest_options_file_is_the_one_with_the_largest_number() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("OPTIONS-000005", "old"), ("OPTIONS-000011", "new"), ("OPTIONS-x", "odd")] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        assert_eq!(newest_options_file(directory.path()).as_deref(), Some("new"));
    }
}
