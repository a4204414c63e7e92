//! What every child process has in common: it does not get our passwords, it dies with its controller, and what is said of its end.

use super::supervisor;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// The names of all variables that have the password of an external server begin with this.
pub const PASSWORD_VARIABLES: &str = "DBDYNO_PASSWORD_";

/// A program to start, which does not get the passwords in our environment, for only the run itself needs them, and which has a supervisor of its
/// own if it is another dbdyno.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove(supervisor::VARIABLE);
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(PASSWORD_VARIABLES.as_bytes()) {
            command.env_remove(name);
        }
    }
    command
}

/// Has the child killed when the thread that starts it ends, as it does when this process dies, whatever that dies
/// of. A change of user clears the wish; `Command` changes the user before this is carried out.
pub fn die_with_controller(command: &mut Command) {
    let controller = std::process::id();
    let watched = pidfd(controller);
    // SAFETY: between fork and exec only async-signal-safe calls are made: prctl, poll, getppid, _exit.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // The controller may have died before the line above. A child in a PID namespace of its own sees no
            // parent, so the controller is asked for by a file; kernels before 5.3 have no such file.
            let died = match &watched {
                Some(controller) => has_ended(controller),
                None => {
                    let parent = libc::getppid().unsigned_abs();
                    parent != 0 && parent != controller
                }
            };
            if died {
                libc::_exit(1);
            }
            Ok(())
        });
    }
}

/// A file that is readable once a process has ended; none on kernels before 5.3.
pub fn pidfd(pid: u32) -> Option<OwnedFd> {
    // SAFETY: pidfd_open(2) takes a process id and flags, and returns a new file that is ours, or -1.
    unsafe {
        let file = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        let file = libc::c_int::try_from(file).ok().filter(|file| *file >= 0)?;
        Some(OwnedFd::from_raw_fd(file))
    }
}

/// Waits until the process of [`pidfd`] has ended.
pub fn wait_for_end(process: &OwnedFd) {
    while !ended_within(process, -1) {} // a signal to this process ends a wait early
}

/// Whether the process of [`pidfd`] has ended.
fn has_ended(process: &OwnedFd) -> bool {
    ended_within(process, 0)
}

/// Sends a signal to the process of [`pidfd`]; to no other, whatever has become of its number.
pub fn send(process: &OwnedFd, signal: libc::c_int) -> io::Result<()> {
    let (file, no_more) = (process.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: pidfd_send_signal(2) with an open file, a number, and no more to tell.
    let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, file, signal, no_more, 0) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// -1 waits without end.
fn ended_within(process: &OwnedFd, milliseconds: libc::c_int) -> bool {
    let mut look = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `look` is one valid entry.
    unsafe { libc::poll(&mut look, 1, milliseconds) > 0 }
}

/// Takes note of the end of a child that nothing else waits for; one that has not ended stays as it is.
pub fn reap(pid: u32) {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return };
    // SAFETY: waitpid(2) may be given no place for the status.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
}

/// `was killed by signal 11`, `exited with status 1`.
pub fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(code), None) => format!("exited with status {code}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_our_environment_without_passwords() {
        const PASSWORD: &str = "DBDYNO_PASSWORD_OF_A_TEST";
        const OTHER: &str = "DBDYNO_OTHER_OF_A_TEST";
        if env::var_os(PASSWORD).is_some() {
            let printed = command("env").output().unwrap();
            let printed = String::from_utf8_lossy(&printed.stdout);
            assert!(printed.contains(OTHER) && !printed.contains("DBDYNO_PASSWORD"), "{printed}");
            assert!(!printed.contains(supervisor::VARIABLE), "{printed}");
            return;
        }
        // Other threads read the environment of this process, so it is not changed: the test runs again in one of its own.
        let again = Command::new(env::current_exe().unwrap())
            .args(["--exact", "process::child::tests::a_child_gets_our_environment_without_passwords"])
            .envs([(PASSWORD, "s3cret"), (OTHER, "1"), (supervisor::VARIABLE, "1")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
    }
}
