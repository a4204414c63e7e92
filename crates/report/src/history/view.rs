//! The typed view of a history.

use crate::view::Note;
use analysis::change_points::Kind;

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
    pub warnings: Vec<Note>,
}

/// One metric of one step over releases.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesView {
    pub step: String,
    /// The configuration; empty where there is only one.
    pub config: String,
    pub metric: String,
    /// Its unit; empty where it has none.
    pub unit: String,
    pub releases: Vec<String>,
    /// Mean of each release.
    pub values: Vec<Option<f64>>,
    /// Runs of a release, at most.
    pub rounds: usize,
    /// Values that are no use: `8.6: 0 (line 9)`.
    pub gaps: Vec<String>,
    /// In the order of releases.
    pub changes: Vec<ChangeView>,
    /// Releases far from their neighbours that raise no alarm.
    pub outliers: Vec<String>,
    /// Releases worth another run.
    pub remeasure: Vec<String>,
    /// The least step in the middle that would be found nine times of ten, as a share; absent where none would.
    pub visible: Option<f64>,
    /// Why nothing can be said of the series.
    pub says_nothing: Option<String>,
}

/// One change of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeView {
    /// The first release that differs.
    pub version: String,
    /// The last one before it that has a value.
    pub before: Option<String>,
    /// Candidate where the design supports no more.
    pub kind: Kind,
    /// Whether the release differs from those before and after it.
    pub glitch: bool,
    /// Whether it is more than a candidate.
    pub confirmed: bool,
    /// Whether a single release stands on one side of it.
    pub at_edge: bool,
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
    /// The scan statistic, in standard errors.
    pub score: f64,
    /// Releases that may also have been the first, this one with them.
    pub location: Vec<String>,
    pub value_before: Option<f64>,
    /// Mean from it on; of a glitch its own.
    pub value_after: Option<f64>,
    /// Series that say the same at this release, by arithmetic or because they rise and fall together.
    pub same_as: Vec<String>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remeasure {
    pub step: String,
    /// The configuration; empty where there is only one.
    pub config: String,
    pub releases: Vec<String>,
}

impl SeriesView {
    /// Step, configuration and metric: `overwrite ops_sec`, `read +defaults p99`.
    pub fn name(&self) -> String {
        let config = if self.config.is_empty() { String::new() } else { format!(" +{}", self.config) };
        format!("{}{config} {}", self.step, self.metric)
    }
}
