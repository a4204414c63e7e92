//! Samples of the host: the values of each, and the names that all of a run have in common once.

use crate::columns::{from_json, json, unreadable};
use model::host::HostSample;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

/// The samples of a run, in their order; the statement asks for the run's key.
pub(crate) const HOST_SAMPLES: &str = "
    SELECT at_us, readings_json, names_json
    FROM host_samples LEFT JOIN reading_names USING (reading_names_key)
    WHERE run_key = ? ORDER BY host_sample_key";

/// A row of [`HOST_SAMPLES`].
pub(crate) fn host_sample(row: &Row<'_>) -> rusqlite::Result<HostSample> {
    let readings = match row.get_ref("names_json")? {
        // Of before schema 18: each value has its name beside it.
        ValueRef::Null => from_json(row, "readings_json")?,
        _ => {
            let names: Vec<String> = from_json(row, "names_json")?;
            let values: Vec<u64> = from_json(row, "readings_json")?;
            if names.len() != values.len() {
                let found = format!("{} values for {} names", values.len(), names.len());
                return Err(unreadable("readings_json", found.into()));
            }
            names.into_iter().zip(values).collect()
        }
    };
    Ok(HostSample { at_us: row.get("at_us")?, readings })
}

/// Writes a sample of a run.
pub(crate) fn insert(connection: &Connection, run_key: i64, sample: &HostSample) -> rusqlite::Result<()> {
    let names = json(&sample.readings.keys().collect::<Vec<_>>())?;
    let values = json(&sample.readings.values().collect::<Vec<_>>())?;
    connection
        .prepare_cached(
            "INSERT INTO reading_names (names_json) VALUES (?) ON CONFLICT (names_json) DO NOTHING",
        )?
        .execute([&names])?;
    connection
        .prepare_cached(
            "INSERT INTO host_samples (run_key, at_us, readings_json, reading_names_key)
             SELECT ?, ?, ?, reading_names_key FROM reading_names WHERE names_json = ?",
        )?
        .execute(params![run_key, sample.at_us, values, names])?;
    Ok(())
}
