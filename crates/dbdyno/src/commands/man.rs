//! `dbdyno man`.

use crate::cli::Cli;
use crate::commands::print;
use crate::exit::Ending;
use anyhow::Context;
use clap::CommandFactory;

/// Prints the page in roff.
pub fn run() -> anyhow::Result<Ending> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).context("failed to make the man page")?;
    print::text(&String::from_utf8_lossy(&page))?;
    Ok(Ending::Done)
}
