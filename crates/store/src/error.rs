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
    /// What stands in the place of the lock file is not written to.
    #[error(
        "`{path}` is no lock file of dbdyno: it is a link, or a second name of another file, or belongs to another user; look at \
         what it is, and remove it if no dbdyno runs"
    )]
    NotALockFile { path: PathBuf },
    #[error("the store `{path}` is locked by another process; end that process, then try again")]
    Busy { path: PathBuf, source: rusqlite::Error },
    #[error("no permission to write the store `{path}`; change its permissions or use `--store FILE`")]
    ReadOnly { path: PathBuf, source: rusqlite::Error },
    #[error(
        "the disk of the store `{path}` is full: free some space; what was committed before is still there"
    )]
    DiskFull { path: PathBuf, source: rusqlite::Error },
    /// Pages were overwritten, or the disk gives other bytes than it was given.
    #[error(
        "the store `{path}` is damaged, and nothing is written to it; move it away with its `-wal` and `-shm`, then copy a backup \
         to its place (`dbdyno store backup` makes them) or save what can be read: `sqlite3 MOVED .recover | sqlite3 {path}`; \
         `dbdyno store check` lists the damage"
    )]
    Damaged {
        path: PathBuf,
        /// The first of it that was found.
        source: rusqlite::Error,
    },
    /// While it is compacted, a store is on its disk three times.
    #[error(
        "compacting the store `{path}` takes up to {needed_mb} MB of its disk until it has ended, and {free_mb} MB are free; free \
         some space, nothing was changed"
    )]
    NoRoom { path: PathBuf, needed_mb: u64, free_mb: u64 },
    #[error("`{path}` is the store itself: name the stores that are to be added to it")]
    SameStore { path: PathBuf },
    #[error("the directory `{path}` has no store in it: no file that ends in `.sqlite`")]
    EmptySpool { path: PathBuf },
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

    /// A store in which this was found.
    pub fn damaged(path: &Path, found: &str) -> Error {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        let source = rusqlite::Error::SqliteFailure(code, Some(found.to_owned()));
        Error::Damaged { path: path.to_path_buf(), source }
    }

    /// A store that another process keeps locked.
    pub(crate) fn busy(path: &Path) -> Error {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        Error::Busy { path: path.to_path_buf(), source: rusqlite::Error::SqliteFailure(code, None) }
    }

    /// Sorts an error of SQLite by what the user can do about it.
    pub(crate) fn from_sqlite(path: &Path, doing: impl Into<String>, source: rusqlite::Error) -> Error {
        let path = path.to_path_buf();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Error::NotAStore { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path, source },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Error::ReadOnly { path, source },
            Some(ErrorCode::DiskFull) => Error::DiskFull { path, source },
            Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { path, source },
            Some(ErrorCode::CannotOpen) => Error::CannotOpen { path, source: Box::new(source) },
            Some(_) | None => Error::Sql { path, doing: doing.into(), source },
        }
    }
}
