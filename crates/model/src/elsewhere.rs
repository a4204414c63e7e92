//! A SQL server that runs already and is not ours, and its address as a user writes it, a DSN:
//! `postgres://user@host:port/database`, `mysql://user@/database?socket=/run/mysqld/mysqld.sock`.
//!
//! Never in here: a password. One that stands in a DSN is refused, and no error repeats what was written there.

use crate::address::Endpoint;
use crate::workload::sql::Dialect;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// What stands beside each comparison with such a server.
pub const NOT_OURS: &str = "external: dbdyno neither freezes it nor reads its counters";

/// A server that is not ours: never started, stopped, frozen or looked into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerElsewhere {
    pub dialect: Dialect,
    pub endpoint: Endpoint,
    /// The user that we are there.
    pub user: String,
    /// The database that our tables are made in.
    pub database: String,
    /// The storage engine of our tables, where the dialect has a choice.
    pub storage: Option<String>,
    /// The file of the password, absolute; absent where none was named.
    pub password_file: Option<PathBuf>,
    /// See [`ServerAddress::insecure_login`](crate::address::ServerAddress::insecure_login).
    #[serde(default)]
    pub insecure_login: bool,
    /// See [`ServerAddress::tls_ca`](crate::address::ServerAddress::tls_ca).
    #[serde(default)]
    pub tls_ca: Option<PathBuf>,
}

/// Why a text is not the address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DsnError {
    #[error(
        "a server is written `postgres://USER@HOST:PORT/DATABASE` or `mysql://USER@HOST:PORT/DATABASE`, with a Unix \
         socket `postgres://USER@/DATABASE?host=/DIRECTORY` or `mysql://USER@/DATABASE?socket=/FILE`"
    )]
    Scheme,
    #[error(
        "external servers of MongoDB are not supported: give the path of a `mongod`, which dbdyno starts itself"
    )]
    Mongodb,
    #[error(
        "the address of a server must not hold a password (there is a `:` before the `@`): every user of this machine \
         can read arguments. Leave it out, and give it by --password-file or in the environment"
    )]
    Password,
    #[error("the address names no {part}; write {example}")]
    Missing {
        /// `user`, `database`, `host`.
        part: &'static str,
        example: &'static str,
    },
    #[error("the port of the address is no number from 1 to 65535")]
    Port,
    #[error("the {part} of the address has a wrong `%` escape or a control character")]
    Text {
        /// `user`, `database`.
        part: &'static str,
    },
    /// A parameter that means nothing here.
    #[error("the address has a parameter that is not known; there are {known}")]
    Parameter { known: &'static str },
    #[error("the path after `{parameter}=` must begin with `/`")]
    Path {
        /// `host`, `socket`.
        parameter: &'static str,
    },
    #[error("the address names a host and a Unix socket; leave one of them out")]
    Both,
    #[error("leave the TLS mode out of the address: TLS is spoken if the server is added with --tls-ca FILE")]
    Tls,
}

/// What addresses that begin alike look like.
struct Scheme {
    names: [&'static str; 2],
    dialect: Dialect,
    example: &'static str,
    port: u16,
    parameters: &'static str,
}

const SCHEMES: [Scheme; 2] = [
    Scheme {
        names: ["postgres", "postgresql"],
        dialect: Dialect::Postgres,
        example: "postgres://USER@HOST:5432/DATABASE",
        port: 5432,
        parameters: "host, socket and sslmode",
    },
    Scheme {
        names: ["mysql", "mariadb"],
        dialect: Dialect::Mysql,
        example: "mysql://USER@HOST:3306/DATABASE",
        port: 3306,
        parameters: "socket and ssl-mode",
    },
];
const MONGODB: &str = "mongodb";

impl ServerElsewhere {
    /// Whether a text is meant as the address of a server rather than as a path.
    pub fn is_meant_by(text: &str) -> bool {
        text.contains("://")
    }

