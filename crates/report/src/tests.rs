//! What the formats make of findings. What a view is made of is tested in `findings`.

mod background_rates;
mod clients;
mod export;
pub(crate) mod hostile;
mod hosts;
mod kinds;
mod overlapping;
mod read_back;
mod releases;
mod rounds;
mod samples;

use crate::comparison::summary;
use crate::json;
use crate::render::layout::printable;
use crate::render::{Format, Options, Output, TextOptions, render};
use findings::comparison::ComparedStep;
use findings::elsewhere::NOT_OURS;
use findings::{Comparison, Finding};
use model::event::RunOutcome;
use model::metric::Metric;
use model::record::RunStatus;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;
use samples::{CANDIDATE, comparison, finding, found, note};
use serde_json::Value;
use std::collections::BTreeMap;
use testing::compared::{self, Truth};

pub(crate) fn plain(width: usize) -> TextOptions {
    TextOptions { width, colour: false, detail: false }
}

/// A finding in a format that is one text.
pub(crate) fn shown(finding: &Finding, format: &str, text: TextOptions) -> String {
    let format = Format::named(format).unwrap();
    match render(std::slice::from_ref(finding), format, &Options::new(text)).unwrap() {
        Output::Text(text) => text,
        Output::Files(files) => panic!("{} files", files.len()),
    }
}

/// A view of a comparison in a format; no terminal is so narrow that it tells in one that has no width.
fn of(view: &Comparison, format: &str) -> String {
    shown(&finding(view.clone()), format, plain(200))
}

fn text(view: &Comparison, width: usize) -> String {
    shown(&finding(view.clone()), "text", plain(width))
}

fn parsed(view: &Comparison) -> Value {
    serde_json::from_str(&of(view, "json")).unwrap()
}

/// A view with this step only.
fn readrandom(change: impl Fn(&mut ComparedStep)) -> Comparison {
    let mut view = comparison();
    view.steps.retain(|step| step.name == "readrandom");
    change(&mut view.steps[0].cases[0]);
    view
}

/// A line of CSV for each row, by headers.
fn csv_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect::<Result<_, _>>().unwrap()
}

/// Without the colours of a terminal.
fn uncoloured(text: String) -> String {
    ["\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"]
        .iter()
        .fold(text, |text, sequence| text.replace(sequence, ""))
}

pub(crate) fn assert_no_line_is_wider(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= width, "{width}: {line}");
    }
}

/// Panics where a key does not come after those before it.
fn assert_in_order(text: &str, keys: &[&str]) {
    let mut rest = text;
    for key in keys {
        let at = rest.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} is out of order"));
        rest = &rest[at + 1..];
    }
}

#[test]
fn a_comparison_in_every_text() {
    for width in [80, 120, 160] {
        insta::assert_snapshot!(format!("text_at_{width}_columns"), text(&comparison(), width));
    }
    crate::schema_check::check("comparison", &of(&comparison(), "json"));
    for format in
        ["markdown", "jira", "json", "tsv", "junit", "openmetrics", "benchstat", "post", "step-summary"]
    {
        let shown = of(&comparison(), format);
        // What is folded is the Markdown.
        let shown = if format == "step-summary" { shown.split("<details>").next().unwrap() } else { &shown };
        insta::assert_snapshot!(format!("{format}_of_a_comparison"), shown);
    }
}

#[test]
fn launches_that_the_host_disturbed_are_told_once_at_the_top() {
    let view = readrandom(|step| step.warnings.push(Warning::LaunchesDisturbed { launches: 2, of: 22 }));
    let sentence =
        "Excluded, because the host disturbed most processes in them: 2 of 22 launches of readrandom.";
    assert!(text(&view, 120).contains(sentence));
    assert!(!text(&comparison(), 120).contains("Excluded, because"));
}

#[test]
fn no_line_is_wider_than_the_terminal_whatever_the_names() {
    let mut view = comparison();
    view.steps[3].name = "readrandom-with-a-name-that-somebody-made-up-late-at-night".to_owned();
    view.subjects[1].subject = format!("rocksdb@{}", "x".repeat(60));
    view.steps[0].cases[0].metrics[0].base = Some(81_204_117.0);
    for width in [80, 100, 120, 160] {
        for detail in [false, true] {
            let text = shown(&finding(view.clone()), "text", TextOptions { detail, ..plain(width) });
            assert_no_line_is_wider(&text, width);
            assert!(text.contains("readra") && text.contains("0.959 [0.948, 0.970]"), "{text}");
        }
    }
}

