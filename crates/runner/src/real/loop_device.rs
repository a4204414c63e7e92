//! A file system of its own for the databases of a run, on a loop device whose requests are limited like
//! those of a real disk. Also what a killed controller left of one: unmounted and detached before anything is
//! deleted.
//!
//! Never in here: a device is detached and a file system unmounted only if the file below it lies in the
//! directory that was named.

use super::page_cache;
use crate::clock::Stopwatch;
use crate::marked_dir::MARKER;
use crate::proc::parse::{self, Mount};
use crate::process::wait::{Unmet, Wait};
use model::plan::LoopDevice;
use model::units::{Bytes, Nanos};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The file below the device.
const IMAGE: &str = "loop.img";
/// Where the file system is mounted.
const MOUNT_POINT: &str = "mnt";
/// Tells which device was taken, and its settings as they were before: written before the device is attached.
const RECORD: &str = "loop-device";
/// Largest request, in KiB (kernel documentation, ABI/stable/sysfs-block).
const MAX_SECTORS: &str = "max_sectors_kb";
/// Readahead, in KiB.
const READ_AHEAD: &str = "read_ahead_kb";
/// Bit of CAP_SYS_ADMIN in the masks of `/proc/PID/status` (capabilities(7)).
const CAP_SYS_ADMIN: u32 = 21;
/// Another process may take the free device first; this often in a row it does not.
const ATTACH_TRIES: u32 = 10;
/// mkfs writes all inode tables; on a disk of 12 GB that is 200 MB.
const PROGRAM_BOUND: Nanos = Nanos::from_secs(300);
/// Pause between looks at a program or a device. Not tuned.
const LOOK_PAUSE: Duration = Duration::from_millis(5);
/// A file system that somebody looks into longer than this (a shell, an indexer) is detached lazily.
const BUSY_BOUND: Nanos = Nanos::from_secs(2);
/// udev may look at a device for a moment after it was let go.
const DETACH_BOUND: Nanos = Nanos::from_secs(2);
/// We mount one file system; a directory with more mounts than this is not ours to tidy up.
const UNMOUNTS_MAX: u32 = 16;

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
        /// `losetup`, `mkfs.ext4`.
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
        /// `max_sectors_kb`, `read_ahead_kb`.
        setting: &'static str,
        wanted: u32,
        found: String,
    },
    #[error("`{}` is mounted in a directory of ours but not by us, so nothing there is deleted", mount_point.display())]
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
}

impl LoopFileSystem {
    /// Makes a sparse file in `directory`, which must be a marked one of ours, attaches it, makes an ext4 on
    /// it and mounts that.
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
        has_space(directory, spec.bytes)?;
        let directory = directory.canonicalize().map_err(io_error("look at", directory))?;
        let made = make(&directory, spec, interrupted);
        if made.is_err() {
            // Best effort: the error of the making is the one to tell.
            let _ = take_apart(&directory);
        }
        made
    }

    /// The root of the file system; beside what is put there it has `lost+found`.
    pub fn path(&self) -> &Path {
        &self.mount_point
    }

    /// The device's name in `/proc/diskstats`: `loop0`.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Puts all files out of the page cache, and what the cache has of the file below the device: without
    /// direct IO that would answer what misses in the cache of the file system above.
    pub fn evict(&self) -> io::Result<()> {
        page_cache::evict(&self.mount_point)?;
        page_cache::evict_file(&self.directory.join(IMAGE))
    }
}

impl Drop for LoopFileSystem {
    fn drop(&mut self) {
        // What cannot be taken apart now is taken apart by the next run.
        let _ = take_apart(&self.directory);
    }
}

/// Unmounts what is mounted below `directory` and detaches the loop devices whose files lie there; fine where
/// there are none. After an error, something is still mounted and nothing there may be deleted.
pub fn release(directory: &Path) -> Result<(), LoopDeviceError> {
    let directory = directory.canonicalize().map_err(io_error("look at", directory))?;
    unmount_all(&directory)?;
    for device in devices_below(&directory) {
        restore_settings(&directory, &device);
        detach(&directory, &device)?;
    }
    Ok(())
}

