//! Texts of documents made by hand.

use super::*;
use crate::document::{Cell, Column, Kind, Matrix, MatrixCell, MatrixRow, Table};
use crate::render::{markdown, post, step_summary};
use crate::signs::legend;
use crate::tests::hostile::fill;
use model::verdict::Verdict;

fn options(width: usize) -> TextOptions {
    TextOptions { width, colour: false, detail: false }
}

fn cell(verdict: Verdict, confirmed: bool, ratio: f64) -> MatrixCell {
    MatrixCell {
        text: format!("{ratio:.3}"),
        ratio: Some(ratio),
        low: Some(ratio - 0.011),
        high: Some(ratio + 0.011),
        sign: Sign::of(verdict, confirmed),
        detail: String::new(),
    }
}

/// As many steps and candidates, with every kind of verdict in turn.
fn matrix(steps: usize, candidates: usize) -> Matrix {
    let of = |number: usize| match number % 7 {
        0 => Some(cell(Verdict::Regression, true, 0.959)),
        1 => Some(cell(Verdict::NoChange, false, 1.002)),
        2 => Some(cell(Verdict::Improvement, false, 1.049)),
        3 => Some(cell(Verdict::Inconclusive, false, 0.985)),
        4 => Some(cell(Verdict::Suspect, false, 0.9)),
        5 => Some(cell(Verdict::RatioOnly, false, 0.97)),
        _ => None,
    };
    let names = ["fillseq", "readrandom", "overwriteandwait", "revrangewhilewriting", "multireadrandom"];
    let row = |step: usize| MatrixRow {
        step: format!("{}{}", names[step % names.len()], if step < names.len() { "" } else { "2" }),
        section: None,
        group: String::new(),
        base_value: "612,345".to_owned(),
        cells: (0..candidates).map(|candidate| of(step + candidate)).collect(),
        ..MatrixRow::default()
    };
    let mut matrix = Matrix {
        caption: "Relative QPS, candidate over rocksdb@8.0.0.".to_owned(),
        base: "rocksdb@8.0.0".to_owned(),
        candidates: (1..=candidates).map(|number| format!("rocksdb@8.{number}.3")).collect(),
        rows: (0..steps).map(row).collect(),
        intervals: candidates < 4,
        ..Matrix::default()
    };
    matrix.legend = legend(&matrix.signs(), 0.02);
    matrix
}

fn document(blocks: Vec<Block>) -> Document {
    let mut rates =
        Table::new(&[("step", Kind::Name), ("QPS", Kind::Number), ("moved as well", Kind::Prose)]);
    rates.fill([[
        Cell::plain("readrandom"),
        Cell::of(Verdict::Regression, true, "0.959"),
        Cell::plain("minor faults 1.24, voluntary switches 0.72, involuntary switches 3.1, read calls 1.1"),
    ]]);
    Document {
        title: "rocksdb@8.1.3 against rocksdb@8.0.0".to_owned(),
        kind: "comparison",
        runs: vec!["r1".to_owned()],
        found: vec![Sentence {
            verdict: Some(Verdict::Regression),
            text: "rocksdb@8.1.3 is slower than rocksdb@8.0.0 on readrandom.".to_owned(),
        }],
        intro: vec!["Workload quick tells the CPU cost of single operations.".to_owned()],
        warnings: vec![Notice { id: "busy-host".to_owned(), step: Some("fillseq".to_owned()), text: "load 3".to_owned() }],
        sections: vec![
            Section::new("overview", "Overview", blocks),
            Section::new("step", "readrandom", vec![Block::Table(rates.captioned("Rates by side."))])
                .at(Level::Folded),
            Section::new("host", "The host", vec![Block::Paragraph("nobody reads this".to_owned())])
                .at(Level::Page),
        ],
        command: Some(
            "dbdyno compare rocksdb@8.0.0 rocksdb@8.1.3 --workload quick --only readrandom --config 'a b=c  d' --seed 7"
                .to_owned(),
        ),
        footer: vec!["Host bench-1: 8 CPUs.".to_owned()],
    }
}

