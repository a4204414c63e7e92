//! The start of a MongoDB connection: whether the server is one that we can speak to, who we are, and by SCRAM that both sides know the
//! password (RFC 5802 and 7677, and the MongoDB specification of authentication).

use super::bson::{self, Value};
use super::{Mongodb, message_of, push_database};
use crate::sql::error::{LoginFailure, WireError};
use crate::sql::protection::Protection;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use md5::{Digest, Md5};
use model::address::ServerAddress;
use ring::{digest, hmac, pbkdf2, rand};
use serde_json::json;
use std::num::NonZeroU32;
use std::path::Path;

/// What MongoDB 3.6 speaks, which brought OP_MSG.
const LEAST_WIRE_VERSION: i64 = 6;
/// The database that knows the users.
const USERS: &str = "admin";
/// Messages of a conversation; three are needed.
const MOST_MESSAGES: u32 = 8;
/// A server that asks for fewer rounds wants to guess the password (the specification's limit), and one that asks for more wants us to work for it.
/// MongoDB's own are 10,000 and 15,000.
const ROUNDS: std::ops::RangeInclusive<u32> = 4096..=10_000_000;

/// Says who we are, until the server is ready for commands.
pub fn log_in(
    mongodb: &mut Mongodb,
    address: &ServerAddress,
    protection: Protection,
) -> Result<(), LoginFailure> {
    if let Some(authorities) = &address.tls_ca {
        begin_tls(mongodb, address, authorities)?;
    }
    // Releases before 4.4.2 do not know it as `hello`, and later ones know this name too.
    let hello = json!({ "isMaster": 1, "client": {
        "application": { "name": "dbdyno" },
        "driver": { "name": "dbdyno", "version": env!("CARGO_PKG_VERSION") },
        "os": { "type": "Linux" },
    }});
    let (version, is_primary) = mongodb.command(&hello, USERS, |answer| {
        let version = answer.get("maxWireVersion")?.and_then(Value::whole).unwrap_or_default();
        let is_primary = match answer.get("ismaster")? {
            None => answer.get("isWritablePrimary")?,
            is_primary => is_primary,
        };
        Ok((version, is_primary.is_some_and(Value::is_true)))
    })?;
    if version < LEAST_WIRE_VERSION {
        return Err(LoginFailure::Unfit(format!(
            "it speaks version {version} of the protocol of MongoDB, and 3.6 and later speak {LEAST_WIRE_VERSION} or more"
        )));
    }
    if !is_primary {
        return Err(LoginFailure::Unfit(
            "it is no primary, and refuses what writes: name the primary".to_owned(),
        ));
    }
    match &address.password {
        None => Ok(()),
        Some(password) => {
            protection.allow("a proof that its password can be guessed from")?;
            authenticate(mongodb, &address.user, password.reveal())
        }
    }
}

/// The connection is encrypted from its first byte: a server that does not expect that hangs up.
fn begin_tls(mongodb: &mut Mongodb, address: &ServerAddress, authorities: &Path) -> Result<(), LoginFailure> {
    mongodb.channel.encrypt(address.endpoint.host(), authorities).map_err(LoginFailure::Tls)
}

fn authenticate(mongodb: &mut Mongodb, user: &str, password: &str) -> Result<(), LoginFailure> {
    let known = json!({ "isMaster": 1, "saslSupportedMechs": format!("{USERS}.{user}") });
    let named = mongodb.command(&known, USERS, |answer| {
        let mechanisms = answer.get("saslSupportedMechs")?.and_then(Value::array);
        let names: Result<Vec<String>, WireError> = mechanisms
            .into_iter()
            .flat_map(bson::Document::elements)
            .map(|element| Ok(element?.1.text().unwrap_or_default().to_owned()))
            .collect();
        names
    })?;
    let is_named = |mechanism: &Mechanism| named.iter().any(|name| name == mechanism.name);
    let mechanism = match MECHANISMS.iter().find(|mechanism| is_named(mechanism)) {
        Some(mechanism) => mechanism,
        // It says nothing of a user whom it does not know, and 3.6, which has this one alone, of nobody.
        None if named.is_empty() => &MECHANISMS[1],
        None => return Err(LoginFailure::Method(named.join(" "))),
    };
    let password = (mechanism.prepared)(user, password);
    converse(mongodb, Scram::new(mechanism, user, password, &nonce()?))
}

