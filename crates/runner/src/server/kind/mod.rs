//! The seam at which a kind of server joins: how it is started, made, greeted and stopped, and what its log says of why it ended.

mod mongodb;
mod mysql;
mod postgres;

use super::log::Cause;
use super::ready::Progress;
use super::{Places, ServerCommand};
use model::address::ServerAddress;
use model::build::ServerFiles;
use model::config::Options;
use model::workload::sql::Dialect;
use std::ffi::OsString;
use std::net::IpAddr;

/// A kind of server.
pub trait ServerKind: Sync {
    /// The user that a new data directory has, who needs no password.
    fn user(&self) -> &'static str;

    /// What dbdyno decides itself: where a server listens, where its files and its log are, and whether it starts again after a crash.
    fn is_ours(&self, option: &str) -> bool;

    /// Whether an option decides what a new data directory looks like, so that it is given when that is made, too.
    fn is_shaping(&self, option: &str) -> bool;

    /// The name of its socket in the directory of sockets.
    fn socket_name(&self, port: u16) -> String;

    /// Its command line: what it needs to run privately, then the configuration.
    fn arguments(&self, command: &ServerCommand<'_>, places: &Places, listening: Port) -> Vec<OsString>;

    /// The command line of the program that makes a data directory, or reads SQL into one that nothing serves.
    fn arguments_of_initialise(
        &self,
        files: &ServerFiles,
        options: &Options,
        places: &Places,
    ) -> Vec<OsString>;

    /// What it reads at each start, before clients: statements, or of MongoDB its configuration; none if it reads nothing.
    fn first_statements(&self, command: &ServerCommand<'_>) -> Option<String>;

    /// Whether it can be told, with these options, to let in nobody but who comes from one address.
    fn admits_one_client(&self, options: &Options) -> bool;

    /// The file of who may log in from where, if it has one: its own host by its socket, and clients from this address.
    fn access(&self, _client: IpAddr) -> Option<String> {
        None
    }

    /// Whether a data directory may lack what the server needs to start although the program that made it ended well.
    fn may_be_incomplete(&self) -> bool;

    /// Whether it shares memory with its own processes that outlives them if they are killed.
    fn shares_memory(&self) -> bool;

    /// The signal that ends it, cuts clients off and writes what is dirty.
    fn stop_signal(&self) -> libc::c_int;

    /// Files of its data directory from which it would fill its caches again after a start.
    fn kept_caches(&self) -> &'static [&'static str];

    /// What a client says first; nothing if the server begins.
    fn first_message(&self, address: &ServerAddress) -> Vec<u8>;

    /// How far the server is by what a client has received. Absent if what decides has not come yet.
    fn progress(&self, received: &[u8]) -> Option<Progress>;

    /// What a client says that goes.
    fn last_message(&self) -> &'static [u8];

    /// Why the server ended, if a line of its log tells.
    fn cause(&self, line: &str) -> Option<Cause>;

    /// Whether a line of its log says that it waits until there is free space on its disk.
    fn waits_for_space(&self, _line: &str) -> bool {
        false
    }
}

/// The port of a server, and where clients may come to it, if they may.
#[derive(Debug, Clone, Copy)]
pub struct Port {
    pub number: u16,
    pub listens: Option<IpAddr>,
}

/// What speaks a dialect.
pub fn of(dialect: Dialect) -> &'static dyn ServerKind {
    match dialect {
        Dialect::Postgres => &postgres::Postgres,
        Dialect::Mysql => &mysql::Mysql,
        Dialect::Mongodb => &mongodb::Mongodb,
    }
}

/// `name=value`.
fn assignment(name: &str, value: impl Into<OsString>) -> OsString {
    let mut text = OsString::from(format!("{name}="));
    text.push(value.into());
    text
}
