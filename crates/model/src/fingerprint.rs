//! How fast a host is, apart from any engine: figures that tell a slow host from a slow release, also months later.

use serde::{Deserialize, Serialize};

/// One figure of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFigure {
    /// `cpu_ns_per_step`
    pub name: String,
    /// Median of the repeats, in the unit of the name.
    pub value: f64,
    /// Half of what lies between the quartiles of the repeats, relative to the median: 0.01 is 1 %.
    pub spread: f64,
}

/// A figure that repeats worse than this is not steady.
pub const STEADY: f64 = 0.03;

impl HostFigure {
    /// Of repeats of one measurement; absent if there is none.
    pub fn of(name: &str, mut repeats: Vec<f64>) -> Option<HostFigure> {
        repeats.sort_by(f64::total_cmp);
        let at = |share: usize| repeats.get((repeats.len().saturating_sub(1) * share + 2) / 4).copied();
        let (low, value, high) = (at(1)?, at(2)?, at(3)?);
        let spread = if value > 0.0 { (high - low) / (2.0 * value) } else { 0.0 };
        Some(HostFigure { name: name.to_owned(), value, spread })
    }

    pub fn is_steady(&self) -> bool {
        self.spread <= STEADY
    }
}

/// The figures of a host at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Microseconds since the epoch.
    pub at_us: i64,
    pub host: String,
    pub boot_id: String,
    pub figures: Vec<HostFigure>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_median_and_half_of_what_lies_between_the_quartiles() {
        let figure = HostFigure::of("x", vec![100.0, 98.0, 104.0, 101.0, 300.0]).unwrap();
        assert_eq!((figure.value, figure.spread), (101.0, 4.0 / 202.0));
        assert!(figure.is_steady());
        let one = HostFigure::of("x", vec![7.0]).unwrap();
        assert_eq!((one.value, one.spread), (7.0, 0.0));
        assert_eq!(HostFigure::of("x", Vec::new()), None);
        let wild = HostFigure::of("x", vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!(!wild.is_steady());
    }
}
