//! MySQL's protocol on bytes written by its documentation, whole, cut and hostile: without EOF packets as MariaDB 10.11
//! answers, and with them as MySQL 5.6 does. Real servers are asked in `tests/servers.rs`.

use super::super::scripted::Peer;
use super::*;
use crate::sql::connection::Connection;
use crate::sql::server::{MARK, SqlServer};
use model::address::Password;
use model::workload::sql::Dialect;

/// Packets of these payloads.
fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (payload, number) in payloads.iter().zip(1..) {
        let start = bytes.len();
        bytes.extend_from_slice(&[0; HEADER]);
        bytes.extend_from_slice(payload);
        set_header(&mut bytes, start, number);
    }
    bytes
}

const COLUMN: &[u8] = b"\x03def\x05bench\x01t\x01t\x01c\x01c\x0c\x08\0\x78\0\0\0\xfe\x01\x10\0\0\0";
const BINARY_ROW: &[u8] = b"\0\0\x03abc";
const OK_END: &[u8] = b"\xfe\0\0\x02\0\0\0";
const EOF_END: &[u8] = b"\xfe\0\0\x02\0";
const DEADLOCK: &[u8] = b"\xff\xbd\x04#40001Deadlock found";

/// What the server can: with or without EOF packets, with or without known columns left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    Old,
    New,
    Mariadb,
}

fn connected(server: Server, answers: &[Vec<u8>]) -> (Mysql, Peer) {
    let peer = Peer::answering(Vec::new(), answers.to_vec());
    let mysql = Mysql {
        channel: Channel::connect(&peer.endpoint()).unwrap(),
        deprecate_eof: server != Server::Old,
        cache_metadata: server == Server::Mariadb,
    };
    (mysql, peer)
}

fn send(server: Server, payloads: &[&[u8]]) -> Result<Answer, WireError> {
    connected(server, &[packets(payloads)]).0.send(b"x")
}

#[test]
fn an_execution_has_its_types_once() {
    let mut prepared = Prepared::new(7, &[ParameterType::Number, ParameterType::Text]);
    let encoded = |prepared: &Prepared| {
        let mut out = b"before".to_vec();
        prepared.begin(&mut out);
        prepared.number(&mut out, 0, -258);
        prepared.text(&mut out, b"xy");
        prepared.end(&mut out, 6);
        out.split_off(6)
    };
    let values = b"\xfe\xfe\xff\xff\xff\xff\xff\xff\x02xy";
    let head = b"\x17\x07\0\0\0\0\x01\0\0\0\0";
    let first = [b"\x1b\0\0\0".as_slice(), head, b"\x01\x08\0\xfe\0", values].concat();
    assert_eq!(encoded(&prepared), first);
    prepared.was_executed();
    assert_eq!(encoded(&prepared), [b"\x17\0\0\0".as_slice(), head, b"\0", values].concat());
    let mut none = Vec::new();
    Prepared::new(1, &[]).begin(&mut none);
    assert_eq!(none.len(), 14, "no bitmap and no types");
}

#[test]
fn rows_are_counted_on_every_kind_of_server() {
    let rows: [&[u8]; 2] = [BINARY_ROW, BINARY_ROW];
    let old = [&[b"\x01".as_slice(), COLUMN, EOF_END], rows.as_slice(), &[EOF_END]].concat();
    assert_eq!(send(Server::Old, &old).unwrap(), Answer { rows: 2 });
    let new = [&[b"\x01".as_slice(), COLUMN], rows.as_slice(), &[OK_END]].concat();
    assert_eq!(send(Server::New, &new).unwrap(), Answer { rows: 2 });
    let described = [&[b"\x01\x01".as_slice(), COLUMN], rows.as_slice(), &[OK_END]].concat();
    assert_eq!(send(Server::Mariadb, &described).unwrap(), Answer { rows: 2 });
    let known = [&[b"\x01\0".as_slice()], rows.as_slice(), &[OK_END]].concat();
    assert_eq!(send(Server::Mariadb, &known).unwrap(), Answer { rows: 2 });
    assert_eq!(send(Server::Old, &[b"\0\xfc\xe8\x03\0\x02\0\0\0"]).unwrap(), Answer { rows: 1000 });
}

