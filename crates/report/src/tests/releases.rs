//! What the formats make of twenty releases of an engine in five steps, two of which changed on the way.

use super::samples::{comparison, finding};
use super::{assert_no_line_is_wider, plain, shown};
use crate::document::{Block, Matrix};
use crate::render::{Format, Options, Output, TextOptions, html, render};
use findings::comparison::{
    Change, ChangeKind, ComparedMetric, ComparedStep, Repeats, StepView, SubjectView, VisibleChange,
};
use findings::{Comparison, Finding};
use model::metric::Metric;
use model::verdict::{Layout, Verdict};

/// The base first.
const VERSIONS: [&str; 20] = [
    "6.29.5", "7.0.4", "7.3.1", "7.6.0", "7.10.2", "8.0.0", "8.1.1", "8.3.3", "8.5.4", "8.6.7", "8.7.3",
    "8.9.2", "8.11.4", "9.0.1", "9.2.2", "9.4.0", "9.6.2", "9.8.4", "9.10.0", "10.10.1",
];

/// A step: its name, the rate of the base, the half width of its intervals (ln), where it changes and by what.
struct Truth {
    step: usize,
    rate: f64,
    half: f64,
    change: Option<(usize, f64)>,
}

/// In the order of the sample's steps.
const TRUTHS: [Truth; 5] = [
    Truth { step: 0, rate: 1_204_117.0, half: 0.031, change: None },
    Truth { step: 1, rate: 402_900.0, half: 0.024, change: Some((9, 0.655)) },
    Truth { step: 2, rate: 88_412.0, half: 0.045, change: None },
    Truth { step: 3, rate: 612_345.2, half: 0.012, change: Some((14, 0.938)) },
    Truth { step: 4, rate: 98_321.0, half: 0.015, change: None },
];

