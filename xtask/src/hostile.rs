//! `cargo xtask hostile`: `dbdyno serve` while 200 connections are used by clients that want to end it or to keep others out. An
//! honest client asks four times a second; it must be answered in time, and the server must stay small.

use crate::e2e::processes;
use crate::served::Serving;
use crate::{http, workspace};
use anyhow::{Context, bail, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// How long
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Connections that hostile clients keep at once
    #[arg(long, default_value_t = 200)]
    connections: usize,
    /// A dbdyno that is built already [default: a release build of this workspace]
    #[arg(long)]
    dbdyno: Option<PathBuf>,
}

/// The honest client's.
const INTERVAL: Duration = Duration::from_millis(250);
const LONGEST_ANSWER: Duration = Duration::from_secs(1);
const MOST_BYTES: u64 = 100_000_000;
const TOKEN: &str = "the-token-of-the-honest-client";
/// What a hostile client waits before it connects again: without it, they would measure how fast the host makes connections.
const PAUSE: Duration = Duration::from_millis(20);
/// How long one holds a connection at most.
const HOLD: Duration = Duration::from_secs(15);
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// What a hostile client does with its connection.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// Sends a byte of its request now and then.
    Slow,
    /// Announces a body of 10^14 bytes and sends of it what is taken.
    Huge,
    /// Sends nothing.
    Silent,
    /// Sends a request line without end.
    Endless,
    /// Sends hundreds of requests at once and reads no answer.
    Pipelined,
    /// Asks by another host's name.
    WrongHost,
    /// Asks without the token, again and again.
    Guessing,
    /// Sends what is no HTTP.
    Garbage,
}

const MANNERS: [Manner; 8] = [
    Manner::Slow,
    Manner::Huge,
    Manner::Silent,
    Manner::Endless,
    Manner::Pipelined,
    Manner::WrongHost,
    Manner::Guessing,
    Manner::Garbage,
];

/// Answers that the honest client got.
#[derive(Default)]
struct Honest {
    answers: u64,
    longest: Duration,
    /// Those that were no page, or came too late.
    failures: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.dbdyno.clone().map_or_else(workspace::release_build, Ok)?;
    let directory = workspace::target_directory()?.join("hostile");
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("failed to make `{}`", directory.display()))?;
    let token_file = directory.join("token");
    std::fs::write(&token_file, TOKEN).context("failed to write the token")?;
    let store = directory.join("none-yet.sqlite");
    let mut server = Serving::start(&program, &store, &["--token-file", &token_file.to_string_lossy()])?;
    let stop = AtomicBool::new(false);
    let connections = AtomicU64::new(0);
    let honest = thread::scope(|scope| {
        for number in 0..arguments.connections {
            let (stop, connections, address) = (&stop, &connections, server.address);
            let manner = MANNERS[number % MANNERS.len()];
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    connections.fetch_add(1, Ordering::Relaxed);
                    // That the server closes the connection is what is hoped for.
                    let _ = manner.use_one(address, stop);
                    thread::sleep(PAUSE);
                }
            });
        }
        let honest = asked_for(&mut server, Duration::from_secs(60 * arguments.minutes));
        stop.store(true, Ordering::Relaxed);
        honest
    })?;
    let peak = processes::peak_resident_bytes(server.child.id())?;
    println!(
        "hostile: {} min, {} hostile connections at once, {} in all; the honest client: {} answers, the slowest after {:.0} ms, {} failed; \
         {:.1} MB of memory at most",
        arguments.minutes,
        arguments.connections,
        connections.load(Ordering::Relaxed),
        honest.answers,
        honest.longest.as_secs_f64() * 1e3,
        honest.failures.len(),
        // Below 2^53, so exact.
        peak as f64 / 1e6,
    );
    end(server)?;
    if let Some(first) = honest.failures.first() {
        bail!(
            "{} of {} requests of the honest client failed; the first: {first}",
            honest.failures.len(),
            honest.answers
        );
    }
    ensure!(peak < MOST_BYTES, "the server took {peak} bytes of memory, more than {MOST_BYTES}");
    Ok(())
}

