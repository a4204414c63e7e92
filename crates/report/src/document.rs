//! A report as sections of text, tables and charts, before any layout: what text, Markdown, pages, posts and summaries
//! are made from.
//!
//! The views of a comparison, a campaign, a calibration, a history, a bisection and an import each become a
//! [`Document`]; the layouts know only documents. Texts are plain: who lays them out escapes them.

mod matrix;

pub use crate::signs::Tone;
pub(crate) use matrix::{CHANGED, PERHAPS_CHANGED};
pub use matrix::{Matrix, MatrixCell, MatrixChange, MatrixRow};

use crate::charts::Chart;
use crate::signs::Sign;
use model::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// A report, ready to be laid out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// `rocksdb@8.5.4 against rocksdb@8.7.3`
    pub title: String,
    /// `comparison`, `campaign`, `calibration`, `history`, `bisection`, `import`
    pub kind: &'static str,
    /// Ids of the runs that it shows; of a bisection what their names begin with; none of what holds over runs that have a document each.
    pub runs: Vec<String>,
    /// What was found, the most important first: a sentence each.
    pub found: Vec<Sentence>,
    /// What the numbers tell and do not tell, which run it is, what it was measured under: a paragraph each.
    pub intro: Vec<String>,
    /// What a reader of the numbers must know before believing them.
    pub warnings: Vec<Notice>,
    /// In the order of reading.
    pub sections: Vec<Section>,
    /// The command that measures the same again.
    pub command: Option<String>,
    /// Last lines: host, cost of measuring, version of the tool.
    pub footer: Vec<String>,
}

impl Document {
    /// All of its content, in the order of reading.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sections.iter().flat_map(|section| &section.blocks)
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// The verdict that colours it; absent where it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    pub text: String,
}

/// A warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// For scripts: `busy-host`.
    pub id: String,
    /// The step it is about; all of them where absent.
    pub step: Option<String>,
    pub text: String,
}

impl Notice {
    /// One that is about all steps.
    pub fn of_all(id: impl Into<String>, text: impl Into<String>) -> Notice {
        Notice { id: id.into(), step: None, text: text.into() }
    }
}

/// A part of a report with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Unique within the document, of letters, digits and dashes: `step-readrandom`.
    pub id: String,
    pub title: String,
    pub level: Level,
    /// Where it stands in a blog post; one without a place is left out of it.
    pub post: Option<PostPart>,
    pub blocks: Vec<Block>,
}

impl Section {
    /// One that every format shows and no post has.
    pub fn new(id: impl Into<String>, title: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section { id: id.into(), title: title.into(), level: Level::Shown, post: None, blocks }
    }

    /// The same at another level.
    #[must_use]
    pub fn at(mut self, level: Level) -> Section {
        self.level = level;
        self
    }

    /// The same with its place in a post.
    #[must_use]
    pub fn in_post(mut self, part: PostPart) -> Section {
        self.post = Some(part);
        self
    }
}

/// Who sees a section at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Everybody, in every format.
    Shown,
    /// Those who ask: folded on a page and in Markdown, in text only in detail.
    Folded,
    /// Only readers of a page, where it is folded: timelines of the host, lists that few read.
    Page,
}

/// The fixed parts of a blog post, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostPart {
    Builds,
    Hardware,
    Benchmark,
    Results,
    Findings,
    Differs,
}

/// A piece of content.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Paragraph(String),
    Items(Vec<String>),
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

/// A table with what stands over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What it shows; empty where the heading says it.
    pub caption: String,
    pub columns: Vec<Column>,
    /// Cells in rows, one for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column's header and what its cells are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// It may have several lines.
    pub header: String,
    pub kind: Kind,
    /// Whether text leaves it out where the table does not fit with it.
    pub optional: bool,
}

/// What the cells of a column are, which decides how they are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To the right, so that digits line up; never broken.
    Number,
    /// To the left; shortened in the middle where there is no room.
    Name,
    /// To the left; never broken.
    Word,
    /// To the left; wrapped where there is no room.
    Prose,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub tone: Tone,
    /// Stands before the text.
    pub sign: Option<Sign>,
}

/// The header of a column, its kind, and its cell in the row of an `R`.
pub type ColumnOf<'a, R> = (&'a str, Kind, &'a dyn Fn(&R) -> String);

impl Table {
    /// Without rows, and without a caption.
    pub fn new(columns: &[(&str, Kind)]) -> Table {
        Table::of(columns.iter().map(|(header, kind)| Column::new(*header, *kind)), Vec::<Vec<Cell>>::new())
    }

    /// A row for each of these: of each column its header, its kind and what it has of a row.
    pub fn by_columns<R>(rows: impl IntoIterator<Item = R>, columns: &[ColumnOf<'_, R>]) -> Table {
        let headers = columns.iter().map(|(header, kind, _)| Column::new(*header, *kind));
        let cells = |row: R| columns.iter().map(|(.., cell)| cell(&row)).collect::<Vec<String>>();
        Table::of(headers, rows.into_iter().map(cells))
    }

    /// Without rows, for programs that read it: nothing of it is laid out.
    pub fn for_scripts<H: AsRef<str>>(headers: &[H]) -> Table {
        let column = |header: &H| Column::new(header.as_ref(), Kind::Word);
        Table::of(headers.iter().map(column), Vec::<Vec<Cell>>::new())
    }

    /// Without a caption.
    pub fn of<R, C>(columns: impl IntoIterator<Item = Column>, rows: impl IntoIterator<Item = R>) -> Table
    where
        R: IntoIterator<Item = C>,
        C: Into<Cell>,
    {
        let mut table =
            Table { caption: String::new(), columns: columns.into_iter().collect(), rows: Vec::new() };
        table.fill(rows);
        table
    }

    /// Adds rows.
    pub fn fill<R, C>(&mut self, rows: impl IntoIterator<Item = R>)
    where
        R: IntoIterator<Item = C>,
        C: Into<Cell>,
    {
        self.rows.extend(rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()));
    }

    /// The same under a caption.
    #[must_use]
    pub fn captioned(mut self, caption: impl Into<String>) -> Table {
        self.caption = caption.into();
        self
    }

    /// Absent where it has no rows.
    pub fn unless_empty(self) -> Option<Table> {
        (!self.rows.is_empty()).then_some(self)
    }
}

impl Column {
    pub fn new(header: impl Into<String>, kind: Kind) -> Column {
        Column { header: header.into(), kind, optional: false }
    }

    /// One that text can do without.
    #[must_use]
    pub fn optional(mut self) -> Column {
        self.optional = true;
        self
    }
}

impl Cell {
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell::toned(text, Tone::Plain)
    }

    pub fn toned(text: impl Into<String>, tone: Tone) -> Cell {
        Cell { text: text.into(), tone, sign: None }
    }

    /// With the sign of a verdict and its tone.
    pub fn of(verdict: Verdict, confirmed: bool, text: impl Into<String>) -> Cell {
        Cell::signed(Sign::of(verdict, confirmed), text)
    }

    /// With a sign and its tone.
    pub fn signed(sign: Option<Sign>, text: impl Into<String>) -> Cell {
        Cell { text: text.into(), tone: sign.map_or(Tone::Plain, Sign::tone), sign }
    }

    /// The sign, then the text, as text and Markdown have them.
    pub fn shown(&self) -> String {
        match (self.sign, self.text.as_str()) {
            (None, text) => text.to_owned(),
            (Some(sign), "") => sign.character().to_string(),
            (Some(sign), text) => format!("{} {text}", sign.character()),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::plain(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::plain(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::plain(text.clone())
    }
}
