//! What watches have found: a change keeps its row from night to night.

use crate::columns;
use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::watched::{Identity, Watched};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;

impl Writer {
    /// Writes changes, in place of those of the same number; one of number 0 gets a row of its own. All of them or none; as they are stored. `run`
    /// is the one that was held against what is known: it is not judged again.
    pub fn write_watched(&mut self, run: Option<&str>, changes: &[Watched]) -> Result<Vec<Watched>, Error> {
        self.flush()?;
        self.store().sql("write what a watch has found", |connection| {
            let transaction = connection.unchecked_transaction()?;
            if let Some(run) = run {
                transaction.execute("INSERT OR IGNORE INTO watch_runs (run) VALUES (?)", [run])?;
            }
            let mut stored = Vec::new();
            for change in changes {
                stored.push(Watched { number: write(&transaction, change)?, ..change.clone() });
            }
            transaction.commit()?;
            Ok(stored)
        })
    }
}

impl Writer {
    /// The newest message of a change was delivered.
    pub fn mark_told(&mut self, number: i64) -> Result<(), Error> {
        self.flush()?;
        self.store().sql("write that a message was delivered", |connection| {
            connection.execute("UPDATE watched SET is_told = 1 WHERE watched_key = ?", [number]).map(|_| ())
        })
    }
}

impl Store {
    /// All changes of a watch, or of all watches, the oldest first.
    pub fn watched(&self, watch: Option<&str>) -> Result<Vec<Watched>, Error> {
        self.sql("read what watches have found", |connection| read(connection, "main", watch))
    }

    /// Of the runs of [`Store::runs_below`] those that were not held against what is known.
    pub fn runs_to_judge(&self, name: &str) -> Result<Vec<String>, Error> {
        let judged: BTreeSet<String> = self.sql("read which runs were judged", |connection| {
            connection
                .prepare_cached("SELECT run FROM watch_runs")?
                .query_map([], |row| row.get(0))?
                .collect()
        })?;
        Ok(self.runs_below(name)?.into_iter().filter(|run| !judged.contains(run)).collect())
    }

    /// The ids of finished runs of this name, or of a name below it (`NAME/..`), the oldest first.
    pub fn runs_below(&self, name: &str) -> Result<Vec<String>, Error> {
        self.sql(format!("look for runs named {name}"), |connection| {
            // `0` is the character after `/`.
            let sql = "SELECT id FROM runs
                       WHERE (name = ?1 OR (name > ?1 || '/' AND name < ?1 || '0')) AND outcome = 'done'
                       ORDER BY run_key";
            connection.prepare_cached(sql)?.query_map([name], |row| row.get(0))?.collect()
        })
    }
}

/// The changes of a watch, or of all watches, of an attached store.
pub(crate) fn read(
    connection: &Connection,
    schema: &str,
    watch: Option<&str>,
) -> rusqlite::Result<Vec<Watched>> {
    let sql = format!("SELECT * FROM {schema}.watched WHERE ?1 IS NULL OR watch = ?1 ORDER BY watched_key");
    connection.prepare_cached(&sql)?.query_map([watch], watched)?.collect()
}

/// Writes a change in place of the one of its number; one of number 0 gets a row of its own. Its number.
pub(crate) fn write(connection: &Connection, change: &Watched) -> rusqlite::Result<i64> {
    let Identity { watch, host, workload, step, base, candidate, is_slower } = &change.identity;
    connection.execute(
        "INSERT OR REPLACE INTO main.watched (watched_key, watch, host_name, workload, step, base, candidate,
             is_slower, ratio, low, high, last_without, first_with, is_told, state, first_run, last_run)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            // Without one SQLite gives the next.
            (change.number > 0).then_some(change.number),
            watch,
            host,
            workload,
            step,
            base,
            candidate,
            is_slower,
            change.ratio,
            change.low,
            change.high,
            change.last_without,
            change.first_with,
            change.is_told,
            change.state.name(),
            change.first_run,
            change.last_run,
        ],
    )?;
    Ok(connection.last_insert_rowid())
}

fn watched(row: &Row<'_>) -> rusqlite::Result<Watched> {
    Ok(Watched {
        number: row.get("watched_key")?,
        identity: Identity {
            watch: row.get("watch")?,
            host: row.get("host_name")?,
            workload: row.get("workload")?,
            step: row.get("step")?,
            base: row.get("base")?,
            candidate: row.get("candidate")?,
            is_slower: row.get("is_slower")?,
        },
        ratio: row.get("ratio")?,
        low: row.get("low")?,
        high: row.get("high")?,
        last_without: row.get("last_without")?,
        first_with: row.get("first_with")?,
        is_told: row.get("is_told")?,
        state: columns::watch_state(row, "state")?,
        first_run: row.get("first_run")?,
        last_run: row.get("last_run")?,
    })
}
