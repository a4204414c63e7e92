//! The arguments of `watch`.

use super::{HostSpeed, Output};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  dbdyno watch nightly.toml --message found.jsonl       from cron or a systemd timer, every night
  dbdyno watch nightly.toml --webhook https://chat.example/hooks/7f3a
  dbdyno watch --list                                   all that watches have found
  dbdyno watch --accept 3                               that change is to stay: no more messages unless it grows";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Watch {
    /// The plan, a TOML file; its first subject is the base, others may be commits that move: postgres@git:master
    #[arg(value_name = "PLAN", required_unless_present_any = ["list", "accept"])]
    pub plan: Option<PathBuf>,
    /// Measure although no build is new since the last night
    #[arg(long, requires = "plan")]
    pub again: bool,
    /// Append each message to this file, as a line of JSON
    #[arg(long, value_name = "FILE", requires = "plan")]
    pub message: Option<PathBuf>,
    /// Post each message to this address, as JSON with a `text`; by the program curl
    #[arg(long, value_name = "URL", requires = "plan")]
    pub webhook: Option<String>,
    /// Show what watches have found
    #[arg(long, conflicts_with_all = ["plan", "accept"])]
    pub list: bool,
    /// Accept the change with this number: it is reported again only if it grows
    #[arg(long, value_name = "NUMBER", conflicts_with = "plan")]
    pub accept: Option<i64>,
    #[command(flatten)]
    pub speed: HostSpeed,
    #[command(flatten)]
    pub output: Output,
}
