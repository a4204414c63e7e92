//! An engine build: the exact binary under test and what is known of how it was made.

use crate::subject::BuildRef;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One binary, identified by its checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineBuild {
    /// How the user names it.
    pub reference: BuildRef,
    /// The shared library that the worker loads.
    pub library: PathBuf,
    /// SHA-256 of the library, 64 hexadecimal digits.
    pub sha256: String,
    /// Size of the library.
    pub size: Bytes,
    /// Where it came from.
    pub source: BuildSource,
    /// Compiler stamps of the library's `.comment` section, in file order; empty where it is stripped.
    pub compilers: Vec<String>,
    /// What the build said of itself when it was opened for the first time; absent until then.
    pub probe: Option<BuildProbe>,
}

/// Where a build came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BuildSource {
    /// A published artifact.
    Published {
        /// Maven coordinates, `group:artifact:version[:packaging:classifier]`.
        coordinates: String,
    },
    /// A user's own build, made known by `engine add`.
    Own {
        /// The path as it was given.
        path: PathBuf,
    },
}

/// What a build says of itself: found by opening an empty database with no option set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildProbe {
    /// The OPTIONS file that the build wrote, verbatim: its own defaults.
    pub default_options: String,
    /// Facts from its LOG: `version`, `git`, `compile date`, `fast crc32`.
    pub facts: BTreeMap<String, String>,
    /// Optional symbols of the C API that this build has not.
    pub missing_symbols: Vec<String>,
}
