//! What a server's build says of itself: its facts and its settings, with the options of a plan or with none. Found by
//! starting it on an empty data directory before anything is measured.

use super::probe::ProbePlace;
use crate::process::wait::AfterInterrupt;
use crate::process::worker::{Worker, WorkerCommand, WorkerError};
use crate::server::elsewhere::DROP_AFTER_INTERRUPT;
use crate::server::{FreshServer, Network, Server, ServerError};
use model::address::ServerAddress;
use model::build::{EngineBuild, OTHERS_WATCHED};
use model::config::Options;
use model::environment::Environment;
use model::units::Nanos;
use model::wire::{EngineText, Library, Reply, Request};
use std::collections::BTreeMap;
use std::path::PathBuf;

const TIMEOUT: Nanos = Nanos::from_secs(60);

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

/// What a server that is not ours said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookElsewhere {
    /// As of any server.
    pub server: ServerLook,
    /// What others asked of it in [`OTHERS_WATCHED`]; absent where it does not tell.
    pub statements_of_others: Option<u64>,
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

/// What a server is started with, to look at it.
pub struct LookAt<'a> {
    pub build: &'a EngineBuild,
    pub options: &'a Options,
    pub environment: &'a Environment,
}

/// Makes a data directory in the place, by one in `kept`, starts a server on it, asks, and stops it.
pub fn look(
    place: &ProbePlace<'_>,
    kept: PathBuf,
    at: &LookAt<'_>,
    interrupted: &dyn Fn() -> bool,
) -> Result<ServerLook, ProbeError> {
    let LookAt { build, options, environment } = *at;
    let directory = place.directory.join("db");
    let fresh = FreshServer { build, options, environment, directory, network: Network::Socket, kept };
    let server = fresh.run(interrupted)?;
    let look = ask(place, &server, interrupted);
    let stopped = server.stop(interrupted);
    let look = look?;
    stopped?;
    Ok(look)
}

/// Connects to a server that is not ours, asks, and sees whether these tables can be made there. Nothing stays.
pub fn look_elsewhere(
    place: &ProbePlace<'_>,
    address: ServerAddress,
    tables: Vec<String>,
    interrupted: &dyn Fn() -> bool,
) -> Result<LookElsewhere, WorkerError> {
    let mut client = Client::start(place, interrupted)?;
    let server = client.look(address)?;
    client.ask(&Request::ClaimTables { names: tables })?;
    let watched = client.ask(&Request::WatchOthers { wall: OTHERS_WATCHED });
    let dropped = client.drop_tables();
    client.worker.stop(interrupted);
    dropped?;
    match watched? {
        Reply::OthersWatched { statements } => Ok(LookElsewhere { server, statements_of_others: statements }),
        other => Err(WorkerError::Protocol(format!("{other:?}"))),
    }
}

fn ask(
    place: &ProbePlace<'_>,
    server: &Server,
    interrupted: &dyn Fn() -> bool,
) -> Result<ServerLook, WorkerError> {
    let mut client = Client::start(place, interrupted)?;
    let look = client.look(server.address().clone())?;
    client.worker.stop(interrupted);
    Ok(look)
}

/// A worker that asks.
struct Client<'a> {
    worker: Worker,
    interrupted: &'a dyn Fn() -> bool,
}

impl<'a> Client<'a> {
    fn start(place: &ProbePlace<'_>, interrupted: &'a dyn Fn() -> bool) -> Result<Client<'a>, WorkerError> {
        let worker = Worker::start(&WorkerCommand {
            program: place.program.to_owned(),
            stderr: place.directory.join("stderr"),
            directory: place.directory.to_owned(),
            environment: Environment::default(),
        })?;
        Ok(Client { worker, interrupted })
    }

    fn ask(&mut self, request: &Request) -> Result<Reply, WorkerError> {
        self.worker.send(request)?;
        self.worker.receive("probe", TIMEOUT, self.interrupted)
    }

    /// Drops what was claimed: what a claim makes lies on a disk that is not ours, so it goes even if the user wants to stop.
    fn drop_tables(&mut self) -> Result<Reply, WorkerError> {
        let after_interrupt = AfterInterrupt::of(DROP_AFTER_INTERRUPT);
        self.worker.send(&Request::DropTables)?;
        self.worker.receive("drop-tables", TIMEOUT, &|| after_interrupt.is_over((self.interrupted)()))
    }

    /// Facts and settings.
    fn look(&mut self, address: ServerAddress) -> Result<ServerLook, WorkerError> {
        let loaded = self.ask(&Request::Load { library: Library::Server { address } })?;
        let settings = self.ask(&Request::ReadText { what: EngineText::Settings })?;
        match (loaded, settings) {
            (Reply::Loaded { facts, .. }, Reply::Text { text }) => {
                let settings = format!("{SETTINGS_SECTION}\n{}", text.unwrap_or_default());
                Ok(ServerLook { facts, settings })
            }
            (loaded, settings) => Err(WorkerError::Protocol(format!("{loaded:?}, {settings:?}"))),
        }
    }
}
