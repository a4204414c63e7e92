//! A file in memory that the engine writes as any other: syncing it costs nothing, and no device is written.

use rustix::fs::{MemfdFlags, fstat, memfd_create};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// A file without a name in any directory. Its memory is given back with it, at the latest when the process ends.
pub struct MemoryFile {
    file: OwnedFd,
}

impl MemoryFile {
    /// An empty one.
    pub fn new() -> io::Result<MemoryFile> {
        Ok(MemoryFile { file: memfd_create("sorted-file", MemfdFlags::CLOEXEC)? })
    }

    /// The path by which this process, and no other, opens it.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> io::Result<u64> {
        Ok(u64::try_from(fstat(&self.file)?.st_size).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_is_written_by_its_path_and_emptied_by_being_made_anew() {
        let file = MemoryFile::new().unwrap();
        assert_eq!(file.bytes().unwrap(), 0);
        fs::write(file.path(), b"sorted").unwrap();
        assert_eq!(file.bytes().unwrap(), 6);
        fs::File::create(file.path()).unwrap().sync_all().unwrap();
        assert_eq!(file.bytes().unwrap(), 0);
    }
}
