//! The last fingerprint of the host, in a file of the work directory: all stores that share the directory share it, so that the host is
//! measured once and not once for each store. Whether it still counts is said by `model`.

use super::fingerprint::DIRECTORY;
use crate::marked_dir::{MarkedDirError, check_below, create_marked_dir_below};
use model::fingerprint::Fingerprint;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const FILE: &str = "last.json";

/// Why a fingerprint could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum CannotKeep {
    #[error(transparent)]
    Directory(#[from] MarkedDirError),
    #[error("failed to write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// The one that was kept last; absent if there is none that can be read and trusted: then the host is measured.
pub fn read(work_dir: &Path) -> Option<Fingerprint> {
    check_below(work_dir, &[DIRECTORY]).ok()?;
    let text = fs::read_to_string(work_dir.join(DIRECTORY).join(FILE)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Keeps it in place of the one before, in one step.
///
/// # Errors
/// The directory cannot be used, or the disk is full.
pub fn keep(work_dir: &Path, fingerprint: &Fingerprint) -> Result<(), CannotKeep> {
    let path = create_marked_dir_below(work_dir, &[DIRECTORY])?.join(FILE);
    // Another dbdyno may be doing the same.
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    let write = || -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(fingerprint)?;
        text.push('\n');
        File::create(&fresh)?.write_all(text.as_bytes())?;
        fs::rename(&fresh, &path)
    };
    write().map_err(|source| {
        // Best effort: the error of the write is the one to tell.
        drop(fs::remove_file(&fresh));
        CannotKeep::Write { path, source }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fingerprint::HostFigure;

    #[test]
    fn the_last_one_is_read_back_and_what_is_damaged_is_none() {
        let scratch = tempfile::tempdir().unwrap();
        let of = |at_us| Fingerprint {
            at_us,
            host: "bench-1".to_owned(),
            boot_id: "b".to_owned(),
            device: Some("vda".to_owned()),
            figures: vec![HostFigure { name: "fsync_us".to_owned(), value: 0.1 + 0.2, spread: 0.01 }],
        };
        assert_eq!(read(scratch.path()), None);
        for at_us in [5, 9] {
            keep(scratch.path(), &of(at_us)).unwrap();
        }
        assert_eq!(read(scratch.path()), Some(of(9)));
        let directory = scratch.path().join(DIRECTORY);
        let left: Vec<_> =
            fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "the marker and the file, and nothing of how it was written: {left:?}");
        fs::write(directory.join(FILE), "{").unwrap();
        assert_eq!(read(scratch.path()), None);
        fs::remove_file(directory.join(FILE)).unwrap();
        fs::create_dir(directory.join(FILE)).unwrap();
        assert!(matches!(keep(scratch.path(), &of(1)), Err(CannotKeep::Write { .. })));
    }
}
