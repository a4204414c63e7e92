//! The start of a MySQL connection: the server's greeting, what both can, who we are, and how the server makes sure.

use super::scramble;
use super::{ERR, HEADER, Mysql, OK, error_message, push_length, set_header, take};
use crate::sql::error::{LoginFailure, WireError};
use crate::sql::protection::Protection;
use model::address::{Password, ServerAddress};

/// What a client and a server can.
const LONG_PASSWORD: u32 = 1;
const FOUND_ROWS: u32 = 1 << 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const TLS: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
const DEPRECATE_EOF: u32 = 1 << 24;
/// MariaDB's own, in four bytes that MySQL leaves at zero; valid where the server does not set `LONG_PASSWORD`.
const MARIADB_CACHE_METADATA: u32 = 1 << 4;
/// Everything that we use. `FOUND_ROWS`: an UPDATE that changes nothing tells of the row that it found, as on Postgres.
const OURS: u32 = LONG_PASSWORD
    | FOUND_ROWS
    | LONG_FLAG
    | CONNECT_WITH_DB
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE_CONNECTION
    | PLUGIN_AUTH
    | DEPRECATE_EOF;
/// `utf8_general_ci`, which every release has.
const CHARACTER_SET: u8 = 33;
/// Bytes of a response before the user's name.
const BEFORE_USER: usize = 32;
/// The first byte of further messages of a login.
const MORE_DATA: u8 = 1;
const SWITCH: u8 = 0xfe;
/// Kinds of passwords.
const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";
/// What `caching_sha2_password` asks for.
const SHA2_FAST_OK: u8 = 3;
const SHA2_FULL: u8 = 4;
const SHA2_KEY_PLEASE: u8 = 2;
/// Bytes of the name of a kind of passwords; that of the longest known is 29.
const LONGEST_PLUGIN: usize = 256;
/// A server that asks for more than this does not come to an end.
const MOST_MESSAGES: u32 = 16;

/// The server's greeting.
#[derive(Debug, PartialEq, Eq)]
struct Greeting {
    capabilities: u32,
    mariadb: u32,
    nonce: Vec<u8>,
    plugin: String,
}

/// Says who we are, until the server is ready for statements.
pub fn log_in(
    mysql: &mut Mysql,
    address: &ServerAddress,
    protection: Protection,
) -> Result<(), LoginFailure> {
    let length = mysql.head()?;
    let body = mysql.body(length)?;
    if body[0] == ERR {
        return Err(WireError::Server(Box::new(error_message(body)?)).into());
    }
    let mut greeting = greeting(body)?;
    mysql.channel.advance(length);
    if greeting.capabilities & PROTOCOL_41 == 0 {
        return Err(LoginFailure::Method("the protocol of MySQL 4.0".to_owned()));
    }
    let mut both = OURS & greeting.capabilities;
    mysql.deprecate_eof = both & DEPRECATE_EOF != 0;
    let mariadb = if mysql.deprecate_eof { greeting.mariadb & MARIADB_CACHE_METADATA } else { 0 };
    mysql.cache_metadata = mariadb != 0;
    // A plugin that we cannot is only the server's first proposal: it asks for the user's own one next.
    let proof = match proof(&greeting, address) {
        Ok(proof) => proof,
        Err(LoginFailure::Method(_)) if both & PLUGIN_AUTH != 0 => Vec::new(),
        Err(failure) => return Err(failure),
    };
    if address.tls_ca.is_some() {
        both |= TLS;
    }
    let answer = response(address, &greeting.plugin, &proof, both, mariadb);
    let mut number = 1;
    if let Some(authorities) = &address.tls_ca {
        if greeting.capabilities & TLS == 0 {
            return Err(LoginFailure::NoTls);
        }
        // What stands before the user's name, and nothing of that.
        send(mysql, answer[..BEFORE_USER].to_vec(), number)?;
        mysql.channel.encrypt(address.endpoint.host(), authorities).map_err(LoginFailure::Tls)?;
        number += 1;
    }
    send(mysql, answer, number)?;
    let mut key_asked_for = false;
    for _ in 0..MOST_MESSAGES {
        let number = number_of_next(mysql)?;
        let length = mysql.head()?;
        let is_private = mysql.channel.is_local_socket() || mysql.channel.is_encrypted();
        let body = mysql.body(length)?.to_vec();
        mysql.channel.advance(length);
        let answer = match body[0] {
            OK => return Ok(()),
            ERR => return Err(WireError::Server(Box::new(error_message(&body)?)).into()),
            SWITCH => {
                if body.len() == 1 {
                    return Err(LoginFailure::Method("mysql_old_password".to_owned()));
                }
                let mut rest = &body[1..];
                greeting.plugin = take_plugin(&mut rest)?;
                greeting.nonce = rest.strip_suffix(&[0]).unwrap_or(rest).to_vec();
                self::proof(&greeting, address)?
            }
            MORE_DATA if greeting.plugin == SHA2 => match body.get(1) {
                Some(&SHA2_FAST_OK) => continue,
                Some(&SHA2_FULL) => {
                    protection.allow("the password, encrypted with a key that whoever answers may choose")?;
                    key_asked_for = !is_private;
                    if is_private { [password(address)?, &[0]].concat() } else { vec![SHA2_KEY_PLEASE] }
                }
                _ if key_asked_for => scramble::encrypted(password(address)?, &greeting.nonce, &body[1..])
                    .ok_or(WireError::Malformed("the server's public key cannot be read"))?,
                _ => return Err(WireError::Malformed("the server sends a key that nobody asked for").into()),
            },
            _ => return Err(WireError::Malformed("a message of unknown kind while logging in").into()),
        };
        send(mysql, answer, number.wrapping_add(1))?;
    }
    Err(WireError::Malformed("the login does not come to an end").into())
}

