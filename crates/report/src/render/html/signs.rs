//! The signs of verdicts in a page.

use crate::signs::Sign;
use maud::{Markup, html};
use model::verdict::Verdict;

/// A sign in its colour. Words that are read aloud stand beside it.
pub(super) fn sign(sign: Sign) -> Markup {
    html! { span class={ "sign " (sign.class()) } aria-hidden="true" { (sign.character()) } }
}

/// Whether something was found to have changed.
pub(super) fn moved(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Regression | Verdict::Improvement | Verdict::Suspect => true,
        Verdict::NoChange | Verdict::Inconclusive | Verdict::RatioOnly => false,
    }
}