/// The honest client.
fn asked_for(server: &mut Serving, duration: Duration) -> anyhow::Result<Honest> {
    let began = Instant::now();
    let mut honest = Honest::default();
    let host = server.address.to_string();
    let bearer = format!("Bearer {TOKEN}");
    while began.elapsed() < duration {
        if let Some(status) = server.child.try_wait().context("failed to look at the server")? {
            bail!("the server ended after {:.0} s: {status}", began.elapsed().as_secs_f64());
        }
        let asked = Instant::now();
        let answer = http::ask(server.address, "GET", "/", &[("Host", &host), ("Authorization", &bearer)]);
        let took = asked.elapsed();
        honest.answers += 1;
        honest.longest = honest.longest.max(took);
        match answer {
            // There is no store, which its page says.
            Ok(reply) if reply.status == 404 && reply.body.contains("dbdyno compare") => {}
            Ok(reply) => honest.failures.push(format!("status {}: {:.200}", reply.status, reply.body)),
            Err(error) => honest.failures.push(format!("{error:#}")),
        }
        if took > LONGEST_ANSWER {
            honest.failures.push(format!("answered after {:.1} s", took.as_secs_f64()));
        }
        thread::sleep(INTERVAL.saturating_sub(took));
    }
    Ok(honest)
}

fn end(mut server: Serving) -> anyhow::Result<()> {
    processes::signal(server.child.id(), libc::SIGTERM)?;
    let began = Instant::now();
    while began.elapsed() < END_TIMEOUT {
        if let Some(status) = server.child.try_wait()? {
            ensure!(status.success(), "the server ended with {status}");
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    bail!("SIGTERM did not end the server within {} s", END_TIMEOUT.as_secs())
}

impl Manner {
    /// Connects, misbehaves, and goes when the server closes the connection or its time is over.
    fn use_one(self, address: SocketAddr, stop: &AtomicBool) -> std::io::Result<()> {
        let mut stream = TcpStream::connect_timeout(&address, HOLD)?;
        stream.set_write_timeout(Some(HOLD))?;
        stream.set_read_timeout(Some(HOLD))?;
        let began = Instant::now();
        let goes_on = || !stop.load(Ordering::Relaxed) && began.elapsed() < HOLD;
        match self {
            Manner::Slow => {
                for byte in b"GET / HTTP/1.1\r\nHost: ".iter().chain(std::iter::repeat(&b'x')) {
                    if !goes_on() {
                        break;
                    }
                    stream.write_all(&[*byte])?;
                    thread::sleep(Duration::from_millis(200));
                }
            }
            Manner::Huge => {
                write!(
                    stream,
                    "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 100000000000000\r\n\r\n"
                )?;
                while goes_on() {
                    stream.write_all(&[0; 64 << 10])?;
                }
            }
            Manner::Silent => wait_for_end(&mut stream)?,
            Manner::Endless => {
                stream.write_all(b"GET /")?;
                while goes_on() {
                    stream.write_all(&[b'x'; 64 << 10])?;
                }
            }
            Manner::Pipelined => {
                let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
                stream.write_all(request.repeat(500).as_bytes())?;
                while goes_on() {
                    thread::sleep(Duration::from_millis(200));
                }
            }
            Manner::WrongHost => {
                stream.write_all(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")?;
                wait_for_end(&mut stream)?;
            }
            Manner::Guessing => {
                write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer guess\r\n\r\n")?;
                wait_for_end(&mut stream)?;
            }
            Manner::Garbage => {
                stream.write_all(&[0xff, 0, b'\r', b'\n', b'\r', b'\n'])?;
                wait_for_end(&mut stream)?;
            }
        }
        Ok(())
    }
}

fn wait_for_end(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut piece = [0; 4096];
    while stream.read(&mut piece)? > 0 {}
    Ok(())
}
