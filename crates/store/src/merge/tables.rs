//! Which rows go with a run, which are shared by all runs of a store, and how each is copied.
//!
//! Rows that belong to a run keep the order of their keys and get new ones behind those that are there. Columns are read from the
//! schema, so that a new one is copied without a change here; a new table has to be named here, which a test demands.

use rusqlite::Connection;
use std::collections::BTreeMap;

/// Rows that mean the same in every store: what is equal in these columns is one row.
pub(crate) struct Shared {
    pub table: &'static str,
    pub key: &'static str,
    pub content: &'static [&'static str],
}

pub(crate) const SHARED: [Shared; 5] = [
    Shared { table: "hosts", key: "host_key", content: &["host_json"] },
    Shared { table: "builds", key: "build_key", content: &["build_json"] },
    Shared { table: "counters", key: "counter_key", content: &["name"] },
    Shared { table: "reading_names", key: "reading_names_key", content: &["names_json"] },
    Shared {
        table: "fingerprints",
        key: "fingerprint_key",
        content: &["host_name", "at_us", "boot_id", "device", "figures_json"],
    },
];

/// Rows that belong to a run or an import.
pub(crate) struct Owned {
    pub table: &'static str,
    /// Absent where the rows are named by those that own them.
    pub key: Option<&'static str>,
    /// Columns with keys of such tables; a row is taken if the first is. None: a run or an import itself.
    pub owners: &'static [(&'static str, &'static str)],
    /// Columns with keys of shared tables.
    pub shared: &'static [(&'static str, &'static str)],
}

const RUN: &[(&str, &str)] = &[("run_key", "runs")];
const TRIAL: &[(&str, &str)] = &[("trial_key", "trials")];

/// Owners before what they own.
pub(crate) const OF_RUNS: [Owned; 17] = [
    Owned {
        table: "runs",
        key: Some("run_key"),
        owners: &[],
        shared: &[("host_key", "hosts"), ("fingerprint_key", "fingerprints")],
    },
    Owned { table: "subjects", key: None, owners: RUN, shared: &[("build_key", "builds")] },
    Owned { table: "launches", key: None, owners: RUN, shared: &[] },
    Owned { table: "images", key: Some("image_key"), owners: RUN, shared: &[] },
    Owned { table: "trials", key: Some("trial_key"), owners: RUN, shared: &[] },
    Owned { table: "blocks", key: Some("block_key"), owners: TRIAL, shared: &[] },
    Owned {
        table: "block_counters",
        key: None,
        owners: &[("block_key", "blocks")],
        shared: &[("counter_key", "counters")],
    },
    Owned { table: "shapes", key: Some("shape_key"), owners: TRIAL, shared: &[] },
    Owned { table: "seconds", key: None, owners: TRIAL, shared: &[] },
    Owned { table: "step_exits", key: Some("step_exit_key"), owners: RUN, shared: &[] },
    Owned {
        table: "host_samples",
        key: Some("host_sample_key"),
        owners: RUN,
        shared: &[("reading_names_key", "reading_names")],
    },
    Owned { table: "raw_outputs", key: Some("raw_output_key"), owners: RUN, shared: &[] },
    Owned { table: "warnings", key: Some("warning_key"), owners: RUN, shared: &[] },
    Owned { table: "resumes", key: Some("resume_key"), owners: RUN, shared: &[("host_key", "hosts")] },
    Owned { table: "self_tests", key: None, owners: RUN, shared: &[] },
    Owned { table: "profiles", key: Some("profile_key"), owners: RUN, shared: &[] },
    Owned { table: "origins", key: None, owners: RUN, shared: &[] },
];

pub(crate) const OF_IMPORTS: [Owned; 3] = [
    Owned { table: "imports", key: Some("import_key"), owners: &[], shared: &[] },
    Owned {
        table: "import_files",
        key: Some("import_file_key"),
        owners: &[("import_key", "imports")],
        shared: &[],
    },
    Owned {
        table: "imported_values",
        key: Some("imported_value_key"),
        owners: &[("import_key", "imports"), ("import_file_key", "import_files")],
        shared: &[],
    },
];

/// Rows that stand by themselves. [`take_rest`] copies those that are there or not; of the others each has its rule.
pub(crate) const BY_THEMSELVES: [&str; 2] = ["self_test_starts", "watch_runs"];
#[cfg(test)]
pub(crate) const WITH_A_RULE: [&str; 4] = ["bisections", "watched", "queued_runs", "jobs"];

/// Copies what the runs of `temp.taken_runs` own, and what is shared.
pub(super) fn copy_runs(connection: &Connection) -> rusqlite::Result<()> {
    for shared in &SHARED {
        copy_shared(connection, shared)?;
    }
    copy_owned(connection, &OF_RUNS)
}

/// Deletes the runs of `temp.replaced_runs`, with all that they own.
pub(super) fn delete_replaced_runs(connection: &Connection) -> rusqlite::Result<()> {
    for owned in OF_RUNS.iter().rev() {
        let of_replaced = taken(owned, &OF_RUNS, "main", "replaced_runs");
        connection.execute(&format!("DELETE FROM main.{} WHERE {of_replaced}", owned.table), [])?;
    }
    Ok(())
}

/// Copies imports that are not there. How many that were.
pub(super) fn take_imports(connection: &Connection) -> rusqlite::Result<u64> {
    let taken = connection.execute(
        "INSERT INTO temp.taken_imports
         SELECT import_key FROM other.imports WHERE id NOT IN (SELECT id FROM main.imports)",
        [],
    )?;
    copy_owned(connection, &OF_IMPORTS)?;
    Ok(taken as u64)
}

