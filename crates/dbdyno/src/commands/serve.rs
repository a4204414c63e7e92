//! `dbdyno serve`: the store in a browser, until Ctrl-C.

use crate::cli::{Places, Serve};
use crate::commands::print;
use crate::exit::{Ending, usage};
use crate::serving::{self, Access, Site, Token};
use crate::{interrupt, paths};
use anyhow::{Context, anyhow};
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use store::Store;
use tokio_rustls::TlsAcceptor;

/// Looks at the store, listens, says where, answers.
pub fn run(places: &Places, arguments: &Serve) -> anyhow::Result<Ending> {
    let stop = interrupt::listen()?;
    let path = paths::store_file(places)?;
    brought_up_to_date(&path)?;
    let tls = tls(arguments)?;
    let listener = listening(arguments.listen)?;
    let address = listener.local_addr().context("failed to read the address that is listened on")?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let mut access = access(arguments, address)?;
    // One line, which scripts read: it comes when the address answers.
    print::text(&format!("{scheme}://{address}/\n"))?;
    say(&format!("serving `{}`; Ctrl-C ends it", path.display()));
    if arguments.token_file.is_none() && !address.ip().is_loopback() {
        let code = Token::drawn()?;
        say(&format!("for one browser, once: {scheme}://{address}/?token={}", code.shown()));
        say("for more of them, and for scripts: --token-file");
        access = access.with_code(code);
    }
    serving::run(listener, tls, Site::new(path, access), &stop)?;
    Ok(Ending::Done)
}

/// A store of an earlier version is brought up to date now: no request changes anything. One that is not there yet, or
/// locked at the moment, is told on the pages.
fn brought_up_to_date(path: &Path) -> anyhow::Result<()> {
    match Store::open_existing(path) {
        Ok(_) => Ok(()),
        Err(
            error @ (store::Error::Missing { .. }
            | store::Error::Busy { .. }
            | store::Error::OlderInUse { .. }),
        ) => {
            say(&format!("{error}"));
            Ok(())
        }
        Err(error) => Err(usage(error)),
    }
}

fn listening(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => usage(anyhow!(
            "{address} is in use, perhaps by another `dbdyno serve`; `--listen {}:0` takes any free port",
            address.ip()
        )),
        ErrorKind::AddrNotAvailable => usage(anyhow!(
            "{address} is no address of this host; `--listen 127.0.0.1:7117` is for this host alone"
        )),
        ErrorKind::PermissionDenied => {
            usage(anyhow!("no permission to listen on {address}; ports from 1024 on need none"))
        }
        _ => anyhow!(error).context(format!("failed to listen on {address}")),
    })
}

fn tls(arguments: &Serve) -> anyhow::Result<Option<TlsAcceptor>> {
    let (Some(certificate), Some(key)) = (&arguments.tls_certificate, &arguments.tls_key) else {
        return Ok(None);
    };
    warn_of_readers(key, "key of TLS");
    serving::acceptor(certificate, key).map(Some).map_err(usage)
}

/// With the token of the file; on another address than the loopback at least with one that is drawn, and which nobody knows: a
/// code leads to its cookie.
fn access(arguments: &Serve, address: SocketAddr) -> anyhow::Result<Access> {
    let token = match &arguments.token_file {
        Some(path) => {
            warn_of_readers(path, "token file");
            Some(Token::of_file(path).map_err(usage)?)
        }
        None if address.ip().is_loopback() => None,
        None => Some(Token::drawn()?),
    };
    let access = Access::new(address, token).with_names(&arguments.name);
    Ok(if arguments.tls_certificate.is_some() { access.encrypted() } else { access })
}

fn warn_of_readers(path: &Path, what: &str) {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o044 != 0) {
        say(&format!("warning: others can read the {what} `{0}`; chmod 600 {0}", path.display()));
    }
}

/// Where standard error is closed there is nobody to tell.
fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "dbdyno serve: {text}"));
}
