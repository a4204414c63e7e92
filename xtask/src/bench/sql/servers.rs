//! The servers that are measured on: those that the user names, or two that dbdyno fetches and runs.

use anyhow::{Context, ensure};
use model::wire::ServerAddress;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// One of each dialect.
const BUILDS: [&str; 2] = ["postgres@15.7", "mariadb@10.11.19"];

/// A server that dbdyno runs for us until its input ends.
pub struct OwnServer {
    child: Child,
    input: Option<ChildStdin>,
    pub address: ServerAddress,
}

/// Starts both.
pub fn start(dbdyno: &Path) -> anyhow::Result<Vec<OwnServer>> {
    BUILDS.iter().map(|build| one(dbdyno, build).with_context(|| (*build).to_owned())).collect()
}

fn one(dbdyno: &Path, build: &str) -> anyhow::Result<OwnServer> {
    let mut child = Command::new(dbdyno)
        .args(["engine", "start", build, "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start dbdyno")?;
    let input = child.stdin.take();
    let output = child.stdout.take().context("no output of dbdyno")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).context("failed to read from dbdyno")?;
    let address = serde_json::from_str(&line);
    ensure!(address.is_ok() || child.wait().is_ok(), "dbdyno runs and tells no address: {line:?}");
    Ok(OwnServer { child, input, address: address.with_context(|| format!("no address: {line:?}"))? })
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // The end of its input is its sign to stop the server; it removes the data itself.
        self.input = None;
        let _ = self.child.wait();
    }
}
