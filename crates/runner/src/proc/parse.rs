//! Parsers of files below /proc, pure and driven by field names where the file has them. A line that is cut
//! short or unknown gives no value rather than a wrong one.

/// Fields of `/proc/PID/stat` (proc(5)), counted after the name in parentheses, which may hold spaces:
/// `3841 (dbdyno) S 3834 3841 3834 0 -1 4194560 912 0 0 0 25 14 0 0 20 0 9 0 ...`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// `R`, `S`, `D`, `T`, `Z`.
    pub state: char,
    /// Parent.
    pub parent: u32,
    /// Page faults without IO.
    pub minor_faults: u64,
    /// Page faults with IO.
    pub major_faults: u64,
    /// User time in ticks.
    pub user_ticks: u64,
    /// System time in ticks.
    pub system_ticks: u64,
}

/// Reads a `stat` of a process or a thread.
pub fn stat(text: &str) -> Option<Stat> {
    let after_name = &text[text.rfind(')')? + 1..];
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse().ok();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: u32::try_from(number(1)?).ok()?,
        minor_faults: number(7)?,
        major_faults: number(9)?,
        user_ticks: number(11)?,
        system_ticks: number(12)?,
    })
}

/// The time runnable but not running, in nanoseconds: field 2 of `schedstat`, `1523412 88120 17`.
pub fn run_delay_ns(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
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
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Milliseconds with IO in flight.
    pub busy_ms: u64,
}

/// Bytes of a sector in diskstats, whatever the device's own.
const SECTOR_BYTES: u64 = 512;

/// All devices of `/proc/diskstats`, by name.
pub fn diskstats(text: &str) -> impl Iterator<Item = (&str, Disk)> {
    text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let disk = Disk {
            reads: number(3)?,
            read_bytes: number(5)? * SECTOR_BYTES,
            writes: number(7)?,
            write_bytes: number(9)? * SECTOR_BYTES,
            busy_ms: number(12)?,
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

/// The first line of `/proc/stat`, ticks by state: `cpu  2255 34 2290 22625563 6290 127 456 0 0 0`.
pub fn cpu_ticks(text: &str) -> impl Iterator<Item = (&'static str, u64)> {
    const STATES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or("");
    let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|ticks| ticks.parse().ok()).collect();
    STATES.into_iter().zip(ticks)
}

/// Total stall time in microseconds of a pressure file, `some` and `full`:
/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1842911`
pub fn pressure_us(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| {
        let (kind, rest) = line.split_once(' ')?;
        Some((kind, rest.rsplit_once("total=")?.1.trim().parse().ok()?))
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
    const PRESSURE: &str = include_str!("../../fixtures/proc/linux-6.18/pressure-cpu.txt");

    #[test]
    fn a_process_is_read_though_its_name_has_spaces() {
        let read = stat(STAT).unwrap();
        assert_eq!(read.state, 'S');
        assert!(read.minor_faults > 0 && read.parent > 0);
        let odd = stat("12 (a) b) T 7 1 1 0 -1 0 10 0 20 0 30 40 0 0").unwrap();
        assert_eq!((odd.state, odd.parent, odd.minor_faults, odd.major_faults), ('T', 7, 10, 20));
        assert_eq!((odd.user_ticks, odd.system_ticks), (30, 40));
        assert_eq!(stat(&STAT[..20]), None);
        assert_eq!(stat(""), None);
    }

    #[test]
    fn named_fields_are_found_by_their_whole_name() {
        assert!(field(IO, "rchar").unwrap() > 0);
        assert_eq!(field(IO, "char"), None);
        assert_eq!(field(IO, "read_bytes"), field(&IO.replace("cancelled", "x"), "read_bytes"));
        assert!(field(STATUS, "VmRSS").unwrap() > 0);
        assert!(field(STATUS, "voluntary_ctxt_switches").is_some());
        assert_eq!(run_delay_ns("1523412 88120 17\n"), Some(88120));
        assert_eq!(run_delay_ns("1523412"), None);
    }

    #[test]
    fn disks_are_read_and_a_line_cut_short_is_left_out() {
        let disks: Vec<(&str, Disk)> = diskstats(DISKSTATS).collect();
        let (_, vda) = disks.iter().find(|(name, _)| *name == "vda").unwrap();
        assert!(vda.writes > 0 && vda.write_bytes.is_multiple_of(512));
        assert_eq!(device_name(DISKSTATS, 254, 0), Some("vda"));
        assert_eq!(device_name(DISKSTATS, 9, 99), None);
        assert!(diskstats(DISKSTATS_TRUNCATED).count() < disks.len());
    }

    #[test]
    fn the_host_is_read() {
        assert!(pairs(VMSTAT).any(|(name, value)| name == "pgfault" && value > 0));
        let ticks: Vec<_> = cpu_ticks(HOST_STAT).collect();
        assert_eq!(ticks.len(), 8);
        assert_eq!(ticks[3].0, "idle");
        assert!(pressure_us(PRESSURE).any(|(kind, _)| kind == "some"));
        assert_eq!(cpu_ticks("intr 0").count(), 0);
    }
}
