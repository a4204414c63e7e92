//! The protocol of MySQL and MariaDB: commands as one write each, answers counted where they lie. It knows no workload.
//!
//! It is our own, because the `mysql` crate allocates for every row that it hands out, and gives none without.

mod explain;
mod login;
mod scramble;
pub mod server;
mod settle;

use super::channel::Channel;
use super::connection::{Answer, Kept, ParameterType, Rows};
use super::error::{LoginFailure, ServerMessage, WireError};
use super::protection::Protection;
use model::address::ServerAddress;
#[cfg(fuzzing)]
pub use scramble::encrypted;

/// A connection that is logged in.
#[derive(Debug)]
pub struct Mysql {
    channel: Channel,
    /// Columns and rows end with an OK packet alone, as from MySQL 5.7 and MariaDB 10.2 on; else with EOF packets.
    deprecate_eof: bool,
    /// MariaDB from 10.6 on says whether the description of columns follows; it leaves out what it has sent before.
    cache_metadata: bool,
}

/// A statement that the server has prepared: the command up to its first value.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// With the types of the parameters, which the server must be told once.
    head_with_types: Vec<u8>,
    head: Vec<u8>,
    types: Vec<ParameterType>,
    executed: bool,
}

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
/// Types of parameters.
const LONGLONG: u8 = 0x08;
const STRING: u8 = 0xfe;
/// The first byte of answers.
const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
/// A packet of this length goes on in the next one.
const FULL_PACKET: usize = 0xff_ffff;
/// Bytes before the payload of a packet: three of its length, its number.
const HEADER: usize = 4;
/// An EOF packet is shorter than this; a row that begins with 0xfe is not.
const LONGEST_EOF: usize = 9;

impl Prepared {
    fn new(id: u32, types: &[ParameterType]) -> Prepared {
        let mut head = vec![0; HEADER];
        head.push(COM_STMT_EXECUTE);
        head.extend_from_slice(&id.to_le_bytes());
        // No cursor, one iteration.
        head.extend_from_slice(&[0, 1, 0, 0, 0]);
        let mut head_with_types = head.clone();
        if !types.is_empty() {
            // No value is NULL.
            let nulls = types.len().div_ceil(8);
            head.resize(head.len() + nulls, 0);
            head_with_types.clone_from(&head);
            head.push(0);
            head_with_types.push(1);
            head_with_types.extend(types.iter().flat_map(|given| match given {
                // Also of a value that would fit into four bytes: sysbench sends eight.
                ParameterType::Number => [LONGLONG, 0],
                ParameterType::Text => [STRING, 0],
            }));
        }
        Prepared { head_with_types, head, types: types.to_vec(), executed: false }
    }

    /// Begins an execution; the values follow in order.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.executed { &self.head } else { &self.head_with_types });
    }

    /// The value of parameter `index`, from 0.
    #[inline]
    pub fn number(&self, out: &mut Vec<u8>, index: usize, value: i64) {
        match self.types[index] {
            ParameterType::Number => out.extend_from_slice(&value.to_le_bytes()),
            ParameterType::Text => {
                let mut digits = Vec::new();
                super::draw::push_number(&mut digits, value);
                self.text(out, &digits);
            }
        }
    }

    /// A value that is text.
    #[inline]
    pub fn text(&self, out: &mut Vec<u8>, value: &[u8]) {
        push_length(out, value.len());
        out.extend_from_slice(value);
    }

    /// Ends the execution that began at `start` of the buffer.
    #[inline]
    pub fn end(&self, out: &mut [u8], start: usize) {
        set_header(out, start, 0);
    }

    /// The server knows the types now.
    #[inline]
    pub fn was_executed(&mut self) {
        self.executed = true;
    }
}

/// A length as packets have it before a text.
fn push_length(out: &mut Vec<u8>, length: usize) {
    let bytes = (length as u64).to_le_bytes();
    match length {
        0..=250 => out.push(bytes[0]),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Writes the header of the packet that began at `start` and goes to the end of the buffer.
#[inline]
fn set_header(out: &mut [u8], start: usize, number: u8) {
    let length = out.len() - start - HEADER;
    // Lists have at most 65,535 values and loads are cut at 256 KiB.
    assert!(length < FULL_PACKET, "a command of {length} bytes would need two packets");
    let [a, b, c, ..] = length.to_le_bytes();
    out[start..start + HEADER].copy_from_slice(&[a, b, c, number]);
}

/// Begins a statement that is sent as text; [`end_text`] ends it.
#[inline]
pub fn begin_text(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, 0, 0, COM_QUERY]);
}

/// Ends the text that began at `start`.
#[inline]
pub fn end_text(out: &mut [u8], start: usize) {
    set_header(out, start, 0);
}

