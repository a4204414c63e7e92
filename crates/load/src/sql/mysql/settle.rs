//! Settling of InnoDB and MyRocks.

use crate::clock;
use crate::sql::error::SqlError;
use crate::sql::facts::if_there;
use crate::sql::settle::{Floor, Wait, not_supported};
use model::units::Nanos;
use model::workload::Settle;
use std::collections::BTreeMap;
use std::time::Duration;

/// Pause between two looks at the server. Not tuned: dirty pages are written in rounds of a second.
const POLL_PAUSE: Nanos = Nanos::from_millis(250);
/// Dirty pages are few below this share of the buffer pool, in percent; the server is told to aim at half of it.
const FEW_DIRTY_PERCENT: f64 = 2.0;
const AIM_PERCENT: &str = "1";
/// Where no page was written in so many looks in a row, nothing is going to be: 5 s.
const POLLS_AT_FLOOR: u32 = 20;
/// No compaction is running when nothing was written in so many looks in a row.
const QUIET_POLLS: u32 = 4;
/// Setting a variable takes no time; it is waited for even where the timeout has passed.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) fn settle(wait: &mut Wait, to: Settle) -> Result<(), SqlError> {
    let engines = wait.column(
        "SELECT DISTINCT UPPER(ENGINE) FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND ENGINE IS NOT NULL",
    )?;
    let empties_level0 = match to {
        Settle::None => return Ok(()),
        Settle::Flushed | Settle::Drained => false,
        Settle::Level0Compacted => {
            if engines.iter().any(|engine| engine != ROCKSDB) {
                return Err(not_supported(to, &engines.join(", ")));
            }
            true
        }
        Settle::FullyCompacted => return Err(not_supported(to, "MySQL")),
        Settle::Postwrite => {
            let tables = wait.column(
                "SELECT TABLE_NAME FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME",
            )?;
            analyze(wait, &tables)?;
            true
        }
    };
    if engines.iter().any(|engine| engine == "INNODB") {
        // First, because purge makes pages dirty.
        until_purged(wait)?;
        write_dirty_pages(wait)?;
    }
    if engines.iter().any(|engine| engine == ROCKSDB) {
        compact(wait, empties_level0)?;
    }
    Ok(())
}

const ROCKSDB: &str = "ROCKSDB";

pub(super) fn analyze(wait: &mut Wait, tables: &[String]) -> Result<(), SqlError> {
    tables.iter().try_for_each(|table| wait.run(&format!("ANALYZE TABLE `{}`", table.replace('`', "``"))))
}

/// Transactions whose old versions are left count as few up to here: a release keeps some until the next commit.
const FEW_IN_HISTORY: f64 = 50.0;
/// If none was purged in so many looks in a row, none is going to be: 1 s, in which purge, if it can, removes thousands.
const POLLS_WITHOUT_PURGE: u32 = 4;

/// Waits until InnoDB has purged the old versions of rows: reads beside purge would be slower, and for longer the slower a release purges.
fn until_purged(wait: &mut Wait) -> Result<(), SqlError> {
    let mut floor = Floor::new(POLLS_WITHOUT_PURGE);
    loop {
        // Absent where the table of metrics is not there, or this metric is off.
        let left = if_there(wait.connection.read(
            "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'",
        ))?;
        let Some(left) = left.first().and_then(|left| left.parse::<f64>().ok()) else { return Ok(()) };
        if left <= FEW_IN_HISTORY || floor.is_reached(left) {
            return Ok(());
        }
        if wait.is_over() {
            return Err(wait.timed_out(format!("old versions of {left:.0} transactions are not purged")));
        }
        clock::sleep_until(clock::now() + POLL_PAUSE);
    }
}

/// Lets InnoDB write until few pages are dirty, and sets back what that took.
fn write_dirty_pages(wait: &mut Wait) -> Result<(), SqlError> {
    let former = variables(
        wait,
        "'innodb_max_dirty_pages_pct', 'innodb_max_dirty_pages_pct_lwm', 'innodb_idle_flush_pct'",
    )?;
    // The low mark must not be above the high one: down first with the low one, up first with the high one.
    let eager = [
        ("innodb_max_dirty_pages_pct_lwm", AIM_PERCENT),
        ("innodb_max_dirty_pages_pct", AIM_PERCENT),
        ("innodb_idle_flush_pct", "100"),
    ];
    let mut done = Ok(());
    for (name, value) in eager.into_iter().filter(|(name, _)| former.contains_key(*name)) {
        done = done.and_then(|()| wait.run(&format!("SET GLOBAL {name} = {value}")));
    }
    let done = done.and_then(|()| until_few_are_dirty(wait));
    // In any case: the next step must not run with other settings than its configuration says.
    wait.connection.set_timeout(Some(RESTORE_TIMEOUT))?;
    let mut restored = Ok(());
    for (name, _) in eager.into_iter().rev() {
        if let Some(value) = former.get(name) {
            let set = wait.connection.run(&format!("SET GLOBAL {name} = {value}"));
            restored = restored.and(set.map(drop));
        }
    }
    done.and(restored)
}

