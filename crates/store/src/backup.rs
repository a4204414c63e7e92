//! A copy of a store as it is at one moment, while a run may write to it.

use crate::check::quick_check;
use crate::error::Error;
use crate::file::Store;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;

/// Copies the store at `path`, of any schema up to ours, into the empty file `copy`. It may not be on the disk yet when this returns.
///
/// # Errors
/// What keeps the one from being read or the other from being written; [`Error::Damaged`] if what was copied is.
pub fn back_up(path: &Path, copy: &Path) -> Result<(), Error> {
    let store = Store::open_as_it_is(path)?;
    let failed = |source: rusqlite::Error| match source.sqlite_error_code() {
        // Nothing else is written to.
        Some(ErrorCode::DiskFull) => Error::from_sqlite(copy, "write the copy", source),
        _ => Error::from_sqlite(path, "copy the pages", source),
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut to = Connection::open_with_flags(copy, flags)
        .map_err(|source| Error::from_sqlite(copy, "open the file", source))?;
    // All pages by one transaction: with pauses between them, what a run writes in each would begin the copy again.
    let copied =
        Backup::new(&store.connection, &mut to).and_then(|backup| backup.step(-1)).map_err(failed)?;
    if copied != StepResult::Done {
        return Err(Error::busy(path));
    }
    quick_check(&to, path)?;
    // The log of the store is no part of the copy, which can then be read where no files can be made beside it.
    to.pragma_update(None, "journal_mode", "DELETE").map_err(failed)?;
    to.close().map_err(|(_, source)| failed(source))
}
