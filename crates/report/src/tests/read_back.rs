//! Formats for other programs: each is read back and compared with the view that it was made from.

use super::records::{Truth, record};
use super::samples::{comparison, note, readrandom};
use crate::selection::{Part, Selection};
use crate::separated::number;
use crate::verdicts::{self, RunVerdicts};
use crate::view::{Figure, ReportView};
use crate::{benchstat, build, comparison_table, export, gate, junit, openmetrics, post, step_summary};
use gate::Passage;
use model::block::Outcome;
use model::event::RunOutcome;
use model::metric::Metric;
use model::record::{RunRecord, RunStatus, TrialRecord};
use model::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that could end a cell, a tag, a label or a line.
pub(crate) const HOSTILE: &str =
    "a|b,c\t\"d\" 'e' <img src=x onerror=y> &amp; `f` \\ {g}\r\n# h\n] ](x) \u{1b}[31m \u{202e}";

const MARGIN: f64 = 0.02;

fn junit_of(view: &ReportView) -> String {
    junit::render(&[(verdicts::of_comparison(view), MARGIN)])
}

fn openmetrics_of(view: &ReportView) -> String {
    openmetrics::render(&[verdicts::of_comparison(view)])
}

fn summary_of(view: &ReportView) -> String {
    step_summary::of_comparison(view, step_summary::MOST_BYTES)
}

fn regression() -> (ReportView, model::record::RunRecord) {
    let record = record(&Truth { write: 1.0, read: 0.95 });
    (build(&record, None), record)
}

#[test]
fn post_of_a_comparison() {
    let (view, record) = regression();
    let chart = post::Illustration { file: "relative-rate.svg".to_owned(), caption: "Rates.".to_owned() };
    insta::assert_snapshot!(post::of_comparison(&view, &record, &[chart]));
}

#[test]
fn step_summary_of_a_comparison() {
    let text = summary_of(&comparison());
    insta::assert_snapshot!(text.split("<details>").next().unwrap());
    assert!(text.contains("| readrandom | 612,345 | 587,239 | 0.959 |") && text.ends_with("</details>\n"));
}

#[test]
fn benchstat_of_a_comparison() {
    let (view, record) = regression();
    insta::assert_snapshot!(benchstat::of_comparison(&view, &record));
}

#[test]
fn benchstat_where_every_kind_of_verdict_occurs() {
    let record = record(&Truth { write: 1.0, read: 1.0 });
    insta::assert_snapshot!(benchstat::of_comparison(&comparison(), &record));
}

#[test]
fn tsv_of_a_comparison() {
    insta::assert_snapshot!(comparison_table::tsv(&comparison()));
}

#[test]
fn junit_of_a_comparison() {
    insta::assert_snapshot!(junit_of(&comparison()));
}

#[test]
fn openmetrics_of_a_comparison() {
    insta::assert_snapshot!(openmetrics_of(&comparison()));
}

#[test]
fn csv_read_back_has_the_figures_of_the_view() {
    let view = comparison();
    let text = comparison_table::csv(&view);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), 2 * view.candidates[0].rows.len());
    for row in &view.candidates[0].rows {
        let lines: Vec<_> = rows.iter().filter(|line| line["step"] == row.step).collect();
        let [base, candidate] = lines.as_slice() else { panic!("{} has {} lines", row.step, lines.len()) };
        let deciding = row.deciding();
        assert_eq!(candidate["rel_ops_sec"], number(deciding.ratio));
        assert_eq!(candidate["rel_low"], number(deciding.low));
        assert_eq!(candidate["rel_high"], number(deciding.high));
        assert_eq!(candidate["ops_sec"], number(row.wall.candidate));
        assert_eq!(candidate["base_ops_sec"], number(row.wall.base));
        assert_eq!(base["ops_sec"], number(row.wall.base));
        assert_eq!(base["cpu_us"], number(row.cpu.base));
        assert_eq!(candidate["verdict"], row.verdict.name());
        for counter in &row.counters {
            let column =
                crate::campaign::COLUMNS.iter().find(|one| one.metric == counter.counter.metric_name());
            let (header, scale) =
                column.map_or((counter.counter.metric_name(), 1.0), |one| (one.header, one.scale));
            assert_eq!(candidate[header], number(counter.figure.candidate.map(|value| value / scale)));
        }
        if let Some(ratio) = deciding.ratio {
            let read: f64 = candidate["rel_ops_sec"].parse().unwrap();
            assert!((read / ratio - 1.0).abs() < 1e-5, "{read} {ratio}");
        }
    }
    let failed: Vec<&str> =
        rows.iter().filter(|line| line["failed_trials"] != "0").map(|line| line["step"].as_str()).collect();
    assert_eq!(failed, ["overwrite"]);
}

