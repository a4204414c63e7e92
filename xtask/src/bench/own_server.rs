//! A server that dbdyno fetches and runs for a bench.

use crate::e2e::processes;
use anyhow::{Context, ensure};
use model::address::ServerAddress;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// The servers of a bench: one of each dialect, new enough to count the bytes of its log.
pub const BUILDS: [&str; 2] = ["postgres@15.7", "mariadb@10.11.19"];

/// A server that dbdyno runs for us until its input ends. Dropped, it is stopped too.
pub struct OwnServer {
    child: Child,
    input: Option<ChildStdin>,
    pub address: ServerAddress,
}

impl OwnServer {
    /// Starts a server of this build, and waits until clients may come.
    pub fn start(dbdyno: &Path, build: &str) -> anyhow::Result<OwnServer> {
        let mut child = Command::new(dbdyno)
            .args(["engine", "start", build, "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start dbdyno")?;
        let mut input = child.stdin.take();
        let output = child.stdout.take().context("no output of dbdyno")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("failed to read from dbdyno")?;
        let address = serde_json::from_str(&line);
        if address.is_err() {
            input = None;
            child.wait().context("failed to wait for dbdyno")?;
        }
        Ok(OwnServer { child, input, address: address.with_context(|| format!("no address: {line:?}"))? })
    }

    /// CPU time of all its processes since it was started.
    pub fn cpu_time(&self) -> anyhow::Result<Duration> {
        processes::cpu_time_below(self.child.id())
    }

    /// Stops it, and waits until dbdyno has removed its data and ended.
    pub fn stop(mut self) -> anyhow::Result<()> {
        self.input = None;
        let status = self.child.wait().context("failed to wait for dbdyno")?;
        ensure!(status.success(), "dbdyno failed to stop the server ({status})");
        Ok(())
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // The end of its input is its sign to stop the server; it removes the data itself.
        self.input = None;
        let _ = self.child.wait();
    }
}
