//! The signals that ask a process to end: which of them it ignores, and a flag that the others set.

use crate::clock;
use model::units::Nanos;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// As shells report a death by SIGINT.
const INTERRUPTED: i32 = 130;
/// No person asks twice within this.
const SAME_SIGNAL: Nanos = Nanos::from_millis(200);

/// When the first signal came, in nanoseconds since the host was started; 0 before.
static FIRST_AT: AtomicU64 = AtomicU64::new(0);

/// The signals that ask for an end and are not ignored.
pub fn heeded() -> impl Iterator<Item = i32> {
    let ignored = Ignored::now();
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(move |signal| !ignored.contains(*signal))
}

/// From now on the first of these signals sets the flag, and a later one ends this process at once.
pub fn listen(flag: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in heeded() {
        let flag = Arc::clone(flag);
        // SAFETY: atomics, clock_gettime and _exit are async-signal-safe, and nothing panics.
        unsafe { signal_hook::low_level::register(signal, move || on_signal(&flag)) }?;
    }
    Ok(())
}

/// Whether one of them has come since [`listen`].
pub fn received() -> bool {
    FIRST_AT.load(Ordering::Relaxed) != 0
}

/// One that is sent to a whole process group comes twice, the second time from the supervisor.
fn on_signal(flag: &AtomicBool) {
    let now = clock::since_boot().0.max(1);
    match FIRST_AT.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if now.saturating_sub(first) > SAME_SIGNAL.0 => signal_hook::low_level::exit(INTERRUPTED),
        Ok(_) | Err(_) => flag.store(true, Ordering::Relaxed),
    }
}

/// A set of signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignored {
    /// A bit for each signal, that of signal 1 the lowest.
    mask: u64,
}

impl Ignored {
    /// Those that are ignored now; none if the kernel does not tell.
    pub fn now() -> Ignored {
        Ignored::of(&fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    fn of(status: &str) -> Ignored {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        Ignored { mask: mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0) }
    }

    pub fn contains(self, signal: i32) -> bool {
        (1..=64).contains(&signal) && self.mask >> (signal - 1) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_proc_is_read_bit_by_bit() {
        // As of a process under `nohup`: SIGHUP alone, and SIGPIPE, which Rust ignores.
        let ignored = Ignored::of("Name:\tdbdyno\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n");
        let found: Vec<i32> = (-1..=65).filter(|signal| ignored.contains(*signal)).collect();
        assert_eq!(found, [libc::SIGHUP, libc::SIGPIPE]);
        assert_eq!(Ignored::of("Name:\tdbdyno\n"), Ignored { mask: 0 });
        assert!(Ignored::now().contains(libc::SIGPIPE));
    }
}
