//! What a client sends to a server, written down on its way there, and sent again by a program that is the same for every client.
//!
//! The CPU time of a server depends on the program that asks it: 8 KiB more of code that a client runs between two statements cost Postgres 2 % and MariaDB
//! 3 %, since both programs share caches. Sent again by one program, only what was sent is left to differ.

use anyhow::{Context, bail, ensure};
use model::address::{Endpoint, ServerAddress};
use model::workload::sql::Dialect;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked for the next connection of a client.
const LOOK: Duration = Duration::from_millis(2);
/// A server that has not answered for so long answers otherwise than it did.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes that are read at once, as by libpq.
const BUFFER: usize = 16 << 10;

#[derive(clap::Args)]
pub struct Arguments {
    tape: PathBuf,
    /// The server as JSON
    address: String,
}

/// Sends what is on the tape.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let address: ServerAddress =
        serde_json::from_str(&arguments.address).context("no address of a server")?;
    let bytes = fs::read(&arguments.tape)
        .with_context(|| format!("failed to read `{}`", arguments.tape.display()))?;
    let tape = exchanges(&bytes).context("the tape is cut")?;
    replay(&tape, address.dialect, &Stream::connect(&address.endpoint)?)
}

/// What was sent until the server answered, and how many bytes it answered until more was sent. A server that speaks first was sent nothing.
#[derive(Debug, Default, PartialEq)]
struct Exchange {
    sent: Vec<u8>,
    answered: u64,
    /// Of the answer the first bytes, and zeros if it is shorter.
    begin: [u8; BEGIN],
}

/// So many hold the number of a statement that MySQL has prepared.
const BEGIN: usize = 9;

