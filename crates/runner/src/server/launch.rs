//! Starting a program of a build: as the right user, with the same environment on every side, dying with us.
//!
//! Where the kernel lets us (as root), the program is the first process of a PID namespace of its own, as in a
//! container: when it dies, the kernel kills all that it has started, those that are frozen too. The helpers of
//! Postgres are leaders of their own sessions, so neither a signal to a process group nor the death of their parent
//! would end one that is stopped. Elsewhere a guard does it.

use super::account::Account;
use super::error::ServerError;
use super::guard::Guard;
use super::log::Log;
use crate::clock::Stopwatch;
use crate::process::{child, tree};
use model::build::ServerFiles;
use model::units::Nanos;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often a waiting controller looks: a start takes 150 ms and more.
pub(super) const LOOK: Duration = Duration::from_millis(4);

/// A program to start.
pub(super) struct Launch<'a> {
    /// Its build.
    pub files: &'a ServerFiles,
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Its working directory.
    pub directory: &'a Path,
    /// Who it runs as; as we do where absent.
    pub account: Option<&'a Account>,
    /// File for its standard input; nothing where absent.
    pub input: Option<&'a Path>,
    /// File that its output is appended to.
    pub log: &'a Path,
}

/// A program that has been started; killed with all that it has started when this is dropped.
pub(super) struct Started {
    pub child: Child,
    program: PathBuf,
    directory: PathBuf,
    /// Whether all that it starts dies with it.
    contained: bool,
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Started {
    /// Ends it and all that it has started, at once. What is below it is listed while it lives; of what outlived it
    /// we know the program and the directory.
    pub fn kill(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            tree::kill(self.child.id());
            let _ = self.child.wait();
        }
        if !self.contained {
            end_orphans(&self.program, &self.directory);
        }
    }

    /// What ends its helpers if we are killed, where the kernel does not.
    pub fn guard(&self, account: Option<&Account>) -> Result<Option<Guard>, ServerError> {
        if self.contained { Ok(None) } else { Guard::over(&self.program, &self.directory, account).map(Some) }
    }
}

/// Kills processes of this program whose working directory is this one: with no namespace, the helpers of a Postgres
/// whose first process was killed go on for a moment, and those that are stopped for ever.
fn end_orphans(program: &Path, directory: &Path) {
    let Ok(entries) = fs::read_dir("/proc") else { return };
    let ours = |link: &Path, expected: &Path| fs::read_link(link).is_ok_and(|target| target == expected);
    for entry in entries.filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let process = entry.path();
        if ours(&process.join("cwd"), directory) && ours(&process.join("exe"), program) {
            tree::kill(pid);
        }
    }
}

/// Starts it.
pub(super) fn start(launch: &Launch<'_>) -> Result<Started, ServerError> {
    let error = |source| ServerError::Start { program: launch.program.to_owned(), source };
    let log = File::options().append(true).create(true).open(launch.log);
    let log = log.map_err(ServerError::file("write", launch.log))?;
    let input = match launch.input {
        Some(path) => File::open(path).map_err(ServerError::file("read", path))?.into(),
        None => Stdio::null(),
    };
    let program = fs::canonicalize(launch.program).map_err(error)?;
    let directory =
        fs::canonicalize(launch.directory).map_err(ServerError::file("find", launch.directory))?;
    let mut command = Command::new(&program);
    command
        .args(launch.arguments)
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", "/usr/bin:/bin")
        .env("TZ", "UTC")
        .current_dir(&directory)
        .stdin(input)
        .stdout(log.try_clone().map_err(error)?)
        .stderr(log)
        .process_group(0);
    if !launch.files.libraries.is_empty() {
        command.env("LD_LIBRARY_PATH", search_path(&launch.files.libraries));
    }
    if let Some(account) = launch.account {
        command.uid(account.uid).gid(account.gid);
    }
    child::die_with_controller(&mut command);
    let (child, contained) = spawn(&mut command).map_err(error)?;
    Ok(Started { child, program, directory, contained })
}

fn search_path(directories: &[PathBuf]) -> OsString {
    let directories: Vec<&OsStr> = directories.iter().map(|directory| directory.as_os_str()).collect();
    directories.join(OsStr::new(":"))
}

/// Starts it as the first process of a PID namespace where we may (then true), else as any other.
fn spawn(command: &mut Command) -> io::Result<(Child, bool)> {
    let Some(own) = File::open("/proc/thread-self/ns/pid_for_children").ok().filter(|_| new_namespace())
    else {
        return Ok((command.spawn()?, false));
    };
    let spawned = command.spawn();
    // SAFETY: setns(2) with the namespace that this thread had for its children a moment ago.
    if unsafe { libc::setns(own.as_raw_fd(), libc::CLONE_NEWPID) } == 0 {
        return Ok((spawned?, true));
    }
    // A worker that this thread started next would be in the server's namespace and die with it.
    let source = io::Error::last_os_error();
    if let Ok(mut child) = spawned {
        child.kill()?;
        child.wait()?;
    }
    Err(source)
}

/// Has the next child of this thread begin a PID namespace.
fn new_namespace() -> bool {
    // SAFETY: unshare(2) with this flag changes nothing but where the children of this thread go.
    unsafe { libc::unshare(libc::CLONE_NEWPID) == 0 }
}

/// A program that runs to its end.
pub(super) struct Errand<'a> {
    /// What to start.
    pub launch: Launch<'a>,
    /// What it does, for errors: `while making the data directory`.
    pub doing: &'static str,
    /// It is killed after this long.
    pub bound: Nanos,
}

/// Runs it to its end; its log where it ends well.
pub(super) fn run(errand: &Errand<'_>, interrupted: &dyn Fn() -> bool) -> Result<Log, ServerError> {
    let Launch { program, files, .. } = errand.launch;
    let log = Log::from_here(errand.launch.log.to_owned(), files.dialect);
    let mut started = start(&errand.launch)?;
    let watch = Stopwatch::start();
    let status = loop {
        match started.child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) => {}
            Err(error) => break Err(error),
        }
        if interrupted() {
            return Err(ServerError::Interrupted);
        }
        if watch.elapsed() > errand.bound {
            let (program, doing, bound) = (program.to_owned(), errand.doing, errand.bound);
            return Err(ServerError::TimedOut { program, doing, bound, tail: log.tail() });
        }
        std::thread::sleep(LOOK);
    };
    if status.as_ref().is_ok_and(|status| status.success()) {
        return Ok(log);
    }
    Err(died(program, errand.doing, status, &log))
}

/// The error of a program that has ended by itself.
pub(super) fn died(
    program: &Path,
    doing: &'static str,
    status: io::Result<ExitStatus>,
    log: &Log,
) -> ServerError {
    ServerError::died(program, doing, status, log.cause(), log.tail())
}
