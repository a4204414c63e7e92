//! The directory of one run: marked as ours, locked while its controller lives, removed at the end, and
//! removed by the next run where its controller was killed.

use super::loop_device::{self, LoopDeviceError};
use super::queue::QueueError;
use super::storage;
use crate::marked_dir::{self, MARKER, MarkedDirError};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The name of the directory of all runs within the work directory.
const RUNS: &str = "runs";
/// The name of the directory, there too, of empty data directories of servers.
const INITIALISED: &str = "initialised";
/// The file whose lock says that the run's controller lives.
const LOCK: &str = "controller.lock";

/// A run's directory; removed when dropped.
pub struct RunDirectory {
    path: PathBuf,
    initialised: PathBuf,
    _lock: File,
}

/// Why a run's directory could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunDirectoryError {
    /// It is not ours, or the system refused.
    #[error(transparent)]
    Directory(#[from] MarkedDirError),
    /// A file system is mounted in it that could not be unmounted.
    #[error(transparent)]
    Mounted(#[from] LoopDeviceError),
    /// A setting of a device could not be set back.
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error("failed to lock `{}`", path.display())]
    Lock { path: PathBuf, source: std::io::Error },
}

impl RunDirectory {
    /// Makes the directory of a run below the work directory.
    pub fn create(work_dir: &Path, run: &str) -> Result<RunDirectory, RunDirectoryError> {
        let path = marked_dir::create_marked_dir_below(work_dir, &[RUNS, run])?;
        let lock_path = path.join(LOCK);
        let error = |source| RunDirectoryError::Lock { path: lock_path.clone(), source };
        let lock = File::create(&lock_path).map_err(error)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|errno| error(errno.into()))?;
        Ok(RunDirectory { path, initialised: initialised_below(work_dir), _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// [`initialised_below`] the work directory that it is in.
    pub fn initialised(&self) -> &Path {
        &self.initialised
    }
}

/// Where empty data directories of servers are kept for all runs; made by who needs it.
pub fn initialised_below(work_dir: &Path) -> PathBuf {
    work_dir.join(INITIALISED)
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = remove(&self.path);
    }
}

/// Removes the directories of runs whose controllers are gone; returns how many. A directory without our
/// marker is left alone, and so are all where another user could have put them: a run that begins says why.
pub fn remove_stale(work_dir: &Path) -> usize {
    if marked_dir::check_below(work_dir, &[RUNS]).is_err() {
        return 0;
    }
    let Ok(entries) = fs::read_dir(work_dir.join(RUNS)) else { return 0 };
    entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let Ok(lock) = File::open(entry.path().join(LOCK)) else { return false };
            flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() && remove(&entry.path()).is_ok()
        })
        .count()
}

/// What is mounted there is unmounted first, and where that fails nothing is deleted: deleting would go on in
/// the file system that is mounted.
fn remove(path: &Path) -> Result<(), RunDirectoryError> {
    // A link, or a directory without our marker, is not even looked into; to remove it is then an error.
    if fs::symlink_metadata(path).is_ok_and(|entry| entry.is_dir()) && path.join(MARKER).is_file() {
        storage::undo_left(path)?;
        loop_device::release(path)?;
    }
    Ok(marked_dir::remove_marked_dir(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::LoopDevice;
    use model::units::Bytes;
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    #[test]
    fn a_live_run_keeps_its_directory_and_a_dead_one_loses_it() {
        let work_dir = tempfile::tempdir().unwrap();
        let live = RunDirectory::create(work_dir.path(), "live").unwrap();
        let dead = RunDirectory::create(work_dir.path(), "dead").unwrap();
        let dead_path = dead.path().to_owned();
        // As after SIGKILL: the lock is gone, the directory is not.
        let RunDirectory { _lock, .. } = &dead;
        flock(_lock, FlockOperation::Unlock).unwrap();
        let foreign = work_dir.path().join("runs/foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(LOCK), "").unwrap();
        assert_eq!(remove_stale(work_dir.path()), 1);
        assert!(live.path().exists() && !dead_path.exists() && foreign.exists());
        let path = live.path().to_owned();
        drop(live);
        assert!(!path.exists());
    }

    /// A run whose controller was killed, with what `mount_something` mounted in its directory.
    fn dead_run<T>(work_dir: &Path, mount_something: impl FnOnce(&Path) -> Option<T>) -> Option<PathBuf> {
        let dead = RunDirectory::create(work_dir, "dead").unwrap();
        let path = dead.path().to_owned();
        std::mem::forget(mount_something(&path)?);
        flock(&dead._lock, FlockOperation::Unlock).unwrap();
        std::mem::forget(dead);
        Some(path)
    }

    #[test]
    fn a_dead_run_loses_its_loop_device_too() {
        let work_dir = tempfile::tempdir().unwrap();
        let made = dead_run(work_dir.path(), |path| {
            let spec = LoopDevice {
                direct_io: false,
                max_sectors_kb: Some(64),
                ..LoopDevice::new(Bytes::from_mib(64))
            };
            let file_system = loop_device::LoopFileSystem::create(path, &spec, &|| false);
            file_system.map_err(|error| eprintln!("skipped: {error}")).ok()
        });
        let Some(path) = made else { return };
        let mounted =
            || fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&*path.to_string_lossy());
        assert!(mounted());
        assert_eq!(remove_stale(work_dir.path()), 1);
        assert!(!mounted() && !path.exists());
    }

    #[test]
    fn nothing_is_deleted_through_a_mount_of_somebody_else() {
        let work_dir = tempfile::tempdir().unwrap();
        let made = dead_run(work_dir.path(), |path| {
            let theirs = path.join("theirs");
            fs::create_dir(&theirs).unwrap();
            let mounted = mount("tmpfs", &theirs, "tmpfs", MountFlags::empty(), None);
            mounted.map_err(|error| eprintln!("skipped: not permitted to mount: {error}")).ok()?;
            fs::write(theirs.join("precious"), "x").ok()
        });
        let Some(path) = made else { return };
        let theirs = path.join("theirs");
        let removed = remove_stale(work_dir.path());
        let kept = theirs.join("precious").exists();
        unmount(&theirs, UnmountFlags::DETACH).unwrap();
        assert!(removed == 0 && kept, "{removed} {kept}");
        assert_eq!(remove_stale(work_dir.path()), 1);
        assert!(!path.exists());
    }
}
