//! Why a server could not be made, started, kept or stopped.

use super::log::Cause;
use crate::marked_dir::MarkedDirError;
use crate::process::child;
use crate::process::preload::NotPreloaded;
use model::units::Nanos;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Why a server could not be made, started, kept or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("failed to start `{}`", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("{reference} is no server that is started here")]
    NotStartable { reference: String },
    /// It runs without a library that it was to have.
    #[error(transparent)]
    NotPreloaded(#[from] NotPreloaded),
    /// The directory of the server could not be made.
    #[error(transparent)]
    Directory(#[from] MarkedDirError),
    #[error("failed to {action} `{}`", path.display())]
    File {
        /// `make`, `copy`, `give away`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("`{}` was not made by dbdyno, so no server is put into it; choose another --work-dir", path.display())]
    NotOurs { path: PathBuf },
    #[error("`{}` is there already, so no data directory is made in its place; remove it first", path.display())]
    NotEmpty { path: PathBuf },
    #[error("there is no data directory `{}`: it is made, or copied from an image, before the start", path.display())]
    NoData { path: PathBuf },
    #[error("{what} `{}` is missing from the build; fetch it again, or correct the path of your own build", path.display())]
    MissingFile {
        /// `the program`, `the SQL script`.
        what: &'static str,
        path: PathBuf,
    },
    #[error(
        "servers refuse to run as root, and /etc/passwd has no user `{wanted}` to run them as; \
         start dbdyno as an ordinary user, or add that one"
    )]
    NoAccount { wanted: &'static str },
    #[error(
        "servers refuse to run as root and are run as the user `{user}`, which may not enter `{}` (mode {mode:o}) on \
         the way to `{}`; name a --work-dir that every user can enter, such as one that `install -d -m 755 /var/tmp/dbdyno` makes",
        blocked.display(), path.display()
    )]
    Unreachable { user: String, path: PathBuf, blocked: PathBuf, mode: u32 },
    #[error(
        "the path of the server's socket, `{}`, has {} bytes, and a Unix socket may have {most}; \
         name a --work-dir with a shorter path", path.display(), path.as_os_str().len()
    )]
    SocketPath { path: PathBuf, most: usize },
    #[error(
        "failed to listen on port {port} of 127.0.0.1; end what listens there, or let dbdyno choose a free port"
    )]
    Port { port: u16, source: io::Error },
    #[error(
        "failed to listen on {address}, where clients of another host are to come: name an address of this host by --server-address, or \
         as `server_address` of the plan"
    )]
    Address { address: IpAddr, source: io::Error },
    #[error(
        "`{}` lets in whoever reaches its port: it asks for no password, and cannot keep it to the host of the clients; measure it with clients and \
         server on one host", program.display()
    )]
    AdmitsAll { program: PathBuf },
    #[error(
        "`{}` cannot listen on its port, which another program took while it started; try again{}",
        program.display(), tail_sentence(tail)
    )]
    PortTaken { program: PathBuf, tail: String },
    #[error(
        "`{}` does not know the option `{option}`; take it out of the configuration, or give it there for the releases \
         that have it (`[[config.when]]`){}", program.display(), tail_sentence(tail)
    )]
    UnknownOption {
        program: PathBuf,
        option: String,
        /// The end of its log.
        tail: String,
    },
    #[error(
        "`{}` refuses the value of the option `{option}`; correct it in the configuration{}", 
        program.display(), tail_sentence(tail)
    )]
    BadValue { program: PathBuf, option: String, tail: String },
    #[error(
        "the data directory was made by another version than `{}`, which cannot use it; build the data again with this \
         release{}", program.display(), tail_sentence(tail)
    )]
    OtherVersion { program: PathBuf, tail: String },
    #[error(
        "`{}` cannot load `{plugin}`; the build comes without it or lacks a library that it needs{}", 
        program.display(), tail_sentence(tail)
    )]
    MissingPlugin { program: PathBuf, plugin: String, tail: String },
    /// The user that the server runs as may not use a file.
    #[error("`{}` lacks a permission{}", program.display(), tail_sentence(tail))]
    NotPermitted { program: PathBuf, tail: String },
    #[error("`{}` ended {doing}: there is no space left on its disk{}", program.display(), tail_sentence(tail))]
    DiskFull {
        program: PathBuf,
        /// `while starting`, `while running`.
        doing: &'static str,
        tail: String,
    },
    /// It would go on when there is space, and nobody is there to make some.
    #[error(
        "`{}` waits {doing} until there is space on its disk, and is ended: {line}", program.display()
    )]
    WaitsForSpace {
        program: PathBuf,
        doing: &'static str,
        /// Of its log.
        line: String,
    },
    /// It ended, and not because we asked.
    #[error("`{}` {how} {doing}{}", program.display(), tail_sentence(tail))]
    Crashed {
        program: PathBuf,
        /// `was killed by signal 11`, `exited with status 1`.
        how: String,
        /// `while starting`, `while running`.
        doing: &'static str,
        tail: String,
    },
    #[error(
        "`{}` made a data directory without {what}: its SQL scripts do not fit this release{}", 
        program.display(), tail_sentence(tail)
    )]
    Incomplete { program: PathBuf, what: String, tail: String },
    #[error("`{}` was killed {doing}: it took more than {:.0} s{}", program.display(), timeout.as_secs_f64(), tail_sentence(tail))]
    TimedOut {
        program: PathBuf,
        /// `while starting`, `while stopping`.
        doing: &'static str,
        timeout: Nanos,
        tail: String,
    },
    #[error("`{}` runs and refuses a client: {message}{}", program.display(), tail_sentence(tail))]
    Refused { program: PathBuf, message: String, tail: String },
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

impl ServerError {
    /// For `map_err`: what was tried with which file.
    pub(super) fn file(action: &'static str, path: &Path) -> impl Fn(io::Error) -> ServerError {
        move |source| ServerError::File { action, path: path.to_owned(), source }
    }

    /// Of a program that has ended: what its log says of the reason, else how it ended.
    pub(super) fn died(
        program: &Path,
        doing: &'static str,
        status: io::Result<ExitStatus>,
        cause: Option<Cause>,
        tail: String,
    ) -> ServerError {
        let program = program.to_owned();
        match cause {
            Some(Cause::UnknownOption(option)) => ServerError::UnknownOption { program, option, tail },
            Some(Cause::BadValue(option)) => ServerError::BadValue { program, option, tail },
            Some(Cause::OtherVersion) => ServerError::OtherVersion { program, tail },
            Some(Cause::MissingPlugin(plugin)) => ServerError::MissingPlugin { program, plugin, tail },
            Some(Cause::NotPermitted) => ServerError::NotPermitted { program, tail },
            Some(Cause::PortTaken) => ServerError::PortTaken { program, tail },
            Some(Cause::DiskFull) => ServerError::DiskFull { program, doing, tail },
            None => {
                let how = match status {
                    Ok(status) => child::how_it_ended(status),
                    Err(error) => format!("cannot be waited for ({error})"),
                };
                ServerError::Crashed { program, how, doing, tail }
            }
        }
    }
}

fn tail_sentence(tail: &str) -> String {
    if tail.is_empty() { String::new() } else { format!("; the end of its log:\n{tail}") }
}
