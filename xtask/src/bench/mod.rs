//! `cargo xtask bench`: what measuring costs, held against its goals. It measures the real programs and prints;
//! only `serve` makes a store.

mod analysis;
mod client;
mod lifecycle;
mod own_server;
mod power;
mod report;
mod serve;
mod sql;

use anyhow::ensure;
use std::process::ExitCode;

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
    /// Seconds for each page of `dbdyno serve` with a million measurements in the store; fails above the goal
    Serve(serve::Arguments),
    /// CPU per query of the worker, and queries per second, against sysbench on the same server; fails outside the
    /// goals
    Sql(sql::Arguments),
    /// Seconds that dbdyno adds to making, starting and stopping each kind of server; fails above the goal
    Lifecycle(lifecycle::Arguments),
    /// Seconds to build the page of 42 steps of ten builds with an hour of seconds, and its size; fails above the goals
    Report(report::Arguments),
}

/// The cases of these names, in their order; all of them where none is named.
fn chosen<C: Clone>(cases: &[C], name: fn(&C) -> String, wanted: &[String]) -> anyhow::Result<Vec<C>> {
    let known: Vec<String> = cases.iter().map(name).collect();
    for one in wanted {
        let hint = model::names::hint(one, known.iter().map(String::as_str));
        ensure!(known.contains(one), "unknown case `{one}`{hint}; there are {}", known.join(", "));
    }
    let is_chosen = |case: &&C| wanted.is_empty() || wanted.contains(&name(case));
    Ok(cases.iter().filter(is_chosen).cloned().collect())
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

/// 0 within the goals, 1 above them or failed, 2 where something is not installed.
pub fn run(arguments: &Arguments) -> ExitCode {
    let ending = match &arguments.bench {
        Bench::Client(arguments) => client::run(arguments),
        Bench::Analysis(arguments) => analysis::run(arguments),
        Bench::Power(arguments) => power::run(arguments),
        Bench::Serve(arguments) => serve::run(arguments),
        Bench::Sql(arguments) => sql::run(arguments),
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
