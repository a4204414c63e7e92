//! The logic of transactions against a Postgres that speaks from a script.

use super::super::scripted::{LOGGED_IN, Peer};
use super::*;
use model::workload::DataSet;
use model::workload::Operation;
use model::workload::sql::Dialect;

const DONE: &[u8] = b"C\0\0\0\x0aBEGIN\0Z\0\0\0\x05T";
const ONE: &[u8] = b"C\0\0\0\x0dUPDATE 1\0Z\0\0\0\x05T";
const NONE: &[u8] = b"C\0\0\0\x0dUPDATE 0\0Z\0\0\0\x05T";
const DEADLOCK: &[u8] = b"E\0\0\0\x1dSERROR\0C40P01\0Mdeadlock\0\0Z\0\0\0\x05E";
const DUPLICATE: &[u8] = b"E\0\0\0\x1eSERROR\0C23505\0Mduplicate\0\0Z\0\0\0\x05E";
const REFUSED: &[u8] = b"E\0\0\0\x1cSERROR\0C42501\0Mrefused\0\0Z\0\0\0\x05E";

/// Instead of an answer: the server hangs up, and another connection begins.
const HANGS_UP: &[u8] = b"";

/// What one event of two statements did, and the texts that were sent after the login.
fn run(begin: bool, answers: &[&[u8]]) -> (Result<u64, OperationError>, Retries, Vec<String>) {
    let transaction = serde_json::from_value(serde_json::json!({
        "begin": begin, "prepared": false,
        "statements": [
            { "sql": "UPDATE {table} SET a = {id}", "rows": 1 },
            { "sql": "UPDATE {table} SET b = {id}", "rows": 1 },
        ]
    }))
    .unwrap();
    let (results, retries, sent) = run_events(&transaction, Arc::default(), answers, 1);
    (results.into_iter().next().unwrap(), retries, sent)
}

/// What so many events did, how often they were sent again, and all texts that were sent after the login.
fn run_events(
    transaction: &Transaction,
    rows: Arc<Vec<TableRows>>,
    answers: &[&[u8]],
    events: u32,
) -> (Vec<Result<u64, OperationError>>, Retries, Vec<String>) {
    run_events_on(1, transaction, rows, answers, events)
}

/// The same on so many tables.
fn run_events_on(
    count: u32,
    transaction: &Transaction,
    rows: Arc<Vec<TableRows>>,
    answers: &[&[u8]],
    events: u32,
) -> (Vec<Result<u64, OperationError>>, Retries, Vec<String>) {
    let tables: Tables = serde_json::from_value(serde_json::json!({
        "count": count, "rows": 100, "prefix": "t", "create": {}, "insert": "", "row": "({next}, {id})", "index": [],
        "id": "id",
        "parameters": {
            "next": { "draw": "next" },
            "id": { "draw": "uniform", "low": 1, "high": "rows" },
            "oldest": { "draw": "oldest" },
        }
    }))
    .unwrap();
    let data = DataSet { keys: 100, key_bytes: 8, value_bytes: 10, value_compressible_percent: 0 };
    let setup = StepSetup::plain(Operation::LoadTables, data, 5);
    let answers: Vec<Vec<u8>> = [LOGGED_IN].iter().chain(answers).map(|answer| answer.to_vec()).collect();
    // A connection ends with each answer that says so.
    let connections = answers.split(|answer| answer == HANGS_UP).map(<[Vec<u8>]>::to_vec).collect();
    let peer = Peer::answering_each(connections);
    let address = peer.address(Dialect::Postgres);
    let mut client = Client::new(&address, &tables, transaction, &setup, 0, rows).unwrap();
    assert_eq!(client.per_call(), transaction.operations(Dialect::Postgres));
    let results = (0..events).map(|_| client.once()).collect();
    let retries = client.take_retries();
    assert_eq!(client.take_retries(), Retries::default());
    drop(client);
    let text = |message: &Vec<u8>| String::from_utf8_lossy(&message[5..message.len() - 1]).into_owned();
    (results, retries, peer.received().iter().skip(1).map(text).collect())
}

fn counted(kinds: &[Retry]) -> Retries {
    let mut retries = Retries::default();
    kinds.iter().for_each(|kind| retries.count(*kind));
    retries
}