/// Packets of a login count on from one side to the other.
fn number_of_next(mysql: &mut Mysql) -> Result<u8, LoginFailure> {
    mysql.channel.need(HEADER)?;
    Ok(mysql.channel.unread()[HEADER - 1])
}

fn send(mysql: &mut Mysql, payload: Vec<u8>, number: u8) -> Result<(), LoginFailure> {
    let mut packet = vec![0; HEADER];
    packet.extend_from_slice(&payload);
    set_header(&mut packet, 0, number);
    Ok(mysql.channel.send(&packet)?)
}

fn password(address: &ServerAddress) -> Result<&[u8], LoginFailure> {
    address.password.as_ref().map(|password| password.reveal().as_bytes()).ok_or(LoginFailure::NoPassword)
}

/// What shows that we know the password; nothing where there is none, which is right for users without one and for
/// users of the socket.
fn proof(greeting: &Greeting, address: &ServerAddress) -> Result<Vec<u8>, LoginFailure> {
    let password = address.password.as_ref().map(Password::reveal);
    let Some(password) = password.filter(|password| !password.is_empty()) else {
        return Ok(Vec::new());
    };
    match greeting.plugin.as_str() {
        NATIVE => Ok(scramble::native(password.as_bytes(), &greeting.nonce).to_vec()),
        SHA2 => Ok(scramble::caching_sha2(password.as_bytes(), &greeting.nonce).to_vec()),
        "unix_socket" | "auth_socket" => Ok(Vec::new()),
        other => Err(LoginFailure::Method(other.to_owned())),
    }
}

fn greeting(mut body: &[u8]) -> Result<Greeting, WireError> {
    const PROTOCOL: u8 = 10;
    if take(&mut body, 1)?[0] != PROTOCOL {
        return Err(WireError::Malformed("the server does not greet as MySQL does"));
    }
    take_terminated(&mut body)?;
    take(&mut body, 4)?;
    let mut nonce = take(&mut body, 8)?.to_vec();
    take(&mut body, 1)?;
    let low = take(&mut body, 2)?;
    // Character set and status.
    take(&mut body, 3)?;
    let high = take(&mut body, 2)?;
    let capabilities = u32::from_le_bytes([low[0], low[1], high[0], high[1]]);
    let nonce_length = usize::from(take(&mut body, 1)?[0]);
    let reserved = take(&mut body, 10)?;
    let mariadb = match *reserved {
        [.., a, b, c, d] if capabilities & LONG_PASSWORD == 0 => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    };
    if capabilities & SECURE_CONNECTION != 0 {
        let rest = take(&mut body, nonce_length.saturating_sub(8).max(13))?;
        nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
    }
    let plugin = if capabilities & PLUGIN_AUTH != 0 { take_plugin(&mut body)? } else { String::new() };
    let plugin = if plugin.is_empty() { NATIVE.to_owned() } else { plugin };
    Ok(Greeting { capabilities, mariadb, nonce, plugin })
}

