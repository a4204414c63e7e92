//! A limit of memory for workers, page cache included: a control group of the kernel, of version 1 or 2
//! (kernel documentation, cgroup-v1/memory and cgroup-v2).
//!
//! Never in here: a group that was not made by dbdyno is not changed, with one exception that version 2
//! forces on us: where our own group has been delegated to us, the controller moves itself into a group below
//! it.

use super::run_directory;
use crate::clock::Stopwatch;
use crate::proc::parse;
use crate::process::tree;
use crate::rights::as_root;
use model::units::{Bytes, Nanos};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The controller that limits.
const CONTROLLER: &str = "memory";
/// Every group of ours is named after this, the controller's process and its run.
const PREFIX: &str = "dbdyno-";
/// A process that was killed leaves its group within this; it may have much memory to give back. Not tuned.
const REMOVE_TIMEOUT: Nanos = Nanos::from_secs(5);
/// Pause between two tries to remove a group.
const REMOVE_PAUSE: Duration = Duration::from_millis(10);
/// Groups below this depth, and beyond this number, are not looked at for stale ones. Hosts full of
/// containers have some thousands, ten deep.
const STALE_DEPTH_MAX: u32 = 16;
const STALE_GROUPS_MAX: u32 = 20_000;

/// Why memory cannot be limited here.
#[derive(Debug, thiserror::Error)]
pub enum MemoryLimitError {
    /// Neither version has the controller.
    #[error(
        "no memory controller is mounted, so this plan is skipped; mount cgroup2 at /sys/fs/cgroup on a kernel \
         that was booted without cgroup_disable=memory, or take the memory limit out of the plan"
    )]
    NoController,
    /// The mounted hierarchy does not show the group that we are in.
    #[error(
        "our own control group `{group}` is not below what is mounted at `{}`, so this plan is skipped; mount the \
         whole hierarchy, or take the memory limit out of the plan", mount_point.display()
    )]
    OwnGroupUnseen {
        /// As in `/proc/self/cgroup`.
        group: String,
        mount_point: PathBuf,
    },
    /// Version 2: none of the groups that we could use hands the controller on.
    #[error(
        "the memory controller is not passed down to `{}`, so this plan is skipped; run as root, or in a delegated \
         group: systemd-run --user --scope -p Delegate=yes dbdyno ...", group.display()
    )]
    NotPassedDown { group: PathBuf },
    /// Version 2: a group with processes of its own cannot limit groups below it.
    #[error(
        "`{}` has other processes than dbdyno, so no limit can be set below it and this plan is skipped; give \
         dbdyno a group to itself: systemd-run --user --scope -p Delegate=yes dbdyno ...", group.display()
    )]
    Occupied { group: PathBuf },
    /// The system wants more rights.
    #[error(
        "not permitted to {action} `{}`, so this plan is skipped; run as root, or in a delegated group: systemd-run \
         --user --scope -p Delegate=yes dbdyno ...", path.display()
    )]
    NotPermitted {
        /// `make`, `write`.
        action: &'static str,
        /// The group or one of its files.
        path: PathBuf,
        source: io::Error,
    },
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// `make`, `write`.
        action: &'static str,
        /// The group or one of its files.
        path: PathBuf,
        source: io::Error,
    },
}

