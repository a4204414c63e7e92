//! `dbdyno worker`: serves the runner's requests on standard input.

use crate::exit::Ending;

/// Until the input ends.
pub fn run() -> anyhow::Result<Ending> {
    runner::process::open_files::raise_limit();
    load::worker::serve_this_process()?;
    Ok(Ending::Done)
}
