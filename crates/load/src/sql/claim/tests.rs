//! Claims on a Postgres that speaks from a script. Real servers are asked by the end-to-end cases `external servers`.

use super::super::scripted::{LOGGED_IN, Peer, column, statement};
use super::*;
use model::workload::sql::Dialect;

/// What came of a claim on `sbtest1` and of what is done with it, and the statements that were sent once the database
/// was locked.
fn claimed(
    answers: &[&[&str]],
    then: impl FnOnce(Claim) -> Result<(), SqlError>,
) -> (Result<(), SqlError>, Vec<String>) {
    // That the connection stays, the lock, the schema.
    let first: [&[&str]; 3] = [&[], &["1"], &["public"]];
    let columns = first.iter().chain(answers).map(|values| column(values));
    let peer = Peer::answering(Vec::new(), [LOGGED_IN.to_vec()].into_iter().chain(columns).collect());
    let result = Claim::take(&peer.address(Dialect::Postgres), &["sbtest1".to_owned()]).and_then(then);
    (result, peer.received().iter().skip(4).map(|message| statement(message)).collect())
}

#[test]
fn a_claim_says_what_it_is_from_its_first_moment() {
    // No claim and no table; it is made, emptied and written.
    let (result, sent) = claimed(&[&[], &[], &[], &[], &[]], |_| Ok(()));
    result.unwrap();
    let mark = format!(";\nCOMMENT ON TABLE dbdyno_claim IS '{}'", server::MARK);
    let made = "CREATE TABLE \"public\".\"dbdyno_claim\" (";
    assert!(sent[2].starts_with(made) && sent[2].ends_with(&mark), "{sent:?}");
}

#[test]
fn of_what_a_claim_names_only_tables_with_our_mark_and_our_owner_are_dropped() {
    let answers: [&[&str]; 7] = [
        &["dbdyno_claim"],
        &["dbdyno_claim"],
        &["sbtest1", "precious"],
        &[],
        // What has our mark is dropped, and the other one is still there.
        &["sbtest1"],
        &[],
        &["precious"],
    ];
    let (result, sent) = claimed(&answers, |_| Ok(()));
    let Err(SqlError::UnmarkedTables { names, .. }) = result else { panic!("{result:?}") };
    assert_eq!(names, "`precious`");
    assert!(sent[4].contains("obj_description") && sent[4].contains("c.relowner"), "{}", sent[4]);
    assert_eq!(sent[5], "DROP TABLE IF EXISTS \"public\".\"sbtest1\"");
    assert_eq!(sent.len(), 7, "{sent:?}");
}

#[test]
fn a_claim_of_another_user_is_not_read() {
    let (result, sent) = claimed(&[&["dbdyno_claim"], &[]], |_| Ok(()));
    let Err(SqlError::ForeignTables { names, .. }) = result else { panic!("{result:?}") };
    assert_eq!(names, "`dbdyno_claim`");
    assert!(sent[1].contains("c.relowner"), "{}", sent[1]);
}

#[test]
fn a_table_that_took_the_name_of_ours_is_not_dropped_at_the_end() {
    let take: [&[&str]; 5] = [&[], &[], &[], &[], &[]];
    let release: [&[&str]; 2] = [&[], &["sbtest1"]];
    let (result, sent) = claimed(&[take.as_slice(), &release].concat(), Claim::release);
    let Err(SqlError::UnmarkedTables { names, .. }) = result else { panic!("{result:?}") };
    assert_eq!(names, "`sbtest1`");
    assert!(!sent.iter().any(|sql| sql.starts_with("DROP")), "{sent:?}");
}
