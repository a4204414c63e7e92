//! `cargo xtask bench power`: is a planted slowdown found, and how soon? Whole runs of the real program, with
//! CPU burnt after each operation of the candidate.

use super::ratios::Ratios;
use super::{Ending, burnt_percent, printed};
use crate::workspace;
use anyhow::Context;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// The build that is compared with itself
    #[arg(long, default_value = "rocksdb@8.5.4")]
    build: String,
    /// Runs of each case
    #[arg(long, default_value_t = 10)]
    runs: u32,
    /// Seed of the first run; each further one adds 1
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// A slowdown and the time in which it must be found in 9 of 10 runs, image building included.
struct Case {
    slower_percent: u32,
    budget: Duration,
}

const CASES: [Case; 2] = [
    Case { slower_percent: 5, budget: Duration::from_secs(120) },
    Case { slower_percent: 10, budget: Duration::from_secs(60) },
];
/// Share of runs that must find it.
const GOAL: f64 = 0.9;

/// What one run said.
struct Said {
    regression: bool,
    ratio: f64,
    launch: u64,
    took: Duration,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let program = workspace::release_build()?;
    // Fetched and opened once before: fetching is not part of the time.
    compare(&program, arguments, &["--budget", "10s"])?;
    let mut rows = Vec::new();
    let mut met = true;
    for case in &CASES {
        let mut said = Vec::new();
        for run in 0..arguments.runs {
            said.push(planted(&program, arguments, case, arguments.seed + u64::from(run))?);
        }
        let found = said.iter().filter(|said| said.regression && said.took <= case.budget).count();
        let share = found as f64 / f64::from(arguments.runs);
        met &= share >= GOAL;
        rows.push(row(case, &said, found)?);
    }
    if arguments.json {
        println!("{}", json!({ "bench": "power", "ratios": rows }));
    } else {
        print_table(&rows);
    }
    Ok(Ending::of(met))
}

fn planted(program: &Path, arguments: &Arguments, case: &Case, seed: u64) -> anyhow::Result<Said> {
    let burnt = burnt_percent(f64::from(case.slower_percent));
    let began = Instant::now();
    let report = compare(
        program,
        arguments,
        &[
            "--step",
            "readrandom",
            "--plant-slowdown",
            &burnt.to_string(),
            "--budget",
            &format!("{}s", case.budget.as_secs()),
            "--seed",
            &seed.to_string(),
        ],
    )?;
    let took = began.elapsed();
    let rows = report["comparisons"].as_array().context("the report has no comparisons")?;
    let decides = rows.iter().find(|row| row["decides"] == true).context("no row decides")?;
    let said = Said {
        regression: decides["verdict"] == "regression",
        ratio: decides["ratio"].as_f64().context("the deciding row has no ratio")?,
        launch: decides["launches"].as_u64().unwrap_or(0),
        took,
    };
    eprintln!(
        "planted {} %, seed {seed}: {} at {:.3} after {} launches, {:.0} s",
        case.slower_percent,
        decides["verdict"].as_str().unwrap_or("?"),
        said.ratio,
        said.launch,
        took.as_secs_f64(),
    );
    Ok(said)
}

fn compare(program: &Path, arguments: &Arguments, more: &[&str]) -> anyhow::Result<Value> {
    let mut compare = Command::new(program);
    compare.args(["compare", &arguments.build, &arguments.build, "--json"]).args(more);
    serde_json::from_str(&printed(&mut compare)?).context("`dbdyno compare --json` gave no JSON")
}

fn row(case: &Case, said: &[Said], found: usize) -> anyhow::Result<Value> {
    let seconds: Vec<f64> = said.iter().map(|said| said.took.as_secs_f64()).collect();
    let name = format!("readrandom {} % slower within {} s", case.slower_percent, case.budget.as_secs());
    let more = json!({
        "found": found,
        "seconds_mean": seconds.iter().sum::<f64>() / seconds.len() as f64,
        "seconds_max": seconds.iter().copied().fold(0.0, f64::max),
        "launches_mean": said.iter().map(|said| said.launch as f64).sum::<f64>() / said.len() as f64,
    });
    Ok(Ratios::over(said, |said| said.ratio)?.row(&name, GOAL, more))
}

fn print_table(rows: &[Value]) {
    println!(
        "planted slowdown                     found   ratio: median [min, max]     launches  seconds, mean (max)"
    );
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
        println!(
            "{:<36} {:>2}/{:<2}   {:.3} [{:.3}, {:.3}]        {:>5.1}     {:>5.1} ({:.1})",
            row["case"].as_str().unwrap_or(""),
            row["found"],
            row["pairs"],
            number("median"),
            number("min"),
            number("max"),
            number("launches_mean"),
            number("seconds_mean"),
            number("seconds_max"),
        );
    }
}
