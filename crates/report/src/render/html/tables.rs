//! Tables of cells, which the browser sorts, and scrolls where they are wider than the page in a box of their own.

use super::shell::MOST_STYLED_COLUMNS;
use super::text;
use crate::document::{Cell, Column, Kind, Table, Tone};
use maud::{Markup, html};

/// A table with its caption.
pub fn table(table: &Table) -> Markup {
    html! {
        figure.table {
            @if !table.caption.is_empty() { figcaption { (text::plain(&table.caption)) } }
            div.scroll {
                table class={ "sortable " (kinds(table)) } {
                    thead { tr { @for column in &table.columns { (header(column)) } } }
                    tbody { @for cells in &table.rows { (row(cells, table)) } }
                }
            }
        }
    }
}

/// `n2 n3 p5`: numbers in the second and third column, prose in the fifth.
fn kinds(table: &Table) -> String {
    let letter = |kind| match kind {
        Kind::Number => Some('n'),
        Kind::Prose => Some('p'),
        Kind::Name | Kind::Word => None,
    };
    let columns = (1..).zip(&table.columns).take(MOST_STYLED_COLUMNS);
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

fn row(cells: &[Cell], table: &Table) -> Markup {
    html! {
        tr {
            @for (index, (cell, column)) in cells.iter().zip(&table.columns).enumerate() {
                @let content = content(cell, column.kind);
                @if index == 0 { th scope="row" { (content) } } @else { td { (content) } }
            }
        }
    }
}

fn content(cell: &Cell, kind: Kind) -> Markup {
    let text = match kind {
        // Only these are cut: prose is read whole, and numbers are short.
        Kind::Name => text::name(&cell.text),
        Kind::Number | Kind::Word | Kind::Prose => html! { (text::plain(&cell.text)) },
    };
    html! {
        @if let Some(sign) = cell.sign {
            (text::sign(sign)) span.heard { " " (sign.words()) } " "
        }
        @if let Some(class) = class(cell.tone) { span class=(class) { (text) } } @else { (text) }
    }
}

fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("good"),
        Tone::Bad => Some("bad"),
        Tone::Strong => Some("strong"),
        Tone::Faint => Some("faint"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::verdict::Verdict;

    #[test]
    fn the_kind_of_a_column_decides_its_layout() {
        let mut rates =
            Table::new(&[("step", Kind::Name), ("QPS\nbase", Kind::Number), ("why", Kind::Prose)]);
        rates.fill([["<read>", "1,234", "a & b"]]);
        let markup = table(&rates.captioned("rates")).into_string();
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

    #[test]
    fn tones_become_spans_and_nothing_in_a_cell_is_obeyed() {
        let bad = content(&Cell::toned("<b>\x1b[31m", Tone::Bad), Kind::Word).into_string();
        assert_eq!(bad, "<span class=\"bad\">&lt;b&gt;?[31m</span>");
        let signed = content(&Cell::of(Verdict::Improvement, false, "1.1"), Kind::Number).into_string();
        assert_eq!(
            signed,
            "<span class=\"sign faster\" aria-hidden=\"true\">△</span><span class=\"heard\"> faster, but significant alone or perhaps layout</span> <span class=\"good\">1.1</span>"
        );
    }
}
