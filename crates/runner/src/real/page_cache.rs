//! Puts the files of a directory out of the page cache, as far as an ordinary user may: what follows reads
//! them from the device. Nothing is deleted or changed.

use crate::campaign::draws::shuffle;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Writes out every file below `directory` and asks the kernel to forget its pages; links are not followed, a
/// file that vanishes meanwhile is passed over.
///
/// The kernel keeps pages that a process has mapped, and all of tmpfs. On a loop device without direct IO the
/// file below has pages of its own: see [`super::loop_device::LoopFileSystem::evict`].
pub fn evict(directory: &Path) -> io::Result<()> {
    let files = files_below(directory)?;
    // All are written before the first is forgotten: only clean pages can be, and a file system may write
    // one file's pages with those of another.
    for file in &files {
        if let Some(file) = open(file)? {
            file.sync_all()?;
        }
    }
    for file in &files {
        if let Some(file) = open(file)? {
            forget(&file)?;
        }
    }
    Ok(())
}

/// Writes one file out and asks the kernel to forget its pages.
pub fn evict_file(file: &Path) -> io::Result<()> {
    evict_open(&File::open(file)?)
}

/// The same of a file that is open.
pub fn evict_open(file: &File) -> io::Result<()> {
    file.sync_all()?;
    forget(file)
}

/// Puts files out of the page cache and reads them again in an order drawn at random, so that which of them lies where in memory is
/// drawn at random too. One that cannot be read stays as it is.
///
/// All are out before the first is read: the kernel hands out first what was given back last, so that a file that is read
/// right after it was put out gets the very pages that it had (measured: in all 29 launches of a run). Each is read from its beginning
/// to its end: a process that finds it on the device fetches it in pieces, as it happens to need them, which takes several times as long.
pub fn place_anew(mut files: Vec<PathBuf>, random: &mut Xoshiro256PlusPlus) {
    files.sort_unstable();
    files.dedup();
    files.retain(|file| evict_file(file).is_ok());
    shuffle(&mut files, random);
    for file in files {
        let _ = File::open(file).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
    }
}

fn forget(file: &File) -> io::Result<()> {
    // Length 0 is "to the end", whatever the file's size.
    fadvise(file, 0, None, Advice::DontNeed).map_err(io::Error::from)
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file system's own, which only root may read.
const LOST_AND_FOUND: &str = "lost+found";

/// Regular files only: to open a pipe or a device could wait or do something.
fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = match fs::read_dir(&directory) {
            Err(error)
                if error.kind() == ErrorKind::PermissionDenied && directory.ends_with(LOST_AND_FOUND) =>
            {
                continue;
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::draws::generator;
    use crate::proc::{host, parse};
    use std::os::unix::fs::symlink;

    const FILE_BYTES: usize = 8 << 20;

    /// Bytes that this thread has fetched from devices: others of the test run read files too.
    fn fetched() -> u64 {
        parse::field(&fs::read_to_string("/proc/thread-self/io").unwrap(), "read_bytes").unwrap()
    }

    fn fetched_by_reading(file: &Path) -> u64 {
        let before = fetched();
        assert_eq!(fs::read(file).unwrap().len(), FILE_BYTES);
        fetched() - before
    }

    #[test]
    fn an_evicted_file_is_read_from_the_device_again() {
        let directory = tempfile::tempdir().unwrap();
        if let Err(error) = host::device_of(directory.path()) {
            eprintln!("skipped: {error}");
            return;
        }
        let inner = directory.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let file = inner.join("data");
        fs::write(&file, vec![7; FILE_BYTES]).unwrap();
        symlink("no such file", inner.join("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, inner.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        assert_eq!(fetched_by_reading(&file), 0, "it has just been written");
        evict(directory.path()).unwrap();
        assert!(fetched_by_reading(&file) >= FILE_BYTES as u64);
        assert_eq!(fetched_by_reading(&file), 0, "it has just been read");
        evict_file(&file).unwrap();
        assert!(fetched_by_reading(&file) >= FILE_BYTES as u64);
        let before = fetched();
        place_anew(vec![file.clone(), inner.join("gone"), file.clone()], &mut generator(1, 1));
        assert_eq!((fetched() - before) / FILE_BYTES as u64, 1);
        assert_eq!(fetched_by_reading(&file), 0, "it has been read anew");
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(evict(&directory.path().join("none")).is_err());
    }
}
