//! Tables of ours in a database that is not ours. Their names are written into a table of ours, the claim, before they
//! are made, and each carries our mark. What does not stand in the claim, lacks the mark or belongs to another user is
//! never dropped: a claim may be planted, and a table of ours may have made room for somebody else's of its name.
//!
//! A lock of the server, which goes with the connection, keeps two runs of ours out of one database. A run that is
//! killed leaves its tables and the claim; the next one drops them.

use super::connection::Connection;
use super::error::{SqlError, WireError};
use super::server::{self, SqlServer};
use model::address::ServerAddress;

/// The name of the table of names.
const CLAIM: &str = "dbdyno_claim";
/// The column that a table of this name, made by somebody else, would not have.
const OURS: &str = "made_by_dbdyno";

/// Tables that are ours. Dropped without [`Claim::release`], it lets the lock go and leaves the tables.
pub struct Claim {
    connection: Connection,
    server: &'static dyn SqlServer,
    /// What messages say of it; without its password.
    address: ServerAddress,
    /// The schema, or on MySQL the database, quoted.
    schema: String,
    tables: Vec<String>,
}

impl Claim {
    /// Drops what earlier runs of ours left, and takes these names. An error if something else has one of either.
    pub fn take(address: &ServerAddress, names: &[String]) -> Result<Claim, SqlError> {
        let mut connection = Connection::open(address)?;
        let server = server::sql_of(address.dialect)?;
        // With the connection would go the lock.
        let _ = connection.run(server.stay_connected());
        if connection.read(&server.lock(address))?.first() != Some("1") {
            let (endpoint, database) = (address.endpoint.to_string(), address.database.clone());
            return Err(SqlError::Claimed { endpoint, database });
        }
        let schema = server.quoted(&server.schema(&mut connection, address)?);
        let tables = names.iter().map(|name| server.as_written(name)).collect();
        let address = ServerAddress { password: None, ..address.clone() };
        let mut claim = Claim { connection, server, address, schema, tables };
        let earlier = claim.earlier()?;
        let foreign: Vec<String> = claim
            .names(&server.present(&server.list(&claim.tables)))?
            .into_iter()
            .filter(|name| !earlier.iter().flatten().any(|ours| ours.eq_ignore_ascii_case(name)))
            .collect();
        if !foreign.is_empty() {
            return Err(claim.foreign_tables(&foreign));
        }
        match earlier {
            Some(left) => claim.drop_ours(&left)?,
            None => claim.make()?,
        }
        claim.write_names()?;
        Ok(claim)
    }

    /// The names of our tables, as the server writes them.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Drops our tables and the claim; the claim stays if one of its names is left.
    pub fn release(mut self) -> Result<(), SqlError> {
        let tables = std::mem::take(&mut self.tables);
        self.drop_ours(&tables)?;
        let claim = self.qualified(CLAIM);
        self.connection.run(&format!("DROP TABLE {claim}")).map(drop)
    }

    /// The names that stand in the claim of an earlier run; none where there is no claim.
    fn earlier(&mut self) -> Result<Option<Vec<String>>, SqlError> {
        let server = self.server;
        let name = server.literal(CLAIM);
        if self.names(&server.present(&name))?.is_empty() {
            return Ok(None);
        }
        let foreign = self.foreign_tables(&[CLAIM.to_owned()]);
        if self.names(&server.owned(&name))?.is_empty() {
            return Err(foreign);
        }
        let claim = self.qualified(CLAIM);
        let names = self.names(&format!("SELECT name FROM {claim} WHERE {OURS} = 1"));
        names.map(Some).map_err(|error| if error.server_message().is_some() { foreign } else { error })
    }

    /// The first column of what a statement returns.
    fn names(&mut self, sql: &str) -> Result<Vec<String>, SqlError> {
        let rows = self.connection.read(sql)?.rows;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    /// It carries our mark too, so that it is known before anything is measured whether the user may do what marks.
    fn make(&mut self) -> Result<(), SqlError> {
        let claim = self.qualified(CLAIM);
        let sql =
            format!("CREATE TABLE {claim} (name VARCHAR(64) NOT NULL PRIMARY KEY, {OURS} INTEGER NOT NULL)");
        let made = self.server.make_marked(&mut self.connection, CLAIM, &[sql]);
        made.map_err(|error| match error {
            SqlError::Statement { source: WireError::Server(message), .. }
                if NO_RIGHT.contains(&message.code.as_str()) =>
            {
                SqlError::NoCreateRight {
                    endpoint: self.address.endpoint.to_string(),
                    user: self.address.user.clone(),
                    database: self.address.database.clone(),
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
        let server = self.server;
        let row = |name: &String| format!("({}, 1)", server.literal(name));
        let rows: Vec<String> = self.tables.iter().map(row).collect();
        let sql = format!("INSERT INTO {claim} (name, {OURS}) VALUES {}", rows.join(", "));
        self.connection.run(&sql).map(drop)
    }

    /// Drops what is ours of these names, which stand in the claim. An error if something else has one of them.
    fn drop_ours(&mut self, names: &[String]) -> Result<(), SqlError> {
        let server = self.server;
        let list = server.list(names);
        for name in self.names(&server.marked(&list))? {
            let table = self.qualified(&name);
            self.connection.run(&format!("DROP TABLE IF EXISTS {table}"))?;
        }
        let left = self.names(&server.present(&list))?;
        if left.is_empty() {
            return Ok(());
        }
        Err(SqlError::UnmarkedTables {
            endpoint: self.address.endpoint.to_string(),
            database: self.address.database.clone(),
            names: shown(&left),
        })
    }

    fn foreign_tables(&self, names: &[String]) -> SqlError {
        SqlError::ForeignTables {
            endpoint: self.address.endpoint.to_string(),
            user: self.address.user.clone(),
            database: self.address.database.clone(),
            names: shown(names),
        }
    }

    fn qualified(&self, name: &str) -> String {
        format!("{}.{}", self.schema, self.server.quoted(name))
    }
}

/// Codes of "you may not make a table here", of Postgres and of MySQL.
const NO_RIGHT: [&str; 3] = ["42501", "1142", "1044"];

/// Names for a message: as many as somebody may have to drop by hand.
fn shown(names: &[String]) -> String {
    const SHOWN: usize = 40;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        shown.push(format!("{} more", names.len() - SHOWN));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests;
