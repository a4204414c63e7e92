//! Comparisons with servers that are not ours: what may be said of them, and that what nobody saw is absent.

use super::records::{Truth, record};
use super::{parsed, plain};
use crate::differs::DifferenceKind;
use crate::elsewhere::NOT_OURS;
use crate::view::ReportView;
use crate::{build, markdown, text};
use model::build::BuildSource;
use model::elsewhere::ServerElsewhere;
use model::record::RunRecord;
use model::units::Bytes;
use model::verdict::Verdict;

/// A server at this address, with so many statements of others while it was watched.
type Other = Option<(&'static str, u64)>;

fn record_of(sides: [Other; 2]) -> RunRecord {
    let mut record = record(&Truth { write: 1.0, read: 0.95 });
    for (side, other) in sides.into_iter().enumerate() {
        let Some((host, statements)) = other else { continue };
        let dsn = format!("postgres://me@{host}/bench");
        let build = &mut record.plan.subjects[side].build;
        build.source = BuildSource::Elsewhere {
            server: ServerElsewhere::parse(&dsn).unwrap(),
            statements_of_others: Some(statements),
        };
        (build.sha256, build.size, build.library) = (String::new(), Bytes(0), std::path::PathBuf::new());
        for block in record.blocks.iter_mut().filter(|block| block.trial.side == side) {
            block.process_cpu = None;
            block.counters.clear();
        }
    }
    record
}

fn view_of(sides: [Other; 2]) -> ReportView {
    build(&record_of(sides), None)
}

/// The verdict of the step that is slower, and whether it is said that a side was not frozen.
fn check(sides: [Other; 2], expected: (Verdict, bool)) {
    let view = view_of(sides);
    let read = &view.candidates[0].rows[1];
    let warned = read.notes.iter().any(|note| note.id == "not-frozen");
    assert_eq!((read.verdict, warned), expected, "{sides:?}");
}

#[test]
fn a_side_that_goes_on_leaves_a_suspicion_unless_both_are_idle_on_machines_of_their_own() {
    check([None, None], (Verdict::Regression, false));
    check([None, Some(("db1", 0))], (Verdict::Suspect, true));
    check([Some(("db1", 0)), None], (Verdict::Suspect, true));
    check([Some(("127.0.0.1:5432", 0)), Some(("127.0.0.1:5433", 0))], (Verdict::Suspect, true));
    check([Some(("db1:5432", 0)), Some(("db1:5433", 0))], (Verdict::Suspect, true));
    check([Some(("db1", 0)), Some(("db2", 5000))], (Verdict::Suspect, true));
    check([Some(("db1", 0)), Some(("db2", 3))], (Verdict::Regression, false));
}

#[test]
fn what_nobody_saw_is_absent_and_the_reason_stands_beside_it() {
    let view = view_of([None, Some(("db1", 0))]);
    let read = &view.candidates[0].rows[1];
    assert_eq!((read.cpu.candidate, read.cpu.ratio), (None, None));
    assert!(read.cpu.base.is_some() && read.adjusted.is_none() && read.time.is_none());
    assert!(read.counters.is_empty(), "{:?}", read.counters);
    let first = &view.candidates[0].differs[0];
    assert_eq!((first.kind, first.candidate.as_deref()), (DifferenceKind::Elsewhere, Some(NOT_OURS)));
    let reached = view.candidates[0].differs.iter().find(|one| one.what == "server reached by").unwrap();
    assert_eq!(reached.candidate.as_deref(), Some("TCP, db1 port 5432"));
    let json = parsed(&view);
    let cpu = json["comparisons"].as_array().unwrap().iter().filter(|one| one["metric"] == "cpu_us_per_op");
    for object in cpu {
        assert!(object.get("candidate_value").is_none() && object.get("ratio").is_none(), "{object}");
    }
    for width in [80, 120] {
        let text = text::render(&view, plain(width));
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.contains(&"frozen"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    assert!(markdown::render(&view).contains(NOT_OURS));
    let sha256 = view.candidates[0].differs.iter().find(|one| one.what == "library sha256").unwrap();
    assert_eq!((sha256.base.is_some(), sha256.candidate.as_deref()), (true, None));
    assert!(!view.candidates[0].differs.iter().any(|one| one.kind == DifferenceKind::DefaultInEffect));
}

#[test]
fn settings_that_a_server_hides_from_us_are_not_known_and_no_difference() {
    let mut record = record_of([None, Some(("db1", 0))]);
    record.options_in_effect.insert(0, "[Settings]\nwork_mem = 4\nhidden = 1\nport = 1\n".to_owned());
    record.options_in_effect.insert(1, "[Settings]\nwork_mem = 8\nshown = 1\nport = 2\n".to_owned());
    let options: Vec<String> = build(&record, None).candidates[0]
        .differs
        .iter()
        .filter(|one| one.kind == DifferenceKind::OptionInEffect)
        .map(|one| one.what.clone())
        .collect();
    assert_eq!(options, ["shown", "work_mem"]);
}
