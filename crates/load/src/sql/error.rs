//! What goes wrong between the client and a server, and which of the server's errors are met by sending again.

use model::address::ServerAddress;
use std::collections::BTreeMap;
use std::io;

/// What failed on a connection, before it is known what was being sent.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("the connection was lost")]
    Lost(#[from] io::Error),
    /// The server sent what the protocol has not; the connection is of no more use.
    #[error("the server's answer is not of the protocol: {0}")]
    Malformed(&'static str),
    #[error("{0}")]
    Server(Box<ServerMessage>),
}

/// An error as a server reports it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text} ({code})")]
pub struct ServerMessage {
    /// SQLSTATE of Postgres (`40P01`), the number of MySQL (`1213`) and of MongoDB (`11000`).
    pub code: String,
    pub text: String,
}

/// Why a server let nobody in.
#[derive(Debug)]
pub enum LoginFailure {
    /// By the server or on the way.
    Wire(WireError),
    /// The server wants a password and there is none.
    NoPassword,
    /// The server wants what we cannot.
    Method(String),
    /// The server wants this, which others could read on the way.
    Unprotected(&'static str),
    /// The server let us in before it had shown that it knows the password.
    Unproven,
    /// It is a server of the right kind that cannot be used, and why.
    Unfit(String),
    /// TLS was asked for, and the server does not speak it.
    NoTls,
    /// The handshake failed: the certificate is not what it should be, or a file.
    Tls(io::Error),
}

impl From<WireError> for LoginFailure {
    fn from(error: WireError) -> LoginFailure {
        LoginFailure::Wire(error)
    }
}

impl From<io::Error> for LoginFailure {
    fn from(error: io::Error) -> LoginFailure {
        LoginFailure::Wire(error.into())
    }
}

/// Why something could not be done with a server.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    #[error("failed to connect to the server at `{endpoint}`; see whether it is running and listens there")]
    Connect {
        /// The socket, or host and port.
        endpoint: String,
        source: io::Error,
    },
    #[error("the server at `{endpoint}` refused the user `{user}`")]
    Login { endpoint: String, user: String, source: WireError },
    /// The server wants to know a user in a way that we cannot.
    #[error(
        "the server at `{endpoint}` wants the user `{user}` to log in by `{method}`, which is not supported; give the \
         user a password of another kind"
    )]
    LoginMethod { endpoint: String, user: String, method: String },
    #[error(
        "what listens at `{endpoint}` does not answer as a server that speaks {dialect} does; see whether the address \
         is that of another kind of server"
    )]
    OtherProtocol { endpoint: String, dialect: &'static str, source: WireError },
    #[error(
        "the server at `{endpoint}` accepts the user `{user}` only over TLS; add it with --tls-ca FILE, the certificate of the \
         authority that signed the server's"
    )]
    TlsOnly { endpoint: String, user: String, source: WireError },
    #[error(
        "the server at `{endpoint}` does not speak TLS, which --tls-ca asks for; turn it on there (`ssl` of Postgres, `ssl_cert` and \
         `ssl_key` of MySQL and MariaDB), or add it without --tls-ca"
    )]
    NoTls { endpoint: String },
    #[error(
        "TLS with the server at `{endpoint}` failed; see whether `{authorities}` has the authority that signed the server's \
         certificate, and whether that is for this host"
    )]
    Tls { endpoint: String, authorities: String, source: io::Error },
    #[error("the server at `{endpoint}` does not accept the password of the user `{user}`")]
    WrongPassword { endpoint: String, user: String, source: WireError },
    #[error(
        "the server at `{endpoint}` has no database `{database}`; make it (CREATE DATABASE), or name another"
    )]
    NoDatabase { endpoint: String, database: String, source: WireError },
    #[error(
        "the user `{user}` may not make tables in the database `{database}` of the server at `{endpoint}`; grant it that \
         (Postgres: CREATE on the schema; MySQL: ALTER, CREATE, DROP, INDEX, INSERT, SELECT, UPDATE and DELETE on the database)"
    )]
    NoCreateRight { endpoint: String, user: String, database: String, source: WireError },
    #[error(
        "the database `{database}` of the server at `{endpoint}` has {names}, which dbdyno did not make as the user \
         `{user}` and does not touch; name a database without them"
    )]
    ForeignTables { endpoint: String, user: String, database: String, names: String },
    /// They stand in the claim.
    #[error(
        "the database `{database}` of the server at `{endpoint}` has {names}, which `dbdyno_claim` names and dbdyno does not \
         drop, as they belong to another user or do not have the comment of its tables; if they are of no use (an earlier \
         version made them, or a run was killed while it did), drop them; if they are somebody's, drop `dbdyno_claim`"
    )]
    UnmarkedTables { endpoint: String, database: String, names: String },
    #[error(
        "another run of dbdyno has its tables in the database `{database}` of the server at `{endpoint}`; wait for its \
         end, or name another database"
    )]
    Claimed { endpoint: String, database: String },
    #[error("the server at `{endpoint}` asks the user `{user}` for a password, and none was given")]
    NoPassword { endpoint: String, user: String },
    #[error(
        "the server at `{endpoint}` wants the user `{user}` to send {secret}, which others on the network could read, or \
         ask for in its place; give the user another kind of password (scram-sha-256 of Postgres, mysql_native_password), \
         use the server's Unix socket or a tunnel that ends on its host, or add the server with --insecure-login"
    )]
    UnprotectedLogin { endpoint: String, user: String, secret: &'static str },
    #[error(
        "the server at `{endpoint}` did not prove that it knows the password of the user `{user}`, as SCRAM demands; see \
         whether another server answers at this address"
    )]
    UnprovenServer { endpoint: String, user: String },
    #[error("`{statement}` failed on the server at `{endpoint}`")]
    Statement {
        /// The statement, cut where it is long.
        statement: String,
        endpoint: String,
        source: WireError,
    },
    #[error(
        "this server has no storage engine {wanted}; it has {present}; start it with the plugin of {wanted}"
    )]
    NoStorageEngine { wanted: String, present: String },
    /// The workload says nothing for this dialect, or nothing that makes sense.
    #[error("{0}")]
    Workload(String),
    /// The server was not asked.
    #[error(
        "{rows} rows of {table} were to be deleted and {left} are left: the deletes have overtaken the inserts; load more rows, or let deletes \
         follow inserts (`follows`)"
    )]
    Overtaken { table: String, rows: u64, left: u64 },
    /// What was asked for does not exist on this kind of server.
    #[error("{0}")]
    NotSupported(String),
    #[error(
        "the server did not settle within {timeout_s:.0} s: {pending}; raise the timeout or lower the write load"
    )]
    TimedOut { timeout_s: f64, pending: String },
}

