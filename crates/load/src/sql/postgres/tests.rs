//! Postgres' protocol on bytes written by its documentation, whole, cut and hostile. Real servers are asked in
//! `tests/servers.rs`.

use super::super::scripted::Peer;
use super::*;
use model::address::Password;
use model::workload::sql::Dialect;

/// A login that needs no password.
const LOGGED_IN: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x14is_superuser\0on\0K\0\0\0\x0c\0\0\x12\x34\0\0\0\x07Z\0\0\0\x05I";
/// ParseComplete, ParameterDescription (integer, bpchar), NoData, ReadyForQuery.
const PREPARED: &[u8] = b"1\0\0\0\x04t\0\0\0\x0e\0\x02\0\0\0\x17\0\0\x04\x12n\0\0\0\x04Z\0\0\0\x05I";
/// BindComplete, DataRow `abc`, CommandComplete, ReadyForQuery.
const ONE_ROW: &[u8] = b"2\0\0\0\x04D\0\0\0\x0d\0\x01\0\0\0\x03abcC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const NO_TABLE: &[u8] = b"E\0\0\0\x37SERROR\0VERROR\0C42P01\0Mrelation \"t\" does not exist\0\0Z\0\0\0\x05I";

/// The answers to what comes after the login.
fn connected(answers: &[&[u8]]) -> (Result<Postgres, LoginFailure>, Peer) {
    let answers = [LOGGED_IN].iter().chain(answers).map(|answer| answer.to_vec()).collect();
    let peer = Peer::answering(Vec::new(), answers);
    let address = peer.address(Dialect::Postgres);
    (Postgres::connect(Channel::connect(&address.endpoint).unwrap(), &address), peer)
}

const TYPES: [ParameterType; 2] = [ParameterType::Number, ParameterType::Text];