/// A group of processes whose memory, page cache included, is limited together. Dropping it removes it; its
/// processes should have ended by then.
#[derive(Debug)]
pub struct MemoryGroup {
    path: PathBuf,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl MemoryGroup {
    /// Makes a group for the run of this id, without swap.
    ///
    /// The kernel rounds the limit down to whole pages.
    pub fn create(run: &str, limit: Bytes) -> Result<MemoryGroup, MemoryLimitError> {
        let _root = as_root();
        let hierarchy = Hierarchy::of_this_process()?;
        let path = hierarchy.make_group(&format!("{PREFIX}{}-{run}", std::process::id()))?;
        // From here on a failure removes the group.
        let group = MemoryGroup { path, version: hierarchy.version };
        group.set_limit(limit)?;
        Ok(group)
    }

    /// Puts a process into the group, with the processes that it starts from now on. Memory that it has
    /// touched before stays charged to its former group: add a worker before it opens a database.
    pub fn add(&self, pid: u32) -> Result<(), MemoryLimitError> {
        let _root = as_root();
        write(&self.path.join("cgroup.procs"), &pid.to_string())
    }

    /// Puts a process and all that it has started so far into the group. One that ends meanwhile is none of them.
    pub fn add_tree(&self, root: u32) -> Result<(), MemoryLimitError> {
        let mut added = BTreeSet::new();
        // What is started between a look and the end of it is in the next one.
        loop {
            let new: Vec<u32> =
                tree::descendants(root).into_iter().filter(|pid| added.insert(*pid)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for pid in new {
                match self.add(pid) {
                    Err(error) if Path::new(&format!("/proc/{pid}")).exists() => return Err(error),
                    Ok(()) | Err(_) => {}
                }
            }
        }
    }

    /// Most memory that was charged at any time; absent where the kernel does not tell (version 2 before
    /// 5.19).
    pub fn peak(&self) -> Option<Bytes> {
        let file = match self.version {
            Version::V1 => "memory.max_usage_in_bytes",
            Version::V2 => "memory.peak",
        };
        fs::read_to_string(self.path.join(file)).ok()?.trim().parse().ok().map(Bytes)
    }

    /// Processes of the group that the kernel killed because the limit was reached.
    pub fn oom_kills(&self) -> Option<u64> {
        let file = match self.version {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        parse::pairs(&text).find_map(|(name, count)| (name == "oom_kill").then_some(count))
    }

    fn set_limit(&self, limit: Bytes) -> Result<(), MemoryLimitError> {
        let bytes = limit.0.to_string();
        let file = |name: &str| self.path.join(name);
        match self.version {
            Version::V1 => {
                write(&file("memory.limit_in_bytes"), &bytes)?;
                write_if_there(&file("memory.swappiness"), "0")?;
                // Memory and swap together; never less than the limit of memory, so it comes after it.
                write_if_there(&file("memory.memsw.limit_in_bytes"), &bytes)
            }
            Version::V2 => {
                write(&file("memory.max"), &bytes)?;
                write_if_there(&file("memory.swap.max"), "0")
            }
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let watch = Stopwatch::start();
        let _root = as_root();
        // A group that cannot be removed now is removed by the next run.
        while fs::remove_dir(&self.path).is_err_and(|error| error.kind() == ErrorKind::ResourceBusy)
            && watch.elapsed() < REMOVE_TIMEOUT
        {
            std::thread::sleep(REMOVE_PAUSE);
        }
    }
}

/// Removes empty groups of runs whose controllers are gone; returns how many. To be called before the directories of these runs
/// are removed, which tell whether a controller lives.
pub fn remove_stale(work_dir: &Path) -> usize {
    let Ok(hierarchy) = Hierarchy::of_this_process() else { return 0 };
    let mut removed = 0;
    let mut groups = vec![(hierarchy.mount_point, 0)];
    let mut looked_at = 0;
    while let Some((group, depth)) = groups.pop() {
        looked_at += 1;
        if depth > STALE_DEPTH_MAX || looked_at > STALE_GROUPS_MAX {
            continue;
        }
        let Ok(entries) = fs::read_dir(&group) else { continue };
        for entry in entries.filter_map(Result::ok) {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            match controller_of(&entry.file_name().to_string_lossy()) {
                // The kernel refuses to remove a group that has processes or groups below it.
                Some(controller) if !controller.is_live(work_dir) => {
                    let _root = as_root();
                    removed += usize::from(fs::remove_dir(entry.path()).is_ok());
                }
                Some(_) => {}
                None => groups.push((entry.path(), depth + 1)),
            }
        }
    }
    removed
}

/// Who made a group of ours.
#[derive(Debug, PartialEq, Eq)]
struct Controller<'a> {
    pid: u32,
    run: &'a str,
}

/// The controller in the name of a group of ours.
fn controller_of(group_name: &str) -> Option<Controller<'_>> {
    let (pid, run) = group_name.strip_prefix(PREFIX)?.split_once('-')?;
    Some(Controller { pid: pid.parse().ok()?, run })
}

impl Controller<'_> {
    /// Its number may be that of another process by now, or of one in another PID namespace: what is asked first is the lock of its
    /// run, if that is one of this work directory.
    fn is_live(&self, work_dir: &Path) -> bool {
        let has_process = || Path::new(&format!("/proc/{}", self.pid)).exists();
        run_directory::is_live(work_dir, self.run).unwrap_or_else(has_process)
    }
}

/// The tree of groups that has the memory controller.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    mount_point: PathBuf,
    /// The directory of the group that this process is in.
    own: PathBuf,
}

impl Hierarchy {
    fn of_this_process() -> Result<Hierarchy, MemoryLimitError> {
        let file = |path: &str| fs::read_to_string(path).map_err(refused("read", Path::new(path)));
        Hierarchy::locate(&file("/proc/self/mountinfo")?, &file("/proc/self/cgroup")?)
    }

