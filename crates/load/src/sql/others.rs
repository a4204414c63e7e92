//! Whether a server that is not ours has other clients: what they ask of it while we ask nothing.

use super::connection::Connection;
use super::error::SqlError;
use crate::clock;
use model::units::Nanos;
use model::wire::ServerAddress;
use model::workload::sql::Dialect;

/// Statements that the server had from all clients since it was started; of Postgres transactions, which a statement
/// by itself is one of.
const COUNT_OF_POSTGRES: &str = "SELECT SUM(xact_commit + xact_rollback)::bigint FROM pg_stat_database";
const COUNT_OF_MYSQL: &str = "SHOW GLOBAL STATUS WHERE Variable_name = 'Questions'";
/// Of these between both readings our own. Postgres may count the first reading only later, so that it is in neither.
const OWN_OF_POSTGRES: u64 = 2;
const OWN_OF_MYSQL: u64 = 1;

/// Statements of others in this time; absent where the server does not tell.
pub fn watch(address: &ServerAddress, wall: Nanos) -> Result<Option<u64>, SqlError> {
    let mut connection = Connection::open(address)?;
    let before = count(&mut connection)?;
    clock::sleep_until(clock::now() + wall);
    let after = count(&mut connection)?;
    let own = match address.dialect {
        Dialect::Postgres => OWN_OF_POSTGRES,
        Dialect::Mysql => OWN_OF_MYSQL,
    };
    Ok(before.zip(after).map(|(before, after)| after.saturating_sub(before).saturating_sub(own)))
}

fn count(connection: &mut Connection) -> Result<Option<u64>, SqlError> {
    let text = match connection.dialect() {
        Dialect::Postgres => connection.read(COUNT_OF_POSTGRES)?.first().map(str::to_owned),
        Dialect::Mysql => connection.read(COUNT_OF_MYSQL)?.pairs().next().map(|(_, count)| count.to_owned()),
    };
    Ok(text.and_then(|count| count.parse().ok()))
}
