//! The seam at which a kind of server joins, beside its protocol ([`super::connection`]): what is asked of it between steps, and how it
//! writes names and texts. Nothing of it is in the way of a statement of a step.

use super::connection::Connection;
use super::error::{Retry, SqlError};
use super::explain::{Asked, Told};
use super::facts::owned;
use super::mongodb::server::MongodbServer;
use super::mysql::server::MysqlServer;
use super::postgres::server::PostgresServer;
use super::settle::Wait;
use model::address::ServerAddress;
use model::workload::Settle;
use model::workload::sql::Dialect;
use std::collections::BTreeMap;

/// The comment of a table of ours in a database that is not ours: without it none is dropped there.
pub const MARK: &str = "dbdyno made this table and drops it";

/// A kind of server.
pub trait Server: Sync {
    /// Why an event is to be sent again, by an error's code; none if sending again is no answer to it.
    fn retry(&self, code: &str) -> Option<Retry>;

    /// What the server says of itself when somebody connects: its version, how it was built. An error if it has not what the address asks for.
    fn facts(
        &self,
        connection: &mut Connection,
        address: &ServerAddress,
    ) -> Result<BTreeMap<String, String>, SqlError>;

    /// All settings: names and values.
    fn settings(&self, connection: &mut Connection) -> Result<Vec<(String, String)>, SqlError>;

    /// What the server counts and tells of its state, as text. If only the `claimed` tables are ours, nothing that tells of others' tables
    /// and statements.
    fn status(&self, connection: &mut Connection, claimed: Option<&[String]>) -> Result<String, SqlError>;

    /// Statements that the server had from all clients since it was started; absent if it does not tell.
    fn statements(&self, connection: &mut Connection) -> Result<Option<u64>, SqlError>;

    /// How many of these between two such questions are the questions themselves.
    fn statements_of_question(&self) -> u64;

    /// The number in the system of the thread that serves a connection; absent if the server does not tell and it cannot be seen.
    fn thread(&self, connection: &mut Connection) -> Result<Option<i32>, SqlError>;

    /// How it would run a statement that is given with its values.
    fn explain(&self, connection: &mut Connection, asked: &Asked) -> Result<Told, SqlError>;

    /// Brings all tables of the database to a state.
    fn settle(&self, wait: &mut Wait, to: Settle) -> Result<(), SqlError>;

    /// Reads all rows of a table, and says how many there are. By SQL if a kind has no other way.
    fn read_all(&self, connection: &mut Connection, table: &str) -> Result<u64, SqlError> {
        Ok(connection.run(&format!("SELECT * FROM {table}"))?.rows)
    }

    /// The least and the greatest value of a column; absent if the table is empty. By SQL if a kind has no other way.
    fn bounds(
        &self,
        connection: &mut Connection,
        table: &str,
        column: &str,
    ) -> Result<Option<[String; 2]>, SqlError> {
        let found = connection.read(&format!("SELECT MIN({column}), MAX({column}) FROM {table}"))?;
        // Of an empty table both are NULL.
        Ok(found.pairs().next().map(|(oldest, newest)| [oldest.to_owned(), newest.to_owned()]))
    }
}

/// One that speaks SQL, and can have tables of ours among those of others.
pub trait SqlServer: Sync {
    /// A name that cannot end what it stands in.
    fn quoted(&self, name: &str) -> String;

    /// A text that cannot end what it stands in.
    fn literal(&self, text: &str) -> String;

    /// Names as a list of literals; one that nothing has if there are none.
    fn list(&self, names: &[String]) -> String {
        if names.is_empty() {
            return "''".to_owned();
        }
        names.iter().map(|name| self.literal(name)).collect::<Vec<_>>().join(", ")
    }

    /// The place of parameter `index`, from 1, in a statement that is to be prepared.
    fn placeholder(&self, index: usize) -> String;

    /// As the server writes a name that stands without quotes.
    fn as_written(&self, name: &str) -> String;

    /// What can be done to tables of ours among those of others after writes.
    fn settle_tables(&self, wait: &mut Wait, tables: &[String]) -> Result<(), SqlError>;

    /// The statement that keeps a connection open that does nothing for hours. A release that does not know it has no such bound.
    fn stay_connected(&self) -> &'static str;

    /// The statement that takes the lock of a database and returns 1 if nobody else has it.
    fn lock(&self, address: &ServerAddress) -> String;

    /// The schema, or the database, that tables of ours lie in.
    fn schema(&self, connection: &mut Connection, address: &ServerAddress) -> Result<String, SqlError>;

    /// Makes a table of this name by these statements, and marks it as ours.
    fn make_marked(
        &self,
        connection: &mut Connection,
        table: &str,
        create: &[String],
    ) -> Result<(), SqlError>;

    /// The statement that returns those of a list of names that something has, be it a table or not.
    fn present(&self, list: &str) -> String;

    /// The same of what belongs to the user that asks; of everything if the server knows no owners.
    fn owned(&self, list: &str) -> String;

    /// The same of what belongs to the user that asks and carries our mark.
    fn marked(&self, list: &str) -> String;

    /// The statement that returns the bytes of the tables of this list with their indexes.
    fn size(&self, list: &str) -> String;
}

/// What speaks a dialect.
pub fn of(dialect: Dialect) -> &'static dyn Server {
    match dialect {
        Dialect::Postgres => &PostgresServer,
        Dialect::Mysql => &MysqlServer,
        Dialect::Mongodb => &MongodbServer,
    }
}

/// The same of what only SQL can do.
pub fn sql_of(dialect: Dialect) -> Result<&'static dyn SqlServer, SqlError> {
    match dialect {
        Dialect::Postgres => Ok(&PostgresServer),
        Dialect::Mysql => Ok(&MysqlServer),
        Dialect::Mongodb => Err(SqlError::NotSupported(
            "MongoDB has no SQL: its events have no `begin`, and a server of it is one that dbdyno starts"
                .to_owned(),
        )),
    }
}

/// [`Server::settings`] by SQL.
pub fn pairs(connection: &mut Connection, sql: &str) -> Result<Vec<(String, String)>, SqlError> {
    Ok(connection.read(sql)?.pairs().map(owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_what_they_stand_in() {
        let [postgres, mysql] = [Dialect::Postgres, Dialect::Mysql].map(|one| sql_of(one).unwrap());
        assert_eq!(postgres.quoted("a\"b"), "\"a\"\"b\"");
        assert_eq!(mysql.quoted("a`b"), "`a``b`");
        assert_eq!(postgres.literal("a'\\"), "'a''\\'");
        assert_eq!(mysql.literal("a'\\"), "'a''\\\\'");
        let names = ["t1", "t2"].map(str::to_owned);
        assert_eq!(mysql.list(&names), "'t1', 't2'");
        assert_eq!(mysql.list(&[]), "''");
    }

    #[test]
    fn errors_that_ask_for_another_try_are_told_apart() {
        let [postgres, mysql] = [Dialect::Postgres, Dialect::Mysql].map(of);
        assert_eq!(
            (postgres.retry("40P01"), mysql.retry("1213")),
            (Some(Retry::Deadlock), Some(Retry::Deadlock))
        );
        assert_eq!((mysql.retry("1205"), mysql.retry("40001")), (Some(Retry::LockTimeout), None));
        assert_eq!((postgres.retry("40001"), postgres.retry("42P01")), (Some(Retry::Serialization), None));
    }
}
