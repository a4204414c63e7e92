//! Waiting with a timeout, and no longer than the user wants to: the one loop in which the controller looks again and again.

use crate::clock::Stopwatch;
use model::units::Nanos;
use std::cell::Cell;
use std::time::Duration;

/// How a wait is done.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// Time between two looks; at most 50 ms, so that Ctrl-C is heeded at once.
    pub pause: Duration,
    /// It ends after this long.
    pub timeout: Nanos,
}

/// Why what was waited for did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmet {
    /// The user wants to stop.
    Interrupted,
    /// The timeout is over.
    TimedOut,
}

const MOST_PAUSE: Duration = Duration::from_millis(50);

impl Wait {
    /// Looks until there is something, the user wants to stop, or the timeout is over. It looks once in any case.
    pub fn until<T>(
        self,
        interrupted: &mut dyn FnMut() -> bool,
        mut look: impl FnMut() -> Option<T>,
    ) -> Result<T, Unmet> {
        assert!(self.pause <= MOST_PAUSE, "Ctrl-C would have to wait for a look");
        let watch = Stopwatch::start();
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            if interrupted() {
                return Err(Unmet::Interrupted);
            }
            if watch.elapsed() > self.timeout {
                return Err(Unmet::TimedOut);
            }
            std::thread::sleep(self.pause);
        }
    }
}

/// The time that is left for something which is finished even if the user wants to stop.
#[derive(Debug)]
pub struct AfterInterrupt {
    timeout: Nanos,
    since: Cell<Option<Stopwatch>>,
}

impl AfterInterrupt {
    /// So much time from the first look that finds an interrupt.
    pub fn of(timeout: Nanos) -> AfterInterrupt {
        AfterInterrupt { timeout, since: Cell::new(None) }
    }

    /// Whether the user wants to stop and the time is over.
    pub fn is_over(&self, interrupted: bool) -> bool {
        if !interrupted {
            return false;
        }
        let since = self.since.get().unwrap_or_else(Stopwatch::start);
        self.since.set(Some(since));
        since.elapsed() > self.timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_there_counts_more_than_an_interrupt_and_an_interrupt_more_than_the_bound() {
        let wait = Wait { pause: PAUSE, timeout: Nanos(0) };
        assert_eq!(wait.until(&mut || true, || Some(7)), Ok(7));
        assert_eq!(wait.until(&mut || true, || None::<u8>), Err(Unmet::Interrupted));
        assert_eq!(wait.until(&mut || false, || None::<u8>), Err(Unmet::TimedOut));
    }

    #[test]
    fn its_time_begins_with_the_interrupt() {
        let after_interrupt = AfterInterrupt::of(Nanos(0));
        assert!(!after_interrupt.is_over(false));
        let first = after_interrupt.is_over(true);
        std::thread::yield_now();
        assert!(first || after_interrupt.is_over(true));
        let long = AfterInterrupt::of(Nanos::from_secs(3600));
        assert!(!long.is_over(true) && !long.is_over(true));
    }

    #[test]
    fn it_looks_again_until_there_is_something() {
        let mut looks = 0;
        let found = Wait { pause: PAUSE, timeout: Nanos::from_secs(60) }.until(&mut || false, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, Ok(3));
    }
}