/// The elements of this name, in document order.
fn elements<'a, 'i>(document: &'a roxmltree::Document<'i>, name: &str) -> Vec<roxmltree::Node<'a, 'i>> {
    document.descendants().filter(|node| node.has_tag_name(name)).collect()
}

#[test]
fn junit_read_back_has_a_case_for_each_step_and_fails_where_the_gate_does() {
    let view = comparison();
    let text = junit_of(&view);
    let document = roxmltree::Document::parse(&text).unwrap();
    let cases = elements(&document, "testcase");
    let names: Vec<&str> = cases.iter().filter_map(|case| case.attribute("name")).collect();
    let steps: Vec<&str> = view.candidates[0].rows.iter().map(|row| row.step.as_str()).collect();
    assert_eq!(names[1..], steps);
    let with = |element: &str| -> Vec<String> {
        let nodes = elements(&document, element);
        nodes.iter().filter_map(|node| Some(node.parent()?.attribute("name")?.to_owned())).collect()
    };
    assert_eq!(with("failure"), ["readrandom"]);
    assert_eq!(with("skipped"), ["readwhilewriting"]);
    assert_eq!(with("error"), ["the run is done, with every trial"]);
    for count in ["tests", "failures", "errors", "skipped"] {
        let sum: u32 = elements(&document, "testsuite")
            .iter()
            .map(|suite| suite.attribute(count).unwrap().parse::<u32>().unwrap())
            .sum();
        assert_eq!(document.root_element().attribute(count).unwrap(), sum.to_string(), "{count}");
    }
    let output =
        elements(&document, "system-out")[names.iter().position(|name| *name == "readrandom").unwrap()];
    let output = output.text().unwrap();
    assert!(output.contains("ops_per_s (1/s): 612,345 -> 587,239, ratio 0.959 [0.948, 0.970]"), "{output}");
    assert!(output.contains("read_calls_per_op (1): 0.410 -> 0.550, ratio 1.341 [1.290, 1.390]"), "{output}");
}

/// A sample of an exposition.
#[derive(Debug, Clone, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// Reads an exposition as the standard has it; panics where it is broken.
fn samples(text: &str) -> Vec<Sample> {
    let body = text.strip_suffix("# EOF\n").expect("no end");
    let mut found: Vec<Sample> = Vec::new();
    let mut metric = String::new();
    let mut closed: BTreeSet<String> = BTreeSet::new();
    let mut unit = String::new();
    for line in body.split_terminator('\n') {
        if let Some(described) = line.strip_prefix("# ") {
            let mut words = described.splitn(3, ' ');
            let [kind, name, rest] = [words.next(), words.next(), words.next()].map(Option::unwrap);
            match kind {
                "TYPE" => {
                    assert!(["gauge", "info", "stateset"].contains(&rest), "{line}");
                    assert!(closed.insert(name.to_owned()), "{name} is described twice");
                    (metric, unit) = (name.to_owned(), String::new());
                }
                "UNIT" => {
                    assert!(name == metric && name.ends_with(&format!("_{rest}")), "{line}");
                    unit = rest.to_owned();
                }
                "HELP" => assert_eq!(name, metric, "{unit}"),
                other => panic!("{other}"),
            }
            continue;
        }
        let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("no labels in {line}"));
        assert!(name == metric || name == format!("{metric}_info"), "{name} stands below {metric}");
        let (labels, rest) = read_labels(rest);
        let value: f64 = rest.trim_start().parse().unwrap_or_else(|_| panic!("no value in {line}"));
        let sample = Sample { name: name.to_owned(), labels, value };
        let same = |one: &Sample| one.name == sample.name && one.labels == sample.labels;
        assert!(!found.iter().any(same), "twice: {sample:?}");
        found.push(sample);
    }
    found
}

