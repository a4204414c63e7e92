//! From what the worker and /proc told of a block to what is told of it, in every design alike.

use super::world::MeasuredBlock;
use model::block::{Block, TrialKey};
use model::counter::Counter;
use model::event::RunEvent;
use model::plan::{Design, Plan};
use model::units::Nanos;

impl MeasuredBlock {
    /// The block of a trial; `run_delay` and CPU are means over the foreground threads. Each of them waits for its
    /// server while that works: then the server's CPU and run delay are part of the thread's time as its own are
    /// (statistics 1.9, rule 10).
    pub fn into_block(self, trial: TrialKey, cycle: u32, position: u32) -> Block {
        let report = self.report;
        let threads = (report.thread_cpu.len() as u64).max(1);
        let mut foreground_cpu: Nanos = report.thread_cpu.iter().copied().sum();
        let mut run_delay: Nanos = report.thread_run_delay.iter().flatten().copied().sum();
        let mut counters = self.counters;
        let process_cpu = self.process_cpu.unwrap_or(report.process_cpu);
        if self.server {
            counters.insert(Counter::ClientCpuNanos, report.process_cpu.0);
            foreground_cpu += process_cpu;
            run_delay += Nanos(counters.get(&Counter::RunDelayNanos).copied().unwrap_or(0));
        } else {
            counters.insert(Counter::ForegroundCpuNanos, foreground_cpu.0);
            counters.insert(Counter::BackgroundCpuNanos, process_cpu.saturating_sub(foreground_cpu).0);
        }
        Block {
            image: trial.launch,
            trial,
            cycle,
            position,
            operations: report.operations,
            failed_operations: report.failed_operations,
            wall: report.wall,
            run_delay: Nanos(run_delay.0 / threads),
            foreground_cpu: Nanos(foreground_cpu.0 / threads),
            foreground_threads: u32::try_from(threads).unwrap_or(u32::MAX),
            process_cpu,
            counters,
        }
    }

    /// The warning that operations failed; absent where none did.
    pub fn failed_operations(&self, plan: &Plan, trial: &TrialKey) -> Option<RunEvent> {
        let report = &self.report;
        let error = report.first_error.as_ref()?;
        let launch = match plan.layout.design {
            Design::Interleaved => "launch",
            Design::Rounds | Design::Sequential => "round",
        };
        Some(RunEvent::Warned {
            step: Some(trial.step.clone()),
            id: "failed-operations".to_owned(),
            text: format!(
                "{} of {} operations failed on {} in {launch} {}: {error}",
                report.failed_operations,
                report.failed_operations + report.operations,
                plan.subjects[trial.side].reference,
                trial.launch,
            ),
        })
    }
}
