//! Means over launches with their intervals.

use analysis::student::{interval, mean};
use serde::Serialize;
use std::cmp::Ordering;

/// Of the intervals. There are hundreds of functions: one in a hundred may look changed.
pub const CONFIDENCE: f64 = 0.99;

/// A mean of launches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub mean: f64,
    /// Absent of fewer than three launches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Interval {
    pub(super) fn of(values: &[f64]) -> Interval {
        let bounds = interval(values, 1.0 - CONFIDENCE);
        Interval {
            mean: mean(values).unwrap_or(0.0),
            low: bounds.map(|(low, _)| low),
            high: bounds.map(|(_, high)| high),
        }
    }

    /// Whether it leaves no doubt about the sign.
    pub fn is_clear(self) -> bool {
        self.low.is_some_and(|low| low > 0.0) || self.high.is_some_and(|high| high < 0.0)
    }

    /// Those that are clear before those that are not, the largest change first: the CPU time of code scatters from launch to launch by more than a
    /// wait that is new lasts.
    pub(super) fn clearest_first(&self, other: &Interval) -> Ordering {
        let size = |of: &Interval| of.mean.abs();
        other.is_clear().cmp(&self.is_clear()).then(size(other).total_cmp(&size(self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_clear_stands_before_what_is_large() {
        let around =
            |mean: f64, half: f64| Interval { mean, low: Some(mean - half), high: Some(mean + half) };
        let [large, clear, clearer, largest] =
            [around(0.9, 1.0), around(0.1, 0.05), around(-0.2, 0.05), around(-1.5, 2.0)];
        let mut all = [large, clear, clearer, largest];
        all.sort_by(Interval::clearest_first);
        assert!(all == [clearer, clear, largest, large], "{all:?}");
    }
}
