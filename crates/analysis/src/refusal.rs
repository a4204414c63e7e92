//! What keeps a comparison from a verdict: too many errors, empty blocks, and what the caller knows.

use crate::launch::{LaunchSummary, Totals};
use model::verdict::Verdict;
use model::warning::{Party, Warning};

/// The most that may be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ceiling {
    /// A ratio without an interval: the sides did not do the same work, or the harness is biased.
    RatioOnly,
    /// A ratio with an interval and no verdict: shapes differ.
    Inconclusive,
    /// A loss, and nothing else: the candidate left more work behind, which can only have made it faster.
    Loss,
    /// A gain, and nothing else: the base left more work behind.
    Gain,
    /// A suspicion: the sides were not interleaved, so drift is in the difference.
    Suspect,
}

/// A reason, found by the caller, why less than a verdict may be said: shapes that differ where the step is
/// sensitive to them, unequal debt, sides that were measured one after the other, an A/A test that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Cap {
    /// The most that may be said.
    pub ceiling: Ceiling,
    pub warning: Warning,
}

impl Ceiling {
    /// The verdict that is left of `verdict` under this ceiling.
    pub fn lower(self, verdict: Verdict) -> Verdict {
        match (self, verdict) {
            (Ceiling::RatioOnly, _) | (_, Verdict::RatioOnly) => Verdict::RatioOnly,
            (Ceiling::Loss, Verdict::Regression) => Verdict::Regression,
            (Ceiling::Gain, Verdict::Improvement) => Verdict::Improvement,
            (Ceiling::Inconclusive | Ceiling::Loss | Ceiling::Gain, _) => Verdict::Inconclusive,
            (Ceiling::Suspect, Verdict::Regression | Verdict::Improvement | Verdict::Suspect) => {
                Verdict::Suspect
            }
            // Drift can hide a change as well as feign one.
            (Ceiling::Suspect, Verdict::NoChange | Verdict::Inconclusive) => Verdict::Inconclusive,
        }
    }
}

/// More failed operations than this share: the sides did not do the same work (statistics 1.4).
const LARGEST_ERROR_RATE: f64 = 0.001;
/// More blocks without a completed operation than this share: a stall, not a rate (statistics 1.4).
const LARGEST_EMPTY_SHARE: f64 = 0.05;

/// The refusals that the blocks themselves give.
pub fn of_blocks<'a>(launches: impl Iterator<Item = &'a LaunchSummary> + Clone) -> Vec<Cap> {
    let base = Totals::sum(launches.clone().map(|launch| &launch.base));
    let candidate = Totals::sum(launches.map(|launch| &launch.candidate));
    [(Party::Base, base), (Party::Candidate, candidate)]
        .iter()
        .flat_map(|(of, totals)| [errors(*of, totals), empty_blocks(*of, totals)])
        .flatten()
        .map(|warning| Cap { ceiling: Ceiling::RatioOnly, warning })
        .collect()
}

fn errors(of: Party, totals: &Totals) -> Option<Warning> {
    let are_many = totals.failed_operations > LARGEST_ERROR_RATE * totals.operations;
    are_many.then(|| Warning::Errors {
        of,
        failed: totals.failed_operations,
        operations: totals.operations.max(totals.failed_operations),
        most: LARGEST_ERROR_RATE,
    })
}

fn empty_blocks(of: Party, totals: &Totals) -> Option<Warning> {
    let are_many = totals.empty_blocks as f64 > LARGEST_EMPTY_SHARE * totals.blocks as f64;
    are_many.then_some(Warning::EmptyBlocks {
        of,
        empty: totals.empty_blocks as u64,
        blocks: totals.blocks as u64,
        most: LARGEST_EMPTY_SHARE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_never_raises_a_verdict() {
        use Verdict::{Improvement, Inconclusive, NoChange, RatioOnly, Regression, Suspect};
        let all = [Regression, Improvement, NoChange, Inconclusive, Suspect, RatioOnly];
        let under = |ceiling: Ceiling| all.map(|verdict| ceiling.lower(verdict));
        assert_eq!(under(Ceiling::RatioOnly), [RatioOnly; 6]);
        let inconclusive = [Inconclusive, Inconclusive, Inconclusive, Inconclusive, Inconclusive, RatioOnly];
        assert_eq!(under(Ceiling::Inconclusive), inconclusive);
        let [loss, gain] = [under(Ceiling::Loss), under(Ceiling::Gain)];
        assert_eq!((loss[0], gain[1]), (Regression, Improvement));
        assert!(loss[1..] == inconclusive[1..] && gain[0] == Inconclusive && gain[2..] == inconclusive[2..]);
        let suspect = [Suspect, Suspect, Inconclusive, Inconclusive, Suspect, RatioOnly];
        assert_eq!(under(Ceiling::Suspect), suspect);
    }
}
