//! What a server says of its state and of its settings, as text: one `name = value` a line, and the status of a
//! storage engine as it writes it.

use super::claim;
use super::connection::{Connection, Rows};
use super::error::SqlError;
use super::facts::if_there;
use model::workload::sql::Dialect;

/// Settings that may hold a password are passed over.
const SECRETS: [&str; 4] = ["password", "passphrase", "conninfo", "secret"];

/// The settings, sorted by name.
pub fn settings(connection: &mut Connection) -> Result<String, SqlError> {
    let rows = match connection.dialect() {
        Dialect::Postgres => connection.read("SELECT name, setting FROM pg_settings")?,
        Dialect::Mysql => connection.read("SHOW GLOBAL VARIABLES")?,
    };
    let shown = rows.pairs().filter(|(name, _)| !holds_secret(name));
    Ok(sorted(shown.map(|(name, value)| line(name, value)).collect()))
}

/// How passwords are handled is no secret: `password_encryption`, `default_password_lifetime`.
fn holds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|part| name.ends_with(part))
}

/// The counters, sorted by name; before them the status of each storage engine that has one. Where only some tables are
/// ours, nothing that tells of others' tables and statements.
pub fn status(connection: &mut Connection, claimed: Option<&[String]>) -> Result<String, SqlError> {
    match connection.dialect() {
        Dialect::Postgres => of_postgres(connection, claimed),
        Dialect::Mysql => of_mysql(connection, claimed),
    }
}

/// Views of one row, or of one for each of what the second part names. Not every release has each.
const VIEWS: [(&str, &str, &str); 8] = [
    ("pg_stat_database", "", "SELECT * FROM pg_stat_database WHERE datname = current_database()"),
    ("pg_stat_bgwriter", "", "SELECT * FROM pg_stat_bgwriter"),
    ("pg_stat_checkpointer", "", "SELECT * FROM pg_stat_checkpointer"),
    ("pg_stat_wal", "", "SELECT * FROM pg_stat_wal"),
    ("pg_stat_io", "backend_type object context", "SELECT * FROM pg_stat_io"),
    ("pg_stat_user_tables", "relname", "SELECT * FROM pg_stat_user_tables"),
    ("pg_stat_user_indexes", "indexrelname", "SELECT * FROM pg_stat_user_indexes"),
    ("pg_statio_user_tables", "relname", "SELECT * FROM pg_statio_user_tables"),
];

/// How the key of a view ends that has a row for each table or index, and the table's name in `relname`.
const TABLE_KEY: &str = "relname";

fn of_postgres(connection: &mut Connection, claimed: Option<&[String]>) -> Result<String, SqlError> {
    let mut lines = Vec::new();
    for (view, key, sql) in VIEWS {
        let sql = match claimed {
            Some(tables) if key.ends_with(TABLE_KEY) => {
                format!("{sql} WHERE relname IN ({})", claim::list_of(Dialect::Postgres, tables))
            }
            Some(_) | None => sql.to_owned(),
        };
        let rows = if_there(connection.read(&sql))?;
        lines.extend(lines_of(view, key, &rows));
    }
    if let Some(tables) = claimed {
        let size = connection.read(&claim::size_of(Dialect::Postgres, tables))?;
        lines.push(line("database_size", size.first().unwrap_or_default()));
        return Ok(sorted(lines));
    }
    let size = connection.read("SELECT pg_database_size(current_database())")?;
    lines.push(line("pg_database_size", size.first().unwrap_or_default()));
    Ok(sorted(lines))
}

/// `view[key].column = value`.
fn lines_of(view: &str, key: &str, rows: &Rows) -> Vec<String> {
    let value = |row: &[Option<String>], name: &str| {
        rows.names.iter().zip(row).find(|(column, _)| *column == name).and_then(|(_, value)| value.clone())
    };
    let mut lines = Vec::new();
    for row in &rows.rows {
        let key: Vec<String> = key.split_whitespace().filter_map(|name| value(row, name)).collect();
        let key = if key.is_empty() { String::new() } else { format!("[{}]", key.join(", ")) };
        for (column, value) in rows.names.iter().zip(row) {
            if let Some(value) = value {
                lines.push(line(&format!("{view}{key}.{column}"), value));
            }
        }
    }
    lines
}

/// By the statistics of the tables, which the settle step brings up to date.
const SIZE_OF_MYSQL: &str = "SELECT CAST(SUM(data_length + index_length) AS UNSIGNED) \
                             FROM information_schema.tables WHERE table_schema = DATABASE()";

fn of_mysql(connection: &mut Connection, claimed: Option<&[String]>) -> Result<String, SqlError> {
    let mut text = String::new();
    // The status of InnoDB shows statements of all clients.
    let engines: &[&str] = if claimed.is_some() { &[] } else { &["INNODB", "ROCKSDB"] };
    for engine in engines {
        let rows = if_there(connection.read(&format!("SHOW ENGINE {engine} STATUS")))?;
        // Type, name, status.
        for row in &rows.rows {
            if let [_, Some(name), Some(status)] = row.as_slice() {
                text.push_str(&format!("-- SHOW ENGINE {engine} STATUS {name}\n{status}\n"));
            }
        }
    }
    let rows = connection.read("SHOW GLOBAL STATUS")?;
    let mut lines: Vec<String> = rows.pairs().map(|(name, value)| line(name, value)).collect();
    let sql = claimed.map(|tables| claim::size_of(Dialect::Mysql, tables));
    let size = connection.read(sql.as_deref().unwrap_or(SIZE_OF_MYSQL))?;
    lines.extend(size.first().map(|bytes| line("database_size", bytes)));
    text.push_str(&sorted(lines));
    Ok(text)
}

/// A value of several lines stays on one.
fn line(name: &str, value: &str) -> String {
    format!("{name} = {}\n", value.replace('\\', "\\\\").replace('\n', "\\n"))
}

fn sorted(mut lines: Vec<String>) -> String {
    lines.sort_unstable();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_becomes_lines_with_its_key() {
        let names = ["relname", "seq_scan", "last_vacuum"].map(str::to_owned).to_vec();
        let row = |name: &str, scans: &str| vec![Some(name.to_owned()), Some(scans.to_owned()), None];
        let rows = Rows { names, rows: vec![row("sbtest2", "7"), row("a\nb", "8")] };
        assert_eq!(
            sorted(lines_of("pg_stat_user_tables", "relname", &rows)),
            "pg_stat_user_tables[a\nb].relname = a\\nb\npg_stat_user_tables[a\nb].seq_scan = 8\n\
             pg_stat_user_tables[sbtest2].relname = sbtest2\npg_stat_user_tables[sbtest2].seq_scan = 7\n"
        );
        assert_eq!(lines_of("pg_stat_bgwriter", "", &rows)[1], "pg_stat_bgwriter.seq_scan = 7\n");
    }
}
