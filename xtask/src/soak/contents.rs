//! What a store holds of trials that have ended, as hashes: whether a later look finds all of it, unchanged.

use crate::e2e::fake_engine::STEPS;
use anyhow::{Context, ensure};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::time::Duration;

/// What was measured of a trial. Each row with the key of its trial, always in the same order.
const MEASURED: [&str; 4] = [
    "SELECT * FROM blocks ORDER BY block_key",
    "SELECT trial_key, block_counters.* FROM block_counters JOIN blocks USING (block_key)
     ORDER BY block_key, counter_key",
    "SELECT * FROM seconds ORDER BY trial_key, second",
    "SELECT * FROM shapes ORDER BY shape_key",
];

/// Trials by their key.
#[derive(Default)]
pub struct Contents(BTreeMap<i64, Trial>);

struct Trial {
    visit: Visit,
    is_done: bool,
    /// Its own row.
    row: u64,
    measured: u64,
}

/// The rows of one turn of a subject, or what was put aside of one.
type Visit = (i64, i64, i64, i64);

impl Contents {
    /// Of a store that others may write to. One that is not there, or has no tables yet, holds nothing.
    pub fn of(store: &Path) -> anyhow::Result<Contents> {
        if !store.exists() {
            return Ok(Contents::default());
        }
        let connection = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .with_context(|| format!("failed to open the store `{}`", store.display()))?;
        connection.busy_timeout(Duration::from_secs(5))?;
        // All of it as it is at one moment.
        let transaction = connection.unchecked_transaction()?;
        // The later of the tables that are read.
        let has_tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('trials', 'seconds')";
        if transaction.query_row(has_tables, [], |row| row.get::<_, i64>(0))? < 2 {
            return Ok(Contents::default());
        }
        let mut trials = BTreeMap::new();
        let mut statement =
            transaction.prepare("SELECT * FROM trials WHERE outcome IS NOT NULL ORDER BY trial_key")?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut hasher = DefaultHasher::new();
            hash(row, columns, &mut hasher)?;
            let trial = Trial {
                visit: (row.get("run_key")?, row.get("put_aside")?, row.get("launch")?, row.get("side")?),
                is_done: row.get::<_, String>("outcome")? == "done",
                row: hasher.finish(),
                measured: 0,
            };
            trials.insert(row.get::<_, i64>("trial_key")?, (trial, DefaultHasher::new()));
        }
        for sql in MEASURED {
            let mut statement = transaction.prepare(sql)?;
            let columns = statement.column_count();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if let Some((_, hasher)) = trials.get_mut(&row.get::<_, i64>("trial_key")?) {
                    hash(row, columns, hasher)?;
                }
            }
        }
        let with_hash = |(key, (trial, hasher)): (i64, (Trial, DefaultHasher))| {
            (key, Trial { measured: hasher.finish(), ..trial })
        };
        Ok(Contents(trials.into_iter().map(with_hash).collect()))
    }

    /// An error if anything of this is lost, or is not what it was. That of a turn which was cut off, or in which something failed, may
    /// have been put aside; what was measured of it is there all the same.
    pub fn is_kept_in(&self, later: &Contents) -> anyhow::Result<()> {
        let mut done: BTreeMap<Visit, u64> = BTreeMap::new();
        for trial in self.0.values().filter(|trial| trial.is_done) {
            *done.entry(trial.visit).or_default() += 1;
        }
        for (key, trial) in &self.0 {
            let (run, _, launch, side) = trial.visit;
            let which = || format!("trial {key} (run {run}, launch {launch}, side {side})");
            let now = later.0.get(key).with_context(|| format!("{} is lost", which()))?;
            ensure!(now.measured == trial.measured, "what was measured of {} has changed", which());
            let is_whole = done.get(&trial.visit) == Some(&STEPS);
            ensure!(now.row == trial.row || !is_whole, "the row of {} has changed", which());
        }
        Ok(())
    }
}

fn hash(row: &Row<'_>, columns: usize, hasher: &mut DefaultHasher) -> anyhow::Result<()> {
    for column in 0..columns {
        match row.get_ref(column)? {
            ValueRef::Null => hasher.write_u8(0),
            ValueRef::Integer(number) => {
                hasher.write_u8(1);
                hasher.write_i64(number);
            }
            ValueRef::Real(number) => {
                hasher.write_u8(2);
                hasher.write_u64(number.to_bits());
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                hasher.write_u8(3);
                hasher.write_usize(bytes.len());
                hasher.write(bytes);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store with two turns, of which the second was cut off.
    fn store(directory: &Path) -> (std::path::PathBuf, Connection) {
        let path = directory.join("store.sqlite");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE trials (trial_key INTEGER, run_key, put_aside, launch, side, outcome);
                 CREATE TABLE blocks (block_key INTEGER PRIMARY KEY, trial_key, operations);
                 CREATE TABLE block_counters (block_key, counter_key, value);
                 CREATE TABLE seconds (trial_key, second, operations);
                 CREATE TABLE shapes (shape_key, trial_key);
                 INSERT INTO trials VALUES (1, 1, 0, 1, 0, 'done'), (2, 1, 0, 1, 0, 'done');
                 INSERT INTO trials VALUES (3, 1, 0, 2, 0, 'done');
                 INSERT INTO blocks VALUES (1, 1, 100), (2, 2, 200), (3, 3, 300);
                 INSERT INTO block_counters VALUES (1, 1, 7), (3, 1, 8);",
            )
            .unwrap();
        (path, connection)
    }

    #[test]
    fn what_is_lost_or_changed_is_named_and_what_was_cut_off_may_be_put_aside() {
        let directory = tempfile::tempdir().unwrap();
        let (path, connection) = store(directory.path());
        let before = Contents::of(&path).unwrap();
        assert_eq!(before.0.len(), 3);
        let check = |sql: &str, expected: &str| {
            connection.execute_batch(sql).unwrap();
            let kept = before.is_kept_in(&Contents::of(&path).unwrap());
            let said = kept.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{sql}: {said}");
        };
        check("INSERT INTO trials VALUES (4, 1, 0, 2, 0, NULL)", "");
        check("UPDATE trials SET put_aside = 1, outcome = 'skipped' WHERE launch = 2", "");
        check("UPDATE block_counters SET value = 9 WHERE block_key = 3", "measured of trial 3");
        check("UPDATE block_counters SET value = 8 WHERE block_key = 3", "");
        check("UPDATE trials SET put_aside = 1 WHERE trial_key = 2", "the row of trial 2");
        check("DELETE FROM trials WHERE trial_key = 1", "trial 1 (run 1, launch 1, side 0) is lost");
    }

    #[test]
    fn a_store_that_is_not_there_holds_nothing() {
        assert_eq!(Contents::of(Path::new("no/such/store.sqlite")).unwrap().0.len(), 0);
    }
}
