//! What other stores hold is added to a store: run by run, each once, with where it came from.
//!
//! A run has the same id in every store. Which rows belong to it, and which are shared by all runs of a store, says
//! [`tables`]; what becomes of a run that both stores have, says [`runs`].

mod other;
mod runs;
pub(crate) mod tables;
mod watched;

use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use other::OtherStore;
use rusqlite::{Connection, OptionalExtension};
use std::path::{Path, PathBuf};

/// What was taken from another store, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// The schema that the other store has.
    pub schema: u32,
    /// Runs that the store had not.
    pub added: Vec<String>,
    /// Runs of which the other store had more: they had gone on there.
    pub continued: Vec<String>,
    /// Runs that are the same in both, or had gone on here.
    pub known: u64,
    /// Runs that went on in both: nothing of the other's is taken.
    pub diverged: Vec<String>,
    /// Imports and bisections that the store had not.
    pub others: u64,
    /// Changes that a watch has found which are new here, or whose state is.
    pub watched: u64,
    /// Runs of a campaign that wait to be measured there. They are no results, and stay.
    pub queued: u64,
}

/// A merge: of what, by whom, and when.
#[derive(Debug, Clone, Copy)]
pub struct MergedBy<'a> {
    /// Where the other store is, in words: as the user gave it, or the host from which it was fetched.
    pub origin: &'a str,
    /// Microseconds since the epoch.
    pub at_us: i64,
    pub tool_version: &'a str,
}

/// Adds all that the store `from` holds to the store of `writer`: all of it or nothing. `from` is not changed, may be of any earlier
/// schema, and may be written to meanwhile.
///
/// # Errors
/// [`Error::SameStore`] if both are one file; [`Error::Newer`] and what else keeps `from` from being read; what keeps the store from
/// being written.
pub fn merge(writer: &mut Writer, from: &Path, by: MergedBy<'_>) -> Result<Merged, Error> {
    writer.flush()?;
    writer.forget_current();
    let other = OtherStore::open(from, writer.store())?;
    let store = writer.store();
    other.attach_to(store)?;
    let merged = store.sql("merge another store", |connection| {
        let transaction = connection.unchecked_transaction()?;
        let merged = take(&transaction, by)?;
        transaction.commit().map(|()| merged)
    });
    let detached = other.detach_from(store);
    let merged = merged?;
    detached?;
    match store.checkpoint() {
        Err(error) if error.may_pass() => {} // the log only gets longer
        ended => ended?,
    }
    Ok(Merged { schema: other.schema, ..merged })
}

fn take(connection: &Connection, by: MergedBy<'_>) -> rusqlite::Result<Merged> {
    tables::make_notes(connection)?;
    let mut merged = runs::choose(connection)?;
    tables::delete_replaced_runs(connection)?;
    tables::copy_runs(connection)?;
    runs::keep_origins(connection, by)?;
    merged.others = tables::take_imports(connection)? + tables::take_bisections(connection)?;
    merged.watched = watched::take(connection)?;
    tables::take_rest(connection)?;
    let queued = "SELECT count(*) FROM other.queued_runs";
    merged.queued = connection.query_row(queued, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
    tables::drop_notes(connection)?;
    Ok(merged)
}

impl Store {
    /// Where a run that was measured into another store came from: what it passed first. Absent of one that was measured into this one.
    pub fn origin_of(&self, run: &str) -> Result<Option<String>, Error> {
        self.sql(format!("look where run {run} came from"), |connection| {
            connection
                .prepare_cached(
                    "SELECT store FROM origins JOIN runs USING (run_key) WHERE id = ? ORDER BY merged_at_us LIMIT 1",
                )?
                .query_row([run], |row| row.get(0))
                .optional()
        })
    }
}

/// The stores that are meant by what a user names: a file, or all of a directory.
///
/// # Errors
/// [`Error::Missing`] if there is nothing at a path, and [`Error::EmptySpool`] if a directory has no `.sqlite` in it.
pub fn named(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut stores = Vec::new();
    for path in paths {
        if !path.is_dir() {
            stores.push(path.clone());
            continue;
        }
        let cannot_open =
            |source: std::io::Error| Error::CannotOpen { path: path.clone(), source: Box::new(source) };
        let mut within = Vec::new();
        for entry in path.read_dir().map_err(cannot_open)? {
            let file = entry.map_err(cannot_open)?.path();
            // Of a file that is being copied here, rsync's begins with a dot and a backup's ends in `.partial`.
            let is_hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if file.is_file() && !is_hidden && file.extension().is_some_and(|extension| extension == "sqlite")
            {
                within.push(file);
            }
        }
        if within.is_empty() {
            return Err(Error::EmptySpool { path: path.clone() });
        }
        within.sort();
        stores.append(&mut within);
    }
    Ok(stores)
}
