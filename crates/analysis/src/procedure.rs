//! When a running comparison is looked at, and which test a step gets there. It follows from the rule, from how many launches
//! there are and from who shares images with whom: never from which side is faster.

use crate::budget::{MOST_LAUNCHES, least_launches};
use crate::launch::{LaunchSummary, Sharing, images, sharing};
use crate::signed_rank::{exact_p, largest_sum};
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

    /// What of alpha may be spent by this look. An extension spends what the launches before it had to leave.
    pub(crate) fn spent(&self, look: Look) -> f64 {
        let kept_back = if self.rule.extendable { KEPT_BACK } else { 0.0 };
        self.rule.alpha * ((1.0 - kept_back) * spent(look.share) + kept_back * spent(look.share - 1.0))
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

    /// The kind of test after these launches. Launches that are too few for ranks (below 8 at 1 %, more if the extension has
    /// little of alpha) get Student's t, and
    /// so do images that launches share, once, at the last look: at what of alpha is left beyond `spent`.
    pub(crate) fn design(&self, launches: &[LaunchSummary], look: Look, spent: f64) -> Design {
        let end = Look { share: if look.is_of_extension() { 2.0 } else { 1.0 }, ..look };
        let least = least_launches(self.spent(end) - spent) as usize;
        let left = self.spent(look) - spent;
        match sharing(launches) {
            Sharing::None | Sharing::One if launches.len() >= least => Design::Flips,
            Sharing::None | Sharing::One if look.is_last() => Design::Once(student(launches.len(), left)),
            Sharing::Several if look.is_last() => Design::Once(of_units(images(launches).len(), left)),
            Sharing::None | Sharing::One | Sharing::Several => Design::Once(Test::Nothing),
        }
    }

    /// The test of one look at the end of these launches: of what no family is asked about.
    pub(crate) fn single(&self, launches: &[LaunchSummary]) -> Test {
        of_units(crate::launch::unit_count(launches), self.rule.alpha)
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

/// Launch counts at which a run is looked at before its end. With fewer than eight launches nothing could be rejected
/// at 1 %: eight that all agree are as rare as 0.8 %.
const LOOKS: [u32; 11] = [8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48];
/// Exponent of the spending function (statistics 2.5: O'Brien-Fleming costs 10 to 30 % more launches).
const SPENDING_EXPONENT: f64 = 1.5;
/// What of alpha a comparison keeps back that can be extended. Eight launches that all agree (0.78 %) are still enough at 1 %.
const KEPT_BACK: f64 = 0.2;

/// A look at the launches so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The last launch that it sees.
    pub launch: u32,
    /// The share of the budget that has passed, 0 to 1; of the last look 1, whatever made the run end, as long as that
    /// was not what the launches said. In an extension 1 and the share of its time, up to 2.
    pub share: f64,
}

impl Look {
    /// The look after this launch; absent where there is none.
    pub fn after(launch: u32, share: f64, is_last: bool) -> Option<Look> {
        let end = if share > 1.0 { 2.0 } else { 1.0 };
        (is_last || LOOKS.contains(&launch))
            .then_some(Look { launch, share: if is_last { end } else { share } })
    }

    /// Looks of a run of `launches` launches of equal cost.
    pub fn planned(launches: u32) -> Vec<Look> {
        let share = |launch: u32| f64::from(launch) / f64::from(launches.max(1));
        (1..=launches).filter_map(|launch| Look::after(launch, share(launch), launch == launches)).collect()
    }

    /// Whether it is the last of the budget, or of the extension.
    pub fn is_last(self) -> bool {
        if self.is_of_extension() { self.share >= 2.0 } else { self.share >= 1.0 }
    }

    pub(crate) fn is_of_extension(self) -> bool {
        self.share > 1.0
    }

    /// The share of alpha that may be spent by now (Lan and DeMets 1983, by elapsed time; the power family of Kim and
    /// DeMets 1987).
    pub fn spent_share(self) -> f64 {
        spent(self.share)
    }
}

fn spent(share: f64) -> f64 {
    share.clamp(0.0, 1.0).powf(SPENDING_EXPONENT)
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

    #[test]
    fn an_extension_spends_what_was_kept_back() {
        let spent = |extendable, share| {
            let rule = DecisionRule { extendable, ..DecisionRule::default() };
            Procedure::new(rule).spent(Look { launch: 8, share })
        };
        for (share, expected) in [(0.25, 0.001), (1.0, 0.008), (1.25, 0.00825), (2.0, 0.01)] {
            assert!((spent(true, share) - expected).abs() < 1e-12, "{share}");
        }
        assert!((spent(false, 1.0) - 0.01).abs() < 1e-12 && (spent(false, 2.0) - 0.01).abs() < 1e-12);
        let last = |share| Look { launch: 9, share }.is_last();
        assert_eq!([0.9, 1.0, 1.5, 2.0].map(last), [false, true, false, true]);
        assert_eq!(Look::after(9, 1.7, true), Some(Look { launch: 9, share: 2.0 }));
    }

    #[test]
    fn a_run_is_looked_at_on_the_way_and_at_its_end() {
        let looks = Look::planned(13);
        assert_eq!(looks.iter().map(|look| look.launch).collect::<Vec<_>>(), [8, 10, 12, 13]);
        assert!(looks[3].is_last() && !looks[2].is_last());
        assert!((looks[3].spent_share() - 1.0).abs() < 1e-12 && looks[0].spent_share() < 8.0 / 13.0);
        assert_eq!(Look::after(9, 0.4, false), None);
        assert!(Look::after(9, 0.4, true).is_some_and(Look::is_last));
        assert_eq!(Look::planned(5), [Look { launch: 5, share: 1.0 }]);
    }
}
