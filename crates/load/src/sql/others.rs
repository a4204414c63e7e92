//! Whether a server that is not ours has other clients: what they ask of it while we ask nothing.

use super::connection::Connection;
use super::error::SqlError;
use super::server;
use crate::clock;
use model::address::ServerAddress;
use model::units::Nanos;

/// Statements of others in this time; absent where the server does not tell.
pub fn watch(address: &ServerAddress, wall: Nanos) -> Result<Option<u64>, SqlError> {
    let mut connection = Connection::open(address)?;
    let server = server::of(address.dialect);
    let before = server.statements(&mut connection)?;
    clock::sleep_until(clock::now() + wall);
    let after = server.statements(&mut connection)?;
    let own = server.statements_of_question();
    Ok(before.zip(after).map(|(before, after)| after.saturating_sub(before).saturating_sub(own)))
}
