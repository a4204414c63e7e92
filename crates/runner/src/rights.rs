//! Whose rights a run has under sudo: those of the user who called sudo. Root's are used by a thread for as long as it holds
//! [`as_root`], which only what needs them does: devices, control groups, settings of the kernel, samples.
//!
//! The real user is then the caller of sudo, and the saved one is root (credentials(7)): what is started has neither, because
//! exec forgets a saved root. To the kernel users are those of a thread, unlike to POSIX: others go on as they were.

use nix::unistd::{User, getgrouplist};
use rustix::fs::{Gid, Uid};
use rustix::process::{DumpableBehavior, geteuid, getuid, set_dumpable_behavior};
use rustix::thread::{
    clear_ambient_capability_set, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::env;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::marker::PhantomData;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Where only root puts programs; the last one is NixOS's.
const PATH_OF_ROOT: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/// Why we could not become the caller of sudo: nothing is run with more rights instead.
#[derive(Debug, thiserror::Error)]
pub enum RightsError {
    #[error(
        "${variable} is `{value}`, which is no user or group; call dbdyno by sudo, or unset $SUDO_UID and $SUDO_GID to run all as root"
    )]
    NoNumber { variable: &'static str, value: String },
    #[error(
        "of $SUDO_UID and $SUDO_GID only one is set; call dbdyno by sudo, or unset both to run all as root"
    )]
    Half,
    #[error(
        "failed to become the caller of sudo (uid {uid}); unset $SUDO_UID and $SUDO_GID to run all as root"
    )]
    Failed { uid: u32, source: io::Error },
}

/// Under sudo, this process becomes its caller, whose home directory is the one that counts from now on. Else nothing changes: a login of root
/// is root. To be called before the process has another thread, which would stay root.
pub fn become_caller_of_sudo() -> Result<(), RightsError> {
    let Some(caller) = Caller::of_sudo()? else { return Ok(()) };
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    assert_eq!(threads, 1, "a thread was started before the rights of root were given up");
    let user = caller.user();
    caller.become_it(user.as_ref().map(|user| user.name.as_str()))?;
    for (variable, value) in user.iter().flat_map(names_of) {
        // SAFETY: there is no other thread that could read the environment meanwhile.
        unsafe { env::set_var(variable, value) };
    }
    Ok(())
}

/// The home directory of the caller of sudo, for what is done as root; none if we are not root by sudo.
pub fn home_of_caller() -> Result<Option<PathBuf>, RightsError> {
    Ok(Caller::of_sudo()?.and_then(|caller| caller.user()).map(|user| user.dir))
}

/// What sudo sets to root's.
fn names_of(user: &User) -> [(&'static str, &OsStr); 3] {
    [("HOME", user.dir.as_os_str()), ("USER", user.name.as_ref()), ("LOGNAME", user.name.as_ref())]
}

struct Caller {
    uid: u32,
    gid: u32,
}

impl Caller {
    /// None if we are not root, or not by sudo.
    fn of_sudo() -> Result<Option<Caller>, RightsError> {
        if !getuid().is_root() || !geteuid().is_root() {
            return Ok(None);
        }
        match (number_in("SUDO_UID")?, number_in("SUDO_GID")?) {
            (None, None) | (Some(0), Some(_)) => Ok(None),
            (Some(uid), Some(gid)) => Ok(Some(Caller { uid, gid })),
            _ => Err(RightsError::Half),
        }
    }

    /// Its entry, wherever this host keeps its users.
    fn user(&self) -> Option<User> {
        User::from_uid(nix::unistd::Uid::from_raw(self.uid)).ok().flatten()
    }

    /// With the groups of the user of this name.
    fn become_it(&self, name: Option<&str>) -> Result<(), RightsError> {
        let failed = |source| RightsError::Failed { uid: self.uid, source };
        let groups = match name.and_then(|name| CString::new(name).ok()) {
            Some(name) => getgrouplist(&name, nix::unistd::Gid::from_raw(self.gid))
                .map_err(|errno| failed(errno.into()))?
                .into_iter()
                .map(|group| Gid::from_raw(group.as_raw()))
                .collect(),
            None => vec![Gid::from_raw(self.gid)],
        };
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let changed = set_thread_groups(&groups)
            // What is started would get these whoever it is.
            .and_then(|()| clear_ambient_capability_set())
            .and_then(|()| set_thread_res_gid(gid, gid, gid))
            .and_then(|()| set_thread_res_uid(uid, uid, Uid::ROOT));
        changed.map_err(|errno| failed(errno.into()))?;
        stay_readable();
        Ok(())
    }
}

fn number_in(variable: &'static str) -> Result<Option<u32>, RightsError> {
    let Some(value) = env::var_os(variable) else { return Ok(None) };
    let value = value.to_string_lossy().into_owned();
    match value.parse() {
        // To the kernel the greatest means "as it is".
        Ok(u32::MAX) | Err(_) => Err(RightsError::NoNumber { variable, value }),
        Ok(number) => Ok(Some(number)),
    }
}

/// Root's rights for this thread, if it is of a process that sudo started, until this is dropped; else nothing.
#[must_use = "the rights are given up when this is dropped"]
pub(crate) struct AsRoot {
    /// Whom this thread becomes again.
    caller: Option<Uid>,
    /// Of one thread.
    _thread: PhantomData<*const ()>,
}

/// See [`AsRoot`].
pub(crate) fn as_root() -> AsRoot {
    let caller = getuid();
    // Without a saved root, the kernel refuses.
    let raised = !geteuid().is_root() && set_thread_res_uid(caller, Uid::ROOT, Uid::ROOT).is_ok();
    if raised {
        stay_readable();
    }
    AsRoot { caller: raised.then_some(caller), _thread: PhantomData }
}

impl AsRoot {
    /// What is started is root's alone, and finds programs where only root puts them: the caller's environment is none of its business. A program
    /// that finds two users distrusts its environment, and FUSE its mounts.
    pub(crate) fn start<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        // Also if the rights were there before: then this holds none of its own.
        if geteuid().is_root() && !getuid().is_root() {
            command.uid(0).env_clear().env("PATH", PATH_OF_ROOT).env("LC_ALL", "C")
        } else {
            command
        }
    }
}

