//! Keeps the CPUs of this host from sleeping, for a case that judges microseconds.

use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A thread for each CPU that runs if nothing else wants to, until this is dropped.
pub struct Awake {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    pub fn start() -> anyhow::Result<Awake> {
        let mut awake = Awake { over: Arc::default(), threads: Vec::new() };
        for _ in 0..thread::available_parallelism()?.get() {
            let over = Arc::clone(&awake.over);
            let thread = thread::Builder::new().spawn(move || spin(&over));
            awake.threads.push(thread.context("failed to start a thread that keeps a CPU awake")?);
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

fn spin(over: &AtomicBool) {
    let lowest = libc::sched_param { sched_priority: 0 };
    // SAFETY: sched_setscheduler(2) reads one struct that lives here; 0 is this thread.
    let is_lowest = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const lowest) } == 0;
    // With another priority it would take the CPU from what is looked at.
    while is_lowest && !over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}
