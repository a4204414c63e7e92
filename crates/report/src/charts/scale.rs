//! From values to pixels: the range of an axis, its ticks, and how these read.
//!
//! Powers of ten are read from text and not computed: the last bit of `powi` and `log10` differs between machines.
//! Places on a logarithmic axis do come from `ln`; they are written with two decimals, far above that bit.

use super::Point;

/// Values beyond it are drawn at it: differences of two such values are still finite.
const LARGEST: f64 = 1e290;

/// Values below it are drawn as 0: quotients of two others are exact enough.
const SMALLEST: f64 = 1e-290;

/// An axis is logarithmic where the largest value is more than this many times the smallest.
const LOGARITHMIC_FROM: f64 = 8.0;

/// Ratios are shown at least from 0.9 to 1.1, so that noise of a per cent looks like it.
const LEAST_RATIOS: (f64, f64) = (0.9, 1.1);

/// Intervals may widen an axis by this share of what the values span, at either end; beyond, they are cut. One wide
/// interval would otherwise press all values into a line. Not tuned.
const INTERVALS_WIDEN: f64 = 0.6;

/// Free share at either end of an axis.
const PADDING: f64 = 0.04;

/// From the smallest to the largest value that is drawn.
const MOST_DECADES: u32 = 600;

/// At most this many ticks, whatever the numbers.
const MOST_TICKS: usize = 40;

/// How values spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    Linear,
    Logarithmic,
}

/// The range of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Domain {
    pub low: f64,
    pub high: f64,
    pub spread: Spread,
    /// Ticks are counted from here: 1 for ratios, so that it is one of them.
    origin: f64,
}

/// A domain along pixels; `start` is where its low end is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub domain: Domain,
    pub start: f64,
    pub end: f64,
}

/// A value with how it reads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub value: f64,
    pub text: String,
}

/// Whether values are ratios: they are compared with 1.
pub(super) fn is_ratio(reference: Option<f64>) -> bool {
    reference.is_some_and(|reference| (reference - 1.0).abs() < 1e-9)
}

/// The point as it can be drawn: one that is not finite is none, and so is such an end of an interval. The chart's
/// contract excludes them; a report is no place to find out by a panic.
pub(super) fn drawable(point: Option<Point>) -> Option<Point> {
    let point = point?;
    let (low, high) = (point.low.and_then(settled), point.high.and_then(settled));
    Some(Point { value: settled(point.value)?, low, high })
}

/// A value that can be computed with; none of one that is not finite.
pub(super) fn settled(value: f64) -> Option<f64> {
    let tiny = value.abs() < SMALLEST;
    value.is_finite().then(|| if tiny { 0.0 } else { value.clamp(-LARGEST, LARGEST) })
}

