//! What the runs' processes hold, read all the time: the last ones must not take more than the first.

use crate::e2e::processes::{self, Resources};
use crate::e2e::soak::Window;
use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Often enough that each run has readings between two turns, when it has no worker.
const INTERVAL: Duration = Duration::from_millis(5);
/// With fewer, a third of them may have no whole campaign, whose report takes memory of its own.
const LEAST_PROCESSES: usize = 60;
/// What stands for no process.
const NONE: u32 = 0;

/// Reads on a thread of its own.
pub struct Watch {
    process: Arc<AtomicU32>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Reading>>,
}

struct Reading {
    process: u32,
    resources: Resources,
}

impl Watch {
    pub fn start() -> Watch {
        let process = Arc::new(AtomicU32::new(NONE));
        let is_over = Arc::new(AtomicBool::new(false));
        let (followed, ended) = (Arc::clone(&process), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            let mut readings = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                let process = followed.load(Ordering::Relaxed);
                if process != NONE
                    && let Some(resources) = processes::resources(process)
                {
                    readings.push(Reading { process, resources });
                }
                std::thread::sleep(INTERVAL);
            }
            readings
        });
        Watch { process, is_over, thread }
    }

    pub fn follow(&self, process: u32) {
        self.process.store(process, Ordering::Relaxed);
    }

    pub fn forget(&self) {
        self.process.store(NONE, Ordering::Relaxed);
    }

    /// What the runs held in the first third of the time and in the last; an error if that is more.
    pub fn end(self) -> anyhow::Result<String> {
        self.is_over.store(true, Ordering::Relaxed);
        let readings = self.thread.join().ok().context("reading what processes hold has panicked")?;
        judged(&readings)
    }
}

fn judged(readings: &[Reading]) -> anyhow::Result<String> {
    let processes = readings.chunk_by(|one, next| one.process == next.process).count();
    if processes < LEAST_PROCESSES {
        return Ok(format!("{processes} runs are too few to judge whether they take more and more"));
    }
    let third = readings.len() / 3;
    let window = |readings: &[Reading]| Window::of(readings.iter().map(|reading| &reading.resources));
    let (first, last) = (window(&readings[..third])?, window(&readings[readings.len() - third..])?);
    last.is_like(&first).with_context(|| format!("the first third: {first}; the last: {last}"))?;
    Ok(format!("{processes} runs; the first third: {first}; the last: {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(processes: u32, last: Resources) -> Vec<Reading> {
        let usual = Resources { resident_bytes: 16 << 20, descriptors: 11, threads: 3 };
        let held = |process| if process > processes * 3 / 4 { last } else { usual };
        let of = |process| (0..50).map(move |_| Reading { process, resources: held(process) });
        (1..=processes).flat_map(of).collect()
    }

    #[test]
    fn growth_is_an_error_and_few_runs_are_not_judged() {
        let usual = Resources { resident_bytes: 17 << 20, descriptors: 11, threads: 3 };
        assert!(judged(&readings(90, usual)).unwrap().contains("90 runs; the first third"));
        assert!(judged(&readings(5, usual)).unwrap().contains("too few"));
        // The last third has one quarter with them.
        let message = |last| format!("{:#}", judged(&readings(90, last)).unwrap_err());
        assert!(message(Resources { resident_bytes: 40 << 20, ..usual }).contains("resident memory grew"));
        let all_of_last = |descriptors| {
            let mut all = readings(90, usual);
            let third = all.len() / 3;
            let from = all.len() - third;
            all[from..].iter_mut().for_each(|reading| reading.resources.descriptors = descriptors);
            all
        };
        let leak = judged(&all_of_last(14)).unwrap_err();
        assert!(format!("{leak:#}").contains("11 descriptors became 14"), "{leak:#}");
    }
}