/// Codes of errors of a login, of Postgres, MySQL and MongoDB.
const WRONG_PASSWORD: [&str; 3] = ["28P01", "1045", "18"];
const NO_DATABASE: [&str; 2] = ["3D000", "1049"];
/// Of Postgres where no line of `pg_hba.conf` lets the user in. Whether one would with TLS it does not tell; that the
/// connection has none it says at the end.
const NOT_LET_IN: &str = "28000";
const WITHOUT_TLS: [&str; 2] = ["no encryption", "SSL off"];
/// Of MySQL and MariaDB where only TLS is let in.
const TLS_REQUIRED: &str = "3159";
const INSECURE: &str = "insecure transport";

impl SqlError {
    /// Why nobody was let in.
    pub fn of_login(address: &ServerAddress, failure: LoginFailure) -> SqlError {
        let (endpoint, user) = (address.endpoint.to_string(), address.user.clone());
        let source = match failure {
            LoginFailure::NoPassword => return SqlError::NoPassword { endpoint, user },
            LoginFailure::Method(method) => return SqlError::LoginMethod { endpoint, user, method },
            LoginFailure::Unprotected(secret) => {
                return SqlError::UnprotectedLogin { endpoint, user, secret };
            }
            LoginFailure::Unfit(why) => {
                return SqlError::NotSupported(format!("the server at `{endpoint}` cannot be used: {why}"));
            }
            LoginFailure::Unproven => return SqlError::UnprovenServer { endpoint, user },
            LoginFailure::NoTls => return SqlError::NoTls { endpoint },
            LoginFailure::Tls(source) => {
                let authorities = address.tls_ca.as_deref().map(|path| path.display().to_string());
                return SqlError::Tls { endpoint, authorities: authorities.unwrap_or_default(), source };
            }
            LoginFailure::Wire(source) => source,
        };
        match &source {
            WireError::Malformed(_) => {
                SqlError::OtherProtocol { endpoint, dialect: address.dialect.name(), source }
            }
            // A server that waits for its client to begin, or one that does not understand what it was told.
            WireError::Lost(error) if is_silence(error) => {
                SqlError::OtherProtocol { endpoint, dialect: address.dialect.name(), source }
            }
            WireError::Server(message) => {
                let is = |codes: &[&str]| codes.contains(&message.code.as_str());
                let says = |words: &str| message.text.contains(words);
                if is(&WRONG_PASSWORD) {
                    SqlError::WrongPassword { endpoint, user, source }
                } else if is(&NO_DATABASE) {
                    SqlError::NoDatabase { endpoint, database: address.database.clone(), source }
                } else if is(&[TLS_REQUIRED])
                    || says(INSECURE)
                    || (is(&[NOT_LET_IN]) && WITHOUT_TLS.iter().any(|words| says(words)))
                {
                    SqlError::TlsOnly { endpoint, user, source }
                } else {
                    SqlError::Login { endpoint, user, source }
                }
            }
            WireError::Lost(_) => SqlError::Login { endpoint, user, source },
        }
    }

