//! Charts: what they show, and how they become SVG and PNG, the same bytes on every machine.
//!
//! [`svg`] has a chart laid out and writes it, [`png`] makes an image of that. Colours and text are in `palette` and `lettering`, axes in
//! `scale`, what all charts share in `frame`; each kind of chart has a module of its own.

pub mod png;
pub mod svg;

mod bars;
mod flame;
mod frame;
mod latency;
mod lettering;
mod palette;
mod releases;
mod scale;
mod scene;

#[cfg(test)]
mod tests;

/// A chart, before any drawing. All values are finite.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Values over releases, with intervals and marks where they change.
    Releases(Releases),
    /// Groups of bars: steps by subjects, from a line that stands for no change.
    Bars(Bars),
    /// How latency is spread: shares of operations by latency, a row for each subject.
    Latency(LatencyShares),
    /// Functions above their callers.
    Flame(FlameGraph),
}

/// Values over releases.
#[derive(Debug, Clone, PartialEq)]
pub struct Releases {
    /// Stands over the chart.
    pub title: String,
    /// What is on the vertical axis, with its unit: `relative rate`.
    pub axis: String,
    /// The value that stands for no change, drawn as a line; absent where there is none.
    pub reference: Option<f64>,
    /// Confidence of the intervals, for the legend; absent where they have none that all share.
    pub confidence: Option<f64>,
    /// The releases in their order; of what has none, the moments.
    pub releases: Vec<String>,
    pub bands: Bands,
    /// One for each step.
    pub lines: Vec<Line>,
}

/// What is shaded behind the lines, every second of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bands {
    /// The major versions, if the releases have such.
    MajorVersions,
    /// Neighbours that belong together, from the first on.
    Of(Vec<Band>),
}

/// Neighbours that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    pub name: String,
    /// How many releases or moments.
    pub count: usize,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is of.
    pub name: String,
    /// For each release; absent where there is no value.
    pub points: Vec<Option<Point>>,
    pub changes: Vec<Mark>,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub value: f64,
    /// Lower end; absent where it is not known.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// A change at a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Index of the first release that differs.
    pub release: usize,
    /// Whether it is confirmed and not only a candidate.
    pub confirmed: bool,
}

/// Groups of bars.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Stands over the chart.
    pub title: String,
    /// What is on the value axis.
    pub axis: String,
    /// The value that bars begin at, 1 for ratios.
    pub reference: f64,
    /// Confidence of the intervals, for the legend; absent where they have none that all share.
    pub confidence: Option<f64>,
    /// What each group of bars is of: steps.
    pub labels: Vec<String>,
    /// One for each subject.
    pub series: Vec<BarSeries>,
}

/// The bars of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct BarSeries {
    pub name: String,
    /// For each label; absent where there is no value.
    pub values: Vec<Option<Point>>,
}

/// Shares of operations by latency.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyShares {
    /// Stands over the chart.
    pub title: String,
    /// Upper ends of the buckets in microseconds, rising; the last bucket has none and is not named here.
    pub upper_us: Vec<f64>,
    /// One for each subject.
    pub rows: Vec<LatencyRow>,
}

/// The latency of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyRow {
    pub name: String,
    /// Share of the operations in each bucket; one more than there are upper ends.
    pub shares: Vec<f64>,
}

/// Functions above their callers.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameGraph {
    /// The heading.
    pub title: String,
    /// What widths and colours mean.
    pub legend: String,
    /// What nothing called; together the whole width.
    pub roots: Vec<FlameNode>,
}

/// A function where it was called from.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameNode {
    pub name: String,
    /// Its time with what it calls, in the unit of all.
    pub width: f64,
    /// By how much that changed: cool for less, hot for more.
    pub change: f64,
    /// Shown where a reader points at it.
    pub about: String,
    /// Together at most as wide.
    pub children: Vec<FlameNode>,
}
