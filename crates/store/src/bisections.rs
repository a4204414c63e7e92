//! Bisections: written when they begin or end, and read back. Their launches are no runs of the store.

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
