//! Whose a directory is, and who else could write in it: code and results are taken only from where no other user could have
//! put them. Looks at owners and permissions, and changes none.

use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files of users and groups.
const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";

const ROOT: u32 = 0;

const WRITABLE_BY_GROUP: u32 = 0o020;
const WRITABLE_BY_OTHERS: u32 = 0o002;
/// In such a directory, as `/tmp`, an entry can be renamed and removed by its owner alone.
const STICKY: u32 = 0o1000;

/// The extended attribute that gives rights to further users; the bits of the group then say what any of them may have.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Why a directory is not trusted.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    #[error(
        "`{}` belongs to {owner}, and what is in it is trusted only if it belongs to {us}; make a directory of your own \
         (`{}`) and name it by --work-dir, or take this one over with `chown -R` if you trust all that is in it",
        .path.display(), install()
    )]
    OfAnother {
        path: PathBuf,
        /// `nobody (uid 65534)`
        owner: String,
        /// The user that dbdyno runs as.
        us: String,
    },
    #[error(
        "`{}`, on the way to `{}`, belongs to {owner}, who could put another directory in its place; make a directory below \
         one that only you and root can change (`{}`) and name it by --work-dir",
        .path.display(), .below.display(), install()
    )]
    WayOfAnother { path: PathBuf, below: PathBuf, owner: String },
    #[error(
        "other users could write in `{}` (it belongs to {owner}, its mode is {mode:o}), so what is in it is not trusted; \
         `chmod go-w {}` if none of them has, else make a directory of your own (`{}`) and name it by --work-dir",
        .path.display(), .path.display(), install()
    )]
    Writable { path: PathBuf, owner: String, mode: u32 },
    #[error("failed to look at `{}`", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// How to make a directory that is trusted. Servers that root starts run as another user, who has to pass through.
fn install() -> &'static str {
    if effective_user() == ROOT { "install -d -m 755 DIR" } else { "install -d -m 700 DIR" }
}

/// Whether what was opened lies at this very path, which has no links: somebody who may write on the way could have put one there.
pub(crate) fn lies_at(opened: &impl AsRawFd, path: &Path) -> io::Result<bool> {
    Ok(fs::read_link(by_descriptor(opened))? == path)
}

/// By which the kernel finds what is open, wherever its path leads by now.
pub(crate) fn by_descriptor(opened: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", opened.as_raw_fd()).into()
}

/// The number of the user that this process acts as.
pub(crate) fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether a directory is ours alone: we own it, and no other user can write in it.
pub(crate) fn check_ours(path: &Path, metadata: &Metadata) -> Result<(), OwnershipError> {
    if metadata.uid() != effective_user() {
        return Err(OwnershipError::OfAnother {
            path: path.to_owned(),
            owner: shown_user(metadata.uid()),
            us: shown_user(effective_user()),
        });
    }
    check_writers(path, metadata)
}

/// Whether only root and we decide which directory a path leads to: all above it, as it is written and as it is without links, is root's
/// or ours, and others can write in none of it unless it is sticky. Of a link that leads to another link only the ends are looked at.
pub(crate) fn check_way_to(path: &Path) -> Result<(), OwnershipError> {
    let io_error = |path: &Path| {
        let path = path.to_owned();
        move |source| OwnershipError::Io { path, source }
    };
    let written = std::path::absolute(path).map_err(io_error(path))?;
    let real = fs::canonicalize(path).map_err(io_error(path))?;
    // The outermost first: it is what the user has to change first.
    let mut way: Vec<&Path> = written.ancestors().chain(real.ancestors()).collect();
    way.sort_by_key(|directory| directory.components().count());
    way.dedup();
    for step in way {
        let metadata = fs::symlink_metadata(step).map_err(io_error(step))?;
        if ![ROOT, effective_user()].contains(&metadata.uid()) && !is_outside_of_namespace(metadata.uid()) {
            return Err(OwnershipError::WayOfAnother {
                path: step.to_owned(),
                below: path.to_owned(),
                owner: shown_user(metadata.uid()),
            });
        }
        // A link has no permissions of its own, and where it leads to is looked at too.
        if metadata.is_dir() && metadata.mode() & STICKY == 0 {
            check_writers(step, &metadata)?;
        }
    }
    Ok(())
}

