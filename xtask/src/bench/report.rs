//! `cargo xtask bench report`: is the largest page built in a second, and small enough to be sent around?
//!
//! The report is made, the code that lays it out is the real one, built as users have it: a debug build of xtask hands on to
//! its release build.

use super::ratios::Ratios;
use super::{Ending, by_release_build};
use crate::made_reports;
use anyhow::Context;
use serde_json::json;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Repetitions; the median is held against the goal
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Also write the page to this file
    #[arg(long)]
    output: Option<std::path::PathBuf>,
    /// One JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Seconds of wall time (issue 6).
const GOAL_SECONDS: f64 = 1.0;
/// Bytes (issue 6).
const GOAL_BYTES: usize = 2_000_000;

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    if cfg!(debug_assertions) {
        return by_release_build();
    }
    let document = made_reports::campaign(made_reports::LARGE)?;
    let mut wall_s = Vec::new();
    let mut page = String::new();
    for _ in 0..arguments.runs {
        let began = Instant::now();
        page = ::report::render::html::render(&document);
        wall_s.push(began.elapsed().as_secs_f64());
    }
    if let Some(output) = &arguments.output {
        std::fs::write(output, &page).with_context(|| format!("failed to write `{}`", output.display()))?;
    }
    let wall = Ratios::over(&wall_s, |seconds| *seconds)?;
    let size = made_reports::LARGE;
    let case = format!("{} steps of {} builds, {} seconds each", size.steps, size.builds, size.seconds);
    let met = wall.median <= GOAL_SECONDS && page.len() <= GOAL_BYTES;
    if arguments.json {
        let more = json!({ "bytes": page.len(), "goal_bytes": GOAL_BYTES });
        let row = wall.row(&case, GOAL_SECONDS, more);
        println!("{}", json!({ "bench": "report", "ratios": [row] }));
    } else {
        println!(
            "{case}: {:.2} [{:.2}, {:.2}] s, goal {GOAL_SECONDS}; {} bytes, goal {GOAL_BYTES}{}",
            wall.median,
            wall.min,
            wall.max,
            page.len(),
            if met { "" } else { "  MISSED" }
        );
    }
    Ok(Ending::of(met))
}
