//! `dbdyno engine start`: a private server to look at with a client of one's own. Nothing is measured.

use crate::cli::Places;
use crate::commands::print;
use crate::exit::usage;
use crate::progress::Progress;
use crate::{interrupt, paths};
use anyhow::{Context, anyhow};
use model::address::{Endpoint, ServerAddress};
use model::config;
use model::subject::SubjectRef;
use model::units::Bytes;
use model::workload::sql::Dialect;
use runner::engines::{BuildCache, EngineCatalog};
use runner::real::run_directory::{self, RunDirectory};
use runner::server::{FreshServer, Network, ServerError};
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the user asks for.
pub struct Wanted<'a> {
    pub server: &'a str,
    pub memory: &'a str,
    pub network: Network,
    pub as_json: bool,
}

/// How it is reached, for scripts.
#[derive(Serialize)]
struct Reached<'a> {
    #[serde(flatten)]
    address: &'a ServerAddress,
    /// Its Unix socket, by which the user above needs no password.
    socket: &'a Path,
}

/// How often it is looked whether the server still runs, and whether it should.
const LOOK: Duration = Duration::from_millis(50);

/// Fetches, makes, starts, tells, waits, stops.
pub fn run(
    places: &Places,
    catalog: &EngineCatalog,
    cache: &BuildCache,
    wanted: &Wanted<'_>,
) -> anyhow::Result<()> {
    let reference: SubjectRef = wanted.server.parse().map_err(usage)?;
    let memory: Bytes = wanted.memory.parse().context("--memory").map_err(usage)?;
    let config = catalog.config(&reference.build.engine, &reference.config).map_err(usage)?;
    let progress = Progress::new();
    let build = cache.fetch(catalog, &reference.build, &mut |text| progress.say(text))?;
    if build.elsewhere().is_some() {
        return Err(usage(anyhow!("{} is an external server, which dbdyno does not start", build.reference)));
    }
    if build.server.is_none() {
        return Err(usage(anyhow!("{} is a library that is loaded, not a server", build.reference)));
    }
    let options = config::for_server(config, build.release(), memory);
    let work_dir = paths::work_dir(places)?;
    let kept = run_directory::initialised_below(&work_dir);
    let run = RunDirectory::create(&work_dir, &format!("server-{}", std::process::id()))?;
    let directory = run.path().join("db");
    let fresh = FreshServer {
        build: &build,
        options: &options,
        environment: &config.environment,
        directory,
        network: wanted.network,
        kept,
    };
    let mut server = fresh.run(&interrupt::requested)?;
    if wanted.as_json {
        let reached = Reached { address: server.address(), socket: server.socket() };
        let line = serde_json::to_string(&reached).context("failed to render JSON")?;
        print::text(&format!("{line}\n"))?;
    } else {
        print::text(&told(&reference, server.address()))?;
    }
    let ended = end_of_input();
    while !(interrupt::requested() || ended.load(Ordering::Relaxed)) {
        server.check()?;
        std::thread::sleep(LOOK);
    }
    match server.stop(&interrupt::requested) {
        // It was killed. Ctrl-C is how this is meant to end, and nobody needs what it would have written.
        Err(ServerError::Interrupted) => Ok(()),
        stopped => Ok(stopped?),
    }
}

/// How to reach it with the client that everybody has.
fn told(reference: &SubjectRef, address: &ServerAddress) -> String {
    let place = match (&address.endpoint, address.dialect) {
        (Endpoint::Socket { path }, Dialect::Postgres) => {
            format!(
                "psql -h {} -U {} {}",
                path.parent().unwrap_or(path).display(),
                address.user,
                address.database
            )
        }
        (Endpoint::Socket { path }, Dialect::Mysql) => {
            format!("mariadb -S {} -u {} {}", path.display(), address.user, address.database)
        }
        (Endpoint::Tcp { host, port }, Dialect::Postgres) => {
            format!("psql -h {host} -p {port} -U {} {}", address.user, address.database)
        }
        (Endpoint::Tcp { host, port }, Dialect::Mysql) => {
            format!("mariadb -h {host} -P {port} -u {} {}", address.user, address.database)
        }
        (Endpoint::Socket { path }, Dialect::Mongodb) => {
            let path = path.display().to_string().replace('/', "%2F");
            format!("mongosh 'mongodb://{path}/{}'", address.database)
        }
        (Endpoint::Tcp { host, port }, Dialect::Mongodb) => {
            format!("mongosh mongodb://{host}:{port}/{}", address.database)
        }
    };
    let warning = match &address.endpoint {
        Endpoint::Socket { .. } => String::new(),
        Endpoint::Tcp { .. } => format!(
            "  warning: every user of this host can log in as {}, a superuser without a password, and do what the server's own account may; \
             without --tcp only you can\n",
            address.user
        ),
    };
    format!("{reference} runs; Ctrl-C stops it and removes its data\n  {place}\n{warning}")
}

/// Set when standard input has ended: whoever started us has ended too.
fn end_of_input() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&ended);
    std::thread::spawn(move || {
        let mut sink = [0; 64];
        while std::io::stdin().read(&mut sink).is_ok_and(|bytes| bytes > 0) {}
        set.store(true, Ordering::Relaxed);
    });
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_says_who_can_log_in() {
        let told_of = |endpoint: Endpoint| {
            let address = ServerAddress::new(Dialect::Postgres, endpoint, "bench", "bench");
            told(&"postgres@16.3".parse().unwrap(), &address)
        };
        let by_tcp = told_of(Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: 5433 });
        assert!(by_tcp.contains("psql -h 127.0.0.1 -p 5433 -U bench bench\n"), "{by_tcp}");
        let warning = "  warning: every user of this host can log in as bench, a superuser";
        assert!(by_tcp.contains(warning), "{by_tcp}");
        let by_socket = told_of(Endpoint::Socket { path: "/tmp/s/.s.PGSQL.5432".into() });
        assert!(by_socket.contains("psql -h /tmp/s ") && !by_socket.contains("warning"), "{by_socket}");
    }
}
