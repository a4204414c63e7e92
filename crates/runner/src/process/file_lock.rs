//! Locks on files, by which processes take turns.

use super::wait::{Unmet, Wait};
use model::units::Nanos;
use std::fs::{File, TryLockError};
use std::io;
use std::time::Duration;

/// How often a lock that another process holds is tried.
const PAUSE: Duration = Duration::from_millis(50);

/// Held until it is dropped; the kernel lets it go when the process is killed.
///
/// Closing the file would not do: a child that another thread has just forked, and that has not yet become its program, has the file open too,
/// and the lock would stay as long as that.
#[derive(Debug)]
pub(crate) struct FileLock(File);

/// Why there is no lock.
#[derive(Debug)]
pub(crate) enum NotLocked {
    Interrupted,
    /// Another process held it for as long as the timeout.
    TimedOut,
    Failed(io::Error),
}

impl FileLock {
    /// The lock if nobody else holds it.
    pub fn attempt(file: File) -> Result<FileLock, TryLockError> {
        file.try_lock()?;
        Ok(FileLock(file))
    }

    /// Waits for the lock; `waiting` is called once if another process holds it.
    pub fn acquire(
        file: File,
        timeout: Nanos,
        interrupted: &dyn Fn() -> bool,
        waiting: &mut dyn FnMut(),
    ) -> Result<FileLock, NotLocked> {
        let mut told = false;
        let locked = Wait { pause: PAUSE, timeout }.until(&mut || interrupted(), || match file.try_lock() {
            Ok(()) => Some(Ok(())),
            Err(TryLockError::Error(error)) => Some(Err(error)),
            Err(TryLockError::WouldBlock) => {
                if !told {
                    waiting();
                    told = true;
                }
                None
            }
        });
        match locked {
            Ok(Ok(())) => Ok(FileLock(file)),
            Ok(Err(error)) => Err(NotLocked::Failed(error)),
            Err(Unmet::Interrupted) => Err(NotLocked::Interrupted),
            Err(Unmet::TimedOut) => Err(NotLocked::TimedOut),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file lets it go, if later.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn open(path: &Path) -> File {
        File::create(path).unwrap()
    }

    #[test]
    fn a_lock_is_let_go_though_a_child_still_has_the_file_open() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("lock");
        let file = open(&path);
        let of_a_child = file.try_clone().unwrap();
        let lock = FileLock::attempt(file).unwrap();
        assert!(matches!(FileLock::attempt(open(&path)), Err(TryLockError::WouldBlock)));
        drop(lock);
        drop(FileLock::attempt(open(&path)).unwrap());
        drop(of_a_child);
    }

    #[test]
    fn one_that_is_held_is_waited_for_and_said_once() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("lock");
        let mut told = 0;
        let mut acquire = |timeout: Nanos, interrupted: bool| {
            FileLock::acquire(open(&path), timeout, &|| interrupted, &mut || told += 1)
        };
        let held = acquire(Nanos::from_secs(1), false).unwrap();
        let short = Nanos::from_millis(120);
        assert!(matches!(acquire(short, false), Err(NotLocked::TimedOut)));
        assert!(matches!(acquire(Nanos::from_secs(60), true), Err(NotLocked::Interrupted)));
        drop(held);
        acquire(short, false).unwrap();
        assert_eq!(told, 2);
    }
}
