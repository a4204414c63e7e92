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

/// Looks at the store, listens, says where, answers.
pub fn run(places: &Places, arguments: &Serve) -> anyhow::Result<Ending> {
    let stop = interrupt::listen()?;
    let path = paths::store_file(places)?;
    brought_up_to_date(&path)?;
    let listener = listening(arguments.listen)?;
    let address = listener.local_addr().context("failed to read the address that is listened on")?;
    let token = token(arguments, address)?;
    // One line, which scripts read: it comes when the address answers.
    print::text(&format!("http://{address}/\n"))?;
    say(&format!("serving `{}`; Ctrl-C ends it", path.display()));
    if let (Some(token), None) = (&token, &arguments.token_file) {
        say(&format!("token, not shown again: {}", token.shown()));
        say(&format!("open in a browser: http://{address}/?token={}", token.shown()));
    }
    serving::run(listener, &Site::new(path, Access::new(address, token)), &stop)?;
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

/// The one of the file; on another address than the loopback at least one that is drawn.
fn token(arguments: &Serve, address: SocketAddr) -> anyhow::Result<Option<Token>> {
    match &arguments.token_file {
        Some(path) => {
            let others_can_read =
                std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o044 != 0);
            if others_can_read {
                say(&format!("warning: others can read the token file `{0}`; chmod 600 {0}", path.display()));
            }
            Token::of_file(path).map(Some).map_err(usage)
        }
        None if address.ip().is_loopback() => Ok(None),
        None => Token::drawn().map(Some),
    }
}

/// Where standard error is closed there is nobody to tell.
fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "dbdyno serve: {text}"));
}
