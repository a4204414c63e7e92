//! Postgres' protocol 3.0: statements as one write each, answers counted where they lie. It knows no workload.

mod explain;
mod login;
pub mod server;
mod settle;

use super::channel::Channel;
use super::connection::{Answer, Kept, ParameterType, Rows};
use super::error::{LoginFailure, ServerMessage, WireError};
use super::protection::Protection;
use model::address::ServerAddress;

/// A connection that is logged in.
#[derive(Debug)]
pub struct Postgres {
    channel: Channel,
    /// Statements that were prepared; the next one's name.
    prepared: u32,
}

/// A statement that the server has prepared: Bind up to its first value, and all that follows its last one.
#[derive(Debug, Clone)]
pub struct Prepared {
    head: Vec<u8>,
}

/// Ends a Bind and goes on with Describe, Execute and Sync. Results are asked for in binary, as sysbench does: one format for all columns. Both of
/// the unnamed portal; Execute of all rows. Nobody needs the description, but libpq asks for it at each execution, and a server's time for it is
/// part of what a program with libpq costs.
const AFTER_VALUES: [u8; 26] =
    [0, 1, 0, 1, b'D', 0, 0, 0, 6, b'P', 0, b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4];
/// What these types are called in the protocol.
const BIGINT: u32 = 20;
const VARCHAR: u32 = 1043;
const TOO_MANY: WireError = WireError::Malformed("a statement has more than 65,535 parameters");
/// Bytes of [`AFTER_VALUES`] that are still of Bind.
const END_OF_BIND: usize = 4;

impl Prepared {
    /// Its values are sent as text, as programs with libpq do; the server reads them as the types that `prepare` declared or that it chose.
    fn new(name: &str, count: usize) -> Result<Prepared, WireError> {
        let count = u16::try_from(count).map_err(|_| TOO_MANY)?;
        let mut head = vec![b'B', 0, 0, 0, 0, 0];
        head.extend_from_slice(name.as_bytes());
        // No formats: all are text.
        head.extend_from_slice(&[0, 0, 0]);
        head.extend_from_slice(&count.to_be_bytes());
        Ok(Prepared { head })
    }

    /// Begins an execution; the values follow in order.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
    }

    /// A value that is a number.
    #[inline]
    pub fn number(&self, out: &mut Vec<u8>, value: i64) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        super::draw::push_number(out, value);
        set_length(out, start, 4);
    }

    /// A value that is text.
    #[inline]
    pub fn text(&self, out: &mut Vec<u8>, value: &[u8]) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(value);
        set_length(out, start, 4);
    }

    /// Ends the execution that began at `start` of the buffer.
    #[inline]
    pub fn end(&self, out: &mut Vec<u8>, start: usize) {
        out.extend_from_slice(&AFTER_VALUES[..END_OF_BIND]);
        set_length(out, start + 1, 0);
        out.extend_from_slice(&AFTER_VALUES[END_OF_BIND..]);
    }
}

/// Writes at `place` how many bytes follow from there on, less `without`.
#[inline]
fn set_length(out: &mut [u8], place: usize, without: usize) {
    let length = out.len() - place - without;
    // A message of more than 2 GiB would need more memory than a step may have.
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    out[place..place + 4].copy_from_slice(&length.to_be_bytes());
}

/// Begins a statement that is sent as text; [`end_text`] ends it.
pub fn begin_text(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'Q', 0, 0, 0, 0]);
}

/// Ends the text that began at `start`.
pub fn end_text(out: &mut Vec<u8>, start: usize) {
    out.push(0);
    set_length(out, start + 1, 0);
}

impl Postgres {
    /// Connects and logs in.
    pub fn connect(channel: Channel, address: &ServerAddress) -> Result<Postgres, LoginFailure> {
        let protection = Protection::of(channel.stays_on_host(), address);
        let mut postgres = Postgres { channel, prepared: 0 };
        login::log_in(&mut postgres, address, protection)?;
        Ok(postgres)
    }

