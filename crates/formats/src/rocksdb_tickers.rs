//! The text of RocksDB's statistics object: tickers and histograms, as `rocksdb_options_statistics_get_string` gives
//! it and db_bench prints it with `--statistics`.
//!
//! Releases 5.18 to 11.8:
//!
//! ```text
//! rocksdb.block.cache.miss COUNT : 45227
//! rocksdb.block.cache.hit COUNT : 13994
//! rocksdb.db.flush.micros P50 : 2456.818182 P95 : 9867.000000 .. P100 : 32160.000000 COUNT : 101 SUM : 359517
//! ```

use crate::ParseError;
use std::collections::BTreeMap;

const WHAT: &str = "tickers of RocksDB";

/// Everything that was counted since the database was opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tickers {
    /// Counts by name: `rocksdb.block.cache.miss`.
    pub counts: BTreeMap<String, u64>,
    /// Histograms by name: `rocksdb.db.get.micros`.
    pub histograms: BTreeMap<String, TickerHistogram>,
}

/// One histogram. Its unit is part of its name: `micros`, `bytes`, or a number of things.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TickerHistogram {
    /// Values by percentile as it is written: `P50`, `P99`, and `P100`, the largest.
    pub percentiles: BTreeMap<String, f64>,
    /// How many values there were.
    pub count: u64,
    pub sum: u64,
}

impl Tickers {
    /// What was counted between two texts of one process. Percentiles cannot be subtracted and are left out.
    #[must_use]
    pub fn since(&self, before: &Tickers) -> Tickers {
        let counts = self.counts.iter().map(|(name, count)| {
            (name.clone(), count.saturating_sub(before.counts.get(name).copied().unwrap_or(0)))
        });
        let histograms = self.histograms.iter().map(|(name, histogram)| {
            let earlier = before.histograms.get(name);
            let between = TickerHistogram {
                percentiles: BTreeMap::new(),
                count: histogram.count.saturating_sub(earlier.map_or(0, |it| it.count)),
                sum: histogram.sum.saturating_sub(earlier.map_or(0, |it| it.sum)),
            };
            (name.clone(), between)
        });
        Tickers { counts: counts.collect(), histograms: histograms.collect() }
    }
}

/// Reads the text. Lines that do not begin with `rocksdb.` are passed over: db_bench prints others around. Errors:
/// there is no ticker, or one cannot be read.
pub fn parse(text: &str) -> Result<Tickers, ParseError> {
    let mut tickers = Tickers::default();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| line.starts_with("rocksdb.")) {
        let failed = |problem| ParseError { what: WHAT, line: number, problem };
        read(line, &mut tickers).map_err(failed)?;
    }
    if tickers == Tickers::default() {
        let problem = "there is no line like `rocksdb.block.cache.miss COUNT : 5`".to_owned();
        return Err(ParseError { what: WHAT, line: text.lines().count().max(1), problem });
    }
    Ok(tickers)
}

fn read(line: &str, tickers: &mut Tickers) -> Result<(), String> {
    let (name, rest) = line.split_once(' ').ok_or_else(|| format!("`{line}` has no value"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let mut values: BTreeMap<&str, &str> = BTreeMap::new();
    for three in words.chunks(3) {
        let [key, ":", value] = three else {
            return Err(format!("`{}` is not like `COUNT : 5`", three.join(" ")));
        };
        values.insert(key, value);
    }
    let whole = |key: &str, value: &str| {
        value.parse::<u64>().map_err(|_| format!("`{value}` of {key} of {name} is no count"))
    };
    let count = values.remove("COUNT").ok_or_else(|| format!("{name} has no COUNT"))?;
    let count = whole("COUNT", count)?;
    let Some(sum) = values.remove("SUM") else {
        return match values.keys().next() {
            None => {
                tickers.counts.insert(name.to_owned(), count);
                Ok(())
            }
            Some(_) => Err(format!("the histogram {name} has no SUM")),
        };
    };
    let mut histogram = TickerHistogram { count, sum: whole("SUM", sum)?, percentiles: BTreeMap::new() };
    for (key, value) in values {
        let value: f64 = value.parse().map_err(|_| format!("`{value}` of {key} of {name} is no number"))?;
        histogram.percentiles.insert(key.to_owned(), value);
    }
    tickers.histograms.insert(name.to_owned(), histogram);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const RECORDED: [(&str, &str); 3] = [
        ("5.18.4", include_str!("../fixtures/rocksdb/5.18.4.tickers.txt")),
        ("8.1.1", include_str!("../fixtures/rocksdb/8.1.1.tickers.txt")),
        ("11.8.1", include_str!("../fixtures/rocksdb/11.8.1.tickers.txt")),
    ];

    #[test]
    fn every_line_of_every_release_is_read() {
        for (release, text) in RECORDED {
            let tickers = parse(text).unwrap();
            let lines = text.lines().filter(|line| !line.is_empty()).count();
            assert_eq!(tickers.counts.len() + tickers.histograms.len(), lines, "{release}");
            // Two times 30,000 keys were put, and every seventh of 60,000 was looked for.
            assert_eq!(tickers.counts["rocksdb.number.keys.written"], 60_000, "{release}");
            assert_eq!(tickers.counts["rocksdb.number.keys.read"], 8_572, "{release}");
            let gets = &tickers.histograms["rocksdb.db.get.micros"];
            assert_eq!(gets.count, 8_572, "{release}");
            assert!(gets.percentiles["P50"] <= gets.percentiles["P99"], "{release}");
            assert!(gets.percentiles["P100"] * 8_572.0 >= gets.sum as f64, "{release}");
        }
    }

    #[test]
    fn what_was_counted_between_two_texts() {
        let before = parse("rocksdb.a COUNT : 5\nrocksdb.h P50 : 1.0 COUNT : 2 SUM : 10\n").unwrap();
        let later =
            parse("rocksdb.a COUNT : 7\nrocksdb.b COUNT : 3\nrocksdb.h P50 : 9.0 COUNT : 5 SUM : 40\n")
                .unwrap();
        let between = later.since(&before);
        assert_eq!(
            between.counts,
            BTreeMap::from([("rocksdb.a".to_owned(), 2), ("rocksdb.b".to_owned(), 3)])
        );
        let histogram = &between.histograms["rocksdb.h"];
        assert_eq!((histogram.count, histogram.sum, histogram.percentiles.len()), (3, 30, 0));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = refused("tickers of RocksDB", parse);
        check("", "1: there is no line like `rocksdb.block.cache.miss COUNT : 5`");
        check("x\nrocksdb.a COUNT : many", "2: `many` of COUNT of rocksdb.a is no count");
        check("rocksdb.a COUNT", "1: `COUNT` is not like `COUNT : 5`");
        check("rocksdb.a", "1: `rocksdb.a` has no value");
        check("rocksdb.h P50 : 1.0 COUNT : 5", "1: the histogram rocksdb.h has no SUM");
        check("rocksdb.h P50 : x COUNT : 5 SUM : 6", "1: `x` of P50 of rocksdb.h is no number");
    }

    #[test]
    fn a_text_that_was_cut_off_is_an_error_or_shorter() {
        let text = RECORDED[0].1;
        let all = parse(text).unwrap().counts.len();
        for end in (0..text.len()).step_by(97) {
            match parse(&text[..end]) {
                Ok(tickers) => assert!(tickers.counts.len() <= all),
                Err(error) => assert!(error.line >= 1 && !error.problem.is_empty()),
            }
        }
    }
}
