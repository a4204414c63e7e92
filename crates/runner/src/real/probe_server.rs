//! What a server's build says of itself: its facts and its settings, with the options of a plan or with none. Found by
//! starting it on an empty data directory before anything is measured.

use super::probe::ProbePlace;
use crate::process::worker::{Worker, WorkerCommand, WorkerError};
use crate::server::{FreshServer, Network, Server, ServerError};
use model::build::EngineBuild;
use model::config::Options;
use model::units::Nanos;
use model::wire::{EngineText, Library, Reply, Request};
use std::collections::BTreeMap;

const BOUND: Nanos = Nanos::from_secs(60);

/// The section that stands before the settings, so that they read as an options file of one section.
pub const SETTINGS_SECTION: &str = "[Settings]";

/// What a server said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLook {
    /// `version`, `CFLAGS`, ..
    pub facts: BTreeMap<String, String>,
    /// Its settings as an options file of one section.
    pub settings: String,
}

/// Why a server could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It could not be made or started.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// It runs, and the client cannot use it.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// Makes a data directory in the place, starts a server on it with these options, asks, and stops it.
pub fn look(
    place: &ProbePlace<'_>,
    build: &EngineBuild,
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Result<ServerLook, ProbeError> {
    let directory = place.directory.join("db");
    let server = FreshServer { build, options, directory, network: Network::Socket }.run(interrupted)?;
    let look = ask(place, &server, interrupted);
    let stopped = server.stop();
    let look = look?;
    stopped?;
    Ok(look)
}

fn ask(
    place: &ProbePlace<'_>,
    server: &Server,
    interrupted: &dyn Fn() -> bool,
) -> Result<ServerLook, WorkerError> {
    let mut worker = Worker::start(&WorkerCommand {
        program: place.program.to_owned(),
        stderr: place.directory.join("stderr"),
        directory: place.directory.to_owned(),
    })?;
    let mut ask = |request: &Request| {
        worker.send(request)?;
        worker.receive("probe", BOUND, interrupted)
    };
    let loaded = ask(&Request::Load { library: Library::Server { address: server.address().clone() } })?;
    let settings = ask(&Request::ReadText { what: EngineText::Settings })?;
    worker.stop(interrupted);
    match (loaded, settings) {
        (Reply::Loaded { facts, .. }, Reply::Text { text }) => {
            let settings = format!("{SETTINGS_SECTION}\n{}", text.unwrap_or_default());
            Ok(ServerLook { facts, settings })
        }
        (loaded, settings) => Err(WorkerError::Protocol(format!("{loaded:?}, {settings:?}"))),
    }
}
