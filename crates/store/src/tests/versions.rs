//! A store of every earlier version is opened by this one, with all its rows.

use super::{RUN, events, host, plan, written};
use crate::columns::json;
use crate::migrations::{VERSIONS, migrate_to};
use crate::{Error, Store, Writer, check};
use model::plan::Purpose;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Rows that a version could write and the one before it could not: by the version, so that a table that is made again later has some.
const ROWS: [(usize, &str); 13] = [
    (
        1,
        "INSERT INTO hosts VALUES (1, 'bench-1', 'boot-a', '6.8', 'cpu', 8, 64, '{}');
         INSERT INTO builds VALUES (1, 'rocksdb@8.5.4', 'ab', 1, '{}');
         INSERT INTO runs VALUES (7, 'first', 'a name', 'compare', 1000, 2000, 'done', 1, '0.1', 'small', 'cd', -2,
             '0.1.0', '{}', 14, 0.5, 81.25, 163.7, 20, 3);
         INSERT INTO subjects VALUES (7, 0, 'rocksdb@8.5.4', 1, 'standard', '{}', 0.0),
                                     (7, 1, 'rocksdb@8.7.3', 1, 'standard', '{}', 0.0);
         INSERT INTO launches VALUES (7, 1, 1010, 30, 14, '[]');
         INSERT INTO images VALUES (1, 7, 1, 3, -1, 5, 4096, 17, '[]');
         INSERT INTO trials VALUES (11, 7, 1, 'readrandom', 0, 'done', NULL, 7, 1, 2, 3, 4, '1c84'),
                                   (12, 7, 1, 'fillseq', 0, 'failed', 'signal 11', NULL, NULL, NULL, NULL, NULL, NULL);
         INSERT INTO blocks VALUES (13, 11, 3, 0, 1, 100, 0, 200, 1, 199, 1, 201);
         INSERT INTO counters VALUES (1, 'read_calls');
         INSERT INTO block_counters VALUES (13, 1, 99);
         INSERT INTO shapes VALUES (17, 11, 'after', 4096, 17, '[]');
         INSERT INTO step_exits VALUES (1, 7, 'readrandom', 1, 'decided');
         INSERT INTO host_samples VALUES (1, 7, 1500, '{\"stat.ctxt\":5}');
         INSERT INTO raw_outputs VALUES (1, 7, 1, 0, 'LOG', 'text');
         INSERT INTO warnings VALUES (19, 7, NULL, 'busy-host', 'load 3.1');",
    ),
    (
        2,
        "INSERT INTO seconds VALUES (11, 0, 100, 1, 2, 3);
         INSERT INTO imports VALUES (1, 'i', NULL, 'sysbench', 5, '0.1.0');
         INSERT INTO import_files VALUES (1, 1, 'sb.txt', 'ab', 'text');
         INSERT INTO imported_values VALUES (1, 1, 1, 'pg16', 'read', 'qps', '1/s', 5.0, '5', 'line 1');",
    ),
    (3, "UPDATE blocks SET started_at_us = 77;"),
    (
        7,
        "INSERT INTO bisections VALUES ('b', 1, NULL, 'quick', 'readrandom', 'rocksdb@1', 'rocksdb@2', NULL);
         INSERT INTO launches (run_key, put_aside, launch, started_at_us) VALUES (7, 1, 2, 1020);",
    ),
    (
        9,
        "INSERT INTO self_tests VALUES (7, 'readrandom', 5, '{}');
         INSERT INTO self_test_starts VALUES ('bench-1', 1);",
    ),
    (10, "INSERT INTO queued_runs VALUES (1, 'c', 'c/more', '{}', '[]');"),
    (11, "INSERT INTO resumes VALUES (1, 7, 1600, 1, '0.2.0');"),
    (12, "INSERT INTO fingerprints VALUES (1, 'bench-1', 1, 'boot-a', '[]');"),
    (
        14,
        "INSERT INTO profiles (run_key, launch, step, side, operations, cpu_ns, unsampled_operations, unsampled_cpu_ns,
             wall_ns, looks, waits_json, quality_json, names_json, stacks_json)
         VALUES (7, 1, 'readrandom', 0, 1, 2, 3, 4, 5, 6, '{}', '{}', '[]', '[]');",
    ),
    (
        16,
        "INSERT INTO watched (watch, host_name, workload, step, base, candidate, is_slower, ratio, low, high,
             first_with, state, first_run, last_run)
         VALUES ('w', 'bench-1', 'small', 'readrandom', 'a', 'b', 1, 0.9, 0.8, 0.95, 'c', 'new', 'first', 'first');",
    ),
    (17, "INSERT INTO watch_runs VALUES ('first');"),
    (18, "INSERT INTO reading_names VALUES (1, '[\"stat.ctxt\"]');"),
    (
        19,
        "INSERT INTO origins VALUES (7, 1700, 'lab-1', '0.1.0');
         INSERT INTO jobs VALUES ('c', 1, 'lab-1', 'done', NULL, 1, 'name = \"n\"', 1700);",
    ),
];

