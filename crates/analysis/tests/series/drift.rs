//! Code or default.

use crate::made::{found, rounds, series, step};
use analysis::Error;
use analysis::change_points::{Findings, Series};
use analysis::drift::{Cause, Drift, Searched, drift};

struct Made {
    series: Series,
    findings: Findings,
}

impl Made {
    fn of(levels: &[f64], sd: f64, seed: u64) -> Made {
        let series = series(&rounds(levels, sd, seed));
        Made { findings: found(&series), series }
    }

    fn searched(&self) -> Searched<'_> {
        Searched { series: &self.series, findings: &self.findings }
    }
}

fn judged(standard: &Made, defaults: &Made) -> Vec<Drift> {
    drift(standard.searched(), defaults.searched()).expect("the same releases")
}

fn causes(drifts: &[Drift]) -> Vec<Cause> {
    drifts.iter().map(|drift| drift.cause).collect()
}

#[test]
fn a_change_of_both_is_the_codes_and_of_one_is_the_defaults() {
    let defaults = [vec![0.0; 8], vec![-0.1; 8], vec![-0.3; 8]].concat();
    let defaults = Made::of(&defaults, 0.01, 1);
    // Pinned options: the first change is there, the second is not.
    let standard = Made::of(&step(8, 16, -0.1), 0.01, 2);
    let drifts = judged(&standard, &defaults);
    assert_eq!(causes(&drifts), [Cause::Code, Cause::Default]);
    assert_eq!((drifts[0].standard_change, drifts[1].standard_change), (Some(0), None));
    let effect = drifts[1].standard.unwrap();
    assert!(effect.low < 1.0 && 1.0 < effect.high && effect.low.ln() > -0.1, "{effect:?}");
}

#[test]
fn a_change_of_another_size_or_of_a_noisy_series_is_undecided() {
    let defaults = Made::of(&step(8, 8, -0.1), 0.005, 3);
    // Half of the change came with the code: neither the same size nor less than half of it.
    let partly = Made::of(&step(8, 8, -0.06), 0.005, 4);
    assert_eq!(causes(&judged(&partly, &defaults)), [Cause::Undecided]);
    let noisy = Made::of(&[0.0; 16], 0.2, 5);
    assert_eq!(causes(&judged(&noisy, &defaults)), [Cause::Undecided]);
}

#[test]
fn improvements_are_judged_like_regressions() {
    let better = Made::of(&step(8, 8, 0.1), 0.005, 6);
    assert_eq!(causes(&judged(&Made::of(&step(8, 8, 0.1), 0.005, 7), &better)), [Cause::Code]);
    assert_eq!(causes(&judged(&Made::of(&[0.0; 16], 0.005, 8), &better)), [Cause::Default]);
    // The opposite with pinned options: the default turned it round.
    assert_eq!(causes(&judged(&Made::of(&step(8, 8, -0.1), 0.005, 9), &better)), [Cause::Default]);
}

#[test]
fn no_change_needs_no_cause_and_other_releases_are_an_error() {
    let flat = Made::of(&[0.0; 8], 0.01, 10);
    assert_eq!(judged(&flat, &flat), []);
    let longer = Made::of(&[0.0; 9], 0.01, 11);
    let error = drift(flat.searched(), longer.searched()).unwrap_err();
    assert_eq!(error, Error::LengthsDiffer { left: 8, right: 9 });
}
