//! How a SQL server is reached: where it listens, who logs in, and what the login may show.

use crate::workload::sql::Dialect;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// How a SQL server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAddress {
    pub dialect: Dialect,
    pub endpoint: Endpoint,
    pub user: String,
    /// The password, where it asks for one.
    pub password: Option<Password>,
    /// The database; it is there already.
    pub database: String,
    /// The storage engine of the tables that are made, where the dialect has a choice: `InnoDB`, `ROCKSDB`.
    pub storage: Option<String>,
    /// Whether the user allows the password to be sent over a network where others could read it.
    #[serde(default)]
    pub insecure_login: bool,
    /// The file of those who may have signed the server's certificate, for a connection by TLS.
    #[serde(default)]
    pub tls_ca: Option<PathBuf>,
}

impl ServerAddress {
    /// Of a user without a password, by a connection that is not encrypted.
    pub fn new(dialect: Dialect, endpoint: Endpoint, user: &str, database: &str) -> ServerAddress {
        ServerAddress {
            dialect,
            endpoint,
            user: user.to_owned(),
            password: None,
            database: database.to_owned(),
            storage: None,
            insecure_login: false,
            tls_ca: None,
        }
    }
}

/// A password: sent to workers, shown to nobody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

impl Password {
    /// Keeps it.
    pub fn new(text: String) -> Password {
        Password(text)
    }

    /// The password itself, for a login.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(not shown)")
    }
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Endpoint {
    /// A Unix socket: the file itself.
    Socket {
        path: PathBuf,
    },
    Tcp {
        host: String,
        port: u16,
    },
}

impl Endpoint {
    /// The name of the host, as the user wrote it; empty for a Unix socket.
    pub fn host(&self) -> &str {
        match self {
            Endpoint::Tcp { host, .. } => host,
            Endpoint::Socket { .. } => "",
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Socket { path } => write!(f, "{}", path.display()),
            Endpoint::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}
