//! `dbdyno device start`: a device that is slow on purpose, to try a program of one's own on. Nothing is measured.

use crate::cli::{Device, DeviceAction, Places, StartDevice};
use crate::commands::print;
use crate::exit::Ending;
use crate::{interrupt, paths};
use anyhow::{Context, anyhow};
use model::loop_device::{LoopDevice, SlowDevice};
use runner::real::loop_device::{LoopDeviceError, LoopFileSystem};
use runner::real::run_directory::{self, RunDirectory};
use runner::real::slow_device::SlowDeviceError;
use runner::real::slow_device::command::DeviceCommand;
use serde::Serialize;
use std::io::BufRead;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Where it is, for scripts.
#[derive(Serialize)]
struct Reached<'a> {
    path: &'a Path,
    /// Its name in `/dev` and in `/proc/diskstats`.
    device: &'a str,
}

/// How often it is looked whether the device still works, and whether it should.
const LOOK: Duration = Duration::from_millis(50);

/// Dispatches.
pub fn run(places: &Places, arguments: &Device) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    match &arguments.action {
        DeviceAction::Start(wanted) => start(places, wanted),
    }
}

/// Makes, tells, does as it is told, takes apart.
fn start(places: &Places, wanted: &StartDevice) -> anyhow::Result<Ending> {
    let mut slow = SlowDevice {
        read_latency_us: wanted.read_latency,
        write_latency_us: wanted.write_latency,
        fsync_latency_us: wanted.fsync_latency,
        bandwidth_bytes_per_s: wanted.bandwidth,
    };
    let spec = LoopDevice {
        file_system: wanted.file_system,
        mount_options: wanted.mount_options.clone(),
        scheduler: wanted.scheduler.clone(),
        nr_requests: wanted.nr_requests,
        // Also if nothing of it is slow yet: a line of the input may want it.
        slow: Some(slow),
        ..LoopDevice::new(wanted.size)
    };
    let work_dir = paths::work_dir(places)?;
    // What was killed with all its processes has left a file system behind whose device is dead.
    run_directory::remove_stale(&work_dir);
    let run = RunDirectory::create(&work_dir, &format!("device-{}", std::process::id()))?;
    let mut file_system =
        LoopFileSystem::create(run.path(), &spec, &interrupt::requested).map_err(without_plan)?;
    print::text(&told(&file_system, &spec, wanted.json)?)?;
    let lines = lines_of_input();
    while !interrupt::requested() {
        let device = file_system.slow_device().context("a device that was to be slow")?;
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                let answer = obey(device, &line, &mut slow)?;
                print::text(&format!("{answer}\n"))?;
            }
            Err(RecvTimeoutError::Timeout) => device.check()?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(Ending::Done)
}

/// What the line is answered with.
fn obey(
    device: &mut runner::real::slow_device::SlowDevice,
    line: &str,
    slow: &mut SlowDevice,
) -> Result<String, SlowDeviceError> {
    let command = match DeviceCommand::parse(line, *slow) {
        Ok(command) => command,
        Err(problem) => return Ok(problem),
    };
    device.tell(&command, &interrupt::requested)?;
    if let DeviceCommand::Slow(wanted) = command {
        *slow = wanted;
    }
    Ok("done".to_owned())
}

/// What plans are told to do about it does not help here.
fn without_plan(error: LoopDeviceError) -> anyhow::Error {
    match error {
        LoopDeviceError::NotPermitted => anyhow!("to mount a device needs CAP_SYS_ADMIN; run as root"),
        LoopDeviceError::NoLoopSupport => {
            anyhow!("this host has no loop devices (no /dev/loop-control); load the kernel's module `loop`")
        }
        LoopDeviceError::Slow(SlowDeviceError::NoFuse) => {
            anyhow!("this host has no FUSE (no /dev/fuse); load the kernel's module `fuse`")
        }
        error => anyhow::Error::new(error).context("failed to make the device"),
    }
}

fn told(file_system: &LoopFileSystem, spec: &LoopDevice, as_json: bool) -> anyhow::Result<String> {
    let (path, device) = (file_system.path(), file_system.device());
    if as_json {
        let line = serde_json::to_string(&Reached { path, device }).context("failed to render JSON")?;
        return Ok(format!("{line}\n"));
    }
    let settings: String =
        spec.further_settings().into_iter().map(|setting| format!(", {setting}")).collect();
    let path = path.display();
    Ok(format!("{path} is on /dev/{device}{settings}; Ctrl-C takes it apart with all that is in it\n"))
}

/// Ends when standard input has ended: whoever started us has ended too.
fn lines_of_input() -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
