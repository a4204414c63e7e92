//! Opening the file: its settings, its schema, and the one place where SQLite's errors get the file's name.

use crate::error::Error;
use crate::lock::Lock;
use crate::migrations;
use rusqlite::{Connection, OpenFlags};
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a statement waits for another process. Writers exclude each other by a lock file before that, so
/// only a migration, a backup or somebody's own statement can be in the way.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the end of a batch waits for another process: a step may be running, and its counters are to be read as soon as
/// it ends. The batch is kept and tried again.
const BATCH_BUSY_TIMEOUT: Duration = Duration::from_millis(50);

/// How long a reader that answers somebody waits: less than a person does. He is told to come again.
const BROWSE_BUSY_TIMEOUT: Duration = Duration::from_millis(500);

/// Statements kept prepared: all of one writer, all of one reader.
const PREPARED_STATEMENTS: usize = 64;

/// What stays of the log on the disk when it has been moved into the file: a log that grew in a step of hours is cut to this, and an
/// ordinary one is written over in its place.
const MOST_OF_AN_EMPTY_LOG: u64 = 16 << 20;

/// A store that is open for reading; [`crate::Writer`] writes.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
    /// Whether SQLite may not make its files beside this one, as another connection would have to.
    pub(crate) is_in_closed_directory: bool,
    /// Keeps writers away from a reader that could not notice them.
    _lock: Option<Lock>,
}

