//! The life of a server under test: its data directory is made, it starts in the foreground as our own child, it is
//! ready when it greets a client, it stops when asked, and it is killed with all that it started when we are.
//!
//! Never in here: queries (they are `load`'s), and a server that we did not start.
//!
//! In the directory of a server, which carries our marker: `data`, what an image is copied from; `s`, the socket;
//! `tmp`; and two logs. Of these only `data` outlives a stop with a meaning.

pub(crate) mod account;
pub mod elsewhere;
mod error;
mod fresh;
mod guard;
mod initialise;
mod kept;
mod kind;
mod launch;
mod log;
mod ready;

pub use account::we_are_root;
pub use error::ServerError;
pub use fresh::FreshServer;
pub use initialise::initialise;

use crate::marked_dir::MARKER;
use crate::process::wait::{Unmet, Wait};
use crate::process::{preload, tree};
use account::Account;
use guard::Guard;
use kind::{Port, ServerKind};
use launch::{LOOK, Launch, Started};
use log::Log;
use model::address::{Endpoint, ServerAddress};
use model::build::ServerFiles;
use model::config::Options;
use model::environment::Environment;
use model::units::Nanos;
use model::workload::sql::Dialect;
use ready::{Greeting, Progress};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The database that a server has for us.
const DATABASE: &str = "bench";
/// The user of a Postgres that we made. MySQL and MariaDB are made with `root`, without a password.
const USER: &str = "bench";
/// The port in the name of a Postgres' socket that listens on no port.
const NO_PORT: u16 = 5432;
/// Free ports that are tried for one server: another program may take one before the server does. Not tuned.
const PORTS_TRIED: u32 = 5;
/// The longest path of a Unix socket, in bytes: unix(7), less the zero at its end.
const SOCKET_PATH_BYTES: usize = 107;
/// A start with recovery of a large redo log takes minutes.
const START_TIMEOUT: Nanos = Nanos::from_secs(300);
/// A stop writes all dirty pages.
const STOP_TIMEOUT: Nanos = Nanos::from_secs(300);
/// A server that is killed closes its sockets first, and then gives its memory back, before its parent sees that it has ended.
const END_TIMEOUT: Nanos = Nanos::from_millis(500);
/// `data` within a server's directory: what an image of it is copied from, after a stop.
pub const DATA: &str = "data";

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// On a Unix socket in its directory, and nowhere else.
    Socket,
    /// On 127.0.0.1 too, where clients are to come.
    Loopback {
        /// The port; a free one where absent.
        port: Option<u16>,
    },
    /// On an address of this host too, on a free port, for clients that come from one address of another host.
    Address { listen: IpAddr, client: IpAddr },
}

impl Network {
    /// Where clients are to come, if by TCP.
    fn address(self) -> Option<IpAddr> {
        match self {
            Network::Socket => None,
            Network::Loopback { .. } => Some(Ipv4Addr::LOCALHOST.into()),
            Network::Address { listen, .. } => Some(listen),
        }
    }

    /// From where clients of another host come.
    fn client(self) -> Option<IpAddr> {
        match self {
            Network::Socket | Network::Loopback { .. } => None,
            Network::Address { client, .. } => Some(client),
        }
    }

    /// Whether its port is any that is free.
    fn has_any_port(self) -> bool {
        matches!(self, Network::Loopback { port: None } | Network::Address { .. })
    }
}

/// What is needed to make or start a server.
#[derive(Debug, Clone, Copy)]
pub struct ServerCommand<'a> {
    pub files: &'a ServerFiles,
    pub program: &'a Path,
    /// Options by name, as [`model::config::for_server`] gives them; of MySQL, one without a value is a flag.
    pub options: &'a Options,
    /// What its configuration adds to its environment; its data directory is made without it.
    pub environment: &'a Environment,
    /// Its directory, with our marker.
    pub directory: &'a Path,
    /// Where it listens: the same on all sides.
    pub network: Network,
}

/// A server that runs. Dropped without [`Server::stop`], it is killed.
///
/// It dies with the thread that started it: start it from one that lives as long as the run.
pub struct Server {
    started: Started,
    program: PathBuf,
    address: ServerAddress,
    socket: PathBuf,
    environment: Environment,
    log: Log,
    /// Sent home after the server has ended: fields are dropped in their order.
    guard: Option<Guard>,
}

