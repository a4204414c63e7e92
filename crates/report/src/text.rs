//! A report as text for a terminal of a given width.

use crate::grids::{self, Grid, Kind};
use crate::groups;
use crate::layout::{BOLD, marked, paint, shortened, wrapped};
use crate::phrases;
use crate::split_tables::tables;
use crate::view::{CandidateView, ReportView};
use comfy_table::Width::Fixed;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};

/// How a text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; fewer than 80 are taken as 80.
    pub width: usize,
    /// Whether escape sequences for colour may be in it. They never carry a meaning of their own.
    pub colour: bool,
}

/// Below this a table cannot hold two rates and an interval.
pub(crate) const LEAST_WIDTH: usize = 80;
/// Verdicts and costs stand in one table where its names and numbers leave this much for prose; names are then whole.
const LEAST_PROSE: usize = 15;
/// Space between columns.
pub(crate) const GAP: usize = 2;
/// No name or value is shortened, and no prose squeezed, below this.
const LEAST_COLUMN: usize = 12;

/// Lines are ruled under the header only.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));

/// The report of a run.
pub fn render(view: &ReportView, options: TextOptions) -> String {
    let width = options.width.max(LEAST_WIDTH);
    let mut parts =
        vec![wrapped(&phrases::headline(view), width, 0), wrapped(&phrases::run_line(view), width, 2)];
    for candidate in &view.candidates {
        parts.extend(candidate_parts(candidate, view, width));
    }
    parts.extend(grids::shapes(&view.shapes).map(|grid| table(&grid, width)));
    parts.push(closing(view, width));
    paint(&(parts.join("\n\n") + "\n"), options.colour)
}

fn candidate_parts(candidate: &CandidateView, view: &ReportView, width: usize) -> Vec<String> {
    let paragraph = |text: &str| wrapped(text, width, 2);
    let mut parts = vec![marked(BOLD, &wrapped(&candidate.summary, width, 0))];
    // With the intervals of the costs where there is room for them.
    let whole = [phrases::relative_cost_with_interval, phrases::relative_cost]
        .map(|cost| grids::wide(candidate, cost))
        .into_iter()
        .find(|grid| fits_beside_prose(grid, width));
    match whole {
        Some(grid) => parts.push(table(&grid, width)),
        None => {
            parts.push(table(&grids::verdicts(candidate), width));
            parts.push(table(&grids::costs(candidate), width));
        }
    }
    parts.push(paragraph(&phrases::legend(view)));
    let groups = grids::groups(candidate);
    if !groups.is_empty() {
        parts.extend(tables(groups::grid("group", &groups), width));
        parts.push(paragraph(&groups::extremes(&groups)));
        parts.push(paragraph(&groups::legend("launches")));
    }
    let mut notes = phrases::notes(&candidate.rows);
    notes.extend(phrases::visible_changes(&candidate.rows));
    parts.push(notes.iter().map(|note| paragraph(note)).collect::<Vec<_>>().join("\n"));
    parts.extend(grids::time(candidate).map(|grid| table(&grid, width)));
    let mut differs: Vec<String> =
        grids::differs(candidate).into_iter().map(|grid| table(&grid, width)).collect();
    differs.extend(grids::differing_lists(candidate, view).iter().map(|list| paragraph(list)));
    parts.push(differs.join("\n"));
    parts.retain(|part| !part.is_empty());
    parts
}

fn fits_beside_prose(grid: &Grid, width: usize) -> bool {
    let column = |index: usize| match grid.columns[index].kind {
        Kind::Prose => LEAST_PROSE,
        Kind::Number | Kind::Name | Kind::Word => natural_width(grid, index),
    };
    let columns = grid.columns.len();
    (0..columns).map(column).sum::<usize>() + GAP * (columns - 1) <= width
}

/// What holds for the whole run.
fn closing(view: &ReportView, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(view.warnings.iter().map(|warning| format!("WARNING {}: {}", warning.id, warning.text)));
    lines.push(phrases::trials(view));
    lines.extend(view.trials.reasons.iter().map(|reason| format!("- {}", phrases::trial_reason(reason))));
    lines.push(phrases::host_line(&view.host));
    lines.extend(view.cost.as_ref().map(|cost| phrases::cost(cost, view.of_servers)));
    lines.push(phrases::again(view));
    lines.iter().map(|line| wrapped(line, width, 2)).collect::<Vec<_>>().join("\n")
}

/// A grid as lines of at most `width` characters, as far as its numbers allow: prose is wrapped first, then
/// names are shortened; numbers stay whole.
pub(crate) fn table(grid: &Grid, width: usize) -> String {
    let widths = column_widths(grid, width);
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::MAX)
        .set_header(grid.columns.iter().map(|column| column.header.as_ref()));
    for row in &grid.rows {
        let cells = row.iter().zip(grid.columns.iter().zip(&widths));
        table.add_row(cells.map(|(cell, (column, width))| match column.kind {
            Kind::Name => shortened(cell, *width),
            Kind::Number | Kind::Word | Kind::Prose => cell.clone(),
        }));
    }
    for (index, (column, width)) in grid.columns.iter().zip(&widths).enumerate() {
        let Some(laid_out) = table.column_mut(index) else { continue };
        let gap = if index + 1 == grid.columns.len() { 0 } else { GAP };
        laid_out.set_padding((0, u16::try_from(gap).unwrap_or(0)));
        let whole = u16::try_from(width + gap).unwrap_or(u16::MAX);
        laid_out.set_constraint(ColumnConstraint::Absolute(Fixed(whole)));
        laid_out.set_cell_alignment(match column.kind {
            Kind::Number => CellAlignment::Right,
            Kind::Name | Kind::Word | Kind::Prose => CellAlignment::Left,
        });
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The width of each column: that of its widest cell, or less where the table would not fit.
fn column_widths(grid: &Grid, width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = (0..grid.columns.len()).map(|index| natural_width(grid, index)).collect();
    let available = width.saturating_sub(GAP * (widths.len() - 1));
    for shrinks in [Kind::Prose, Kind::Name] {
        let shrinking: Vec<usize> =
            (0..widths.len()).filter(|index| grid.columns[*index].kind == shrinks).collect();
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

pub(crate) fn natural_width(grid: &Grid, index: usize) -> usize {
    let header = grid.columns[index].header.lines().map(|line| line.chars().count()).max();
    let cells = grid.rows.iter().map(|row| paint(&row[index], false).chars().count());
    cells.chain(header).max().unwrap_or(0)
}
