//! The project's own chores, one subcommand each: `cargo xtask ci` is the door that CI and people use.
//!
//! Nothing that a user of dbdyno needs may live here.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program that prints its results"
)]

mod bench;
mod check;
mod checksums;
mod choice;
mod ci;
mod deny;
mod e2e;
mod ferretdb;
mod fuzz;
mod hostile;
mod http;
mod made_reports;
mod nightly;
mod served;
mod simulate;
mod soak;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// What a change is checked with while one works on it: fmt, clippy, tidy and the unit tests that it touches
    Check,
    /// Everything that must pass before a commit: fmt, clippy, tidy, test, fuzz, e2e; stops at the first failure
    Ci,
    /// What a reviewer would otherwise have to check: arrows between crates, where things may stand, papers
    Tidy,
    /// Tiny real campaigns on real engines with the real binary
    E2e(e2e::Arguments),
    /// libFuzzer on every importer and reader of a protocol; fails on a crash, a hang, or above 256 MiB of memory
    Fuzz(fuzz::Arguments),
    /// `dbdyno serve` under 200 hostile connections; fails if an honest client waits for a second, or above 100 MB of memory
    Hostile(hostile::Arguments),
    /// Faults of every kind into campaigns, one after another; fails if anything committed is lost, left behind, locked or damaged
    Soak(soak::Arguments),
    /// Verdicts, change points and bisections on made data whose truth is known; fails if a target is missed
    Simulate(simulate::Arguments),
    /// A lab on one machine, to try `--hosts`, `--slurm` and `--server-host` by hand; needs root
    Lab(e2e::lab_to_try::Arguments),
    /// What measuring costs, against its goals
    Bench(bench::Arguments),
    /// Fetches the tried releases that have no checksum in engines/*.toml yet, and writes theirs
    Checksums(checksums::Arguments),
    /// What cargo-deny says of the crates that we depend on: known vulnerabilities, licences, sources
    Deny,
    /// What takes longer than CI may: simulations, nightly end-to-end cases, all releases, benches that are ratios
    Nightly(nightly::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().chore {
        Chore::Check => check::run(),
        Chore::Ci => ci::run(),
        Chore::Tidy => tidy::run(),
        Chore::E2e(arguments) => e2e::run(&arguments),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
        Chore::Hostile(arguments) => hostile::run(&arguments),
        Chore::Lab(arguments) => e2e::lab_to_try::run(&arguments),
        Chore::Checksums(arguments) => checksums::run(&arguments),
        Chore::Simulate(arguments) => simulate::run(&arguments),
        Chore::Soak(arguments) => soak::run(&arguments),
        Chore::Bench(arguments) => return bench::run(&arguments),
        Chore::Deny => return deny::run(),
        Chore::Nightly(arguments) => nightly::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
