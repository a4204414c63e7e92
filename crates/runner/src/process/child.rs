//! What every child process has in common: it dies with its controller, and what is said of its end.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// Bytes of output that an error message shows.
const LAST_WORDS_BYTES: usize = 400;

/// Has the child killed when this process dies, whatever that dies of.
pub fn die_with_controller(command: &mut Command) {
    let controller = std::process::id();
    // SAFETY: between fork and exec only async-signal-safe calls are made: prctl, getppid, _exit.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // The controller may have died before the line above.
            if libc::getppid().unsigned_abs() != controller {
                libc::_exit(1);
            }
            Ok(())
        });
    }
}

/// `was killed by signal 11`, `exited with status 1`.
pub fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(code), None) => format!("exited with status {code}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The end of an output, for an error message; what is not UTF-8 is replaced.
pub fn last_words(output: &[u8]) -> String {
    let start = output.len().saturating_sub(LAST_WORDS_BYTES);
    String::from_utf8_lossy(&output[start..]).trim().to_owned()
}
