//! What a server says of itself when somebody connects: its version, how it was built, which storage engines it has.

use super::connection::{Connection, Rows};
use super::error::SqlError;
use super::server;
use model::address::ServerAddress;
use std::collections::BTreeMap;

/// Facts by name. An error where the storage engine that the address names is not there.
pub fn read(
    connection: &mut Connection,
    address: &ServerAddress,
) -> Result<BTreeMap<String, String>, SqlError> {
    server::of(address.dialect).facts(connection, address)
}

/// A name and its value, no longer borrowed.
pub fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// What was read; nothing where the server refused, as one does that has no such view or shows it to nobody.
pub fn if_there(read: Result<Rows, SqlError>) -> Result<Rows, SqlError> {
    match read {
        Err(error) if error.server_message().is_some() => Ok(Rows::default()),
        other => other,
    }
}
