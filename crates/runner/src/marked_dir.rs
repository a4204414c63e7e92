//! Directories of our own: each carries a marker file, and none without it is ever deleted. A marker in a directory of
//! another user, or in one that others can write, says nothing: they could have made it.
//!
//! Nothing in here follows a symbolic link when it deletes, and what is deleted is what was looked at: by the open directory,
//! not by its name.

use crate::ownership::{self, OwnershipError};
use crate::passable;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
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
    /// Another user could have made it, or written in it.
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
    #[error("failed to {action} `{}`", .path.display())]
    Io {
        /// `create`, `delete`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Makes one directory with its marker; one that is there already must be ours and have a marker or be empty. The
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
///
/// # Errors
/// Another user could have made one of them, or could put another in its place.
pub fn create_marked_dir_below(base: &Path, names: &[&str]) -> Result<PathBuf, MarkedDirError> {
    passable::create_dir_all(base).map_err(io_error("create", base))?;
    ownership::check_way_to(base)?;
    let mut path = base.to_owned();
    for name in names {
        path.push(name);
        create_marked_dir(&path)?;
    }
    Ok(path)
}

/// Whether the directories `names` below `base` are ours, as far as they are there: before anything in them is read.
///
/// # Errors
/// Another user could have made one of them, or could put another in its place.
pub fn check_below(base: &Path, names: &[&str]) -> Result<(), MarkedDirError> {
    match fs::symlink_metadata(base) {
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(io_error("look at", base)(error)),
        Ok(_) => ownership::check_way_to(base)?,
    }
    let mut path = base.to_owned();
    for name in names {
        path.push(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => ownership::check_ours(&path, &metadata)?,
            Ok(_) => return Err(MarkedDirError::NotADirectory { path }),
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(io_error("look at", &path)(error)),
        }
    }
    Ok(())
}

/// Deletes a directory of our own with all that is in it; links in it are deleted, what they point to is not.
/// A directory without the marker is refused; none at all is fine.
///
/// The marker goes last, so that what a killed process leaves behind is still known as ours.
pub fn remove_marked_dir(path: &Path) -> Result<(), MarkedDirError> {
    let Some(directory) = OpenDirectory::open(path)? else { return Ok(()) };
    directory.empty()?;
    directory.remove()
}

/// A marked directory of ours that is open, so that another one that is put in its place meanwhile is not touched.
struct OpenDirectory<'a> {
    path: &'a Path,
    parent: OwnedFd,
    name: &'a OsStr,
    directory: File,
}

impl OpenDirectory<'_> {
    /// None where there is none.
    fn open(path: &Path) -> Result<Option<OpenDirectory<'_>>, MarkedDirError> {
        let look = |errno: Errno| io_error("look at", path)(errno.into());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let name = path.file_name().unwrap_or(OsStr::new("."));
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = match rustix::fs::open(above, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(look)?,
        };
        let directory = match rustix::fs::openat(&parent, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            // A link is one or the other, as the kernel looks at its flags.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(MarkedDirError::NotADirectory { path: path.to_owned() });
            }
            opened => File::from(opened.map_err(look)?),
        };
        let opened = OpenDirectory { path, parent, name, directory };
        let metadata = opened.directory.metadata().map_err(io_error("look at", path))?;
        ownership::check_ours(path, &metadata)?;
        if !fs::symlink_metadata(opened.held().join(MARKER)).is_ok_and(|marker| marker.is_file()) {
            return Err(MarkedDirError::NotOurs { path: path.to_owned() });
        }
        Ok(Some(opened))
    }

    /// A path that leads to the open directory itself, whatever has become of its name.
    fn held(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()))
    }

    /// Deletes all that is in it but the marker; directories first, so that if it is killed meanwhile, a file that says whose
    /// they are (the lock of a run) is still there.
    fn empty(&self) -> Result<(), MarkedDirError> {
        let (mut directories, mut files) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(self.held()).map_err(io_error("delete", self.path))? {
            let entry = entry.map_err(io_error("delete", self.path))?;
            let delete = io_error("delete", &self.path.join(entry.file_name()));
            let of_kind =
                if entry.file_type().map_err(delete)?.is_dir() { &mut directories } else { &mut files };
            of_kind.push(entry.file_name());
        }
        files.retain(|name| name != MARKER);
        let delete = |names: &[OsString], remove: fn(PathBuf) -> io::Result<()>| {
            names.iter().try_for_each(|name| {
                remove(self.held().join(name)).map_err(io_error("delete", &self.path.join(name)))
            })
        };
        // Neither follows a link.
        delete(&directories, fs::remove_dir_all)?;
        delete(&files, fs::remove_file)
    }

    /// Deletes it, once it is empty.
    fn remove(self) -> Result<(), MarkedDirError> {
        let delete = |errno: Errno| io_error("delete", self.path)(errno.into());
        rustix::fs::unlinkat(&self.directory, MARKER, AtFlags::empty()).map_err(delete)?;
        // Of another that was put in its place no more than an empty directory goes.
        rustix::fs::unlinkat(&self.parent, self.name, AtFlags::REMOVEDIR).map_err(delete)
    }
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
        Err(error) if is_absent(&error) => return Ok(Kind::Absent),
        Err(error) => return Err(look(error)),
    };
    if !metadata.is_dir() {
        return Ok(Kind::NotADirectory);
    }
    ownership::check_ours(path, &metadata)?;
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
    passable::create_dir(&fresh).map_err(&create)?;
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