/// A text up to a zero, or to the end: some old releases forget the zero after the last one.
fn take_terminated(body: &mut &[u8]) -> Result<String, WireError> {
    let end = body.iter().position(|byte| *byte == 0).unwrap_or(body.len());
    let text = take(body, end)?;
    *body = body.get(1..).unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// The name of a kind of passwords, which is sent back: one that fills a packet would make ours too long.
fn take_plugin(body: &mut &[u8]) -> Result<String, WireError> {
    let name = take_terminated(body)?;
    if name.len() > LONGEST_PLUGIN {
        return Err(WireError::Malformed("the name of a kind of passwords is longer than any"));
    }
    Ok(name)
}

fn response(address: &ServerAddress, plugin: &str, proof: &[u8], capabilities: u32, mariadb: u32) -> Vec<u8> {
    let mut answer = Vec::new();
    answer.extend_from_slice(&capabilities.to_le_bytes());
    // The longest packet that we take.
    answer.extend_from_slice(&(1_u32 << 30).to_le_bytes());
    answer.push(CHARACTER_SET);
    answer.extend_from_slice(&[0; 19]);
    answer.extend_from_slice(&mariadb.to_le_bytes());
    answer.extend_from_slice(address.user.as_bytes());
    answer.push(0);
    push_length(&mut answer, proof.len());
    answer.extend_from_slice(proof);
    answer.extend_from_slice(address.database.as_bytes());
    answer.push(0);
    if capabilities & PLUGIN_AUTH != 0 {
        answer.extend_from_slice(plugin.as_bytes());
        answer.push(0);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A greeting such as MariaDB 10.11.19 sends, written by hand.
    fn written() -> Vec<u8> {
        let mut body = vec![10];
        body.extend_from_slice(b"5.5.5-10.11.19-MariaDB\0");
        body.extend_from_slice(&[5, 0, 0, 0]);
        body.extend_from_slice(b"abcdefgh\0");
        body.extend_from_slice(&[0xfe, 0xf7, 0x08, 0x02, 0x00, 0xff, 0x81, 21]);
        body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0x1d, 0, 0, 0]);
        body.extend_from_slice(b"ijklmnopqrst\0");
        body.extend_from_slice(b"mysql_native_password\0");
        body
    }

    #[test]
    fn a_greeting_of_mariadb_tells_what_it_can() {
        let read = greeting(&written()).unwrap();
        assert_eq!(read.nonce, b"abcdefghijklmnopqrst");
        assert_eq!(read.plugin, "mysql_native_password");
        assert_ne!(read.mariadb & MARIADB_CACHE_METADATA, 0);
        assert_ne!(read.capabilities & DEPRECATE_EOF, 0);
        assert_eq!(read.capabilities & LONG_PASSWORD, 0);
    }

    #[test]
    fn a_plugin_whose_name_would_not_fit_into_our_answer_is_refused() {
        let before_plugin = written().len() - "mysql_native_password\0".len();
        let named = |length: usize| {
            let body = [&written()[..before_plugin], vec![b'x'; length].as_slice()].concat();
            greeting(&body).map(|greeting| greeting.plugin.len())
        };
        assert_eq!(named(LONGEST_PLUGIN).unwrap(), LONGEST_PLUGIN);
        assert!(matches!(named(LONGEST_PLUGIN + 1), Err(WireError::Malformed(_))));
    }

    #[test]
    fn a_greeting_that_is_cut_is_an_error_wherever_it_is_cut() {
        let whole = written();
        // The name of the plugin may end with the packet.
        let before_plugin = whole.len() - "mysql_native_password\0".len();
        for length in 0..before_plugin {
            let result = greeting(&whole[..length]);
            // A version without its end swallows what follows; then nothing is left for the rest.
            assert!(result.is_err(), "{length}: {result:?}");
        }
    }
}
