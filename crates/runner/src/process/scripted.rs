//! Shell scripts in place of the worker's program, for tests.

use super::worker::WorkerError;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// It reads one request and never answers.
pub const HANGS: &str = "read l; exec tail -f /dev/null";

/// Writes a script that can be started as a worker's program.
pub fn program(directory: &Path, script: &str) -> PathBuf {
    let program = directory.join("worker.sh");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    program
}

/// Does again what starts a script, as long as the child of another test that forks holds it open for writing.
pub fn started<T>(mut start: impl FnMut() -> Result<T, WorkerError>) -> Result<T, WorkerError> {
    loop {
        match start() {
            Err(WorkerError::Start { source, .. }) if source.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::yield_now();
            }
            started => return started,
        }
    }
}