    /// Whether the connection is of no more use.
    pub fn is_lost(&self) -> bool {
        matches!(self, SqlError::Statement { source: WireError::Lost(_) | WireError::Malformed(_), .. })
    }

    /// What the server said, where it is what failed.
    pub fn server_message(&self) -> Option<&ServerMessage> {
        match self {
            SqlError::Statement { source: WireError::Server(message), .. }
            | SqlError::Login { source: WireError::Server(message), .. } => Some(message),
            _ => None,
        }
    }
}

/// Nothing came within the timeout of a login, or the other side hung up without a word.
fn is_silence(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
    matches!(error.kind(), ConnectionReset | TimedOut | UnexpectedEof | WouldBlock)
}

/// Why the server asks for an event to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Retry {
    /// It was chosen to end a deadlock.
    Deadlock,
    /// It waited too long for a lock.
    LockTimeout,
    /// Another transaction came first.
    Serialization,
    /// Another transaction inserted the same key.
    DuplicateKey,
    /// A row changed since it was read: MySQL's 1020.
    RecordChanged,
    /// The connection was lost, and another one was made.
    ConnectionLost,
}

impl Retry {
    const ALL: [Retry; 6] = [
        Retry::Deadlock,
        Retry::LockTimeout,
        Retry::Serialization,
        Retry::DuplicateKey,
        Retry::RecordChanged,
        Retry::ConnectionLost,
    ];

    /// As reports have it.
    fn name(self) -> &'static str {
        self.into()
    }
}

/// How often events were sent again, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retries {
    counts: [u64; Retry::ALL.len()],
}

impl Retries {
    /// Counts one.
    pub fn count(&mut self, kind: Retry) {
        self.counts[kind as usize] += 1;
    }

    /// How often it was of this kind.
    pub fn of(&self, kind: Retry) -> u64 {
        self.counts[kind as usize]
    }

    /// Adds another thread's.
    pub fn add_to(&self, all: &mut BTreeMap<String, u64>) {
        for (kind, count) in Retry::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0) {
            *all.entry(kind.name().to_owned()).or_default() += count;
        }
    }
}

/// Longer statements are cut in messages.
const SHOWN_STATEMENT: usize = 300;

/// A statement for a message.
pub fn shown(statement: &str) -> String {
    let cut = statement.char_indices().nth(SHOWN_STATEMENT).map_or(statement.len(), |(index, _)| index);
    if cut == statement.len() { statement.to_owned() } else { format!("{}..", &statement[..cut]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_counted_by_kind() {
        let mut retries = Retries::default();
        for kind in [Retry::Deadlock, Retry::Deadlock, Retry::LockTimeout, Retry::Serialization] {
            retries.count(kind);
        }
        let mut all = BTreeMap::new();
        retries.add_to(&mut all);
        let expected = [("deadlock", 2), ("lock-timeout", 1), ("serialization", 1)];
        assert_eq!(all, expected.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn a_long_statement_is_cut_between_characters() {
        assert_eq!(shown("SELECT 1"), "SELECT 1");
        let long = shown(&"ä".repeat(1000));
        assert_eq!(long.chars().count(), SHOWN_STATEMENT + 2);
    }
}
