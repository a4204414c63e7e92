//! The procedure of a decision: which test, at which launch counts, at which level. It is fixed by the rule
//! and Lmax alone, before any difference is looked at.

use crate::boundaries::{Boundaries, spent_share};
use crate::budget::{MOST_LAUNCHES, least_launches};
use crate::launch::LaunchSummary;
use crate::signed_rank::{exact_p, largest_sum};
use crate::units::{Sharing, sharing, unshared_prefix};
use model::plan::DecisionRule;

/// Both rates are tested, each at this share of alpha, so that they err jointly at alpha (1.9, rule 1).
const RATES: f64 = 2.0;
/// Fewer values than this bear no interval (statistics 1.4).
pub(crate) const LEAST_UNITS: usize = 3;

/// A decision rule with everything that follows from it. Make it once per run: the boundaries of the
/// sequential test take about a tenth of a second.
#[derive(Debug, Clone)]
pub struct Procedure {
    rule: DecisionRule,
    design: Design,
}

#[derive(Debug, Clone)]
enum Design {
    /// Group-sequential signed-rank test, where Lmax is large enough for it to reject.
    Sequential(Boundaries),
    /// Student's t once, at Lmax launches: 3 to 8 at 1 %.
    Fixed,
    /// Lmax below 3: no interval.
    RatioOnly,
}

/// When a decision is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// At one of the looks.
    Look,
    /// Between looks: nothing may be decided.
    Between,
    /// The budget is over, or the step is given up.
    End,
}

/// The test of one rate on one occasion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Test {
    /// Rejects where the signed-rank sum exceeds `critical`; `share` of alpha may be spent by now.
    SignedRank {
        critical: usize,
        share: f64,
    },
    /// Student's t at two-sided level `alpha`, which is `share` of the rate's alpha.
    StudentT {
        alpha: f64,
        share: f64,
    },
    Nothing,
}

impl Procedure {
    /// The procedure of this rule; `rule.max_launches` is Lmax. Where Lmax launches that all agree are rare
    /// enough to reject (9 at 1 % over two rates), the sequential test; from 3 on Student's t at Lmax;
    /// below that ratios only. Lmax is brought into 1 to 48.
    pub fn new(rule: DecisionRule) -> Procedure {
        let rule = DecisionRule { max_launches: rule.max_launches.clamp(1, MOST_LAUNCHES), ..rule };
        let alpha = rule.alpha / RATES;
        let max_launches = rule.max_launches as usize;
        let design = if rule.max_launches >= least_launches(alpha) {
            Design::Sequential(Boundaries::new(alpha, max_launches))
        } else if max_launches >= LEAST_UNITS {
            Design::Fixed
        } else {
            Design::RatioOnly
        };
        Procedure { rule, design }
    }

    /// The rule that it follows.
    pub fn rule(&self) -> &DecisionRule {
        &self.rule
    }

    /// Alpha of each rate; the intervals have confidence 1 - alpha.
    pub fn rate_alpha(&self) -> f64 {
        self.rule.alpha / RATES
    }

    /// Launch counts at which a step may be decided before the budget is over, ascending.
    pub fn looks(&self) -> Vec<usize> {
        match &self.design {
            Design::Sequential(boundaries) => boundaries.looks().to_vec(),
            Design::Fixed | Design::RatioOnly => vec![self.max_launches()],
        }
    }

    /// Lmax.
    pub fn max_launches(&self) -> usize {
        self.rule.max_launches as usize
    }

    /// The boundaries, where the test is sequential.
    pub fn boundaries(&self) -> Option<&Boundaries> {
        match &self.design {
            Design::Sequential(boundaries) => Some(boundaries),
            Design::Fixed | Design::RatioOnly => None,
        }
    }

