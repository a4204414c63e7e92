//! What can go wrong with engine builds, each as one sentence with the object and the next step.

use super::client::Client;
use crate::marked_dir::MarkedDirError;
use crate::server::elsewhere::PasswordError;
use model::config::ConfigError;
use model::subject::{BuildRef, SubjectError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why an engine build cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An engine that no file describes.
    #[error("unknown engine `{engine}`{hint}; `dbdyno engine list` shows those there are")]
    UnknownEngine {
        /// What was asked for.
        engine: String,
        hint: String,
    },
    /// Neither a published release nor one of the user's own.
    #[error(
        "{engine} has no release `{version}`{hint}; `dbdyno engine list` shows those there are, \
         `dbdyno engine add NAME PATH` makes your own build known"
    )]
    UnknownRelease {
        engine: String,
        /// What was asked for.
        version: String,
        hint: String,
    },
    /// A configuration that the engine does not have.
    #[error("{engine} has no configuration `{config}`{hint}; there are {known}")]
    UnknownConfig {
        engine: String,
        /// What was asked for.
        config: String,
        hint: String,
        known: String,
    },
    /// An engine file that is not TOML or not of the right form.
    #[error("failed to parse the engine file `{origin}`")]
    EngineFile {
        /// The file, or `embedded:NAME`.
        origin: String,
        /// Line, column and caret.
        source: Box<toml::de::Error>,
    },
    /// An engine file that contradicts itself.
    #[error("engine file `{origin}`: {problem}")]
    EngineFileInvalid { origin: String, problem: String },
    /// A configuration file that cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A configuration file for an engine that no file describes.
    #[error(
        "configuration file `{origin}` is for the engine `{engine}`, which no engine file describes{hint}"
    )]
    ConfigOfUnknownEngine { origin: String, engine: String, hint: String },
    /// The publisher has no builds for this CPU.
    #[error("{engine} is not published for {arch}; build it and use `dbdyno engine add NAME PATH`")]
    NotForThisCpu {
        engine: String,
        /// The CPU of this machine.
        arch: String,
    },
    /// A release that no source has for this CPU.
    #[error(
        "{build} is not published for {arch}; build it and use `dbdyno engine add {engine}@NAME PATH`",
        engine = .build.engine
    )]
    ReleaseNotForThisCpu {
        /// What was to be fetched.
        build: BuildRef,
        /// The CPU of this machine.
        arch: String,
    },
    /// The client of a registry is not installed.
    #[error(
        "cannot fetch {build}: there is no `{}` to run; {}, or build the release yourself and use \
         `dbdyno engine add NAME PATH`", .program.display(), .client.install()
    )]
    NoClient {
        /// What was to be fetched.
        build: BuildRef,
        client: Client,
        /// The program that was looked for.
        program: PathBuf,
    },
    /// A client could not reach its repository.
    #[error(
        "cannot fetch {build}: {client} cannot reach its repository ({message}); check the network, or {}",
        .client.settings()
    )]
    Unreachable {
        /// What was to be fetched.
        build: BuildRef,
        client: Client,
        message: String,
    },
    /// None of the artifacts is there.
    #[error(
        "cannot fetch {build}: the repository of {client} has none of {tried}; if a mirror is set in {} it may \
         not carry them, else build the release yourself and use `dbdyno engine add NAME PATH`",
        .client.settings()
    )]
    NotPublished {
        /// What was to be fetched.
        build: BuildRef,
        client: Client,
        /// Coordinates that were tried.
        tried: String,
    },
    /// The Debian mirror has moved on, or never had it.
    #[error(
        "cannot fetch {build}: the Debian mirror of this host has no {coordinates} ({message}); a mirror drops a \
         version when a later one comes: copy `{}` from the work directory of a host that fetched it, or take \
         another release (`dbdyno engine list`)", .archives.display()
    )]
    LeftMirror {
        /// What was to be fetched.
        build: BuildRef,
        /// Suite, packages and version.
        coordinates: Box<str>,
        message: Box<str>,
        /// Where archives are kept.
        archives: PathBuf,
    },
    /// The host's apt has no Debian among its sources.
    #[error(
        "cannot fetch {build}: no source of Debian's own packages is set in `{}`; add one (its suite does not \
         matter), or build the release yourself and use `dbdyno engine add NAME PATH`", .directory.display()
    )]
    NoDebianMirror {
        /// What was to be fetched.
        build: BuildRef,
        /// Where sources were looked for.
        directory: PathBuf,
    },
    /// A client failed for another reason.
    #[error("cannot fetch {build}: {client} failed ({message}); `{command}` by hand tells more")]
    ClientFailed {
        /// What was to be fetched.
        build: BuildRef,
        client: Client,
        message: String,
        /// The command, for the user to repeat.
        command: String,
    },
    /// A client did not come to an end.
    #[error(
        "cannot fetch {build}: {client} was stopped after {} s; check the network and try again",
        .bound.as_secs()
    )]
    ClientTimedOut {
        /// What was to be fetched.
        build: BuildRef,
        client: Client,
        /// How long it was waited for.
        bound: Duration,
    },
    /// Another process is at it for too long.
    #[error(
        "another process has been fetching {build} for more than {} s; wait for it or end it, then try again",
        .bound.as_secs()
    )]
    FetchedElsewhere {
        /// What was to be fetched.
        build: BuildRef,
        /// How long it was waited for.
        bound: Duration,
    },
    /// The jar is cut short or no jar.
    #[error(
        "the jar of {coordinates} is damaged ({problem}); delete it from Maven's local repository \
         (~/.m2/repository) and fetch again"
    )]
    JarDamaged { coordinates: String, problem: String },
    /// What was published is cut short or no archive.
    #[error("the archive of {coordinates} is damaged ({problem}); {again}")]
    ArchiveDamaged {
        /// Where it came from.
        coordinates: String,
        problem: String,
        again: &'static str,
    },
    /// The files below a directory are not those of the server.
    #[error("`{}` is no {engine}: it has no {missing}; {}", .root.display(), next_for_server(*.own))]
    NotAServer {
        root: PathBuf,
        engine: String,
        /// What was looked for.
        missing: String,
        /// Whether the user gave it.
        own: bool,
    },
    #[error("`{}` is no program that can be run here ({problem}); give the install prefix of a build", .path.display())]
    NotAProgram { path: PathBuf, problem: String },
    /// The jar does not hold what is wanted.
    #[error(
        "the jar of {coordinates} has no `{wanted}`, only {found}; build the release yourself and use \
         `dbdyno engine add NAME PATH`"
    )]
    NotInJar {
        coordinates: String,
        /// The file or directory that was looked for.
        wanted: String,
        /// The libraries and archives that are there.
        found: String,
    },
    /// Not a shared library.
    #[error("`{}` is not an ELF shared library ({problem}); give the path of a `{example}`", .path.display())]
    NotALibrary {
        path: PathBuf,
        problem: String,
        /// The usual name of the engine's library.
        example: String,
    },
    /// A shared library of another machine.
    #[error(
        "`{}` is a library for {found}, this machine is {wanted}; give a build for {wanted}",
        .path.display()
    )]
    OtherCpu {
        path: PathBuf,
        /// The CPU it is for.
        found: String,
        /// The CPU of this machine.
        wanted: String,
    },
    /// A shared library of something else.
    #[error(
        "`{}` does not export `{symbol}`, so it is no library of {engine} with its C API; give one that was \
         built with the C API visible", .path.display()
    )]
    NoEntrySymbol {
        path: PathBuf,
        /// What was looked for.
        symbol: String,
        engine: String,
    },
    /// The library in the cache is not the one that was fetched.
    #[error(
        "`{}` is not what was fetched for {build} (its SHA-256 is {found}, was {recorded}); \
         `dbdyno engine fetch {build}` fetches it again", .path.display()
    )]
    WrongChecksum { build: BuildRef, path: PathBuf, found: String, recorded: String },
    /// The record beside the library cannot be read.
    #[error("the record `{}` is damaged; `dbdyno engine {again}` writes it anew", .path.display())]
    RecordDamaged {
        /// `build.json`
        path: PathBuf,
        /// The arguments that mend it.
        again: String,
        source: serde_json::Error,
    },
    /// A name that cannot be given to one's own build.
    #[error("`{name}` cannot be the name of your own build: {why}")]
    BadName {
        name: String,
        /// What is wrong with it and what would be right.
        why: String,
    },
    /// A name of one's own that became a release.
    #[error(
        "{build} is a published release, but {own} was added under this name before it was; \
         add it again under another name, then delete `{}`", .directory.display()
    )]
    OwnBuildHidesRelease {
        build: BuildRef,
        /// Your own build, or the server, in words.
        own: String,
        /// The directory of its record.
        directory: PathBuf,
    },
    /// A server that speaks something else than its engine.
    #[error("{build} does not speak {dialect}; give it the name of an engine that does, like {dialect}@NAME")]
    OtherDialect {
        build: BuildRef,
        /// What the address says that it speaks.
        dialect: &'static str,
    },
    /// The password of a server elsewhere cannot be had.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// A text that is no build.
    #[error(transparent)]
    Reference(#[from] SubjectError),
    /// The path given for one's own build is not there.
    #[error("`{}` is not there; give the library or the build directory that holds it", .path.display())]
    NoSuchPath { path: PathBuf },
    /// One's own build is gone since it was added.
    #[error(
        "the library of {build} is gone: `{}` does not hold it any more; build it again, or \
         `dbdyno engine add {build} PATH` with its new place", .path.display()
    )]
    OwnBuildGone {
        build: BuildRef,
        /// The path that was given.
        path: PathBuf,
    },
    /// A build directory without a library.
    #[error(
        "`{}` holds no {patterns}; build the shared library (RocksDB: `make shared_lib`), or give its path",
        .path.display()
    )]
    NoLibraryInDirectory {
        path: PathBuf,
        /// What was looked for.
        patterns: String,
    },
    /// A build directory with several libraries.
    #[error("`{}` holds several libraries ({found}); give the path of the one you mean", .path.display())]
    SeveralLibraries { path: PathBuf, found: String },
    /// The build was not fetched, or was changed meanwhile, so nothing can be noted of it.
    #[error("{build} is not in the cache as it was when it was probed; try again")]
    ProbeOfAnother { build: BuildRef },
    /// A directory of ours that is not ours.
    #[error(transparent)]
    MarkedDir(MarkedDirError),
    #[error("the disk of `{}` is full; make room or choose another --work-dir", .path.display())]
    DiskFull {
        /// The file that was being written.
        path: PathBuf,
    },
    /// No right.
    #[error(
        "no permission to {action} `{}`; change its permissions, or choose another --work-dir if it \
         is in there",
        .path.display()
    )]
    NoPermission {
        /// `read`, `write`.
        action: &'static str,
        path: PathBuf,
    },
    /// The system refused for another reason.
    #[error("failed to {action} `{}`", .path.display())]
    Io {
        /// `read`, `write`.
        action: &'static str,
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn next_for_server(own: bool) -> &'static str {
    match own {
        true => "give the install prefix, the directory that `make install` wrote",
        false => "what is published has another form by now: take another release (`dbdyno engine list`)",
    }
}

