//! Bringing a server to rest after writes: what Small Datum does between loading, writing and reading, with conditions and
//! a timeout instead of fixed sleeps.
//!
//! | | Postgres | InnoDB | MyRocks | MongoDB |
//! | --- | --- | --- | --- | --- |
//! | flushed, drained | CHECKPOINT | old versions purged, dirty pages written | memtables flushed, no compaction left | fsync, which is a checkpoint; few dirty bytes in the cache |
//! | level0-compacted | - | - | and level 0 emptied | - |
//! | postwrite | VACUUM (ANALYZE) of each table, CHECKPOINT | ANALYZE TABLE, old versions purged, dirty pages written | ANALYZE TABLE, level 0 emptied | as flushed |

use super::connection::Connection;
use super::error::{SqlError, WireError};
use super::server::{self, SqlServer};
use crate::clock;
use model::address::ServerAddress;
use model::units::Nanos;
use model::workload::Settle;
use std::io;
use std::time::Duration;

/// Brings the server to a state; returns how long that took. Where only the `claimed` tables are ours, nothing is done
/// to others, none of the server's settings is changed, and what it writes by itself is not waited for.
pub fn settle(
    address: &ServerAddress,
    to: Settle,
    timeout: Nanos,
    claimed: Option<&[String]>,
) -> Result<Nanos, SqlError> {
    if to == Settle::None {
        return Ok(Nanos(0));
    }
    let mut wait = Wait { connection: Connection::open(address)?, start: clock::now(), timeout };
    wait.connection.set_timeout(Some(Duration::from_nanos(timeout.0).max(Duration::from_millis(1))))?;
    match claimed {
        Some(tables) => of_tables(server::sql_of(address.dialect)?, &mut wait, to, tables)?,
        None => server::of(address.dialect).settle(&mut wait, to)?,
    }
    Ok(clock::now().saturating_sub(wait.start))
}

/// A wait that has begun.
pub struct Wait {
    pub connection: Connection,
    start: Nanos,
    timeout: Nanos,
}

impl Wait {
    /// Runs a statement that may take what is left of the timeout.
    pub fn run(&mut self, sql: &str) -> Result<(), SqlError> {
        self.set_timeout()?;
        let answer = self.connection.run(sql);
        self.or_timed_out(sql, answer).map(drop)
    }

    fn set_timeout(&mut self) -> Result<(), SqlError> {
        let left = self.timeout.saturating_sub(clock::now().saturating_sub(self.start));
        // A timeout of nothing would be one without end.
        let left = Duration::from_nanos(left.0).max(Duration::from_millis(1));
        self.connection.set_timeout(Some(left))
    }

    fn or_timed_out<T>(&self, sql: &str, answer: Result<T, SqlError>) -> Result<T, SqlError> {
        match answer {
            Err(SqlError::Statement { source: WireError::Lost(error), .. })
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                Err(self.timed_out(format!("`{sql}` has not ended")))
            }
            other => other,
        }
    }

    /// What MongoDB answers to a command that may take what is left of the timeout.
    pub fn answer(&mut self, command: &str) -> Result<Vec<(String, String)>, SqlError> {
        self.set_timeout()?;
        let answer = self.connection.answer(command);
        self.or_timed_out(command, answer)
    }

    /// Whether the timeout has passed.
    pub fn is_over(&self) -> bool {
        clock::now().saturating_sub(self.start) > self.timeout
    }

    /// The error of it.
    pub fn timed_out(&self, pending: String) -> SqlError {
        SqlError::TimedOut { timeout_s: self.timeout.as_secs_f64(), pending }
    }

    /// The first column of what a question returns.
    pub fn column(&mut self, sql: &str) -> Result<Vec<String>, SqlError> {
        let rows = self.connection.read(sql)?.rows;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}

/// Tells when what is left becomes no less any more.
pub struct Floor {
    least: f64,
    polls_at_it: u32,
    most_polls: u32,
}

impl Floor {
    /// It is reached if so many polls in a row found no less.
    pub fn new(most_polls: u32) -> Floor {
        Floor { least: f64::INFINITY, polls_at_it: 0, most_polls }
    }

    /// Whether so many polls in a row, this one included, found no less than an earlier one.
    pub fn is_reached(&mut self, left: f64) -> bool {
        if left < self.least {
            (self.least, self.polls_at_it) = (left, 0);
        } else {
            self.polls_at_it += 1;
        }
        self.polls_at_it >= self.most_polls
    }
}

/// The error of a state that a kind of server has not.
pub fn not_supported(to: Settle, of: &str) -> SqlError {
    SqlError::NotSupported(format!(
        "{of} cannot be settled to `{to:?}`, which is of trees of levels; a workload for it says `settle = \"postwrite\"`"
    ))
}

/// What can be done to tables of ours among those of others.
fn of_tables(server: &dyn SqlServer, wait: &mut Wait, to: Settle, tables: &[String]) -> Result<(), SqlError> {
    match to {
        Settle::None | Settle::Flushed | Settle::Drained => Ok(()),
        Settle::Level0Compacted | Settle::FullyCompacted => Err(not_supported(to, "an external server")),
        Settle::Postwrite => server.settle_tables(wait, tables),
    }
}

#[cfg(test)]
mod tests;
