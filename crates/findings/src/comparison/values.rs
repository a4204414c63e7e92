//! The numbers of one trial, or the means of several, by metric in base units.

use model::metric::Metric;
use std::collections::BTreeMap;

/// What was not measured is absent, never zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    pub metrics: BTreeMap<Metric, f64>,
    /// Tickers of the engine per operation, by the engine's own names.
    pub tickers: BTreeMap<String, f64>,
    /// Operations that were measured.
    pub operations: u64,
    /// Operations whose latency was measured.
    pub latency_count: u64,
}

impl Values {
    /// The value of a metric.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.metrics.get(&metric).copied()
    }

    pub(super) fn set(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.metrics.insert(metric, value);
        }
    }

    /// The arithmetic mean of each metric over the trials that have it.
    pub(super) fn mean<'a>(trials: impl Iterator<Item = &'a Values> + Clone) -> Values {
        Values {
            metrics: means(
                trials
                    .clone()
                    .flat_map(|values| values.metrics.iter().map(|(metric, value)| (*metric, *value))),
            ),
            tickers: means(
                trials
                    .clone()
                    .flat_map(|values| values.tickers.iter().map(|(name, value)| (name.clone(), *value))),
            ),
            operations: trials.clone().map(|values| values.operations).sum(),
            latency_count: trials.map(|values| values.latency_count).sum(),
        }
    }
}

fn means<K: Ord>(values: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mut by_key: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (key, value) in values {
        by_key.entry(key).or_default().push(value);
    }
    by_key.into_iter().filter_map(|(key, values)| Some((key, analysis::student::mean(&values)?))).collect()
}