    /// Version 1 where it has the controller: a controller is in one version only.
    fn locate(mountinfo: &str, cgroup: &str) -> Result<Hierarchy, MemoryLimitError> {
        let v1 = parse::mounts(mountinfo).find(|mount| {
            mount.kind == "cgroup" && mount.super_options.split(',').any(|option| option == CONTROLLER)
        });
        let v2 = || parse::mounts(mountinfo).find(|mount| mount.kind == "cgroup2");
        let (version, group, mount) = match v1 {
            Some(mount) => (Version::V1, parse::control_group(cgroup, CONTROLLER), Some(mount)),
            None => (Version::V2, parse::control_group(cgroup, ""), v2()),
        };
        let (Some(group), Some(mount)) = (group, mount) else { return Err(MemoryLimitError::NoController) };
        // In a container the mount may show a part of the tree only.
        let own = Path::new(group).strip_prefix(&mount.root).ok().filter(|path| !path.starts_with(".."));
        match own {
            // join("") would add a slash.
            Some(below) if below.as_os_str().is_empty() => {
                Ok(Hierarchy { version, own: mount.mount_point.clone(), mount_point: mount.mount_point })
            }
            Some(below) => {
                Ok(Hierarchy { version, own: mount.mount_point.join(below), mount_point: mount.mount_point })
            }
            None => Err(MemoryLimitError::OwnGroupUnseen {
                group: group.to_owned(),
                mount_point: mount.mount_point,
            }),
        }
    }

    /// Makes a group as near to our own as the rules allow, so that limits which hold for us hold for it.
    fn make_group(&self, name: &str) -> Result<PathBuf, MemoryLimitError> {
        match self.version {
            Version::V1 => make(self.own.join(name)),
            Version::V2 => self.make_group_v2(name),
        }
    }

    /// A group of version 2 limits memory if its parent hands the controller on, and a parent that does has
    /// no processes of its own ("no internal processes"), the root excepted.
    fn make_group_v2(&self, name: &str) -> Result<PathBuf, MemoryLimitError> {
        if !lists_controller(&self.mount_point.join("cgroup.controllers")) {
            return Err(MemoryLimitError::NoController);
        }
        let above = self.own.ancestors().take_while(|group| group.starts_with(&self.mount_point));
        let parent = above.into_iter().find(|group| lists_controller(&group.join(SUBTREE_CONTROL)));
        let refusal = match parent.map(|parent| make(parent.join(name))) {
            Some(Ok(group)) => return Ok(group),
            Some(Err(error @ MemoryLimitError::NotPermitted { .. })) => error,
            Some(Err(error)) => return Err(error),
            None => MemoryLimitError::NotPassedDown { group: self.own.clone() },
        };
        if !lists_controller(&self.own.join("cgroup.controllers")) {
            return Err(refusal);
        }
        // Only the root has no type, and only the root may have processes and hand controllers on.
        if self.own.join("cgroup.type").exists() {
            self.move_below_own()?;
        } else {
            hand_on(&self.own)?;
        }
        make(self.own.join(name))
    }

    /// Empties our own group, which is delegated to us, by moving this process into one below it. It stays
    /// there: whoever delegated the group removes it with what is below it.
    fn move_below_own(&self) -> Result<(), MemoryLimitError> {
        let pid = std::process::id().to_string();
        let below = make(self.own.join(format!("{PREFIX}{pid}-controller")))?;
        let moved = write(&below.join("cgroup.procs"), &pid).and_then(|()| hand_on(&self.own));
        moved.map_err(|error| {
            // Best effort: the error of the move is the one to tell.
            let _ = write(&self.own.join("cgroup.procs"), &pid);
            let _ = fs::remove_dir(&below);
            match error {
                MemoryLimitError::Io { source, .. } if source.kind() == ErrorKind::ResourceBusy => {
                    MemoryLimitError::Occupied { group: self.own.clone() }
                }
                other => other,
            }
        })
    }
}

/// The controllers that a group of version 2 hands on to the groups below it.
const SUBTREE_CONTROL: &str = "cgroup.subtree_control";

fn hand_on(group: &Path) -> Result<(), MemoryLimitError> {
    write(&group.join(SUBTREE_CONTROL), &format!("+{CONTROLLER}"))
}

/// Whether a list of controllers (`cpuset cpu io memory pids`) has ours.
fn lists_controller(list: &Path) -> bool {
    let text = fs::read_to_string(list).unwrap_or_default();
    text.split_ascii_whitespace().any(|name| name == CONTROLLER)
}

