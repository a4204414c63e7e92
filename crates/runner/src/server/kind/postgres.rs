//! Postgres.

use super::{Port, ServerKind, assignment};
use crate::server::log::{Cause, quoted};
use crate::server::ready::Progress;
use crate::server::{Places, ServerCommand, USER};
use crate::unwritable::Unwritable;
use model::address::ServerAddress;
use model::build::ServerFiles;
use model::config::Options;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;

/// Postgres, and what is started like it.
pub struct Postgres;

const OURS: &[&str] = &[
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "log_destination",
    "log_directory",
    "log_filename",
    "logging_collector",
    "port",
    "restart_after_crash",
    "ssl",
    "ssl_ca_file",
    "ssl_cert_file",
    "ssl_key_file",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
];

/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 196_608;
/// "The database system is starting up".
const CANNOT_CONNECT_NOW: &str = "57P03";
/// "Terminate".
const TERMINATE: &[u8] = &[b'X', 0, 0, 0, 4];

impl ServerKind for Postgres {
    fn user(&self) -> &'static str {
        USER
    }

    fn is_ours(&self, option: &str) -> bool {
        OURS.contains(&option)
    }

    fn is_shaping(&self, _option: &str) -> bool {
        false
    }

    /// It goes by the port, and cannot be chosen.
    fn socket_name(&self, port: u16) -> String {
        format!(".s.PGSQL.{port}")
    }

    fn arguments(
        &self,
        command: &ServerCommand<'_>,
        places: &Places,
        Port { number, listens }: Port,
    ) -> Vec<OsString> {
        let mut arguments = vec!["-D".into(), places.data.clone().into_os_string()];
        let mut set = |name: &str, value: OsString| arguments.extend(["-c".into(), assignment(name, value)]);
        set("listen_addresses", listens.map(|address| address.to_string()).unwrap_or_default().into());
        if command.network.client().is_some() {
            set("hba_file", places.access.clone().into_os_string());
        }
        set("port", number.to_string().into());
        set("unix_socket_directories", in_list(&places.sockets));
        // A crash of one process must end the server, or a step would go on against one that has recovered.
        set("restart_after_crash", "off".into());
        set("logging_collector", "off".into());
        for (name, value) in command.options {
            set(name, value.into());
        }
        arguments.extend(command.files.arguments.iter().map(OsString::from));
        arguments
    }

    fn arguments_of_initialise(
        &self,
        _files: &ServerFiles,
        _options: &Options,
        places: &Places,
    ) -> Vec<OsString> {
        let mut arguments = vec!["-D".into(), places.data.clone().into_os_string()];
        arguments.extend(["-U", USER, "-A", "trust", "-N", "-E", "UTF8", "--no-locale"].map(OsString::from));
        arguments
    }

    fn first_statements(&self, _command: &ServerCommand<'_>) -> Option<String> {
        None
    }

    fn admits_one_client(&self, _options: &Options) -> bool {
        true
    }

    /// In place of the one of its data directory.
    fn access(&self, client: IpAddr) -> Option<String> {
        let bits = if client.is_ipv4() { 32 } else { 128 };
        Some(format!("local all {USER} trust\nhost all {USER} {client}/{bits} trust\n"))
    }

    fn may_be_incomplete(&self) -> bool {
        false
    }

    fn shares_memory(&self) -> bool {
        true
    }

    /// Of its extension pg_prewarm.
    fn kept_caches(&self) -> &'static [&'static str] {
        &["autoprewarm.blocks"]
    }

    /// The usual SIGTERM waits for clients.
    fn stop_signal(&self) -> libc::c_int {
        libc::SIGINT
    }

    fn first_message(&self, address: &ServerAddress) -> Vec<u8> {
        startup_message(&address.user, &address.database)
    }

    /// Messages of a kind, a length that counts itself, and a body. Absent where what decides has not come yet.
    fn progress(&self, received: &[u8]) -> Option<Progress> {
        let mut rest = received;
        while let [kind, a, b, c, d, after @ ..] = rest {
            let length = u32::from_be_bytes([*a, *b, *c, *d]);
            let Some(length) = usize::try_from(length).ok().and_then(|length| length.checked_sub(4)) else {
                return Some(Progress::Refused("it does not speak the protocol of Postgres".to_owned()));
            };
            let body = after.get(..length)?;
            match (kind, body) {
                (b'Z', _) => return Some(Progress::Ready),
                (b'E', _) if field(body, b'C').as_deref() == Some(CANNOT_CONNECT_NOW) => {
                    return Some(Progress::Waiting);
                }
                (b'E', _) => {
                    return Some(Progress::Refused(
                        field(body, b'M').unwrap_or_else(|| "it gives no reason".to_owned()),
                    ));
                }
                (b'R', [0, 0, 0, 0, ..]) => {}
                (b'R', _) => return Some(Progress::Refused("it asks for a password".to_owned())),
                _ => {}
            }
            rest = &after[length..];
        }
        None
    }

    fn last_message(&self) -> &'static [u8] {
        TERMINATE
    }

    fn cause(&self, line: &str) -> Option<Cause> {
        // What is an ERROR fails a statement, and the server goes on.
        let is_end = ["FATAL:", "PANIC:", "initdb: error:"].iter().any(|level| line.contains(level));
        if is_end && Unwritable::of(line) == Some(Unwritable::Full) {
            return Some(Cause::DiskFull);
        }
        let (_, said) = line.split_once("FATAL:").or_else(|| line.split_once("LOG:"))?;
        if let Some(option) = quoted(said, "unrecognized configuration parameter \"", '"') {
            return Some(Cause::UnknownOption(option));
        }
        let bad = quoted(said, "invalid value for parameter \"", '"')
            .or_else(|| quoted(said, "outside the valid range for parameter \"", '"'))
            .or_else(|| quoted(said, " requires a numeric value for parameter \"", '"'))
            .or_else(|| quoted(said, "requires a Boolean value for parameter \"", '"'));
        if let Some(option) = bad.or_else(|| {
            said.contains("\" cannot be changed").then(|| quoted(said, "parameter \"", '"')).flatten()
        }) {
            return Some(Cause::BadValue(option));
        }
        if said.contains("could not bind IPv") && said.contains("Address already in use") {
            return Some(Cause::PortTaken);
        }
        if !line.contains("FATAL:") {
            return None;
        }
        if said.contains("database files are incompatible with server") {
            return Some(Cause::OtherVersion);
        }
        if said.contains("No such file or directory") {
            return quoted(said, "could not access file \"", '"').map(Cause::MissingPlugin);
        }
        let denied = ["Permission denied", "has wrong ownership", "has invalid permissions"];
        denied.iter().any(|words| said.contains(words)).then_some(Cause::NotPermitted)
    }
}

