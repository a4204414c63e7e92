//! A file system of its own for the databases of a run, on a loop device whose requests are limited like
//! those of a real disk, and which is slow on purpose if the plan wants that.
//!
//! `settings` is what the kernel is told of the device, `file_system` how one is made and mounted, `release` how all is taken
//! apart, also what a killed controller left, `program` the programs of the system that this needs.

mod file_system;
mod program;
mod release;
mod settings;
#[cfg(test)]
mod tests;

pub use release::release;

use super::page_cache;
use super::slow_device::{self, SlowDevice, SlowDeviceError, command::DeviceCommand};
use crate::marked_dir::MARKER;
use crate::ownership::effective_user;
use crate::rights::as_root;
use model::loop_device::{FileSystem, LoopDevice};
use model::units::Bytes;
use program::run;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// The file below the device.
const IMAGE: &str = "loop.img";
/// Where the file system is mounted.
const MOUNT_POINT: &str = "mnt";
/// Tells which device was taken, and its settings as they were before: written before the device is attached.
const RECORD: &str = "loop-device";
/// What the process of a slow device has to say.
const SLOW_DEVICE_STDERR: &str = "slow-device.stderr";
/// Bit of CAP_SYS_ADMIN in the masks of `/proc/PID/status` (capabilities(7)).
const CAP_SYS_ADMIN: u32 = 21;
/// Another process may take the free device first; this often in a row it does not.
const ATTACH_TRIES: u32 = 10;

