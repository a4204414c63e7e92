//! What can go wrong with engine builds, each as one sentence with the object and the next step.

use super::archive_limits::TooMuch;
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
    #[error("unknown engine `{engine}`{hint}; `dbdyno engine list` shows those there are")]
    UnknownEngine { engine: String, hint: String },
    #[error(
        "{engine} has no release `{version}`{hint}; `dbdyno engine list` shows those there are, \
         `dbdyno engine add NAME PATH` makes your own build known"
    )]
    UnknownRelease { engine: String, version: String, hint: String },
    #[error("{engine} has no configuration `{config}`{hint}; there are {known}")]
    UnknownConfig { engine: String, config: String, hint: String, known: String },
    #[error("failed to parse the engine file `{origin}`")]
    EngineFile {
        /// The file, or `embedded:NAME`.
        origin: String,
        source: Box<toml::de::Error>,
    },
    #[error("engine file `{origin}`: {problem}")]
    EngineFileInvalid { origin: String, problem: String },
    /// A configuration file that cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(
        "configuration file `{origin}` is for the engine `{engine}`, which no engine file describes{hint}"
    )]
    ConfigOfUnknownEngine { origin: String, engine: String, hint: String },
    #[error(
        "{build} cannot be had: this host has no program `{program}`; install the package {package}, or make one of your own \
         known by `dbdyno engine add {engine}@NAME PATH`", engine = .build.engine
    )]
    NotInstalled { build: BuildRef, program: Box<str>, package: Box<str> },
    #[error("{engine} is not published for {arch}; build it and use `dbdyno engine add NAME PATH`")]
    NotForThisCpu { engine: String, arch: String },
    #[error(
        "{build} is not published for {arch}; build it and use `dbdyno engine add {engine}@NAME PATH`",
        engine = .build.engine
    )]
    ReleaseNotForThisCpu { build: BuildRef, arch: String },
    #[error(
        "`{}` says that it is `{said}`, but its sources are of {wanted}: something of another build was left; \
         remove its directory below `builds` in the work directory and build again", .program.display()
    )]
    BuiltAnotherVersion { program: PathBuf, said: Box<str>, wanted: Box<str> },
    #[error(
        "cannot fetch {build}: there is no `{}` to run; {}, or build the release yourself and use \
         `dbdyno engine add NAME PATH`", .program.display(), .client.install()
    )]
    NoClient { build: BuildRef, client: Client, program: PathBuf },
    #[error(
        "cannot fetch {build}: {client} cannot reach its repository ({message}); check the network, or {}",
        .client.settings()
    )]
    Unreachable { build: BuildRef, client: Client, message: String },
    #[error(
        "cannot fetch {build}: the repository of {client} has none of {tried}; if a mirror is set in {} it may \
         not carry them, else build the release yourself and use `dbdyno engine add NAME PATH`",
        .client.settings()
    )]
    NotPublished { build: BuildRef, client: Client, tried: String },
    #[error(
        "cannot fetch {build}: the Debian mirror of this host has no {coordinates} ({message}); a mirror drops a \
         version when a later one comes: copy `{}` from the work directory of a host that fetched it, or take \
         another release (`dbdyno engine list`)", .archives.display()
    )]
    LeftMirror { build: BuildRef, coordinates: Box<str>, message: Box<str>, archives: PathBuf },
    #[error(
        "cannot fetch {build}: no source of Debian's own packages is set in `{}`; add one (its suite does not \
         matter), or build the release yourself and use `dbdyno engine add NAME PATH`", .directory.display()
    )]
    NoDebianMirror { build: BuildRef, directory: PathBuf },
    #[error("cannot fetch {build}: {client} failed ({message}); `{command}` by hand shows more")]
    ClientFailed { build: BuildRef, client: Client, message: String, command: String },
    #[error(
        "cannot fetch {build}: {client} was stopped after {} s; check the network and try again",
        .timeout.as_secs()
    )]
    ClientTimedOut { build: BuildRef, client: Client, timeout: Duration },
    #[error("{build} was not fetched: {client} was stopped")]
    ClientInterrupted { build: BuildRef, client: Client },
    #[error(
        "cannot fetch {build}: {client} refused what its repository gave, for it does not match the checksum or the \
         signature there ({message}); try again, and if it is refused again look at {}", .client.settings()
    )]
    Refused { build: BuildRef, client: Client, message: String },
    #[error(
        "{coordinates} is not the {build} that we tried: its SHA-256 is {found}, and should be {listed}; {again}. If that gives \
         the same file, the repository or its mirror serves something else: do not use it, and copy `engines` of the work \
         directory from a host that fetched it before"
    )]
    OtherArchive {
        build: BuildRef,
        coordinates: Box<str>,
        found: Box<str>,
        listed: Box<str>,
        again: &'static str,
    },
    #[error(
        "another process has been fetching {build} for more than {} s; wait for it or end it, then try again",
        .timeout.as_secs()
    )]
    FetchedElsewhere { build: BuildRef, timeout: Duration },
    #[error(
        "the jar of {coordinates} is damaged ({problem}); delete it from Maven's local repository \
         (~/.m2/repository) and fetch again"
    )]
    JarDamaged { coordinates: String, problem: String },
    #[error("the archive of {coordinates} is damaged ({problem}); {again}")]
    ArchiveDamaged { coordinates: String, problem: String, again: &'static str },
    #[error("{coordinates} was not unpacked: {problem}")]
    NotUnpacked { coordinates: String, problem: TooMuch },
    #[error("`{}` is no {engine}: it has no {missing}; {}", .root.display(), next_for_server(*.own))]
    NotAServer { root: PathBuf, engine: String, missing: String, own: bool },
    #[error("`{}` is no program that can be run here ({problem}); give the install prefix of a build", .path.display())]
    NotAProgram { path: PathBuf, problem: String },
    #[error(
        "the jar of {coordinates} has no `{wanted}`, only {found}; build the release yourself and use \
         `dbdyno engine add NAME PATH`"
    )]
    NotInJar { coordinates: String, wanted: String, found: String },
    #[error("`{}` is not an ELF shared library ({problem}); give the path of a `{example}`", .path.display())]
    NotALibrary { path: PathBuf, problem: String, example: String },
    #[error(
        "`{}` is a library for {found}, this machine is {wanted}; give a build for {wanted}",
        .path.display()
    )]
    OtherCpu { path: PathBuf, found: String, wanted: String },
    #[error(
        "`{}` does not export `{symbol}`, so it is no library of {engine} with its C API; give one that was \
         built with the C API visible", .path.display()
    )]
    NoEntrySymbol { path: PathBuf, symbol: String, engine: String },
    #[error(
        "`{}` is not what was fetched for {build} (its SHA-256 is {found}, was {recorded}); \
         `dbdyno engine fetch {build}` fetches it again", .path.display()
    )]
    WrongChecksum { build: BuildRef, path: PathBuf, found: String, recorded: String },
    #[error("the record `{}` is damaged; `dbdyno engine {again}` writes it again", .path.display())]
    RecordDamaged {
        /// `build.json`
        path: PathBuf,
        again: String,
        source: serde_json::Error,
    },
    #[error("`{name}` cannot be the name of your own build: {why}")]
    BadName { name: String, why: String },
    #[error(
        "{build} is a published release, but {own} was added under this name before it was; \
         add it again under another name, then delete `{}`", .directory.display()
    )]
    OwnBuildHidesRelease {
        build: BuildRef,
        /// Your own build, or the server, in words.
        own: String,
        directory: PathBuf,
    },
    #[error("{build} does not speak {dialect}; give it the name of an engine that does, like {dialect}@NAME")]
    OtherDialect { build: BuildRef, dialect: &'static str },
    /// The password of a server elsewhere cannot be had.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// A text that is no build.
    #[error(transparent)]
    Reference(#[from] SubjectError),
    #[error("`{}` is not there; give the library or the build directory that holds it", .path.display())]
    NoSuchPath { path: PathBuf },
    #[error(
        "the library of {build} is gone: `{}` does not hold it any more; build it again, or \
         `dbdyno engine add {build} PATH` with its new place", .path.display()
    )]
    OwnBuildGone { build: BuildRef, path: PathBuf },
    #[error(
        "`{}` holds no {patterns}; build the shared library (RocksDB: `make shared_lib`), or give its path",
        .path.display()
    )]
    NoLibraryInDirectory { path: PathBuf, patterns: String },
    #[error("`{}` holds several libraries ({found}); give the path of the one you mean", .path.display())]
    SeveralLibraries { path: PathBuf, found: String },
    /// The build was not fetched, or was changed meanwhile, so nothing can be noted of it.
    #[error("{build} is not in the cache as it was when it was probed; try again")]
    ProbeOfAnother { build: BuildRef },
    /// A directory of ours that is not ours.
    #[error(transparent)]
    MarkedDir(MarkedDirError),
    #[error("the disk of `{}` is full; make room or choose another --work-dir", .path.display())]
    DiskFull { path: PathBuf },
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
    #[error("failed to {action} `{}`", .path.display())]
    Io {
        /// `read`, `write`.
        action: &'static str,
        path: PathBuf,
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
            other @ (MarkedDirError::NotOurs { .. }
            | MarkedDirError::NotADirectory { .. }
            | MarkedDirError::Ownership(_)) => EngineError::MarkedDir(other),
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
