//! What a server says of its state and of its settings, as text: one `name = value` a line, and the status of a
//! storage engine as it writes it.

use super::connection::{Connection, Rows};
use super::error::SqlError;
use super::server;

/// Settings that may hold a password are passed over.
const SECRETS: [&str; 4] = ["password", "passphrase", "conninfo", "secret"];

/// The settings, sorted by name.
pub fn settings(connection: &mut Connection) -> Result<String, SqlError> {
    let settings = server::of(connection.dialect()).settings(connection)?;
    let shown = settings.iter().filter(|(name, _)| !holds_secret(name));
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
    server::of(connection.dialect()).status(connection, claimed)
}

/// `view[key].column = value`.
pub fn lines_of(view: &str, key: &str, rows: &Rows) -> Vec<String> {
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

/// A value of several lines stays on one.
pub fn line(name: &str, value: &str) -> String {
    format!("{name} = {}\n", value.replace('\\', "\\\\").replace('\n', "\\n"))
}

/// As one text.
pub fn sorted(mut lines: Vec<String>) -> String {
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
