//! `dbdyno worker`: serves the runner's requests on standard input.

use crate::exit::Ending;
use std::io::{stdin, stdout};

/// Until the input ends.
pub fn run() -> anyhow::Result<Ending> {
    load::worker::serve(stdin().lock(), stdout().lock())?;
    Ok(Ending::Done)
}
