//! Making a file system on a device, and mounting it.

use super::program::run_unless_interrupted;
use super::{LoopDeviceError, io_error};
use crate::ownership::{by_descriptor, effective_user, lies_at};
use crate::rights::as_root;
use model::loop_device::{FileSystem, LoopDevice};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use std::ffi::CString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::fchown;
use std::path::Path;

/// Nothing that an engine puts there is a device, or a program that runs as its owner.
const ONLY_DATA: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Makes an empty one. What mkfs would leave to the kernel's background threads would fall into the measured steps.
pub(super) fn make(
    file_system: FileSystem,
    node: &str,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), LoopDeviceError> {
    let (program, options): (_, &[&str]) = match file_system {
        FileSystem::Ext4 => ("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"]),
        FileSystem::Xfs => ("mkfs.xfs", &["-q", "-f"]),
        FileSystem::Btrfs => ("mkfs.btrfs", &["-q", "-f"]),
    };
    run_unless_interrupted(program, &[options, &[node]].concat(), interrupted).map(drop)
}

/// Mounts it with the options of the plan. Its root is ours then.
pub(super) fn mount(spec: &LoopDevice, node: &str, mount_point: &Path) -> Result<(), LoopDeviceError> {
    let file_system = spec.file_system;
    let refused = || LoopDeviceError::MountOptions { file_system, options: spec.mount_options.clone() };
    let (flags, rest) = flags_of(&spec.mount_options);
    let rest = CString::new(rest).map_err(|_| refused())?;
    let rest = (!rest.is_empty()).then_some(rest.as_c_str());
    let opened = |flags| open_exactly(mount_point, flags).map_err(io_error("open", mount_point));
    let user = effective_user();
    let below = opened(OFlags::PATH)?;
    let _root = as_root();
    let at = by_descriptor(&below);
    rustix::mount::mount(node, at, file_system.to_string(), flags, rest).map_err(|errno| match errno {
        Errno::NODEV => LoopDeviceError::NoFileSystem { file_system },
        _ if !spec.mount_options.is_empty() => refused(),
        _ => io_error("mount", mount_point)(errno.into()),
    })?;
    let root = opened(OFlags::RDONLY)?;
    fchown(root, Some(user), None).map_err(io_error("give to its user", mount_point))
}

/// What is no directory at this very path is not opened.
fn open_exactly(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty())?;
    if lies_at(&opened, path)? { Ok(opened) } else { Err(ErrorKind::NotFound.into()) }
}

/// The options that are the kernel's own, as it wants them, and those that are the file system's.
///
/// To read a file must not write to the device, so a file system is mounted with `noatime` unless the options say otherwise.
fn flags_of(options: &str) -> (MountFlags, String) {
    let mut flags = MountFlags::NOATIME | ONLY_DATA;
    let mut rest = Vec::new();
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option {
            "defaults" | "noatime" | "rw" | "nodev" | "nosuid" => {}
            "relatime" => flags = (flags - MountFlags::NOATIME) | MountFlags::RELATIME,
            "atime" | "strictatime" => flags = (flags - MountFlags::NOATIME) | MountFlags::STRICTATIME,
            "nodiratime" => flags |= MountFlags::NODIRATIME,
            "lazytime" => flags |= MountFlags::LAZYTIME,
            "sync" => flags |= MountFlags::SYNCHRONOUS,
            "dirsync" => flags |= MountFlags::DIRSYNC,
            "noexec" => flags |= MountFlags::NOEXEC,
            _ => rest.push(option),
        }
    }
    (flags, rest.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_kernel_are_flags_and_those_of_the_file_system_stay_as_they_are() {
        let check = |options: &str, flags: MountFlags, rest: &str| {
            let flags = flags | MountFlags::NOSUID | MountFlags::NODEV;
            assert_eq!(flags_of(options), (flags, rest.to_owned()), "{options}");
        };
        check("", MountFlags::NOATIME, "");
        check("defaults,noatime", MountFlags::NOATIME, "");
        check(
            "data=writeback,lazytime,nobarrier",
            MountFlags::NOATIME | MountFlags::LAZYTIME,
            "data=writeback,nobarrier",
        );
        check("relatime,sync", MountFlags::RELATIME | MountFlags::SYNCHRONOUS, "");
        check("strictatime", MountFlags::STRICTATIME, "");
        check("nodev,nosuid,noexec", MountFlags::NOATIME | MountFlags::NOEXEC, "");
    }
}
