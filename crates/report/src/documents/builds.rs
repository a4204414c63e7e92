//! The builds that were measured, and their configurations as far as they differ.

use super::column;
use crate::document::{Block, Section, Table};
use crate::grids::{Grid, Kind};
use model::build::BuildSource;
use model::figures::{NONE, bytes};
use model::plan::{Plan, Subject};
use std::collections::BTreeSet;

/// Digits of a checksum that are enough to tell builds apart.
const SHORT_HASH: usize = 12;

/// Builds, options that differ, and the options of the base in full.
pub(crate) fn section(plan: &Plan, labels: &[String]) -> Section {
    let mut blocks = vec![Block::Table(Table { caption: String::new(), grid: builds(plan, labels) })];
    if let Some(grid) = differing_options(plan, labels) {
        blocks.push(Block::Table(Table {
            caption: "Options that are not the same for all subjects; - where one has none set.".to_owned(),
            grid,
        }));
    }
    if let Some(base) = plan.subjects.first().filter(|base| !base.options.is_empty()) {
        let lines: Vec<String> = base.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        blocks.push(Block::Paragraph(format!("Options that {} was given:", base.reference)));
        blocks.push(Block::Verbatim(lines.join("\n")));
    }
    Section { id: "builds".to_owned(), title: "Builds and configurations".to_owned(), folded: true, blocks }
}

fn builds(plan: &Plan, labels: &[String]) -> Grid {
    let mut grid = Grid::new(&[
        ("subject", Kind::Name),
        ("compiler", Kind::Prose),
        ("source", Kind::Prose),
        ("size", Kind::Number),
        ("SHA-256", Kind::Word),
    ]);
    let row = |(subject, label): (&Subject, &String)| {
        let build = &subject.build;
        let source = match &build.source {
            BuildSource::Published { coordinates } => coordinates.clone(),
            BuildSource::Own { path } => format!("own build, {}", path.display()),
            BuildSource::Elsewhere { server, .. } => format!("a server that is not ours, {server}"),
        };
        vec![
            label.clone(),
            if build.compilers.is_empty() { NONE.to_owned() } else { build.compilers.join("; ") },
            source,
            build.file_size().map_or_else(|| NONE.to_owned(), bytes),
            build.checksum().map_or_else(|| NONE.to_owned(), |sum| sum.chars().take(SHORT_HASH).collect()),
        ]
    };
    grid.rows = plan.subjects.iter().zip(labels).map(row).collect();
    grid
}

/// A row for each option that is not the same for all, a column for each subject; absent where there is none.
fn differing_options(plan: &Plan, labels: &[String]) -> Option<Grid> {
    let names: BTreeSet<&String> = plan.subjects.iter().flat_map(|subject| subject.options.keys()).collect();
    let values = |name: &String| -> Vec<Option<&String>> {
        plan.subjects.iter().map(|subject| subject.options.get(name)).collect()
    };
    let rows: Vec<Vec<String>> = names
        .into_iter()
        .map(|name| (name, values(name)))
        .filter(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1]))
        .map(|(name, values)| {
            let cells = values.into_iter().map(|value| value.map_or_else(|| NONE.to_owned(), Clone::clone));
            std::iter::once(name.clone()).chain(cells).collect()
        })
        .collect();
    let mut columns = vec![column("option", Kind::Name)];
    columns.extend(labels.iter().map(|label| column(label, Kind::Word)));
    (!rows.is_empty()).then_some(Grid { columns, rows })
}
