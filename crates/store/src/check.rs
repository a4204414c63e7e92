//! Whether the file of a store is sound. Nothing is written to it.

use crate::error::Error;
use crate::file::Store;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;

/// Findings of one kind that are listed: a page that is lost brings one for each row that was on it.
const MOST_LISTED: usize = 20;

/// A store up to this size is looked through before a writer uses it, which takes a second or two where a run takes minutes. A larger one
/// would keep each run waiting: there SQLite refuses the pages that it comes upon, and `dbdyno store check` looks at all of them.
const LOOKED_THROUGH: u64 = 256 << 20;

/// What there is in the file of a store, and what of it is damaged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Check {
    /// 0 where it is being made.
    pub schema: u32,
    pub bytes: u64,
    pub pages: u64,
    pub tables: usize,
    pub rows: u64,
    /// Values of the columns that hold JSON.
    pub json_values: u64,
    pub runs: u64,
    /// A sentence for each finding; none in a sound store.
    pub damage: Vec<String>,
}

/// Looks at all pages, indexes and rows of the store at `path`, of any schema up to ours. A run may write to it meanwhile.
///
/// # Errors
/// A file that is not there, not a store, of a later version, or that cannot be read; [`Error::Damaged`] if not even its schema can be.
pub fn check(path: &Path) -> Result<Check, Error> {
    let store = Store::open_as_it_is(path)?;
    let mut look = Look { store: &store, found: Check::default() };
    look.at_file()?;
    look.at_rows()?;
    look.at_runs()?;
    Ok(look.found)
}

/// Refuses a store that is damaged before more is written into it.
pub(crate) fn before_writing(store: &Store) -> Result<(), Error> {
    let bytes = std::fs::metadata(store.path()).map_or(0, |file| file.len());
    if bytes > LOOKED_THROUGH { Ok(()) } else { quick_check(&store.connection, store.path()) }
}

/// Looks at all pages and rows, but not whether indexes agree with them. An error names `path`.
pub(crate) fn quick_check(connection: &Connection, path: &Path) -> Result<(), Error> {
    let said = pragma_findings(connection, "PRAGMA quick_check(1)")
        .map_err(|source| Error::from_sqlite(path, "check the pages", source))?;
    said.first().map_or(Ok(()), |first| Err(Error::damaged(path, first)))
}

/// A check that is under way.
struct Look<'a> {
    store: &'a Store,
    found: Check,
}

impl Look<'_> {
    fn at_file(&mut self) -> Result<(), Error> {
        let version = self.read("the header", |connection| number(connection, "PRAGMA user_version"))?;
        self.found.schema = u32::try_from(version).unwrap_or(u32::MAX);
        self.found.pages = self.read("the header", |connection| number(connection, "PRAGMA page_count"))?;
        let page = self.read("the header", |connection| number(connection, "PRAGMA page_size"))?;
        self.found.bytes = self.found.pages.saturating_mul(page);
        let pages = format!("PRAGMA integrity_check({MOST_LISTED})");
        let damage = self.read("the pages", |connection| pragma_findings(connection, &pages))?;
        self.found.damage.extend(damage);
        Ok(())
    }

    fn at_rows(&mut self) -> Result<(), Error> {
        let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'";
        let tables = self.read("the schema", |connection| texts(connection, tables))?;
        self.found.tables = tables.len();
        for table in &tables {
            let count = format!("SELECT count(*) FROM \"{table}\"");
            self.found.rows += self.read(table, |connection| number(connection, &count))?;
            let columns = format!("SELECT name FROM pragma_table_info('{table}') WHERE name GLOB '*_json'");
            for column in self.read(table, |connection| texts(connection, &columns))? {
                self.at_json(table, &column)?;
            }
        }
        for ((table, parent), rows) in self.read("the references between tables", strays)? {
            let stray = format!("{table}: references to rows of {parent} that are not there: {rows}");
            self.found.damage.push(stray);
        }
        Ok(())
    }

    fn at_json(&mut self, table: &str, column: &str) -> Result<(), Error> {
        let sql = format!(
            "SELECT count(\"{column}\"), count(*) FILTER (WHERE NOT json_valid(\"{column}\"))
             FROM \"{table}\""
        );
        let (values, broken) = self.read(table, |connection| {
            connection.query_row(&sql, [], |row| {
                Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()))
            })
        })?;
        self.found.json_values += values;
        if broken > 0 {
            self.found.damage.push(format!("{table}.{column}: values that are no JSON: {broken}"));
        }
        Ok(())
    }

    /// What is written of a run in one go is there in whole.
    fn at_runs(&mut self) -> Result<(), Error> {
        if self.found.schema == 0 {
            return Ok(());
        }
        self.found.runs = self.read("runs", |connection| number(connection, "SELECT count(*) FROM runs"))?;
        let without_a_side = "SELECT id FROM runs WHERE CASE WHEN json_valid(plan_json)
                THEN json_array_length(plan_json, '$.subjects')
                    <> (SELECT count(*) FROM subjects WHERE subjects.run_key = runs.run_key) END";
        let half_ended = "SELECT id FROM runs WHERE (outcome IS NULL) <> (ended_at_us IS NULL)";
        for (sql, says) in [
            (without_a_side, "has not the subjects of its plan"),
            (half_ended, "has an outcome without an end, or the other way round"),
        ] {
            let runs = self.read("runs", |connection| texts(connection, sql))?;
            let lines = runs.iter().take(MOST_LISTED).map(|run| format!("run {run} {says}"));
            self.found.damage.extend(lines);
        }
        Ok(())
    }

    /// Reads something of the store. That the pages do not allow it is a finding.
    fn read<T: Default>(
        &mut self,
        what: &str,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        match self.store.sql(format!("check {what}"), read) {
            Err(Error::Damaged { source, .. }) => {
                let finding = format!("{what} cannot be read: {source}");
                if !self.found.damage.contains(&finding) {
                    self.found.damage.push(finding);
                }
                Ok(T::default())
            }
            read => read,
        }
    }
}

/// What a check of SQLite finds, a line each.
fn pragma_findings(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let said = texts(connection, sql)?;
    // A line with stars says in which of several files it is.
    let lines = said.iter().flat_map(|text| text.lines());
    Ok(lines.filter(|line| *line != "ok" && !line.starts_with("***")).map(str::to_owned).collect())
}

/// Rows that refer to what is not there: how many, by their table and the other.
fn strays(connection: &Connection) -> rusqlite::Result<BTreeMap<(String, String), u64>> {
    let mut strays: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        *strays.entry((row.get(0)?, row.get(2)?)).or_default() += 1;
    }
    Ok(strays)
}

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<u64> {
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}
