//! What the runs' processes hold, read all the time: none may take more and more of descriptors and threads, and the last ones no more
//! memory than the first.

use crate::e2e::processes::{self, Resources};
use crate::e2e::soak::Window;
use anyhow::{Context, ensure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Often enough that each run has readings between two turns, when it has no worker.
const INTERVAL: Duration = Duration::from_millis(5);
/// With fewer, a third of them may have no whole campaign, whose report takes memory of its own.
const LEAST_PROCESSES: usize = 60;
/// A process that was read less often has measured for less than two seconds.
const LEAST_READINGS: usize = 400;
/// A worker has some that its controller holds too: one that was there for more of the second half moves the median a little. A leak in
/// each turn would be tens.
const MOST_MORE: u64 = 4;
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
    let mut long = 0;
    for of_process in readings.chunk_by(|one, next| one.process == next.process) {
        if of_process.len() >= LEAST_READINGS {
            long += 1;
            does_not_leak(of_process)?;
        }
    }
    Ok(format!("{processes} runs, {long} of them long; the first third: {first}; the last: {last}"))
}

/// What is counted of a process.
type Count = fn(&Resources) -> u64;

/// The second half of what was read of a process has about as many descriptors and threads as the first.
fn does_not_leak(readings: &[Reading]) -> anyhow::Result<()> {
    let (first, second) = readings.split_at(readings.len() / 2);
    let descriptors: Count = |held| held.descriptors as u64;
    let threads: Count = |held| held.threads;
    for (what, count) in [("descriptors", descriptors), ("threads", threads)] {
        let (before, now) = (median(first, count), median(second, count));
        ensure!(now <= before + MOST_MORE, "{before} {what} became {now} within one run");
    }
    Ok(())
}

fn median(readings: &[Reading], count: Count) -> u64 {
    let mut counts: Vec<u64> = readings.iter().map(|reading| count(&reading.resources)).collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or(0)
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
        assert!(judged(&readings(90, usual)).unwrap().contains("90 runs, 0 of them long; the first third"));
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

    #[test]
    fn a_leak_within_one_run_is_an_error() {
        let held = |descriptors| Resources { resident_bytes: 16 << 20, descriptors, threads: 3 };
        let of = |descriptors: &dyn Fn(usize) -> usize| -> Vec<Reading> {
            let reading = |at| Reading { process: 1, resources: held(descriptors(at)) };
            (0..1000).map(reading).collect()
        };
        does_not_leak(&of(&|at| 11 + at % 5)).unwrap();
        let leak = does_not_leak(&of(&|at| 11 + at / 50)).unwrap_err().to_string();
        assert_eq!(leak, "16 descriptors became 26 within one run");
    }
}
