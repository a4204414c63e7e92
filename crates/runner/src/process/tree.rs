//! A process and everything below it: who they are, stopping and continuing them.
//!
//! The idle side of a comparison is stopped by SIGSTOP to each of its processes: a signal to a process group
//! would miss servers whose children have sessions of their own (statistics 1.9, rule 13).

use crate::clock::Stopwatch;
use crate::proc::parse;
use model::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Why a tree could not be stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FreezeError {
    #[error("process {pid} ended before it could be frozen")]
    Gone { pid: u32 },
    #[error("process {pid} did not freeze within {} ms", timeout.0 / 1_000_000)]
    TimedOut { pid: u32, timeout: Nanos },
}

/// A thread in an uninterruptible wait stops only after it; longer than this is a hang.
const FREEZE_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Pause between looks at the threads' states. Not tuned: a stop takes some tens of microseconds.
const LOOK_PAUSE: Duration = Duration::from_micros(50);

/// Stops all processes of a tree and waits until every thread of it stands still.
pub fn freeze(root: u32) -> Result<(), FreezeError> {
    let watch = Stopwatch::start();
    let mut stopped = BTreeSet::new();
    loop {
        // Listed again until no new process appears: one may have been forked before its parent stopped.
        let tree = descendants(root);
        let mut grew = false;
        for pid in &tree {
            if stopped.insert(*pid) {
                send(*pid, libc::SIGSTOP);
                grew = true;
            }
        }
        if tree.is_empty() {
            return Err(FreezeError::Gone { pid: root });
        }
        if !grew && tree.iter().all(|pid| stands_still(*pid)) {
            return if exists(root) { Ok(()) } else { Err(FreezeError::Gone { pid: root }) };
        }
        if watch.elapsed() > FREEZE_TIMEOUT {
            thaw(root);
            return Err(FreezeError::TimedOut { pid: root, timeout: FREEZE_TIMEOUT });
        }
        if !grew {
            std::thread::sleep(LOOK_PAUSE);
        }
    }
}

/// Lets all processes of a tree go on.
pub fn thaw(root: u32) {
    for pid in descendants(root) {
        send(pid, libc::SIGCONT);
    }
}

/// Ends all processes of a tree at once, stopped ones too.
pub fn kill(root: u32) {
    for pid in descendants(root) {
        send(pid, libc::SIGKILL);
    }
}

/// The process and everything below it, parents first; empty where it has ended.
pub fn descendants(root: u32) -> Vec<u32> {
    if !exists(root) {
        return Vec::new();
    }
    if !has_children(root) {
        return vec![root];
    }
    let parents = numbers_in(Path::new("/proc")).into_iter().filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        Some((pid, parse::stat(&stat)?.parent))
    });
    with_descendants(root, parents)
}

/// The processes whose parent is this one; zombies are among them.
pub fn children(parent: u32) -> Vec<u32> {
    let listed = threads(parent).into_iter().filter_map(|thread| children_of(parent, thread));
    listed
        .flat_map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Ids of the processes that a thread has started, as the kernel lists them; absent on a kernel without this list.
fn children_of(pid: u32, thread: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok()
}

/// A process and everything below it, parents first, where these are all processes with their parents.
pub fn with_descendants(root: u32, parents: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (pid, parent) in parents {
        children.entry(parent).or_default().push(pid);
    }
    let mut tree = vec![root];
    let mut next = 0;
    while next < tree.len() {
        tree.extend(children.remove(&tree[next]).unwrap_or_default());
        next += 1;
    }
    tree
}

/// The threads of a process, its first one first.
pub fn threads(pid: u32) -> Vec<u32> {
    numbers_in(Path::new(&format!("/proc/{pid}/task")))
}

/// Most workers have no child; asking the kernel for that is cheaper than listing all processes. Unknown
/// (a kernel without this file) counts as yes.
fn has_children(pid: u32) -> bool {
    threads(pid).into_iter().any(|thread| children_of(pid, thread).is_none_or(|pids| !pids.is_empty()))
}

fn exists(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|text| parse::stat(&text))
        .is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

fn stands_still(pid: u32) -> bool {
    threads(pid).into_iter().all(|thread| {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).unwrap_or_default();
        // A thread that ended meanwhile stands still.
        parse::stat(&text).is_none_or(|stat| matches!(stat.state, 'T' | 't' | 'Z' | 'X'))
    })
}

fn numbers_in(directory: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Sends a signal to one process.
pub(super) fn send(pid: u32, signal: libc::c_int) {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return };
    if pid > 1 {
        // SAFETY: kill(2) with a positive pid of a process that we started, or a child of it; a process
        // that has ended meanwhile is an error that changes nothing.
        unsafe { libc::kill(pid, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_tree_stops_as_a_whole_and_goes_on() {
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'while :; do :; done' & wait"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let root = shell.id();
        let watch = Stopwatch::start();
        while descendants(root).len() < 2 && watch.elapsed() < Nanos::from_secs(5) {
            std::thread::yield_now();
        }
        let tree = descendants(root);
        assert_eq!(tree.len(), 2, "the shell and its loop");
        freeze(root).unwrap();
        assert!(tree.iter().all(|pid| stands_still(*pid)));
        thaw(root);
        let watch = Stopwatch::start();
        while stands_still(tree[1]) && watch.elapsed() < Nanos::from_secs(5) {
            std::thread::yield_now();
        }
        assert!(!stands_still(tree[1]));
        kill(root);
        shell.wait().unwrap();
        assert!(matches!(freeze(root), Err(FreezeError::Gone { .. })));
        assert_eq!(descendants(root), Vec::<u32>::new());
    }
}
