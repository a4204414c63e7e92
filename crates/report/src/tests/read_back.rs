//! Formats for other programs: each is read back and compared with the view that it was made from.

use super::samples::{comparison, found, note};
use super::{csv_rows, of, plain, shown};
use crate::render::Options;
use crate::render::separated::number;
use findings::Comparison;
use findings::comparison::{ComparedStep, SubjectView};
use findings::judge::Evidence;
use model::metric::Metric;
use model::record::RunStatus;
use model::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use testing::compared::{Truth, record};

/// Everything that could end a cell, a tag, a label or a line.
pub(crate) const HOSTILE: &str =
    "a|b,c\t\"d\" 'e' <img src=x onerror=y> &amp; `f` \\ {g}\r\n# h\n] ](x) \u{1b}[31m \u{202e}";

#[test]
fn csv_read_back_has_the_figures_of_the_view() {
    let view = comparison();
    let text = of(&view, "csv");
    let rows = csv_rows(&text);
    assert_eq!(rows.len(), 2 * view.steps.len());
    for (step, case) in view.cases() {
        let lines: Vec<_> = rows.iter().filter(|line| line["step"] == step.name).collect();
        let [base, candidate] = lines.as_slice() else { panic!("{} has {} lines", step.name, lines.len()) };
        let deciding = case.deciding().unwrap();
        assert_eq!(candidate["rel_ops_sec"], number(deciding.ratio));
        assert_eq!(candidate["rel_low"], number(deciding.low));
        assert_eq!(candidate["rel_high"], number(deciding.high));
        assert_eq!(candidate["base_ops_sec"], number(case.metrics[0].base));
        assert_eq!((base["verdict"].as_str(), candidate["verdict"].as_str()), ("-", case.verdict.name()));
        for metric in &case.metrics {
            let shown = |value: Option<f64>| number(value.map(|value| value / metric.metric.scale()));
            let header = metric.metric.header();
            assert_eq!(candidate[header], shown(metric.candidate), "{header}");
            assert_eq!(base[header], shown(metric.base), "{header}");
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

#[test]
fn a_name_that_looks_like_a_formula_is_text_in_a_spreadsheet_and_read_back_as_it_was() {
    let mut view = comparison();
    let name = "=HYPERLINK(1)";
    view.steps.iter_mut().find(|step| step.name == "readrandom").unwrap().name = name.to_owned();
    let rows = csv_rows(&of(&view, "csv"));
    assert_eq!(rows.iter().filter(|row| row["step"] == format!("'{name}")).count(), 2);
    let sheet = of(&view, "sheet");
    assert!(sheet.lines().any(|line| line.ends_with(&format!("\t'{name}"))), "{sheet}");
    let read = formats::table::parse(&sheet, &formats::table::Choices::default()).unwrap();
    assert_eq!(read.iter().filter(|value| value.step == name).count(), view.subjects.len());
}

/// The elements of this name, in document order.
fn elements<'a, 'i>(document: &'a roxmltree::Document<'i>, name: &str) -> Vec<roxmltree::Node<'a, 'i>> {
    document.descendants().filter(|node| node.has_tag_name(name)).collect()
}

#[test]
fn junit_read_back_has_a_case_for_each_step_and_fails_where_the_gate_does() {
    let view = comparison();
    let text = of(&view, "junit");
    let document = roxmltree::Document::parse(&text).unwrap();
    let cases = elements(&document, "testcase");
    let names: Vec<&str> = cases.iter().filter_map(|case| case.attribute("name")).collect();
    let steps: Vec<&str> = view.steps.iter().map(|step| step.name.as_str()).collect();
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
    let all = samples(&of(&view, "openmetrics"));
    let value = |name: &str, step: &str, side: &str| {
        let is_it = |one: &&Sample| {
            one.name == name
                && one.labels.get("step").is_some_and(|of| of == step)
                && one.labels.get("side").is_some_and(|of| of == side)
        };
        all.iter().find(is_it).map(|one| one.value)
    };
    let scaled = |figure: Option<f64>, factor: f64| figure.map(|value| value * factor);
    for (step, case) in view.cases() {
        let step = step.name.as_str();
        let deciding = case.deciding().unwrap();
        assert_eq!(value("dbdyno_step_relative_rate_ratio", step, "1"), deciding.ratio);
        assert_eq!(value("dbdyno_step_relative_rate_low_ratio", step, "1"), deciding.low);
        assert_eq!(value("dbdyno_step_relative_rate_high_ratio", step, "1"), deciding.high);
        let (rate, cpu) = (&case.metrics[0], case.metric(Metric::CpuMicrosPerOp).unwrap());
        assert_eq!(value("dbdyno_value_ops_per_second", step, "0"), rate.base);
        assert_eq!(value("dbdyno_value_ops_per_second", step, "1"), rate.candidate);
        assert_eq!(value("dbdyno_value_cpu_per_op_seconds", step, "1"), scaled(cpu.candidate, 1e-6));
        let states: Vec<(&str, f64)> = all
            .iter()
            .filter(|one| one.name == "dbdyno_step_verdict" && one.labels["step"] == step)
            .map(|one| (one.labels["dbdyno_step_verdict"].as_str(), one.value))
            .collect();
        assert_eq!(states.len(), 6);
        let holding: Vec<&str> =
            states.iter().filter(|(_, value)| *value > 0.5).map(|(name, _)| *name).collect();
        assert_eq!(holding, [case.verdict.name()]);
    }
}

#[test]
fn benchstat_read_back_has_the_figures_of_the_view() {
    let record = record(&Truth { write: 1.0, read: 0.95 });
    let text = shown(&found(&record), "benchstat", plain(80));
    insta::assert_snapshot!("benchstat_of_a_record", text);
    let view = Comparison::of(&record, &Evidence::default());
    let case = &view.steps[1].cases[0];
    let wall = &case.metrics[0];
    let line = text.lines().find(|line| line.starts_with("readrandom")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let rate = |word: &str| 1e3 * word.strip_suffix('k').unwrap().parse::<f64>().unwrap();
    for (word, value) in [(words[1], wall.base), (words[4], wall.candidate)] {
        assert!((rate(word) / value.unwrap() - 1.0).abs() < 1e-3, "{word} {value:?}");
    }
    let change = 100.0 * (wall.ratio.unwrap() - 1.0);
    assert_eq!(words[7], format!("{change:+.2}%"));
    assert!(line.ends_with(&format!("n={})", case.repeats)), "{line}");
    // The base is the same in all launches, the candidate scatters by some tenths of a percent.
    assert_eq!((words[3], words[6]), ("0%", "0%"));
}

#[test]
fn hostile_names_leave_no_format() {
    let mut view = comparison();
    let long = "x".repeat(10_000);
    for (index, name) in [HOSTILE.to_owned(), long].into_iter().enumerate() {
        let step = &mut view.steps[3 + index];
        (step.cases[0].verdict, step.cases[0].confirmed) = (Verdict::Regression, true);
        step.cases[0].warnings.push(note("hostile", &name));
        view.trials.reasons[0].reason = name.clone();
        step.name = name;
    }
    (view.subjects[1].subject, view.subjects[1].label) = (HOSTILE.to_owned(), HOSTILE.to_owned());
    view.base = HOSTILE.to_owned();
    view.run.workload = HOSTILE.to_owned();
    view.warnings[0].warning = note("busy-host", HOSTILE);
    view.host.name = HOSTILE.to_owned();

    let xml = of(&view, "junit");
    let document = roxmltree::Document::parse(&xml).unwrap();
    let named =
        |name: &str| elements(&document, "testcase").iter().any(|case| case.attribute("name") == Some(name));
    // What XML cannot hold is replaced; the rest is as it was.
    assert!(named(&HOSTILE.replace('\u{1b}', "\u{fffd}")), "{xml}");
    let labels = samples(&of(&view, "openmetrics"));
    assert!(labels.iter().any(|one| one.labels.get("step").is_some_and(|step| step == HOSTILE)));

    let csv = of(&view, "csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert!(rows.iter().any(|row| &row[0] == HOSTILE && &row[1] == HOSTILE));
    let tsv = of(&view, "tsv");
    let widths: BTreeSet<usize> = tsv.lines().map(|line| line.split('\t').count()).collect();
    assert_eq!((widths.len(), tsv.lines().count()), (1, 11));

    for format in ["step-summary", "post", "markdown"] {
        // No Markdown is read on the line of a tag.
        let shown = of(&view, format);
        let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with("<details><summary>")).collect();
        let text = lines.join("\n");
        assert!(!shown.contains("<img"), "{shown}");
        for part in ["<img", "\u{1b}", "\n# h", "`f`"] {
            assert!(!text.contains(part), "{part:?} in {text}");
        }
        assert!(text.contains(&"x".repeat(10_000)));
    }
    let go = of(&view, "benchstat");
    assert!(!go.contains('\u{1b}') && !go.contains("\n# h") && !go.contains('\t'), "{go}");
}

#[test]
fn what_is_not_done_is_seen_in_every_format() {
    let mut view = comparison();
    view.run.status = RunStatus::Unfinished;
    let reason = "the worker was killed by signal 11";
    for format in ["junit", "step-summary", "post", "benchstat", "markdown", "jira", "text"] {
        let text = of(&view, format).to_lowercase();
        assert!(text.contains("unfinished") && text.contains(reason), "{text}");
    }
    let table = of(&view, "tsv");
    assert!(table.lines().skip(1).all(|line| line.contains("\tunfinished\t")), "{table}");
    let metrics = samples(&of(&view, "openmetrics"));
    let status =
        metrics.iter().find(|one| one.labels.get("dbdyno_run_status").is_some_and(|of| of == "unfinished"));
    assert!((status.unwrap().value - 1.0).abs() < 1e-9);
    let failed = metrics.iter().find(|one| one.labels.get("outcome").is_some_and(|of| of == "failed"));
    assert!((failed.unwrap().value - 2.0).abs() < 1e-9);
}

#[test]
fn a_summary_of_long_names_and_many_candidates_is_cut_at_what_github_takes() {
    let mut view = comparison();
    let subject = view.subjects[1].clone();
    view.subjects.extend((2..=30).map(|side| SubjectView { side, ..subject.clone() }));
    for (index, step) in view.steps.iter_mut().enumerate() {
        step.name = format!("{index}{}", "long".repeat(2_500));
        let case = step.cases[0].clone();
        step.cases.extend((2..=30).map(|side| ComparedStep { side, ..case.clone() }));
    }
    let most = Options::new(plain(80)).most_bytes;
    assert!(of(&view, "markdown").len() > 2 * most);
    let text = of(&view, "step-summary");
    assert!(text.len() <= most, "{}", text.len());
    assert!(text.starts_with("### dbdyno: quick: 30 candidates against rocksdb@8.5.4\n"), "{}", &text[..200]);
    let last = text.lines().last().unwrap();
    assert!(last.contains("Cut here: ") && last.contains("dbdyno report 20261121-091500-3fa9"), "{last}");
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
}
