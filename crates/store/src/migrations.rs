//! The schema's versions: append-only, each in its own transaction. A migration that was released is never
//! edited; a change of the schema is a new file.

use crate::error::Error;
use rusqlite::Connection;
use std::path::Path;

/// Marks an SQLite file as ours: "dbdy" in ASCII.
const APPLICATION_ID: i32 = 0x6462_6479;

/// All migrations; the schema's version is how many of them were applied.
const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001_results.sql")];

/// Brings the schema up to date. Refuses a file of a later version and a file that is not ours.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    migrate_by(connection, path, &MIGRATIONS)
}

fn migrate_by(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), Error> {
    let known = migrations.len();
    // Read before any lock is asked for: a reader must open a store that another process writes to.
    if applied(connection, path, known)? == known {
        return Ok(());
    }
    let failed = |source| Error::from_sqlite(path, "bring the schema up to date", source);
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have migrated while we waited for the lock.
    let first = applied(&transaction, path, known)?;
    for migration in &migrations[first..] {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    transaction.pragma_update(None, "user_version", known as u64 as i64).map_err(failed)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.commit().map_err(failed)
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

    #[test]
    fn a_database_of_another_program_is_refused_and_untouched() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
        let error = migrate(&mut connection, Path::new("places.sqlite")).unwrap_err();
        assert!(matches!(error, Error::NotAStore { .. }), "{error}");
        check_migrated(&connection, 0);
    }
}
