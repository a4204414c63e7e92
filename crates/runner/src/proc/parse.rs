//! Parsers of files below /proc, pure and driven by field names where the file has them. A line that is cut
//! short or unknown gives no value rather than a wrong one.

use super::side::ThreadTimes;
use model::units::Nanos;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Fields of `/proc/PID/stat` (proc(5)), counted after the name in parentheses, which may hold spaces:
/// `3841 (dbdyno) S 3834 3841 3834 0 -1 4194560 912 0 0 0 25 14 0 0 20 0 9 0 ...`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stat {
    /// `R`, `S`, `D`, `T`, `Z`.
    pub state: char,
    pub parent: u32,
    /// Whether it is one of the kernel's own threads.
    pub kernel_thread: bool,
    /// Page faults without IO.
    pub minor_faults: u64,
    /// Page faults with IO.
    pub major_faults: u64,
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// Both of its children that have ended and that it has waited for, in ticks.
    pub waited_for_ticks: u64,
    /// When it began, in ticks since the host was started: of two processes that had the same number, the later one has another.
    pub began_at_ticks: Option<u64>,
}

/// Microseconds of one tick: USER_HZ is 100 on every Linux that we run on.
pub const TICK_MICROS: u64 = 10_000;

/// The flag of the kernel's own threads, `PF_KTHREAD` of `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Reads a `stat` of a process or a thread.
pub fn stat(text: &str) -> Option<Stat> {
    let after_name = &text[text.rfind(')')? + 1..];
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: u32::try_from(number(1)?).ok()?,
        kernel_thread: number(6)? & KERNEL_THREAD != 0,
        minor_faults: number(7)?,
        major_faults: number(9)?,
        user_ticks: number(11)?,
        system_ticks: number(12)?,
        waited_for_ticks: number(13)? + number(14)?,
        began_at_ticks: number(19),
    })
}

/// `/proc/PID/task/TID/schedstat`: nanoseconds on a CPU, nanoseconds runnable but not running, and how often it ran:
///
/// ```text
/// 1523412 88120 17
/// ```
pub fn schedstat(text: &str) -> Option<ThreadTimes> {
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    let (cpu, run_delay) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(ThreadTimes { cpu: Nanos(cpu), run_delay: Nanos(run_delay) })
}

/// A value of a `name: value` file such as `/proc/PID/io` or `status`: `voluntary_ctxt_switches: 152`; a unit
/// after the number (`kB`) is left to the caller.
pub fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(':')?;
        value.split_ascii_whitespace().next()?.parse().ok()
    })
}

/// Counters of one device in `/proc/diskstats` (kernel documentation, iostats):
/// ` 254       0 vda 40873 9541 2518406 14220 98812 66021 8713442 103121 0 61096 121553 ...`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disk {
    pub reads: u64,
    /// Reads merged with a neighbour before they went to the device.
    pub reads_merged: u64,
    pub read_bytes: u64,
    /// Time that reads took, queueing included, summed over them, in microseconds.
    pub read_us: u64,
    pub writes: u64,
    /// Writes merged with a neighbour before they went to the device.
    pub writes_merged: u64,
    pub write_bytes: u64,
    /// Time that writes took, queueing included, summed over them, in microseconds.
    pub write_us: u64,
    /// Requests that the device has now: a level, no counter.
    pub in_flight: u64,
    /// Time with IO in flight, in microseconds.
    pub busy_us: u64,
}

/// Bytes of a sector in diskstats, whatever the device's own.
const SECTOR_BYTES: u64 = 512;
/// diskstats counts time in milliseconds.
const DISK_TIME_MICROS: u64 = 1000;

/// All devices of `/proc/diskstats`, by name. Kernels before 4.18 end a line after the weighted time; all since
/// append fields.
pub fn diskstats(text: &str) -> impl Iterator<Item = (&str, Disk)> {
    text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let disk = Disk {
            reads: number(3)?,
            reads_merged: number(4)?,
            read_bytes: number(5)? * SECTOR_BYTES,
            read_us: number(6)? * DISK_TIME_MICROS,
            writes: number(7)?,
            writes_merged: number(8)?,
            write_bytes: number(9)? * SECTOR_BYTES,
            write_us: number(10)? * DISK_TIME_MICROS,
            in_flight: number(11)?,
            busy_us: number(12)? * DISK_TIME_MICROS,
        };
        Some((*fields.get(2)?, disk))
    })
}

/// The device with this number in `/proc/diskstats`.
pub fn device_name(diskstats: &str, major: u32, minor: u32) -> Option<&str> {
    diskstats.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let found = (fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u32>().ok()?);
        if found == (major, minor) { fields.next() } else { None }
    })
}