fn make(group: PathBuf) -> Result<PathBuf, MemoryLimitError> {
    fs::create_dir(&group).map_err(refused("make", &group))?;
    Ok(group)
}

fn write(file: &Path, value: &str) -> Result<(), MemoryLimitError> {
    fs::write(file, value).map_err(refused("write", file))
}

/// For files that a kernel without swap, or without its accounting, does not have.
fn write_if_there(file: &Path, value: &str) -> Result<(), MemoryLimitError> {
    if file.exists() { write(file, value) } else { Ok(()) }
}

fn refused(action: &'static str, path: &Path) -> impl Fn(io::Error) -> MemoryLimitError {
    move |source| {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                MemoryLimitError::NotPermitted { action, path, source }
            }
            _ => MemoryLimitError::Io { action, path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marked_dir;
    use crate::real::run_directory::RunDirectory;
    use std::io::Write;
    use std::process::{Child, Command, Stdio};

    const MOUNTINFO_V1: &str = include_str!("../../fixtures/proc/linux-6.18/mountinfo-v1.txt");
    const CGROUP_V1: &str = include_str!("../../fixtures/proc/linux-6.18/cgroup-v1.txt");
    const MOUNTINFO_V2: &str = include_str!("../../fixtures/proc/linux-6.18/mountinfo-v2.txt");
    const CGROUP_V2: &str = include_str!("../../fixtures/proc/linux-6.18/cgroup-v2.txt");

    /// A group, or none where this host gives none: then the test is skipped and says why.
    fn group(name: &str, limit: Bytes) -> Option<MemoryGroup> {
        match MemoryGroup::create(name, limit) {
            Ok(group) => Some(group),
            Err(MemoryLimitError::Io { path, source, .. }) => panic!("{}: {source}", path.display()),
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    /// A shell that waits for a line before it runs its script.
    fn waiting_shell(script: &str, directory: &Path) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("read line; {script}")]).stdin(Stdio::piped()).stderr(Stdio::null());
        shell.current_dir(directory).spawn().unwrap()
    }

    #[test]
    fn a_group_beyond_its_limit_loses_a_process_and_tells() {
        let limit = Bytes::from_mib(64);
        let Some(group) = group("beyond", limit) else { return };
        assert_eq!(group.oom_kills(), Some(0));
        // tail keeps what it is to show in memory.
        let mut shell =
            waiting_shell("head -c 268435456 /dev/zero | tail -c 268435456 >/dev/null", Path::new("/"));
        group.add(shell.id()).unwrap();
        shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert!(!shell.wait().unwrap().success());
        assert_eq!(group.oom_kills(), Some(1));
        if let Some(peak) = group.peak() {
            assert!(peak.0 > limit.0 / 2 && peak <= limit, "{peak:?}");
        }
        let path = group.path.clone();
        drop(group);
        assert!(!path.exists());
    }

    #[test]
    fn the_page_cache_counts_but_kills_nobody() {
        let limit = Bytes::from_mib(16);
        let Some(group) = group("page-cache", limit) else { return };
        let directory = tempfile::tempdir().unwrap();
        let mut shell =
            waiting_shell("dd if=/dev/zero of=file bs=1M count=64 && cat file >/dev/null", directory.path());
        group.add(shell.id()).unwrap();
        shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert!(shell.wait().unwrap().success());
        assert_eq!(group.oom_kills(), Some(0));
        assert!(group.peak().is_none_or(|peak| peak <= limit), "{:?}", group.peak());
    }

    #[test]
    fn what_a_process_has_started_before_is_limited_too() {
        let Some(group) = group("tree", Bytes::from_mib(64)) else { return };
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        while tree::descendants(shell.id()).len() < 2 {
            std::thread::yield_now();
        }
        let all = tree::descendants(shell.id());
        group.add_tree(shell.id()).unwrap();
        let within = fs::read_to_string(group.path.join("cgroup.procs")).unwrap();
        let within: Vec<u32> = within.lines().filter_map(|line| line.parse().ok()).collect();
        tree::kill(shell.id());
        shell.wait().unwrap();
        assert!(all.iter().all(|pid| within.contains(pid)), "{all:?} of which {within:?}");
    }

    #[test]
    fn a_process_that_is_leaving_does_not_keep_its_group() {
        let Some(group) = group("leaving", Bytes::from_mib(64)) else { return };
        let mut shell = waiting_shell("sleep 0.2", Path::new("/"));
        group.add(shell.id()).unwrap();
        shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let path = group.path.clone();
        drop(group);
        assert!(!path.exists());
        shell.wait().unwrap();
    }

    #[test]
    fn only_groups_of_dead_controllers_are_stale() {
        let Some(live) = group("live", Bytes::from_mib(64)) else { return };
        let mut dead = Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        let named = |name: &str| make(live.path.with_file_name(name)).unwrap();
        let stale = named(&format!("{PREFIX}{}-stale", dead.id()));
        let foreign = named(&format!("not-{PREFIX}{}-stale", dead.id()));
        assert!(remove_stale(Path::new("/nowhere")) >= 1);
        let found = (stale.exists(), foreign.exists(), live.path.exists());
        fs::remove_dir(&foreign).unwrap();
        assert_eq!(found, (false, true, true));
    }

    #[test]
    fn a_controller_lives_as_long_as_the_lock_of_its_run_whatever_process_has_its_number() {
        let work_dir = tempfile::tempdir().unwrap();
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let is_live = |pid: u32, run: &str| Controller { pid, run }.is_live(work_dir.path());
        let run = RunDirectory::create(work_dir.path(), "live").unwrap();
        assert!(is_live(ended.id(), "live"), "in another PID namespace");
        let dead = run.path().with_file_name("dead");
        marked_dir::create_marked_dir(&dead).unwrap();
        fs::write(dead.join("controller.lock"), "").unwrap();
        assert!(!is_live(std::process::id(), "dead"), "a number that was given again");
        assert!(is_live(std::process::id(), "elsewhere") && !is_live(ended.id(), "elsewhere"));
    }

    #[test]
    fn a_process_that_has_ended_is_not_added() {
        let Some(group) = group("ended", Bytes::from_mib(64)) else { return };
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let error = group.add(ended.id()).unwrap_err();
        assert!(matches!(error, MemoryLimitError::Io { action: "write", .. }), "{error}");
    }

    #[test]
    fn the_group_of_this_process_is_found_in_both_versions() {
        let v1 = Hierarchy {
            version: Version::V1,
            mount_point: "/sys/fs/cgroup/memory".into(),
            own: "/sys/fs/cgroup/memory/session/7".into(),
        };
        assert_eq!(Hierarchy::locate(MOUNTINFO_V1, CGROUP_V1).unwrap(), v1);
        let v2 = Hierarchy {
            version: Version::V2,
            mount_point: "/sys/fs/cgroup".into(),
            own: "/sys/fs/cgroup/session/7".into(),
        };
        assert_eq!(Hierarchy::locate(MOUNTINFO_V2, CGROUP_V2).unwrap(), v2);
        let top = Hierarchy::locate(MOUNTINFO_V2, "0::/\n").unwrap();
        assert_eq!(top.own, top.mount_point);
    }

    #[test]
    fn a_container_sees_a_part_of_the_tree() {
        let part = MOUNTINFO_V1.replace("0:32 / /sys", "0:32 /session /sys");
        let inside = Hierarchy::locate(&part, CGROUP_V1).unwrap();
        assert_eq!(inside.own, Path::new("/sys/fs/cgroup/memory/7"));
        let elsewhere = MOUNTINFO_V1.replace("0:32 / /sys", "0:32 /other /sys");
        let error = Hierarchy::locate(&elsewhere, CGROUP_V1).unwrap_err();
        assert!(matches!(error, MemoryLimitError::OwnGroupUnseen { .. }), "{error}");
        let outside = Hierarchy::locate(MOUNTINFO_V2, "0::/../other\n").unwrap_err();
        assert!(matches!(outside, MemoryLimitError::OwnGroupUnseen { .. }), "{outside}");
    }

    #[test]
    fn without_a_controller_the_error_says_what_to_do() {
        let none: String = MOUNTINFO_V1.lines().filter(|line| !line.contains("cgroup")).collect();
        let error = Hierarchy::locate(&none, CGROUP_V1).unwrap_err();
        assert!(error.to_string().starts_with("no memory controller is mounted"), "{error}");
        assert!(matches!(Hierarchy::locate(MOUNTINFO_V1, ""), Err(MemoryLimitError::NoController)));
    }

    #[test]
    fn the_controller_is_read_from_the_name_of_a_group() {
        let run = "0198c2-9";
        assert_eq!(controller_of("dbdyno-4711-0198c2-9"), Some(Controller { pid: 4711, run }));
        assert_eq!(controller_of("dbdyno-4711"), None);
        assert_eq!(controller_of("dbdyno-notes-1"), None);
        assert_eq!(controller_of("other-4711-0198c2"), None);
    }
}