/// Length, version, then names and values, each ended by a zero, and a zero.
fn startup_message(user: &str, database: &str) -> Vec<u8> {
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    for text in ["user", user, "database", database] {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.push(0);
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &body].concat()
}

/// A field of an error: a letter, text, a zero.
fn field(body: &[u8], letter: u8) -> Option<String> {
    body.split(|byte| *byte == 0)
        .find(|field| field.first() == Some(&letter))
        .map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
}

/// One directory in a list of them, where a comma would end it.
fn in_list(path: &Path) -> OsString {
    let mut text = OsString::from("\"");
    text.push(path);
    text.push("\"");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind], &length[..], body].concat()
    }

    #[test]
    fn who_comes_from_another_address_than_the_clients_is_not_let_in() {
        let lines = |client: &str| Postgres.access(client.parse().unwrap()).unwrap();
        assert_eq!(lines("198.18.1.1"), "local all bench trust\nhost all bench 198.18.1.1/32 trust\n");
        assert_eq!(lines("fd00::1"), "local all bench trust\nhost all bench fd00::1/128 trust\n");
    }

    #[test]
    fn postgres_is_ready_when_it_waits_for_a_query_and_not_before() {
        let welcome =
            [message(b'R', &[0; 4]), message(b'S', b"server_version\x0016.3\0"), message(b'Z', b"I")]
                .concat();
        assert_eq!(Postgres.progress(&welcome), Some(Progress::Ready));
        for cut in 0..welcome.len() {
            assert_eq!(Postgres.progress(&welcome[..cut]), None, "{cut} bytes");
        }
        let starting = message(b'E', b"SFATAL\0C57P03\0Mthe database system is starting up\0\0");
        assert_eq!(Postgres.progress(&starting), Some(Progress::Waiting));
        let refused = message(b'E', b"SFATAL\0C3D000\0Mdatabase \"x\" does not exist\0\0");
        let expected = Progress::Refused("database \"x\" does not exist".to_owned());
        assert_eq!(Postgres.progress(&refused), Some(expected));
        let password = message(b'R', &[0, 0, 0, 10]);
        assert!(matches!(Postgres.progress(&password), Some(Progress::Refused(_))));
    }
}
