//! Draws against naive oracles.

use super::*;
use crate::keys::{Stream, generator};
use model::workload::sql::Bound;

/// One that is near no other.
fn alone(draw: Draw, rows: u64) -> Result<Source, String> {
    source(&draw, rows, &BTreeMap::new())
}

fn random() -> Xoshiro256PlusPlus {
    generator(11, Stream::Foreground(0))
}

fn zipfian_source(count: i64, exponent: f64) -> Source {
    alone(Draw::Zipfian { low: Bound::number(1), high: Bound::number(count), exponent }, 0).unwrap()
}

/// Greatest distance of two cumulative distributions over ranks.
fn distance(counts: &[u64], weights: &[f64]) -> f64 {
    let drawn: u64 = counts.iter().sum();
    let whole: f64 = weights.iter().sum();
    let (mut seen, mut expected, mut greatest) = (0_u64, 0.0, 0.0_f64);
    for (count, weight) in counts.iter().zip(weights) {
        seen += count;
        expected += weight;
        greatest = greatest.max((seen as f64 / drawn as f64 - expected / whole).abs());
    }
    greatest
}

#[test]
fn ranks_follow_the_sum_of_weights() {
    const DRAWS: u32 = 200_000;
    for (count, exponent) in
        [(1_u64, 0.8), (2, 0.8), (10, 0.8), (1000, 0.8), (1000, 1.0), (1000, 2.5), (100_000, 0.2)]
    {
        let zipf = Zipf::new(count, exponent);
        let mut counts = vec![0; usize::try_from(count).unwrap()];
        let mut random = random();
        for _ in 0..DRAWS {
            counts[usize::try_from(zipf.rank(&mut random) - 1).unwrap()] += 1;
        }
        let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-exponent)).collect();
        // Kolmogorov and Smirnov: beyond 1.95 / sqrt(n) in 1 of 1,000 samples.
        let distance = distance(&counts, &weights);
        assert!(distance < 1.95 / f64::from(DRAWS).sqrt(), "{count}, {exponent}: {distance}");
    }
}

#[test]
fn ranks_of_a_huge_range_stay_in_it() {
    let zipf = Zipf::new(GREATEST, 0.8);
    let mut random = random();
    assert!((0..10_000).all(|_| (1..=GREATEST).contains(&zipf.rank(&mut random))));
}

#[test]
fn the_most_frequent_numbers_are_the_first_of_the_range() {
    let source =
        alone(Draw::Zipfian { low: Bound::number(11), high: Bound::number(1010), exponent: 0.8 }, 0).unwrap();
    let (mut random, mut counts) = (random(), [0_u32; 1000]);
    for _ in 0..200_000 {
        counts[usize::try_from(number(&source, &mut random, 0, [1, 1]) - 11).unwrap()] += 1;
    }
    let of_ten: Vec<u32> = counts.chunks(10).map(|ten| ten.iter().sum()).collect();
    assert!(of_ten[..5].is_sorted_by(|left, right| left > right), "{:?}", &of_ten[..5]);
    assert!(of_ten[0] > 10 * of_ten[99], "{} and {}", of_ten[0], of_ten[99]);
}

#[test]
fn uniform_numbers_fill_their_range_and_no_more() {
    let source = alone(Draw::Uniform { low: Bound::number(3), high: Bound::number(7) }, 0).unwrap();
    let mut random = random();
    let mut counts = [0_u32; 5];
    for _ in 0..50_000 {
        counts[usize::try_from(number(&source, &mut random, 0, [1, 1]) - 3).unwrap()] += 1;
    }
    assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
}

#[test]
fn a_constant_counts_up_in_a_list() {
    let source = alone(Draw::Constant { value: Bound::number(51) }, 0).unwrap();
    let numbers: Vec<i64> = (0..3).map(|place| number(&source, &mut random(), place, [1, 1])).collect();
    assert_eq!(numbers, [51, 52, 53]);
}

#[test]
fn digits_come_in_groups_and_each_as_often_as_the_others() {
    let mut text = Vec::new();
    let mut counts = [0_u32; 10];
    let mut random = random();
    for _ in 0..1000 {
        text.clear();
        push_digits(&mut text, 10, 11, &mut random);
        let groups: Vec<&[u8]> = text.split(|byte| *byte == b'-').collect();
        assert_eq!((text.len(), groups.len()), (119, 10));
        for digit in groups.concat() {
            counts[usize::from(digit - b'0')] += 1;
        }
    }
    assert!(counts.iter().all(|count| (10_500..11_500).contains(count)), "{counts:?}");
}