impl Domain {
    /// The range that shows all values, the reference, and of the intervals what does not press the values together.
    pub fn of(points: &[Point], reference: Option<f64>) -> Self {
        let origin = if is_ratio(reference) { 1.0 } else { 0.0 };
        let values = || points.iter().map(|point| point.value).chain(reference.and_then(settled));
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return Self { low: 0.0, high: 1.0, spread: Spread::Linear, origin };
        }
        let ends = Ends {
            low: points.iter().filter_map(|point| point.low).fold(low, f64::min),
            high: points.iter().filter_map(|point| point.high).fold(high, f64::max),
        };
        let values = Ends { low, high };
        if low > 0.0 && high / low > LOGARITHMIC_FROM {
            return Self::logarithmic(values, ends, origin);
        }
        Self::linear(values, ends, reference)
    }

    fn linear(values: Ends, intervals: Ends, reference: Option<f64>) -> Self {
        let origin = if is_ratio(reference) { 1.0 } else { 0.0 };
        let from_zero = reference.is_none() && values.low >= 0.0;
        let up_to_zero = reference.is_none() && values.high <= 0.0;
        let mut core = values;
        if is_ratio(reference) {
            core.low = core.low.min(LEAST_RATIOS.0);
            core.high = core.high.max(LEAST_RATIOS.1);
        }
        if from_zero {
            core.low = 0.0;
        } else if up_to_zero {
            core.high = 0.0;
        }
        // One value, or values whose differences drown in their size.
        let least = core.low.abs().max(core.high.abs()) * 1e-6;
        if core.high - core.low <= least.max(f64::MIN_POSITIVE) {
            let around = if least > 0.0 { least * 1e4 } else { 0.5 };
            core =
                Ends { low: if from_zero { core.low } else { core.low - around }, high: core.high + around };
        }
        let widened = (core.high - core.low) * INTERVALS_WIDEN;
        let low = intervals.low.min(core.low).max(core.low - widened);
        let high = intervals.high.max(core.high).min(core.high + widened);
        let padding = (high - low) * PADDING;
        Self {
            low: if from_zero { 0.0 } else { low - padding },
            high: if up_to_zero && !from_zero { 0.0 } else { high + padding },
            spread: Spread::Linear,
            origin,
        }
    }

    fn logarithmic(values: Ends, intervals: Ends, origin: f64) -> Self {
        let span = values.high.ln() - values.low.ln();
        let least = values.low.ln() - span * INTERVALS_WIDEN;
        let most = values.high.ln() + span * INTERVALS_WIDEN;
        let low = if intervals.low > 0.0 { intervals.low.ln().max(least) } else { values.low.ln() };
        let high = intervals.high.ln().min(most);
        let padding = (high - low) * PADDING;
        Self {
            low: (low - padding).exp().max(f64::MIN_POSITIVE),
            high: (high + padding).exp().min(LARGEST),
            spread: Spread::Logarithmic,
            origin,
        }
    }

    /// Where a value lies, 0 at the low end and 1 at the high one.
    fn share(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => (value - self.low) / (self.high - self.low),
            Spread::Logarithmic if value <= 0.0 => f64::NEG_INFINITY,
            Spread::Logarithmic => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        }
    }

    /// About `wanted` round numbers.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.spread {
            Spread::Linear => self.linear_ticks(wanted),
            Spread::Logarithmic => self.logarithmic_ticks(wanted),
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<Tick> {
        let step = Round::at_least((self.high - self.low) / wanted.max(1) as f64);
        let size = step.value();
        let first = ((self.low - self.origin) / size - 1e-9).ceil();
        let values: Vec<f64> = (0..MOST_TICKS)
            .map(|index| self.origin + (first + index as f64) * size)
            .take_while(|value| *value <= self.high + size * 1e-9)
            .collect();
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let style = Reading::of(largest, step.exponent);
        values.into_iter().map(|value| Tick { value, text: style.read(value) }).collect()
    }

    /// 1, 2 and 5 of each power of ten, or the powers alone, or every second, third .. of them.
    fn logarithmic_ticks(&self, wanted: usize) -> Vec<Tick> {
        let exponents = (exponent(self.low), exponent(self.high));
        let most = wanted.saturating_mul(3) / 2;
        let within = |mantissas: &[f64], every: u32| -> Vec<(f64, i32)> {
            let powers =
                (exponents.0..=exponents.1).filter(|power| power.unsigned_abs().is_multiple_of(every));
            powers
                .flat_map(|power| {
                    mantissas.iter().map(move |mantissa| (mantissa * power_of_ten(power), power))
                })
                .filter(|(value, _)| (self.low..=self.high).contains(value))
                .collect()
        };
        let sparser = (1..=MOST_DECADES).map(|every| within(&[1.0], every));
        let mut choices = [within(&[1.0, 2.0, 5.0], 1)].into_iter().chain(sparser);
        let chosen = choices.find(|ticks| ticks.len() <= most.max(2)).unwrap_or_default();
        chosen
            .into_iter()
            .map(|(value, power)| Tick { value, text: Reading::of(value, power).read(value) })
            .collect()
    }
}

impl Scale {
    /// The pixel of a value; one beyond the axis is at its end.
    pub fn at(&self, value: f64) -> f64 {
        self.start + self.domain.share(value).clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Whether the axis reaches to the value.
    pub fn contains(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.domain.share(value))
    }
}

/// A smallest and a largest value.
#[derive(Debug, Clone, Copy)]
struct Ends {
    low: f64,
    high: f64,
}

/// A round number: 1, 2 or 5 times a power of ten.
struct Round {
    mantissa: f64,
    exponent: i32,
}

impl Round {
    /// The smallest one that is not below `value`, which is positive.
    fn at_least(value: f64) -> Self {
        let exponent = exponent(value);
        let mantissa = value / power_of_ten(exponent);
        let allowed = mantissa - 1e-9;
        match [1.0, 2.0, 5.0].into_iter().find(|round| *round >= allowed) {
            Some(mantissa) => Self { mantissa, exponent },
            None => Self { mantissa: 1.0, exponent: exponent + 1 },
        }
    }

    fn value(&self) -> f64 {
        self.mantissa * power_of_ten(self.exponent)
    }
}

/// How the ticks of an axis read.
enum Reading {
    /// Divided by `divisor`, with that many decimals and a letter for the divisor.
    Plain { divisor: f64, letter: &'static str, decimals: usize },
    /// `2e-7`
    Scientific { decimals: usize },
}

impl Reading {
    /// For numbers up to `largest` that differ in the decimal place `exponent`.
    fn of(largest: f64, exponent: i32) -> Self {
        const LETTERS: [(f64, i32, &str); 4] = [(1e12, 12, "T"), (1e9, 9, "G"), (1e6, 6, "M"), (1e3, 3, "k")];
        let places = |places: i32| usize::try_from(places.max(0)).unwrap_or(0);
        if largest >= 1e16 || exponent < -4 {
            let magnitude = if largest > 0.0 { self::exponent(largest) } else { exponent };
            return Self::Scientific { decimals: places(magnitude.saturating_sub(exponent)).min(15) };
        }
        // 1,000 to 9,999 read well as they are.
        let scaled = LETTERS.into_iter().find(|(divisor, ..)| largest >= *divisor && largest >= 1e4);
        match scaled {
            Some((divisor, power, letter)) => {
                Self::Plain { divisor, letter, decimals: places(power.saturating_sub(exponent)) }
            }
            None => Self::Plain { divisor: 1.0, letter: "", decimals: places(-exponent) },
        }
    }

