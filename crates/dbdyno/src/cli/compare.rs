//! `compare`.

use super::{Gate, HostSpeed, Measuring, Output, duration};
use clap::{Args, ValueEnum};
use model::planted::PlantedAs;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct Compare {
    /// The base, written engine@version or engine@version+config
    #[arg(value_name = "BASE", required_unless_present = "resume")]
    pub base: Option<String>,
    /// What is compared with it
    #[arg(value_name = "CANDIDATE", required_unless_present = "resume")]
    pub candidates: Vec<String>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// At most two minutes: steps that cannot have a verdict by then are dropped, writes first
    #[arg(long, conflicts_with = "budget")]
    pub fast: bool,
    /// Wall time from the plan to the report, fetching apart (90s, 5m, 1h) [default: the workload's, else 5m]
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub budget: Option<Duration>,
    /// Reserve a fifth of alpha: if steps end inconclusive, --resume with --extend can give them more time, once
    #[arg(long)]
    pub extendable: bool,
    /// Resume a comparison that was stopped: a run's id, a unique prefix of it, its name, or `last`
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "base", "candidates", "workload", "steps", "config_files", "own_image", "margin", "alpha", "build_noise", "max_launches", "seed", "fast",
        "budget", "extendable", "design", "rounds", "name", "plant_slowdown", "server_host", "server_address",
    ])]
    pub resume: Option<String>,
    /// With --resume: more time for the steps of a comparison that ended open
    #[arg(long, value_parser = duration, value_name = "TIME", requires = "resume")]
    pub extend: Option<Duration>,
    /// How trials are laid out in time; rounds and sequential run the whole sequence, each step in one go
    #[arg(long, value_enum, default_value_t = DesignName::Interleaved)]
    pub design: DesignName,
    /// With --design rounds or sequential: times that each subject runs the sequence
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub rounds: u32,
    /// A name for the run
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub speed: HostSpeed,
    #[command(flatten)]
    pub gate: Gate,
    #[command(flatten)]
    pub output: Output,
    /// Test hook: burn this share of each operation's time again on the candidates, in percent
    #[arg(long, hide = true, default_value_t = 0.0)]
    pub plant_slowdown: f64,
    /// Test hook: what that time is spent on
    #[arg(long, hide = true, default_value = "cpu", requires = "plant_slowdown", value_parser = planted_as)]
    pub plant_as: PlantedAs,
}

fn planted_as(text: &str) -> Result<PlantedAs, String> {
    PlantedAs::named(text).ok_or_else(|| "write cpu, lock, sleep, reads or calls".to_owned())
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  dbdyno compare rocksdb@8.5.4 rocksdb@8.7.3
  dbdyno compare rocksdb@8.5.4 rocksdb@8.6.7 rocksdb@8.7.3 --step readrandom --step seekrandom
  dbdyno compare rocksdb@8.7.3 rocksdb@8.7.3+defaults          the same build, its own defaults
  dbdyno compare rocksdb@8.7.3 rocksdb@my-fix --fast --gate    in CI
  dbdyno compare postgres@15.7 postgres@16.3 --workload sysbench.quick --server-host ssh://lab-1
  dbdyno compare --resume last                                 after Ctrl-C, a crash, a power cut
  dbdyno compare rocksdb@8.5.4 rocksdb@8.7.3 --extendable      and if it ends open:
  dbdyno compare --resume last --extend 10m";

/// How trials are laid out in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DesignName {
    /// All sides are started together and take turns in short blocks
    Interleaved,
    /// Complete rounds in random order
    Rounds,
    /// One subject after another, as the Small Datum posts do it
    Sequential,
}
