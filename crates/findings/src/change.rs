//! A ratio with its interval: how much larger something is than what it is compared with.

use analysis::student;
use serde::Serialize;

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    pub ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Change {
    /// Of logarithms of ratios, one for each repeat: their mean, with an interval by Student's t at this level if there are enough of them; absent
    /// if there is none.
    pub(crate) fn of_logarithms(logarithms: &[f64], alpha: f64) -> Option<Change> {
        let interval = student::interval(logarithms, alpha);
        Some(Change {
            ratio: student::mean(logarithms)?.exp(),
            low: interval.map(|(low, _)| low.exp()),
            high: interval.map(|(_, high)| high.exp()),
        })
    }
}
