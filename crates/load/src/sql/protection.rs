//! What keeps others from reading a login, or from answering in the server's place, and what may be sent without it.

use super::error::LoginFailure;
use model::address::ServerAddress;

/// What protects a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// It does not leave this host.
    Host,
    /// It is encrypted, and whoever answers is the server that the user meant.
    Tls,
    /// Nothing does, which the user allows.
    Waived,
    /// Nothing does.
    Missing,
}

impl Protection {
    /// That of a login at this address, on a connection that leaves this host or does not. If the address asks for TLS, nothing is
    /// said before that stands.
    pub fn of(stays_on_host: bool, address: &ServerAddress) -> Protection {
        match (stays_on_host, address.insecure_login) {
            _ if address.tls_ca.is_some() => Protection::Tls,
            (true, _) => Protection::Host,
            (false, true) => Protection::Waived,
            (false, false) => Protection::Missing,
        }
    }

    /// An error if the password, or what it can be found out from, must not be sent. `secret` is what would be.
    pub fn allow(self, secret: &'static str) -> Result<(), LoginFailure> {
        match self {
            Protection::Host | Protection::Tls | Protection::Waived => Ok(()),
            Protection::Missing => Err(LoginFailure::Unprotected(secret)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::address::Endpoint;
    use model::workload::sql::Dialect;

    #[test]
    fn a_password_leaves_this_host_unprotected_only_if_the_user_allows_it() {
        let endpoint = Endpoint::Tcp { host: "db.example".to_owned(), port: 3306 };
        let plain = ServerAddress::new(Dialect::Mysql, endpoint, "me", "bench");
        let encrypted = ServerAddress { tls_ca: Some("/etc/ca.pem".into()), ..plain.clone() };
        let insecure = ServerAddress { insecure_login: true, ..plain.clone() };
        assert_eq!(Protection::of(true, &plain), Protection::Host);
        assert_eq!(Protection::of(false, &insecure), Protection::Waived);
        assert_eq!(Protection::of(false, &plain), Protection::Missing);
        assert_eq!(Protection::of(false, &encrypted), Protection::Tls);
        assert!(Protection::Tls.allow("it").is_ok());
        assert!(Protection::Host.allow("it").is_ok() && Protection::Waived.allow("it").is_ok());
        assert!(matches!(Protection::Missing.allow("it"), Err(LoginFailure::Unprotected("it"))));
    }
}
