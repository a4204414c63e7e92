//! Comparisons with servers that are not ours: what may be said of them, and that what nobody saw is absent.

use super::{case, view_of};
use crate::differs::DifferenceKind;
use crate::elsewhere::NOT_OURS;
use model::metric::Metric;
use model::record::RunRecord;
use model::verdict::Verdict;
use testing::compared::{Truth, elsewhere, record};

/// A server at this address, with so many statements of others while it was watched.
type Other = Option<(&'static str, u64)>;

fn record_of(sides: [Other; 2]) -> RunRecord {
    let mut record = record(&Truth { write: 1.0, read: 0.95 });
    for (side, other) in sides.into_iter().enumerate() {
        if let Some((host, statements)) = other {
            elsewhere(&mut record, side, host, statements);
        }
    }
    record
}

/// The verdict of the step that is slower, and whether it is said that a side was not frozen.
fn check(sides: [Other; 2], expected: (Verdict, bool)) {
    let view = view_of(&record_of(sides));
    let read = case(&view, "readrandom", 1);
    let warned = read.warnings.iter().any(|note| note.id() == "not-frozen");
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
    let view = view_of(&record_of([None, Some(("db1", 0))]));
    let read = case(&view, "readrandom", 1);
    let cpu = read.metric(Metric::CpuMicrosPerOp).unwrap();
    assert_eq!((cpu.candidate, cpu.ratio), (None, None));
    assert!(cpu.base.is_some() && read.time.is_none());
    // Neither the adjusted rate nor any counter.
    let metrics: Vec<Metric> = read.metrics.iter().map(|one| one.metric).collect();
    assert_eq!(metrics, [Metric::OpsPerSecond, Metric::CpuMicrosPerOp]);
    let differs = &view.subjects[1].differs;
    assert_eq!(
        (differs[0].kind, differs[0].candidate.as_deref()),
        (DifferenceKind::Elsewhere, Some(NOT_OURS))
    );
    let named = |what: &str| differs.iter().find(|one| one.what == what).unwrap();
    assert_eq!(named("server reached by").candidate.as_deref(), Some("TCP, db1 port 5432"));
    let sha256 = named("library sha256");
    assert_eq!((sha256.base.is_some(), sha256.candidate.as_deref()), (true, None));
    assert!(!differs.iter().any(|one| one.kind == DifferenceKind::DefaultInEffect));
}

#[test]
fn settings_that_a_server_hides_from_us_are_not_known_and_no_difference() {
    let mut record = record_of([None, Some(("db1", 0))]);
    record.options_in_effect.insert(0, "[Settings]\nwork_mem = 4\nhidden = 1\nport = 1\n".to_owned());
    record.options_in_effect.insert(1, "[Settings]\nwork_mem = 8\nshown = 1\nport = 2\n".to_owned());
    let options: Vec<String> = view_of(&record).subjects[1]
        .differs
        .iter()
        .filter(|one| one.kind == DifferenceKind::OptionInEffect)
        .map(|one| one.what.clone())
        .collect();
    assert_eq!(options, ["shown", "work_mem"]);
}
