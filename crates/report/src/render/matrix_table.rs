//! A matrix of relative rates as a table, for formats without links and filters.

use crate::document::{Cell, Column, Kind, Matrix, MatrixCell, Table};
use model::figures::{self, NONE};

/// With the interval of each ratio.
pub(crate) fn with_intervals(matrix: &Matrix) -> Table {
    table(matrix, &|cell| {
        let parts = [Some(cell.number().to_owned()).filter(|number| !number.is_empty()), interval(cell)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    })
}

fn interval(cell: &MatrixCell) -> Option<String> {
    let is_bounded = cell.low.is_some() || cell.high.is_some();
    is_bounded.then(|| figures::interval(cell.low, cell.high))
}

/// Signs and ratios with the interval of each below it, in a row of its own.
pub(crate) fn over_intervals(matrix: &Matrix) -> Table {
    let ratios = without_intervals(matrix);
    let intervals = table(matrix, &|cell| interval(cell).unwrap_or_default());
    let both = ratios.rows.into_iter().zip(intervals.rows).flat_map(|(ratios, intervals)| {
        let names = (ratios.first().cloned(), ratios.last().cloned());
        let below = intervals.into_iter().map(move |cell| {
            let is_name = [&names.0, &names.1].into_iter().flatten().any(|name| *name == cell);
            if is_name { Cell::plain("") } else { Cell { sign: None, ..cell } }
        });
        [ratios, below.collect()]
    });
    Table { rows: both.collect(), ..Table::of(ratios.columns, Vec::<Vec<Cell>>::new()) }
}

/// Signs and ratios alone.
pub(crate) fn without_intervals(matrix: &Matrix) -> Table {
    table(matrix, &|cell| cell.number().to_owned())
}

/// Steps down and candidates across, or the other way round where that makes fewer columns.
fn table(matrix: &Matrix, text: &dyn Fn(&MatrixCell) -> String) -> Table {
    let cell = |cell: &Option<MatrixCell>| match cell {
        Some(cell) => Cell::of(cell.verdict, cell.confirmed, text(cell)),
        None => Cell::plain(NONE),
    };
    let base = format!("base, {}", matrix.base);
    let number = |header: &String| Column::new(header.clone(), Kind::Number);
    if matrix.rows.len() < matrix.candidates.len() {
        let mut columns = vec![Column::new("candidate", Kind::Name)];
        columns.extend(matrix.rows.iter().map(|row| number(&row.step)));
        let of_candidate = |(index, name): (usize, &String)| {
            let cells = matrix.rows.iter().map(|row| row.cells.get(index).map_or_else(|| cell(&None), cell));
            std::iter::once(Cell::from(name)).chain(cells).collect::<Vec<_>>()
        };
        let mut table = Table::of(columns, matrix.candidates.iter().enumerate().map(of_candidate));
        let values = matrix.rows.iter().map(|row| Cell::from(&row.base_value));
        table.fill([std::iter::once(Cell::plain(base)).chain(values)]);
        return table;
    }
    let mut columns = vec![Column::new("step", Kind::Name)];
    columns.extend(matrix.candidates.iter().map(number));
    columns.push(Column::new(format!("base\n{}", matrix.base), Kind::Number));
    let rows = matrix.rows.iter().map(|row| {
        let step = std::iter::once(Cell::from(&row.step));
        step.chain(row.cells.iter().map(cell)).chain([Cell::from(&row.base_value)]).collect::<Vec<_>>()
    });
    Table::of(columns, rows)
}
