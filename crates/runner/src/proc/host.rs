//! The host: what it is, and how it is at one moment.

use super::parse;
use crate::clock;
use model::host::{Host, HostSample};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What this host is; the file system and the device are those of `work_dir`.
pub fn describe(work_dir: &Path) -> Host {
    let line = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let cpuinfo_line = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    Host {
        name: line("/proc/sys/kernel/hostname").unwrap_or_default(),
        boot_id: line("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
        kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        cpu_model: cpuinfo_line("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cpus: usable_cpus(),
        memory_bytes: parse::field(&meminfo, "MemTotal").unwrap_or(0) * 1024,
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        transparent_huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled"),
        virtual_machine: cpuinfo_line("flags").is_some_and(|flags| flags.contains("hypervisor")),
        file_system: file_system(work_dir),
        device: device(work_dir),
        load_1m: line("/proc/loadavg").and_then(|load| load.split(' ').next().map(str::to_owned)),
    }
}

/// Logical CPUs that this process may use.
pub fn usable_cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX))
}

/// Readings of the whole host now.
pub fn sample(device: Option<&str>) -> HostSample {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut readings = BTreeMap::new();
    let stat = file("/proc/stat");
    for (state, ticks) in parse::cpu_ticks(&stat) {
        readings.insert(format!("stat.cpu.{state}_ticks"), ticks);
    }
    for (name, value) in parse::pairs(&stat) {
        if matches!(name, "ctxt" | "processes" | "procs_running" | "procs_blocked") {
            readings.insert(format!("stat.{name}"), value);
        }
    }
    for (name, value) in parse::pairs(&file("/proc/vmstat")) {
        if VMSTAT_FIELDS.contains(&name) {
            readings.insert(format!("vmstat.{name}"), value);
        }
    }
    for resource in ["cpu", "io", "memory"] {
        for (kind, micros) in parse::pressure_us(&file(&format!("/proc/pressure/{resource}"))) {
            readings.insert(format!("pressure.{resource}.{kind}_us"), micros);
        }
    }
    let diskstats = file("/proc/diskstats");
    if let Some((name, disk)) = parse::diskstats(&diskstats).find(|(name, _)| Some(*name) == device) {
        let mut insert = |field: &str, value| readings.insert(format!("disk.{name}.{field}"), value);
        insert("reads", disk.reads);
        insert("read_bytes", disk.read_bytes);
        insert("writes", disk.writes);
        insert("write_bytes", disk.write_bytes);
        insert("busy_ms", disk.busy_ms);
    }
    HostSample { at_us: clock::epoch_us(), readings }
}

/// What vmstat(8) and sar(1) show, and what tells of memory pressure; the other 150 lines stay out.
const VMSTAT_FIELDS: [&str; 14] = [
    "pgpgin",
    "pgpgout",
    "pswpin",
    "pswpout",
    "pgfault",
    "pgmajfault",
    "nr_dirty",
    "nr_writeback",
    "nr_free_pages",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgsteal_kswapd",
    "allocstall_normal",
    "oom_kill",
];

/// Bytes that wait to be written to any device.
pub fn dirty_bytes() -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = |name| parse::field(&meminfo, name).unwrap_or(0);
    (kilobytes("Dirty") + kilobytes("Writeback")) * 1024
}

fn device(path: &Path) -> Option<String> {
    let number = fs::metadata(path).ok()?.dev();
    let diskstats = fs::read_to_string("/proc/diskstats").ok()?;
    parse::device_name(&diskstats, libc::major(number), libc::minor(number)).map(str::to_owned)
}

/// The type of the file system that `path` lies on: the longest mount point that is a beginning of it.
fn file_system(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (mount_point, kind) = (fields.nth(1)?, fields.next()?);
            path.starts_with(mount_point).then_some((mount_point.len(), kind))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_described() {
        let host = describe(Path::new("/"));
        assert!(host.cpus > 0 && host.memory_bytes > 1 << 20);
        assert!(!host.boot_id.is_empty() && !host.kernel.is_empty());
        assert!(host.file_system.is_some());
        let sample = sample(host.device.as_deref());
        assert!(sample.readings["stat.cpu.idle_ticks"] > 0);
        assert!(sample.readings["vmstat.pgfault"] > 0);
    }
}
