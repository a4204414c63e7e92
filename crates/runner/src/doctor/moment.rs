//! How the host is at this moment: what runs, what is free, what this process may do. Looked at for a third of a second.

use super::tools::TOOLS;
use crate::proc::facts::{Root, chosen};
use crate::proc::parse;
use formats::proc_stat::cpu_ticks;
use model::units::Bytes;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Long enough for a tick of 10 ms to be 3 % of a CPU.
const LOOK: Duration = Duration::from_millis(300);

/// A host at one moment. What it does not say is absent.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    /// Of the time of all CPUs.
    pub busy_percent: Option<f64>,
    pub steal_percent: Option<f64>,
    /// The programs that took most CPU, without this process and its children; the first took most.
    pub busiest: Vec<BusyProcess>,
    /// Share of the last ten seconds in which somebody waited, by `cpu`, `memory`, `io`.
    pub pressure: BTreeMap<String, f64>,
    pub available_bytes: Option<u64>,
    /// Of the file system of the work directory.
    pub space: Option<Space>,
    /// The disks of the work directory: the device, then what lies under it.
    pub disks: Vec<Disk>,
    /// Soft and hard limit.
    pub open_files: Option<(u64, u64)>,
    /// Root, and not by sudo: what is set then is set for the user who asked.
    pub is_root: bool,
    /// Processes of dbdyno that measure.
    pub other_runs: Vec<u32>,
    /// What was found of each program that is installed: its path.
    pub tools: BTreeMap<String, String>,
}

/// A disk as its queue is set. What it does not say is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    pub name: String,
    pub scheduler: Option<String>,
    pub rotational: bool,
    pub max_sectors_kb: Option<u64>,
    /// What `max_sectors_kb` may be set to at most.
    pub max_hw_sectors_kb: Option<u64>,
    pub read_ahead_kb: Option<u64>,
}

/// A program at work.
#[derive(Debug, Clone, PartialEq)]
pub struct BusyProcess {
    pub pid: u32,
    pub name: String,
    /// Of one CPU.
    pub percent: f64,
}

/// Room on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    pub free: Bytes,
    pub all: Bytes,
}

impl Moment {
    /// Looks at this host. `work_dir` is there, `device` is its own.
    pub fn look(work_dir: &Path, device: Option<&str>) -> Moment {
        let root = Root::of_this_host();
        let before = Ticks::read(&root);
        std::thread::sleep(LOOK);
        let after = Ticks::read(&root);
        let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Moment {
            busy_percent: before.share(&after, |state| !matches!(state, "idle" | "iowait")),
            steal_percent: before.share(&after, |state| state == "steal"),
            busiest: before.busiest(&after),
            pressure: pressure(&root),
            available_bytes: available_bytes(&root),
            space: space(work_dir),
            disks: disks(&root, device),
            // No limit is the largest number.
            open_files: Some((limits.current.unwrap_or(u64::MAX), limits.maximum.unwrap_or(u64::MAX))),
            is_root: rustix::process::geteuid().is_root() && std::env::var_os("SUDO_UID").is_none(),
            other_runs: other_runs(&root),
            tools: tools(),
        }
    }
}

/// The memory that this process may take still; absent if the host does not say.
pub(super) fn available_bytes(root: &Root) -> Option<u64> {
    let meminfo = root.line("/proc/meminfo").unwrap_or_default();
    let of_host = parse::field(&meminfo, "MemAvailable").map(|kib| kib * 1024);
    [of_host, left_of_group(root)].into_iter().flatten().min()
}

/// The room of the file system that a directory lies on; absent if it cannot be looked at.
pub(super) fn space(directory: &Path) -> Option<Space> {
    let space = rustix::fs::statvfs(directory).ok()?;
    Some(Space { free: Bytes(space.f_bavail * space.f_frsize), all: Bytes(space.f_blocks * space.f_frsize) })
}

/// What is free there.
pub fn free_space(directory: &Path) -> Option<Bytes> {
    space(directory).map(|space| space.free)
}

