//! Every row of a run in two stores, side by side. Which tables belong to a run is read from the references of the schema, and not from the
//! lists that the merge goes by.

use super::drawn::{Draw, DrawnRun, states, write, write_whole};
use super::{Place, merged};
use crate::tests::other_process;
use crate::{Writer, check};
use model::event::RunEvent;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Says where a run came from: of a run that was merged it differs from what its host has.
const ORIGINS: &str = "origins";

/// A store, read as its schema says.
struct Contents {
    connection: Connection,
    tables: BTreeMap<String, Table>,
    /// Rows that others refer to.
    known: RefCell<BTreeMap<(String, i64), String>>,
}

struct Table {
    columns: Vec<String>,
    /// The column that numbers the rows, if one does.
    key: Option<String>,
    /// By column.
    references: BTreeMap<String, String>,
}

impl Contents {
    fn of(path: &Path) -> Contents {
        let connection = other_process(path);
        let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'";
        let tables = texts(&connection, names).into_iter().map(|name| {
            let columns = texts(&connection, &format!("SELECT name FROM pragma_table_info('{name}')"));
            let key = format!(
                "SELECT name FROM pragma_table_info('{name}') WHERE pk > 0 AND type = 'INTEGER'
                     AND (SELECT count(*) FROM pragma_table_info('{name}') WHERE pk > 0) = 1"
            );
            let references = format!("SELECT \"from\" FROM pragma_foreign_key_list('{name}') ORDER BY 1");
            let to = format!("SELECT \"table\" FROM pragma_foreign_key_list('{name}') ORDER BY \"from\"");
            let references = texts(&connection, &references).into_iter().zip(texts(&connection, &to));
            let key = texts(&connection, &key).pop();
            (name, Table { columns, key, references: references.collect() })
        });
        let tables = tables.collect();
        Contents { connection, tables, known: RefCell::default() }
    }