#[test]
fn an_event_is_its_statements_in_order() {
    let (result, retries, sent) = run(true, &[DONE, ONE, ONE, DONE]);
    assert_eq!((result.unwrap(), retries), (0, Retries::default()));
    assert_eq!(sent.len(), 4);
    assert_eq!((sent[0].as_str(), sent[3].as_str()), ("BEGIN", "COMMIT"));
    assert!(
        sent[1].starts_with("UPDATE t1 SET a = ") && sent[2].starts_with("UPDATE t1 SET b = "),
        "{sent:?}"
    );
}

#[test]
fn each_statement_has_a_table_of_its_own_but_those_that_go_together() {
    let transaction = serde_json::from_value(serde_json::json!({
        "begin": true, "prepared": false, "table": "each",
        "statements": [
            { "sql": "UPDATE {table} SET a = {id}", "repeat": 2, "rows": 1 },
            { "sql": "UPDATE {table} SET b = {id}", "rows": 1 },
            { "sql": "UPDATE {table} SET c = {id}", "rows": 1, "same_table": true },
        ]
    }))
    .unwrap();
    const EVENTS: usize = 40;
    let answers = [DONE, ONE, ONE, ONE, ONE, DONE].repeat(EVENTS);
    let (results, _, sent) = run_events_on(8, &transaction, Arc::default(), &answers, 40);
    assert!(results.iter().all(Result::is_ok));
    let table = |text: &String| text.split(' ').nth(1).map(str::to_owned).unwrap();
    let (mut apart, mut seen) = (0, std::collections::BTreeSet::new());
    for event in sent.chunks(6) {
        let tables: Vec<String> = event[1..5].iter().map(table).collect();
        assert_eq!((&tables[0], &tables[2]), (&tables[1], &tables[3]), "{event:?}");
        apart += u32::from(tables[0] != tables[2]);
        seen.extend(tables);
    }
    // Seven in eight are, and each table comes up among 80 draws but once in 5,000 times.
    assert!(apart >= 25 && seen.len() == 8, "{apart} of {EVENTS}, {seen:?}");
}

#[test]
fn after_a_deadlock_all_of_a_transaction_is_sent_again_with_the_same_values() {
    let (result, retries, sent) =
        run(true, &[DONE, ONE, DEADLOCK, DONE, DONE, ONE, DUPLICATE, DONE, DONE, ONE, ONE, DONE]);
    result.unwrap();
    assert_eq!(retries, counted(&[Retry::Deadlock, Retry::DuplicateKey]));
    let event = [sent[0].as_str(), &sent[1], &sent[2]];
    assert_eq!([sent[4].as_str(), &sent[5], &sent[6]], event);
    assert_eq!([sent[8].as_str(), &sent[9], &sent[10]], event);
    assert_eq!([sent[3].as_str(), &sent[7], &sent[11]], ["ROLLBACK", "ROLLBACK", "COMMIT"]);
}

#[test]
fn what_committed_for_itself_is_not_sent_again() {
    let (result, retries, sent) = run(false, &[ONE, DEADLOCK, ONE]);
    result.unwrap();
    assert_eq!(retries, counted(&[Retry::Deadlock]));
    assert_eq!((sent.len(), &sent[1]), (3, &sent[2]));
    let (result, retries, sent) = run(false, &[DUPLICATE]);
    assert!(result.unwrap_err().with_causes().contains("duplicate (23505)"));
    assert_eq!((retries, sent.len()), (Retries::default(), 1));
}

#[test]
fn a_wrong_count_and_a_refusal_roll_back_and_say_what_was_sent() {
    let (result, _, sent) = run(true, &[DONE, NONE, DONE]);
    let error = result.unwrap_err();
    assert!(matches!(error, OperationError::WrongAnswer(_)) && !error.ends_block());
    assert!(error.to_string().contains("returned or changed 0 rows where 1 were expected"), "{error}");
    assert_eq!(sent[2], "ROLLBACK");
    let (result, _, sent) = run(true, &[DONE, REFUSED, DONE]);
    let error = result.unwrap_err();
    assert!(!error.ends_block());
    let text = error.with_causes();
    assert!(text.contains("`UPDATE t1 SET a = $1` failed") && text.ends_with("refused (42501)"), "{text}");
    assert_eq!(sent[2], "ROLLBACK");
}