/// Labels up to the closing brace, and what comes after it.
fn read_labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return (labels, after);
        }
        let (name, after) = rest.trim_start_matches(',').split_once("=\"").unwrap();
        assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'), "{name}");
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            let (place, character) = characters.next().expect("a label that does not end");
            match character {
                '"' => break place,
                '\\' => match characters.next().unwrap().1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                other => value.push(other),
            }
        };
        assert_eq!(labels.insert(name.to_owned(), value), None);
        rest = &after[end + 1..];
    }
}

#[test]
fn openmetrics_read_back_has_the_figures_of_the_view() {
    let view = comparison();
    let all = samples(&openmetrics_of(&view));
    let value = |name: &str, step: &str, side: &str| {
        let is_it = |one: &&Sample| {
            one.name == name
                && one.labels.get("step").is_some_and(|of| of == step)
                && one.labels.get("side").is_some_and(|of| of == side)
        };
        all.iter().find(is_it).map(|one| one.value)
    };
    let scaled = |figure: Option<f64>, factor: f64| figure.map(|value| value * factor);
    for row in &view.candidates[0].rows {
        let step = row.step.as_str();
        let deciding = row.deciding();
        assert_eq!(value("dbdyno_step_relative_rate_ratio", step, "1"), deciding.ratio);
        assert_eq!(value("dbdyno_step_relative_rate_low_ratio", step, "1"), deciding.low);
        assert_eq!(value("dbdyno_step_relative_rate_high_ratio", step, "1"), deciding.high);
        assert_eq!(value("dbdyno_value_ops_per_second", step, "0"), row.wall.base);
        assert_eq!(value("dbdyno_value_ops_per_second", step, "1"), row.wall.candidate);
        assert_eq!(value("dbdyno_value_cpu_per_op_seconds", step, "1"), scaled(row.cpu.candidate, 1e-6));
        let states: Vec<(&str, f64)> = all
            .iter()
            .filter(|one| one.name == "dbdyno_step_verdict" && one.labels["step"] == step)
            .map(|one| (one.labels["dbdyno_step_verdict"].as_str(), one.value))
            .collect();
        assert_eq!(states.len(), 6);
        let holding: Vec<&str> =
            states.iter().filter(|(_, value)| *value > 0.5).map(|(name, _)| *name).collect();
        assert_eq!(holding, [row.verdict.name()]);
    }
}

