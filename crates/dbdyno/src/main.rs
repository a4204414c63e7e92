//! dbdyno: the command line. It parses, calls the rooms, prints, and turns errors into an exit status; what
//! is measured and decided is in the other crates.

mod bisecting;
mod building;
mod cli;
mod commands;
mod exit;
mod finding;
mod fingerprints;
mod interrupt;
mod lab;
mod paths;
mod planning;
mod progress;
mod recording;
mod referee;
mod resources;
mod serving;
mod there;

use clap::Parser;
use cli::{Cli, Command};
use runner::process::supervisor;
use runner::rights;
use std::process::ExitCode;

/// Counts the worker's own heap; the controller has no use for the count and pays some nanoseconds.
#[global_allocator]
static HEAP: load::heap::CountingAllocator = load::heap::CountingAllocator;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let is_run = cli.command.starts_processes();
    if is_run && !supervisor::is_supervised() {
        return exit::of_supervised(supervisor::supervise());
    }
    if !cli.command.is_of_root()
        && let Err(error) = rights::become_caller_of_sudo()
    {
        return exit::status(Err(error.into()));
    }
    if is_run {
        supervisor::follow(interrupt::end_the_run);
    }
    let result = match cli.command {
        Command::Compare(arguments) => commands::compare::run(&cli.places, &arguments),
        Command::Calibrate(arguments) => commands::calibrate::run(&cli.places, &arguments),
        Command::Bisect(arguments) => commands::bisect::run(&cli.places, &arguments),
        Command::Run(arguments) => commands::run::run(&cli.places, &arguments),
        Command::Watch(arguments) => commands::watch::run(&cli.places, &arguments),
        Command::Explain(arguments) => commands::explain::run(&cli.places, &arguments),
        Command::Report(arguments) => commands::report::run(&cli.places, &arguments),
        Command::Export(arguments) => commands::export::run(&cli.places, &arguments),
        Command::Import(arguments) => commands::import::run(&cli.places, &arguments),
        Command::History(arguments) => commands::history::run(&cli.places, &arguments),
        Command::Doctor(arguments) => commands::doctor::run(&cli.places, &arguments),
        Command::Serve(arguments) => commands::serve::run(&cli.places, &arguments),
        Command::Engine(arguments) => commands::engine::run(&cli.places, &arguments),
        Command::Device(arguments) => commands::device::run(&cli.places, &arguments),
        Command::Store(arguments) => commands::store::run(&cli.places, &arguments),
        Command::Workload(arguments) => commands::workload::run(&arguments),
        Command::Completions { shell } => commands::completions::run(shell),
        Command::Man => commands::man::run(),
        Command::Worker => commands::worker::run(),
        Command::Remote => there::answering::serve(&cli.places),
        Command::SlowDevice { file } => commands::slow_device::run(&file),
    };
    exit::status(result)
}
