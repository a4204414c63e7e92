//! Sides that are servers which are not ours: their tables are claimed when a worker has connected, and dropped when it
//! ends. Nothing else is done to them: they are neither started, stopped nor frozen.

use super::RealWorld;
use crate::campaign::action::WorkerId;
use crate::campaign::world::Failure;
use crate::process::worker::{Worker, WorkerCommand, WorkerError};
use crate::server::elsewhere;
use model::block::Side;
use model::elsewhere::ServerElsewhere;
use model::event::RunEvent;
use model::units::Nanos;
use model::wire::{Library, Request, ServerAddress};
use std::fs;

/// Tables of many rows take their time to be dropped.
const DROP_BOUND: Nanos = Nanos::from_secs(300);
/// At the end of a run, which its user waits for.
const CLEAN_UP_BOUND: Nanos = Nanos::from_secs(30);

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
        self.ask(&claims, DROP_BOUND, tell).map(drop)
    }

    /// Drops the tables of a worker that is about to end. Where that fails they are tried again at the end of the run.
    pub(super) fn drop_tables(&mut self, id: WorkerId) {
        if !self.claimed.contains(&id.side) {
            return;
        }
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.thaw();
        let dropped = worker
            .send(&Request::DropTables)
            .and_then(|()| worker.receive("dropping its tables", DROP_BOUND, &|| false));
        if dropped.is_ok() {
            self.claimed.remove(&id.side);
        }
    }

    /// Drops what workers that were killed left behind, as far as the servers let us.
    pub(super) fn drop_tables_left(&mut self) {
        for side in std::mem::take(&mut self.claimed) {
            // The next run on that database drops what this one cannot.
            let _ = self.drop_left(side);
        }
    }

    fn drop_left(&self, side: Side) -> Result<(), WorkerError> {
        let directory = self.directory.path().join(format!("drop-{side}"));
        let build = &self.plan.subjects[side].build;
        let address = build.elsewhere().map(|server| elsewhere::address(&build.reference, server));
        let Some(Ok(address)) = address else { return Ok(()) };
        if fs::create_dir_all(&directory).is_err() {
            return Ok(());
        }
        let stderr = directory.join("stderr");
        let mut worker = Worker::start(&WorkerCommand { program: self.program.clone(), stderr, directory })?;
        let requests = [
            Request::Load { library: Library::Server { address } },
            Request::ClaimTables { names: self.table_names() },
            Request::DropTables,
        ];
        for request in &requests {
            worker.send(request)?;
            worker.receive("dropping tables that were left", CLEAN_UP_BOUND, &|| false)?;
        }
        worker.stop(&|| false);
        Ok(())
    }

    fn table_names(&self) -> Vec<String> {
        self.plan.workload.tables.as_ref().map(model::workload::sql::Tables::names).unwrap_or_default()
    }
}
