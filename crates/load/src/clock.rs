//! Clocks: monotonic time, CPU time of a thread and of the process, and the run-queue delay of a thread.

use model::units::Nanos;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Monotonic time since an unknown origin.
#[inline]
pub fn now() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

/// Whole seconds since 1970, in UTC.
pub fn utc_seconds() -> i64 {
    i64::try_from(read(libc::CLOCK_REALTIME_COARSE).0 / 1_000_000_000).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970.
pub fn utc_ms() -> i64 {
    i64::try_from(read(libc::CLOCK_REALTIME_COARSE).0 / 1_000_000).unwrap_or(i64::MAX)
}

/// CPU time of the calling thread.
pub fn thread_cpu() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of the process, ended ones too.
pub fn process_cpu() -> Nanos {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Sleeps until a moment of [`now`]'s clock; returns at once where it has passed.
pub fn sleep_until(moment: Nanos) {
    let time = libc::timespec {
        tv_sec: i64::try_from(moment.0 / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(moment.0 % 1_000_000_000).unwrap_or(0),
    };
    // SAFETY: `time` is a valid timespec and the remainder pointer may be null with TIMER_ABSTIME.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
    } == libc::EINTR
    {}
}

/// Lets the calling thread's sleeps end on time: the kernel's default slack is 50 us.
pub fn make_timers_exact() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches only the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[inline]
fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for a timespec; the clocks above exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// Reads the time that one thread was runnable but not running: field 2 of its `schedstat`, for example
/// `1523412 88120 17`. Kept open, because it is read twice in every block.
pub struct RunDelay {
    file: File,
}

impl RunDelay {
    /// Of the calling thread. An error where the kernel was built without schedstat.
    pub fn of_this_thread() -> io::Result<RunDelay> {
        Ok(RunDelay { file: File::open("/proc/thread-self/schedstat")? })
    }

    /// The delay since the thread began.
    pub fn read(&self) -> Option<Nanos> {
        let mut buffer = [0_u8; 96];
        let length = self.file.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..length]).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok().map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward_and_sleep_ends_after_its_moment() {
        let moment = now() + Nanos(200_000);
        sleep_until(moment);
        assert!(now() >= moment);
        assert!(process_cpu() >= thread_cpu());
        assert!(RunDelay::of_this_thread().unwrap().read().is_some());
    }
}
