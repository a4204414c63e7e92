//! Fetches a published build: artifact by artifact until one holds the library, each step in a directory of
//! our own that is put in place, or deleted, as a whole.
//!
//! A lock file per build keeps a second process waiting; the kernel lets go of it when the holder dies, and
//! whoever gets it next deletes what the dead one left.

use super::catalog::EngineSource;
use super::elf;
use super::error::EngineError;
use super::jar::{self, Extraction};
use super::maven::{Artifact, Copied, Maven};
use super::record::{BuildRecord, Facts, JarRecord, LIBRARY_FILE};
use super::sha256;
use crate::marked_dir::{create_marked_dir, remove_marked_dir};
use model::build::BuildSource;
use model::subject::BuildRef;
use model::units::Bytes;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How often a lock that another process holds is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Names of scratch directories and lock files; no version begins with a dot.
const SCRATCH_PREFIX: &str = ".fetch-";
const LOCK_SUFFIX: &str = ".lock";

/// The right to fetch one build, held until dropped.
pub(super) struct FetchLock {
    _file: File,
}

/// What to fetch, and how.
pub(super) struct Fetch<'a> {
    /// The build.
    pub build: &'a BuildRef,
    /// Where its engine's builds come from.
    pub source: &'a EngineSource,
    /// The CPU that it must be for.
    pub arch: &'a str,
    /// How to run Maven.
    pub maven: Maven<'a>,
    /// The engine's directory in the cache.
    pub engine_directory: &'a Path,
}

impl FetchLock {
    /// Waits until no other process fetches `build`; `progress` is told once if that takes time.
    pub(super) fn acquire(
        engine_directory: &Path,
        build: &BuildRef,
        bound: Duration,
        progress: &mut dyn FnMut(&str),
    ) -> Result<FetchLock, EngineError> {
        let path = engine_directory.join(format!("{SCRATCH_PREFIX}{}{LOCK_SUFFIX}", build.version));
        let file = open_lock(&path)?;
        let start = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(FetchLock { _file: file }),
                Err(TryLockError::WouldBlock) if start.elapsed() >= bound => {
                    return Err(EngineError::FetchedElsewhere { build: build.clone(), bound });
                }
                Err(TryLockError::WouldBlock) => {
                    if !told {
                        progress(&format!("{build}: waiting for another process that fetches it"));
                        told = true;
                    }
                    thread::sleep(LOCK_INTERVAL);
                }
                Err(TryLockError::Error(error)) => return Err(EngineError::io("lock", &path)(error)),
            }
        }
    }
}

fn open_lock(path: &Path) -> Result<File, EngineError> {
    // Lock files stay: one that is deleted while another process waits for it locks nothing.
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(EngineError::io("write", path))
}

/// Deletes what fetches that were killed have left in an engine's directory. What is being fetched is locked
/// and stays; what cannot be deleted now is left to the next time.
pub(super) fn sweep(engine_directory: &Path) {
    let Ok(entries) = fs::read_dir(engine_directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_scratch =
            name.starts_with(SCRATCH_PREFIX) && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_scratch {
            continue;
        }
        let Ok(lock) = open_lock(&engine_directory.join(format!("{name}{LOCK_SUFFIX}"))) else { continue };
        if lock.try_lock().is_ok() {
            let _ = remove_marked_dir(&entry.path());
        }
    }
}

/// A directory that goes when the fetch ends, however it ends.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be deleted now is deleted by the next fetch.
        let _ = remove_marked_dir(&self.0);
    }
}

impl Fetch<'_> {
    /// Fetches the build and puts it at its place in the cache. The caller holds the lock.
    pub(super) fn run(&self, _lock: &FetchLock, progress: &mut dyn FnMut(&str)) -> Result<(), EngineError> {
        let version = &self.build.version;
        let arch = self.source.maven.arch.get(self.arch).ok_or_else(|| EngineError::NotForThisCpu {
            engine: self.source.engine.clone(),
            arch: self.arch.to_owned(),
        })?;
        let scratch = Scratch(self.engine_directory.join(format!("{SCRATCH_PREFIX}{version}")));
        remove_marked_dir(&scratch.0)?;
        create_marked_dir(&scratch.0)?;
        let fresh = scratch.0.join("build");
        create_marked_dir(&fresh)?;

        let candidates = Artifact::candidates(&self.source.maven, version, &arch.classifiers);
        let mut without_library = None;
        let mut found = None;
        for artifact in &candidates {
            let coordinates = artifact.coordinates();
            progress(&format!("{}: fetching {coordinates}", self.build));
            let jar = match self.maven.copy(self.build, artifact, &scratch.0)? {
                Copied::Jar(jar) => jar,
                Copied::NotThere => {
                    progress(&format!("{}: there is no {coordinates}", self.build));
                    continue;
                }
            };
            let library = fresh.join(LIBRARY_FILE);
            let extraction =
                Extraction { jar: &jar, coordinates: &coordinates, library: &arch.library, to: &library };
            match jar::extract(&extraction) {
                Ok(()) => {
                    found = Some((coordinates, jar));
                    break;
                }
                Err(error @ EngineError::NoLibraryInJar { .. }) => without_library = Some(error),
                Err(error) => return Err(error),
            }
        }
        let Some((coordinates, jar)) = found else {
            return Err(without_library.unwrap_or_else(|| EngineError::NotPublished {
                build: self.build.clone(),
                tried: candidates.iter().map(Artifact::coordinates).collect::<Vec<_>>().join(", "),
            }));
        };
        self.record(&fresh, coordinates, &jar)?.write(&fresh)?;
        let place = self.engine_directory.join(version);
        remove_marked_dir(&place)?;
        fs::rename(&fresh, &place).map_err(EngineError::io("write", &place))
    }

    fn record(&self, fresh: &Path, coordinates: String, jar: &Path) -> Result<BuildRecord, EngineError> {
        let library = fresh.join(LIBRARY_FILE);
        let compilers = elf::check_library(&library, self.source, self.arch)?;
        let (sha256, size) = sha256::of_file(&library)?;
        let (jar_sha256, jar_size) = sha256::of_file(jar)?;
        Ok(BuildRecord::new(Facts {
            reference: self.build.clone(),
            library: PathBuf::from(LIBRARY_FILE),
            sha256,
            size,
            source: BuildSource::Published { coordinates },
            compilers,
            jar: Some(JarRecord { sha256: jar_sha256, size: Bytes(jar_size) }),
        }))
    }
}
