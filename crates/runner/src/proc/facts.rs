//! What a host is set to, as the kernel says it: names of our own to values, stored with each run and compared between runs.
//! A value that the kernel does not give is absent.

use super::parse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Settings of a host by name: `vm.swappiness`, `device.max_sectors_kb`.
pub type Facts = BTreeMap<String, String>;

/// Where `/proc` and `/sys` are: `/`, or a directory with files like theirs in a test.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    pub fn of_this_host() -> Root {
        Root(PathBuf::from("/"))
    }

    #[cfg(test)]
    pub fn at(directory: &Path) -> Root {
        Root(directory.to_owned())
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.0.join(below.trim_start_matches('/'))
    }

    /// The text of a file without white space at its ends.
    pub fn line(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().to_owned())
    }

    /// The names in a directory, sorted.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).into_iter().flatten().filter_map(Result::ok);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// Files with one value each.
const FILES: [(&str, &str); 20] = [
    ("cpu.smt", "/sys/devices/system/cpu/smt/active"),
    ("cpu.boost", "/sys/devices/system/cpu/cpufreq/boost"),
    ("cpu.no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("kernel.randomize_va_space", "/proc/sys/kernel/randomize_va_space"),
    ("kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"),
    ("kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict"),
    ("kernel.yama.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope"),
    ("kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"),
    ("vm.swappiness", "/proc/sys/vm/swappiness"),
    ("vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"),
    ("vm.dirty_bytes", "/proc/sys/vm/dirty_bytes"),
    ("vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
    ("vm.dirty_background_bytes", "/proc/sys/vm/dirty_background_bytes"),
    ("vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"),
    ("vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode"),
    ("thp.enabled", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("thp.defrag", "/sys/kernel/mm/transparent_hugepage/defrag"),
    ("thp.khugepaged_defrag", "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"),
    ("kernel.sched_autogroup_enabled", "/proc/sys/kernel/sched_autogroup_enabled"),
];

/// Attributes of a block device's queue.
const QUEUE: [&str; 7] = [
    "scheduler",
    "read_ahead_kb",
    "max_sectors_kb",
    "max_hw_sectors_kb",
    "rotational",
    "nr_requests",
    "write_cache",
];

/// The settings of the host; the file system and `device` are those of the work directory.
pub fn read(root: &Root, work_dir: &Path, device: Option<&str>) -> Facts {
    let mut facts = Facts::new();
    for (name, path) in FILES {
        if let Some(value) = root.line(path) {
            facts.insert(name.to_owned(), chosen(&value));
        }
    }
    let governors = governors(root);
    if !governors.is_empty() {
        facts.insert("cpu.governor".to_owned(), governors.join(", "));
    }
    let nodes = root.names("/sys/devices/system/node");
    let nodes = nodes.iter().filter(|name| is_numbered(name, "node")).count();
    if nodes > 0 {
        facts.insert("numa.nodes".to_owned(), nodes.to_string());
    }
    if let Some(swaps) = root.line("/proc/swaps") {
        facts.insert("swap.devices".to_owned(), swaps.lines().skip(1).count().to_string());
    }
    if let Some(mountinfo) = root.line("/proc/self/mountinfo") {
        facts.extend(mount(&mountinfo, work_dir));
    }
    if let Some(device) = device {
        of_device(root, device, "device", &mut facts);
    }
    facts
}

/// The governors of all CPUs, each once.
fn governors(root: &Root) -> Vec<String> {
    let cpus = root.names("/sys/devices/system/cpu");
    let of_cpus = cpus.iter().filter(|name| is_numbered(name, "cpu"));
    let mut governors: Vec<String> = of_cpus
        .filter_map(|cpu| root.line(&format!("/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    governors
}

/// `cpu7` of `cpu`, not `cpufreq`.
pub fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|character| character.is_ascii_digit()))
}

/// `[mq-deadline]` of `none [mq-deadline] kyber bfq`; other values as they are.
pub(crate) fn chosen(value: &str) -> String {
    let chosen = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(value, |(chosen, _)| chosen).to_owned()
}

fn mount(mountinfo: &str, work_dir: &Path) -> Facts {
    let path = work_dir.ancestors().find_map(|path| path.canonicalize().ok()).unwrap_or_default();
    let below = parse::mounts(mountinfo).filter(|mount| path.starts_with(&mount.mount_point));
    let Some(mount) = below.max_by_key(|mount| mount.mount_point.as_os_str().len()) else {
        return Facts::new();
    };
    let options = parse::mount_options(mountinfo, &mount.mount_point).unwrap_or_default();
    Facts::from([
        ("file_system.type".to_owned(), mount.kind.to_owned()),
        ("file_system.options".to_owned(), options),
    ])
}

/// The queue of a device, of the disk that a partition is of, and of what lies under a RAID or a logical volume.
fn of_device(root: &Root, device: &str, prefix: &str, facts: &mut Facts) {
    let disk = disk_of(root, device);
    let directory = format!("/sys/block/{disk}");
    for attribute in QUEUE {
        if let Some(value) = root.line(&format!("{directory}/queue/{attribute}")) {
            facts.insert(format!("{prefix}.{attribute}"), chosen(&value));
        }
    }
    if let Some(model) = root.line(&format!("{directory}/device/model")) {
        facts.insert(format!("{prefix}.model"), model);
    }
    for under in root.names(&format!("{directory}/slaves")) {
        of_device(root, &under, &format!("{prefix}.{under}"), facts);
    }
}

/// `sda` of `sda1`: partitions are directories within that of their disk.
pub(crate) fn disk_of(root: &Root, device: &str) -> String {
    let is_disk = |name: &str| root.path(&format!("/sys/block/{name}")).exists();
    if is_disk(device) {
        return device.to_owned();
    }
    let disks = root.names("/sys/block");
    let of_disk = disks.into_iter().find(|disk| root.path(&format!("/sys/block/{disk}/{device}")).exists());
    of_disk.unwrap_or_else(|| device.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn what_lies_under_a_raid_and_the_disk_of_a_partition_are_looked_at() {
        let scratch = tempfile::tempdir().unwrap();
        write(
            scratch.path(),
            &[
                ("/sys/block/md0/queue/max_sectors_kb", "1280\n"),
                ("/sys/block/md0/slaves/nvme0n1p1/partition", "1\n"),
                ("/sys/block/nvme0n1/nvme0n1p1/partition", "1\n"),
                ("/sys/block/nvme0n1/queue/max_sectors_kb", "128\n"),
                ("/sys/block/nvme0n1/queue/scheduler", "[none] mq-deadline kyber\n"),
                ("/sys/block/nvme0n1/device/model", "INTEL SSDPE2KX010T8   \n"),
                ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
                ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil\n"),
                ("/sys/devices/system/cpu/cpufreq/boost", "1\n"),
                ("/sys/devices/system/node/node0/cpulist", "0\n"),
                ("/sys/devices/system/node/node1/cpulist", "1\n"),
                ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ],
        );
        let facts = read(&Root::at(scratch.path()), Path::new("/"), Some("md0"));
        let fact = |name: &str| facts.get(name).map(String::as_str);
        assert_eq!(fact("device.max_sectors_kb"), Some("1280"));
        assert_eq!(fact("device.nvme0n1p1.max_sectors_kb"), Some("128"));
        assert_eq!(fact("device.nvme0n1p1.scheduler"), Some("none"));
        assert_eq!(fact("device.nvme0n1p1.model"), Some("INTEL SSDPE2KX010T8"));
        assert_eq!(fact("cpu.governor"), Some("performance, schedutil"));
        assert_eq!((fact("numa.nodes"), fact("cpu.boost")), (Some("2"), Some("1")));
        assert_eq!((fact("thp.enabled"), fact("vm.swappiness")), (Some("madvise"), None));
    }

    #[test]
    fn this_host_has_settings() {
        let facts = read(&Root::of_this_host(), Path::new("/"), None);
        assert!(facts.contains_key("vm.swappiness") && facts.contains_key("file_system.type"), "{facts:?}");
    }
}
