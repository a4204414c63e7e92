//! The history of releases: change points of each series, with what changed together, and what to measure again.
//!
//! [`Observed`] is where all begins: the values of one metric of one step over releases, from a campaign of ours
//! ([`of_campaign`]) or from results of others ([`of_values`]). [`build`] searches each and makes the view.

mod build;
mod from_campaigns;
mod from_values;
mod together;

pub use analysis::change_points::TrendKind;
pub use build::{Question, build};
pub use from_campaigns::{Apart, of_campaign, of_campaigns};
pub use from_values::of_values;

use crate::toolchain::Toolchain;
use crate::trend::TrendView;
use analysis::change_points::{ErrorFloor, Kind};
use analysis::rounds::RoundValues;
use model::warning::Warning;
use serde::Serialize;
use std::collections::BTreeMap;

/// One metric of one step over releases, before it is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The step; what a table is of where it does not say.
    pub step: String,
    /// The configuration; empty where there is only one.
    pub config: String,
    pub metric: String,
    /// Its unit; empty where it has none or nobody says.
    pub unit: String,
    /// The releases in their order.
    pub releases: Vec<String>,
    /// Natural logarithms: a row for each round, a cell for each release. What cannot have one is absent.
    pub logarithms: RoundValues,
    /// Of several campaigns taken together, the rows of the first: what it found the others confirm or do not.
    pub first_rounds: Option<usize>,
    /// Mean of each release in the unit.
    pub values: Vec<Option<f64>>,
    /// How exactly single values are known.
    pub floor: ErrorFloor,
    /// Values that are no use, one for each: `8.6: 0 (line 9)`.
    pub gaps: Vec<String>,
    /// Whether the order of measuring protects against drift of the host: complete rounds of ours, or launches of all releases.
    pub in_rounds: bool,
    /// By release, if its build has other compilers than that of the release before it.
    pub toolchains: BTreeMap<String, Toolchain>,
}

/// What the series come from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// `run 20261121-155551-a768`, a file's name.
    pub names: Vec<String>,
    /// What a reader must know of all of it: `sorted by version`.
    pub warnings: Vec<Warning>,
}

/// Series and what was found in them.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryView {
    pub origin: Vec<String>,
    /// Share of series without a change in which anything is found.
    pub alpha: f64,
    /// Changes of less than this share are left out.
    pub least_change: f64,
    /// Every series, in the order of the file or the plan.
    pub series: Vec<SeriesView>,
    /// Changes at one release of one step, in that order.
    pub events: Vec<EventView>,
    /// What to measure again, step by step.
    pub remeasure: Vec<Remeasure>,
    /// Commands that do it, where the releases can be had.
    pub commands: Vec<String>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

/// One metric of one step over releases. Fields stand in the order of JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesView {
    /// Step, configuration and metric: `overwrite ops_sec`, `read +defaults p99`.
    pub name: String,
    #[serde(rename = "versions")]
    pub releases: Vec<String>,
    /// In the order of releases.
    #[serde(rename = "change_points")]
    pub changes: Vec<ChangeView>,
    /// Releases worth another run.
    pub remeasure: Vec<String>,
    pub step: String,
    /// The configuration; empty where there is only one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config: String,
    pub metric: String,
    /// Its unit; empty where it has none.
    pub unit: String,
    /// Mean of each release.
    pub values: Vec<Option<f64>>,
    /// Runs of a release, at most.
    #[serde(rename = "runs")]
    pub rounds: usize,
    /// The least step in the middle that would be found nine times of ten, as a share; absent where none would.
    #[serde(rename = "visible_change")]
    pub visible: Option<f64>,
    /// Why nothing can be said of the series.
    pub says_nothing: Option<String>,
    /// Releases far from their neighbours that raise no alarm.
    pub outliers: Vec<String>,
    /// Values that are no use: `8.6: 0 (line 9)`.
    pub gaps: Vec<String>,
    /// The straight line through it; absent where there are too few values.
    pub trend: Option<TrendView>,
    /// Whether its changes or its trend, of single runs, may as well be noise whose neighbours are alike.
    pub maybe_autocorrelation: bool,
}

impl SeriesView {
    /// The trend, where it is told as one.
    pub fn told_trend(&self) -> Option<&TrendView> {
        self.trend.as_ref().filter(|trend| trend.is_told())
    }
}

/// One change of one series. Fields stand in the order of JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeView {
    /// The first release that differs.
    pub version: String,
    /// Candidate where the design supports no more.
    #[serde(serialize_with = "crate::by_name")]
    pub kind: Kind,
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    pub high: f64,
    /// Releases that may also have been the first, this one with them.
    pub location: Vec<String>,
    /// Series that say the same at this release, by arithmetic or because they rise and fall together.
    pub same_as: Vec<String>,
    /// The last one before it that has a value.
    pub before: Option<String>,
    pub confidence: f64,
    /// Whether the release differs from those before and after it.
    pub glitch: bool,
    /// Whether a single release stands on one side of it.
    pub at_edge: bool,
    pub value_before: Option<f64>,
    /// Mean from it on; of a glitch its own.
    pub value_after: Option<f64>,
    /// The compilers, if they changed at it: then it is not the code's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolchain: Option<Toolchain>,
    /// Of campaigns taken together: p of the change in the rounds of the later ones alone; absent where they did not measure
    /// both sides of it.
    pub confirmation_p: Option<f64>,
    /// Whether it is more than a candidate.
    #[serde(skip)]
    pub confirmed: bool,
    /// The scan statistic, in standard errors.
    #[serde(skip)]
    pub score: f64,
}

/// What changed at one release in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct EventView {
    pub step: String,
    /// The configuration; empty where there is only one.
    pub config: String,
    pub version: String,
    /// Indexes of series and of their changes, the largest change first.
    pub members: Vec<(usize, usize)>,
    /// The same, those that say the same in one line.
    pub lines: Vec<Line>,
}

/// Changes that say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Indexes of series and of their changes.
    pub members: Vec<(usize, usize)>,
    /// By which arithmetic: `rmbps = rps x rareqsz`.
    pub identity: Option<String>,
}

/// Releases of a step that are worth measuring again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remeasure {
    pub step: String,
    /// The configuration; empty where there is only one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config: String,
    #[serde(rename = "versions")]
    pub releases: Vec<String>,
}