fn is_absent(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> MarkedDirError + use<> {
    let path = path.to_owned();
    move |source| MarkedDirError::Io { action, path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

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

    /// Gives a directory to another user; none where we are not root and cannot.
    fn given_away(path: &Path) -> Option<()> {
        chown(path, Some(65534), None)
            .map_err(|error| eprintln!("skipped: only root can chown: {error}"))
            .ok()
    }

    #[test]
    fn a_marked_directory_of_another_user_is_neither_used_nor_deleted() {
        let scratch = tempfile::tempdir().unwrap();
        let theirs = create_marked_dir_below(scratch.path(), &["engines", "rocksdb"]).unwrap();
        fs::write(theirs.join("library.so"), "code").unwrap();
        let Some(()) = given_away(&theirs) else { return };
        let refused = [
            create_marked_dir(&theirs).unwrap_err(),
            create_marked_dir_below(scratch.path(), &["engines", "rocksdb", "8.5.4"]).unwrap_err(),
            check_below(scratch.path(), &["engines", "rocksdb", "8.5.4"]).unwrap_err(),
            remove_marked_dir(&theirs).unwrap_err(),
        ];
        for error in refused {
            let text = error.to_string();
            assert!(matches!(error, MarkedDirError::Ownership(OwnershipError::OfAnother { .. })), "{text}");
            assert!(text.contains("engines/rocksdb`"), "{text}");
        }
        assert!(theirs.join("library.so").is_file());
    }

    #[test]
    fn what_is_made_is_not_writable_by_others_and_what_is_so_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().join("work");
        let engines = create_marked_dir_below(&base, &["engines"]).unwrap();
        for made in [&base, &engines] {
            assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o022, 0, "{}", made.display());
        }
        check_below(&base, &["engines", "not-yet"]).unwrap();
        check_below(&scratch.path().join("not-yet"), &["engines"]).unwrap();
        for open in [&engines, &base] {
            fs::set_permissions(open, Permissions::from_mode(0o777)).unwrap();
            assert!(matches!(check_below(&base, &["engines"]), Err(MarkedDirError::Ownership(_))));
            assert!(create_marked_dir_below(&base, &["engines"]).is_err());
            fs::set_permissions(open, Permissions::from_mode(0o755)).unwrap();
        }
        create_marked_dir_below(&base, &["engines"]).unwrap();
    }

    #[test]
    fn what_is_put_in_the_place_of_a_directory_that_is_being_deleted_is_not_emptied() {
        let scratch = tempfile::tempdir().unwrap();
        let ours = create_marked_dir_below(scratch.path(), &["ours"]).unwrap();
        fs::write(ours.join("file"), "x").unwrap();
        let victim = create_marked_dir_below(scratch.path(), &["victim"]).unwrap();
        fs::write(victim.join("precious"), "x").unwrap();

        // Between the look and the deletion the owner of the parent moves it away, and puts a link there.
        let open = OpenDirectory::open(&ours).unwrap().unwrap();
        let moved = scratch.path().join("moved");
        fs::rename(&ours, &moved).unwrap();
        symlink(&victim, &ours).unwrap();
        open.empty().unwrap();
        open.remove().unwrap_err();
        assert!(victim.join("precious").is_file() && victim.join(MARKER).is_file());
        assert!(!moved.join("file").exists(), "what was looked at is what was emptied");
        assert!(ours.is_symlink());
    }
}
