//! What has to be on the disk before a name says that it is there: a power cut must not leave empty files behind a record
//! that knows their checksums.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Writes out all files of the file system that has this directory; cheaper than thousands of files one by one.
pub(crate) fn sync_file_system(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(directory)?.as_fd())?)
}

/// Writes out which names are in a directory.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