#[test]
fn a_row_that_begins_like_an_end_is_a_row() {
    let mut row = vec![0xfe, 9, 0, 0, 0, 0, 0, 0, 0];
    row.extend_from_slice(b"abcdefghi");
    let old = [b"\x01".as_slice(), COLUMN, EOF_END, &row, EOF_END];
    assert_eq!(send(Server::Old, &old).unwrap(), Answer { rows: 1 });
}

#[test]
fn a_row_of_more_than_one_packet_is_one_row() {
    let mut answer = packets(&[b"\x01", COLUMN]);
    answer.extend_from_slice(&[0xff, 0xff, 0xff, 3]);
    answer.resize(answer.len() + FULL_PACKET, 0);
    answer.extend_from_slice(&[2, 0, 0, 4, 1, 2]);
    answer.extend_from_slice(&packets(&[OK_END]));
    let (mut mysql, _peer) = connected(Server::New, &[answer]);
    assert_eq!(mysql.send(b"x").unwrap(), Answer { rows: 1 });
}

#[test]
fn an_error_comes_instead_of_rows_or_among_them() {
    let after_rows: [&[u8]; 4] = [b"\x01", COLUMN, BINARY_ROW, DEADLOCK];
    for payloads in [&[DEADLOCK][..], &after_rows] {
        let error = send(Server::New, payloads).unwrap_err();
        let WireError::Server(message) = error else { panic!("{error:?}") };
        assert_eq!((message.code.as_str(), message.text.as_str()), ("1213", "Deadlock found"));
    }
}

#[test]
fn a_result_is_read_with_names_and_nulls() {
    let row = b"\x02on\xfb";
    let payloads: [&[u8]; 5] = [b"\x02", COLUMN, COLUMN, row, OK_END];
    let (mut mysql, _peer) = connected(Server::New, &[packets(&payloads)]);
    let rows = mysql.read(b"SHOW x").unwrap();
    assert_eq!(rows.names, ["c", "c"]);
    assert_eq!(rows.rows, [vec![Some("on".to_owned()), None]]);
}

#[test]
fn rows_without_end_are_given_up() {
    let mut value = vec![0xfd, 0, 0, 0x10];
    value.resize(value.len() + (1 << 20), b'x');
    let answer = [packets(&[b"\x01", COLUMN]), packets(&[&value]).repeat(65)].concat();
    let (mut mysql, _peer) = connected(Server::New, &[answer]);
    let error = mysql.read(b"x").unwrap_err();
    assert!(
        matches!(error, WireError::Malformed("the rows of an answer are longer than 64 MiB")),
        "{error:?}"
    );
}

#[test]
fn a_statement_is_prepared_with_and_without_eof_packets() {
    let made = b"\0\x05\0\0\0\x01\0\x01\0\0\0\0";
    for (server, payloads) in [
        (Server::New, vec![made.as_slice(), COLUMN, COLUMN, BINARY_ROW]),
        (Server::Old, vec![made.as_slice(), COLUMN, EOF_END, COLUMN, EOF_END, BINARY_ROW]),
    ] {
        let (mut mysql, _peer) = connected(server, &[packets(&payloads)]);
        let prepared = mysql.prepare("SELECT ?", &[ParameterType::Number]).unwrap();
        assert_eq!(prepared.head[HEADER..HEADER + 5], [COM_STMT_EXECUTE, 5, 0, 0, 0]);
        assert_eq!(mysql.head().unwrap(), BINARY_ROW.len(), "all before it was passed over");
        let (mut mysql, _peer) = connected(server, &[packets(&payloads)]);
        assert!(matches!(mysql.prepare("SELECT 1", &[]), Err(WireError::Malformed(_))));
    }
}

#[test]
fn answers_that_are_cut_are_errors_wherever_they_are_cut() {
    let whole = packets(&[b"\x01", COLUMN, BINARY_ROW, OK_END]);
    for length in 0..whole.len() {
        let (mut mysql, _peer) = connected(Server::New, &[whole[..length].to_vec()]);
        assert!(matches!(mysql.send(b"x"), Err(WireError::Lost(_))), "{length}");
    }
}

