//! Histories of published tables in every form; what is found in them is tested in `findings`.

use super::*;
use crate::tests::{assert_no_line_is_wider, plain, shown};
use findings::Finding;
use findings::history::{HistoryView, Question, build, of_values};
use formats::import::{Source, of_table};
use formats::table::{Choices, parse};
use serde_json::Value;

const IOSTAT: &str = include_str!("../../../formats/fixtures/tables/rocksdb-2024-iostat.tsv");
const QPS: &str = include_str!("../../../formats/fixtures/tables/rocksdb-2021-qps.tsv");
const GAPS: &str = "version,rate\n8.9,5\n8.10,0\n8.11,-3\n8.12,NA\n9.0,5\n9.1,5\n9.2,5.1\n";

fn history(file: &str, text: &str) -> HistoryView {
    let choices = Choices { metric: Some("ops_per_s".to_owned()), ..Choices::default() };
    let source = Source { file: 0, subject: file.trim_end_matches(".tsv") };
    let values = of_table(&parse(text, &choices).unwrap(), source);
    let (observed, origin) = of_values(&testing::import("table", &[(file, text)], values));
    build(&observed, origin, &Question { alpha: 0.01, least_change: 0.01, layout_noise: 0.005 })
}

pub(crate) fn iostat() -> HistoryView {
    history("iostat.tsv", IOSTAT)
}

fn rendered(view: &HistoryView, width: usize) -> String {
    let text = shown(&Finding::History(view.clone()), "text", plain(width));
    assert_no_line_is_wider(&text, width);
    text
}

#[test]
fn histories_in_every_text() {
    insta::assert_snapshot!("iostat_at_120_columns", rendered(&iostat(), 120));
    insta::assert_snapshot!("iostat_at_80_columns", rendered(&iostat(), 80));
    let rates = history("qps.tsv", QPS);
    insta::assert_snapshot!("rates_at_120_columns", rendered(&rates, 120));
    insta::assert_snapshot!("rates_in_markdown", shown(&Finding::History(rates), "markdown", plain(80)));
    let gaps = rendered(&history("t.csv", GAPS), 80);
    assert!(gaps.contains("gaps in t.csv rate: 8.10: 0 (line 3)"), "{gaps}");
}

#[test]
fn json_keeps_the_contract() {
    let view = iostat();
    let text = crate::json(&Finding::History(view)).unwrap();
    crate::schema_check::check("history", &text);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], 1);
    let one = document["series"].as_array().unwrap().iter().find(|one| one["metric"] == "rareqsz").unwrap();
    assert_eq!(one["versions"].as_array().unwrap().len(), 16);
    let change = &one["change_points"][0];
    assert_eq!((change["version"].as_str(), change["kind"].as_str()), (Some("8.6"), Some("candidate")));
    for key in ["ratio", "low", "high", "location", "same_as"] {
        assert!(change.get(key).is_some(), "{key}");
    }
    assert!(one["remeasure"].as_array().unwrap().iter().any(|name| name == "8.5"));
    assert_eq!(document["warnings"][0], "single-runs");
}

#[test]
fn a_table_has_a_line_for_each_series_and_release() {
    let text = shown(&Finding::History(iostat()), "tsv", plain(80));
    assert_eq!(text.lines().count(), 1 + 11 * 16);
    let changed =
        text.lines().find(|line| line.starts_with("iostat\t\trareqsz\t\t8.6\t4.3\tcandidate\t0.04"));
    assert!(changed.is_some(), "{text}");
}

#[test]
fn many_changes_are_counted_where_they_are_summed_up() {
    let mut view = iostat();
    view.events = vec![view.events[0].clone(); 12];
    let found = document(&view).found;
    assert_eq!(found.len(), 10);
    assert_eq!(found[9].text, "And 4 more, below.");
}
