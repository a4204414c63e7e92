//! From what the worker and /proc told of a block to what is told of it, in every design alike.

use super::charging::Waiting;
use crate::proc::side::ThreadTimes;
use model::block::{Block, BlockKind, TrialKey};
use model::counter::{Counter, Counters};
use model::event::RunEvent;
use model::plan::Plan;
use model::units::Nanos;
use model::warning::Warning;
use model::wire::BlockReport;

/// A block with the counters of its side.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredBlock {
    pub report: BlockReport,
    /// When it began, in microseconds since the epoch; absent where nobody knows.
    pub started_at_us: Option<i64>,
    /// CPU time of the side's processes from thaw to freeze; that of the worker where absent.
    pub process_cpu: Option<Nanos>,
    /// Where the engine was.
    pub engine: EngineIn,
    /// Deltas over the same span.
    pub counters: Counters,
}

/// Where the engine was that did the work of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineIn {
    Worker,
    /// In a server of ours, whose threads that served the client had this: the worker is no part of the side.
    Server(ThreadTimes),
    /// In a server that is not ours: what it had is not known, and the worker is no part of it.
    Elsewhere,
    /// In a server of ours that worked for another step at the same time: what of it was for this one is not known.
    Shared,
}

impl MeasuredBlock {
    /// The blocks of a trial and of the companions of its step, each with its own trial.
    pub fn streams(mut self, plan: &Plan, trial: &TrialKey) -> Vec<(TrialKey, MeasuredBlock)> {
        let reports = std::mem::take(&mut self.report.companions);
        let started_at_us = self.started_at_us;
        let companions = plan.workload.companions(&trial.step).zip(reports).map(|(companion, report)| {
            let block = MeasuredBlock {
                report,
                started_at_us,
                process_cpu: None,
                engine: EngineIn::Shared,
                counters: Counters::new(),
            };
            (TrialKey { step: companion.name.clone(), ..trial.clone() }, block)
        });
        std::iter::once((trial.clone(), self)).chain(companions).collect()
    }

    /// The block of a trial; `run_delay` and CPU are means over the foreground threads. A client waits
    /// while its server works: then what the server's thread had is part of the client's time as its own is
    /// (statistics 1.9, rule 10), but for what the two waited for each other (decision record 029).
    pub fn into_block(self, trial: TrialKey, kind: BlockKind, position: u32) -> Block {
        let report = self.report;
        let threads = (report.thread_cpu.len() as u64).max(1);
        let mut foreground_cpu: Nanos = report.thread_cpu.iter().copied().sum();
        let mut run_delay: Nanos = report.thread_run_delay.iter().flatten().copied().sum();
        let mut counters = self.counters;
        // What of the engine's CPU was spent for the foreground's operations.
        let in_engine = match self.engine {
            EngineIn::Worker => Some(foreground_cpu),
            EngineIn::Server(serving) => {
                let waiting = Waiting {
                    wall: Nanos(report.wall.0.saturating_mul(threads)),
                    client: ThreadTimes { cpu: foreground_cpu, run_delay },
                    serving,
                    shared_cpu: report.shared_cpu,
                };
                run_delay = waiting.behind_others();
                foreground_cpu += serving.cpu;
                Some(serving.cpu)
            }
            EngineIn::Elsewhere | EngineIn::Shared => None,
        };
        if self.engine != EngineIn::Worker {
            counters.insert(Counter::ClientCpuNanos, report.process_cpu.0);
            counters.insert(Counter::Retries, report.retries.values().sum());
        }
        let process_cpu = in_engine.map(|in_engine| {
            let process_cpu = self.process_cpu.unwrap_or(report.process_cpu);
            counters.insert(Counter::ForegroundCpuNanos, in_engine.0);
            counters.insert(Counter::BackgroundCpuNanos, process_cpu.saturating_sub(in_engine).0);
            process_cpu
        });
        Block {
            image: trial.launch,
            trial,
            kind,
            position,
            started_at_us: self.started_at_us,
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

    /// The warning that events were sent again, with how often of each kind; absent where none was.
    pub fn retries(&self, plan: &Plan, trial: &TrialKey) -> Option<RunEvent> {
        let kinds = &self.report.retries;
        let warning = || Warning::Retries { subject: subject(plan, trial), kinds: kinds.clone() };
        (!kinds.is_empty()).then(|| warned(trial, warning()))
    }

    /// The warning that a stream of stated rate had less than 95 % of it: what was measured meanwhile is not what was
    /// asked for, as the Insert Benchmark's reports say it. Absent where it kept its rate, or was too short to tell.
    pub fn behind_its_rate(&self, plan: &Plan, trial: &TrialKey) -> Option<RunEvent> {
        let step = plan.workload.step(&trial.step).ok()?;
        let (rate, achieved) = (step.rate?, step.missed_rate(self.report.operations, self.report.wall)?);
        let warning = Warning::BehindItsRate {
            subject: subject(plan, trial),
            step: trial.step.clone(),
            round: trial.launch,
            achieved,
            rate,
        };
        Some(warned(trial, warning))
    }

    /// The warning that operations failed; absent where none did.
    pub fn failed_operations(&self, plan: &Plan, trial: &TrialKey) -> Option<RunEvent> {
        let report = &self.report;
        let error = report.first_error.as_ref()?;
        let warning = Warning::FailedOperations {
            subject: subject(plan, trial),
            design: plan.layout.design,
            launch: trial.launch,
            failed: report.failed_operations,
            operations: report.failed_operations + report.operations,
            error: error.clone(),
        };
        Some(warned(trial, warning))
    }
}

fn subject(plan: &Plan, trial: &TrialKey) -> String {
    plan.subjects[trial.side].reference.to_string()
}

fn warned(trial: &TrialKey, warning: Warning) -> RunEvent {
    RunEvent::Warned { step: Some(trial.step.clone()), warning }
}
