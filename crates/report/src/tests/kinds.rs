//! Calibrations and build noise, and which format shows which kind.

use super::{plain, shown};
use crate::document::Block;
use crate::render::{FORMATS, Format, Options, Output, RenderError, render};
use crate::schema_check::check;
use crate::{bisection, document, explanation, history, import, json, kind};
use analysis::build_noise::BuildNoise;
use findings::calibration::{CalibrationView, Honesty};
use findings::{Finding, build_noise, calibration};
use model::verdict::Verdict;
use testing::compared::{EQUAL, Truth, record};

fn calibrated() -> CalibrationView {
    let mut record = record(&EQUAL);
    record.plan.subjects[1] = record.plan.subjects[0].clone();
    let mut view = calibration::build(&[record], &[]).unwrap();
    // Figures are set by hand, so that the snapshot holds the layout and not the arithmetic of analysis.
    for (row, scale) in view.rows.iter_mut().zip([3.0, 1.0]) {
        for (noise, sd) in row.metrics.iter_mut().zip([0.013, 0.011, 0.004]) {
            (noise.ratio, noise.p_value) = (Some(1.002), 0.31);
            noise.launch_sd = Some(sd * scale);
            noise.visible_change = Some(1.2 * sd * scale);
        }
    }
    view.rows[1].metrics[0].image_sd = Some(0.0051);
    for (row, e_value) in view.rows.iter_mut().zip([0.31, 4.5]) {
        row.self_test.e_value = e_value;
        let all = &mut row.self_test.accumulated;
        (all.e_value, all.largest) = (10.0 * e_value, 12.0 * e_value);
        (all.calibrations, all.launches) = (6, 84);
    }
    view
}

fn noisy_builds() -> Finding {
    let mut view = build_noise::build(&record(&Truth { write: 1.0, read: 0.9 }));
    view.identical = vec!["rocksdb@8.7.3 is rocksdb@8.5.4".to_owned()];
    for (step, tau) in view.steps.iter_mut().zip([0.004, 0.011]) {
        let noise = BuildNoise { tau, upper: 3.0 * tau, builds: 2, launches: 14, launch_sd: 0.003 };
        (step.rate, step.cpu) = (Some(noise), None);
    }
    Finding::BuildNoise(view)
}

#[test]
fn a_calibration_reads_well_in_every_format() {
    let mut view = calibrated();
    let finding = Finding::Calibration(view.clone());
    insta::assert_snapshot!("calibration_text", shown(&finding, "text", plain(80)));
    insta::assert_snapshot!("calibration_markdown", shown(&finding, "markdown", plain(80)));
    insta::assert_snapshot!("calibration_csv", shown(&finding, "csv", plain(80)));
    insta::assert_debug_snapshot!("calibration_document", document(&finding));
    let json = json(&finding).unwrap();
    check("calibration", &json);
    insta::assert_snapshot!("calibration_json", json);
    view.honesty = Honesty::Biased { steps: vec!["readrandom".to_owned()] };
    view.false_verdicts = vec!["readrandom in 20261121-091500-3fa9: regression".to_owned()];
    let biased = Finding::Calibration(view);
    let text = shown(&biased, "text", plain(160));
    assert!(text.contains("The harness is BIASED here: readrandom differs"), "{text}");
    assert!(text.contains("1: readrandom in 20261121-091500-3fa9: regression"), "{text}");
    assert_eq!(document(&biased).found[0].verdict, Some(Verdict::Suspect));
}

#[test]
fn a_calibration_without_a_rate_has_no_chart() {
    let mut silent = record(&EQUAL);
    silent.blocks.clear();
    let document = document(&Finding::Calibration(calibration::build(&[silent], &[]).unwrap()));
    assert_eq!(document.found[0].verdict, Some(Verdict::Inconclusive));
    let mut blocks = document.sections.iter().flat_map(|section| &section.blocks);
    assert!(!blocks.any(|block| matches!(block, Block::Figure(_))));
}