/// Three exchanges at most: our first message and the server's, our proof and the server's, and an empty one that older servers want.
fn converse(mongodb: &mut Mongodb, mut scram: Scram) -> Result<(), LoginFailure> {
    let mut message = begin_of_conversation(scram.mechanism.name, scram.first().as_bytes());
    for _ in 0..MOST_MESSAGES {
        let (conversation, is_done, payload) = mongodb.ask(&message, |answer| {
            let conversation = answer.get("conversationId")?.and_then(Value::whole).unwrap_or_default();
            let payload = match answer.get("payload")? {
                Some(Value::Other(payload)) => payload.to_vec(),
                _ => return Err(WireError::Malformed("a login goes on without a message")),
            };
            Ok((conversation, answer.get("done")?.is_some_and(Value::is_true), payload))
        })?;
        let next = scram.next(&payload)?;
        if is_done {
            return if scram.is_proven { Ok(()) } else { Err(LoginFailure::Unproven) };
        }
        message = rest_of_conversation(conversation, next.as_bytes());
    }
    Err(WireError::Malformed("the login does not come to an end").into())
}

fn begin_of_conversation(mechanism: &str, payload: &[u8]) -> Vec<u8> {
    message(|out| {
        bson::push_number(out, "saslStart", 1);
        bson::push_text(out, "mechanism", |out| out.extend_from_slice(mechanism.as_bytes()));
        bson::push_binary(out, "payload", payload);
        bson::push_json(out, "options", &json!({ "skipEmptyExchange": true }));
    })
}

fn rest_of_conversation(conversation: i64, payload: &[u8]) -> Vec<u8> {
    message(|out| {
        bson::push_number(out, "saslContinue", 1);
        bson::push_number(out, "conversationId", conversation);
        bson::push_binary(out, "payload", payload);
    })
}

fn message(elements: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    message_of(|out| {
        elements(out);
        push_database(out, USERS);
    })
}

/// Eighteen random bytes, as text.
fn nonce() -> Result<String, LoginFailure> {
    let bytes: rand::Random<[u8; 18]> = rand::generate(&rand::SystemRandom::new())
        .map_err(|_| LoginFailure::from(std::io::Error::other("the system gave no random bytes")))?;
    Ok(BASE64.encode(bytes.expose()))
}

/// A way to prove that one knows a password.
struct Mechanism {
    name: &'static str,
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
    digest: &'static digest::Algorithm,
    /// The password as this mechanism takes it, of a user.
    prepared: fn(&str, &str) -> String,
}

/// The best first.
static MECHANISMS: [Mechanism; 2] = [
    Mechanism {
        name: "SCRAM-SHA-256",
        hmac: hmac::HMAC_SHA256,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256,
        digest: &digest::SHA256,
        // One that cannot be normalised is taken as it is.
        prepared: |_, password| {
            stringprep::saslprep(password).map_or_else(|_| password.to_owned(), |text| text.into_owned())
        },
    },
    Mechanism {
        name: "SCRAM-SHA-1",
        hmac: hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA1,
        digest: &digest::SHA1_FOR_LEGACY_USE_ONLY,
        prepared: |user, password| hex(&Md5::digest(format!("{user}:mongo:{password}"))),
    },
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A conversation: names are those of RFC 5802.
struct Scram {
    mechanism: &'static Mechanism,
    password: String,
    nonce: String,
    client_first_bare: String,
    /// What the server will prove itself by, once our proof is sent.
    server_signature: Option<Vec<u8>>,
    is_proven: bool,
}

/// `n,,` in base64: nothing binds the login to an encrypted connection.
const NO_BINDING: &str = "biws";

impl Scram {
    fn new(mechanism: &'static Mechanism, user: &str, password: String, nonce: &str) -> Scram {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        Scram {
            mechanism,
            password,
            nonce: nonce.to_owned(),
            client_first_bare: format!("n={user},r={nonce}"),
            server_signature: None,
            is_proven: false,
        }
    }

    fn first(&self) -> String {
        format!("n,,{}", self.client_first_bare)
    }

    /// What follows a message of the server.
    fn next(&mut self, message: &[u8]) -> Result<String, LoginFailure> {
        if self.is_proven {
            return Ok(String::new());
        }
        let message = str::from_utf8(message).map_err(|_| NOT_SCRAM)?;
        match &self.server_signature {
            None => self.proof(message),
            Some(signature) => {
                let told = field(message, "v").and_then(|told| BASE64.decode(told).ok());
                if told.as_deref() != Some(signature) {
                    return Err(LoginFailure::Unproven);
                }
                self.is_proven = true;
                Ok(String::new())
            }
        }
    }

    fn proof(&mut self, server_first: &str) -> Result<String, LoginFailure> {
        // An extension that must be understood.
        if server_first.starts_with("m=") {
            return Err(NOT_SCRAM.into());
        }
        let nonce = field(server_first, "r").ok_or(NOT_SCRAM)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(NOT_SCRAM.into());
        }
        let salt = field(server_first, "s").and_then(|salt| BASE64.decode(salt).ok()).ok_or(NOT_SCRAM)?;
        let rounds = field(server_first, "i").and_then(|rounds| rounds.parse::<u32>().ok());
        let rounds =
            rounds.filter(|rounds| ROUNDS.contains(rounds)).and_then(NonZeroU32::new).ok_or(NOT_SCRAM)?;
        let mut salted = vec![0; self.mechanism.digest.output_len()];
        pbkdf2::derive(self.mechanism.pbkdf2, rounds, &salt, self.password.as_bytes(), &mut salted);
        let salted = hmac::Key::new(self.mechanism.hmac, &salted);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = digest::digest(self.mechanism.digest, client_key.as_ref());
        let without_proof = format!("c={NO_BINDING},r={nonce}");
        let signed = format!("{},{server_first},{without_proof}", self.client_first_bare);
        let signature =
            hmac::sign(&hmac::Key::new(self.mechanism.hmac, stored_key.as_ref()), signed.as_bytes());
        let proof: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(key, signature)| key ^ signature)
            .collect();
        let server_key = hmac::sign(&salted, b"Server Key");
        let server_key = hmac::Key::new(self.mechanism.hmac, server_key.as_ref());
        self.server_signature = Some(hmac::sign(&server_key, signed.as_bytes()).as_ref().to_vec());
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)))
    }
}

