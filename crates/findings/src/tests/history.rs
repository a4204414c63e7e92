//! Histories of published tables.

use crate::history::{HistoryView, Observed, Origin, Question, SeriesView, build, of_values};
use analysis::change_points::{ErrorFloor, Kind};
use analysis::rounds::RoundValues;
use formats::import::{Source, of_table};
use formats::table::{Choices, parse};
use model::import::ImportRecord;
use model::warning::Warning;

const IOSTAT: &str = include_str!("../../../formats/fixtures/tables/rocksdb-2024-iostat.tsv");
const QPS: &str = include_str!("../../../formats/fixtures/tables/rocksdb-2021-qps.tsv");
const LONG: &str = include_str!("../../fixtures/series/tigerbeetle-365.csv");

fn history(files: &[(&str, &str)]) -> HistoryView {
    let choices = Choices { metric: Some("ops_per_s".to_owned()), ..Choices::default() };
    let values = files.iter().zip(0..).flat_map(|((name, text), file)| {
        let subject = name.trim_end_matches(".tsv");
        of_table(&parse(text, &choices).unwrap(), Source { file, subject })
    });
    let (observed, origin) = of_values(&testing::import("table", files, values.collect()));
    build(&observed, origin, &Question { alpha: 0.01, least_change: 0.01, layout_noise: 0.005 })
}

/// What the post printed.
pub(super) fn iostat_import() -> ImportRecord {
    let choices = Choices { metric: Some("ops_per_s".to_owned()), ..Choices::default() };
    let source = Source { file: 0, subject: "iostat" };
    let values = of_table(&parse(IOSTAT, &choices).unwrap(), source);
    testing::import("table", &[("iostat.tsv", IOSTAT)], values)
}

fn series<'a>(view: &'a HistoryView, metric: &str) -> &'a SeriesView {
    view.series.iter().find(|one| one.metric == metric).unwrap()
}

/// What the post says: reads a second rise twelvefold at 8.6 while their size falls from 100 KB to 4.5 KB.
#[test]
fn the_published_iostat_table_has_one_change_at_8_6() {
    let view = history(&[("iostat.tsv", IOSTAT)]);
    // All but two of the columns that hold anything change there, the read size least doubtfully.
    let first = &view.events[0];
    assert_eq!((first.version.as_str(), first.members.len()), ("8.6", 9));
    assert_eq!(series(&view, "rareqsz").changes[0].location, ["8.6"]);
    // What else there is: the last release, and the read size by the last digit that is printed.
    let others: Vec<(&str, usize)> =
        view.events[1..].iter().map(|event| (event.version.as_str(), event.members.len())).collect();
    assert_eq!(others, [("9.3", 7), ("8.7", 1)]);
    assert!(view.events[1].members.iter().all(|(at, change)| view.series[*at].changes[*change].at_edge));
    let (size, reads) = (&series(&view, "rareqsz").changes[0], &series(&view, "rps").changes[0]);
    assert!((0.04..0.05).contains(&size.ratio) && (12.2..12.6).contains(&reads.ratio), "{size:?} {reads:?}");
    assert!(reads.same_as.iter().any(|name| name.ends_with("rareqsz")), "{:?}", reads.same_as);
    let identities: Vec<&str> = first.lines.iter().filter_map(|line| line.identity.as_deref()).collect();
    assert_eq!(identities, ["rmbps = rareqsz x rps"]);
    assert!(
        series(&view, "wareqsz").changes.is_empty()
            && series(&view, "rrqmps").values.iter().all(Option::is_none)
    );
}

/// What the post says: no significant regression after the noise of the read-only steps is set aside.
#[test]
fn the_published_rates_have_candidates_and_steps_of_which_nothing_can_be_said() {
    let view = history(&[("qps.tsv", QPS)]);
    assert!(view.series.iter().flat_map(|one| &one.changes).all(|change| !change.confirmed));
    let silent: Vec<&str> =
        view.series.iter().filter(|one| one.says_nothing.is_some()).map(|one| one.step.as_str()).collect();
    for step in ["4 readrandom", "5 seekrandom", "9 seekrandom", "10 seekrandom"] {
        assert!(silent.contains(&step), "{silent:?}");
    }
    assert!(view.events.iter().all(|event| !event.step.ends_with(" readrandom")), "{:?}", view.events);
    assert!(!view.remeasure.is_empty());
}

/// Steps that its maintainers know of: about 15 and 71, -4 % near 95, +4 % near 150; index 10 is an outlier and none.
#[test]
fn a_long_series_has_the_steps_that_its_maintainers_know() {
    let view = history(&[("tigerbeetle-365.csv", LONG)]);
    let found: Vec<usize> =
        view.series[0].changes.iter().map(|change| change.version.parse().unwrap()).collect();
    // What they place near 150 is a rise over forty nights, found as two steps.
    for known in [15_usize, 71, 95, 131] {
        assert!(found.iter().any(|found| found.abs_diff(known) <= 2), "{known}: {found:?}");
    }
    assert!(!found.contains(&10) && !found.contains(&11), "{found:?}");
    assert!(view.series[0].outliers.contains(&"10".to_owned()));
    assert!(found.len() <= 10, "{found:?}");
}

