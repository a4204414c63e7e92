//! FerretDB, built from its Go module: a server that speaks the protocol of MongoDB, of which no build can be fetched here.

use crate::workspace;
use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Without the backends that nobody needs here.
const TAGS: &str = "ferretdb_no_postgresql";

/// The program, called as MongoDB's is; absent if this host has no Go. It is built once a process: runs that have it must not see it replaced.
pub fn built() -> anyhow::Result<Option<PathBuf>> {
    static BUILT: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.is_none() {
        *built = build()?;
    }
    Ok(built.clone())
}

/// Go builds again what has changed.
fn build() -> anyhow::Result<Option<PathBuf>> {
    if Command::new("go").arg("version").output().is_err() {
        return Ok(None);
    }
    let program = workspace::target_directory()?.join("ferretdb/bin/mongod");
    let output = Command::new("go")
        .args(["build", "-trimpath", "-ldflags=-s -w", "-tags", TAGS, "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(workspace::root()?.join("xtask/ferretdb"))
        .output()
        .context("failed to start go")?;
    ensure!(output.status.success(), "go build failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(Some(program))
}

/// A server on a Unix socket. Dropped, it is killed: nobody needs what it would write.
pub struct Server(Child);

impl Server {
    /// Starts it with more arguments, and waits until it listens.
    pub fn start(program: &Path, data: &Path, socket: &Path, more: &[&str]) -> anyhow::Result<Server> {
        let mut command = Command::new(program);
        command.arg("--dbpath").arg(data).arg("--bind_ip").arg(socket).args(more).stdout(Stdio::piped());
        let mut child = command.spawn().context("failed to start FerretDB")?;
        let output = child.stdout.take().context("FerretDB has no output")?;
        let server = Server(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("failed to read from FerretDB")?;
        ensure!(line.starts_with("listening"), "FerretDB did not start: {line}");
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
