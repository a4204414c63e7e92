//! Tables that are too wide for a terminal: cut into several, each with the first column again.

use crate::grids::{Column, Grid, Kind};
use crate::text::{GAP, natural_width, table};

/// The longest label of a row that is not shortened to make room.
const LONGEST_LABEL: usize = 24;

/// A grid as one table, or as several that repeat its first column, where it is too wide for one.
pub(crate) fn tables(grid: Grid, width: usize) -> Vec<String> {
    split(grid, width).iter().map(|part| table(part, width)).collect()
}

/// Whether it fits as one.
pub(crate) fn fits(grid: &Grid, width: usize) -> bool {
    let others: usize = (1..grid.columns.len()).map(|index| natural_width(grid, index) + GAP).sum();
    label_width(grid) + others <= width
}

/// Labels are shortened before a table is split for them.
fn label_width(grid: &Grid) -> usize {
    natural_width(grid, 0).min(LONGEST_LABEL)
}

fn split(grid: Grid, width: usize) -> Vec<Grid> {
    if fits(&grid, width) {
        return vec![grid];
    }
    let available = width.saturating_sub(label_width(&grid));
    let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut taken = 0;
    for index in 1..grid.columns.len() {
        let needed = natural_width(&grid, index) + GAP;
        if taken + needed > available && taken > 0 {
            parts.push(Vec::new());
            taken = 0;
        }
        taken += needed;
        if let Some(part) = parts.last_mut() {
            part.push(index);
        }
    }
    parts.iter().map(|part| with_columns(&grid, part)).collect()
}

fn with_columns(grid: &Grid, columns: &[usize]) -> Grid {
    let kept = || std::iter::once(0).chain(columns.iter().copied());
    let column = |index: usize| Column {
        header: grid.columns[index].header.clone(),
        kind: if index == 0 { Kind::Name } else { grid.columns[index].kind },
    };
    Grid {
        columns: kept().map(column).collect(),
        rows: grid.rows.iter().map(|row| kept().map(|index| row[index].clone()).collect()).collect(),
    }
}
