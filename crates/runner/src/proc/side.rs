//! Counters of one side: read before its thaw and after its freeze, so that reading never falls into a block.

use super::parse;
use crate::clock;
use crate::process::tree;
use model::counter::{Counter, Counters};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fs;

/// Cumulative readings of a side at one moment.
#[derive(Debug, Clone, Default)]
pub struct SideReading {
    /// CPU time of all its threads.
    pub process_cpu: Option<Nanos>,
    pub counters: Counters,
    pub threads: BTreeMap<u32, ThreadTimes>,
}

/// What a thread has had of the CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Time on a CPU.
    pub cpu: Nanos,
    /// Time runnable but not running.
    pub run_delay: Nanos,
}

impl SideReading {
    /// The sum over the `count` threads that had most of the CPUs: of a server those that served its clients, each of
    /// which has one thread, or process, to itself. What others of its threads waited for delayed no client.
    pub fn busiest(&self, count: usize) -> ThreadTimes {
        let mut threads: Vec<ThreadTimes> = self.threads.values().copied().collect();
        threads.sort_by_key(|times| std::cmp::Reverse(times.cpu));
        threads.into_iter().take(count).fold(ThreadTimes::default(), |sum, one| ThreadTimes {
            cpu: sum.cpu + one.cpu,
            run_delay: sum.run_delay + one.run_delay,
        })
    }
}

/// `VmRSS` and `VmHWM` are in units of 1024 bytes.
const STATUS_UNIT_BYTES: u64 = 1024;

/// Reads all processes below and including `pid`, and the device.
pub fn read(pid: u32, device: Option<&str>) -> SideReading {
    let mut reading = SideReading::default();
    for process in tree::descendants(pid) {
        add_process(&mut reading, process);
    }
    if let Some(device) = device {
        add_device(&mut reading.counters, device);
    }
    reading
}

/// Reads the device alone, for a process that is not ours to look into.
pub fn read_device(device: Option<&str>) -> SideReading {
    let mut reading = SideReading::default();
    if let Some(device) = device {
        add_device(&mut reading.counters, device);
    }
    reading
}

/// What happened between two readings; levels are taken from the later one.
pub fn difference(before: &SideReading, after: &SideReading) -> SideReading {
    let counters = after
        .counters
        .iter()
        .filter_map(|(counter, after)| {
            if counter.is_level() {
                return Some((*counter, *after));
            }
            let before = before.counters.get(counter)?;
            Some((*counter, after.saturating_sub(*before)))
        })
        .collect();
    let process_cpu = after.process_cpu.zip(before.process_cpu);
    let threads = after.threads.iter().map(|(thread, after)| {
        // One that began meanwhile began at nothing.
        let before = before.threads.get(thread).copied().unwrap_or_default();
        let times = ThreadTimes {
            cpu: after.cpu.saturating_sub(before.cpu),
            run_delay: after.run_delay.saturating_sub(before.run_delay),
        };
        (*thread, times)
    });
    SideReading {
        process_cpu: process_cpu.map(|(after, before)| after.saturating_sub(before)),
        counters,
        threads: threads.collect(),
    }
}

