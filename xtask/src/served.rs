//! A `dbdyno serve` of the chores that ask it for pages.

use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// It answers until it is killed, which it is when dropped: it changes nothing that could be left half done.
pub struct Serving {
    pub child: Child,
    pub address: SocketAddr,
}

impl Serving {
    /// Serves a store, which need not be there, on a free port. What it says beside its address is of no interest.
    pub fn start(program: &Path, store: &Path, more: &[&str]) -> anyhow::Result<Serving> {
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--store"])
            .arg(store)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("failed to start `{}`", program.display()))?;
        let mut line = String::new();
        let out = child.stdout.take().context("standard output is not piped")?;
        let read = BufReader::new(out).read_line(&mut line);
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').parse();
        match (read, address) {
            (Ok(_), Ok(address)) => Ok(Serving { child, address }),
            (_, _) => {
                // It has ended, or is of no use.
                let _ = child.kill();
                let _ = child.wait();
                bail!("`dbdyno serve` printed no address but {line:?}")
            }
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
