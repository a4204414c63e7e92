//! Tables of ours in a database that is not ours. Their names are written into a table of ours, the claim, before they
//! are made: what does not stand there is never dropped, and where something of the same name is, we do not begin.
//!
//! A lock of the server, which goes with the connection, keeps two runs of ours out of one database. A run that is
//! killed leaves its tables and the claim; the next one drops them.

use super::connection::Connection;
use super::error::{SqlError, WireError};
use model::wire::ServerAddress;
use model::workload::sql::Dialect;

/// The name of the table of names.
const CLAIM: &str = "dbdyno_claim";
/// The column that a table of this name, made by somebody else, would not have.
const OURS: &str = "made_by_dbdyno";
/// The lock of Postgres, which is of one database: "dbdy" in ASCII.
const LOCK: u32 = 0x6462_6479;
/// Characters of a database's name in the name of MySQL's lock, which is of the whole server and has at most 64.
const LOCK_NAME_CHARACTERS: usize = 50;

/// Tables that are ours. Dropped without [`Claim::release`], it lets the lock go and leaves the tables.
pub struct Claim {
    connection: Connection,
    /// The schema, or on MySQL the database, quoted.
    schema: String,
    tables: Vec<String>,
}

impl Claim {
    /// Drops what earlier runs of ours left, and takes these names.
    pub fn take(address: &ServerAddress, names: &[String]) -> Result<Claim, SqlError> {
        let mut connection = Connection::open(address)?;
        stay_connected(&mut connection);
        lock(&mut connection, address)?;
        let schema = schema(&mut connection, address)?;
        // As the server writes a name that stands without quotes.
        let tables = match address.dialect {
            Dialect::Postgres => names.iter().map(|name| name.to_ascii_lowercase()).collect(),
            Dialect::Mysql => names.to_vec(),
        };
        let mut claim = Claim { connection, schema, tables };
        let earlier = claim.earlier(address)?;
        let foreign: Vec<String> = claim
            .present(&claim.tables.clone())?
            .into_iter()
            .filter(|name| !earlier.iter().flatten().any(|ours| ours.eq_ignore_ascii_case(name)))
            .collect();
        if !foreign.is_empty() {
            return Err(foreign_tables(address, &foreign));
        }
        match earlier {
            Some(left) => claim.drop_all(&left)?,
            None => claim.make(address)?,
        }
        claim.write_names()?;
        Ok(claim)
    }

    /// The names of our tables, as the server writes them.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Drops our tables and the claim.
    pub fn release(mut self) -> Result<(), SqlError> {
        let tables = std::mem::take(&mut self.tables);
        self.drop_all(&tables)?;
        let claim = self.qualified(CLAIM);
        self.connection.run(&format!("DROP TABLE {claim}")).map(drop)
    }

    /// The names that stand in the claim of an earlier run; none where there is no claim.
    fn earlier(&mut self, address: &ServerAddress) -> Result<Option<Vec<String>>, SqlError> {
        if self.present(&[CLAIM.to_owned()])?.is_empty() {
            return Ok(None);
        }
        let claim = self.qualified(CLAIM);
        let read = self.connection.read(&format!("SELECT name FROM {claim} WHERE {OURS} = 1"));
        let rows = read.map_err(|error| match error.server_message() {
            Some(_) => foreign_tables(address, &[CLAIM.to_owned()]),
            None => error,
        })?;
        Ok(Some(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()))
    }

