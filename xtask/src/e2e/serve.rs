//! Cases of `dbdyno serve`: real runs over HTTP, a run while it is measured, who may not ask, stores that cannot be read.

use super::engines::RELEASE;
use super::scratch::Scratch;
use super::tool::{Call, Running};
use super::{Case, Ending, processes};
use crate::http::{self, Reply};
use crate::workspace;
use anyhow::{Context, bail, ensure};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// It has nothing to do before it answers.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// What is being answered is answered still.
pub const END_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("serve pages", pages),
        Case::new("serve a run in progress", live),
        Case::new("serve who may ask", who_may_ask),
        Case::new("serve by TLS", by_tls),
        Case::new("serve stores that cannot be read", bad_stores),
        Case::new("serve an address in use", address_in_use),
        Case::new("serve clients that mean harm", harm),
    ]
}

/// A server and where it answers.
pub struct Served {
    running: Running,
    pub address: SocketAddr,
}

impl Served {
    pub fn start(scratch: &Scratch, arguments: &[&str]) -> anyhow::Result<Served> {
        let any_port: &[&str] =
            if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        Served::started(Call::new(scratch, ["serve"]).and(any_port).and(arguments))
    }

    fn started(call: Call) -> anyhow::Result<Served> {
        let mut running = call.start()?;
        let began = Instant::now();
        loop {
            let said = running.stdout_so_far()?;
            if let Some(line) = said.strip_suffix('\n') {
                let address = line.trim_start_matches("http://").trim_start_matches("https://");
                let address = address.trim_end_matches('/');
                let address = address.parse().with_context(|| format!("standard output is {said:?}"))?;
                return Ok(Served { running, address });
            }
            ensure!(running.is_running()?, "`dbdyno serve` ended: {}", running.stderr_so_far()?);
            ensure!(began.elapsed() < START_TIMEOUT, "`dbdyno serve` tells no address: {said:?}");
            std::thread::sleep(POLL);
        }
    }

    fn get(&self, target: &str) -> anyhow::Result<Reply> {
        http::get(self.address, target)
    }

    /// The code for one browser, which is said after the address.
    fn code(&self) -> anyhow::Result<String> {
        let began = Instant::now();
        loop {
            let said = self.running.stderr_so_far()?;
            let code = said.split_once("?token=").and_then(|(_, rest)| rest.split_once('\n'));
            if let Some((code, _)) = code {
                ensure!(code.len() == 32, "the code is {code:?}");
                return Ok(code.to_owned());
            }
            ensure!(began.elapsed() < START_TIMEOUT, "no code is said: {said}");
            std::thread::sleep(POLL);
        }
    }

    /// The page must be there and show these.
    pub fn shows(&self, target: &str, parts: &[&str]) -> anyhow::Result<Reply> {
        self.answers(target, 200, parts)
    }

    fn answers(&self, target: &str, status: u16, parts: &[&str]) -> anyhow::Result<Reply> {
        let reply = self.get(target)?;
        ensure!(
            reply.status == status,
            "{target} is answered with {}, not {status}: {}",
            reply.status,
            reply.body
        );
        for part in parts {
            ensure!(reply.body.contains(part), "{target} does not show `{part}`: {}", reply.body);
        }
        Ok(reply)
    }

    /// Ctrl-C ends it, and that is how it is meant to end.
    pub fn end(self) -> anyhow::Result<()> {
        self.running.press_ctrl_c()?;
        self.running.finish(END_TIMEOUT)?.expect_code(&[0])?;
        Ok(())
    }
}

/// A comparison of a release with itself in one step: the id of its run.
pub fn compared(scratch: &Scratch, arguments: &[&str]) -> anyhow::Result<String> {
    let report = Call::compare(scratch, [RELEASE, RELEASE], "10s")
        .and(["--step", "readrandom"])
        .and(arguments)
        .succeeds()?
        .json()?;
    Ok(report["run"].as_str().context("the run has no id")?.to_owned())
}

