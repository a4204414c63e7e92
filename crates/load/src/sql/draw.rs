//! The values of parameters: how one is drawn, and what all parameters hold at a moment of an event.

use super::error::SqlError;
use crate::clock;
use crate::keys::below;
use model::workload::sql::{Draw, Holds, Parameter};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

/// How the values of one parameter come about, for tables of a known size.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    Uniform { low: u64, count: u64 },
    Zipfian { low: u64, high: u64, zipf: Zipf },
    Constant { value: u64 },
    Digits { groups: u32, of: u32 },
    Text { least: u32, most: u32, random_percent: f64 },
    Now,
    Oldest,
    Existing,
}

impl Source {
    fn is_text(&self) -> bool {
        matches!(self, Source::Digits { .. } | Source::Text { .. } | Source::Now)
    }
}

/// One parameter with the value that it holds.
#[derive(Debug, Clone)]
struct Slot {
    source: Source,
    holds: Holds,
    number: i64,
    text: Vec<u8>,
}

/// All parameters of a workload, by number.
#[derive(Debug, Clone)]
pub struct Parameters {
    slots: Vec<Slot>,
    /// Numbers by name, or why there can be no value in tables of this size.
    names: BTreeMap<String, Result<usize, String>>,
    /// Those in use that hold for a whole event.
    of_event: Vec<usize>,
    /// Ids of the oldest and the newest row of the event's table.
    rows: [u64; 2],
}

impl Parameters {
    /// For tables of so many rows.
    pub fn new(parameters: &BTreeMap<String, Parameter>, rows: u64) -> Parameters {
        let mut slots = Vec::new();
        let names = parameters.iter().map(|(name, parameter)| {
            let index = source(parameter.draw, rows).map(|source| {
                slots.push(Slot { source, holds: parameter.per, number: 0, text: Vec::new() });
                slots.len() - 1
            });
            (name.clone(), index)
        });
        let names = names.collect();
        Parameters { slots, names, of_event: Vec::new(), rows: [1, 1] }
    }

    /// The number of a parameter, which is in use from now on.
    pub fn using(&mut self, name: &str) -> Result<usize, SqlError> {
        let index = match self.names.get(name) {
            Some(Ok(index)) => *index,
            Some(Err(problem)) => {
                return Err(SqlError::Workload(format!("the parameter `{name}` {problem}")));
            }
            None => return Err(SqlError::Workload(format!("there is no parameter `{name}`"))),
        };
        if self.slots[index].holds == Holds::Transaction && !self.of_event.contains(&index) {
            self.of_event.push(index);
        }
        Ok(index)
    }

    /// Whether its values are numbers.
    pub fn is_number(&self, index: usize) -> bool {
        !self.slots[index].source.is_text()
    }

    /// Whether it is drawn anew for each statement.
    pub fn is_of_statement(&self, index: usize) -> bool {
        self.slots[index].holds == Holds::Statement
    }

    /// The greatest number that it can have, of a list of so many.
    pub fn greatest(&self, index: usize, list: u32) -> u64 {
        match &self.slots[index].source {
            Source::Uniform { low, count } => low + count - 1,
            Source::Zipfian { high, .. } => *high,
            Source::Constant { value } => value.saturating_add(u64::from(list)),
            Source::Oldest | Source::Existing => GREATEST,
            Source::Digits { .. } | Source::Text { .. } | Source::Now => 0,
        }
    }

    /// The next event is about a table whose oldest and newest rows have these ids.
    #[inline]
    pub fn set_rows(&mut self, oldest_and_newest: [u64; 2]) {
        self.rows = oldest_and_newest;
    }

    /// An event begins: what holds for all of it is drawn.
    #[inline]
    pub fn begin_event(&mut self, random: &mut Xoshiro256PlusPlus) {
        for place in 0..self.of_event.len() {
            self.draw(self.of_event[place], random);
        }
    }

    /// Draws the value that a parameter holds from now on.
    #[inline]
    pub fn draw(&mut self, index: usize, random: &mut Xoshiro256PlusPlus) {
        let slot = &mut self.slots[index];
        match &slot.source {
            source if source.is_text() => {
                slot.text.clear();
                push_text(&mut slot.text, source, random);
            }
            source => slot.number = number(source, random, 0, self.rows),
        }
    }

    /// The number that it holds.
    #[inline]
    pub fn number(&self, index: usize) -> i64 {
        self.slots[index].number
    }

    /// The text that it holds.
    #[inline]
    pub fn text(&self, index: usize) -> &[u8] {
        &self.slots[index].text
    }

