//! The matrix of relative rates: steps by candidates, coloured, sorted and filtered where it is read, with a small chart of
//! each step over releases.

use super::{sparkline, text};
use crate::document::{Matrix, MatrixCell, MatrixChange, MatrixRow};
use crate::render::matrix_grid::{BEYOND_LAYOUT, VISIBLE, base_header, visible};
use crate::signs::Sign;
use maud::{Markup, html};
use model::figures;

pub(super) fn matrix(matrix: &Matrix) -> Markup {
    html! {
        figure class=(if is_short(matrix) { "matrix many" } else { "matrix" }) {
            figcaption { (text::plain(&matrix.caption)) }
            (tools(matrix))
            div.scroll {
                table.sortable {
                    thead { tr {
                        th scope="col" { "step" }
                        th scope="col" { "group" }
                        @if sparkline::is_of(matrix) { th scope="col" { "over releases" } }
                        th scope="col" data-kind="number" { (base_header(matrix)) ", " (text::name(&matrix.base)) }
                        @for candidate in &matrix.candidates {
                            th scope="col" data-kind="number" { span.release { (text::name(candidate)) } }
                        }
                        @if matrix.has_visible_changes() {
                            th scope="col" data-kind="number" { (VISIBLE) }
                            th scope="col" data-kind="number" { (BEYOND_LAYOUT) }
                        }
                    } }
                    tbody { @for one in &matrix.rows { (matrix_row(one, matrix)) } }
                }
            }
            p.legend { (text::plain(&matrix.whole_legend(true))) " " (COLOURS) }
        }
    }
}

/// What no other format has to explain.
const COLOURS: &str = "Orange from 0.95 down, blue from 1.05 up, darker the further from 1; only cells whose verdict lets \
    a number be shown are coloured.";

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
            label { input.intervals type="checkbox" checked[matrix.intervals]; " intervals" }
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

fn matrix_row(row: &MatrixRow, matrix: &Matrix) -> Markup {
    let moved = row.cells.iter().flatten().any(|cell| cell.sign.is_some_and(Sign::is_directional));
    html! {
        tr data-group=(text::plain(&row.group)) data-moved[moved] {
            th scope="row" {
                @match &row.section {
                    Some(section) => a href={ "#" (section) } { (text::name(&row.step)) },
                    None => (text::name(&row.step)),
                }
            }
            td { (text::name(&row.group)) }
            @if sparkline::is_of(matrix) { td.course { (sparkline::sparkline(row)) } }
            td.base { (text::plain(&row.base_value)) }
            @for (index, one) in row.cells.iter().enumerate() {
                (matrix_cell(one.as_ref(), row.change_at(index), is_short(matrix)))
            }
            @if matrix.has_visible_changes() { @for change in visible(&row.visible) { td.base { (change) } } }
        }
    }
}

/// Numbers of more candidates than these are short, so that a screen holds them: the third digit is in what is shown where a
/// reader points.
const FEW_CANDIDATES: usize = 8;

fn is_short(matrix: &Matrix) -> bool {
    matrix.candidates.len() > FEW_CANDIDATES
}

fn matrix_cell(cell: Option<&MatrixCell>, change: Option<&MatrixChange>, is_short: bool) -> Markup {
    let class = [cell.map_or(Some("empty"), depth), change.map(class)];
    let class = class.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let title = title(cell, change);
    html! {
        td class=[Some(class).filter(|class| !class.is_empty())] data-value=[cell.and_then(|cell| cell.ratio)] title=[title] {
            @if let Some(change) = change { span.heard { (text::plain(&change.detail)) " " } }
            @match cell {
                Some(cell) => (measured(cell, is_short)),
                None => (figures::NONE),
            }
        }
    }
}

fn measured(cell: &MatrixCell, is_short: bool) -> Markup {
    let number = if is_short { cell.short_number() } else { cell.number().to_owned() };
    html! {
        @if let Some(sign) = cell.sign { (text::sign(sign)) @if !is_short { " " } }
        (text::plain(&number))
        span.heard { " " (cell.sign.map_or("no verdict", Sign::words)) }
        @if let Some(interval) = cell.interval() { small { (interval) } }
    }
}

/// A stroke on the side of the release before.
fn class(change: &MatrixChange) -> &'static str {
    if change.confirmed { "changed" } else { "perhaps" }
}

/// The ratio with its third digit, what is known of it, and the change.
fn title(cell: Option<&MatrixCell>, change: Option<&MatrixChange>) -> Option<String> {
    let of_cell = cell.map(|cell| {
        let parts = [cell.number(), &cell.detail].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    });
    let parts = [of_cell, change.map(|change| change.detail.clone())];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| text::plain(&parts.join(". ")))
}

/// How deep a cell is coloured: `s1` to `s4` where the candidate is slower, `f1` to `f4` where it is faster.
///
/// The steps of the faster side are the inverses of the slower ones, beyond the 5 % of Small Datum. What the verdict
/// calls no difference, or open, is not coloured: the reader would take noise for a finding.
fn depth(cell: &MatrixCell) -> Option<&'static str> {
    const SLOWER: [(f64, &str); 4] = [(0.6, "s4"), (0.8, "s3"), (0.9, "s2"), (0.95, "s1")];
    const FASTER: [(f64, &str); 4] = [(1.0 / 0.6, "f4"), (1.25, "f3"), (1.0 / 0.9, "f2"), (1.05, "f1")];
    let is_finding = cell.sign.is_none_or(Sign::is_directional);
    let ratio = cell.ratio.filter(|_| is_finding)?;
    let slower = SLOWER.iter().find(|(end, _)| ratio <= *end);
    slower.or_else(|| FASTER.iter().find(|(end, _)| ratio >= *end)).map(|(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::verdict::Verdict;

    fn of(text: &str, ratio: f64, verdict: Verdict) -> MatrixCell {
        MatrixCell {
            text: text.to_owned(),
            ratio: Some(ratio),
            low: Some(ratio - 0.01),
            high: None,
            sign: Sign::of(verdict, true),
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
        let markup = matrix_cell(Some(&of("0.90", 0.9, Verdict::Regression)), None, false).into_string();
        for part in [
            "class=\"s2\"",
            "data-value=\"0.9\"",
            "title=\"0.90, 14 launches\"",
            "0.90",
            "\u{25bc}",
            " slower",
            "[0.890, -]",
        ] {
            assert!(markup.contains(part), "no {part} in {markup}");
        }
        let open = matrix_cell(Some(&of("1.00", 1.0, Verdict::Inconclusive)), None, true).into_string();
        assert!(
            open.contains('?') && !open.contains("1.00"),
            "no number stands where it would be noise: {open}"
        );
    }
}
