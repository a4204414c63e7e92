//! Which rows a table has, by the ids of the oldest and the newest: read once, and then kept up by all threads of a step
//! as they insert and delete. Ids of new rows, and the oldest rows where they are to be deleted, are reserved by one statement each.

use super::connection::Connection;
use super::error::SqlError;
use super::server;
use model::address::ServerAddress;
use model::workload::sql::Tables;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers that one statement has for itself: ids, or rows of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub numbers: Range<u64>,
    /// Whether a statement with them was lost together with its connection: it may have been carried out.
    pub in_doubt: bool,
}

/// Numbers that are reserved in their order, each once, by any number of threads.
#[derive(Debug)]
pub struct Reservations {
    next: AtomicU64,
    /// What was reserved and not used.
    returned: Mutex<Vec<Reservation>>,
    /// Whether there may be any of it: asked for each statement, so without the lock.
    has_returned: AtomicBool,
}

impl Reservations {
    /// From this number on.
    pub fn from(first: u64) -> Reservations {
        Reservations {
            next: AtomicU64::new(first),
            returned: Mutex::default(),
            has_returned: AtomicBool::new(false),
        }
    }

    /// The next number that nobody has reserved yet.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Reserves so many in a row below `end`, of those that were handed back before any other; none where there are not so many.
    #[inline]
    pub fn take(&self, count: u64, end: u64) -> Option<Reservation> {
        if self.has_returned.load(Ordering::Acquire)
            && let Some(reservation) = self.take_returned(count)
        {
            return Some(reservation);
        }
        let after = |first: u64| first.checked_add(count).filter(|after| *after <= end);
        let first = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).ok()?;
        Some(Reservation { numbers: first..first + count, in_doubt: false })
    }

    /// Reserves up to so many in a row below `end`; none where all are.
    pub fn take_up_to(&self, most: u64, end: u64) -> Option<Range<u64>> {
        let after = |first: u64| (first < end).then(|| first.saturating_add(most).min(end));
        let first = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).ok()?;
        Some(first..after(first)?)
    }

    /// Hands back what was not used: the next who reserves gets it.
    #[cold]
    pub fn give_back(&self, reservation: Reservation) {
        let mut returned = self.lock_returned();
        returned.push(reservation);
        self.has_returned.store(true, Ordering::Release);
    }

    /// Numbers before this one are reserved no more.
    pub fn skip_to(&self, first: u64) {
        self.next.fetch_max(first, Ordering::Relaxed);
    }

    /// The lowest of those that were handed back, cut from a longer reservation where there is no other.
    #[cold]
    fn take_returned(&self, count: u64) -> Option<Reservation> {
        let mut returned = self.lock_returned();
        let long_enough =
            |reservation: &Reservation| reservation.numbers.end - reservation.numbers.start >= count;
        let of_returned = returned.iter().enumerate().filter(|(_, reservation)| long_enough(reservation));
        let (place, _) = of_returned.min_by_key(|(_, reservation)| reservation.numbers.start)?;
        let whole = returned.swap_remove(place);
        let cut = whole.numbers.start + count;
        if cut < whole.numbers.end {
            returned.push(Reservation { numbers: cut..whole.numbers.end, ..whole });
        }
        self.has_returned.store(!returned.is_empty(), Ordering::Release);
        Some(Reservation { numbers: whole.numbers.start..cut, in_doubt: whole.in_doubt })
    }

    fn lock_returned(&self) -> MutexGuard<'_, Vec<Reservation>> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rows of one table.
#[derive(Debug)]
pub struct TableRows {
    /// Rows to be deleted, from the oldest on.
    oldest: Reservations,
    newest: AtomicU64,
    /// Ids of new rows, if ids are ours to give.
    new: Reservations,
}

impl TableRows {
    /// From the oldest to the newest id.
    pub fn between(oldest: u64, newest: u64) -> TableRows {
        let new = Reservations::from(newest.saturating_add(1));
        TableRows { oldest: Reservations::from(oldest), newest: AtomicU64::new(newest), new }
    }

    /// An id that no other row gets.
    #[inline]
    pub fn take_next(&self) -> u64 {
        self.new.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Ids in a row that no other rows get; none where so many are left no more.
    #[inline]
    pub fn reserve_new(&self, count: u64) -> Option<Reservation> {
        self.new.take(count, u64::MAX)
    }

    /// So many of the oldest rows, which no other delete gets; none where there are not so many.
    #[inline]
    pub fn reserve_oldest(&self, count: u64) -> Option<Reservation> {
        self.oldest.take(count, self.newest.load(Ordering::Relaxed).saturating_add(1))
    }

    /// Ids that no row got after all.
    pub fn give_back_new(&self, reservation: Reservation) {
        self.new.give_back(reservation);
    }

    /// Rows that were not deleted after all.
    pub fn give_back_oldest(&self, reservation: Reservation) {
        self.oldest.give_back(reservation);
    }

    /// The ids of the oldest row that no delete has reserved and of the newest; an empty table has the newest before the oldest.
    #[inline]
    pub fn bounds(&self) -> [u64; 2] {
        [self.oldest.next(), self.newest.load(Ordering::Relaxed)]
    }

    /// The server was asked again. Rows that a delete has reserved may still be there, and others may have counted what came since: neither
    /// bound goes back.
    pub fn found(&self, [oldest, newest]: [u64; 2]) {
        self.oldest.skip_to(oldest);
        self.newest.fetch_max(newest, Ordering::Relaxed);
    }

    /// So many rows were inserted, and so many of the oldest deleted without being reserved.
    #[inline]
    pub fn changed(&self, inserted: u64, deleted: u64) {
        if inserted > 0 {
            self.newest.fetch_add(inserted, Ordering::Relaxed);
        }
        if deleted > 0 {
            self.oldest.next.fetch_add(deleted, Ordering::Relaxed);
        }
    }
}

/// The rows of each table, where the schema says by which column; else none.
pub fn read(address: &ServerAddress, tables: &Tables) -> Result<Vec<TableRows>, SqlError> {
    let Some(id) = &tables.id else { return Ok(Vec::new()) };
    let mut connection = Connection::open(address)?;
    let of_table = |table: &String| {
        // An empty table has none.
        let [oldest, newest] = bounds(&mut connection, table, id)?.unwrap_or([1, 0]);
        Ok(TableRows::between(oldest, newest))
    };
    tables.names().iter().map(of_table).collect()
}

/// The ids of the oldest and the newest row, as the server has them; none of an empty table.
pub fn bounds(connection: &mut Connection, table: &str, id: &str) -> Result<Option<[u64; 2]>, SqlError> {
    let found = server::of(connection.dialect()).bounds(connection, table, id)?;
    let parsed = |[oldest, newest]: [String; 2]| match (oldest.parse(), newest.parse()) {
        (Ok(oldest), Ok(newest)) => Ok([oldest, newest]),
        (_, _) => Err(SqlError::Workload(format!(
            "`{id}` of {table} goes from `{oldest}` to `{newest}`; the id of the schema must be a whole number"
        ))),
    };
    found.map(parsed).transpose()
}

#[cfg(test)]
mod tests;