#[test]
fn a_connection_that_is_gone_ends_the_block() {
    for answers in
        [&[][..], &[DONE], &[DONE, ONE], &[DONE, ONE, ONE], &[DONE, DEADLOCK], &[DONE, DEADLOCK, DONE]]
    {
        let (result, ..) = run(true, answers);
        let error = result.unwrap_err();
        assert!(error.ends_block(), "{error}");
        assert!(error.with_causes().contains("the connection was lost"), "{}", error.with_causes());
    }
}

#[test]
fn a_connection_that_is_lost_is_made_again_and_counted() {
    // In the middle of a transaction, and at its end.
    for answers in [
        &[DONE, ONE, HANGS_UP, LOGGED_IN, DONE, ONE, ONE, DONE][..],
        &[DONE, ONE, ONE, HANGS_UP, LOGGED_IN, DONE, ONE, ONE, DONE],
        &[HANGS_UP, LOGGED_IN, DONE, ONE, ONE, DONE],
    ] {
        let (result, retries, sent) = run(true, answers);
        assert_eq!((result.unwrap(), retries), (0, counted(&[Retry::ConnectionLost])));
        assert_eq!(sent.last().map(String::as_str), Some("COMMIT"));
    }
    // A deadlock on the new one is met as on the first.
    let (result, retries, _) = run(false, &[ONE, HANGS_UP, LOGGED_IN, ONE, DEADLOCK, ONE]);
    result.unwrap();
    assert_eq!(retries, counted(&[Retry::ConnectionLost, Retry::Deadlock]));
}

/// The command that a statement ended with, of so many bytes, outside of a transaction.
fn tag(text: &str) -> Vec<u8> {
    let mut message = vec![b'C', 0, 0, 0, u8::try_from(text.len() + 5).unwrap()];
    message.extend_from_slice(text.as_bytes());
    message.extend_from_slice(b"\0Z\0\0\0\x05I");
    message
}

#[test]
fn what_is_inserted_and_deleted_is_known_to_all_streams() {
    let rows = Arc::new(vec![TableRows::between(5, 9)]);
    let insert: Transaction = serde_json::from_value(serde_json::json!({
        "prepared": false, "counts": "rows",
        "statements": [{ "sql": "INSERT INTO {table} (v) VALUES {row*3}", "rows": 3 }]
    }))
    .unwrap();
    let answer = tag("INSERT 0 3");
    let (results, _, _) = run_events(&insert, Arc::clone(&rows), &[&answer, &answer], 2);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(rows[0].bounds(), [5, 15]);
    let delete: Transaction = serde_json::from_value(serde_json::json!({
        "prepared": false, "counts": "rows",
        "statements": [{ "sql": "DELETE FROM {table} WHERE id >= {oldest} LIMIT 4", "rows": 4 }]
    }))
    .unwrap();
    let answer = tag("DELETE 4");
    let (results, _, sent) = run_events(&delete, Arc::clone(&rows), &[&answer, &answer], 2);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(sent, ["DELETE FROM t1 WHERE id >= 5 LIMIT 4", "DELETE FROM t1 WHERE id >= 9 LIMIT 4"]);
    assert_eq!(rows[0].bounds(), [13, 15]);
}

/// Deletes four of the oldest rows; in a transaction where it is to.
fn deletes(begin: bool) -> Transaction {
    serde_json::from_value(serde_json::json!({
        "begin": begin, "prepared": false, "counts": "rows",
        "statements": [{ "sql": "DELETE FROM {table} WHERE id >= {oldest} AND id < {oldest+4}", "rows": 4 }]
    }))
    .unwrap()
}

/// Inserts two rows with ids of ours.
fn inserts() -> Transaction {
    serde_json::from_value(serde_json::json!({
        "prepared": false, "counts": "rows",
        "statements": [{ "sql": "INSERT INTO {table} VALUES {row*2}", "rows": 2 }]
    }))
    .unwrap()
}