    /// A fresh number, the one at `place` of a list. It is not held.
    #[inline]
    pub fn fresh(&self, index: usize, place: u32, random: &mut Xoshiro256PlusPlus) -> i64 {
        number(&self.slots[index].source, random, place, self.rows)
    }

    /// A fresh text at the end of a buffer. It is not held.
    #[inline]
    pub fn push_fresh_text(&self, index: usize, out: &mut Vec<u8>, random: &mut Xoshiro256PlusPlus) {
        push_text(out, &self.slots[index].source, random);
    }
}

/// Ranges end here, so that every number has a sign's place left.
const GREATEST: u64 = i64::MAX as u64;

fn source(draw: Draw, rows: u64) -> Result<Source, String> {
    let range = |low: u64, high: u64| {
        if low > high || high > GREATEST {
            return Err(format!(
                "has the range {low} to {high} in tables of {rows} rows, which has no number in it"
            ));
        }
        Ok((low, high - low + 1))
    };
    Ok(match draw {
        Draw::Uniform { low, high } => {
            let (low, count) = range(low.resolve(rows), high.resolve(rows))?;
            Source::Uniform { low, count }
        }
        Draw::Zipfian { low, high, exponent } => {
            let (low, count) = range(low.resolve(rows), high.resolve(rows))?;
            if !(exponent > 0.0 && exponent <= GREATEST_EXPONENT) {
                return Err(format!(
                    "has the exponent {exponent}; it must be above 0 and at most {GREATEST_EXPONENT}"
                ));
            }
            Source::Zipfian { low, high: low + count - 1, zipf: Zipf::new(count, exponent) }
        }
        Draw::Constant { value } => Source::Constant { value: range(value.resolve(rows), GREATEST)?.0 },
        Draw::Digits { groups, of } => {
            let length = u64::from(groups) * (u64::from(of) + 1);
            if groups == 0 || !(1..=MOST_DIGITS).contains(&of) || length > u64::from(LONGEST_TEXT) {
                return Err(format!(
                    "needs at least one group, of 1 to {MOST_DIGITS} digits, and at most {LONGEST_TEXT} characters \
                     in all"
                ));
            }
            Source::Digits { groups, of }
        }
        Draw::Text { least, most, random_percent } => {
            if least > most || most > LONGEST_TEXT || !(0.0..=100.0).contains(&random_percent) {
                return Err(format!(
                    "needs a least and a greatest length, at most {LONGEST_TEXT}, and at most 100 percent"
                ));
            }
            Source::Text { least, most, random_percent }
        }
        Draw::Now => Source::Now,
        Draw::Oldest => Source::Oldest,
        Draw::Existing => Source::Existing,
    })
}

#[inline]
#[expect(
    clippy::cast_possible_wrap,
    reason = "ranges end at the greatest i64; a list that counts beyond wraps"
)]
fn number(source: &Source, random: &mut Xoshiro256PlusPlus, place: u32, rows: [u64; 2]) -> i64 {
    let number = match source {
        Source::Uniform { low, count } => low + below(random, *count),
        // The n-th most frequent is the n-th of the range, as sysbench has it: the frequent rows lie in a few pages.
        Source::Zipfian { low, zipf, .. } => low + zipf.rank(random) - 1,
        Source::Constant { value } => value + u64::from(place),
        Source::Oldest => rows[0],
        // An empty table has a newest row before its oldest.
        Source::Existing => rows[0] + below(random, (rows[1] + 1).saturating_sub(rows[0]).max(1)),
        Source::Digits { .. } | Source::Text { .. } | Source::Now => 0,
    };
    number as i64
}

/// A text is at most this long: what the column of the Insert Benchmark holds.
const LONGEST_TEXT: u32 = 4000;

fn push_text(out: &mut Vec<u8>, source: &Source, random: &mut Xoshiro256PlusPlus) {
    match source {
        Source::Digits { groups, of } => push_digits(out, *groups, *of, random),
        Source::Text { least, most, random_percent } => {
            let length = u64::from(*least) + below(random, u64::from(most - least) + 1);
            #[expect(clippy::cast_possible_truncation, reason = "a part of a length that is an integer")]
            #[expect(clippy::cast_sign_loss, reason = "percent are checked to be 0 to 100")]
            let at_random = (length as f64 * random_percent / 100.0) as u64;
            push_letters(out, length, at_random, random);
        }
        Source::Now => push_moment(out, clock::utc_seconds()),
        Source::Uniform { .. }
        | Source::Zipfian { .. }
        | Source::Constant { .. }
        | Source::Oldest
        | Source::Existing => {}
    }
}

