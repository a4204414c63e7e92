//! `cargo xtask nightly`: what takes longer than CI may, one after another. It goes on after a failure; the list at the end and the
//! exit status say what failed.
//!
//! Each part is a chore of its own, run as one: nothing is measured or judged here.

use crate::choice;
use anyhow::{Context, bail};
use std::process::{Command, ExitStatus};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Say what the parts are, and run none
    #[arg(long)]
    list: bool,
    /// Only these parts
    parts: Vec<String>,
}

struct Part {
    name: &'static str,
    /// What `cargo xtask` is called with.
    arguments: &'static [&'static str],
}

const PARTS: &[Part] = &[
    Part { name: "simulate", arguments: &["simulate"] },
    Part { name: "e2e-nightly", arguments: &["e2e", "--nightly"] },
    Part { name: "e2e-all-releases", arguments: &["e2e", "--all-releases"] },
    Part { name: "hostile", arguments: &["hostile"] },
    Part { name: "fuzz", arguments: &["fuzz", "--nightly"] },
    Part { name: "soak", arguments: &["soak", "--minutes", "30"] },
    Part { name: "bench-client", arguments: &["bench", "client"] },
    Part { name: "bench-sql", arguments: &["bench", "sql"] },
    Part { name: "bench-fidelity", arguments: &["bench", "fidelity"] },
    Part { name: "bench-insert", arguments: &["bench", "insert"] },
    Part { name: "bench-losses", arguments: &["bench", "losses"] },
    Part { name: "bench-power", arguments: &["bench", "power"] },
    Part { name: "deny", arguments: &["deny"] },
];

/// The exit status of a bench, or of `deny`, whose other program is not installed.
const NOT_INSTALLED: i32 = 2;

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let parts = chosen(&arguments.parts)?;
    if arguments.list {
        for part in parts {
            println!("{:<18} cargo xtask {}", part.name, part.arguments.join(" "));
        }
        return Ok(());
    }
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    let program = std::env::current_exe().context("failed to find this program")?;
    let ended = all(&parts, is_ci, &mut |part| {
        println!("nightly: {}: cargo xtask {}", part.name, part.arguments.join(" "));
        Command::new(&program)
            .args(part.arguments)
            .status()
            .with_context(|| format!("failed to start `{}`", program.display()))
    });
    for part in &ended {
        println!("nightly: {:<18} {:<13} {:>6.0} s", part.name, part.outcome.word(), part.seconds);
    }
    let failed: Vec<&str> =
        ended.iter().filter(|part| part.outcome == Outcome::Failed).map(|part| part.name).collect();
    if !failed.is_empty() {
        bail!("{} of {} parts failed: {}", failed.len(), ended.len(), failed.join(", "));
    }
    Ok(())
}

fn chosen(wanted: &[String]) -> anyhow::Result<Vec<&'static Part>> {
    choice::chosen(PARTS, |part| part.name.to_owned(), "part", wanted)
}

/// What became of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// A program that it measures or asks is not here. In CI that is a failure.
    NotInstalled,
}

impl Outcome {
    fn of(status: ExitStatus, is_ci: bool) -> Outcome {
        match status.code() {
            Some(0) => Outcome::Passed,
            Some(NOT_INSTALLED) if !is_ci => Outcome::NotInstalled,
            Some(_) | None => Outcome::Failed,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::NotInstalled => "not installed",
        }
    }
}

struct Ended {
    name: &'static str,
    outcome: Outcome,
    seconds: f64,
}

/// Runs all parts, whatever becomes of those before.
fn all(
    parts: &[&'static Part],
    is_ci: bool,
    run: &mut dyn FnMut(&Part) -> anyhow::Result<ExitStatus>,
) -> Vec<Ended> {
    let mut ended = Vec::new();
    for part in parts {
        let began = Instant::now();
        let outcome = match run(part) {
            Ok(status) => Outcome::of(status, is_ci),
            Err(error) => {
                eprintln!("error: {error:#}");
                Outcome::Failed
            }
        };
        ended.push(Ended { name: part.name, outcome, seconds: began.elapsed().as_secs_f64() });
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::os::unix::process::ExitStatusExt;

    /// Wrong usage ends with the same status as a bench whose other program is missing: it must not occur.
    #[test]
    fn each_part_is_a_chore_with_arguments_that_it_takes() {
        for part in PARTS {
            let arguments = std::iter::once(&"xtask").chain(part.arguments);
            if let Err(error) = crate::Arguments::try_parse_from(arguments) {
                panic!("{}: {error}", part.name);
            }
        }
    }

    #[test]
    fn a_failure_ends_nothing_and_is_told_from_what_is_not_installed() {
        let parts = chosen(&[]).unwrap();
        let outcomes = |is_ci| -> Vec<Outcome> {
            let ended = all(&parts[..4], is_ci, &mut |part| match part.name {
                "simulate" => Ok(ExitStatus::from_raw(1 << 8)),
                "e2e-nightly" => bail!("it could not be started"),
                "e2e-all-releases" => Ok(ExitStatus::from_raw(2 << 8)),
                _ => Ok(ExitStatus::from_raw(0)),
            });
            ended.iter().map(|part| part.outcome).collect()
        };
        use Outcome::{Failed, NotInstalled, Passed};
        assert_eq!(outcomes(false), [Failed, Failed, NotInstalled, Passed]);
        assert_eq!(outcomes(true), [Failed, Failed, Failed, Passed]);
        assert_eq!(Outcome::of(ExitStatus::from_raw(9), false), Failed, "killed by a signal");
    }

    #[test]
    fn an_unknown_part_offers_the_nearest() {
        assert_eq!(chosen(&["bench-sql".to_owned()]).unwrap().len(), 1);
        let message = format!("{:#}", chosen(&["simulat".to_owned()]).err().unwrap());
        assert!(message.contains("did you mean `simulate`?"), "{message}");
    }
}
