//! A document in which every text is one that nobody would choose.

use crate::document::{Block, Cell, Document, MatrixCell, Notice, Tone};

/// Puts `bad` in the place of every text, `title` in that of every heading.
pub(crate) fn fill(document: &mut Document, bad: &str, title: &str) {
    let bad = || bad.to_owned();
    document.title = title.to_owned();
    document.runs = vec![bad()];
    document.found[0].text = bad();
    document.intro = vec![bad()];
    document.warnings = vec![Notice { id: bad(), step: Some(bad()), text: bad() }];
    document.command = Some(bad());
    document.footer = vec![bad()];
    for section in &mut document.sections {
        section.title = title.to_owned();
        for block in &mut section.blocks {
            match block {
                Block::Paragraph(text) | Block::Verbatim(text) => *text = bad(),
                Block::Items(items) => *items = vec![bad()],
                Block::Table(table) => {
                    table.caption = bad();
                    table.columns.iter_mut().for_each(|column| column.header = bad());
                    table.rows[0] = vec![bad().into(), bad().into(), Cell::toned(bad(), Tone::Bad)];
                }
                Block::Matrix(matrix) => {
                    (matrix.caption, matrix.base, matrix.legend) = (bad(), bad(), bad());
                    matrix.candidates.iter_mut().for_each(|candidate| *candidate = bad());
                    for row in &mut matrix.rows {
                        (row.step, row.group, row.base_value) = (bad(), bad(), bad());
                        let of_cell = |cell: &mut MatrixCell| (cell.text, cell.detail) = (bad(), bad());
                        row.cells.iter_mut().flatten().for_each(of_cell);
                    }
                }
                Block::Figure(figure) => figure.caption = bad(),
                Block::Timeline(timeline) => {
                    timeline.caption = bad();
                    (timeline.metrics[0].name, timeline.metrics[0].unit) = (bad(), bad());
                    timeline.lines[0].subject = bad();
                }
            }
        }
    }
}
