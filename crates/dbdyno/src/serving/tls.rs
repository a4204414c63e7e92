//! TLS of the server: a certificate and its key from files, in PEM.

use anyhow::{Context, anyhow};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What makes a connection one of TLS 1.2 or 1.3. The file of the certificate has those that signed it after it, as servers have it.
pub fn acceptor(certificate: &Path, key: &Path) -> anyhow::Result<TlsAcceptor> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(|certificates| certificates.collect())
        .map_err(|error| unreadable(certificate, "certificate", &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, "key", &error))?;
    if chain.is_empty() {
        return Err(unreadable(certificate, "certificate", &pem::Error::NoItemsFound));
    }
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .context("this build of dbdyno has no version of TLS")?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .with_context(|| {
            format!(
                "the certificate `{}` and the key `{}` make no pair",
                certificate.display(),
                key.display()
            )
        })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unreadable(path: &Path, what: &str, error: &pem::Error) -> anyhow::Error {
    match error {
        pem::Error::NoItemsFound => anyhow!(
            "the file `{}` has no {what} in PEM (`-----BEGIN ..`); \
             `openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -subj /CN=NAME \
             -addext subjectAltName=DNS:NAME` makes both for a test",
            path.display()
        ),
        error => anyhow!("failed to read the {what} of TLS from `{}`: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::tls_fixture as fixture;

    fn refusal(certificate: &Path, key: &Path) -> String {
        format!("{:#}", acceptor(certificate, key).err().unwrap())
    }

    #[test]
    fn a_certificate_and_its_key_make_an_acceptor_and_what_does_not_fit_is_named() {
        let (certificate, key) = (fixture("certificate.pem"), fixture("key.pem"));
        assert!(acceptor(&certificate, &key).is_ok());
        let check = |certificate: &Path, key: &Path, parts: &[&str]| {
            let message = refusal(certificate, key);
            for part in parts {
                assert!(message.contains(part), "{part} in {message}");
            }
        };
        check(&certificate, &fixture("other-key.pem"), &["make no pair", "other-key.pem"]);
        check(&certificate, &certificate, &["has no key in PEM", "openssl req"]);
        check(&key, &key, &["has no certificate in PEM", "key.pem"]);
        check(&fixture("missing.pem"), &key, &["failed to read the certificate", "missing.pem"]);
        let directory = tempfile::tempdir().unwrap();
        let cut = directory.path().join("cut.pem");
        let text = std::fs::read_to_string(&certificate).unwrap();
        std::fs::write(&cut, &text[..text.len() / 2]).unwrap();
        check(&cut, &key, &["cut.pem"]);
        std::fs::write(&cut, "").unwrap();
        check(&cut, &key, &["has no certificate in PEM"]);
    }
}
