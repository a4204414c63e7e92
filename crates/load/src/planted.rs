//! Test hook: the planted slowdown of one thread. A share of each operation's time is spent once more after it, in portions that a clock, a timer
//! or a device can measure.

use crate::clock;
use crate::keys::{Stream, below, generator};
use model::planted::PlantedAs;
use model::units::Nanos;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A slowdown; of 0 % it is none.
pub struct Slowdown {
    share: f64,
    owed_ns: f64,
    spends: Spends,
}

/// How the time is spent.
enum Spends {
    Cpu,
    Lock(HeldLock),
    Sleep,
    Reads(Box<PageReads>),
    Calls,
}

impl Slowdown {
    /// None.
    pub fn none() -> Slowdown {
        Slowdown { share: 0.0, owed_ns: 0.0, spends: Spends::Cpu }
    }

    /// # Errors
    /// A file that cannot be made in the current directory, or read past the page cache; no room for a thread.
    pub fn new(percent: f64, planted_as: PlantedAs) -> io::Result<Slowdown> {
        if percent <= 0.0 {
            return Ok(Slowdown::none());
        }
        let spends = match planted_as {
            PlantedAs::Cpu => Spends::Cpu,
            PlantedAs::Lock => Spends::Lock(HeldLock::new()?),
            PlantedAs::Sleep => Spends::Sleep,
            PlantedAs::Reads => Spends::Reads(Box::new(PageReads::new()?)),
            PlantedAs::Calls => Spends::Calls,
        };
        Ok(Slowdown { share: percent / 100.0, owed_ns: 0.0, spends })
    }

    /// Spends what is owed after an operation that ended at `done`; returns the time after that.
    #[inline]
    pub fn after(&mut self, done: Nanos, operation: Nanos) -> Nanos {
        if self.share <= 0.0 {
            return done;
        }
        self.spend(done, operation)
    }

    #[cold]
    fn spend(&mut self, done: Nanos, operation: Nanos) -> Nanos {
        self.owed_ns += operation.0 as f64 * self.share;
        if self.owed_ns < self.spends.smallest_portion_ns() {
            return done;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is above 0 and far below a second"
        )]
        let until = done + Nanos(self.owed_ns as u64);
        match &mut self.spends {
            Spends::Cpu => planted_burn(until),
            Spends::Lock(lock) => lock.wait(until),
            Spends::Sleep => clock::sleep_until(until),
            Spends::Reads(reads) => reads.read(until),
            Spends::Calls => planted_calls(until),
        }
        let now = clock::now();
        self.owed_ns -= now.saturating_sub(done).0 as f64;
        now
    }
}

impl Spends {
    /// Below this, reading the clock, waking up or a single read would take longer.
    fn smallest_portion_ns(&self) -> f64 {
        match self {
            Spends::Cpu | Spends::Calls => 2_000.0,
            Spends::Reads(_) => 100_000.0,
            Spends::Lock(_) | Spends::Sleep => 300_000.0,
        }
    }
}

/// The clock is read seldom, so that the time is this function's own.
#[inline(never)]
fn planted_burn(until: Nanos) {
    while clock::now() < until {
        for _ in 0..64 {
            std::hint::spin_loop();
        }
    }
}

#[inline(never)]
fn planted_calls(until: Nanos) {
    // One that is long in the kernel, so that its name is in the stacks.
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    while clock::now() < until {
        // SAFETY: it writes to a place of its size, which nobody reads.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    }
}

/// A lock that another thread holds for as long as it is told.
struct HeldLock {
    lock: Arc<Mutex<()>>,
    holds: Sender<Nanos>,
    held: Receiver<()>,
}

impl HeldLock {
    fn new() -> io::Result<HeldLock> {
        let lock = Arc::new(Mutex::new(()));
        let (holds, to_hold) = channel::<Nanos>();
        let (tell, held) = channel();
        let of_holder = Arc::clone(&lock);
        let holder = thread::Builder::new().name("dbdyno-worker".to_owned());
        holder.spawn(move || {
            clock::make_timers_exact();
            while let Ok(until) = to_hold.recv() {
                let _guard = of_holder.lock().unwrap_or_else(PoisonError::into_inner);
                if tell.send(()).is_err() {
                    return;
                }
                clock::sleep_until(until);
            }
        })?;
        Ok(HeldLock { lock, holds, held })
    }

    fn wait(&self, until: Nanos) {
        if self.holds.send(until).is_ok() && self.held.recv().is_ok() {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

const PAGE: usize = 4096;
const PAGES: u64 = 2048;

/// What direct IO asks of a buffer.
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

/// Pages of a file of its own, read past the page cache.
struct PageReads {
    file: File,
    page: Page,
    random: Xoshiro256PlusPlus,
}

impl PageReads {
    fn new() -> io::Result<PageReads> {
        // SAFETY: it asks for the number of the calling thread.
        let path = format!("planted-reads-{}", unsafe { libc::gettid() });
        let mut written = File::create(&path)?;
        let chunk = vec![7_u8; PAGE * 256];
        for _ in 0..PAGES / 256 {
            written.write_all(&chunk)?;
        }
        written.sync_all()?;
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path)?;
        fs::remove_file(&path)?;
        Ok(PageReads { file, page: Page([0; PAGE]), random: generator(7, Stream::BackgroundWriter) })
    }

    fn read(&mut self, until: Nanos) {
        while clock::now() < until {
            let place = below(&mut self.random, PAGES) * PAGE as u64;
            if self.file.read_exact_at(&mut self.page.0, place).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_costs_its_share_in_the_long_run_however_it_is_spent() {
        for planted_as in [PlantedAs::Cpu, PlantedAs::Lock, PlantedAs::Sleep, PlantedAs::Calls] {
            let mut slowdown = Slowdown::new(50.0, planted_as).unwrap();
            let start = clock::now();
            let mut now = start;
            for _ in 0..100 {
                now = slowdown.after(now, Nanos(100_000));
            }
            let spent = now.saturating_sub(start).0 as f64;
            assert!(
                (spent + slowdown.owed_ns - 5_000_000.0).abs() < 1.0,
                "{planted_as:?}: {spent}, {} owed",
                slowdown.owed_ns
            );
        }
    }

    #[test]
    fn none_is_none() {
        let mut none = Slowdown::none();
        assert_eq!(none.after(Nanos(5), Nanos(1_000_000)), Nanos(5));
        assert_eq!(Slowdown::new(0.0, PlantedAs::Lock).unwrap().after(Nanos(5), Nanos(9)), Nanos(5));
    }
}
