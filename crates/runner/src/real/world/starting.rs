//! Starting the workers of a launch, and their servers. What keeps one side from being started keeps no other from it: in a campaign the
//! others go on without it.

use super::RealWorld;
use crate::campaign::action::WorkerId;
use crate::campaign::world::{Failure, Performed};
use crate::process::worker::{Worker, WorkerCommand};
use crate::remote::Between;
use crate::remote::server_side::Clients;
use crate::server::Network;
use model::environment::Environment;
use model::event::RunEvent;
use model::units::Nanos;
use model::wire::Request;

/// To load a library, or to connect to a server that is ready.
const LOAD_TIMEOUT: Nanos = Nanos::from_secs(60);

/// The host of the clients, if that is another one.
pub(super) struct ClientsElsewhere {
    clients: Clients,
    pub(super) network: Network,
}

impl RealWorld {
    /// The same world with its clients on another host: servers listen here for those alone.
    pub fn with_clients_at(mut self, clients: Clients, between: Between) -> RealWorld {
        let network = Network::Address { listen: between.servers, client: between.clients };
        self.clients = Some(ClientsElsewhere { clients, network });
        self
    }

    pub(super) fn start(
        &mut self,
        workers: &[WorkerId],
        tell: &mut dyn FnMut(RunEvent),
    ) -> Result<Performed, Failure> {
        let mut left = workers.to_vec();
        let mut failures = Vec::new();
        keep_those(&mut left, &mut failures, |id| self.set_storage(id));
        self.start_servers(&mut left, &mut failures);
        keep_those(&mut left, &mut failures, |id| self.start_worker(id));
        let mut requests = Vec::new();
        keep_those(&mut left, &mut failures, |id| {
            requests.push((id, Request::Load { library: self.library(id)? }));
            Ok(())
        });
        let loaded = self.ask(&requests, LOAD_TIMEOUT, tell).map(drop);
        leave_out(&mut left, &mut failures, loaded);
        keep_those(&mut left, &mut failures, |id| self.check_preloaded(id));
        let claimed = self.claim_tables(&left, tell);
        leave_out(&mut left, &mut failures, claimed);
        Failure::replies_unless(failures, Vec::new()).map(|_| Performed::Done)
    }

    fn start_worker(&mut self, id: WorkerId) -> Result<(), Failure> {
        let directory = self.worker_directory(id);
        // That of a server is its own.
        let environment = match self.servers.contains_key(&id) {
            true => Environment::default(),
            false => self.plan.subjects[id.side].config.environment.clone(),
        };
        let (program, stderr) = (self.program.clone(), directory.join("stderr"));
        let command = WorkerCommand { program, stderr, directory, environment };
        let started = match &self.clients {
            Some(there) => there.clients.start(command.stderr),
            None => Worker::start(&command),
        };
        let worker = started.map_err(|error| self.fail_worker(id, "starting its worker", &error))?;
        // Of a server's client the memory does not count.
        if !self.servers.contains_key(&id) && self.elsewhere(id.side).is_none() {
            self.limit_memory(id, worker.pid())?;
        }
        self.workers.insert(id, worker);
        Ok(())
    }
}

/// Does something for each of these workers; one for which it fails is left out of them.
fn keep_those(
    workers: &mut Vec<WorkerId>,
    failures: &mut Vec<Failure>,
    mut does: impl FnMut(WorkerId) -> Result<(), Failure>,
) {
    workers.retain(|id| does(*id).map_err(|failure| failures.push(failure)).is_ok());
}

/// Leaves those out of these workers of which something that was done with all of them says that they failed.
pub(super) fn leave_out(workers: &mut Vec<WorkerId>, failures: &mut Vec<Failure>, done: Result<(), Failure>) {
    let Err(mut failure) = done else { return };
    failures.append(&mut failure.further);
    failures.push(failure);
    workers.retain(|id| failures.iter().all(|failure| failure.side != Some(id.side)));
}
