//! A fresh server of a build: an empty data directory is made, and the server started on it. The one way in which a
//! run, a probe and `engine start` come to a server.

use super::{Network, Server, ServerCommand, ServerError, kept};
use crate::marked_dir;
use model::build::EngineBuild;
use model::config::Options;
use model::environment::Environment;
use std::io;
use std::path::PathBuf;

/// A server to be made.
#[derive(Debug, Clone)]
pub struct FreshServer<'a> {
    pub build: &'a EngineBuild,
    /// Options by name, as [`model::config::for_server`] gives them.
    pub options: &'a Options,
    pub environment: &'a Environment,
    /// Its directory, which is not there yet; the one above it is.
    pub directory: PathBuf,
    pub network: Network,
    /// Where empty data directories are kept: the server's own is a copy of one.
    pub kept: PathBuf,
}

impl FreshServer<'_> {
    /// Makes its directory and, in it, the data directory. Several may be made at the same time.
    pub fn make(&self, interrupted: &dyn Fn() -> bool) -> Result<(), ServerError> {
        let command = self.command()?;
        marked_dir::create_marked_dir(&self.directory)?;
        kept::initialise(&self.kept, &self.build.sha256, &command, interrupted)
    }

    /// Starts it on what [`FreshServer::make`] made, and does not wait; see [`Server::begin`].
    pub fn begin(&self, started: impl FnOnce(u32) -> io::Result<()>) -> Result<Server, ServerError> {
        Server::begin(&self.command()?, started)
    }

    /// Waits until what [`FreshServer::begin`] began is ready, as [`Server::until_ready`] does.
    pub fn until_ready(
        &self,
        begun: Server,
        started: impl Fn(u32) -> io::Result<()>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Server, ServerError> {
        begun.until_ready(&self.command()?, started, interrupted)
    }

    /// Makes and starts it, with no limit set to it.
    pub fn run(&self, interrupted: &dyn Fn() -> bool) -> Result<Server, ServerError> {
        self.make(interrupted)?;
        Server::start(&self.command()?, |_| Ok(()), interrupted)
    }

    fn command(&self) -> Result<ServerCommand<'_>, ServerError> {
        let not_startable = || ServerError::NotStartable { reference: self.build.reference.to_string() };
        Ok(ServerCommand {
            files: self.build.server.as_ref().ok_or_else(not_startable)?,
            program: &self.build.library,
            options: self.options,
            environment: self.environment,
            directory: &self.directory,
            network: self.network,
        })
    }
}
