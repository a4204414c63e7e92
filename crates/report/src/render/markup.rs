//! What the formats of plain marks have in common: the blocks of a document, each in the marks of the language.

use super::matrix_table;
use crate::document::{Block, Cell, Table, Tone};

/// The marks of a language.
pub(super) struct Markup {
    /// A text that reads as itself: nothing in a name or a reason becomes a mark.
    pub(super) escaped: fn(&str) -> String,
    /// Before an item of a list.
    pub(super) bullet: &'static str,
    /// Around what is bold.
    pub(super) bold: &'static str,
    /// A table, without its caption.
    pub(super) table: fn(&Table) -> String,
    /// Text as it is, in a block that nothing in it can close.
    pub(super) verbatim: fn(&str) -> String,
}

impl Markup {
    /// What it can show of these.
    pub(super) fn blocks(&self, blocks: &[Block]) -> Vec<String> {
        let mut parts = Vec::new();
        for block in blocks {
            match block {
                Block::Paragraph(text) => parts.push((self.escaped)(text)),
                Block::Items(texts) => parts.push(self.items(texts)),
                Block::Table(one) => parts.extend([(self.escaped)(&one.caption), (self.table)(one)]),
                Block::Matrix(matrix) if !matrix.is_in_another_table() => parts.extend([
                    (self.escaped)(&matrix.caption),
                    (self.table)(&matrix_table::table(matrix)),
                    (self.escaped)(&matrix.whole_legend(matrix.intervals)),
                ]),
                Block::Verbatim(text) => parts.push((self.verbatim)(text)),
                Block::Matrix(_) | Block::Figure(_) | Block::Timeline(_) => {}
            }
        }
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// A list.
    pub(super) fn items<S: AsRef<str>>(&self, texts: impl IntoIterator<Item = S>) -> String {
        texts.into_iter().map(|text| self.item(text.as_ref())).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn item(&self, text: &str) -> String {
        format!("{}{}", self.bullet, (self.escaped)(text))
    }

    /// What is coloured elsewhere is bold.
    pub(super) fn cell(&self, cell: &Cell) -> String {
        let text = (self.escaped)(&cell.shown());
        match cell.tone {
            Tone::Good | Tone::Bad | Tone::Strong if !text.is_empty() => format!("{0}{text}{0}", self.bold),
            Tone::Plain | Tone::Good | Tone::Bad | Tone::Strong | Tone::Faint => text,
        }
    }
}

/// Parts with a line between them, and a line break at the end.
pub(super) fn together(mut parts: Vec<String>) -> String {
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}
