//! Against conversations that were recorded between PyMongo and FerretDB.

use super::login::tests::payload_of;
use super::*;
use crate::keys::{Stream, generator};
use crate::sql::connection::Connection;
use crate::sql::draw::Parameters;
use crate::sql::scripted::Peer;
use crate::sql::statement::{Surroundings, TableName};
use command::Command;
use model::workload::sql::{Dialect, Parameter, Template};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A recorded message and whether the server sent it.
pub struct Recorded {
    pub is_answer: bool,
    pub bytes: Vec<u8>,
}

impl Recorded {
    /// Whether it is of the kind that we speak: older drivers begin with another one.
    fn is_of_ours(&self) -> bool {
        self.bytes[12..16] == OP_MSG.to_le_bytes()
    }

    pub fn document(&self) -> Document<'_> {
        body(&self.bytes[HEADER..]).unwrap()
    }
}

/// A conversation by its name.
pub fn recorded(name: &str) -> Vec<Recorded> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mongodb");
    let text = fs::read_to_string(directory.join(name)).unwrap();
    let byte = |hex: &str, place: usize| u8::from_str_radix(&hex[place..place + 2], 16).unwrap();
    let message = |line: &str| {
        let (direction, hex) = line.split_once(' ').unwrap();
        let bytes = (0..hex.len()).step_by(2).map(|place| byte(hex, place)).collect();
        Recorded { is_answer: direction == "<", bytes }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(message).collect()
}

const NAMES: [&str; 20] = [
    "aggregate.txt",
    "create-indexes.txt",
    "delete.txt",
    "find.txt",
    "get-more.txt",
    "hello.txt",
    "hello-api.txt",
    "hello-op-query.txt",
    "insert.txt",
    "insert-duplicate.txt",
    "scram-sha-1.txt",
    "scram-sha-1-op-query.txt",
    "scram-sha-256.txt",
    "scram-sha-256-op-query.txt",
    "scram-sha-256-refused.txt",
    "server-status.txt",
    "unauthorized.txt",
    "unknown-command.txt",
    "update.txt",
    "update-missing.txt",
];

/// What another driver sent, with our number and without what we do not send: the session, and the server's own name of a command.
fn as_ours(message: &[u8]) -> Vec<u8> {
    let mut rest = &message[HEADER + FLAGS.len() + 1..];
    let (document, after) = Document::split(rest).unwrap();
    rest = after;
    let mut out = Vec::new();
    begin(&mut out);
    let start = bson::open(&mut out);
    let mut elements = document.elements();
    loop {
        let before = elements.rest();
        let Some(element) = elements.next() else { break };
        if element.unwrap().0 != "lsid" {
            out.extend_from_slice(&before[..before.len() - elements.rest().len()]);
        }
    }
    bson::close(&mut out, start);
    out.extend_from_slice(rest);
    bson::set_length(&mut out, 0);
    out
}

/// A command of a template as it is sent, on the table `docs` of the database `f`.
fn sent(template: &str, row: Option<&str>) -> Vec<u8> {
    let parameters: BTreeMap<String, Parameter> =
        serde_json::from_value(json!({ "id": { "draw": "next" } })).unwrap();
    let mut parameters = Parameters::new(&parameters, 10);
    let made = |text: &str| Template::try_from(text.to_owned()).unwrap();
    let row = row.map(made);
    let surroundings =
        Surroundings { dialect: Dialect::Mongodb, storage: None, database: "f", row: row.as_ref() };
    let command = Command::of(&made(template), &mut parameters, surroundings).unwrap();
    let mut out = Vec::new();
    begin(&mut out);
    let table = TableName { name: "docs".to_owned(), number: 1 };
    let mut random = generator(1, Stream::Foreground(0));
    command.draw(&mut parameters, &mut random);
    command.push(&table, &mut parameters, &mut random, &mut out);
    end(&mut out, 0);
    out
}

