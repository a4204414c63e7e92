//! The logic of transactions against a Postgres that speaks from a script.

use super::super::scripted::Peer;
use super::*;
use model::workload::DataSet;
use model::workload::Operation;
use model::workload::sql::Dialect;

const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const DONE: &[u8] = b"C\0\0\0\x0aBEGIN\0Z\0\0\0\x05T";
const ONE: &[u8] = b"C\0\0\0\x0dUPDATE 1\0Z\0\0\0\x05T";
const NONE: &[u8] = b"C\0\0\0\x0dUPDATE 0\0Z\0\0\0\x05T";
const DEADLOCK: &[u8] = b"E\0\0\0\x1dSERROR\0C40P01\0Mdeadlock\0\0Z\0\0\0\x05E";
const DUPLICATE: &[u8] = b"E\0\0\0\x1eSERROR\0C23505\0Mduplicate\0\0Z\0\0\0\x05E";
const REFUSED: &[u8] = b"E\0\0\0\x1cSERROR\0C42501\0Mrefused\0\0Z\0\0\0\x05E";

/// What one event of two statements did, and the texts that were sent after the login.
fn run(begin: bool, answers: &[&[u8]]) -> (Result<u64, OperationError>, Retries, Vec<String>) {
    let tables: Tables = serde_json::from_value(serde_json::json!({
        "count": 1, "rows": 100, "prefix": "t", "create": {}, "insert": "", "row": "", "index": [],
        "parameters": { "id": { "draw": "uniform", "low": 1, "high": "rows" } }
    }))
    .unwrap();
    let transaction: Transaction = serde_json::from_value(serde_json::json!({
        "begin": begin, "prepared": false,
        "statements": [
            { "sql": "UPDATE {table} SET a = {id}", "rows": 1 },
            { "sql": "UPDATE {table} SET b = {id}", "rows": 1 },
        ]
    }))
    .unwrap();
    let setup = StepSetup {
        operation: Operation::LoadTables,
        data: DataSet { keys: 100, key_bytes: 8, value_bytes: 10, value_compressible_percent: 0 },
        tables: None,
        threads: 1,
        rate: None,
        wal: true,
        sync: false,
        background_write_bytes_per_s: None,
        seed: 5,
        planted_slowdown_percent: 0.0,
        all_keys_exist: true,
    };
    let answers = [LOGGED_IN].iter().chain(answers).map(|answer| answer.to_vec()).collect();
    let peer = Peer::answering(Vec::new(), answers);
    let address = ServerAddress {
        dialect: Dialect::Postgres,
        endpoint: peer.endpoint(),
        user: "u".to_owned(),
        password: None,
        database: "d".to_owned(),
        storage: None,
    };
    let mut client = Client::new(&address, &tables, &transaction, &setup, 0).unwrap();
    assert_eq!(client.per_call(), if begin { 4 } else { 2 });
    let result = client.once();
    let retries = client.take_retries();
    assert_eq!(client.take_retries(), Retries::default());
    drop(client);
    let text = |message: &Vec<u8>| String::from_utf8_lossy(&message[5..message.len() - 1]).into_owned();
    (result, retries, peer.received().iter().skip(1).map(text).collect())
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
