//! The only clocks of the controller: time since the run began, and time of day for stamps.

use model::units::Nanos;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since a moment, monotonic.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    start: Instant,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        Stopwatch { start: Instant::now() }
    }

    /// Started so long ago.
    pub fn started_before(elapsed: Nanos) -> Stopwatch {
        let now = Instant::now();
        Stopwatch { start: now.checked_sub(Duration::from_nanos(elapsed.0)).unwrap_or(now) }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Nanos {
        self.start.elapsed().into()
    }
}

/// Microseconds since the epoch.
#[expect(clippy::disallowed_methods, reason = "the one place that gives the time of day")]
pub fn epoch_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Time since the host was started, without the time that it slept. May be asked in a signal handler.
pub fn since_boot() -> Nanos {
    read(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

/// For how long the host has been suspended since it was started; a virtual machine that is paused may not know of it.
pub fn suspended() -> Nanos {
    read(libc::CLOCK_BOOTTIME).unwrap_or_default().saturating_sub(since_boot())
}

/// CPU time of the calling thread.
pub fn thread_cpu() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// CPU time of all threads of another process, exact to the nanosecond where /proc counts ticks.
pub fn process_cpu(pid: u32) -> Option<Nanos> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place for a clock id.
    if unsafe { libc::clock_getcpuclockid(pid, &mut clock) } != 0 {
        return None;
    }
    read(clock)
}

fn read(clock: libc::clockid_t) -> Option<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for a timespec; an unknown clock is an error code.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    (status == 0).then(|| Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_clock_of_a_process_is_read_and_of_none_is_absent() {
        assert!(process_cpu(std::process::id()).unwrap() >= thread_cpu());
        assert_eq!(process_cpu(u32::MAX), None);
    }
}
