//! The lock file `STORE.writer`, which keeps a second writer away from a store. A lock of its own, because a transaction of
//! SQLite is taken and let go with each batch: two writers would only delay each other.

use crate::error::Error;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Readers that share the lock hold it for as long as a report takes: a writer tries again this often, so many times.
const TRIES: u32 = 20;
const AGAIN: Duration = Duration::from_millis(50);

/// Held as long as it lives; the kernel lets it go when the process is killed.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file lets it go too, but later if a child that another thread is just starting still has it open.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// The lock of the one writer. The file says which process holds it.
    ///
    /// # Errors
    /// [`Error::OtherWriter`] if another process holds it for longer than a second, [`Error::NotALockFile`] if something else stands
    /// in its place, and a file that cannot be written.
    pub fn of_writer(store: &Path) -> Result<Lock, Error> {
        let path = path_of(store);
        let failed =
            |source: std::io::Error| Error::CannotOpen { path: path.clone(), source: Box::new(source) };
        let mut file = open_own(&path, store)?;
        let mut tries = 1;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(AGAIN);
                }
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let named = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                    let holder =
                        if named { format!("process {}", holder.trim()) } else { "a process".to_owned() };
                    return Err(Error::OtherWriter { path: store.to_path_buf(), holder });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        let named = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        named.map_err(failed)?;
        Ok(Lock { file })
    }

    /// Keeps writers away while a reader needs that nothing is written; any number of readers may.
    ///
    /// # Errors
    /// [`Error::Busy`] if there is a writer, and a lock file that cannot be opened. `None` if there is no such file: the store was copied
    /// here without it.
    pub fn of_reader(store: &Path) -> Result<Option<Lock>, Error> {
        let failed = |source| Error::CannotOpen { path: path_of(store), source: Box::new(source) };
        let file = match File::open(path_of(store)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Lock { file })),
            Err(TryLockError::WouldBlock) => Err(Error::busy(store)),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

/// Opens the lock file, or makes it. Who else may write in the directory could have put a link or a second name of another file there,
/// which must not be written to. Besides ours it may be that of the store's owner: root may write to the store of a user.
fn open_own(path: &Path, store: &Path) -> Result<File, Error> {
    let not_ours = || Error::NotALockFile { path: path.to_path_buf() };
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path);
    let file = match opened {
        Err(_) if fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) => return Err(not_ours()),
        opened => opened,
    };
    let looked_at = file.and_then(|file| Ok((file.metadata()?, file)));
    let failed = |source| Error::CannotOpen { path: path.to_path_buf(), source: Box::new(source) };
    let (metadata, file) = looked_at.map_err(failed)?;
    let owner = metadata.uid();
    let is_own = owner == rustix::process::geteuid().as_raw()
        || fs::metadata(store).is_ok_and(|store| store.uid() == owner);
    if is_own && metadata.is_file() && metadata.nlink() == 1 { Ok(file) } else { Err(not_ours()) }
}

fn path_of(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".writer");
    PathBuf::from(path)
}
