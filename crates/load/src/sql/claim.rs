//! Tables of ours in a database that is not ours. Their names are written into a table of ours, the claim, before they
//! are made: what does not stand there is never dropped, and where something of the same name is, we do not begin.
//!
//! A lock of the server, which goes with the connection, keeps two runs of ours out of one database. A run that is
//! killed leaves its tables and the claim; the next one drops them.

use super::connection::Connection;
use super::error::{SqlError, WireError};
use super::server::{self, SqlServer};
use model::wire::ServerAddress;

/// The name of the table of names.
const CLAIM: &str = "dbdyno_claim";
/// The column that a table of this name, made by somebody else, would not have.
const OURS: &str = "made_by_dbdyno";

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
        let server = server::of(address.dialect);
        // With the connection would go the lock.
        let _ = connection.run(server.stay_connected());
        if connection.read(&server.lock(address))?.first() != Some("1") {
            let (endpoint, database) = (address.endpoint.to_string(), address.database.clone());
            return Err(SqlError::Claimed { endpoint, database });
        }
        let schema = server.quoted(&server.schema(&mut connection, address)?);
        let tables = names.iter().map(|name| server.as_written(name)).collect();
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
        let server = self.server();
        let sql = server.present(&server.list(names));
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
        let server = self.server();
        let row = |name: &String| format!("({}, 1)", server.literal(name));
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
        format!("{}.{}", self.schema, self.server().quoted(name))
    }

    fn server(&self) -> &'static dyn SqlServer {
        server::of(self.connection.dialect())
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
