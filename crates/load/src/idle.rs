//! How long a CPU had nothing to run. It reads what the kernel counts and says nothing of what that means.

use model::units::Nanos;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Where the kernel tells for how long a CPU was idle. Kept open, because it is read twice in every block.
#[derive(Debug)]
pub struct IdleTime {
    cpu: usize,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// One file for each state in which the CPU can be idle, in microseconds.
    States(Vec<File>),
    /// `/proc/stat`, in ticks of 10 ms, which is coarse for one block, and right on average over many.
    Ticks(File),
}

impl IdleTime {
    /// Of a CPU; none where the kernel does not tell. The states are asked first: `/proc/schedstat`, which counts the time
    /// that is not idle, is not built into every kernel.
    pub fn of(cpu: usize) -> Option<IdleTime> {
        let states = files(Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle")));
        let of_states = IdleTime { cpu, source: Source::States(states) };
        // A kernel may list states and wait in none of them.
        if of_states.read().is_some_and(|idle| idle > Nanos(0)) {
            return Some(of_states);
        }
        let of_ticks = IdleTime { cpu, source: Source::Ticks(File::open("/proc/stat").ok()?) };
        of_ticks.read().is_some().then_some(of_ticks)
    }

    /// Idle time since the system was started.
    pub fn read(&self) -> Option<Nanos> {
        match &self.source {
            Source::States(states) => {
                let micros =
                    states.iter().map(|state| text(state, LARGEST_NUMBER)?.trim().parse::<u64>().ok());
                Some(Nanos(micros.sum::<Option<u64>>()? * 1000))
            }
            Source::Ticks(stat) => {
                idle_ticks(&text(stat, LARGEST_STAT)?, self.cpu).map(|ticks| Nanos(ticks * TICK_NANOS))
            }
        }
    }
}

/// The files `state0/time`, `state1/time` ..: there are a handful of them.
fn files(directory: &Path) -> Vec<File> {
    (0..).map_while(|state| File::open(directory.join(format!("state{state}/time"))).ok()).collect()
}

/// A number and the end of its line.
const LARGEST_NUMBER: usize = 32;
/// The lines of some 800 CPUs; what follows them is of no use here.
const LARGEST_STAT: usize = 64 * 1024;

/// The beginning of a file.
fn text(file: &File, largest: usize) -> Option<String> {
    let mut buffer = vec![0_u8; largest];
    let length = file.read_at(&mut buffer, 0).ok()?;
    buffer.truncate(length);
    String::from_utf8(buffer).ok()
}

/// USER_HZ is 100 on every Linux that we run on.
const TICK_NANOS: u64 = 10_000_000;

/// Idle time of a CPU with that in which it waited for IO, the fourth and the fifth number of its line in `/proc/stat`:
///
/// ```text
/// cpu  45993 17779 8520 44283 337 0 53 22 0 0
/// cpu0 22791 8766 3986 22907 49 0 8 8 0 0
/// ```
fn idle_ticks(stat: &str, cpu: usize) -> Option<u64> {
    let name = format!("cpu{cpu}");
    // A line without its end may be cut short in the middle of a number.
    let whole = stat.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let mut fields = whole
        .map(str::split_ascii_whitespace)
        .find_map(|mut fields| (fields.next()? == name).then_some(fields))?;
    let (idle, waiting_for_io) = (fields.nth(3)?, fields.next()?);
    Some(idle.parse::<u64>().ok()? + waiting_for_io.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_cpu_counts_and_one_cut_short_does_not() {
        let stat = "cpu  45993 17779 8520 44283 337 0 53 22 0 0\n\
                    cpu0 22791 8766 3986 22907 49 0 8 8 0 0\n\
                    cpu1 23201 9013 4533 21376 288 0 45 13 0 0\n\
                    cpu10 1 1 1 7 5 0 0 0 0 0\n";
        assert_eq!(
            [0, 1, 10, 2].map(|cpu| idle_ticks(stat, cpu)),
            [Some(22956), Some(21664), Some(12), None]
        );
        let cut = stat.find("288").unwrap() + 2;
        assert_eq!(idle_ticks(&stat[..cut], 1), None);
    }

    #[test]
    fn idle_time_goes_forward_and_is_less_than_the_time_of_the_cpu() {
        let cpu = crate::cpus::allowed()[0];
        let Some(idle) = IdleTime::of(cpu) else {
            eprintln!("skipped: this kernel does not tell for how long a CPU is idle");
            return;
        };
        let (began, before) = (crate::clock::now(), idle.read().unwrap());
        crate::clock::sleep_until(Nanos(began.0 + 2_000_000));
        let spent = idle.read().unwrap().saturating_sub(before);
        let passed = crate::clock::now().saturating_sub(began);
        // A tick, and a state that was entered before, are told late.
        assert!(spent.0 <= passed.0 + 10 * TICK_NANOS, "{spent:?} of {passed:?}");
        let ticks = IdleTime { cpu, source: Source::Ticks(File::open("/proc/stat").unwrap()) };
        assert!(ticks.read().unwrap() > Nanos(0));
    }
}
