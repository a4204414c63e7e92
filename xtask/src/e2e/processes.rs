//! Which processes of the binary under test are alive, from /proc, and signals to those that a case started.

use anyhow::{Context, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a process may take to be gone after the one that started it has ended.
const GONE_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);

/// Ids of the living processes that run this binary; zombies are not among them.
pub fn alive(binary: &Path) -> anyhow::Result<Vec<u32>> {
    Ok(all()?.into_iter().filter(|pid| runs(*pid, binary)).collect())
}

/// Ids of the living workers.
pub fn workers(binary: &Path) -> anyhow::Result<Vec<u32>> {
    let mut workers = alive(binary)?;
    workers.retain(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).nth(1) == Some(b"worker")
    });
    Ok(workers)
}

/// The most that a process has had in memory.
pub fn peak_resident_bytes(pid: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("failed to read `{path}`"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kilobytes.with_context(|| format!("`{path}` has no VmHWM"))? * 1024)
}

/// Ids of the processes that a process has started, and those that they have.
pub fn below_process(root: u32) -> anyhow::Result<Vec<u32>> {
    let parents: Vec<(u32, u32)> = all()?.into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(above) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        next += 1;
    }
    Ok(found.split_off(1))
}

/// CPU time of the processes that a process has started, with that of those that they have waited for.
pub fn cpu_time_below(root: u32) -> anyhow::Result<Duration> {
    let began = Instant::now();
    loop {
        // The time of one that ends is its parent's from then on, which may have been read before.
        let before = below_process(root)?;
        let times = before.iter().map(|pid| cpu_ticks(*pid)).sum::<Option<u64>>();
        if let (Some(ticks), true) = (times, below_process(root)? == before) {
            // SAFETY: it takes a plain number and reads nothing of ours.
            let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
            return Ok(Duration::from_secs_f64(ticks as f64 / per_second as f64));
        }
        ensure!(began.elapsed() < GONE_TIMEOUT, "processes below {root} come and go all the time");
        std::thread::sleep(POLL);
    }
}

/// User and system time of a process and of those that it has waited for, in ticks of the kernel.
fn cpu_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may have spaces and brackets.
    let (_, fields) = stat.rsplit_once(')')?;
    let times: Vec<u64> =
        fields.split_whitespace().skip(11).take(4).map(str::parse).collect::<Result<_, _>>().ok()?;
    (times.len() == 4).then(|| times.iter().sum())
}

/// Ids of the living processes whose program lies below this directory.
fn below(directory: &Path) -> anyhow::Result<Vec<u32>> {
    let is_below = |pid: &u32| {
        // Unreadable for zombies and for those that have just ended.
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path.starts_with(directory))
    };
    Ok(all()?.into_iter().filter(is_below).collect())
}

/// Ids of those below this directory whose parent is not: of a server with all its processes the first one.
pub fn roots_below(directory: &Path) -> anyhow::Result<Vec<u32>> {
    let found = below(directory)?;
    Ok(found
        .iter()
        .copied()
        .filter(|pid| parent(*pid).is_none_or(|parent| !found.contains(&parent)))
        .collect())
}

/// Whether this process may do what root may.
pub fn is_root() -> bool {
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Waits until no program below this directory runs. One that stays is killed and is an error.
pub fn none_below(directory: &Path) -> anyhow::Result<()> {
    all_gone_of(|| below(directory))
}

/// Waits until no process of the binary is left. One that stays is killed and is an error.
pub fn all_gone(binary: &Path) -> anyhow::Result<()> {
    all_gone_of(|| alive(binary))
}

fn all_gone_of(alive: impl Fn() -> anyhow::Result<Vec<u32>>) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let left = alive()?;
        if left.is_empty() {
            return Ok(());
        }
        if began.elapsed() > GONE_TIMEOUT {
            for pid in &left {
                signal(*pid, libc::SIGKILL)?;
            }
            bail!("processes left behind: {left:?}");
        }
        std::thread::sleep(POLL);
    }
}

/// Workers that a case has seen come and go.
#[derive(Default)]
pub struct Watch {
    seen: BTreeSet<u32>,
}

