//! Which rows a table has, by the ids of the oldest and the newest: read once, and then kept up by all threads of a step
//! as they insert and delete.

use super::connection::Connection;
use super::error::SqlError;
use super::server;
use model::address::ServerAddress;
use model::workload::sql::Tables;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rows of one table.
#[derive(Debug)]
pub struct TableRows {
    oldest: AtomicU64,
    newest: AtomicU64,
    /// The id of the next row, if ids are ours to give.
    next: AtomicU64,
}

impl TableRows {
    /// From the oldest to the newest id.
    pub fn between(oldest: u64, newest: u64) -> TableRows {
        let next = AtomicU64::new(newest.saturating_add(1));
        TableRows { oldest: AtomicU64::new(oldest), newest: AtomicU64::new(newest), next }
    }

    /// An id that no other row gets.
    #[inline]
    pub fn take_next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The ids of the oldest and of the newest row; an empty table has the newest before the oldest.
    #[inline]
    pub fn bounds(&self) -> [u64; 2] {
        [self.oldest.load(Ordering::Relaxed), self.newest.load(Ordering::Relaxed)]
    }

    /// The oldest row was looked for again.
    pub fn set_oldest(&self, oldest: u64) {
        self.oldest.store(oldest, Ordering::Relaxed);
    }

    /// So many rows were inserted, and so many of the oldest deleted.
    #[inline]
    pub fn changed(&self, inserted: u64, deleted: u64) {
        if inserted > 0 {
            self.newest.fetch_add(inserted, Ordering::Relaxed);
        }
        if deleted > 0 {
            self.oldest.fetch_add(deleted, Ordering::Relaxed);
        }
    }
}

/// The rows of each table, where the schema says by which column; else none.
pub fn read(address: &ServerAddress, tables: &Tables) -> Result<Vec<TableRows>, SqlError> {
    let Some(id) = &tables.id else { return Ok(Vec::new()) };
    let mut connection = Connection::open(address)?;
    tables
        .names()
        .iter()
        .map(|table| {
            // An empty table has none.
            let (oldest, newest) = match server::of(address.dialect).bounds(&mut connection, table, id)? {
                None => (1, 0),
                Some([oldest, newest]) => parsed((&oldest, &newest)).ok_or_else(|| {
                    SqlError::Workload(format!(
                        "`{id}` of {table} goes from `{oldest}` to `{newest}`; the id of the schema must be a whole number"
                    ))
                })?,
            };
            Ok(TableRows::between(oldest, newest))
        })
        .collect()
}

fn parsed((oldest, newest): (&str, &str)) -> Option<(u64, u64)> {
    Some((oldest.parse().ok()?, newest.parse().ok()?))
}