/// Has a client run that takes the recorder for the server, and writes down what it sent on the connection on which it asked most.
pub fn record(
    server: &ServerAddress,
    directory: &Path,
    tape: &Path,
    run: impl FnOnce(&ServerAddress) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
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
    let mut bytes = Vec::new();
    for Exchange { sent, answered, begin } in &longest {
        bytes.extend_from_slice(&(sent.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&answered.to_le_bytes());
        bytes.extend_from_slice(begin);
        bytes.extend_from_slice(sent);
    }
    fs::write(tape, bytes).with_context(|| format!("failed to write `{}`", tape.display()))
}

fn exchanges(mut bytes: &[u8]) -> Option<Vec<Exchange>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (answered, rest) = rest.split_first_chunk::<8>()?;
        let (begin, rest) = rest.split_first_chunk::<BEGIN>()?;
        let (sent, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        all.push(Exchange { sent: sent.to_vec(), answered: u64::from_le_bytes(*answered), begin: *begin });
        bytes = rest;
    }
    Some(all)
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
                let known = usize::try_from(last.answered).map_or(BEGIN, |known| known.min(BEGIN));
                last.begin[known..].iter_mut().zip(bytes).for_each(|(kept, byte)| *kept = *byte);
                last.answered += bytes.len() as u64;
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

/// # Errors
/// Answers of other lengths than those on the tape.
fn replay(tape: &[Exchange], dialect: Dialect, mut server: &Stream) -> anyhow::Result<()> {
    server.time_out(ANSWER_TIMEOUT)?;
    let mut buffer = vec![0; BUFFER];
    let mut statements = Statements::default();
    let mut sent = Vec::new();
    for (exchange, number) in tape.iter().zip(1..) {
        let answered = exchange.answered;
        let failed = || {
            format!(
                "the server did not answer request {number} of {} with {answered} bytes as before",
                tape.len()
            )
        };
        sent.clone_from(&exchange.sent);
        if dialect == Dialect::Mysql {
            statements.renumber(&mut sent);
        }
        server.write_all(&sent).with_context(failed)?;
        let (mut begin, mut begun) = ([0; BEGIN], 0);
        let (mut left, began) = (usize::try_from(answered)?, Instant::now());
        while left > 0 {
            let most = left.min(buffer.len());
            match server.read(&mut buffer[..most]) {
                Ok(length @ 1..) => {
                    begin[begun..].iter_mut().zip(&buffer[..length]).for_each(|(kept, byte)| *kept = *byte);
                    begun = (begun + length).min(BEGIN);
                    left -= length;
                }
                // It was stopped at the end of its turn, and the time of the timeout begins anew.
                Err(error) if error.kind() == ErrorKind::Interrupted && began.elapsed() < ANSWER_TIMEOUT => {}
                Ok(_) => bail!(failed()),
                Err(error) => return Err(error).with_context(failed),
            }
        }
        if dialect == Dialect::Mysql && command(&exchange.sent) == Some(PREPARE) {
            statements.learn(&exchange.begin, &begin);
        }
    }
    server.send_no_more();
    let mut more = Vec::new();
    server.read_to_end(&mut more).context("the server did not end the connection")?;
    ensure!(more.is_empty(), "the server answered more than before");
    Ok(())
}

/// COM_STMT_PREPARE of MySQL, and the commands that begin with the number of a statement: EXECUTE, SEND_LONG_DATA, CLOSE, RESET.
const PREPARE: u8 = 0x16;
const OF_STATEMENT: RangeInclusive<u8> = 0x17..=0x1a;

/// What the server calls prepared statements, by their numbers on the tape: a server of MariaDB numbers those of all connections together.
#[derive(Default)]
struct Statements(BTreeMap<[u8; 4], [u8; 4]>);

impl Statements {
    /// Of the answers to a PREPARE: a packet's head of four bytes, a zero, the number.
    fn learn(&mut self, taped: &[u8; BEGIN], answered: &[u8; BEGIN]) {
        let number = |begin: &[u8; BEGIN]| [begin[5], begin[6], begin[7], begin[8]];
        self.0.insert(number(taped), number(answered));
    }

    fn renumber(&self, mut sent: &mut [u8]) {
        while let Some(length) = packet(sent) {
            let (one, rest) = sent.split_at_mut(length);
            if command(one).is_some_and(|command| OF_STATEMENT.contains(&command))
                && let Some(number) = one.get_mut(5..BEGIN)
                && let Some(new) = <[u8; 4]>::try_from(&*number).ok().and_then(|old| self.0.get(&old))
            {
                number.copy_from_slice(new);
            }
            sent = rest;
        }
    }
}

/// The length of the first packet of MySQL with its head, if it is whole.
fn packet(bytes: &[u8]) -> Option<usize> {
    let [low, middle, high, _] = *bytes.first_chunk::<4>()?;
    let length = 4 + usize::from(low) + (usize::from(middle) << 8) + (usize::from(high) << 16);
    (length <= bytes.len()).then_some(length)
}

/// Of a packet that begins one.
fn command(packet: &[u8]) -> Option<u8> {
    (*packet.get(3)? == 0).then(|| packet.get(4).copied()).flatten()
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// One that clients reach as they would reach the server: over TCP, or by a socket of the same file name in this directory.
    fn beside(server: &Endpoint, directory: &Path) -> anyhow::Result<(Listener, Endpoint)> {
        match server {
            Endpoint::Socket { path } => {
                let directory = directory.join("recorder");
                fs::create_dir_all(&directory).context("failed to make a directory for a socket")?;
                let path = directory.join(path.file_name().context("a socket has a file name")?);
                let _ = fs::remove_file(&path);
                let listener = UnixListener::bind(&path)
                    .with_context(|| format!("failed to bind `{}`", path.display()))?;
                listener.set_nonblocking(true)?;
                Ok((Listener::Unix(listener), Endpoint::Socket { path }))
            }
            Endpoint::Tcp { .. } => {
                let host = "127.0.0.1";
                let listener = TcpListener::bind((host, 0)).context("failed to bind a port")?;
                listener.set_nonblocking(true)?;
                let port = listener.local_addr()?.port();
                Ok((Listener::Tcp(listener), Endpoint::Tcp { host: host.to_owned(), port }))
            }
        }
    }

    /// The next connection, if there is one.
    fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match self {
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
        };
        match accepted {
            Ok(stream) => stream.set_up().map(Some),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn connect(endpoint: &Endpoint) -> anyhow::Result<Stream> {
        let stream = match endpoint {
            Endpoint::Socket { path } => UnixStream::connect(path).map(Stream::Unix),
            Endpoint::Tcp { host, port } => TcpStream::connect((host.as_str(), *port)).map(Stream::Tcp),
        };
        stream.and_then(Stream::set_up).with_context(|| format!("failed to connect to {endpoint:?}"))
    }

    /// Neither waits for more to send, as the clients do not.
    fn set_up(self) -> io::Result<Stream> {
        match &self {
            Stream::Unix(stream) => stream.set_nonblocking(false)?,
            Stream::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
            }
        }
        Ok(self)
    }

    fn time_out(&self, after: Duration) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_read_timeout(Some(after)),
            Stream::Tcp(stream) => stream.set_read_timeout(Some(after)),
        }
    }

    /// If the other side is gone, it needs no end.
    fn send_no_more(&self) {
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).read(buffer),
            Stream::Tcp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).write(bytes),
            Stream::Tcp(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn what_a_client_sent_is_sent_again_and_another_answer_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let endpoint = Endpoint::Socket { path };
        let address = ServerAddress::new(Dialect::Mysql, endpoint.clone(), "me", "db");
        let tape = directory.path().join("tape");
        thread::scope(|scope| {
            scope.spawn(|| serve(&listener, 3));
            record(&address, directory.path(), &tape, |recorder| {
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
            let taped = exchanges(&fs::read(&tape).unwrap()).unwrap();
            let expected = [
                (&b""[..], 5, *b"hello\0\0\0\0"),
                (b"abc", 6, *b"aabbcc\0\0\0"),
                (b"d", 2, *b"dd\0\0\0\0\0\0\0"),
            ];
            let exchange =
                |(sent, answered, begin): (&[u8], _, _)| Exchange { sent: sent.to_vec(), answered, begin };
            assert_eq!(taped, expected.map(exchange));
            let replay =
                |tape: &[Exchange]| replay(tape, Dialect::Postgres, &Stream::connect(&endpoint).unwrap());
            replay(&taped).unwrap();
            let error = replay(&[exchange((b"a", 6, [0; BEGIN]))]).unwrap_err();
            assert!(error.to_string().contains("answered more than before"), "{error:#}");
        });
    }

    #[test]
    fn a_tape_that_is_cut_is_none() {
        let whole = [&3_u64.to_le_bytes()[..], &7_u64.to_le_bytes(), b"beginning", b"abc"].concat();
        let expected = Exchange { sent: b"abc".to_vec(), answered: 7, begin: *b"beginning" };
        assert_eq!(exchanges(&whole), Some(vec![expected]));
        for length in 1..whole.len() {
            assert_eq!(exchanges(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn statements_are_executed_by_the_numbers_that_the_server_has_for_them_now() {
        let mut statements = Statements::default();
        statements.learn(b"\x0c\0\0\x01\0\x03\0\0\0", b"\x0c\0\0\x01\0\x07\x01\0\0");
        // EXECUTE of 3 and of 4, CLOSE of 3, a query with the same bytes.
        let mut sent = [
            &b"\x06\0\0\0\x17\x03\0\0\0x"[..],
            b"\x05\0\0\0\x17\x04\0\0\0",
            b"\x05\0\0\0\x19\x03\0\0\0",
            b"\x05\0\0\0\x03\x03\0\0\0",
        ]
        .concat();
        statements.renumber(&mut sent);
        let expected = [
            &b"\x06\0\0\0\x17\x07\x01\0\0x"[..],
            b"\x05\0\0\0\x17\x04\0\0\0",
            b"\x05\0\0\0\x19\x07\x01\0\0",
            b"\x05\0\0\0\x03\x03\0\0\0",
        ];
        assert_eq!(sent, expected.concat());
    }
}