    /// The test that applies after these launches.
    ///
    /// At the end of a run that did not reach Lmax only that is spent which was due at this launch count. If
    /// the signed-rank test cannot reject with that, no look before could; then Student's t is the one test.
    pub(crate) fn test(&self, launches: &[LaunchSummary], occasion: Occasion) -> Test {
        let count = launches.len();
        let last = occasion == Occasion::End || count == self.max_launches();
        if occasion == Occasion::Between {
            return Test::Nothing;
        }
        match (&self.design, sharing(launches)) {
            (Design::RatioOnly, _) => Test::Nothing,
            (Design::Sequential(_) | Design::Fixed, Sharing::Several) if last => {
                self.test_of_images(launches)
            }
            (Design::Sequential(_) | Design::Fixed, Sharing::Several) => Test::Nothing,
            (Design::Sequential(boundaries), Sharing::None | Sharing::One) => {
                let share = boundaries.spent_share(count);
                match boundaries.critical_sum(count) {
                    Some(critical) => Test::SignedRank { critical, share },
                    None if occasion == Occasion::End => self.student(count, share),
                    None => Test::Nothing,
                }
            }
            (Design::Fixed, Sharing::None | Sharing::One) => {
                self.student(count, spent_share(count, self.max_launches()))
            }
        }
    }

    fn student(&self, units: usize, share: f64) -> Test {
        if units < LEAST_UNITS {
            return Test::Nothing;
        }
        Test::StudentT { alpha: self.rate_alpha() * share, share }
    }

    /// Means of images do not grow one by one, so they are tested once, at the end, with what the looks at
    /// which no image was shared have left of alpha.
    fn test_of_images(&self, launches: &[LaunchSummary]) -> Test {
        let share = self.share_at(launches);
        let alpha = self.rate_alpha() * share;
        let units = crate::units::images(launches).len();
        if units >= least_launches(alpha) as usize {
            return Test::SignedRank { critical: fixed_critical_sum(units, alpha), share };
        }
        self.student(units, share)
    }

    /// The share of alpha for one test at the end of these launches, beyond what earlier looks may have spent.
    fn share_at(&self, launches: &[LaunchSummary]) -> f64 {
        let due = spent_share(launches.len(), self.max_launches());
        let unshared = unshared_prefix(launches);
        let looked = self.looks().into_iter().rev().find(|look| *look <= unshared && *look < launches.len());
        due - looked.map_or(0.0, |look| spent_share(look, self.max_launches()))
    }
}

/// The smallest sum that a single test of `units` values at level `alpha` may exceed.
fn fixed_critical_sum(units: usize, alpha: f64) -> usize {
    (0..largest_sum(units))
        .find(|critical| exact_p(units, critical + 1) <= alpha)
        .unwrap_or(largest_sum(units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(max_launches: u32) -> DecisionRule {
        DecisionRule { max_launches, ..DecisionRule::default() }
    }

    #[test]
    fn the_design_follows_from_the_most_launches() {
        assert!(matches!(Procedure::new(rule(9)).design, Design::Sequential(_)));
        assert!(matches!(Procedure::new(rule(8)).design, Design::Fixed));
        assert!(matches!(Procedure::new(rule(3)).design, Design::Fixed));
        assert!(matches!(Procedure::new(rule(2)).design, Design::RatioOnly));
        assert_eq!(Procedure::new(rule(5)).looks(), [5]);
        assert_eq!(Procedure::new(rule(0)).looks(), [1]);
        assert_eq!(Procedure::new(rule(1000)).max_launches(), 48);
    }

    #[test]
    fn a_single_test_has_the_exact_critical_sum() {
        // n = 8: only unanimity, p = 0.78 %; n = 10 at 1 %: Wilcoxon's table has a rank sum of 3, 55 - 6 = 49.
        assert_eq!(fixed_critical_sum(8, 0.01), 34);
        assert_eq!(fixed_critical_sum(10, 0.01), 47);
        assert_eq!(fixed_critical_sum(8, 0.005), 36);
    }
}