/// The ids at which deletes began, in the order in which they were sent.
fn deleted_from(sent: &[String]) -> Vec<u64> {
    let of =
        |text: &String| text.strip_prefix("DELETE FROM t1 WHERE id >= ")?.split(' ').next()?.parse().ok();
    sent.iter().filter_map(of).collect()
}

/// The ids of the rows of each insert that was sent.
fn inserted(sent: &[String]) -> Vec<Vec<u64>> {
    let ids = |text: &String| {
        let rows = text.strip_prefix("INSERT INTO t1 VALUES ")?.split('(').skip(1);
        rows.map(|row| row.split(',').next()?.parse().ok()).collect()
    };
    sent.iter().filter_map(ids).collect()
}

/// What a server answers that is asked for the oldest and the newest row.
fn bounds_are(oldest: &str, newest: &str) -> Vec<u8> {
    let mut answer = Vec::new();
    let length = u8::try_from(4 + 2 + 4 + oldest.len() + 4 + newest.len()).unwrap();
    answer.extend_from_slice(&[b'D', 0, 0, 0, length, 0, 2]);
    for value in [oldest, newest] {
        answer.extend_from_slice(&[0, 0, 0, u8::try_from(value.len()).unwrap()]);
        answer.extend_from_slice(value.as_bytes());
    }
    answer.extend_from_slice(&tag("SELECT 1"));
    answer
}

#[test]
fn a_deleter_that_overtakes_the_inserts_says_so_and_goes_on_when_there_are_rows() {
    let rows = Arc::new(vec![TableRows::between(5, 10)]);
    let four = tag("DELETE 4");
    // The server is asked whether it has more: at first it has not.
    let answers = [four.clone(), bounds_are("9", "10"), bounds_are("9", "12"), four.clone()];
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let (results, _, sent) = run_events(&deletes(false), Arc::clone(&rows), &answers, 3);
    let error = results[1].as_ref().unwrap_err();
    assert!(!error.ends_block());
    assert_eq!(
        error.to_string(),
        "4 rows of t1 were to be deleted and 2 are left: the deletes have overtaken the inserts; load more rows, or let deletes follow \
         inserts (`follows`)"
    );
    assert!(results[0].is_ok() && results[2].is_ok(), "{results:?}");
    assert_eq!(deleted_from(&sent), [5, 9]);
    assert_eq!(sent[1], "SELECT MIN(id), MAX(id) FROM t1");
    assert_eq!(rows[0].bounds(), [13, 12]);
}

#[test]
fn a_delete_that_finds_fewer_rows_fails_and_the_next_begins_where_there_are_some() {
    // Rows that others have reserved may be there still: the second is not asked for again.
    for (oldest, next) in [("30", 30), ("5", 9)] {
        let rows = Arc::new(vec![TableRows::between(5, 100)]);
        let (three, four) = (tag("DELETE 3"), tag("DELETE 4"));
        let answers = [three, bounds_are(oldest, "100"), four];
        let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
        let (results, _, sent) = run_events(&deletes(false), rows, &answers, 2);
        let error = results[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("returned or changed 3 rows where 4 were expected"), "{error}");
        assert!(results[1].is_ok(), "{results:?}");
        assert_eq!(deleted_from(&sent), [5, next]);
    }
}

#[test]
fn rows_whose_delete_was_refused_are_deleted_by_the_next() {
    let four = tag("DELETE 4");
    let rows = Arc::new(vec![TableRows::between(1, 100)]);
    let (results, _, sent) = run_events(&deletes(false), rows, &[&four, REFUSED, &four, &four], 4);
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, true]);
    assert_eq!(deleted_from(&sent), [1, 5, 5, 9]);
    // Between BEGIN and COMMIT as well; a deadlock is met with the same rows.
    let rows = Arc::new(vec![TableRows::between(1, 100)]);
    let answers =
        [DONE, REFUSED, DONE, DONE, DEADLOCK, DONE, DONE, &four, DONE, DONE, &four, DONE].map(<[u8]>::to_vec);
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let (results, _, sent) = run_events(&deletes(true), rows, &answers, 3);
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(deleted_from(&sent), [1, 1, 1, 5]);
}

