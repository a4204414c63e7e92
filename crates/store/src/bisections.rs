//! Bisections: written when they begin or end, found and read back. Their launches are no runs of the store.

use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::record::BisectionRecord;
use rusqlite::{Row, params};

impl Writer {
    /// Writes a bisection in place of the one of this id, where there is one: it may be written when it begins and
    /// again with its end.
    ///
    /// # Errors
    /// A finding that is no JSON, and what SQLite says; then nothing is changed.
    pub fn write_bisection(&mut self, bisection: &BisectionRecord) -> Result<(), Error> {
        self.flush()?;
        let BisectionRecord { id, began_at_us, ended_at_us, workload, step, good, bad, finding_json } =
            bisection;
        self.store().sql(format!("write bisection {id}"), |connection| {
            connection
                .execute(
                    "INSERT OR REPLACE INTO bisections
                         (id, began_at_us, ended_at_us, workload, step, good, bad, finding_json)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    params![id, began_at_us, ended_at_us, workload, step, good, bad, finding_json],
                )
                .map(|_| ())
        })
    }
}

impl Store {
    /// The id of the bisection that has this id, or whose id alone begins with it; absent where there is none, or where
    /// several begin with it.
    pub fn find_bisection(&self, wanted: &str) -> Result<Option<String>, Error> {
        if wanted.is_empty() {
            return Ok(None);
        }
        self.sql("look for a bisection", |connection| {
            // The id itself comes first. Two are enough to know that several begin with it.
            let found: Vec<String> = connection
                .prepare_cached(
                    "SELECT id FROM bisections WHERE instr(id, ?) = 1 ORDER BY length(id) LIMIT 2",
                )?
                .query_map([wanted], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(match found.as_slice() {
                [id, ..] if id == wanted => Some(id.clone()),
                [only] => Some(only.clone()),
                _ => None,
            })
        })
    }

    /// The bisection of exactly this id.
    pub fn load_bisection(&self, id: &str) -> Result<BisectionRecord, Error> {
        self.sql(format!("read bisection {id}"), |connection| {
            connection.prepare_cached("SELECT * FROM bisections WHERE id = ?")?.query_row([id], bisection)
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
    })
}