impl Drop for AsRoot {
    fn drop(&mut self) {
        if let Some(caller) = self.caller {
            let lowered = set_thread_res_uid(caller, caller, Uid::ROOT);
            // It is allowed to whoever is root; to go on as root would break what is promised.
            assert!(lowered.is_ok(), "root's rights cannot be given up: {lowered:?}");
            stay_readable();
        }
    }
}

/// A process that changes its user has its files in `/proc` taken away: they become root's. Others still cannot look into it: they would
/// have to be its saved user.
fn stay_readable() {
    // Best effort: some counters would be missing.
    let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::child;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    const NOBODY: u32 = 65534;

    /// Runs something as root that has become this user, in a thread of its own; not at all if we are not root.
    fn as_caller(test: &str, body: impl FnOnce() + Send + 'static) {
        if !geteuid().is_root() {
            eprintln!("skipped: {test} needs root");
            return;
        }
        let body = move || {
            Caller { uid: NOBODY, gid: NOBODY }.become_it(None).unwrap();
            body();
        };
        std::thread::spawn(body).join().unwrap();
        assert!(geteuid().is_root(), "other threads stay as they were");
    }

    /// `Uid:` of a child: real, effective, saved, of its file system.
    fn users_of_child(change: impl FnOnce(&mut Command)) -> String {
        let mut command = child::command("/usr/bin/env");
        command.args(["sh", "-c", "grep -E '^(Uid|Groups|CapPrm)' /proc/self/status"]);
        change(&mut command);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn files_and_children_are_the_callers_and_the_rights_of_root_last_as_long_as_they_are_held() {
        let scratch = tempfile::tempdir_in("/tmp").unwrap();
        let path = scratch.path().to_owned();
        let secret = path.join("secret");
        fs::write(&secret, "x").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        as_caller("a change of user", move || {
            assert!(fs::write(path.join("before"), "x").is_err(), "the directory is root's");
            {
                let _root = as_root();
                let _again = as_root();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
                fs::read(&secret).unwrap();
            }
            assert!(fs::read(&secret).is_err());
            fs::write(path.join("file"), "x").unwrap();
            assert_eq!(fs::metadata(path.join("file")).unwrap().uid(), NOBODY);
            fs::read("/proc/thread-self/io").unwrap();
        });
    }

    #[test]
    fn a_child_has_no_way_back_to_root_unless_it_is_started_as_root() {
        as_caller("a child of another user", || {
            let users = users_of_child(|_| ());
            let expected = format!("Uid:\t{NOBODY}\t{NOBODY}\t{NOBODY}\t{NOBODY}\nGroups:\t{NOBODY} \n");
            assert!(users.starts_with(&expected) && users.contains("CapPrm:\t0000000000000000"), "{users}");
            let _before = as_root();
            let root = as_root();
            let users = users_of_child(|command| {
                root.start(command);
                assert!(command.get_envs().all(|(name, _)| name != "HOME"));
            });
            assert!(users.starts_with("Uid:\t0\t0\t0\t0\n"), "{users}");
        });
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(number_in("DBDYNO_NOT_SET").unwrap(), None);
        let error = number_in("PATH").unwrap_err().to_string();
        assert!(error.contains("$PATH is `/"), "{error}");
    }
}
