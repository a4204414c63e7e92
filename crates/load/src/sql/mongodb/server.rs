//! What is asked of MongoDB between steps.

use super::{explain, settle};
use crate::sql::connection::Connection;
use crate::sql::error::{Retry, SqlError};
use crate::sql::explain::{Asked, Told};
use crate::sql::server::Server;
use crate::sql::serving;
use crate::sql::settle::Wait;
use crate::sql::status::{line, sorted};
use model::address::ServerAddress;
use model::workload::Settle;
use serde_json::json;
use std::collections::BTreeMap;

/// MongoDB, and what speaks its protocol.
pub struct MongodbServer;

/// Of `buildInfo` what says how a build was made; each release has some of them. FerretDB says so in its own words.
const BUILD_FACTS: [&str; 10] = [
    "version",
    "gitVersion",
    "allocator",
    "javascriptEngine",
    "debug",
    "bits",
    "buildEnvironment.cc",
    "buildEnvironment.ccflags",
    "buildEnvironment.target_arch",
    "ferretdbVersion",
];
const FERRETDB: &str = "ferretdb";

/// Some milliseconds of work for one thread: long against what an idle server's other threads do.
const PINGS: u32 = 500;

/// Codes of commands that a server does not have.
const NO_SUCH_COMMAND: [&str; 2] = ["59", "238"];

/// What was answered; nothing if the server has no such command.
pub(super) fn if_known(
    answer: Result<Vec<(String, String)>, SqlError>,
) -> Result<Vec<(String, String)>, SqlError> {
    match answer {
        Err(error) => match error.server_message() {
            Some(message) if NO_SUCH_COMMAND.contains(&message.code.as_str()) => Ok(Vec::new()),
            _ => Err(error),
        },
        known => known,
    }
}

impl Server for MongodbServer {
    fn retry(&self, code: &str) -> Option<Retry> {
        match code {
            // WriteConflict, LockTimeout.
            "112" => Some(Retry::Serialization),
            "24" => Some(Retry::LockTimeout),
            "11000" => Some(Retry::DuplicateKey),
            _ => None,
        }
    }

    fn facts(
        &self,
        connection: &mut Connection,
        address: &ServerAddress,
    ) -> Result<BTreeMap<String, String>, SqlError> {
        let told = connection.answer(&json!({ "buildInfo": 1 }).to_string())?;
        let is_fact = |name: &str| BUILD_FACTS.contains(&name) || name.starts_with(FERRETDB);
        let mut facts: BTreeMap<String, String> =
            told.iter().filter(|(name, value)| is_fact(name) && !value.is_empty()).cloned().collect();
        let engines = told.iter().filter(|(name, _)| name.starts_with("storageEngines."));
        let engines: Vec<&str> = engines.map(|(_, engine)| engine.as_str()).collect();
        if let Some(wanted) = address.storage.as_deref()
            && !engines.iter().any(|engine| engine.eq_ignore_ascii_case(wanted))
        {
            return Err(SqlError::NoStorageEngine { wanted: wanted.to_owned(), present: engines.join(", ") });
        }
        if !engines.is_empty() {
            facts.insert("storage_engines".to_owned(), engines.join(", "));
        }
        let status = if_known(connection.answer(&json!({ "serverStatus": 1 }).to_string()))?;
        let engine = status.into_iter().find(|(name, _)| name == "storageEngine.name");
        facts.extend(engine.map(|(_, engine)| ("storage_engine".to_owned(), engine)));
        Ok(facts)
    }

    fn settings(&self, connection: &mut Connection) -> Result<Vec<(String, String)>, SqlError> {
        let mut all = Vec::new();
        for (command, of) in [("getCmdLineOpts", "parsed."), ("getParameter", "")] {
            let argument = if command == "getParameter" { json!("*") } else { json!(1) };
            let command = json!({ command: argument, "$db": ADMIN }).to_string();
            let told = if_known(connection.answer(&command))?;
            all.extend(told.into_iter().filter(|(name, _)| name.starts_with(of) && name != "ok"));
        }
        Ok(all)
    }

