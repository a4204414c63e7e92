//! The smallest change of a step that would have been found: between the very binaries that were measured, and beyond what
//! the layout of code can make of builds of one source.

use super::Comparison;
use crate::judge::{self, Evidence};
use analysis::layout;
use analysis::rounds::Difference;
use analysis::student::mean;
use model::record::RunRecord;
use std::collections::BTreeMap;

/// By step.
pub type VisibleChanges = BTreeMap<String, VisibleChange>;

/// The smallest change of a step's rate that would have been found with 90 % power (0.02 is 2 %): the mean over its
/// candidates. Absent if none has an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct VisibleChange {
    /// Between these binaries, whatever makes them differ: the noise of measuring alone.
    pub between_binaries: Option<f64>,
    /// Of the code: more than another layout of the same code can make.
    pub beyond_layout: Option<f64>,
}

/// That of one candidate, in ln.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OfCandidate {
    between_binaries: f64,
    beyond_layout: f64,
}

impl OfCandidate {
    /// Of a difference over rounds, whose error has the layout noise `tau` (ln) of both builds in it. Without that the
    /// error is smaller, and the change with it, which is a multiple of the error.
    pub(super) fn of_rounds(difference: &Difference, tau: f64) -> Option<OfCandidate> {
        let (visible, error) = (difference.visible()?, difference.ln_error?);
        let noise = (error.powi(2) - 2.0 * tau.powi(2)).max(0.0).sqrt();
        let share = if error > 0.0 { noise / error } else { 1.0 };
        Some(OfCandidate { between_binaries: share * visible, beyond_layout: visible })
    }

    /// Of launches, whose intervals know nothing of layout: as two independent errors, in squares, as where a change is
    /// held against layout. `most`: what layout can make of two builds, ln.
    fn of_launches(visible: f64, most: f64) -> OfCandidate {
        let between_binaries = visible.ln_1p();
        OfCandidate { between_binaries, beyond_layout: between_binaries.hypot(most) }
    }
}

/// The mean over candidates.
pub(super) fn of_candidates(all: &[OfCandidate]) -> VisibleChange {
    let of = |value: fn(&OfCandidate) -> f64| {
        mean(&all.iter().map(|one| value(one).exp_m1()).collect::<Vec<f64>>())
            .filter(|change| change.is_finite())
    };
    VisibleChange {
        between_binaries: of(|one| one.between_binaries),
        beyond_layout: of(|one| one.beyond_layout),
    }
}

/// Of every step of interleaved launches. Its layout noise is that which was measured of the step, else that of the rule.
pub(crate) fn of_launches(view: &Comparison, record: &RunRecord, evidence: &Evidence<'_>) -> VisibleChanges {
    let deviations = layout::quantile(record.plan.rule.alpha, judge::family(&record.plan).count());
    let of_step = |step: &super::StepView| {
        let tau = evidence.build_noise.get(&step.name).copied().unwrap_or(record.plan.rule.tau);
        let of_case = |visible: f64| OfCandidate::of_launches(visible, deviations * tau);
        let visible = step.cases.iter().filter_map(|case| case.visible_change);
        (step.name.clone(), of_candidates(&visible.map(of_case).collect::<Vec<_>>()))
    };
    view.steps.iter().map(of_step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::compared::{Truth, record};

    fn near(value: Option<f64>, expected: f64) {
        let value = value.unwrap();
        assert!((value - expected).abs() < 1e-6, "{value} instead of {expected}");
    }

    #[test]
    fn layout_is_added_to_what_launches_saw_and_taken_out_of_what_rounds_saw() {
        let launches = of_candidates(&[OfCandidate::of_launches(0.03_f64.exp_m1(), 0.04)]);
        near(launches.between_binaries, 0.03_f64.exp_m1());
        near(launches.beyond_layout, 0.05_f64.exp_m1());
        // An error of 0.05 in which the layout of two builds is 0.04 has 0.03 left.
        let error: f64 = 0.05;
        let difference = Difference {
            ratio: 1.0,
            low: Some((-3.0 * error).exp()),
            high: Some((3.0 * error).exp()),
            confidence: 0.99,
            p: None,
            ln_error: Some(error),
            df: 20,
            base_rounds: 5,
            candidate_rounds: 5,
        };
        let visible = difference.visible().unwrap();
        let tau = 0.04 / 2.0_f64.sqrt();
        let rounds = of_candidates(&[OfCandidate::of_rounds(&difference, tau).unwrap()]);
        near(rounds.beyond_layout, visible.exp_m1());
        near(rounds.between_binaries, (0.6 * visible).exp_m1());
    }

    #[test]
    fn a_step_without_an_interval_has_none() {
        assert_eq!(of_candidates(&[]), VisibleChange::default());
        let bare = Difference {
            ratio: 1.0,
            low: None,
            high: None,
            confidence: 0.99,
            p: None,
            ln_error: None,
            df: 0,
            base_rounds: 1,
            candidate_rounds: 1,
        };
        assert_eq!(OfCandidate::of_rounds(&bare, 0.005), None);
    }

    #[test]
    fn measured_build_noise_takes_the_place_of_the_assumed_one() {
        let record = record(&Truth { write: 1.0, read: 0.95 });
        let visible = |build_noise: &[(&str, f64)]| {
            let build_noise = build_noise.iter().map(|(step, tau)| ((*step).to_owned(), *tau)).collect();
            let view = Comparison::of(&record, &Evidence { build_noise, ..Evidence::default() });
            view.visible["readrandom"]
        };
        let (assumed, measured) = (visible(&[]), visible(&[("readrandom", 0.03)]));
        assert_eq!(assumed.between_binaries, measured.between_binaries);
        assert!(assumed.beyond_layout > assumed.between_binaries, "{assumed:?}");
        assert!(measured.beyond_layout > assumed.beyond_layout, "{measured:?} {assumed:?}");
        // Two cases at 1 % together: 2.81 deviations of the normal distribution, of two builds.
        let most = 2.807_034 * 2.0_f64.sqrt() * 0.03;
        let expected = measured.between_binaries.unwrap().ln_1p().hypot(most).exp_m1();
        assert!((measured.beyond_layout.unwrap() / expected - 1.0).abs() < 0.01, "{measured:?} {expected}");
    }
}