const NOT_SCRAM: WireError = WireError::Malformed("a message of the login is not of SCRAM");

/// The value behind a letter.
fn field<'a>(message: &'a str, letter: &str) -> Option<&'a str> {
    message.split(',').find_map(|field| field.strip_prefix(letter)?.strip_prefix('='))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use bson::Document;

    /// The message of a conversation that a command or an answer has.
    pub fn payload_of(document: Document<'_>) -> Option<String> {
        match document.get("payload").unwrap()? {
            Value::Other(payload) => Some(String::from_utf8(payload.to_vec()).unwrap()),
            _ => None,
        }
    }

    /// Goes through a recorded conversation: first, first of the server, proof, proof of the server.
    pub fn replay(mechanism: &str, user: &str, password: &str, payloads: &[String]) {
        let mechanism = MECHANISMS.iter().find(|one| one.name == mechanism).unwrap();
        let [first, server_first, proof, server_proof, ..] = payloads else { panic!("{payloads:?}") };
        let nonce = field(first, "r").unwrap();
        let mut scram = Scram::new(mechanism, user, (mechanism.prepared)(user, password), nonce);
        assert_eq!(scram.first(), *first);
        assert_eq!(scram.next(server_first.as_bytes()).unwrap(), *proof);
        scram.next(server_proof.as_bytes()).unwrap();
        assert!(scram.is_proven);
    }

    /// The example of RFC 7677.
    #[test]
    fn scram_with_sha_256_is_that_of_the_rfc() {
        let mut scram = Scram::new(&MECHANISMS[0], "user", "pencil".to_owned(), "rOprNGfwEbeRWgbNEkqO");
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let proof = scram.next(first.as_bytes()).unwrap();
        assert_eq!(
            proof,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(!scram.is_proven);
        assert!(matches!(scram.next(b"v=AAAA"), Err(LoginFailure::Unproven)));
        scram.next(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
        assert!(scram.is_proven);
    }

    /// The example of RFC 5802, whose password is the one that the mechanism takes.
    #[test]
    fn scram_with_sha_1_is_that_of_the_rfc() {
        let mut scram = Scram::new(&MECHANISMS[1], "user", "pencil".to_owned(), "fyko+d2lbbFgONRv9qkxdawL");
        let first = "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096";
        let proof = scram.next(first.as_bytes()).unwrap();
        assert_eq!(
            proof,
            "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
        );
        scram.next(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=").unwrap();
        assert!(scram.is_proven);
    }

    #[test]
    fn a_server_that_plays_with_the_conversation_is_refused() {
        for first in [
            "r=other,s=QSXCR+Q6sek8bf92,i=4096",
            "r=nonce,s=QSXCR+Q6sek8bf92,i=4096",
            "r=nonceX,s=QSXCR+Q6sek8bf92,i=0",
            "r=nonceX,s=QSXCR+Q6sek8bf92,i=4095",
            "m=x,r=nonceX,s=QSXCR+Q6sek8bf92,i=4096",
            "r=nonceX,s=QSXCR+Q6sek8bf92,i=4000000000",
            "r=nonceX,i=4096",
            "",
        ] {
            let mut scram = Scram::new(&MECHANISMS[0], "user", "pencil".to_owned(), "nonce");
            assert!(scram.next(first.as_bytes()).is_err(), "{first}");
        }
    }
}
