//! A report as sections of text, tables and charts, before any layout: what a page in a browser and a blog post are
//! made from.
//!
//! The views of a comparison, a campaign, a calibration, a history, a bisection and an import each become a
//! [`Document`]; the layouts know only documents. Texts are plain: who lays them out escapes them.

use crate::charts::Chart;
use crate::grids::Grid;
use model::verdict::Verdict;

/// A report, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// `rocksdb@8.5.4 against rocksdb@8.7.3`
    pub title: String,
    /// `comparison`, `campaign`, `calibration`, `history`, `bisection`, `import`
    pub kind: &'static str,
    /// Ids of the runs that it shows; of a bisection what their names begin with.
    pub runs: Vec<String>,
    /// What was found, the most important first: a sentence each.
    pub verdicts: Vec<Sentence>,
    /// What the numbers tell and do not tell, which run it is, what it was measured under: a paragraph each.
    pub preface: Vec<String>,
    /// What a reader of the numbers must know before believing them.
    pub cautions: Vec<Caution>,
    /// In the order of reading.
    pub sections: Vec<Section>,
    /// The command that measures the same again.
    pub command: Option<String>,
    /// Last lines: host, cost of measuring, version of the tool.
    pub colophon: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The verdict that colours it; absent where it is none.
    pub verdict: Option<Verdict>,
    pub text: String,
}

/// A warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caution {
    /// For scripts: `busy-host`.
    pub id: String,
    /// The step it is about; all of them where absent.
    pub step: Option<String>,
    pub text: String,
}

/// A part of a report with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Unique within the document, of letters, digits and dashes: `step-readrandom`.
    pub id: String,
    pub title: String,
    /// Whether it is folded away at first: one step of many, lists that few read.
    pub folded: bool,
    pub blocks: Vec<Block>,
}

/// A piece of content.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Paragraph(String),
    Items(Vec<String>),
    /// A table as text and Markdown show it too.
    Table(Table),
    /// Relative rates of steps by subjects, coloured.
    Matrix(Matrix),
    /// A chart that stands still.
    Figure(Figure),
    /// Values second by second, drawn where a script runs.
    Timeline(Timeline),
    /// Text of another program, or a command.
    Verbatim(String),
}

/// A table with what stands over it.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows; empty where the heading says it.
    pub caption: String,
    pub grid: Grid,
}

/// Relative rates: a row for each step, a column for each candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    pub caption: String,
    pub base: String,
    pub candidates: Vec<String>,
    /// In the order of the workload.
    pub rows: Vec<MatrixRow>,
    /// What the marks in its cells mean.
    pub legend: String,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixRow {
    pub step: String,
    /// The section that has all of it; absent where there is none.
    pub section: Option<String>,
    pub group: String,
    /// The base's rate, as tables show it.
    pub base_value: String,
    /// One for each candidate; absent where it was not measured.
    pub cells: Vec<Option<MatrixCell>>,
}

/// One candidate in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixCell {
    /// The ratio as tables show it, without marks: `0.94`; empty where a number would be noise. The layout adds the sign
    /// of the verdict.
    pub text: String,
    /// Candidate over base; absent where there is none.
    pub ratio: Option<f64>,
    /// Lower end of its interval; absent where it is not bounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Verdict,
    /// More about it, shown where a reader points: values with units, launches, confidence.
    pub detail: String,
}

/// A chart with its caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of its file, without the ending: `relative-rate-range-1`.
    pub name: String,
    /// What it shows, in a sentence.
    pub caption: String,
    pub chart: Chart,
}

/// Series of equal steps in time, of several subjects.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Unique within the document, of letters, digits and dashes.
    pub id: String,
    /// What it shows, in a sentence.
    pub caption: String,
    /// What the points are: `second`, `block`.
    pub x: &'static str,
    /// What is measured in each point; a reader sees one at a time.
    pub metrics: Vec<TimelineMetric>,
    /// One for each subject and round.
    pub lines: Vec<TimelineLine>,
}

/// One metric of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineMetric {
    /// `operations`, `p99 latency`
    pub name: String,
    /// The unit that it is shown in.
    pub unit: String,
    /// Values are divided by this to have that unit.
    pub scale: f64,
    /// What becomes of several points that are shown as one.
    pub merge: Merge,
}

/// What becomes of several points that are shown as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    Mean,
    /// The largest: latencies of the worst.
    Largest,
}

/// One line of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineLine {
    pub subject: String,
    /// The round or launch.
    pub round: u32,
    /// For each metric its points from 0 on; absent where there is none.
    pub values: Vec<Vec<Option<u64>>>,
}
