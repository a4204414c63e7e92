//! `cargo xtask bench lifecycle`: what dbdyno adds to making, starting and stopping a server.
//!
//! A server's life, from the start of `dbdyno engine start` until it has ended, without a client. Time in which no program
//! of the engine runs is dbdyno's: looking the build up, files and their copies, removing them. What it adds while one
//! runs is not seen: it looks every 8 ms whether the server is ready, and every 50 ms whether its input has ended. The shell
//! that guards a server, and goes within milliseconds of it, counts as the engine.

use super::own_server::OwnServer;
use super::ratios::Ratios;
use super::{Dbdyno, Ending};
use crate::e2e::processes;
use anyhow::{Context, ensure};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Each way to make a data directory: by initdb, by copy, by the server itself, by scripts.
const SERVERS: [&str; 5] =
    ["postgres@16.3", "mysql@5.6.24", "mysql@8.0.15", "mariadb@10.11.19", "myrocks@10.11.19"];
/// Seconds of one life that may be dbdyno's (issue 5).
const GOAL_SECONDS: f64 = 1.0;
/// How often it is looked what runs.
const LOOK: Duration = Duration::from_millis(2);

#[derive(clap::Args)]
pub struct Arguments {
    /// Lives of each server; the longest is held against the goal
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// One JSON object instead of lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    dbdyno: Dbdyno,
    /// Only these servers, or others: postgres@16.3, ..
    servers: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let dbdyno = arguments.dbdyno.path()?;
    let dbdyno = dbdyno.canonicalize().with_context(|| format!("`{}` is no program", dbdyno.display()))?;
    let standard: Vec<String> = SERVERS.map(str::to_owned).into();
    let servers = if arguments.servers.is_empty() { &standard } else { &arguments.servers };
    let mut rows = Vec::new();
    let mut met = true;
    for server in servers {
        fetch(&dbdyno, server)?;
        let lives = (0..arguments.runs)
            .map(|_| live(&dbdyno, server).with_context(|| server.clone()))
            .collect::<anyhow::Result<Vec<Life>>>()?;
        let ours = Ratios::over(&lives, |life| life.ours_s)?;
        let whole_s = Ratios::over(&lives, |life| life.whole_s)?.median;
        let is_met = ours.max <= GOAL_SECONDS;
        met &= is_met;
        if arguments.json {
            rows.push(ours.row(server, GOAL_SECONDS, json!({ "life_s": whole_s })));
        } else {
            println!(
                "{server}: {:.2} s [{:.2}, {:.2}] of {whole_s:.2} s are dbdyno's, goal {GOAL_SECONDS}{}",
                ours.median,
                ours.min,
                ours.max,
                if is_met { "" } else { "  MISSED" }
            );
        }
    }
    if arguments.json {
        println!("{}", json!({ "bench": "lifecycle", "ratios": rows }));
    }
    Ok(Ending::of(met))
}

fn fetch(dbdyno: &Path, server: &str) -> anyhow::Result<()> {
    let status = Command::new(dbdyno)
        .args(["engine", "fetch", server])
        .stdout(std::process::Stdio::null())
        .status()
        .context("failed to start dbdyno")?;
    ensure!(status.success(), "`dbdyno engine fetch {server}` failed ({status})");
    Ok(())
}

/// Seconds of a server's life: all of them, and those in which no program of the engine ran.
struct Life {
    whole_s: f64,
    ours_s: f64,
}

fn live(dbdyno: &Path, server: &str) -> anyhow::Result<Life> {
    let over = AtomicBool::new(false);
    let (whole, engine) = std::thread::scope(|scope| {
        let engine = scope.spawn(|| time_of_engine(dbdyno, &over));
        let began = Instant::now();
        let lived = OwnServer::start(dbdyno, server).and_then(OwnServer::stop);
        let whole = began.elapsed();
        over.store(true, Ordering::Relaxed);
        (lived.map(|()| whole), engine.join())
    });
    let (whole, engine) = (whole?, engine.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    ensure!(!engine.is_zero(), "no program of the engine was seen: the bench is blind");
    Ok(Life { whole_s: whole.as_secs_f64(), ours_s: whole.saturating_sub(engine).as_secs_f64() })
}

/// For how long, until it is over, a process below us ran that is not dbdyno.
fn time_of_engine(dbdyno: &Path, over: &AtomicBool) -> anyhow::Result<Duration> {
    let mut engine = Duration::ZERO;
    let mut last = Instant::now();
    let mut ran = false;
    while !over.load(Ordering::Relaxed) {
        let runs = descendants()?.into_iter().any(|pid| {
            // Unreadable for zombies and for those that have just ended.
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program != dbdyno)
        });
        let now = Instant::now();
        // Between two looks that differ, half of the time is taken: neither side is favoured.
        engine += (now - last).mul_f64(0.5 * (f64::from(u8::from(ran)) + f64::from(u8::from(runs))));
        (last, ran) = (now, runs);
        std::thread::sleep(LOOK);
    }
    Ok(engine)
}

/// Ids of all processes below this one.
fn descendants() -> anyhow::Result<BTreeSet<u32>> {
    let pids = processes::all()?.into_iter();
    let parents: Vec<(u32, u32)> = pids.filter_map(|pid| Some((pid, processes::parent(pid)?))).collect();
    let mut found = BTreeSet::from([std::process::id()]);
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    found.remove(&std::process::id());
    Ok(found)
}
