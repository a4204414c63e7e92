//! TLS on the way to a server elsewhere. It is the server that its certificate names, signed by an authority that the user has
//! named: neither is ever left unchecked.

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

/// A connection whose handshake is over.
pub type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// Encrypts a connection to a host. The authorities are a file in PEM.
pub fn encrypted(mut stream: TcpStream, host: &str, authorities: &Path) -> io::Result<Encrypted> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| invalid(format!("no certificate can be for a host of the name `{host}`")))?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots(authorities)?)
        .with_no_client_auth();
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(connection, stream))
}

fn roots(authorities: &Path) -> io::Result<RootCertStore> {
    let unreadable = |problem: String| invalid(format!("`{}`: {problem}", authorities.display()));
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(authorities).map_err(|error| unreadable(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("there is no certificate in PEM (`-----BEGIN CERTIFICATE-----`)".to_owned()));
    }
    Ok(roots)
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// What binds a login to this connection: the hash of the server's certificate (RFC 5929, chapter 4.1). Absent where the
/// signature of the certificate has no hash function of its own.
pub fn end_point(stream: &Encrypted) -> Option<Vec<u8>> {
    hash_of(stream.conn.peer_certificates()?.first()?)
}

/// By the hash function of its signature; by SHA-256 in place of MD5 and SHA-1.
fn hash_of(certificate: &[u8]) -> Option<Vec<u8>> {
    // `sha256WithRSAEncryption` and its kind, `ecdsa-with-SHA256` and its kind: all but their last number.
    const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    let algorithm = signature_algorithm(certificate)?;
    let number = algorithm.strip_prefix(RSA.as_slice()).or(algorithm.strip_prefix(ECDSA.as_slice()))?;
    match (algorithm.starts_with(&RSA), number) {
        (true, [4 | 5 | 11]) | (false, [1] | [3, 2]) => Some(Sha256::digest(certificate).to_vec()),
        (true, [12]) | (false, [3, 3]) => Some(Sha384::digest(certificate).to_vec()),
        (true, [13]) | (false, [3, 4]) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OBJECT IDENTIFIER, .. }, .. }` (RFC 5280).
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const OBJECT_IDENTIFIER: u8 = 6;
    let (_, certificate, _) = element(certificate)?;
    let (_, _, after_what_is_signed) = element(certificate)?;
    let (_, algorithm, _) = element(after_what_is_signed)?;
    let (tag, identifier, _) = element(algorithm)?;
    (tag == OBJECT_IDENTIFIER).then_some(identifier)
}

/// The first element of a text in DER: its tag, its content, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    /// Of a length that does not fit into seven bits: how many bytes it has, in four of them 4 GB.
    const MOST_LENGTH_BYTES: usize = 4;
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if bytes.len() > MOST_LENGTH_BYTES {
            return None;
        }
        (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> CertificateDer<'static> {
        CertificateDer::from_pem_file(testing::tls_fixture("certificate.pem")).unwrap()
    }

    #[test]
    fn a_certificate_is_hashed_as_its_signature_is() {
        // `openssl x509 -outform DER | sha256sum`
        let expected = "790c18d0de3372d208e968d965ae0141053255eaa4bbc1ea2b754ef882ac930d";
        let hash = hash_of(&certificate()).unwrap();
        assert_eq!(hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
        let whole = certificate().to_vec();
        // The identifier `ecdsa-with-SHA256` stands in what is signed, too; the one that counts comes last.
        let identifier = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
        let place = whole.windows(identifier.len()).rposition(|window| window == identifier).unwrap();
        for (number, bytes) in [(2, Some(32)), (3, Some(48)), (4, Some(64)), (9, None)] {
            let mut changed = whole.clone();
            changed[place + identifier.len() - 1] = number;
            assert_eq!(hash_of(&changed).map(|hash| hash.len()), bytes, "{number}");
        }
    }

    #[test]
    fn what_is_cut_or_absurd_has_no_hash_and_ends() {
        let whole = certificate().to_vec();
        for length in 0..whole.len() {
            assert_eq!(signature_algorithm(&whole[..length]), None, "{length}");
        }
        for absurd in [&[0x30, 0xff][..], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 0x89], &[0x30]] {
            assert_eq!(hash_of(absurd), None, "{absurd:?}");
        }
    }

    #[test]
    fn a_file_without_authorities_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        for (text, part) in [("", "no certificate in PEM"), ("-----BEGIN CERTIFICATE-----\nx", "ca.pem")] {
            std::fs::write(&path, text).unwrap();
            let message = roots(&path).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("ca.pem"), "{message}");
        }
        assert!(roots(&directory.path().join("missing")).unwrap_err().to_string().contains("missing"));
        assert_eq!(roots(&testing::tls_fixture("certificate.pem")).unwrap().len(), 1);
    }
}
