//! What the seconds of a trial tell that its mean does not: the rate that is kept in nearly all of them, and stalls.

use crate::comparison::Values;
use model::block::{Block, Second};
use model::metric::Metric;

/// Fewer seconds, or windows of ten, have no share of them that could be told.
const LEAST: usize = 10;
/// Operations are added up over so many seconds for the rates over longer windows.
const WINDOW: usize = 10;
/// In a second of a stall at most this share of the middle second's operations ends.
const STALLED: f64 = 0.1;

/// Operations of each whole second of a trial that lasted so long; a second of which nothing is known had none.
pub(super) fn rates(seconds: &[Second], measured: &Block) -> Vec<f64> {
    let whole = usize::try_from(measured.wall.0 / 1_000_000_000).unwrap_or(0);
    let mut rates = vec![0.0; whole];
    for second in seconds {
        if let Some(rate) = rates.get_mut(second.second as usize) {
            *rate = second.operations as f64;
        }
    }
    rates
}

/// The rates that are reached in a half, in 95 and in 99 percent of the seconds; and of windows of ten seconds.
pub(super) fn add(values: &mut Values, rates: &[f64]) {
    for (metric, share) in
        [(Metric::RateIn50Percent, 0.5), (Metric::RateIn95Percent, 0.95), (Metric::RateIn99Percent, 0.99)]
    {
        values.set(metric, reached(rates, share));
    }
    let windows: Vec<f64> =
        rates.chunks_exact(WINDOW).map(|window| window.iter().sum::<f64>() / WINDOW as f64).collect();
    for (metric, share) in [
        (Metric::RateIn50PercentOfTen, 0.5),
        (Metric::RateIn95PercentOfTen, 0.95),
        (Metric::RateIn99PercentOfTen, 0.99),
    ] {
        values.set(metric, reached(&windows, share));
    }
}

/// The largest rate that is reached in at least this share, as Small Datum's p50 and p99 of the Insert Benchmark have it; absent of few.
fn reached(rates: &[f64], share: f64) -> Option<f64> {
    let mut sorted = rates.to_vec();
    sorted.sort_by(|left, right| right.total_cmp(left));
    #[expect(clippy::cast_possible_truncation, reason = "a share of a length")]
    #[expect(clippy::cast_sign_loss, reason = "not below 0")]
    let needed = (share * sorted.len() as f64).ceil() as usize;
    (sorted.len() >= LEAST).then(|| sorted.get(needed.max(1) - 1).copied()).flatten()
}

/// First second, number of seconds, and their mean rate over that of the middle second: of each stretch of stalled seconds.
pub(super) fn stretches(rates: &[f64]) -> Vec<(u32, u32, f64)> {
    let mut found = Vec::new();
    let Some(middle) = reached(rates, 0.5).filter(|middle| *middle > 0.0) else { return found };
    let mut from = 0;
    for stretch in rates.chunk_by(|left, right| is_stalled(*left, middle) == is_stalled(*right, middle)) {
        if is_stalled(stretch[0], middle) {
            let mean = stretch.iter().sum::<f64>() / stretch.len() as f64;
            let seconds = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            found.push((seconds(from), seconds(stretch.len()), mean / middle));
        }
        from += stretch.len();
    }
    found
}

fn is_stalled(rate: f64, middle: f64) -> bool {
    rate <= STALLED * middle
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::block::TrialKey;
    use model::units::Nanos;

    #[test]
    fn a_rate_is_reached_in_a_share_of_the_seconds() {
        let rates: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(reached(&rates, 0.5), Some(51.0));
        assert_eq!(reached(&rates, 0.95), Some(6.0));
        assert_eq!(reached(&rates, 0.99), Some(2.0));
        assert_eq!(reached(&rates[..9], 0.5), None, "nine seconds are few");
        // By counting, which share of the seconds reaches it.
        for share in [0.5, 0.95, 0.99] {
            let rate = reached(&rates, share).unwrap();
            let count = |least: f64| rates.iter().filter(|rate| **rate >= least).count() as f64;
            assert!(count(rate) >= share * 100.0 && count(rate + 1.0) < share * 100.0, "{share}: {rate}");
        }
    }

    #[test]
    fn rates_are_told_of_seconds_and_of_ten_at_a_time() {
        let rates: Vec<f64> = (0..200).map(f64::from).collect();
        let of = |rates: &[f64], metric: Metric| {
            let mut values = Values::default();
            add(&mut values, rates);
            values.get(metric)
        };
        let tens = [Metric::RateIn50PercentOfTen, Metric::RateIn95PercentOfTen, Metric::RateIn99PercentOfTen];
        assert_eq!(tens.map(|metric| of(&rates, metric)), [Some(104.5), Some(14.5), Some(4.5)]);
        assert_eq!(of(&rates, Metric::RateIn50Percent), Some(100.0));
        assert_eq!(tens.map(|metric| of(&rates[..99], metric)), [None; 3], "nine windows are few");
    }

    #[test]
    fn stretches_of_hardly_any_operations_are_stalls() {
        let mut rates = vec![1000.0; 30];
        rates[3] = 100.0;
        (10..14).for_each(|second| rates[second] = 20.0);
        rates[29] = 0.0;
        rates[20] = 101.0;
        assert_eq!(stretches(&rates), [(3, 1, 0.1), (10, 4, 0.02), (29, 1, 0.0)]);
        assert!(stretches(&[0.0; 30]).is_empty(), "where nothing runs nothing stalls");
        assert!(stretches(&rates[..9]).is_empty());
    }

    #[test]
    fn a_second_that_nothing_is_known_of_had_no_operation_and_the_last_one_is_left_out() {
        let second = |second: u32, operations: u64| Second {
            second,
            operations,
            p50: Nanos(1),
            p99: Nanos(1),
            max: Nanos(1),
        };
        let trial = TrialKey { launch: 1, step: "l.i1".to_owned(), side: 0 };
        let block = testing::block(trial, 20, Nanos::from_millis(3_400));
        assert_eq!(rates(&[second(0, 7), second(2, 9), second(3, 4)], &block), [7.0, 0.0, 9.0]);
    }
}
