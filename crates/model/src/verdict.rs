//! Verdicts: what may be said of a comparison.

use serde::{Deserialize, Serialize};

/// What may be said of a step and a candidate.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval lies on the slow side.
    Regression,
    /// The whole interval lies on the fast side.
    Improvement,
    /// The whole interval lies within the margin.
    NoChange,
    /// The budget ended before any of these could be said.
    Inconclusive,
    /// The design does not protect against drift: suspect, not proven.
    Suspect,
    /// A ratio without an interval, or a metric that decides nothing.
    RatioOnly,
}

impl Verdict {
    /// The name in SQL and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it says that there is a difference.
    pub fn is_directional(self) -> bool {
        matches!(self, Verdict::Regression | Verdict::Improvement | Verdict::Suspect)
    }
}

/// Whether the layout of code can account for what was found: builds of one source differ too.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Layout {
    /// The change is larger: the interval, widened by what builds of one source differ by, leaves 1 out.
    Beyond,
    /// The binaries differ, but two builds of one source may differ as much.
    MayBe,
    /// No change beyond the margin.
    Within,
}

impl Layout {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
