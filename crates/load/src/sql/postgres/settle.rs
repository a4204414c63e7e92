//! Settling of Postgres.

use crate::sql::error::SqlError;
use crate::sql::settle::{Wait, not_supported};
use model::workload::Settle;

/// From this release on VACUUM can be told to clean indexes also if few rows are dead.
const INDEX_CLEANUP_SINCE: u32 = 120_000;

pub(super) fn settle(wait: &mut Wait, to: Settle) -> Result<(), SqlError> {
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

/// Before it a commit that waits for the log: rows whose commit is not on the device yet, as with `synchronous_commit` off it may not be for half
/// a second, are not known to all, and their pages would not be marked as visible to all. Index-only scans would look such rows up.
pub(super) fn vacuum(wait: &mut Wait, tables: &[String]) -> Result<(), SqlError> {
    wait.run("SET synchronous_commit = on")?;
    tables.iter().try_for_each(|table| wait.run(&format!("ANALYZE {table}")))?;
    let version = wait.column("SHOW server_version_num")?;
    let version: u32 = version.first().and_then(|version| version.parse().ok()).unwrap_or(0);
    let options = if version >= INDEX_CLEANUP_SINCE { "ANALYZE, INDEX_CLEANUP ON" } else { "ANALYZE" };
    tables.iter().try_for_each(|table| wait.run(&format!("VACUUM ({options}) {table}")))
}