    /// The socket under it.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Sends a message that was encoded before, and reads the answer to its end.
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> Result<Answer, WireError> {
        self.channel.send(message)?;
        let mut rows = 0;
        let mut changed = 0;
        let mut failure = None;
        loop {
            let (kind, length) = self.head()?;
            match kind {
                b'D' => {
                    rows += 1;
                    self.channel.skip(length)?;
                }
                b'C' => {
                    changed = tag_count(self.body(length)?);
                    self.channel.advance(length);
                }
                b'Z' => {
                    self.channel.skip(length)?;
                    return match failure {
                        None => Ok(Answer { rows: if rows > 0 { rows } else { changed } }),
                        Some(message) => Err(WireError::Server(message)),
                    };
                }
                // The first one is why; what follows, follows from it.
                b'E' => failure = failure.or(Some(self.error(length)?)),
                _ => self.pass(kind, length)?,
            }
        }
    }

    /// Prepares a statement with `$1`, `$2` .. in it. Its values are declared as `bigint` and `varchar`, as sysbench declares them;
    /// if the server refuses that, since a function in it wants an `integer`, it finds the types itself.
    pub fn prepare(&mut self, sql: &str, types: &[ParameterType]) -> Result<Prepared, WireError> {
        let declare = |of: &ParameterType| match of {
            ParameterType::Number => BIGINT,
            ParameterType::Text => VARCHAR,
        };
        let declared: Vec<u32> = types.iter().map(declare).collect();
        match self.prepare_as(sql, types.len(), &declared) {
            Err(WireError::Server(_)) if !types.is_empty() => self.prepare_as(sql, types.len(), &[]),
            prepared => prepared,
        }
    }

    fn prepare_as(&mut self, sql: &str, parameters: usize, declared: &[u32]) -> Result<Prepared, WireError> {
        let name = format!("s{}", self.prepared);
        self.prepared += 1;
        let mut message = Vec::new();
        message.push(b'P');
        message.extend_from_slice(&[0; 4]);
        message.extend_from_slice(name.as_bytes());
        message.push(0);
        message.extend_from_slice(sql.as_bytes());
        message.push(0);
        let count = u16::try_from(declared.len()).map_err(|_| TOO_MANY)?;
        message.extend_from_slice(&count.to_be_bytes());
        declared.iter().for_each(|of| message.extend_from_slice(&of.to_be_bytes()));
        set_length(&mut message, 1, 0);
        let start = message.len();
        message.extend_from_slice(&[b'D', 0, 0, 0, 0, b'S']);
        message.extend_from_slice(name.as_bytes());
        message.push(0);
        set_length(&mut message, start + 1, 0);
        message.extend_from_slice(&[b'S', 0, 0, 0, 4]);
        self.channel.send(&message)?;
        let mut described = None;
        let mut failure = None;
        loop {
            let (kind, length) = self.head()?;
            match kind {
                b't' => {
                    described = Some(take_u16(&mut self.body(length)?)?);
                    self.channel.advance(length);
                }
                b'E' => failure = failure.or(Some(self.error(length)?)),
                b'Z' => {
                    self.channel.skip(length)?;
                    break;
                }
                _ => self.pass(kind, length)?,
            }
        }
        if let Some(message) = failure {
            return Err(WireError::Server(message));
        }
        let described = described.ok_or(WireError::Malformed("a prepared statement was not described"))?;
        if usize::from(described) != parameters {
            return Err(WireError::Malformed(
                "a prepared statement has another number of parameters than its text",
            ));
        }
        Prepared::new(&name, parameters)
    }

    /// Sends a text that was encoded before, and gives all that is returned.
    pub fn read(&mut self, message: &[u8]) -> Result<Rows, WireError> {
        self.channel.send(message)?;
        let mut all = Rows::default();
        let mut kept = Kept::default();
        let mut failure = None;
        loop {
            let (kind, length) = self.head()?;
            match kind {
                b'T' => {
                    all.names = names(self.body(length)?)?;
                    self.channel.advance(length);
                }
                b'D' => {
                    kept.more(length)?;
                    let row = values(self.body(length)?)?;
                    self.channel.advance(length);
                    all.rows.push(row);
                }
                b'E' => failure = failure.or(Some(self.error(length)?)),
                b'Z' => {
                    self.channel.skip(length)?;
                    break;
                }
                _ => self.pass(kind, length)?,
            }
        }
        failure.map_or(Ok(all), |message| Err(WireError::Server(message)))
    }

