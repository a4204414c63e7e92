//! An engine build: the exact binary under test and what is known of how it was made.

use crate::elsewhere::ServerElsewhere;
use crate::subject::BuildRef;
use crate::units::{Bytes, Nanos};
use crate::workload::sql::Dialect;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One binary, identified by its checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineBuild {
    /// How the user names it.
    pub reference: BuildRef,
    /// The shared library that the worker loads, or the program of a server. No file of a server elsewhere is known:
    /// then this is empty, as are its checksum and size, and not written.
    #[serde(default, skip_serializing_if = "is_empty_path")]
    pub library: PathBuf,
    /// SHA-256 of that file, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sha256: String,
    #[serde(default, skip_serializing_if = "is_no_size")]
    pub size: Bytes,
    /// What else belongs to a server that we start; absent where a library is loaded.
    #[serde(default)]
    pub server: Option<ServerFiles>,
    /// Where it came from.
    pub source: BuildSource,
    /// Compiler stamps of the file's `.comment` section, in file order; empty where it is stripped.
    pub compilers: Vec<String>,
    /// What the build said of itself when it was opened for the first time; absent until then.
    pub probe: Option<BuildProbe>,
    /// How `engine build` made it; absent of all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Box<Made>>,
}

fn is_empty_path(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

fn is_no_size(size: &Bytes) -> bool {
    size.0 == 0
}

impl EngineBuild {
    /// The server that it is, where it runs already and is not ours.
    pub fn elsewhere(&self) -> Option<&ServerElsewhere> {
        match &self.source {
            BuildSource::Elsewhere { server, .. } => Some(server),
            BuildSource::Published { .. } | BuildSource::Own { .. } | BuildSource::Installed { .. } => None,
        }
    }

    /// The release that configurations have options for: what its sources say, `15` of `15beta2`, else its name.
    pub fn release(&self) -> &str {
        let name = &self.reference.version;
        let Some(version) = self.made.as_ref().and_then(|made| made.version.as_deref()) else { return name };
        let end = version.find(|character: char| !character.is_ascii_digit() && character != '.');
        match &version[..end.unwrap_or(version.len())] {
            "" => name,
            release => release,
        }
    }

    /// The checksum of its file, where there is a file.
    pub fn checksum(&self) -> Option<&str> {
        (!self.sha256.is_empty()).then_some(self.sha256.as_str())
    }

    /// The size of its file, where there is a file.
    pub fn file_size(&self) -> Option<Bytes> {
        self.checksum().map(|_| self.size)
    }
}

/// How `engine build` made a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The repository, directory or archive.
    pub source: PathBuf,
    /// Whether it is a commit of a repository.
    pub is_commit: bool,
    /// The commit, or the SHA-256 of what was in the directory or archive.
    pub id: String,
    /// The first line of the commit's message, or the name of the file.
    pub summary: String,
    /// A recipe and variants: `configure`, `configure,lto`.
    pub recipe: String,
    /// All settings by name, those too that nobody set.
    pub settings: BTreeMap<String, String>,
    /// The first line of what the compiler says of its version.
    pub compiler: Option<String>,
    /// Flags that all code should have been compiled with.
    pub flags: Vec<String>,
    /// The version that the sources say they are; absent if the recipe does not know where that stands.
    pub version: Option<String>,
    /// Of the flags those that some of the code was compiled without, by what the compiler wrote into the file.
    pub ignored: Vec<String>,
}

impl Made {
    /// `configure,lto by gcc (Debian 12.2.0-14) 12.2.0: lto yes, optimisation -O2`
    pub fn shown(&self) -> String {
        let compiler = self.compiler.as_deref().map(|one| format!(" by {one}")).unwrap_or_default();
        let settings: Vec<String> =
            self.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let settings = if settings.is_empty() { String::new() } else { format!(": {}", settings.join(", ")) };
        format!("{}{compiler}{settings}", self.recipe)
    }
}

/// The files of a server beside its program. Absolute paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFiles {
    pub dialect: Dialect,
    /// The directory that all of it is in.
    pub root: PathBuf,
    /// How a data directory is made.
    pub initialise: Initialise,
    /// `share`: messages (`errmsg.sys` is in a directory of its language below it), and what else is there.
    pub share: PathBuf,
    /// The directory of character sets, where the server has to be told.
    pub character_sets: Option<PathBuf>,
    /// The directory of plugins, where the server has to be told.
    pub plugins: Option<PathBuf>,
    /// Directories of libraries that the program needs, for LD_LIBRARY_PATH; empty where it finds them itself.
    pub libraries: Vec<PathBuf>,
    /// The storage engine of the tables that are made, where the dialect has a choice: `InnoDB`, `ROCKSDB`.
    pub storage: Option<String>,
    /// Arguments without which this build does not start: `--plugin-load-add=ha_rocksdb.so`, `--mysqlx=OFF`.
    pub arguments: Vec<String>,
}

/// How the data directory of a server is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Initialise {
    /// By a program beside the server: Postgres.
    Initdb {
        /// `bin/initdb`
        program: PathBuf,
    },
    /// By the server itself: MySQL from 5.7 on.
    InitializeInsecure,
    /// By a copy of a directory that came with it: MySQL 5.6.
    CopyOf { directory: PathBuf },
    /// By the server itself, when it starts in an empty directory: MongoDB.
    EmptyDirectory,
    /// By SQL scripts that the server reads in bootstrap mode: MariaDB.
    Bootstrap {
        /// The scripts, in their order.
        scripts: Vec<PathBuf>,
    },
}

/// Where a build came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BuildSource {
    Published {
        /// Where: Maven coordinates, `group:artifact:version[:packaging:classifier]`; else `npm:name@version` or
        /// `deb:suite/package=version`.
        coordinates: String,
    },
    /// A user's own build, made known by `engine add`.
    Own {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A program of the host, found on its search path.
    Installed { path: PathBuf },
    /// A server that runs already and is not ours, made known by `engine add`.
    Elsewhere {
        server: ServerElsewhere,
        /// What others asked of it in [`OTHERS_WATCHED`] before the run; absent where nobody looked.
        #[serde(default)]
        statements_of_others: Option<u64>,
    },
}

/// How long it is looked whether a server elsewhere has other clients.
pub const OTHERS_WATCHED: Nanos = Nanos::from_secs(2);

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

#[cfg(test)]
mod tests {
    use super::*;

    fn release_of(name: &str, version: Option<&str>) -> String {
        let made = version.map(|version| {
            Box::new(Made {
                is_commit: true,
                source: PathBuf::from("/src"),
                id: "a".repeat(40),
                summary: String::new(),
                recipe: "make".to_owned(),
                settings: BTreeMap::new(),
                compiler: None,
                flags: Vec::new(),
                version: Some(version.to_owned()),
                ignored: Vec::new(),
            })
        });
        let build = EngineBuild {
            reference: BuildRef { engine: "postgres".to_owned(), version: name.to_owned() },
            library: PathBuf::new(),
            sha256: String::new(),
            size: Bytes(0),
            server: None,
            source: BuildSource::Own { path: PathBuf::new() },
            compilers: Vec::new(),
            probe: None,
            made,
        };
        build.release().to_owned()
    }

    #[test]
    fn the_release_is_what_the_sources_say_else_the_name() {
        assert_eq!(release_of("16.3", None), "16.3");
        assert_eq!(release_of("mine", Some("15.7")), "15.7");
        assert_eq!(release_of("mine", Some("18devel")), "18");
        assert_eq!(release_of("mine", Some("devel")), "mine");
    }
}
