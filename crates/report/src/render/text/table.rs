//! A table as text for a terminal: what becomes of one that is wider than it, and its lines.
//!
//! Columns that it can do without go first, then names in its header are broken where the words of db_bench's names and the
//! parts of a subject meet, then it is cut into several, each with the first column again.

use super::terminal::Terminal;
use crate::document::{Cell, Column, Kind, Table};
use crate::render::layout::{columns_of, printable, shortened, wrapped};

/// Space between columns.
const GAP: usize = 2;
/// No name or value is shortened, and no prose squeezed, below this.
const LEAST_COLUMN: usize = 12;

/// The longest label of a row that is not shortened to make room. Other names are shortened before a table is cut.
const LONGEST_LABEL: usize = 24;
/// Prose is wrapped to this before a table is cut for it.
const LEAST_PROSE: usize = 15;
/// Headers that are names are broken at these widths, the first at which the table fits.
const HEADER_WIDTHS: [usize; 3] = [9, 8, 7];

/// A table as one, or as several that repeat its first column, where it is too wide for one.
pub(crate) fn tables(table: &Table, terminal: Terminal) -> String {
    parts(table, terminal.width).iter().map(|part| lines(part, terminal)).collect::<Vec<_>>().join("\n\n")
}

/// Whether it fits as one.
pub(crate) fn fits(table: &Table, width: usize) -> bool {
    let columns = table.columns.len();
    let needed: usize = (0..columns).map(|index| least_width(table, index)).sum();
    needed + GAP * columns.saturating_sub(1) <= width
}

/// The width below which a column is not brought to keep a table whole.
fn least_width(table: &Table, index: usize) -> usize {
    let natural = natural_width(table, index);
    match table.columns[index].kind {
        Kind::Prose => natural.min(LEAST_PROSE),
        Kind::Name | Kind::Number | Kind::Word if index == 0 => natural.min(LONGEST_LABEL),
        Kind::Name => natural.min(LEAST_COLUMN),
        Kind::Number | Kind::Word => natural,
    }
}

fn parts(table: &Table, width: usize) -> Vec<Table> {
    let mut table = table.clone();
    while !fits(&table, width)
        && let Some(index) = table.columns.iter().rposition(|column| column.optional)
    {
        table.columns.remove(index);
        for row in &mut table.rows {
            row.remove(index);
        }
    }
    if fits(&table, width) {
        return vec![table];
    }
    let narrow = HEADER_WIDTHS.map(|header| with_broken_headers(&table, header));
    match narrow.iter().find(|table| fits(table, width)) {
        Some(fitting) => vec![fitting.clone()],
        None => split(&narrow[0], width),
    }
}

/// Only names are broken: a header of several words or lines was laid out by who wrote it.
fn with_broken_headers(table: &Table, width: usize) -> Table {
    let mut table = table.clone();
    for column in table.columns.iter_mut().skip(1) {
        if !column.header.contains([' ', '\n']) {
            column.header = broken(&printable(&column.header), width);
        }
    }
    table
}

fn split(table: &Table, width: usize) -> Vec<Table> {
    if fits(table, width) {
        return vec![table.clone()];
    }
    let available = width.saturating_sub(least_width(table, 0));
    let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut taken = 0;
    for index in 1..table.columns.len() {
        let needed = least_width(table, index) + GAP;
        if taken + needed > available && taken > 0 {
            parts.push(Vec::new());
            taken = 0;
        }
        taken += needed;
        if let Some(part) = parts.last_mut() {
            part.push(index);
        }
    }
    parts.iter().map(|part| with_columns(table, part)).collect()
}

/// The first column and these; labels are names, which are shortened where there is no room.
fn with_columns(table: &Table, columns: &[usize]) -> Table {
    let kept = || std::iter::once(0).chain(columns.iter().copied());
    let column = |index: usize| Column {
        kind: if index == 0 { Kind::Name } else { table.columns[index].kind },
        ..table.columns[index].clone()
    };
    Table::of(kept().map(column), table.rows.iter().map(|row| kept().map(|index| row[index].clone())))
}

/// A table as lines of at most the terminal's width, as far as its numbers allow: prose is wrapped first, then names
/// are shortened; numbers stay whole. The header is ruled off.
fn lines(table: &Table, terminal: Terminal) -> String {
    let widths = column_widths(table, terminal.width);
    let header: Vec<Vec<String>> = table
        .columns
        .iter()
        .zip(&widths)
        .map(|(column, width)| column.header.lines().flat_map(|line| pieces(line, *width)).collect())
        .collect();
    let plain: Vec<&Cell> = Vec::new();
    let mut lines = row_lines(&header, &plain, table, &widths, terminal);
    lines.push("-".repeat(widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)));
    for row in &table.rows {
        let texts: Vec<Vec<String>> = row
            .iter()
            .zip(table.columns.iter().zip(&widths))
            .map(|(cell, (column, width))| match column.kind {
                Kind::Name => vec![shortened(&cell.shown(), *width)],
                Kind::Number | Kind::Word => vec![printable(&cell.shown())],
                Kind::Prose => pieces(&cell.shown(), *width),
            })
            .collect();
        lines.extend(row_lines(&texts, &row.iter().collect::<Vec<_>>(), table, &widths, terminal));
    }
    lines.join("\n")
}