/// What the control group of this process may take still, if it has a limit.
fn left_of_group(root: &Root) -> Option<u64> {
    let groups = root.line("/proc/self/cgroup")?;
    let left = |directory: String, most: &str, current: &str| {
        let number = |file: &str| root.line(&format!("{directory}/{file}"))?.parse::<u64>().ok();
        Some(number(most)?.saturating_sub(number(current)?))
    };
    let unified = parse::control_group(&groups, "")
        .and_then(|group| left(format!("/sys/fs/cgroup{group}"), "memory.max", "memory.current"));
    let of_memory = parse::control_group(&groups, "memory").and_then(|group| {
        left(format!("/sys/fs/cgroup/memory{group}"), "memory.limit_in_bytes", "memory.usage_in_bytes")
    });
    unified.or(of_memory)
}

/// CPU time since boot, of all CPUs by state and of each process, in ticks.
struct Ticks {
    states: BTreeMap<&'static str, u64>,
    /// With its name.
    processes: BTreeMap<u32, (String, u64)>,
}

impl Ticks {
    fn read(root: &Root) -> Ticks {
        let stat = root.line("/proc/stat").unwrap_or_default();
        let processes = pids(root).into_iter().filter_map(|pid| {
            let text = root.line(&format!("/proc/{pid}/stat"))?;
            let name = text.split_once('(')?.1.rsplit_once(')')?.0.to_owned();
            let stat = parse::stat(&text)?;
            Some((pid, (name, stat.user_ticks + stat.system_ticks)))
        });
        Ticks { states: cpu_ticks(&stat).collect(), processes: processes.collect() }
    }

    /// Of the time that has passed, in percent.
    fn share(&self, after: &Ticks, counts: impl Fn(&str) -> bool) -> Option<f64> {
        let passed = |counts: &dyn Fn(&str) -> bool| -> u64 {
            let states = after.states.iter().filter(|(state, _)| counts(state));
            states.map(|(state, ticks)| ticks.saturating_sub(*self.states.get(state).unwrap_or(ticks))).sum()
        };
        // Time of guests is in that of the user as well.
        let is_own = |state: &str| !matches!(state, "guest" | "guest_nice");
        let all = passed(&is_own);
        (all > 0).then(|| 100.0 * passed(&|state| is_own(state) && counts(state)) as f64 / all as f64)
    }

    fn busiest(&self, after: &Ticks) -> Vec<BusyProcess> {
        let own = std::process::id();
        let grew =
            after.processes.iter().filter(|(pid, _)| **pid != own).filter_map(|(pid, (name, ticks))| {
                let (_, before) = self.processes.get(pid)?;
                let micros = ticks.saturating_sub(*before) * parse::TICK_MICROS;
                let percent = 100.0 * micros as f64 / LOOK.as_micros() as f64;
                Some(BusyProcess { pid: *pid, name: name.clone(), percent })
            });
        let mut busiest: Vec<BusyProcess> = grew.filter(|process| process.percent > 0.0).collect();
        busiest.sort_by(|left, right| right.percent.total_cmp(&left.percent));
        busiest.truncate(3);
        busiest
    }
}

fn pids(root: &Root) -> Vec<u32> {
    root.names("/proc").iter().filter_map(|name| name.parse().ok()).collect()
}

/// `some avg10=0.12 avg60=..`: in percent.
fn pressure(root: &Root) -> BTreeMap<String, f64> {
    let of_resource = |resource: &str| {
        let text = root.line(&format!("/proc/pressure/{resource}"))?;
        let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let average = some.split(' ').find_map(|field| field.strip_prefix("avg10="))?;
        Some((resource.to_owned(), average.parse().ok()?))
    };
    ["cpu", "memory", "io"].into_iter().filter_map(of_resource).collect()
}

/// The disks on which a device lies: itself or the disk that it is a partition of, and what lies under it.
fn disks(root: &Root, device: Option<&str>) -> Vec<Disk> {
    let Some(device) = device else { return Vec::new() };
    let disk = crate::proc::facts::disk_of(root, device);
    let under = root.names(&format!("/sys/block/{disk}/slaves"));
    let under = under.iter().flat_map(|under| disks(root, Some(under)));
    std::iter::once(queue(root, &disk)).chain(under).collect()
}

fn queue(root: &Root, disk: &str) -> Disk {
    let attribute = |name: &str| root.line(&format!("/sys/block/{disk}/queue/{name}"));
    let number = |name: &str| attribute(name)?.parse().ok();
    Disk {
        name: disk.to_owned(),
        scheduler: attribute("scheduler").map(|value| chosen(&value)),
        rotational: attribute("rotational").is_some_and(|value| value == "1"),
        max_sectors_kb: number("max_sectors_kb"),
        max_hw_sectors_kb: number("max_hw_sectors_kb"),
        read_ahead_kb: number("read_ahead_kb"),
    }
}

