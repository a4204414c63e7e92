//! What a page is made of, as far as it can be told without a browser; the rest is in xtask's end-to-end cases.

use super::*;
use crate::charts::{BarSeries, Bars, Chart, Point};
use crate::document::{
    Cell, Figure, Kind, Matrix, MatrixCell, MatrixRow, Merge, Table, Timeline, TimelineLine, TimelineMetric,
    Tone,
};
use crate::tests::hostile::fill;
use model::figures::quantity;
use model::verdict::Verdict;
use std::collections::BTreeSet;

fn small() -> Document {
    let mut sides = Table::new(&[("side", Kind::Name), ("QPS\nbase", Kind::Number), ("verdict", Kind::Word)]);
    sides.fill([[Cell::from("rocksdb@8.7.3"), "612,345".into(), Cell::toned("regression", Tone::Bad)]]);
    let cell = MatrixCell {
        text: "0.94".into(),
        ratio: Some(0.941),
        low: Some(0.93),
        high: Some(0.952),
        sign: Some(Sign::Slower),
        detail: "14 launches, 99 % interval".into(),
    };
    let row = |step: &str, section: Option<&str>, cell| MatrixRow {
        step: step.into(),
        section: section.map(str::to_owned),
        group: "point".into(),
        base_value: "612,345".into(),
        cells: vec![cell],
        ..MatrixRow::default()
    };
    let matrix = Matrix {
        caption: "Relative QPS".into(),
        base: "rocksdb@8.5.4".into(),
        candidates: vec!["rocksdb@8.7.3".into()],
        rows: vec![row("readrandom", Some("step-readrandom"), Some(cell)), row("seekrandom", None, None)],
        legend: "\u{25bc} slower.".into(),
        ..Matrix::default()
    };
    let bars = Bars {
        title: "Relative QPS".into(),
        axis: "relative QPS".into(),
        reference: 1.0,
        confidence: None,
        labels: vec!["readrandom".into()],
        series: vec![BarSeries {
            name: "rocksdb@8.7.3".into(),
            values: vec![Some(Point { value: 0.941, low: None, high: None })],
        }],
    };
    let figure = Figure { name: "bars".into(), caption: "Bars of it.".into(), chart: Chart::Bars(bars) };
    let items = vec!["one".into(), "two".into()];
    let of_step = vec![
        Block::Paragraph("One step.".into()),
        Block::Table(sides.captioned("Sides")),
        Block::Timeline(timeline("t-readrandom", 2, 3, 1)),
        Block::Verbatim("readrandom : 1.6 micros/op\n".into()),
    ];
    Document {
        title: "rocksdb@8.5.4 against rocksdb@8.7.3".into(),
        kind: "comparison",
        runs: vec!["20261121-091500-3fa9".into()],
        found: vec![
            Sentence { verdict: Some(Verdict::Regression), text: "It is slower on readrandom.".into() },
            Sentence { verdict: None, text: "Nothing else was measured.".into() },
        ],
        intro: vec!["Workload quick tells the CPU cost.".into()],
        warnings: vec![Notice {
            id: "busy-host".into(),
            step: Some("readrandom".into()),
            text: "load 3".into(),
        }],
        sections: vec![
            Section::new("facts", "Facts", vec![Block::Items(items), Block::Figure(figure)]),
            Section::new("overview", "Overview", vec![Block::Matrix(matrix)]),
            Section::new("step-readrandom", "readrandom", of_step).at(Level::Folded),
        ],
        command: Some("dbdyno compare rocksdb@8.5.4 rocksdb@8.7.3".into()),
        footer: vec!["Host bench-1.".into()],
    }
}

/// Noisy lines: a rate and a latency, twice.
fn timeline(id: &str, subjects: usize, points: u64, salt: u64) -> Timeline {
    let metric =
        |name: &str, merge| TimelineMetric { name: name.into(), unit: "1/s".into(), scale: 1.0, merge };
    let noisy = |seed: u64, center: u64| -> Vec<Option<u64>> {
        // About a twentieth of the center, as rates of a quiet machine are.
        (0..points).map(|at| Some(center + (noise(at + seed) >> 40) * center / (20 << 24))).collect()
    };
    let line = |index: usize| {
        let seed = salt * 1_000_003 + index as u64 * 7919;
        let centers = [612_345, 9_000, 1_250_000, 80_000_000];
        TimelineLine {
            subject: format!("subject {index}"),
            round: 1,
            values: (0..).zip(centers).map(|(metric, center)| noisy(seed + metric * 31, center)).collect(),
        }
    };
    Timeline {
        id: id.into(),
        caption: "Second by second.".into(),
        x: "second",
        metrics: vec![
            metric("operations", Merge::Mean),
            metric("p99 latency", Merge::Largest),
            metric("reads", Merge::Mean),
            metric("device bytes", Merge::Mean),
        ],
        lines: (0..subjects).map(line).collect(),
    }
}