impl Watch {
    /// Waits until this many different workers have been seen and one is alive; gives that of the largest id,
    /// which is the youngest unless ids have just wrapped around.
    pub fn until_seen(
        &mut self,
        count: usize,
        binary: &Path,
        controller: &mut super::tool::Running,
    ) -> anyhow::Result<u32> {
        let timeout = Duration::from_secs(60);
        let began = Instant::now();
        loop {
            let now = workers(binary)?;
            self.seen.extend(&now);
            if let (true, Some(youngest)) = (self.seen.len() >= count, now.iter().max()) {
                return Ok(*youngest);
            }
            ensure!(
                controller.is_running()?,
                "dbdyno ended when {} of {count} workers had been seen",
                self.seen.len()
            );
            ensure!(began.elapsed() < timeout, "only {} of {count} workers in 60 s", self.seen.len());
            std::thread::sleep(POLL);
        }
    }
}

/// Sends a signal to one process. That it is gone already is no error.
pub fn signal(pid: u32, signal: i32) -> anyhow::Result<()> {
    send(i64::from(pid), signal)
}

/// Sends a signal to a process group. That it is gone already is no error.
pub fn signal_group(leader: u32, signal: i32) -> anyhow::Result<()> {
    send(-i64::from(leader), signal)
}

fn send(target: i64, signal: i32) -> anyhow::Result<()> {
    let target = libc::pid_t::try_from(target).context("a process id is out of range")?;
    ensure!(target != 0 && target != -1, "{target} stands for more than one process");
    // SAFETY: kill takes plain numbers and touches no memory of ours.
    if unsafe { libc::kill(target, signal) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) {
        return Ok(());
    }
    Err(error).with_context(|| format!("failed to send signal {signal} to {target}"))
}

/// Ids of all processes.
pub fn all() -> anyhow::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context("failed to list /proc")?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Who started it: field 4 of /proc/PID/stat. The name in field 2 may hold spaces and parentheses.
pub fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// What a process holds.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    pub resident_bytes: u64,
    pub descriptors: usize,
    pub threads: u64,
}

/// Reads what a process holds; none if it has ended.
pub fn resources(pid: u32) -> Option<Resources> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    };
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    Some(Resources { resident_bytes: number("VmRSS")? * 1024, descriptors, threads: number("Threads")? })
}

/// CPU time of all threads of a process, those that have ended included: fields 14 and 15 of /proc/PID/stat.
pub fn cpu(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    // USER_HZ is 100 on every architecture of ours.
    Some(Duration::from_millis((ticks()? + ticks()?) * 10))
}

/// Stops a process and waits until each of its threads stands still.
pub fn stop(pid: u32) -> anyhow::Result<()> {
    signal(pid, libc::SIGSTOP)?;
    let began = Instant::now();
    loop {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).context("the process has ended")?;
        let stands_still = |path: &Path| {
            let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('T'))
        };
        if threads.flatten().all(|thread| stands_still(&thread.path())) {
            return Ok(());
        }
        ensure!(began.elapsed() < GONE_TIMEOUT, "process {pid} was not stopped");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process runs this binary.
pub fn runs(pid: u32, binary: &Path) -> bool {
    // Unreadable for zombies, for the processes of others and for those that have just ended.
    fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path == binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_holds_and_has_used_is_read() {
        let held = resources(std::process::id()).unwrap();
        assert!(held.resident_bytes > 1 << 20 && held.descriptors >= 3 && held.threads >= 2, "{held:?}");
        let before = cpu(std::process::id()).unwrap();
        let began = Instant::now();
        while cpu(std::process::id()).unwrap() == before {
            assert!(began.elapsed() < Duration::from_secs(60));
        }
        assert!(resources(u32::MAX).is_none() && cpu(u32::MAX).is_none());
    }

    #[test]
    fn this_process_is_found_by_its_binary() {
        let binary = std::env::current_exe().unwrap();
        assert!(alive(&binary).unwrap().contains(&std::process::id()));
        assert_eq!(workers(&binary).unwrap(), Vec::<u32>::new());
    }
}
