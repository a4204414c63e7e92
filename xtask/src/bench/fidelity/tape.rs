//! What a client sends to a server, written down on its way there, and sent again by a program that is the same for every client.
//!
//! The CPU time of a server depends on the program that asks it: 8 KiB more of code that a client runs between two statements cost Postgres 2 % and MariaDB
//! 3 %, since both programs share caches. Sent again by one program, only what was sent is left to differ.

mod replay;
mod stream;

use anyhow::Context;
use model::address::ServerAddress;
use model::workload::sql::Dialect;
pub use replay::in_turns;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use stream::{Listener, Stream};

/// How often it is looked for the next connection of a client.
const LOOK: Duration = Duration::from_millis(2);
/// Bytes that are read at once, as by libpq.
const BUFFER: usize = 16 << 10;

/// All that a client and a server said on one connection.
pub struct Tape {
    dialect: Dialect,
    exchanges: Vec<Exchange>,
}

impl Tape {
    /// How often the client asked.
    pub fn requests(&self) -> u64 {
        self.exchanges.iter().filter(|exchange| !exchange.sent.is_empty()).count() as u64
    }
}

/// What was sent until the server answered, and how many bytes it answered until more was sent. A server that speaks first was sent nothing.
#[derive(Debug, Default, PartialEq)]
struct Exchange {
    sent: Vec<u8>,
    answered: usize,
    /// Of the answer the first bytes, and zeros if it is shorter.
    begin: [u8; BEGIN],
    /// Its last byte.
    end: u8,
}

/// So many hold the number of a statement that MySQL has prepared, or what it says of a transaction in a short answer.
const BEGIN: usize = 9;

impl Exchange {
    /// Whether a transaction that the client began is open after it; none if the answer does not say.
    fn leaves_open(&self, dialect: Dialect) -> Option<bool> {
        match dialect {
            // Every answer ends with ReadyForQuery, and that with the state: idle, or within a transaction.
            Dialect::Postgres => (self.answered > 0).then_some(self.end != b'I'),
            // An OK of seven bytes behind its head: no rows, no text; its flags follow two numbers of a byte.
            Dialect::Mysql => match self.begin {
                [7, 0, 0, _, 0, _, _, flags, _] if self.answered == 11 => Some(flags & IN_TRANSACTION != 0),
                _ => None,
            },
            Dialect::Mongodb => None,
        }
    }
}

/// SERVER_STATUS_IN_TRANS of MySQL.
const IN_TRANSACTION: u8 = 1;

/// Has a client run that takes the recorder for the server: what it sent on the connection on which it asked most.
pub fn record(
    server: &ServerAddress,
    directory: &Path,
    run: impl FnOnce(&ServerAddress) -> anyhow::Result<()>,
) -> anyhow::Result<Tape> {
    let (listener, endpoint) = Listener::beside(&server.endpoint, directory)?;
    let recorder = ServerAddress { endpoint, ..server.clone() };
    let (is_over, recorded) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let ran = thread::scope(|scope| {
        let accepting = scope.spawn(|| -> anyhow::Result<()> {
            while !is_over.load(Ordering::Acquire) {
                let Some(client) = listener.accept()? else {
                    thread::sleep(LOOK);
                    continue;
                };
                let server = Stream::connect(&server.endpoint)?;
                let recorded = &recorded;
                scope.spawn(move || {
                    let log = relay(&client, &server);
                    recorded.lock().unwrap_or_else(PoisonError::into_inner).push(log);
                });
            }
            Ok(())
        });
        let ran = run(&recorder);
        is_over.store(true, Ordering::Release);
        let accepted = accepting.join().unwrap_or_else(|_| unreachable!("it does not panic"));
        ran.and(accepted)
    });
    ran?;
    let recorded = recorded.into_inner().unwrap_or_else(PoisonError::into_inner);
    let longest = recorded.into_iter().max_by_key(Vec::len).context("the client made no connection")?;
    Ok(Tape { dialect: server.dialect, exchanges: longest })
}