/// In a user namespace (a sandbox, a container without root) what belongs to users outside of it, root among them, is shown as of one
/// user, who is nobody inside.
fn is_outside_of_namespace(uid: u32) -> bool {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    is_shown_for_others(uid, &text("/proc/self/uid_map"), &text("/proc/sys/kernel/overflowuid"))
}

/// `uid_map` has a line for each range of users, `0 1000 1`: the first inside, the first outside, how many.
fn is_shown_for_others(uid: u32, uid_map: &str, overflow_uid: &str) -> bool {
    let mapped = uid_map
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(2)?.parse::<u64>().ok())
        .sum::<u64>();
    mapped > 0 && mapped < u64::from(u32::MAX) && overflow_uid.trim().parse() == Ok(uid)
}

/// A group without another user in it is as good as none: distributions give each user such a group together with the umask
/// 002, and all directories of these users are then writable by group. OpenSSH on Debian takes them for safe too
/// (`secure_permissions`). To ask for `chmod g-w` in every home would protect from nothing.
fn check_writers(path: &Path, metadata: &Metadata) -> Result<(), OwnershipError> {
    let mode = metadata.mode() & 0o7777;
    let by_group = mode & WRITABLE_BY_GROUP != 0 && (has_access_list(path) || !is_private(metadata.gid()));
    if by_group || mode & WRITABLE_BY_OTHERS != 0 {
        let owner = shown_user(metadata.uid());
        return Err(OwnershipError::Writable { path: path.to_owned(), owner, mode });
    }
    Ok(())
}

fn has_access_list(path: &Path) -> bool {
    let mut list = [0_u8; 1024];
    !matches!(
        rustix::fs::getxattr(path, ACCESS_LIST, &mut list[..]),
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::NOTSUP)
    )
}

fn is_private(group: u32) -> bool {
    match (fs::read_to_string(GROUP), fs::read_to_string(PASSWD)) {
        (Ok(groups), Ok(users)) => has_no_other(group, effective_user(), &groups, &users),
        _ => false,
    }
}

/// Whether a group has no member but root and `user`. It must be root's, or the first group of `user`, as the group that distributions
/// give each user is: others may have members whom the files do not know.
fn has_no_other(group: u32, user: u32, groups: &str, users: &str) -> bool {
    let number = |field: Option<&str>| field.and_then(|text| text.parse::<u32>().ok());
    // `bob:x:1000:1000:Bob:/home/bob:/bin/sh`: name, uid, gid.
    let users: Vec<(&str, Option<u32>, Option<u32>)> = users
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let field = |at: usize| fields.get(at).copied();
            (field(0).unwrap_or_default(), number(field(2)), number(field(3)))
        })
        .collect();
    let trusted = |uid: Option<u32>| uid.is_some_and(|uid| [ROOT, user].contains(&uid));
    let is_trusted_name = |name: &str| users.iter().any(|(known, uid, _)| *known == name && trusted(*uid));
    // `bob:x:1000:alice,carol`: name, gid, members other than those of whom it is the first group.
    let mut found = groups.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (number(fields.get(2).copied()) == Some(group)).then(|| fields.get(3).copied().unwrap_or_default())
    });
    let Some(members) = found.next() else { return false };
    let mut members = members.split(',').map(str::trim).filter(|name| !name.is_empty());
    let first_group_of = |gid: Option<u32>| gid == Some(group);
    let is_his = users.iter().any(|(_, uid, gid)| *uid == Some(user) && first_group_of(*gid));
    (is_his || group == ROOT)
        && members.all(is_trusted_name)
        && found.next().is_none()
        && users.iter().filter(|(_, _, gid)| first_group_of(*gid)).all(|(_, uid, _)| trusted(*uid))
}

