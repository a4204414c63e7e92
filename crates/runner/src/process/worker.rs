//! One worker process: start, ask, freeze, end. It dies with its controller, whatever happens to that.

use super::lines::{self, LINE_BYTES_MAX, Lines, NoLine};
use super::preload::NotPreloaded;
use super::tree::FreezeError;
use super::worker_process::{AfterReply, EXIT_TIMEOUT, LocalProcess, WorkerProcess};
use crate::clock::Stopwatch;
use model::block::Second;
use model::environment::Environment;
use model::units::Nanos;
use model::wire::{FailureKind, Reply, Request, Stream};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Why a worker did not answer as asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("failed to start a worker from `{}`", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("the worker {how}{}", tail_sentence(stderr_tail))]
    Crashed {
        /// `was killed by signal 11`, `exited with status 1`.
        how: String,
        stderr_tail: String,
    },
    #[error("the worker did not answer `{request}` within {:.0} s", timeout.as_secs_f64())]
    TimedOut { request: &'static str, timeout: Nanos },
    /// It answered that it could not.
    #[error("{message}")]
    Refused { kind: FailureKind, message: String },
    #[error("the worker answered out of turn: {0}")]
    Protocol(String),
    #[error("the worker was killed, as it wrote a line of more than {} MiB", LINE_BYTES_MAX >> 20)]
    LineTooLong,
    /// It runs without a library that it was to have.
    #[error(transparent)]
    NotPreloaded(#[from] NotPreloaded),
    /// It could not be frozen.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

fn tail_sentence(tail: &str) -> String {
    if tail.is_empty() { String::new() } else { format!("; its last words: {tail}") }
}

/// The program that workers are started from: the file that this process runs, also if another has taken its name since. A
/// child asks for it before it becomes another program, when it still runs that file.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// How often a waiting controller looks what else there is to do.
const LOOK: Duration = Duration::from_millis(50);

/// What happens while a reply is waited for.
#[derive(Debug, Clone, PartialEq)]
pub enum Meanwhile {
    /// A stream of the step has told of one second.
    Second(Stream, Second),
    /// A moment has passed.
    Waited,
}

/// A running worker. Dropped, it is killed.
pub struct Worker {
    process: Box<dyn WorkerProcess>,
    replies: Lines,
    frozen: bool,
}

/// What is needed to start one.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program; it serves requests when called with the argument `worker`.
    pub program: PathBuf,
    /// File for its standard error.
    pub stderr: PathBuf,
    pub directory: PathBuf,
    /// What the configuration of a library adds to its environment.
    pub environment: Environment,
}

impl Worker {
    /// Starts a worker. The environment is the same, to the byte, for every worker of a configuration: its size moves the stack
    /// and with it the speed (Mytkowicz et al. 2009).
    pub fn start(command: &WorkerCommand) -> Result<Worker, WorkerError> {
        let (process, stdout) = LocalProcess::start(command)?;
        Ok(Worker::of(Box::new(process), lines::read(stdout)))
    }

    /// The worker that this process is, whose standard output is read already.
    pub(crate) fn of(process: Box<dyn WorkerProcess>, replies: Lines) -> Worker {
        Worker { process, replies, frozen: false }
    }

    /// Its process id; 0, which is that of none, if it is on another host.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Sends a request.
    pub fn send(&mut self, request: &Request) -> Result<(), WorkerError> {
        self.write(request, AfterReply::GoesOn)
    }

    /// Sends a request of one reply, after which it is frozen.
    pub fn send_then_freeze(&mut self, request: &Request) -> Result<(), WorkerError> {
        self.write(request, AfterReply::IsFrozen)
    }

    fn write(&mut self, request: &Request, after: AfterReply) -> Result<(), WorkerError> {
        assert!(!self.frozen, "nothing is written to a frozen side");
        let mut line = serde_json::to_vec(request)
            .map_err(|error| WorkerError::Protocol(format!("a request does not serialise: {error}")))?;
        line.push(b'\n');
        self.process.write(&line, after).map_err(|_| self.crash())
    }

    /// Waits for the reply to the last request.
    pub fn receive(
        &mut self,
        request: &'static str,
        timeout: Nanos,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Reply, WorkerError> {
        self.receive_seconds(request, timeout, &mut |meanwhile| match meanwhile {
            Meanwhile::Second(..) => true,
            Meanwhile::Waited => !interrupted(),
        })
    }

    /// Waits for the reply to the last request. What happens before it is told as it comes, and the wait ends when the answer
    /// is no.
    pub fn receive_seconds(
        &mut self,
        request: &'static str,
        timeout: Nanos,
        go_on: &mut dyn FnMut(Meanwhile) -> bool,
    ) -> Result<Reply, WorkerError> {
        let watch = Stopwatch::start();
        loop {
            match self.replies.recv_timeout(LOOK) {
                Ok(Ok(line)) => match parsed(&line)? {
                    Reply::Second(second) => drop(go_on(Meanwhile::Second(Stream::Own, second))),
                    Reply::CompanionSecond { companion, second } => {
                        go_on(Meanwhile::Second(Stream::Companion(companion), second));
                    }
                    reply => return Ok(reply),
                },
                Ok(Err(NoLine::TooLong)) => {
                    self.process.kill();
                    return Err(WorkerError::LineTooLong);
                }
                Ok(Err(NoLine::Unreadable)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.crash());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !go_on(Meanwhile::Waited) {
                return Err(WorkerError::Interrupted);
            }
            if watch.elapsed() > timeout {
                return Err(WorkerError::TimedOut { request, timeout });
            }
        }
    }

    /// Stops it and waits until all its threads stand still.
    pub fn freeze(&mut self) -> Result<(), WorkerError> {
        self.process.freeze()?;
        self.frozen = true;
        Ok(())
    }

    /// Lets it go on.
    pub fn thaw(&mut self) {
        self.process.thaw();
        self.frozen = false;
    }

    /// Brings what it has written to its standard error to the file of its command, if it is on another host.
    pub(crate) fn bring_stderr(&self) {
        self.process.bring_stderr();
    }

    /// Asks it to exit, waits, and kills it if it does not end in time or the user interrupts. Returns its last reply.
    pub fn stop(mut self, interrupted: &dyn Fn() -> bool) -> Option<Reply> {
        self.thaw();
        let last =
            self.send(&Request::Exit).and_then(|()| self.receive("exit", EXIT_TIMEOUT, interrupted)).ok();
        if last.is_none() || !self.process.finish(interrupted) {
            self.process.kill();
        }
        last
    }

    fn crash(&mut self) -> WorkerError {
        WorkerError::Crashed { how: self.process.kill(), stderr_tail: self.process.last_words() }
    }
}

pub(super) fn parsed(line: &str) -> Result<Reply, WorkerError> {
    match serde_json::from_str(line) {
        Ok(Reply::Failed { kind, message }) => Err(WorkerError::Refused { kind, message }),
        Ok(reply) => Ok(reply),
        Err(error) => Err(WorkerError::Protocol(format!("{error}: {line}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{scripted, tree};
    use model::units::Bytes;
    use std::cell::Cell;
    use std::path::Path;

    fn scripted(script: &str) -> (tempfile::TempDir, Worker) {
        let directory = tempfile::tempdir().unwrap();
        let command = WorkerCommand {
            program: scripted::program(directory.path(), script),
            stderr: directory.path().join("stderr"),
            directory: directory.path().to_owned(),
            environment: Environment::default(),
        };
        let worker = scripted::started(|| Worker::start(&command)).unwrap();
        (directory, worker)
    }

    fn ask(worker: &mut Worker, timeout: Nanos) -> Result<Reply, WorkerError> {
        worker.send(&Request::ReadShape)?;
        worker.receive("read-shape", timeout, &|| false)
    }

    #[test]
    fn a_reply_is_read_and_a_refusal_is_an_error() {
        let (_directory, mut worker) = scripted(
            r#"read l; echo '{"reply":"prepared"}'; read l; echo '{"reply":"failed","kind":"engine","message":"no"}'; read l"#,
        );
        assert_eq!(ask(&mut worker, Nanos::from_secs(5)).unwrap(), Reply::Prepared);
        let refused = ask(&mut worker, Nanos::from_secs(5)).unwrap_err();
        assert!(matches!(refused, WorkerError::Refused { kind: FailureKind::Engine, .. }), "{refused}");
    }

    #[test]
    fn a_crash_tells_how_and_gives_the_last_words() {
        let (_directory, mut worker) = scripted("read l; echo out of luck >&2; kill -SEGV $$");
        let crash = ask(&mut worker, Nanos::from_secs(5)).unwrap_err().to_string();
        assert_eq!(crash, "the worker was killed by signal 11; its last words: out of luck");
    }

    #[test]
    fn a_worker_that_says_goodbye_and_does_not_end_is_killed_when_the_user_interrupts() {
        let (_directory, worker) =
            scripted(r#"read l; echo '{"reply":"bye","heap_peak":1}'; exec tail -f /dev/null"#);
        let pid = worker.pid();
        let looks = Cell::new(0);
        let last = worker.stop(&|| looks.replace(looks.get() + 1) > 200);
        assert_eq!(last, Some(Reply::Bye { heap_peak: Bytes(1) }));
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_worker_that_writes_without_pause_is_ended_at_its_timeout() {
        let (_directory, mut worker) = scripted(
            r#"read l; exec yes '{"reply":"second","second":0,"operations":1,"p50":1,"p99":1,"max":1}'"#,
        );
        let pid = worker.pid();
        assert!(matches!(ask(&mut worker, Nanos::from_millis(50)), Err(WorkerError::TimedOut { .. })));
        // It waits to write, and its reader for somebody who takes the lines.
        drop(worker);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_worker_that_writes_a_line_without_end_is_killed() {
        let (_directory, mut endless) = scripted(r"read l; exec tr '\0' x </dev/zero");
        let error = ask(&mut endless, Nanos::from_secs(60)).unwrap_err();
        assert_eq!(error.to_string(), "the worker was killed, as it wrote a line of more than 64 MiB");
        assert!(!Path::new(&format!("/proc/{}", endless.pid())).exists());
    }

    #[test]
    fn a_hang_is_bounded_and_an_interrupt_ends_the_wait() {
        let (_directory, mut worker) = scripted("read l; exec tail -f /dev/null");
        let pid = worker.pid();
        assert!(matches!(ask(&mut worker, Nanos(1)), Err(WorkerError::TimedOut { .. })));
        let interrupted = worker.receive("read-shape", Nanos::from_secs(60), &|| true);
        assert!(matches!(interrupted, Err(WorkerError::Interrupted)));
        worker.freeze().unwrap();
        drop(worker);
        assert_eq!(tree::descendants(pid), Vec::<u32>::new(), "a frozen worker is killed too");
    }
}
