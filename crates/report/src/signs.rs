//! Verdicts as signs, one set for all formats. They stand beside words or are explained by a legend: colour never says
//! anything alone.

use model::figures::chosen_percent;
use model::verdict::Verdict;
use std::collections::BTreeSet;

/// What stands beside a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    Slower,
    /// Slower by this step itself, not with all steps taken together.
    SlowerAlone,
    Faster,
    /// Faster by this step itself, not with all steps taken together.
    FasterAlone,
    Same,
    Open,
    /// A difference between sides that did unequal work: no verdict.
    Unequal,
    Suspect,
}

/// What a colour says again that words or a sign say already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    Strong,
    /// Of a number that does not count.
    Faint,
}

impl Sign {
    /// The sign of a verdict; absent where a ratio is all there is. `confirmed`: whether it holds with all steps taken
    /// together.
    pub fn of(verdict: Verdict, confirmed: bool) -> Option<Sign> {
        match (verdict, confirmed) {
            (Verdict::Regression, true) => Some(Sign::Slower),
            (Verdict::Regression, false) => Some(Sign::SlowerAlone),
            (Verdict::Improvement, true) => Some(Sign::Faster),
            (Verdict::Improvement, false) => Some(Sign::FasterAlone),
            (Verdict::NoChange, _) => Some(Sign::Same),
            (Verdict::Inconclusive, _) => Some(Sign::Open),
            (Verdict::Suspect, _) => Some(Sign::Suspect),
            (Verdict::RatioOnly, _) => None,
        }
    }

    /// Whether it says that there is a difference that the builds made.
    pub fn is_directional(self) -> bool {
        matches!(self, Sign::Slower | Sign::SlowerAlone | Sign::Faster | Sign::FasterAlone | Sign::Suspect)
    }

    /// Whether its ratio is shown: where no difference was found, a number would be read as one.
    pub fn has_number(self) -> bool {
        self.is_directional() || self == Sign::Unequal
    }

    pub fn character(self) -> char {
        self.look().0
    }

    pub fn words(self) -> &'static str {
        self.look().1
    }

    /// The class that colours it on a page.
    pub fn class(self) -> &'static str {
        self.look().2
    }

    pub fn tone(self) -> Tone {
        self.look().3
    }

    fn look(self) -> (char, &'static str, &'static str, Tone) {
        match self {
            Sign::Slower => ('\u{25bc}', "slower", "slower", Tone::Bad),
            Sign::SlowerAlone => {
                ('\u{25bd}', "slower, but significant alone or perhaps layout", "slower", Tone::Bad)
            }
            Sign::Faster => ('\u{25b2}', "faster", "faster", Tone::Good),
            Sign::FasterAlone => {
                ('\u{25b3}', "faster, but significant alone or perhaps layout", "faster", Tone::Good)
            }
            Sign::Same => ('=', "within the margin", "same", Tone::Plain),
            Sign::Open => ('?', "inconclusive", "open", Tone::Plain),
            Sign::Unequal => ('\u{2260}', "different after unequal work", "open", Tone::Plain),
            Sign::Suspect => ('!', "suspect", "open", Tone::Plain),
        }
    }
}

/// What the signs mean that occur; a difference within plus or minus `margin` (0.02 is 2 %) is none.
pub fn legend(signs: &BTreeSet<Sign>, margin: f64) -> String {
    let has = |any: &[Sign]| any.iter().any(|sign| signs.contains(sign));
    let mut parts: Vec<String> = Vec::new();
    if has(&[Sign::Slower, Sign::SlowerAlone]) {
        parts.push("\u{25bc} slower".to_owned());
    }
    if has(&[Sign::Faster, Sign::FasterAlone]) {
        parts.push("\u{25b2} faster".to_owned());
    }
    if has(&[Sign::SlowerAlone, Sign::FasterAlone])
        && let Some(last) = parts.last_mut()
    {
        last.push_str(" (hollow: significant alone, but not after correction for all steps)");
    }
    if has(&[Sign::Same]) {
        parts.push(format!("= no difference beyond {}", chosen_percent(margin)));
    }
    if has(&[Sign::Open]) {
        parts.push("? inconclusive: no difference found, nor ruled out".to_owned());
    }
    if has(&[Sign::Unequal]) {
        parts.push("\u{2260} different, but the sides did unequal work, which can be the reason".to_owned());
    }
    if has(&[Sign::Suspect]) {
        parts.push("! suspect, not proven".to_owned());
    }
    if parts.is_empty() { String::new() } else { parts.join(", ") + "." }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_explains_what_occurs_and_nothing_else() {
        let check =
            |signs: &[Sign], expected| assert_eq!(legend(&signs.iter().copied().collect(), 0.02), expected);
        check(&[], "");
        check(&[Sign::Slower, Sign::Same], "\u{25bc} slower, = no difference beyond 2 %.");
        check(
            &[Sign::Suspect, Sign::FasterAlone, Sign::Open, Sign::Slower],
            "\u{25bc} slower, \u{25b2} faster (hollow: significant alone, but not after correction for all steps), ? inconclusive: no \
             difference found, nor ruled out, ! suspect, not proven.",
        );
    }

    #[test]
    fn what_holds_by_itself_only_is_hollow_and_a_ratio_has_no_sign() {
        let of = |verdict, confirmed| Sign::of(verdict, confirmed).map(Sign::character);
        assert_eq!(of(Verdict::Regression, true), Some('▼'));
        assert_eq!(of(Verdict::Regression, false), Some('▽'));
        assert_eq!(of(Verdict::Improvement, false), Some('△'));
        assert_eq!(of(Verdict::NoChange, false), Some('='));
        assert_eq!(of(Verdict::RatioOnly, true), None);
    }
}