/// Every page of two real runs; what is a file is what `dbdyno report` prints.
fn pages(scratch: &Scratch) -> anyhow::Result<Ending> {
    let first = compared(scratch, &["--name", "<b>\"a\" & 'b'</b>"])?;
    let second = compared(scratch, &[])?;
    let served = Served::start(scratch, &[])?;
    served.shows("/", &[&first, &second, "&lt;b&gt;", "1 to 2 of 2"])?;
    served.shows("/?q=readrandom", &["Nothing in the store is like that"])?;
    served.shows("/?workload=tiny&status=done", &["1 to 2 of 2"])?;
    let report = served.shows(&format!("/runs/{first}"), &["readrandom", RELEASE])?;
    ensure!(!report.body.contains("<b>\"a\""), "a name became markup");
    let whole = served.shows(&format!("/runs/{first}?step=readrandom"), &["readrandom"])?;
    ensure!(!whole.body.contains("Shown: "), "the only step is called a selection");
    let misspelt = format!("/runs/{first}?step=readrandm");
    served.answers(&misspelt, 404, &["No such part", "did you mean `readrandom`?"])?;
    served.answers("/runs/last", 303, &[])?;
    let near = format!("{}0", &first[..first.len() - 1]);
    if near != first {
        served.answers(&format!("/runs/{near}"), 404, &["No such run", &first])?;
    }
    for (ending, format) in [("json", "json"), ("md", "markdown")] {
        let file = served.get(&format!("/runs/{first}/report.{ending}"))?;
        let printed = Call::new(scratch, ["report", &first, "--format", format]).succeeds()?;
        ensure!(file.body == printed.stdout, "report.{ending} differs from `dbdyno report`");
    }
    let list = served.shows(&format!("/runs/{first}/raw"), &["LOG\""])?;
    let link = list.body.split("href=\"").find(|part| part.contains("LOG\"")).context("no link to a LOG")?;
    let raw = served.shows(link.split('"').next().unwrap_or_default(), &["RocksDB version"])?;
    ensure!(
        raw.header("Content-Type") == "text/plain; charset=utf-8",
        "raw output is {}",
        raw.header("Content-Type")
    );
    served.shows("/history?workload=tiny&step=readrandom", &[&first, &second, "2 runs on"])?;
    let picked = served.answers(&format!("/compare?run={second}&run={first}"), 303, &[])?;
    served.shows(picked.header("Location"), &["side by side", "has no interval and no verdict"])?;
    headers(&served)?;
    let third = compared(scratch, &["--step", "seekrandom"])?;
    let part = ["Shown: 1 of 2 steps (seekrandom)", "still use all of them"];
    served.shows(&format!("/runs/{third}?step=seekrandom"), &part)?;
    served.end()?;
    Ok(Ending::Passed)
}

fn headers(served: &Served) -> anyhow::Result<()> {
    let page = served.get("/")?;
    for (name, part) in [
        ("Content-Security-Policy", "default-src 'none'"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    ] {
        ensure!(page.header(name).contains(part), "{name} is {:?}", page.header(name));
    }
    let own = served.address.to_string();
    let head = http::ask(served.address, "HEAD", "/", &[("Host", &own)])?;
    ensure!(head.status == 200 && head.body.is_empty(), "HEAD has a body or status {}", head.status);
    ensure!(head.header("Content-Length") == page.body.len().to_string(), "HEAD tells another length");
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let reply = http::ask(served.address, method, "/", &[("Host", &own), ("Content-Length", "0")])?;
        ensure!(reply.status == 405 && reply.header("Allow") == "GET, HEAD", "{method} is {}", reply.status);
    }
    for host in ["evil.example", "127.0.0.1:1", "localhost.evil.example:7117"] {
        let reply = http::ask(served.address, "GET", "/", &[("Host", host)])?;
        ensure!(reply.status == 421, "asked as {host} it answers {}", reply.status);
    }
    Ok(())
}

