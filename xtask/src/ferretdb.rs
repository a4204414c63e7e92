//! FerretDB, built from its Go module: a server that speaks the protocol of MongoDB, of which no build can be fetched here.

use crate::workspace;
use anyhow::{Context, ensure};
use std::path::PathBuf;
use std::process::Command;
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
