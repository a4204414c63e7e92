//! The arguments of `store`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  dbdyno store check                                 is anything damaged? a run may write meanwhile
  dbdyno store backup results-$(date +%F).sqlite     a checked copy, also while a run writes
  dbdyno store merge host-a.sqlite spool/            what other hosts have measured, each run once
  dbdyno store compact --store results.sqlite        give back to the disk what it does not need";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct StoreFile {
    #[command(subcommand)]
    pub action: StoreAction,
}

#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Look for damage in all of it, and write nothing
    Check,
    /// Copy it as it is at this moment, also while a run writes to it
    Backup {
        /// The copy; closed to other users
        file: PathBuf,
        /// Replace the file if it is there already
        #[arg(long)]
        force: bool,
    },
    /// Write it again without gaps; takes three times its space until it has ended, and not while a run writes
    Compact,
    /// Add what other stores hold, each run once; they stay as they are
    Merge {
        /// Stores, of this schema or an earlier one, or directories of them
        #[arg(required = true, value_name = "STORE")]
        from: Vec<PathBuf>,
    },
}