/// The page of a run grows while another process measures, and leads to its report in the end.
fn live(scratch: &Scratch) -> anyhow::Result<Ending> {
    compared(scratch, &[])?;
    let served = Served::start(scratch, &[])?;
    let mut measuring = Call::compare(scratch, [RELEASE, RELEASE], "20s").start()?;
    let began = Instant::now();
    let id = loop {
        let list = served.shows("/?status=unfinished", &[])?;
        let id = list.body.split("href=\"/live/").nth(1).and_then(|rest| rest.split('"').next());
        if let Some(id) = id {
            break id.to_owned();
        }
        ensure!(measuring.is_running()?, "the run ended before it was seen: {}", measuring.stderr_so_far()?);
        ensure!(began.elapsed() < Duration::from_secs(20), "the run is in no list");
        std::thread::sleep(POLL);
    };
    served.shows(&format!("/live/{id}"), &["data-live=", "http-equiv=\"refresh\""])?;
    let mut seen_alive = false;
    let mut most_trials = 0;
    while measuring.is_running()? {
        let told: serde_json::Value =
            serde_json::from_str(&served.shows(&format!("/live/{id}.json"), &[])?.body)?;
        let rows = told["tables"]["steps"].as_array().context("no steps")?;
        let done =
            |row: &serde_json::Value| row[1].as_str().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let trials = rows.iter().map(done).sum::<u64>();
        ensure!(trials >= most_trials, "{trials} trials after {most_trials}");
        most_trials = trials;
        seen_alive |= told["fields"]["alive"].as_str().is_some_and(|alive| alive.starts_with("Alive"));
        std::thread::sleep(4 * POLL);
    }
    measuring.finish(END_TIMEOUT)?.expect_code(&[0])?;
    ensure!(most_trials > 0 && seen_alive, "{most_trials} trials seen, alive: {seen_alive}");
    let told = served.shows(&format!("/live/{id}.json"), &["\"ended\":true"])?;
    ensure!(told.header("Content-Type") == "application/json", "it is {}", told.header("Content-Type"));
    let page = served.answers(&format!("/live/{id}"), 303, &[])?;
    served.shows(page.header("Location"), &["readrandom"])?;
    served.end()?;
    Ok(Ending::Passed)
}

/// On another address than the loopback nobody is answered without the token; one browser gets in by a code that is printed.
fn who_may_ask(scratch: &Scratch) -> anyhow::Result<Ending> {
    let served = Served::start(scratch, &["--listen", "0.0.0.0:0"])?;
    let server = SocketAddr::new([127, 0, 0, 1].into(), served.address.port());
    let own = server.to_string();
    let ask = |target: &str, more: &[(&str, &str)]| {
        let mut headers = vec![("Host", own.as_str())];
        headers.extend(more);
        http::ask(server, "GET", target, &headers)
    };
    ensure!(ask("/", &[])?.status == 401, "it answers without a token");
    let code = served.code()?;
    let bearer = format!("Bearer {code}");
    for wrong in ["Bearer 0123456789abcdef0123456789abcdef", &bearer] {
        ensure!(ask("/", &[("Authorization", wrong)])?.status == 401, "`{wrong}` is a token");
    }
    let welcome = ask(&format!("/?token={code}&q=x"), &[])?;
    ensure!((welcome.status, welcome.header("Location")) == (303, "/?q=x"), "{welcome:?}");
    let cookie = welcome.header("Set-Cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        ensure!(cookie.contains(part), "the cookie is {cookie}");
    }
    ensure!(!cookie.contains(&code), "the cookie holds the code");
    let pair = cookie.split(';').next().unwrap_or_default();
    let opened = ask("/", &[("Cookie", pair)])?;
    ensure!(opened.status == 404 && opened.body.contains("dbdyno compare"), "with the cookie: {opened:?}");
    ensure!(ask(&format!("/?token={code}"), &[])?.status == 401, "the code opens twice");
    served.end()?;

    let file = scratch.write("token", "a-token-of-my-own-1234\n")?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
    let served = Served::start(scratch, &["--token-file", &file.to_string_lossy()])?;
    ensure!(
        served.running.stderr_so_far()?.contains("others can read the token file"),
        "no warning of the file"
    );
    ensure!(served.get("/")?.status == 401, "a token that was given is not asked for");
    let own = served.address.to_string();
    let ask = |more: &[(&str, &str)]| {
        let mut headers = vec![("Host", own.as_str()), ("Authorization", "Bearer a-token-of-my-own-1234")];
        headers.extend(more);
        http::ask(served.address, "GET", "/", &headers)
    };
    ensure!(ask(&[])?.status == 404, "the token does not open");
    let embedded = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")];
    ensure!(ask(&embedded)?.status == 403, "a page of another site may have this one in itself");
    served.end()?;
    let short = scratch.write("short", "secret\n")?;
    Call::new(scratch, ["serve", "--token-file"]).and([&short]).fails(&[2], &["short", "16"])?;
    Ok(Ending::Passed)
}

