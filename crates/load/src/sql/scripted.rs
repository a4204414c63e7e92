//! A peer for tests: a thread on a Unix socket, or at a port, that speaks bytes written down beforehand. It answers each message
//! that it gets by the next of its answers, and then closes the connection.

use model::address::{Endpoint, ServerAddress};
use model::workload::sql::Dialect;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

/// One peer, for one connection.
pub struct Peer {
    endpoint: Endpoint,
    /// That of its socket, which goes with it.
    _directory: Option<tempfile::TempDir>,
    thread: Option<JoinHandle<Vec<Vec<u8>>>>,
}

impl Peer {
    /// Sends all pieces as soon as somebody connects.
    pub fn sending(pieces: Vec<Vec<u8>>) -> Peer {
        Peer::start(move |mut stream| {
            for piece in pieces {
                let _ = stream.write_all(&piece);
            }
            Vec::new()
        })
    }

    /// Sends the greeting, then one answer for each message.
    pub fn answering(greeting: Vec<u8>, answers: Vec<Vec<u8>>) -> Peer {
        Peer::start(move |mut stream| {
            let _ = stream.write_all(&greeting);
            answered(stream, answers)
        })
    }

    /// The same at a port of 127.0.0.1.
    pub fn answering_by_tcp(greeting: Vec<u8>, answers: Vec<Vec<u8>>) -> Peer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let _ = stream.write_all(&greeting);
            answered(stream, answers)
        });
        let endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port };
        Peer { endpoint, _directory: None, thread: Some(thread) }
    }

    /// For each of some connections, one after another, an answer for each message; what they sent stands together.
    pub fn answering_each(connections: Vec<Vec<Vec<u8>>>) -> Peer {
        Peer::listen(move |listener| {
            let each = connections.into_iter();
            each.flat_map(|answers| answered(listener.accept().unwrap().0, answers)).collect()
        })
    }

    fn start(speak: impl FnOnce(UnixStream) -> Vec<Vec<u8>> + Send + 'static) -> Peer {
        Peer::listen(move |listener| speak(listener.accept().unwrap().0))
    }

    fn listen(speak: impl FnOnce(&UnixListener) -> Vec<Vec<u8>> + Send + 'static) -> Peer {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let thread = std::thread::spawn(move || speak(&listener));
        Peer { endpoint: Endpoint::Socket { path }, _directory: Some(directory), thread: Some(thread) }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// The same, for a user without a password.
    pub fn address(&self, dialect: Dialect) -> ServerAddress {
        ServerAddress::new(dialect, self.endpoint(), "bench", "bench")
    }

    /// The messages that it got, once the connection is over.
    pub fn received(mut self) -> Vec<Vec<u8>> {
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Sends one answer for each message; what was received.
fn answered(mut stream: impl Read + Write, answers: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut received = Vec::new();
    for answer in answers {
        let mut message = vec![0; 1 << 20];
        match stream.read(&mut message) {
            Ok(length @ 1..) => message.truncate(length),
            Ok(0) | Err(_) => break,
        }
        received.push(message);
        if stream.write_all(&answer).is_err() {
            break;
        }
    }
    received
}

/// A Postgres that has let its client in.
pub const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// One that has carried out a statement without rows.
pub const DONE: &[u8] = b"C\0\0\0\x0bVACUUM\0Z\0\0\0\x05I";

/// Rows of one column, as Postgres sends them.
pub fn column(values: &[&str]) -> Vec<u8> {
    let mut answer = Vec::new();
    for value in values {
        let length = u8::try_from(value.len()).unwrap();
        answer.extend_from_slice(&[b'D', 0, 0, 0, 10 + length, 0, 1, 0, 0, 0, length]);
        answer.extend_from_slice(value.as_bytes());
    }
    answer.extend_from_slice(DONE);
    answer
}

/// The statement in a message to Postgres.
pub fn statement(message: &[u8]) -> String {
    String::from_utf8_lossy(&message[5..message.len() - 1]).into_owned()
}
