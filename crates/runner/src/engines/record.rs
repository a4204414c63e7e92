//! `build.json`: what is known of a build, beside its library or, for one's own build, in place of it.

use super::error::EngineError;
use model::build::{BuildProbe, BuildSource, EngineBuild};
use model::subject::BuildRef;
use model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The name of the record in a build's directory.
pub(super) const RECORD_FILE: &str = "build.json";

/// The name of a fetched library in its build's directory.
pub(super) const LIBRARY_FILE: &str = "library.so";

/// Raised when a reader could no longer make sense of an older record.
const SCHEMA: u32 = 1;

/// The jar that a published build came in; it is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JarRecord {
    /// SHA-256 of the jar, 64 hexadecimal digits.
    pub sha256: String,
    /// Size of the jar.
    pub size: Bytes,
}

/// The file behind an [`EngineBuild`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BuildRecord {
    /// The form of the file.
    schema: u32,
    /// How the user names it.
    pub reference: BuildRef,
    /// The library: relative to the record where it was fetched, so that the cache can be moved; absolute
    /// where it is the user's own.
    pub library: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
    /// Its size.
    pub size: Bytes,
    /// Where it came from.
    pub source: BuildSource,
    /// Compiler stamps.
    pub compilers: Vec<String>,
    /// The jar it was in.
    pub jar: Option<JarRecord>,
    /// What it said of itself.
    pub probe: Option<BuildProbe>,
}

/// What is known of a library when its record is made.
pub(super) struct Facts {
    /// How the user names it.
    pub reference: BuildRef,
    /// See [`BuildRecord::library`].
    pub library: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
    /// Where it came from.
    pub source: BuildSource,
    /// Compiler stamps.
    pub compilers: Vec<String>,
    /// The jar it was in.
    pub jar: Option<JarRecord>,
}

impl BuildRecord {
    /// A record of a library that was never opened.
    pub(super) fn new(facts: Facts) -> BuildRecord {
        BuildRecord {
            schema: SCHEMA,
            reference: facts.reference,
            library: facts.library,
            sha256: facts.sha256,
            size: Bytes(facts.size),
            source: facts.source,
            compilers: facts.compilers,
            jar: facts.jar,
            probe: None,
        }
    }

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
        let written = serde_json::to_string_pretty(self).map_err(io::Error::from).and_then(|text| {
            let mut file = File::create(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&fresh, &path)
        });
        written.map_err(|error| {
            // Best effort: the first error is the one to tell.
            let _ = fs::remove_file(&fresh);
            EngineError::io("write", &path)(error)
        })
    }

    /// The build, with the place of its library.
    pub(super) fn into_build(self, directory: &Path) -> EngineBuild {
        EngineBuild {
            library: directory.join(&self.library), // an absolute path stays as it is
            reference: self.reference,
            sha256: self.sha256,
            size: self.size,
            source: self.source,
            compilers: self.compilers,
            probe: self.probe,
        }
    }
}