    fn status(&self, connection: &mut Connection, _claimed: Option<&[String]>) -> Result<String, SqlError> {
        let status = if_known(connection.answer(&json!({ "serverStatus": 1 }).to_string()))?;
        let mut lines: Vec<String> = status.iter().map(|(name, value)| line(name, value)).collect();
        let of_database = if_known(connection.answer(&json!({ "dbStats": 1 }).to_string()))?;
        lines.extend(of_database.iter().map(|(name, value)| line(&format!("dbStats.{name}"), value)));
        let bytes = |wanted: &str| {
            let found = of_database.iter().find(|(name, _)| name == wanted);
            found.and_then(|(_, value)| value.parse::<f64>().ok())
        };
        // What its files take: documents, and indexes.
        if let (Some(documents), Some(indexes)) = (bytes("storageSize"), bytes("indexSize")) {
            lines.push(line("database_size", &format!("{:.0}", documents + indexes)));
        }
        for collection in collections(connection)? {
            let told = if_known(connection.answer(&json!({ "collStats": collection }).to_string()))?;
            lines.extend(
                told.iter().map(|(name, value)| line(&format!("collStats[{collection}].{name}"), value)),
            );
        }
        Ok(sorted(lines))
    }

    fn statements(&self, connection: &mut Connection) -> Result<Option<u64>, SqlError> {
        let status = if_known(connection.answer(&json!({ "serverStatus": 1 }).to_string()))?;
        let counts = status.iter().filter(|(name, _)| name.starts_with("opcounters."));
        let counts: Vec<u64> = counts.filter_map(|(_, count)| count.parse().ok()).collect();
        Ok((!counts.is_empty()).then(|| counts.iter().sum()))
    }

    fn statements_of_question(&self) -> u64 {
        1
    }

    /// It has a thread for each connection, and tells its number to nobody: the thread that works is it.
    fn thread(&self, connection: &mut Connection) -> Result<Option<i32>, SqlError> {
        let Some(server) = connection.peer() else { return Ok(None) };
        let ping = connection.encoded(&json!({ "ping": 1 }).to_string())?;
        let before = serving::cpu_of_threads(server);
        for _ in 0..PINGS {
            connection.send(&ping).map_err(|source| connection.failed("ping", source))?;
        }
        Ok(serving::busiest(&before, &serving::cpu_of_threads(server)))
    }

    fn explain(&self, connection: &mut Connection, asked: &Asked) -> Result<Told, SqlError> {
        explain::explain(connection, asked)
    }

    fn settle(&self, wait: &mut Wait, to: Settle) -> Result<(), SqlError> {
        settle::settle(wait, to)
    }

    fn read_all(&self, connection: &mut Connection, table: &str) -> Result<u64, SqlError> {
        Ok(connection.run(&json!({ "find": table }).to_string())?.rows)
    }

    fn bounds(
        &self,
        connection: &mut Connection,
        table: &str,
        column: &str,
    ) -> Result<Option<[String; 2]>, SqlError> {
        let mut end = |direction: i32| {
            let command = json!({
                "find": table, "sort": { column: direction }, "projection": { column: 1 }, "limit": 1
            });
            let rows = connection.read(&command.to_string())?;
            let place = rows.names.iter().position(|name| name == column);
            Ok(place.and_then(|place| rows.rows.first()?.get(place)?.clone()))
        };
        Ok(end(1)?.zip(end(-1)?).map(|(least, greatest)| [least, greatest]))
    }
}

/// A workload may have thousands; each tells some hundred numbers.
const MOST_COLLECTIONS: usize = 16;

/// The names of the first collections.
fn collections(connection: &mut Connection) -> Result<Vec<String>, SqlError> {
    let rows = connection.read(&json!({ "listCollections": 1, "nameOnly": true }).to_string())?;
    let Some(place) = rows.names.iter().position(|name| name == "name") else { return Ok(Vec::new()) };
    let names =
        rows.rows.into_iter().filter_map(|mut row| (place < row.len()).then(|| row.swap_remove(place))?);
    Ok(names.take(MOST_COLLECTIONS).collect())
}

/// The database of commands that are about the whole server.
pub(super) const ADMIN: &str = "admin";
