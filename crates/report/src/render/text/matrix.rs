//! A matrix of relative rates as text: releases across as far as they fit, else down the page, else in several blocks.
//!
//! A cell is a sign and a number of two digits. If there is little room no space is between cells: the place of the next sign
//! tells them apart.

use super::table::{broken, fits, tables};
use super::terminal::Terminal;
use crate::document::{Column, Kind, Matrix, Table};
use crate::render::layout::{columns_of, printable, shortened};
use crate::render::matrix_grid::{
    BEYOND_LAYOUT, Facts, Grid, GridCell, Header, Of, VISIBLE, base_header, releases_down, steps_down,
    visible,
};
use crate::render::matrix_table;
use crate::signs::{Sign, Tone};
use model::figures::NONE;

/// Space around names and values, and between ratios if there is room.
const GAP: usize = 2;
/// The longest name of a row that is not shortened.
const LONGEST_NAME: usize = 28;
/// Signs stand in a column of their own, before the numbers.
const SIGN: usize = 1;

/// How ratios are set.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// Columns between two ratios beside the place of the sign.
    gap: usize,
    /// Headers that are wider are broken.
    header: usize,
}

const fn setting(gap: usize, header: usize) -> Setting {
    Setting { gap, header }
}

/// With room for everything in one table.
const ROOMY: [Setting; 3] = [setting(GAP, LONGEST_NAME), setting(GAP, 9), setting(GAP, 7)];
/// With the facts of a step in a table of their own.
const DENSE: [Setting; 4] = [setting(GAP, 7), setting(1, 7), setting(1, 5), setting(0, 4)];
/// In several blocks.
const IN_BLOCKS: Setting = setting(GAP, 9);

/// The matrix, without its caption and its legend.
pub(super) fn matrix(matrix: &Matrix, terminal: Terminal) -> String {
    if matrix.intervals {
        return with_intervals(matrix, terminal);
    }
    let whole = steps_down(matrix, Facts::Shown);
    if let Some(text) = in_one(&whole, &ROOMY, Headers::Releases, terminal) {
        return text;
    }
    let ratios = steps_down(matrix, Facts::LeftOut);
    let below = || tables(&facts(matrix), terminal);
    if let Some(text) = in_one(&ratios, &DENSE, Headers::Releases, terminal) {
        return format!("{text}\n\n{}", below());
    }
    in_one(&releases_down(matrix), &ROOMY, Headers::Steps, terminal)
        .unwrap_or_else(|| format!("{}\n\n{}", in_blocks(&ratios, terminal), below()))
}

/// Beside the ratios if there is room, else below them.
fn with_intervals(matrix: &Matrix, terminal: Terminal) -> String {
    let beside = matrix_table::with_intervals(matrix);
    let table = if fits(&beside, terminal.width) { beside } else { matrix_table::over_intervals(matrix) };
    tables(&table, terminal)
}

/// What is known of each step beside its ratios.
fn facts(matrix: &Matrix) -> Table {
    let mut columns = vec![Column::new("step", Kind::Name), Column::new(base_header(matrix), Kind::Number)];
    let has_visible = matrix.has_visible_changes();
    if has_visible {
        columns.extend([VISIBLE, BEYOND_LAYOUT].map(|header| Column::new(header, Kind::Number)));
    }
    let rows = matrix.rows.iter().map(|row| {
        let visible = has_visible.then(|| visible(&row.visible)).into_iter().flatten();
        [row.step.clone(), row.base_value.clone()].into_iter().chain(visible).collect::<Vec<_>>()
    });
    Table::of(columns, rows)
}

/// What the headers over the ratios name, which decides where they are broken.
#[derive(Debug, Clone, Copy)]
enum Headers {
    Releases,
    Steps,
}

/// In the first of the settings in which it fits.
fn in_one(grid: &Grid<'_>, settings: &[Setting], headers: Headers, terminal: Terminal) -> Option<String> {
    let mut layouts = settings.iter().map(|setting| Layout::of(grid, *setting, headers));
    let fits = |layout: &Layout<'_>| {
        layout.width() <= terminal.width && layout.columns.iter().all(|column| !column.is_torn)
    };
    layouts.find(fits).map(|layout| layout.text(terminal))
}

