//! What each second of a block did: operations and their latency, told while the block runs.
//!
//! A thread's histogram is walked at the end of each of its seconds, some tens of microseconds a second, and
//! nothing is added to what an operation costs. The walk gives counts since the step began, in coarse buckets;
//! their difference to the last walk is the second.

use crate::latency::Recorder;
use model::block::Second;
use model::units::Nanos;
use model::wire::BlockLimit;

/// Buckets of an octave are 2 to the power of this: 16, so that one is 6.25 % wide.
const SUB_BUCKET_BITS: u32 = 4;
const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;
const SECOND: Nanos = Nanos::from_secs(1);
/// An operation that is running when a block of stated time should end still belongs to its last second where
/// it ends within this part of a second: else every block would have one second more, of one operation a
/// thread. Not tuned: long against an operation, short against a second.
const TAIL_PARTS: u64 = 10;

/// Latencies in log-linear buckets: exact below 16 ns, 16 to the octave above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoarseHistogram {
    counts: Vec<u64>,
}

impl CoarseHistogram {
    /// An empty one.
    pub fn new() -> CoarseHistogram {
        CoarseHistogram { counts: Vec::new() }
    }

    /// Adds `count` latencies of one length.
    pub fn add(&mut self, latency: Nanos, count: u64) {
        let bucket = bucket_of(latency.0);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += count;
    }

    /// Adds all of another one.
    pub fn merge(&mut self, other: &CoarseHistogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// What was added since `before`, an earlier state of the same histogram.
    pub fn since(&self, before: &CoarseHistogram) -> CoarseHistogram {
        let earlier = before.counts.iter().copied().chain(std::iter::repeat(0));
        CoarseHistogram { counts: self.counts.iter().zip(earlier).map(|(now, then)| now - then).collect() }
    }

    /// Number of latencies in it.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The latency that a share of all does not exceed, to within half a bucket (3.2 %); 0 where there is none.
    pub fn quantile(&self, share: f64) -> Nanos {
        #[expect(clippy::cast_possible_truncation, reason = "a share of a count")]
        #[expect(clippy::cast_sign_loss, reason = "a share is positive")]
        let rank = ((self.count() as f64 * share).ceil() as u64).max(1);
        let mut passed = 0;
        let bucket = self.counts.iter().position(|count| {
            passed += count;
            passed >= rank
        });
        bucket.map_or(Nanos(0), middle_of)
    }

    fn max(&self) -> Nanos {
        self.counts.iter().rposition(|count| *count > 0).map_or(Nanos(0), middle_of)
    }
}

fn bucket_of(nanos: u64) -> usize {
    let bucket = if nanos < SUB_BUCKETS {
        nanos
    } else {
        let shift = nanos.ilog2() - SUB_BUCKET_BITS;
        u64::from(shift) * SUB_BUCKETS + (nanos >> shift)
    };
    // At most 60 octaves of 16.
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

fn middle_of(bucket: usize) -> Nanos {
    let bucket = bucket as u64;
    if bucket < 2 * SUB_BUCKETS {
        return Nanos(bucket);
    }
    let shift = bucket / SUB_BUCKETS - 1;
    let low = (bucket - shift * SUB_BUCKETS) << shift;
    Nanos(low + (1 << shift) / 2)
}

/// What one thread did in one second, or all threads together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondCounts {
    pub operations: u64,
    /// Latency of the calls.
    pub latency: CoarseHistogram,
}

impl SecondCounts {
    /// Of no thread yet.
    pub fn none() -> SecondCounts {
        SecondCounts { operations: 0, latency: CoarseHistogram::new() }
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: &SecondCounts) {
        self.operations += other.operations;
        self.latency.merge(&other.latency);
    }

    /// As it is told.
    pub fn summary(&self, second: u32) -> Second {
        Second {
            second,
            operations: self.operations,
            p50: self.latency.quantile(0.5),
            p99: self.latency.quantile(0.99),
            max: self.latency.max(),
        }
    }
}

/// The seconds of one thread's block: when each ends, and what it had.
pub struct Seconds<'a> {
    /// Where there is none, no second ever ends.
    tell: Option<&'a mut dyn FnMut(SecondCounts)>,
    length: Nanos,
    start: Nanos,
    /// Seconds that a block of stated time has, the last one perhaps cut; absent for a block of operations.
    planned: Option<(u64, Nanos)>,
    /// The second that runs, from 0.
    index: u64,
    end: Nanos,
    operations_before: u64,
    latency_before: CoarseHistogram,
}

impl<'a> Seconds<'a> {
    /// Before the block's clock is started, because the histogram is walked here.
    pub fn new(recorder: &Recorder, tell: Option<&'a mut dyn FnMut(SecondCounts)>) -> Seconds<'a> {
        let latency_before = if tell.is_some() { recorder.coarse() } else { CoarseHistogram::new() };
        Seconds {
            tell,
            length: SECOND,
            start: Nanos(0),
            planned: None,
            index: 0,
            end: Nanos(u64::MAX),
            operations_before: 0,
            latency_before,
        }
    }

    /// Seconds of another length.
    #[cfg(test)]
    pub fn lasting(self, length: Nanos) -> Seconds<'a> {
        Seconds { length, ..self }
    }

