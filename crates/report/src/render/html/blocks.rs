//! Each kind of content as markup.

use super::budget::Packs;
use super::{matrix, table, text, timeline};
use crate::charts::svg;
use crate::document::{Block, Figure};
use maud::{Markup, PreEscaped, html};

/// A piece of content. A timeline keeps all of its points.
pub fn block(block: &Block) -> Markup {
    block_with(block, &Packs::none())
}

/// The same, with timelines as they were packed together.
pub(super) fn block_with(block: &Block, packs: &Packs<'_>) -> Markup {
    match block {
        Block::Paragraph(paragraph) => html! { p { (text::plain(paragraph)) } },
        Block::Items(items) => html! { ul { @for item in items { li { (text::plain(item)) } } } },
        Block::Table(table) => table::table(table),
        Block::Matrix(matrix) => matrix::matrix(matrix),
        Block::Figure(figure) => chart(figure),
        Block::Timeline(timeline) => timeline::timeline(timeline, packs),
        Block::Verbatim(verbatim) => html! { pre { code { (text::verbatim(verbatim)) } } },
    }
}

fn chart(figure: &Figure) -> Markup {
    html! {
        figure.drawing {
            figcaption { (text::plain(&figure.caption)) }
            div.scroll { (PreEscaped(svg::inline(&figure.chart))) }
        }
    }
}
