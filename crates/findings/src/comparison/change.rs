//! What changed at which release, over the releases of a configuration.

use crate::toolchain::Toolchain;
use crate::trend::TrendView;
use analysis::change_points::Kind;
use analysis::drift::Cause;
use model::metric::Metric;
use serde::Serialize;

/// A change of one metric of one step, at a release of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The configuration whose releases form the series.
    pub config: String,
    pub step: String,
    pub metric: Metric,
    #[serde(serialize_with = "crate::by_name")]
    pub kind: Kind,
    /// Whether the design lets it be suspect, not proven.
    pub suspect: bool,
    /// The first release that differs.
    pub version: String,
    /// The release before it.
    pub before: String,
    /// Releases at which it may also have happened, `version` among them.
    pub location: Vec<String>,
    /// Whether a single release stands on one side of it.
    pub at_edge: bool,
    /// Mean from the change on over the mean before.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Of the interval.
    pub confidence: f64,
    /// Mean of the releases before, in the metric's unit.
    pub value_before: Option<f64>,
    /// Mean of the releases from it on.
    pub value_after: Option<f64>,
    /// What moved at the same release, the clearest first.
    pub moved: Vec<MovedWith>,
    /// Whether a default of the release or its code changed; absent where only one of the configurations was measured.
    pub drift: Option<Drift>,
    /// The compilers, if they changed between the release before and this one: then it is not the code's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolchain: Option<Toolchain>,
    /// The change that this one goes with, where it is listed there as having moved.
    pub part_of: Option<usize>,
}

/// A steady change of a metric of one step, over the releases of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReleaseTrend {
    /// The configuration whose releases form the series.
    pub config: String,
    pub step: String,
    pub metric: Metric,
    /// Whether the design lets it be suspect, not proven.
    pub suspect: bool,
    /// Releases that have a value.
    pub releases: usize,
    #[serde(flatten)]
    pub line: TrendView,
    /// Whether it is of single runs, and needs repeats.
    pub candidate: bool,
    /// Whether noise whose neighbours are alike explains it as well; of single runs only.
    pub maybe_autocorrelation: bool,
}

/// A metric that moved at the same release as another. Together, which is not because of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedWith {
    #[serde(flatten)]
    pub shift: Shift,
    /// From the change on over before.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The order: larger is clearer.
    pub score: f64,
    /// Metrics that are the same finding.
    pub twins: Vec<Shift>,
}

/// A metric before and after a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// The name of the metric in JSON; of a ticker, its own.
    #[serde(rename = "counter")]
    pub name: String,
    pub unit: &'static str,
    /// Absent for a ticker.
    #[serde(skip)]
    pub metric: Option<Metric>,
    /// Mean of the releases before, in the metric's unit.
    pub value_before: Option<f64>,
    /// Mean of the releases from it on.
    pub value_after: Option<f64>,
}

/// Where a change comes from, as far as pinning the defaults tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drift {
    #[serde(serialize_with = "crate::by_name")]
    pub cause: Cause,
    /// Defaults that differ between the two releases and may be why: those that the pinned configuration pins, or all
    /// where it pins none of them.
    pub defaults: Vec<ChangedDefault>,
}

/// A default that differs between two neighbouring releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedDefault {
    pub option: String,
    /// The value before.
    pub before: String,
    /// The value from the release on.
    pub after: String,
}
