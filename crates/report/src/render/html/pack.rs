//! The points of a timeline as few characters: differences as varints, deflated, in base64.
//!
//! The script undoes it. For each metric and then each line of it: the number of points, then a number for each: 0
//! where there is none, else 1 + the difference to the last point that there was, signs folded (0, -1, 1, -2 ..
//! become 0, 1, 2, 3 ..). A number is seven bits a byte, the lowest first, the eighth bit set where more follow.

use crate::document::{Merge, Timeline, TimelineLine, TimelineMetric};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write as _;

/// A script counts exactly up to 2^53, and a difference with its sign takes two bits more. Larger values, nanoseconds
/// of 26 days or 2 PiB, are shown as this one.
pub(super) const LARGEST: u64 = 1 << 51;

/// A timeline, packed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Packed {
    pub points: String,
    /// What the numbers of each metric are.
    pub metrics: Vec<Numbers>,
}

/// What the numbers of a metric are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    /// They are divided by this to have the metric's unit.
    pub scale: f64,
    /// How many digits after the point they have then, where they were rounded.
    pub digits: Option<i32>,
}

/// The timeline with `stride` points made one.
pub(super) fn packed(timeline: &Timeline, stride: usize) -> Packed {
    let mut bytes = Vec::new();
    let mut metrics = Vec::new();
    for index in 0..timeline.metrics.len() {
        let numbers = numbers(timeline, index, stride);
        for line in &timeline.lines {
            write_line(&shown(timeline, index, line, stride, numbers), &mut bytes);
        }
        metrics.push(numbers);
    }
    Packed { points: STANDARD.encode(deflated(&bytes)), metrics }
}

/// A timeline of which only the metrics are known.
pub(super) fn without_points(timeline: &Timeline) -> Packed {
    let metrics = timeline.metrics.iter().map(|metric| Numbers { scale: metric.scale, digits: Some(0) });
    Packed { points: String::new(), metrics: metrics.collect() }
}

/// What some lines of a document take.
pub(super) struct Sample {
    /// Points, as they are shown.
    pub points: usize,
    /// Their characters in base64.
    pub bytes: usize,
}

/// Packs every so many lines of all timelines.
pub(super) fn sample(timelines: &[&Timeline], stride: usize, every: usize) -> Sample {
    let mut bytes = Vec::new();
    let mut points = 0;
    let mut turn = 0;
    for timeline in timelines {
        for index in 0..timeline.metrics.len() {
            let numbers = numbers(timeline, index, stride);
            for line in &timeline.lines {
                if turn % every == 0 {
                    let shown = shown(timeline, index, line, stride, numbers);
                    points += shown.len();
                    write_line(&shown, &mut bytes);
                }
                turn += 1;
            }
        }
    }
    Sample { points, bytes: deflated(&bytes).len().div_ceil(3) * 4 }
}

/// Points of a line as whole numbers.
fn shown(
    timeline: &Timeline,
    metric: usize,
    line: &TimelineLine,
    stride: usize,
    numbers: Numbers,
) -> Vec<Option<u64>> {
    let values = line.values.get(metric).map_or(&[][..], Vec::as_slice);
    let TimelineMetric { scale, merge, .. } = timeline.metrics[metric];
    match numbers.digits {
        None => values.to_vec(),
        Some(_) => {
            let rounded = |value: f64| whole(value / scale * numbers.scale);
            merged(values, stride, merge).into_iter().map(|value| value.map(rounded)).collect()
        }
    }
}

/// `stride` neighbours as one, in the unit that they were measured in.
pub(super) fn merged(values: &[Option<u64>], stride: usize, merge: Merge) -> Vec<Option<f64>> {
    let one = |chunk: &[Option<u64>]| {
        let present = || chunk.iter().flatten().map(|value| *value as f64);
        let count = present().count();
        let value = match merge {
            Merge::Largest => present().fold(0.0, f64::max),
            Merge::Mean => present().sum::<f64>() / count as f64,
        };
        (count > 0).then_some(value)
    };
    values.chunks(stride.max(1)).map(one).collect()
}

/// The nearest whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and within the limits; what is not a number becomes 0"
)]
pub(super) fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, LARGEST as f64) as u64
}

/// Single points are kept as they were measured. Those that became one are rounded to the four digits that tables
/// show at most of a value that is not whole, seen from the largest: noise in more digits than anybody reads would take
/// two thirds of the page.
fn numbers(timeline: &Timeline, metric: usize, stride: usize) -> Numbers {
    let scale = timeline.metrics[metric].scale;
    if stride <= 1 {
        return Numbers { scale, digits: None };
    }
    let values = timeline.lines.iter().filter_map(|line| line.values.get(metric)).flatten().flatten();
    let largest = values.copied().max().unwrap_or(1) as f64 / scale;
    let digits = (1..=MOST_DIGITS).find(|digits| largest * 10_f64.powi(*digits - 1) >= 1000.0);
    let digits = digits.map_or(MOST_DIGITS, |digits| digits - 1);
    Numbers { scale: 10_f64.powi(digits), digits: Some(digits) }
}