#[test]
fn numbers_are_written_as_the_library_does() {
    for value in [0, 7, -1, 10, 123_456, i64::MAX, i64::MIN] {
        let mut out = Vec::new();
        push_number(&mut out, value);
        assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
    }
}

#[test]
fn a_seed_gives_its_values() {
    let source = zipfian_source(1_000_000, 0.8);
    let mut random = random();
    let drawn: Vec<i64> = (0..4).map(|_| number(&source, &mut random, 0, [1, 1])).collect();
    let mut again = generator(11, Stream::Foreground(0));
    assert!(drawn.iter().all(|value| *value == number(&source, &mut again, 0, [1, 1])));
    assert!(drawn.iter().all(|value| (1..=1_000_000).contains(value)), "{drawn:?}");
}

#[test]
fn ranges_without_a_number_are_refused() {
    let empty = Draw::Uniform { low: Bound::number(8), high: Bound::number(7) };
    assert!(alone(empty, 0).unwrap_err().contains("8 to 7"));
    assert!(alone(Draw::Digits { groups: 1, of: 30 }, 0).is_err());
    assert!(alone(Draw::Digits { groups: 400, of: 9 }, 0).is_ok());
    for groups in [401, u32::MAX] {
        assert!(alone(Draw::Digits { groups, of: 9 }, 0).is_err(), "{groups}");
    }
    let flat = Draw::Zipfian { low: Bound::number(1), high: Bound::number(9), exponent: f64::NAN };
    assert!(alone(flat, 0).is_err());
}

#[test]
fn texts_have_their_lengths_and_their_random_part() {
    let source = alone(Draw::Text { least: 10, most: 20, random_percent: 37.5 }, 0).unwrap();
    let mut random = random();
    let mut lengths = [0_u32; 21];
    for _ in 0..5000 {
        let mut text = Vec::new();
        push_text(&mut text, &source, &mut random);
        lengths[text.len()] += 1;
        assert!(text.iter().all(|letter| letter.is_ascii_alphanumeric() || b"+/".contains(letter)));
        let at_random = text.len() * 3 / 8;
        assert!(text[..text.len() - at_random].iter().all(|letter| *letter == b'a'), "{text:?}");
    }
    assert!(lengths[..10].iter().all(|count| *count == 0));
    assert!(lengths[10..].iter().all(|count| (350..=560).contains(count)), "{lengths:?}");
    assert!(alone(Draw::Text { least: 2, most: 1, random_percent: 50.0 }, 0).is_err());
    assert!(alone(Draw::Text { least: 1, most: 2, random_percent: f64::NAN }, 0).is_err());
}

#[test]
fn a_moment_is_written_as_servers_read_it() {
    let check = |seconds: i64, expected: &str| {
        let mut text = Vec::new();
        push_moment(&mut text, seconds);
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    };
    check(0, "1970-01-01 00:00:00");
    check(1_795_672_188, "2026-11-26 05:49:48");
    check(951_782_399, "2000-02-28 23:59:59");
    check(951_782_400, "2000-02-29 00:00:00");
    let mut now = Vec::new();
    push_text(&mut now, &alone(Draw::Now, 0).unwrap(), &mut random());
    assert!(now.len() == 19 && now.starts_with(b"20"), "{now:?}");
}

#[test]
fn existing_rows_are_those_between_the_oldest_and_the_newest() {
    let mut random = random();
    let mut counts = [0_u32; 10];
    for _ in 0..5000 {
        let id = number(&Source::Existing, &mut random, 0, [3, 7]);
        counts[usize::try_from(id).unwrap()] += 1;
    }
    assert!(counts[3..=7].iter().all(|count| (850..=1150).contains(count)), "{counts:?}");
    assert_eq!(counts.iter().sum::<u32>(), counts[3..=7].iter().sum::<u32>());
    assert_eq!(number(&Source::Oldest, &mut random, 0, [3, 7]), 3);
    // Of an empty table there is no row to be found, and no panic.
    assert_eq!(number(&Source::Existing, &mut random, 0, [1, 0]), 1);
}
