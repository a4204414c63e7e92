//! `dbdyno completions SHELL`.

use crate::cli::Cli;
use crate::commands::print;
use crate::exit::Ending;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints the script.
pub fn run(shell: Shell) -> anyhow::Result<Ending> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "dbdyno", &mut script);
    print::text(&String::from_utf8_lossy(&script))?;
    Ok(Ending::Done)
}