/// As few blocks as can be, each with the names of its rows, of as many columns as the others.
fn in_blocks(grid: &Grid<'_>, terminal: Terminal) -> String {
    let candidates = grid.headers.len() - 1;
    let in_blocks_of = |most: usize| {
        let count = candidates.div_ceil(most.max(1)).max(1);
        let size = candidates.div_ceil(count).max(1);
        let starts = (1..=candidates).step_by(size);
        starts.map(|start| part(grid, start, (start + size).min(candidates + 1))).collect::<Vec<_>>()
    };
    let fit = |parts: &Vec<Grid<'_>>| parts.iter().all(|part| block(part).width() <= terminal.width);
    let parts = (1..=candidates).rev().map(in_blocks_of).find(fit).unwrap_or_else(|| in_blocks_of(1));
    parts.iter().map(|part| block(part).text(terminal)).collect::<Vec<_>>().join("\n\n")
}

fn block<'a>(part: &'a Grid<'a>) -> Layout<'a> {
    Layout::of(part, IN_BLOCKS, Headers::Releases)
}

/// The names and these columns.
fn part<'a>(grid: &Grid<'a>, start: usize, end: usize) -> Grid<'a> {
    let kept = || std::iter::once(0).chain(start..end);
    Grid {
        headers: kept().map(|index| grid.headers[index].clone()).collect(),
        rows: grid.rows.iter().map(|row| kept().map(|index| row[index].clone()).collect()).collect(),
    }
}

/// A grid with the widths of its columns.
struct Layout<'a> {
    grid: &'a Grid<'a>,
    gap: usize,
    columns: Vec<LaidColumn>,
}

struct LaidColumn {
    of: Of,
    header: Vec<String>,
    /// Whether a part of its header is on two lines.
    is_torn: bool,
    /// Whether a change is marked in it, which takes a place before the sign.
    has_mark: bool,
    /// Without the places of mark and sign.
    width: usize,
}

impl<'a> Layout<'a> {
    fn of(grid: &'a Grid<'a>, setting: Setting, headers: Headers) -> Layout<'a> {
        let column = |(index, header): (usize, &Header)| {
            let cells = grid.rows.iter().filter_map(|row| row.get(index));
            LaidColumn::of(header, &cells.collect::<Vec<_>>(), setting, headers)
        };
        Layout { grid, gap: setting.gap, columns: grid.headers.iter().enumerate().map(column).collect() }
    }

    /// Space before a column.
    fn gap_before(&self, index: usize) -> usize {
        match index.checked_sub(1).map(|before| (self.columns[before].of, self.columns[index].of)) {
            None => 0,
            Some((Of::Ratios, Of::Ratios)) => self.gap,
            Some((_, Of::Ratios)) => self.gap.max(1),
            Some((_, Of::Names | Of::Values)) => GAP,
        }
    }

    fn width(&self) -> usize {
        let columns = self.columns.iter().enumerate();
        columns.map(|(index, column)| self.gap_before(index) + column.places()).sum()
    }

    fn text(&self, terminal: Terminal) -> String {
        let height = self.columns.iter().map(|column| column.header.len()).max().unwrap_or(0);
        let header = |line: usize| {
            self.line(|column| {
                let text = column.header.get(line).map_or("", String::as_str);
                column.placed("", text, Tone::Plain, terminal)
            })
        };
        let mut lines: Vec<String> = (0..height).map(header).collect();
        lines.push("-".repeat(self.width()));
        lines.extend(self.grid.rows.iter().map(|row| {
            let mut cells = row.iter();
            self.line(|column| cells.next().map_or_else(String::new, |cell| column.cell(cell, terminal)))
        }));
        lines.join("\n")
    }

    fn line(&self, mut cell: impl FnMut(&LaidColumn) -> String) -> String {
        let placed = self.columns.iter().enumerate();
        let line: String =
            placed.map(|(index, column)| " ".repeat(self.gap_before(index)) + &cell(column)).collect();
        line.trim_end().to_owned()
    }
}

