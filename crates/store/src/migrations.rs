//! The schema's versions: append-only, each in its own transaction. A migration that was released is never
//! edited; a change of the schema is a new file.

use crate::error::Error;
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;

/// Marks an SQLite file as ours: "dbdy" in ASCII.
const APPLICATION_ID: i32 = 0x6462_6479;

/// All migrations; the schema's version is how many of them were applied.
const MIGRATIONS: [&str; 21] = [
    include_str!("../migrations/0001_results.sql"),
    include_str!("../migrations/0002_campaigns_and_imports.sql"),
    include_str!("../migrations/0003_when_blocks_began.sql"),
    include_str!("../migrations/0004_browsing.sql"),
    include_str!("../migrations/0005_servers_elsewhere.sql"),
    include_str!("../migrations/0006_typed_facts.sql"),
    include_str!("../migrations/0007_kinds_and_what_was_put_aside.sql"),
    include_str!("../migrations/0008_looks.sql"),
    include_str!("../migrations/0009_self_tests.sql"),
    include_str!("../migrations/0010_queued_runs.sql"),
    include_str!("../migrations/0011_resumes.sql"),
    include_str!("../migrations/0012_fingerprints.sql"),
    include_str!("../migrations/0013_fingerprints_of_runs.sql"),
    include_str!("../migrations/0014_profiles.sql"),
    include_str!("../migrations/0015_counters_of_profiles.sql"),
    include_str!("../migrations/0016_watched.sql"),
    include_str!("../migrations/0017_watch_told.sql"),
    include_str!("../migrations/0018_reading_names.sql"),
    include_str!("../migrations/0019_several_hosts.sql"),
    include_str!("../migrations/0020_a_lab.sql"),
    include_str!("../migrations/0021_slurm.sql"),
];

/// Brings the schema up to date. Refuses a file of a later version and a file that is not ours.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    migrate_by(connection, path, &MIGRATIONS)
}

