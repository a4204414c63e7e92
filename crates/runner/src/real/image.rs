//! Giving a database to another worker without copying it: hard links to the files that never change, copies
//! of those that do.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why an image could not be linked.
#[derive(Debug, thiserror::Error)]
#[error("failed to link `{}` into `{}`", from.display(), to.display())]
pub struct LinkError {
    from: PathBuf,
    to: PathBuf,
    source: io::Error,
}

/// Makes `to` a database with the same bytes as `from`, which must be closed. ext4 has no reflink; table files
/// are never changed once written, so that a link serves (statistics 1.9, rule 16).
pub fn link_database(from: &Path, to: &Path) -> Result<(), LinkError> {
    let error = |source| LinkError { from: from.to_owned(), to: to.to_owned(), source };
    fs::create_dir_all(to).map_err(error)?;
    for entry in fs::read_dir(from).map_err(error)? {
        let entry = entry.map_err(error)?;
        let name = entry.file_name();
        if belongs_to_one_process(&name) {
            continue;
        }
        let target = to.join(&name);
        let linked = if Path::new(&name).extension() == Some(OsStr::new("sst")) {
            fs::hard_link(entry.path(), &target)
        } else {
            Err(io::ErrorKind::Unsupported.into())
        };
        if linked.is_err() {
            fs::copy(entry.path(), &target).map_err(error)?;
        }
    }
    Ok(())
}

/// The lock and the logs of whoever had the database open.
fn belongs_to_one_process(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "LOCK" || name == "LOG" || name.starts_with("LOG.old")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn tables_are_linked_and_the_rest_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir(&from).unwrap();
        for name in ["000009.sst", "CURRENT", "MANIFEST-000005", "LOCK", "LOG"] {
            fs::write(from.join(name), name).unwrap();
        }
        link_database(&from, &to).unwrap();
        let inode = |path: PathBuf| fs::metadata(path).unwrap().ino();
        assert_eq!(inode(from.join("000009.sst")), inode(to.join("000009.sst")));
        assert_ne!(inode(from.join("CURRENT")), inode(to.join("CURRENT")));
        assert_eq!(fs::read_to_string(to.join("MANIFEST-000005")).unwrap(), "MANIFEST-000005");
        assert!(!to.join("LOCK").exists() && !to.join("LOG").exists());
        let missing = link_database(&directory.path().join("none"), &to).unwrap_err().to_string();
        assert!(missing.contains("none"), "{missing}");
    }
}