/// The commands of dbdyno that measure.
const MEASURING: [&str; 7] = ["compare", "run", "watch", "calibrate", "bisect", "engine", "worker"];

/// With these options a dbdyno starts jobs on other hosts and measures nothing itself.
const ON_OTHER_HOSTS: [&str; 2] = ["--hosts", "--slurm"];

/// Processes of dbdyno that measure, other than this one and those above it.
fn other_runs(root: &Root) -> Vec<u32> {
    let own = ancestors(root, std::process::id());
    let command = |pid: &u32| fs::read(root.path(&format!("/proc/{pid}/cmdline"))).unwrap_or_default();
    pids(root).into_iter().filter(|pid| !own.contains(pid) && measures(&command(pid))).collect()
}

/// Whether this is the command line of a dbdyno that measures on its host.
fn measures(command: &[u8]) -> bool {
    let words: Vec<_> = command.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let is_ours = words
        .first()
        .is_some_and(|program| Path::new(&**program).file_name().is_some_and(|name| name == "dbdyno"));
    is_ours
        && words.iter().any(|word| MEASURING.contains(&&**word))
        && !words.iter().any(|word| ON_OTHER_HOSTS.contains(&word.split('=').next().unwrap_or_default()))
}

/// A process and those above it.
fn ancestors(root: &Root, pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| parse::stat(&root.line(&format!("/proc/{pid}/stat"))?).map(|stat| stat.parent);
    std::iter::successors(Some(pid), parent).take_while(|pid| *pid > 0).collect()
}

/// The file that a shell would run if it were told this name.
pub(crate) fn found_on_path(program: &str) -> Option<PathBuf> {
    all_on_path(program).into_iter().next()
}

/// All of this name, in the order of the search path.
pub(crate) fn all_on_path(program: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let files = std::env::split_paths(&path).map(|directory| directory.join(program));
    files
        .filter(|file| {
            fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
        .collect()
}

fn tools() -> BTreeMap<String, String> {
    let of_tool =
        |program: &str| found_on_path(program).map(|path| (program.to_owned(), path.display().to_string()));
    TOOLS.iter().filter_map(|tool| of_tool(tool.program)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_moment() {
        let moment = Moment::look(Path::new("/"), None);
        assert!(moment.busy_percent.is_some_and(|percent| (0.0..=100.0).contains(&percent)), "{moment:?}");
        assert!(moment.available_bytes > Some(0) && moment.open_files.is_some(), "{moment:?}");
        assert!(moment.space.is_some_and(|space| space.free <= space.all), "{moment:?}");
        assert!(!moment.other_runs.contains(&std::process::id()));
    }

    #[test]
    fn a_dbdyno_whose_campaign_is_on_other_hosts_does_not_measure_here() {
        let is = |line: &str| measures(line.replace(' ', "\0").as_bytes());
        assert!(is("/usr/bin/dbdyno run plan.toml") && is("dbdyno --store store.sqlite compare a b"));
        assert!(!is("dbdyno run plan.toml --hosts a,b") && !is("dbdyno run --hosts=a plan.toml"));
        assert!(!is("dbdyno run plan.toml --slurm --jobs 3"));
        assert!(!is("dbdyno serve") && !is("vim run") && !is(""));
    }

    #[test]
    fn the_time_of_a_busy_process_is_seen() {
        let ticks = |states: [(&'static str, u64); 3], of_process| Ticks {
            states: states.into_iter().collect(),
            processes: BTreeMap::from([(7, ("backup".to_owned(), of_process)), (8, ("idle".to_owned(), 5))]),
        };
        let before = ticks([("user", 100), ("idle", 100), ("steal", 0)], 50);
        let after = ticks([("user", 130), ("idle", 120), ("steal", 10)], 80);
        assert_eq!(before.share(&after, |state| state == "steal"), Some(100.0 / 6.0));
        let busiest = before.busiest(&after);
        assert_eq!((busiest.len(), busiest[0].pid, busiest[0].percent), (1, 7, 100.0));
    }
}
