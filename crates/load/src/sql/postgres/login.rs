//! The start of a Postgres connection: who we are, and how the server makes sure of it.

use super::{Postgres, error_fields, set_length};
use crate::sql::error::{LoginFailure, WireError};
use model::wire::ServerAddress;
use postgres_protocol::authentication::{md5_hash, sasl};

/// Kinds of the message `R`.
const OK: u32 = 0;
const CLEAR: u32 = 3;
const MD5: u32 = 5;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

/// Says who we are, until the server is ready for statements.
pub fn log_in(postgres: &mut Postgres, address: &ServerAddress) -> Result<(), LoginFailure> {
    postgres.channel.send(&startup(address))?;
    let password = || {
        let given = address.password.as_ref().map(|password| password.reveal().as_bytes());
        given.ok_or(LoginFailure::NoPassword)
    };
    let mut scram = None;
    loop {
        let (kind, length) = postgres.head()?;
        let body = postgres.body(length)?;
        let answer = match kind {
            b'E' => return Err(WireError::Server(Box::new(error_fields(body))).into()),
            b'R' => {
                let (number, rest) = body.split_first_chunk().ok_or(super::CUT)?;
                match u32::from_be_bytes(*number) {
                    OK => None,
                    CLEAR => Some(terminated(password()?)),
                    MD5 => {
                        let salt = rest.first_chunk().ok_or(super::CUT)?;
                        Some(terminated(md5_hash(address.user.as_bytes(), password()?, *salt).as_bytes()))
                    }
                    SASL => {
                        if !rest.split(|byte| *byte == 0).any(|name| name == sasl::SCRAM_SHA_256.as_bytes()) {
                            return Err(LoginFailure::Method(
                                String::from_utf8_lossy(rest).replace('\0', " "),
                            ));
                        }
                        let begun = sasl::ScramSha256::new(password()?, sasl::ChannelBinding::unsupported());
                        let answer = first_of(begun.message());
                        scram = Some(begun);
                        Some(answer)
                    }
                    SASL_CONTINUE => {
                        let scram = scram.as_mut().ok_or(UNASKED)?;
                        scram.update(rest).map_err(WireError::Lost)?;
                        Some(scram.message().to_vec())
                    }
                    SASL_FINAL => {
                        scram.as_mut().ok_or(UNASKED)?.finish(rest).map_err(WireError::Lost)?;
                        None
                    }
                    other => return Err(LoginFailure::Method(format!("method {other}"))),
                }
            }
            b'Z' => {
                postgres.channel.advance(length);
                return Ok(());
            }
            b'K' | b'S' | b'N' => None,
            _ => return Err(WireError::Malformed("a message of unknown kind while logging in").into()),
        };
        postgres.channel.advance(length);
        if let Some(answer) = answer {
            let mut message = vec![b'p', 0, 0, 0, 0];
            message.extend_from_slice(&answer);
            set_length(&mut message, 1, 0);
            postgres.channel.send(&message)?;
        }
    }
}

const UNASKED: WireError = WireError::Malformed("the server went on with SCRAM before it began");

fn terminated(text: &[u8]) -> Vec<u8> {
    [text, &[0]].concat()
}

/// SASLInitialResponse: the mechanism, and the first message with its length.
fn first_of(message: &[u8]) -> Vec<u8> {
    let mut answer = terminated(sasl::SCRAM_SHA_256.as_bytes());
    let place = answer.len();
    answer.extend_from_slice(&[0; 4]);
    answer.extend_from_slice(message);
    set_length(&mut answer, place, 4);
    answer
}

fn startup(address: &ServerAddress) -> Vec<u8> {
    let mut message = vec![0, 0, 0, 0, 0, 3, 0, 0];
    let options = [
        ("user", address.user.as_str()),
        ("database", address.database.as_str()),
        ("client_encoding", "UTF8"),
        ("application_name", "dbdyno"),
    ];
    for (name, value) in options {
        message.extend_from_slice(&terminated(name.as_bytes()));
        message.extend_from_slice(&terminated(value.as_bytes()));
    }
    message.push(0);
    set_length(&mut message, 0, 0);
    message
}
