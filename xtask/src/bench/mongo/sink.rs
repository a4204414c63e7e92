//! A server that speaks MongoDB's protocol and costs nothing: it looks at no more of a command than its name, its limit and how many documents
//! come behind it, and answers as if it had done it.

use anyhow::Context;
use load::mongodb_message;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Length, number, number of the request that is answered, kind; flags; kind of the section; length of the document.
const HEADER: usize = 16;
const BODY: usize = HEADER + 5;
/// Nothing that the bench sends is longer.
const LONGEST: usize = 16 << 20;

/// It listens until it is dropped.
pub struct Sink {
    socket: PathBuf,
    is_over: Arc<AtomicBool>,
}

impl Sink {
    pub fn start(socket: &Path) -> anyhow::Result<Sink> {
        let listener = UnixListener::bind(socket).context("failed to listen for the clients of the bench")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            for stream in listener.incoming().take_while(|_| !over.load(Ordering::Relaxed)) {
                let Ok(stream) = stream else { return };
                // A client that goes ends its thread.
                std::thread::spawn(move || serve(stream));
            }
        });
        Ok(Sink { socket: socket.to_owned(), is_over })
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // So that it looks.
        let _ = UnixStream::connect(&self.socket);
    }
}

fn serve(mut stream: UnixStream) -> io::Result<()> {
    let mut message = Vec::new();
    // Encoded once: what a find returns depends on its limit alone, what a write returns on its number of documents.
    let mut answers: BTreeMap<(String, u32), Vec<u8>> = BTreeMap::new();
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if !(BODY + 5..LONGEST).contains(&length) {
            return Err(ErrorKind::InvalidData.into());
        }
        message.resize(length - 4, 0);
        stream.read_exact(&mut message)?;
        if message[8..12] == OP_QUERY {
            stream.write_all(&greeting(&message[..4]))?;
            continue;
        }
        let asked = Asked::of(&message).ok_or(ErrorKind::InvalidData)?;
        let answer = answers
            .entry((asked.name.to_owned(), asked.count))
            .or_insert_with(|| mongodb_message(&answer(asked.name, asked.count), "bench"));
        answer[8..12].copy_from_slice(asked.number);
        stream.write_all(answer)?;
    }
}

/// Older drivers greet in another kind of message, and are answered in another one.
const OP_QUERY: [u8; 4] = 2004_u32.to_le_bytes();
const OP_REPLY: [u8; 4] = 1_u32.to_le_bytes();

fn greeting(number: &[u8]) -> Vec<u8> {
    let document = &mongodb_message(&answer("hello", 1), "bench")[BODY..];
    // Flags, no cursor, from the first document on, one document.
    let reply = [&[0; 16][..], &1_u32.to_le_bytes(), document].concat();
    let length = u32::try_from(HEADER + reply.len()).unwrap_or(u32::MAX).to_le_bytes();
    [&length[..], &[0; 4], number, &OP_REPLY, &reply].concat()
}

/// What is looked at of a command.
struct Asked<'a> {
    number: &'a [u8],
    name: &'a str,
    /// Documents behind a write, else its limit; 1 if it has neither.
    count: u32,
}

impl Asked<'_> {
    /// Of a message without its length.
    fn of(message: &[u8]) -> Option<Asked<'_>> {
        let body = &message[BODY - 4..];
        let length = length_at(body, 0)?;
        let document = body.get(..length)?;
        let name = document.get(5..)?.split(|byte| *byte == 0).next()?;
        let count = match body.get(length..)? {
            [] => limit_in(document),
            behind => documents_in(behind)?,
        };
        Some(Asked { number: &message[..4], name: str::from_utf8(name).ok()?, count })
    }
}

fn length_at(bytes: &[u8], place: usize) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.get(place..place + 4)?.try_into().ok()?) as usize)
}

fn limit_in(document: &[u8]) -> u32 {
    const LIMIT: &[u8] = b"limit\0";
    let place = document.windows(LIMIT.len()).position(|window| window == LIMIT);
    let limit = place.and_then(|place| length_at(document, place + LIMIT.len()));
    limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(1)
}

/// A kind, a length, a name, and documents one after another.
fn documents_in(section: &[u8]) -> Option<u32> {
    let name = section.get(5..)?.iter().position(|byte| *byte == 0)?;
    let (mut rest, mut count) = (section.get(5 + name + 1..)?, 0);
    while !rest.is_empty() {
        rest = rest.get(length_at(rest, 0)?..)?;
        count += 1;
    }
    Some(count)
}

fn answer(name: &str, count: u32) -> Value {
    match name {
        "hello" | "isMaster" | "ismaster" => json!({
            "ismaster": true, "isWritablePrimary": true, "maxBsonObjectSize": 16_777_216, "maxMessageSizeBytes": 48_000_000,
            "maxWriteBatchSize": 100_000, "logicalSessionTimeoutMinutes": 30, "minWireVersion": 0, "maxWireVersion": 21,
            "readOnly": false, "ok": 1.0,
        }),
        "find" => {
            let document = |number| json!({ "_id": number, "price": 7, "dateandtime": 1_800_000_000_000_i64, "customerid": 4711, "data": "aaaaaaaaaaaabcd" });
            let documents: Vec<Value> = (1..=count).map(document).collect();
            json!({ "cursor": { "firstBatch": documents, "id": 0, "ns": "bench.pi1" }, "ok": 1.0 })
        }
        "buildInfo" => json!({ "version": "0.0.0", "ok": 1.0 }),
        "insert" | "update" | "delete" => json!({ "n": count, "ok": 1.0 }),
        _ => json!({ "ok": 1.0 }),
    }
}
