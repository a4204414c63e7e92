//! The servers of a launch: a fresh data directory for each, made at the same time, started one after another; and what
//! is done to a side that may be a server with its client, or a worker alone.

use super::RealWorld;
use crate::campaign::action::{DATABASE, WorkerId};
use crate::campaign::world::{Failure, Severity};
use crate::clock::Stopwatch;
use crate::marked_dir;
use crate::process::tree;
use crate::process::worker::WorkerError;
use crate::server::{self, Network, Server, ServerCommand, ServerError};
use model::wire::Library;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

impl RealWorld {
    /// Makes and starts the servers of those workers that are clients of one.
    pub(super) fn start_servers(&mut self, workers: &[WorkerId]) -> Result<(), Failure> {
        let directories: Vec<(WorkerId, PathBuf)> = workers
            .iter()
            .filter(|id| self.plan.subjects[id.side].build.server.is_some())
            .map(|id| (*id, self.worker_directory(*id).join(DATABASE)))
            .collect();
        for (id, directory) in &directories {
            let made = marked_dir::create_marked_dir(directory);
            made.map_err(|error| self.fail(*id, "making the directory of its server", &error))?;
        }
        let watch = Stopwatch::start();
        let initialised: Vec<(WorkerId, Result<(), ServerError>)> = std::thread::scope(|scope| {
            let world = &*self;
            let running: Vec<_> = directories
                .iter()
                .filter_map(|(id, directory)| {
                    let command = world.server_command(*id, directory)?;
                    let interrupted = &world.interrupted;
                    let make = move || server::initialise(&command, &|| interrupted.load(Ordering::Relaxed));
                    Some((*id, scope.spawn(make)))
                })
                .collect();
            running.into_iter().filter_map(|(id, thread)| Some((id, thread.join().ok()?))).collect()
        });
        for (id, made) in initialised {
            made.map_err(|error| self.fail_server(id, "making its data directory", &error))?;
        }
        for (id, directory) in &directories {
            let Some(command) = self.server_command(*id, directory) else { continue };
            let limited = |pid| match &self.memory_group {
                Some(group) => group.add(pid).map_err(io::Error::other),
                None => Ok(()),
            };
            let started = Server::start(&command, limited, &|| self.interrupted.load(Ordering::Relaxed));
            let server = started.map_err(|error| self.fail_server(*id, "starting its server", &error))?;
            self.servers.insert(*id, server);
        }
        self.pauses.engine_worked(watch.elapsed());
        Ok(())
    }

    /// What a worker loads, or connects to.
    pub(super) fn library(&self, id: WorkerId) -> Library {
        match self.servers.get(&id) {
            Some(server) => Library::Server { address: server.address().clone() },
            None => Library::RocksDb { path: self.plan.subjects[id.side].build.library.clone() },
        }
    }

    /// Stops a worker, and then its server, to which nothing is sent any more.
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

    /// The process whose resources are the side's: the server, or the worker that has the engine in it.
    pub(super) fn measured_pid(&mut self, id: WorkerId) -> Result<u32, Failure> {
        match self.servers.get(&id) {
            Some(server) => Ok(server.pid()),
            None => Ok(self.worker(id)?.pid()),
        }
    }

    fn server_command<'a>(&'a self, id: WorkerId, directory: &'a PathBuf) -> Option<ServerCommand<'a>> {
        let subject = &self.plan.subjects[id.side];
        Some(ServerCommand {
            files: subject.build.server.as_ref()?,
            program: &subject.build.library,
            options: &subject.options,
            directory,
            network: Network::Socket,
        })
    }

    fn fail_server(&self, id: WorkerId, doing: &str, error: &ServerError) -> Failure {
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