#[test]
fn a_document_at_80_columns_in_detail() {
    let text = render(
        &document(vec![Block::Matrix(matrix(5, 2)), Block::Items(vec!["a note".to_owned()])]),
        TextOptions { detail: true, ..options(80) },
    );
    insta::assert_snapshot!(text);
}

#[test]
fn a_matrix_without_room_for_intervals_at_80_columns() {
    insta::assert_snapshot!(render(&document(vec![Block::Matrix(matrix(5, 4))]), options(80)));
}

#[test]
fn many_candidates_stand_below_each_other() {
    insta::assert_snapshot!(render(&document(vec![Block::Matrix(matrix(5, 12))]), options(80)));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (steps, candidates) in [(1, 1), (5, 2), (5, 9), (10, 10), (3, 30), (10, 40)] {
        let document = document(vec![Block::Matrix(matrix(steps, candidates))]);
        for width in [80, 100, 120, 160] {
            let text = render(&document, TextOptions { detail: true, ..options(width) });
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colour_only_repeats_what_signs_and_words_say() {
    let document = document(vec![Block::Matrix(matrix(5, 2))]);
    let plain = render(&document, TextOptions { detail: true, ..options(100) });
    let coloured = render(&document, TextOptions { detail: true, colour: true, width: 100 });
    assert!(coloured.contains("\x1b[31m\u{25bc} 0.959 [0.948, 0.970]\x1b[0m"), "{coloured}");
    assert!(coloured.contains("\x1b[32m\u{25b3} 1.049 [1.038, 1.060]\x1b[0m"), "{coloured}");
    let sequences = ["\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"];
    assert_eq!(sequences.iter().fold(coloured, |text, sequence| text.replace(sequence, "")), plain);
}

#[test]
fn what_a_column_can_be_left_out_for_is_tried_first() {
    let mut wide = Table::of(
        [
            Column::new("step", Kind::Name),
            Column::new("x".repeat(40), Kind::Number).optional(),
            Column::new("y".repeat(40), Kind::Number),
        ],
        [["readrandom", "1", "2"]],
    );
    let terminal = Terminal { width: 80, colour: false };
    let text = tables(&wide, terminal);
    assert!(text.contains('y') && !text.contains('x'), "{text}");
    assert!(tables(&wide, Terminal { width: 120, colour: false }).contains('x'));
    wide.columns[1].optional = false;
    let text = tables(&wide, terminal);
    assert_eq!(
        text.lines().count(),
        7,
        "headers are broken at nine characters before a table is cut: {text}"
    );
}

#[test]
fn a_command_stays_one_for_a_shell() {
    let shown = command("dbdyno compare aaaa bbbb --config 'one two' --seed 7", 30);
    assert_eq!(shown, "  dbdyno compare aaaa bbbb \\\n    --config 'one two' \\\n    --seed 7");
    assert_eq!(command("a\x1b[2J b", 30), "  a?[2J b");
}

#[test]
fn a_hostile_text_stays_text_in_every_layout() {
    let bad = "a|b</details><script>alert(1)</script>\n`c` [x](y) \u{1b}[2J";
    let mut hostile = document(vec![
        Block::Matrix(matrix(2, 2)),
        Block::Paragraph(bad.to_owned()),
        Block::Items(vec![bad.to_owned()]),
        Block::Verbatim(bad.to_owned()),
    ]);
    fill(&mut hostile, bad, bad);
    let text = render(&hostile, TextOptions { detail: true, ..options(120) });
    assert!(!text.contains('\u{1b}'), "{text}");
    let summary = step_summary::render(&hostile, step_summary::MOST_BYTES);
    for markdown in [markdown::render(&hostile), post::render(&hostile, &[]), summary] {
        assert!(!markdown.contains('\u{1b}'), "{markdown}");
        // What stands in a fence is shown as it is.
        let outside: String = markdown.split("````").step_by(2).collect();
        let outside: String = outside.split("```").step_by(2).collect();
        assert!(!outside.contains("<script"), "{outside}");
        // GitHub reads no Markdown on the line of a tag.
        let mut lines = outside.lines().filter(|line| !line.starts_with("<details><summary>"));
        assert!(lines.all(|line| !line.contains(" [x](")), "{outside}");
        assert_eq!(outside.matches("<details>").count(), outside.matches("</details>").count(), "{outside}");
    }
}
