//! What is asked of MySQL and MariaDB between steps.

use super::{explain, settle};
use crate::sql::connection::Connection;
use crate::sql::error::{Retry, SqlError};
use crate::sql::explain::{Asked, Told};
use crate::sql::facts::{if_there, owned};
use crate::sql::server::{self, MARK, Server, SqlServer};
use crate::sql::serving;
use crate::sql::settle::Wait;
use crate::sql::status::{line, sorted};
use model::address::ServerAddress;
use model::workload::Settle;
use std::collections::BTreeMap;

/// MySQL, and what speaks its protocol.
pub struct MysqlServer;

/// Characters of a database's name in the name of the lock, which is of the whole server and has at most 64.
const LOCK_NAME_CHARACTERS: usize = 50;

/// Variables that say how a build was made; each release has some of them.
const BUILD_VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version_comment', \
    'version_compile_machine', 'version_compile_os', 'version_source_revision', 'version_malloc_library', \
    'innodb_version', 'rocksdb_git_hash', 'rocksdb_git_date')";

/// By the statistics of the tables, which the settle step brings up to date.
const SIZE: &str = "SELECT CAST(SUM(data_length + index_length) AS UNSIGNED) \
                    FROM information_schema.tables WHERE table_schema = DATABASE()";

const STATEMENTS: &str = "SHOW GLOBAL STATUS WHERE Variable_name = 'Questions'";

/// A few milliseconds of work for one thread, whatever the release: long against what an idle server's other threads do.
const WORK: &str = "SELECT BENCHMARK(300000, 1 + 1)";

/// What InnoDB counts beside the global status; levels are left out. Releases differ in how they say that a counter is on, so those are taken that
/// have counted.
const INNODB_METRICS: &str =
    "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE COUNT > 0 AND TYPE LIKE '%counter%'";

/// What was waited for, how often, and how long in microseconds; nothing if the performance schema is off.
const WAITS: &str = "SELECT EVENT_NAME, COUNT_STAR, CAST(SUM_TIMER_WAIT / 1000000 AS UNSIGNED) \
    FROM performance_schema.events_waits_summary_global_by_event_name WHERE COUNT_STAR > 0 AND EVENT_NAME <> 'idle'";

/// Of a server that is ours alone: they are of all its tables and clients.
fn engine_counters(connection: &mut Connection) -> Result<Vec<String>, SqlError> {
    let metrics = if_there(connection.read(INNODB_METRICS))?;
    let mut lines: Vec<String> =
        metrics.pairs().map(|(name, count)| line(&format!("innodb_metrics.{name}"), count)).collect();
    for row in &if_there(connection.read(WAITS))?.rows {
        if let [Some(event), Some(count), Some(us)] = row.as_slice() {
            lines.push(line(&format!("{event}.count"), count));
            lines.push(line(&format!("{event}.us"), us));
        }
    }
    Ok(lines)
}

impl Server for MysqlServer {
    fn retry(&self, code: &str) -> Option<Retry> {
        match code {
            "1213" => Some(Retry::Deadlock),
            "1205" => Some(Retry::LockTimeout),
            "1062" => Some(Retry::DuplicateKey),
            "1020" => Some(Retry::RecordChanged),
            _ => None,
        }
    }

    fn facts(
        &self,
        connection: &mut Connection,
        address: &ServerAddress,
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
        if let Some(wanted) = address.storage.as_deref()
            && !present.iter().any(|engine| engine.eq_ignore_ascii_case(wanted))
        {
            return Err(SqlError::NoStorageEngine { wanted: wanted.to_owned(), present: present.join(", ") });
        }
        facts.insert("storage_engines".to_owned(), present.join(", "));
        Ok(facts)
    }

    fn settings(&self, connection: &mut Connection) -> Result<Vec<(String, String)>, SqlError> {
        server::pairs(connection, "SHOW GLOBAL VARIABLES")
    }

