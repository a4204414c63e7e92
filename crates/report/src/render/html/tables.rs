//! Tables of cells, which the browser sorts, and scrolls where they are wider than the page in a box of their own; and the
//! matrix of relative rates, steps by candidates: coloured, sorted and filtered where it is read.

use super::shell::MOST_STYLED_COLUMNS;
use super::text;
use crate::document::{Cell, Column, Kind, Matrix, MatrixCell, MatrixRow, Table, Tone};
use crate::signs::Sign;
use maud::{Markup, html};
use model::figures;
use model::verdict::Verdict;

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
    }
}

pub(super) fn matrix(matrix: &Matrix) -> Markup {
    html! {
        figure.matrix {
            figcaption { (text::plain(&matrix.caption)) }
            (tools(matrix))
            div.scroll {
                table.sortable {
                    thead { tr {
                        th scope="col" { "step" }
                        th scope="col" { "group" }
                        @for candidate in &matrix.candidates {
                            th scope="col" data-kind="number" { (text::name(candidate)) }
                        }
                        th scope="col" data-kind="number" { "base, " (text::name(&matrix.base)) }
                    } }
                    tbody { @for one in &matrix.rows { (matrix_row(one)) } }
                }
            }
            p.legend { (text::plain(&matrix.legend)) " " (COLOURS) }
        }
    }
}

/// What no other format has to explain.
const COLOURS: &str = "Coloured from 0.95 down (orange) and from 1.05 up (blue), deeper the further, where a verdict \
    leaves a number.";

/// Shown only where a script runs: without one nothing would happen.
fn tools(matrix: &Matrix) -> Markup {
    html! {
        div.tools {
            label { "Filter " input.filter type="search" autocomplete="off" spellcheck="false" placeholder="step"; }
            label {
                "Group "
                select.group {
                    option value="" { "all" }
                    @for group in groups(matrix) { option value=(text::plain(group)) { (text::short(group, MOST_OF_AN_OPTION)) } }
                }
            }
            label { input.moved type="checkbox"; " only what moved" }
            output.count aria-live="polite" { (count(matrix.rows.len())) }
        }
    }
}

/// Characters of a choice: a list of choices is as wide as its widest.
const MOST_OF_AN_OPTION: usize = 40;

fn count(rows: usize) -> String {
    format!("{rows} of {rows} steps")
}

/// In the order in which they first appear.
fn groups(matrix: &Matrix) -> Vec<&str> {
    let mut groups: Vec<&str> = Vec::new();
    for row in &matrix.rows {
        if !groups.contains(&row.group.as_str()) {
            groups.push(&row.group);
        }
    }
    groups
}

fn matrix_row(row: &MatrixRow) -> Markup {
    let moved = row.cells.iter().flatten().any(|cell| cell.verdict.is_directional());
    html! {
        tr data-group=(text::plain(&row.group)) data-moved[moved] {
            th scope="row" {
                @match &row.section {
                    Some(section) => a href={ "#" (section) } { (text::name(&row.step)) },
                    None => (text::name(&row.step)),
                }
            }
            td { (text::name(&row.group)) }
            @for one in &row.cells {
                @match one {
                    Some(one) => (matrix_cell(one)),
                    None => td.empty { (figures::NONE) },
                }
            }
            td.base { (text::plain(&row.base_value)) }
        }
    }
}

fn matrix_cell(cell: &MatrixCell) -> Markup {
    let bounded = cell.low.is_some() || cell.high.is_some();
    let words = cell.sign().map_or("no verdict", Sign::words);
    html! {
        td class=[depth(cell)] data-value=[cell.ratio] title=[title(cell)] {
            @if let Some(sign) = cell.sign() { (text::sign(sign)) " " }
            (text::plain(cell.number()))
            span.heard { " " (words) }
            @if bounded { small { (figures::interval(cell.low, cell.high)) } }
        }
    }
}

fn title(cell: &MatrixCell) -> Option<String> {
    (!cell.detail.is_empty()).then(|| text::plain(&cell.detail))
}

/// How deep a cell is coloured: `s1` to `s4` where the candidate is slower, `f1` to `f4` where it is faster.
///
/// The steps of the faster side are the inverses of the slower ones, beyond the 5 % of the posts. What the verdict
/// calls no difference, or open, is not coloured: the reader would take noise for a finding.
fn depth(cell: &MatrixCell) -> Option<&'static str> {
    const SLOWER: [(f64, &str); 4] = [(0.6, "s4"), (0.8, "s3"), (0.9, "s2"), (0.95, "s1")];
    const FASTER: [(f64, &str); 4] = [(1.0 / 0.6, "f4"), (1.25, "f3"), (1.0 / 0.9, "f2"), (1.05, "f1")];
    let tells = match cell.verdict {
        Verdict::Regression | Verdict::Improvement | Verdict::Suspect | Verdict::RatioOnly => true,
        Verdict::NoChange | Verdict::Inconclusive => false,
    };
    let ratio = cell.ratio.filter(|_| tells)?;
    let slower = SLOWER.iter().find(|(end, _)| ratio <= *end);
    slower.or_else(|| FASTER.iter().find(|(end, _)| ratio >= *end)).map(|(_, class)| *class)
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
            "<span class=\"sign faster\" aria-hidden=\"true\">△</span><span class=\"heard\"> faster, by itself \
             only or perhaps layout</span> <span class=\"good\">1.1</span>"
        );
    }

    fn of(text: &str, ratio: f64, verdict: Verdict) -> MatrixCell {
        MatrixCell {
            text: text.to_owned(),
            ratio: Some(ratio),
            low: Some(ratio - 0.01),
            high: None,
            verdict,
            confirmed: true,
            detail: "14 launches".to_owned(),
        }
    }

    #[test]
    fn cells_are_coloured_from_5_percent_on_and_deeper_the_further() {
        let check = |ratio: f64, expected: Option<&str>| {
            let verdict = if ratio < 1.0 { Verdict::Regression } else { Verdict::Improvement };
            assert_eq!(depth(&of("x", ratio, verdict)), expected, "{ratio}");
        };
        check(0.951, None);
        check(0.95, Some("s1"));
        check(0.9, Some("s2"));
        check(0.79, Some("s3"));
        check(0.05, Some("s4"));
        check(1.049, None);
        check(1.05, Some("f1"));
        check(1.12, Some("f2"));
        check(1.25, Some("f3"));
        check(60.0, Some("f4"));
    }

    #[test]
    fn what_is_open_is_not_coloured() {
        assert_eq!(depth(&of("~", 0.5, Verdict::Inconclusive)), None);
        assert_eq!(depth(&of("~", 0.94, Verdict::NoChange)), None);
        assert_eq!(depth(&of("0.50", 0.5, Verdict::RatioOnly)), Some("s4"));
    }

    #[test]
    fn a_cell_says_in_words_and_numbers_what_its_colour_says() {
        let markup = matrix_cell(&of("0.90", 0.9, Verdict::Regression)).into_string();
        for part in [
            "class=\"s2\"",
            "data-value=\"0.9\"",
            "title=\"14 launches\"",
            "0.90",
            "\u{25bc}",
            " slower",
            "[0.890, -]",
        ] {
            assert!(markup.contains(part), "no {part} in {markup}");
        }
        let open = matrix_cell(&of("1.00", 1.0, Verdict::Inconclusive)).into_string();
        assert!(
            open.contains('?') && !open.contains("1.00"),
            "no number stands where it would be noise: {open}"
        );
    }
}
