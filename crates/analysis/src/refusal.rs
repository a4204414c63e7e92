//! What keeps a comparison from a verdict: too many errors, empty blocks, and what the caller knows.

use crate::launch::{LaunchSummary, Totals};
use model::verdict::Verdict;

/// Something that a reader of a comparison must know: an id for scripts, a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// `within-layout-noise`
    pub id: String,
    pub text: String,
}

impl Warning {
    /// A warning of this id and text.
    pub fn new(id: &str, text: impl Into<String>) -> Warning {
        Warning { id: id.to_owned(), text: text.into() }
    }
}

/// The most that may be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ceiling {
    /// A ratio without an interval: the sides did not do the same work, or the harness is biased.
    RatioOnly,
    /// A ratio with an interval and no verdict: background debt or shapes differ.
    Inconclusive,
    /// A suspicion: the sides were not interleaved, so drift is in the difference.
    Suspect,
}

/// A reason, found by the caller, why less than a verdict may be said: shapes that differ where the step is
/// sensitive to them, unequal debt, sides that were measured one after the other, an A/A test that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            (Ceiling::Inconclusive, _) => Verdict::Inconclusive,
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
    [("base", base), ("candidate", candidate)]
        .iter()
        .flat_map(|(side, totals)| [errors(side, totals), empty_blocks(side, totals)])
        .flatten()
        .map(|warning| Cap { ceiling: Ceiling::RatioOnly, warning })
        .collect()
}

fn errors(side: &str, totals: &Totals) -> Option<Warning> {
    if totals.failed_operations <= LARGEST_ERROR_RATE * totals.operations {
        return None;
    }
    Some(Warning::new(
        "errors",
        format!(
            "{} of the {side}'s {} operations failed, more than {} %: no verdict; look at the first error in the \
             raw output",
            totals.failed_operations,
            totals.operations.max(totals.failed_operations),
            100.0 * LARGEST_ERROR_RATE
        ),
    ))
}

fn empty_blocks(side: &str, totals: &Totals) -> Option<Warning> {
    if totals.empty_blocks as f64 <= LARGEST_EMPTY_SHARE * totals.blocks as f64 {
        return None;
    }
    Some(Warning::new(
        "empty-blocks",
        format!(
            "no operation completed in {} of the {side}'s {} blocks, more than {} %: no verdict; use longer blocks",
            totals.empty_blocks,
            totals.blocks,
            100.0 * LARGEST_EMPTY_SHARE
        ),
    ))
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
        let suspect = [Suspect, Suspect, Inconclusive, Inconclusive, Suspect, RatioOnly];
        assert_eq!(under(Ceiling::Suspect), suspect);
    }
}
