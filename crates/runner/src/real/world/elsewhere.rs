//! Sides that are servers which are not ours: their tables are claimed when a worker has connected, and dropped when it
//! ends. Nothing else is done to them: they are neither started, stopped nor frozen.

use super::RealWorld;
use crate::campaign::action::WorkerId;
use crate::campaign::world::Failure;
use crate::process::wait::AfterInterrupt;
use crate::process::worker::{Meanwhile, Worker, WorkerCommand, WorkerError};
use crate::server::elsewhere::{self, DROP_AFTER_INTERRUPT};
use model::address::ServerAddress;
use model::block::Side;
use model::elsewhere::ServerElsewhere;
use model::environment::Environment;
use model::event::RunEvent;
use model::units::Nanos;
use model::wire::{Library, Request};
use std::error::Error;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tables of many rows take their time to be dropped.
const DROP_TIMEOUT: Nanos = Nanos::from_secs(300);
/// At the end of a run, which its user waits for.
const CLEAN_UP_TIMEOUT: Nanos = Nanos::from_secs(30);

impl RealWorld {
    /// The server of a side that is not ours.
    pub(super) fn elsewhere(&self, side: Side) -> Option<&ServerElsewhere> {
        self.plan.subjects[side].build.elsewhere()
    }

    /// How it is reached, its password looked up now.
    pub(super) fn address_elsewhere(
        &self,
        id: WorkerId,
        server: &ServerElsewhere,
    ) -> Result<ServerAddress, Failure> {
        let reference = &self.plan.subjects[id.side].build.reference;
        elsewhere::address(reference, server)
            .map_err(|error| self.fail(id, "looking up its password", &error))
    }

    /// Drops what an earlier launch left, and makes the names of the tables ours.
    pub(super) fn claim_tables(
        &mut self,
        workers: &[WorkerId],
        tell: &mut dyn FnMut(RunEvent),
    ) -> Result<(), Failure> {
        let claims: Vec<(WorkerId, Request)> = workers
            .iter()
            .filter(|id| self.elsewhere(id.side).is_some())
            .map(|id| (*id, Request::ClaimTables { names: self.table_names() }))
            .collect();
        if claims.is_empty() {
            return Ok(());
        }
        self.claimed.extend(claims.iter().map(|(id, _)| id.side));
        self.ask(&claims, DROP_TIMEOUT, tell).map(drop)
    }

    /// Drops the tables of a worker that is about to end. If that fails they are tried again at the end of the run.
    pub(super) fn drop_tables(&mut self, id: WorkerId, tell: &mut dyn FnMut(RunEvent)) {
        if !self.claimed.contains(&id.side) {
            return;
        }
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.thaw();
        let mut dropping = Dropping {
            side: id.side,
            interrupted: &self.interrupted,
            after_interrupt: &self.drop_after_interrupt,
            said: false,
            tell,
        };
        if dropping.ask(worker, &[Request::DropTables], DROP_TIMEOUT).is_ok() {
            self.claimed.remove(&id.side);
        }
    }

    /// Drops what workers that were killed left behind, as far as the servers let us. The next run on that database drops what
    /// this one cannot.
    pub(super) fn drop_tables_left(&mut self, tell: &mut dyn FnMut(RunEvent)) {
        for side in std::mem::take(&mut self.claimed) {
            if let Err(error) = self.drop_left(side, tell) {
                tell(RunEvent::TablesLeft { side, reason: error.to_string() });
            }
        }
    }

    fn drop_left(&self, side: Side, tell: &mut dyn FnMut(RunEvent)) -> Result<(), Box<dyn Error>> {
        let build = &self.plan.subjects[side].build;
        let Some(server) = build.elsewhere() else { return Ok(()) };
        let address = elsewhere::address(&build.reference, server)?;
        let directory = self.directory.path().join(format!("drop-{side}"));
        fs::create_dir_all(&directory)?;
        let stderr = directory.join("stderr");
        let (program, environment) = (self.program.clone(), Environment::default());
        let mut worker = Worker::start(&WorkerCommand { program, stderr, directory, environment })?;
        let requests = [
            Request::Load { library: Library::Server { address } },
            Request::ClaimTables { names: self.table_names() },
            Request::DropTables,
        ];
        let mut dropping = Dropping {
            side,
            interrupted: &self.interrupted,
            after_interrupt: &self.drop_after_interrupt,
            said: false,
            tell,
        };
        dropping.ask(&mut worker, &requests, CLEAN_UP_TIMEOUT)?;
        worker.stop(&|| self.interrupted.load(Ordering::Relaxed));
        Ok(())
    }

    fn table_names(&self) -> Vec<String> {
        self.plan.workload.tables.as_ref().map(model::workload::sql::Tables::names).unwrap_or_default()
    }
}

/// Tables that are being dropped: they lie on somebody's disk, so that is done even if the user wants to stop, but then it is said
/// and has a timeout of seconds.
struct Dropping<'a> {
    side: Side,
    interrupted: &'a AtomicBool,
    after_interrupt: &'a AfterInterrupt,
    said: bool,
    tell: &'a mut dyn FnMut(RunEvent),
}

impl Dropping<'_> {
    /// Each request may take so long.
    fn ask(&mut self, worker: &mut Worker, requests: &[Request], timeout: Nanos) -> Result<(), WorkerError> {
        for request in requests {
            worker.send(request)?;
            worker.receive_seconds("drop-tables", timeout, &mut |meanwhile| match meanwhile {
                Meanwhile::Second(..) => true,
                Meanwhile::Waited => self.goes_on(),
            })?;
        }
        Ok(())
    }

    fn goes_on(&mut self) -> bool {
        let interrupted = self.interrupted.load(Ordering::Relaxed);
        if interrupted && !self.said {
            self.said = true;
            (self.tell)(RunEvent::DroppingTables { side: self.side, at_most: DROP_AFTER_INTERRUPT });
        }
        !self.after_interrupt.is_over(interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stopwatch;
    use crate::process::scripted;

    #[test]
    fn a_drop_that_hangs_is_said_at_once_and_given_up_soon_after_an_interrupt() {
        let directory = tempfile::tempdir().unwrap();
        let command = WorkerCommand {
            program: scripted::program(directory.path(), scripted::HANGS),
            stderr: directory.path().join("stderr"),
            directory: directory.path().to_owned(),
            environment: Environment::default(),
        };
        let mut worker = scripted::started(|| Worker::start(&command)).unwrap();
        let (interrupted, after_interrupt) =
            (AtomicBool::new(true), AfterInterrupt::of(Nanos::from_millis(200)));
        let mut told = Vec::new();
        let watch = Stopwatch::start();
        let mut tell = |event| told.push(event);
        let mut dropping = Dropping {
            side: 1,
            interrupted: &interrupted,
            after_interrupt: &after_interrupt,
            said: false,
            tell: &mut tell,
        };
        let given_up = dropping.ask(&mut worker, &[Request::DropTables], DROP_TIMEOUT);
        assert!(matches!(given_up, Err(WorkerError::Interrupted)), "{given_up:?}");
        let took = watch.elapsed();
        assert!(took > Nanos::from_millis(200) && took < Nanos::from_secs(20), "{took:?}");
        assert_eq!(told, [RunEvent::DroppingTables { side: 1, at_most: DROP_AFTER_INTERRUPT }]);
    }
}