#[test]
fn build_noise_is_a_document_a_table_and_an_object() {
    let finding = noisy_builds();
    insta::assert_snapshot!("build_noise_text", shown(&finding, "text", plain(80)));
    let table = shown(&finding, "tsv", plain(80));
    assert!(table.contains("readrandom\t0.011\t0.033\t0.003\t2\t14\t-\t-\t-\t-\t-"), "{table}");
    check("build_noise", &json(&finding).unwrap());
}

#[test]
fn a_post_in_a_directory_shows_each_of_its_charts() {
    let options = Options { into_directory: true, ..Options::new(plain(80)) };
    let post = Format::named("post").unwrap();
    let Output::Files(files) = render(&[super::finding(super::comparison())], post, &options).unwrap() else {
        panic!("one text")
    };
    let [(name, text), charts @ ..] = files.as_slice() else { panic!("nothing") };
    let text = String::from_utf8(text.clone()).unwrap();
    assert_eq!((name.as_str(), charts.len()), ("post.md", 3));
    for (chart, svg) in charts {
        assert!(text.contains(&format!("]({chart})\n")) && svg.starts_with(b"<svg"), "{chart}: {text}");
    }
}

#[test]
fn several_findings_are_an_array_of_json_and_no_table() {
    let several = [super::finding(super::comparison()), noisy_builds()];
    let of = |format| render(&several, Format::named(format).unwrap(), &Options::new(plain(80)));
    let Output::Text(text) = of("json").unwrap() else { panic!("files") };
    let array: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((array.as_array().unwrap().len(), &array[0]["schema"]), (2, &1.into()));
    assert!(matches!(of("csv"), Err(RenderError::TableOfSeveral)));
    assert!(matches!(of("junit"), Err(RenderError::NotOfKind { kind: "build noise", .. })));
}

/// One finding of each kind, in the order of the table.
fn every_kind() -> [Finding; 8] {
    [
        super::finding(super::comparison()),
        Finding::Calibration(calibrated()),
        noisy_builds(),
        Finding::History(history::tests::iostat()),
        super::hosts::three(),
        Finding::Bisection(bisection::tests::view()),
        Finding::Import(import::tests::of_summary()),
        Finding::Explanation(explanation::tests::view()),
    ]
}

/// `yes`, or `-` of a format that this kind does not have and says so.
fn cell(finding: &Finding, format: &Format) -> &'static str {
    match render(std::slice::from_ref(finding), format, &Options::new(plain(80))) {
        Ok(Output::Text(text)) => assert!(!text.trim().is_empty(), "{format:?}"),
        Ok(Output::Files(files)) => {
            assert!(files.iter().all(|(_, content)| !content.is_empty()), "{format:?}")
        }
        Err(error) => {
            assert!(error.is_of_what_was_asked(), "{error}");
            if let RenderError::NotOfKind { has, .. } = &error {
                let others = FORMATS.iter().filter(|other| other.is_of(finding)).map(|other| other.name);
                assert_eq!(*has, others.collect::<Vec<_>>());
                assert!(error.to_string().contains("text, markdown, jira, json"), "{error}");
            }
            return "-";
        }
    }
    "yes"
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
const START: &str = "<!-- which format shows what: begin -->\n";
const END: &str = "<!-- which format shows what: end -->\n";

/// With `INSTA_UPDATE=always` the page is written anew.
#[test]
fn the_page_says_which_format_shows_which_kind() {
    let kinds = every_kind();
    let row = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut table = row(std::iter::once("format").chain(kinds.iter().map(kind)).collect());
    table += &row(vec!["---"; kinds.len() + 1]);
    for format in FORMATS {
        let name = format!("`{}`", format.name);
        let cells = kinds.iter().map(|finding| cell(finding, format));
        table += &row(std::iter::once(name.as_str()).chain(cells).collect());
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(PAGE, format!("{before}{START}\n{table}\n{END}{after}")).unwrap();
    } else {
        assert_eq!(shown.trim(), table.trim(), "docs/formats.md is not what the formats are");
    }
}