/// Refuses what [`migrate`] would refuse: a file of another program, or of a later version.
pub(crate) fn check_ours(connection: &Connection, path: &Path) -> Result<(), Error> {
    applied(connection, path, MIGRATIONS.len()).map(|_| ())
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

/// The version of a store that this dbdyno makes.
#[cfg(test)]
pub(crate) const VERSIONS: usize = MIGRATIONS.len();

/// Brings the schema to that of an earlier version.
#[cfg(test)]
pub(crate) fn migrate_to(connection: &mut Connection, path: &Path, version: usize) -> Result<(), Error> {
    migrate_by(connection, path, &MIGRATIONS[..version])
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

/// How many migrations the file has had: its schema. Refuses a file of another program, or of a later version.
pub(crate) fn schema_of(connection: &Connection, path: &Path) -> Result<u32, Error> {
    applied(connection, path, MIGRATIONS.len()).map(|found| u32::try_from(found).unwrap_or(u32::MAX))
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
    use crate::columns;
    use model::reason::{LeaveReason, Reason};
    use model::warning::Warning;

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
            "runs_by_campaign,runs_by_host,runs_by_name,runs_by_purpose,runs_by_start,runs_by_workload,runs_in_lists,\
             shapes_by_trial"
        );
    }

    /// What a store of version 6 holds where numbers said two things: a comparison, a campaign in rounds whose second
    /// launch was cut off twice, and a sequential one, each with a plan that says its design.
    const VERSION_6: &str = r#"
        INSERT INTO hosts VALUES (1, 'bench', 'boot', '6.8', 'cpu', 8, 64, '{}');
        INSERT INTO runs (run_key, id, purpose, started_at_us, host_key, workload_name, workload_sha256, seed,
            tool_version, plan_json)
        VALUES (1, 'old', 'compare', 1, 1, 'quick', 'cd', 5, '0.1.0', '{}'),
               (2, 'pairs', 'compare', 2, 1, 'quick', 'cd', 5, '0.1.0', '{"layout":{"design":"interleaved"}}'),
               (3, 'rounds', 'campaign', 3, 1, 'quick', 'cd', 5, '0.1.0', '{"layout":{"design":"rounds"}}'),
               (4, 'posts', 'campaign', 4, 1, 'quick', 'cd', 5, '0.1.0', '{"layout":{"design":"sequential"}}');
        INSERT INTO launches (run_key, launch, started_at_us, took_ns, launches_max, active_steps_json)
        VALUES (3, 1, 10, 30, 14, '[]'), (3, 2, 20, NULL, NULL, NULL),
               (3, 1000002, 15, NULL, NULL, NULL), (3, 2000002, 17, NULL, NULL, NULL);
        INSERT INTO trials (trial_key, run_key, launch, step, side, outcome, reason, latency_operations,
            latency_ns_p50, latency_ns_p99, latency_ns_p999, latency_ns_p9999, latency_ns_max, latency_histogram)
        VALUES (11, 1, 1, 's', 0, 'done', NULL, 7, 1, 2, 3, 4, 5, '1c84'),
               (12, 2, 1, 's', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
               (13, 3, 2, 's', 0, 'failed', 'why', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
               (14, 3, 1000002, 's', 0, 'skipped', 'cut off', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
               (15, 3, 2000002, 's', 0, 'skipped', 'cut off', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
               (16, 4, 1, 's', 0, 'done', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO blocks (block_key, trial_key, image, cycle, position, operations, failed_operations, wall_ns,
            run_delay_ns, foreground_cpu_ns, foreground_threads, process_cpu_ns, started_at_us)
        VALUES (21, 11, 3, 1, 9, 100, 0, 200, 1, 199, 1, 201, 77), (22, 12, 1, 0, 0, 1, 0, 1, 1, 1, 1, NULL, NULL),
               (23, 12, 1, 1, 0, 1, 0, 1, 1, 1, 1, NULL, NULL), (24, 13, 1, 0, 0, 1, 0, 1, 1, 1, 1, NULL, NULL),
               (25, 13, 1, 1, 0, 1, 0, 1, 1, 1, 1, NULL, NULL), (26, 14, 1, 0, 0, 1, 0, 1, 1, 1, 1, NULL, NULL),
               (27, 16, 1, 1, 0, 1, 0, 1, 1, 1, 1, NULL, NULL);
        INSERT INTO seconds VALUES (14, 0, 1, 1, 1, 1);
        INSERT INTO raw_outputs (raw_output_key, run_key, launch, side, name, text)
        VALUES (31, 3, 0, 0, 'facts', 'f'), (32, 3, 2, 0, 'LOG', 'l'), (33, 3, 1000002, 0, 'LOG', 'cut off');
    "#;

    #[test]
    fn a_store_of_version_6_gets_columns_that_say_one_thing() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "foreign_keys", true).unwrap();
        let path = Path::new("s");
        migrate_by(&mut connection, path, &MIGRATIONS[..6]).unwrap();
        connection.execute_batch(VERSION_6).unwrap();
        migrate_by(&mut connection, path, &MIGRATIONS[..7]).unwrap();

        let text = |sql: &str| -> String { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        assert_eq!(
            text(
                "SELECT group_concat(concat_ws('|', block_key, kind, cycle), ' ')
                 FROM (SELECT * FROM blocks ORDER BY block_key)"
            ),
            "21|cycle|1 22|cycle|0 23|cycle|1 24|whole 25|drain 26|whole 27|drain"
        );
        assert_eq!(
            text(
                "SELECT concat_ws('|', block_key, trial_key, image, kind, cycle, position, operations,
                     failed_operations, wall_ns, run_delay_ns, foreground_cpu_ns, foreground_threads, process_cpu_ns,
                     started_at_us) FROM blocks WHERE block_key = 21"
            ),
            "21|11|3|cycle|1|9|100|0|200|1|199|1|201|77"
        );
        assert_eq!(
            text(
                "SELECT group_concat(concat_ws('|', trial_key, run_key, put_aside, launch, step, side, outcome, reason),
                     ' ') FROM (SELECT * FROM trials ORDER BY trial_key)"
            ),
            "11|1|0|1|s|0|done 12|2|0|1|s|0 13|3|0|2|s|0|failed|why 14|3|1|2|s|0|skipped|cut off \
             15|3|2|2|s|0|skipped|cut off 16|4|0|1|s|0|done"
        );
        assert_eq!(
            text(
                "SELECT concat_ws('|', latency_operations, latency_ns_p50, latency_ns_p99, latency_ns_p999,
                     latency_ns_p9999, latency_ns_max, latency_histogram) FROM trials WHERE trial_key = 11"
            ),
            "7|1|2|3|4|5|1c84"
        );
        assert_eq!(
            text(
                "SELECT group_concat(concat_ws('|', put_aside, launch, started_at_us, took_ns, launches_max,
                     active_steps_json), ' ') FROM (SELECT * FROM launches ORDER BY put_aside, launch)"
            ),
            "0|1|10|30|14|[] 0|2|20 1|2|15 2|2|17"
        );
        assert_eq!(
            text(
                "SELECT group_concat(concat_ws('|', raw_output_key, put_aside, launch, text), ' ')
                 FROM (SELECT * FROM raw_outputs ORDER BY raw_output_key)"
            ),
            "31|0|0|f 32|0|2|l 33|1|2|cut off"
        );
        // What refers to trials still does, a kind and its cycle go together, and what is kept as JSON is JSON.
        connection.execute("DELETE FROM trials WHERE trial_key = 14", []).unwrap_err();
        connection.execute("UPDATE blocks SET cycle = 1 WHERE kind = 'drain'", []).unwrap_err();
        connection.execute("UPDATE blocks SET cycle = NULL WHERE kind = 'cycle'", []).unwrap_err();
        connection.execute("UPDATE runs SET found_json = 'slower'", []).unwrap_err();
        connection.execute("UPDATE trials SET put_aside = 0 WHERE trial_key = 14", []).unwrap_err();
        let indexes = "SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE type = 'index'
            AND tbl_name IN ('blocks', 'trials', 'launches', 'raw_outputs') AND sql IS NOT NULL ORDER BY name)";
        assert_eq!(text(indexes), "blocks_by_trial,raw_outputs_by_run,trials_by_step");
    }

    #[test]
    fn a_table_that_is_made_anew_loses_no_column() {
        let columns = |version: usize| -> Vec<String> {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate_by(&mut connection, Path::new("s"), &MIGRATIONS[..version]).unwrap();
            let sql = "SELECT concat_ws('.', tables.name, columns.name)
                       FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
                       WHERE tables.type = 'table'";
            connection
                .prepare(sql)
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .map(Result::unwrap)
                .collect()
        };
        for version in 1..MIGRATIONS.len() {
            let after = columns(version + 1);
            let lost: Vec<String> =
                columns(version).into_iter().filter(|column| !after.contains(column)).collect();
            assert_eq!(lost, Vec::<String>::new(), "lost by migration {}", version + 1);
        }
    }

    #[test]
    fn what_a_store_of_version_5_says_in_sentences_stays_and_has_no_data() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("s");
        migrate_by(&mut connection, path, &MIGRATIONS[..1]).unwrap();
        connection.execute_batch(VERSION_1).unwrap();
        migrate_by(&mut connection, path, &MIGRATIONS[..5]).unwrap();
        let said = "INSERT INTO trials (run_key, launch, step, side, outcome, reason)
                        VALUES (7, 1, 'overwrite', 0, 'failed', 'signal 11');
                    INSERT INTO step_exits (run_key, step, launch, reason)
                        VALUES (7, 'readrandom', 1, 'decided'), (7, 'overwrite', 1, 'dropped: too dear')";
        connection.execute_batch(said).unwrap();
        migrate(&mut connection, path).unwrap();

        let warning = connection.query_row("SELECT * FROM warnings", [], columns::run_warning).unwrap();
        let recorded = Warning::Recorded { id: "busy-host".to_owned(), text: "load 3.1".to_owned() };
        assert_eq!((warning.step, warning.warning), (None, recorded));
        let failed = "SELECT * FROM trials WHERE outcome = 'failed'";
        let reason = connection.query_row(failed, [], columns::reason).unwrap();
        assert_eq!(reason, Reason::Said("signal 11".to_owned()));
        let mut exits = connection.prepare("SELECT * FROM step_exits ORDER BY step_exit_key").unwrap();
        let exits: Vec<LeaveReason> =
            exits.query_map([], columns::step_exit).unwrap().map(|exit| exit.unwrap().reason).collect();
        assert_eq!(exits, [LeaveReason::Decided, LeaveReason::Recorded("dropped: too dear".to_owned())]);
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
