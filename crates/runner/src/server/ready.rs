//! Whether a server is ready for clients: it accepts, and it greets. That a socket file is there, or that a connection
//! is accepted, says less: both come before recovery has ended.

use super::kind;
use model::address::{Endpoint, ServerAddress};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The longest that one look waits for an answer.
const READ_WAIT: Duration = Duration::from_millis(4);
/// A greeting is some hundred bytes; more is none.
const MOST_BYTES: usize = 64 << 10;

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
        let kind = kind::of(self.address.dialect);
        let progress = kind.progress(&self.received);
        match progress {
            Some(Progress::Ready) => {
                if let Some(stream) = &mut self.stream {
                    // Without it the server logs a client that broke off, which is no harm.
                    let _ = stream.write_all(kind.last_message());
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
    stream.write_all(&kind::of(address.dialect).first_message(address))?;
    Ok(stream)
}
