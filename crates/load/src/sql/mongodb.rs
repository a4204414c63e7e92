//! MongoDB's protocol: OP_MSG, one command a message, answered by one document. It knows no workload.
//!
//! Source: the MongoDB wire protocol and the specification of OP_MSG; servers from 3.6 on speak it.

pub mod bson;
pub mod command;
mod explain;
mod login;
pub mod server;
mod settle;

use super::channel::{Channel, LONGEST_MESSAGE};
use super::connection::{Answer, Kept, Rows};
use super::error::{LoginFailure, ServerMessage, SqlError, WireError};
use super::protection::Protection;
use bson::{Document, Value, take_i32};
use model::address::ServerAddress;
use serde_json::Value as Json;

/// A connection that is logged in.
#[derive(Debug)]
pub struct Mongodb {
    channel: Channel,
    database: String,
}

const OP_MSG: i32 = 2013;
/// Length, number, number of the request that is answered, kind of message.
const HEADER: usize = 16;
/// There is one request at a time, and its answer: all have this number.
const REQUEST: i32 = 1;
/// Flags of OP_MSG, and the kind of the section with the command.
const FLAGS: [u8; 4] = [0; 4];
const BODY: u8 = 0;
/// The kind of a section with documents of the command that are not in its body.
const DOCUMENTS: u8 = 1;
/// A checksum follows the sections; more answers follow this one.
const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;
/// Flags below this bit must be known.
const KNOWN_FLAGS: u32 = CHECKSUM_PRESENT | MORE_TO_COME;
const MUST_BE_KNOWN: u32 = 0xffff;

/// Begins a message; its body follows.
#[inline]
pub fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&REQUEST.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&OP_MSG.to_le_bytes());
    out.extend_from_slice(&FLAGS);
    out.push(BODY);
}

/// Ends the message that began at `start`, and the section of documents if it has one: that follows its body.
#[inline]
pub fn end(out: &mut [u8], start: usize) {
    bson::set_length(out, start);
    let body = start + HEADER + FLAGS.len() + 1;
    let section = bson::length_at(out, body).map_or(out.len(), |length| body + length);
    if section < out.len() {
        bson::set_length(out, section + 1);
    }
}

/// Begins the section of a command's documents under this name: they follow, and then the message ends.
#[inline]
pub fn begin_documents(out: &mut Vec<u8>, name: &str) {
    out.push(DOCUMENTS);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
}

/// The name of the documents of an insert.
pub const OF_INSERT: &str = "documents";

/// A command of JSON as a message: its elements in their order, then the database if it names none itself.
pub fn encoded(command: &Json, database: &str) -> Vec<u8> {
    message_of(|out| {
        for (name, value) in command.as_object().into_iter().flatten() {
            bson::push_json(out, name, value);
        }
        if command.get(DATABASE).is_none() {
            push_database(out, database);
        }
    })
}

/// A message whose body has these elements, and nothing behind it.
fn message_of(elements: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    begin(&mut out);
    let start = bson::open(&mut out);
    elements(&mut out);
    bson::close(&mut out, start);
    end(&mut out, 0);
    out
}

const DATABASE: &str = "$db";

/// The element that says which database a command is about.
fn push_database(out: &mut Vec<u8>, database: &str) {
    bson::push_text(out, DATABASE, |out| out.extend_from_slice(database.as_bytes()));
}

/// What an answer says, beside its documents.
struct Said {
    /// Documents in it, else those that it says were found or changed.
    rows: u64,
    /// A cursor that is not at its end.
    more: Option<More>,
}

struct More {
    cursor: i64,
    collection: String,
}

impl Mongodb {
    /// Connects and logs in.
    pub fn connect(channel: Channel, address: &ServerAddress) -> Result<Mongodb, LoginFailure> {
        let protection = Protection::of(channel.stays_on_host(), address);
        let mut mongodb = Mongodb { channel, database: address.database.clone() };
        login::log_in(&mut mongodb, address, protection)?;
        Ok(mongodb)
    }

    /// The socket under it.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// A command that is written as JSON, as [`Self::send`] takes it.
    pub fn encoded(&self, command: &str) -> Result<Vec<u8>, SqlError> {
        let json: Json = serde_json::from_str(command)
            .map_err(|error| SqlError::Workload(format!("`{command}` is no JSON: {error}")))?;
        Ok(encoded(&json, &self.database))
    }

