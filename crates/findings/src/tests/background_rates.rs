//! Streams with a stated rate beside a step: what each side did of it, and what that leaves of a verdict.

use super::{case, view_of};
use crate::selection::Selection;
use model::record::RunRecord;
use model::verdict::Verdict;
use model::warning::{Party, Warning};
use testing::compared::{Truth, record};
use testing::streams;

const READ: &str = "readrandom";
const STREAM: &str = "readrandom.inserts";
const RATE: f64 = 1000.0;

/// A candidate that is 10 % slower, beside streams of which both sides did these shares.
fn slower(shares: [f64; 2]) -> RunRecord {
    let mut record = record(&Truth { write: 1.0, read: 0.9 });
    streams::add(&mut record, READ, RATE, &shares);
    record
}

fn missed_rate(shares: [f64; 2]) -> Option<Warning> {
    let view = view_of(&slower(shares));
    let read = case(&view, READ, 1);
    let warning = read.warnings.iter().find(|one| matches!(one, Warning::MissedRate { .. })).cloned();
    let expected = if warning.is_some() { Verdict::Inconclusive } else { Verdict::Regression };
    assert_eq!((read.verdict, read.did_unequal_work()), (expected, warning.is_some()));
    warning.map(|warning| match warning {
        Warning::MissedRate { of, step, achieved, rate } => {
            Warning::MissedRate { of, step, achieved: achieved.round(), rate }
        }
        other => other,
    })
}

#[test]
fn a_step_beside_which_a_rate_was_missed_has_no_verdict() {
    assert_eq!(missed_rate([1.0, 1.0]), None);
    assert_eq!(missed_rate([0.96, 0.96]), None);
    let of = |of, achieved| Some(Warning::MissedRate { of, step: STREAM.to_owned(), achieved, rate: RATE });
    assert_eq!(missed_rate([1.0, 0.8]), of(Party::Candidate, 800.0));
    // Also if the base missed it, and the candidate is slower although it did less.
    assert_eq!(missed_rate([0.9, 1.0]), of(Party::Base, 900.0));
}

#[test]
fn what_each_side_did_of_a_rate_is_told_and_a_selection_cuts_it() {
    let of = |view: &crate::Comparison| -> Vec<(String, usize, f64, bool)> {
        let sides = |one: &crate::background_rates::BackgroundRate| {
            let name = one.stream.clone();
            one.sides
                .iter()
                .map(move |of| (name.clone(), of.side, of.achieved.round(), of.missed))
                .collect::<Vec<_>>()
        };
        view.background_rates.iter().flat_map(sides).collect()
    };
    let all = of(&view_of(&slower([1.0, 0.8])));
    assert_eq!(all, [(STREAM.to_owned(), 0, 1000.0, false), (STREAM.to_owned(), 1, 800.0, true)]);
    let other = Selection { steps: vec!["overwrite-after-fill".to_owned()], ..Selection::default() };
    let record = slower([1.0, 0.8]);
    let view = view_of(&record);
    assert!(of(&other.of(record).unwrap().of_comparison(view)).is_empty());
}

#[test]
fn a_rate_that_was_missed_in_rounds_leaves_no_verdict_either() {
    let mut record = testing::rounds::record();
    let warned = |record: &RunRecord, side: usize| {
        let view = view_of(record);
        let read = case(&view, READ, side);
        read.warnings.iter().any(|one| matches!(one, Warning::MissedRate { .. }))
            && read.verdict == Verdict::Inconclusive
    };
    assert!((1..8).all(|side| !warned(&record, side)));
    streams::add(&mut record, READ, RATE, &[1.0, 1.0, 0.5]);
    let of_sides: Vec<usize> = (1..8).filter(|side| warned(&record, *side)).collect();
    assert_eq!(of_sides, [2]);
}