impl LaidColumn {
    fn of(header: &Header, cells: &[&GridCell<'_>], setting: Setting, headers: Headers) -> LaidColumn {
        let whole = printable(&header.text);
        let mut is_torn = false;
        let lines: Vec<String> = match (header.of, headers) {
            (Of::Ratios, Headers::Releases) => match version_lines(&whole, setting.header) {
                Some(lines) => lines,
                None => {
                    is_torn = true;
                    broken(&whole, setting.header).lines().map(str::to_owned).collect()
                }
            },
            (Of::Ratios, Headers::Steps) => {
                broken(&whole, setting.header).lines().map(str::to_owned).collect()
            }
            (Of::Names | Of::Values, _) => header.text.lines().map(printable).collect(),
        };
        let natural = cells.iter().map(|cell| columns_of(&number(cell)));
        let width = natural.chain(lines.iter().map(|line| columns_of(line))).max().unwrap_or(0);
        LaidColumn {
            of: header.of,
            header: lines,
            is_torn,
            has_mark: cells.iter().any(|cell| matches!(cell, GridCell::Ratio { change: Some(_), .. })),
            width: if header.of == Of::Names { width.min(LONGEST_NAME) } else { width },
        }
    }

    /// All of its places.
    fn places(&self) -> usize {
        match self.of {
            Of::Names | Of::Values => self.width,
            Of::Ratios => usize::from(self.has_mark) + SIGN + self.width,
        }
    }

    fn cell(&self, cell: &GridCell<'_>, terminal: Terminal) -> String {
        let GridCell::Ratio { change, cell: measured } = cell else {
            return self.placed("", &number(cell), Tone::Plain, terminal);
        };
        let sign = measured.and_then(|cell| cell.sign);
        let mark = change.map_or(' ', |change| change.mark());
        let before = format!("{mark}{}", sign.map_or(' ', Sign::character));
        self.placed(&before, &number(cell), sign.map_or(Tone::Plain, Sign::tone), terminal)
    }

    /// A text in its place, what stands `before` it (mark and sign) in theirs.
    fn placed(&self, before: &str, text: &str, tone: Tone, terminal: Terminal) -> String {
        let text = shortened(text, self.width);
        let room = " ".repeat(self.width.saturating_sub(columns_of(&text)));
        match self.of {
            Of::Names => text + &room,
            Of::Values => room + &text,
            Of::Ratios => {
                let mut before = before.chars();
                let mark = before.next().unwrap_or(' ');
                let sign = before.next().unwrap_or(' ');
                let mark = if self.has_mark { mark.to_string() } else { String::new() };
                let shown = format!("{sign}{text}");
                let shown = if shown.trim().is_empty() { shown } else { terminal.toned(&shown, tone) };
                mark + &shown + &room
            }
        }
    }
}

/// What stands in a cell beside mark and sign.
fn number(cell: &GridCell<'_>) -> String {
    match cell {
        GridCell::Text(text) => printable(text),
        GridCell::Ratio { cell: Some(cell), .. } => printable(&cell.short_number()),
        GridCell::Ratio { cell: None, .. } => NONE.to_owned(),
    }
}

/// A name of a release on lines of at most `width` characters: engine, version and configuration apart, then broken before
/// separators: `8.10` over `.2`. Absent if a part would have to be torn.
fn version_lines(name: &str, width: usize) -> Option<Vec<String>> {
    if name.chars().count() <= width {
        return Some(vec![name.to_owned()]);
    }
    let mut lines: Vec<String> = Vec::new();
    for part in split_before(name, &['@', '+']) {
        let mut line = String::new();
        for piece in split_before(&part, &['.', '-', '_', '=']) {
            if !line.is_empty() && line.chars().count() + piece.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push_str(&piece);
        }
        lines.push(line);
    }
    lines.iter().all(|line| line.chars().count() <= width).then_some(lines)
}

/// Pieces that begin with a separator, but the first.
fn split_before(text: &str, separators: &[char]) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for character in text.chars() {
        match pieces.last_mut() {
            Some(piece) if !separators.contains(&character) => piece.push(character),
            Some(_) | None => pieces.push(character.to_string()),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_broken_before_its_separators_and_torn_nowhere() {
        let check = |version: &str, width, expected: Option<&[&str]>| {
            assert_eq!(
                version_lines(version, width).as_deref(),
                expected
                    .map(|lines| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
                    .as_deref(),
                "{version}"
            );
        };
        check("8.10.2", 4, Some(&["8.10", ".2"]));
        check("8.10.2", 9, Some(&["8.10.2"]));
        check("10.10.1", 4, Some(&["10", ".10", ".1"]));
        check("8.6.7+defaults", 9, Some(&["8.6.7", "+defaults"]));
        check("rocksdb@8.1.3", 9, Some(&["rocksdb", "@8.1.3"]));
        check("8.6.7+defaults", 7, None);
        check("", 4, Some(&[""]));
    }
}
