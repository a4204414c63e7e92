//! What A/A runs say of the harness.

use crate::calibration::{Honesty, build};
use crate::harness::Harness;
use crate::self_test::of_run;
use analysis::self_test::SelfTestResult;
use model::plan::{Plan, Purpose};
use model::record::RunRecord;
use model::self_test::SelfTestRecord;
use testing::compared::{EQUAL, Truth, record};

const READ: &str = "readrandom";
const BIASED: Truth = Truth { write: 1.0, read: 0.98 };

/// A calibration with a number of its own.
fn calibration(truth: &Truth, number: i64) -> RunRecord {
    let made = record(truth);
    RunRecord {
        id: format!("run-{number}"),
        started_at_us: number,
        plan: Plan { purpose: Purpose::Calibrate, ..made.plan.clone() },
        ..made
    }
}

fn short(truth: &Truth, number: i64) -> RunRecord {
    let mut made = calibration(truth, number);
    made.blocks.retain(|block| block.trial.launch <= 6);
    made
}

fn tests(records: &[RunRecord]) -> Vec<SelfTestRecord> {
    records.iter().flat_map(of_run).collect()
}

fn honesty(records: &[RunRecord], known: &[SelfTestRecord]) -> Honesty {
    build(records, known).unwrap().honesty
}

fn biased() -> Honesty {
    Honesty::Biased { steps: vec![READ.to_owned()] }
}

#[test]
fn an_honest_harness_is_told_from_a_biased_one_and_both_from_too_few_launches() {
    assert_eq!(honesty(&[calibration(&EQUAL, 1)], &[]), Honesty::Honest);
    assert_eq!(honesty(&[calibration(&BIASED, 1)], &[]), biased());
    assert_eq!(honesty(&[short(&EQUAL, 1)], &[]), Honesty::TooFew { launches: 6, needed: 11 });
    // Two short ones are enough together.
    assert_eq!(honesty(&[short(&EQUAL, 1), short(&EQUAL, 2)], &[]), Honesty::Honest);
    assert!(build(&[], &[]).is_none());
    let view = build(&[calibration(&BIASED, 1)], &[]).unwrap();
    assert_eq!(view.verdicts, 2);
    assert_eq!(view.false_verdicts.len(), 1, "{:?}", view.false_verdicts);
}

#[test]
fn calibrations_of_before_count_and_those_of_after_do_not() {
    let shown = short(&BIASED, 5);
    let before = tests(&[short(&BIASED, 1), short(&BIASED, 2)]);
    assert_eq!(honesty(std::slice::from_ref(&shown), &[]), Honesty::TooFew { launches: 6, needed: 11 });
    assert_eq!(honesty(std::slice::from_ref(&shown), &before), biased());
    let after = tests(&[short(&BIASED, 6), short(&BIASED, 7)]);
    assert_eq!(honesty(std::slice::from_ref(&shown), &after), Honesty::TooFew { launches: 6, needed: 11 });
    // What the store keeps of the one that is shown does not count twice.
    let itself = tests(std::slice::from_ref(&shown));
    let view = build(std::slice::from_ref(&shown), &[before, itself].concat()).unwrap();
    let test = view.rows[1].self_test;
    assert_eq!((test.accumulated.calibrations, test.accumulated.launches, test.since_us), (3, 18, Some(1)));
    assert!(test.e_value < test.accumulated.e_value, "{test:?}");
    assert_eq!(view.rows[0].self_test.accumulated.result(), SelfTestResult::Passed);
}

#[test]
fn a_bias_of_another_workload_is_told_as_that() {
    let compared = record(&EQUAL);
    let mut other = calibration(&BIASED, 1);
    (other.plan.workload_sha256, other.plan.workload.name) = ("ef".repeat(32), "mixed".to_owned());
    other.host.boot_id = "of before".to_owned();
    let harness = Harness::of(&compared, &tests(&[other]));
    let expected = ["readrandom (workload mixed)".to_owned()];
    assert_eq!(harness, Harness { failed_of_others: expected.into(), ..Harness::default() });
}
