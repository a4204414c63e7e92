//! A matrix of relative rates as rows of cells, steps or releases down: what its tables are made from in formats without
//! links and filters.

use crate::document::{Cell, Matrix, MatrixCell, MatrixChange, MatrixRow};
use findings::comparison::VisibleChange;
use model::figures::{NONE, or_none, percent};

/// Rows of as many cells as there are headers; the first cell of each names the row.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    pub headers: Vec<Header>,
    pub rows: Vec<Vec<GridCell<'a>>>,
}

/// The header of a column.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub text: String,
    pub of: Of,
}

/// What a column is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// Names of the rows.
    Names,
    /// Values that are no ratios: rates of the base, visible changes.
    Values,
    /// A candidate or a step.
    Ratios,
}

#[derive(Debug, Clone)]
pub(crate) enum GridCell<'a> {
    Text(String),
    Ratio {
        /// The change between this candidate and the release before.
        change: Option<&'a MatrixChange>,
        /// Absent where it was not measured.
        cell: Option<&'a MatrixCell>,
    },
}

/// Whether the base's rates and the visible changes stand in the grid too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Facts {
    Shown,
    LeftOut,
}

/// A change beyond this is told as no more than that: two rounds far apart bound nothing.
const LARGEST_VISIBLE: f64 = 10.0;

/// Header of the smallest change between these binaries.
pub(crate) const VISIBLE: &str = "visible change";
/// Header of the smallest change of the code.
pub(crate) const BEYOND_LAYOUT: &str = "beyond layout";

/// Both visible changes of a step, as tables show them.
pub(crate) fn visible(of: &VisibleChange) -> [String; 2] {
    [of.between_binaries, of.beyond_layout].map(|change| match change {
        Some(large) if large > LARGEST_VISIBLE => "above 1,000 %".to_owned(),
        change => or_none(change, percent),
    })
}

/// What the base's own values are called.
pub(crate) fn base_header(matrix: &Matrix) -> String {
    format!("base {}", matrix.base_metric).trim_end().to_owned()
}

/// Steps down, the base and its candidates across.
pub(crate) fn steps_down(matrix: &Matrix, facts: Facts) -> Grid<'_> {
    let values = |text: String| Header { text, of: Of::Values };
    let visible_headers = [VISIBLE, BEYOND_LAYOUT].map(|text| values(text.replacen(' ', "\n", 1)));
    let has_facts = facts == Facts::Shown;
    let has_visible = has_facts && matrix.has_visible_changes();
    let mut headers = vec![Header { text: "step".to_owned(), of: Of::Names }];
    headers.extend(has_facts.then(|| values(base_header(matrix))));
    headers.extend(matrix.candidates.iter().map(|name| Header { text: name.clone(), of: Of::Ratios }));
    headers.extend(has_visible.then_some(visible_headers).into_iter().flatten());
    let rows = matrix.rows.iter().map(|row| {
        let mut cells = vec![GridCell::Text(row.step.clone())];
        cells.extend(has_facts.then(|| GridCell::Text(row.base_value.clone())));
        cells.extend((0..matrix.candidates.len()).map(|index| ratio(row, index)));
        cells.extend(has_visible.then(|| visible(&row.visible).map(GridCell::Text)).into_iter().flatten());
        cells
    });
    Grid { headers, rows: rows.collect() }
}

/// The base and its candidates down, steps across.
pub(crate) fn releases_down(matrix: &Matrix) -> Grid<'_> {
    let mut headers = vec![Header { text: "release".to_owned(), of: Of::Names }];
    headers.extend(matrix.rows.iter().map(|row| Header { text: row.step.clone(), of: Of::Ratios }));
    let named = |name: String, values: Vec<String>| -> Vec<GridCell<'_>> {
        std::iter::once(name).chain(values).map(GridCell::Text).collect()
    };
    let base = matrix.rows.iter().map(|row| row.base_value.clone());
    let mut rows = vec![named(format!("{}, {}", base_header(matrix), matrix.base), base.collect())];
    rows.extend(matrix.candidates.iter().enumerate().map(|(index, name)| {
        let ratios = matrix.rows.iter().map(|row| ratio(row, index));
        std::iter::once(GridCell::Text(name.clone())).chain(ratios).collect()
    }));
    if matrix.has_visible_changes() {
        let all: Vec<[String; 2]> = matrix.rows.iter().map(|row| visible(&row.visible)).collect();
        let of = |at: usize| all.iter().map(|both| both[at].clone()).collect();
        rows.extend([named(VISIBLE.to_owned(), of(0)), named(BEYOND_LAYOUT.to_owned(), of(1))]);
    }
    Grid { headers, rows }
}

fn ratio(row: &MatrixRow, candidate: usize) -> GridCell<'_> {
    let cell = row.cells.get(candidate).and_then(Option::as_ref);
    GridCell::Ratio { change: row.change_at(candidate), cell }
}

impl GridCell<'_> {
    /// As a cell of a table, with this of what was measured.
    pub fn in_table(&self, text: &dyn Fn(&MatrixCell) -> String) -> Cell {
        match self {
            GridCell::Text(text) => Cell::from(text),
            GridCell::Ratio { change, cell } => {
                let cell = match cell {
                    Some(cell) => Cell::signed(cell.sign, text(cell)),
                    None => Cell::plain(NONE),
                };
                match change {
                    Some(change) => Cell::toned(format!("{} {}", change.mark(), cell.shown()), cell.tone),
                    None => cell,
                }
            }
        }
    }
}