    fn read(&self, value: f64) -> String {
        let text = match self {
            _ if value.abs() < f64::MIN_POSITIVE => return "0".to_owned(),
            Self::Plain { divisor, letter, decimals } => format!("{:.decimals$}{letter}", value / divisor),
            Self::Scientific { decimals } => format!("{value:.decimals$e}"),
        };
        text.replace('-', "−")
    }
}

/// The decimal exponent of a positive number: 3 of 1,234.
fn exponent(value: f64) -> i32 {
    let text = format!("{value:e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// Exactly rounded, and never 0.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(1.0_f64).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(values: &[f64]) -> Vec<Point> {
        values.iter().map(|value| Point { value: *value, low: None, high: None }).collect()
    }

    fn check(values: &[f64], reference: Option<f64>, expected: &[&str]) {
        let ticks = Domain::of(&exact(values), reference).ticks(6);
        let texts: Vec<&str> = ticks.iter().map(|tick| tick.text.as_str()).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn ratios_near_one_have_one_in_the_middle_and_do_not_begin_at_zero() {
        check(&[0.99, 1.01], Some(1.0), &["0.90", "0.95", "1.00", "1.05", "1.10"]);
        check(&[0.62, 1.02], Some(1.0), &["0.7", "0.8", "0.9", "1.0", "1.1"]);
        check(&[0.9, 6.9], Some(1.0), &["1", "3", "5", "7"]);
    }

    #[test]
    fn rates_begin_at_zero() {
        check(&[612_345.0, 590_000.0], None, &["0", "200k", "400k", "600k"]);
        check(&[1.25e6, 0.3e6], None, &["0", "0.5M", "1.0M"]);
        check(&[5200.0, 4100.0], None, &["0", "1000", "2000", "3000", "4000", "5000"]);
        check(&[-3.0, -1.0], None, &["−3", "−2", "−1", "0"]);
    }

    #[test]
    fn values_that_span_more_than_eight_times_are_logarithmic() {
        check(&[0.9, 12.0], Some(1.0), &["1", "2", "5", "10"]);
        check(&[40.0, 90_000.0], None, &["100", "1000", "10k", "100k"]);
        check(&[1e-9, 1e9], Some(1.0), &["1e−8", "1e−6", "0.0001", "0.01", "1", "100", "10k", "1M", "100M"]);
        assert_eq!(
            Domain::of(&exact(&[0.0, 12.0]), Some(1.0)).spread,
            Spread::Linear,
            "zero has no logarithm"
        );
    }

    #[test]
    fn huge_and_tiny_values_have_short_ticks() {
        check(&[2.5e-7], None, &["0", "5.0e−8", "1.0e−7", "1.5e−7", "2.0e−7", "2.5e−7"]);
        check(&[3e20], None, &["0", "1e20", "2e20", "3e20"]);
    }

    #[test]
    fn a_wide_interval_is_cut_before_it_flattens_the_values() {
        let points = [Point { value: 0.97, low: Some(0.2), high: Some(40.0) }];
        let domain = Domain::of(&points, Some(1.0));
        assert!(domain.low > 0.75 && domain.high < 1.25, "{domain:?}");
        let narrow = [Point { value: 0.97, low: Some(0.88), high: Some(1.12) }];
        let domain = Domain::of(&narrow, Some(1.0));
        assert!(domain.low < 0.88 && domain.high > 1.12, "{domain:?}");
    }

    #[test]
    fn what_is_not_finite_is_not_drawn() {
        let point = |value, low| Some(Point { value, low: Some(low), high: None });
        assert_eq!(drawable(point(f64::NAN, 1.0)), None);
        assert_eq!(drawable(point(f64::INFINITY, 1.0)), None);
        assert_eq!(drawable(point(2.0, f64::NAN)), Some(Point { value: 2.0, low: None, high: None }));
    }

    proptest! {
        #[test]
        fn every_value_lies_on_the_axis_and_ticks_rise(
            values in prop::collection::vec(any::<f64>().prop_filter("finite", |value| value.is_finite()), 0..8),
            reference in prop::option::of(prop_oneof![Just(1.0), Just(0.0), any::<f64>()]),
        ) {
            let points: Vec<Point> = exact(&values).into_iter().filter_map(|point| drawable(Some(point))).collect();
            let reference = reference.filter(|at| at.is_finite()).map(|at| at.clamp(-1e290, 1e290));
            let domain = Domain::of(&points, reference);
            let scale = Scale { domain, start: 400.0, end: 0.0 };
            prop_assert!(domain.low < domain.high, "{:?}", domain);
            for value in points.iter().map(|point| point.value).chain(reference) {
                prop_assert!(scale.contains(value), "{} in {:?}", value, domain);
                prop_assert!((0.0..=400.0).contains(&scale.at(value)));
            }
            let ticks = domain.ticks(6);
            prop_assert!(ticks.len() <= 13, "{:?}", ticks);
            prop_assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value), "{:?}", ticks);
            prop_assert!(ticks.iter().all(|tick| scale.contains(tick.value)), "{:?} in {:?}", ticks, domain);
        }
    }
}