impl Mysql {
    /// Connects and logs in.
    pub fn connect(channel: Channel, address: &ServerAddress) -> Result<Mysql, LoginFailure> {
        let protection = Protection::of(channel.stays_on_host(), address);
        let mut mysql = Mysql { channel, deprecate_eof: false, cache_metadata: false };
        login::log_in(&mut mysql, address, protection)?;
        Ok(mysql)
    }

    /// The socket under it.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Sends a command that was encoded before, and reads the answer to its end.
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> Result<Answer, WireError> {
        self.channel.send(message)?;
        let length = self.head()?;
        match self.channel.unread()[0] {
            OK => {
                // Rows that the OK packet counts.
                let rows = take_number(&mut &self.body(length)?[1..])?;
                self.channel.advance(length);
                Ok(Answer { rows })
            }
            ERR => Err(self.error(length)?),
            LOCAL_INFILE => Err(WireError::Malformed("the server asks for a local file")),
            _ => {
                self.skip_columns(length)?;
                self.count_rows()
            }
        }
    }

    /// Passes over the rest of what stands before the rows: the number of columns, which is next, and their
    /// description, where there is one.
    #[inline]
    fn skip_columns(&mut self, length: usize) -> Result<(), WireError> {
        let (columns, described) = self.columns(length)?;
        if described {
            for _ in 0..columns {
                let length = self.head()?;
                self.skip_packet(length)?;
            }
        }
        self.skip_eof()
    }

    /// Number of columns, and whether their description follows.
    #[inline]
    fn columns(&mut self, length: usize) -> Result<(u64, bool), WireError> {
        let cache_metadata = self.cache_metadata;
        let mut body = self.body(length)?;
        let columns = take_number(&mut body)?;
        let described = if cache_metadata { take(&mut body, 1)?[0] != 0 } else { true };
        self.channel.advance(length);
        if columns > MOST_COLUMNS {
            return Err(WireError::Malformed("a result has more than 4,096 columns"));
        }
        Ok((columns, described))
    }

    /// Passes over the EOF packet that older servers send after columns.
    fn skip_eof(&mut self) -> Result<(), WireError> {
        if !self.deprecate_eof {
            let length = self.head()?;
            self.skip_packet(length)?;
        }
        Ok(())
    }

    #[inline]
    fn count_rows(&mut self) -> Result<Answer, WireError> {
        let mut rows = 0;
        loop {
            let length = self.head()?;
            match self.channel.unread()[0] {
                EOF if self.ends_rows(length) => {
                    self.channel.skip(length)?;
                    return Ok(Answer { rows });
                }
                ERR => return Err(self.error(length)?),
                _ => {
                    rows += 1;
                    self.skip_packet(length)?;
                }
            }
        }
    }

    /// Whether a packet that begins as an EOF packet does is one.
    #[inline]
    fn ends_rows(&self, length: usize) -> bool {
        if self.deprecate_eof { length < FULL_PACKET } else { length < LONGEST_EOF }
    }

    /// Prepares a statement with `?` in it.
    pub fn prepare(&mut self, sql: &str, types: &[ParameterType]) -> Result<Prepared, WireError> {
        let mut message = vec![0, 0, 0, 0, COM_STMT_PREPARE];
        message.extend_from_slice(sql.as_bytes());
        set_header(&mut message, 0, 0);
        self.channel.send(&message)?;
        let length = self.head()?;
        match self.channel.unread()[0] {
            OK => {}
            ERR => return Err(self.error(length)?),
            _ => return Err(WireError::Malformed("a prepared statement is neither made nor refused")),
        }
        let mut body = self.body(length)?;
        let fields = take(&mut body, 9)?;
        let id = u32::from_le_bytes([fields[1], fields[2], fields[3], fields[4]]);
        let columns = u16::from_le_bytes([fields[5], fields[6]]);
        let parameters = u16::from_le_bytes([fields[7], fields[8]]);
        self.channel.advance(length);
        for described in [parameters, columns].into_iter().filter(|count| *count > 0) {
            for _ in 0..described {
                let length = self.head()?;
                self.skip_packet(length)?;
            }
            self.skip_eof()?;
        }
        if usize::from(parameters) != types.len() {
            return Err(WireError::Malformed(
                "a prepared statement has another number of parameters than its text",
            ));
        }
        Ok(Prepared::new(id, types))
    }