/// What is asked and answered by TLS is tested in the crate; here, how a user comes to it.
fn by_tls(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fixtures = workspace::root()?.join("crates/testing/fixtures/tls");
    let file = |name: &str| fixtures.join(name).to_string_lossy().into_owned();
    let (certificate, key) = (file("certificate.pem"), file("key.pem"));
    let serve = |arguments: &[&str]| Call::new(scratch, ["serve", "--listen", "127.0.0.1:0"]).and(arguments);
    serve(&["--tls-certificate", &certificate]).fails(&[2], &["--tls-key"])?;
    let other = file("other-key.pem");
    serve(&["--tls-certificate", &certificate, "--tls-key", &other])
        .fails(&[2], &["make no pair", &other])?;
    let none = scratch.write("none.pem", "no key\n")?.to_string_lossy().into_owned();
    serve(&["--tls-certificate", &none, "--tls-key", &key]).fails(&[2], &["no certificate in PEM", &none])?;

    let served = Served::started(serve(&["--tls-certificate", &certificate, "--tls-key", &key]))?;
    let said = served.running.stdout_so_far()?;
    ensure!(said.starts_with("https://127.0.0.1:"), "it says {said:?}");
    ensure!(served.get("/").is_err(), "it answers without TLS");
    served.end()?;
    Ok(Ending::Passed)
}

/// None yet, locked by another process, of a newer version, something else.
fn bad_stores(scratch: &Scratch) -> anyhow::Result<Ending> {
    let served = Served::start(scratch, &[])?;
    served.answers("/", 404, &["dbdyno compare rocksdb@8.5.4 rocksdb@8.7.3"])?;
    ensure!(!scratch.data().join("dbdyno/dbdyno.sqlite").exists(), "it made a store");
    let run = compared(scratch, &[])?;
    served.shows("/", &[&run])?;

    let store = scratch.data().join("dbdyno/dbdyno.sqlite");
    let lock = Locked::exclusively(&store)?;
    let busy = served.answers("/", 503, &["The store is locked"])?;
    ensure!(!busy.header("Retry-After").is_empty(), "503 without Retry-After");
    drop(lock);
    served.shows("/", &[&run])?;
    served.end()?;

    set_schema(&store, 99)?;
    Call::new(scratch, ["serve", "--listen", "127.0.0.1:0"]).fails(&[2], &["schema 99"])?;
    fs::write(&store, "no database, and longer than the header of one is\n".repeat(40))?;
    Call::new(scratch, ["serve", "--listen", "127.0.0.1:0"]).fails(&[2], &["is not a store of dbdyno"])?;
    Ok(Ending::Passed)
}

fn address_in_use(scratch: &Scratch) -> anyhow::Result<Ending> {
    let holder = TcpListener::bind("127.0.0.1:0").context("failed to listen")?;
    let taken = holder.local_addr()?.to_string();
    Call::new(scratch, ["serve", "--listen", &taken])
        .fails(&[2], &[&taken, "in use", "--listen 127.0.0.1:0"])?;
    Call::new(scratch, ["serve", "--listen", "here"]).fails(&[2], &["--listen"])?;
    Ok(Ending::Passed)
}

