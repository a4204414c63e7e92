//! A real server on the loopback and clients that are meant to end it or to keep others from being answered.

use super::super::access::Access;
use super::*;
use model::event::{RunEvent, RunOutcome};
use model::host::{HarnessCost, Host};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use store::Writer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

const RUN: &str = "20261121-091500-aaaa";
/// More than the sockets of both ends hold.
const LONG_OUTPUT_BYTES: usize = 48 << 20;
/// No answer takes as long.
const TIMEOUT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(200);

/// A server that is told to stop when it is dropped.
struct Served {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    running: Option<JoinHandle<anyhow::Result<()>>>,
    _directory: tempfile::TempDir,
}

impl Served {
    fn start(limits: Limits) -> Served {
        Served::start_with(limits, |_| {})
    }

    fn start_with(limits: Limits, write: impl FnOnce(&Path)) -> Served {
        Served::start_by(limits, None, write)
    }

    fn start_by(limits: Limits, tls: Option<TlsAcceptor>, write: impl FnOnce(&Path)) -> Served {
        let directory = tempfile::tempdir().unwrap();
        let store: PathBuf = directory.path().join("s.sqlite");
        write(&store);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let running = thread::spawn(move || {
            run_within(limits, listener, tls, Site::new(store, Access::new(address, None)), &stopped)
        });
        Served { address, stop, running: Some(running), _directory: directory }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.address, TIMEOUT).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// A connection on which this was sent.
    fn send(&self, request: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Everything that is answered until the connection is closed.
    fn ask(&self, request: &str) -> String {
        rest(self.send(request)).unwrap()
    }

    fn get(&self, target: &str) -> TcpStream {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address))
    }

    /// A page, here the one of a store without the run.
    fn still_answers(&self) {
        let answer = rest(self.get("/runs/nothing")).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer:.300}");
    }

    /// How long it takes to end after it is to stop; the connections stay open meanwhile.
    fn ends_in_time(mut self, _open: &[TcpStream]) {
        let began = Instant::now();
        self.stop.store(true, Ordering::Relaxed);
        self.running.take().unwrap().join().unwrap().unwrap();
        assert!(began.elapsed() < 2 * END_TIMEOUT, "it took {:?}", began.elapsed());
        assert!(TcpStream::connect(self.address).is_err(), "it listens still");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn rest(mut stream: TcpStream) -> io::Result<String> {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// A run with an output that no socket holds.
fn with_long_output(store: &Path) {
    let plan = Box::new(testing::plan(testing::SMALL_WORKLOAD, &["rocksdb@8.5.4", "rocksdb@8.7.3"]));
    let at_us = 1_795_000_000_000_000;
    let cost = HarnessCost::default();
    let events = [
        RunEvent::Started { run: RUN.to_owned(), at_us, plan, host: Box::new(Host::default()) },
        RunEvent::LaunchStarted { launch: 1, at_us },
        RunEvent::RawOutput {
            launch: 1,
            side: 1,
            name: "LOG".to_owned(),
            text: "x".repeat(LONG_OUTPUT_BYTES),
        },
        RunEvent::Ended { at_us: at_us + 1, outcome: RunOutcome::Done, cost },
    ];
    let mut writer = Writer::open(store).unwrap();
    for event in events {
        writer.write(RUN, &event).unwrap();
    }
}

fn long_output() -> String {
    format!("/runs/{RUN}/raw/1/1/LOG")
}

#[test]
fn a_request_is_answered_and_its_connection_closed() {
    let served = Served::start(LIMITS);
    let own = format!("Host: {}\r\n", served.address);
    let page = served.ask(&format!("GET / HTTP/1.1\r\n{own}\r\n"));
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 404 Not Found\r\n") && body.contains("dbdyno compare"), "{page}");
    for header in [
        format!("Content-Length: {}", body.len()),
        "Connection: close".to_owned(),
        "Content-Type: text/html; charset=utf-8".to_owned(),
        "X-Content-Type-Options: nosniff".to_owned(),
    ] {
        assert_eq!(head.lines().filter(|line| **line == header).count(), 1, "{header} in {head}");
    }
    assert!(head.contains("\r\nDate: ") && head.contains("\r\nContent-Security-Policy: "), "{head}");
    let of_head = served.ask(&format!("HEAD / HTTP/1.0\r\n{own}\r\n"));
    assert!(of_head.ends_with("\r\n\r\n"), "{of_head}");
    assert!(of_head.contains(&format!("Content-Length: {}\r\n", body.len())), "{of_head}");
    let two = served.ask(&format!("GET / HTTP/1.1\r\n{own}\r\nGET / HTTP/1.1\r\n{own}\r\n"));
    assert_eq!(two.matches("HTTP/1.1 ").count(), 1, "{two}");
    served.ends_in_time(&[]);
}

#[test]
fn a_body_of_any_length_is_refused_without_being_waited_for() {
    let served = Served::start(LIMITS);
    let check = |request: &str, status: &str| {
        let answer = served.ask(request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer:.300}");
        served.still_answers();
    };
    for length in ["1", "1024", "5000", "1500000000", "100000000000000", "18446744073709551000"] {
        for _ in 0..3 {
            let header = format!("Host: evil.example\r\nContent-Length: {length}\r\n\r\n");
            check(&format!("GET /x HTTP/1.1\r\n{header}"), "413");
            check(&format!("GET /x HTTP/2.0\r\n{header}"), "400");
            check(&format!("POST / HTTP/1.1\r\nExpect: 100-continue\r\n{header}"), "413");
        }
    }
    check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "413");
    check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "413");
    check(&format!("POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n{}", "x".repeat(5000)), "413");
    check("not HTTP\r\n\r\n", "400");
    served.ends_in_time(&[]);
}

