//! What the client itself costs: each step of the plan against an engine that does nothing.

use crate::process::worker::{Worker, WorkerCommand, WorkerError};
use model::environment::Environment;
use model::plan::Plan;
use model::units::Nanos;
use model::wire::{BlockLimit, Library, Reply, Request, StepSetup};
use model::workload::Operation;
use std::path::{Path, PathBuf};

/// Operations of one measurement. Against nothing an operation takes some tens of nanoseconds, so that this
/// lasts some milliseconds.
const OPERATIONS: u64 = 200_000;
const TIMEOUT: Nanos = Nanos::from_secs(20);

/// CPU per operation of the dearest step of the plan, in nanoseconds.
pub fn measure(
    program: &Path,
    directory: &Path,
    plan: &Plan,
    interrupted: &dyn Fn() -> bool,
) -> Result<f64, WorkerError> {
    let command = WorkerCommand {
        program: program.to_owned(),
        stderr: directory.join("client-cost.stderr"),
        directory: directory.to_owned(),
        environment: Environment::default(),
    };
    let mut worker = Worker::start(&command)?;
    let mut ask = |request: &Request| {
        worker.send(request)?;
        worker.receive("client-cost", TIMEOUT, interrupted)
    };
    ask(&Request::Load { library: Library::Nothing })?;
    ask(&Request::Open {
        directory: PathBuf::from("none"),
        options: String::new(),
        create: true,
        tickers: false,
    })?;
    let mut dearest: f64 = 0.0;
    for step in
        plan.chosen_steps().filter(|step| step.operation != Operation::Compact && !step.only_settles())
    {
        ask(&Request::Prepare(Box::new(StepSetup {
            threads: step.threads,
            wal: step.wal,
            sync: step.sync,
            ..StepSetup::plain(step.operation.clone(), plan.workload.data, plan.seed)
        })))?;
        let limit = BlockLimit::Operations { count: OPERATIONS };
        if let Reply::Block(report) = ask(&Request::RunBlock { limit, warm_up: false, seconds: false })? {
            let cpu: Nanos = report.thread_cpu.iter().copied().sum();
            dearest = dearest.max(cpu.0 as f64 / report.operations.max(1) as f64);
        }
        ask(&Request::FinishStep)?;
    }
    worker.stop(interrupted);
    Ok(dearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::samples;
    use crate::process::scripted;

    #[test]
    fn a_worker_that_hangs_is_given_up_at_an_interrupt() {
        let directory = tempfile::tempdir().unwrap();
        let program = scripted::program(directory.path(), scripted::HANGS);
        let plan = samples::plan(&["rocksdb@8.5.4", "rocksdb@8.7.3"], &["readrandom"], Nanos::from_secs(60));
        let measured = scripted::started(|| measure(&program, directory.path(), &plan, &|| true));
        assert!(matches!(measured, Err(WorkerError::Interrupted)), "{measured:?}");
    }
}