impl Server {
    /// Starts a server as [`Server::begin`] does, and waits until it greets a client.
    pub fn start(
        command: &ServerCommand<'_>,
        started: impl Fn(u32) -> io::Result<()>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Server, ServerError> {
        Server::begin(command, &started)?.until_ready(command, started, interrupted)
    }

    /// Starts a server on the data directory that is there and does not wait for it ([`Server::until_ready`] does). `started` is told its
    /// process id at once, before it has children: to put it into a control group.
    pub fn begin(
        command: &ServerCommand<'_>,
        started: impl FnOnce(u32) -> io::Result<()>,
    ) -> Result<Server, ServerError> {
        let places = Places::below(command.directory)?;
        let account = account::for_servers()?;
        command.check_files(account.as_ref())?;
        let kind = kind::of(command.files.dialect);
        if command.network.client().is_some() && !kind.admits_one_client(command.options) {
            return Err(ServerError::AdmitsAll { program: command.program.to_owned() });
        }
        let Listening { endpoint, port, socket } = listening(command.network, kind, &places)?;
        places.make_ready(kind.first_statements(command), account.as_ref())?;
        places.write(&places.access, command.network.client().and_then(|client| kind.access(client)))?;
        let log = Log::from_here(places.log.clone(), command.files.dialect);
        let launch = Launch {
            files: command.files,
            program: command.program,
            arguments: &kind.arguments(command, &places, port),
            environment: command.environment,
            directory: &places.data,
            account: account.as_ref(),
            input: None,
            log: &places.log,
        };
        let address = ServerAddress {
            storage: command.files.storage.clone(),
            ..ServerAddress::new(command.files.dialect, endpoint, kind.user(), DATABASE)
        };
        let program = command.program.to_owned();
        let running = launch::start(&launch)?;
        let guard = running.guard(kind.shares_memory(), account.as_ref())?;
        let environment = command.environment.clone();
        let server = Server { started: running, program, address, socket, environment, log, guard };
        started(server.pid())
            .map_err(|source| ServerError::Start { program: command.program.to_owned(), source })?;
        Ok(server)
    }

    /// Waits until a server that was begun by this command greets a client. One whose free port another program took meanwhile is
    /// begun again, with another.
    pub fn until_ready(
        self,
        command: &ServerCommand<'_>,
        started: impl Fn(u32) -> io::Result<()>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Server, ServerError> {
        let has_any_port = command.network.has_any_port();
        let mut server = self;
        for _ in 1..PORTS_TRIED {
            match server.wait_until_ready(interrupted) {
                Err(ServerError::PortTaken { .. }) if has_any_port => {
                    // It cleans up behind itself, and would take its successor for its own.
                    drop(server);
                    server = Server::begin(command, &started)?;
                }
                ready => return ready.map(|()| server),
            }
        }
        server.wait_until_ready(interrupted).map(|()| server)
    }

    fn wait_until_ready(&mut self, interrupted: &dyn Fn() -> bool) -> Result<(), ServerError> {
        // On its socket nobody is asked for a password, as one may be who comes over the network.
        let endpoint = Endpoint::Socket { path: self.socket.clone() };
        let address = ServerAddress { endpoint, ..self.address.clone() };
        let mut greeting = Greeting::new(&address);
        let wait = Wait { pause: LOOK, timeout: START_TIMEOUT };
        let greeted = wait.until(&mut || interrupted(), || {
            let progress = greeting.look();
            if let Err(error) =
                self.still_runs("while starting").and_then(|()| self.has_space("while starting"))
            {
                return Some(Err(error));
            }
            match progress {
                Progress::Ready => Some(Ok(())),
                Progress::Refused(message) => {
                    let (program, tail) = (self.program.clone(), self.log.tail());
                    Some(Err(ServerError::Refused { program, message, tail }))
                }
                Progress::Waiting => None,
            }
        });
        greeted.unwrap_or_else(|unmet| Err(self.unmet(unmet, "while starting", START_TIMEOUT)))?;
        preload::check(&self.environment, self.pid())?;
        self.started.note_shared();
        if let Some(guard) = &mut self.guard {
            guard.remember(self.started.shared());
        }
        // MariaDB starts without a storage engine that it cannot load; each statement would fail later.
        match self.log.missing_plugin() {
            Some(plugin) => Err(ServerError::MissingPlugin {
                program: self.program.clone(),
                plugin,
                tail: self.log.tail(),
            }),
            None => Ok(()),
        }
    }

    /// Its process id: what freezes and thaws is the tree below it ([`crate::process::tree`]).
    pub fn pid(&self) -> u32 {
        self.started.child.id()
    }

    /// How it is reached.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Its Unix socket, which it has in any case.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether it still runs; why not, where it does not.
    pub fn check(&mut self) -> Result<(), ServerError> {
        self.still_runs("while running")
    }

    /// Whether it gets on: one that runs may wait until there is space on its disk, and its clients with it.
    pub fn gets_on(&mut self) -> Result<(), ServerError> {
        self.has_space("while running")
    }

    /// The same when its client has failed: it may be about to end.
    pub fn check_after_failure(&mut self) -> Result<(), ServerError> {
        let wait = Wait { pause: LOOK, timeout: END_TIMEOUT };
        wait.until(&mut || false, || self.check().err()).map_or(Ok(()), Err)
    }

    /// The file of its log.
    pub fn log_file(&self) -> &Path {
        self.log.path()
    }

    /// The end of its log.
    pub fn log_tail(&self) -> String {
        self.log.tail()
    }

    fn still_runs(&mut self, doing: &'static str) -> Result<(), ServerError> {
        let status = match self.started.child.try_wait() {
            Ok(None) => return Ok(()),
            Ok(Some(status)) => Ok(status),
            Err(error) => Err(error),
        };
        Err(launch::died(&self.program, doing, status, &self.log))
    }

    fn has_space(&mut self, doing: &'static str) -> Result<(), ServerError> {
        match self.log.waits_for_space() {
            Some(line) => Err(ServerError::WaitsForSpace { program: self.program.clone(), doing, line }),
            None => Ok(()),
        }
    }

    fn unmet(&self, unmet: Unmet, doing: &'static str, timeout: Nanos) -> ServerError {
        match unmet {
            Unmet::Interrupted => ServerError::Interrupted,
            Unmet::TimedOut => {
                ServerError::TimedOut { program: self.program.clone(), doing, timeout, tail: self.log.tail() }
            }
        }
    }

    /// Stops it: no new clients, the present ones are cut off, what is dirty is written. Killed if that does not end, and at
    /// once if the user wants to stop: its data lies in a directory of ours, and goes with the run.
    pub fn stop(mut self, interrupted: &dyn Fn() -> bool) -> Result<(), ServerError> {
        self.check()?;
        tree::thaw(self.pid());
        send(self.pid(), kind::of(self.address.dialect).stop_signal());
        let wait = Wait { pause: LOOK, timeout: STOP_TIMEOUT };
        let ended = wait.until(&mut || interrupted(), || match self.started.child.try_wait() {
            Ok(Some(status)) if status.success() => Some(Ok(())),
            Ok(None) => self.has_space("while stopping").err().map(Err),
            Ok(Some(_)) | Err(_) => Some(self.still_runs("while stopping")),
        });
        // Of one that has not ended this was the last of its owners: it is killed.
        ended.unwrap_or_else(|unmet| Err(self.unmet(unmet, "while stopping", STOP_TIMEOUT)))
    }
}

/// Removes from the data directory of a server that has ended what it would fill its caches from at its next start.
///
/// # Errors
/// A file that is there and cannot be removed.
pub fn forget_caches(directory: &Path, dialect: Dialect) -> io::Result<()> {
    for name in kind::of(dialect).kept_caches() {
        match fs::remove_file(directory.join(DATA).join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// What dbdyno decides itself of the options of a server.
pub fn is_ours(dialect: Dialect, option: &str) -> bool {
    kind::of(dialect).is_ours(option)
}

fn send(pid: u32, signal: libc::c_int) {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return };
    // SAFETY: kill(2) of a child of ours that has not been waited for, so its number is still its own.
    unsafe { libc::kill(pid, signal) };
}

/// Where a server will listen.
struct Listening {
    /// Where clients are to come.
    endpoint: Endpoint,
    port: Port,
    socket: PathBuf,
}

fn listening(network: Network, kind: &dyn ServerKind, places: &Places) -> Result<Listening, ServerError> {
    let number = match network {
        Network::Socket => NO_PORT,
        Network::Loopback { port } => free_port(port.unwrap_or(0))?,
        Network::Address { listen, .. } => {
            let listener = TcpListener::bind((listen, 0)).and_then(|listener| listener.local_addr());
            listener.map_err(|source| ServerError::Address { address: listen, source })?.port()
        }
    };
    // A server that listens on a port has its socket, too.
    let socket = places.sockets.join(kind.socket_name(number));
    if socket.as_os_str().len() > SOCKET_PATH_BYTES {
        return Err(ServerError::SocketPath { path: socket, most: SOCKET_PATH_BYTES });
    }
    let endpoint = match network.address() {
        None => Endpoint::Socket { path: socket.clone() },
        Some(address) => Endpoint::Tcp { host: address.to_string(), port: number },
    };
    let port = Port { number, listens: network.address() };
    Ok(Listening { endpoint, port, socket })
}

/// The port, where nothing listens on it; any for 0.
fn free_port(port: u16) -> Result<u16, ServerError> {
    let timeout = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| listener.local_addr());
    Ok(timeout.map_err(|source| ServerError::Port { port, source })?.port())
}

impl ServerCommand<'_> {
    /// What must be there and within reach before anything is started.
    fn check_files(&self, account: Option<&Account>) -> Result<(), ServerError> {
        let needed = [("the program", self.program), ("the directory", self.files.share.as_path())];
        for (what, path) in needed {
            if !path.exists() {
                return Err(ServerError::MissingFile { what, path: path.to_owned() });
            }
        }
        if let Some(account) = account {
            account.can_reach(&self.directory.join(MARKER))?;
            account.can_reach(self.program)?;
        }
        Ok(())
    }
}

/// The parts of a server's directory.
struct Places {
    directory: PathBuf,
    data: PathBuf,
    sockets: PathBuf,
    temporary: PathBuf,
    first_statements: PathBuf,
    /// Who may log in from where.
    access: PathBuf,
    log: PathBuf,
    making: PathBuf,
}

impl Places {
    fn below(directory: &Path) -> Result<Places, ServerError> {
        if !directory.join(MARKER).is_file() {
            return Err(ServerError::NotOurs { path: directory.to_owned() });
        }
        // Servers change their working directory.
        let directory = fs::canonicalize(directory).map_err(ServerError::file("find", directory))?;
        let below = |name: &str| directory.join(name);
        Ok(Places {
            data: below(DATA),
            sockets: below("s"),
            temporary: below("tmp"),
            first_statements: below("first.sql"),
            access: below("access.conf"),
            log: below("log"),
            making: below("initialise.log"),
            directory,
        })
    }

    /// A directory of the server's user, with the permissions that Postgres asks for.
    fn make(&self, path: &Path, account: Option<&Account>) -> Result<(), ServerError> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(ServerError::File { action: "make", path: path.to_owned(), source: error });
            }
            _ => {}
        }
        account.map_or(Ok(()), |account| account.own(path))
    }

    /// All that a start needs beside the data. A socket that a killed server left is removed; so are its temporary files.
    fn make_ready(
        &self,
        first_statements: Option<String>,
        account: Option<&Account>,
    ) -> Result<(), ServerError> {
        if !self.data.is_dir() {
            return Err(ServerError::NoData { path: self.data.clone() });
        }
        // A copy of an image is its maker's, and may have lost the permissions that Postgres insists on.
        fs::set_permissions(&self.data, fs::Permissions::from_mode(0o700))
            .map_err(ServerError::file("set the permissions of", &self.data))?;
        if let Some(account) = account {
            account.own(&self.data)?;
        }
        for directory in [&self.sockets, &self.temporary] {
            if directory.exists() {
                fs::remove_dir_all(directory).map_err(ServerError::file("remove", directory))?;
            }
            self.make(directory, account)?;
        }
        self.write(&self.first_statements, first_statements)
    }

    /// Writes a file that the server's user may read, if there is something to write.
    fn write(&self, path: &Path, text: Option<String>) -> Result<(), ServerError> {
        let Some(text) = text else { return Ok(()) };
        fs::write(path, text).map_err(ServerError::file("write", path))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o644))
            .map_err(ServerError::file("set the permissions of", path))
    }
}

#[cfg(test)]
mod tests;