/// Digits after the point of what is almost nothing.
const MOST_DIGITS: i32 = 7;

fn write_line(values: &[Option<u64>], bytes: &mut Vec<u8>) {
    write_number(values.len() as u64, bytes);
    let mut last = 0;
    for value in values {
        match value {
            None => write_number(0, bytes),
            Some(value) => {
                let value = (*value).min(LARGEST);
                let folded = if value >= last { (value - last) * 2 } else { (last - value) * 2 - 1 };
                write_number(folded + 1, bytes);
                last = value;
            }
        }
    }
}

fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes all that is written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::DeflateDecoder;
    use std::io::Read as _;

    /// What the script does, in other words than those of the encoder.
    fn unpacked(points: &str) -> Vec<Vec<Option<u64>>> {
        let mut bytes = Vec::new();
        DeflateDecoder::new(&STANDARD.decode(points).unwrap()[..]).read_to_end(&mut bytes).unwrap();
        let mut bytes = bytes.into_iter().peekable();
        let mut lines = Vec::new();
        while bytes.peek().is_some() {
            let mut number = || {
                let mut value = 0_u64;
                for shift in (0..64).step_by(7) {
                    let byte = bytes.next().unwrap();
                    value |= u64::from(byte & 0x7f) << shift;
                    if byte < 0x80 {
                        break;
                    }
                }
                i64::try_from(value).unwrap()
            };
            let count = number();
            let mut last = 0;
            let mut line = Vec::new();
            for _ in 0..count {
                line.push(match number() {
                    0 => None,
                    token => {
                        let folded = token - 1;
                        last += if folded % 2 == 0 { folded / 2 } else { -(folded + 1) / 2 };
                        Some(u64::try_from(last).unwrap())
                    }
                });
            }
            lines.push(line);
        }
        lines
    }

    fn timeline(metrics: &[Merge], lines: Vec<Vec<Vec<Option<u64>>>>) -> Timeline {
        let metric =
            |merge: &Merge| TimelineMetric { name: "m".into(), unit: "u".into(), scale: 1.0, merge: *merge };
        let line = |(round, values)| TimelineLine { subject: "s".into(), round, values };
        Timeline {
            id: "t".into(),
            caption: "c".into(),
            x: "second",
            metrics: metrics.iter().map(metric).collect(),
            lines: (1..).zip(lines).map(line).collect(),
        }
    }

    #[test]
    fn every_point_comes_back() {
        let first = vec![Some(600_000), None, Some(0), Some(1 << 51), Some(7), None];
        let second = vec![None, Some(300), Some(301)];
        let of = timeline(
            &[Merge::Mean, Merge::Largest],
            vec![vec![first.clone(), second.clone()], vec![vec![], vec![Some(1)]]],
        );
        let packed = packed(&of, 1);
        assert_eq!(unpacked(&packed.points), [first, vec![], second, vec![Some(1)]]);
        assert_eq!(packed.metrics, [Numbers { scale: 1.0, digits: None }; 2]);
    }

    #[test]
    fn neighbours_become_their_mean_or_their_largest() {
        let values = [Some(1000), Some(2001), None, None, Some(7)];
        assert_eq!(merged(&values, 2, Merge::Mean), [Some(1500.5), None, Some(7.0)]);
        assert_eq!(merged(&values, 2, Merge::Largest), [Some(2001.0), None, Some(7.0)]);
        assert_eq!(whole(u64::MAX as f64), LARGEST);
    }

    #[test]
    fn what_became_one_is_rounded_to_what_is_read() {
        let check = |values: [u64; 3], scale: f64, shown: u64, digits: i32| {
            let mut of = timeline(&[Merge::Mean], vec![vec![values.map(Some).to_vec()]]);
            of.metrics[0].scale = scale;
            let packed = packed(&of, 3);
            assert_eq!(unpacked(&packed.points), [[Some(shown)]], "{values:?}");
            assert_eq!(packed.metrics, [Numbers { scale: 10_f64.powi(digits), digits: Some(digits) }]);
        };
        check([3, 4, 4], 1.0, 3667, 3);
        check([12_345, 12_346, 12_349], 1.0, 12_347, 0);
        check([90_123_456, 91_123_456, 89_123_456], 1e6, 9012, 2);
        check([0, 0, 0], 1.0, 0, 7);
    }
}