    /// Sends a text that was encoded before, and gives all that is returned.
    pub fn read(&mut self, message: &[u8]) -> Result<Rows, WireError> {
        self.channel.send(message)?;
        let mut all = Rows::default();
        let length = self.head()?;
        match self.channel.unread()[0] {
            OK => {
                self.channel.skip(length)?;
                return Ok(all);
            }
            ERR => return Err(self.error(length)?),
            LOCAL_INFILE => return Err(WireError::Malformed("the server asks for a local file")),
            _ => {}
        }
        let (columns, described) = self.columns(length)?;
        let mut kept = Kept::default();
        if described {
            for _ in 0..columns {
                let length = self.head()?;
                kept.more(length)?;
                let name = column_name(self.body(length)?)?;
                self.channel.advance(length);
                all.names.push(name);
            }
        }
        self.skip_eof()?;
        loop {
            let length = self.head()?;
            match self.channel.unread()[0] {
                EOF if self.ends_rows(length) => {
                    self.channel.skip(length)?;
                    return Ok(all);
                }
                ERR => return Err(self.error(length)?),
                _ => {
                    kept.more(length)?;
                    let row = values(self.body(length)?, columns)?;
                    self.channel.advance(length);
                    all.rows.push(row);
                }
            }
        }
    }

    /// The length of the next packet's payload; its first byte lies in the buffer.
    #[inline]
    fn head(&mut self) -> Result<usize, WireError> {
        self.channel.need(HEADER + 1)?;
        let length = match *self.channel.unread() {
            [a, b, c, ..] => u32::from_le_bytes([a, b, c, 0]) as usize,
            _ => unreachable!("five bytes were waited for"),
        };
        if length == 0 {
            return Err(WireError::Malformed("a packet is empty"));
        }
        self.channel.advance(HEADER);
        Ok(length)
    }

    /// All of the next packet's payload; it is still to be passed over.
    #[inline]
    fn body(&mut self, length: usize) -> Result<&[u8], WireError> {
        if length == FULL_PACKET {
            return Err(WireError::Malformed("a packet that has to be looked at is longer than 16 MiB"));
        }
        self.channel.need(length)?;
        Ok(&self.channel.unread()[..length])
    }

    /// Passes over a payload, and over the packets in which it goes on.
    #[inline]
    fn skip_packet(&mut self, length: usize) -> Result<(), WireError> {
        self.channel.skip(length)?;
        let mut last = length;
        while last == FULL_PACKET {
            self.channel.need(HEADER)?;
            last = match *self.channel.unread() {
                [a, b, c, ..] => u32::from_le_bytes([a, b, c, 0]) as usize,
                _ => unreachable!("four bytes were waited for"),
            };
            self.channel.advance(HEADER);
            self.channel.skip(last)?;
        }
        Ok(())
    }

    #[cold]
    fn error(&mut self, length: usize) -> Result<WireError, WireError> {
        let message = error_message(self.body(length)?)?;
        self.channel.advance(length);
        Ok(WireError::Server(Box::new(message)))
    }
}

/// The server's own timeout.
const MOST_COLUMNS: u64 = 4096;

const CUT: WireError = WireError::Malformed("a packet ends before what it announces");

fn take<'a>(body: &mut &'a [u8], count: usize) -> Result<&'a [u8], WireError> {
    let (taken, rest) = body.split_at_checked(count).ok_or(CUT)?;
    *body = rest;
    Ok(taken)
}

/// A number of one to nine bytes.
#[inline]
fn take_number(body: &mut &[u8]) -> Result<u64, WireError> {
    let first = take(body, 1)?[0];
    let bytes = match first {
        0..=250 => return Ok(u64::from(first)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xfb | 0xff => return Err(WireError::Malformed("a length is none")),
    };
    let mut number = [0; 8];
    number[..bytes].copy_from_slice(take(body, bytes)?);
    Ok(u64::from_le_bytes(number))
}

fn take_text<'a>(body: &mut &'a [u8]) -> Result<&'a [u8], WireError> {
    let length = usize::try_from(take_number(body)?).map_err(|_| CUT)?;
    take(body, length)
}

/// An error packet: 0xff, its number, `#` and five letters, the text.
fn error_message(body: &[u8]) -> Result<ServerMessage, WireError> {
    let mut body = body;
    let number = take(&mut body, 3)?;
    let code = u16::from_le_bytes([number[1], number[2]]).to_string();
    if body.first() == Some(&b'#') {
        take(&mut body, 6)?;
    }
    Ok(ServerMessage { code, text: String::from_utf8_lossy(body).into_owned() })
}

/// The name in a description of a column: the fifth of its texts.
fn column_name(mut body: &[u8]) -> Result<String, WireError> {
    for _ in 0..4 {
        take_text(&mut body)?;
    }
    Ok(String::from_utf8_lossy(take_text(&mut body)?).into_owned())
}

/// Values of a row of a statement that was sent as text.
fn values(mut body: &[u8], columns: u64) -> Result<Vec<Option<String>>, WireError> {
    let value = |_| {
        if body.first() == Some(&0xfb) {
            take(&mut body, 1)?;
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(take_text(&mut body)?).into_owned()))
    };
    (0..columns).map(value).collect()
}

#[cfg(test)]
mod tests;