#[test]
fn answers_that_lie_are_errors() {
    let lies: [&[u8]; 9] = [
        b"\xfb/etc/passwd",
        // More columns than a table may have; a length that is cut, and one that is none.
        b"\xfd\xff\xff\xff",
        b"\xfc\x01",
        b"\xfe",
        b"\0",
        b"\0\xff",
        b"\xff\x01",
        b"\xff\x01\x02#400",
        b"\0\xfe\x01\x02",
    ];
    for lie in lies {
        let error = send(Server::New, &[lie]).unwrap_err();
        assert!(matches!(error, WireError::Malformed(_)), "{lie:?}: {error:?}");
    }
    let (mut mysql, _peer) = connected(Server::New, &[vec![0, 0, 0, 1, 0]]);
    assert!(matches!(mysql.send(b"x"), Err(WireError::Malformed("a packet is empty"))));
    let (mut mysql, _peer) = connected(Server::New, &[packets(&[b"\x01", COLUMN, b"\x7fab"])]);
    assert!(matches!(mysql.read(b"x"), Err(WireError::Malformed(_))));
    let (mut mysql, _peer) = connected(Server::New, &[packets(&[b"\0\x01\0"])]);
    assert!(matches!(mysql.prepare("x", &[]), Err(WireError::Malformed(_))));
}

/// The packet of this number.
fn later(payload: &[u8], number: u8) -> Vec<u8> {
    let mut packet = packets(&[payload]);
    packet[3] = number;
    packet
}

