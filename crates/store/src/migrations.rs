//! The schema's versions: append-only, each in its own transaction. A migration that was released is never
//! edited; a change of the schema is a new file.

use crate::error::Error;
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;

/// Marks an SQLite file as ours: "dbdy" in ASCII.
const APPLICATION_ID: i32 = 0x6462_6479;

/// All migrations; the schema's version is how many of them were applied.
const MIGRATIONS: [&str; 5] = [
    include_str!("../migrations/0001_results.sql"),
    include_str!("../migrations/0002_campaigns_and_imports.sql"),
    include_str!("../migrations/0003_when_blocks_began.sql"),
    include_str!("../migrations/0004_browsing.sql"),
    include_str!("../migrations/0005_servers_elsewhere.sql"),
];

/// Brings the schema up to date. Refuses a file of a later version and a file that is not ours.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    migrate_by(connection, path, &MIGRATIONS)
}

/// Refuses what [`migrate`] would refuse or change: for readers that must leave the file as it is.
pub(crate) fn check_current(connection: &Connection, path: &Path) -> Result<(), Error> {
    let known = MIGRATIONS.len();
    match applied(connection, path, known)? {
        found if found == known => Ok(()),
        found => Err(Error::Older {
            path: path.to_path_buf(),
            found: u32::try_from(found).unwrap_or(u32::MAX),
            known: u32::try_from(known).unwrap_or(u32::MAX),
        }),
    }
}

fn migrate_by(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), Error> {
    let known = migrations.len();
    // Read before any lock is asked for: a reader must open a store that another process writes to.
    if applied(connection, path, known)? == known {
        return Ok(());
    }
    // A table that is made anew is dropped in between: with foreign keys on, that would delete what refers to it.
    // The pragma is only heard outside of transactions, so it stands here and not in a migration.
    let foreign_keys = |connection: &Connection, on: bool| {
        connection.pragma_update(None, "foreign_keys", on).map_err(|source| failed(path, source))
    };
    let before = connection
        .pragma_query_value(None, "foreign_keys", |row| row.get::<_, bool>(0))
        .map_err(|source| failed(path, source))?;
    foreign_keys(connection, false)?;
    let applied = apply(connection, path, migrations);
    foreign_keys(connection, before)?;
    applied
}

