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
mod ci;
mod e2e;
mod http;
mod made_reports;
mod nightly;
mod simulate;
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
    /// Everything that must pass before a commit: fmt, clippy, tidy, test, e2e; stops at the first failure
    Ci,
    /// What a reviewer would otherwise have to check: arrows between crates, where things may stand, papers
    Tidy,
    /// Tiny real campaigns on real engines with the real binary
    E2e(e2e::Arguments),
    /// Verdicts, change points and bisections on made data whose truth is known; fails if a target is missed
    Simulate(simulate::Arguments),
    /// What measuring costs, against its goals
    Bench(bench::Arguments),
    /// Fetches the tried releases that have no checksum in engines/*.toml yet, and writes theirs
    Checksums(checksums::Arguments),
    /// What takes longer than CI may: simulations, nightly end-to-end cases, all releases, benches that are ratios
    Nightly(nightly::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().chore {
        Chore::Check => check::run(),
        Chore::Ci => ci::run(),
        Chore::Tidy => tidy::run(),
        Chore::E2e(arguments) => e2e::run(&arguments),
        Chore::Checksums(arguments) => checksums::run(&arguments),
        Chore::Simulate(arguments) => simulate::run(&arguments),
        Chore::Bench(arguments) => return bench::run(&arguments),
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
