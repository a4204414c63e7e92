//! Verdicts as signs and classes, which stand beside their words: colour never says anything alone.

use model::verdict::Verdict;

/// Stands beside a ratio.
pub(super) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "\u{25bc}",
        Verdict::Improvement => "\u{25b2}",
        Verdict::NoChange => "=",
        Verdict::Inconclusive => "?",
        Verdict::Suspect => "!",
        Verdict::RatioOnly => "",
    }
}

/// The class that colours it.
pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "slower",
        Verdict::Improvement => "faster",
        Verdict::NoChange => "same",
        Verdict::Inconclusive | Verdict::Suspect => "open",
        Verdict::RatioOnly => "none",
    }
}

/// Whether something was found to have changed.
pub(super) fn moved(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Regression | Verdict::Improvement | Verdict::Suspect => true,
        Verdict::NoChange | Verdict::Inconclusive | Verdict::RatioOnly => false,
    }
}