    fn status(&self, connection: &mut Connection, claimed: Option<&[String]>) -> Result<String, SqlError> {
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
        if claimed.is_none() {
            lines.extend(engine_counters(connection)?);
        }
        let sql = claimed.map(|tables| self.size(&self.list(tables)));
        let size = connection.read(sql.as_deref().unwrap_or(SIZE))?;
        lines.extend(size.first().map(|bytes| line("database_size", bytes)));
        text.push_str(&sorted(lines));
        Ok(text)
    }

    fn statements(&self, connection: &mut Connection) -> Result<Option<u64>, SqlError> {
        Ok(connection.read(STATEMENTS)?.pairs().next().and_then(|(_, count)| count.parse().ok()))
    }

    fn statements_of_question(&self) -> u64 {
        1
    }

    /// Most releases tell it only if they measure themselves, which costs. So the server is given work, and the thread that works is it.
    fn thread(&self, connection: &mut Connection) -> Result<Option<i32>, SqlError> {
        let Some(server) = connection.peer() else { return Ok(None) };
        let before = serving::cpu_of_threads(server);
        connection.run(WORK)?;
        Ok(serving::busiest(&before, &serving::cpu_of_threads(server)))
    }

    fn explain(&self, connection: &mut Connection, asked: &Asked) -> Result<Told, SqlError> {
        explain::explain(connection, asked)
    }

    fn settle(&self, wait: &mut Wait, to: Settle) -> Result<(), SqlError> {
        settle::settle(wait, to)
    }
}

impl SqlServer for MysqlServer {
    fn quoted(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    /// A backslash is an escape.
    fn literal(&self, text: &str) -> String {
        format!("'{}'", text.replace('\'', "''").replace('\\', "\\\\"))
    }

    fn placeholder(&self, _index: usize) -> String {
        "?".to_owned()
    }

    fn as_written(&self, name: &str) -> String {
        name.to_owned()
    }

    fn settle_tables(&self, wait: &mut Wait, tables: &[String]) -> Result<(), SqlError> {
        settle::analyze(wait, tables)
    }

    fn stay_connected(&self) -> &'static str {
        "SET SESSION wait_timeout = 2147483"
    }

    fn lock(&self, address: &ServerAddress) -> String {
        let database: String = address.database.chars().take(LOCK_NAME_CHARACTERS).collect();
        format!("SELECT GET_LOCK({}, 0)", self.literal(&format!("dbdyno.{database}")))
    }

    fn schema(&self, _connection: &mut Connection, address: &ServerAddress) -> Result<String, SqlError> {
        Ok(address.database.clone())
    }

    /// A kill between the statements leaves a table without its mark: there are no transactions of them.
    fn make_marked(
        &self,
        connection: &mut Connection,
        table: &str,
        create: &[String],
    ) -> Result<(), SqlError> {
        for statement in create {
            connection.run(statement)?;
        }
        let comment = connection.read(&tables("TABLE_COMMENT", &self.literal(table), ""))?;
        // What the workload says there stays: MyRocks reads from it how long rows live.
        let comment = match comment.first().unwrap_or_default() {
            "" => MARK.to_owned(),
            own => format!("{own};{MARK}"),
        };
        connection.run(&format!("ALTER TABLE {table} COMMENT = {}", self.literal(&comment))).map(drop)
    }

    fn present(&self, list: &str) -> String {
        tables("TABLE_NAME", list, "")
    }

    fn owned(&self, list: &str) -> String {
        self.present(list)
    }

    fn marked(&self, list: &str) -> String {
        tables("TABLE_NAME", list, &format!("AND TABLE_COMMENT LIKE {}", self.literal(&format!("%{MARK}"))))
    }

    fn size(&self, list: &str) -> String {
        format!("{SIZE} AND table_name IN ({list})")
    }
}

/// The statement that returns a column of those of a list of tables of which this is true.
fn tables(column: &str, list: &str, and: &str) -> String {
    format!(
        "SELECT {column} FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({list}) {and} ORDER BY 1"
    )
}
