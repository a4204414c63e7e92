//! Which signals this process ignores.

use std::fs;

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
