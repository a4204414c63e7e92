//! Relative rates of steps by candidates, before any layout.

use crate::signs::Sign;
use findings::comparison::VisibleChange;
use model::figures;
use std::collections::BTreeSet;

/// Relative rates: a row for each step, a column for each candidate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matrix {
    pub caption: String,
    pub base: String,
    /// What the base's own values are: `QPS`; empty where each says it.
    pub base_metric: String,
    pub candidates: Vec<String>,
    /// In the order of the workload.
    pub rows: Vec<MatrixRow>,
    /// What the signs and numbers in its cells mean.
    pub legend: String,
    /// What its intervals mean; empty if it has none.
    pub interval_legend: String,
    /// Whether intervals stand with the ratios. A page has them in any case, where a reader points or asks for them.
    pub intervals: bool,
    /// Whether base and candidates are releases of one configuration in their order, so that a line may join them.
    pub is_series: bool,
}

impl Matrix {
    /// Whether the table of its one candidate says all of it. A page shows it all the same: there it is sorted, filtered
    /// and leads to the steps.
    pub fn is_in_another_table(&self) -> bool {
        self.candidates.len() == 1
    }

    /// The signs that occur in it.
    pub fn signs(&self) -> BTreeSet<Sign> {
        self.rows.iter().flat_map(|row| &row.cells).flatten().filter_map(|cell| cell.sign).collect()
    }

    /// Whether it is known of some step how small a change would have been found.
    pub fn has_visible_changes(&self) -> bool {
        let is_known = |one: &VisibleChange| one.between_binaries.or(one.beyond_layout).is_some();
        self.rows.iter().any(|row| is_known(&row.visible))
    }

    /// The legend, with that of the intervals if they are shown.
    pub fn whole_legend(&self, intervals: bool) -> String {
        let parts = [Some(&self.legend), intervals.then_some(&self.interval_legend)];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        parts.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// One step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatrixRow {
    pub step: String,
    /// The section that has all of it; absent where there is none.
    pub section: Option<String>,
    pub group: String,
    /// The base's rate, as tables show it.
    pub base_value: String,
    /// One for each candidate; absent where it was not measured.
    pub cells: Vec<Option<MatrixCell>>,
    /// How small a change of it would have been found.
    pub visible: VisibleChange,
    /// Where it changed, between the candidate and the release before.
    pub changes: Vec<MatrixChange>,
}

impl MatrixRow {
    /// The change at a candidate, by its index.
    pub fn change_at(&self, candidate: usize) -> Option<&MatrixChange> {
        self.changes.iter().find(|change| change.candidate == candidate)
    }
}

/// A change of a step at a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixChange {
    /// Index of the first candidate that differs.
    pub candidate: usize,
    /// Whether it is more than a candidate of a change, or a suspicion.
    pub confirmed: bool,
    /// The change in a sentence, shown where a reader points.
    pub detail: String,
}

impl MatrixChange {
    /// What stands between the columns; one column wide on a terminal.
    pub fn mark(&self) -> char {
        if self.confirmed { CHANGED } else { PERHAPS_CHANGED }
    }
}

/// Between the columns of a change.
pub(crate) const CHANGED: char = '\u{2502}';
/// Between the columns of a candidate of a change.
pub(crate) const PERHAPS_CHANGED: char = '\u{250a}';

/// One candidate in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixCell {
    /// The ratio as tables show it: `0.941`. It is not shown where it would be noise.
    pub text: String,
    /// Candidate over base; absent where there is none.
    pub ratio: Option<f64>,
    /// Lower end of its interval; absent where it is not bounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Of its verdict; absent if it has none.
    pub sign: Option<Sign>,
    /// More about it, shown where a reader points: values with units, launches, confidence.
    pub detail: String,
}

impl MatrixCell {
    /// The ratio if the sign leaves one: elsewhere a number would be read as a finding.
    pub fn number(&self) -> &str {
        if self.sign.is_none_or(Sign::has_number) { &self.text } else { "" }
    }

    /// The same in as few characters as tell it: `0.94`. Three digits where two would say that nothing changed.
    pub fn short_number(&self) -> String {
        match (self.number(), self.ratio) {
            ("", _) => String::new(),
            (_, Some(ratio)) if ratio < 10.0 && (ratio - 1.0).abs() > 0.005 => format!("{ratio:.2}"),
            (number, _) => number.to_owned(),
        }
    }

    /// Its interval: `[0.930, 0.952]`; absent if it is bounded on no side.
    pub fn interval(&self) -> Option<String> {
        (self.low.is_some() || self.high.is_some()).then(|| figures::interval(self.low, self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::verdict::Verdict;

    #[test]
    fn a_number_is_short_as_long_as_it_tells_a_difference() {
        let check = |ratio: f64, verdict, expected: &str| {
            let cell = MatrixCell {
                text: figures::ratio(ratio),
                ratio: Some(ratio),
                low: None,
                high: None,
                sign: Sign::of(verdict, true),
                detail: String::new(),
            };
            assert_eq!(cell.short_number(), expected);
        };
        check(0.941, Verdict::Regression, "0.94");
        check(0.9962, Verdict::Regression, "0.996");
        check(1.0041, Verdict::Improvement, "1.004");
        check(1.0949, Verdict::RatioOnly, "1.09");
        check(12.34, Verdict::Improvement, "12.3");
        check(0.9, Verdict::NoChange, "");
    }
}
