//! What A/A runs say of the harness.

use crate::calibration::{Honesty, build};
use model::record::RunRecord;
use testing::compared::{EQUAL, Truth, record};

#[test]
fn an_honest_harness_is_told_from_a_biased_one_and_both_from_too_few_launches() {
    let honesty = |records: &[RunRecord]| build(records).unwrap().honesty;
    assert_eq!(honesty(&[record(&EQUAL)]), Honesty::Honest);
    let biased = record(&Truth { write: 1.0, read: 0.98 });
    assert_eq!(
        honesty(std::slice::from_ref(&biased)),
        Honesty::Biased { steps: vec!["readrandom".to_owned()] }
    );
    let mut short = record(&EQUAL);
    short.blocks.retain(|block| block.trial.launch <= 6);
    assert_eq!(honesty(std::slice::from_ref(&short)), Honesty::TooFew { launches: 6, needed: 11 });
    // Two short ones are enough together.
    assert_eq!(honesty(&[short.clone(), short]), Honesty::Honest);
    assert!(build(&[]).is_none());
    let view = build(&[biased]).unwrap();
    assert_eq!(view.verdicts, 2);
    assert_eq!(view.false_verdicts.len(), 1, "{:?}", view.false_verdicts);
}
