//! A matrix of relative rates as a table, for formats without links and filters.

use super::matrix_grid::{Facts, Grid, GridCell, Of, releases_down, steps_down};
use crate::document::{Cell, Column, Kind, Matrix, MatrixCell, Table};

/// As the matrix wants it: signs and ratios, alone or with their intervals.
pub(crate) fn table(matrix: &Matrix) -> Table {
    if matrix.intervals { with_intervals(matrix) } else { filled(&grid(matrix), &ratio) }
}

/// With the interval of each ratio beside it.
pub(crate) fn with_intervals(matrix: &Matrix) -> Table {
    let both = |cell: &MatrixCell| {
        let parts = [Some(ratio(cell)).filter(|number| !number.is_empty()), cell.interval()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    filled(&grid(matrix), &both)
}

/// With the interval of each ratio below it, in a row of its own.
pub(crate) fn over_intervals(matrix: &Matrix) -> Table {
    let grid = grid(matrix);
    let ratios = filled(&grid, &ratio);
    let below = |row: &Vec<GridCell<'_>>| -> Option<Vec<Cell>> {
        let interval = |cell: &GridCell<'_>| match cell {
            GridCell::Text(_) => Cell::plain(""),
            GridCell::Ratio { cell, .. } => {
                let text = cell.and_then(MatrixCell::interval).unwrap_or_default();
                let of_ratio = cell.map(|cell| Cell::signed(cell.sign, ""));
                Cell::toned(text, of_ratio.map_or_else(Default::default, |cell| cell.tone))
            }
        };
        let cells: Vec<Cell> = row.iter().map(interval).collect();
        cells.iter().any(|cell| !cell.text.is_empty()).then_some(cells)
    };
    let rows = ratios.rows.into_iter().zip(grid.rows.iter().map(below));
    Table::of(ratios.columns, rows.flat_map(|(row, below)| std::iter::once(row).chain(below)))
}

fn ratio(cell: &MatrixCell) -> String {
    cell.number().to_owned()
}

/// Steps down and candidates across, or the other way round where that makes fewer columns.
fn grid(matrix: &Matrix) -> Grid<'_> {
    if matrix.rows.len() < matrix.candidates.len() {
        releases_down(matrix)
    } else {
        steps_down(matrix, Facts::Shown)
    }
}

fn filled(grid: &Grid<'_>, text: &dyn Fn(&MatrixCell) -> String) -> Table {
    let column = |of: Of| match of {
        Of::Names => Kind::Name,
        Of::Values | Of::Ratios => Kind::Number,
    };
    let columns = grid.headers.iter().map(|header| Column::new(header.text.clone(), column(header.of)));
    Table::of(columns, grid.rows.iter().map(|row| row.iter().map(|cell| cell.in_table(text))))
}
