//! A report as one HTML file that opens without a network: style, script and data are in it.
//!
//! [`render`] lays a [`Document`] out; [`shell`] is the frame that the pages of `serve` share, [`block`] and [`tables`]
//! the pieces. Everything can be read without a script: the script sorts, filters, unfolds and draws timelines.

pub mod shell;
pub mod tables;

mod budget;
mod matrix;
mod navigation;
mod pack;
mod sparkline;
mod text;
mod timeline;

#[cfg(test)]
mod tests;

use crate::charts::svg;
use crate::document::{Block, Document, Figure, Level, Notice, Section, Sentence};
use crate::signs::Sign;
use budget::Packs;
use maud::{Markup, PreEscaped, html};

/// A document as one file. Where all points of its timelines would make it too large, neighbours become one, and
/// the captions say so.
pub fn render(document: &Document) -> String {
    let title = text::short(&document.title, text::MOST_OF_A_HEADING);
    let page = |packs: &Packs<'_>| shell::page(&title, body(document, packs));
    let rest_bytes = page(&Packs::left_out(document)).len();
    page(&Packs::beside(document, rest_bytes))
}

/// What stands between the document's head and its script.
fn body(document: &Document, packs: &Packs<'_>) -> Markup {
    // The overview comes before what the numbers mean; the rest is in the order of reading. In a report of several runs each overview stays with its run.
    let is_of_one = document.runs.len() <= 1;
    let overview = document.sections.iter().position(|section| is_of_one && has_matrix(section));
    let rest = document.sections.iter().enumerate().filter(|(index, _)| Some(*index) != overview);
    html! {
        a.skip href="#_content" { "Skip to the report" }
        div.columns {
            (navigation::navigation(document))
            main id="_content" tabindex="-1" {
                (head(document))
                @if let Some(overview) = overview { (unfolded(&document.sections[overview], packs)) }
                @if !document.intro.is_empty() {
                    section.preface aria-label="What the numbers mean" {
                        @for paragraph in &document.intro { p { (text::plain(paragraph)) } }
                    }
                }
                @for (_, section) in rest {
                    @match section.level {
                        Level::Shown => (unfolded(section, packs)),
                        Level::Folded | Level::Page => (folded(section, packs)),
                    }
                }
                @if let Some(command) = &document.command {
                    section.again {
                        h2 { "The same again" }
                        pre { code { (text::verbatim(command)) } }
                    }
                }
                footer { @for line in &document.footer { p { (text::plain(line)) } } }
            }
        }
    }
}

fn has_matrix(section: &Section) -> bool {
    section.blocks.iter().any(|block| matches!(block, Block::Matrix(_)))
}

/// What was compared, what was found, what to know before believing it.
fn head(document: &Document) -> Markup {
    html! {
        header.head {
            p.kind { (document.kind) @for run in &document.runs { " " code { (text::name(run)) } } }
            h1 { (text::heading(&document.title)) }
        }
        (listed(&document.found, MOST_FOUND, "verdicts", "What was found", sentence))
        (listed(&document.warnings, MOST_WARNINGS, "cautions", "Warnings", notice))
    }
}

/// Of several candidates each has a sentence; more than these would push the overview off the first screen.
const MOST_FOUND: usize = 10;
/// Warnings repeat from step to step; the first ones show of what kind they are.
const MOST_WARNINGS: usize = 5;

/// A list whose tail is folded away where it is long.
fn listed<T>(items: &[T], most: usize, class: &str, label: &str, item: fn(&T) -> Markup) -> Markup {
    let (first, more) = items.split_at(items.len().min(most));
    html! {
        @if !first.is_empty() {
            section class=(class) aria-label=(label) {
                ul { @for one in first { (item(one)) } }
                @if !more.is_empty() {
                    details {
                        summary { (more.len()) " more" }
                        ul { @for one in more { (item(one)) } }
                    }
                }
            }
        }
    }
}

fn sentence(sentence: &Sentence) -> Markup {
    let sign = sentence.verdict.and_then(|verdict| Sign::of(verdict, true));
    html! {
        li class=[sign.map(Sign::class)] {
            @if let Some(sign) = sign {
                strong.badge { span aria-hidden="true" { (sign.character()) } " " (sign.words()) } " "
            }
            (text::plain(&sentence.text))
        }
    }
}

fn notice(notice: &Notice) -> Markup {
    html! {
        li {
            strong { span aria-hidden="true" { "! " } (text::name(&notice.id)) }
            @if let Some(step) = &notice.step { " " (text::name(step)) }
            ": " (text::plain(&notice.text))
        }
    }
}

fn unfolded(section: &Section, packs: &Packs<'_>) -> Markup {
    html! {
        section.part id=(section.id) {
            h2 { (text::heading(&section.title)) }
            (content(section, packs))
        }
    }
}

/// The id stands within what is folded: a browser unfolds what a link leads into, without a script too.
fn folded(section: &Section, packs: &Packs<'_>) -> Markup {
    html! {
        details.part {
            summary { h2 { (text::heading(&section.title)) } }
            div.unfolded id=(section.id) { (content(section, packs)) }
        }
    }
}

fn content(section: &Section, packs: &Packs<'_>) -> Markup {
    html! { @for block in &section.blocks { (block_with(block, packs)) } }
}

/// A piece of content. A timeline keeps all of its points.
pub fn block(block: &Block) -> Markup {
    block_with(block, &Packs::none())
}

/// The same, with timelines as they were packed together.
fn block_with(block: &Block, packs: &Packs<'_>) -> Markup {
    match block {
        Block::Paragraph(paragraph) => html! { p { (text::plain(paragraph)) } },
        Block::Items(items) => html! { ul { @for item in items { li { (text::plain(item)) } } } },
        Block::Table(table) => tables::table(table),
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
