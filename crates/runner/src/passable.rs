//! Directories and files that servers must be able to read. If dbdyno is root, it starts servers as another user. With a umask of 077 (hardened hosts, jobs of a
//! campaign) that user could not read what root makes, so modes are set here. If dbdyno is not root, the umask decides: servers run as the same user.

use rustix::fs::{Mode, OFlags};
use std::fs::{DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Others may pass through; no other may write.
const MODE: u32 = 0o755;
const WRITE_OF_OTHERS: u32 = 0o022;

/// Makes a directory.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(MODE).create(path)?;
    if is_root() {
        // By the open directory: another one could have been put in its place.
        let directory = rustix::fs::open(path, OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        rustix::fs::fchmod(directory, Mode::from_raw_mode(MODE))?;
    }
    Ok(())
}

/// Makes a directory and those above it, as far as they are not there; those that are there stay as they are.
pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    match create_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create_dir_all(path.parent().ok_or(error)?)?;
            create_dir(path).or_else(|error| if_there(path, error))
        }
        Err(error) => if_there(path, error),
        Ok(()) => Ok(()),
    }
}

/// Another process may have been faster.
fn if_there(path: &Path, error: io::Error) -> io::Result<()> {
    if path.is_dir() { Ok(()) } else { Err(error) }
}

/// The mode that a file or directory of an archive is to have: no other user may write and nothing is set-user-ID, whatever the archive and the umask say; if
/// dbdyno is root, all may read it, and execute what root may.
pub(crate) fn mode_of(metadata: &Metadata) -> u32 {
    let mode = metadata.permissions().mode() & 0o777 & !WRITE_OF_OTHERS;
    if !is_root() {
        return mode;
    }
    let execute = if metadata.is_dir() || mode & 0o100 != 0 { 0o111 } else { 0 };
    mode | 0o444 | execute
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    fn mode(path: &Path) -> u32 {
        mode_of(&fs::metadata(path).unwrap())
    }

    #[test]
    fn directories_are_made_with_those_above_them() {
        let scratch = tempfile::tempdir().unwrap();
        let inner = scratch.path().join("a/b");
        create_dir_all(&inner).unwrap();
        create_dir_all(&inner).unwrap();
        assert_eq!(create_dir(&inner).unwrap_err().kind(), ErrorKind::AlreadyExists);
        fs::write(scratch.path().join("file"), "").unwrap();
        create_dir_all(&scratch.path().join("file")).unwrap_err();
        create_dir_all(&scratch.path().join("file/c")).unwrap_err();
        if is_root() {
            for path in ["a", "a/b"] {
                let metadata = fs::metadata(scratch.path().join(path)).unwrap();
                assert_eq!(metadata.permissions().mode() & 0o777, MODE);
            }
        }
    }

    #[test]
    fn of_what_is_unpacked_others_may_write_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("file");
        fs::write(&file, "").unwrap();
        for (is, of_root, of_others) in [
            (0o600, 0o644, 0o600),
            (0o700, 0o755, 0o700),
            (0o666, 0o644, 0o644),
            (0o4755, 0o755, 0o755),
            (0o400, 0o444, 0o400),
        ] {
            fs::set_permissions(&file, Permissions::from_mode(is)).unwrap();
            assert_eq!(mode(&file), if is_root() { of_root } else { of_others }, "of {is:o}");
        }
        let directory = scratch.path().join("directory");
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(mode(&directory), if is_root() { 0o755 } else { 0o700 });
    }
}
