//! What is asked of Postgres between steps.

use super::{explain, settle};
use crate::sql::connection::Connection;
use crate::sql::error::{Retry, SqlError};
use crate::sql::explain::{Asked, Told};
use crate::sql::facts::{if_there, owned};
use crate::sql::server::{self, MARK, Server, SqlServer};
use crate::sql::serving;
use crate::sql::settle::Wait;
use crate::sql::status::{line, lines_of, sorted};
use model::address::ServerAddress;
use model::workload::Settle;
use std::collections::BTreeMap;

/// Postgres, and what speaks its protocol.
pub struct PostgresServer;

/// The lock, which is of one database: "dbdy" in ASCII.
const LOCK: u32 = 0x6462_6479;

/// Rows of `pg_config` that say how a build was made; the others are directories.
const PG_CONFIG: &str = "SELECT lower(name), setting FROM pg_config \
    WHERE name IN ('CC', 'CPPFLAGS', 'CFLAGS', 'LDFLAGS', 'CONFIGURE')";

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

/// Whoever may make a table in a schema may give it any name and comment, but not another owner.
const OWNED: &str = "AND pg_catalog.pg_get_userbyid(c.relowner) = current_user";

/// Transactions, which a statement by itself is one of.
const STATEMENTS: &str = "SELECT SUM(xact_commit + xact_rollback)::bigint FROM pg_stat_database";

impl Server for PostgresServer {
    fn retry(&self, code: &str) -> Option<Retry> {
        match code {
            "40P01" => Some(Retry::Deadlock),
            "55P03" => Some(Retry::LockTimeout),
            "40001" => Some(Retry::Serialization),
            "23505" => Some(Retry::DuplicateKey),
            _ => None,
        }
    }

    fn facts(
        &self,
        connection: &mut Connection,
        _address: &ServerAddress,
    ) -> Result<BTreeMap<String, String>, SqlError> {
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

    fn settings(&self, connection: &mut Connection) -> Result<Vec<(String, String)>, SqlError> {
        server::pairs(connection, "SELECT name, setting FROM pg_settings")
    }

    fn status(&self, connection: &mut Connection, claimed: Option<&[String]>) -> Result<String, SqlError> {
        let claimed = claimed.map(|tables| self.list(tables));
        let mut lines = Vec::new();
        for (view, key, sql) in VIEWS {
            let sql = match &claimed {
                Some(list) if key.ends_with(TABLE_KEY) => format!("{sql} WHERE relname IN ({list})"),
                Some(_) | None => sql.to_owned(),
            };
            let rows = if_there(connection.read(&sql))?;
            lines.extend(lines_of(view, key, &rows));
        }
        let (name, sql) = match claimed {
            Some(list) => ("database_size", self.size(&list)),
            None => ("pg_database_size", "SELECT pg_database_size(current_database())".to_owned()),
        };
        let size = connection.read(&sql)?;
        lines.push(line(name, size.first().unwrap_or_default()));
        Ok(sorted(lines))
    }

    fn statements(&self, connection: &mut Connection) -> Result<Option<u64>, SqlError> {
        Ok(connection.read(STATEMENTS)?.first().and_then(|count| count.parse().ok()))
    }

    /// The first one may be counted only later, so that it is in neither.
    fn statements_of_question(&self) -> u64 {
        2
    }

    fn thread(&self, connection: &mut Connection) -> Result<Option<i32>, SqlError> {
        let Some(server) = connection.peer() else { return Ok(None) };
        let backend = connection.read("SELECT pg_backend_pid()")?;
        Ok(backend.first().and_then(|pid| serving::child_called(server, pid)))
    }

    fn explain(&self, connection: &mut Connection, asked: &Asked) -> Result<Told, SqlError> {
        explain::explain(connection, asked)
    }

    fn settle(&self, wait: &mut Wait, to: Settle) -> Result<(), SqlError> {
        settle::settle(wait, to)
    }
}

impl SqlServer for PostgresServer {
    fn quoted(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn literal(&self, text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }

    fn placeholder(&self, index: usize) -> String {
        format!("${index}")
    }

    fn as_written(&self, name: &str) -> String {
        name.to_ascii_lowercase()
    }

    fn settle_tables(&self, wait: &mut Wait, tables: &[String]) -> Result<(), SqlError> {
        settle::vacuum(wait, tables)
    }

    fn stay_connected(&self) -> &'static str {
        "SET idle_session_timeout = 0"
    }

    fn lock(&self, _address: &ServerAddress) -> String {
        format!("SELECT pg_try_advisory_lock({LOCK})::integer")
    }

    fn schema(&self, connection: &mut Connection, _address: &ServerAddress) -> Result<String, SqlError> {
        let schema = connection.read("SELECT current_schema()")?;
        // Nothing of the search path exists: making a table will fail, and the server says why.
        Ok(schema.first().unwrap_or("public").to_owned())
    }

    /// In one message, which is one transaction: a kill leaves no table without its mark.
    fn make_marked(
        &self,
        connection: &mut Connection,
        table: &str,
        create: &[String],
    ) -> Result<(), SqlError> {
        let mark = format!("COMMENT ON TABLE {table} IS {}", self.literal(MARK));
        connection.run(&format!("{};\n{mark}", create.join(";\n"))).map(drop)
    }

    fn present(&self, list: &str) -> String {
        relations(list, "")
    }

    fn owned(&self, list: &str) -> String {
        relations(list, OWNED)
    }

    fn marked(&self, list: &str) -> String {
        let mark = self.literal(MARK);
        relations(list, &format!("{OWNED} AND pg_catalog.obj_description(c.oid, 'pg_class') = {mark}"))
    }

    fn size(&self, list: &str) -> String {
        format!(
            "SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname IN ({list})"
        )
    }
}

/// The statement that returns those of a list of names that something of our schema has, if this is true of it.
fn relations(list: &str, and: &str) -> String {
    format!(
        "SELECT c.relname FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = current_schema() AND c.relname IN ({list}) {and} ORDER BY 1"
    )
}