/// Requests that are meant to end the server, and clients that are meant to keep others from being answered: after each a
/// page is answered, and in the end SIGTERM ends it although they are all still there.
fn harm(scratch: &Scratch) -> anyhow::Result<Ending> {
    let few_files = ["sh", "-c", "ulimit -n 48 && exec \"$0\" \"$@\""];
    let call = Call::new(scratch, ["serve", "--listen", "127.0.0.1:0"]).through(few_files);
    let served = Served::started(call)?;
    let still_answers =
        |after: &str| served.answers("/", 404, &["dbdyno compare"]).with_context(|| format!("after {after}"));
    still_answers("its start")?;
    let send = |request: &str| -> anyhow::Result<TcpStream> {
        let mut stream = TcpStream::connect(served.address).context("failed to connect")?;
        stream.write_all(request.as_bytes()).context("failed to send")?;
        Ok(stream)
    };
    for length in ["1500000000", "100000000000000", "18446744073709551000"] {
        for (version, status) in [("1.1", "413"), ("2.0", "400")] {
            for _ in 0..3 {
                let mut stream =
                    send(&format!("GET /x HTTP/{version}\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"))?;
                let mut answer = String::new();
                stream.set_read_timeout(Some(END_TIMEOUT))?;
                stream.read_to_string(&mut answer).context("the connection is not closed")?;
                let wanted = format!("HTTP/1.1 {status} ");
                ensure!(answer.starts_with(&wanted), "a body of {length} bytes: {answer:?}");
                still_answers(&format!("HTTP/{version} with a body of {length} bytes"))?;
            }
        }
    }
    let endless = "x".repeat(1 << 20);
    let mut line = send("GET /")?;
    let sent = (0..64).take_while(|_| line.write_all(endless.as_bytes()).is_ok()).count();
    ensure!(sent < 64, "a request line of 64 MB was taken");
    still_answers("a request line without end")?;

    let mut open = Vec::new();
    for _ in 0..42 {
        open.push(send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n")?);
    }
    still_answers("42 clients that send no body")?;
    for _ in 0..4 {
        open.push(send(&format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", served.address))?);
    }
    still_answers("4 clients that do not read")?;
    for _ in 0..300 {
        open.push(TcpStream::connect(served.address).context("failed to connect")?);
    }
    still_answers("300 clients that ask nothing")?;
    let said = served.running.stderr_so_far()?;
    ensure!(said.contains("Too many open files"), "48 files were enough: {said}");
    still_answers("what it said of them")?;
    let peak = processes::peak_resident_bytes(served.running.pid())?;
    ensure!(peak < 100_000_000, "it took {peak} bytes of memory");
    served.running.signal(libc::SIGTERM)?;
    served.running.finish(END_TIMEOUT)?.expect_code(&[0])?;
    Ok(Ending::Passed)
}

/// The lock that SQLite takes for itself alone, taken by us: on all bytes that it locks.
struct Locked {
    _file: File,
}

impl Locked {
    fn exclusively(store: &Path) -> anyhow::Result<Locked> {
        let file =
            OpenOptions::new().read(true).write(true).open(store).context("failed to open the store")?;
        // SAFETY: a structure of numbers, for which zero is a value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::c_short::try_from(libc::F_WRLCK)?;
        lock.l_whence = libc::c_short::try_from(libc::SEEK_SET)?;
        // SAFETY: the descriptor is open and the structure outlives the call.
        let status = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) };
        if status != 0 {
            bail!("failed to lock `{}`: {}", store.display(), std::io::Error::last_os_error());
        }
        Ok(Locked { _file: file })
    }
}

/// The schema's version, where SQLite keeps it: four bytes from byte 60 on, the highest first. What its log has is
/// written back when the last connection closes, so the file is all there is.
fn set_schema(store: &Path, version: u32) -> anyhow::Result<()> {
    const AT: usize = 60;
    for beside in ["-wal", "-shm"] {
        let path = format!("{}{beside}", store.display());
        if Path::new(&path).exists() {
            // A reader that ends leaves the log behind, empty.
            fs::remove_file(&path).with_context(|| format!("failed to remove `{path}`"))?;
        }
    }
    let mut bytes = fs::read(store).context("failed to read the store")?;
    bytes[AT..AT + 4].copy_from_slice(&version.to_be_bytes());
    fs::write(store, bytes).context("failed to write the store")
}
