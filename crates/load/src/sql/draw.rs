//! The values of parameters: how one is drawn, and what all parameters hold at a moment of an event.

mod zipf;

use super::error::SqlError;
use super::rows::TableRows;
use crate::clock;
use crate::keys::below;
use model::workload::sql::{Draw, Holds, Parameter};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use zipf::{GREATEST_EXPONENT, Zipf};

/// How the values of one parameter come about, for tables of a known size.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    Uniform {
        low: u64,
        count: u64,
    },
    Zipfian {
        low: u64,
        high: u64,
        zipf: Zipf,
    },
    Constant {
        value: u64,
    },
    Digits {
        groups: u32,
        of: u32,
    },
    Text {
        least: u32,
        most: u32,
        random_percent: f64,
    },
    Now,
    Oldest,
    Existing,
    Next,
    /// Of the parameter by its number.
    Near {
        of: usize,
        times: u64,
        low: u64,
        count: u64,
    },
    NowMs,
    EarlierMs {
        start: i64,
    },
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
    next: NextId,
}

/// Where the ids of new rows come from.
#[derive(Debug, Clone)]
enum NextId {
    /// A load counts, from the first of the rows that it has reserved on.
    Counted(u64),
    /// Clients share the tables; the table of the event, and what was reserved of its ids for the statement.
    Shared { tables: Arc<Vec<TableRows>>, table: usize, reserved: Range<u64> },
}

impl Parameters {
    /// For tables of so many rows.
    pub fn new(parameters: &BTreeMap<String, Parameter>, rows: u64) -> Parameters {
        let mut slots = Vec::new();
        let mut names = BTreeMap::new();
        // Those first that others are near.
        let is_near = |parameter: &Parameter| matches!(parameter.draw, Draw::Near { .. });
        for near in [false, true] {
            for (name, parameter) in parameters.iter().filter(|(_, parameter)| is_near(parameter) == near) {
                let index = source(&parameter.draw, rows, &names).map(|source| {
                    slots.push(Slot { source, holds: parameter.per, number: 0, text: Vec::new() });
                    slots.len() - 1
                });
                names.insert(name.clone(), index);
            }
        }
        Parameters { slots, names, of_event: Vec::new(), rows: [1, 1], next: NextId::Counted(1) }
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
        for index in self.near(index).into_iter().chain([index]) {
            if self.slots[index].holds == Holds::Transaction && !self.of_event.contains(&index) {
                self.of_event.push(index);
            }
        }
        Ok(index)
    }

    /// The same for a list of fresh values: an id that no row has is in none, nor what is near another value.
    pub fn using_in_list(&mut self, name: &str) -> Result<usize, SqlError> {
        let index = self.using(name)?;
        match self.slots[index].source {
            Source::Next | Source::Near { .. } => {
                Err(SqlError::Workload(format!("the parameter `{name}` cannot be drawn as a list")))
            }
            _ => Ok(index),
        }
    }

    /// The parameter that it is near, which must be drawn before it.
    pub fn near(&self, index: usize) -> Option<usize> {
        match self.slots[index].source {
            Source::Near { of, .. } => Some(of),
            _ => None,
        }
    }

    /// Whether its values are numbers.
    pub fn is_number(&self, index: usize) -> bool {
        !self.slots[index].source.is_text()
    }

    /// Whether it is drawn anew for each statement.
    pub fn is_of_statement(&self, index: usize) -> bool {
        self.slots[index].holds == Holds::Statement
    }

    /// The next event is about a table whose oldest and newest rows have these ids.
    #[inline]
    pub fn set_rows(&mut self, oldest_and_newest: [u64; 2]) {
        self.rows = oldest_and_newest;
    }

    /// The next statement is about rows from this one on, which nobody else deletes.
    #[inline]
    pub fn set_oldest(&mut self, oldest: u64) {
        self.rows[0] = oldest;
    }

    /// From now on new rows get the ids that these tables have not given yet, which others ask too.
    pub fn share_ids(&mut self, tables: Arc<Vec<TableRows>>) {
        self.next = NextId::Shared { tables, table: 0, reserved: 0..0 };
    }

    /// The next event is about this table of those that are shared.
    #[inline]
    pub fn set_table(&mut self, table: usize) {
        if let NextId::Shared { table: current, reserved, .. } = &mut self.next {
            (*current, *reserved) = (table, 0..0);
        }
    }

    /// The next new rows get these ids, which nobody else has.
    #[inline]
    pub fn give_ids(&mut self, ids: Range<u64>) {
        if let NextId::Shared { reserved, .. } = &mut self.next {
            *reserved = ids;
        }
    }

    /// A load goes on with the row of this number, which is its id; the first of a table is 1.
    pub fn count_ids_from(&mut self, first: u64) {
        self.next = NextId::Counted(first);
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
            Source::Next => slot.number = i64::try_from(self.next.take()).unwrap_or(i64::MAX),
            Source::Near { of, times, low, count } => {
                let (of, times, beside) = (*of, *times, low + below(random, *count));
                let base = self.slots[of].number;
                self.slots[index].number =
                    base.wrapping_mul(times.cast_signed()).wrapping_add(beside.cast_signed());
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

impl NextId {
    #[inline]
    fn take(&mut self) -> u64 {
        match self {
            NextId::Counted(next) => {
                *next += 1;
                *next - 1
            }
            NextId::Shared { tables, table, reserved } => {
                reserved.next().unwrap_or_else(|| tables.get(*table).map_or(0, TableRows::take_next))
            }
        }
    }
}

/// `names` has the numbers of those that this one may be near.
fn source(draw: &Draw, rows: u64, names: &BTreeMap<String, Result<usize, String>>) -> Result<Source, String> {
    let range = |low: u64, high: u64| {
        if low > high || high > GREATEST {
            return Err(format!(
                "has the range {low} to {high} in tables of {rows} rows, which has no number in it"
            ));
        }
        Ok((low, high - low + 1))
    };
    Ok(match *draw {
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
        Draw::Next => Source::Next,
        Draw::Near { ref of, times, low, high } => {
            let (low, count) = range(u64::from(low), u64::from(high))?;
            let Some(Ok(of)) = names.get(of) else {
                return Err(format!("is near `{of}`, which has no value"));
            };
            Source::Near { of: *of, times: u64::from(times), low, count }
        }
        Draw::NowMs => Source::NowMs,
        Draw::EarlierMs => Source::EarlierMs { start: clock::utc_ms() },
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
        Source::NowMs => return clock::utc_ms(),
        Source::EarlierMs { start } => {
            let passed = u64::try_from(clock::utc_ms() - start).unwrap_or_default();
            return start + below(random, passed + 1) as i64;
        }
        // A fresh one would be near nothing, or take an id that no row gets.
        Source::Digits { .. } | Source::Text { .. } | Source::Now | Source::Next | Source::Near { .. } => 0,
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
        | Source::Existing
        | Source::Next
        | Source::Near { .. }
        | Source::NowMs
        | Source::EarlierMs { .. } => {}
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

#[cfg(test)]
mod tests;