/// Passes on what both send until both have ended. Everything is written down before it is passed on, so that nothing can be answered before that.
fn relay(client: &Stream, server: &Stream) -> Vec<Exchange> {
    let log = Mutex::new(Vec::<Exchange>::new());
    let on_last = |is_begun: fn(&Exchange) -> bool, note: &dyn Fn(&mut Exchange)| {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.last().is_none_or(|last| !is_begun(last)) {
            log.push(Exchange::default());
        }
        log.last_mut().into_iter().for_each(note);
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            pass(client, server, |bytes| {
                on_last(|last| last.answered == 0, &|last| last.sent.extend_from_slice(bytes));
            });
            server.send_no_more();
        });
        pass(server, client, |bytes| {
            on_last(|_| true, &|last| {
                let known = last.answered.min(BEGIN);
                last.begin[known..].iter_mut().zip(bytes).for_each(|(kept, byte)| *kept = *byte);
                last.answered += bytes.len();
                last.end = bytes.last().copied().unwrap_or(last.end);
            });
        });
        client.send_no_more();
    });
    log.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn pass(mut from: &Stream, mut to: &Stream, note: impl Fn(&[u8])) {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer) {
            Ok(length @ 1..) => {
                note(&buffer[..length]);
                if to.write_all(&buffer[..length]).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::ensure;
    use model::address::Endpoint;
    use std::cell::Cell;
    use std::os::unix::net::UnixListener;

    /// Greets, and answers each byte with two of it. Without an end it waits for the client's.
    fn serve(listener: &UnixListener, clients: usize) {
        for _ in 0..clients {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"hello").unwrap();
            let mut byte = [0];
            while stream.read(&mut byte).unwrap() == 1 {
                stream.write_all(&[byte[0]; 2]).unwrap();
            }
        }
    }

    fn exchange((sent, answered, begin, end): (&[u8], usize, [u8; BEGIN], u8)) -> Exchange {
        Exchange { sent: sent.to_vec(), answered, begin, end }
    }

    #[test]
    fn what_a_client_sent_is_sent_again_and_another_answer_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let endpoint = Endpoint::Socket { path };
        let address = ServerAddress::new(Dialect::Mysql, endpoint, "me", "db");
        thread::scope(|scope| {
            // The recorder, both in turns, and the one that fails first.
            scope.spawn(|| serve(&listener, 4));
            let taped = record(&address, directory.path(), |recorder| {
                let stream = Stream::connect(&recorder.endpoint)?;
                let (mut stream, mut answer) = (&stream, [0; 6]);
                stream.read_exact(&mut answer[..5])?;
                stream.write_all(b"abc")?;
                stream.read_exact(&mut answer)?;
                ensure!(&answer == b"aabbcc");
                stream.write_all(b"d")?;
                stream.read_exact(&mut answer[..2])?;
                Ok(())
            })
            .unwrap();
            let expected = [
                (&b""[..], 5, *b"hello\0\0\0\0", b'o'),
                (b"abc", 6, *b"aabbcc\0\0\0", b'c'),
                (b"d", 2, *b"dd\0\0\0\0\0\0\0", b'd'),
            ];
            assert_eq!(taped.exchanges, expected.map(exchange));
            // A server that uses a microsecond from one look to the next.
            let told = Cell::new(0);
            let meter = || {
                told.set(told.get() + 1);
                Ok(Duration::from_micros(told.get()))
            };
            let used_for = in_turns(&address, [&taped, &taped], meter).unwrap();
            assert!(used_for.iter().all(|used| *used > Duration::ZERO), "{used_for:?}");
            assert!(used_for.iter().sum::<Duration>() < Duration::from_micros(told.get()));
            let other = exchange((b"a", 6, [0; BEGIN], b'a'));
            let other = Tape { exchanges: vec![other], ..taped };
            let error = in_turns(&address, [&other, &other], meter).unwrap_err();
            assert!(error.to_string().contains("answered more than before"), "{error:#}");
        });
    }

    /// As Postgres and MariaDB answer BEGIN, COMMIT, an update and a query.
    #[test]
    fn the_answer_says_whether_a_transaction_is_open() {
        let open = |dialect, answer: &[u8]| {
            let mut begin = [0; BEGIN];
            begin.iter_mut().zip(answer).for_each(|(kept, byte)| *kept = *byte);
            let end = answer.last().copied().unwrap_or(0);
            exchange((b"", answer.len(), begin, end)).leaves_open(dialect)
        };
        assert_eq!(open(Dialect::Postgres, b"C\0\0\0\x0aBEGIN\0Z\0\0\0\x05T"), Some(true));
        assert_eq!(open(Dialect::Postgres, b"C\0\0\0\x0bCOMMIT\0Z\0\0\0\x05I"), Some(false));
        assert_eq!(open(Dialect::Postgres, b""), None);
        assert_eq!(open(Dialect::Mysql, b"\x07\0\0\x01\0\0\0\x03\0\0\0"), Some(true));
        assert_eq!(open(Dialect::Mysql, b"\x07\0\0\x01\0\0\0\x02\0\0\0"), Some(false));
        let update = b"\x30\0\0\x01\0\x01\0\x02\0\0\0\x28Rows matched: 1  Changed: 1  Warnings: 0";
        assert_eq!(open(Dialect::Mysql, update), None);
        assert_eq!(open(Dialect::Mysql, b"\x01\0\0\x01\x01\x17\0\0\x02\x03def"), None);
    }
}