/// Why there is no loop device, or why one is still there.
#[derive(Debug, thiserror::Error)]
pub enum LoopDeviceError {
    /// We may not mount.
    #[error(
        "a loop device needs the right to mount (CAP_SYS_ADMIN), so this plan is skipped; run as root, or take \
         `loop_device` out of the plan"
    )]
    NotPermitted,
    /// The kernel has no loop devices, or the container does not show them.
    #[error(
        "this host has no loop devices (no /dev/loop-control), so this plan is skipped; load the kernel's module \
         `loop`, or take `loop_device` out of the plan"
    )]
    NoLoopSupport,
    #[error(
        "a loop device needs the program `{program}`, so this plan is skipped; install {package}, or take \
         `loop_device` out of the plan"
    )]
    ProgramMissing {
        /// `losetup`, `mkfs.xfs`.
        program: &'static str,
        package: &'static str,
    },
    #[error("`{program}` failed, so the plan cannot have its loop device: {said}")]
    ProgramFailed {
        /// `losetup`, `mkfs.ext4`.
        program: &'static str,
        said: String,
    },
    /// The file is sparse: a disk below that fills up would look like a broken one to the engine.
    #[error(
        "the loop device of the plan has {} MiB and `{}` has {} MiB free, so this plan is skipped; make the device \
         smaller, or name a larger disk by --work-dir", wanted.0 >> 20, directory.display(), available.0 >> 20
    )]
    NoSpace { directory: PathBuf, wanted: Bytes, available: Bytes },
    #[error(
        "the file system of `{}` takes no direct IO from a loop device, so this plan is skipped; name a directory on \
         ext4 or xfs by --work-dir, or set `direct_io = false` in the plan", directory.display()
    )]
    NoDirectIo { directory: PathBuf },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    #[error(
        "the kernel did not set `{setting}` of {device} to {wanted} (it is {found}), so this plan is skipped; choose \
         another value in the plan"
    )]
    SettingRefused {
        /// `loop0`.
        device: String,
        /// `max_sectors_kb`, `scheduler`.
        setting: &'static str,
        wanted: String,
        /// Of a scheduler all that this kernel has, the one that it uses in brackets.
        found: String,
    },
    #[error(
        "this kernel has no {file_system} (it is not in /proc/filesystems, and no module of that name was found), so this \
         plan is skipped; choose another `file_system` in the plan"
    )]
    NoFileSystem { file_system: FileSystem },
    #[error(
        "the kernel did not mount {file_system} with the options `{options}`, so this plan is skipped; change \
         `mount_options` in the plan"
    )]
    MountOptions { file_system: FileSystem, options: String },
    /// The device is to be slow, and cannot be.
    #[error(transparent)]
    Slow(#[from] SlowDeviceError),
    #[error("`{}` is mounted in a directory of dbdyno's but not by dbdyno, so nothing there is deleted", mount_point.display())]
    ForeignMount { mount_point: PathBuf },
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// `make`, `mount`, `unmount`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// A mounted file system on a loop device. Dropping it unmounts, detaches and deletes it.
#[derive(Debug)]
pub struct LoopFileSystem {
    directory: PathBuf,
    mount_point: PathBuf,
    device: String,
    image: File,
    /// After the file system has been taken apart, which its process serves until then.
    slow: Option<SlowDevice>,
}

impl LoopFileSystem {
    /// Makes a sparse file in `directory`, which must be a marked one of ours with no other device in it, attaches it, makes a
    /// file system on it and mounts that. A device that is to be slow is slow from then on.
    ///
    /// Every setting is read back: where the kernel did not take it, that is an error and nothing is left
    /// behind.
    pub fn create(
        directory: &Path,
        spec: &LoopDevice,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<LoopFileSystem, LoopDeviceError> {
        assert!(directory.join(MARKER).is_file(), "`{}` is not marked", directory.display());
        may_mount()?;
        if spec.slow.is_some() {
            slow_device::can_serve()?;
        }
        has_space(directory, spec.bytes)?;
        let directory = directory.canonicalize().map_err(io_error("look at", directory))?;
        let made = make(&directory, spec, interrupted);
        if made.is_err() {
            // Best effort: the error of the making is the one to tell.
            let _ = take_apart(&directory);
        }
        made
    }

    /// The root of the file system; beside what is put there ext4 has `lost+found` in it.
    pub fn path(&self) -> &Path {
        &self.mount_point
    }

    /// The device's name in `/proc/diskstats`: `loop0`.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Puts all files out of the page cache, and what the cache has of the file below the device: without
    /// direct IO that would answer what misses in the cache of the file system above. Below a device that is slow on purpose
    /// the cache stays: it is the plan that says how long a read takes.
    pub fn evict(&self) -> io::Result<()> {
        page_cache::evict(&self.mount_point)?;
        match self.slow {
            Some(_) => Ok(()),
            None => page_cache::evict_open(&self.image),
        }
    }

    /// The device below, if it is slow on purpose: it can be told to be otherwise, and to fail.
    pub fn slow_device(&mut self) -> Option<&mut SlowDevice> {
        self.slow.as_mut()
    }
}

impl Drop for LoopFileSystem {
    fn drop(&mut self) {
        if let Some(slow) = &mut self.slow {
            // What is still to be written shall not take as long as it would in a measurement. One that has died is released too.
            let _ = slow.tell(&DeviceCommand::Slow(model::loop_device::SlowDevice::default()), &|| false);
            let _ = slow.tell(&DeviceCommand::Heal, &|| false);
        }
        // What cannot be taken apart now is taken apart by the next run.
        let _ = take_apart(&self.directory);
    }
}

fn make(
    directory: &Path,
    spec: &LoopDevice,
    interrupted: &dyn Fn() -> bool,
) -> Result<LoopFileSystem, LoopDeviceError> {
    let image = directory.join(IMAGE);
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&image);
    let file = file.map_err(io_error("make", &image))?;
    file.set_len(spec.bytes.0).map_err(io_error("make", &image))?;
    give_to_root(&file).map_err(io_error("give to root", &image))?;
    // If something fails from here on, its process ends and is gone before the rest is taken apart.
    let mut slow = spec
        .slow
        .map(|_| SlowDevice::start(&image, &directory.join(SLOW_DEVICE_STDERR), interrupted))
        .transpose()?;
    let device = attach(directory, spec.direct_io)?;
    if spec.direct_io && read_line(&sysfs(&device, "loop/dio")).as_deref() != Some("1") {
        return Err(LoopDeviceError::NoDirectIo { directory: directory.to_owned() });
    }
    let node = format!("/dev/{device}");
    file_system::make(spec.file_system, &node, interrupted)?;
    settings::set_all(&device, spec)?;
    let mount_point = directory.join(MOUNT_POINT);
    fs::create_dir(&mount_point).map_err(io_error("make", &mount_point))?;
    file_system::mount(spec, &node, &mount_point)?;
    if let (Some(slow), Some(wanted)) = (&mut slow, spec.slow) {
        slow.tell(&DeviceCommand::Slow(wanted), interrupted)?;
    }
    Ok(LoopFileSystem { directory: directory.to_owned(), mount_point, device, image: file, slow })
}

/// Under sudo, what runs as the caller shall not change the bytes of a file system below the kernel.
fn give_to_root(file: &File) -> io::Result<()> {
    let _root = as_root();
    if effective_user() == 0 { fchown(file, Some(0), None) } else { Ok(()) }
}

/// Attaches the image to a free device; the device is on record before it is taken.
fn attach(directory: &Path, direct_io: bool) -> Result<String, LoopDeviceError> {
    let path = directory.join(IMAGE);
    let image = path.to_string_lossy();
    let direct_io = if direct_io { "--direct-io=on" } else { "--direct-io=off" };
    let mut tries = 0;
    loop {
        tries += 1;
        let node = run("losetup", &["--find"])?;
        let device = node.trim_start_matches("/dev/").to_owned();
        settings::write_record(directory, &device)?;
        match run("losetup", &[direct_io, &node, &image]) {
            Ok(_) if release::backing_file_of(&device).is_some_and(|found| found == path) => {
                return Ok(device);
            }
            // Somebody has put a link in its place: what it leads to is not ours to write on.
            Ok(_) => {
                run("losetup", &["--detach", &node])?;
                return Err(io_error("attach", &path)(ErrorKind::NotFound.into()));
            }
            Err(LoopDeviceError::ProgramFailed { said, .. })
                if said.contains("busy") && tries < ATTACH_TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

/// Releases the device and deletes what [`make`] made.
fn take_apart(directory: &Path) -> Result<(), LoopDeviceError> {
    release(directory)?;
    // Not recursive: were something still mounted there, it would stay.
    let mount_point = directory.join(MOUNT_POINT);
    gone(fs::remove_dir(&mount_point)).map_err(io_error("delete", &mount_point))?;
    for file in [IMAGE, RECORD, SLOW_DEVICE_STDERR].map(|name| directory.join(name)) {
        gone(fs::remove_file(&file)).map_err(io_error("delete", &file))?;
    }
    Ok(())
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn may_mount() -> Result<(), LoopDeviceError> {
    let _root = as_root();
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    if !has_capability(&status, CAP_SYS_ADMIN) {
        return Err(LoopDeviceError::NotPermitted);
    }
    if !Path::new("/dev/loop-control").exists() {
        return Err(LoopDeviceError::NoLoopSupport);
    }
    Ok(())
}

/// Whether a capability is effective: `CapEff: 000001ffffffffff` in `/proc/PID/status`.
fn has_capability(status: &str, bit: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> bit & 1 == 1)
}

fn has_space(directory: &Path, wanted: Bytes) -> Result<(), LoopDeviceError> {
    let space =
        rustix::fs::statvfs(directory).map_err(|errno| io_error("look at", directory)(errno.into()))?;
    let available = Bytes(space.f_bavail.saturating_mul(space.f_frsize));
    if available < wanted {
        return Err(LoopDeviceError::NoSpace { directory: directory.to_owned(), wanted, available });
    }
    Ok(())
}

fn sysfs(device: &str, file: &str) -> PathBuf {
    Path::new("/sys/block").join(device).join(file)
}

fn read_line(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> LoopDeviceError {
    move |source| LoopDeviceError::Io { action, path: path.to_owned(), source }
}