#[test]
fn benchstat_read_back_has_the_figures_of_the_view() {
    let (view, record) = regression();
    let text = benchstat::of_comparison(&view, &record);
    let row = &view.candidates[0].rows[1];
    let line = text.lines().find(|line| line.starts_with("readrandom")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let rate = |word: &str| 1e3 * word.strip_suffix('k').unwrap().parse::<f64>().unwrap();
    for (word, value) in [(words[1], row.wall.base), (words[4], row.wall.candidate)] {
        assert!((rate(word) / value.unwrap() - 1.0).abs() < 1e-3, "{word} {value:?}");
    }
    let change = 100.0 * (row.wall.ratio.unwrap() - 1.0);
    assert_eq!(words[7], format!("{change:+.2}%"));
    assert!(line.ends_with(&format!("n={})", row.launches)), "{line}");
    // The base is the same in all launches, the candidate scatters by some tenths of a percent.
    assert_eq!((words[3], words[6]), ("0%", "0%"));
}

#[test]
fn hostile_names_leave_no_format() {
    let mut view = comparison();
    let long = "x".repeat(10_000);
    for (index, name) in [HOSTILE.to_owned(), long].into_iter().enumerate() {
        let row = &mut view.candidates[0].rows[3 + index];
        (row.verdict, row.confirmed) = (Verdict::Regression, true);
        row.notes.push(note("hostile", &name));
        view.trials.reasons[0].reason = name.clone();
        row.step = name;
    }
    view.candidates[0].subject = HOSTILE.to_owned();
    view.base = HOSTILE.to_owned();
    view.run.workload = HOSTILE.to_owned();
    view.warnings[0].text = HOSTILE.to_owned();
    view.host.name = HOSTILE.to_owned();

    let xml = junit_of(&view);
    let document = roxmltree::Document::parse(&xml).unwrap();
    let named =
        |name: &str| elements(&document, "testcase").iter().any(|case| case.attribute("name") == Some(name));
    // What XML cannot hold is replaced; the rest is as it was.
    assert!(named(&HOSTILE.replace('\u{1b}', "\u{fffd}")), "{xml}");
    let labels = samples(&openmetrics_of(&view));
    assert!(labels.iter().any(|one| one.labels.get("step").is_some_and(|step| step == HOSTILE)));

    let csv = comparison_table::csv(&view);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert!(rows.iter().any(|row| &row[0] == HOSTILE && &row[1] == HOSTILE));
    let tsv = comparison_table::tsv(&view);
    let widths: BTreeSet<usize> = tsv.lines().map(|line| line.split('\t').count()).collect();
    assert_eq!((widths.len(), tsv.lines().count()), (1, 11));

    let record = record(&Truth { write: 1.0, read: 1.0 });
    let markdown = [summary_of(&view), post::of_comparison(&view, &record, &[])];
    for text in &markdown {
        for part in ["<img", "\u{1b}", "\n# h", "`f`"] {
            assert!(!text.contains(part), "{part:?} in {text}");
        }
        assert!(text.contains(&"x".repeat(10_000)));
    }
    let go = benchstat::of_comparison(&view, &record);
    assert!(!go.contains('\u{1b}') && !go.contains("\n# h") && !go.contains('\t'), "{go}");
}

#[test]
fn what_is_not_done_is_seen_in_every_format() {
    let mut view = comparison();
    view.run.status = RunStatus::Unfinished;
    let record = record(&Truth { write: 1.0, read: 1.0 });
    let reason = "the worker was killed by signal 11";
    let with_reasons = [
        junit_of(&view),
        summary_of(&view),
        post::of_comparison(&view, &record, &[]),
        benchstat::of_comparison(&view, &record),
    ];
    for text in with_reasons {
        assert!(text.contains("unfinished") && text.contains(reason), "{text}");
    }
    let table = comparison_table::tsv(&view);
    assert!(table.lines().skip(1).all(|line| line.contains("\tunfinished\t")), "{table}");
    let metrics = samples(&openmetrics_of(&view));
    let status =
        metrics.iter().find(|one| one.labels.get("dbdyno_run_status").is_some_and(|of| of == "unfinished"));
    assert!((status.unwrap().value - 1.0).abs() < 1e-9);
    let failed = metrics.iter().find(|one| one.labels.get("outcome").is_some_and(|of| of == "failed"));
    assert!((failed.unwrap().value - 2.0).abs() < 1e-9);
}

/// A view with this row only, whose trials are all done.
fn gated_row(change: impl Fn(&mut crate::view::StepRow)) -> ReportView {
    let mut view = comparison();
    let mut row = readrandom();
    change(&mut row);
    view.candidates[0].rows = vec![row];
    view.trials.reasons.clear();
    view.trials.failed = 0;
    view
}

fn passage(view: &ReportView, threshold: f64) -> Passage {
    gate::judge(&verdicts::of_comparison(view), threshold).passage
}

#[test]
fn the_gate_stops_a_regression_beyond_the_threshold_only() {
    let interval = |low, high| {
        move |row: &mut crate::view::StepRow| {
            let figure: &mut Figure = &mut row.wall;
            (figure.low, figure.high) = (Some(low), Some(high));
        }
    };
    assert_eq!(passage(&gated_row(|_| {}), 0.02), Passage::Regression);
    // 0.970 is 3 % less, 0.948 is 5.5 %: within 6 % as a whole, within 4 % in part.
    assert_eq!(passage(&gated_row(|_| {}), 0.06), Passage::Passed);
    assert_eq!(passage(&gated_row(|_| {}), 0.04), Passage::Regression);
    assert_eq!(passage(&gated_row(interval(0.99, 0.995)), 0.02), Passage::Passed);
    assert_eq!(passage(&gated_row(|row| row.confirmed = false), 0.02), Passage::Passed);
    let in_layout = |row: &mut crate::view::StepRow| row.notes.push(note("within-layout-noise", "x"));
    assert_eq!(passage(&gated_row(in_layout), 0.02), Passage::Passed);
    assert_eq!(passage(&gated_row(|row| row.verdict = Verdict::NoChange), 0.02), Passage::Passed);
}

#[test]
fn the_gate_takes_a_failed_run_before_a_regression_before_an_open_step() {
    let mut view = comparison();
    assert_eq!(passage(&view, 0.02), Passage::RunFailed);
    let reasons = gate::judge(&verdicts::of_comparison(&view), 0.02).reasons;
    assert!(reasons[0].starts_with("failed: overwrite of rocksdb@8.7.3 in launches 3, 4"), "{reasons:?}");
    assert_eq!(
        reasons[1],
        "regression: readrandom of rocksdb@8.7.3: 0.959 [0.948, 0.970] of rocksdb@8.5.4, 14 launches"
    );
    assert!(reasons[2].starts_with("inconclusive: overwrite"), "{reasons:?}");
    view.trials.reasons.clear();
    assert_eq!(passage(&view, 0.02), Passage::Regression);
    view.candidates[0].rows.retain(|row| row.step != "readrandom");
    assert_eq!(passage(&view, 0.02), Passage::Inconclusive);
    view.candidates[0].rows.retain(|row| row.step != "overwrite");
    assert_eq!(passage(&view, 0.02), Passage::Passed);
    for status in [RunStatus::Unfinished, RunStatus::Ended(RunOutcome::Interrupted)] {
        view.run.status = status;
        assert_eq!(passage(&view, 0.02), Passage::RunFailed);
    }
}

#[test]
fn a_gate_does_not_let_through_what_could_not_be_judged() {
    assert_eq!(passage(&gated_row(|row| row.verdict = Verdict::Suspect), 0.02), Passage::Inconclusive);
    assert_eq!(passage(&gated_row(|row| row.verdict = Verdict::RatioOnly), 0.02), Passage::Inconclusive);
    let mut nothing = gated_row(|_| {});
    nothing.candidates[0].rows.clear();
    assert_eq!(passage(&nothing, 0.02), Passage::Inconclusive);
}

#[test]
fn fewer_steps_find_no_more_and_say_that_they_are_fewer() {
    let (view, whole) = regression();
    let part = of_steps(&["readrandom"], &whole);
    let some = part.of_comparison(view.clone());
    assert_eq!(some.candidates[0].rows, view.candidates[0].rows[1..]);
    let told = some.warnings.iter().find(|warning| warning.id == "selection").unwrap();
    assert!(told.text.starts_with("A selection: 1 of 2 steps (readrandom); "), "{}", told.text);
    assert!(some.candidates[0].summary.contains("readrandom"));
    assert!(!some.candidates[0].summary.contains("overwrite-after-fill"));
    assert_eq!((view.trials.done, some.trials.done), (56, 28));
    assert!(part.record.blocks.iter().all(|block| block.trial.step == "readrandom"));
    let all = of_steps(&["overwrite-after-fill", "readrandom"], &whole);
    assert_eq!((all.of_comparison(view.clone()), all.record), (view, whole));
}

fn of_steps(steps: &[&str], whole: &RunRecord) -> Part {
    let steps = steps.iter().map(ToString::to_string).collect();
    Selection { steps, subjects: Vec::new() }.of(whole.clone()).unwrap()
}

#[test]
fn a_group_is_shown_with_all_its_steps_or_not_at_all() {
    let view = comparison();
    let mut record = record(&Truth { write: 1.0, read: 1.0 });
    record.plan.steps = view.candidates[0].rows.iter().map(|row| row.step.clone()).collect();
    let only =
        |steps: &[&str]| of_steps(steps, &record).of_comparison(view.clone()).candidates[0].groups.len();
    assert_eq!((only(&["fillseq", "overwrite", "readrandom"]), only(&["fillseq", "readrandom"])), (1, 0));
}

#[test]
fn the_verdicts_are_those_of_the_view() {
    let view = comparison();
    let run: RunVerdicts<'_> = verdicts::of_comparison(&view);
    let contention = run.steps.iter().find(|step| step.step == "seekrandom").unwrap();
    assert_eq!(contention.deciding.metric, Metric::OpsPerSecondAdjusted.name());
    let unmeasured = run.steps.iter().find(|step| step.step == "readwhilewriting").unwrap();
    let reason = unmeasured.not_measured.as_deref().unwrap();
    assert!(reason.contains("no launch has a rate on both sides"), "{reason}");
    assert_eq!(run.steps.iter().filter(|step| step.not_measured.is_some()).count(), 1);
}

#[test]
fn json_of_build_noise_is_of_the_schema() {
    let view = crate::build_noise::build(&record(&Truth { write: 1.0, read: 1.0 }));
    crate::schema_check::check("build_noise", &crate::build_noise::json(&view).unwrap());
}

#[test]
fn exported_records_have_every_value_of_the_store() {
    let record = record(&Truth { write: 1.0, read: 0.95 });
    let run = export::ExportedRun::new(&record.id, &record.plan, record.started_at_us);
    let block = &record.blocks[5];
    let rows: Vec<serde_json::Value> = export::block(&run, block)
        .iter()
        .chain(&export::counters(&run, block))
        .map(|row| serde_json::from_str(&row.json().unwrap()).unwrap())
        .collect();
    let value = |table: &str, metric: &str| {
        let row = rows.iter().find(|row| row["table"] == table && row["metric"] == metric).unwrap();
        assert_eq!(
            (&row["step"], &row["launch"]),
            (&block.trial.step.clone().into(), &block.trial.launch.into())
        );
        assert_eq!(row["block"], block.cycle);
        row["value"].as_u64().unwrap()
    };
    assert_eq!(value("blocks", "wall_ns"), block.wall.0);
    assert_eq!(value("blocks", "operations"), block.operations);
    assert_eq!(value("counters", "read_calls"), block.counters[&model::counter::Counter::ReadCalls]);
    let failed = TrialRecord {
        trial: block.trial.clone(),
        outcome: Outcome::Failed { reason: HOSTILE.to_owned() },
        latency: None,
    };
    let rows = export::trial(&run, &failed.trial, Some(&failed));
    let text: String = rows.iter().map(export::LongRow::csv).collect();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let read: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!((&read[0][11], &read[1][9], &read[1][11]), ("failed", "reason", HOSTILE));
    let unfinished = export::trial(&run, &failed.trial, None);
    assert!(unfinished[0].csv().ends_with(",outcome,,unfinished\n"), "{}", unfinished[0].csv());
    // 0.95 with four blocks of 100 ms in each launch.
    let values = export::values(&record);
    assert_eq!(values.len(), record.trials.len());
    let rate = values.iter().flat_map(|trial| trial.rows(&run)).find_map(|row| {
        let row: serde_json::Value = serde_json::from_str(&row.json().unwrap()).unwrap();
        let is_it = row["metric"] == "ops_per_s" && row["step"] == "readrandom" && row["side"] == 1;
        is_it.then(|| row["value"].as_f64().unwrap())
    });
    let blocks = record
        .blocks
        .iter()
        .filter(|one| one.trial.step == "readrandom" && one.trial.side == 1 && one.trial.launch == 1);
    let operations: u64 = blocks.map(|one| one.operations).sum();
    assert!((rate.unwrap() - operations as f64 / 0.4).abs() < 1e-6, "{rate:?}");
}

#[test]
fn a_summary_of_long_names_and_many_candidates_is_cut_at_what_github_takes() {
    let mut view = comparison();
    for (index, row) in view.candidates[0].rows.iter_mut().enumerate() {
        row.step = format!("{index}{}", "long".repeat(2_500));
    }
    view.candidates =
        (1..=30).map(|side| crate::view::CandidateView { side, ..view.candidates[0].clone() }).collect();
    assert!(crate::markdown::render(&view).len() > 2 * step_summary::MOST_BYTES);
    let text = summary_of(&view);
    assert!(text.len() <= step_summary::MOST_BYTES, "{}", text.len());
    assert!(text.starts_with("### dbdyno quick, base rocksdb@8.5.4: 30 slower"), "{}", &text[..200]);
    let last = text.lines().last().unwrap();
    assert!(last.contains("Cut here: ") && last.contains("dbdyno report 20261121-091500-3fa9"), "{last}");
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
}
