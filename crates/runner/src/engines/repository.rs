//! `repository.json`: where an engine's commits are, and how they are built, beside its builds in the cache.

use super::disk;
use super::error::EngineError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = "repository.json";

/// A git repository of an engine, made known by `engine add ENGINE --git DIR`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Absolute.
    pub path: PathBuf,
    /// Recipes and variants that its commits are built by; the first recipe that fits if there is none.
    pub recipe: Vec<String>,
    /// Settings, `lto=yes`.
    pub set: Vec<String>,
    /// A build that takes longer is ended; the default of all builds if absent.
    #[serde(default)]
    pub timeout: Option<Duration>,
}

impl Repository {
    /// That of an engine; none if nobody named one.
    pub(super) fn read(engine_directory: &Path) -> Result<Option<Repository>, EngineError> {
        let path = engine_directory.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(EngineError::io("read", &path)(error)),
        };
        let parsed = serde_json::from_str(&text).map_err(io::Error::from);
        parsed.map(Some).map_err(EngineError::io("read", &path))
    }

    /// In one step: a reader sees the old or the new one.
    pub(super) fn write(&self, engine_directory: &Path) -> Result<(), EngineError> {
        let path = engine_directory.join(FILE);
        let fresh = engine_directory.join(format!(".{FILE}.new-{}", std::process::id()));
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        let written = text.and_then(|text| disk::replace_file(&path, &fresh, &(text + "\n")));
        written.map_err(EngineError::io("write", &path))
    }
}
