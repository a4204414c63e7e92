//! The process of a worker: lines in, frozen or not, its end. On this host here; a client of servers may be on another one
//! (`remote::server_side`), with the same worker before it.

use super::tree::{self, FreezeError};
use super::wait::Wait;
use super::worker::{WorkerCommand, WorkerError};
use super::{child, output};
use model::units::Nanos;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// How often it is looked whether a worker that said goodbye has ended: nearly all have by the first look.
const END_LOOK: Duration = Duration::from_millis(2);
/// A worker that was asked to exit and has not is killed after this; so is one that said goodbye and does not end, as a
/// library can hold it up by what it does at exit.
pub(crate) const EXIT_TIMEOUT: Nanos = Nanos::from_secs(20);

/// What becomes of a worker once it has replied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AfterReply {
    /// It goes on.
    GoesOn,
    /// It is frozen next. Whoever is nearer to it than its controller does that at once.
    IsFrozen,
}

/// A process of a worker. Dropped, it is killed.
pub(crate) trait WorkerProcess: Send {
    /// Its process id; 0, which is that of none, if it is on another host.
    fn pid(&self) -> u32;

    /// Writes a line, with its end, to its standard input.
    fn write(&mut self, line: &[u8], after: AfterReply) -> io::Result<()>;

    /// Stops it and waits until all its threads stand still.
    fn freeze(&mut self) -> Result<(), FreezeError>;

    /// Lets it go on.
    fn thaw(&mut self);

    /// Ends its standard input, and waits until it has ended by itself; whether it did in time.
    fn finish(&mut self, interrupted: &dyn Fn() -> bool) -> bool;

    /// Ends it if it has not ended; how it did.
    fn kill(&mut self) -> String;

    /// The end of what it wrote to its standard error.
    fn last_words(&self) -> String;

    /// Brings what it has written to its standard error so far to where its controller reads that.
    fn bring_stderr(&self) {}
}

/// On this host, as a child of this process.
pub(crate) struct LocalProcess {
    child: Child,
    requests: Option<ChildStdin>,
    stderr: PathBuf,
}

impl LocalProcess {
    /// Starts it; its standard output is the caller's to read.
    pub fn start(command: &WorkerCommand) -> Result<(LocalProcess, ChildStdout), WorkerError> {
        let error = |source| WorkerError::Start { program: command.program.clone(), source };
        let stderr = File::create(&command.stderr).map_err(error)?;
        let mut process = child::command(&command.program);
        process
            .arg0("dbdyno")
            .arg("worker")
            .env_clear()
            .env("LC_ALL", "C")
            .envs(command.environment.iter())
            .current_dir(&command.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .process_group(0);
        child::die_with_controller(&mut process);
        let mut child = process.spawn().map_err(error)?;
        let requests = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| error(io::ErrorKind::BrokenPipe.into()))?;
        Ok((LocalProcess { child, requests, stderr: command.stderr.clone() }, stdout))
    }
}

impl WorkerProcess for LocalProcess {
    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn write(&mut self, line: &[u8], _after: AfterReply) -> io::Result<()> {
        match &mut self.requests {
            Some(requests) => requests.write_all(line),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn freeze(&mut self) -> Result<(), FreezeError> {
        tree::freeze(self.pid())
    }

    fn thaw(&mut self) {
        tree::thaw(self.pid());
    }

    fn finish(&mut self, interrupted: &dyn Fn() -> bool) -> bool {
        self.requests = None;
        let wait = Wait { pause: END_LOOK, timeout: EXIT_TIMEOUT };
        let child = &mut self.child;
        wait.until(&mut || interrupted(), || (!matches!(child.try_wait(), Ok(None))).then_some(())).is_ok()
    }

    fn kill(&mut self) -> String {
        tree::kill(self.pid());
        // An unreaped child would be found as a process that we left behind.
        match self.child.wait() {
            Ok(status) => child::how_it_ended(status),
            Err(error) => format!("cannot be waited for: {error}"),
        }
    }

    fn last_words(&self) -> String {
        output::last_words(&self.stderr)
    }
}

impl Drop for LocalProcess {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}