/// So many letters, of which the last are random and the others `a`.
fn push_letters(out: &mut Vec<u8>, length: u64, at_random: u64, random: &mut Xoshiro256PlusPlus) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let plain = length - at_random;
    out.extend((0..plain).map(|_| b'a'));
    let mut left = 0;
    for place in 0..at_random {
        // Ten letters of six bits from each draw.
        if place % 10 == 0 {
            left = random.next_u64();
        }
        out.push(LETTERS[(left & 63) as usize]);
        left >>= 6;
    }
}

/// `2026-11-26 05:49:48` of seconds since 1970.
fn push_moment(out: &mut Vec<u8>, seconds: i64) {
    // SAFETY: it is a plain struct of integers and a pointer that is not read.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid; a time that has no year leaves the zeros.
    unsafe { libc::gmtime_r(&seconds, &mut parts) };
    push_number(out, i64::from(parts.tm_year) + 1900);
    let rest = [
        (b'-', parts.tm_mon + 1),
        (b'-', parts.tm_mday),
        (b' ', parts.tm_hour),
        (b':', parts.tm_min),
        (b':', parts.tm_sec),
    ];
    for (before, part) in rest {
        out.push(before);
        if part < 10 {
            out.push(b'0');
        }
        push_number(out, i64::from(part));
    }
}

/// Digits that one draw gives.
const MOST_DIGITS: u32 = 18;

/// Groups of random digits, joined by `-`.
fn push_digits(out: &mut Vec<u8>, groups: u32, of: u32, random: &mut Xoshiro256PlusPlus) {
    let bound = 10_u64.pow(of);
    for group in 0..groups {
        if group > 0 {
            out.push(b'-');
        }
        let start = out.len();
        out.resize(start + of as usize, b'0');
        let mut left = below(random, bound);
        for digit in out[start..].iter_mut().rev() {
            *digit += (left % 10) as u8;
            left /= 10;
        }
    }
}

/// A number in decimal digits at the end of a buffer.
#[inline]
pub fn push_number(out: &mut Vec<u8>, value: i64) {
    const DIGITS: usize = 19;
    let mut digits = [b'0'; DIGITS];
    let mut first = DIGITS - 1;
    let mut left = value.unsigned_abs();
    loop {
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
        first -= 1;
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[first..]);
}

/// Zipf's law is as good as a constant above this.
const GREATEST_EXPONENT: f64 = 10.0;

/// Ranks 1 to `count`, rank k with a weight of k to the power of minus `exponent`: rejection-inversion (Hörmann and
/// Derflinger 1996, "Rejection-inversion to generate variates from monotone discrete distributions"). A draw takes
/// about 1.1 tries whatever `count` is, and no table.
///
/// Names are the paper's: `h` is the weight continued to real numbers, `integral` that of it.
#[derive(Debug, Clone, PartialEq)]
struct Zipf {
    count: f64,
    exponent: f64,
    integral_low: f64,
    integral_high: f64,
    /// Up to this far right of a rank no test is needed.
    sure: f64,
}

impl Zipf {
    /// `count` must be at least 1, `exponent` above 0.
    fn new(count: u64, exponent: f64) -> Zipf {
        let mut zipf =
            Zipf { count: count as f64, exponent, integral_low: 0.0, integral_high: 0.0, sure: 0.0 };
        zipf.integral_low = zipf.integral(1.5) - 1.0;
        zipf.integral_high = zipf.integral(zipf.count + 0.5);
        zipf.sure = 2.0 - zipf.integral_inverse(zipf.integral(2.5) - zipf.h(2.0));
        zipf
    }

    #[inline]
    fn rank(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            // 53 bits: every f64 from 0 to 1 that has them.
            let share = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let area = self.integral_high + share * (self.integral_low - self.integral_high);
            let x = self.integral_inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.h(rank) {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "clamped to 1 to a count that was a u64"
                )]
                #[expect(clippy::cast_sign_loss, reason = "at least 1")]
                return rank as u64;
            }
        }
    }

    fn h(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// (x^(1-s) - 1) / (1-s), which is ln x for s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        exp_m1_over((1.0 - self.exponent) * log) * log
    }

    fn integral_inverse(&self, area: f64) -> f64 {
        // Rounding may push it below its bound.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (ln_1p_over(t) * area).exp()
    }
}

/// Below this the quotients are 1 to within a rounding.
const TINY: f64 = 1e-8;

fn exp_m1_over(x: f64) -> f64 {
    if x.abs() > TINY { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > TINY { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests;