#[test]
fn colour_only_repeats_what_the_words_say() {
    let coloured = shown(&finding(comparison()), "text", TextOptions { colour: true, ..plain(80) });
    assert!(coloured.contains("\x1b[31mregression\x1b[0m"), "{coloured}");
    assert!(coloured.contains("\x1b[32mimprovement\x1b[0m"), "{coloured}");
    assert_eq!(uncoloured(coloured), text(&comparison(), 80));
}

#[test]
fn hostile_names_stay_names() {
    let mut view = comparison();
    view.steps[3].name = "a|b<img src=x>\n`c`".to_owned();
    let hostile = "line\nbreak \x1b[2J [link](http://x) <script>";
    view.steps[3].cases[0].warnings.push(note("x", hostile));
    let markdown = of(&view, "markdown");
    assert!(markdown.contains("| a\\|b&lt;img src=x&gt; \\`c\\` |"), "{markdown}");
    let jira = of(&view, "jira");
    assert!(jira.contains("|a\\|b<img src=x> `c`|") && !jira.contains(" [link]"), "{jira}");
    assert!(!markdown.contains("<script>") && !markdown.contains(" [link](") && !markdown.contains('\x1b'));
    let text = text(&view, 80);
    assert_eq!(printable(&text.replace('\n', "")), text.replace('\n', ""));
    let objects = &parsed(&view)["comparisons"];
    assert!(objects.as_array().unwrap().iter().any(|object| object["step"] == "a|b<img src=x>\n`c`"));
}

#[test]
fn json_read_back_has_the_figures_of_the_view() {
    let view = comparison();
    let document = parsed(&view);
    let mut objects = document["comparisons"].as_array().unwrap().iter();
    for (step, case) in view.cases() {
        for metric in &case.metrics {
            let object = objects.next().unwrap();
            let number = |key: &str| object.get(key).map(|value| value.as_f64().unwrap());
            assert_eq!(object["step"], step.name);
            assert_eq!(object["metric"], metric.metric.name());
            let read = ["base_value", "candidate_value", "ratio", "low", "high"].map(number);
            assert_eq!(read, [metric.base, metric.candidate, metric.ratio, metric.low, metric.high]);
            let decides = Some(metric.metric) == case.decides;
            assert_eq!(object["decides"], decides);
            assert_eq!(object["verdict"], if decides { case.verdict.name() } else { "ratio-only" });
        }
    }
    assert!(objects.next().is_none());
    assert_eq!(document["trials"], serde_json::json!({ "done": 118, "failed": 2, "skipped": 0 }));
}

#[test]
fn the_keys_of_the_contract_come_first_and_in_order() {
    let json = of(&comparison(), "json");
    assert_in_order(
        &json,
        &["schema", "run", "base", "margin", "alpha", "comparisons", "trials", "warnings"],
    );
    let readrandom = &json[json.find("\"step\": \"readrandom\"").unwrap()..];
    let keys = [
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
    ];
    assert_in_order(readrandom, &keys);
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
    assert!(!of(&comparison(), "json").contains("null"));
    let odd = readrandom(|case| case.metrics[0].ratio = Some(f64::NAN));
    assert!(!of(&odd, "json").contains("null"));
    let mut silent = compared::record(&compared::EQUAL);
    (silent.blocks, silent.trials) = (Vec::new(), Vec::new());
    let silent = found(&silent);
    assert!(!json(&silent).unwrap().contains("null"));
    let text = shown(&silent, "text", plain(160));
    assert!(text.contains("No verdict on 2 of 2 steps: overwrite-after-fill, readrandom."), "{text}");
}

