//! Bisections: written when they begin or end, and read back. Each of their launches and comparisons is a run, named after them.

use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::record::BisectionRecord;
use rusqlite::{OptionalExtension, Row, params};

/// A run that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRun {
    pub id: String,
    pub name: String,
}

impl Writer {
    /// Writes a bisection in place of the one of this id, where there is one: it may be written when it begins and
    /// again with its end.
    ///
    /// # Errors
    /// A finding that is no JSON, and what SQLite says; then nothing is changed.
    pub fn write_bisection(&mut self, bisection: &BisectionRecord) -> Result<(), Error> {
        self.flush()?;
        let BisectionRecord {
            id,
            began_at_us,
            ended_at_us,
            workload,
            step,
            good,
            bad,
            finding_json,
            request_json,
        } = bisection;
        self.store().sql(format!("write bisection {id}"), |connection| {
            connection
                .execute(
                    // Not REPLACE: a row keeps its place among those that began before and after it.
                    "INSERT INTO bisections
                         (id, began_at_us, ended_at_us, workload, step, good, bad, finding_json, request_json)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                     ON CONFLICT (id) DO UPDATE SET
                         began_at_us = excluded.began_at_us, ended_at_us = excluded.ended_at_us,
                         workload = excluded.workload, step = excluded.step, good = excluded.good,
                         bad = excluded.bad, finding_json = excluded.finding_json,
                         request_json = excluded.request_json",
                    params![
                        id,
                        began_at_us,
                        ended_at_us,
                        workload,
                        step,
                        good,
                        bad,
                        finding_json,
                        request_json
                    ],
                )
                .map(|_| ())
        })
    }
}

impl Store {
    /// The bisection of exactly this id.
    pub fn load_bisection(&self, id: &str) -> Result<BisectionRecord, Error> {
        self.sql(format!("read bisection {id}"), |connection| {
            connection.prepare_cached("SELECT * FROM bisections WHERE id = ?")?.query_row([id], bisection)
        })
    }

    /// The id of the bisection that began last.
    pub fn last_bisection(&self) -> Result<Option<String>, Error> {
        self.sql("look for the last bisection", |connection| {
            let sql = "SELECT id FROM bisections ORDER BY rowid DESC LIMIT 1";
            connection.query_row(sql, [], |row| row.get(0)).optional()
        })
    }

    /// The runs of a bisection that were carried out to their end, in the order in which they began.
    pub fn runs_of_bisection(&self, id: &str) -> Result<Vec<NamedRun>, Error> {
        self.sql(format!("read the runs of bisection {id}"), |connection| {
            // All names that begin with `id/`: `0` is the character after `/`.
            connection
                .prepare_cached(
                    "SELECT id, name FROM runs WHERE name > ?1 || '/' AND name < ?1 || '0' AND outcome = 'done'
                     ORDER BY run_key",
                )?
                .query_map([id], |row| Ok(NamedRun { id: row.get("id")?, name: row.get("name")? }))?
                .collect()
        })
    }
}

fn bisection(row: &Row<'_>) -> rusqlite::Result<BisectionRecord> {
    Ok(BisectionRecord {
        id: row.get("id")?,
        began_at_us: row.get("began_at_us")?,
        ended_at_us: row.get("ended_at_us")?,
        workload: row.get("workload")?,
        step: row.get("step")?,
        good: row.get("good")?,
        bad: row.get("bad")?,
        finding_json: row.get("finding_json")?,
        request_json: row.get("request_json")?,
    })
}
