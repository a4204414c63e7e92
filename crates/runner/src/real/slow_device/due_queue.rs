//! What waits until it is due: any number of requests at a time, and one thread that answers each when its time has come.

use crate::clock::Stopwatch;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Things by the time at which they are due, those of one time in the order in which they came.
#[derive(Debug)]
struct Waiting<T> {
    by_time: BTreeMap<(Nanos, u64), T>,
    pushed: u64,
}

impl<T> Waiting<T> {
    /// Whether it is due before all that waited.
    fn push(&mut self, due: Nanos, thing: T) -> bool {
        self.pushed += 1;
        let is_first = self.next_due().is_none_or(|first| due < first);
        self.by_time.insert((due, self.pushed), thing);
        is_first
    }

    fn next_due(&self) -> Option<Nanos> {
        self.by_time.first_key_value().map(|((due, _), _)| *due)
    }

    fn pop_due(&mut self, now: Nanos) -> Option<T> {
        if self.next_due()? > now {
            return None;
        }
        self.by_time.pop_first().map(|(_, thing)| thing)
    }
}

/// A queue that one thread serves.
#[derive(Debug)]
pub struct DueQueue<T> {
    waiting: Mutex<Waiting<T>>,
    changed: Condvar,
    watch: Stopwatch,
}

impl<T> DueQueue<T> {
    /// An empty one; times count from the start of `watch`.
    pub fn new(watch: Stopwatch) -> DueQueue<T> {
        let waiting = Waiting { by_time: BTreeMap::new(), pushed: 0 };
        DueQueue { waiting: Mutex::new(waiting), changed: Condvar::new(), watch }
    }

    /// Puts something in.
    pub fn push(&self, due: Nanos, thing: T) {
        if self.lock().push(due, thing) {
            self.changed.notify_one();
        }
    }

    /// Hands out what is due, one after another, as long as this process lives.
    pub fn serve(&self, mut hand_out: impl FnMut(T)) -> ! {
        // Without this the kernel wakes a thread up to 50 us after the time that it asked for.
        // SAFETY: prctl(2) with numbers; a kernel that refuses changes nothing.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        let mut waiting = self.lock();
        loop {
            let now = self.watch.elapsed();
            if let Some(thing) = waiting.pop_due(now) {
                drop(waiting);
                hand_out(thing);
                waiting = self.lock();
                continue;
            }
            waiting = match waiting.next_due() {
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(due) => {
                    let left = due.saturating_sub(now).into();
                    self.changed.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    #[test]
    fn things_come_out_when_they_are_due_and_those_of_one_time_in_order() {
        let mut waiting = Waiting { by_time: BTreeMap::new(), pushed: 0 };
        assert!(waiting.push(Nanos(20), "second"));
        assert!(!waiting.push(Nanos(20), "third"));
        assert!(waiting.push(Nanos(10), "first"), "it is due before all others");
        assert_eq!(waiting.next_due(), Some(Nanos(10)));
        assert_eq!(waiting.pop_due(Nanos(9)), None);
        assert_eq!(waiting.pop_due(Nanos(10)), Some("first"));
        assert_eq!(waiting.pop_due(Nanos(19)), None);
        assert_eq!([waiting.pop_due(Nanos(99)), waiting.pop_due(Nanos(99))], [Some("second"), Some("third")]);
        assert_eq!(waiting.pop_due(Nanos(99)), None);
    }

    #[test]
    fn many_wait_at_the_same_time_and_none_is_early() {
        let watch = Stopwatch::start();
        let queue = Arc::new(DueQueue::new(watch));
        let (send, handed_out) = channel();
        let served = Arc::clone(&queue);
        std::thread::spawn(move || served.serve(|due| send.send((due, watch.elapsed())).unwrap()));
        let latency = Nanos::from_millis(100);
        let begun = watch.elapsed();
        for _ in 0..64 {
            let due = watch.elapsed() + latency;
            queue.push(due, due);
        }
        for _ in 0..64 {
            let (due, at) = handed_out.recv().unwrap();
            assert!(at >= due, "{at:?} is before {due:?}");
        }
        let all = watch.elapsed().saturating_sub(begun);
        assert!(all < Nanos::from_secs(3), "64 times 100 ms one after another would be 6.4 s: {all:?}");
    }
}