#[test]
fn contradicting_rates_are_both_inconclusive() {
    let document = parsed(&readrandom(|case| {
        case.verdict = Verdict::Inconclusive;
        case.warnings = vec![Warning::WaitingTimeChanged];
    }));
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
fn what_was_not_measured_has_its_reason() {
    let view = comparison();
    let reason = |(step, case)| Some((step, view.not_measured(step, case)?));
    let found: Vec<_> =
        view.cases().filter_map(reason).map(|(step, reason)| (step.name.as_str(), reason)).collect();
    let [("readwhilewriting", reason)] = found.as_slice() else { panic!("{found:?}") };
    assert!(reason.contains("no launch has a rate on both sides"), "{reason}");
}

#[test]
fn noise_is_never_shown_as_a_small_percentage() {
    for verdict in [Verdict::NoChange, Verdict::Inconclusive] {
        let view = readrandom(|case| {
            case.verdict = verdict;
            case.metrics[0].ratio = Some(0.997);
        });
        for text in [text(&view, 80), text(&view, 120), of(&view, "markdown"), of(&view, "step-summary")] {
            // What is folded has every metric with all that is known of it.
            let text = text.split("<details><summary>readrandom").next().unwrap();
            assert!(!text.contains("0.997") && !text.contains("-0.3 %"), "{text}");
            assert!(text.contains("[0.948, 0.970]") || text.contains("\\[0.948, 0.970]"), "{text}");
        }
    }
}

#[test]
fn the_sentence_says_what_holds_for_all_steps_and_what_does_not() {
    let sentence = |change: fn(&mut ComparedStep)| {
        let view = readrandom(change);
        summary(&view, &view.subjects[1])
    };
    insta::assert_snapshot!(sentence(|_| {}), @"rocksdb@8.7.3 is slower than rocksdb@8.5.4 on readrandom (-4.1 %, 99 % interval -5.2 to -3.0 %, 14 launches).");
    insta::assert_snapshot!(sentence(|case| case.confirmed = false), @"rocksdb@8.7.3 against rocksdb@8.5.4: significant alone, but not after correction for all steps, on readrandom (-4.1 %, 99 % interval -5.2 to -3.0 %, 14 launches).");
    insta::assert_snapshot!(sentence(|case| case.verdict = Verdict::NoChange), @"rocksdb@8.7.3 against rocksdb@8.5.4: within 2 % on readrandom.");
    insta::assert_snapshot!(sentence(|case| case.verdict = Verdict::Suspect), @"rocksdb@8.7.3 against rocksdb@8.5.4: suspect, not proven, on readrandom (-4.1 %, 99 % interval -5.2 to -3.0 %, 14 launches).");
    insta::assert_snapshot!(sentence(|case| (case.metrics[0].confidence, case.verdict) = (None, Verdict::RatioOnly)), @"rocksdb@8.7.3 against rocksdb@8.5.4: no verdict on readrandom.");
}

#[test]
fn a_difference_after_unequal_work_is_shown_and_is_no_verdict() {
    let of = |high: f64| {
        let mut view = readrandom(|case| {
            case.verdict = Verdict::Inconclusive;
            case.warnings = vec![Warning::DebtDiffers { parts: Vec::new(), launches: 14 }];
        });
        for case in view.steps.iter_mut().flat_map(|step| &mut step.cases) {
            case.metrics[0].high = Some(high);
        }
        view
    };
    let differs = of(0.97);
    let sentence = summary(&differs, &differs.subjects[1]);
    assert!(sentence.contains("unequal work, which can be the reason, on readrandom (-4.1 %"), "{sentence}");
    assert!(!sentence.contains("nor ruled out"), "{sentence}");
    let shown = text(&differs, 160);
    assert!(shown.contains("\u{2260} 0.959 [0.948, 0.970]"), "{shown}");
    assert!(shown.contains("\u{2260} different, but"), "{shown}");
    // A cost that is open is explained, since no cell of a rate has the sign for it.
    let mut open_cost = of(0.97);
    for case in open_cost.steps.iter_mut().flat_map(|step| &mut step.cases) {
        let cost = case.metrics.iter_mut().find(|one| one.metric == Metric::CpuMicrosPerOp).unwrap();
        (cost.low, cost.high) = (Some(0.9), Some(1.1));
    }
    let shown = text(&open_cost, 160);
    assert!(shown.contains("?: no difference found, nor ruled out"), "{shown}");
    // An interval with 1 in it is no difference, whatever work was done.
    let open = text(&of(1.02), 160);
    assert!(open.contains("? [0.948, 1.020]") && !open.contains('\u{2260}'), "{open}");
}

#[test]
fn what_was_found_says_what_holds_for_all_steps_and_what_does_not() {
    let first =
        |change: fn(&mut ComparedStep)| crate::document(&finding(readrandom(change))).found[0].text.clone();
    insta::assert_snapshot!(first(|_| {}), @"rocksdb@8.7.3 is slower than rocksdb@8.5.4: readrandom -4.1 % [-5.2, -3.0]; 99 % intervals.");
    insta::assert_snapshot!(first(|case| case.confirmed = false), @"Significant alone, but not after correction for all steps: readrandom -4.1 % [-5.2, -3.0]; 99 % intervals.");
    insta::assert_snapshot!(first(|case| case.layout = Some(Layout::MayBe)), @"Different, but code layout alone could explain it: readrandom -4.1 % [-5.2, -3.0]; 99 % intervals.");
    insta::assert_snapshot!(first(|case| case.verdict = Verdict::NoChange), @"Within 2 % of rocksdb@8.5.4: readrandom.");
    insta::assert_snapshot!(first(|case| case.verdict = Verdict::Inconclusive), @"Inconclusive, a difference neither found nor ruled out: readrandom (smallest visible change 1.8 %).");
    insta::assert_snapshot!(
        first(|case| {
            case.verdict = Verdict::Inconclusive;
            case.warnings = vec![Warning::Provisional { ratio: 0.9, low: 0.88, high: 0.92, launches: 6 }];
        }),
        @"Large so far, with no verdict yet: readrandom -10.0 % [-12.0, -8.0].");
    insta::assert_snapshot!(
        first(|case| {
            case.verdict = Verdict::Inconclusive;
            case.warnings = vec![Warning::DebtDiffers { parts: Vec::new(), launches: 14 }];
        }),
        @"Different, but the sides did unequal work, which can be the reason: readrandom -4.1 % [-5.2, -3.0]; 99 % intervals.");
    insta::assert_snapshot!(first(|case| case.verdict = Verdict::Suspect), @"Suspect, not proven: readrandom -4.1 % [-5.2, -3.0]; 99 % intervals.");
    insta::assert_snapshot!(first(|case| (case.metrics[0].confidence, case.verdict) = (None, Verdict::RatioOnly)), @"No verdict: readrandom.");
}

#[test]
fn a_killed_run_says_so_and_has_no_cost_yet() {
    let mut view = comparison();
    view.run.status = RunStatus::Unfinished;
    (view.run.elapsed_s, view.cost) = (None, None);
    let unfinished = text(&view, 160);
    assert!(unfinished.contains("UNFINISHED: it still runs, or it was killed"), "{unfinished}");
    assert!(!unfinished.contains("Cost of measuring"), "{unfinished}");
    assert!(unfinished.contains("Verdicts are from its last interim look, after launch"), "{unfinished}");
    assert_eq!(parsed(&view)["status"], "unfinished");
    view.run.looked_at = None;
    assert!(text(&view, 400).contains("No interim look has been made yet, so there are no verdicts."));
    view.run.status = RunStatus::Ended(RunOutcome::Interrupted);
    assert!(text(&view, 80).contains("interrupted by the user"));
}

#[test]
fn every_candidate_has_its_own_tables() {
    let mut view = comparison();
    let mut second = view.subjects[1].clone();
    (second.side, second.subject, second.label) = (2, "rocksdb@6.0.2".to_owned(), "6.0.2".to_owned());
    view.subjects.push(second);
    for step in &mut view.steps {
        step.cases.push(ComparedStep { side: 2, ..step.cases[0].clone() });
    }
    // One matrix for all at first, the tables of each in detail.
    let short = text(&view, 100);
    assert_eq!(short.matches("0.959 [0.948, 0.970]").count(), 4, "{short}");
    assert!(!short.contains("where the time goes"), "{short}");
    let long = shown(&finding(view.clone()), "text", TextOptions { detail: true, ..plain(100) });
    for candidate in [CANDIDATE, "rocksdb@6.0.2"] {
        assert!(long.contains(&format!("\n{candidate} against rocksdb@8.5.4\n")), "{long}");
    }
    assert!(of(&view, "markdown").contains("rocksdb@6.0.2 against rocksdb@8.5.4"));
    let document = parsed(&view);
    let sentence = document["summaries"][1]["text"].as_str().unwrap();
    assert!(sentence.starts_with("rocksdb@6.0.2 is slower than rocksdb@8.5.4 on readrandom"), "{sentence}");
    let candidates: Vec<&str> = document["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["candidate"].as_str().unwrap())
        .collect();
    assert!(candidates.contains(&"rocksdb@6.0.2"));
}

#[test]
fn what_nobody_saw_is_absent_and_the_reason_stands_beside_it() {
    let mut record = compared::record(&Truth { write: 1.0, read: 0.95 });
    compared::elsewhere(&mut record, 1, "db1", 0);
    let finding = found(&record);
    let document: Value = serde_json::from_str(&json(&finding).unwrap()).unwrap();
    let objects = document["comparisons"].as_array().unwrap();
    for object in objects.iter().filter(|one| one["metric"] == "cpu_us_per_op") {
        assert!(object.get("candidate_value").is_none() && object.get("ratio").is_none(), "{object}");
    }
    for width in [80, 120] {
        let text = shown(&finding, "text", plain(width));
        assert!(text.split_whitespace().any(|word| word == "frozen"), "{text}");
        assert_no_line_is_wider(&text, width);
    }
    assert!(shown(&finding, "markdown", plain(80)).contains(NOT_OURS));
}
