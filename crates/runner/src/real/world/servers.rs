//! The servers of a launch: a fresh data directory for each, made at the same time, started one after another.

use super::RealWorld;
use crate::campaign::action::{DATABASE, WorkerId};
use crate::campaign::world::{Failure, Severity};
use crate::clock::Stopwatch;
use crate::marked_dir;
use crate::server::{self, Network, Server, ServerCommand, ServerError};
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
