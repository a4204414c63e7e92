//! Sockets and threads: each connection is read by a thread of its own, asks once, is answered and closed; a few threads make
//! the pages. Connections, bytes and times are bounded, so that no client keeps others from being answered.
//!
//! The only file that writes HTTP; `head` reads it. Why there is no library for that: ADR 018.

use super::answers::Site;
use super::asked::{Answer, Asked, Method};
use super::connections::{Connection, Connections};
use super::head;
use anyhow::Context;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use runner::clock;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// Threads that make pages: that takes CPU, and the host may be measuring.
const WORKERS: usize = 2;
/// Requests that wait for one of them; a browser asks for one page at a time.
const MOST_WAITING: usize = 32;
/// How long a request waits for its page; the slowest take less than a second.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How long what was asked is answered still after it is to stop.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a client has to close its side after an answer, and what it may send meanwhile: see [`close`].
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const MOST_IGNORED_BYTES: u64 = 64 << 10;
/// What is written between two looks at the clock.
const PIECE_BYTES: usize = 64 << 10;
/// After this a connection is tried to be accepted again if there was no room for it.
const ROOM_PAUSE: Duration = Duration::from_millis(100);
/// How often it is said that there is none.
const ROOM_NOTICE: Duration = Duration::from_secs(60);

/// What one client may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Each has a thread and a file descriptor.
    connections: usize,
    /// From the beginning of a connection until its request has come.
    head: Duration,
    /// From the moment that an answer is made until the client has read it: some megabytes on a slow line.
    answer: Duration,
}

const LIMITS: Limits =
    Limits { connections: 64, head: Duration::from_secs(10), answer: Duration::from_secs(60) };

/// Answers until `stop` is set; then what was asked before is answered still.
pub fn run(listener: TcpListener, site: &Site, stop: &AtomicBool) -> anyhow::Result<()> {
    run_within(LIMITS, listener, site, stop)
}

fn run_within(limits: Limits, listener: TcpListener, site: &Site, stop: &AtomicBool) -> anyhow::Result<()> {
    accept_for_a_moment_only(&listener).context("failed to set a timeout of the listening socket")?;
    let (jobs, waiting) = sync_channel(MOST_WAITING);
    let server = Server {
        site,
        limits,
        connections: Connections::new(limits.connections),
        waiting: Mutex::new(waiting),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| server.make_pages());
        }
        server.accept(scope, listener, jobs, stop);
        server.connections.finish(END_TIMEOUT);
        server.is_over.store(true, Ordering::Relaxed);
    });
    Ok(())
}

/// On Linux `accept` heeds the timeout for reading of its socket, which can be set on a `TcpStream` only.
fn accept_for_a_moment_only(listener: &TcpListener) -> io::Result<()> {
    let same_socket = TcpStream::from(OwnedFd::from(listener.try_clone()?));
    same_socket.set_read_timeout(Some(LOOK))
}

struct Server<'a> {
    site: &'a Site,
    limits: Limits,
    connections: Connections,
    waiting: Mutex<Receiver<Job>>,
    /// Whether the time for the last answers is over.
    is_over: AtomicBool,
}

/// A page to be made.
struct Job {
    asked: Asked,
    reply: SyncSender<Answer>,
}

