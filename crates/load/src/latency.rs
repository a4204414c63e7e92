//! Latency of single operations, in an HDR histogram of three significant digits.

use crate::seconds::CoarseHistogram;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use model::block::Latency;
use model::units::Nanos;
use model::wire::Lag;
use std::fmt::Write;

/// The longest latency that is told apart; longer ones count as this.
const LONGEST: Nanos = Nanos::from_secs(600);

/// A histogram of nanoseconds.
#[derive(Debug, Clone)]
pub struct Recorder {
    histogram: Histogram<u64>,
}

impl Recorder {
    /// An empty one.
    pub fn new() -> Recorder {
        let histogram = Histogram::new_with_bounds(1, LONGEST.0, 3).unwrap_or_else(|error| {
            unreachable!("1 ns to 600 s at three digits are valid bounds: {error}");
        });
        Recorder { histogram }
    }

    /// Counts one operation.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.histogram.saturating_record(latency.0);
    }

    /// Counts many operations of one latency.
    pub fn record_many(&mut self, latency: Nanos, count: u64) {
        // Within the bounds nothing can fail.
        let _ = self.histogram.record_n(latency.0.clamp(1, LONGEST.0), count);
    }

    /// Counts all operations of another recorder.
    pub fn merge(&mut self, other: &Recorder) {
        // Both have the same bounds, so that adding cannot fail.
        self.histogram += &other.histogram;
    }

    /// Percentiles and the histogram itself.
    pub fn summary(&self) -> Latency {
        let at = |quantile| Nanos(self.histogram.value_at_quantile(quantile));
        Latency {
            count: self.histogram.len(),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            p9999: Some(at(0.9999)),
            max: Nanos(self.histogram.max()),
            histogram: self.encoded(),
        }
    }

    /// The same as the lag of an open loop.
    pub fn lag(&self) -> Lag {
        let at = |quantile| Nanos(self.histogram.value_at_quantile(quantile));
        Lag { p50: at(0.5), p99: at(0.99), max: Nanos(self.histogram.max()) }
    }

    /// The same counts in coarse buckets.
    pub fn coarse(&self) -> CoarseHistogram {
        let mut coarse = CoarseHistogram::new();
        for step in self.histogram.iter_recorded() {
            coarse.add(Nanos(step.value_iterated_to()), step.count_at_value());
        }
        coarse
    }

    fn encoded(&self) -> String {
        let mut bytes = Vec::new();
        if V2Serializer::new().serialize(&self.histogram, &mut bytes).is_err() {
            unreachable!("writing a histogram to memory cannot fail");
        }
        bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_two_threads_are_those_of_all_operations() {
        let mut all = Recorder::new();
        let mut half = Recorder::new();
        for micros in 1..=500 {
            all.record(Nanos(micros * 1000));
            half.record(Nanos((micros + 500) * 1000));
        }
        all.merge(&half);
        all.record(Nanos::from_secs(4000));
        let summary = all.summary();
        assert_eq!(summary.count, 1001);
        assert!(summary.p50.0.abs_diff(501_000) < 1000, "{summary:?}");
        assert!(summary.p99.0.abs_diff(991_000) < 2000, "{summary:?}");
        assert!(summary.p9999.is_some_and(|p9999| p9999 >= LONGEST), "{summary:?}");
        assert_eq!(all.coarse().count(), 1001);
        assert!(summary.max >= LONGEST);
        assert!(summary.histogram.starts_with("1c8493"), "V2 cookie: {}", &summary.histogram[..8]);
    }
}