#[test]
fn clients_that_announce_a_body_and_send_none_block_neither_others_nor_the_end() {
    let served = Served::start(LIMITS);
    let mut open = Vec::new();
    for count in [2, 40] {
        for _ in 0..count {
            let own = served.address;
            open.push(
                served.send(&format!("POST / HTTP/1.1\r\nHost: {own}\r\nContent-Length: 5000\r\n\r\n")),
            );
        }
        served.still_answers();
    }
    served.ends_in_time(&open);
}

#[test]
fn clients_that_ask_nothing_block_neither_others_nor_the_end() {
    let served = Served::start(LIMITS);
    let mut open = Vec::new();
    for _ in 0..3 * LIMITS.connections {
        open.push(served.connect());
    }
    served.still_answers();
    for _ in 0..LIMITS.connections {
        open.push(served.send("GET / HTTP/1.1\r\nX: "));
    }
    served.still_answers();
    served.ends_in_time(&open);
}

#[test]
fn clients_that_do_not_read_block_neither_others_nor_the_end() {
    let served = Served::start_with(LIMITS, with_long_output);
    let mut open = Vec::new();
    for _ in 0..2 * WORKERS {
        open.push(served.get(&long_output()));
    }
    // Its beginning is here, so the rest is being written.
    for stream in &mut open {
        stream.read_exact(&mut [0; 12]).unwrap();
    }
    served.still_answers();
    served.ends_in_time(&open);
}

#[test]
fn a_client_that_reads_gets_the_whole_of_a_long_answer() {
    let served = Served::start_with(LIMITS, with_long_output);
    let answer = rest(served.get(&long_output())).unwrap();
    assert_eq!(answer.split_once("\r\n\r\n").unwrap().1.len(), LONG_OUTPUT_BYTES);
}

#[test]
fn a_client_that_does_not_read_is_closed_at_its_deadline() {
    // To make the answer is a part of it.
    let whole = 10 * BRIEF;
    let served = Served::start_with(Limits { whole, ..LIMITS }, with_long_output);
    let mut stalled = served.get(&long_output());
    stalled.read_exact(&mut [0; 12]).unwrap();
    // The other client is answered after the deadline of the first, on which nothing was read meanwhile.
    let began = Instant::now();
    while began.elapsed() < whole {
        served.still_answers();
    }
    let got = rest(stalled).map_or(0, |answer| answer.len());
    assert!(got < LONG_OUTPUT_BYTES, "all of it was written");
}

#[test]
fn a_request_that_does_not_end_in_time_is_closed() {
    let served = Served::start(Limits { head: BRIEF, ..LIMITS });
    let mut open: Vec<TcpStream> =
        ["GET / HTTP/1.1\r\nHost: ", "G", ""].iter().map(|begun| served.send(begun)).collect();
    // A byte now and then makes the time no longer.
    let began = Instant::now();
    while began.elapsed() < 2 * BRIEF {
        let _ = open[0].write_all(b"x");
        served.still_answers();
    }
    for stream in open {
        // What came after the end resets the connection.
        assert_eq!(rest(stream).unwrap_or_default(), "");
    }
    served.still_answers();
}

#[test]
fn a_request_line_without_end_is_refused_at_its_limit() {
    let served = Served::start(LIMITS);
    let mut stream = served.connect();
    let piece = [b'x'; 64 << 10];
    // Writing fails when the server has closed the connection; by then sockets hold some megabytes at most.
    let written = (0..1000).take_while(|_| stream.write_all(&piece).is_ok()).count();
    assert!(written < 1000, "all of it was taken");
    let answer = served.ask(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000)));
    assert!(answer.starts_with("HTTP/1.1 414 "), "{answer:.300}");
    served.still_answers();
}

#[test]
fn who_asked_goes_last_when_there_is_no_room() {
    let served = Served::start_with(Limits { connections: 3, ..LIMITS }, with_long_output);
    let mut reader = served.get(&long_output());
    reader.read_exact(&mut [0; 12]).unwrap();
    let idle: Vec<TcpStream> = (0..10).map(|_| served.connect()).collect();
    served.still_answers();
    assert!(rest(reader).unwrap().len() > LONG_OUTPUT_BYTES);
    // The first of those that asked nothing has made room.
    assert_eq!(rest(idle.into_iter().next().unwrap()).unwrap(), "");
}

fn certificate() -> PathBuf {
    testing::tls_fixture("certificate.pem")
}

/// A client that believes the certificate of the tests, and calls the server by this name.
fn encrypted(served: &Served, name: &str) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate()).unwrap()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), served.connect())
}

#[test]
fn by_tls_a_page_is_answered_and_without_it_none() {
    let key = certificate().with_file_name("key.pem");
    let tls = super::super::tls::acceptor(&certificate(), &key).unwrap();
    let served = Served::start_by(Limits { head: 5 * BRIEF, ..LIMITS }, Some(tls), |_| {});
    let own = served.address;
    let ask = |name: &str| {
        let mut stream = encrypted(&served, name);
        stream.write_all(format!("GET /runs/nothing HTTP/1.1\r\nHost: {own}\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let answer = ask("localhost").unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer:.300}");
    assert!(ask("evil.example").is_err(), "the certificate is of another name");
    let plain = rest(served.get("/")).unwrap_or_default();
    assert!(!plain.contains("HTTP/1.1"), "{plain:.300}");
    // Who begins no handshake is closed at its deadline.
    assert_eq!(rest(served.connect()).unwrap_or_default(), "");
    assert!(ask("localhost").is_ok());
}
