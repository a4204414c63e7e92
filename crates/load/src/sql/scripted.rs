//! A peer for tests: a thread on a Unix socket that speaks bytes written down beforehand. It answers each message that it gets by the
//! next of its answers, and then closes the connection.

use model::wire::{Endpoint, ServerAddress};
use model::workload::sql::Dialect;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

/// One peer, for one connection.
pub struct Peer {
    directory: tempfile::TempDir,
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
        let listener = UnixListener::bind(directory.path().join("s")).unwrap();
        let thread = std::thread::spawn(move || speak(&listener));
        Peer { directory, thread: Some(thread) }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::Socket { path: self.directory.path().join("s") }
    }

    /// The same, for a user without a password.
    pub fn address(&self, dialect: Dialect) -> ServerAddress {
        ServerAddress {
            dialect,
            endpoint: self.endpoint(),
            user: "bench".to_owned(),
            password: None,
            database: "bench".to_owned(),
            storage: None,
        }
    }

    /// The messages that it got, once the connection is over.
    pub fn received(mut self) -> Vec<Vec<u8>> {
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Sends one answer for each message; what was received.
fn answered(mut stream: UnixStream, answers: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
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
