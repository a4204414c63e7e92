//! One request to a server of ours on this host, and its answer. No library: what goes over the wire is what a case says.

use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// No page takes as long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    /// The first header of a name; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.as_str())
    }
}

/// A GET by the server's own address.
pub fn get(server: SocketAddr, target: &str) -> anyhow::Result<Reply> {
    ask(server, "GET", target, &[("Host", &server.to_string())])
}

/// A request with these headers and no others.
pub fn ask(
    server: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> anyhow::Result<Reply> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!("{method} {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    let asking = || format!("failed to ask {server} for {target:.200}");
    let mut stream = TcpStream::connect_timeout(&server, TIMEOUT).with_context(asking)?;
    stream.set_read_timeout(Some(TIMEOUT)).with_context(asking)?;
    stream.write_all(request.as_bytes()).with_context(asking)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).with_context(asking)?;
    read(&String::from_utf8_lossy(&answer)).with_context(asking)
}

fn read(answer: &str) -> anyhow::Result<Reply> {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        bail!("no end of the headers: {answer:.200}")
    };
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
    let status = status.with_context(|| format!("no status: {head:.200}"))?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(Reply { status, headers, body: body.to_owned() })
}
