//! What the formats make of a view. Views are built in code; what a view is made of is tested in `records`.

mod elsewhere;
mod read_back;
mod records;
mod samples;

use crate::layout::printable;
use crate::text::TextOptions;
use crate::view::ReportView;
use crate::{json, markdown, summary, text};
use model::block::Side;
use model::event::RunOutcome;
use model::metric::Metric;
use model::record::RunStatus;
use model::verdict::Verdict;
use samples::{BASE, CANDIDATE, comparison, note, readrandom};
use serde_json::Value;

fn plain(width: usize) -> TextOptions {
    TextOptions { width, colour: false }
}

fn parsed(view: &ReportView) -> Value {
    serde_json::from_str(&json::render(view).unwrap()).unwrap()
}

/// A view with one row only.
fn one_row(row: crate::view::StepRow) -> ReportView {
    let mut view = comparison();
    let candidate = &mut view.candidates[0];
    candidate.rows = vec![row];
    candidate.summary = summary::sentence(&candidate.rows, CANDIDATE, BASE, 0.02);
    view
}

#[test]
fn text_at_80_columns() {
    insta::assert_snapshot!(text::render(&comparison(), plain(80)));
}

#[test]
fn text_at_120_columns() {
    insta::assert_snapshot!(text::render(&comparison(), plain(120)));
}

#[test]
fn text_at_160_columns() {
    insta::assert_snapshot!(text::render(&comparison(), plain(160)));
}

#[test]
fn markdown_of_a_comparison() {
    insta::assert_snapshot!(markdown::render(&comparison()));
}

#[test]
fn json_of_a_comparison() {
    insta::assert_snapshot!(json::render(&comparison()).unwrap());
}

#[test]
fn no_line_is_wider_than_the_terminal_whatever_the_names() {
    let mut view = comparison();
    view.candidates[0].rows[3].step = "readrandom-with-a-name-that-somebody-made-up-late-at-night".to_owned();
    view.candidates[0].subject = format!("rocksdb@{}", "x".repeat(60));
    view.candidates[0].rows[0].wall.base = Some(81_204_117.0);
    for width in [80, 100, 120, 160] {
        let text = text::render(&view, plain(width));
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(text.contains("readra") && text.contains("0.959 [0.948, 0.970]"), "{text}");
    }
}

#[test]
fn colour_only_repeats_what_the_words_say() {
    let coloured = text::render(&comparison(), TextOptions { width: 80, colour: true });
    let sequences = ["\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"];
    assert!(coloured.contains("\x1b[31mregression\x1b[0m"), "{coloured}");
    assert!(coloured.contains("\x1b[32mimprovement\x1b[0m"), "{coloured}");
    let stripped = sequences.iter().fold(coloured, |text, sequence| text.replace(sequence, ""));
    assert_eq!(stripped, text::render(&comparison(), plain(80)));
}

#[test]
fn hostile_names_stay_names() {
    let mut view = comparison();
    let row = &mut view.candidates[0].rows[3];
    row.step = "a|b<img src=x>\n`c`".to_owned();
    row.notes.push(note("x", "line\nbreak \x1b[2J [link](http://x) <script>"));
    let markdown = markdown::render(&view);
    assert!(markdown.contains("| a\\|b&lt;img src=x&gt; \\`c\\` |"), "{markdown}");
    assert!(!markdown.contains("<script>") && !markdown.contains(" [link](") && !markdown.contains('\x1b'));
    let text = text::render(&view, plain(80));
    assert_eq!(printable(&text.replace('\n', "")), text.replace('\n', ""));
    let first = &parsed(&view)["comparisons"];
    assert!(first.as_array().unwrap().iter().any(|object| object["step"] == "a|b<img src=x>\n`c`"));
}

#[test]
fn json_read_back_has_the_figures_of_the_view() {
    let view = comparison();
    let document = parsed(&view);
    let comparisons = document["comparisons"].as_array().unwrap();
    let mut objects = comparisons.iter();
    for row in &view.candidates[0].rows {
        let counters = row.counters.iter().map(|counter| &counter.figure);
        let figures = [Some(&row.wall), row.adjusted.as_ref(), Some(&row.cpu)].into_iter().flatten();
        for figure in figures.chain(counters) {
            let object = objects.next().unwrap();
            let number = |key: &str| object.get(key).map(|value| value.as_f64().unwrap());
            assert_eq!(object["step"], row.step);
            assert_eq!(object["metric"], figure.metric.name());
            let read = ["base_value", "candidate_value", "ratio", "low", "high"].map(number);
            assert_eq!(read, [figure.base, figure.candidate, figure.ratio, figure.low, figure.high]);
            assert_eq!(object["decides"], figure.metric == row.decides);
            let verdict = if figure.metric == row.decides { row.verdict.name() } else { "ratio-only" };
            assert_eq!(object["verdict"], verdict);
        }
    }
    assert!(objects.next().is_none());
    assert_eq!(document["trials"], serde_json::json!({ "done": 118, "failed": 2, "skipped": 0 }));
}

#[test]
fn the_keys_of_the_contract_come_first_and_in_order() {
    let json = json::render(&comparison()).unwrap();
    let in_order = |text: &str, keys: &[&str]| {
        let mut rest = text;
        for key in keys {
            let at = rest.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} is out of order"));
            rest = &rest[at + 1..];
        }
    };
    in_order(&json, &["schema", "run", "base", "margin", "alpha", "comparisons", "trials", "warnings"]);
    let readrandom = &json[json.find("\"step\": \"readrandom\"").unwrap()..];
    in_order(
        readrandom,
        &[
            "step",
            "group",
            "candidate",
            "metric",
            "unit",
            "direction",
            "decides",
            "base_value",
            "candidate_value",
            "ratio",
            "low",
            "high",
            "confidence",
            "verdict",
            "launches",
            "seconds",
            "warnings",
        ],
    );
}

