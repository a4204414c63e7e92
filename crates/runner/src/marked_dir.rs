//! Directories of our own: each carries a marker file, and none without it is ever deleted.
//!
//! Nothing in here follows a symbolic link when it deletes.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The file that says that a directory was made by dbdyno and may be deleted by it.
pub const MARKER: &str = ".dbdyno";

const MARKER_TEXT: &str = "This directory was made by dbdyno, which may delete it with all that is in it.\n";

/// Why a directory could not be made or deleted.
#[derive(Debug, thiserror::Error)]
pub enum MarkedDirError {
    #[error(
        "`{}` was not made by dbdyno (it has no file `{MARKER}`), so it is neither used nor deleted; \
         move it away or choose another --work-dir", .path.display()
    )]
    NotOurs { path: PathBuf },
    #[error("`{}` is not a directory; move it away or choose another --work-dir", .path.display())]
    NotADirectory { path: PathBuf },
    #[error("failed to {action} `{}`", .path.display())]
    Io {
        /// `create`, `delete`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Makes one directory with its marker; one that is there already must have a marker or be empty. The
/// parent must exist: whoever asks for a chain of directories says with [`create_marked_dir_below`] where
/// ours begin.
pub fn create_marked_dir(path: &Path) -> Result<(), MarkedDirError> {
    match kind_of(path)? {
        Kind::Marked => Ok(()),
        Kind::Absent | Kind::Empty => create_at_once(path),
        Kind::Unmarked => Err(MarkedDirError::NotOurs { path: path.to_owned() }),
        Kind::NotADirectory => Err(MarkedDirError::NotADirectory { path: path.to_owned() }),
    }
}

/// Makes every directory of `names` below `base` in turn, each with its marker; `base` itself gets none and
/// is made, if need be, like any other. Returns the innermost.
pub fn create_marked_dir_below(base: &Path, names: &[&str]) -> Result<PathBuf, MarkedDirError> {
    fs::create_dir_all(base).map_err(io_error("create", base))?;
    let mut path = base.to_owned();
    for name in names {
        path.push(name);
        create_marked_dir(&path)?;
    }
    Ok(path)
}

/// Deletes a directory of our own with all that is in it; links in it are deleted, what they point to is not.
/// A directory without the marker is refused; none at all is fine.
///
/// The marker goes last, so that what a killed process leaves behind is still known as ours.
pub fn remove_marked_dir(path: &Path) -> Result<(), MarkedDirError> {
    match kind_of(path)? {
        Kind::Marked => {}
        Kind::Absent => return Ok(()),
        Kind::Empty | Kind::Unmarked => return Err(MarkedDirError::NotOurs { path: path.to_owned() }),
        Kind::NotADirectory => return Err(MarkedDirError::NotADirectory { path: path.to_owned() }),
    }
    let delete = io_error("delete", path);
    for entry in fs::read_dir(path).map_err(&delete)? {
        let entry = entry.map_err(&delete)?;
        if entry.file_name() == MARKER {
            continue;
        }
        let child = entry.path();
        let is_directory = entry.file_type().map_err(io_error("delete", &child))?.is_dir();
        let removed = if is_directory { fs::remove_dir_all(&child) } else { fs::remove_file(&child) };
        removed.map_err(io_error("delete", &child))?;
    }
    fs::remove_file(path.join(MARKER)).map_err(&delete)?;
    fs::remove_dir(path).map_err(&delete)
}

enum Kind {
    Absent,
    Marked,
    Empty,
    Unmarked,
    NotADirectory,
}

fn kind_of(path: &Path) -> Result<Kind, MarkedDirError> {
    let look = io_error("look at", path);
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Kind::Absent),
        Err(error) => return Err(look(error)),
    };
    if !metadata.is_dir() {
        return Ok(Kind::NotADirectory);
    }
    if fs::symlink_metadata(path.join(MARKER)).is_ok_and(|marker| marker.is_file()) {
        return Ok(Kind::Marked);
    }
    let mut entries = fs::read_dir(path).map_err(look)?;
    Ok(if entries.next().is_none() { Kind::Empty } else { Kind::Unmarked })
}

/// A directory and its marker appear at once, by a rename: a second process that makes the same one never
/// sees it without.
fn create_at_once(path: &Path) -> Result<(), MarkedDirError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let fresh = path.with_file_name(format!(".{name}.new-{}-{number}", std::process::id()));
    let create = io_error("create", path);
    fs::create_dir(&fresh).map_err(&create)?;
    let moved =
        fs::write(fresh.join(MARKER), MARKER_TEXT).and_then(|()| fs::rename(&fresh, path)).map_err(&create);
    if moved.is_err() {
        // Best effort: the error of the rename is the one to tell.
        let _ = fs::remove_file(fresh.join(MARKER)).and_then(|()| fs::remove_dir(&fresh));
        if matches!(kind_of(path)?, Kind::Marked) {
            return Ok(()); // another process was faster
        }
    }
    moved
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> MarkedDirError {
    move |source| MarkedDirError::Io { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_directory_of_a_chain_is_marked_but_not_its_base() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().join("work");
        let inner = create_marked_dir_below(&base, &["engines", "rocksdb"]).unwrap();
        assert_eq!(inner, base.join("engines/rocksdb"));
        assert!(inner.join(MARKER).is_file());
        assert!(base.join("engines").join(MARKER).is_file());
        assert!(!base.join(MARKER).exists());
        create_marked_dir_below(&base, &["engines", "rocksdb"]).unwrap();
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 1, "nothing is left of the way it was made");
    }

    #[test]
    fn a_directory_of_somebody_else_is_neither_used_nor_deleted() {
        let scratch = tempfile::tempdir().unwrap();
        let theirs = scratch.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        create_marked_dir(&theirs).unwrap(); // empty: nothing to lose
        fs::remove_file(theirs.join(MARKER)).unwrap();
        fs::write(theirs.join("precious"), "x").unwrap();
        for error in [create_marked_dir(&theirs).unwrap_err(), remove_marked_dir(&theirs).unwrap_err()] {
            assert!(error.to_string().contains("was not made by dbdyno"), "{error}");
        }
        assert!(theirs.join("precious").is_file());
        let file = scratch.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(matches!(create_marked_dir(&file), Err(MarkedDirError::NotADirectory { .. })));
    }

    #[test]
    fn deleting_follows_no_link() {
        let scratch = tempfile::tempdir().unwrap();
        let outside = scratch.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "x").unwrap();
        let ours = create_marked_dir_below(scratch.path(), &["ours", "inner"]).unwrap();
        symlink(&outside, ours.join("to-directory")).unwrap();
        symlink(outside.join("precious"), ours.join("to-file")).unwrap();
        let link_to_ours = scratch.path().join("link");
        symlink(&ours, &link_to_ours).unwrap();
        assert!(matches!(remove_marked_dir(&link_to_ours), Err(MarkedDirError::NotADirectory { .. })));
        remove_marked_dir(&scratch.path().join("ours")).unwrap();
        assert!(!scratch.path().join("ours").exists());
        assert!(outside.join("precious").is_file());
        remove_marked_dir(&scratch.path().join("ours")).unwrap();
    }

    #[test]
    fn processes_that_make_the_same_directory_do_not_disturb_each_other() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("shared");
        std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| create_marked_dir(&path))).collect();
            for maker in makers {
                maker.join().unwrap().unwrap();
            }
        });
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}
