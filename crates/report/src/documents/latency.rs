//! Latency of the operations of a step: percentiles and shares by latency, of all trials of a subject together.

use crate::charts::{Chart, LatencyRow, LatencyShares};
use crate::document::Kind::{Name, Number};
use crate::document::{Block, Figure, Table};
use crate::documents::ids::Ids;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use model::block::{Outcome, Side};
use model::figures::quantity;
use model::record::RunRecord;

/// Upper ends of buckets, a factor of about four apart as in Small Datum's response times, which begin at 256 us: an
/// engine in this process answers in less.
const UPPER_US: [f64; 13] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_000.0,
    4_000.0,
    16_000.0,
    64_000.0,
    256_000.0,
    1_000_000.0,
    4_000_000.0,
    16_000_000.0,
];

/// All latencies of one subject in one step.
struct OfSubject {
    label: String,
    histogram: Histogram<u64>,
}

/// A table of percentiles and a chart of shares; nothing where no latency was kept.
pub(crate) fn blocks(record: &RunRecord, step: &str, labels: &[String], ids: &mut Ids) -> Vec<Block> {
    let subjects: Vec<OfSubject> = labels
        .iter()
        .enumerate()
        .filter_map(|(side, label)| {
            Some(OfSubject { label: label.clone(), histogram: merged(record, step, side)? })
        })
        .collect();
    if subjects.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Table(
            percentiles(&subjects)
                .captioned("Latency of single operations in microseconds, over all finished trials."),
        ),
        Block::Figure(Figure {
            name: ids.of("latency", step),
            caption: format!("Shares of the operations of {step} by their latency."),
            chart: Chart::Latency(shares(step, &subjects)),
        }),
    ]
}

/// Mean latency of a subject in a step, in microseconds; absent where no latency was kept.
pub(crate) fn mean_us(record: &RunRecord, step: &str, side: Side) -> Option<f64> {
    Some(merged(record, step, side)?.mean() / 1e3)
}

/// The histograms of all trials that are done; absent where none can be read.
fn merged(record: &RunRecord, step: &str, side: Side) -> Option<Histogram<u64>> {
    let trials = record.trials.iter().filter(|ended| {
        ended.trial.step == step && ended.trial.side == side && ended.outcome == Outcome::Done
    });
    let mut all: Option<Histogram<u64>> = None;
    for histogram in trials.filter_map(|ended| decoded(&ended.latency.as_ref()?.histogram)) {
        match &mut all {
            Some(all) => all.add(&histogram).ok()?,
            None => all = Some(histogram),
        }
    }
    all.filter(|histogram| !histogram.is_empty())
}

/// HdrHistogram V2 in hexadecimal, nanoseconds; absent where it cannot be read.
fn decoded(hexadecimal: &str) -> Option<Histogram<u64>> {
    let (pairs, rest) = hexadecimal.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok();
    let bytes: Vec<u8> = pairs.iter().map(byte).collect::<Option<_>>()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

fn percentiles(subjects: &[OfSubject]) -> Table {
    let us = |ns: u64| quantity(ns as f64 / 1e3);
    let at = |one: &OfSubject, quantile| us(one.histogram.value_at_quantile(quantile));
    Table::by_columns(
        subjects,
        &[
            ("subject", Name, &|one| one.label.clone()),
            ("operations", Number, &|one| quantity(one.histogram.len() as f64)),
            ("p50", Number, &|one| at(one, 0.5)),
            ("p95", Number, &|one| at(one, 0.95)),
            ("p99", Number, &|one| at(one, 0.99)),
            ("p99.9", Number, &|one| at(one, 0.999)),
            ("p99.99", Number, &|one| at(one, 0.9999)),
            ("largest", Number, &|one| us(one.histogram.max())),
        ],
    )
}

fn shares(step: &str, subjects: &[OfSubject]) -> LatencyShares {
    let counts: Vec<Vec<u64>> = subjects.iter().map(|one| counts(&one.histogram)).collect();
    // Buckets that are empty for all at either end say nothing.
    let used = |bucket: usize| counts.iter().any(|of_subject| of_subject[bucket] > 0);
    let buckets = UPPER_US.len() + 1;
    let first = (0..buckets).find(|bucket| used(*bucket)).unwrap_or(0);
    let last = (first..buckets).rfind(|bucket| used(*bucket)).unwrap_or(first);
    let rows = subjects.iter().zip(&counts).map(|(one, counts)| {
        let all = counts.iter().sum::<u64>().max(1) as f64;
        LatencyRow {
            name: one.label.clone(),
            shares: counts[first..=last].iter().map(|count| *count as f64 / all).collect(),
        }
    });
    LatencyShares {
        title: format!("{step}: operations by latency"),
        upper_us: UPPER_US[first.min(UPPER_US.len())..last.min(UPPER_US.len())].to_vec(),
        rows: rows.collect(),
    }
}

/// Operations in each bucket, those above the last limit at the end.
fn counts(histogram: &Histogram<u64>) -> Vec<u64> {
    let mut counts = vec![0; UPPER_US.len() + 1];
    for step in histogram.iter_recorded() {
        let us = step.value_iterated_to() as f64 / 1e3;
        counts[UPPER_US.partition_point(|upper| *upper < us)] += step.count_at_value();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values_ns: &[u64]) -> OfSubject {
        let mut histogram = Histogram::new(3).expect("three digits are valid");
        for value in values_ns {
            histogram.record(*value).expect("the histogram grows");
        }
        OfSubject { label: "a".to_owned(), histogram }
    }

    #[test]
    fn shares_sum_to_one_and_empty_buckets_at_the_ends_are_left_out() {
        let shares = shares("read", &[of(&[2_000, 3_000, 20_000]), of(&[5_000])]);
        assert_eq!(shares.upper_us, [4.0, 16.0]);
        assert_eq!(shares.rows[0].shares.len(), 3);
        assert!((shares.rows[0].shares[0] - 2.0 / 3.0).abs() < 1e-12);
        assert!((shares.rows.iter().flat_map(|row| &row.shares).sum::<f64>() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_last_bucket_has_no_upper_end() {
        let shares = shares("read", &[of(&[20_000_000_000])]);
        assert_eq!((shares.upper_us.len(), shares.rows[0].shares.len()), (0, 1));
    }

    #[test]
    fn what_is_no_histogram_is_absent() {
        for text in ["", "1c", "xy", "1c849", "00000000"] {
            assert!(decoded(text).is_none(), "{text}");
        }
    }
}
