//! A file system of its own in the place of a directory, in memory: it can be filled, and made read-only.

use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A process that has just ended may still hold it.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);
/// More than any of them has room for.
const BALLAST_BYTES: usize = 256 << 20;

/// Unmounted when dropped; [`SmallDisk::unmount`] says what went wrong.
pub struct SmallDisk {
    path: PathBuf,
    is_mounted: bool,
}

/// Whether files on a disk can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    ReadWrite,
    ReadOnly,
}

impl SmallDisk {
    /// Mounts one of this size (`4m`); none where that is not permitted.
    pub fn mount(path: &Path, size: &str) -> anyhow::Result<Option<SmallDisk>> {
        fs::create_dir_all(path)?;
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(path).output();
        let is_mounted = mounted.context("failed to start mount")?.status.success();
        Ok(is_mounted.then(|| SmallDisk { path: path.to_owned(), is_mounted }))
    }

    /// Takes all the room that is left.
    pub fn fill(&self) {
        // That it ends with an error is the point.
        let _ = fs::write(self.ballast(), vec![0; BALLAST_BYTES]);
    }

    pub fn make_room(&self) -> anyhow::Result<()> {
        fs::remove_file(self.ballast()).context("failed to remove what filled the disk")
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }

    /// Gives it another size.
    pub fn grow(&self, size: &str) -> anyhow::Result<()> {
        self.remount(&format!("remount,size={size}"))
    }

    pub fn set_access(&self, access: Access) -> anyhow::Result<()> {
        self.remount(match access {
            Access::ReadWrite => "remount,rw",
            Access::ReadOnly => "remount,ro",
        })
    }

    fn remount(&self, options: &str) -> anyhow::Result<()> {
        let remounted = Command::new("mount").args(["-o", options]).arg(&self.path).output()?;
        let said = String::from_utf8_lossy(&remounted.stderr);
        ensure!(remounted.status.success(), "failed to {options} `{}`: {said}", self.path.display());
        Ok(())
    }

    pub fn unmount(mut self) -> anyhow::Result<()> {
        self.is_mounted = false;
        unmount(&self.path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if self.is_mounted {
            // Something has failed already.
            let _ = unmount(&self.path);
        }
    }
}

/// Unmounts what an interrupted case has left below its directory.
pub fn unmount_below(directory: &Path) -> anyhow::Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").context("failed to list what is mounted")?;
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
    let mut below: Vec<&Path> = points.filter(|point| point.starts_with(directory)).collect();
    below.reverse();
    below.into_iter().try_for_each(unmount)
}

fn unmount(path: &Path) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let unmounted = Command::new("umount").arg(path).output().context("failed to start umount")?;
        if unmounted.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&unmounted.stderr);
        ensure!(began.elapsed() < UNMOUNT_TIMEOUT, "failed to unmount `{}`: {said}", path.display());
        std::thread::sleep(POLL);
    }
}
