//! All that was measured in a bisection, whatever for: what it says of the noise and of the difference of any two
//! versions.

use super::fit::{self, Difference, Edge};
use super::{Compared, Effect, LEAST_NOISE, Measurement, Stretch};
use std::collections::BTreeMap;

/// Single launches, and comparisons.
#[derive(Debug, Clone, Default)]
pub(super) struct Taken {
    pub(super) measurements: Vec<Measurement>,
    pub(super) comparisons: Vec<(Stretch, Compared)>,
}

/// A launch as if the good end of a stretch had been its base.
#[derive(Debug, Clone, Copy)]
pub(super) struct Against {
    pub(super) measurement: Measurement,
    /// What is not known of the difference between its base and that end.
    pub(super) error: f64,
}

/// What is known of the difference between the ends of a stretch before it is searched.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ends {
    /// Of the whole.
    Compared(Compared),
    /// Of a part, by all launches.
    Fitted(Difference),
}

impl Taken {
    /// Standard deviation of a launch, by all comparisons.
    pub(super) fn noise(&self) -> f64 {
        let of = |(_, compared): &(Stretch, Compared)| {
            Some(f64::from(compared.launches.saturating_sub(1)) * compared.launch_sd?.powi(2))
        };
        let squares: f64 = self.comparisons.iter().filter_map(of).sum();
        (squares / self.df().max(1) as f64).sqrt().max(LEAST_NOISE)
    }

    /// Of [`Taken::noise`].
    pub(super) fn df(&self) -> usize {
        let known = self.comparisons.iter().filter(|(_, compared)| compared.launch_sd.is_some());
        known.map(|(_, compared)| compared.launches.saturating_sub(1) as usize).sum()
    }

    pub(super) fn difference(&self, stretch: Stretch) -> Option<Difference> {
        let noise = self.noise();
        let launches = self.measurements.iter().map(|one| Edge {
            between: Stretch { good: one.anchor, bad: one.version },
            value: one.value,
            error: noise,
        });
        let comparisons = self.comparisons.iter().filter_map(|(between, compared)| {
            let Effect { shift, error, .. } = Compared { launch_sd: Some(noise), ..*compared }.measured()?;
            Some(Edge { between: *between, value: shift, error })
        });
        fit::difference(&launches.chain(comparisons).collect::<Vec<Edge>>(), stretch)
    }

    /// The launches of versions between the ends of a stretch, as if its good end had been the base of all.
    pub(super) fn within(&self, stretch: Stretch) -> Vec<Against> {
        let inner = self.measurements.iter().filter(|one| {
            stretch.good < one.version && one.version < stretch.bad && one.anchor <= stretch.good
        });
        let known = Difference { shift: 0.0, error: 0.0 };
        let mut from_bases = BTreeMap::from([(stretch.good, Some(known))]);
        let against = |one: &Measurement| {
            let from_base = || self.difference(Stretch { good: one.anchor, bad: stretch.good });
            let to_good = (*from_bases.entry(one.anchor).or_insert_with(from_base))?;
            let measurement = Measurement { anchor: stretch.good, value: one.value - to_good.shift, ..*one };
            Some(Against { measurement, error: to_good.error })
        };
        inner.filter_map(against).collect()
    }
}
