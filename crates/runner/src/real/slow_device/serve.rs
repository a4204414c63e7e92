//! The process of a slow device, `dbdyno slow-device`: serves one file, does as it is told on its input, and ends with it.
//!
//! It is a process of its own so that its CPU is no side's.

use super::FILE_SYSTEM;
use super::command::{DeviceCommand, DeviceReply};
use super::due_queue::DueQueue;
use super::file_system::{Answer, Behaviour, OneFile};
use crate::clock::Stopwatch;
use crate::ownership::lies_at;
use crate::process::supervisor;
use fuser::{Config, MountOption, Session};
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Threads that take requests from the kernel: so many may wait for the disk below at a time. Not tuned; they cost nothing
/// while they wait.
const READERS: usize = 16;
/// prctl(2); libc has no name for it.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Covers `file` with a slow device that has its bytes, says `done`, and answers each line of the input, until it ends. The
/// device is then as fast as it can be, without errors, for `last`, which is to unmount what lies on it.
///
/// # Errors
/// Streams that broke; what else went wrong is said on `output`.
pub fn serve(
    file: &Path,
    input: impl BufRead,
    mut output: impl Write,
    last: impl FnOnce(),
) -> io::Result<()> {
    supervisor::end_by_myself();
    // Memory that is asked for here must not be made free by a write to this device, which would wait for us.
    // SAFETY: prctl(2) with numbers; a kernel that refuses changes nothing.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) };
    let behaviour = Arc::new(Mutex::new(Behaviour::default()));
    // Dropping it unmounts.
    let _session = match cover(file, &behaviour) {
        Ok(session) => session,
        Err(error) => return say(&mut output, &DeviceReply::Refused(error.to_string())),
    };
    say(&mut output, &DeviceReply::Done)?;
    for line in input.lines() {
        let reply = match serde_json::from_str(&line?) {
            Ok(command) => obey(&mut locked(&behaviour), command),
            Err(error) => DeviceReply::Refused(error.to_string()),
        };
        say(&mut output, &reply)?;
    }
    *locked(&behaviour) = Behaviour::default();
    last();
    Ok(())
}

fn cover(file: &Path, behaviour: &Arc<Mutex<Behaviour>>) -> io::Result<fuser::BackgroundSession> {
    let below = File::options().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(file)?;
    // It is opened as root, where what runs as the caller of sudo could have put a link to another.
    if !lies_at(&below, file)? {
        return Err(io::ErrorKind::NotFound.into());
    }
    let bytes = below.metadata()?.len();
    let watch = Stopwatch::start();
    let answers = Arc::new(DueQueue::new(watch));
    let served = Arc::clone(&answers);
    std::thread::Builder::new().spawn(move || served.serve(Answer::send))?;
    let one_file = OneFile { below, bytes, behaviour: Arc::clone(behaviour), answers, watch };
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(FILE_SYSTEM.to_owned()),
        MountOption::RW,
        MountOption::NoSuid,
        MountOption::NoDev,
    ];
    config.n_threads = Some(READERS);
    Session::new(one_file, file, &config)?.spawn()
}

fn obey(behaviour: &mut Behaviour, command: DeviceCommand) -> DeviceReply {
    match command {
        DeviceCommand::Slow(slow) => behaviour.schedule.set(slow),
        DeviceCommand::Heal => behaviour.faults.heal(),
        DeviceCommand::Fail(fault) => match fault.check() {
            Ok(()) => behaviour.faults.add(fault),
            Err(problem) => return DeviceReply::Refused(problem.to_owned()),
        },
    }
    DeviceReply::Done
}

fn say(output: &mut impl Write, reply: &DeviceReply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

fn locked(behaviour: &Mutex<Behaviour>) -> MutexGuard<'_, Behaviour> {
    behaviour.lock().unwrap_or_else(PoisonError::into_inner)
}
