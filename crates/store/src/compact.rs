//! Gives back to the disk what a store does not need.

use crate::error::Error;
use crate::file::{Store, log_bytes};
use crate::writer::Writer;
use std::path::Path;

/// What a store took of its disk, its log included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Somebody reads the store: what was gained is given back when a later run ends.
    pub is_read: bool,
}

/// Writes all rows of the store at `path` again, without gaps, and empties its log. No process may write to it meanwhile.
///
/// # Errors
/// [`Error::OtherWriter`] while a run writes, [`Error::NoRoom`] if the disk has too little space, and what keeps the store from being
/// opened for writing.
pub fn compact(path: &Path) -> Result<Compacted, Error> {
    if !path.exists() {
        return Err(Error::Missing { path: path.to_path_buf() });
    }
    let writer = Writer::open(path)?;
    let store = writer.store();
    let directory = store.directory();
    let space = rustix::fs::statvfs(directory);
    // Where that cannot be known, SQLite says it if there is too little.
    check_room(store, space.map_or(u64::MAX, |space| space.f_bavail.saturating_mul(space.f_frsize)))?;
    let bytes_before = bytes_on_disk(path);
    let is_read = store.sql("write all rows again", |connection| {
        // Results are for their owner only, and the room was looked at here.
        if let Some(directory) = directory.to_str() {
            connection.pragma_update(None, "temp_store_directory", directory)?;
        }
        connection.execute_batch("VACUUM")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
    })?;
    Ok(Compacted { bytes_before, bytes_after: bytes_on_disk(path), is_read })
}

/// What is used of the file is copied beside it, and from there into the log.
fn check_room(store: &Store, free: u64) -> Result<(), Error> {
    let used = store.sql("read its size", |connection| {
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok((number("page_count")? - number("freelist_count")?) * number("page_size")?)
    })?;
    let needed = used.unsigned_abs().saturating_mul(2);
    if free < needed {
        let mb = |bytes: u64| bytes / 1_000_000;
        let path = store.path().to_path_buf();
        return Err(Error::NoRoom { path, needed_mb: mb(needed) + 1, free_mb: mb(free) });
    }
    Ok(())
}

fn bytes_on_disk(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len()) + log_bytes(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_small_a_disk_is_refused_before_anything_is_written() {
        let store = Store::in_memory().unwrap();
        check_room(&store, u64::MAX).unwrap();
        let error = check_room(&store, 1000).unwrap_err();
        assert!(matches!(error, Error::NoRoom { needed_mb: 1, free_mb: 0, .. }), "{error}");
    }
}