impl Server<'_> {
    /// Begins to read each connection that comes. No error ends it: what is not ours to mend (no file descriptor, no memory)
    /// may be over in a moment.
    fn accept<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        listener: TcpListener,
        jobs: SyncSender<Job>,
        stop: &AtomicBool,
    ) {
        let mut noticed: Option<Instant> = None;
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => {
                    let connection = self.connections.add(stream);
                    let jobs = jobs.clone();
                    // If there can be no thread for it, the connection is closed.
                    let _ =
                        thread::Builder::new().spawn_scoped(scope, move || self.converse(&connection, &jobs));
                }
                Err(error) if is_of_no_importance(error.kind()) => {}
                Err(error) => {
                    if noticed.is_none_or(|noticed| noticed.elapsed() >= ROOM_NOTICE) {
                        // Where standard error is closed there is nobody to tell.
                        let _ = writeln!(
                            io::stderr(),
                            "dbdyno serve: failed to accept a connection: {error}; trying again"
                        );
                        noticed = Some(Instant::now());
                    }
                    self.connections.make_room();
                    thread::sleep(ROOM_PAUSE);
                }
            }
        }
    }

    /// One request and its answer.
    fn converse(&self, connection: &Connection<'_>, jobs: &SyncSender<Job>) {
        let stream = connection.stream();
        let (answer, with_body) = match head::read(&mut Timed::new(stream, self.limits.head)) {
            Ok(asked) => {
                connection.has_asked();
                let with_body = asked.method != Method::Head;
                (page(asked, jobs), with_body)
            }
            Err(refusal) => match refusal.answer() {
                Some(answer) => (answer, true),
                None => return,
            },
        };
        // Who asked may have gone: there is nobody left to tell.
        if write(&mut Timed::new(stream, self.limits.answer), &answer, with_body).is_ok() {
            close(stream);
        }
    }

    fn make_pages(&self) {
        while let Some(job) = self.next_job() {
            let answer = if self.is_over.load(Ordering::Relaxed) {
                Site::overloaded()
            } else {
                // A page that cannot be made must not take the thread with it.
                catch_unwind(AssertUnwindSafe(|| self.site.answer(&job.asked)))
                    .unwrap_or_else(|_| Site::broken())
            };
            // An error says that it was waited for too long.
            let _ = job.reply.send(answer);
        }
    }

    fn next_job(&self) -> Option<Job> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }
}

/// No connection within a moment, or one that its client has closed already.
fn is_of_no_importance(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionAborted)
}

/// The page from one of the threads that make them.
fn page(asked: Asked, jobs: &SyncSender<Job>) -> Answer {
    let (reply, answer) = sync_channel(1);
    match jobs.try_send(Job { asked, reply }) {
        Ok(()) => answer.recv_timeout(PAGE_TIMEOUT).unwrap_or_else(|_| Site::overloaded()),
        Err(_) => Site::overloaded(),
    }
}

fn write(to: &mut Timed<'_>, answer: &Answer, with_body: bool) -> io::Result<()> {
    // Head and body are two writes: the second must not wait until the first is acknowledged.
    to.stream.set_nodelay(true)?;
    to.write_all(&head_of(answer))?;
    if with_body { to.write_all(&answer.body) } else { Ok(()) }
}

/// RFC 9112, chapter 4: the words after a status may be empty.
fn head_of(answer: &Answer) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} \r\n", answer.status);
    for (name, value) in answer.all_headers() {
        // A header that could end early is left out.
        if !value.chars().any(|character| character.is_ascii_control()) {
            head += &format!("{name}: {value}\r\n");
        }
    }
    // RFC 9110, chapter 6.6.1: of a server that has a clock.
    if let Some(date) = date(clock::epoch_us()) {
        head += &format!("Date: {date}\r\n");
    }
    head += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", answer.body.len());
    head.into_bytes()
}

/// `Tue, 24 Nov 2026 07:26:51 GMT`
fn date(epoch_us: i64) -> Option<String> {
    let now = Timestamp::from_microsecond(epoch_us).ok()?;
    DateTimePrinter::new().timestamp_to_rfc9110_string(&now).ok()
}

/// Lets the client close first. A socket that is closed while bytes of the client are unread, such as those of a body,
/// resets the connection, and the client may lose the answer.
fn close(stream: &TcpStream) {
    if stream.shutdown(Shutdown::Write).is_ok() {
        // What comes is thrown away, and an error is an end as well.
        let _ = io::copy(&mut Timed::new(stream, CLOSE_TIMEOUT).take(MOST_IGNORED_BYTES), &mut io::sink());
    }
}

/// A socket that is read or written until a deadline, however small the pieces are.
struct Timed<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl<'a> Timed<'a> {
    fn new(stream: &'a TcpStream, timeout: Duration) -> Timed<'a> {
        Timed { stream, deadline: Instant::now() + timeout }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(&bytes[..bytes.len().min(PIECE_BYTES)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
