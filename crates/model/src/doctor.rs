//! Whether a host is fit to measure on: one check a question, with what was found and what to do.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a check ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CheckStatus {
    Ok,
    /// This host does not say.
    Unknown,
    /// Numbers can be trusted if all sides are measured alike; better ones could be had.
    Warn,
    /// Numbers are likely to mislead, or a run will fail.
    Fail,
}

impl CheckStatus {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One check of a host. The texts are for people; scripts go by `id` and `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// `cpu-governor`
    pub id: String,
    pub status: CheckStatus,
    /// `schedutil on 16 CPUs`
    pub found: String,
    pub want: String,
    /// Why it matters, with a reference if there is one.
    pub why: String,
    /// What to do; empty if nothing is to be done.
    pub fix: String,
    /// What `dbdyno doctor --fix` writes.
    #[serde(skip)]
    pub settings: Vec<Setting>,
}

/// A file below /proc/sys or /sys and what is written into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    pub path: PathBuf,
    pub value: String,
}

/// The contract of `dbdyno doctor --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examination {
    pub schema: u32,
    pub checks: Vec<Check>,
}

impl Examination {
    pub fn of(checks: Vec<Check>) -> Examination {
        Examination { schema: 1, checks }
    }

    pub fn count(&self, status: CheckStatus) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }
}
