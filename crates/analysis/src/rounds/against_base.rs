//! Every version against the base, with the words of a verdict.

use super::{Contrast, Difference, RoundsFit};
use crate::error::Error;
use model::metric::Direction;
use model::verdict::Verdict;
use model::warning::{NoInterval, Party, Warning};

/// How versions are compared with a base. Fixed before any difference is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaseRule {
    pub base: usize,
    /// Share of false verdicts of all other versions together: each is tested at this over their number.
    pub alpha: f64,
    /// A change within plus or minus this share is no change.
    pub margin: f64,
    /// Layout noise tau of one build, in ln.
    pub layout_noise: f64,
    /// Which way of the metric is better.
    pub direction: Direction,
}

/// One version against the base.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionComparison {
    pub version: usize,
    /// The verdict: never better than ratio-only below two rounds on either side.
    pub verdict: Verdict,
    /// At confidence 1 - alpha / (versions - 1); absent where there is nothing to compare.
    pub difference: Option<Difference>,
    /// p times the number of comparisons, at most 1; absent without an interval.
    pub p_family: Option<f64>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

/// Two rounds are enough where the pooled noise has at least this many degrees of freedom: the versions lend
/// each other what two rounds of one cannot tell.
const LEAST_DF_OF_TWO_ROUNDS: usize = 3;

impl RoundsFit {
    /// Every other version against the base, in their order, with Bonferroni over all of them, those that have no
    /// value too: their number was fixed before.
    ///
    /// # Errors
    /// A base that is no version.
    pub fn against_base(&self, rule: &BaseRule) -> Result<Vec<VersionComparison>, Error> {
        let versions = self.versions.len();
        if rule.base >= versions {
            return Err(Error::NoSuchVersion { version: rule.base, versions });
        }
        let comparisons = versions.saturating_sub(1).max(1) as f64;
        let others = (0..versions).filter(|version| *version != rule.base);
        Ok(others.map(|version| self.compare(version, rule, comparisons)).collect())
    }

    fn compare(&self, version: usize, rule: &BaseRule, comparisons: f64) -> VersionComparison {
        let contrast = Contrast {
            base: rule.base,
            candidate: version,
            layout_noise: rule.layout_noise,
            confidence: 1.0 - rule.alpha / comparisons,
        };
        let difference = self.difference(&contrast);
        let mut warnings = self.warnings(version, rule.base, difference.as_ref());
        let Some(difference) = difference else {
            return VersionComparison {
                version,
                verdict: Verdict::RatioOnly,
                difference,
                p_family: None,
                warnings,
            };
        };
        if let Some(warning) = no_interval(&difference, self.df) {
            warnings.push(warning);
            let bare = Difference { low: None, high: None, p: None, ln_error: None, ..difference };
            return VersionComparison {
                version,
                verdict: Verdict::RatioOnly,
                difference: Some(bare),
                p_family: None,
                warnings,
            };
        }
        VersionComparison {
            version,
            verdict: verdict(&difference, rule),
            p_family: difference.p.map(|p| (p * comparisons).min(1.0)),
            difference: Some(difference),
            warnings,
        }
    }

    fn warnings(&self, version: usize, base: usize, difference: Option<&Difference>) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let most = self.versions.iter().map(|version| version.rounds).max().unwrap_or(0);
        for (of, index) in [(Party::Base, base), (Party::Version, version)] {
            let rounds = self.versions[index].rounds;
            if rounds < most {
                warnings.push(Warning::RoundsMissing { of, rounds: rounds as u64, most: most as u64 });
            }
        }
        let both_measured = self.versions[base].rounds > 0 && self.versions[version].rounds > 0;
        if difference.is_none() && both_measured {
            warnings.push(Warning::NotConnected);
        }
        warnings
    }
}

/// Why there is no interval.
fn no_interval(difference: &Difference, df: usize) -> Option<Warning> {
    let rounds = difference.base_rounds.min(difference.candidate_rounds);
    let why = match rounds {
        0 | 1 => NoInterval::FewerThanTwoRounds,
        2 if df < LEAST_DF_OF_TWO_ROUNDS => NoInterval::TwoRoundsOfFewVersions,
        _ if df == 0 => NoInterval::NothingRepeats,
        _ => return None,
    };
    Some(Warning::NoInterval { why })
}

/// The verdict of an interval; symmetric in ln, so that swapping the versions swaps the verdicts.
fn verdict(difference: &Difference, rule: &BaseRule) -> Verdict {
    let (Some(low), Some(high)) = (difference.low, difference.high) else { return Verdict::RatioOnly };
    let (less, more) = match rule.direction {
        Direction::HigherIsBetter => (Verdict::Regression, Verdict::Improvement),
        Direction::LowerIsBetter => (Verdict::Improvement, Verdict::Regression),
    };
    let bound = rule.margin.ln_1p();
    if high < 1.0 {
        less
    } else if low > 1.0 {
        more
    } else if low.ln() >= -bound && high.ln() <= bound {
        Verdict::NoChange
    } else {
        Verdict::Inconclusive
    }
}
