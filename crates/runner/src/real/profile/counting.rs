//! What the CPU and the kernel count for a side, by perf_event_open(2) and without an interrupt: of the threads that the side has when it is first
//! followed, and of all that these begin.

use super::threads;
use crate::rights::as_root;
use model::profile::{BRANCH_MISSES, CACHE_MISSES, CYCLES, INSTRUCTIONS, MIGRATIONS};
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Counter};
use std::collections::BTreeMap;
use std::io;

#[derive(Debug, Clone, Copy)]
enum Event {
    Cpu(Hardware),
    Kernel(Software),
}

/// With their names in reports. A CPU counts some four at once; of more the kernel would count each for a part of the time.
const EVENTS: [(&str, Event); 5] = [
    (INSTRUCTIONS, Event::Cpu(Hardware::INSTRUCTIONS)),
    (CYCLES, Event::Cpu(Hardware::CPU_CYCLES)),
    (BRANCH_MISSES, Event::Cpu(Hardware::BRANCH_MISSES)),
    (CACHE_MISSES, Event::Cpu(Hardware::CACHE_MISSES)),
    (MIGRATIONS, Event::Kernel(Software::CPU_MIGRATIONS)),
];

impl Event {
    /// Of a thread and all that it begins from now on.
    fn count(self, thread: u32, user_only: bool) -> io::Result<Counter> {
        let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
        let mut builder = match self {
            Event::Cpu(event) => Builder::new(event),
            // They happen in the kernel: without it the count would be a zero that means nothing.
            Event::Kernel(_) if user_only => return Err(io::ErrorKind::PermissionDenied.into()),
            Event::Kernel(event) => Builder::new(event),
        };
        let _root = as_root();
        builder.observe_pid(thread).any_cpu().inherit(true).exclude_kernel(user_only).enabled(true).build()
    }
}

/// The counters of one side.
pub struct Counting {
    counters: Vec<(&'static str, Vec<OfThread>)>,
}

struct OfThread {
    counter: Counter,
    last: Reading,
}

#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    count: u64,
    /// Nanoseconds in which the event was to be counted, and in which it was: a CPU takes turns if it has too few counters.
    enabled: u64,
    running: u64,
}

impl Counting {
    /// Of all threads of these processes. An event that is not counted here is left out.
    pub fn begin(processes: &[u32], user_only: bool) -> Counting {
        Counting::of(&EVENTS, processes, user_only)
    }

    fn of(events: &[(&'static str, Event)], processes: &[u32], user_only: bool) -> Counting {
        let threads: Vec<u32> = processes.iter().flat_map(|process| threads::of(*process)).collect();
        let has_ended = |error: &io::Error| error.raw_os_error() == Some(libc::ESRCH);
        let of_event = |(name, event): &(&'static str, Event)| {
            let counters = threads.iter().map(|thread| event.count(*thread, user_only));
            let counters = counters.filter(|counter| !counter.as_ref().is_err_and(has_ended));
            let of_thread = |counter| OfThread { counter, last: Reading::default() };
            let counters: io::Result<Vec<OfThread>> =
                counters.map(|counter| counter.map(of_thread)).collect();
            Some((*name, counters.ok()?))
        };
        Counting { counters: events.iter().filter_map(of_event).collect() }
    }

    /// Counts since the last call by the names of events; none of an event that was not counted all the while.
    pub fn lap(&mut self) -> BTreeMap<&'static str, Option<f64>> {
        let of_event = |(name, counters): &mut (&'static str, Vec<OfThread>)| {
            (*name, counters.iter_mut().map(OfThread::lap).sum())
        };
        self.counters.iter_mut().map(of_event).collect()
    }
}

impl OfThread {
    fn lap(&mut self) -> Option<f64> {
        let read = self.counter.read_count_and_time().ok()?;
        let now = Reading { count: read.count, enabled: read.time_enabled, running: read.time_running };
        let before = std::mem::replace(&mut self.last, now);
        now.since(before)
    }
}

impl Reading {
    /// What was counted, scaled up to the time in which it was to be.
    fn since(self, before: Reading) -> Option<f64> {
        let count = self.count.checked_sub(before.count)?;
        let enabled = self.enabled.checked_sub(before.enabled)?;
        match self.running.checked_sub(before.running)? {
            0 => (enabled == 0).then_some(0.0),
            running => Some(count as f64 * enabled as f64 / running as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::sync::mpsc::channel;

    const PAGES: usize = 4000;

    /// Touches so many pages of memory, none of them huge, and one more at either end, which the allocator may have touched before.
    fn touch() {
        let mut memory = vec![0_u8; (PAGES + 3) << 12];
        let offset = memory.as_ptr().align_offset(1 << 12);
        let pages = &mut memory[offset..offset + ((PAGES + 2) << 12)];
        // SAFETY: the range lies within `memory`, and the advice changes none of its bytes.
        let advised = unsafe { libc::madvise(pages.as_mut_ptr().cast(), pages.len(), libc::MADV_NOHUGEPAGE) };
        assert_eq!(advised, 0);
        pages.iter_mut().step_by(1 << 12).for_each(|byte| *byte = black_box(1));
    }

    #[test]
    fn what_a_thread_does_that_was_begun_later_counts_and_what_was_before_does_not() {
        let (go, wait) = channel::<()>();
        let touches = std::thread::spawn(move || {
            wait.recv().unwrap();
            // Of another thread, which begins only now.
            std::thread::spawn(touch).join().unwrap();
        });
        let faults = [("faults", Event::Kernel(Software::PAGE_FAULTS))];
        let mut counting = Counting::of(&faults, &[std::process::id()], false);
        if counting.counters.is_empty() {
            eprintln!("skipped: this user may count nothing");
            return;
        }
        touch();
        let before = counting.lap()["faults"].unwrap();
        assert!(before >= PAGES as f64, "{before}");
        go.send(()).unwrap();
        touches.join().unwrap();
        let later = counting.lap()["faults"].unwrap();
        assert!(later >= PAGES as f64, "{later}");
    }

    #[test]
    fn a_count_is_scaled_by_the_time_in_which_the_cpu_did_not_count_it() {
        let reading = |count, enabled, running| Reading { count, enabled, running };
        assert_eq!(reading(300, 40, 20).since(reading(100, 20, 10)), Some(400.0));
        assert_eq!(reading(300, 20, 20).since(reading(300, 20, 20)), Some(0.0), "it did not run");
        assert_eq!(reading(300, 40, 20).since(reading(300, 20, 20)), None, "it ran and was not counted");
    }

    #[test]
    fn of_processes_that_are_gone_nothing_is_counted() {
        let mut counting = Counting::begin(&[u32::MAX >> 2], true);
        assert!(counting.lap().values().all(|count| *count == Some(0.0)));
    }
}
