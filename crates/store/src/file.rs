//! Opening the file: its settings, its schema, and the one place where SQLite's errors get the file's name.

use crate::error::Error;
use crate::migrations;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a statement waits for another process. Writers exclude each other by a lock file before that, so
/// only a migration, a backup or somebody's own statement can be in the way.
const BUSY_BOUND: Duration = Duration::from_secs(5);

/// How long the end of a batch waits for another process: a step may be running, and its counters are to be read as soon as
/// it ends. The batch is kept and tried again.
const BATCH_BUSY_BOUND: Duration = Duration::from_millis(50);

/// How long a reader that answers somebody waits: less than a person does. He is told to come again.
const BROWSE_BUSY_BOUND: Duration = Duration::from_millis(500);

/// Statements kept prepared: all of one writer, all of one reader.
const PREPARED_STATEMENTS: usize = 64;

/// A store that is open for reading; [`crate::Writer`] writes.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store, making the file and its directory where there is none.
    pub fn open(path: &Path) -> Result<Store, Error> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory)
                .map_err(|source| Error::CannotOpen { path: path.to_path_buf(), source: Box::new(source) })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|source| Error::from_sqlite(path, "open the file", source))?;
        Store::from_connection(connection, path.to_path_buf())
    }

    /// Opens the store of a command that only reads: a missing file is an error, not a new store.
    pub fn open_existing(path: &Path) -> Result<Store, Error> {
        if !path.exists() {
            return Err(Error::Missing { path: path.to_path_buf() });
        }
        Store::open(path)
    }

    /// Opens the store of a reader that changes nothing, not even an older schema, and that does not wait long for
    /// others: [`Error::Older`] and [`Error::Busy`] are to be told to whoever asked.
    pub fn open_to_browse(path: &Path) -> Result<Store, Error> {
        if !path.exists() {
            return Err(Error::Missing { path: path.to_path_buf() });
        }
        let failed = |source| Error::from_sqlite(path, "open the file", source);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
        connection.busy_timeout(BROWSE_BUSY_BOUND).map_err(failed)?;
        connection.pragma_update(None, "query_only", true).map_err(failed)?;
        migrations::check_current(&connection, path)?;
        Ok(Store { connection, path: path.to_path_buf() })
    }

    /// An empty store in memory, for tests and trials.
    pub fn in_memory() -> Result<Store, Error> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory()
            .map_err(|source| Error::from_sqlite(&path, "open the database", source))?;
        Store::from_connection(connection, path)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves checkpoints to [`Store::checkpoint`]: they sync the device, which may be the one that is measured.
    pub(crate) fn no_checkpoints_by_itself(&self) -> Result<(), Error> {
        self.sql("set up the connection", |connection| {
            connection.pragma_update(None, "wal_autocheckpoint", 0)
        })
    }

    /// Moves what is committed from the log into the file, as far as readers let it.
    pub(crate) fn checkpoint(&self) -> Result<(), Error> {
        self.sql("move the log into the file", |connection| {
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        })
    }

    /// Begins a transaction that writes; `brief` is not to wait long for others.
    pub(crate) fn begin(&self, brief: bool) -> Result<(), Error> {
        self.sql("begin a batch", |connection| {
            connection.busy_timeout(if brief { BATCH_BUSY_BOUND } else { BUSY_BOUND })?;
            let begun = connection.execute_batch("BEGIN IMMEDIATE");
            connection.busy_timeout(BUSY_BOUND)?;
            begun
        })
    }

    pub(crate) fn commit(&self) -> Result<(), Error> {
        self.sql("commit a batch", |connection| connection.execute_batch("COMMIT"))
    }

    /// Ends a transaction without its changes, unless SQLite has done so after an error.
    pub(crate) fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // An error here leaves nothing else to do, and the next `begin` tells it.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn from_connection(mut connection: Connection, path: PathBuf) -> Result<Store, Error> {
        settings(&connection).map_err(|source| Error::from_sqlite(&path, "set up the connection", source))?;
        migrations::migrate(&mut connection, &path)?;
        Ok(Store { connection, path })
    }

    /// Runs statements; an error gets the file and what was being done.
    pub(crate) fn sql<T>(
        &self,
        doing: impl Into<String>,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        run(&self.connection).map_err(|source| Error::from_sqlite(&self.path, doing, source))
    }
}

fn settings(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    connection.busy_timeout(BUSY_BOUND)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Readers and the writer do not wait for each other. The answer differs in memory, where WAL is not.
    connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))?;
    // A commit then needs no fsync, which would disturb the disk that is being measured. A killed process
    // loses nothing; a power failure may lose the last commits, never the file.
    connection.pragma_update(None, "synchronous", "NORMAL")
}
