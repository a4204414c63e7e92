//! What the formats make of rounds.

use super::samples::{finding, found};
use super::{assert_in_order, assert_no_line_is_wider, csv_rows, of, parsed, plain, shown, text, uncoloured};
use crate::comparison::cautions;
use crate::render::separated::number;
use crate::render::{Format, Options, Output, TextOptions, render};
use findings::Comparison;
use findings::comparison::{Stall, StepView};
use findings::judge::Evidence;
use findings::selection::Selection;
use model::block::TrialKey;
use model::event::Moment;
use model::plan::Design;
use model::record::{EngineTextRecord, RunRecord};
use model::wire::EngineText;
use serde_json::Value;
use std::collections::BTreeMap;
use testing::rounds::{STEPS, record, single_round, with_equal_rates, with_loss_by_code, with_steady_loss};

const TICKERS: &str = include_str!("../../../formats/fixtures/rocksdb/8.1.1.tickers.txt");

fn view(record: &RunRecord) -> Comparison {
    Comparison::of(record, &Evidence::default())
}

fn detailed(width: usize) -> TextOptions {
    TextOptions { detail: true, ..plain(width) }
}

#[test]
fn rounds_in_every_text() {
    let found = found(&record());
    for width in [80, 120] {
        insta::assert_snapshot!(format!("text_at_{width}_columns"), shown(&found, "text", plain(width)));
    }
    insta::assert_snapshot!("text_in_detail_at_120_columns", shown(&found, "text", detailed(120)));
    insta::assert_snapshot!("tsv_of_rounds", shown(&found, "tsv", plain(80)));
    insta::assert_snapshot!("post_of_rounds", shown(&found, "post", plain(80)));
    let summary = shown(&found, "step-summary", plain(80));
    insta::assert_snapshot!("step_summary_of_rounds", summary.split("<details>").next().unwrap());
    crate::schema_check::check("comparison", &shown(&found, "json", plain(80)));
}

/// One step, two subjects, one round: the whole of it would be thousands of lines of the same form.
#[test]
fn a_part_of_rounds_in_long_formats() {
    let mut short = view(&record());
    short.steps.retain(|step| step.name == "overwriteandwait");
    let step = &mut short.steps[0];
    step.rows.retain(|row| [0, 5].contains(&row.side));
    step.rows.iter_mut().for_each(|row| row.rounds.truncate(1));
    step.cases.retain(|case| case.side == 5);
    step.cases[0].metrics.truncate(2);
    step.shapes.truncate(2);
    insta::assert_snapshot!("json_of_rounds", of(&short, "json"));
    let part = |steps: &[&str], subjects: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let selection = Selection { steps: owned(steps), subjects: owned(subjects) };
        selection.of(record()).unwrap().of_comparison(view(&record()))
    };
    let one = part(&["overwriteandwait"], &["rocksdb@8.6.7+defaults"]);
    insta::assert_snapshot!("markdown_of_rounds", of(&one, "markdown"));
    let few = part(&[], &["rocksdb@8.5.4+defaults", "rocksdb@8.6.7"]);
    insta::assert_snapshot!("benchstat_of_rounds", of(&few, "benchstat"));
}

