//! Bringing a server to rest after writes: what Small Datum does between loading, writing and reading, with conditions and
//! a timeout instead of fixed sleeps.
//!
//! | | Postgres | InnoDB | MyRocks |
//! | --- | --- | --- | --- |
//! | flushed, drained | CHECKPOINT | old versions purged, dirty pages written | memtables flushed, no compaction left |
//! | level0-compacted | - | - | and level 0 emptied |
//! | postwrite | VACUUM (ANALYZE) of each table, CHECKPOINT | ANALYZE TABLE, old versions purged, dirty pages written | ANALYZE TABLE, level 0 emptied |

mod mysql;

use super::connection::Connection;
use super::error::{SqlError, WireError};
use crate::clock;
use model::units::Nanos;
use model::wire::ServerAddress;
use model::workload::Settle;
use model::workload::sql::Dialect;
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
    match (claimed, address.dialect) {
        (Some(tables), _) => of_tables(&mut wait, to, tables)?,
        (None, Dialect::Postgres) => of_postgres(&mut wait, to)?,
        (None, Dialect::Mysql) => mysql::settle(&mut wait, to)?,
    }
    Ok(clock::now().saturating_sub(wait.start))
}

/// A wait that has begun.
struct Wait {
    connection: Connection,
    start: Nanos,
    timeout: Nanos,
}

impl Wait {
    /// Runs a statement that may take what is left of the timeout.
    fn run(&mut self, sql: &str) -> Result<(), SqlError> {
        let left = self.timeout.saturating_sub(clock::now().saturating_sub(self.start));
        // A timeout of nothing would be one without end.
        let left = Duration::from_nanos(left.0).max(Duration::from_millis(1));
        self.connection.set_timeout(Some(left))?;
        match self.connection.run(sql) {
            Err(SqlError::Statement { source: WireError::Lost(error), .. })
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                Err(self.timed_out(format!("`{sql}` has not ended")))
            }
            other => other.map(drop),
        }
    }

    fn is_over(&self) -> bool {
        clock::now().saturating_sub(self.start) > self.timeout
    }

    fn timed_out(&self, pending: String) -> SqlError {
        SqlError::TimedOut { timeout_s: self.timeout.as_secs_f64(), pending }
    }

    /// The first column of what a question returns.
    fn column(&mut self, sql: &str) -> Result<Vec<String>, SqlError> {
        let rows = self.connection.read(sql)?.rows;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}

fn not_supported(to: Settle, of: &str) -> SqlError {
    SqlError::NotSupported(format!(
        "{of} cannot be settled to `{to:?}`, which is of trees of levels; a workload for it says `settle = \"postwrite\"`"
    ))
}

/// From this release on VACUUM can be told to clean indexes also where few rows are dead.
const INDEX_CLEANUP_SINCE: u32 = 120_000;

fn of_postgres(wait: &mut Wait, to: Settle) -> Result<(), SqlError> {
    match to {
        Settle::None => Ok(()),
        Settle::Flushed | Settle::Drained => wait.run("CHECKPOINT"),
        Settle::Level0Compacted | Settle::FullyCompacted => Err(not_supported(to, "Postgres")),
        Settle::Postwrite => {
            let tables = wait.column("SELECT relid::regclass::text FROM pg_stat_user_tables ORDER BY 1")?;
            vacuum(wait, &tables)?;
            wait.run("CHECKPOINT")
        }
    }
}

fn vacuum(wait: &mut Wait, tables: &[String]) -> Result<(), SqlError> {
    let version = wait.column("SHOW server_version_num")?;
    let version: u32 = version.first().and_then(|version| version.parse().ok()).unwrap_or(0);
    let options = if version >= INDEX_CLEANUP_SINCE { "ANALYZE, INDEX_CLEANUP ON" } else { "ANALYZE" };
    tables.iter().try_for_each(|table| wait.run(&format!("VACUUM ({options}) {table}")))
}

/// What can be done to tables of ours among those of others.
fn of_tables(wait: &mut Wait, to: Settle, tables: &[String]) -> Result<(), SqlError> {
    match to {
        Settle::None | Settle::Flushed | Settle::Drained => Ok(()),
        Settle::Level0Compacted | Settle::FullyCompacted => Err(not_supported(to, "an external server")),
        Settle::Postwrite => match wait.connection.dialect() {
            Dialect::Postgres => vacuum(wait, tables),
            Dialect::Mysql => mysql::analyze(wait, tables),
        },
    }
}

#[cfg(test)]
mod tests;
