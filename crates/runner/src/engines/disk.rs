//! What has to be on the disk before a name says that it is there: a power cut must not leave empty files behind a record
//! that knows their checksums.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// Writes out all files of the file system that has this directory; cheaper than thousands of files one by one.
pub(crate) fn sync_file_system(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(directory)?.as_fd())?)
}

/// Writes out which names are in a directory.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Writes a file in one step: a reader sees the old or the new one, after a power cut too. `fresh` is its name until it is whole,
/// in the same directory.
pub(super) fn replace_file(path: &Path, fresh: &Path, text: &str) -> io::Result<()> {
    let write = || {
        let mut file = File::create(fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(fresh, path)?;
        sync_directory(path.parent().unwrap_or(Path::new("/")))
    };
    write().inspect_err(|_| {
        // Best effort: the first error is the one to tell.
        let _ = fs::remove_file(fresh);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_what_cannot_be_replaced_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, fresh) = (scratch.path().join("file"), scratch.path().join(".file.new"));
        for text in ["first\n", "second\n"] {
            replace_file(&path, &fresh, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let directory = scratch.path().join("directory");
        fs::create_dir(&directory).unwrap();
        replace_file(&directory, &fresh, "x").unwrap_err();
        assert!(directory.is_dir() && !fresh.exists());
    }
}