#[test]
fn csv_quotes_what_holds_a_comma() {
    let mut view = view(&record());
    view.steps[1].name = "read,\"random\"".to_owned();
    insta::assert_snapshot!(of(&view, "csv").lines().skip(8).take(3).collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_failed_or_was_disturbed_or_left_out_is_listed() {
    let view = view(&record());
    let text = text(&view, 200);
    for part in [
        "failed: readrandom of rocksdb@8.5.4+defaults in round 2",
        "not measured: rocksdb@8.2.1: no library of it was published",
        "; 1 of those done excluded from all statistics",
        "excluded: readrandom of 8.6.7 in round 3: others had 50.0 % of the host's CPU time: other processes 37.5 %, other guests of the \
         hypervisor 12.5 %",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let excluded = |view: &Comparison| {
        let excluded = "excluded: readrandom of 8.6.7 in round 3: ";
        cautions(view).iter().find_map(|one| one.strip_prefix(excluded).map(str::to_owned)).unwrap()
    };
    assert!(excluded(&view).starts_with("others had"));
    // A store of a version that did not count the guests apart.
    let mut of_earlier_version = view;
    of_earlier_version.disturbed[0].stolen_percent = None;
    assert_eq!(
        excluded(&of_earlier_version),
        "other processes or other guests of the hypervisor had 50.0 % of the host's CPU time"
    );
}

#[test]
fn a_read_size_that_collapses_is_in_words() {
    let text = text(&view(&with_equal_rates()), 160);
    assert!(text.contains("device read size with the drain 120 KB -> 4.40 KB"), "{text}");
    assert!(text.contains("from 8.6.7 on (8.5.4 before it)"), "{text}");
}

#[test]
fn a_change_that_is_there_with_pinned_defaults_too_is_said_to_be_code() {
    assert!(text(&view(&with_loss_by_code()), 160).contains("not only because of a changed default"));
}

#[test]
fn one_after_another_is_shown_as_no_more_than_a_suspicion() {
    let mut record = record();
    record.plan.layout.design = Design::Sequential;
    let view = view(&record);
    let text = text(&view, 120);
    assert!(text.contains("! 0.65") && text.contains("one after another, 3 times each"), "{text}");
    assert!(!text.contains("\u{25bc}"), "{text}");
    let document = parsed(&view);
    for one in document["comparisons"].as_array().unwrap() {
        assert!(
            ["suspect", "inconclusive", "ratio-only"].contains(&one["verdict"].as_str().unwrap()),
            "{one}"
        );
    }
}

#[test]
fn a_run_says_which_steps_the_other_run_of_its_campaign_has() {
    let mut record = record();
    record.plan.layout.steps_of_other_run = vec!["readrandom".to_owned(), "fwdrange".to_owned()];
    let rounds = found(&record);
    assert!(
        shown(&rounds, "text", plain(400))
            .contains("the other run of this campaign has the other 2 steps, interleaved")
    );
    let document: Value = serde_json::from_str(&shown(&rounds, "json", plain(80))).unwrap();
    assert_eq!(document["conditions"]["steps_of_other_run"], serde_json::json!(["readrandom", "fwdrange"]));
    crate::schema_check::check("comparison", &document.to_string());
    // Both runs are one answer, also as tables.
    let format = Format::named("tsv").unwrap();
    let both = render(&[found(&record), rounds], format, &Options::new(plain(80))).unwrap();
    let Output::Text(both) = both else { panic!("a table is one text") };
    assert_eq!(both.lines().filter(|line| line.starts_with("step\t")).count(), 2, "{both}");
    let alone = found(&testing::rounds::record());
    assert!(
        render(&[alone, found(&record)], format, &Options::new(plain(80))).is_err(),
        "others are tables of their own"
    );
}

#[test]
fn stalls_are_listed_with_what_is_known_of_them() {
    let mut view = view(&record());
    view.stalls = vec![Stall {
        step: "overwriteandwait".to_owned(),
        side: 0,
        round: 2,
        from_s: 41,
        lasted_s: 3,
        share: 0.02,
        began_at_us: None,
        engine: None,
    }];
    let text = shown_in_detail(&view);
    assert!(text.contains("Stalls") && text.contains("at most a tenth of the operations"), "{text}");
    let row = text
        .lines()
        .find(|line| line.contains("overwriteandwait") && line.contains("41"))
        .unwrap_or_default();
    assert!(row.contains("3.0 s") && row.contains("2") && row.contains('-'), "{row}");
    assert_eq!(parsed(&view)["stalls"][0]["from_s"], 41);
    assert!(parsed(&view)["stalls"][0].get("engine").is_none());
}

#[test]
fn what_an_engine_did_in_a_stall_is_in_every_format() {
    let mut view = view(&record());
    let works =
        ["writes stopped: level-0 files", "compaction", "flush", "checkpoint", "autovacuum of sbtest1"];
    let stall = |from_s: u32, works: &[&str]| Stall {
        step: "overwriteandwait".to_owned(),
        side: 0,
        round: 2,
        from_s,
        lasted_s: 3,
        share: 0.02,
        began_at_us: None,
        engine: Some(works.iter().map(|work| (*work).to_owned()).collect()),
    };
    view.stalls = vec![stall(41, &works), stall(77, &works[3..]), stall(93, &[])];
    assert_eq!(parsed(&view)["stalls"][0]["engine"][4], "autovacuum of sbtest1");
    assert_eq!(parsed(&view)["stalls"][2]["engine"].as_array().map(Vec::len), Some(0));
    let section = |columns: usize| {
        let text = shown(&finding(view.clone()), "text", detailed(columns));
        let from = text.find("\nStalls\n").unwrap_or_default();
        text[from..].split("\n\nWhat changed").next().unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!("stalls_at_80_columns", section(80));
    insta::assert_snapshot!("stalls_at_120_columns", section(120));
    let page = shown(&finding(view.clone()), "html", detailed(120));
    for part in ["writes stopped: level-0 files", "and 1 more", "nothing logged"] {
        assert!(page.contains(part), "the page does not show `{part}`");
    }
}

fn shown_in_detail(view: &Comparison) -> String {
    shown(&finding(view.clone()), "text", detailed(160))
}

#[test]
fn a_single_round_has_ratios_and_no_sign() {
    let text = text(&view(&single_round()), 120);
    assert!(text.contains("0.65") && text.contains("No verdict in 14 of 14 cells"), "{text}");
    assert!(!text.contains("\u{25bc}"), "{text}");
}

#[test]
fn tickers_of_the_engine_stand_with_their_step_and_in_tables() {
    let mut record = record();
    let trial = TrialKey { launch: 1, step: STEPS[0].to_owned(), side: 0 };
    record.engine_texts = vec![EngineTextRecord {
        trial,
        moment: Moment::After,
        what: EngineText::Tickers,
        text: TICKERS.to_owned(),
    }];
    let found = found(&record);
    assert!(shown(&found, "text", detailed(120)).contains("rocksdb.number.keys.written"));
    let tsv = shown(&found, "tsv", plain(80));
    assert!(tsv.lines().next().unwrap().contains("\trocksdb.number.keys.written"), "{tsv}");
}

/// Eleven steps of Small Datum's names, and a subject with a long configuration.
#[test]
fn no_line_is_wider_than_the_terminal_with_the_sequence_of_the_posts() {
    let names = [
        "fillseq",
        "revrange",
        "readrandom",
        "fwdrange",
        "multireadrandom",
        "overwritesome",
        "flush_mt_l0",
        "revrangewhilewriting",
        "fwdrangewhilewriting",
        "readwhilewriting",
        "overwriteandwait",
    ];
    let mut view = view(&record());
    let step = view.steps[2].clone();
    view.steps = names.iter().map(|name| StepView { name: (*name).to_owned(), ..step.clone() }).collect();
    view.subjects[1].label = "8.4.4+readahead-96k".to_owned();
    for width in [80, 100, 120, 160] {
        let text = shown(&finding(view.clone()), "text", detailed(width));
        // A plan that is copied stays as it is.
        let lines = text.lines();
        assert_no_line_is_wider(&lines.collect::<Vec<_>>().join("\n"), width);
        for name in names {
            assert!(text.contains(name), "{name}");
        }
    }
}

#[test]
fn changes_of_configurations_that_are_not_shown_name_them() {
    let selection = Selection { steps: Vec::new(), subjects: vec!["rocksdb@8.7.3".to_owned()] };
    let some = selection.of(record()).unwrap().of_comparison(view(&record()));
    let document = parsed(&some);
    let mut changes = document["findings"].as_array().unwrap().iter();
    assert!(changes.any(|one| one["text"].as_str().unwrap().contains("+defaults")), "{document}");
    assert!(shown(&finding(some), "text", detailed(120)).contains("8.7.3"));
}

#[test]
fn a_steady_loss_stands_first_and_among_the_changes() {
    let found = found(&with_steady_loss());
    let text = shown(&found, "text", plain(160));
    let sentence = "readrandom +defaults: falls by 14.4 % [";
    let places: Vec<usize> = text.match_indices(sentence).map(|(at, _)| at).collect();
    let changes = text.find("What changed at which release").unwrap();
    assert!(places.len() == 2 && places[0] < changes && changes < places[1], "{text}");
    let json: Value = serde_json::from_str(&shown(&found, "json", plain(80))).unwrap();
    assert!(json["trends"][1]["text"].as_str().unwrap().starts_with(sentence), "{}", json["trends"]);
}

#[test]
fn rounds_in_which_nothing_was_measured_are_a_report_without_numbers() {
    let mut record = record();
    (record.blocks, record.trials, record.shapes) = (Vec::new(), Vec::new(), Vec::new());
    let (view, found) = (view(&record), found(&record));
    assert!(view.changes.is_empty());
    let text = shown(&found, "text", detailed(80));
    assert!(text.contains("Trials: 0 done, 0 failed, 0 skipped."), "{text}");
    assert!(!shown(&found, "json", plain(80)).contains("null"));
    let table = shown(&found, "tsv", plain(80));
    assert_eq!(table.lines().count(), 1 + view.steps.len() * view.subjects.len());
    assert!(
        table
            .lines()
            .skip(1)
            .all(|line| line.contains("\t0\t-\t-\t-\t") && line.ends_with("\t0\tdone\t-\t-\t-")),
        "{table}"
    );
    assert!(shown(&found, "markdown", plain(80)).contains("## Overview"));
}

#[test]
fn the_keys_of_the_contract_come_first_and_in_order() {
    let view = view(&record());
    let json = of(&view, "json");
    assert!(!json.contains("null"), "an unknown value is absent");
    let keys = [
        "schema",
        "run",
        "base",
        "design",
        "margin",
        "alpha",
        "subjects",
        "comparisons",
        "findings",
        "columns",
        "left_out",
        "trials",
        "warnings",
    ];
    assert_in_order(&json, &keys);
    let document = parsed(&view);
    let comparisons = document["comparisons"].as_array().unwrap();
    assert_eq!((&comparisons[0]["metric"], &document["rounds"]), (&"ops_per_s".into(), &3.into()));
    let deciding = comparisons.iter().filter(|one| one["decides"] == true).count();
    assert_eq!(deciding, 2 * 7, "one for each candidate and step that is no helper");
    let mut others = comparisons.iter().filter(|one| one["decides"] == false);
    assert!(others.all(|one| one["verdict"] == "ratio-only"));
    let columns = document["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 70 - 1, "one for each trial that is done and not set aside");
    assert_eq!(document["disturbed"].as_array().unwrap().len(), 1);
    assert!(columns[0]["values"]["ops_per_s"].is_number());
    assert_eq!(document["left_out"][0]["subject"], "rocksdb@8.2.1");
}

#[test]
fn colour_only_repeats_what_the_signs_say() {
    let found = found(&record());
    let coloured = shown(&found, "text", TextOptions { colour: true, ..plain(120) });
    assert!(coloured.contains("\x1b[31m\u{25bc} 0.65"), "{coloured}");
    assert_eq!(uncoloured(coloured), shown(&found, "text", plain(120)));
}

#[test]
fn hostile_names_stay_names() {
    let mut view = view(&record());
    view.steps[1].name = "a|b<img src=x>\n\t`c`".to_owned();
    let markdown = of(&view, "markdown");
    assert!(!markdown.contains("<img") && markdown.contains("a\\|b&lt;img"), "{markdown}");
    let lines = of(&view, "tsv");
    let fields: Vec<usize> = lines.lines().map(|line| line.split('\t').count()).collect();
    assert!(fields.windows(2).all(|pair| pair[0] == pair[1]), "{fields:?}");
    let printed = shown(&finding(view), "text", detailed(80));
    assert!(!printed.contains('\t') && !printed.contains('\x1b'), "{printed}");
}

#[test]
fn every_step_of_every_subject_has_a_line_of_the_table_also_where_nothing_was_measured() {
    let mut view = view(&record());
    let read = |view: &Comparison| csv_rows(&of(view, "csv"));
    let rows = read(&view);
    assert_eq!(rows.len(), view.steps.len() * view.subjects.len());
    for step in &view.steps {
        for subject in &view.subjects {
            let is_it = |row: &&BTreeMap<String, String>| {
                row["step"] == step.name && row["subject"] == subject.subject
            };
            let row = rows.iter().find(is_it).unwrap();
            let measured = step.rows.iter().find(|row| row.side == subject.side);
            for metric in &step.columns {
                let mean = measured.and_then(|row| row.mean.get(*metric));
                let shown = number(mean.map(|mean| mean / metric.scale()));
                assert_eq!(row[metric.header()], shown, "{metric:?}");
            }
        }
    }
    let failed: u32 = rows.iter().map(|row| row["failed_trials"].parse::<u32>().unwrap()).sum();
    assert_eq!(failed, view.trials.failed);
    view.steps[1].rows.retain(|row| row.side != 2);
    let case = &mut view.steps[1].cases[1];
    (case.repeats, case.metrics) = (0, Vec::new());
    let row = read(&view).swap_remove(view.subjects.len() + 2);
    assert_eq!((row["rounds"].as_str(), row["ops_sec"].as_str()), ("0", "-"));
}

#[test]
fn junit_and_openmetrics_of_rounds_tell_of_every_candidate() {
    let view = view(&record());
    let text = of(&view, "junit");
    let document = roxmltree::Document::parse(&text).unwrap();
    let suites = document.descendants().filter(|node| node.has_tag_name("testsuite")).count();
    assert_eq!(suites, view.subjects.len());
    for left_out in &view.left_out {
        assert!(text.contains(&format!("not measured: {}", left_out.reference)), "{text}");
    }
    let metrics = of(&view, "openmetrics");
    for part in [
        "# UNIT dbdyno_value_latency_p99_seconds seconds\n",
        "# UNIT dbdyno_value_resident_peak_bytes bytes\n",
        "dbdyno_run_left_out{",
    ] {
        assert!(metrics.contains(part), "{part} is missing");
    }
    let found = found(&record());
    let format = Format::named("openmetrics").unwrap();
    let both = render(&[found.clone(), found], format, &Options::new(plain(80))).unwrap();
    let Output::Text(both) = both else { panic!("files") };
    assert_eq!(both.matches("# TYPE dbdyno_step_verdict stateset").count(), 1);
    let samples = metrics.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(both.lines().count() - metrics.lines().count(), samples);
}