/// A store as a dbdyno of this version left it: it had come from the first one, and each had written its rows.
pub(super) fn of_version(path: &Path, version: usize) -> BTreeMap<String, i64> {
    let mut connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)).unwrap();
    for version in 1..=version {
        migrate_to(&mut connection, path, version).unwrap();
        for (_, rows) in ROWS.iter().filter(|(of, _)| *of == version) {
            connection.execute_batch(rows).unwrap();
        }
    }
    connection.execute("UPDATE runs SET plan_json = ?", [json(&plan(Purpose::Compare)).unwrap()]).unwrap();
    connection.execute("UPDATE hosts SET host_json = ?", [json(&host()).unwrap()]).unwrap();
    rows(&connection)
}

/// How many rows each table has.
fn rows(connection: &Connection) -> BTreeMap<String, i64> {
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
        .unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
    let count = |table: String| {
        let sql = format!("SELECT count(*) FROM {table}");
        let rows: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        (table, rows)
    };
    tables.map(count).collect()
}

#[test]
fn a_store_of_every_earlier_version_keeps_its_rows_and_takes_new_runs() {
    let directory = tempfile::tempdir().unwrap();
    for version in 1..VERSIONS {
        let path = directory.path().join(format!("{version}.sqlite"));
        let before = of_version(&path, version);
        assert!(before.values().all(|rows| *rows > 0), "a table of version {version} is empty: {before:?}");

        // Who only reads it leaves it as it is.
        let bytes = fs::read(&path).unwrap();
        let found = check(&path).unwrap();
        assert_eq!((found.schema as usize, &found.damage), (version, &Vec::new()));
        let error = Store::open_to_browse(&path).unwrap_err();
        assert!(matches!(&error, Error::Older { found, .. } if *found as usize == version), "{error}");
        assert!(fs::read(&path).unwrap() == bytes, "a reader changed a store of version {version}");

        let store = Store::open_existing(&path).unwrap();
        let mut after = rows(&store.connection);
        after.retain(|table, _| before.contains_key(table));
        assert_eq!(after, before, "of version {version}");
        let run = store.load_run("first").unwrap();
        assert_eq!((run.trials.len(), run.blocks.len(), run.launches.len()), (2, 1, 1));
        assert_eq!(store.host_samples("first").unwrap()[0].readings["stat.ctxt"], 5);
        drop(store);
        assert_eq!(check(&path).unwrap().damage, Vec::<String>::new(), "of version {version}");

        let mut writer = Writer::open(&path).unwrap();
        let all = events(1_000_000);
        all.iter().for_each(|event| writer.write(RUN, event).unwrap());
        assert_eq!(writer.store().load_run(RUN).unwrap(), written(&all).store().load_run(RUN).unwrap());
    }
}
