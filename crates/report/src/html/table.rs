//! Tables of cells: the browser sorts them, and scrolls those that are wider than the page in a box of their own.

use super::shell::MOST_STYLED_COLUMNS;
use super::text;
use crate::document::Table;
use crate::grids::{Column, Grid, Kind};
use maud::{Markup, html};

/// A table with its caption.
pub fn table(table: &Table) -> Markup {
    html! {
        figure.table {
            @if !table.caption.is_empty() { figcaption { (text::plain(&table.caption)) } }
            div.scroll {
                table class={ "sortable " (kinds(&table.grid)) } {
                    thead { tr { @for column in &table.grid.columns { (header(column)) } } }
                    tbody { @for cells in &table.grid.rows { (row(cells, &table.grid)) } }
                }
            }
        }
    }
}

/// `n2 n3 p5`: numbers in the second and third column, prose in the fifth.
fn kinds(grid: &Grid) -> String {
    let letter = |kind| match kind {
        Kind::Number => Some('n'),
        Kind::Prose => Some('p'),
        Kind::Name | Kind::Word => None,
    };
    let columns = (1..).zip(&grid.columns).take(MOST_STYLED_COLUMNS);
    let classes = columns.filter_map(|(index, column)| Some(format!("{}{index}", letter(column.kind)?)));
    classes.collect::<Vec<String>>().join(" ")
}

/// The script sorts the column by value where its header says that it holds numbers.
fn header(column: &Column) -> Markup {
    html! { th scope="col" data-kind=[number(column.kind)] { (text::lines(&column.header)) } }
}

fn number(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Number => Some("number"),
        Kind::Name | Kind::Word | Kind::Prose => None,
    }
}

fn row(cells: &[String], grid: &Grid) -> Markup {
    html! {
        tr {
            @for (index, (cell, column)) in cells.iter().zip(&grid.columns).enumerate() {
                @let content = content(cell, column.kind);
                @if index == 0 { th scope="row" { (content) } } @else { td { (content) } }
            }
        }
    }
}

fn content(cell: &str, kind: Kind) -> Markup {
    match kind {
        // Only these are cut: prose is read whole, and numbers are short.
        Kind::Name => text::name(cell),
        Kind::Number | Kind::Word | Kind::Prose => text::coloured(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_column_decides_its_layout() {
        let mut grid = Grid::new(&[("step", Kind::Name), ("QPS\nbase", Kind::Number), ("why", Kind::Prose)]);
        grid.rows = vec![vec!["<read>".to_owned(), "1,234".to_owned(), "a & b".to_owned()]];
        let markup = table(&Table { caption: "rates".to_owned(), grid }).into_string();
        for part in [
            "<figcaption>rates</figcaption>",
            "class=\"sortable n2 p3\"",
            "<th scope=\"col\">step</th>",
            "<th scope=\"col\" data-kind=\"number\">QPS<br>base</th>",
            "<th scope=\"row\">&lt;read&gt;</th><td>1,234</td><td>a &amp; b</td>",
        ] {
            assert!(markup.contains(part), "no {part} in {markup}");
        }
    }
}