fn until_few_are_dirty(wait: &mut Wait) -> Result<(), SqlError> {
    let mut floor = Floor::new(POLLS_AT_FLOOR);
    loop {
        let pages = status(wait, "'Innodb_buffer_pool_pages_dirty', 'Innodb_buffer_pool_pages_total'")?;
        let of = |name: &str| pages.get(name).copied().unwrap_or(0.0);
        let (dirty, total) = (of("innodb_buffer_pool_pages_dirty"), of("innodb_buffer_pool_pages_total"));
        if dirty * 100.0 <= total * FEW_DIRTY_PERCENT || floor.is_reached(dirty) {
            return Ok(());
        }
        if wait.is_over() {
            return Err(
                wait.timed_out(format!("{dirty:.0} of {total:.0} pages of the buffer pool are dirty"))
            );
        }
        clock::sleep_until(clock::now() + POLL_PAUSE);
    }
}

/// Flushes memtables, empties level 0 where that is asked for, and waits for compactions.
fn compact(wait: &mut Wait, empties_level0: bool) -> Result<(), SqlError> {
    wait.run("SET GLOBAL rocksdb_force_flush_memtable_now = 1")?;
    if empties_level0 {
        // MariaDB has only the older one of both, which MySQL's builds of MyRocks keep too and Small Datum avoids there.
        let known = variables(wait, "'rocksdb_compact_lzero_now'")?;
        let name = if known.is_empty() {
            "rocksdb_force_flush_memtable_and_lzero_now"
        } else {
            "rocksdb_compact_lzero_now"
        };
        wait.run(&format!("SET GLOBAL {name} = 1"))?;
    }
    let mut quiet_polls = 0;
    let mut before = None;
    while quiet_polls < QUIET_POLLS {
        let pending = wait.column(
            "SELECT CAST(COALESCE(SUM(VALUE), 0) AS SIGNED) FROM information_schema.ROCKSDB_CFSTATS \
             WHERE STAT_TYPE IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')",
        )?;
        let running = if_there(
            wait.connection.read("SELECT COUNT(*) FROM information_schema.ROCKSDB_ACTIVE_COMPACTION_STATS"),
        )?;
        let written = status(
            wait,
            "'Rocksdb_compact_write_bytes', 'Rocksdb_flush_write_bytes', 'Rocksdb_manual_compactions_running'",
        )?;
        let is_quiet = pending.first().is_none_or(|pending| pending == "0")
            && running.first().is_none_or(|running| running == "0")
            && written.get("rocksdb_manual_compactions_running").is_none_or(|running| *running < 1.0)
            && before.as_ref() == Some(&written);
        quiet_polls = if is_quiet { quiet_polls + 1 } else { 0 };
        before = Some(written);
        if wait.is_over() {
            return Err(wait.timed_out("compactions are still running or due".to_owned()));
        }
        clock::sleep_until(clock::now() + POLL_PAUSE);
    }
    Ok(())
}

/// Global variables by name.
fn variables(wait: &mut Wait, names: &str) -> Result<BTreeMap<String, String>, SqlError> {
    let rows = wait.connection.read(&format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"))?;
    Ok(rows.pairs().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect())
}

/// Global counters by name, in small letters.
fn status(wait: &mut Wait, names: &str) -> Result<BTreeMap<String, f64>, SqlError> {
    let rows = wait.connection.read(&format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"))?;
    Ok(rows
        .pairs()
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value.parse().ok()?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_reached_when_nothing_becomes_less_in_some_polls_in_a_row() {
        let mut floor = Floor::new(3);
        let reached: Vec<bool> =
            [9.0, 7.0, 7.0, 8.0, 6.0, 6.0, 6.0, 6.0].map(|left| floor.is_reached(left)).to_vec();
        assert_eq!(reached, [false, false, false, false, false, false, false, true]);
    }
}
