//! When the operations of an open loop are due: an absolute schedule from the start of the block, so that a
//! slow answer delays no later intention and a frozen interval leaves no backlog.

use model::units::Nanos;

/// The schedule of one of several threads that share a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Nanoseconds between two operations of this thread.
    interval: f64,
    /// Nanoseconds from the block's start to its first.
    offset: f64,
}

impl Schedule {
    /// `rate` operations per second over `threads` threads; `thread` counts from 0 and starts its share of
    /// an interval later than the one before it.
    pub fn new(rate: f64, threads: u32, thread: u32) -> Schedule {
        let between_any = 1e9 / rate;
        Schedule { interval: between_any * f64::from(threads), offset: between_any * f64::from(thread) }
    }

    /// The intended start of operation `index` of a block that began at `start`.
    pub fn due(&self, start: Nanos, index: u64) -> Nanos {
        #[expect(clippy::cast_possible_truncation, reason = "a block lasts less than 2^63 ns")]
        #[expect(clippy::cast_sign_loss, reason = "offset and interval are positive")]
        let after = (self.offset + self.interval * index as f64) as u64;
        start + Nanos(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_share_the_rate_evenly() {
        let start = Nanos(1000);
        let first = Schedule::new(1000.0, 2, 0);
        let second = Schedule::new(1000.0, 2, 1);
        assert_eq!(first.due(start, 0), Nanos(1000));
        assert_eq!(second.due(start, 0), Nanos(1_001_000));
        assert_eq!(first.due(start, 500), Nanos(1_000_001_000));
    }
}