    /// Asks a question that is about the database of the connection.
    pub fn read_answer<T>(
        &mut self,
        question: impl FnOnce(&str) -> Vec<u8>,
        read: impl FnOnce(Document<'_>) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let message = question(&self.database);
        self.ask(&message, read)
    }

    /// All that is answered to a command of JSON, [`flattened`]. The outer error is one of the JSON.
    pub fn answer(&mut self, command: &str) -> Result<Result<Vec<(String, String)>, WireError>, SqlError> {
        let message = self.encoded(command)?;
        Ok(self.ask(&message, flattened))
    }

    /// Sends a message that was encoded before, and reads the answer; of a cursor all that it has.
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> Result<Answer, WireError> {
        let mut said = self.ask(message, said)?;
        let mut rows = said.rows;
        while let Some(more) = said.more {
            said = self.ask(&get_more(&more, &self.database), said_next)?;
            rows += said.rows;
        }
        Ok(Answer { rows })
    }

    /// Sends a message that was encoded before, and gives all that is returned: of a cursor its documents, of another answer the answer itself.
    /// The names are those of the first.
    pub fn read(&mut self, message: &[u8]) -> Result<Rows, WireError> {
        let mut rows = Rows::default();
        let mut kept = Kept::default();
        let mut more = self.ask(message, |document| {
            keep(&mut rows, &mut kept, document)?;
            Ok(said(document)?.more)
        })?;
        while let Some(next) = more {
            more = self.ask(&get_more(&next, &self.database), |document| {
                keep(&mut rows, &mut kept, document)?;
                Ok(said_next(document)?.more)
            })?;
        }
        Ok(rows)
    }

    /// Sends a command to a database, and gives to `read` what it answers if that is no error.
    fn command<T>(
        &mut self,
        command: &Json,
        database: &str,
        read: impl FnOnce(Document<'_>) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        self.ask(&encoded(command, database), read)
    }

    /// Sends a message, and gives to `read` the document of the answer if that is no error.
    fn ask<T>(
        &mut self,
        message: &[u8],
        read: impl FnOnce(Document<'_>) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        check_size(message)?;
        self.channel.send(message)?;
        self.channel.need(HEADER)?;
        let mut head = self.channel.unread();
        let length = usize::try_from(take_i32(&mut head)?).unwrap_or(0);
        let (_, answered, kind) = (take_i32(&mut head)?, take_i32(&mut head)?, take_i32(&mut head)?);
        if !(HEADER + FLAGS.len()..=LONGEST_MESSAGE).contains(&length) {
            return Err(WireError::Malformed("a message has an impossible length"));
        }
        if kind != OP_MSG || answered != REQUEST {
            return Err(WireError::Malformed("a message is no answer to the request"));
        }
        self.channel.need(length)?;
        let answer = body(&self.channel.unread()[HEADER..length]).and_then(|document| {
            check(document)?;
            read(document)
        });
        self.channel.advance(length);
        answer
    }
}

/// What a server takes as a message; it hangs up on more.
const LONGEST_SENT: usize = 48_000_000;

/// An error as the server would report it if it said anything.
fn check_size(message: &[u8]) -> Result<(), WireError> {
    if message.len() <= LONGEST_SENT {
        return Ok(());
    }
    let text = format!(
        "the command has {} bytes, and a server takes {LONGEST_SENT}: send fewer documents at once",
        message.len()
    );
    Err(WireError::Server(Box::new(ServerMessage { code: "message size".to_owned(), text })))
}

/// The document of a message whose header is gone.
fn body(message: &[u8]) -> Result<Document<'_>, WireError> {
    let mut rest = message;
    let flags = take_i32(&mut rest)?.cast_unsigned();
    if flags & MUST_BE_KNOWN & !KNOWN_FLAGS != 0 || flags & MORE_TO_COME != 0 {
        return Err(WireError::Malformed("an answer has flags that were not asked for"));
    }
    let Some((&BODY, rest)) = rest.split_first() else {
        return Err(WireError::Malformed("an answer does not begin with a document"));
    };
    let (document, rest) = Document::split(rest)?;
    let checksum = if flags & CHECKSUM_PRESENT != 0 { 4 } else { 0 };
    if rest.len() != checksum {
        return Err(WireError::Malformed("an answer has more than one document"));
    }
    Ok(document)
}

/// An error that the server reports: of the command, of one of its writes, or of what the write concern asks for.
fn check(answer: Document<'_>) -> Result<(), WireError> {
    if !answer.get("ok")?.is_some_and(Value::is_true) {
        return Err(WireError::Server(Box::new(message(answer)?)));
    }
    let first = answer.get("writeErrors")?.and_then(Value::array).map(|errors| errors.elements().next());
    let of_write = match first.flatten() {
        Some(first) => first?.1.document(),
        None => answer.get("writeConcernError")?.and_then(Value::document),
    };
    match of_write {
        Some(error) => Err(WireError::Server(Box::new(message(error)?))),
        None => Ok(()),
    }
}

/// The number of an error, its name if the server tells it, and its text.
fn message(error: Document<'_>) -> Result<ServerMessage, WireError> {
    let code = error.get("code")?.and_then(Value::whole).unwrap_or_default().to_string();
    let name = error.get("codeName")?.and_then(Value::text);
    let text = error.get("errmsg")?.and_then(Value::text).unwrap_or("no reason is given");
    let text = name.map_or_else(|| text.to_owned(), |name| format!("{name}: {text}"));
    Ok(ServerMessage { code, text })
}

fn said(answer: Document<'_>) -> Result<Said, WireError> {
    let Some(cursor) = answer.get("cursor")?.and_then(Value::document) else {
        let rows = answer.get("n")?.and_then(Value::whole).unwrap_or_default();
        return Ok(Said { rows: u64::try_from(rows).unwrap_or_default(), more: None });
    };
    let (mut rows, mut id, mut namespace) = (0, 0, "");
    for element in cursor.elements() {
        match element? {
            ("firstBatch" | "nextBatch", Value::Array(batch)) => rows = batch.count()?,
            ("id", value) => id = value.whole().unwrap_or_default(),
            ("ns", Value::Text(text)) => namespace = text,
            _ => {}
        }
    }
    let collection = || namespace.split_once('.').map_or("", |(_, collection)| collection).to_owned();
    Ok(Said { rows, more: (id != 0).then(|| More { cursor: id, collection: collection() }) })
}

/// The same of what a cursor gives after the first time: one that is not at its end must give something, or it would be asked for ever.
fn said_next(answer: Document<'_>) -> Result<Said, WireError> {
    let said = said(answer)?;
    if said.more.is_some() && said.rows == 0 {
        return Err(WireError::Malformed("a cursor that is not at its end has nothing"));
    }
    Ok(said)
}

#[cold]
fn get_more(more: &More, database: &str) -> Vec<u8> {
    message_of(|out| {
        bson::push_long(out, "getMore", more.cursor);
        bson::push_text(out, "collection", |out| out.extend_from_slice(more.collection.as_bytes()));
        push_database(out, database);
    })
}

fn keep(rows: &mut Rows, kept: &mut Kept, answer: Document<'_>) -> Result<(), WireError> {
    let Some(cursor) = answer.get("cursor")?.and_then(Value::document) else {
        return keep_row(rows, kept, answer);
    };
    for element in cursor.elements() {
        let ("firstBatch" | "nextBatch", Value::Array(batch)) = element? else { continue };
        for document in batch.elements() {
            if let (_, Value::Document(document)) = document? {
                keep_row(rows, kept, document)?;
            }
        }
    }
    Ok(())
}

fn keep_row(rows: &mut Rows, kept: &mut Kept, document: Document<'_>) -> Result<(), WireError> {
    let elements: Vec<(&str, Value<'_>)> = document.elements().collect::<Result<_, _>>()?;
    if rows.rows.is_empty() {
        rows.names = elements.iter().map(|(name, _)| (*name).to_owned()).collect();
    }
    let values: Vec<Option<String>> = elements.iter().map(|(_, value)| shown(*value)).collect();
    kept.more(values.iter().flatten().map(String::len).sum())?;
    rows.rows.push(values);
    Ok(())
}

/// A value for a reader; of documents none.
fn shown(value: Value<'_>) -> Option<String> {
    match value {
        Value::Double(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.to_owned()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Date(number) | Value::Int64(number) => Some(number.to_string()),
        Value::Int32(number) => Some(number.to_string()),
        Value::Document(_) | Value::Array(_) | Value::Null | Value::ObjectId(_) | Value::Other(_) => None,
    }
}

/// All that a document says, as names with dots between them and values; more than so many levels are cut.
fn flattened(document: Document<'_>) -> Result<Vec<(String, String)>, WireError> {
    fn add(
        document: Document<'_>,
        prefix: &str,
        levels: u32,
        all: &mut Vec<(String, String)>,
        kept: &mut Kept,
    ) -> Result<(), WireError> {
        for element in document.elements() {
            let (name, value) = element?;
            // Before it is made: a long name would stand before each of the many that it has below it.
            kept.more(prefix.len() + name.len())?;
            let name = format!("{prefix}{name}");
            match value {
                Value::Document(inner) | Value::Array(inner) if levels > 0 => {
                    add(inner, &format!("{name}."), levels - 1, all, kept)?;
                }
                value => all.extend(shown(value).map(|value| (name, value))),
            }
        }
        Ok(())
    }
    let mut all = Vec::new();
    add(document, "", MOST_LEVELS, &mut all, &mut Kept::default())?;
    Ok(all)
}

/// Of documents in documents: those of a server's status have six.
const MOST_LEVELS: u32 = 16;

#[cfg(test)]
mod tests;