fn add_process(reading: &mut SideReading, pid: u32) {
    if let Some(cpu) = clock::process_cpu(pid) {
        *reading.process_cpu.get_or_insert_default() += cpu;
    }
    let counters = &mut reading.counters;
    let mut add = |counter, value: Option<u64>| {
        if let Some(value) = value {
            *counters.entry(counter).or_insert(0) += value;
        }
    };
    let file = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    if let Some(stat) = parse::stat(&file("stat")) {
        // What children that have ended had: of a server those that served a connection or vacuumed a table.
        let waited_for = Nanos(stat.waited_for_ticks * parse::TICK_MICROS * 1000);
        if let Some(cpu) = &mut reading.process_cpu {
            *cpu += waited_for;
        }
        add(Counter::UserCpuMicros, Some(stat.user_ticks * parse::TICK_MICROS));
        add(Counter::SystemCpuMicros, Some(stat.system_ticks * parse::TICK_MICROS));
        add(Counter::MinorFaults, Some(stat.minor_faults));
        add(Counter::MajorFaults, Some(stat.major_faults));
    }
    let io = file("io");
    for (counter, name) in [
        (Counter::ReadCalls, "syscr"),
        (Counter::WriteCalls, "syscw"),
        (Counter::ReadCallBytes, "rchar"),
        (Counter::WriteCallBytes, "wchar"),
        (Counter::StorageReadBytes, "read_bytes"),
        (Counter::StorageWriteBytes, "write_bytes"),
    ] {
        add(counter, parse::field(&io, name));
    }
    for (thread, index) in tree::threads(pid).into_iter().zip(0..) {
        let file =
            |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{thread}/{name}")).unwrap_or_default();
        let status = file("status");
        add(Counter::VoluntarySwitches, parse::field(&status, "voluntary_ctxt_switches"));
        add(Counter::InvoluntarySwitches, parse::field(&status, "nonvoluntary_ctxt_switches"));
        if index == 0 {
            // The same for every thread of a process.
            let bytes = |name| parse::field(&status, name).map(|kb| kb * STATUS_UNIT_BYTES);
            add(Counter::ResidentBytes, bytes("VmRSS"));
            // A sum of peaks: processes of a side need not have had theirs at the same time.
            add(Counter::ResidentPeakBytes, bytes("VmHWM"));
        }
        let times = parse::schedstat(&file("schedstat"));
        add(Counter::RunDelayNanos, times.map(|times| times.run_delay.0));
        reading.threads.extend(times.map(|times| (thread, times)));
    }
}

fn add_device(counters: &mut Counters, device: &str) {
    let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    if let Some((_, disk)) = parse::diskstats(&text).find(|(name, _)| *name == device) {
        counters.extend([
            (Counter::DiskReads, disk.reads),
            (Counter::DiskReadBytes, disk.read_bytes),
            (Counter::DiskWrites, disk.writes),
            (Counter::DiskWriteBytes, disk.write_bytes),
            (Counter::DiskReadsMerged, disk.reads_merged),
            (Counter::DiskWritesMerged, disk.writes_merged),
            (Counter::DiskReadMicros, disk.read_us),
            (Counter::DiskWriteMicros, disk.write_us),
            (Counter::DiskBusyMicros, disk.busy_us),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_that_served_are_those_that_worked_most() {
        let times = |cpu, run_delay| ThreadTimes { cpu: Nanos(cpu), run_delay: Nanos(run_delay) };
        let reading = |threads: &[(u32, ThreadTimes)]| SideReading {
            threads: threads.iter().copied().collect(),
            ..SideReading::default()
        };
        let before = reading(&[(1, times(10, 900)), (2, times(50, 5))]);
        let after = reading(&[(1, times(11, 5900)), (2, times(450, 45)), (3, times(300, 20))]);
        let spent = difference(&before, &after);
        assert_eq!(spent.busiest(1), times(400, 40));
        assert_eq!(spent.busiest(2), times(700, 60));
        assert_eq!(spent.busiest(9), times(701, 5060));
    }

    #[test]
    fn work_shows_in_the_difference_and_levels_are_not_subtracted() {
        let before = read(std::process::id(), None);
        for _ in 0..1000 {
            fs::read_to_string("/proc/self/stat").unwrap();
        }
        let spent = difference(&before, &read(std::process::id(), None));
        assert!(spent.process_cpu.unwrap() > Nanos(0));
        assert!(spent.counters[&Counter::ReadCalls] >= 1000);
        assert!(spent.counters[&Counter::ResidentBytes] > 1 << 20);
        assert!(spent.counters[&Counter::ResidentPeakBytes] >= spent.counters[&Counter::ResidentBytes]);
        assert!(!spent.counters.contains_key(&Counter::DiskReads));
    }

    #[test]
    fn a_device_is_counted_and_one_that_is_not_there_is_absent() {
        let diskstats = fs::read_to_string("/proc/diskstats").unwrap_or_default();
        let Some((device, _)) = parse::diskstats(&diskstats).max_by_key(|(_, disk)| disk.reads) else {
            eprintln!("skipped: this host has no block device");
            return;
        };
        let counters = read(std::process::id(), Some(device)).counters;
        let counted = Counter::ALL.iter().filter(|counter| counter.metric_name().starts_with("disk_"));
        assert_eq!(counted.clone().count(), 9);
        assert!(counted.clone().all(|counter| counters.contains_key(counter)), "{counters:?}");
        let counters = read(std::process::id(), Some("no such device")).counters;
        assert!(!counted.clone().any(|counter| counters.contains_key(counter)), "{counters:?}");
    }
}
