//! `build.json`: what is known of a build, beside its library or, for one's own build, in place of it.

use super::code::CodeFile;
use super::disk;
use super::error::EngineError;
use super::loader;
use model::build::{BuildProbe, BuildSource, EngineBuild, Initialise, Made, ServerFiles};
use model::subject::BuildRef;
use model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The name of the record in a build's directory.
pub(super) const RECORD_FILE: &str = "build.json";

/// The name of a fetched library in its build's directory.
pub(super) const LIBRARY_FILE: &str = "library.so";

/// Raised when a reader could no longer make sense of an older record.
pub(super) const SCHEMA: u32 = 1;

/// The directory of a fetched server in its build's directory.
pub(super) const SERVER_DIRECTORY: &str = "files";

/// The jar, or npm's archive, that a published build came in; it is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JarRecord {
    /// Its SHA-256, 64 hexadecimal digits.
    pub sha256: String,
    pub size: Bytes,
}

/// A Debian package that a published build came in; its archive is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// `libc6`
    pub name: String,
    /// `2.36-9+deb12u10`
    pub version: String,
    /// SHA-256 of its archive, 64 hexadecimal digits.
    pub sha256: String,
}

/// The file behind an [`EngineBuild`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BuildRecord {
    /// The form of the file: [`SCHEMA`].
    pub schema: u32,
    /// How the user names it.
    pub reference: BuildRef,
    /// The library, or the program of a server as it was published: relative to the record where it was fetched, so that the cache can be moved; absolute
    /// where it is the user's own.
    pub library: PathBuf,
    pub sha256: String,
    pub size: Bytes,
    /// What else belongs to a server; paths as that of the library.
    #[serde(default)]
    pub server: Option<ServerFiles>,
    /// The dynamic loader that the program of a server is started with, where it brings its own; relative. What is
    /// started is then the copy that [`loader`] makes.
    #[serde(default)]
    pub loader: Option<PathBuf>,
    /// Where it came from.
    pub source: BuildSource,
    pub compilers: Vec<String>,
    pub jar: Option<JarRecord>,
    /// The packages it was in.
    #[serde(default)]
    pub packages: Vec<PackageRecord>,
    /// The files of a fetched server that are loaded as code; absent in records of before 2026-11-24, and in those of libraries,
    /// which are one file.
    #[serde(default)]
    pub code: Option<Vec<CodeFile>>,
    /// What it said of itself; absent where it was never opened.
    pub probe: Option<BuildProbe>,
    /// How `engine build` made it.
    #[serde(default)]
    pub made: Option<Box<Made>>,
}

impl BuildRecord {
    /// The same record with what the build said of itself.
    pub(super) fn with_probe(self, probe: Option<BuildProbe>) -> BuildRecord {
        BuildRecord { probe, ..self }
    }

    /// The record in a build's directory; none where there is no such directory or no record in it. `again`
    /// is what mends a damaged one: arguments of `dbdyno engine`.
    pub(super) fn read(directory: &Path, again: &str) -> Result<Option<BuildRecord>, EngineError> {
        let path = directory.join(RECORD_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(EngineError::io("read", &path)(error)),
        };
        let damaged = |source| EngineError::RecordDamaged { path, again: again.to_owned(), source };
        match serde_json::from_str::<BuildRecord>(&text) {
            Ok(record) if record.schema == SCHEMA => Ok(Some(record)),
            Ok(record) => Err(damaged(serde::de::Error::custom(format!(
                "its form is {}, this version of dbdyno reads {SCHEMA}",
                record.schema
            )))),
            Err(error) => Err(damaged(error)),
        }
    }

    /// Writes the record in one step: a reader sees the old or the new one.
    pub(super) fn write(&self, directory: &Path) -> Result<(), EngineError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = directory.join(RECORD_FILE);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let fresh = directory.join(format!(".{RECORD_FILE}.new-{}-{number}", std::process::id()));
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        let written = text.and_then(|text| disk::replace_file(&path, &fresh, &(text + "\n")));
        written.map_err(EngineError::io("write", &path))
    }

    /// What it is, where the user made it known: a library of theirs, or a server elsewhere.
    pub(super) fn shown_source(&self) -> String {
        match &self.source {
            BuildSource::Elsewhere { server, .. } => format!("the server `{server}`"),
            BuildSource::Published { .. } | BuildSource::Own { .. } | BuildSource::Installed { .. } => {
                format!("your own build `{}`", self.library.display())
            }
        }
    }

    /// The build, with the place of its library.
    pub(super) fn into_build(self, directory: &Path) -> EngineBuild {
        EngineBuild {
            library: match (&self.loader, &self.source) {
                (Some(_), _) => loader::copy_of(&self.library, directory),
                (None, BuildSource::Elsewhere { .. }) => PathBuf::new(),
                (
                    None,
                    BuildSource::Published { .. } | BuildSource::Own { .. } | BuildSource::Installed { .. },
                ) => {
                    directory.join(&self.library) // an absolute path stays as it is
                }
            },
            server: self.server.map(|files| below(files, directory)),
            reference: self.reference,
            sha256: self.sha256,
            size: self.size,
            source: self.source,
            compilers: self.compilers,
            probe: self.probe,
            made: self.made,
        }
    }
}

/// The files of a server, relative paths taken as below `directory`.
pub(super) fn below(files: ServerFiles, directory: &Path) -> ServerFiles {
    let below = |path: PathBuf| directory.join(path);
    ServerFiles {
        root: below(files.root),
        share: below(files.share),
        character_sets: files.character_sets.map(below),
        plugins: files.plugins.map(below),
        libraries: files.libraries.into_iter().map(below).collect(),
        initialise: match files.initialise {
            Initialise::Initdb { program } => Initialise::Initdb { program: below(program) },
            Initialise::InitializeInsecure => Initialise::InitializeInsecure,
            Initialise::EmptyDirectory => Initialise::EmptyDirectory,
            Initialise::CopyOf { directory: from } => Initialise::CopyOf { directory: below(from) },
            Initialise::Bootstrap { scripts } => {
                Initialise::Bootstrap { scripts: scripts.into_iter().map(below).collect() }
            }
        },
        dialect: files.dialect,
        storage: files.storage,
        arguments: files.arguments,
    }
}
