//! Campaigns made of records: what is found in them, and how it reads.

mod records;

use super::build;
use super::{csv, json, markdown, text, tsv};
use crate::text::TextOptions;
use records::record;

fn plain(width: usize) -> TextOptions {
    TextOptions { width, colour: false }
}

#[test]
fn text_at_80_columns() {
    insta::assert_snapshot!(text(&build(&record()), plain(80), false));
}

#[test]
fn text_at_120_columns() {
    insta::assert_snapshot!(text(&build(&record()), plain(120), false));
}

#[test]
fn text_in_detail_at_120_columns() {
    insta::assert_snapshot!(text(&build(&record()), plain(120), true));
}

#[test]
fn markdown_of_a_campaign() {
    insta::assert_snapshot!(markdown(&build(&record())));
}

#[test]
fn json_of_a_campaign() {
    insta::assert_snapshot!(json(&build(&record())).unwrap());
}

#[test]
fn tsv_of_a_campaign() {
    insta::assert_snapshot!(tsv(&build(&record())));
}

#[test]
fn csv_quotes_what_holds_a_comma() {
    let mut view = build(&record());
    view.steps[1].name = "read,\"random\"".to_owned();
    insta::assert_snapshot!(csv(&view).lines().skip(8).take(3).collect::<Vec<_>>().join("\n"));
}
