//! How fast a host is, apart from any engine: figures that tell a slow host from a slow release, also months later.

use crate::figures::{change, quantity};
use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// The device of the work directory, as named in /proc/diskstats; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    pub figures: Vec<HostFigure>,
}

/// A host is measured again after this long: six hours, so that a day of runs has a few fingerprints and an hour of them pays for
/// one. Chosen, not measured.
pub const COUNTS_FOR_US: i64 = 6 * 3_600 * 1_000_000;

/// A figure of two fingerprints differs if it changed by more than this share ..
const LEAST_CHANGE: f64 = 0.05;
/// .. and by more than so many times what the two spread by together.
const LEAST_SPREADS: f64 = 3.0;

impl Fingerprint {
    /// Whether it still stands for a host: the same boot and device, and not yet six hours old. One of the future does not: the clock was
    /// set back since.
    pub fn stands_for(&self, host: &Host, now_us: i64) -> bool {
        let is_fresh = now_us.checked_sub(self.at_us).is_some_and(|age| (0..COUNTS_FOR_US).contains(&age));
        is_fresh && self.host == host.name && self.boot_id == host.boot_id && self.device == host.device
    }

    /// The figures that both have and that differ beyond what repeats differ by, in the order of this one.
    pub fn differences(&self, later: &Fingerprint) -> Vec<FigureChange> {
        let pairs = self.figures.iter().filter_map(|before| {
            let now = later.figures.iter().find(|now| now.name == before.name)?;
            differ(before, now).then(|| FigureChange {
                figure: before.name.clone(),
                before: before.value,
                now: now.value,
            })
        });
        pairs.collect()
    }
}

/// Both ways alike: the change is that of the larger value over the smaller. What is no positive number differs from nothing.
fn differ(one: &HostFigure, other: &HostFigure) -> bool {
    let (low, high) = (one.value.min(other.value), one.value.max(other.value));
    let change = high / low - 1.0;
    low > 0.0 && change > LEAST_CHANGE && change > LEAST_SPREADS * (one.spread + other.spread)
}

/// A figure in which two fingerprints differ.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureChange {
    /// `memory_latency_ns`
    pub figure: String,
    /// In the unit of its name.
    pub before: f64,
    pub now: f64,
}

/// `memory_latency_ns: 181 then 240 (+32.6 %)`
impl fmt::Display for FigureChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = change(self.now / self.before);
        write!(out, "{}: {} then {} ({change})", self.figure, quantity(self.before), quantity(self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(value: f64, spread: f64) -> Fingerprint {
        let figure = HostFigure { name: "memory_latency_ns".to_owned(), value, spread };
        Fingerprint {
            at_us: 1_000,
            host: "bench".to_owned(),
            boot_id: "b".to_owned(),
            device: Some("vda".to_owned()),
            figures: vec![figure],
        }
    }

    #[test]
    fn a_figure_differs_beyond_five_per_cent_and_three_times_both_spreads() {
        let shown = |one: Fingerprint, other: Fingerprint| -> Vec<String> {
            one.differences(&other).iter().map(ToString::to_string).collect()
        };
        assert_eq!(shown(of(181.0, 0.01), of(240.0, 0.02)), ["memory_latency_ns: 181 then 240 (+32.6 %)"]);
        assert_eq!(shown(of(240.0, 0.02), of(181.0, 0.01)), ["memory_latency_ns: 240 then 181 (-24.6 %)"]);
        assert_eq!(shown(of(100.0, 0.0), of(104.9, 0.0)), [""; 0], "within 5 %");
        assert_eq!(shown(of(100.0, 0.06), of(130.0, 0.05)), [""; 0], "repeats spread by as much");
        assert_eq!(shown(of(0.0, 0.0), of(130.0, 0.0)), [""; 0], "nothing is known of 0");
        assert_eq!(shown(of(f64::NAN, 0.0), of(130.0, f64::NAN)), [""; 0]);
        let without = Fingerprint { figures: Vec::new(), ..of(1.0, 0.0) };
        assert_eq!(shown(without, of(130.0, 0.0)), [""; 0], "what one lacks is no difference");
    }

    proptest! {
        #[test]
        fn which_of_two_comes_first_does_not_matter(
            values in prop::array::uniform2(0.001..1e6_f64),
            spreads in prop::array::uniform2(0.0..0.5_f64),
        ) {
            let (one, other) = (of(values[0], spreads[0]), of(values[1], spreads[1]));
            prop_assert_eq!(one.differences(&other).len(), other.differences(&one).len());
            prop_assert_eq!(one.differences(&one), vec![]);
        }
    }

    #[test]
    fn a_fingerprint_stands_for_six_hours_of_one_boot_and_one_device() {
        let host = Host {
            name: "bench".to_owned(),
            boot_id: "b".to_owned(),
            device: Some("vda".to_owned()),
            ..Host::default()
        };
        let fingerprint = of(1.0, 0.0);
        let stands = |host: &Host, after_us| fingerprint.stands_for(host, fingerprint.at_us + after_us);
        assert!(stands(&host, 0) && stands(&host, COUNTS_FOR_US - 1));
        assert!(!stands(&host, COUNTS_FOR_US) && !stands(&host, -1));
        assert!(!fingerprint.stands_for(&host, i64::MIN));
        let others = [
            Host { boot_id: "c".to_owned(), ..host.clone() },
            Host { device: None, ..host.clone() },
            Host { name: "other".to_owned(), ..host.clone() },
        ];
        assert!(others.iter().all(|other| !stands(other, 0)));
    }

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
