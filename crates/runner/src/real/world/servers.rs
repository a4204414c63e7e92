//! The servers of a launch: a fresh data directory for each, made at the same time, and started at the same time; and what
//! is done to a side that may be a server with its client, or a worker alone.

use super::RealWorld;
use super::starting::leave_out;
use crate::campaign::action::{DATABASE, WorkerId};
use crate::campaign::world::{Failure, Performed, Severity};
use crate::clock::Stopwatch;
use crate::marked_dir;
use crate::process::preload;
use crate::process::tree;
use crate::process::worker::WorkerError;
use crate::real::reflink;
use crate::server::{DATA, FreshServer, Network, Server, ServerError};
use model::config::Transport;
use model::wire::Library;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

impl RealWorld {
    /// Makes and starts the servers of those workers that are clients of one. A worker whose server cannot be started is left out of them.
    pub(super) fn start_servers(&mut self, workers: &mut Vec<WorkerId>, failures: &mut Vec<Failure>) {
        let watch = Stopwatch::start();
        let started = self.started_servers(workers, failures);
        self.servers.extend(started);
        self.pauses.engine_worked(watch.elapsed());
    }

    fn started_servers(
        &self,
        workers: &mut Vec<WorkerId>,
        failures: &mut Vec<Failure>,
    ) -> Vec<(WorkerId, Server)> {
        let fresh: Vec<(WorkerId, FreshServer<'_>)> =
            workers.iter().filter_map(|id| Some((*id, self.fresh_server(*id)?))).collect();
        let asked = &self.interrupted;
        let interrupted = || asked.load(Ordering::Relaxed);
        // What has data already has a clone of what another side loaded.
        let without_data: Vec<_> =
            fresh.iter().filter(|(_, server)| !server.directory.join(DATA).exists()).collect();
        let made: Vec<(WorkerId, Result<(), ServerError>)> = std::thread::scope(|scope| {
            let running: Vec<_> = without_data
                .iter()
                .map(|(id, server)| (*id, scope.spawn(move || server.make(&interrupted))))
                .collect();
            running.into_iter().filter_map(|(id, thread)| Some((id, thread.join().ok()?))).collect()
        });
        for (id, made) in made {
            let made = made.map_err(|error| self.fail_server(id, "making its data directory", &error));
            leave_out(workers, failures, made);
        }
        // With all that it has started: a checkpointer that is left outside fills the page cache beside the limit with what it writes.
        let limited = |pid| match &self.memory_group {
            Some(group) => group.add_tree(pid).map_err(io::Error::other),
            None => Ok(()),
        };
        let failed = |id, error: ServerError| self.fail_server(id, "starting its server", &error);
        // They get ready at the same time, but are started by this thread, which they die with.
        let with_data: Vec<_> = fresh.iter().filter(|(id, _)| workers.contains(id)).collect();
        let mut begun = Vec::new();
        for (id, server) in with_data {
            match server.begin(limited) {
                Ok(one) => begun.push((*id, server, one)),
                Err(error) => leave_out(workers, failures, Err(failed(*id, error))),
            }
        }
        let mut started = Vec::new();
        for (id, server, one) in begun {
            match server.until_ready(one, limited, &interrupted) {
                Ok(ready) => match limited(ready.pid()) {
                    Ok(()) => started.push((id, ready)),
                    Err(error) => {
                        let failure = self.fail(id, "limiting the memory of its server", &error);
                        leave_out(workers, failures, Err(failure));
                    }
                },
                Err(error) => leave_out(workers, failures, Err(failed(id, error))),
            }
        }
        started
    }

    /// Gives sides clones of the data directory that one of them loaded, whose server has ended.
    pub(super) fn clone_data(
        &mut self,
        builder: WorkerId,
        readers: &[WorkerId],
    ) -> Result<Performed, Failure> {
        let watch = Stopwatch::start();
        let from = self.worker_directory(builder).join(DATABASE).join(DATA);
        for reader in readers {
            let directory = self.worker_directory(*reader).join(DATABASE);
            let made = marked_dir::create_marked_dir(&directory);
            made.map_err(|error| self.fail(*reader, "making the directory of its server", &error))?;
            let cloned = reflink::clone_directory(&from, &directory.join(DATA));
            cloned.map_err(|error| self.fail(*reader, "cloning the data that was loaded", &error))?;
        }
        self.pauses.engine_worked(watch.elapsed());
        Ok(Performed::Done)
    }

    /// The server that a worker will be a client of; none where the engine is a library.
    fn fresh_server(&self, id: WorkerId) -> Option<FreshServer<'_>> {
        let subject = &self.plan.subjects[id.side];
        subject.build.server.as_ref()?;
        Some(FreshServer {
            build: &subject.build,
            options: &subject.options,
            environment: &subject.config.environment,
            directory: self.worker_directory(id).join(DATABASE),
            network: match (&self.clients, subject.config.transport) {
                (Some(elsewhere), _) => elsewhere.network,
                (None, Transport::Socket) => Network::Socket,
                (None, Transport::Tcp) => Network::Loopback { port: None },
            },
            kept: self.directory.initialised().to_owned(),
        })
    }

    /// Where the engine has its files; of a server without its sockets and temporary files.
    pub(super) fn data_directory(&self, id: WorkerId) -> PathBuf {
        let database = self.worker_directory(id).join(DATABASE);
        if self.servers.contains_key(&id) { database.join(DATA) } else { database }
    }

    /// What a worker loads, or connects to.
    pub(super) fn library(&self, id: WorkerId) -> Result<Library, Failure> {
        Ok(match (self.servers.get(&id), self.elsewhere(id.side)) {
            (Some(server), _) => Library::Server { address: server.address().clone() },
            (None, Some(server)) => Library::Server { address: self.address_elsewhere(id, server)? },
            (None, None) if self.plan.workload.is_fio() => Library::Fio {
                program: self.plan.subjects[id.side].build.library.clone(),
                target: self.plan.subjects[id.side].config.storage.target.clone(),
            },
            (None, None) => Library::RocksDb { path: self.plan.subjects[id.side].build.library.clone() },
        })
    }

    /// Whether a worker that loads a library has what its configuration preloads; servers are looked at when they start.
    pub(super) fn check_preloaded(&self, id: WorkerId) -> Result<(), Failure> {
        let worker = self.workers.get(&id).filter(|_| !self.servers.contains_key(&id));
        let Some(worker) = worker else { return Ok(()) };
        preload::check(&self.plan.subjects[id.side].config.environment, worker.pid())
            .map_err(|missing| self.fail(id, "preloading a library", &missing))
    }

    /// Stops a worker, and then its server, to which nothing is sent any more. A server that is not ours goes on.
    pub(super) fn freeze_side(&mut self, id: WorkerId) -> Result<(), WorkerError> {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.freeze()?;
        }
        match self.servers.get(&id) {
            Some(server) => Ok(tree::freeze(server.pid())?),
            None => Ok(()),
        }
    }

    pub(super) fn thaw_side(&mut self, id: WorkerId) {
        if let Some(server) = self.servers.get(&id) {
            tree::thaw(server.pid());
        }
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.thaw();
        }
    }

    pub(super) fn fail_server(&self, id: WorkerId, doing: &str, error: &ServerError) -> Failure {
        let failure = self.fail(id, doing, error);
        match error {
            ServerError::Interrupted => Failure { severity: Severity::Interrupted, ..failure },
            _ if self.interrupted.load(Ordering::Relaxed) => {
                Failure { severity: Severity::Interrupted, ..failure }
            }
            _ => failure,
        }
    }
}
