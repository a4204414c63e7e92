//! `cargo xtask bench merge`: how long it takes to add a store of a thousand runs to another, and the pages of `dbdyno serve` on what
//! comes of it.

use super::serve::{Pages, made};
use super::{Dbdyno, Ending, Scratch, printed};
use anyhow::{Context, ensure};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Measurements in the store that is added: numbers of trials
    #[arg(long, default_value_t = 5_000_000)]
    measurements: u64,
    /// Requests of each page
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,
    #[command(flatten)]
    dbdyno: Dbdyno,
}

/// Of issue 28: seconds for 1,000 runs with 5,000,000 measurements, and of a page at the 95th percentile.
pub const GOAL_S: f64 = 60.0;
pub const GOAL_OF_A_PAGE_S: f64 = 0.3;

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let program = arguments.dbdyno.path()?;
    let scratch = Scratch::new(&std::env::temp_dir())?;
    let (from, lab) = (scratch.path("host.sqlite"), scratch.path("lab.sqlite"));
    let made = made::store(&from, arguments.measurements)?;
    println!("added: {} runs, {} measurements, {} bytes", made.runs, made.measurements, made.bytes);
    let (first, said) = merged(&program, &from, &lab)?;
    println!("into an empty store   {first:>6.1} s  {said}");
    let (again, said) = merged(&program, &from, &lab)?;
    println!("the same again        {again:>6.1} s  {said}");
    ensure!(said.contains(": 0 runs added"), "what was there was added again: {said}");
    let checked = printed(Command::new(&program).args(["store", "check", "--store"]).arg(&lab))?;
    ensure!(checked.contains("nothing is damaged"), "what came of it is damaged: {checked}");
    let pages = Pages::measured(&program, &lab, &made, arguments.requests, GOAL_OF_A_PAGE_S)?;
    pages.print();
    Ok(Ending::of(first <= GOAL_S && again <= GOAL_S && pages.met()))
}

/// Seconds, and what the program says.
pub fn merged(program: &Path, from: &Path, into: &Path) -> anyhow::Result<(f64, String)> {
    let began = Instant::now();
    let said = printed(Command::new(program).args(["store", "merge"]).arg(from).arg("--store").arg(into))?;
    let seconds = began.elapsed().as_secs_f64();
    let line = said.lines().next().context("store merge says nothing")?;
    Ok((seconds, line.rsplit('`').next().unwrap_or(line).to_owned()))
}
