//! External servers that are reached by TLS: with a certificate of the tests, whose key the server has.

use super::external_servers::measure;
use super::neighbour::{MARIADB, Neighbour, PASSWORD};
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use crate::workspace;
use anyhow::{Context, ensure};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;

/// The user as whom servers run if root starts them, on Debian.
const NOBODY: u32 = 65534;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("external servers by TLS, postgres", postgres).shares_host(),
        Case::new("external servers by TLS, mariadb", mariadb).shares_host(),
    ]
}

fn fixture(name: &str) -> anyhow::Result<PathBuf> {
    Ok(workspace::root()?.join("crates/testing/fixtures/tls").join(name))
}

/// The certificate and the key as servers want them: the key is for their user only.
fn server_files(scratch: &Scratch) -> anyhow::Result<(PathBuf, PathBuf)> {
    let copied = |name: &str| -> anyhow::Result<PathBuf> {
        let path = scratch.path(name);
        fs::copy(fixture(name)?, &path).with_context(|| format!("failed to copy {name}"))?;
        Ok(path)
    };
    let (certificate, key) = (copied("certificate.pem")?, copied("key.pem")?);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
    if fs::metadata(&key)?.uid() == 0 {
        chown(&key, Some(NOBODY), None).context("failed to give the key to the user of servers")?;
    }
    Ok((certificate, key))
}

fn add(scratch: &Scratch, name: &str, dsn: &str, authorities: &str) -> anyhow::Result<()> {
    let authorities = fixture(authorities)?;
    Call::new(scratch, ["engine", "add", name, dsn, "--tls-ca"]).and([authorities]).succeeds()?;
    Ok(())
}

/// With SCRAM that is bound to the connection. Who has not signed the certificate, and a host that it is not for, are refused.
fn postgres(scratch: &Scratch) -> anyhow::Result<Ending> {
    let (certificate, key) = server_files(scratch)?;
    let options = [
        "ssl = \"on\"".to_owned(),
        format!("ssl_cert_file = \"{}\"", certificate.display()),
        format!("ssl_key_file = \"{}\"", key.display()),
    ];
    let server = Neighbour::guarded_postgres_with(scratch, &options)?;
    let dsn = server.dsn("bound")?;
    add(scratch, "bound", &dsn, "certificate.pem")?;
    let info = Call::new(scratch, ["engine", "info", "postgres@bound"]).succeeds()?.stdout;
    ensure!(info.contains("TLS        with a certificate that"), "{info}");
    measure(scratch, "postgres@bound", Some(PASSWORD))?.succeeds()?;
    // Its user needs no password, and TLS.
    add(scratch, "tls", &server.dsn("tls")?, "certificate.pem")?;
    measure(scratch, "postgres@tls", None)?.succeeds()?;

    let refused = |name: &str, dsn: &str, authorities: &str, words: &[&str]| -> anyhow::Result<()> {
        add(scratch, name, dsn, authorities)?;
        measure(scratch, &format!("postgres@{name}"), Some(PASSWORD))?.fails(&[2, 3], words)?;
        Ok(())
    };
    refused("keys", &dsn, "other-key.pem", &["TLS with the server", "no certificate in PEM"])?;
    // The resolver takes it for 127.0.0.1, and no certificate does.
    let by_another_name = dsn.replace("127.0.0.1", "127.1");
    refused(
        "name",
        &by_another_name,
        "certificate.pem",
        &["TLS with the server", "whether that is for this host"],
    )?;

    let plain = Neighbour::start(scratch, super::neighbour::POSTGRES)?;
    refused("plain", &plain.dsn("bench")?, "certificate.pem", &["does not speak TLS"])?;
    let at_socket = format!("postgres://bench@/bench?host={}", scratch.path("").display());
    Call::new(scratch, ["engine", "add", "socket", &at_socket, "--tls-ca"])
        .and([fixture("certificate.pem")?])
        .fails(&[2], &["--tls-ca is for the address of a host"])?;
    Ok(Ending::Passed)
}

/// On a server that lets in nobody without TLS.
fn mariadb(scratch: &Scratch) -> anyhow::Result<Ending> {
    let (certificate, key) = server_files(scratch)?;
    let config = format!(
        "engine = \"mariadb\"\n[[config]]\nname = \"encrypted\"\ndescription = \"has a certificate\"\n\
         [config.options]\nssl_cert = \"{}\"\nssl_key = \"{}\"\n",
        certificate.display(),
        key.display()
    );
    scratch.write_config("configs/mariadb.toml", &config)?;
    let plugin = "mysql_native_password";
    let server = Neighbour::guarded_mysql(scratch, &format!("{MARIADB}+encrypted"), &[plugin])?;
    server.run(["SET GLOBAL require_secure_transport = ON"])?;
    add(scratch, "mariadb@bound", &server.dsn(plugin)?, "certificate.pem")?;
    measure(scratch, "mariadb@bound", Some(PASSWORD))?.succeeds()?;
    Ok(Ending::Passed)
}