/// Within one of zero, without a pattern, the same in every test.
fn wobble(step: usize, side: usize) -> f64 {
    let mut state = (step as u64 * 7_919 + side as u64 * 104_729 + 17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    2.0 * ((state >> 40) as f64 / (1_u64 << 24) as f64) - 1.0
}

fn case(truth: &Truth, side: usize, like: &ComparedStep) -> ComparedStep {
    let ratio = truth.change.filter(|(at, _)| side >= *at).map_or(1.0, |(_, ratio)| ratio)
        * (0.3 * truth.half * wobble(truth.step, side)).exp();
    let [low, high] = [-truth.half, truth.half].map(|end| ratio * end.exp());
    let verdict = match () {
        () if high < 1.0 => Verdict::Regression,
        () if low > 0.98 && high < 1.02 => Verdict::NoChange,
        () => Verdict::Inconclusive,
    };
    let rate = ComparedMetric {
        metric: Metric::OpsPerSecond,
        base: Some(truth.rate),
        candidate: Some(truth.rate * ratio),
        ratio: Some(ratio),
        low: Some(low),
        high: Some(high),
        confidence: Some(0.99),
        error: None,
        repeats: 9,
        moved: None,
    };
    ComparedStep {
        side,
        verdict,
        decides: Some(Metric::OpsPerSecond),
        confirmed: verdict == Verdict::Regression,
        layout: Some(Layout::Beyond),
        repeats: 9,
        metrics: vec![rate],
        warnings: Vec::new(),
        ..like.clone()
    }
}

fn change(step: &StepView, at: usize, ratio: f64, kind: ChangeKind) -> Change {
    Change {
        config: "standard".to_owned(),
        step: step.name.clone(),
        metric: Metric::OpsPerSecond,
        kind,
        suspect: false,
        version: VERSIONS[at].to_owned(),
        before: VERSIONS[at - 1].to_owned(),
        location: vec![VERSIONS[at].to_owned()],
        at_edge: false,
        ratio,
        low: ratio - 0.01,
        high: ratio + 0.01,
        confidence: 0.99,
        value_before: None,
        value_after: None,
        moved: Vec::new(),
        toolchain: None,
        drift: None,
        part_of: None,
    }
}

/// Of the newest release the mixed step failed, and one of its changes is a candidate only.
fn releases(repeats: Repeats) -> Comparison {
    let mut view = comparison();
    let like = view.subjects[1].clone();
    let subject = |(side, version): (usize, &&str)| SubjectView {
        side,
        subject: format!("rocksdb@{version}"),
        label: (*version).to_owned(),
        version: (*version).to_owned(),
        config: "standard".to_owned(),
        differs: Vec::new(),
        ..like.clone()
    };
    view.subjects = VERSIONS.iter().enumerate().map(subject).collect();
    view.base = view.subjects[0].subject.clone();
    view.repeats = repeats;
    view.groups.clear();
    for (step, truth) in view.steps.iter_mut().zip(&TRUTHS) {
        let like = step.cases[0].clone();
        step.cases = (1..VERSIONS.len()).map(|side| case(truth, side, &like)).collect();
        step.shapes.clear();
        let between = 1.4 * truth.half;
        let visible = VisibleChange {
            between_binaries: Some(between.exp_m1()),
            beyond_layout: Some(between.hypot(0.023).exp_m1()),
        };
        view.visible.insert(step.name.clone(), visible);
    }
    view.steps[2].cases.pop();
    view.changes = [
        (1, 9, 0.655, ChangeKind::Step),
        (3, 14, 0.938, ChangeKind::Step),
        (4, 17, 0.985, ChangeKind::Candidate),
    ]
    .map(|(step, at, ratio, kind)| change(&view.steps[step], at, ratio, kind))
    .to_vec();
    view.searched_series = 5;
    view
}

fn found() -> Finding {
    finding(releases(Repeats::Launches))
}

/// The overview, without its charts and without what every report has.
fn overview(text: &str) -> &str {
    let (_, rest) = text.split_once("\nOverview\n").or_else(|| text.split_once("## Overview\n")).unwrap();
    let end = ["What to look at first", "QPS\n\n", "<details>"].iter().filter_map(|end| rest.find(end)).min();
    rest[..end.unwrap_or(rest.len())].trim()
}

fn asked_for_intervals(format: &str, width: usize) -> String {
    let options = Options { intervals: true, ..Options::new(plain(width)) };
    match render(&[found()], Format::named(format).unwrap(), &options).unwrap() {
        Output::Text(text) => text,
        Output::Files(_) => panic!("files"),
    }
}

#[test]
fn twenty_releases_in_text() {
    for width in [80, 120, 160] {
        let text = shown(&found(), "text", plain(width));
        assert_no_line_is_wider(&text, width);
        insta::assert_snapshot!(format!("matrix_at_{width}_columns"), overview(&text));
    }
}

#[test]
fn intervals_stand_in_the_matrix_if_they_are_asked_for() {
    for width in [80, 120] {
        let text = asked_for_intervals("text", width);
        assert_no_line_is_wider(&text, width);
        insta::assert_snapshot!(format!("matrix_with_intervals_at_{width}_columns"), overview(&text));
    }
    let bare = shown(&found(), "markdown", plain(80));
    assert!(!overview(&bare).contains("\\[0."), "{bare}");
    assert!(overview(&asked_for_intervals("markdown", 80)).contains("\\[0."));
}

#[test]
fn twenty_releases_in_markdown() {
    insta::assert_snapshot!(overview(&shown(&found(), "markdown", plain(80))));
}

#[test]
fn twenty_releases_as_a_sheet_that_is_read_back() {
    let sheet = shown(&found(), "sheet", plain(80));
    insta::assert_snapshot!(sheet);
    let read = formats::table::parse(&sheet, &formats::table::Choices::default()).unwrap();
    assert_eq!(read.len(), 5 * VERSIONS.len());
}

#[test]
fn rounds_say_so_in_the_legend_of_their_intervals() {
    let view = releases(Repeats::Rounds);
    let options = Options { intervals: true, ..Options::new(plain(120)) };
    let Output::Text(text) = render(&[finding(view)], Format::named("text").unwrap(), &options).unwrap()
    else {
        panic!("files")
    };
    assert!(
        text.replace("\n  ", " ")
            .contains("of means over rounds, 99 % for all candidates of a step together"),
        "{text}"
    );
}

#[test]
fn colour_only_repeats_the_signs_of_a_matrix() {
    let coloured = shown(&found(), "text", TextOptions { colour: true, ..plain(120) });
    assert!(coloured.contains("\x1b[31m\u{25bc}0.65\x1b[0m"), "{coloured}");
    assert_eq!(super::uncoloured(coloured), shown(&found(), "text", plain(120)));
}

#[test]
fn names_that_nobody_would_choose_stay_in_their_cells() {
    let mut view = releases(Repeats::Launches);
    let bad = "a|b\n<script>\u{1b}[2J\u{2502}\t";
    for step in &mut view.steps {
        step.name = format!("{}{bad}{}", step.name, "x".repeat(60));
    }
    for subject in view.subjects.iter_mut().skip(1) {
        subject.label = format!("{}{bad}", subject.label);
        subject.subject = format!("rocksdb@{}", subject.label);
    }
    let found = finding(view);
    for width in [80, 120, 160] {
        let text = shown(&found, "text", plain(width));
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_no_line_is_wider(overview(&text), width);
    }
    let sheet = shown(&found, "sheet", plain(80));
    let tabs = sheet.lines().find(|line| line.starts_with("1.00\t")).unwrap().matches('\t').count();
    assert_eq!(tabs, VERSIONS.len(), "{sheet}");
    assert_eq!(sheet.lines().filter(|line| line.starts_with("col-2 ")).count(), 1, "{sheet}");
    assert!(!sheet.contains('\u{1b}'), "{sheet}");
    let markdown = shown(&found, "markdown", plain(80));
    assert!(!markdown.contains("<script>"), "{markdown}");
}

fn matrix(view: Comparison) -> Matrix {
    let document = crate::document(&finding(view));
    let matrix = document.blocks().find_map(|block| match block {
        Block::Matrix(matrix) => Some(matrix.clone()),
        _ => None,
    });
    matrix.unwrap()
}

#[test]
fn only_rising_releases_of_one_configuration_are_joined_by_a_line() {
    assert!(matrix(releases(Repeats::Launches)).is_series);
    let mut mixed = releases(Repeats::Launches);
    mixed.subjects[5].config = "defaults".to_owned();
    assert!(!matrix(mixed).is_series);
    let mut falling = releases(Repeats::Rounds);
    falling.subjects.swap(3, 4);
    assert!(!matrix(falling).is_series);
}

#[test]
fn a_page_of_twenty_releases_marks_changes_and_draws_each_step() {
    let page = html::render(&crate::document(&found()));
    assert_eq!(page.matches("<svg class=\"spark\"").count(), 5);
    assert_eq!(page.matches(" changed\"").count(), 2, "confirmed changes, coloured as well");
    assert_eq!(page.matches("class=\"perhaps\"").count(), 1);
    assert!(page.contains("slower by 6.2 % [5.2, 7.2] from 9.2.2 on (9.0.1 before it)"));
    let row = page.split("data-group=\"point\"").nth(2).unwrap();
    insta::assert_snapshot!(row.split("</tr>").next().unwrap().replace("><", ">\n<"));
}
