//! A process and everything below it: who they are, stopping and continuing them.
//!
//! The idle side of a comparison is stopped by SIGSTOP to each of its processes: a signal to a process group
//! would miss servers whose children have sessions of their own (statistics 1.9, rule 13).

use super::child;
use crate::clock::Stopwatch;
use crate::proc::parse::{self, Stat};
use model::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Why a tree could not be stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
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
        let tree = listed(root);
        let mut grew = false;
        for process in &tree {
            if stopped.insert(*process) {
                signal(*process, libc::SIGSTOP);
                grew = true;
            }
        }
        if tree.is_empty() {
            return Err(FreezeError::Gone { pid: root });
        }
        if !grew && tree.iter().all(|process| stands_still(process.pid)) {
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
    for process in listed(root) {
        signal(process, libc::SIGCONT);
    }
}

/// Ends all processes of a tree at once, stopped ones too.
pub fn kill(root: u32) {
    for process in listed(root) {
        signal(process, libc::SIGKILL);
    }
}

/// The process and everything below it, parents first; empty where it has ended.
pub fn descendants(root: u32) -> Vec<u32> {
    listed(root).into_iter().map(|process| process.pid).collect()
}

/// A process when it was listed. It may end before it gets a signal, and another have its number then, which began later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    pid: u32,
    began_at_ticks: Option<u64>,
}

/// [`descendants`], such that they can be told from others of the same number.
fn listed(root: u32) -> Vec<Listed> {
    let listed = |pid: u32, stat: &Stat| Listed { pid, began_at_ticks: stat.began_at_ticks };
    let Some(stat) = stat_of(root).filter(lives) else { return Vec::new() };
    if !has_children(root) {
        return vec![listed(root, &stat)];
    }
    let all = numbers_in(Path::new("/proc")).into_iter().filter_map(|pid| Some((pid, stat_of(pid)?)));
    let all: BTreeMap<u32, Stat> = all.collect();
    let tree = with_descendants(root, all.iter().map(|(pid, stat)| (*pid, stat.parent)));
    tree.into_iter().filter_map(|pid| Some(listed(pid, all.get(&pid)?))).collect()
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
    stat_of(pid).as_ref().is_some_and(lives)
}

fn lives(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X')
}

fn stat_of(pid: u32) -> Option<Stat> {
    parse::stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
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

/// Sends a signal to a process, and not to another that has its number by now.
fn signal(process: Listed, signal: libc::c_int) {
    // Of whichever has the number now, and from here on of that one.
    let file = child::pidfd(process.pid);
    if stat_of(process.pid).is_none_or(|stat| stat.began_at_ticks != process.began_at_ticks) {
        return;
    }
    let sent = file.map(|file| child::send(&file, signal));
    match sent {
        Some(Ok(())) => {}
        Some(Err(error)) if error.raw_os_error() == Some(libc::ESRCH) => {}
        // Kernels before 5.3, and containers that forbid it.
        Some(Err(_)) | None => send(process.pid, signal),
    }
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
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    #[test]
    fn a_signal_goes_to_the_process_that_was_listed_and_to_no_later_one_of_its_number() {
        let mut later = Command::new("sleep").arg("60").spawn().unwrap();
        let process = listed(later.id())[0];
        signal(Listed { began_at_ticks: Some(0), ..process }, libc::SIGKILL);
        signal(process, libc::SIGTERM);
        assert_eq!(later.wait().unwrap().signal(), Some(libc::SIGTERM));
    }

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
