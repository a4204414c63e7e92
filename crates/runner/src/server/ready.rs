//! Whether a server is ready for clients: it accepts, and it greets. That a socket file is there, or that a connection
//! is accepted, says less: both come before recovery has ended.

use model::wire::{Endpoint, ServerAddress};
use model::workload::sql::Dialect;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The longest that one look waits for an answer.
const READ_WAIT: Duration = Duration::from_millis(4);
/// A greeting is some hundred bytes; more is none.
const MOST_BYTES: usize = 64 << 10;
/// Version 3.0 of the protocol of Postgres.
const POSTGRES_PROTOCOL: u32 = 196_608;
/// "The database system is starting up", among Postgres' codes.
const CANNOT_CONNECT_NOW: &str = "57P03";
/// The version of the protocol that MySQL and MariaDB greet with.
const MYSQL_PROTOCOL: u8 = 10;

/// How far a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It does not answer yet.
    Waiting,
    /// A client can work.
    Ready,
    /// It answers that no client can work, in its words.
    Refused(String),
}

trait Stream: Read + Write {}
impl Stream for UnixStream {}
impl Stream for TcpStream {}

/// A connection that is tried until the server greets.
pub struct Greeting<'a> {
    address: &'a ServerAddress,
    stream: Option<Box<dyn Stream>>,
    received: Vec<u8>,
}

impl<'a> Greeting<'a> {
    /// A first try.
    pub fn new(address: &'a ServerAddress) -> Greeting<'a> {
        Greeting { address, stream: None, received: Vec::new() }
    }

    /// Looks once, for a few milliseconds at most.
    pub fn look(&mut self) -> Progress {
        let progress = self.exchange().unwrap_or(Progress::Waiting);
        if progress == Progress::Waiting && self.stream.is_none() {
            self.received.clear();
        }
        progress
    }

    /// An error means that this connection has come to nothing.
    fn exchange(&mut self) -> io::Result<Progress> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(connect(self.address)?),
        };
        let mut bytes = [0; 1024];
        match stream.read(&mut bytes) {
            Ok(0) => self.stream = None,
            Ok(count) => self.received.extend_from_slice(&bytes[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => self.stream = None,
        }
        let progress = match self.address.dialect {
            Dialect::Postgres => postgres_progress(&self.received),
            Dialect::Mysql => mysql_progress(&self.received),
        };
        match progress {
            Some(Progress::Ready) => {
                if let (Dialect::Postgres, Some(stream)) = (self.address.dialect, &mut self.stream) {
                    // "Terminate"; without it the server logs a client that broke off, which is no harm.
                    let _ = stream.write_all(&[b'X', 0, 0, 0, 4]);
                }
            }
            Some(_) => self.stream = None,
            None if self.received.len() > MOST_BYTES => {
                return Ok(Progress::Refused(
                    "its greeting has no end; is it the server that was meant?".to_owned(),
                ));
            }
            None => {}
        }
        Ok(progress.unwrap_or(Progress::Waiting))
    }
}

fn connect(address: &ServerAddress) -> io::Result<Box<dyn Stream>> {
    let mut stream: Box<dyn Stream> = match &address.endpoint {
        Endpoint::Socket { path } => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(READ_WAIT))?;
            Box::new(stream)
        }
        Endpoint::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port))?;
            stream.set_read_timeout(Some(READ_WAIT))?;
            Box::new(stream)
        }
    };
    if address.dialect == Dialect::Postgres {
        stream.write_all(&startup_message(&address.user, &address.database))?;
    }
    Ok(stream)
}

/// Length, version, then names and values, each ended by a zero, and a zero.
fn startup_message(user: &str, database: &str) -> Vec<u8> {
    let mut body = POSTGRES_PROTOCOL.to_be_bytes().to_vec();
    for text in ["user", user, "database", database] {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.push(0);
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &body].concat()
}

/// Messages of a kind, a length that counts itself, and a body. Absent where what decides has not come yet.
fn postgres_progress(received: &[u8]) -> Option<Progress> {
    let mut rest = received;
    while let [kind, a, b, c, d, after @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]);
        let Some(length) = usize::try_from(length).ok().and_then(|length| length.checked_sub(4)) else {
            return Some(Progress::Refused("it does not speak the protocol of Postgres".to_owned()));
        };
        let body = after.get(..length)?;
        match (kind, body) {
            (b'Z', _) => return Some(Progress::Ready),
            (b'E', _) if field(body, b'C').as_deref() == Some(CANNOT_CONNECT_NOW) => {
                return Some(Progress::Waiting);
            }
            (b'E', _) => {
                return Some(Progress::Refused(
                    field(body, b'M').unwrap_or_else(|| "it gives no reason".to_owned()),
                ));
            }
            (b'R', [0, 0, 0, 0, ..]) => {}
            (b'R', _) => return Some(Progress::Refused("it asks for a password".to_owned())),
            _ => {}
        }
        rest = &after[length..];
    }
    None
}

/// A field of Postgres' error: a letter, text, a zero.
fn field(body: &[u8], letter: u8) -> Option<String> {
    body.split(|byte| *byte == 0)
        .find(|field| field.first() == Some(&letter))
        .map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
}

/// Three bytes of length, one of sequence, then the version of the protocol, or 255 and an error's number and text.
fn mysql_progress(received: &[u8]) -> Option<Progress> {
    let [a, b, c, _, body @ ..] = received else { return None };
    let body = body.get(..usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16)?;
    Some(match body {
        [MYSQL_PROTOCOL, ..] => Progress::Ready,
        [255, _, _, message @ ..] => Progress::Refused(String::from_utf8_lossy(message).into_owned()),
        _ => Progress::Refused("it does not speak the protocol of MySQL".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind], &length[..], body].concat()
    }

    #[test]
    fn postgres_is_ready_when_it_waits_for_a_query_and_not_before() {
        let welcome =
            [message(b'R', &[0; 4]), message(b'S', b"server_version\x0016.3\0"), message(b'Z', b"I")]
                .concat();
        assert_eq!(postgres_progress(&welcome), Some(Progress::Ready));
        for cut in 0..welcome.len() {
            assert_eq!(postgres_progress(&welcome[..cut]), None, "{cut} bytes");
        }
        let starting = message(b'E', b"SFATAL\0C57P03\0Mthe database system is starting up\0\0");
        assert_eq!(postgres_progress(&starting), Some(Progress::Waiting));
        let refused = message(b'E', b"SFATAL\0C3D000\0Mdatabase \"x\" does not exist\0\0");
        let expected = Progress::Refused("database \"x\" does not exist".to_owned());
        assert_eq!(postgres_progress(&refused), Some(expected));
        let password = message(b'R', &[0, 0, 0, 10]);
        assert!(matches!(postgres_progress(&password), Some(Progress::Refused(_))));
    }

    #[test]
    fn mysql_is_ready_when_its_greeting_is_there() {
        let greeting = [5, 0, 0, 0, 10, b'8', b'.', b'0', 0];
        assert_eq!(mysql_progress(&greeting), Some(Progress::Ready));
        for cut in 0..greeting.len() {
            assert_eq!(mysql_progress(&greeting[..cut]), None, "{cut} bytes");
        }
        let full = [&[11, 0, 0, 0, 255, 16, 4][..], b"Too many"].concat();
        assert_eq!(mysql_progress(&full), Some(Progress::Refused("Too many".to_owned())));
    }
}