    /// The block begins.
    pub fn begin(&mut self, start: Nanos, limit: BlockLimit) {
        self.start = start;
        self.planned = match limit {
            BlockLimit::Time { wall } => Some((wall.0.div_ceil(self.length.0), start + wall)),
            BlockLimit::Operations { .. } => None,
        };
        self.end = self.end_of(0);
    }

    /// When the second that runs is over; never where nobody asks.
    #[inline]
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// Tells every second that is over at `now`, in which `operations` of the block were completed.
    #[cold]
    pub fn tell_until(&mut self, now: Nanos, operations: u64, recorder: &Recorder) {
        while now >= self.end {
            self.tell(operations, recorder);
            self.index += 1;
            self.end = self.end_of(self.index);
        }
    }

    /// Tells the second that the end of the block cut short, where something was done in it.
    pub fn tell_rest(&mut self, operations: u64, recorder: &Recorder) {
        let has_grown = || operations > self.operations_before || recorder.coarse() != self.latency_before;
        if self.tell.is_some() && has_grown() {
            self.tell(operations, recorder);
        }
    }

    fn tell(&mut self, operations: u64, recorder: &Recorder) {
        let Some(tell) = &mut self.tell else { return };
        let latency = recorder.coarse();
        tell(SecondCounts {
            operations: operations - self.operations_before,
            latency: latency.since(&self.latency_before),
        });
        self.operations_before = operations;
        self.latency_before = latency;
    }

    fn end_of(&self, index: u64) -> Nanos {
        if self.tell.is_none() {
            return Nanos(u64::MAX);
        }
        let end = self.start + Nanos(self.length.0.saturating_mul(index + 1));
        match self.planned {
            Some((seconds, deadline)) if index + 1 == seconds => {
                end.max(deadline + Nanos(self.length.0 / TAIL_PARTS))
            }
            Some(_) | None => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_close_to_all_that_is_in_it() {
        let large = (13..40).map(|octave| (1_u64 << octave) + (1 << octave) / 3);
        let mut last = 0;
        for nanos in (0..5000).chain(large) {
            let middle = middle_of(bucket_of(nanos)).0;
            assert!(middle.abs_diff(nanos) as f64 <= nanos as f64 * 0.032, "{nanos}: {middle}");
            assert!(bucket_of(nanos) >= last, "{nanos}");
            last = bucket_of(nanos);
        }
        assert!(bucket_of(u64::MAX) < 61 * 16);
    }

    #[test]
    fn a_difference_and_a_merge_lose_nothing() {
        let of = |latencies: &[u64]| {
            let mut histogram = CoarseHistogram::new();
            latencies.iter().for_each(|latency| histogram.add(Nanos(*latency), 1));
            histogram
        };
        let before = of(&[100, 2000]);
        let after = of(&[100, 2000, 2000, 1_000_000]);
        let mut sum = after.since(&before);
        assert_eq!(sum, {
            let mut second = of(&[2000, 1_000_000]);
            second.counts.resize(after.counts.len(), 0);
            second
        });
        sum.merge(&before);
        assert_eq!(sum, after);
        assert_eq!(after.count(), 4);
    }

    #[test]
    fn quantiles_are_those_of_the_latencies() {
        let mut histogram = CoarseHistogram::new();
        assert_eq!((histogram.quantile(0.5), histogram.max()), (Nanos(0), Nanos(0)));
        for micros in 1..=1000 {
            histogram.add(Nanos(micros * 1000), 1);
        }
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0), (1.0, 1_000_000.0)] {
            let found = histogram.quantile(share).0 as f64;
            assert!((found / exact - 1.0).abs() < 0.07, "{share}: {found}");
        }
        assert!((histogram.max().0 as f64 / 1e6 - 1.0).abs() < 0.07);
    }

    #[test]
    fn a_stall_is_seconds_of_nothing_and_an_end_that_comes_late_is_no_second() {
        let mut told = Vec::new();
        let mut tell = |second: SecondCounts| told.push((second.operations, second.latency.count()));
        let mut recorder = Recorder::new();
        let mut seconds = Seconds::new(&recorder, Some(&mut tell));
        let start = Nanos::from_secs(100);
        seconds.begin(start, BlockLimit::Time { wall: Nanos::from_secs(4) });
        recorder.record(Nanos(500));
        // An operation that began in the first second ends in the third.
        seconds.tell_until(start + Nanos::from_millis(2500), 1, &recorder);
        recorder.record(Nanos::from_millis(2000));
        seconds.tell_until(start + Nanos::from_millis(3100), 2, &recorder);
        recorder.record(Nanos::from_millis(600));
        // The last operation ends shortly after the deadline.
        seconds.tell_until(start + Nanos::from_millis(4050), 3, &recorder);
        recorder.record(Nanos::from_millis(950));
        seconds.tell_rest(4, &recorder);
        seconds.tell_rest(4, &recorder);
        assert_eq!(told, [(1, 1), (0, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn where_nobody_asks_no_second_ends() {
        let recorder = Recorder::new();
        let mut seconds = Seconds::new(&recorder, None);
        seconds.begin(Nanos(0), BlockLimit::Operations { count: 1 });
        assert_eq!(seconds.end(), Nanos(u64::MAX));
        seconds.tell_rest(1, &recorder);
    }
}
