//! The directory of one run: marked as ours, locked while its controller lives, removed at the end, and
//! removed by the next run where its controller was killed.

use super::loop_device::{self, LoopDeviceError};
use super::queue::QueueError;
use super::storage;
use crate::clock;
use crate::marked_dir::{self, MARKER, MarkedDirError};
use crate::process::file_lock::FileLock;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of the directory of all runs within the work directory.
const RUNS: &str = "runs";
/// The name of the directory, there too, of empty data directories of servers.
const INITIALISED: &str = "initialised";
/// The file whose lock says that the run's controller lives.
const LOCK: &str = "controller.lock";
/// A run makes that file at once after its directory. A directory that is older than this many seconds, and has none, is of a run
/// that was killed in between.
const UNLOCKED_SECONDS_MAX: i64 = 24 * 3600;

/// A run's directory; removed when dropped.
pub struct RunDirectory {
    path: PathBuf,
    initialised: PathBuf,
    _lock: FileLock,
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
    Lock { path: PathBuf, source: io::Error },
}

impl RunDirectory {
    /// Makes the directory of a run below the work directory.
    pub fn create(work_dir: &Path, run: &str) -> Result<RunDirectory, RunDirectoryError> {
        let path = marked_dir::create_marked_dir_below(work_dir, &[RUNS, run])?;
        let lock_path = path.join(LOCK);
        let error = |source| RunDirectoryError::Lock { path: lock_path.clone(), source };
        let lock = FileLock::attempt(File::create(&lock_path).map_err(error)?).map_err(|why| match why {
            TryLockError::WouldBlock => error(ErrorKind::WouldBlock.into()),
            TryLockError::Error(source) => error(source),
        })?;
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
    entries.filter_map(Result::ok).filter(|entry| remove_if_stale(&entry.path())).count()
}

fn remove_if_stale(path: &Path) -> bool {
    match File::open(path.join(LOCK)) {
        // The lock is held until the directory is gone.
        Ok(file) => FileLock::attempt(file).is_ok_and(|_lock| remove(path).is_ok()),
        Err(error) => error.kind() == ErrorKind::NotFound && is_old(path) && remove(path).is_ok(),
    }
}

fn is_old(path: &Path) -> bool {
    let now = clock::epoch_us() / 1_000_000;
    let made = fs::symlink_metadata(path).map(|directory| directory.mtime());
    made.is_ok_and(|made| now.saturating_sub(made) > UNLOCKED_SECONDS_MAX)
}

/// Whether the controller of a run lives; absent if this work directory has none of that name.
pub(super) fn is_live(work_dir: &Path, run: &str) -> Option<bool> {
    marked_dir::check_below(work_dir, &[RUNS]).ok()?;
    let file = File::open(work_dir.join(RUNS).join(run).join(LOCK)).ok()?;
    Some(FileLock::attempt(file).is_err())
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
    use std::time::SystemTime;

    /// What is left of a run whose controller was killed: nobody holds the lock.
    fn left(work_dir: &Path) -> PathBuf {
        let path = marked_dir::create_marked_dir_below(work_dir, &[RUNS, "dead"]).unwrap();
        fs::write(path.join(LOCK), "").unwrap();
        path
    }

    #[test]
    fn a_live_run_keeps_its_directory_and_a_dead_one_loses_it() {
        let work_dir = tempfile::tempdir().unwrap();
        let live = RunDirectory::create(work_dir.path(), "live").unwrap();
        let dead_path = left(work_dir.path());
        let are_live = ["live", "dead", "other"].map(|run| is_live(work_dir.path(), run));
        assert_eq!(are_live, [Some(true), Some(false), None]);
        let foreign = work_dir.path().join("runs/foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(LOCK), "").unwrap();
        assert_eq!(remove_stale(work_dir.path()), 1);
        assert!(live.path().exists() && !dead_path.exists() && foreign.exists());
        let path = live.path().to_owned();
        drop(live);
        assert!(!path.exists());
    }

    #[test]
    fn a_run_that_was_killed_before_it_had_a_lock_loses_its_directory_after_a_day() {
        let work_dir = tempfile::tempdir().unwrap();
        let path = marked_dir::create_marked_dir_below(work_dir.path(), &[RUNS, "dead"]).unwrap();
        let theirs = work_dir.path().join("runs/theirs");
        fs::create_dir(&theirs).unwrap();
        assert_eq!(remove_stale(work_dir.path()), 0, "it may be about to make its lock");
        for directory in [&path, &theirs] {
            File::open(directory).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        assert_eq!(remove_stale(work_dir.path()), 1);
        assert!(!path.exists() && theirs.exists());
    }

    /// A run whose controller was killed, with what `mount_something` mounted in its directory.
    fn dead_run<T>(work_dir: &Path, mount_something: impl FnOnce(&Path) -> Option<T>) -> Option<PathBuf> {
        let path = left(work_dir);
        std::mem::forget(mount_something(&path)?);
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