impl EngineError {
    /// Whether the user named something that cannot be: another name or path helps, trying again does not.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            EngineError::UnknownEngine { .. }
                | EngineError::UnknownRelease { .. }
                | EngineError::UnknownConfig { .. }
                | EngineError::EngineFile { .. }
                | EngineError::EngineFileInvalid { .. }
                | EngineError::Config(_)
                | EngineError::ConfigOfUnknownEngine { .. }
                | EngineError::NotALibrary { .. }
                | EngineError::NotAProgram { .. }
                | EngineError::NotAServer { own: true, .. }
                | EngineError::OtherCpu { .. }
                | EngineError::NoEntrySymbol { .. }
                | EngineError::BadName { .. }
                | EngineError::OwnBuildHidesRelease { .. }
                | EngineError::OtherDialect { .. }
                | EngineError::Password(_)
                | EngineError::Reference(_)
                | EngineError::NoSuchPath { .. }
                | EngineError::NoLibraryInDirectory { .. }
                | EngineError::SeveralLibraries { .. }
        )
    }

    /// What the system said, as an error that names the path and the next step.
    pub(super) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> EngineError {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                EngineError::DiskFull { path: path.to_owned() }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                EngineError::NoPermission { action, path: path.to_owned() }
            }
            _ => EngineError::Io { action, path: path.to_owned(), source },
        }
    }
}

impl From<MarkedDirError> for EngineError {
    fn from(error: MarkedDirError) -> Self {
        match error {
            MarkedDirError::Io { action, path, source } => EngineError::io(action, &path)(source),
            other @ (MarkedDirError::NotOurs { .. } | MarkedDirError::NotADirectory { .. }) => {
                EngineError::MarkedDir(other)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_missing_right_name_the_path_and_the_way_out() {
        let check = |kind: io::ErrorKind, expected: &str| {
            let error = EngineError::io("write", Path::new("/cache/x"))(io::Error::from(kind));
            assert_eq!(error.to_string(), expected);
        };
        check(
            io::ErrorKind::StorageFull,
            "the disk of `/cache/x` is full; make room or choose another --work-dir",
        );
        check(
            io::ErrorKind::PermissionDenied,
            "no permission to write `/cache/x`; change its permissions, or choose another --work-dir if it \
             is in there",
        );
        check(io::ErrorKind::NotFound, "failed to write `/cache/x`");
    }
}
