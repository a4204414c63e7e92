//! Several loaders of one table, against servers that speak from a script.

use super::super::scripted::{LOGGED_IN, Peer, statement};
use super::*;
use crate::foreground::Pace;
use crate::planted::Slowdown;
use model::workload::sql::Dialect;
use model::workload::{DataSet, Operation};
use std::collections::BTreeMap;

const ROWS: u64 = 250;
const OF_AN_INSERT: u64 = 20;
const REFUSED: &[u8] = b"E\0\0\0\x1cSERROR\0C42501\0Mrefused\0\0Z\0\0\0\x05I";

/// The command that a statement ended with.
fn tag(text: &str) -> Vec<u8> {
    let mut message = vec![b'C', 0, 0, 0, u8::try_from(text.len() + 5).unwrap()];
    message.extend_from_slice(text.as_bytes());
    message.extend_from_slice(b"\0Z\0\0\0\x05I");
    message
}

/// Loads tables with a thread for each list of answers; what each did, and the statements that it sent.
fn load(count: u32, answers: Vec<Vec<Vec<u8>>>) -> Vec<(ThreadBlock, Vec<String>)> {
    let tables: Tables = serde_json::from_value(serde_json::json!({
        "count": count, "rows": ROWS, "prefix": "t", "create": { "postgres": ["CREATE {table}"] },
        "insert": "INSERT {table} ", "row": "({next}, {v})", "index": [], "insert_rows": OF_AN_INSERT,
        "parameters": {
            "next": { "draw": "next" },
            "v": { "draw": "uniform", "low": 1, "high": 1_000_000 },
        }
    }))
    .unwrap();
    let data = DataSet { keys: ROWS, key_bytes: 8, value_bytes: 10, value_compressible_percent: 0 };
    let threads = u32::try_from(answers.len()).unwrap();
    let setup =
        StepSetup { threads, server_is_ours: true, ..StepSetup::plain(Operation::LoadTables, data, 5) };
    let loads: Arc<Vec<TableLoad>> = Arc::new((0..count).map(|_| TableLoad::default()).collect());
    let run = |(thread, answers): (u32, Vec<Vec<u8>>)| {
        let connection = [vec![LOGGED_IN.to_vec()], answers].concat();
        let peer = Peer::answering_each(vec![connection]);
        let address = peer.address(Dialect::Postgres);
        let mut work = TableWork::load(&address, &tables, &setup, thread, Arc::clone(&loads)).unwrap();
        let mut manner =
            Manner { pace: Pace::Closed, planted: Slowdown::new(0.0, Default::default()).unwrap() };
        let limit = BlockLimit::Operations { count: 1 };
        let block = BlockRunner::run(&mut work, limit, &mut manner, &mut Recorder::new(), None);
        drop(work);
        (block, peer.received().iter().skip(1).map(|message| statement(message)).collect())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..).zip(answers).map(|one| scope.spawn(|| run(one))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Enough for a thread that does all of it; whoever makes the table takes the first for that.
fn every_answer() -> Vec<Vec<u8>> {
    vec![tag(&format!("INSERT 0 {OF_AN_INSERT}")); 40]
}

/// The ids and values of the rows that were inserted into a table.
fn rows(sent: &[String], table: &str) -> Vec<(u64, u64)> {
    let of_insert = |text: &String| -> Vec<(u64, u64)> {
        let Some(rows) = text.strip_prefix(&format!("INSERT {table} ")) else { return Vec::new() };
        let numbers = rows.split(['(', ')', ',', ' ']).filter_map(|number| number.parse().ok());
        let numbers: Vec<u64> = numbers.collect();
        numbers.chunks(2).map(|row| (row[0], row[1])).collect()
    };
    sent.iter().flat_map(of_insert).collect()
}

#[test]
fn several_threads_load_one_table_every_row_once_and_with_the_same_values() {
    let mut loaded: Vec<BTreeMap<u64, u64>> = Vec::new();
    for _ in 0..3 {
        // The last INSERT is shorter, and its thread is told another number than it expects.
        let threads = load(1, vec![every_answer(); 4]);
        let sent = || threads.iter().flat_map(|(_, sent)| sent.clone()).collect::<Vec<String>>();
        assert_eq!(sent().iter().filter(|text| text.starts_with("CREATE")).count(), 1, "made once");
        let all = rows(&sent(), "t1");
        let by_id: BTreeMap<u64, u64> = all.iter().copied().collect();
        assert!(by_id.keys().copied().eq(1..=ROWS), "{by_id:?}");
        assert_eq!(all.len() as u64, ROWS, "each once");
        let operations: u64 = threads.iter().map(|(block, _)| block.operations).sum();
        assert_eq!(operations, ROWS / OF_AN_INSERT * OF_AN_INSERT);
        let errors: Vec<&String> =
            threads.iter().filter_map(|(block, _)| block.first_error.as_ref()).collect();
        assert_eq!(errors, ["wrong answer: an INSERT of 10 rows into t1 inserted 20"]);
        loaded.push(by_id);
    }
    assert!(loaded[0] == loaded[1] && loaded[0] == loaded[2], "whoever inserts them");
}

#[test]
fn with_more_threads_than_tables_each_has_one() {
    let threads = load(2, vec![every_answer(); 3]);
    for (number, of_thread) in [1, 2, 1].into_iter().zip(&threads) {
        let other = if number == 1 { "t2" } else { "t1" };
        assert_eq!(rows(&of_thread.1, other), []);
    }
    let of_first: Vec<String> = threads[0].1.iter().chain(&threads[2].1).cloned().collect();
    let mut ids: Vec<u64> = rows(&of_first, "t1").iter().map(|row| row.0).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(1..=ROWS));
    // A thread that is alone with its table draws all of it from one stream.
    let alone = rows(&threads[1].1, "t2");
    assert_eq!(alone, rows(&load(2, vec![every_answer(); 2])[1].1, "t2"));
    assert!(alone.iter().map(|row| row.0).eq(1..=ROWS));
}

#[test]
fn a_table_that_could_not_be_made_is_not_loaded_and_one_says_so() {
    let refused = || vec![REFUSED.to_vec()];
    let threads = load(1, vec![refused(), refused(), refused()]);
    let errors: Vec<&String> = threads.iter().filter_map(|(block, _)| block.first_error.as_ref()).collect();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].contains("`CREATE t1` failed"), "{errors:?}");
    assert_eq!(threads.iter().map(|(_, sent)| sent.len()).sum::<usize>(), 1, "nothing was tried twice");
}

#[test]
fn after_a_failed_insert_nobody_goes_on() {
    let fails = || vec![tag("CREATE TABLE"), REFUSED.to_vec()];
    let threads = load(1, vec![fails(), fails()]);
    let failed = threads.iter().filter(|(block, _)| block.first_error.is_some()).count();
    assert!(failed >= 1);
    let inserts = threads.iter().flat_map(|(_, sent)| sent).filter(|text| text.starts_with("INSERT"));
    assert!(inserts.count() <= 2, "of {} that there were to be", ROWS.div_ceil(OF_AN_INSERT));
}
