//! The user that a server runs as. Postgres and MySQL refuse root; started as root, we run them as the user that every
//! system has for this, and give their data to it. Started by anyone else, they run as that one.

use super::error::ServerError;
use crate::ownership::effective_user;
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The user of servers that root starts. It must have an entry in the file of users, for `initdb` looks it up.
const UNPRIVILEGED: &str = "nobody";
/// The file of users.
const PASSWD: &str = "/etc/passwd";

/// A user with an entry in the file of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    /// The number of its group.
    pub gid: u32,
}

/// Whether this process may do what root may.
pub fn we_are_root() -> bool {
    effective_user() == 0
}

/// The user to change to; absent where we are not root.
pub fn for_servers() -> Result<Option<Account>, ServerError> {
    if !we_are_root() {
        return Ok(None);
    }
    let users = fs::read_to_string(PASSWD).map_err(ServerError::file("read", Path::new(PASSWD)))?;
    let account = find(&users, UNPRIVILEGED).ok_or(ServerError::NoAccount { wanted: UNPRIVILEGED })?;
    Ok(Some(account))
}

/// What servers that root starts left is root's again: no process of their user can change it any more.
pub fn take_back(path: &Path) -> Result<(), ServerError> {
    if we_are_root() { Account { name: "root".to_owned(), uid: 0, gid: 0 }.own(path) } else { Ok(()) }
}

/// An entry of /etc/passwd: `nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin`.
fn find(users: &str, wanted: &str) -> Option<Account> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| *name == wanted)?;
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        (uid != 0).then(|| Account { name: name.to_owned(), uid, gid })
    })
}

impl Account {
    /// Whether it can get to a file or directory: may enter everything above it.
    pub fn can_reach(&self, path: &Path) -> Result<(), ServerError> {
        let real = fs::canonicalize(path).map_err(ServerError::file("find", path))?;
        let above: Vec<PathBuf> = real.ancestors().skip(1).map(Path::to_owned).collect();
        for directory in above.into_iter().rev() {
            let metadata = fs::metadata(&directory).map_err(ServerError::file("look at", &directory))?;
            if !self.may_enter(&metadata) {
                return Err(ServerError::Unreachable {
                    user: self.name.clone(),
                    path: real,
                    blocked: directory,
                    mode: metadata.mode() & 0o7777,
                });
            }
        }
        Ok(())
    }

    fn may_enter(&self, metadata: &fs::Metadata) -> bool {
        let shift = if metadata.uid() == self.uid {
            6
        } else if metadata.gid() == self.gid {
            3
        } else {
            0
        };
        metadata.mode() >> shift & 1 == 1
    }

    /// Gives a file, or a directory with all that is in it, to this user; links are not followed.
    pub fn own(&self, path: &Path) -> Result<(), ServerError> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            unreachable!("what is given away has a name in a directory of the run: `{}`", path.display());
        };
        let above = rustix::fs::open(above, DIRECTORY, Mode::empty()).map_err(cannot_give(path))?;
        self.own_entry(above.as_fd(), name, path)
    }

    /// An entry of an open directory, not a path: processes of this user may change names below it at any time.
    fn own_entry(&self, above: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<(), ServerError> {
        let error = cannot_give(path);
        let found = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW).map_err(&error)?;
        if (found.st_uid, found.st_gid) != (self.uid, self.gid) {
            let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
            rustix::fs::chownat(above, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
                .map_err(&error)?;
        }
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Ok(());
        }
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let directory = rustix::fs::openat(above, name, flags, Mode::empty()).map_err(&error)?;
        for entry in Dir::read_from(&directory).map_err(&error)? {
            let entry = entry.map_err(&error)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                self.own_entry(directory.as_fd(), name, &path.join(name))?;
            }
        }
        Ok(())
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn cannot_give(path: &Path) -> impl Fn(rustix::io::Errno) -> ServerError {
    let error = ServerError::file("give to the server's user", path);
    move |errno| error(errno.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn all_in_a_directory_is_given_away_and_nothing_that_a_link_leads_to() {
        if !we_are_root() {
            eprintln!("skipped: only root can give a file to another user");
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let (data, outside) = (scratch.path().join("data"), scratch.path().join("outside"));
        fs::create_dir_all(data.join("inner")).unwrap();
        fs::create_dir(&outside).unwrap();
        for file in [data.join("inner/file"), outside.join("file")] {
            fs::write(file, "x").unwrap();
        }
        symlink(&outside, data.join("to-directory")).unwrap();
        symlink(outside.join("file"), data.join("to-file")).unwrap();
        let account = Account { name: "nobody".to_owned(), uid: 65534, gid: 65534 };
        account.own(&data).unwrap();
        account.own(&data).unwrap();
        let owner = |path: &str| fs::symlink_metadata(scratch.path().join(path)).unwrap().uid();
        for given in ["data", "data/inner", "data/inner/file", "data/to-directory", "data/to-file"] {
            assert_eq!(owner(given), 65534, "{given}");
        }
        for kept in ["outside", "outside/file"] {
            assert_eq!(owner(kept), 0, "{kept}");
        }
        let gone = account.own(&data.join("nothing")).unwrap_err().to_string();
        assert!(gone.contains("data/nothing"), "{gone}");
    }

    #[test]
    fn a_user_is_found_by_its_whole_name_and_is_never_root() {
        let users = "root:x:0:0::/:/bin/sh\nnobody2:x:1:1::/:\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        let expected = Account { name: "nobody".to_owned(), uid: 65534, gid: 65533 };
        assert_eq!(find(users, "nobody"), Some(expected));
        assert_eq!(find(users, "root"), None);
        assert_eq!(find(users, "nob"), None);
    }

    #[test]
    fn a_directory_that_cannot_be_entered_is_named_with_what_is_behind_it() {
        let scratch = tempfile::tempdir().unwrap();
        let closed = fs::canonicalize(scratch.path()).unwrap().join("closed");
        let behind = closed.join("behind");
        fs::create_dir_all(&behind).unwrap();
        // Neither the owner nor of the group of anything in here.
        let stranger = Account { name: "stranger".to_owned(), uid: u32::MAX - 7, gid: u32::MAX - 7 };
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let error = stranger.can_reach(&behind).unwrap_err();
        assert!(
            matches!(&error, ServerError::Unreachable { blocked, mode: 0o700, .. } if *blocked == closed),
            "{error}"
        );
        assert!(error.to_string().contains("--work-dir"), "{error}");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o711)).unwrap();
        assert!(stranger.can_reach(&behind).is_ok());
        let owner = Account { uid: fs::metadata(&closed).unwrap().uid(), ..stranger };
        assert!(owner.can_reach(&behind).is_ok());
    }
}
