//! A bisection that had all that can happen, and one that was refused.

use super::*;
use crate::charts::{Chart, Mark, Releases};
use crate::document::{Block, Document, Figure};
use crate::json;
use crate::tests::{plain, shown};
use analysis::bisect::{
    Compared, Findings, Fitted, FoundStep, Launches, Measurement, NotConfirmed, Outcome, Stretch,
    StretchReport, Suspected, Wanted,
};
use findings::Finding;
use findings::bisection::{BisectView, Searched, VersionFacts, build};
use model::metric::Metric;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;

fn compared(verdict: Verdict, ratio: f64) -> Compared {
    Compared {
        verdict,
        layout: Some(Layout::Beyond),
        ratio: Some(ratio),
        low: Some(ratio - 0.05),
        high: Some(ratio + 0.04),
        launch_sd: Some(0.02),
        launches: 12,
    }
}

fn version(name: &str, not_measurable: Option<&str>) -> VersionFacts {
    VersionFacts { name: name.to_owned(), summary: None, not_measurable: not_measurable.map(str::to_owned) }
}

/// A stretch of which no more is known than its ends and how its search ended.
fn stretch(good: usize, bad: usize, ends: Option<Compared>, outcome: Outcome) -> StretchReport {
    StretchReport {
        stretch: Stretch { good, bad },
        ends,
        fitted: None,
        suspected: Vec::new(),
        not_confirmed: Vec::new(),
        outcome,
    }
}

fn searched() -> Searched {
    let step = FoundStep {
        last_good: 1,
        first_bad: 3,
        candidates: vec![2, 3],
        probability: 0.974,
        confirmation: Some(compared(Verdict::Regression, 0.871)),
        confirmed: true,
        remainder: None,
    };
    let suspected = [(1, 0.001), (2, 0.487), (3, 0.487), (4, 0.025)]
        .map(|(version, probability)| Suspected { version, probability });
    let whole = StretchReport {
        suspected: suspected.to_vec(),
        not_confirmed: vec![NotConfirmed {
            between: Stretch { good: 3, bad: 4 },
            compared: compared(Verdict::NoChange, 0.998),
        }],
        ..stretch(0, 4, Some(compared(Verdict::Regression, 0.862)), Outcome::Step(step))
    };
    let part = StretchReport {
        fitted: Some(Fitted { ratio: 0.99, low: 0.97, high: 1.011 }),
        ..stretch(3, 4, None, Outcome::NoDifference)
    };
    Searched {
        id: "bisect-20261121-160000-abcd".to_owned(),
        seed: 7,
        workload: "quick".to_owned(),
        step: "readrandom".to_owned(),
        metric: Metric::OpsPerSecond,
        wanted: Wanted::Regression,
        alpha: 0.01,
        versions: vec![
            version("rocksdb@8.0.0", None),
            version("rocksdb@8.1.1", None),
            version("rocksdb@8.2.1", Some("cannot fetch it\x1b[31m")),
            version("rocksdb@8.3.3", None),
            version("rocksdb@8.4.4", None),
        ],
        findings: Findings {
            stretches: vec![whole, part],
            launches: Launches { ends: 14, search: 3, confirmation: 12 },
        },
        measurements: [(1, -0.004), (3, -0.13), (3, -0.14)]
            .map(|(version, value)| Measurement { anchor: 0, version, value })
            .to_vec(),
        stopped: None,
        seconds: 83.2,
        warnings: vec![Warning::VirtualMachine],
        command: "dbdyno bisect --good rocksdb@8.0.0 --bad rocksdb@8.4.4 --step readrandom --seed 7"
            .to_owned(),
    }
}

pub(crate) fn view() -> BisectView {
    build(&searched())
}

fn refused() -> BisectView {
    let whole = stretch(0, 4, Some(compared(Verdict::Inconclusive, 1.003)), Outcome::NoDifference);
    let launches = Launches { ends: 12, search: 0, confirmation: 0 };
    let findings = Findings { stretches: vec![whole], launches };
    build(&Searched { findings, measurements: Vec::new(), ..searched() })
}

fn as_text(view: &BisectView, width: usize) -> String {
    shown(&Finding::Bisection(view.clone()), "text", plain(width))
}

#[test]
fn a_bisection_reads_as_text() {
    insta::assert_snapshot!(as_text(&view(), 100));
}

#[test]
fn a_bisection_is_a_document() {
    insta::assert_debug_snapshot!(document(&view()));
}

fn chart(document: &Document) -> Option<&Releases> {
    document.sections.iter().flat_map(|section| &section.blocks).find_map(|block| match block {
        Block::Figure(Figure { chart: Chart::Releases(chart), .. }) => Some(chart),
        _ => None,
    })
}

