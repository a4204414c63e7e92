//! What can go wrong with a store, each with the file and what to do next.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// What went wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no store at `{path}` yet; `dbdyno compare` makes one, `--store FILE` names another")]
    Missing { path: PathBuf },
    #[error("failed to open the store `{path}`; check that its directory can be read and written")]
    CannotOpen { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("`{path}` is not a store of dbdyno; name another file with `--store FILE`")]
    NotAStore { path: PathBuf },
    #[error(
        "the store `{path}` has schema {found}, this dbdyno knows schemas up to {known}; use the dbdyno that \
         wrote it or a later one"
    )]
    Newer { path: PathBuf, found: u32, known: u32 },
    /// The file was written by an earlier version, or is being made, and must not be changed now.
    #[error(
        "the store `{path}` has schema {found} and this reader needs {known}; any other command of this dbdyno \
         brings it up to date: `dbdyno report --list`"
    )]
    Older {
        path: PathBuf,
        /// Its schema; 0 where it has none yet.
        found: u32,
        known: u32,
    },
    /// The file was written by an earlier version, and a process writes to it: its tables must not be changed now.
    #[error(
        "the store `{path}` has schema {found} and this dbdyno needs {known}, but another dbdyno ({holder}) writes to it; \
         wait until that has ended, or read the store with the dbdyno that writes it"
    )]
    OlderInUse { path: PathBuf, found: u32, known: u32, holder: String },
    #[error(
        "another dbdyno ({holder}) writes to the store `{path}`, or one reads it; wait for it, or name another file with \
         `--store FILE`"
    )]
    OtherWriter {
        path: PathBuf,
        /// `process 123`
        holder: String,
    },
    #[error("the store `{path}` is locked by another process; end that process, then try again")]
    Busy { path: PathBuf, source: rusqlite::Error },
    #[error("no permission to write the store `{path}`; change its permissions or use `--store FILE`")]
    ReadOnly { path: PathBuf, source: rusqlite::Error },
    #[error(
        "the disk of the store `{path}` is full: free some space; what was committed before is still there"
    )]
    DiskFull { path: PathBuf, source: rusqlite::Error },
    #[error("failed to {doing} in the store `{path}`")]
    Sql {
        path: PathBuf,
        /// `read run 20261121-091500-3fa9`
        doing: String,
        /// What SQLite said, or which value cannot be read.
        source: rusqlite::Error,
    },
    #[error("run `{run}` is in the store `{path}` already; a new run needs an id of its own")]
    DuplicateRun { path: PathBuf, run: String },
    #[error("run `{run}` was not begun in the store `{path}`; its first event must be `started`")]
    RunNotBegun { path: PathBuf, run: String },
    #[error("the store `{path}` holds no run yet; `dbdyno compare` makes one")]
    NoRuns { path: PathBuf },
    #[error(
        "no run in `{path}` has the id, beginning or name `{wanted}`{hint}; `last` is the newest, {newest}"
    )]
    NoSuchRun { path: PathBuf, wanted: String, hint: String, newest: String },
    #[error("`{wanted}` means more than one run of `{path}`: {}; write more of the id", candidates.join(", "))]
    AmbiguousRun { path: PathBuf, wanted: String, candidates: Vec<String> },
}

impl Error {
    /// Whether what was refused may succeed later, when another process or the user has done something.
    pub fn may_pass(&self) -> bool {
        matches!(self, Error::Busy { .. } | Error::DiskFull { .. })
    }

    /// Sorts an error of SQLite by what the user can do about it.
    pub(crate) fn from_sqlite(path: &Path, doing: impl Into<String>, source: rusqlite::Error) -> Error {
        let path = path.to_path_buf();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Error::NotAStore { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path, source },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Error::ReadOnly { path, source },
            Some(ErrorCode::DiskFull) => Error::DiskFull { path, source },
            Some(ErrorCode::CannotOpen) => Error::CannotOpen { path, source: Box::new(source) },
            Some(_) | None => Error::Sql { path, doing: doing.into(), source },
        }
    }
}