#[test]
fn an_execution_is_one_message_of_the_bytes_that_the_protocol_wants() {
    let (postgres, peer) = connected(&[PREPARED, ONE_ROW]);
    let mut postgres = postgres.unwrap();
    let prepared = postgres.prepare("SELECT $1, $2", &TYPES).unwrap();
    let mut message = Vec::new();
    prepared.begin(&mut message);
    prepared.number(&mut message, -258);
    prepared.text(&mut message, b"xy");
    prepared.end(&mut message, 0);
    assert_eq!(postgres.send(&message).unwrap(), Answer { rows: 1 });
    let bind = b"B\0\0\0\x1e\0s0\0\0\0\0\x02\0\0\0\x04-258\0\0\0\x02xy\0\x01\0\x01".as_slice();
    let expected = [bind, b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"].concat();
    assert_eq!(message, expected);
    drop(postgres);
    let received = peer.received();
    let parse = b"P\0\0\0\x1fs0\0SELECT $1, $2\0\0\x02\0\0\0\x14\0\0\x04\x13".as_slice();
    assert_eq!(received[1], [parse, b"D\0\0\0\x08Ss0\0S\0\0\0\x04"].concat());
    assert_eq!(received[2], expected);
}

#[test]
fn a_statement_that_takes_no_bigint_or_varchar_is_prepared_without_types() {
    let (postgres, peer) = connected(&[NO_TABLE, PREPARED]);
    let mut postgres = postgres.unwrap();
    let prepared = postgres.prepare("SELECT $1, $2", &TYPES).unwrap();
    assert!(prepared.head.starts_with(b"B\0\0\0\0\0s1\0"), "{:?}", prepared.head);
    drop(postgres);
    assert_eq!(peer.received()[2], b"P\0\0\0\x17s1\0SELECT $1, $2\0\0\0D\0\0\0\x08Ss1\0S\0\0\0\x04");
}

#[test]
fn a_statement_that_is_refused_with_and_without_types_is_refused() {
    let (postgres, _peer) = connected(&[NO_TABLE, NO_TABLE]);
    assert!(matches!(postgres.unwrap().prepare("SELECT $1, $2", &TYPES), Err(WireError::Server(_))));
}

#[test]
fn rows_are_counted_or_what_was_changed() {
    let check = |tag: &[u8], rows: usize, expected: u64| {
        let mut answer = b"D\0\0\0\x06\0\0".repeat(rows);
        answer.extend_from_slice(&[b'C', 0, 0, 0, u8::try_from(tag.len() + 5).unwrap()]);
        answer.extend_from_slice(tag);
        answer.extend_from_slice(b"\0Z\0\0\0\x05I");
        let (postgres, _peer) = connected(&[&answer]);
        assert_eq!(postgres.unwrap().send(b"Q").unwrap(), Answer { rows: expected });
    };
    check(b"SELECT 300", 300, 300);
    check(b"SELECT 0", 0, 0);
    check(b"UPDATE 12", 0, 12);
    check(b"INSERT 0 1000", 0, 1000);
    check(b"BEGIN", 0, 0);
}

#[test]
fn an_error_has_its_code_and_text_and_the_connection_lives_on() {
    let (postgres, _peer) = connected(&[NO_TABLE, ONE_ROW]);
    let mut postgres = postgres.unwrap();
    let WireError::Server(message) = postgres.send(b"Q").unwrap_err() else { panic!("not the server's") };
    assert_eq!((message.code.as_str(), message.text.as_str()), ("42P01", "relation \"t\" does not exist"));
    assert_eq!(postgres.send(b"Q").unwrap().rows, 1);
}

#[test]
fn of_several_texts_of_an_error_the_last_one_counts_and_what_explains_it_follows() {
    let message = error_fields(b"DWhere.\0MOne.\0C42P01\0MTwo.\0HWhat.\0\0");
    assert_eq!((message.code.as_str(), message.text.as_str()), ("42P01", "Two.; Where.; What."));
}

#[test]
fn rows_without_end_are_given_up() {
    let mut row = b"D\0\x10\0\x0a\0\x01\0\x10\0\0".to_vec();
    row.resize(row.len() + (1 << 20), b'x');
    let (postgres, _peer) = connected(&[&row.repeat(65)]);
    let error = postgres.unwrap().read(b"SELECT 1").unwrap_err();
    assert!(
        matches!(error, WireError::Malformed("the rows of an answer are longer than 64 MiB")),
        "{error:?}"
    );
}

#[test]
fn a_result_is_read_with_names_and_nulls() {
    let columns = b"T\0\0\0\x30\0\x02a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0b2\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    let mut answer = columns.to_vec();
    let length = u8::try_from(answer.len() - 1).unwrap();
    answer[4] = length;
    answer
        .extend_from_slice(b"D\0\0\0\x10\0\x02\0\0\0\x02on\xff\xff\xff\xffC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I");
    let (postgres, _peer) = connected(&[&answer]);
    let rows = postgres.unwrap().read(b"SHOW x").unwrap();
    assert_eq!(rows.names, ["a", "b2"]);
    assert_eq!(rows.rows, [vec![Some("on".to_owned()), None]]);
}

#[test]
fn answers_that_are_cut_are_errors_wherever_they_are_cut() {
    for answer in [ONE_ROW, NO_TABLE, PREPARED] {
        for length in 0..answer.len() {
            let (postgres, _peer) = connected(&[&answer[..length]]);
            let mut postgres = postgres.unwrap();
            assert!(matches!(postgres.read(b"SELECT 1"), Err(WireError::Lost(_))), "{length}");
            let (postgres, _peer) = connected(&[&answer[..length]]);
            assert!(postgres.unwrap().prepare("SELECT", &[]).is_err(), "{length}");
        }
    }
    for length in 0..LOGGED_IN.len() {
        let peer = Peer::answering(Vec::new(), vec![LOGGED_IN[..length].to_vec()]);
        let address = peer.address(Dialect::Postgres);
        let result = Postgres::connect(Channel::connect(&address.endpoint).unwrap(), &address);
        assert!(matches!(result, Err(LoginFailure::Wire(WireError::Lost(_)))), "{length}: {result:?}");
    }
}

#[test]
fn answers_that_lie_are_errors() {
    let lies: [&[u8]; 9] = [
        b"D\xff\xff\xff\xff",
        b"D\0\0\0\x03",
        b"x\0\0\0\x04Z\0\0\0\x05I",
        b"G\0\0\0\x04Z\0\0\0\x05I",
        // A row of 65,535 columns in 2 bytes; a value of 2 GiB in 4.
        b"D\0\0\0\x06\xff\xff",
        b"D\0\0\0\x0a\0\x01\x7f\xff\xff\xff",
        b"T\0\0\0\x08\0\x01ab",
        b"T\0\0\0\x06\xff\xff",
        b"C\x7f\xff\xff\xff",
    ];
    for lie in lies {
        let (postgres, _peer) = connected(&[lie]);
        let error = postgres.unwrap().read(b"SELECT 1").unwrap_err();
        assert!(matches!(error, WireError::Malformed(_) | WireError::Lost(_)), "{lie:?}: {error:?}");
    }
    let (postgres, _peer) = connected(&[b"t\0\0\0\x06\0\x09Z\0\0\0\x05I"]);
    assert!(matches!(postgres.unwrap().prepare("SELECT $1", &TYPES), Err(WireError::Malformed(_))));
}

#[test]
fn a_login_says_what_it_lacks() {
    let refused = |greeting: &[u8], password: Option<&str>| {
        let peer = Peer::answering(Vec::new(), vec![greeting.to_vec()]);
        let password = password.map(|text| Password::new(text.to_owned()));
        let address = ServerAddress { password, ..peer.address(Dialect::Postgres) };
        Postgres::connect(Channel::connect(&address.endpoint).unwrap(), &address).unwrap_err()
    };
    assert!(matches!(refused(b"R\0\0\0\x08\0\0\0\x03", None), LoginFailure::NoPassword));
    assert!(matches!(refused(b"R\0\0\0\x08\0\0\0\x07", Some("x")), LoginFailure::Method(_)));
    assert!(matches!(refused(b"R\0\0\0\x0d\0\0\0\x0aODD\0\0", Some("x")), LoginFailure::Method(_)));
    let unasked = refused(b"R\0\0\0\x08\0\0\0\x0c", Some("x"));
    assert!(matches!(unasked, LoginFailure::Wire(WireError::Malformed(_))), "{unasked:?}");
    let LoginFailure::Wire(WireError::Server(message)) = refused(NO_TABLE, None) else {
        panic!("not refused")
    };
    assert_eq!(message.code, "42P01");
}

#[test]
fn a_password_is_sent_as_the_server_asks() {
    let peer = Peer::answering(
        Vec::new(),
        vec![b"R\0\0\0\x0c\0\0\0\x05salt".to_vec(), b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I".to_vec()],
    );
    let address = ServerAddress {
        password: Some(Password::new("secret".to_owned())),
        ..peer.address(Dialect::Postgres)
    };
    Postgres::connect(Channel::connect(&address.endpoint).unwrap(), &address).unwrap();
    let received = peer.received();
    assert_eq!(&received[0][..8], [0, 0, 0, 80, 0, 3, 0, 0]);
    // md5(md5("secretbench") + "salt")
    assert!(received[1].starts_with(b"p\0\0\0\x28md5") && received[1].len() == 41, "{:?}", received[1]);
}

/// Found by the fuzz target: the client answered each request until the buffers were full, and then waited.
#[test]
fn a_login_without_end_is_given_up() {
    let check = |answers: Vec<Vec<u8>>, expected: &str| {
        let peer = Peer::answering(Vec::new(), answers);
        let address = ServerAddress {
            password: Some(Password::new("x".to_owned())),
            ..peer.address(Dialect::Postgres)
        };
        let channel = Channel::connect(&address.endpoint).unwrap();
        let error = Postgres::connect(channel, &address).unwrap_err();
        assert!(
            matches!(error, LoginFailure::Wire(WireError::Malformed(problem)) if problem == expected),
            "{error:?}"
        );
    };
    let asked = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0".to_vec();
    check(vec![asked.clone(), asked], "the server asked for the password again");
    check(vec![b"S\0\0\0\x08a\0b\0".repeat(2000)], "the login does not come to an end");
}

/// After which the server is ready.
const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const CLEAR: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05salt";
const SCRAM: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";

/// What a login with the password `secret` came to, and what the server got.
fn logged_in(protection: Protection, answers: &[&[u8]]) -> (Result<(), LoginFailure>, Vec<Vec<u8>>) {
    let peer = Peer::answering(Vec::new(), answers.iter().map(|answer| answer.to_vec()).collect());
    let password = Some(Password::new("secret".to_owned()));
    let address = ServerAddress { password, ..peer.address(Dialect::Postgres) };
    let mut postgres = Postgres { channel: Channel::connect(&address.endpoint).unwrap(), prepared: 0 };
    let result = login::log_in(&mut postgres, &address, protection);
    drop(postgres);
    (result, peer.received())
}

#[test]
fn over_a_network_a_password_that_others_could_read_is_sent_only_if_the_user_allows_it() {
    for asks in [CLEAR, MD5] {
        let (result, received) = logged_in(Protection::Missing, &[asks, LET_IN]);
        assert!(matches!(result, Err(LoginFailure::Unprotected(_))), "{result:?}");
        assert_eq!(received.len(), 1, "only who we are was sent");
        let (result, received) = logged_in(Protection::Waived, &[asks, LET_IN]);
        assert!(result.is_ok() && received.len() == 2, "{result:?}");
    }
}

#[test]
fn over_the_loopback_a_password_is_sent_in_clear_text() {
    let peer = Peer::answering_by_tcp(Vec::new(), vec![CLEAR.to_vec(), LET_IN.to_vec()]);
    let password = Some(Password::new("secret".to_owned()));
    let address = ServerAddress { password, ..peer.address(Dialect::Postgres) };
    Postgres::connect(Channel::connect(&address.endpoint).unwrap(), &address).unwrap();
    assert_eq!(peer.received()[1], b"p\0\0\0\x0bsecret\0");
}

#[test]
fn a_server_that_begins_scram_has_to_prove_that_it_knows_the_password() {
    let without_proof: [&[u8]; 3] = [LET_IN, b"Z\0\0\0\x05I", b"R\0\0\0\x0c\0\0\0\x0cv=AA"];
    for answer in without_proof {
        let (result, _) = logged_in(Protection::Host, &[SCRAM, answer]);
        assert!(matches!(result, Err(LoginFailure::Unproven)), "{answer:?}: {result:?}");
    }
}

/// What a server says to whether it speaks TLS, and what a login that demands it came to.
fn asked_for_tls(answer: &[u8]) -> (Result<(), LoginFailure>, Vec<Vec<u8>>) {
    let peer = Peer::answering_by_tcp(Vec::new(), vec![answer.to_vec(), LET_IN.to_vec()]);
    let tls_ca = Some(testing::tls_fixture("certificate.pem"));
    let password = Some(Password::new("secret".to_owned()));
    let address = ServerAddress { password, tls_ca, ..peer.address(Dialect::Postgres) };
    let result = Postgres::connect(Channel::connect(&address.endpoint).unwrap(), &address);
    (result.map(drop), peer.received())
}

#[test]
fn if_tls_is_wanted_nothing_is_said_without_it() {
    let (result, received) = asked_for_tls(b"N");
    assert!(matches!(result, Err(LoginFailure::NoTls)), "{result:?}");
    assert_eq!(received, [[0, 0, 0, 8, 4, 210, 22, 47]]);
    // Bytes behind the answer were not encrypted: somebody between may have put them there.
    let (result, received) = asked_for_tls(&[b"S", LET_IN].concat());
    assert!(matches!(result, Err(LoginFailure::Tls(_))), "{result:?}");
    assert_eq!(received.len(), 1);
    let (result, _) = asked_for_tls(b"E\0\0\0\x05x");
    assert!(matches!(result, Err(LoginFailure::Wire(WireError::Malformed(_)))), "{result:?}");
    // Who says yes and speaks no TLS.
    let (result, received) = asked_for_tls(b"S");
    assert!(matches!(result, Err(LoginFailure::Tls(_))), "{result:?}");
    let sent = received.concat();
    assert!(!sent.windows(5).any(|window| window == b"bench"), "who we are was said");
}

#[test]
fn a_login_is_bound_to_the_connection_if_both_can() {
    let chosen = |named: &[u8], end_point: Option<&[u8]>| {
        login::mechanism(named, end_point).ok().map(|(mechanism, _)| mechanism)
    };
    let both = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
    assert_eq!(chosen(both, Some(&[7; 32])), Some("SCRAM-SHA-256-PLUS"));
    assert_eq!(chosen(both, None), Some("SCRAM-SHA-256"));
    assert_eq!(chosen(b"SCRAM-SHA-256\0\0", Some(&[7; 32])), Some("SCRAM-SHA-256"));
    assert_eq!(chosen(b"SCRAM-SHA-256-PLUS\0\0", None), None);
}