    /// Reads a DSN.
    pub fn parse(dsn: &str) -> Result<ServerElsewhere, DsnError> {
        let (name, rest) = dsn.split_once("://").ok_or(DsnError::Scheme)?;
        if name.starts_with(MONGODB) {
            return Err(DsnError::Mongodb);
        }
        let scheme = SCHEMES.iter().find(|scheme| scheme.names.contains(&name)).ok_or(DsnError::Scheme)?;
        let missing = |part| DsnError::Missing { part, example: scheme.example };
        // Before anything else is looked at: a password may hold any of the characters that parts end at.
        if rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err(DsnError::Password);
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (user, host_and_port) = authority.rsplit_once('@').ok_or(missing("user"))?;
        let (host, port) = split_port(host_and_port)?;
        let port = port.unwrap_or(scheme.port);
        let socket = socket(scheme, port, query)?;
        let endpoint = match (socket, host) {
            (Some(path), "") => Endpoint::Socket { path },
            (Some(_), _) => return Err(DsnError::Both),
            (None, "") => return Err(missing("host")),
            (None, host) => Endpoint::Tcp { host: decoded("host", host)?, port },
        };
        let named = |part: &'static str, text: &str| match decoded(part, text)? {
            text if text.is_empty() => Err(missing(part)),
            text => Ok(text),
        };
        Ok(ServerElsewhere {
            dialect: scheme.dialect,
            endpoint,
            user: named("user", user)?,
            database: named("database", database)?,
            storage: None,
            password_file: None,
            insecure_login: false,
            tls_ca: None,
        })
    }

    /// Whether both are one database, as far as their addresses tell.
    pub fn is_same_database(&self, other: &ServerElsewhere) -> bool {
        (self.dialect, &self.endpoint, &self.database) == (other.dialect, &other.endpoint, &other.database)
    }

    /// The host, where it is another machine than this one, as far as its address tells.
    pub fn remote_host(&self) -> Option<&str> {
        match &self.endpoint {
            Endpoint::Tcp { host, .. } if !is_this_machine(host) => Some(host),
            Endpoint::Tcp { .. } | Endpoint::Socket { .. } => None,
        }
    }
}

impl fmt::Display for ServerElsewhere {
    /// `user@host:port/database`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.user, self.endpoint, self.database)
    }
}

fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse()
            .is_ok_and(|address: std::net::IpAddr| address.is_loopback() || address.is_unspecified())
}

/// `host:port`, `[::1]:port`, each without the port, or nothing.
fn split_port(text: &str) -> Result<(&str, Option<u16>), DsnError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(DsnError::Text { part: "host" })?;
            (host, after.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let number = |port: &str| port.parse().ok().filter(|port: &u16| *port > 0).ok_or(DsnError::Port);
    Ok((host, port.map(number).transpose()?))
}

/// The socket that the parameters name.
fn socket(scheme: &Scheme, port: u16, query: &str) -> Result<Option<PathBuf>, DsnError> {
    let known = scheme.parameters;
    let mut socket = None;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').ok_or(DsnError::Parameter { known })?;
        match (name, scheme.dialect) {
            ("host", Dialect::Postgres) => {
                // Postgres does not let its name be chosen: it goes by the port.
                socket = Some(absolute("host", value)?.join(format!(".s.PGSQL.{port}")));
            }
            ("socket", _) => socket = Some(absolute("socket", value)?),
            ("sslmode", Dialect::Postgres) | ("ssl-mode", Dialect::Mysql) => match value {
                "disable" | "DISABLED" | "disabled" | "prefer" | "PREFERRED" | "preferred" | "allow" => {}
                _ => return Err(DsnError::Tls),
            },
            _ => return Err(DsnError::Parameter { known }),
        }
    }
    Ok(socket)
}

fn absolute(parameter: &'static str, value: &str) -> Result<PathBuf, DsnError> {
    let path = decoded(parameter, value)?;
    if !path.starts_with('/') {
        return Err(DsnError::Path { parameter });
    }
    Ok(Path::new(&path).to_owned())
}