/// `name value` lines as in `/proc/vmstat`: `pgfault 1234`.
pub fn pairs(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        Some((name, value.trim().parse().ok()?))
    })
}

/// How many CPUs `/proc/stat` counts, a line for each that is online: `cpu0  2255 34 2290 ..`.
pub fn cpus(text: &str) -> u32 {
    let is_one = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    text.lines().filter(is_one).map(|_| 1).sum()
}

/// Total stall time in microseconds of a pressure file, `some` and `full`:
/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1842911`
pub fn pressure_us(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| {
        let (kind, rest) = line.split_once(' ')?;
        Some((kind, rest.rsplit_once("total=")?.1.trim().parse().ok()?))
    })
}

/// One line of `/proc/self/mountinfo` (proc(5)):
/// `35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount<'a> {
    /// Major and minor number of the device; major 0 where there is no block device.
    pub device: (u32, u32),
    /// The directory of the file system that is mounted.
    pub root: PathBuf,
    pub mount_point: PathBuf,
    /// Type of the file system.
    pub kind: &'a str,
    /// What is mounted: a device, or the name that a file system without one has given itself.
    pub source: &'a str,
    /// Options of the file system, separated by commas.
    pub super_options: &'a str,
}

/// The mounts that this process sees, in the order in which they were made.
pub fn mounts(text: &str) -> impl DoubleEndedIterator<Item = Mount<'_>> {
    text.lines().filter_map(|line| {
        // Between the two halves stands a number of optional fields that the dash ends.
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(2);
        let (major, minor) = mount.next()?.split_once(':')?;
        let (root, mount_point) = (mount.next()?, mount.next()?);
        let mut file_system = file_system.split(' ');
        let kind = file_system.next()?;
        Some(Mount {
            device: (major.parse().ok()?, minor.parse().ok()?),
            root: mount_path(root),
            mount_point: mount_path(mount_point),
            kind,
            source: file_system.next()?,
            super_options: file_system.next()?,
        })
    })
}

/// Options of the mount at a place, then those of its file system, each once: `rw,relatime,discard`. Of two mounts at one place
/// the later one lies on top.
pub fn mount_options(text: &str, at: &Path) -> Option<String> {
    let mut of_mounts = text.lines().rev().filter_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(4);
        let mount_point = mount_path(mount.next()?);
        Some((mount_point, mount.next()?, file_system.split(' ').nth(2)?))
    });
    let (_, of_mount, of_file_system) = of_mounts.find(|(mount_point, ..)| mount_point == at)?;
    let mut options: Vec<&str> = of_mount.split(',').collect();
    for option in of_file_system.split(',') {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    Some(options.join(","))
}

