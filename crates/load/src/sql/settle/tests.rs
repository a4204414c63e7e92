//! Settling of a Postgres that speaks from a script; what real servers do is tried in `tests/servers.rs`.

use super::super::scripted::{DONE, LOGGED_IN, Peer, column, statement};
use super::*;
use model::workload::sql::Dialect;

fn settled(
    to: Settle,
    answers: Vec<Vec<u8>>,
    claimed: Option<&[String]>,
) -> (Result<Nanos, SqlError>, Vec<String>) {
    let peer = Peer::answering(Vec::new(), [vec![LOGGED_IN.to_vec()], answers].concat());
    let address = peer.address(Dialect::Postgres);
    let result = settle(&address, to, Nanos::from_secs(20), claimed);
    (result, peer.received().iter().skip(1).map(|message| statement(message)).collect())
}

#[test]
fn each_table_is_vacuumed_as_its_release_can() {
    for (version, options) in [("110022", "ANALYZE"), ("120000", "ANALYZE, INDEX_CLEANUP ON")] {
        let before = vec![column(&["sbtest1", "\"T\""]), DONE.to_vec(), DONE.to_vec(), DONE.to_vec()];
        let answers = [before, vec![column(&[version])], vec![DONE.to_vec(); 3]].concat();
        let (result, sent) = settled(Settle::Postwrite, answers, None);
        result.unwrap();
        assert_eq!(sent[1..4], ["SET synchronous_commit = on", "ANALYZE sbtest1", "ANALYZE \"T\""]);
        let expected = [format!("VACUUM ({options}) sbtest1"), format!("VACUUM ({options}) \"T\"")];
        assert_eq!(sent[5..], [expected.as_slice(), &["CHECKPOINT".to_owned()]].concat());
    }
}

#[test]
fn on_a_server_that_is_not_ours_only_our_tables_are_touched() {
    let ours = ["sbtest1".to_owned()];
    let answers = vec![DONE.to_vec(), DONE.to_vec(), column(&["160003"]), DONE.to_vec()];
    let (result, sent) = settled(Settle::Postwrite, answers, Some(&ours));
    result.unwrap();
    assert_eq!(sent[..2], ["SET synchronous_commit = on", "ANALYZE sbtest1"]);
    assert_eq!(sent[2..], ["SHOW server_version_num", "VACUUM (ANALYZE, INDEX_CLEANUP ON) sbtest1"]);
    let (result, sent) = settled(Settle::Drained, Vec::new(), Some(&ours));
    assert!(result.is_ok() && sent.is_empty(), "{result:?} {sent:?}");
}

#[test]
fn states_of_trees_are_refused() {
    let (result, sent) = settled(Settle::Level0Compacted, Vec::new(), None);
    assert!(matches!(result, Err(SqlError::NotSupported(_))), "{result:?}");
    assert!(sent.is_empty());
}