/// Copies bisections that are not there, or have no end here and one there. How many that were.
pub(super) fn take_bisections(connection: &Connection) -> rusqlite::Result<u64> {
    let columns = columns(connection, "bisections")?.join(", ");
    let taken = connection.execute(
        &format!(
            "INSERT INTO main.bisections ({columns}) SELECT {columns} FROM other.bisections WHERE true
             ON CONFLICT (id) DO UPDATE SET ended_at_us = excluded.ended_at_us, finding_json = excluded.finding_json
             WHERE finding_json IS NULL AND excluded.finding_json IS NOT NULL"
        ),
        [],
    )?;
    Ok(taken as u64)
}

/// Copies rows that stand by themselves and are not there.
pub(super) fn take_rest(connection: &Connection) -> rusqlite::Result<()> {
    for table in BY_THEMSELVES {
        let columns = columns(connection, table)?.join(", ");
        let copy =
            format!("INSERT OR IGNORE INTO main.{table} ({columns}) SELECT {columns} FROM other.{table}");
        connection.execute(&copy, [])?;
    }
    Ok(())
}

/// Tables of the merge itself: keys of what is taken, and new keys of what is shared.
pub(super) fn make_notes(connection: &Connection) -> rusqlite::Result<()> {
    drop_notes(connection)?;
    connection.execute_batch(
        "CREATE TEMP TABLE taken_runs (key INTEGER PRIMARY KEY);
         CREATE TEMP TABLE taken_imports (key INTEGER PRIMARY KEY);
         CREATE TEMP TABLE replaced_runs (key INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT);",
    )?;
    for Shared { table, .. } in &SHARED {
        connection.execute_batch(&format!(
            "CREATE TEMP TABLE new_{table} (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)"
        ))?;
    }
    Ok(())
}

pub(super) fn drop_notes(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DROP TABLE IF EXISTS temp.taken_runs; DROP TABLE IF EXISTS temp.taken_imports;
         DROP TABLE IF EXISTS temp.replaced_runs;",
    )?;
    for Shared { table, .. } in &SHARED {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS temp.new_{table}"))?;
    }
    Ok(())
}

fn copy_shared(connection: &Connection, shared: &Shared) -> rusqlite::Result<()> {
    let Shared { table, key, content } = shared;
    let mut columns = columns(connection, table)?;
    columns.retain(|column| column != key);
    let columns = columns.join(", ");
    let equal: Vec<String> =
        content.iter().map(|column| format!("ours.{column} IS theirs.{column}")).collect();
    let equal = equal.join(" AND ");
    connection.execute(
        &format!(
            "INSERT INTO main.{table} ({columns}) SELECT {columns} FROM other.{table} AS theirs
             WHERE NOT EXISTS (SELECT 1 FROM main.{table} AS ours WHERE {equal})"
        ),
        [],
    )?;
    connection.execute(
        &format!(
            "INSERT INTO temp.new_{table} SELECT theirs.{key}, min(ours.{key})
             FROM other.{table} AS theirs JOIN main.{table} AS ours ON {equal} GROUP BY theirs.{key}"
        ),
        [],
    )?;
    Ok(())
}

fn copy_owned(connection: &Connection, tables: &[Owned]) -> rusqlite::Result<()> {
    let mut behind = BTreeMap::new();
    for owned in tables {
        let Some(key) = owned.key else { continue };
        let last = format!("SELECT coalesce(max({key}), 0) FROM main.{}", owned.table);
        behind.insert(owned.table, connection.query_row(&last, [], |row| row.get::<_, i64>(0))?);
    }
    let roots = format!("taken_{}", tables[0].table);
    for owned in tables {
        let columns = columns(connection, owned.table)?;
        let values: Vec<String> = columns.iter().map(|column| copied(owned, column, &behind)).collect();
        let is_taken = taken(owned, tables, "other", &roots);
        let copy = format!(
            "INSERT INTO main.{table} ({}) SELECT {} FROM other.{table} WHERE {is_taken}",
            columns.join(", "),
            values.join(", "),
            table = owned.table,
        );
        connection.execute(&copy, [])?;
    }
    Ok(())
}

/// What a column of a copied row has: keys are those of this store.
fn copied(owned: &Owned, column: &str, behind: &BTreeMap<&str, i64>) -> String {
    if owned.key == Some(column) {
        return format!("{column} + {}", behind[owned.table]);
    }
    if let Some((_, owner)) = owned.owners.iter().find(|(of, _)| *of == column) {
        return format!("{column} + {}", behind[owner]);
    }
    match owned.shared.iter().find(|(of, _)| *of == column) {
        Some((_, shared)) => format!("(SELECT new FROM temp.new_{shared} WHERE old = {column})"),
        None => column.to_owned(),
    }
}

/// The condition that a row belongs to a root among those of a table of the merge.
fn taken(owned: &Owned, tables: &[Owned], schema: &str, roots: &str) -> String {
    let Some((column, owner)) = owned.owners.first() else {
        let key = owned.key.unwrap_or("rowid");
        return format!("{key} IN (SELECT key FROM temp.{roots})");
    };
    let owner = tables.iter().find(|table| table.table == *owner);
    match owner {
        Some(owner) if !owner.owners.is_empty() => {
            let of_owner = taken(owner, tables, schema, roots);
            format!("{column} IN (SELECT {column} FROM {schema}.{} WHERE {of_owner})", owner.table)
        }
        Some(_) | None => format!("{column} IN (SELECT key FROM temp.{roots})"),
    }
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = format!("SELECT name FROM pragma_table_info('{table}', 'main')");
    connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect()
}
