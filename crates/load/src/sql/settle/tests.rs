//! Settling of a Postgres that speaks from a script; what real servers do is tried in `tests/servers.rs`.

use super::super::scripted::Peer;
use super::*;
use model::workload::sql::Dialect;

const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const DONE: &[u8] = b"C\0\0\0\x0bVACUUM\0Z\0\0\0\x05I";

/// Rows of one column.
fn column(values: &[&str]) -> Vec<u8> {
    let mut answer = Vec::new();
    for value in values {
        let length = u8::try_from(value.len()).unwrap();
        answer.extend_from_slice(&[b'D', 0, 0, 0, 10 + length, 0, 1, 0, 0, 0, length]);
        answer.extend_from_slice(value.as_bytes());
    }
    answer.extend_from_slice(DONE);
    answer
}

fn settled(
    to: Settle,
    answers: Vec<Vec<u8>>,
    claimed: Option<&[String]>,
) -> (Result<Nanos, SqlError>, Vec<String>) {
    let peer = Peer::answering(Vec::new(), [vec![LOGGED_IN.to_vec()], answers].concat());
    let address = peer.address(Dialect::Postgres);
    let result = settle(&address, to, Nanos::from_secs(20), claimed);
    let text = |message: &Vec<u8>| String::from_utf8_lossy(&message[5..message.len() - 1]).into_owned();
    (result, peer.received().iter().skip(1).map(text).collect())
}

#[test]
fn each_table_is_vacuumed_as_its_release_can() {
    for (version, options) in [("110022", "ANALYZE"), ("120000", "ANALYZE, INDEX_CLEANUP ON")] {
        let answers = vec![
            column(&["sbtest1", "\"T\""]),
            column(&[version]),
            DONE.to_vec(),
            DONE.to_vec(),
            DONE.to_vec(),
        ];
        let (result, sent) = settled(Settle::Postwrite, answers, None);
        result.unwrap();
        let expected = [format!("VACUUM ({options}) sbtest1"), format!("VACUUM ({options}) \"T\"")];
        assert_eq!(sent[2..], [expected.as_slice(), &["CHECKPOINT".to_owned()]].concat());
    }
}

#[test]
fn on_a_server_that_is_not_ours_only_our_tables_are_touched() {
    let ours = ["sbtest1".to_owned()];
    let (result, sent) = settled(Settle::Postwrite, vec![column(&["160003"]), DONE.to_vec()], Some(&ours));
    result.unwrap();
    assert_eq!(sent, ["SHOW server_version_num", "VACUUM (ANALYZE, INDEX_CLEANUP ON) sbtest1"]);
    let (result, sent) = settled(Settle::Drained, Vec::new(), Some(&ours));
    assert!(result.is_ok() && sent.is_empty(), "{result:?} {sent:?}");
}

#[test]
fn states_of_trees_are_refused() {
    let (result, sent) = settled(Settle::Level0Compacted, Vec::new(), None);
    assert!(matches!(result, Err(SqlError::NotSupported(_))), "{result:?}");
    assert!(sent.is_empty());
}
