//! Fetches a published build, each step in a directory of our own that is put in place, or deleted, as a whole: a
//! library artifact by artifact until one holds it, a server as [`super::server`] says.
//!
//! A lock file per build keeps a second process waiting; the kernel lets go of it when the holder dies, and
//! whoever gets it next deletes what the dead one left.

use super::client::{Client, Runner};
use super::disk;
use super::elf;
use super::error::EngineError;
use super::file::{EngineSource, LibrarySource};
use super::jar::{self, Extraction};
use super::maven::{self, Artifact, Copied};
use super::own;
use super::record::{BuildRecord, JarRecord, LIBRARY_FILE, SCHEMA};
use super::sha256;
use super::unpack;
use crate::marked_dir::{create_marked_dir, remove_marked_dir};
use crate::process::file_lock::{FileLock, NotLocked};
use model::build::BuildSource;
use model::subject::BuildRef;
use model::units::{Bytes, Nanos};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names of scratch directories and lock files; no version begins with a dot.
const SCRATCH_PREFIX: &str = ".fetch-";
const LOCK_SUFFIX: &str = ".lock";

/// The right to fetch one build, held until dropped.
pub(super) struct FetchLock {
    _lock: FileLock,
}

/// What to fetch, and how.
pub(super) struct Fetch<'a> {
    pub build: &'a BuildRef,
    /// Where its engine's builds come from.
    pub source: &'a EngineSource,
    /// The CPU that it must be for.
    pub arch: &'a str,
    pub programs: &'a Programs,
    /// The SHA-256 that its archive has to have; none where the engine file lists none.
    pub listed_sha256: Option<&'a str>,
    /// The directory of all engines in the cache.
    pub engines: &'a Path,
    pub engine_directory: &'a Path,
}

/// Programs that fetch, and where the host's configuration of apt is.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `mvn`
    pub mvn: PathBuf,
    /// `npm`
    pub npm: PathBuf,
    /// `apt-get`
    pub apt_get: PathBuf,
    /// `dpkg-deb`
    pub dpkg_deb: PathBuf,
    /// `/etc/apt`: the mirror of Debian is looked for in it.
    pub apt_configuration: PathBuf,
    /// Each run of one of them is stopped after this long.
    pub timeout: Duration,
}

/// The program is stopped after this long: the largest archive is 150 MB, which is ten minutes at 2 Mbit/s.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(600);

/// A fetch runs at most six clients, of which the lists of packages and the archives take long; a waiting process
/// allows for three that take all their time.
const CLIENT_RUNS_MAX: u32 = 3;

impl Default for Programs {
    /// Those of the search path.
    fn default() -> Programs {
        Programs {
            mvn: PathBuf::from("mvn"),
            npm: PathBuf::from("npm"),
            apt_get: PathBuf::from("apt-get"),
            dpkg_deb: PathBuf::from("dpkg-deb"),
            apt_configuration: PathBuf::from("/etc/apt"),
            timeout: CLIENT_TIMEOUT,
        }
    }
}

impl Programs {
    /// How long to wait for another process that fetches.
    pub(super) fn lock_bound(&self) -> Duration {
        self.timeout * CLIENT_RUNS_MAX + Duration::from_secs(60)
    }

    /// How to run one of them.
    pub(super) fn runner(&self, client: Client) -> Runner<'_> {
        let program = match client {
            Client::Maven => &self.mvn,
            Client::Npm => &self.npm,
            Client::Apt => &self.apt_get,
            Client::Dpkg => &self.dpkg_deb,
        };
        Runner { client, program, timeout: self.timeout }
    }
}

impl FetchLock {
    /// Waits until no other process fetches `build`; `progress` is told once if that takes time.
    pub(super) fn acquire(
        engine_directory: &Path,
        build: &BuildRef,
        timeout: Duration,
        progress: &mut dyn FnMut(&str),
    ) -> Result<FetchLock, EngineError> {
        let path = engine_directory.join(format!("{SCRATCH_PREFIX}{}{LOCK_SUFFIX}", build.version));
        FetchLock::acquire_file(&path, build, timeout, progress)
    }