#[test]
fn the_chart_has_what_was_measured_and_marks_the_step() {
    let found = document(&view());
    let drawn = chart(&found).unwrap();
    // 8.2.1 cannot be measured and is not drawn.
    assert_eq!(drawn.releases, ["rocksdb@8.0.0", "rocksdb@8.1.1", "rocksdb@8.3.3", "rocksdb@8.4.4"]);
    assert_eq!(drawn.lines[0].changes, [Mark { release: 2, confirmed: true }]);
    let values: Vec<f64> = drawn.lines[0].points.iter().flatten().map(|point| point.value).collect();
    assert_eq!(values.len(), 4);
    assert!((values[0] - 1.0).abs() < 1e-12 && (values[3] - 0.862).abs() < 1e-12, "{values:?}");
    assert_eq!(found.found[0].verdict, Some(Verdict::Regression));

    let mut open = searched();
    if let Outcome::Step(step) = &mut open.findings.stretches[0].outcome {
        (step.confirmed, step.confirmation) = (false, None);
    }
    open.stopped = Some("the time is up".to_owned());
    let open = document(&build(&open));
    assert_eq!(chart(&open).unwrap().lines[0].changes, [Mark { release: 2, confirmed: false }]);
    assert_eq!(open.found[0].verdict, Some(Verdict::Suspect));
    assert_eq!(open.warnings[0].id, "stopped");

    let refused = document(&refused());
    assert_eq!(refused.found[0].verdict, Some(Verdict::Inconclusive));
    assert!(refused.found[0].text.contains("[0.953, 1.043]"), "{:?}", refused.found);
    assert_eq!(chart(&refused).unwrap().releases, ["rocksdb@8.0.0", "rocksdb@8.4.4"]);
}

#[test]
fn a_refusal_tells_the_interval_of_the_ends() {
    let shown = as_text(&refused(), 100);
    assert!(refused().is_refused() && shown.contains("[0.953, 1.043]"), "{shown}");
    assert!(shown.contains("rocksdb@8.4.4 is not shown to be slower than rocksdb@8.0.0"), "{shown}");
}

#[test]
fn a_step_that_was_not_confirmed_or_is_one_of_several_says_so() {
    let mut unconfirmed = searched();
    if let Outcome::Step(step) = &mut unconfirmed.findings.stretches[0].outcome {
        (step.confirmed, step.confirmation) = (false, None);
    }
    let shown = as_text(&build(&unconfirmed), 200);
    assert!(
        shown.contains("may be rocksdb@8.2.1 or rocksdb@8.3.3 (probability 97.4 %): not confirmed"),
        "{shown}"
    );
    let mut several = searched();
    several.findings.stretches[0].outcome = Outcome::Several;
    let step = FoundStep {
        last_good: 0,
        first_bad: 1,
        candidates: vec![1],
        probability: 1.0,
        confirmation: Some(compared(Verdict::Regression, 0.9)),
        confirmed: true,
        remainder: None,
    };
    let searched = |good, bad, outcome| stretch(good, bad, Some(compared(Verdict::Regression, 0.9)), outcome);
    several.findings.stretches.push(searched(0, 1, Outcome::Step(step.clone())));
    let second = FoundStep { last_good: 3, first_bad: 4, candidates: vec![4], ..step };
    several.findings.stretches.push(searched(3, 4, Outcome::Step(second)));
    let shown = as_text(&build(&several), 300);
    assert!(shown.contains("There is more than one change; the others: rocksdb@8.4.4"), "{shown}");
}

#[test]
fn the_contract_comes_first_in_json() {
    let shown = json(&Finding::Bisection(view())).unwrap();
    crate::schema_check::check("bisect", &shown);
    let keys: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("  \""))
        .filter_map(|line| line.trim().split('"').nth(1))
        .collect();
    assert_eq!(keys[..6], ["schema", "first_bad", "probability", "confirmed", "launches", "tried"]);
    let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value["first_bad"], "rocksdb@8.3.3");
    assert_eq!(value["launches"], 29);
    assert_eq!(value["tried"].as_array().unwrap().len(), 5);
    assert_eq!(value["tried"][2]["status"], "not-measurable");
    let refused: serde_json::Value =
        serde_json::from_str(&json(&Finding::Bisection(refused())).unwrap()).unwrap();
    assert!(refused.get("first_bad").is_none() && refused["confirmed"] == false);
}

#[test]
fn what_is_kept_reads_back_as_it_was() {
    let mut searched = searched();
    // Two that nobody tried, on either side of one that was.
    searched.versions.insert(2, version("rocksdb@8.1.2", None));
    searched.versions.insert(4, version("rocksdb@8.2.2", None));
    let view = build(&searched);
    let names = |view: &BisectView| view.versions().iter().map(|one| one.version.clone()).collect::<Vec<_>>();
    assert_eq!(names(&view), searched.versions.iter().map(|facts| facts.name.clone()).collect::<Vec<_>>());
    let kept: BisectView = serde_json::from_str(&serde_json::to_string(&view).unwrap()).unwrap();
    assert_eq!(kept, view);
    assert_eq!(document(&kept), document(&view));
}

#[test]
fn a_table_has_a_line_for_each_version_that_was_tried() {
    let text = shown(&Finding::Bisection(view()), "tsv", plain(80));
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(text.contains("rocksdb@8.2.1\tnot-measurable\t0\t-\t0.487\tcannot fetch it"), "{text}");
}