/// `nobody (uid 65534)`
fn shown_user(uid: u32) -> String {
    let users = fs::read_to_string(PASSWD).unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid.to_string()).then_some(name)
    });
    name.map_or_else(|| format!("uid {uid}"), |name| format!("{name} (uid {uid})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    const STRANGER: u32 = 65534;

    fn ours(path: &Path) -> Result<(), OwnershipError> {
        check_ours(path, &fs::symlink_metadata(path).unwrap())
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// Only root can give a directory away.
    fn is_root(test: &str) -> bool {
        let root = effective_user() == ROOT;
        if !root {
            eprintln!("skipped: {test}: only root can give a directory to another user");
        }
        root
    }

    #[test]
    fn in_a_user_namespace_the_way_belongs_to_users_outside_of_it() {
        assert!(is_shown_for_others(65534, "         0       1000          1\n", "65534\n"));
        assert!(!is_shown_for_others(65534, "         0          0 4294967295\n", "65534\n"));
        assert!(!is_shown_for_others(1001, "0 1000 1\n", "65534\n"));
        assert!(!is_shown_for_others(65534, "", ""));
    }

    #[test]
    fn a_directory_of_another_user_is_named_with_its_owner_and_the_next_step() {
        if !is_root("a directory of another user") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let theirs = scratch.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        ours(&theirs).unwrap();
        chown(&theirs, Some(STRANGER), None).unwrap();
        let error = ours(&theirs).unwrap_err().to_string();
        let parts = [&*theirs.to_string_lossy(), "(uid 65534)", "`install -d -m 755 DIR`", "--work-dir"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");

        let inner = theirs.join("inner");
        fs::create_dir(&inner).unwrap();
        let error = check_way_to(&inner).unwrap_err();
        assert!(
            matches!(&error, OwnershipError::WayOfAnother { path, .. } if *path == theirs),
            "ours, but in a directory whose owner could put another in its place: {error}"
        );
        // Sticky or not: its owner may rename all that is in it.
        set_mode(&theirs, 0o1777);
        assert!(check_way_to(&inner).is_err());
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused_and_a_sticky_one_on_the_way_is_not() {
        let scratch = tempfile::tempdir().unwrap();
        let shared = scratch.path().join("shared");
        let inner = shared.join("inner");
        fs::create_dir_all(&inner).unwrap();
        set_mode(&shared, 0o777);
        let error = ours(&shared).unwrap_err().to_string();
        assert!(error.contains("its mode is 777") && error.contains("chmod go-w"), "{error}");
        assert!(check_way_to(&inner).is_err());
        set_mode(&shared, 0o1777);
        check_way_to(&inner).unwrap();
        assert!(ours(&shared).is_err(), "anybody could have put something into it");
        set_mode(&shared, 0o755);
        ours(&shared).unwrap();
        check_way_to(&inner).unwrap();
    }

    #[test]
    fn a_link_that_another_user_has_made_is_refused() {
        if !is_root("a link of another user") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let (shared, real) = (scratch.path().join("shared"), scratch.path().join("real"));
        fs::create_dir(&shared).unwrap();
        set_mode(&shared, 0o1777);
        fs::create_dir(&real).unwrap();
        let link = shared.join("link");
        symlink(&real, &link).unwrap();
        check_way_to(&link).unwrap();
        lchown(&link, Some(STRANGER), None).unwrap();
        assert!(
            matches!(check_way_to(&link), Err(OwnershipError::WayOfAnother { path, .. }) if path == link)
        );
    }

    #[test]
    fn a_group_is_private_if_no_other_user_is_in_it() {
        let users =
            "root:x:0:0::/:/bin/sh\nbob:x:1000:1000::/:\ncarol:x:1001:1001::/:\ndave:x:1002:100::/:\n";
        let groups =
            "root:x:0:\nstaff:x:50:\nusers:x:100:\nbob:x:1000:\ncarol:x:1001:bob\nboth:x:200:bob,root\n";
        let check = |group: u32, expected: bool| {
            assert_eq!(has_no_other(group, 1000, groups, users), expected, "{group}");
        };
        check(1000, true);
        check(0, true); // root may write anywhere
        check(50, false); // without a member here: a directory service may know some
        check(200, false);
        check(100, false); // the first group of dave
        check(1001, false); // the first group of carol
        check(4711, false); // unknown here: its members may be in a directory service
        assert!(!has_no_other(1001, 1001, groups, users), "bob is in carol's");
        assert!(
            !has_no_other(1000, 1000, "bob:x:1000:\nagain:x:1000:carol\n", users),
            "one number, two groups"
        );
    }
}
