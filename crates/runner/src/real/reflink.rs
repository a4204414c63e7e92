//! Clones of files that share their blocks until one of them is written: FICLONE of ioctl_ficlone(2), which btrfs, XFS and
//! bcachefs have and ext4 has not. There is no fall-back to a copy in here: whoever wants a clone wants it to cost nothing.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why files could not be cloned.
#[derive(Debug, thiserror::Error)]
#[error("failed to clone `{}` to `{}`", from.display(), to.display())]
pub struct CloneError {
    from: PathBuf,
    to: PathBuf,
    source: io::Error,
}

/// Whether files below this directory can be cloned: tried on one.
pub fn is_supported(directory: &Path) -> bool {
    let names = ["reflink-from", "reflink-to"].map(|name| directory.join(name));
    let [from, to] = &names;
    let cloned = fs::write(from, "clone me").is_ok() && clone_file(from, to).is_ok();
    for name in &names {
        // It is a directory of ours: what cannot be removed goes with it.
        let _ = fs::remove_file(name);
    }
    cloned
}

/// Makes `to`, which is not there yet, a clone of the directory `from` with all that is in it. What is neither file nor
/// directory is left out: sockets of a server that has ended.
pub fn clone_directory(from: &Path, to: &Path) -> Result<(), CloneError> {
    let error = |source| CloneError { from: from.to_owned(), to: to.to_owned(), source };
    let mode = fs::metadata(from).map_err(error)?.mode();
    DirBuilder::new().mode(mode).create(to).map_err(error)?;
    for entry in fs::read_dir(from).map_err(error)? {
        let entry = entry.map_err(error)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(error)?;
        if kind.is_dir() {
            clone_directory(&source, &target)?;
        } else if kind.is_file() {
            clone_file(&source, &target).map_err(|error| CloneError {
                from: source,
                to: target,
                source: error,
            })?;
        }
    }
    Ok(())
}

fn clone_file(from: &Path, to: &Path) -> io::Result<()> {
    let from = File::open(from)?;
    let mode = from.metadata()?.mode();
    let to = File::options().write(true).create_new(true).mode(mode).open(to)?;
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A directory as a server leaves it.
    fn scene() -> (tempfile::TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let from = scratch.path().join("from");
        fs::create_dir_all(from.join("base/1")).unwrap();
        fs::write(from.join("PG_VERSION"), "16\n").unwrap();
        fs::write(from.join("base/1/112"), [7; 20_000]).unwrap();
        fs::set_permissions(from.join("base/1/112"), fs::Permissions::from_mode(0o600)).unwrap();
        (scratch, from)
    }

    /// The outcome is that of the file system of the test, and the other one is tested on none: then it is said.
    #[test]
    fn a_clone_has_all_files_with_their_permissions_or_there_is_none_and_it_is_known_before() {
        let (scratch, from) = scene();
        let to = scratch.path().join("to");
        let is_supported = is_supported(scratch.path());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "a trial leaves nothing");
        let cloned = clone_directory(&from, &to);
        assert_eq!(cloned.is_ok(), is_supported, "{cloned:?}");
        if let Err(error) = cloned {
            assert!(error.to_string().contains("from/"), "{error}");
            eprintln!("this file system has no reflinks: only the refusal was tested");
            return;
        }
        assert_eq!(fs::read(to.join("base/1/112")).unwrap(), [7; 20_000]);
        assert_eq!(fs::metadata(to.join("base/1/112")).unwrap().mode() & 0o777, 0o600);
        fs::write(to.join("PG_VERSION"), "17\n").unwrap();
        assert_eq!(fs::read_to_string(from.join("PG_VERSION")).unwrap(), "16\n");
        assert!(clone_directory(&from, &to).is_err(), "nothing is written over what is there");
    }
}