/// The kernel writes space, tab, newline and backslash of a path as a backslash with three octal digits.
fn mount_path(text: &str) -> PathBuf {
    let mut rest = text.as_bytes();
    let mut path = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        match rest {
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', after @ ..] => {
                path.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                rest = after;
            }
            _ => {
                path.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(path).into()
}

/// The group of a process for a controller, from `/proc/PID/cgroup` (cgroups(7)): `4:memory:/session/7`. The
/// line of cgroup v2 has no controllers: `0::/session/7`, asked for by "".
pub fn control_group<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = include_str!("../../fixtures/proc/linux-6.18/stat.txt");
    const IO: &str = include_str!("../../fixtures/proc/linux-6.18/io.txt");
    const STATUS: &str = include_str!("../../fixtures/proc/linux-6.18/status.txt");
    const DISKSTATS: &str = include_str!("../../fixtures/proc/linux-6.18/diskstats.txt");
    const DISKSTATS_TRUNCATED: &str = include_str!("../../fixtures/proc/linux-6.18/diskstats-truncated.txt");
    const VMSTAT: &str = include_str!("../../fixtures/proc/linux-6.18/vmstat.txt");
    const HOST_STAT: &str = include_str!("../../fixtures/proc/linux-6.18/host-stat.txt");
    const MOUNTINFO: &str = include_str!("../../fixtures/proc/linux-6.18/mountinfo-v1.txt");
    const CGROUP: &str = include_str!("../../fixtures/proc/linux-6.18/cgroup-v1.txt");
    const PRESSURE: &str = include_str!("../../fixtures/proc/linux-6.18/pressure-cpu.txt");

    #[test]
    fn a_process_is_read_though_its_name_has_spaces() {
        let read = stat(STAT).unwrap();
        assert_eq!(read.state, 'S');
        assert!(read.minor_faults > 0 && read.parent > 0 && read.began_at_ticks > Some(0));
        let odd = stat("12 (a) b) T 7 1 1 0 -1 0 10 0 20 0 30 40 0 0").unwrap();
        assert_eq!((odd.state, odd.parent, odd.minor_faults, odd.major_faults), ('T', 7, 10, 20));
        assert!(!odd.kernel_thread);
        assert!(stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 3 0 0").unwrap().kernel_thread);
        assert_eq!((odd.user_ticks, odd.system_ticks), (30, 40));
        assert_eq!(stat(&STAT[..20]), None);
        assert_eq!(stat(""), None);
    }

    #[test]
    fn named_fields_are_found_by_their_whole_name() {
        assert!(field(IO, "rchar").unwrap() > 0);
        assert_eq!(field(IO, "char"), None);
        assert_eq!(field(IO, "read_bytes"), field(&IO.replace("cancelled", "x"), "read_bytes"));
        assert!(field(STATUS, "VmHWM").unwrap() >= field(STATUS, "VmRSS").unwrap());
        assert!(field(STATUS, "voluntary_ctxt_switches").is_some());
        let times = ThreadTimes { cpu: Nanos(1_523_412), run_delay: Nanos(88_120) };
        assert_eq!(schedstat("1523412 88120 17\n"), Some(times));
        assert_eq!(schedstat("1523412"), None);
    }

    #[test]
    fn disks_are_read_and_a_line_cut_short_is_left_out() {
        let disks: Vec<(&str, Disk)> = diskstats(DISKSTATS).collect();
        let (_, vda) = disks.iter().find(|(name, _)| *name == "vda").unwrap();
        let expected = Disk {
            reads: 49811,
            reads_merged: 11087,
            read_bytes: 9409002 * 512,
            read_us: 37_608_000,
            writes: 10236,
            writes_merged: 16246,
            write_bytes: 4098496 * 512,
            write_us: 8_174_000,
            in_flight: 0,
            busy_us: 10_444_000,
        };
        assert_eq!(*vda, expected);
        assert_eq!(device_name(DISKSTATS, 254, 0), Some("vda"));
        assert_eq!(device_name(DISKSTATS, 9, 99), None);
        assert!(diskstats(DISKSTATS_TRUNCATED).count() < disks.len());
    }

    #[test]
    fn the_host_is_read() {
        assert!(pairs(VMSTAT).any(|(name, value)| name == "pgfault" && value > 0));
        let ticks: Vec<_> = formats::proc_stat::cpu_ticks(HOST_STAT).collect();
        assert_eq!(ticks.len(), 8);
        assert_eq!(ticks[3].0, "idle");
        assert!(pressure_us(PRESSURE).any(|(kind, _)| kind == "some"));
        assert_eq!(formats::proc_stat::cpu_ticks("intr 0").count(), 0);
        let lines = HOST_STAT.lines().filter(|line| line.starts_with("cpu")).count();
        assert_eq!(
            (cpus(HOST_STAT) as usize, cpus("cpu  1 2\ncpufreq 3\nintr 0")),
            (lines - 1, 0),
            "the first line is the sum"
        );
    }

    #[test]
    fn mounts_are_read_and_a_line_cut_short_is_left_out() {
        let all: Vec<Mount<'_>> = mounts(MOUNTINFO).collect();
        assert_eq!(all.len(), MOUNTINFO.lines().count());
        let memory = all.iter().find(|mount| mount.super_options.split(',').any(|word| word == "memory"));
        let expected = Mount {
            device: (0, 32),
            root: "/".into(),
            mount_point: "/sys/fs/cgroup/memory".into(),
            kind: "cgroup",
            source: "cgroup",
            super_options: "rw,memory",
        };
        assert_eq!(memory, Some(&expected));
        let last = all.last().unwrap();
        assert_eq!(last.mount_point, PathBuf::from("/tmp/a b\\c"), "space and backslash are escaped");
        assert_eq!(last.device, (7, 0));
        let cut = MOUNTINFO.trim_end().rsplit_once(' ').unwrap().0;
        assert_eq!(mounts(cut).count(), all.len() - 1);
        let optional = "35 31 0:32 / /m rw shared:9 master:1 - cgroup cgroup rw,memory";
        assert_eq!(mounts(optional).next().unwrap().super_options, "rw,memory");
    }

    #[test]
    fn the_group_of_a_controller_is_found_by_its_whole_name() {
        assert_eq!(control_group(CGROUP, "memory"), Some("/session/7"));
        assert_eq!(control_group(CGROUP, "cpu"), Some("/"));
        assert_eq!(control_group(CGROUP, ""), Some("/session/7"));
        assert_eq!(control_group(CGROUP, "cpua"), None);
        assert_eq!(control_group("3:cpu,cpuacct:/a:b\n", "cpuacct"), Some("/a:b"));
        assert_eq!(control_group("0::", ""), Some(""));
        assert_eq!(control_group("0:", ""), None);
    }
}
