//! A change so large that a few launches show it, announced while a comparison is still measured.
//!
//! It is no verdict: the test of the family rejects nothing before eight launches, and until it does the step goes on. What
//! is announced rests on Student's t, so on normal noise, at alpha shared out among all steps (Bonferroni), and the whole
//! interval lies beyond the margin. It is asked anew after each launch, which costs it some of its level.

use crate::decision::choose_rate;
use crate::estimate::value_of;
use crate::judgement::Case;
use crate::launch::{Sharing, sharing, unit_values};
use crate::refusal;
use crate::student;
use model::plan::DecisionRule;
use model::warning::Warning;

/// With fewer launches normal noise is too much to assume.
const LEAST_LAUNCHES: usize = 5;

/// What may be announced of one of `family` cases that has no verdict yet.
pub(crate) fn provisional(case: &Case<'_>, rule: &DecisionRule, family: usize) -> Option<Warning> {
    let launches = case.usable(u32::MAX);
    if launches.len() < LEAST_LAUNCHES || sharing(&launches) == Sharing::Several {
        return None;
    }
    let values = unit_values(&launches, value_of(choose_rate(&case.facts, &launches)));
    let (low, high) = student::interval(&values, rule.alpha / family.max(1) as f64)?;
    let margin = rule.margin.ln_1p();
    let is_large = low > margin || high < -margin;
    let is_refused = || !refusal::of_blocks(case.launches.iter()).is_empty() || !case.facts.caps.is_empty();
    (is_large && !is_refused()).then(|| Warning::Provisional {
        ratio: (0.5 * (low + high)).exp(),
        low: low.exp(),
        high: high.exp(),
        launches: launches.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::LaunchSummary;
    use crate::simulation::blocks::{launch, reads};

    fn told(values: &[f64], family: usize) -> Option<Warning> {
        let launches: Vec<LaunchSummary> =
            (1..).zip(values).map(|(number, value)| launch(number, *value)).collect();
        let case = Case { facts: reads("readrandom"), launches: &launches };
        provisional(&case, &DecisionRule::default(), family)
    }

    #[test]
    fn a_large_change_is_told_from_the_fifth_launch_on_with_the_interval_of_students_t() {
        let values = [-0.20, -0.21, -0.19, -0.205, -0.195];
        assert_eq!(told(&values[..4], 1), None);
        let Some(Warning::Provisional { ratio, low, high, launches }) = told(&values, 1) else { panic!() };
        // Mean -0.2, deviation 0.0079, t of 4 degrees of freedom at 1 % 4.604.
        let half = 4.604 * 0.007_906 / 5.0_f64.sqrt();
        assert!((ratio.ln() + 0.2).abs() < 1e-9 && launches == 5);
        assert!((low.ln() + 0.2 + half).abs() < 1e-4 && (high.ln() + 0.2 - half).abs() < 1e-4);
    }

    #[test]
    fn a_small_change_and_one_that_a_large_family_makes_unsure_are_not_told() {
        assert_eq!(told(&[-0.011, -0.012, -0.0115, -0.0118, -0.0112], 1), None);
        let unsure = [-0.10, -0.06, -0.08, -0.09, -0.07];
        assert!(told(&unsure, 1).is_some());
        assert_eq!(told(&unsure, 42), None);
    }
}