fn make(
    directory: &Path,
    spec: &LoopDevice,
    interrupted: &dyn Fn() -> bool,
) -> Result<LoopFileSystem, LoopDeviceError> {
    let image = directory.join(IMAGE);
    let file = File::create_new(&image).map_err(io_error("make", &image))?;
    file.set_len(spec.bytes.0).map_err(io_error("make", &image))?;
    let device = attach(directory, spec.direct_io)?;
    if spec.direct_io && read_line(&sysfs(&device, "loop/dio")).as_deref() != Some("1") {
        return Err(LoopDeviceError::NoDirectIo { directory: directory.to_owned() });
    }
    let node = format!("/dev/{device}");
    // What mkfs would leave to the kernel's background threads would fall into the measured steps.
    let options = ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &node];
    run_unless_interrupted("mkfs.ext4", &options, interrupted)?;
    // In this order: a new limit of requests gives a new default of readahead.
    for (setting, wanted) in [(MAX_SECTORS, spec.max_sectors_kb), (READ_AHEAD, spec.read_ahead_kb)] {
        if let Some(wanted) = wanted {
            set(&device, setting, wanted)?;
        }
    }
    let mount_point = directory.join(MOUNT_POINT);
    fs::create_dir(&mount_point).map_err(io_error("make", &mount_point))?;
    mount(node.as_str(), &mount_point, "ext4", MountFlags::NOATIME, None)
        .map_err(|errno| io_error("mount", &mount_point)(errno.into()))?;
    Ok(LoopFileSystem { directory: directory.to_owned(), mount_point, device })
}

