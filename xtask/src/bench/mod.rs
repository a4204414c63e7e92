//! `cargo xtask bench`: what measuring costs, held against its goals. It measures the real programs and prints;
//! only `serve`, `merge` and `lab` make stores.

mod analysis;
mod causes;
mod client;
mod commits;
mod counters;
mod fidelity;
mod insert;
mod lab;
mod lifecycle;
mod losses;
mod merge;
mod mongo;
mod own_server;
mod power;
mod race;
pub mod ratios;
mod report;
mod scratch;
mod serve;
mod sql;
mod worker;

pub use client::{library_of, same_options};

use crate::{choice, workspace};
use anyhow::{Context, ensure};
use scratch::Scratch;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    /// CPU per operation of the worker against db_bench on the same library; fails above the goals
    Client(client::Arguments),
    /// Seconds for the change points of 10,000 series of 100 points; fails above the goal
    Analysis(analysis::Arguments),
    /// Whether a planted slowdown of 5 and 10 % is found in time; fails below 9 of 10
    Power(power::Arguments),
    /// Whether losses injected among nineteen names of one library are found, and nothing else; fails below 13 of 15 or above one other
    Losses(losses::Arguments),
    /// Whether `explain` names what a planted slowdown spends its time on; fails below 57 of 60
    Causes(causes::Arguments),
    /// Whether `bisect --git` finds the slow one of thirty commits to Postgres; fails above 12 builds or 90 minutes
    Commits(commits::Arguments),
    /// How often a counter is marked as moved between sides that are the same; fails above 1 % each
    Counters(counters::Arguments),
    /// Seconds for each page of `dbdyno serve` with a million measurements in the store; fails above the goal
    Serve(serve::Arguments),
    /// CPU per query of the worker, and queries per second, against sysbench on the same server; fails outside the
    /// goals
    Sql(sql::Arguments),
    /// What a server counts of each event, of the worker and of sysbench's own scripts; fails if they differ
    Fidelity(fidelity::Arguments),
    /// Client CPU of each row of the Insert Benchmark against a client in Python, and how late its inserts begin; fails above the goals
    Insert(insert::Arguments),
    /// Bytes, rows and seconds of the store of a lab: 50 hosts that measure every night; fails above the goals
    Lab(lab::Arguments),
    /// Seconds to add a store of a thousand runs to another, and for the pages of `dbdyno serve` on it; fails above the goals
    Merge(merge::Arguments),
    /// Client CPU and rate of commands of MongoDB against PyMongo, on FerretDB and on a server that costs nothing; fails outside the goals
    Mongo(mongo::Arguments),
    /// Seconds that dbdyno adds to making, starting and stopping each kind of server; fails above the goal
    Lifecycle(lifecycle::Arguments),
    /// Seconds to build the page of 42 steps of ten builds with an hour of seconds, and its size; fails above the goals
    Report(report::Arguments),
}

/// What a bench needs that measures in a directory of its own.
#[derive(clap::Args)]
struct Here {
    /// Seed of all that is drawn: keys, values, the order of runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where databases and what the programs print are kept while it runs [default: the temporary directory]
    #[arg(long)]
    work_dir: Option<PathBuf>,
    #[command(flatten)]
    dbdyno: Dbdyno,
}

impl Here {
    fn scratch(&self) -> anyhow::Result<Scratch> {
        Scratch::new(&self.work_dir.clone().unwrap_or_else(std::env::temp_dir))
    }
}

#[derive(clap::Args)]
struct Dbdyno {
    /// A dbdyno that is built already [default: a release build of this workspace]
    #[arg(long)]
    dbdyno: Option<PathBuf>,
}

impl Dbdyno {
    fn path(&self) -> anyhow::Result<PathBuf> {
        self.dbdyno.clone().map_or_else(workspace::release_build, Ok)
    }
}

/// The same command by a release build of this program: what a library does is measured in it, or takes too long without.
fn by_release_build() -> anyhow::Result<Ending> {
    let mut command = workspace::cargo();
    command.args(["run", "--quiet", "--release", "--package", "xtask", "--"]);
    command.args(std::env::args_os().skip(1));
    let status = command.status().context("failed to start the release build of xtask")?;
    Ok(Ending::of(status.success()))
}

fn on_search_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|path| path.is_file())
}

fn difference_ns(long: Duration, short: Duration) -> f64 {
    (long.as_secs_f64() - short.as_secs_f64()) * 1e9
}

/// How much of each operation's time is burnt again to make the rate lower by `slower_percent`: operations that take 1 / (1 - s) of their
/// time are slower by s.
fn burnt_percent(slower_percent: f64) -> f64 {
    100.0 * slower_percent / (100.0 - slower_percent)
}

/// What a program prints; its standard error is the message if it fails.
fn printed(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed something that is no text"))
}

/// One of many numbers that a seed stands for: the mixing function of SplitMix64 (Steele, Lea, Flood 2014).
pub fn scrambled(seed: u64, index: u64) -> u64 {
    let mut mixed = seed.wrapping_add((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The cases of these names, in their order; all of them where none is named.
fn chosen<C: Clone>(cases: &[C], name: fn(&C) -> String, wanted: &[String]) -> anyhow::Result<Vec<C>> {
    Ok(choice::chosen(cases, name, "case", wanted)?.into_iter().cloned().collect())
}

/// How a bench that could run ended.
enum Ending {
    /// All ratios are within their goals.
    Met,
    /// Some are not; they are printed.
    Missed,
    /// A program that is measured is not there; the message says where to get it.
    NotInstalled(String),
}

impl Ending {
    fn of(met: bool) -> Ending {
        if met { Ending::Met } else { Ending::Missed }
    }
}

/// 0 within the goals, 1 above them or failed, 2 where something is not installed.
pub fn run(arguments: &Arguments) -> ExitCode {
    let ending = match &arguments.bench {
        Bench::Client(arguments) => client::run(arguments),
        Bench::Analysis(arguments) => analysis::run(arguments),
        Bench::Power(arguments) => power::run(arguments),
        Bench::Losses(arguments) => losses::run(arguments),
        Bench::Causes(arguments) => causes::run(arguments),
        Bench::Commits(arguments) => commits::run(arguments),
        Bench::Counters(arguments) => counters::run(arguments),
        Bench::Serve(arguments) => serve::run(arguments),
        Bench::Sql(arguments) => sql::run(arguments),
        Bench::Fidelity(arguments) => fidelity::run(arguments),
        Bench::Insert(arguments) => insert::run(arguments),
        Bench::Lab(arguments) => lab::run(arguments),
        Bench::Merge(arguments) => merge::run(arguments),
        Bench::Mongo(arguments) => mongo::run(arguments),
        Bench::Lifecycle(arguments) => lifecycle::run(arguments),
        Bench::Report(arguments) => report::run(arguments),
    };
    match ending {
        Ok(Ending::Met) => ExitCode::SUCCESS,
        Ok(Ending::Missed) => ExitCode::FAILURE,
        Ok(Ending::NotInstalled(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
