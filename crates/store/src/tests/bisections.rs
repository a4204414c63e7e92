//! Bisections: written, written again with their end, found, listed beside runs and imports.

use super::runs_of;
use crate::{Filter, Writer};
use model::event::RunOutcome;
use model::listing::{EntryKind, TrialCounts};
use model::record::{BisectionRecord, RunStatus};

fn bisection(id: &str, began_at_us: i64) -> BisectionRecord {
    BisectionRecord {
        id: id.to_owned(),
        began_at_us,
        ended_at_us: Some(began_at_us + 60_000_000),
        workload: "small".to_owned(),
        step: "overwriteandwait".to_owned(),
        good: "rocksdb@8.5.4".to_owned(),
        bad: "rocksdb@9.0.0".to_owned(),
        finding_json: Some(r#"{"first_bad":"8.6.7"}"#.to_owned()),
        request_json: Some(r#"{"seed":7}"#.to_owned()),
    }
}

#[test]
fn a_bisection_is_read_back_as_it_was_written_last() {
    let mut writer = Writer::in_memory().unwrap();
    let ended = bisection("20261121-1", 1_000);
    let begun = BisectionRecord { ended_at_us: None, finding_json: None, ..ended.clone() };
    for written in [&begun, &ended] {
        writer.write_bisection(written).unwrap();
        assert_eq!(writer.store().load_bisection("20261121-1").unwrap(), *written);
    }
    let broken = BisectionRecord { finding_json: Some("8.6.7".to_owned() + "?"), ..ended.clone() };
    let error = writer.write_bisection(&broken).unwrap_err().to_string();
    assert!(error.contains("write bisection 20261121-1"), "{error}");
    assert_eq!(writer.store().load_bisection("20261121-1").unwrap(), ended);
    let error = writer.store().load_bisection("20261121").unwrap_err().to_string();
    assert!(error.contains("read bisection 20261121"), "{error}");
}

#[test]
fn the_runs_of_a_bisection_are_those_that_were_named_after_it_and_ended() {
    let mut writer = runs_of(&["a", "b", "c", "d"]);
    assert_eq!(writer.store().last_bisection().unwrap(), None);
    for (id, began_at_us) in [("bisect-1", 10), ("bisect-12", 5)] {
        writer.write_bisection(&bisection(id, began_at_us)).unwrap();
    }
    // The last is the one that began last, also if the clock was set back, or if another one ended after it.
    assert_eq!(writer.store().last_bisection().unwrap().as_deref(), Some("bisect-12"));
    writer.write_bisection(&bisection("bisect-1", 10)).unwrap();
    assert_eq!(writer.store().last_bisection().unwrap().as_deref(), Some("bisect-12"));
    for (run, name) in
        [("c", "bisect-1/1-9/ends"), ("a", "bisect-1/1-9/2"), ("b", "bisect-12/1-9/ends"), ("d", "other")]
    {
        writer.name_run(run, name).unwrap();
    }
    for run in ["a", "c"] {
        writer.write(run, &super::ended(1_000)).unwrap();
    }
    let runs = writer.store().runs_of_bisection("bisect-1").unwrap();
    let shown: Vec<_> = runs.iter().map(|run| (run.id.as_str(), run.name.as_str())).collect();
    assert_eq!(shown, [("a", "bisect-1/1-9/2"), ("c", "bisect-1/1-9/ends")]);
}

#[test]
fn a_bisection_is_found_by_its_id_or_the_beginning_of_it_alone() {
    let mut writer = Writer::in_memory().unwrap();
    for id in ["20261121-1", "20261121-12", "20261122-1"] {
        writer.write_bisection(&bisection(id, 5)).unwrap();
    }
    let find = |wanted: &str| writer.store().find_bisection(wanted).unwrap();
    assert_eq!(find("20261121-1").as_deref(), Some("20261121-1"));
    assert_eq!(find("20261122").as_deref(), Some("20261122-1"));
    assert_eq!((find("20261121"), find(""), find("other"), find("2026112_")), (None, None, None, None));
}

#[test]
fn bisections_stand_in_the_list_and_filters_know_them() {
    let mut writer = runs_of(&["a", "b"]);
    writer.write_bisection(&bisection("c", 500_000)).unwrap();
    let begun =
        BisectionRecord { ended_at_us: None, workload: "posts".to_owned(), ..bisection("d", 3_000_000) };
    writer.write_bisection(&begun).unwrap();
    let check = |filter: Filter, expected: &[&str]| {
        let page = writer.store().entries(&filter, 0, 50).unwrap();
        let found: Vec<&str> = page.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!((found.as_slice(), page.total), (expected, expected.len() as u64), "{filter:?}");
    };
    let text = |text: &str| Filter { text: Some(text.to_owned()), ..Filter::default() };
    check(Filter::default(), &["d", "b", "c", "a"]);
    check(Filter { kind: Some(EntryKind::Bisection), ..Filter::default() }, &["d", "c"]);
    check(Filter { workload: Some("small".to_owned()), ..Filter::default() }, &["b", "c", "a"]);
    check(Filter { status: Some(RunStatus::Unfinished), ..Filter::default() }, &["d"]);
    check(Filter { status: Some(RunStatus::Ended(RunOutcome::Done)), ..Filter::default() }, &["b", "c", "a"]);
    check(Filter { engine: Some("rocksdb".to_owned()), ..Filter::default() }, &["d", "b", "c", "a"]);
    check(Filter { engine: Some("postgres".to_owned()), ..Filter::default() }, &[]);
    check(Filter { host: Some("bench-1".to_owned()), ..Filter::default() }, &["b", "a"]);
    check(Filter { since_us: Some(400_000), before_us: Some(3_000_000), ..Filter::default() }, &["b", "c"]);
    check(text("OVERWRITE"), &["d", "c"]);
    check(text("9.0.0"), &["d", "c"]);
    check(text("posts"), &["d"]);
    let listed = writer.store().entries(&Filter::default(), 2, 1).unwrap().entries.remove(0);
    assert_eq!((listed.id.as_str(), listed.kind), ("c", EntryKind::Bisection));
    assert_eq!(listed.subjects, ["rocksdb@8.5.4", "rocksdb@9.0.0"]);
    assert_eq!((listed.began_at_us, listed.ended_at_us), (500_000, Some(60_500_000)));
    assert_eq!((listed.host, listed.found, listed.trials), (None, None, TrialCounts::default()));
}