#[test]
fn an_unknown_value_is_absent_and_an_open_end_too() {
    let document = parsed(&comparison());
    let find = |step: &str, metric: &str| {
        let all = document["comparisons"].as_array().unwrap();
        all.iter().find(|object| object["step"] == step && object["metric"] == metric).unwrap().clone()
    };
    let open = find("fillseq", "ops_per_s");
    assert!(open.get("low").is_some() && open.get("high").is_none(), "{open}");
    let unmeasured = find("readwhilewriting", "ops_per_s");
    for key in ["base_value", "candidate_value", "ratio", "low", "high", "confidence"] {
        assert!(unmeasured.get(key).is_none(), "{key}");
    }
    assert!(!json::render(&comparison()).unwrap().contains("null"));
    let mut odd = comparison();
    odd.candidates[0].rows[3].wall.ratio = Some(f64::NAN);
    assert!(!json::render(&odd).unwrap().contains("null"));
}

#[test]
fn contradicting_rates_are_both_inconclusive() {
    let mut row = readrandom();
    row.verdict = Verdict::Inconclusive;
    row.notes = vec![note("waiting-time-changed", "the rates moved in opposite directions")];
    let document = parsed(&one_row(row));
    let of = |metric: Metric| {
        let all = document["comparisons"].as_array().unwrap();
        let object = all.iter().find(|object| object["metric"] == metric.name()).unwrap();
        (object["verdict"].as_str().unwrap().to_owned(), object["warnings"].to_string())
    };
    let warning = "[\"waiting-time-changed\"]".to_owned();
    assert_eq!(of(Metric::OpsPerSecond), ("inconclusive".to_owned(), warning.clone()));
    assert_eq!(of(Metric::OpsPerSecondAdjusted), ("inconclusive".to_owned(), warning));
    assert_eq!(of(Metric::CpuMicrosPerOp), ("ratio-only".to_owned(), "[]".to_owned()));
}

#[test]
fn noise_is_never_shown_as_a_small_percentage() {
    for verdict in [Verdict::NoChange, Verdict::Inconclusive] {
        let mut row = readrandom();
        row.verdict = verdict;
        row.wall.ratio = Some(0.997);
        let view = one_row(row);
        for text in [text::render(&view, plain(80)), text::render(&view, plain(120)), markdown::render(&view)]
        {
            assert!(!text.contains("0.997") && !text.contains("-0.3 %"), "{text}");
            assert!(text.contains("[0.948, 0.970]") || text.contains("\\[0.948, 0.970]"), "{text}");
        }
    }
}

#[test]
fn the_sentence_says_what_holds_for_all_steps_and_what_does_not() {
    let summary = |change: fn(&mut crate::view::StepRow)| {
        let mut row = readrandom();
        change(&mut row);
        one_row(row).candidates[0].summary.clone()
    };
    insta::assert_snapshot!(summary(|_| {}), @"rocksdb@8.7.3 is slower than rocksdb@8.5.4 on readrandom (-4.1 %, 99 % interval -5.2 to -3.0 %, 14 launches).");
    insta::assert_snapshot!(summary(|row| row.confirmed = false), @"rocksdb@8.7.3 against rocksdb@8.5.4: by itself only, not with all steps taken together, a change on readrandom (-4.1 %, 99 % interval -5.2 to -3.0 %, 14 launches).");
    insta::assert_snapshot!(summary(|row| row.verdict = Verdict::NoChange), @"rocksdb@8.7.3 against rocksdb@8.5.4: no difference beyond 2 % on readrandom.");
    insta::assert_snapshot!(summary(|row| row.verdict = Verdict::Suspect), @"rocksdb@8.7.3 against rocksdb@8.5.4: no more than a suspicion on readrandom (-4.1 %, 99 % interval -5.2 to -3.0 %, 14 launches).");
    insta::assert_snapshot!(summary(|row| (row.wall.confidence, row.verdict) = (None, Verdict::RatioOnly)), @"rocksdb@8.7.3 against rocksdb@8.5.4: no verdict on readrandom.");
}

#[test]
fn a_killed_run_says_so_and_has_no_cost_yet() {
    let mut view = comparison();
    view.run.status = RunStatus::Unfinished;
    (view.run.elapsed_s, view.cost) = (None, None);
    let text = text::render(&view, plain(160));
    assert!(text.contains("UNFINISHED: it still runs, or it was killed"), "{text}");
    assert!(!text.contains("Cost of measuring"), "{text}");
    assert_eq!(parsed(&view)["status"], "unfinished");
    view.run.status = RunStatus::Ended(RunOutcome::Interrupted);
    assert!(text::render(&view, plain(80)).contains("interrupted by the user"));
}

#[test]
fn every_candidate_has_its_own_tables() {
    let mut view = comparison();
    let mut second = view.candidates[0].clone();
    (second.side, second.subject) = (2 as Side, "rocksdb@6.0.2".to_owned());
    second.summary = summary::sentence(&second.rows, &second.subject, BASE, 0.02);
    view.candidates.push(second);
    let text = text::render(&view, plain(100));
    assert!(text.contains("rocksdb@6.0.2 is slower than rocksdb@8.5.4 on readrandom"), "{text}");
    assert_eq!(text.matches("0.959 [0.948, 0.970]").count(), 2);
    assert!(markdown::render(&view).contains("## rocksdb@6.0.2 against rocksdb@8.5.4"));
    let candidates: Vec<Value> =
        parsed(&view)["comparisons"].as_array().unwrap().iter().map(|one| one["candidate"].clone()).collect();
    assert!(candidates.contains(&Value::from("rocksdb@6.0.2")));
}
