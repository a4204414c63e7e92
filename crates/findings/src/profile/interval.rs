//! Means over launches with their intervals.

use analysis::student::{interval, mean};
use serde::Serialize;

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
}
