//! Whether this host is fit to measure on: facts and a moment of it in, checks out. Each check says what was found, what is
//! wanted, why, and what to do.
//!
//! The checks are pure; `moment` looks, `settings` writes, `fingerprint` measures.

mod cpu;
pub mod fingerprint;
pub mod kept_fingerprint;
mod limits;
mod load;
mod memory;
mod moment;
pub mod settings;
mod storage;
mod tools;

pub use moment::{Moment, free_space};
pub(crate) use moment::{all_on_path, found_on_path};

use model::doctor::{Check, CheckStatus, Setting};
use model::host::Host;
use model::units::Bytes;

/// What the checks look at.
#[derive(Debug, Clone)]
pub struct Patient {
    pub host: Host,
    pub moment: Moment,
    /// What is about to be measured; absent if nothing is.
    pub needs: Option<Needs>,
}

/// What a plan takes of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    pub memory: Bytes,
    pub disk: Bytes,
}

/// All checks, in the order in which they are shown.
pub fn examine(patient: &Patient) -> Vec<Check> {
    [
        cpu::checks(patient),
        memory::checks(patient),
        storage::checks(patient),
        limits::checks(patient),
        load::checks(patient),
        tools::checks(patient),
    ]
    .concat()
}

impl Patient {
    fn fact(&self, name: &str) -> Option<&str> {
        self.host.facts.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.fact(name)?.parse().ok()
    }
}

/// A check before it is known how it ends.
struct Question {
    id: &'static str,
    want: &'static str,
    why: &'static str,
}

impl Question {
    fn ends(&self, status: CheckStatus, found: impl Into<String>) -> Check {
        Check {
            id: self.id.to_owned(),
            status,
            found: found.into(),
            want: self.want.to_owned(),
            why: self.why.to_owned(),
            fix: String::new(),
            settings: Vec::new(),
        }
    }

    fn ok(&self, found: impl Into<String>) -> Check {
        self.ends(CheckStatus::Ok, found)
    }

    fn unknown(&self, found: impl Into<String>) -> Check {
        self.ends(CheckStatus::Unknown, found)
    }

    fn warn(&self, found: impl Into<String>, fix: impl Into<String>) -> Check {
        Check { fix: fix.into(), ..self.ends(CheckStatus::Warn, found) }
    }

    fn fail(&self, found: impl Into<String>, fix: impl Into<String>) -> Check {
        Check { fix: fix.into(), ..self.ends(CheckStatus::Fail, found) }
    }
}

/// A check that `--fix` mends by writing these.
fn mended_by(check: Check, settings: impl IntoIterator<Item = (String, &'static str)>) -> Check {
    let settings =
        settings.into_iter().map(|(path, value)| Setting { path: path.into(), value: value.to_owned() });
    Check { settings: settings.collect(), ..check }
}

#[cfg(test)]
mod tests;
