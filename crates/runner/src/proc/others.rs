//! CPU time that is taken from a run: by processes that have no part in it, and by the hypervisor.
//!
//! What the kernel's own threads do (write-back, loop devices, reclaim) is work for the run as a rule, and is not
//! counted; nor is time in interrupts. Where a container hides the kernel's threads, they count as others.

use super::parse;
use model::counter::{Counter, Counters};
use std::collections::BTreeMap;
use std::fs;

/// USER_HZ is 100 on every Linux that we run on.
const TICK_MICROS: u64 = 10_000;
/// States of `/proc/stat` in which a process, or another guest of the hypervisor, had a CPU.
const TAKEN: [&str; 4] = ["user", "nice", "system", "steal"];

/// Ticks since boot at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCpu {
    /// Of all CPUs, by anybody.
    taken: u64,
    /// Of this process and of the kernel's threads, by process.
    known: BTreeMap<u32, u64>,
}

/// Reads every process's `stat`: some 2 ms where there are 200.
pub fn read() -> HostCpu {
    let host = fs::read_to_string("/proc/stat").unwrap_or_default();
    let taken = parse::cpu_ticks(&host).filter(|(state, _)| TAKEN.contains(state)).map(|(_, ticks)| ticks);
    let taken = taken.sum();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let known = pids.filter_map(|pid| {
        let stat = parse::stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
        let counts = stat.kernel_thread || pid == std::process::id();
        counts.then_some((pid, stat.user_ticks + stat.system_ticks))
    });
    HostCpu { taken, known: known.collect() }
}

/// What others took between two readings, in microseconds, where the side that was measured used what its counters
/// say; absent where they do not say it.
pub fn taken_between(before: &HostCpu, after: &HostCpu, side: &Counters) -> Option<u64> {
    let side = side.get(&Counter::UserCpuMicros)? + side.get(&Counter::SystemCpuMicros)?;
    let earlier = |pid: &u32| before.known.get(pid).copied().unwrap_or(0);
    let known: u64 = after.known.iter().map(|(pid, ticks)| ticks.saturating_sub(earlier(pid))).sum();
    let taken = after.taken.saturating_sub(before.taken);
    Some((taken.saturating_sub(known) * TICK_MICROS).saturating_sub(side))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    fn side(user: u64, system: u64) -> Counters {
        Counters::from([(Counter::UserCpuMicros, user), (Counter::SystemCpuMicros, system)])
    }

    #[test]
    fn what_nobody_known_used_is_what_others_took() {
        let before = HostCpu { taken: 1000, known: BTreeMap::from([(2, 50), (7, 10), (9, 30)]) };
        // Process 9 ended, 11 began; the side used 300 ms, known ones 12 + 3 ticks of the 100.
        let after = HostCpu { taken: 1100, known: BTreeMap::from([(2, 62), (7, 10), (11, 3)]) };
        assert_eq!(taken_between(&before, &after, &side(200_000, 100_000)), Some(550_000));
        // Ticks are coarse: a side may seem to have used more than all.
        assert_eq!(taken_between(&before, &after, &side(2_000_000, 0)), Some(0));
        assert_eq!(taken_between(&before, &after, &Counters::new()), None);
    }

    #[test]
    fn a_process_that_burns_cpu_is_seen() {
        let before = read();
        let mut burner = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let begun = Instant::now();
        let mut taken = 0;
        while taken < 200_000 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
            taken = taken_between(&before, &read(), &side(0, 0)).unwrap();
        }
        burner.kill().unwrap();
        burner.wait().unwrap();
        assert!(taken >= 200_000, "{taken} us of 20 s");
        let processes = read().known;
        assert!(processes.contains_key(&std::process::id()));
    }
}
