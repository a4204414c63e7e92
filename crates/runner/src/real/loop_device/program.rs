//! Programs of the system that a loop device needs: within a timeout, out of reach of Ctrl-C, their words in the error.

use super::LoopDeviceError;
use crate::process::child;
use crate::process::wait::{Unmet, Wait};
use crate::rights::as_root;
use model::units::Nanos;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::{Output, Stdio};
use std::time::Duration;

/// mkfs writes all inode tables; on a disk of 12 GB that is 200 MB.
const PROGRAM_TIMEOUT: Nanos = Nanos::from_secs(300);
/// Pause between looks at a program. Not tuned.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// Runs a program of the system that takes a moment and returns the first line that it prints.
pub(super) fn run(program: &'static str, arguments: &[&str]) -> Result<String, LoopDeviceError> {
    run_unless_interrupted(program, arguments, &|| false)
}

pub(super) fn run_unless_interrupted(
    program: &'static str,
    arguments: &[&str],
    interrupted: &dyn Fn() -> bool,
) -> Result<String, LoopDeviceError> {
    let failed = |said: String| LoopDeviceError::ProgramFailed { program, said };
    let output = match output_within_bound(program, arguments, interrupted) {
        Ok(Ok(output)) => output,
        Ok(Err(Unmet::Interrupted)) => return Err(LoopDeviceError::Interrupted),
        Ok(Err(Unmet::TimedOut)) => {
            return Err(failed(format!("it did not end within {} s", PROGRAM_TIMEOUT.as_secs_f64())));
        }
        // A directory of the PATH that may not be searched makes a program that is in none of them "denied".
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            return Err(LoopDeviceError::ProgramMissing { program, package: package_of(program) });
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        // mkfs.xfs adds all that it knows.
        let said = said.split("Usage:").next().unwrap_or_default();
        return Err(failed(format!("{}: {}", output.status, said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned())
}

/// A program that has not ended in time is killed.
fn output_within_bound(
    program: &str,
    arguments: &[&str],
    interrupted: &dyn Fn() -> bool,
) -> io::Result<Result<Output, Unmet>> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = child::command(program);
    command
        .args(arguments)
        // Where these programs are, and where the PATH of a user who became root need not lead.
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for the controller: it takes the device apart in order.
        .process_group(0);
    let mut child = as_root().start(&mut command).spawn()?;
    let wait = Wait { pause: LOOK_PAUSE, timeout: PROGRAM_TIMEOUT };
    // What these programs print fits into a pipe.
    if let Err(unmet) = wait.until(&mut || interrupted(), || child.try_wait().transpose()) {
        let _root = as_root();
        child.kill()?;
        child.wait()?;
        return Ok(Err(unmet));
    }
    child.wait_with_output().map(Ok)
}

/// Debian's name for what the program comes in.
fn package_of(program: &str) -> &'static str {
    match program {
        "losetup" => "util-linux",
        "mkfs.xfs" => "xfsprogs",
        "mkfs.btrfs" => "btrfs-progs",
        _ => "e2fsprogs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stopwatch;

    #[test]
    fn a_program_that_is_missing_or_fails_is_named() {
        let missing = run("mkfs.no-such-file-system", &[]).unwrap_err();
        assert!(matches!(missing, LoopDeviceError::ProgramMissing { package: "e2fsprogs", .. }), "{missing}");
        let failed = run("ls", &["/no such file"]).unwrap_err();
        assert!(failed.to_string().contains("No such file or directory"), "{failed}");
        assert_eq!(run("echo", &["/dev/loop0"]).unwrap(), "/dev/loop0");
    }

    #[test]
    fn a_program_that_takes_long_is_killed_at_an_interrupt() {
        let watch = Stopwatch::start();
        let interrupted = run_unless_interrupted("sleep", &["60"], &|| true).unwrap_err();
        assert!(matches!(interrupted, LoopDeviceError::Interrupted), "{interrupted}");
        assert!(watch.elapsed() < Nanos::from_secs(30));
    }
}