/// A connection to a peer that answers as it was recorded, after the greeting.
fn connection(name: &str) -> (Connection, Peer) {
    let answers = recorded(name).into_iter().filter(|message| message.is_answer);
    let answers = answers.map(|message| {
        let mut bytes = message.bytes;
        bytes[8..12].copy_from_slice(&REQUEST.to_le_bytes());
        bytes
    });
    let peer = Peer::answering(Vec::new(), answers.collect());
    (Connection::open(&peer.address(Dialect::Mongodb)).unwrap(), peer)
}

#[test]
fn commands_are_sent_as_another_driver_sends_them() {
    let find = r#"{"find": "{table}", "filter": {"v": {"$gte": 0, "$lt": 100}, "_id": {"$lt": 5}}, "sort": {"k": 1, "v": -1},
        "hint": "_id_", "projection": {"_id": 1, "v": 1}, "limit": 3}"#;
    let aggregate = r#"{"aggregate": "{table}", "pipeline": [{"$match": {"v": {"$gte": 10}}}, {"$sort": {"k": 1, "v": -1}},
        {"$limit": 2}], "cursor": {}}"#;
    let indexes = r#"{"createIndexes": "{table}", "indexes": [{"name": "k_v", "key": {"k": 1, "v": -1}}, {"name": "v", "key": {"v": 1}}]}"#;
    let insert = r#"{"insert": "{table}", "ordered": true, "writeConcern": {"j": true, "w": 1}, "documents": "{row*3}"}"#;
    for (name, place, ours) in [
        ("find.txt", 2, sent(find, None)),
        (
            "get-more.txt",
            2,
            sent(r#"{"find": "{table}", "filter": {"_id": {"$lt": 5}}, "batchSize": 2}"#, None),
        ),
        ("aggregate.txt", 2, sent(aggregate, None)),
        ("create-indexes.txt", 2, sent(indexes, None)),
        ("insert.txt", 2, sent(insert, Some(r#"{"_id": "{id+99}", "v": "{id-1}"}"#))),
    ] {
        assert_eq!(ours, as_ours(&recorded(name)[place].bytes), "{name}");
    }
}

#[test]
fn each_kind_of_value_has_its_place() {
    let parameters = json!({
        "near": { "draw": "near", "of": "base", "times": 1000, "low": 7, "high": 7 },
        "base": { "draw": "uniform", "low": 3, "high": 3 },
        "many": { "draw": "constant", "value": 9 },
        "text": { "draw": "digits", "groups": 2, "of": 1 },
        "now": { "draw": "now-ms" },
        "earlier": { "draw": "earlier-ms" },
    });
    let parameters: BTreeMap<String, Parameter> = serde_json::from_value(parameters).unwrap();
    let mut parameters = Parameters::new(&parameters, 10);
    let template = r#"{"find": "{table}", "a": {"b": [1, {"c": "{near/100}"}]}, "d": "{many*11}", "e": "{text}", "f": {"$date": "{now}"},
        "g": "{earlier}", "h": "{base+1}", "i": "t{number}", "$db": "other"}"#;
    let template = Template::try_from(template.to_owned()).unwrap();
    let surroundings = Surroundings { dialect: Dialect::Mongodb, storage: None, database: "f", row: None };
    let command = Command::of(&template, &mut parameters, surroundings).unwrap();
    let table = TableName { name: "docs".to_owned(), number: 4 };
    let mut random = generator(1, Stream::Foreground(0));
    command.draw(&mut parameters, &mut random);
    let mut out = Vec::new();
    command.push(&table, &mut parameters, &mut random, &mut out);
    let (document, rest) = Document::split(&out).unwrap();
    assert!(rest.is_empty());
    let told = flattened(document).unwrap();
    let of = |wanted: &str| {
        told.iter().find(|(name, _)| name == wanted).map_or("none", |(_, value)| value.as_str())
    };
    // 3 * 1000 + 7, drawn after the value that it is near, whatever their order of names.
    assert_eq!((of("a.b.0"), of("a.b.1.c")), ("1", "30.07"));
    assert_eq!((of("d.0"), of("d.10"), of("d.11")), ("9", "19", "none"));
    assert_eq!((of("h"), of("i"), of("find"), of("$db")), ("4", "t4", "docs", "other"));
    assert!(of("e").len() == 3 && of("e").contains('-'), "{}", of("e"));
    let date = document.get("f").unwrap().unwrap();
    assert!(matches!(date, Value::Date(now) if now >= of("g").parse().unwrap()), "{date:?}");
    assert_eq!(told.iter().filter(|(name, _)| name == "$db").count(), 1);
}

#[test]
fn clients_of_one_table_never_get_one_id() {
    use crate::sql::rows::TableRows;
    use std::sync::Arc;
    let parameters: BTreeMap<String, Parameter> =
        serde_json::from_value(json!({ "id": { "draw": "next" } })).unwrap();
    let tables = Arc::new(vec![TableRows::between(1, 10), TableRows::between(1, 20)]);
    let mut random = generator(1, Stream::Foreground(0));
    let mut ids = Vec::new();
    let mut clients: Vec<Parameters> = (0..2).map(|_| Parameters::new(&parameters, 10)).collect();
    for turn in 0..4 {
        for client in &mut clients {
            let index = client.using("id").unwrap();
            client.share_ids(Arc::clone(&tables));
            client.set_table(turn % 2);
            client.draw(index, &mut random);
            ids.push(client.number(index));
        }
    }
    assert_eq!(ids, [11, 12, 21, 22, 13, 14, 23, 24]);
}

#[test]
fn an_answer_that_is_deep_or_has_long_names_is_bounded() {
    let mut deep = Vec::new();
    let starts: Vec<usize> = (0..200_000).map(|_| bson::open_document(&mut deep, "")).collect();
    starts.into_iter().rev().for_each(|start| bson::close(&mut deep, start));
    let mut whole = Vec::new();
    let start = bson::open(&mut whole);
    whole.extend_from_slice(&deep);
    bson::close(&mut whole, start);
    let document = Document::split(&whole).unwrap().0;
    assert!(flattened(document).unwrap().is_empty());
    assert!(explain::told(document).unwrap().nodes.is_empty());
    let name = "n".repeat(1 << 20);
    let mut out = Vec::new();
    let start = bson::open(&mut out);
    let inner = bson::open_document(&mut out, &name);
    (0..200).for_each(|number| bson::push_number(&mut out, &number.to_string(), number));
    bson::close(&mut out, inner);
    bson::close(&mut out, start);
    let error = flattened(Document::split(&out).unwrap().0).unwrap_err();
    assert!(matches!(error, WireError::Malformed(_)), "{error}");
}

/// Drivers send what an update and a delete are about behind the body, and we in it, as explain wants it: the documents are the same.
#[test]
fn documents_in_the_body_are_those_of_the_section() {
    let delete = r#"{"delete": "{table}", "ordered": true, "deletes": [{"q": {"_id": 100}, "limit": 1}]}"#;
    let update = r#"{"update": "{table}", "ordered": true,
        "updates": [{"q": {"_id": 2}, "u": {"$set": {"s": "y"}, "$inc": {"v": 1}}, "multi": false, "upsert": false}]}"#;
    for (file, array, ours) in [("delete.txt", "deletes", delete), ("update.txt", "updates", update)] {
        let ours = sent(ours, None);
        let (body, rest) = Document::split(&ours[HEADER + FLAGS.len() + 1..]).unwrap();
        assert!(rest.is_empty());
        let of_body = body.get(array).unwrap().unwrap().array().unwrap();
        let of_body: Vec<&[u8]> =
            of_body.elements().map(|element| element.unwrap().1.document().unwrap().bytes()).collect();
        let theirs = recorded(file).swap_remove(2).bytes;
        let (body, section) = Document::split(&theirs[HEADER + FLAGS.len() + 1..]).unwrap();
        assert_eq!(body.elements().next().unwrap().unwrap().0, file.trim_end_matches(".txt"));
        // Kind, length, name.
        let mut rest = &section[1 + 4 + array.len() + 1..];
        let mut of_section = Vec::new();
        while !rest.is_empty() {
            let (document, after) = Document::split(rest).unwrap();
            of_section.push(document.bytes());
            rest = after;
        }
        assert_eq!(of_body, of_section, "{file}");
    }
}

#[test]
fn answers_say_how_many_rows_there_are() {
    for (name, command, rows) in [
        ("find.txt", r#"{"find": "docs"}"#, 3),
        ("get-more.txt", r#"{"find": "docs", "batchSize": 2}"#, 5),
        ("aggregate.txt", r#"{"aggregate": "docs"}"#, 2),
        ("insert.txt", r#"{"insert": "docs"}"#, 3),
        ("update.txt", r#"{"update": "docs"}"#, 1),
        ("update-missing.txt", r#"{"update": "docs"}"#, 0),
        ("delete.txt", r#"{"delete": "docs"}"#, 1),
    ] {
        let (mut connection, _peer) = connection(name);
        assert_eq!(connection.run(command).unwrap().rows, rows, "{name}");
    }
}

#[test]
fn a_cursor_is_asked_until_its_end() {
    let (mut connection, peer) = connection("get-more.txt");
    connection.run(r#"{"find": "docs", "filter": {"_id": {"$lt": 5}}, "batchSize": 2}"#).unwrap();
    drop(connection);
    let received = peer.received();
    assert_eq!(received.len(), 4, "hello, find, and twice getMore");
    let (document, _) = Document::split(&received[2][HEADER + FLAGS.len() + 1..]).unwrap();
    let get = |name: &str| document.get(name).unwrap().unwrap();
    assert_eq!((get("getMore"), get("collection").text()), (Value::Int64(3_966_846_042), Some("docs")));
}

#[test]
fn rows_are_read_with_their_names() {
    let (mut connection, _peer) = connection("find.txt");
    let rows = connection.read(r#"{"find": "docs"}"#).unwrap();
    assert_eq!(rows.names, ["_id", "v"]);
    let row = |id: &str, v: &str| vec![Some(id.to_owned()), Some(v.to_owned())];
    assert_eq!(rows.rows, [row("4", "40"), row("2", "20"), row("0", "0")]);
}

#[test]
fn the_status_becomes_names_with_dots() {
    let (mut connection, _peer) = connection("server-status.txt");
    let status = connection.answer(r#"{"serverStatus": 1}"#).unwrap();
    let of = |wanted: &str| status.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    assert_eq!((of("metrics.commands.insert.total"), of("process")), (Some("3"), Some("ferretdb")));
}

#[test]
fn what_the_server_refuses_is_told_with_its_code() {
    for (name, code, words) in [
        ("insert-duplicate.txt", "11000", "E11000 duplicate key error"),
        ("unknown-command.txt", "59", "CommandNotFound: no such command"),
        ("unauthorized.txt", "13", "Unauthorized"),
    ] {
        let (mut connection, _peer) = connection(name);
        let error = connection.run(r#"{"insert": "docs"}"#).unwrap_err();
        let message = error.server_message().unwrap();
        assert!(message.code == code && message.text.contains(words), "{name}: {message:?}");
    }
}

#[test]
fn a_server_that_cannot_be_used_is_named() {
    let answering = |answer: serde_json::Value| {
        let peer = Peer::answering(Vec::new(), vec![encoded(&answer, "admin").tap(|bytes| bytes[8] = 1)]);
        Connection::open(&peer.address(Dialect::Mongodb)).unwrap_err().to_string()
    };
    let old = answering(json!({ "ismaster": true, "maxWireVersion": 5, "ok": 1 }));
    assert!(old.contains("version 5") && old.contains("3.6"), "{old}");
    let secondary = answering(json!({ "ismaster": false, "maxWireVersion": 21, "ok": 1 }));
    assert!(secondary.contains("no primary"), "{secondary}");
    for other in [&b"N\x00\x00\x00\x0fFATAL: not this server\x00"[..], b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
        let peer = Peer::answering(Vec::new(), vec![other.to_vec()]);
        let error = Connection::open(&peer.address(Dialect::Mongodb)).unwrap_err();
        assert!(matches!(error, SqlError::OtherProtocol { .. }), "{error:?}");
    }
}

#[test]
fn a_message_that_is_cut_or_lies_is_refused() {
    for message in
        NAMES.into_iter().flat_map(recorded).filter(|message| message.is_answer && message.is_of_ours())
    {
        let content = &message.bytes[HEADER..];
        body(content).unwrap();
        for cut in 0..content.len() {
            assert!(body(&content[..cut]).is_err(), "{cut} bytes");
        }
        for flags in [MORE_TO_COME, 1 << 2, 1 << 15] {
            let flagged = [&flags.to_le_bytes()[..], &content[4..]].concat();
            assert!(body(&flagged).is_err(), "{flags:#x}");
        }
        let with_checksum = [&CHECKSUM_PRESENT.to_le_bytes()[..], &content[4..], &[0; 4]].concat();
        body(&with_checksum).unwrap();
    }
}

#[test]
fn a_cursor_without_an_end_is_not_asked_for_ever() {
    let hello = recorded("find.txt")
        .swap_remove(1)
        .bytes
        .tap(|bytes| bytes[8..12].copy_from_slice(&1_i32.to_le_bytes()));
    let more = json!({ "cursor": { "nextBatch": [], "id": 7, "ns": "f.docs" }, "ok": 1 });
    let more = encoded(&more, "f").tap(|bytes| bytes[8] = 1);
    let peer = Peer::answering(Vec::new(), vec![hello, more.clone(), more]);
    let mut connection = Connection::open(&peer.address(Dialect::Mongodb)).unwrap();
    assert!(connection.run(r#"{"find": "docs"}"#).unwrap_err().is_lost());
}

#[test]
fn a_cursor_that_died_and_a_command_that_is_too_long_are_told() {
    let hello = recorded("find.txt")
        .swap_remove(1)
        .bytes
        .tap(|bytes| bytes[8..12].copy_from_slice(&1_i32.to_le_bytes()));
    let first = json!({ "cursor": { "firstBatch": [{ "_id": 1 }], "id": 7, "ns": "f.docs" }, "ok": 1 });
    let died =
        json!({ "ok": 0, "code": 43, "codeName": "CursorNotFound", "errmsg": "cursor id 7 not found" });
    let answer = |answer: &serde_json::Value| encoded(answer, "f").tap(|bytes| bytes[8] = 1);
    let peer = Peer::answering(Vec::new(), vec![hello, answer(&first), answer(&died)]);
    let mut connection = Connection::open(&peer.address(Dialect::Mongodb)).unwrap();
    let error = connection.run(r#"{"find": "docs"}"#).unwrap_err();
    assert_eq!(error.server_message().unwrap().code, "43");
    let long = format!(r#"{{"insert": "docs", "documents": ["{}"]}}"#, "x".repeat(LONGEST_SENT));
    let error = connection.run(&long).unwrap_err();
    assert!(error.server_message().unwrap().text.contains("send fewer documents"), "{error}");
}

/// The proofs that another driver sent, of its nonces.
#[test]
fn proofs_are_those_of_another_driver() {
    for name in ["scram-sha-1.txt", "scram-sha-256.txt"] {
        let messages = recorded(name);
        let payloads: Vec<String> =
            messages.iter().filter_map(|message| payload_of(message.document())).collect();
        super::login::tests::replay(
            &name.trim_end_matches(".txt").to_uppercase(),
            "dbdyno",
            "secret",
            &payloads,
        );
    }
}

/// A value after a change of it.
trait Tap: Sized {
    fn tap(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl<T> Tap for T {}
