//! Results that other programs wrote: written in one go and read back.

use crate::columns::side;
use crate::error::Error;
use crate::file::Store;
use crate::writer::Writer;
use model::import::{ImportRecord, ImportedFile, ImportedValue};
use rusqlite::{Connection, Row, params};

impl Writer {
    /// Writes an import in whole or, with an error, not at all.
    pub fn write_import(&mut self, import: &ImportRecord) -> Result<(), Error> {
        self.flush()?;
        self.store().sql(format!("write import {}", import.id), |connection| {
            let transaction = connection.unchecked_transaction()?;
            write(&transaction, import)?;
            transaction.commit()
        })
    }
}

fn write(connection: &Connection, import: &ImportRecord) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO imports (id, name, format, imported_at_us, tool_version) VALUES (?, ?, ?, ?, ?)",
        params![import.id, import.name, import.format, import.imported_at_us, import.tool_version],
    )?;
    let import_key = connection.last_insert_rowid();
    let mut file_keys = Vec::new();
    for file in &import.files {
        connection.execute(
            "INSERT INTO import_files (import_key, file, sha256, text) VALUES (?, ?, ?, ?)",
            params![import_key, file.file, file.sha256, file.text],
        )?;
        file_keys.push(connection.last_insert_rowid());
    }
    let mut insert = connection.prepare(
        "INSERT INTO imported_values (import_key, import_file_key, subject, step, metric, unit, value, said,
             place)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for value in &import.values {
        let file_key = file_keys.get(value.file).copied(); // none breaks the constraint, as it should
        insert.execute(params![
            import_key,
            file_key,
            value.subject,
            value.step,
            value.metric,
            value.unit,
            value.value,
            value.said,
            value.place,
        ])?;
    }
    Ok(())
}

impl Store {
    /// Everything of the import of this id, its files included.
    pub fn load_import(&self, id: &str) -> Result<ImportRecord, Error> {
        self.sql(format!("read import {id}"), |connection| {
            let (key, mut import) =
                connection.query_row("SELECT * FROM imports WHERE id = ?", [id], |row| {
                    Ok((row.get::<_, i64>("import_key")?, without_values(row)?))
                })?;
            import.files = connection
                .prepare_cached("SELECT * FROM import_files WHERE import_key = ? ORDER BY import_file_key")?
                .query_map([key], file)?
                .collect::<rusqlite::Result<_>>()?;
            import.values = values(connection, key)?;
            Ok(import)
        })
    }
}

fn values(connection: &Connection, key: i64) -> rusqlite::Result<Vec<ImportedValue>> {
    let sql = "SELECT *,
                   (SELECT count(*) FROM import_files AS earlier
                    WHERE earlier.import_key = imported_values.import_key
                      AND earlier.import_file_key < imported_values.import_file_key) AS file
               FROM imported_values WHERE import_key = ? ORDER BY imported_value_key";
    connection.prepare_cached(sql)?.query_map([key], value)?.collect()
}

fn without_values(row: &Row<'_>) -> rusqlite::Result<ImportRecord> {
    Ok(ImportRecord {
        id: row.get("id")?,
        name: row.get("name")?,
        format: row.get("format")?,
        imported_at_us: row.get("imported_at_us")?,
        tool_version: row.get("tool_version")?,
        files: Vec::new(),
        values: Vec::new(),
    })
}

fn file(row: &Row<'_>) -> rusqlite::Result<ImportedFile> {
    Ok(ImportedFile { file: row.get("file")?, sha256: row.get("sha256")?, text: row.get("text")? })
}

fn value(row: &Row<'_>) -> rusqlite::Result<ImportedValue> {
    Ok(ImportedValue {
        file: side(row, "file")?,
        subject: row.get("subject")?,
        step: row.get("step")?,
        metric: row.get("metric")?,
        unit: row.get("unit")?,
        value: row.get("value")?,
        said: row.get("said")?,
        place: row.get("place")?,
    })
}