/// The lines of one row; `cells` have the tones, the header has none.
fn row_lines(
    texts: &[Vec<String>],
    cells: &[&Cell],
    table: &Table,
    widths: &[usize],
    terminal: Terminal,
) -> Vec<String> {
    let height = texts.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let mut line = String::new();
        for (index, width) in widths.iter().enumerate() {
            let text = texts.get(index).and_then(|lines| lines.get(at)).map_or("", String::as_str);
            let room = " ".repeat(width.saturating_sub(columns_of(text)));
            let shown = match cells.get(index) {
                Some(cell) if !text.is_empty() => terminal.toned(text, cell.tone),
                Some(_) | None => text.to_owned(),
            };
            match table.columns[index].kind {
                Kind::Number => line.push_str(&format!("{room}{shown}")),
                Kind::Name | Kind::Word | Kind::Prose => line.push_str(&format!("{shown}{room}")),
            }
            line.push_str(&" ".repeat(GAP));
        }
        line.trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

/// A text on lines of at most `width` columns; a word that is longer is broken anywhere.
fn pieces(text: &str, width: usize) -> Vec<String> {
    wrapped(text, width, 0).split('\n').flat_map(|line| broken_anywhere(line, width)).collect()
}

fn broken_anywhere(text: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// The width of each column: that of its widest cell, or less where the table would not fit.
fn column_widths(table: &Table, width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = (0..table.columns.len()).map(|index| natural_width(table, index)).collect();
    let available = width.saturating_sub(GAP * widths.len().saturating_sub(1));
    for shrinks in [Kind::Prose, Kind::Name] {
        let shrinking: Vec<usize> =
            (0..widths.len()).filter(|index| table.columns[*index].kind == shrinks).collect();
        while widths.iter().sum::<usize>() > available {
            // The widest gives first, so that what is short stays whole.
            let widest = shrinking.iter().copied().max_by_key(|index| widths[*index]);
            match widest {
                Some(widest) if widths[widest] > LEAST_COLUMN => widths[widest] -= 1,
                Some(_) | None => break,
            }
        }
    }
    widths
}

/// The width that a column has where there is room for all.
fn natural_width(table: &Table, index: usize) -> usize {
    let header = table.columns[index].header.lines().map(columns_of).max();
    let cells = table.rows.iter().map(|row| columns_of(&printable(&row[index].shown())));
    cells.chain(header).max().unwrap_or(0)
}

/// The words that names of steps are made of. A longer word stands before its own beginning.
const WORDS: [&str; 20] = [
    "random",
    "range",
    "while",
    "writing",
    "overwrite",
    "over",
    "write",
    "read",
    "multi",
    "fill",
    "seek",
    "scan",
    "seq",
    "compact",
    "cold",
    "flush",
    "wait",
    "some",
    "andwait",
    "and",
];

/// The name on lines of at most `width` characters; a word that is longer is broken anywhere.
pub(super) fn broken(name: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words(name, width) {
        let full = lines.last().is_some_and(|line| line.chars().count() + word.chars().count() > width);
        if full {
            lines.push(word);
        } else if let Some(line) = lines.last_mut() {
            line.push_str(&word);
        }
    }
    lines.join("\n")
}

/// The words of a name, none longer than `width`.
fn words(name: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = name;
    let mut unknown = String::new();
    while let Some(first) = rest.chars().next() {
        let known = WORDS.iter().find(|word| rest.starts_with(*word) && word.len() <= width);
        match known {
            Some(word) => {
                words.extend(broken_anywhere(&std::mem::take(&mut unknown), width));
                words.push((*word).to_owned());
                rest = &rest[word.len()..];
            }
            None => {
                unknown.push(first);
                // A separator stays at the end of its word.
                if matches!(first, '-' | '.' | '_' | '@' | '+' | '/' | '=') {
                    words.extend(broken_anywhere(&std::mem::take(&mut unknown), width));
                }
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    words.extend(broken_anywhere(&unknown, width));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_between_words() {
        assert_eq!(broken("revrangewhilewriting", 9), "revrange\nwhile\nwriting");
        assert_eq!(broken("overwriteandwait", 9), "overwrite\nandwait");
        assert_eq!(broken("overwriteandwait", 7), "over\nwrite\nandwait");
        assert_eq!(broken("multireadrandom", 9), "multiread\nrandom");
        assert_eq!(broken("seekrandom.nexts-100", 9), "seek\nrandom.\nnexts-100");
        assert_eq!(broken("abcdefghijklmnop", 6), "abcdef\nghijkl\nmnop");
        assert_eq!(broken("rocksdb@8.7.3+defaults", 9), "rocksdb@\n8.7.3+\ndefaults");
        assert_eq!(broken("fillseq", 9), "fillseq");
        assert_eq!(broken("", 9), "");
    }
}
