//! A case of a network that is cut: a run in a network namespace of its own, on a server from which nothing comes back any more.

use super::external_servers::measure_for;
use super::neighbour::{Neighbour, POSTGRES};
use super::network::{Cable, ip};
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

pub fn cases() -> Vec<Case> {
    vec![Case::new("network cut", cut).nightly()]
}

/// Of the benchmarking range (RFC 2544), which no other network of a host has.
const HERE: Ipv4Addr = Ipv4Addr::new(198, 18, 213, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(198, 18, 213, 2);
/// A cut is noticed within a minute, and dropping tables on a server that does not answer is given up after seconds.
const TIMEOUT: Duration = Duration::from_secs(150);
const POLL: Duration = Duration::from_millis(20);

fn cut(scratch: &Scratch) -> anyhow::Result<Ending> {
    let link = match Cable::lay("cut", HERE, THERE) {
        Ok(cable) => Link { cable },
        Err(error) => return Ok(Ending::NotHere { reason: format!("{error:#}") }),
    };
    let server = Neighbour::start(scratch, POSTGRES)?;
    let port = forward(server.port()?)?;
    let address = format!("postgres://bench@{HERE}:{port}/bench");
    Call::new(scratch, ["engine", "add", "far", &address]).succeeds()?;
    // For longer than the case takes.
    let run = measure_for(scratch, "postgres@far", 600)?;
    let mut run = run.through(["ip", "netns", "exec", &link.cable.namespace]).start()?;
    let began = Instant::now();
    while !server.tables()?.iter().any(|table| table == "sbtest2") {
        ensure!(run.is_running()?, "it ended before the network was cut: {}", run.stderr_so_far()?);
        ensure!(began.elapsed() < TIMEOUT, "it made no tables");
        thread::sleep(POLL);
    }
    thread::sleep(Duration::from_secs(2));
    cut_off(true)?;
    let cut = Instant::now();
    let finished = run.finish(TIMEOUT)?.expect_code(&[0])?;
    println!("network cut: the run ended {:.0} s after it", cut.elapsed().as_secs_f64());
    finished.expect_stderr(&["the connection was lost", "tables of this run are left on postgres@far"])?;
    cut_off(false)?;
    let again = measure_for(scratch, "postgres@far", 1)?;
    again.through(["ip", "netns", "exec", &link.cable.namespace]).succeeds()?;
    ensure!(server.tables()?.is_empty(), "what the cut left is still there: {:?}", server.tables()?);
    Ok(Ending::Passed)
}

/// A cable that is whole again in the end.
struct Link {
    cable: Cable,
}

/// Loses what this end sends to the other, or no more: a router that has died says nothing either.
fn cut_off(cut: bool) -> anyhow::Result<()> {
    ip(&["route", if cut { "add" } else { "delete" }, "blackhole", &format!("{THERE}/32")])
}

impl Drop for Link {
    fn drop(&mut self) {
        // If it was not cut there is nothing to mend.
        let _ = cut_off(false);
    }
}

/// Takes what comes to a port of ours to the server, and back; the port. The threads end with their connections, the last with this process.
fn forward(server: u16) -> anyhow::Result<u16> {
    let listener = TcpListener::bind((HERE, 0)).context("failed to listen")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // Of one that cannot be reached the client sees the end.
            let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else { continue };
            let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else { continue };
            thread::spawn(move || pass(client, server));
            thread::spawn(move || pass(server_too, client_too));
        }
    });
    Ok(port)
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    // However it ended, the other side shall see it.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}
