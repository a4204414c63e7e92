//! Ways to find which thread of a server on this host serves a connection.

use std::collections::BTreeMap;
use std::fs;

/// The child of a process that calls itself by this number: a server of ours lives among processes of its own, which it
/// numbers by itself.
pub fn child_called(parent: i32, own_number: &str) -> Option<i32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).ok()?;
    // Each thread lists those that it made.
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children = lists.collect::<String>();
    let is_called = |child: &&str| {
        let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        numbers.and_then(|numbers| numbers.split_whitespace().next_back()) == Some(own_number)
    };
    children.split_whitespace().find(is_called)?.parse().ok()
}

/// Nanoseconds of CPU of each thread of a process; none where the kernel does not tell.
pub fn cpu_of_threads(process: i32) -> BTreeMap<i32, u64> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return BTreeMap::new() };
    let of_thread = |entry: fs::DirEntry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        let times = fs::read_to_string(entry.path().join("schedstat")).ok()?;
        Some((thread, times.split(' ').next()?.parse().ok()?))
    };
    threads.flatten().filter_map(of_thread).collect()
}

/// The thread that has used the most CPU since; absent if none has used any.
pub fn busiest(before: &BTreeMap<i32, u64>, after: &BTreeMap<i32, u64>) -> Option<i32> {
    let spent = after.iter().map(|(thread, after)| {
        (after.saturating_sub(before.get(thread).copied().unwrap_or_default()), *thread)
    });
    spent.max().filter(|(spent, _)| *spent > 0).map(|(_, thread)| thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_known_by_its_own_number() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let found = child_called(own, &child.id().to_string());
        assert_eq!((found, child_called(own, "0")), (i32::try_from(child.id()).ok(), None));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_thread_that_works_has_the_time() {
        const WORK: u64 = 5_000_000;
        let own = i32::try_from(std::process::id()).unwrap();
        let (worked, of_thread) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let busy = std::thread::spawn(move || {
            while crate::clock::thread_cpu().0 < WORK {
                std::hint::spin_loop();
            }
            // SAFETY: it asks for the number of the calling thread.
            worked.send(unsafe { libc::gettid() }).unwrap();
            ended.recv().unwrap_err();
        });
        let thread = of_thread.recv().unwrap();
        // The kernel adds up a thread's time when it is switched or ticks.
        while cpu_of_threads(own)[&thread] < WORK {
            std::thread::yield_now();
        }
        drop(end);
        busy.join().unwrap();
    }
}
