//! The list of sections: those of steps by their group, as the overview has them.

use super::text;
use crate::document::{Block, Document, MatrixRow, Section};
use crate::signs::Sign;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Lists longer than this can be filtered.
const MOST_WITHOUT_FILTER: usize = 12;

pub(super) fn navigation(document: &Document) -> Markup {
    let rows = rows(document);
    html! {
        nav.sections aria-label="Sections" {
            details {
                summary { "Sections" }
                div.tools {
                    @if document.sections.len() > MOST_WITHOUT_FILTER {
                        input.filter type="search" autocomplete="off" spellcheck="false" placeholder="filter"
                            aria-label="Filter sections";
                    }
                    button.unfold type="button" { "Unfold all" }
                }
                @for (group, sections) in grouped(document, &rows) {
                    @if let Some(group) = group { p.group { (text::name(group)) } }
                    ul { @for section in sections { (entry(section, rows.get(section.id.as_str()).copied())) } }
                }
            }
        }
    }
}

/// By the sections that they lead to.
fn rows<'a>(document: &'a Document) -> BTreeMap<&'a str, &'a MatrixRow> {
    let matrix = |block: &'a Block| if let Block::Matrix(matrix) = block { Some(matrix) } else { None };
    let mut rows = BTreeMap::new();
    for row in document.blocks().filter_map(matrix).flat_map(|matrix| &matrix.rows) {
        if let Some(section) = &row.section {
            rows.entry(section.as_str()).or_insert(row);
        }
    }
    rows
}

type Groups<'a> = Vec<(Option<&'a str>, Vec<&'a Section>)>;

/// Each group where its first section stands; neighbours without a group share a list.
fn grouped<'a>(document: &'a Document, rows: &BTreeMap<&str, &'a MatrixRow>) -> Groups<'a> {
    let mut groups: Groups<'a> = Vec::new();
    for section in &document.sections {
        let group = rows.get(section.id.as_str()).map(|row| row.group.as_str());
        let place = match group {
            Some(_) => groups.iter().position(|(known, _)| *known == group),
            None => groups.len().checked_sub(1).filter(|last| groups[*last].0.is_none()),
        };
        match place {
            Some(place) => groups[place].1.push(section),
            None => groups.push((group, vec![section])),
        }
    }
    groups
}

fn entry(section: &Section, row: Option<&MatrixRow>) -> Markup {
    let cells = row.into_iter().flat_map(|row| row.cells.iter().flatten());
    let moved = cells.filter_map(|cell| cell.sign).filter(|sign| sign.is_directional());
    let shown: BTreeSet<Sign> = moved.collect();
    html! {
        li {
            a href={ "#" (section.id) } { (text::name(&section.title)) }
            @for sign in shown {
                " " span class={ "sign " (sign.class()) } title=(sign.words()) { (sign.character()) }
            }
        }
    }
}