#[test]
fn a_delete_that_was_lost_is_sent_again_and_may_find_nothing() {
    let rows = Arc::new(vec![TableRows::between(1, 100)]);
    let (none, four) = (tag("DELETE 0"), tag("DELETE 4"));
    let answers = [&four, HANGS_UP, LOGGED_IN, &none, &four];
    let (results, retries, sent) = run_events(&deletes(false), Arc::clone(&rows), &answers, 3);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(retries, counted(&[Retry::ConnectionLost]));
    // The peer hung up before it read the second for the first time.
    assert_eq!(deleted_from(&sent), [1, 5, 9]);
    assert_eq!(rows[0].bounds(), [13, 100]);
    // More than it asked for are wrong even then.
    let rows = Arc::new(vec![TableRows::between(1, 100)]);
    let (many, bounds) = (tag("DELETE 9"), bounds_are("1", "100"));
    let answers = [&four, HANGS_UP, LOGGED_IN, &many, &bounds];
    let (results, _, _) = run_events(&deletes(false), rows, &answers, 2);
    let error = results[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("changed 9 rows where 4 were expected"), "{error}");
    // A transaction that was lost before its COMMIT did not delete them: nothing else has.
    let rows = Arc::new(vec![TableRows::between(1, 100)]);
    let bounds = bounds_are("1", "100");
    let answers = [DONE, HANGS_UP, LOGGED_IN, DONE, &none, DONE, &bounds];
    let (results, _, sent) = run_events(&deletes(true), rows, &answers, 1);
    let error = results[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("changed 0 rows where 4 were expected"), "{error}");
    assert_eq!(deleted_from(&sent), [1]);
    // At its COMMIT it may have.
    let rows = Arc::new(vec![TableRows::between(1, 100)]);
    let answers = [DONE, &four, HANGS_UP, LOGGED_IN, DONE, &none, DONE];
    let (results, _, sent) = run_events(&deletes(true), rows, &answers, 1);
    assert!(results[0].is_ok(), "{results:?}");
    assert_eq!(deleted_from(&sent), [1, 1]);
}

#[test]
fn an_insert_that_was_lost_is_sent_again_with_its_ids_and_may_find_them_taken() {
    let two = tag("INSERT 0 2");
    for (again, is_taken) in [(DUPLICATE, true), (two.as_slice(), false)] {
        let rows = Arc::new(vec![TableRows::between(1, 10)]);
        let answers = [&two, HANGS_UP, LOGGED_IN, again, &two];
        let (results, retries, sent) = run_events(&inserts(), Arc::clone(&rows), &answers, 3);
        assert!(results.iter().all(Result::is_ok), "taken: {is_taken}, {results:?}");
        assert_eq!(retries, counted(&[Retry::ConnectionLost]));
        assert_eq!(inserted(&sent), [[11, 12], [13, 14], [15, 16]]);
        assert_eq!(rows[0].bounds(), [1, 16], "they are counted once");
    }
    // Without a loss it is an error; no row may lack its id afterwards.
    let rows = Arc::new(vec![TableRows::between(1, 10)]);
    let (results, _, sent) = run_events(&inserts(), Arc::clone(&rows), &[DUPLICATE, &two, REFUSED, &two], 4);
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(inserted(&sent), [[11, 12], [11, 12], [13, 14], [13, 14]]);
    assert_eq!(rows[0].bounds(), [1, 14]);
}

#[test]
fn one_of_several_statements_is_one_of_them_each_alike() {
    let one_of: Transaction = serde_json::from_value(serde_json::json!({
        "prepared": false, "one_of": true,
        "statements": [{ "sql": "UPDATE a" }, { "sql": "UPDATE b" }, { "sql": "UPDATE c" }]
    }))
    .unwrap();
    let answers = vec![tag("UPDATE 1"); 300];
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let (results, _, sent) = run_events(&one_of, Arc::default(), &answers, 300);
    assert!(results.iter().all(Result::is_ok));
    for text in ["UPDATE a", "UPDATE b", "UPDATE c"] {
        let count = sent.iter().filter(|sent| *sent == text).count();
        assert!((70..=130).contains(&count), "{text}: {count}");
    }
}
