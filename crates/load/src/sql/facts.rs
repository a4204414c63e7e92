//! What a server says of itself when somebody connects: its version, how it was built, which storage engines it has.

use super::connection::{Connection, Rows};
use super::error::SqlError;
use model::wire::ServerAddress;
use model::workload::sql::Dialect;
use std::collections::BTreeMap;

/// Facts by name. An error where the storage engine that the address names is not there.
pub fn read(
    connection: &mut Connection,
    address: &ServerAddress,
) -> Result<BTreeMap<String, String>, SqlError> {
    match address.dialect {
        Dialect::Postgres => of_postgres(connection),
        Dialect::Mysql => of_mysql(connection, address.storage.as_deref()),
    }
}

/// Rows of `pg_config` that say how a build was made; the others are directories.
const PG_CONFIG: &str = "SELECT lower(name), setting FROM pg_config \
    WHERE name IN ('CC', 'CPPFLAGS', 'CFLAGS', 'LDFLAGS', 'CONFIGURE')";

fn of_postgres(connection: &mut Connection) -> Result<BTreeMap<String, String>, SqlError> {
    let mut facts = BTreeMap::new();
    let version = connection.read("SELECT version()")?;
    facts.insert("version".to_owned(), version.first().unwrap_or_default().to_owned());
    let number = connection.read("SHOW server_version")?;
    facts.insert("server_version".to_owned(), number.first().unwrap_or_default().to_owned());
    // Only superusers may read it.
    let config = if_there(connection.read(PG_CONFIG))?;
    facts.extend(config.pairs().map(owned));
    Ok(facts)
}

/// Variables that say how a build was made; each release has some of them.
const BUILD_VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version_comment', \
    'version_compile_machine', 'version_compile_os', 'version_source_revision', 'version_malloc_library', \
    'innodb_version', 'rocksdb_git_hash', 'rocksdb_git_date')";

fn of_mysql(
    connection: &mut Connection,
    storage: Option<&str>,
) -> Result<BTreeMap<String, String>, SqlError> {
    let mut facts = BTreeMap::new();
    let version = connection.read("SELECT VERSION()")?;
    facts.insert("version".to_owned(), version.first().unwrap_or_default().to_owned());
    let variables = connection.read(BUILD_VARIABLES)?;
    facts.extend(variables.pairs().filter(|(_, value)| !value.is_empty()).map(owned));
    let present = connection.read(
        "SELECT ENGINE FROM information_schema.ENGINES WHERE SUPPORT IN ('YES', 'DEFAULT') ORDER BY ENGINE",
    )?;
    let present: Vec<&str> = present.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    if let Some(wanted) = storage
        && !present.iter().any(|engine| engine.eq_ignore_ascii_case(wanted))
    {
        return Err(SqlError::NoStorageEngine { wanted: wanted.to_owned(), present: present.join(", ") });
    }
    facts.insert("storage_engines".to_owned(), present.join(", "));
    Ok(facts)
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// What was read; nothing where the server refused, as one does that has no such view or shows it to nobody.
pub fn if_there(read: Result<Rows, SqlError>) -> Result<Rows, SqlError> {
    match read {
        Err(error) if error.server_message().is_some() => Ok(Rows::default()),
        other => other,
    }
}