/// What a server says first whose users have passwords of this kind.
fn greeting(plugin: &str) -> Vec<u8> {
    let mut greeting = b"\x0a8.0.15\0\x05\0\0\0abcdefgh\0".to_vec();
    greeting.extend_from_slice(&[0xff, 0xff, 0x21, 2, 0, 0xff, 0xc1, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    greeting.extend_from_slice(format!("ijklmnopqrst\0{plugin}\0").as_bytes());
    later(&greeting, 0)
}

const SHA2: &str = "caching_sha2_password";
const LET_IN: &[u8] = b"\0\0\0\x02\0\0\0";
const WHOLE_PASSWORD: &[u8] = b"\x01\x04";

#[test]
fn a_password_over_a_unix_socket_is_asked_for_and_sent() {
    let answers = vec![later(WHOLE_PASSWORD, 2), later(LET_IN, 4)];
    let peer = Peer::answering(greeting(SHA2), answers.clone());
    let password = Some(Password::new("secret".to_owned()));
    let address = ServerAddress { password, ..peer.address(Dialect::Mysql) };
    let connect =
        |address: &ServerAddress| Mysql::connect(Channel::connect(&address.endpoint).unwrap(), address);
    let mysql = connect(&address).unwrap();
    assert!(mysql.deprecate_eof && !mysql.cache_metadata);
    drop(mysql);
    let received = peer.received();
    assert_eq!(received[0][3], 1);
    assert!(received[0].ends_with(b"bench\0caching_sha2_password\0"), "{:?}", received[0]);
    assert_eq!(received[1], b"\x07\0\0\x03secret\0");

    let peer = Peer::answering(greeting(SHA2), answers);
    let without = ServerAddress { endpoint: peer.endpoint(), password: None, ..address.clone() };
    assert!(matches!(connect(&without), Err(LoginFailure::NoPassword)));
    let peer = Peer::answering(greeting(SHA2), vec![later(b"\xfedialog\0x\0", 2)]);
    let other = ServerAddress { endpoint: peer.endpoint(), ..address };
    assert!(matches!(connect(&other), Err(LoginFailure::Method(method)) if method == "dialog"));
}

/// What a login with the password `secret` came to, and what the server got.
fn logged_in(peer: Peer, protection: Protection) -> (Result<(), LoginFailure>, Vec<Vec<u8>>) {
    let password = Some(Password::new("secret".to_owned()));
    let address = ServerAddress { password, ..peer.address(Dialect::Mysql) };
    let channel = Channel::connect(&address.endpoint).unwrap();
    let mut mysql = Mysql { channel, deprecate_eof: false, cache_metadata: false };
    let result = login::log_in(&mut mysql, &address, protection);
    drop(mysql);
    (result, peer.received())
}

/// A server's key, as it sends it.
fn key() -> Vec<u8> {
    [b"\x01".as_slice(), include_bytes!("scramble/public.pem")].concat()
}

#[test]
fn over_a_network_a_password_is_encrypted_with_a_servers_key_only_if_the_user_allows_it() {
    let answers = vec![later(WHOLE_PASSWORD, 2), later(&key(), 4), later(LET_IN, 6)];
    let peer = || Peer::answering_by_tcp(greeting(SHA2), answers.clone());
    let (result, received) = logged_in(peer(), Protection::Missing);
    assert!(matches!(result, Err(LoginFailure::Unprotected(_))), "{result:?}");
    assert_eq!(received.len(), 1, "the key was not asked for");
    // The loopback is as good as a permission.
    for protection in [Protection::Waived, Protection::Host] {
        let (result, received) = logged_in(peer(), protection);
        result.unwrap();
        assert_eq!(received[1], b"\x01\0\0\x03\x02");
        assert_eq!(received[2].len(), HEADER + 128, "as long as the key");
    }
}

#[test]
fn a_key_that_nobody_asked_for_gets_no_password() {
    for plugin in [SHA2, "mysql_native_password"] {
        let peer = Peer::answering(greeting(plugin), vec![later(&key(), 2), later(LET_IN, 4)]);
        let (result, received) = logged_in(peer, Protection::Host);
        assert!(matches!(result, Err(LoginFailure::Wire(WireError::Malformed(_)))), "{plugin}: {result:?}");
        assert_eq!(received.len(), 1, "{plugin}");
    }
}

#[test]
fn a_password_in_full_is_for_the_kind_that_needs_it() {
    let answers = vec![later(WHOLE_PASSWORD, 2), later(LET_IN, 4)];
    let peer = Peer::answering(greeting("mysql_native_password"), answers);
    let (result, received) = logged_in(peer, Protection::Host);
    assert!(result.is_err() && received.len() == 1, "{result:?}");
}

#[test]
fn a_mark_is_added_to_the_comment_of_a_table() {
    let comment: [&[u8]; 4] = [b"\x01", COLUMN, b"\x0fttl_duration=1;", OK_END];
    let answers = vec![later(LET_IN, 2), packets(&[LET_IN]), packets(&comment), packets(&[LET_IN])];
    let peer = Peer::answering(greeting(SHA2), answers);
    let mut connection = Connection::open(&peer.address(Dialect::Mysql)).unwrap();
    let create = ["CREATE TABLE t (a INTEGER)".to_owned()];
    server::MysqlServer.make_marked(&mut connection, "t", &create).unwrap();
    drop(connection);
    let sent = String::from_utf8_lossy(&peer.received()[3][HEADER + 1..]).into_owned();
    assert_eq!(sent, format!("ALTER TABLE t COMMENT = 'ttl_duration=1;;{MARK}'"));
}

#[test]
fn if_tls_is_wanted_nobody_is_named_before_it_stands() {
    const TLS: usize = 1 << 11;
    let connect = |greeting: Vec<u8>| {
        let peer = Peer::answering_by_tcp(greeting, vec![later(LET_IN, 2)]);
        let address = ServerAddress {
            tls_ca: Some(testing::tls_fixture("certificate.pem")),
            ..peer.address(Dialect::Mysql)
        };
        let result = Mysql::connect(Channel::connect(&address.endpoint).unwrap(), &address);
        (result.map(drop), peer.received())
    };
    let (result, received) = connect(greeting(SHA2));
    assert!(matches!(result, Err(LoginFailure::Tls(_))), "the answer is no TLS: {result:?}");
    assert_eq!(received[0].len().min(HEADER + 32), HEADER + 32);
    assert_eq!(usize::from(received[0][HEADER + 1]) << 8 & TLS, TLS);
    assert!(!received.concat().windows(5).any(|window| window == b"bench"), "the user is named");
    // The same server without the capability: its lower two bytes stand behind the version, the connection and the nonce.
    let mut without = greeting(SHA2);
    let place = without.windows(2).position(|window| window == [0xff, 0xff]).unwrap();
    without[place + 1] &= !8;
    let (result, received) = connect(without);
    assert!(matches!(result, Err(LoginFailure::NoTls)), "{result:?}");
    assert!(received.is_empty());
}