    /// The same with a lock file of another name, for what several fetches share.
    pub(super) fn acquire_file(
        path: &Path,
        build: &BuildRef,
        timeout: Duration,
        progress: &mut dyn FnMut(&str),
    ) -> Result<FetchLock, EngineError> {
        let file = open_lock(path)?;
        let mut waiting = || progress(&format!("{build}: waiting for another process that fetches"));
        let limit = Nanos::from(timeout);
        let lock = FileLock::acquire(file, limit, &|| false, &mut waiting).map_err(|why| match why {
            NotLocked::Failed(error) => EngineError::io("lock", path)(error),
            NotLocked::Interrupted | NotLocked::TimedOut => {
                EngineError::FetchedElsewhere { build: build.clone(), timeout }
            }
        })?;
        Ok(FetchLock { _lock: lock })
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
        let Ok(file) = open_lock(&engine_directory.join(format!("{name}{LOCK_SUFFIX}"))) else { continue };
        if let Ok(_lock) = FileLock::attempt(file) {
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
        let scratch = Scratch(self.engine_directory.join(format!("{SCRATCH_PREFIX}{version}")));
        remove_marked_dir(&scratch.0)?;
        create_marked_dir(&scratch.0)?;
        let fresh = scratch.0.join("build");
        create_marked_dir(&fresh)?;
        let places = Places { scratch: &scratch.0, fresh: &fresh };
        let record = match self.source {
            EngineSource::Library(library) => self.library(library, places, progress)?,
            EngineSource::Server(server) => self.server(server, places, progress)?,
            EngineSource::Program(program) => return Err(own::not_installed(self.build, program)),
        };
        record.write(&fresh)?;
        let place = self.engine_directory.join(version);
        let write = EngineError::io("write", &place);
        disk::sync_file_system(&fresh).map_err(&write)?;
        remove_marked_dir(&place)?;
        fs::rename(&fresh, &place).and_then(|()| disk::sync_directory(self.engine_directory)).map_err(write)
    }

    fn library(
        &self,
        source: &LibrarySource,
        places: Places<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<BuildRecord, EngineError> {
        let arch = source.maven.arch.get(self.arch).ok_or_else(|| EngineError::NotForThisCpu {
            engine: source.engine.clone(),
            arch: self.arch.to_owned(),
        })?;
        let candidates = Artifact::candidates(&source.maven, &self.build.version, &arch.classifiers);
        let library = places.fresh.join(LIBRARY_FILE);
        let mut without_library = None;
        for artifact in &candidates {
            let coordinates = artifact.coordinates();
            let Some(jar) = self.jar(artifact, places.scratch, progress)? else { continue };
            let archive = self.archive_record(&jar, &coordinates, Client::Maven)?;
            let extraction =
                Extraction { jar: &jar, coordinates: &coordinates, wanted: &arch.library, to: &library };
            match jar::extract(&extraction) {
                Ok(()) => {
                    unpack::set_modes(places.fresh)?;
                    return self.library_record(source, &library, coordinates, archive);
                }
                Err(error @ EngineError::NotInJar { .. }) => without_library = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(without_library.unwrap_or_else(|| self.not_published(Client::Maven, &candidates)))
    }

    /// The jar of an artifact, below `directory`; none where there is no such artifact.
    pub(super) fn jar(
        &self,
        artifact: &Artifact,
        directory: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<PathBuf>, EngineError> {
        let coordinates = artifact.coordinates();
        progress(&format!("{}: fetching {coordinates}", self.build));
        match maven::copy(&self.programs.runner(Client::Maven), self.build, artifact, directory)? {
            Copied::Jar(jar) => Ok(Some(jar)),
            Copied::NotThere => {
                progress(&format!("{}: there is no {coordinates}", self.build));
                Ok(None)
            }
        }
    }

    /// What is noted of an archive that is not kept.
    ///
    /// # Errors
    /// It is not the one that the engine file lists for the release: nothing of it is to be unpacked.
    pub(super) fn archive_record(
        &self,
        path: &Path,
        coordinates: &str,
        client: Client,
    ) -> Result<JarRecord, EngineError> {
        let (sha256, size) = sha256::of_file(path)?;
        match self.listed_sha256 {
            Some(listed) if listed != sha256 => Err(EngineError::OtherArchive {
                build: self.build.clone(),
                coordinates: coordinates.into(),
                found: sha256.into(),
                listed: listed.into(),
                again: client.again(),
            }),
            Some(_) | None => Ok(JarRecord { sha256, size: Bytes(size) }),
        }
    }

    /// The error where none of these is there.
    pub(super) fn not_published(&self, client: Client, candidates: &[Artifact]) -> EngineError {
        EngineError::NotPublished {
            build: self.build.clone(),
            client,
            tried: candidates.iter().map(Artifact::coordinates).collect::<Vec<_>>().join(", "),
        }
    }

    fn library_record(
        &self,
        source: &LibrarySource,
        library: &Path,
        coordinates: String,
        archive: JarRecord,
    ) -> Result<BuildRecord, EngineError> {
        let compilers = elf::check_library(library, source, self.arch)?;
        let (sha256, size) = sha256::of_file(library)?;
        Ok(BuildRecord {
            schema: SCHEMA,
            reference: self.build.clone(),
            library: PathBuf::from(LIBRARY_FILE),
            sha256,
            size: Bytes(size),
            server: None,
            loader: None,
            source: BuildSource::Published { coordinates },
            compilers,
            jar: Some(archive),
            packages: Vec::new(),
            code: None,
            probe: None,
            made: None,
        })
    }
}

/// Where a fetch works.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    /// Scratch that is deleted in the end.
    pub scratch: &'a Path,
    /// What becomes the build's directory.
    pub fresh: &'a Path,
}
