//! The directory of one run: marked as ours, locked while its controller lives, removed at the end, and
//! removed by the next run where its controller was killed.

use crate::marked_dir::{self, MarkedDirError};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The name of the directory of all runs within the work directory.
const RUNS: &str = "runs";
/// The file whose lock says that the run's controller lives.
const LOCK: &str = "controller.lock";

/// A run's directory; removed when dropped.
pub struct RunDirectory {
    path: PathBuf,
    /// Keeps the lock.
    _lock: File,
}

/// Why a run's directory could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunDirectoryError {
    /// It is not ours, or the system refused.
    #[error(transparent)]
    Directory(#[from] MarkedDirError),
    /// The lock could not be made.
    #[error("failed to lock `{}`", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl RunDirectory {
    /// Makes the directory of a run below the work directory.
    pub fn create(work_dir: &Path, run: &str) -> Result<RunDirectory, RunDirectoryError> {
        let path = marked_dir::create_marked_dir_below(work_dir, &[RUNS, run])?;
        let lock_path = path.join(LOCK);
        let error = |source| RunDirectoryError::Lock { path: lock_path.clone(), source };
        let lock = File::create(&lock_path).map_err(error)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|errno| error(errno.into()))?;
        Ok(RunDirectory { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = marked_dir::remove_marked_dir(&self.path);
    }
}

/// Removes the directories of runs whose controllers are gone; returns how many. A directory without our
/// marker is left alone.
pub fn remove_stale(work_dir: &Path) -> usize {
    let Ok(entries) = fs::read_dir(work_dir.join(RUNS)) else { return 0 };
    entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let Ok(lock) = File::open(entry.path().join(LOCK)) else { return false };
            flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
                && marked_dir::remove_marked_dir(&entry.path()).is_ok()
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_run_keeps_its_directory_and_a_dead_one_loses_it() {
        let work_dir = tempfile::tempdir().unwrap();
        let live = RunDirectory::create(work_dir.path(), "live").unwrap();
        let dead = RunDirectory::create(work_dir.path(), "dead").unwrap();
        let dead_path = dead.path().to_owned();
        // As after SIGKILL: the lock is gone, the directory is not.
        let RunDirectory { path: _, _lock } = &dead;
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
}
