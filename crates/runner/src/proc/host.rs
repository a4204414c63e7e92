//! The host: what it is, and how it is at one moment.

use super::facts::{self, Root};
use super::parse;
use crate::clock;
use formats::proc_stat::cpu_ticks;
use model::host::{Host, HostSample};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files and pipes that this process may have open; absent if there is no limit.
pub fn most_open_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// What this host is; the file system and the device are those of `work_dir`.
pub fn describe(work_dir: &Path) -> Host {
    let line = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let cpuinfo_line = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let device = device_of(work_dir).ok();
    Host {
        name: line("/proc/sys/kernel/hostname").unwrap_or_default(),
        boot_id: line("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
        kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        cpu_model: cpuinfo_line("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cpus: usable_cpus(),
        cpus_online: Some(parse::cpus(&stat)).filter(|online| *online > 0),
        memory_bytes: parse::field(&meminfo, "MemTotal").unwrap_or(0) * 1024,
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        transparent_huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled"),
        virtual_machine: cpuinfo_line("flags").is_some_and(|flags| flags.contains("hypervisor")),
        file_system: file_system(work_dir),
        facts: facts::read(&Root::of_this_host(), work_dir, device.as_deref()),
        device,
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
    for (state, ticks) in cpu_ticks(&stat) {
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
        insert("reads_merged", disk.reads_merged);
        insert("read_bytes", disk.read_bytes);
        insert("read_us", disk.read_us);
        insert("writes", disk.writes);
        insert("writes_merged", disk.writes_merged);
        insert("write_bytes", disk.write_bytes);
        insert("write_us", disk.write_us);
        insert("in_flight", disk.in_flight);
        insert("busy_us", disk.busy_us);
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

/// Why no block device can be named for a path: then no request to a device can be counted.
#[derive(Debug, thiserror::Error)]
pub enum NoDevice {
    /// The file system has none, or has several and does not tell which.
    #[error(
        "`{}` lies on {file_system}, which has no block device of its own; name a directory on a disk (ext4, xfs) \
         by --work-dir", path.display()
    )]
    NoneOfItsOwn {
        path: PathBuf,
        /// `overlay`, `tmpfs`, `nfs4`.
        file_system: String,
    },
    /// The file system lies on a pool of devices; a file's device number is that of the file system.
    #[error(
        "`{}` lies on {file_system}, which spreads files over a pool of devices and does not say which; name a \
         directory on another file system (ext4, xfs) by --work-dir", path.display()
    )]
    Pooled {
        path: PathBuf,
        /// `btrfs`, `zfs`.
        file_system: String,
    },
    #[error("`{}` lies on device {major}:{minor}, which /proc/diskstats does not count", path.display())]
    NotCounted { path: PathBuf, major: u32, minor: u32 },
    #[error("failed to look at `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// The block device or partition that `path` lies on, as named in `/proc/diskstats`.
pub fn device_of(path: &Path) -> Result<String, NoDevice> {
    let metadata =
        fs::metadata(path).map_err(|source| NoDevice::Unreadable { path: path.to_owned(), source })?;
    let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
    let diskstats = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    match parse::device_name(&diskstats, major, minor) {
        Some(name) => Ok(name.to_owned()),
        None => Err(no_device(path, (major, minor), file_system(path))),
    }
}

/// Major number 0 is that of file systems without a block device of their own (stat(2), "anonymous").
fn no_device(path: &Path, (major, minor): (u32, u32), file_system: Option<String>) -> NoDevice {
    let path = path.to_owned();
    if major != 0 {
        return NoDevice::NotCounted { path, major, minor };
    }
    let file_system = file_system.unwrap_or_else(|| "an unknown file system".to_owned());
    match file_system.as_str() {
        "btrfs" | "zfs" | "bcachefs" => NoDevice::Pooled { path, file_system },
        _ => NoDevice::NoneOfItsOwn { path, file_system },
    }
}

/// The type of the file system that `path` lies on: the longest mount point that is a beginning of it; of two
/// mounts at one place the later one lies on top.
fn file_system(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let below = parse::mounts(&mountinfo).filter(|mount| path.starts_with(&mount.mount_point));
    below.max_by_key(|mount| mount.mount_point.as_os_str().len()).map(|mount| mount.kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_described() {
        let host = describe(Path::new("/"));
        assert!(host.cpus > 0 && host.memory_bytes > 1 << 20);
        assert!(host.cpus_online.is_some_and(|online| online >= host.cpus), "{host:?}");
        assert!(!host.boot_id.is_empty() && !host.kernel.is_empty());
        assert!(host.file_system.is_some());
        let sample = sample(host.device.as_deref());
        assert!(sample.readings["stat.cpu.idle_ticks"] > 0);
        assert!(sample.readings["vmstat.pgfault"] > 0);
    }

    #[test]
    fn a_path_without_a_device_of_its_own_says_what_it_lies_on() {
        // Present on every Linux, and never a block device.
        let error = device_of(Path::new("/proc")).unwrap_err();
        assert!(error.to_string().contains("lies on proc, which has no block device of its own"), "{error}");
        let error = device_of(Path::new("/no such directory")).unwrap_err();
        assert!(matches!(error, NoDevice::Unreadable { .. }), "{error}");
    }

    #[test]
    fn the_reason_fits_the_file_system() {
        let check = |device, file_system: &str, expected: &str| {
            let text = no_device(Path::new("/w"), device, Some(file_system.to_owned())).to_string();
            assert!(text.starts_with("`/w` lies on ") && text.contains(expected), "{text}");
        };
        check((0, 41), "overlay", "overlay, which has no block device of its own");
        check((0, 23), "tmpfs", "tmpfs, which has no block device of its own");
        check((0, 38), "btrfs", "btrfs, which spreads files over a pool of devices");
        check((0, 52), "zfs", "zfs, which spreads files over a pool of devices");
        check((259, 7), "ext4", "device 259:7, which /proc/diskstats does not count");
    }

    #[test]
    fn what_a_device_did_is_in_the_sample() {
        let Ok(device) = device_of(&std::env::temp_dir()) else {
            eprintln!("skipped: the temporary directory has no device of its own");
            return;
        };
        let readings = sample(Some(&device)).readings;
        for field in [
            "reads",
            "reads_merged",
            "read_us",
            "writes",
            "writes_merged",
            "write_us",
            "in_flight",
            "busy_us",
        ] {
            assert!(readings.contains_key(&format!("disk.{device}.{field}")), "{field}: {readings:?}");
        }
    }
}
