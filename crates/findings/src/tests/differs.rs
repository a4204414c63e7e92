//! What differs besides the code.

use super::view_of;
use crate::differs::{Difference, DifferenceKind};
use model::block::BASE;
use model::build::Made;
use model::record::RunRecord;
use std::collections::BTreeMap;
use testing::compared::{EQUAL, record};
use testing::{NEW_DEFAULTS, OLD_DEFAULTS};

fn differing(record: &RunRecord) -> Vec<Difference> {
    view_of(record).subjects.remove(1).differs
}

fn kind_of(differs: &[Difference], what: &str) -> Option<DifferenceKind> {
    differs.iter().find(|one| one.what == what).map(|one| one.kind)
}

#[test]
fn a_changed_default_is_in_effect_unless_it_is_pinned() {
    let mut record = record(&EQUAL);
    let readahead = "compaction_readahead_size";
    assert_eq!(kind_of(&differing(&record), readahead), Some(DifferenceKind::DefaultInEffect));
    for subject in &mut record.plan.subjects {
        subject.options.insert(readahead.to_owned(), "0".to_owned());
    }
    assert_eq!(kind_of(&differing(&record), readahead), Some(DifferenceKind::DefaultPinned));
    // What the engines wrote down when they were opened counts for more than what was asked for.
    for side in [BASE, 1] {
        let defaults = if side == BASE { OLD_DEFAULTS } else { NEW_DEFAULTS };
        record.options_in_effect.insert(side, defaults.to_owned());
    }
    assert_eq!(kind_of(&differing(&record), readahead), Some(DifferenceKind::DefaultInEffect));
    assert_eq!(
        kind_of(&differing(&record), "compaction_verify_record_count"),
        Some(DifferenceKind::OptionOfOneRelease)
    );
}

#[test]
fn options_that_differ_for_another_reason_are_listed_too() {
    let mut record = record(&EQUAL);
    record.options_in_effect.insert(BASE, OLD_DEFAULTS.to_owned());
    let changed = OLD_DEFAULTS.replace("  block_size=4096", "  block_size=8192");
    record.options_in_effect.insert(1, changed);
    let differs = differing(&record);
    let block_size = "block_based_table_factory.block_size";
    assert_eq!(kind_of(&differs, block_size), Some(DifferenceKind::OptionInEffect));
    assert_eq!(kind_of(&differs, "compaction_readahead_size"), Some(DifferenceKind::DefaultPinned));
    assert_eq!(kind_of(&differs, "library sha256"), Some(DifferenceKind::Library));
    assert_eq!(kind_of(&differs, "version"), Some(DifferenceKind::Fact));
    assert_eq!(kind_of(&differs, "compiler"), None);
}

#[test]
fn what_builds_from_source_were_made_of_and_by_is_told_where_it_differs() {
    let mut record = record(&EQUAL);
    for (subject, lto) in record.plan.subjects.iter_mut().zip(["no", "yes"]) {
        subject.build.made = Some(Box::new(Made {
            is_commit: true,
            source: "/src".into(),
            id: "a".repeat(40),
            summary: "fix it".to_owned(),
            recipe: "make".to_owned(),
            settings: BTreeMap::from([("lto".to_owned(), lto.to_owned())]),
            compiler: Some("gcc 12.2.0".to_owned()),
            flags: Vec::new(),
            version: None,
            ignored: Vec::new(),
        }));
    }
    let differs = differing(&record);
    let recipe = differs.iter().find(|one| one.what == "recipe").unwrap();
    assert_eq!(recipe.candidate.as_deref(), Some("make by gcc 12.2.0: lto yes"));
    assert_eq!(kind_of(&differs, "sources"), None);
    record.plan.subjects[1].build.made.as_mut().unwrap().id = "b".repeat(40);
    assert_eq!(kind_of(&differing(&record), "sources"), Some(DifferenceKind::Library));
}

#[test]
fn options_that_cannot_be_read_are_said_to_be_unknown() {
    let mut record = record(&EQUAL);
    let truncated = include_str!("../../../formats/fixtures/rocksdb/8.5.4/truncated.txt");
    record.plan.subjects[1].build.probe.as_mut().unwrap().default_options = truncated.to_owned();
    let differs = differing(&record);
    let unknown = differs.iter().find(|one| one.kind == DifferenceKind::Unknown).unwrap();
    assert_eq!((unknown.what.as_str(), unknown.base.as_deref()), ("default options", None));
    assert!(unknown.candidate.as_ref().unwrap().contains("`write_buf`"), "{unknown:?}");
}

#[test]
fn a_planted_slowdown_is_on_top_of_what_differs() {
    let mut record = record(&EQUAL);
    record.plan.subjects[1].planted_slowdown_percent = 5.0;
    let first = differing(&record).remove(0);
    assert_eq!((first.kind, first.candidate.as_deref()), (DifferenceKind::Planted, Some("5 %")));
}