/// Bits without a pattern that a compressor could find (SplitMix64).
pub(super) fn noise(seed: u64) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Values of an attribute in the order of the page.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// One element a line. Packed points are left out: they are other bytes for each version of the compressor.
fn lines(markup: &str) -> String {
    let mut parts = markup.split("octet-stream\">");
    let mut lines = parts.next().unwrap().to_owned();
    for part in parts {
        lines.push_str("octet-stream\">(points)");
        lines.push_str(&part[part.find('<').unwrap()..]);
    }
    lines.replace("><", ">\n<")
}

#[test]
fn a_small_page() {
    let mut document = small();
    // Charts have snapshots of their own.
    for section in &mut document.sections {
        section.blocks.retain(|block| !matches!(block, Block::Figure(_)));
    }
    insta::assert_snapshot!(lines(&body(&document, &Packs::none()).into_string()));
}

#[test]
fn what_was_found_stands_before_all_else() {
    let page = body(&small(), &Packs::none()).into_string();
    let places =
        ["<h1>", "It is slower", "busy-host", "id=\"overview\"", "tells the CPU cost", "id=\"facts\""]
            .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part}")));
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page.matches("id=\"overview\"").count(), 1, "shown once");
}

#[test]
fn the_overview_of_one_of_several_runs_stays_where_it_is() {
    let mut document = small();
    document.runs.push("20261121-101500-7b02".into());
    let page = body(&document, &Packs::none()).into_string();
    let places = ["tells the CPU cost", "id=\"facts\"", "id=\"overview\""]
        .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part}")));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn nothing_is_fetched_and_no_style_stands_in_an_attribute() {
    let page = render(&small());
    assert_eq!(values(&page, "style"), Vec::<&str>::new());
    assert_eq!(values(&page, "src"), Vec::<&str>::new());
    for address in values(&page, "href") {
        assert!(address.starts_with('#') || address == "data:,", "{address}");
    }
    // Names of XML are no addresses.
    let named = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!named.contains("http:") && !named.contains("https:") && !named.contains("//cdn"));
}

#[test]
fn ids_are_unique_and_links_lead_somewhere() {
    let page = body(&small(), &Packs::none()).into_string();
    let ids = values(&page, "id");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    for address in values(&page, "href") {
        assert!(ids.contains(&address.trim_start_matches('#')), "{address} of {ids:?}");
    }
}

#[test]
fn a_hostile_text_stays_text_wherever_it_stands() {
    let bad = "</script><script>alert(1)</script><b onclick=x>\"'\n\u{0}\u{1b}[31m";
    let long = format!("{bad}{}", "y".repeat(10_000));
    let mut document = small();
    fill(&mut document, bad, &long);
    let page = render(&document);
    assert!(!page.contains("<b onclick") && !page.contains("<script>alert"), "markup got through");
    assert_eq!(page.matches("<script").count(), 2, "the script and the points of one timeline");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains('\u{0}') && !page.contains('\u{1b}'), "a control character got through");
    assert!(page.matches("&lt;b onclick=x&gt;&quot;").count() > 20, "the text itself is shown");
    assert_eq!(values(&page, "onclick"), Vec::<&str>::new());
}

#[test]
fn forty_two_steps_of_ten_builds_and_an_hour_stay_below_two_megabytes() {
    let mut document = small();
    let step = |index: usize| {
        let blocks = vec![Block::Timeline(timeline(&format!("t-{index}"), 10, 3600, index as u64))];
        Section::new(format!("step-{index}"), format!("step {index}"), blocks).at(Level::Folded)
    };
    document.sections.extend((0..42).map(step));
    let page = render(&document);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.len() > 600_000, "{} bytes: more points would have fitted", page.len());
    let strides: BTreeSet<&str> = values(&page, "data-stride").into_iter().collect();
    assert_eq!(strides.len(), 1, "{strides:?}");
    let stride = strides.first().unwrap();
    assert_ne!(*stride, "1");
    let said = format!(
        "Each point covers {stride} seconds: the mean of operations, reads and device bytes, the largest of p99 latency. \
         Every single second: <code>dbdyno report 20261121-091500-3fa9 --step NAME --format html</code>, or <code>--format \
         csv</code>."
    );
    assert_eq!(page.matches(&said).count(), 43);
}

#[test]
fn a_long_list_of_warnings_is_folded_after_the_first() {
    let mut document = small();
    document.warnings = vec![document.warnings[0].clone(); 9];
    let page = body(&document, &Packs::none()).into_string();
    assert!(page.contains("<summary>4 more</summary>"), "{page}");
}

/// The same table is put to the script in a browser.
#[test]
fn quantities_read_as_in_the_table_that_the_script_is_tested_with() {
    let table = include_str!("../../../fixtures/figures.tsv");
    let lines: Vec<(&str, &str)> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .collect();
    assert!(lines.len() > 30);
    for (value, text) in lines {
        assert_eq!(quantity(value.parse().unwrap()), text, "{value}");
    }
}