/// Attaches the image to a free device; the device is on record before it is taken.
fn attach(directory: &Path, direct_io: bool) -> Result<String, LoopDeviceError> {
    let image = directory.join(IMAGE);
    let image = image.to_string_lossy();
    let direct_io = if direct_io { "--direct-io=on" } else { "--direct-io=off" };
    let mut tries = 0;
    loop {
        tries += 1;
        let node = run("losetup", &["--find"])?;
        let device = node.trim_start_matches("/dev/").to_owned();
        write_record(directory, &device)?;
        match run("losetup", &[direct_io, &node, &image]) {
            Ok(_) => return Ok(device),
            Err(LoopDeviceError::ProgramFailed { said, .. })
                if said.contains("busy") && tries < ATTACH_TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

/// The record: the device, then a line for each setting that we may change.
fn write_record(directory: &Path, device: &str) -> Result<(), LoopDeviceError> {
    let mut text = format!("{device}\n");
    for setting in [MAX_SECTORS, READ_AHEAD] {
        if let Some(value) = read_line(&sysfs(device, &format!("queue/{setting}"))) {
            text.push_str(&format!("{setting} {value}\n"));
        }
    }
    let record = directory.join(RECORD);
    fs::write(&record, text).map_err(io_error("write", &record))
}

/// The limit of requests outlives the file that was attached: the next user of the device would have it.
fn restore_settings(directory: &Path, device: &str) {
    let Ok(record) = fs::read_to_string(directory.join(RECORD)) else { return };
    if record.lines().next() != Some(device) {
        return;
    }
    for (setting, value) in parse::pairs(&record) {
        let file = sysfs(device, &format!("queue/{setting}"));
        // Newer kernels take 0 for "your own choice", which is more than the value that we found.
        let chosen_by_kernel = setting == MAX_SECTORS && fs::write(&file, "0").is_ok();
        if !chosen_by_kernel {
            // Best effort: the device works, with another limit than before.
            let _ = fs::write(&file, value.to_string());
        }
    }
}

fn set(device: &str, setting: &'static str, wanted: u32) -> Result<(), LoopDeviceError> {
    let file = sysfs(device, &format!("queue/{setting}"));
    // A value that the kernel does not like is an error here or another value there: one look tells of both.
    let _ = fs::write(&file, wanted.to_string());
    let found = read_line(&file).unwrap_or_else(|| "unknown".to_owned());
    if found == wanted.to_string() {
        return Ok(());
    }
    Err(LoopDeviceError::SettingRefused { device: device.to_owned(), setting, wanted, found })
}

/// Releases the device and deletes what [`make`] made.
fn take_apart(directory: &Path) -> Result<(), LoopDeviceError> {
    release(directory)?;
    // Not recursive: were something still mounted there, it would stay.
    let mount_point = directory.join(MOUNT_POINT);
    gone(fs::remove_dir(&mount_point)).map_err(io_error("delete", &mount_point))?;
    for file in [IMAGE, RECORD].map(|name| directory.join(name)) {
        gone(fs::remove_file(&file)).map_err(io_error("delete", &file))?;
    }
    Ok(())
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn unmount_all(directory: &Path) -> Result<(), LoopDeviceError> {
    let mut unmounts = 0;
    loop {
        let file = Path::new("/proc/self/mountinfo");
        let mountinfo = fs::read_to_string(file).map_err(io_error("read", file))?;
        let below: Vec<Mount<'_>> =
            parse::mounts(&mountinfo).filter(|mount| mount.mount_point.starts_with(directory)).collect();
        // All are looked at before the first is touched: a lazy unmount takes those below with it.
        if let Some(foreign) = below.iter().find(|mount| !is_ours(directory, mount)) {
            return Err(LoopDeviceError::ForeignMount { mount_point: foreign.mount_point.clone() });
        }
        let Some(deepest) = below.iter().max_by_key(|mount| mount.mount_point.components().count()) else {
            return Ok(());
        };
        unmounts += 1;
        if unmounts > UNMOUNTS_MAX {
            return Err(io_error("unmount", &deepest.mount_point)(Errno::BUSY.into()));
        }
        unmount_one(&deepest.mount_point)?;
    }
}

/// Whether what is mounted lies on a loop device whose file is below the directory.
fn is_ours(directory: &Path, mount: &Mount<'_>) -> bool {
    let (major, minor) = mount.device;
    let file = format!("/sys/dev/block/{major}:{minor}/loop/backing_file");
    backing_file(Path::new(&file)).is_some_and(|file| file.starts_with(directory))
}

fn unmount_one(mount_point: &Path) -> Result<(), LoopDeviceError> {
    let watch = Stopwatch::start();
    loop {
        let flags = if watch.elapsed() < BUSY_BOUND {
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
fn devices_below(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|device| lies_below(directory, device)).collect()
}

fn lies_below(directory: &Path, device: &str) -> bool {
    backing_file(&sysfs(device, "loop/backing_file")).is_some_and(|file| file.starts_with(directory))
}

fn backing_file(file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.trim_end_matches('\n');
    Some(path.strip_suffix(" (deleted)").unwrap_or(path).into())
}

/// A device that is still in use (a lazy unmount) goes by itself with its last user.
fn detach(directory: &Path, device: &str) -> Result<(), LoopDeviceError> {
    let detached = run("losetup", &["--detach", &format!("/dev/{device}")]);
    if detached.is_err() && lies_below(directory, device) {
        return detached.map(drop);
    }
    let watch = Stopwatch::start();
    while lies_below(directory, device) && watch.elapsed() < DETACH_BOUND {
        std::thread::sleep(LOOK_PAUSE);
    }
    Ok(())
}

fn may_mount() -> Result<(), LoopDeviceError> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
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

/// Runs a program of the system that takes a moment and returns the first line that it prints.
fn run(program: &'static str, arguments: &[&str]) -> Result<String, LoopDeviceError> {
    run_unless_interrupted(program, arguments, &|| false)
}

fn run_unless_interrupted(
    program: &'static str,
    arguments: &[&str],
    interrupted: &dyn Fn() -> bool,
) -> Result<String, LoopDeviceError> {
    let failed = |said: String| LoopDeviceError::ProgramFailed { program, said };
    let output = match output_within_bound(program, arguments, interrupted) {
        Ok(Ok(output)) => output,
        Ok(Err(Unmet::Interrupted)) => return Err(LoopDeviceError::Interrupted),
        Ok(Err(Unmet::TimedOut)) => {
            return Err(failed(format!("it did not end within {} s", PROGRAM_BOUND.as_secs_f64())));
        }
        // A directory of the PATH that may not be searched makes a program that is in none of them "denied".
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            let package = if program == "losetup" { "util-linux" } else { "e2fsprogs" };
            return Err(LoopDeviceError::ProgramMissing { program, package });
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
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
    let mut child = Command::new(program)
        .args(arguments)
        // Where these programs are, and where the PATH of a user who became root need not lead.
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for the controller: it takes the device apart in order.
        .process_group(0)
        .spawn()?;
    let wait = Wait { pause: LOOK_PAUSE, bound: PROGRAM_BOUND };
    // What these programs print fits into a pipe.
    if let Err(unmet) = wait.until(&mut || interrupted(), || child.try_wait().transpose()) {
        child.kill()?;
        child.wait()?;
        return Ok(Err(unmet));
    }
    child.wait_with_output().map(Ok)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marked_dir::create_marked_dir;
    use crate::proc::host;

    const STATUS: &str = include_str!("../../fixtures/proc/linux-6.18/status.txt");

    fn spec() -> LoopDevice {
        LoopDevice { bytes: Bytes::from_mib(64), direct_io: false, max_sectors_kb: None, read_ahead_kb: None }
    }

    fn marked_directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        create_marked_dir(directory.path()).unwrap();
        directory
    }

    /// A file system, or none where this host gives none: then the test is skipped and says why.
    fn create(directory: &Path, spec: &LoopDevice) -> Option<LoopFileSystem> {
        match LoopFileSystem::create(directory, spec, &|| false) {
            Ok(file_system) => Some(file_system),
            Err(
                error @ (LoopDeviceError::NotPermitted
                | LoopDeviceError::NoLoopSupport
                | LoopDeviceError::ProgramMissing { .. }
                | LoopDeviceError::NoDirectIo { .. }),
            ) => {
                eprintln!("skipped: {error}");
                None
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    fn setting(device: &str, name: &str) -> String {
        read_line(&sysfs(device, &format!("queue/{name}"))).unwrap()
    }

    #[test]
    fn a_file_system_has_its_limits_and_leaves_nothing_behind() {
        let directory = marked_directory();
        let limits =
            LoopDevice { direct_io: true, max_sectors_kb: Some(64), read_ahead_kb: Some(96), ..spec() };
        let Some(file_system) = create(directory.path(), &limits) else { return };
        let device = file_system.device().to_owned();
        assert_eq!(read_line(&sysfs(&device, "loop/dio")).as_deref(), Some("1"));
        assert_eq!(setting(&device, MAX_SECTORS), "64");
        assert_eq!(setting(&device, READ_AHEAD), "96");
        let record = fs::read_to_string(directory.path().join(RECORD)).unwrap();
        let before = parse::pairs(&record).find(|(name, _)| *name == MAX_SECTORS).unwrap().1;
        assert!(before > 64, "{record}");
        fs::write(file_system.path().join("file"), "x").unwrap();
        assert_eq!(host::device_of(file_system.path()).unwrap(), device);
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let line =
            mountinfo.lines().find(|line| line.contains(&*file_system.path().to_string_lossy())).unwrap();
        assert!(line.contains("noatime") && line.contains(" ext4 "), "{line}");
        drop(file_system);
        let left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [MARKER]);
        assert_eq!(devices_below(directory.path()), Vec::<String>::new());
        assert_eq!(
            setting(&device, MAX_SECTORS),
            before.to_string(),
            "the next user has the kernel's choice"
        );
    }

    #[test]
    fn evicted_files_are_read_from_the_device_again_though_the_file_below_was_cached() {
        let directory = marked_directory();
        let Some(file_system) = create(directory.path(), &spec()) else { return };
        let file = file_system.path().join("file");
        fs::write(&file, vec![7; 4 << 20]).unwrap();
        let fetched = || {
            let below = host::device_of(directory.path()).ok();
            let text = fs::read_to_string("/proc/diskstats").unwrap();
            let bytes = |wanted: Option<&str>| {
                parse::diskstats(&text)
                    .find(|(name, _)| Some(*name) == wanted)
                    .map(|(_, disk)| disk.read_bytes)
            };
            (bytes(Some(file_system.device())).unwrap(), bytes(below.as_deref()))
        };
        file_system.evict().unwrap();
        let before = fetched();
        assert_eq!(fs::read(&file).unwrap().len(), 4 << 20);
        let after = fetched();
        assert!(after.0 - before.0 >= 4 << 20, "{before:?} {after:?}");
        if let (Some(before), Some(after)) = (before.1, after.1) {
            assert!(after - before >= 4 << 20, "{before} {after}");
        }
    }

    #[test]
    fn what_a_killed_controller_left_is_released() {
        let directory = marked_directory();
        let Some(file_system) = create(directory.path(), &spec()) else { return };
        // As after SIGKILL: nobody has dropped it.
        let mount_point = file_system.path().to_owned();
        let device = file_system.device().to_owned();
        std::mem::forget(file_system);
        assert_eq!(devices_below(&directory.path().canonicalize().unwrap()), [device]);
        assert!(mount_point.join("lost+found").exists());
        release(directory.path()).unwrap();
        assert!(!mount_point.join("lost+found").exists());
        assert_eq!(devices_below(directory.path()), Vec::<String>::new());
        assert!(directory.path().join(IMAGE).exists(), "releasing deletes nothing");
        release(directory.path()).unwrap();
    }

    #[test]
    fn a_file_system_in_use_is_unmounted_all_the_same() {
        let directory = marked_directory();
        let Some(file_system) = create(directory.path(), &spec()) else { return };
        let in_use = File::create(file_system.path().join("file")).unwrap();
        let mount_point = file_system.path().to_owned();
        drop(file_system);
        assert!(!mount_point.exists());
        // The last user lets it go.
        drop(in_use);
        let watch = Stopwatch::start();
        while !devices_below(directory.path()).is_empty() && watch.elapsed() < DETACH_BOUND {
            std::thread::yield_now();
        }
        assert_eq!(devices_below(directory.path()), Vec::<String>::new());
    }

    #[test]
    fn what_is_mounted_by_somebody_else_is_left_alone() {
        let directory = marked_directory();
        if let Err(error) = may_mount() {
            eprintln!("skipped: {error}");
            return;
        }
        let theirs = directory.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        mount("tmpfs", &theirs, "tmpfs", MountFlags::empty(), None).unwrap();
        fs::write(theirs.join("precious"), "x").unwrap();
        let released = release(directory.path());
        let kept = theirs.join("precious").exists();
        unmount(&theirs, UnmountFlags::DETACH).unwrap();
        assert!(matches!(released, Err(LoopDeviceError::ForeignMount { .. })), "{released:?}");
        assert!(kept);
    }

    #[test]
    fn a_setting_that_the_kernel_refuses_leaves_nothing_behind() {
        let directory = marked_directory();
        let too_large = LoopDevice { max_sectors_kb: Some(1 << 30), ..spec() };
        match LoopFileSystem::create(directory.path(), &too_large, &|| false) {
            Err(LoopDeviceError::SettingRefused { setting, .. }) => assert_eq!(setting, MAX_SECTORS),
            Err(error) => {
                eprintln!("skipped: {error}");
                return;
            }
            Ok(_) => panic!("the kernel has no such limit"),
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(devices_below(directory.path()), Vec::<String>::new());
    }

    #[test]
    fn a_device_larger_than_the_disk_below_is_refused() {
        let directory = marked_directory();
        let error = has_space(directory.path(), Bytes(u64::MAX)).unwrap_err();
        assert!(error.to_string().contains("make the device smaller"), "{error}");
        has_space(directory.path(), Bytes(4096)).unwrap();
    }

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

    #[test]
    fn capabilities_are_read() {
        assert!(has_capability(STATUS, CAP_SYS_ADMIN), "the fixture is of a process of root");
        assert!(!has_capability("CapEff:\t0000000000000000\n", CAP_SYS_ADMIN));
        assert!(has_capability("CapEff:\t0000000000200000\n", CAP_SYS_ADMIN));
        assert!(!has_capability("CapEff:\n", CAP_SYS_ADMIN));
        assert!(!has_capability("CapPrm:\t000001ffffffffff\n", CAP_SYS_ADMIN));
    }
}
