//! CPU time that is taken from a run: by processes that have no part in it, and by the hypervisor; and what the host as a
//! whole used.
//!
//! Summed over processes, each with the children that it has waited for: what a compiler used that has ended is its
//! parent's. The states of `/proc/stat` would be cheaper and are wrong by a third of a CPU where a thread wakes up in
//! step with the kernel's ticks, as a writer with a rate does: they count ticks, a process's own times are measured.
//! The kernel's own threads work for the run as a rule (write-back, loop devices) and do not count, nor do processes that
//! a container hides.

use super::parse;
use crate::process::tree;
use formats::proc_stat::{busy_ticks, cpu_ticks};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Ticks that others, and all together, have had since they began, at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OthersCpu {
    /// Processes besides this one, its descendants and the kernel's threads.
    processes: u64,
    /// Other guests of the hypervisor.
    stolen: u64,
    /// All of this host, in user mode and in the kernel.
    busy: u64,
}

/// Reads every process's `stat`: some 2 ms where there are 200.
pub fn read() -> OthersCpu {
    let host = fs::read_to_string("/proc/stat").unwrap_or_default();
    let stolen = cpu_ticks(&host).find(|(state, _)| *state == "steal").map_or(0, |(_, ticks)| ticks);
    let busy = busy_ticks(&host).unwrap_or_default();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let processes: BTreeMap<u32, parse::Stat> = pids
        .filter_map(|pid| Some((pid, parse::stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)))
        .collect();
    OthersCpu { processes: ticks_of_others(&processes, std::process::id()), stolen, busy }
}

fn ticks_of_others(processes: &BTreeMap<u32, parse::Stat>, own: u32) -> u64 {
    let parents = processes.iter().map(|(pid, stat)| (*pid, stat.parent));
    let of_run: BTreeSet<u32> = tree::with_descendants(own, parents).into_iter().collect();
    let others = processes.iter().filter(|(pid, stat)| !of_run.contains(pid) && !stat.kernel_thread);
    others.map(|(_, stat)| stat.user_ticks + stat.system_ticks + stat.waited_for_ticks).sum()
}

/// What others had between two readings, in microseconds.
pub fn taken_between(before: OthersCpu, after: OthersCpu) -> u64 {
    // Processes whose parent does not wait for them take their time with them: then less may be known than before.
    let processes = after.processes.saturating_sub(before.processes);
    processes * parse::TICK_MICROS + stolen_between(before, after)
}

/// The part of it that other guests of the hypervisor had, in microseconds.
pub fn stolen_between(before: OthersCpu, after: OthersCpu) -> u64 {
    after.stolen.saturating_sub(before.stolen) * parse::TICK_MICROS
}

/// What the whole host used between two readings, in microseconds.
pub fn busy_between(before: OthersCpu, after: OthersCpu) -> u64 {
    after.busy.saturating_sub(before.busy) * parse::TICK_MICROS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    fn stat(parent: u32, user_ticks: u64, waited_for_ticks: u64, kernel_thread: bool) -> parse::Stat {
        parse::Stat { parent, user_ticks, waited_for_ticks, kernel_thread, ..parse::Stat::default() }
    }

    #[test]
    fn a_run_is_its_controller_with_all_below_it_and_no_more() {
        let processes = BTreeMap::from([
            (1, stat(0, 7, 1000, false)),
            (2, stat(0, 5, 0, true)),
            (9, stat(2, 80, 0, true)),
            (20, stat(1, 11, 0, false)),
            (30, stat(20, 400, 400, false)), // the controller
            (31, stat(30, 400, 0, false)),
            (29, stat(31, 400, 0, false)),
            (40, stat(20, 3, 2, false)),
        ]);
        assert_eq!(ticks_of_others(&processes, 30), 7 + 1000 + 11 + 3 + 2);
    }

    #[test]
    fn time_that_is_not_known_any_more_is_none() {
        let at = |processes, stolen| OthersCpu { processes, stolen, busy: 7 };
        assert_eq!(taken_between(at(100, 5), at(130, 6)), 310_000);
        assert_eq!(taken_between(at(100, 5), at(90, 6)), 10_000);
        assert_eq!(stolen_between(at(100, 5), at(130, 6)), 10_000);
    }

    /// A process that is nobody's child here: its parent has ended.
    fn orphan(script: &str) -> Child {
        Command::new("sh").args(["-c", &format!("({script}) & exit")]).spawn().unwrap()
    }

    #[test]
    fn a_stranger_that_burns_cpu_is_seen_and_a_child_is_not() {
        let before = read();
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let begun = Instant::now();
        let mut of_child = 0;
        while begun.elapsed() < Duration::from_millis(300) {
            of_child = taken_between(before, read());
        }
        orphan("i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done").wait().unwrap();
        let mut taken = of_child;
        while taken < of_child + 200_000 && begun.elapsed() < Duration::from_secs(30) {
            taken = taken_between(before, read());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Its child and the stranger are of the host alike.
        assert!(busy_between(before, read()) >= taken);
        assert!(taken >= of_child + 200_000, "{taken} us after {of_child} us");
    }
}
