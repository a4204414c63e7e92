//! What a bisection found.

mod build;

pub use build::{Searched, VersionFacts, build};

use model::verdict::{Layout, Verdict};
use model::warning::Warning;
use serde::{Deserialize, Serialize};

/// A bisection as far as it came, ready to be laid out, and to be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectView {
    /// What JSON shows.
    pub found: BisectObject,
    /// Share of false verdicts of its comparisons: their intervals have a confidence of 1 less that.
    pub alpha: f64,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
    /// Versions that were not tried, each with its place in the order of all; in that order.
    pub untried: Vec<(usize, Version)>,
}

/// The contract for scripts: keys in a fixed order, numbers in base units, what is unknown absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectObject {
    pub schema: u32,
    /// The first version that differs; absent where none was found, as all that follows from it.
    pub first_bad: Option<String>,
    pub probability: Option<f64>,
    pub confirmed: bool,
    pub launches: u32,
    /// In their order.
    pub tried: Vec<Version>,
    // Added to the contract; these may grow.
    /// The beginning of the names of its runs.
    pub bisect: String,
    pub seed: u64,
    pub workload: String,
    pub step: String,
    /// The rate that it went by.
    pub metric: String,
    /// The verdict that was looked for: a regression or an improvement.
    pub wanted: Verdict,
    pub good: String,
    pub bad: String,
    /// How many there are from good to bad.
    pub versions: usize,
    pub last_good: Option<String>,
    /// Versions of which each may be the first to differ.
    pub candidates: Vec<String>,
    pub more_than_one_step: bool,
    pub steps: Vec<Step>,
    /// In the order of their search; the first one is the whole.
    pub stretches: Vec<Stretch>,
    pub launches_ends: u32,
    pub launches_search: u32,
    pub launches_confirmation: u32,
    /// Wall time of measuring; fetching and building apart.
    pub seconds: f64,
    /// Why it ended before its end.
    pub stopped: Option<String>,
    /// `busy-host: load 3`
    pub warnings: Vec<String>,
}

/// A version, with what was tried of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// `8.7.3`, or the beginning of a commit's name.
    pub version: String,
    /// The first line of a commit's message.
    pub summary: Option<String>,
    pub status: Status,
    pub launches: u32,
    /// Mean over the launches of the search, relative to the good end.
    pub ratio: Option<f64>,
    /// That it is the first to differ.
    pub probability: Option<f64>,
    /// Why it cannot be measured; absent where it can, as far as anybody tried.
    pub reason: Option<String>,
}

/// What became of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Status {
    GoodEnd,
    BadEnd,
    Measured,
    NotMeasurable,
    NotTried,
}

impl Status {
    /// As JSON has it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A step that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub last_good: String,
    pub first_bad: String,
    pub candidates: Vec<String>,
    pub probability: f64,
    pub confirmed: bool,
    /// Of the versions on either side; absent where there was no time for it.
    pub comparison: Option<Comparison>,
    /// What the step leaves of the difference of its stretch.
    pub remainder_ratio: Option<f64>,
}

/// Versions from one to another that were searched for one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    pub good: String,
    pub bad: String,
    pub outcome: StretchOutcome,
    /// Of its ends, if it is the whole; absent if it was not made.
    pub comparison: Option<Comparison>,
    /// Of a part: how far its ends are apart by all launches of the search.
    #[serde(default)]
    pub fitted: Option<Fitted>,
    /// Places that were likely enough to be compared, and did not show a step.
    pub not_confirmed: Vec<Place>,
}

/// How the search of a stretch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StretchOutcome {
    Step,
    Several,
    NoDifference,
    EndNotMeasurable,
    Unfinished,
}

/// Neighbours that were compared without showing a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub last_good: String,
    pub first_bad: String,
    pub comparison: Comparison,
}

/// The later version over the earlier one, with a 99 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

/// The later version over the earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub verdict: Verdict,
    /// Whether the layout of code can account for the change; absent without a verdict, and in searches of before.
    #[serde(default)]
    pub layout: Option<Layout>,
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub launches: u32,
}

impl BisectView {
    /// Whether the ends do not differ in the way that is looked for.
    pub fn is_refused(&self) -> bool {
        self.outcome() == Some(StretchOutcome::NoDifference)
    }

    /// How the search of all versions ended; absent where it did not get as far.
    pub fn outcome(&self) -> Option<StretchOutcome> {
        self.whole().map(|whole| whole.outcome)
    }

    pub fn whole(&self) -> Option<&Stretch> {
        self.found.stretches.first()
    }

    pub fn ends(&self) -> Option<Comparison> {
        self.whole()?.comparison
    }

    /// All versions in their order.
    pub fn versions(&self) -> Vec<&Version> {
        let mut all: Vec<&Version> = self.found.tried.iter().collect();
        for (place, version) in &self.untried {
            all.insert((*place).min(all.len()), version);
        }
        all
    }

    /// `slower`, `faster`.
    pub fn comparative(&self) -> &'static str {
        if self.found.wanted == Verdict::Improvement { "faster" } else { "slower" }
    }
}
