//! A device that is slow on purpose, and fails on demand: a file system of ours, with one file, below a loop device.
//!
//! `schedule` and `faults` decide when a request is answered and with which error, apart from FUSE; `due_queue` holds what
//! waits; `file_system` is what the kernel asks; `serve` is the process that all this runs in. This file starts that process
//! and talks to it.

pub mod command;
mod due_queue;
mod faults;
mod file_system;
mod schedule;
mod serve;
#[cfg(test)]
mod tests;

pub use serve::serve;

use crate::clock::Stopwatch;
use crate::process::lines::{self, Lines};
use crate::process::wait::{Unmet, Wait};
use crate::process::worker::OWN_PROGRAM;
use crate::process::{child, output};
use crate::rights::as_root;
use command::{DeviceCommand, DeviceReply};
use model::units::Nanos;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// The hidden command of dbdyno that [`serve`]s.
pub const COMMAND: &str = "slow-device";
/// What is mounted, in the kernel's list of mounts: there a file system has this type ..
pub(super) const FUSE_TYPE: &str = "fuse";
/// .. and one of ours this name.
pub(super) const FILE_SYSTEM: &str = "slow-device";
/// By which the kernel talks to file systems that are processes.
const FUSE: &str = "/dev/fuse";
/// To mount takes milliseconds; a host that is very busy takes longer.
const REPLY_TIMEOUT: Nanos = Nanos::from_secs(20);
/// It unmounts what lies on it first, which may take some seconds if somebody looks into that.
const END_TIMEOUT: Nanos = Nanos::from_secs(20);
const LOOK: Duration = Duration::from_millis(10);

/// Why there is no slow device, or why it does not do as it was told.
#[derive(Debug, thiserror::Error)]
pub enum SlowDeviceError {
    #[error(
        "this host has no FUSE (no {FUSE}), so this plan is skipped; load the kernel's module `fuse`, or take `slow` out \
         of the plan"
    )]
    NoFuse,
    /// A container that has no right to the device.
    #[error(
        "{FUSE} may not be opened here, so this plan is skipped; give the container that device, or take `slow` out of \
         the plan"
    )]
    NotPermitted,
    #[error("failed to start the process of the slow device")]
    Start(#[source] io::Error),
    #[error("the process of the slow device {how}{last_words}")]
    Ended {
        /// `was killed by signal 9`.
        how: String,
        /// Of its standard error; may be empty.
        last_words: String,
    },
    #[error("the process of the slow device did not answer within {} s", REPLY_TIMEOUT.as_secs_f64())]
    TimedOut,
    #[error("the slow device refused: {0}")]
    Refused(String),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The process of a slow device. Dropping it ends the process, which unmounts what lies on it.
#[derive(Debug)]
pub struct SlowDevice {
    child: Child,
    commands: Option<ChildStdin>,
    replies: Lines,
    stderr: PathBuf,
}

impl SlowDevice {
    /// Covers a file with a device that has its bytes: until it is told otherwise, it is not slow. `stderr` is the file of what
    /// the process has to say.
    pub fn start(
        file: &Path,
        stderr: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<SlowDevice, SlowDeviceError> {
        can_serve()?;
        let errors = File::create(stderr).map_err(SlowDeviceError::Start)?;
        // It has no wish to die with its controller: it takes apart what lies on it when its input ends.
        let mut command = child::command(OWN_PROGRAM);
        command
            .arg0("dbdyno")
            .arg(COMMAND)
            .arg(file)
            .env_clear()
            .env("LC_ALL", "C")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            // Ctrl-C is for the controller.
            .process_group(0);
        let mut child = as_root().start(&mut command).spawn().map_err(SlowDeviceError::Start)?;
        let commands = child.stdin.take();
        let stdout =
            child.stdout.take().ok_or_else(|| SlowDeviceError::Start(ErrorKind::BrokenPipe.into()))?;
        let replies = lines::read(stdout);
        let mut device = SlowDevice { child, commands, replies, stderr: stderr.to_owned() };
        device.receive(interrupted)?;
        Ok(device)
    }

    /// Tells it something; it holds for requests that arrive after this has returned.
    pub fn tell(
        &mut self,
        command: &DeviceCommand,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), SlowDeviceError> {
        let mut line =
            serde_json::to_vec(command).map_err(|error| SlowDeviceError::Refused(error.to_string()))?;
        line.push(b'\n');
        if let Some(Err(_)) = self.commands.as_mut().map(|commands| commands.write_all(&line)) {
            return Err(self.ended());
        }
        self.receive(interrupted)
    }

    /// Whether its process still lives.
    ///
    /// # Errors
    /// How it ended.
    pub fn check(&mut self) -> Result<(), SlowDeviceError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn receive(&mut self, interrupted: &dyn Fn() -> bool) -> Result<(), SlowDeviceError> {
        let watch = Stopwatch::start();
        loop {
            match self.replies.recv_timeout(LOOK) {
                Ok(Ok(line)) => match serde_json::from_str(&line) {
                    Ok(DeviceReply::Done) => return Ok(()),
                    Ok(DeviceReply::Refused(problem)) => return Err(SlowDeviceError::Refused(problem)),
                    Err(_) => return Err(SlowDeviceError::Refused(format!("it said `{line}`"))),
                },
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if interrupted() => return Err(SlowDeviceError::Interrupted),
                Err(RecvTimeoutError::Timeout) if watch.elapsed() > REPLY_TIMEOUT => {
                    return Err(SlowDeviceError::TimedOut);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn ended(&mut self) -> SlowDeviceError {
        self.end();
        let how = match self.child.wait() {
            Ok(status) => child::how_it_ended(status),
            Err(error) => format!("cannot be waited for: {error}"),
        };
        let said = output::last_words(&self.stderr);
        let last_words = if said.is_empty() { said } else { format!("; its last words: {said}") };
        SlowDeviceError::Ended { how, last_words }
    }

    /// Its input ends; if it does not, it is killed.
    fn end(&mut self) {
        self.commands = None;
        let wait = Wait { pause: LOOK, timeout: END_TIMEOUT };
        let child = &mut self.child;
        let ended = wait.until(&mut || false, || (!matches!(child.try_wait(), Ok(None))).then_some(()));
        if ended == Err(Unmet::TimedOut) {
            let _root = as_root();
            // Ended meanwhile is as good.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for SlowDevice {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether this host lets us be a file system, beside the right to mount.
///
/// # Errors
/// Why not.
pub fn can_serve() -> Result<(), SlowDeviceError> {
    let _root = as_root();
    match File::options().read(true).write(true).open(FUSE) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(SlowDeviceError::NotPermitted),
        Err(_) => Err(SlowDeviceError::NoFuse),
    }
}