/// A table with a step of 10 % at the sixth of ten releases, in a file for each repeat.
fn repeat(seed: u64, step: &str) -> String {
    let rows = (0..10_u64).map(|release| {
        let wobble = ((release * 7 + seed * 13) % 5) as f64 - 2.0;
        let level = if release >= 5 { 900.0 } else { 1000.0 };
        format!("{}.0,{step},{}\n", release + 1, level + wobble)
    });
    std::iter::once("version,step,rate\n".to_owned()).chain(rows).collect()
}

#[test]
fn several_files_are_repeats_and_remain_candidates() {
    let texts: Vec<String> = (0..4).map(|seed| repeat(seed, "read")).collect();
    let names = ["a.csv", "b.csv", "c.csv", "d.csv"];
    let files: Vec<(&str, &str)> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let view = history(&files);
    assert_eq!(view.series.len(), 1);
    assert_eq!(view.series[0].rounds, 4);
    let change = &view.series[0].changes[0];
    assert_eq!((change.version.as_str(), change.before.as_deref()), ("6.0", Some("5.0")));
    assert_eq!(change.kind.name(), "candidate");
    assert!((change.ratio - 0.9).abs() < 0.005 && change.low > 0.88);
    assert!(view.warnings.contains(&Warning::OrderUnknown));
}

#[test]
fn what_has_no_logarithm_is_a_gap() {
    let view =
        history(&[("t.csv", "version,rate\n8.9,5\n8.10,0\n8.11,-3\n8.12,NA\n9.0,5\n9.1,5\n9.2,5.1\n")]);
    let one = &view.series[0];
    assert_eq!(one.releases, ["8.9", "8.10", "8.11", "8.12", "9.0", "9.1", "9.2"]);
    assert_eq!(one.gaps, ["8.10: 0 (line 3)", "8.11: -3 (line 4)", "8.12: NA (line 5)"]);
    let alone = history(&[("t.csv", "version,rate\n8.9,5\n")]);
    assert_eq!(alone.series[0].says_nothing.as_deref(), Some("1 release with a value are too few"));
}

#[test]
fn releases_stand_in_the_order_of_their_numbers() {
    let view = history(&[("t.csv", "version,rate\n8.10,5\n8.9,6\n8.8,6\n8.11,5\n")]);
    assert_eq!(view.series[0].releases, ["8.8", "8.9", "8.10", "8.11"]);
    assert_eq!(view.warnings[0], Warning::Sorted);
}

/// A series of rounds of ours; a row of logarithms for each, a cell for each release.
pub(crate) fn observed(releases: Vec<String>, rounds: Vec<Vec<Option<f64>>>) -> Observed {
    Observed {
        step: "readrandom".to_owned(),
        config: String::new(),
        metric: "ops_per_s".to_owned(),
        unit: String::new(),
        logarithms: RoundValues::new(releases.len(), rounds).unwrap(),
        first_rounds: None,
        values: vec![Some(1.0); releases.len()],
        releases,
        floor: ErrorFloor::default(),
        gaps: Vec::new(),
        in_rounds: true,
        toolchains: Default::default(),
    }
}

/// Eight releases in rounds of these levels with a small wobble of each cell; `None` was not measured.
fn rounds(count: usize, salt: usize, level: impl Fn(usize) -> Option<f64>) -> Vec<Vec<Option<f64>>> {
    let wobble = |round: usize, release: usize| ((round * 31 + release * 17 + salt) % 13) as f64 * 0.001;
    (0..count)
        .map(|round| {
            (0..8).map(|release| level(release).map(|level| level + wobble(round, release))).collect()
        })
        .collect()
}

/// The first three rounds found a loss of 10 % at the fifth release; the later ones measured what is beside it again.
#[test]
fn campaigns_taken_together_confirm_by_their_later_rounds_alone() {
    let kind_after = |loss: f64| {
        let first = rounds(3, 5, |release| Some(if release < 4 { 0.0 } else { -0.1 }));
        let later = rounds(3, 2, |release| match release {
            3 => Some(0.0),
            4 => Some(-loss),
            _ => None,
        });
        let releases: Vec<String> = (1..=8).map(|release| format!("8.{release}")).collect();
        let observed = Observed { first_rounds: Some(3), ..observed(releases, [first, later].concat()) };
        let question = Question { alpha: 0.01, least_change: 0.01, layout_noise: 0.005 };
        let view = build(&[observed], Origin::default(), &question);
        let change = &view.series[0].changes[0];
        assert_eq!((view.series[0].changes.len(), change.version.as_str()), (1, "8.5"));
        (change.kind, change.confirmed, change.confirmation_p.unwrap() < 0.01, change.ratio)
    };
    let (kind, confirmed, sure, ratio) = kind_after(0.1);
    assert_eq!((kind, confirmed, sure), (Kind::Step, true, true));
    assert!((ratio.ln() + 0.1).abs() < 0.01, "{ratio}");
    let (kind, confirmed, sure, ratio) = kind_after(0.0);
    assert_eq!((kind, confirmed, sure), (Kind::Candidate, false, false));
    // The size is of all rounds, and so less than the first ones said.
    assert!((-0.1..-0.02).contains(&ratio.ln()), "{ratio}");
}
