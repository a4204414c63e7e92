//! The start of a Postgres connection: who we are, and how the server makes sure of it.

use super::{Postgres, error_fields, set_length};
use crate::sql::error::{LoginFailure, WireError};
use crate::sql::protection::Protection;
use model::address::ServerAddress;
use postgres_protocol::authentication::{md5_hash, sasl};
use std::path::Path;

/// Kinds of the message `R`.
const OK: u32 = 0;
const CLEAR: u32 = 3;
const MD5: u32 = 5;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

/// Messages of a login. A server sends some twenty settings, and perhaps notices.
const MOST_MESSAGES: u32 = 1000;

/// Says who we are, until the server is ready for statements.
pub fn log_in(
    postgres: &mut Postgres,
    address: &ServerAddress,
    protection: Protection,
) -> Result<(), LoginFailure> {
    if let Some(authorities) = &address.tls_ca {
        begin_tls(postgres, address, authorities)?;
    }
    let end_point = postgres.channel.end_point();
    postgres.channel.send(&startup(address))?;
    let password = || {
        let given = address.password.as_ref().map(|password| password.reveal().as_bytes());
        given.ok_or(LoginFailure::NoPassword)
    };
    let mut scram = None;
    // Only SCRAM has the server prove that it is the one which knows the password. One that began it must.
    let mut proven = true;
    let mut asked = false;
    for _ in 0..MOST_MESSAGES {
        let (kind, length) = postgres.head()?;
        let body = postgres.body(length)?;
        let answer = match kind {
            b'E' => return Err(WireError::Server(Box::new(error_fields(body))).into()),
            b'R' => {
                let (number, rest) = body.split_first_chunk().ok_or(super::CUT)?;
                let number = u32::from_be_bytes(*number);
                let asks = [CLEAR, MD5, SASL].contains(&number);
                if asks && asked {
                    return Err(WireError::Malformed("the server asked for the password again").into());
                }
                asked |= asks;
                match number {
                    OK if !proven => return Err(LoginFailure::Unproven),
                    OK => None,
                    CLEAR => {
                        protection.allow("the password in clear text")?;
                        Some(terminated(password()?))
                    }
                    MD5 => {
                        protection.allow("an MD5 of the password")?;
                        let salt = rest.first_chunk().ok_or(super::CUT)?;
                        Some(terminated(md5_hash(address.user.as_bytes(), password()?, *salt).as_bytes()))
                    }
                    SASL => {
                        let (mechanism, binding) = mechanism(rest, end_point.as_deref())?;
                        let begun = sasl::ScramSha256::new(password()?, binding);
                        let answer = first_of(mechanism, begun.message());
                        (scram, proven) = (Some(begun), false);
                        Some(answer)
                    }
                    SASL_CONTINUE => {
                        let scram = scram.as_mut().ok_or(UNASKED)?;
                        scram.update(rest).map_err(WireError::Lost)?;
                        Some(scram.message().to_vec())
                    }
                    SASL_FINAL => {
                        let scram = scram.as_mut().ok_or(UNASKED)?;
                        scram.finish(rest).map_err(|_| LoginFailure::Unproven)?;
                        proven = true;
                        None
                    }
                    other => return Err(LoginFailure::Method(format!("method {other}"))),
                }
            }
            b'Z' if !proven => return Err(LoginFailure::Unproven),
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
    Err(WireError::Malformed("the login does not come to an end").into())
}

const UNASKED: WireError = WireError::Malformed("the server went on with SCRAM before it began");

fn terminated(text: &[u8]) -> Vec<u8> {
    [text, &[0]].concat()
}

/// SSLRequest: the server says whether it goes on encrypted.
fn begin_tls(
    postgres: &mut Postgres,
    address: &ServerAddress,
    authorities: &Path,
) -> Result<(), LoginFailure> {
    const REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
    const YES: u8 = b'S';
    const NO: u8 = b'N';
    postgres.channel.send(&REQUEST)?;
    postgres.channel.need(1)?;
    let answer = postgres.channel.unread()[0];
    postgres.channel.advance(1);
    match answer {
        YES => postgres.channel.encrypt(address.endpoint.host(), authorities).map_err(LoginFailure::Tls),
        NO => Err(LoginFailure::NoTls),
        _ => Err(WireError::Malformed("neither yes nor no to TLS").into()),
    }
}

/// Of the mechanisms that the server names the best: bound to the encrypted connection, so that nobody between can have answered in the
/// server's place.
pub fn mechanism(
    named: &[u8],
    end_point: Option<&[u8]>,
) -> Result<(&'static str, sasl::ChannelBinding), LoginFailure> {
    let is_named = |mechanism: &str| named.split(|byte| *byte == 0).any(|name| name == mechanism.as_bytes());
    match end_point {
        Some(hash) if is_named(sasl::SCRAM_SHA_256_PLUS) => {
            Ok((sasl::SCRAM_SHA_256_PLUS, sasl::ChannelBinding::tls_server_end_point(hash.to_vec())))
        }
        // That we could, which a server that can too takes as a sign of somebody between.
        Some(_) if is_named(sasl::SCRAM_SHA_256) => {
            Ok((sasl::SCRAM_SHA_256, sasl::ChannelBinding::unrequested()))
        }
        None if is_named(sasl::SCRAM_SHA_256) => {
            Ok((sasl::SCRAM_SHA_256, sasl::ChannelBinding::unsupported()))
        }
        _ => Err(LoginFailure::Method(String::from_utf8_lossy(named).replace('\0', " "))),
    }
}

/// SASLInitialResponse: the mechanism, and the first message with its length.
fn first_of(mechanism: &str, message: &[u8]) -> Vec<u8> {
    let mut answer = terminated(mechanism.as_bytes());
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