fn apply(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), Error> {
    let known = migrations.len();
    let failed = |source| failed(path, source);
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have migrated while we waited for the lock.
    let first = applied(&transaction, path, known)?;
    for migration in &migrations[first..] {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    transaction.pragma_update(None, "user_version", known as u64 as i64).map_err(failed)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    let stray: Option<String> =
        transaction.query_row("PRAGMA foreign_key_check", [], |row| row.get(0)).optional().map_err(failed)?;
    if let Some(table) = stray {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
        let said = format!("table {table} refers to a row that is not there");
        return Err(failed(rusqlite::Error::SqliteFailure(code, Some(said))));
    }
    transaction.commit().map_err(failed)
}

fn failed(path: &Path, source: rusqlite::Error) -> Error {
    Error::from_sqlite(path, "bring the schema up to date", source)
}

/// How many migrations the file has had.
fn applied(connection: &Connection, path: &Path, known: usize) -> Result<usize, Error> {
    let number = |sql: &str| -> Result<i64, Error> {
        connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(|source| Error::from_sqlite(path, "read the schema's version", source))
    };
    let version = number("PRAGMA user_version")?;
    let ours = number("PRAGMA application_id")? == i64::from(APPLICATION_ID);
    let empty = version == 0 && number("SELECT count(*) FROM sqlite_master")? == 0;
    if !ours && !empty {
        return Err(Error::NotAStore { path: path.to_path_buf() });
    }
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        Ok(_) | Err(_) => Err(Error::Newer {
            path: path.to_path_buf(),
            found: u32::try_from(version).unwrap_or(u32::MAX),
            known: u32::try_from(known).unwrap_or(u32::MAX),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [&str; 1] = ["CREATE TABLE t (a INTEGER) STRICT; INSERT INTO t VALUES (1);"];
    const NEW: [&str; 2] = [OLD[0], "ALTER TABLE t ADD COLUMN b INTEGER NOT NULL DEFAULT 7;"];

    fn check_migrated(connection: &Connection, expected: i64) {
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, expected);
    }

    #[test]
    fn a_file_of_the_previous_version_keeps_its_rows() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("s");
        migrate_by(&mut connection, path, &OLD).unwrap();
        check_migrated(&connection, 1);
        migrate_by(&mut connection, path, &NEW).unwrap();
        migrate_by(&mut connection, path, &NEW).unwrap();
        check_migrated(&connection, 2);
        let row: (i64, i64) =
            connection.query_row("SELECT a, b FROM t", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(row, (1, 7));
    }

    #[test]
    fn a_migration_that_fails_leaves_the_previous_version() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("s");
        migrate_by(&mut connection, path, &OLD).unwrap();
        let broken = [OLD[0], "CREATE TABLE u (a INTEGER) STRICT; CREATE TABLE t (a INTEGER) STRICT;"];
        let error = migrate_by(&mut connection, path, &broken).unwrap_err();
        assert!(error.to_string().contains("bring the schema up to date"), "{error}");
        check_migrated(&connection, 1);
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 1);
    }

    #[test]
    fn a_later_version_is_refused_and_named() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("results.sqlite");
        migrate_by(&mut connection, path, &NEW).unwrap();
        let error = migrate_by(&mut connection, path, &OLD).unwrap_err();
        assert!(matches!(error, Error::Newer { found: 2, known: 1, .. }), "{error}");
        assert!(error.to_string().contains("results.sqlite"), "{error}");
    }

    /// What a store of version 1 holds, as far as later migrations touch it: a row of each table on which another
    /// one depends.
    const VERSION_1: &str = "
        INSERT INTO hosts VALUES (1, 'bench', 'boot', '6.8', 'cpu', 8, 64, '{}');
        INSERT INTO builds VALUES (1, 'rocksdb@8.7.3', 'ab', 1, '{}');
        INSERT INTO runs VALUES (7, 'first', 'a name', 'compare', 1000, 2000, 'done', 1, '0.1', 'quick', 'cd', -2,
            '0.1.0', '{}', 14, 0.5, 81.25, 163.7, 20, 3);
        INSERT INTO runs VALUES (9, 'second', NULL, 'calibrate', 3000, NULL, NULL, 1, NULL, 'quick', 'cd', 5,
            '0.1.0', '{}', NULL, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO subjects VALUES (7, 0, 'rocksdb@8.7.3', 1, 'standard', '{}', 0.0);
        INSERT INTO launches VALUES (7, 1, 1010, 30, 14, '[]');
        INSERT INTO trials VALUES (11, 7, 1, 'readrandom', 0, 'done', NULL, 7, 1, 2, 3, 4, '1c84');
        INSERT INTO blocks VALUES (13, 11, 3, 0, 1, 100, 0, 200, 1, 199, 1, 201);
        INSERT INTO shapes VALUES (17, 11, 'after', 4096, 17, '[]');
        INSERT INTO warnings VALUES (19, 7, NULL, 'busy-host', 'load 3.1');
    ";

    #[test]
    fn a_store_of_version_1_keeps_every_row_and_takes_campaigns() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "foreign_keys", true).unwrap();
        let path = Path::new("s");
        migrate_by(&mut connection, path, &MIGRATIONS[..1]).unwrap();
        connection.execute_batch(VERSION_1).unwrap();
        let campaign = "UPDATE runs SET purpose = 'campaign' WHERE run_key = 9";
        connection.execute(campaign, []).unwrap_err();
        migrate(&mut connection, path).unwrap();

        let text = |sql: &str| -> String { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        let runs = "SELECT group_concat(concat_ws('|', run_key, id, name, purpose, started_at_us, ended_at_us,
            outcome, host_key, load_1m, workload_name, workload_sha256, seed, tool_version, plan_json, launches_max,
            sampler_core_percent, block_edge_us, client_cpu_ns_per_op, controller_peak_bytes,
            worker_heap_peak_bytes, step_pauses), ' ') FROM runs";
        assert_eq!(
            text(runs),
            "7|first|a name|compare|1000|2000|done|1|0.1|quick|cd|-2|0.1.0|{}|14|0.5|81.25|163.7|20|3 \
             9|second|calibrate|3000|1|quick|cd|5|0.1.0|{}"
        );
        assert_eq!(
            text(
                "SELECT concat_ws('|', shape_key, trial_key, moment, memtable_bytes,
                pending_compaction_bytes, levels_json) FROM shapes"
            ),
            "17|11|after|4096|17|[]"
        );
        let joined = "SELECT concat_ws('|', block_key, operations, trials.step, latency_ns_p999, latency_ns_p9999,
            reference, took_ns, text) FROM runs JOIN subjects USING (run_key) JOIN launches USING (run_key)
            JOIN trials USING (run_key, launch, side) JOIN blocks USING (trial_key) JOIN warnings USING (run_key)";
        assert_eq!(text(joined), "13|100|readrandom|3|rocksdb@8.7.3|30|load 3.1");

        connection.execute(campaign, []).unwrap();
        connection.execute("INSERT INTO shapes VALUES (18, 11, 'settled', 1, 2, '[]')", []).unwrap();
        // The new tables are the ones that others refer to, and the connection watches over that again.
        connection.execute("DELETE FROM runs WHERE run_key = 7", []).unwrap_err();
        connection.execute("INSERT INTO launches VALUES (8, 1, 1, NULL, NULL, NULL)", []).unwrap_err();
        let indexes = "SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE type = 'index'
            AND tbl_name IN ('runs', 'shapes') AND sql IS NOT NULL ORDER BY name)";
        assert_eq!(
            text(indexes),
            "runs_by_name,runs_by_purpose,runs_by_start,runs_by_workload,shapes_by_trial"
        );
    }

    #[test]
    fn a_migration_that_leaves_a_reference_to_nothing_is_undone() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("s");
        let old = "CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1);
                   CREATE TABLE u (b INTEGER REFERENCES t (a)); INSERT INTO u VALUES (1);";
        migrate_by(&mut connection, path, &[old]).unwrap();
        let error = migrate_by(&mut connection, path, &[old, "DELETE FROM t;"]).unwrap_err();
        assert!(format!("{:?}", error).contains("table u refers"), "{error:?}");
        check_migrated(&connection, 1);
    }

    #[test]
    fn a_database_of_another_program_is_refused_and_untouched() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
        let error = migrate(&mut connection, Path::new("places.sqlite")).unwrap_err();
        assert!(matches!(error, Error::NotAStore { .. }), "{error}");
        check_migrated(&connection, 0);
    }
}