    /// Those of the names that something has, be it a table or not.
    fn present(&mut self, names: &[String]) -> Result<Vec<String>, SqlError> {
        let dialect = self.connection.dialect();
        let list = list_of(dialect, names);
        let sql = match dialect {
            Dialect::Postgres => format!(
                "SELECT c.relname FROM pg_catalog.pg_class c \
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = current_schema() AND c.relname IN ({list}) ORDER BY 1"
            ),
            Dialect::Mysql => format!(
                "SELECT TABLE_NAME FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({list}) ORDER BY 1"
            ),
        };
        let rows = self.connection.read(&sql)?.rows;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    fn make(&mut self, address: &ServerAddress) -> Result<(), SqlError> {
        let claim = self.qualified(CLAIM);
        let sql =
            format!("CREATE TABLE {claim} (name VARCHAR(64) NOT NULL PRIMARY KEY, {OURS} INTEGER NOT NULL)");
        let made = self.connection.run(&sql).map(drop);
        made.map_err(|error| match error {
            SqlError::Statement { source: WireError::Server(message), .. }
                if NO_RIGHT.contains(&message.code.as_str()) =>
            {
                SqlError::NoCreateRight {
                    endpoint: address.endpoint.to_string(),
                    user: address.user.clone(),
                    database: address.database.clone(),
                    source: WireError::Server(message),
                }
            }
            other => other,
        })
    }

    /// Instead of those that stand in the claim.
    fn write_names(&mut self) -> Result<(), SqlError> {
        let claim = self.qualified(CLAIM);
        self.connection.run(&format!("DELETE FROM {claim}"))?;
        if self.tables.is_empty() {
            return Ok(());
        }
        let dialect = self.connection.dialect();
        let row = |name: &String| format!("({}, 1)", literal(dialect, name));
        let rows: Vec<String> = self.tables.iter().map(row).collect();
        let sql = format!("INSERT INTO {claim} (name, {OURS}) VALUES {}", rows.join(", "));
        self.connection.run(&sql).map(drop)
    }

    fn drop_all(&mut self, names: &[String]) -> Result<(), SqlError> {
        for name in names {
            let table = self.qualified(name);
            self.connection.run(&format!("DROP TABLE IF EXISTS {table}"))?;
        }
        Ok(())
    }

    fn qualified(&self, name: &str) -> String {
        format!("{}.{}", self.schema, quoted(self.connection.dialect(), name))
    }
}

/// Codes of "you may not make a table here", of Postgres and of MySQL.
const NO_RIGHT: [&str; 3] = ["42501", "1142", "1044"];

fn foreign_tables(address: &ServerAddress, names: &[String]) -> SqlError {
    const SHOWN: usize = 3;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        shown.push(format!("{} more", names.len() - SHOWN));
    }
    SqlError::ForeignTables {
        endpoint: address.endpoint.to_string(),
        database: address.database.clone(),
        names: shown.join(", "),
    }
}

/// A connection that does nothing for hours would be closed, and with it would go the lock. What a release does not
/// know, it does not do.
fn stay_connected(connection: &mut Connection) {
    let sql = match connection.dialect() {
        Dialect::Postgres => "SET idle_session_timeout = 0",
        Dialect::Mysql => "SET SESSION wait_timeout = 2147483",
    };
    // Releases before 14 have no such setting, and no such bound.
    let _ = connection.run(sql);
}

fn lock(connection: &mut Connection, address: &ServerAddress) -> Result<(), SqlError> {
    let sql = match address.dialect {
        Dialect::Postgres => format!("SELECT pg_try_advisory_lock({LOCK})::integer"),
        Dialect::Mysql => {
            let database: String = address.database.chars().take(LOCK_NAME_CHARACTERS).collect();
            format!("SELECT GET_LOCK({}, 0)", literal(Dialect::Mysql, &format!("dbdyno.{database}")))
        }
    };
    if connection.read(&sql)?.first() == Some("1") {
        return Ok(());
    }
    Err(SqlError::Claimed { endpoint: address.endpoint.to_string(), database: address.database.clone() })
}

fn schema(connection: &mut Connection, address: &ServerAddress) -> Result<String, SqlError> {
    let name = match address.dialect {
        Dialect::Postgres => {
            let schema = connection.read("SELECT current_schema()")?;
            // Nothing of the search path exists: making a table will fail, and the server says why.
            schema.first().unwrap_or("public").to_owned()
        }
        Dialect::Mysql => address.database.clone(),
    };
    Ok(quoted(address.dialect, &name))
}

fn quoted(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
        Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
    }
}

/// Names as a list of literals; one that nothing has where there are none.
pub(super) fn list_of(dialect: Dialect, names: &[String]) -> String {
    if names.is_empty() {
        return "''".to_owned();
    }
    names.iter().map(|name| literal(dialect, name)).collect::<Vec<_>>().join(", ")
}

fn literal(dialect: Dialect, text: &str) -> String {
    let text = text.replace('\'', "''");
    match dialect {
        Dialect::Postgres => format!("'{text}'"),
        // There a backslash is an escape.
        Dialect::Mysql => format!("'{}'", text.replace('\\', "\\\\")),
    }
}

/// Bytes of our tables with their indexes, as a statement.
pub(super) fn size_of(dialect: Dialect, tables: &[String]) -> String {
    let list = list_of(dialect, tables);
    match dialect {
        Dialect::Postgres => format!(
            "SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname IN ({list})"
        ),
        Dialect::Mysql => format!(
            "SELECT CAST(SUM(data_length + index_length) AS UNSIGNED) FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name IN ({list})"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_what_they_stand_in() {
        assert_eq!(quoted(Dialect::Postgres, "a\"b"), "\"a\"\"b\"");
        assert_eq!(quoted(Dialect::Mysql, "a`b"), "`a``b`");
        assert_eq!(literal(Dialect::Postgres, "a'\\"), "'a''\\'");
        assert_eq!(literal(Dialect::Mysql, "a'\\"), "'a''\\\\'");
        let names = ["t1", "t2"].map(str::to_owned);
        assert_eq!(list_of(Dialect::Mysql, &names), "'t1', 't2'");
        assert_eq!(list_of(Dialect::Mysql, &[]), "''");
    }
}