    /// The kind of the next message and the length of its body, which is next.
    #[inline]
    fn head(&mut self) -> Result<(u8, usize), WireError> {
        self.channel.need(5)?;
        let (kind, length) = match *self.channel.unread() {
            [kind, a, b, c, d, ..] => (kind, u32::from_be_bytes([a, b, c, d])),
            _ => unreachable!("five bytes were waited for"),
        };
        self.channel.advance(5);
        if !(4..1 << 31).contains(&length) {
            return Err(WireError::Malformed("a message has an impossible length"));
        }
        Ok((kind, length as usize - 4))
    }

    /// All of the next message's body; it is still to be passed over.
    #[inline]
    fn body(&mut self, length: usize) -> Result<&[u8], WireError> {
        self.channel.need(length)?;
        Ok(&self.channel.unread()[..length])
    }

    /// Passes over a message that says nothing which is wanted.
    #[inline]
    fn pass(&mut self, kind: u8, length: usize) -> Result<(), WireError> {
        match kind {
            // ParseComplete, BindComplete, CloseComplete, CommandComplete, RowDescription, NoData, ParameterDescription, EmptyQuery,
            // NoticeResponse, ParameterStatus, NotificationResponse, BackendKeyData.
            b'1' | b'2' | b'3' | b'C' | b'T' | b'n' | b't' | b'I' | b'N' | b'S' | b'A' | b'K' => {
                Ok(self.channel.skip(length)?)
            }
            b'G' | b'H' | b'W' => Err(WireError::Malformed("COPY is not supported")),
            _ => Err(WireError::Malformed("a message of unknown kind")),
        }
    }

    #[cold]
    fn error(&mut self, length: usize) -> Result<Box<ServerMessage>, WireError> {
        let message = error_fields(self.body(length)?);
        self.channel.advance(length);
        Ok(Box::new(message))
    }
}

/// The number at the end of a tag: `UPDATE 1`, `INSERT 0 10`, `SELECT 5`; 0 of `BEGIN`.
fn tag_count(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    tag[tag.len() - digits..]
        .iter()
        .fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// Fields of an error: a letter and a text each, the last one a zero.
fn error_fields(body: &[u8]) -> ServerMessage {
    let mut message = ServerMessage { code: String::new(), text: String::new() };
    let mut more = String::new();
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { continue };
        let text = String::from_utf8_lossy(text);
        match kind {
            b'C' => message.code = text.into_owned(),
            b'M' => message.text = text.into_owned(),
            b'D' | b'H' => more.push_str(&format!("; {text}")),
            _ => {}
        }
    }
    message.text.push_str(&more);
    message
}

const CUT: WireError = WireError::Malformed("a message ends before what it announces");

fn take<'a>(body: &mut &'a [u8], count: usize) -> Result<&'a [u8], WireError> {
    let (taken, rest) = body.split_at_checked(count).ok_or(CUT)?;
    *body = rest;
    Ok(taken)
}

fn take_u16(body: &mut &[u8]) -> Result<u16, WireError> {
    let bytes = take(body, 2)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn take_u32(body: &mut &[u8]) -> Result<u32, WireError> {
    let bytes = take(body, 4)?;
    Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// Names of columns in a RowDescription.
fn names(mut body: &[u8]) -> Result<Vec<String>, WireError> {
    let count = take_u16(&mut body)?;
    let name = |_| {
        let end = body.iter().position(|byte| *byte == 0).ok_or(CUT)?;
        let name = String::from_utf8_lossy(take(&mut body, end)?).into_owned();
        // The zero, table, column, type, its size, its modifier, format.
        take(&mut body, 1 + 4 + 2 + 4 + 2 + 4 + 2)?;
        Ok(name)
    };
    (0..count).map(name).collect()
}

/// Values of a DataRow.
fn values(mut body: &[u8]) -> Result<Vec<Option<String>>, WireError> {
    let count = take_u16(&mut body)?;
    let value = |_| {
        let length = take_u32(&mut body)?;
        if length == u32::MAX {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| CUT)?;
        Ok(Some(String::from_utf8_lossy(take(&mut body, length)?).into_owned()))
    };
    (0..count).map(value).collect()
}

#[cfg(test)]
mod tests;
