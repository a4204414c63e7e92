//! Exit status and the one place that prints an error.

use model::event::RunOutcome;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// How a command ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// A regression was found, and `--gate` was given; of a watch, one that is new.
    Regression,
    RunFailed,
    /// No verdict could be reached, and `--gate` was given.
    Inconclusive,
    /// The user stopped it.
    Interrupted,
}

impl From<RunOutcome> for Ending {
    fn from(outcome: RunOutcome) -> Ending {
        match outcome {
            RunOutcome::Done => Ending::Done,
            RunOutcome::Interrupted => Ending::Interrupted,
            RunOutcome::Failed => Ending::RunFailed,
        }
    }
}

/// What the user wrote makes no sense: exit status 2.
#[derive(Debug)]
pub struct Usage(anyhow::Error);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Usage {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Marks an error as one of usage.
pub fn usage(error: impl Into<anyhow::Error>) -> anyhow::Error {
    anyhow::Error::new(Usage(error.into()))
}

const USAGE: u8 = 2;
const FAILED: u8 = 3;
/// As shells report a death by SIGINT.
const INTERRUPTED: u8 = 130;

/// The status of a result; an error is printed with its causes.
pub fn status(result: anyhow::Result<Ending>) -> ExitCode {
    match result {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Regression) => ExitCode::from(1),
        Ok(Ending::RunFailed) => ExitCode::from(FAILED),
        Ok(Ending::Inconclusive) => ExitCode::from(4),
        Ok(Ending::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) if crate::interrupt::requested() => {
            eprint(&format!("dbdyno: interrupted ({error:#})"));
            ExitCode::from(INTERRUPTED)
        }
        Err(error) => {
            eprint(&format!("dbdyno: {error:#}"));
            ExitCode::from(if error.is::<Usage>() { USAGE } else { FAILED })
        }
    }
}

/// The status of the run below this process, which has printed its own error.
pub fn of_supervised(ended: io::Result<i32>) -> ExitCode {
    match ended {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(FAILED)),
        Err(error) => {
            eprint(&format!("dbdyno: failed to start itself below a supervisor: {error}"));
            ExitCode::from(FAILED)
        }
    }
}

/// `eprintln!` panics if standard error cannot be written; the exit status must be the same then. Errors quote files of others, which a
/// terminal must not obey.
fn eprint(text: &str) {
    drop(writeln!(io::stderr(), "{}", report::printable_lines(text)));
}