    /// The tables whose rows belong to a run: those that refer to it, and those that refer to them.
    fn of_runs(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::from(["runs"]);
        loop {
            let refers = |table: &Table| table.references.values().any(|to| found.contains(to.as_str()));
            let more: Vec<&str> = self
                .tables
                .iter()
                .filter(|(name, table)| refers(table) && !found.contains(name.as_str()))
                .map(|(name, _)| name.as_str())
                .collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    /// By table, but for where it came from: in the order of their keys, or sorted where other tables number them.
    fn of_run(&self, run: &str) -> BTreeMap<&str, Vec<String>> {
        let tables = self.of_runs().into_iter().filter(|table| *table != ORIGINS);
        let rows = |name: &str| {
            let order = self.tables[name].key.as_deref().map(|key| format!(" ORDER BY {key}"));
            let is_ordered = order.is_some();
            let condition = self.belongs(name, run);
            let mut rows = self.rows(name, &format!("{condition}{}", order.unwrap_or_default()));
            if !is_ordered {
                rows.sort();
            }
            rows
        };
        tables.map(|name| (name, rows(name))).collect()
    }

    /// The condition that a row belongs to a run.
    fn belongs(&self, name: &str, run: &str) -> String {
        if name == "runs" {
            return format!("id = '{run}'");
        }
        let of_runs = self.of_runs();
        let owner = self.tables[name].references.iter().find(|(_, to)| of_runs.contains(to.as_str()));
        let (column, owner) = owner.unwrap();
        let key = self.tables[owner].key.as_deref().unwrap();
        format!("{column} IN (SELECT {key} FROM {owner} WHERE {})", self.belongs(owner, run))
    }

    /// Rows as text: without their own numbers, and with the row that a reference leads to in its place.
    fn rows(&self, name: &str, condition: &str) -> Vec<String> {
        let table = &self.tables[name];
        let columns: Vec<&String> =
            table.columns.iter().filter(|column| table.key.as_ref() != Some(*column)).collect();
        let sql = format!(
            "SELECT {} FROM {name} WHERE {condition}",
            columns.iter().map(|column| column.as_str()).collect::<Vec<_>>().join(", ")
        );
        let mut statement = self.connection.prepare(&sql).unwrap();
        let values = statement
            .query_map([], |row| (0..columns.len()).map(|index| row.get(index)).collect())
            .unwrap()
            .collect::<rusqlite::Result<Vec<Vec<Value>>>>()
            .unwrap();
        let shown = |(column, value): (&&String, Value)| match (table.references.get(*column), value) {
            (Some(to), Value::Integer(key)) => format!("{column}: ({})", self.row(to, key)),
            (_, value) => format!("{column}: {value:?}"),
        };
        let row = |values: Vec<Value>| columns.iter().zip(values).map(shown).collect::<Vec<_>>().join(", ");
        values.into_iter().map(row).collect()
    }

    fn row(&self, name: &str, key: i64) -> String {
        let of = (name.to_owned(), key);
        if let Some(known) = self.known.borrow().get(&of) {
            return known.clone();
        }
        // The run itself is the same in all of its rows.
        let row = if name == "runs" {
            texts(&self.connection, &format!("SELECT id FROM runs WHERE run_key = {key}")).concat()
        } else {
            let column = self.tables[name].key.as_deref().unwrap();
            self.rows(name, &format!("{column} = {key}")).concat()
        };
        self.known.borrow_mut().insert(of, row.clone());
        row
    }

    fn count(&self, table: &str) -> usize {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: i64 = self.connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        usize::try_from(count).unwrap()
    }
}

fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// The table and the first row in which two states of a run differ.
fn difference(here: &BTreeMap<&str, Vec<String>>, there: &BTreeMap<&str, Vec<String>>) -> Option<String> {
    let tables: BTreeSet<&&str> = here.keys().chain(there.keys()).collect();
    tables.into_iter().find_map(|table| {
        let (here, there) = (here.get(table)?, there.get(table)?);
        let place = (0..here.len().max(there.len())).find(|place| here.get(*place) != there.get(*place))?;
        Some(format!("row {place} of {table}: {:?}, and there {:?}", here.get(place), there.get(place)))
    })
}

/// Three hosts with two runs each, and two runs that all of them have, each to where it had come; a lab with a run of its own, so that no key
/// is the same there.
struct Drawn {
    place: Place,
    lab: PathBuf,
    /// The store in which a run is furthest.
    furthest: BTreeMap<String, PathBuf>,
}

impl Drawn {
    fn of(seed: u64) -> Drawn {
        let mut draw = Draw::of(seed);
        let place = Place::new();
        let lab = place.file("lab.sqlite");
        write_whole(&mut Writer::open(&lab).unwrap(), "of-the-lab", &mut draw);
        let moved: Vec<(String, Vec<RunEvent>)> =
            ["moved-a", "moved-b"].map(|id| (id.to_owned(), DrawnRun::of(id, &mut draw).events())).to_vec();
        let mut furthest: BTreeMap<String, (usize, PathBuf)> = BTreeMap::new();
        let mut stores = Vec::new();
        for number in 0..3 {
            let store = place.file(&format!("{number}.sqlite"));
            let mut writer = Writer::open(&store).unwrap();
            write_whole(&mut writer, &format!("own-{number}"), &mut draw);
            for (id, events) in &moved {
                let states = states(events);
                let length = states[draw.below(states.len())];
                write(&mut writer, id, &events[..length]);
                if furthest.get(id).is_none_or(|(known, _)| *known < length) {
                    furthest.insert(id.clone(), (length, store.clone()));
                }
            }
            let id = format!("own-{number}-more");
            write_whole(&mut writer, &id, &mut draw);
            for id in [format!("own-{number}"), id] {
                furthest.insert(id, (usize::MAX, store.clone()));
            }
            drop(writer);
            stores.push(store);
        }
        let first = draw.below(3);
        stores.rotate_left(first);
        for store in &stores {
            merged(&lab, store);
        }
        let furthest = furthest.into_iter().map(|(id, (_, store))| (id, store)).collect();
        Drawn { place, lab, furthest }
    }
}

#[test]
fn a_merged_run_has_every_row_that_it_has_where_it_was_measured() {
    let (mut filled, mut tables) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..6 {
        let Drawn { place, lab, furthest } = Drawn::of(seed);
        let here = Contents::of(&lab);
        let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
        for run in furthest.keys().map(String::as_str).chain(["of-the-lab"]) {
            for (table, of_run) in here.of_run(run) {
                *rows.entry(table).or_default() += of_run.len();
            }
        }
        for (run, store) in &furthest {
            let there = Contents::of(store);
            let found = difference(&here.of_run(run), &there.of_run(run));
            assert_eq!(found, None, "seed {seed}, run {run}");
        }
        for (table, of_runs) in rows {
            assert_eq!(here.count(table), of_runs, "seed {seed}: rows of {table} that belong to no run");
            if of_runs > 0 {
                filled.insert(table.to_owned());
            }
        }
        tables.extend(here.of_runs().into_iter().map(str::to_owned));
        assert_eq!(check(&lab).unwrap().damage, Vec::<String>::new(), "seed {seed}");
        drop(place);
    }
    tables.remove(ORIGINS);
    assert_eq!(filled, tables, "a table had no row in any of them");
}

#[test]
fn rows_that_lead_to_others_than_they_should_are_seen() {
    let Drawn { place, lab, furthest } = Drawn::of(1);
    for wrong in [
        "UPDATE runs SET host_key = (SELECT min(host_key) FROM hosts WHERE host_key <> runs.host_key)",
        "UPDATE subjects SET build_key = (SELECT max(build_key) FROM builds WHERE build_key <> subjects.build_key)",
        "UPDATE block_counters SET counter_key = counter_key + 1000",
        "UPDATE blocks SET wall_ns = wall_ns + 1 WHERE block_key = (SELECT max(block_key) FROM blocks)",
        "DELETE FROM seconds WHERE second = 0",
    ] {
        let copy = place.file("copy.sqlite");
        std::fs::copy(&lab, &copy).unwrap();
        other_process(&copy).execute_batch(&format!("PRAGMA foreign_keys = OFF; {wrong}")).unwrap();
        let here = Contents::of(&copy);
        let differs = |(run, store): (&String, &PathBuf)| {
            difference(&here.of_run(run), &Contents::of(store).of_run(run)).is_some()
        };
        assert!(furthest.iter().any(differs), "not seen: {wrong}");
    }
}
