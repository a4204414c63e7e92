//! `cargo xtask bench analysis`: is a whole store of series searched for changes in a second?

use super::Ending;
use super::ratios::{Ratios, median};
use ::analysis::change_points::{CriticalValues, Rule, Series, find};
use ::analysis::simulation::series::change_free;
use anyhow::{Context, ensure};
use serde_json::json;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Repetitions; the median is held against the goal
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seed of the series
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Series without a change: nearly all of a store are such, and none is left out early.
const SERIES: usize = 10_000;
const POINTS: usize = 100;
const THREADS: usize = 2;
/// Seconds of wall time (issue 4).
const GOAL_SECONDS: f64 = 1.0;
/// More series with an alarm than this, at 1 %, would not be the search that was simulated.
const MOST_ALARMED: usize = 200;

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let series = change_free(SERIES, POINTS, arguments.seed)?;
    let critical = CriticalValues::new();
    // Simulated once in a process, when a series of this length is first searched: told apart.
    let began = Instant::now();
    let _ = search(&series[..1], &critical);
    let critical_values_s = began.elapsed().as_secs_f64();
    let (mut wall_s, mut cpu_s) = (Vec::new(), Vec::new());
    for _ in 0..arguments.runs {
        let (began, cpu_before) = (Instant::now(), own_cpu_s()?);
        let alarmed = search_all(&series, &critical);
        wall_s.push(began.elapsed().as_secs_f64());
        cpu_s.push(own_cpu_s()? - cpu_before);
        ensure!(alarmed <= MOST_ALARMED, "{alarmed} of {SERIES} series without a change have an alarm");
    }
    let wall = Ratios::over(&wall_s, |seconds| *seconds)?;
    let cpu = median(cpu_s).context("no repetition")?;
    let case = format!("{SERIES} series of {POINTS} points, {THREADS} threads, seconds");
    let met = wall.median <= GOAL_SECONDS;
    if arguments.json {
        let more = json!({ "cpu_s": cpu, "critical_values_s": critical_values_s });
        let row = wall.row(&case, GOAL_SECONDS, more);
        println!("{}", json!({ "bench": "analysis", "ratios": [row] }));
    } else {
        println!(
            "{case}: {:.2} [{:.2}, {:.2}] of wall time, {cpu:.2} of CPU, goal {GOAL_SECONDS}{}\n\
             once before: critical values simulated in {critical_values_s:.2} s",
            wall.median,
            wall.min,
            wall.max,
            if met { "" } else { "  MISSED" }
        );
    }
    Ok(Ending::of(met))
}

/// How many of the series have an alarm.
fn search_all(series: &[Series], critical: &CriticalValues) -> usize {
    std::thread::scope(|scope| {
        let parts = series.chunks(series.len().div_ceil(THREADS));
        let threads: Vec<_> = parts.map(|part| scope.spawn(|| search(part, critical))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(SERIES)).sum()
    })
}

fn search(series: &[Series], critical: &CriticalValues) -> usize {
    let rule = Rule::default();
    series.iter().filter(|series| !find(series, &rule, critical).changes.is_empty()).count()
}

/// CPU time of this process, all threads.
fn own_cpu_s() -> anyhow::Result<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place that is written to outlives the call.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    ensure!(status == 0, "failed to read the CPU time of this process");
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}
