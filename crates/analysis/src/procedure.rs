//! Which test a step gets at a look. It follows from the rule, from how many launches there are and from who shares
//! images with whom: never from which side is faster.

use crate::budget::{MOST_LAUNCHES, least_launches};
use crate::launch::LaunchSummary;
use crate::looks::Look;
use crate::signed_rank::{exact_p, largest_sum};
use crate::units::{Sharing, images, sharing};
use model::plan::DecisionRule;

/// Fewer values than this bear no interval (statistics 1.4).
pub(crate) const LEAST_UNITS: usize = 3;

/// A decision rule, brought into its bounds.
#[derive(Debug, Clone, Copy)]
pub struct Procedure {
    rule: DecisionRule,
}

/// The test of a step at a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Test {
    /// Rejects if the signed-rank sum exceeds `critical`.
    SignedRank {
        critical: usize,
    },
    /// Student's t at this two-sided level.
    StudentT {
        alpha: f64,
    },
    Nothing,
}

/// Which kind of test a step gets at a look, before its critical value is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Design {
    /// By sign flips of launches, look by look.
    Flips,
    /// Once, at the last look.
    Once(Test),
}

impl Procedure {
    /// The procedure of this rule; `rule.max_launches` is brought into 1 to 48.
    pub fn new(rule: DecisionRule) -> Procedure {
        Procedure { rule: DecisionRule { max_launches: rule.max_launches.clamp(1, MOST_LAUNCHES), ..rule } }
    }

    /// The rule that it follows.
    pub fn rule(&self) -> &DecisionRule {
        &self.rule
    }

    /// The most launches.
    pub fn max_launches(&self) -> usize {
        self.rule.max_launches as usize
    }

    /// The looks of a run whose launches cost the same and that uses all of them.
    pub fn planned(&self) -> Vec<Look> {
        Look::planned(self.rule.max_launches)
    }

    /// The launch counts of [`Procedure::planned`].
    pub fn looks(&self) -> Vec<usize> {
        self.planned().iter().map(|look| look.launch as usize).collect()
    }

    /// The kind of test after these launches. Launches that are too few for ranks (below 8 at 1 %) get Student's t, and
    /// so do images that launches share, once, at the last look.
    pub(crate) fn design(&self, launches: &[LaunchSummary], look: Look) -> Design {
        let alpha = self.rule.alpha;
        match sharing(launches) {
            Sharing::None | Sharing::One if launches.len() >= least_launches(alpha) as usize => Design::Flips,
            Sharing::None | Sharing::One if look.is_last() => Design::Once(student(launches.len(), alpha)),
            Sharing::Several if look.is_last() => Design::Once(of_units(images(launches).len(), alpha)),
            Sharing::None | Sharing::One | Sharing::Several => Design::Once(Test::Nothing),
        }
    }

    /// The test of one look at the end of these launches: of what no family is asked about.
    pub(crate) fn single(&self, launches: &[LaunchSummary]) -> Test {
        of_units(crate::units::unit_count(launches), self.rule.alpha)
    }
}

/// One test of so many values: by ranks if they are enough, else Student's.
fn of_units(units: usize, alpha: f64) -> Test {
    if units >= least_launches(alpha) as usize {
        Test::SignedRank { critical: critical_sum(units, alpha) }
    } else {
        student(units, alpha)
    }
}

fn student(units: usize, alpha: f64) -> Test {
    if units < LEAST_UNITS { Test::Nothing } else { Test::StudentT { alpha } }
}

/// The smallest sum that a single test of `units` values at level `alpha` may exceed.
pub(crate) fn critical_sum(units: usize, alpha: f64) -> usize {
    let (mut low, mut high) = (0, largest_sum(units));
    while low < high {
        let middle = low.midpoint(high);
        if exact_p(units, middle + 1) <= alpha { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_launches_are_brought_into_bounds() {
        let most = |max_launches| {
            Procedure::new(DecisionRule { max_launches, ..DecisionRule::default() }).max_launches()
        };
        assert_eq!((most(0), most(9), most(1000)), (1, 9, 48));
    }

    #[test]
    fn a_single_test_has_the_exact_critical_sum() {
        // n = 8: only unanimity, p = 0.78 %; n = 10 at 1 %: Wilcoxon's table has a rank sum of 3, 55 - 6 = 49.
        assert_eq!(critical_sum(8, 0.01), 34);
        assert_eq!(critical_sum(10, 0.01), 47);
        assert_eq!(critical_sum(8, 0.005), 36);
    }
}
