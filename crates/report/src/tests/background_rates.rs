//! What the formats make of streams with a stated rate beside a step.

use super::samples::found;
use super::{plain, shown};
use crate::render::TextOptions;
use findings::Finding;
use model::block::BlockKind;
use model::counter::Counter;
use serde_json::Value;
use testing::rounds::record;
use testing::streams;

const READ: &str = "readrandom";

/// The third subject had four fifths of its rate.
fn finding() -> Finding {
    let mut record = record();
    streams::add(&mut record, READ, 1000.0, &[1.0, 1.0, 0.8]);
    for block in record.blocks.iter_mut().filter(|block| block.kind == BlockKind::Whole) {
        block.counters.insert(Counter::DirectoryBytes, (3 + block.trial.side as u64) << 29);
    }
    found(&record)
}

/// From a title to the next one of these.
fn between<'a>(text: &'a str, title: &str, next: &str) -> &'a str {
    let from = text.find(title).unwrap_or_else(|| panic!("no {title} in {text}"));
    let length = text[from..].find(next).unwrap_or_else(|| panic!("no {next} after {title}"));
    &text[from..from + length]
}

#[test]
fn three_tables_have_rates_relative_rates_and_what_was_kept_of_those_asked_for() {
    for width in [80, 120] {
        let text = shown(&finding(), "text", plain(width));
        let tables = between(&text, "Rates by subject", "What changed at which release");
        insta::assert_snapshot!(format!("rates_by_subject_at_{width}_columns"), tables);
    }
    let without = shown(&found(&record()), "text", plain(120));
    assert!(!without.contains("Rates by subject"), "{without}");
}

#[test]
fn a_number_that_does_not_count_is_faint_and_in_brackets() {
    let coloured = shown(&finding(), "text", TextOptions { colour: true, ..plain(120) });
    assert!(coloured.contains("\x1b[2m"), "{coloured}");
    let page = shown(&finding(), "html", plain(120));
    assert!(page.contains("<span class=\"faint\">("), "{page}");
    let markdown = shown(&finding(), "markdown", plain(120));
    assert!(markdown.contains("| ("), "{markdown}");
}

#[test]
fn metrics_lines_have_the_columns_of_the_posts() {
    let detailed = shown(&finding(), "text", TextOptions { detail: true, ..plain(200) });
    let lines = between(&detailed, "Metrics lines", "The columns of Small Datum's reports");
    insta::assert_snapshot!("metrics_lines", lines);
}

#[test]
fn json_has_the_rates_by_stream_and_subject() {
    let text = shown(&finding(), "json", plain(80));
    crate::schema_check::check("comparison", &text);
    let json: Value = serde_json::from_str(&text).unwrap();
    let of = &json["background_rates"][0];
    assert_eq!(
        (&of["step"], &of["stream"], &of["target"]),
        (&READ.into(), &"readrandom.inserts".into(), &1000.0.into())
    );
    let missed: Vec<&Value> =
        of["subjects"].as_array().unwrap().iter().filter(|one| one["missed"] == true).collect();
    assert_eq!(missed.len(), 1);
    assert_eq!(missed[0]["ops_per_s"], 800.0);
}
