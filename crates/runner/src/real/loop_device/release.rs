//! Taking apart what is mounted and attached in a directory, also what a killed controller left: the file systems, then the
//! devices that they lie on, then the slow devices below those.
//!
//! Never in here: a device is detached and a file system unmounted only if the file below it lies in the directory that was
//! named.

use super::program::run;
use super::{LoopDeviceError, io_error, settings, sysfs};
use crate::clock::Stopwatch;
use crate::proc::parse::{self, Mount};
use crate::real::slow_device;
use crate::rights::as_root;
use model::units::Nanos;
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pause between looks at a device. Not tuned.
const LOOK_PAUSE: Duration = Duration::from_millis(5);
/// A file system that somebody looks into longer than this (a shell, an indexer) is detached lazily.
const BUSY_TIMEOUT: Nanos = Nanos::from_secs(2);
/// udev may look at a device for a moment after it was let go.
pub(super) const DETACH_TIMEOUT: Nanos = Nanos::from_secs(2);
/// A run mounts one file system for each side and one below it; a directory with more mounts than this is not ours to tidy up.
const UNMOUNTS_MAX: u32 = 128;

/// Unmounts what is mounted below `directory` and detaches the loop devices whose files lie there; fine where
/// there are none. After an error, something is still mounted and nothing there may be deleted.
pub fn release(directory: &Path) -> Result<(), LoopDeviceError> {
    let directory = directory.canonicalize().map_err(io_error("look at", directory))?;
    unmount_all(&directory, Kind::OnLoopDevice)?;
    for device in devices_below(&directory) {
        if let Some(with_record) = directory_of(&device) {
            settings::restore(&with_record, &device);
        }
        detach(&directory, &device)?;
    }
    unmount_all(&directory, Kind::SlowDevice)
}

/// What is mounted in a directory of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file system on a loop device whose file is below the directory.
    OnLoopDevice,
    /// Below a loop device: a slow device, alive or dead.
    SlowDevice,
}

/// Unmounts all of one kind.
fn unmount_all(directory: &Path, kind: Kind) -> Result<(), LoopDeviceError> {
    let mut unmounts = 0;
    loop {
        let file = Path::new("/proc/self/mountinfo");
        let mountinfo = fs::read_to_string(file).map_err(io_error("read", file))?;
        let below: Vec<Mount<'_>> =
            parse::mounts(&mountinfo).filter(|mount| mount.mount_point.starts_with(directory)).collect();
        // All are looked at before the first is touched: a lazy unmount takes those below with it.
        if let Some(foreign) = below.iter().find(|mount| kind_of(directory, mount).is_none()) {
            return Err(LoopDeviceError::ForeignMount { mount_point: foreign.mount_point.clone() });
        }
        let of_kind = below.iter().filter(|mount| kind_of(directory, mount) == Some(kind));
        let Some(deepest) = of_kind.max_by_key(|mount| mount.mount_point.components().count()) else {
            return Ok(());
        };
        unmounts += 1;
        if unmounts > UNMOUNTS_MAX {
            return Err(io_error("unmount", &deepest.mount_point)(Errno::BUSY.into()));
        }
        unmount_one(&deepest.mount_point)?;
    }
}

/// None of what somebody else has mounted.
fn kind_of(directory: &Path, mount: &Mount<'_>) -> Option<Kind> {
    if mount.kind == slow_device::FUSE_TYPE && mount.source == slow_device::FILE_SYSTEM {
        return Some(Kind::SlowDevice);
    }
    let (major, minor) = mount.device;
    let file = format!("/sys/dev/block/{major}:{minor}/loop/backing_file");
    let lies_here = backing_file(Path::new(&file)).is_some_and(|file| file.starts_with(directory));
    // btrfs has no device number of its own device: there the name of the device tells.
    let named = mount.source.strip_prefix("/dev/").is_some_and(|device| lies_below(directory, device));
    (lies_here || named).then_some(Kind::OnLoopDevice)
}

fn unmount_one(mount_point: &Path) -> Result<(), LoopDeviceError> {
    let watch = Stopwatch::start();
    let _root = as_root();
    loop {
        let flags = if watch.elapsed() < BUSY_TIMEOUT {
            UnmountFlags::NOFOLLOW
        } else {
            UnmountFlags::NOFOLLOW | UnmountFlags::DETACH
        };
        match unmount(mount_point, flags) {
            // Somebody else was faster: the next look at the mounts tells.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            Err(Errno::BUSY) if !flags.contains(UnmountFlags::DETACH) => std::thread::sleep(LOOK_PAUSE),
            Err(errno) => return Err(io_error("unmount", mount_point)(errno.into())),
        }
    }
}

/// The loop devices whose files lie below a directory.
pub(super) fn devices_below(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|device| lies_below(directory, device)).collect()
}

fn lies_below(directory: &Path, device: &str) -> bool {
    backing_file_of(device).is_some_and(|file| file.starts_with(directory))
}

/// The file that a loop device lies on.
pub(super) fn backing_file_of(device: &str) -> Option<PathBuf> {
    backing_file(&sysfs(device, "loop/backing_file"))
}

fn backing_file(file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.trim_end_matches('\n');
    Some(path.strip_suffix(" (deleted)").unwrap_or(path).into())
}

/// Where the file of a device lies, beside which is the record of its settings.
fn directory_of(device: &str) -> Option<PathBuf> {
    Some(backing_file_of(device)?.parent()?.to_owned())
}

/// A device that is still in use (a lazy unmount) goes by itself with its last user.
fn detach(directory: &Path, device: &str) -> Result<(), LoopDeviceError> {
    let detached = run("losetup", &["--detach", &format!("/dev/{device}")]);
    if detached.is_err() && lies_below(directory, device) {
        return detached.map(drop);
    }
    let watch = Stopwatch::start();
    while lies_below(directory, device) && watch.elapsed() < DETACH_TIMEOUT {
        std::thread::sleep(LOOK_PAUSE);
    }
    Ok(())
}
