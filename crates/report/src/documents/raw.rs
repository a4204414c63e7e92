//! What the store keeps verbatim of a run, and how to read it.

use crate::document::{Block, Level, Section};
use model::figures::count;
use model::record::RunRecord;
use std::collections::BTreeMap;

/// At most this many names stand in a report; `--raw list` has all.
const MOST_NAMES: usize = 200;

/// The section; absent where nothing was kept.
pub(crate) fn section(record: &RunRecord) -> Option<Section> {
    let mut texts: BTreeMap<&str, u64> = BTreeMap::new();
    for one in &record.raw_outputs {
        *texts.entry(&one.name).or_default() += 1;
    }
    let first = record.raw_outputs.first()?;
    let id = &record.id;
    let mut names: Vec<String> = texts
        .iter()
        .take(MOST_NAMES)
        .map(|(name, number)| format!("{name}: {}", count(*number, "text", "texts")))
        .collect();
    names.extend((texts.len() > MOST_NAMES).then(|| format!("and {} more", texts.len() - MOST_NAMES)));
    let blocks = vec![
        Block::Paragraph(
            "Everything that engines and workers wrote is kept as they wrote it, by launch, side and name:"
                .to_owned(),
        ),
        Block::Verbatim(format!(
            "dbdyno report {id} --raw list\ndbdyno report {id} --raw {}/{}/{}",
            first.launch, first.side, first.name
        )),
        Block::Items(names),
    ];
    Some(Section::new("raw-output", "Raw output", blocks).at(Level::Page))
}
