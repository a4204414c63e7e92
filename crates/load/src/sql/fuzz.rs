//! What fuzz targets call: a client of a server that has said all that it will, and the values of a workload's parameters. Compiled with
//! `--cfg fuzzing` alone.

use super::channel::Channel;
use super::connection::{Connection, ParameterType};
use super::draw::Parameters;
use super::error::SqlError;
use super::explain::Asked;
use super::{mysql, server, status};
use crate::keys::{Stream, generator};
use formats::server_status::ServerStatus;
use formats::{options_file, server_status};
use model::address::{Endpoint, Password, ServerAddress};
use model::workload::sql::{Dialect, Tables};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

/// The first bytes of an input, which say what is asked.
const QUESTIONS: usize = 8;
/// In place of the first question: what follows is a key of MySQL, to encrypt a password with.
pub const KEY: u8 = 0xff;
/// The same of MongoDB: it asks for a login.
const LOGIN: u8 = 0xfe;
/// A socket takes in more without anybody who reads.
const MOST_BYTES: usize = 100_000;

/// Logs in at a server that says these bytes and closes the connection, and asks what a worker asks. What it answers is of no interest.
pub fn converse(dialect: Dialect, bytes: &[u8]) {
    let (questions, said) = bytes.split_at(bytes.len().min(QUESTIONS));
    if questions.first() == Some(&KEY) {
        let _ = mysql::encrypted(b"secret", b"abcdefghijklmnopqrst", said);
        return;
    }
    let Ok((ours, mut theirs)) = UnixStream::pair() else { return };
    let said = &said[..said.len().min(MOST_BYTES)];
    if theirs.write_all(said).and_then(|()| theirs.shutdown(Shutdown::Write)).is_err() {
        return;
    }
    let endpoint = Endpoint::Socket { path: "fuzzed".into() };
    let address = ServerAddress {
        // No input can guess what SCRAM of MongoDB draws, and would come no further.
        password: (dialect != Dialect::Mongodb || questions.first() == Some(&LOGIN))
            .then(|| Password::new("secret".to_owned())),
        ..ServerAddress::new(dialect, endpoint, "bench", "bench")
    };
    let Ok(mut connection) = Connection::over(Channel::of_pair(ours), &address) else { return };
    for question in questions {
        match ask(&mut connection, &address, *question) {
            Err(error) if error.is_lost() => return,
            Ok(()) | Err(_) => {}
        }
    }
}

/// Draws values of the parameters that a workload has for its tables.
pub fn draw(tables: &Tables) {
    let mut random = generator(7, Stream::Foreground(0));
    let mut parameters = Parameters::new(&tables.parameters, tables.rows);
    for name in tables.parameters.keys() {
        let Ok(index) = parameters.using(name) else { continue };
        parameters.draw(index, &mut random);
        let _ = parameters.fresh(index, 3, &mut random);
        parameters.push_fresh_text(index, &mut Vec::new(), &mut random);
    }
}

fn ask(connection: &mut Connection, address: &ServerAddress, question: u8) -> Result<(), SqlError> {
    let server = server::of(address.dialect);
    let text = if address.dialect == Dialect::Mongodb { r#"{"find": "t"}"# } else { "SELECT 1" };
    match question % 8 {
        0 => connection.run(text).map(drop),
        1 => connection.read(text).map(drop),
        2 if connection.prepares() => execute(connection, "SELECT $1, $2"),
        2 => server.bounds(connection, "t", "_id").map(drop),
        3 => server.facts(connection, address).map(drop),
        4 => {
            let status = server_status::parse(&server.status(connection, None)?);
            let _ = status.hit_percent_since(&ServerStatus::default());
            let _ = status.risen_since(&status);
            Ok(())
        }
        5 => {
            let settings = status::settings(connection)?;
            let _ = options_file::parse(&format!("[Settings]\n{settings}"));
            Ok(())
        }
        6 => {
            let asked = Asked {
                statement: "SELECT $1".to_owned(),
                text: "SELECT 1".to_owned(),
                values: "1".to_owned(),
                sent: b"\x11\0\0\0\x02find\0\x02\0\0\0t\0\x00".to_vec(),
                prepared: true,
            };
            server.explain(connection, &asked).map(drop)
        }
        _ => server.statements(connection).map(drop),
    }
}

fn execute(connection: &mut Connection, sql: &str) -> Result<(), SqlError> {
    let mut prepared = connection.prepare(sql, &[ParameterType::Number, ParameterType::Text])?;
    let mut message = Vec::new();
    prepared.begin(&mut message);
    prepared.number(&mut message, 0, 7);
    prepared.text(&mut message, b"x");
    prepared.end(&mut message, 0);
    connection.send(&message).map_err(|source| connection.failed(sql, source))?;
    prepared.was_executed();
    Ok(())
}
