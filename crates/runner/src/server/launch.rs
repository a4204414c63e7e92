//! Starting a program of a build: as the right user, with the same environment on every side, dying with us.
//!
//! Where the kernel lets us (as root), the program is the first process of a PID namespace of its own, as in a
//! container: when it dies, the kernel kills all that it has started, those that are frozen too. The helpers of
//! Postgres are leaders of their own sessions, so neither a signal to a process group nor the death of their parent
//! would end one that is stopped. Elsewhere a guard does it.
//!
//! Postgres leaves shared memory behind where it is killed: what is System V's goes with a namespace of its own, too,
//! and the files of POSIX shared memory are removed by their names, which are read while it lives.

use super::account::Account;
use super::error::ServerError;
use super::guard::Guard;
use super::log::Log;
use crate::process::wait::{Unmet, Wait};
use crate::process::{child, tree};
use crate::rights::as_root;
use model::build::ServerFiles;
use model::environment::Environment;
use model::units::Nanos;
use std::collections::BTreeSet;
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
    pub files: &'a ServerFiles,
    pub program: &'a Path,
    pub arguments: &'a [OsString],
    pub environment: &'a Environment,
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
    /// Files of shared memory that it was seen to use.
    shared: BTreeSet<PathBuf>,
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
            self.note_shared();
            tree::kill(self.child.id());
            let _ = self.child.wait();
        }
        if !self.contained {
            end_orphans(&self.program, &self.directory);
        }
        for path in std::mem::take(&mut self.shared) {
            // One that ended by itself has removed its own.
            let _ = fs::remove_file(path);
        }
    }

    /// Reads which files of shared memory it uses: nothing else tells once it has been killed.
    pub fn note_shared(&mut self) {
        for pid in tree::descendants(self.child.id()) {
            let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            self.shared.extend(shared_files(&maps).map(PathBuf::from));
        }
    }

    /// What cleans up after it if we are killed, where the kernel does not.
    pub fn guard(
        &self,
        shares_memory: bool,
        account: Option<&Account>,
    ) -> Result<Option<Guard>, ServerError> {
        if self.contained && !shares_memory {
            return Ok(None);
        }
        Guard::over(&self.program, &self.directory, account).map(Some)
    }

    /// The files of shared memory that [`Started::note_shared`] found.
    pub fn shared(&self) -> impl Iterator<Item = &Path> {
        self.shared.iter().map(PathBuf::as_path)
    }
}

/// Files of Postgres' shared memory in `/proc/PID/maps`:
/// `7f26c81c3000-7f26c81ca000 rw-s 00000000 00:18 22 /dev/shm/PostgreSQL.2285125628`; one that is deleted has a word more.
fn shared_files(maps: &str) -> impl Iterator<Item = &str> {
    maps.lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(5))
        .filter(|path| path.strip_prefix("/dev/shm/PostgreSQL.").is_some_and(|name| !name.contains('/')))
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
    let mut command = child::command(&program);
    command
        .args(launch.arguments)
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", "/usr/bin:/bin")
        .env("TZ", "UTC")
        .envs(launch.environment.iter())
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
    Ok(Started { child, program, directory, contained, shared: BTreeSet::new() })
}

fn search_path(directories: &[PathBuf]) -> OsString {
    let directories: Vec<&OsStr> = directories.iter().map(|directory| directory.as_os_str()).collect();
    directories.join(OsStr::new(":"))
}

/// Starts it as the first process of a PID namespace where we may (then true), else as any other.
fn spawn(command: &mut Command) -> io::Result<(Child, bool)> {
    let processes = Namespace::leave("pid_for_children", libc::CLONE_NEWPID);
    let memory = processes.is_some().then(|| Namespace::leave("ipc", libc::CLONE_NEWIPC)).flatten();
    let contained = processes.is_some();
    let spawned = command.spawn();
    // A worker that this thread started next would be in the server's namespaces and die with it.
    let back = [memory, processes].into_iter().flatten().try_for_each(|namespace| namespace.enter());
    match (spawned, back) {
        (Ok(child), Ok(())) => Ok((child, contained)),
        (Ok(mut child), Err(error)) => {
            child.kill()?;
            child.wait()?;
            Err(error)
        }
        (Err(error), _) => Err(error),
    }
}

/// A namespace that this thread has left for a new one, to come back to.
struct Namespace {
    own: File,
    kind: libc::c_int,
}

impl Namespace {
    /// Leaves one; absent where we may not, or the kernel has none.
    fn leave(name: &str, kind: libc::c_int) -> Option<Namespace> {
        let _root = as_root();
        let own = File::open(format!("/proc/thread-self/ns/{name}")).ok()?;
        // SAFETY: unshare(2) with a flag of a namespace changes where children of this thread go, and which shared
        // memory of System V it sees: we have none.
        (unsafe { libc::unshare(kind) } == 0).then_some(Namespace { own, kind })
    }

    fn enter(&self) -> io::Result<()> {
        let _root = as_root();
        // SAFETY: setns(2) with an open file of a namespace that this thread was in.
        let entered = unsafe { libc::setns(self.own.as_raw_fd(), self.kind) };
        if entered == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// A program that runs to its end.
pub(super) struct Errand<'a> {
    pub launch: Launch<'a>,
    /// What it does, for errors: `while making the data directory`.
    pub doing: &'static str,
    /// It is killed after this long.
    pub timeout: Nanos,
}

/// Runs it to its end; its log where it ends well.
pub(super) fn run(errand: &Errand<'_>, interrupted: &dyn Fn() -> bool) -> Result<Log, ServerError> {
    let Launch { program, files, .. } = errand.launch;
    let mut log = Log::from_here(errand.launch.log.to_owned(), files.dialect);
    let mut started = start(&errand.launch)?;
    let wait = Wait { pause: LOOK, timeout: errand.timeout };
    let ended = wait.until(&mut || interrupted(), || match log.waits_for_space() {
        Some(line) => Some(Err(line)),
        None => started.child.try_wait().transpose().map(Ok),
    });
    let ended = ended.map_err(|unmet| match unmet {
        Unmet::Interrupted => ServerError::Interrupted,
        Unmet::TimedOut => {
            let (program, doing, timeout) = (program.to_owned(), errand.doing, errand.timeout);
            ServerError::TimedOut { program, doing, timeout, tail: log.tail() }
        }
    })?;
    let status = ended.map_err(|line| ServerError::WaitsForSpace {
        program: program.to_owned(),
        doing: errand.doing,
        line,
    })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_shared_memory_are_read_from_the_maps_and_those_that_are_no_memory_of_postgres_are_not() {
        let maps = "7f26c81c3000-7f26c81ca000 rw-s 00000000 00:18 22 /dev/shm/PostgreSQL.2285125628\n\
                    7f26c81ca000-7f26c81cb000 rw-s 00000000 00:18 23 /dev/shm/other\n\
                    7f26c81cb000-7f26c81cc000 rw-s 00000000 00:18 24 /dev/shm/PostgreSQL.1/../precious\n\
                    7f26c81cc000-7f26c81cd000 rw-p 00000000 00:00 0\n";
        assert_eq!(shared_files(maps).collect::<Vec<_>>(), ["/dev/shm/PostgreSQL.2285125628"]);
    }
}
