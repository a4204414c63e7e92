//! When the operations of an open loop are due: an absolute schedule from the start of the block, so that a
//! slow answer delays no later intention and a frozen interval leaves no backlog. And how a thread is awake then: a
//! kernel wakes it later than asked, by 40 to 60 us where a virtual CPU was idle.

use crate::clock;
use model::units::Nanos;

/// The schedule of one of several threads that share a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Nanoseconds between two operations of this thread.
    interval: f64,
    /// Nanoseconds from the block's start to its first.
    offset: f64,
    /// Whether all operations of a second are due when it begins.
    in_bursts: bool,
}

/// One second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

impl Schedule {
    /// `rate` operations per second over `threads` threads; `thread` counts from 0 and starts its share of
    /// an interval later than the one before it.
    pub fn new(rate: f64, threads: u32, thread: u32) -> Schedule {
        let between_any = 1e9 / rate;
        let (interval, offset) = (between_any * f64::from(threads), between_any * f64::from(thread));
        Schedule { interval, offset, in_bursts: false }
    }

    /// The same rate, with what is due in each second due at its beginning if `in_bursts`.
    pub fn in_bursts(self, in_bursts: bool) -> Schedule {
        Schedule { in_bursts, ..self }
    }

    /// The intended start of operation `index` of a block that began at `start`.
    pub fn due(&self, start: Nanos, index: u64) -> Nanos {
        #[expect(clippy::cast_possible_truncation, reason = "a block lasts less than 2^63 ns")]
        #[expect(clippy::cast_sign_loss, reason = "offset and interval are positive")]
        let after = (self.offset + self.interval * index as f64) as u64;
        start + Nanos(if self.in_bursts { after - after % SECOND } else { after })
    }
}

/// Lets a thread wait for moments, and asks to be woken as much earlier as its sleeps end late: by the lower quartile of
/// that, so that three of four wakes need no waiting, and the rest are spent in a short loop. What is asked for follows
/// the machine by steps, after Robbins and Monro's way to find a quantile.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Alarm {
    /// How much earlier than the moment a sleep is to end; nothing before the first.
    lead_ns: f64,
}

impl Alarm {
    /// The share of wakes that may come before the moment.
    const EARLY: f64 = 0.25;
    const STEP_NS: f64 = 2_000.0;
    /// What a thread may wait in a loop: later than that are wakes of a CPU that others keep busy.
    const LONGEST_LEAD_NS: f64 = 100_000.0;

    /// Waits until a moment of the monotonic clock; returns at once where it has passed.
    pub fn wait_until(&mut self, moment: Nanos) {
        let asked = moment.saturating_sub(self.lead());
        if asked > clock::now() {
            clock::sleep_until(asked);
            self.learn(clock::now() < moment);
        }
        while clock::now() < moment {
            std::hint::spin_loop();
        }
    }

    fn lead(&self) -> Nanos {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the longest lead"
        )]
        let lead = self.lead_ns as u64;
        Nanos(lead)
    }

    /// Takes in whether a sleep ended before its moment.
    fn learn(&mut self, early: bool) {
        let step = if early { Self::EARLY - 1.0 } else { Self::EARLY };
        self.lead_ns = (self.lead_ns + step * Self::STEP_NS).clamp(0.0, Self::LONGEST_LEAD_NS);
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

    #[test]
    fn what_is_due_in_a_second_comes_at_its_beginning_in_bursts() {
        let start = Nanos(1000);
        for thread in 0..2 {
            let schedule = Schedule::new(10.0, 2, thread).in_bursts(true);
            let due: Vec<u64> =
                (0..11).map(|index| schedule.due(start, index).saturating_sub(start).0 / SECOND).collect();
            assert_eq!(due, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2], "five of each thread in a second");
            assert_eq!(schedule.due(start, 5), start + Nanos(SECOND));
        }
    }

    /// The share of early wakes, and of them the mean wait, after an alarm has learnt from sleeps that end as late as told.
    fn waits(lateness_ns: impl Fn(u64) -> f64) -> (f64, f64) {
        let mut alarm = Alarm::default();
        let (mut early, mut waited) = (0_u32, 0.0);
        for sleep in 0..6000 {
            let spare = alarm.lead_ns - lateness_ns(sleep);
            alarm.learn(spare > 0.0);
            if sleep >= 1000 && spare > 0.0 {
                early += 1;
                waited += spare;
            }
        }
        (f64::from(early) / 5000.0, waited / f64::from(early.max(1)))
    }

    #[test]
    fn an_alarm_asks_for_the_lower_quartile_of_what_sleeps_are_late() {
        // 30 to 50 us, in an order without a pattern.
        let (early, wait) = waits(|sleep| 30_000.0 + (sleep * 7919 % 1000) as f64 * 20.0);
        assert!((early - Alarm::EARLY).abs() < 0.02 && (1_000.0..5_000.0).contains(&wait), "{early} {wait}");
        // A CPU that others keep busy: no wait is longer than the longest lead.
        let (early, wait) = waits(|sleep| if sleep % 8 == 0 { 0.0 } else { 4e6 });
        assert!((early - 0.125).abs() < 0.01 && wait <= Alarm::LONGEST_LEAD_NS, "{early} {wait}");
        // Sleeps that are never late: there is no lead to find, and what is tried costs less than a step.
        let (early, wait) = waits(|_| 0.0);
        assert!(early <= 0.5 && wait <= Alarm::STEP_NS * Alarm::EARLY, "{early} {wait}");
    }

    #[test]
    fn nothing_begins_before_its_moment() {
        let mut alarm = Alarm::default();
        let start = clock::now();
        for due in (0..200).map(|index| Schedule::new(5_000.0, 1, 0).due(start, index)) {
            alarm.wait_until(due);
            assert!(clock::now() >= due);
        }
        alarm.wait_until(start);
    }
}
