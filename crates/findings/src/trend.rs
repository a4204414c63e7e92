//! The straight line through a series of releases, as campaigns and histories tell it.

use analysis::change_points::{Trend, TrendKind};
use serde::Serialize;

/// The straight line through a series: the last release over the first on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TrendView {
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
    /// Whether it is told as a trend.
    #[serde(serialize_with = "crate::by_name")]
    pub kind: TrendKind,
    /// The largest step of one release that it may hide, as a ratio.
    pub largest_step: f64,
}

impl TrendView {
    /// Whether it is told, alone or as one of two explanations.
    pub fn is_told(&self) -> bool {
        self.kind != TrendKind::None
    }
}

impl From<Trend> for TrendView {
    fn from(of: Trend) -> TrendView {
        let Trend { kind, ratio, low, high, confidence, largest_step } = of;
        TrendView { ratio, low, high, confidence, kind, largest_step }
    }
}