impl Store {
    /// Opens the store, making the file and its directory if there is none, and brings an older schema up to date.
    ///
    /// # Errors
    /// [`Error::OlderInUse`] if another process writes to an older store, and what else keeps it from being used.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let mut store = Store::connect(path)?;
        let is_older = |store: &Store| match migrations::check_current(&store.connection, path) {
            Err(Error::Older { found, known, .. }) => Ok(Some((found, known))),
            checked => checked.map(|()| None),
        };
        if is_older(&store)?.is_none() {
            return Ok(store);
        }
        match Lock::of_writer(path) {
            Ok(_lock) => store.migrate()?,
            Err(Error::OtherWriter { holder, .. }) => {
                // A writer of this version has brought the store up to date by now.
                if let Some((found, known)) = is_older(&store)? {
                    return Err(Error::OlderInUse { path: path.to_path_buf(), found, known, holder });
                }
            }
            Err(error) => return Err(error),
        }
        Ok(store)
    }

    /// Opens the store of a command that only reads: a missing file is an error, not a new store. It is brought up to date if it is
    /// older; else nothing is changed, so that it need not be writable.
    pub fn open_existing(path: &Path) -> Result<Store, Error> {
        let store = Store::open_as_it_is(path)?;
        match migrations::check_current(&store.connection, path) {
            Err(Error::Older { .. }) => {
                drop(store); // it may hold the lock
                Store::open(path)
            }
            checked => checked.map(|()| store),
        }
    }

    /// Opens the store of a reader that changes nothing, not even an older schema, and that does not wait long for
    /// others: it says [`Error::Older`] and [`Error::Busy`] to the one who asked.
    pub fn open_to_browse(path: &Path) -> Result<Store, Error> {
        let store = Store::open_read_only(path, BROWSE_BUSY_TIMEOUT)?;
        migrations::check_current(&store.connection, path)?;
        Ok(store)
    }

    /// Opens the store of who looks at the file as such: it may be of any earlier schema, and stays so.
    pub(crate) fn open_as_it_is(path: &Path) -> Result<Store, Error> {
        Store::open_read_only(path, BUSY_TIMEOUT)
    }

    /// Opens the file for a writer, whatever its schema. A file of another program is refused unchanged.
    pub(crate) fn connect(path: &Path) -> Result<Store, Error> {
        make_for_owner_only(path)
            .map_err(|source| Error::CannotOpen { path: path.to_path_buf(), source: Box::new(source) })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|source| Error::from_sqlite(path, "open the file", source))?;
        Store::of_writer(connection, path.to_path_buf())
    }

    fn open_read_only(path: &Path, busy_bound: Duration) -> Result<Store, Error> {
        if !path.exists() {
            return Err(Error::Missing { path: path.to_path_buf() });
        }
        match Store::read(path, path, OpenFlags::empty(), busy_bound) {
            // SQLite makes files beside a store in WAL mode, which it may not do in a directory of another user. They are there
            // while somebody writes, and are not needed if that is excluded and the log is in the file.
            Err(Error::CannotOpen { .. } | Error::ReadOnly { .. })
                if std::fs::File::open(path).is_ok() && log_bytes(path) == 0 =>
            {
                let lock = Lock::of_reader(path)?;
                let store = Store::read(path, &unchanging(path), OpenFlags::SQLITE_OPEN_URI, busy_bound)?;
                Ok(Store { _lock: lock, is_in_closed_directory: true, ..store })
            }
            opened => opened,
        }
    }

    /// `file` is what SQLite opens: the path, or a URI of it if the flags say so.
    fn read(path: &Path, file: &Path, flags: OpenFlags, busy_bound: Duration) -> Result<Store, Error> {
        let failed = |source| Error::from_sqlite(path, "open the file", source);
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
        connection.busy_timeout(busy_bound).map_err(failed)?;
        connection.pragma_update(None, "query_only", true).map_err(failed)?;
        migrations::check_ours(&connection, path)?;
        Ok(Store { connection, path: path.to_path_buf(), is_in_closed_directory: false, _lock: None })
    }

    /// An empty store in memory, for tests and trials.
    pub fn in_memory() -> Result<Store, Error> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory()
            .map_err(|source| Error::from_sqlite(&path, "open the database", source))?;
        let mut store = Store::of_writer(connection, path)?;
        store.migrate()?;
        Ok(store)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the file.
    pub fn directory(&self) -> &Path {
        directory_of(&self.path)
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
            connection.busy_timeout(if brief { BATCH_BUSY_TIMEOUT } else { BUSY_TIMEOUT })?;
            let begun = connection.execute_batch("BEGIN IMMEDIATE");
            connection.busy_timeout(BUSY_TIMEOUT)?;
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

    fn of_writer(connection: Connection, path: PathBuf) -> Result<Store, Error> {
        let failed = |source| Error::from_sqlite(&path, "set up the connection", source);
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        migrations::check_ours(&connection, &path)?;
        settings(&connection).map_err(failed)?;
        Ok(Store { connection, path, is_in_closed_directory: false, _lock: None })
    }

    /// Brings the schema up to date; no other process may write meanwhile.
    pub(crate) fn migrate(&mut self) -> Result<(), Error> {
        migrations::migrate(&mut self.connection, &self.path)
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

/// Makes the file and its directory if they are missing, closed to other users: passwords are not in a store, but host names,
/// server logs and unpublished results are. SQLite gives its `-wal` and `-shm` the mode of the file.
fn make_for_owner_only(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn settings(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    connection.pragma_update(None, "foreign_keys", true)?;
    // Readers and the writer do not wait for each other. The answer differs in memory, where WAL is not.
    connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))?;
    connection.pragma_update(None, "journal_size_limit", MOST_OF_AN_EMPTY_LOG.cast_signed())?;
    // A commit then needs no fsync, which would disturb the disk that is being measured. A killed process
    // loses nothing; a power failure may lose the last commits, never the file.
    connection.pragma_update(None, "synchronous", "NORMAL")
}

/// The directory of the store at `path`.
pub fn directory_of(path: &Path) -> &Path {
    let named = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
}

/// SQLite's log of the store at `path`.
pub fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// The size of SQLite's log of the store; 0 where there is none.
pub(crate) fn log_bytes(path: &Path) -> u64 {
    std::fs::metadata(log_of(path)).map_or(0, |log| log.len())
}

/// The URI of a file that does not change while it is read.
fn unchanging(path: &Path) -> PathBuf {
    uri(path, "immutable=1").into()
}

/// The URI of a file with a parameter of SQLite.
pub(crate) fn uri(path: &Path, parameter: &str) -> String {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?{parameter}")
}