/// Takes `%41` for `A`. Control characters would end a field of a login.
fn decoded(part: &'static str, text: &str) -> Result<String, DsnError> {
    let wrong = || DsnError::Text { part };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit =
            |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        bytes.push(high.zip(low).map(|(high, low)| high << 4 | low).ok_or_else(wrong)?);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains(char::is_control)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dsn: &str, expected: &str) {
        assert_eq!(ServerElsewhere::parse(dsn).unwrap().to_string(), expected, "{dsn}");
    }

    #[test]
    fn addresses_are_read_with_the_ports_that_are_usual() {
        check("postgres://me@db.example:6432/bench", "me@db.example:6432/bench");
        check("postgresql://me@127.0.0.1/bench", "me@127.0.0.1:5432/bench");
        check("mysql://me@[::1]/bench", "me@[::1]:3306/bench");
        check("mysql://m%40e@h/b%20c", "m@e@h:3306/b c");
        check("postgres://me@/b?host=/run/pg", "me@/run/pg/.s.PGSQL.5432/b");
        check("postgres://me@:5433/b?host=/run/pg&sslmode=disable", "me@/run/pg/.s.PGSQL.5433/b");
        check("mariadb://root@/b?socket=/run/m.sock", "root@/run/m.sock/b");
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_would_be_one() {
        let check = |dsn: &str, expected: &str| {
            let message = ServerElsewhere::parse(dsn).unwrap_err().to_string();
            assert!(message.contains(expected), "{dsn}: {message}");
        };
        check("http://me@h/b", "mysql://USER@HOST:PORT/DATABASE");
        check("postgres://h/b", "no user; write postgres://USER@HOST:5432/DATABASE");
        check("mysql://@h/b", "no user; write mysql://USER@HOST:3306/DATABASE");
        check("mysql://me@h", "no database");
        check("mysql://me@/b", "no host");
        check("mysql://me@h:0/b", "from 1 to 65535");
        check("mysql://me@h:x/b", "from 1 to 65535");
        check("mysql://m%zze@h/b", "the user");
        check("mysql://m%00e@h/b", "control character");
        check("mysql://me@h/b?host=/run", "there are socket and ssl-mode");
        check("postgres://me@/b?host=run", "must begin with `/`");
        check("postgres://me@h/b?host=/run", "leave one of them out");
        check("postgres://me@h/b?sslmode=require", "--tls-ca");
    }

    #[test]
    fn a_password_is_refused_wherever_it_would_end_and_is_not_repeated() {
        for dsn in ["mysql://me:s3cret@h/b", "postgres://me:s3/cre?t@h/b", "mysql://me:s3@cret@h/b"] {
            let error = ServerElsewhere::parse(dsn).unwrap_err();
            assert_eq!(error, DsnError::Password, "{dsn}");
            assert!(!format!("{error} {error:?}").contains("s3"), "{error}");
        }
    }

    #[test]
    fn a_server_of_an_earlier_version_allows_no_insecure_login() {
        let mut stored = serde_json::to_value(ServerElsewhere::parse("mysql://me@h/b").unwrap()).unwrap();
        for key in ["insecure_login", "tls_ca"] {
            stored.as_object_mut().unwrap().remove(key).unwrap();
        }
        let read: ServerElsewhere = serde_json::from_value(stored).unwrap();
        assert_eq!((read.insecure_login, read.tls_ca), (false, None));
    }

    #[test]
    fn hosts_of_this_machine_are_not_remote() {
        let remote = |dsn: &str| ServerElsewhere::parse(dsn).unwrap().remote_host().map(str::to_owned);
        assert_eq!(remote("mysql://me@h/b").as_deref(), Some("h"));
        for dsn in [
            "mysql://me@localhost/b",
            "mysql://me@127.0.0.2/b",
            "mysql://me@[::1]/b",
            "mysql://me@/b?socket=/s",
        ] {
            assert_eq!(remote(dsn), None, "{dsn}");
        }
    }
}
