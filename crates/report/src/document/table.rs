//! Tables of cells, before any layout: what stands in them, and what a layout has to know of it.

use crate::signs::{Sign, Tone};
use model::verdict::Verdict;

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

impl Table {
    /// Without rows, and without a caption.
    pub fn new(columns: &[(&str, Kind)]) -> Table {
        Table::of(columns.iter().map(|(header, kind)| Column::new(*header, *kind)), Vec::<Vec<Cell>>::new())
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
        let sign = Sign::of(verdict, confirmed);
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
