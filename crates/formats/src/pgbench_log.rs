//! The log of pgbench's transactions (`-l`), and the one that is aggregated (`--aggregate-interval`).
//!
//! Release 15; the log has no header, so columns are told by their number:
//!
//! ```text
//! 0 199 2241 0 1175850568 995598
//! 0 83 skipped 0 1412881037 914578 5217
//! 1650260552 5178 26171317 177284491527 1136 44462 2647617 7321113867 0 9866 64 7564 28340 4148 0
//! ```
//!
//! client, transaction, microseconds or what became of it, script, end in seconds and microseconds, lag with `-R`,
//! retries with `--max-tries`; and by interval: its begin, transactions, sum, sum of squares, least and largest latency.
//! Each thread of pgbench writes a log of its own, and `--sampling-rate` leaves lines out: the number of lines is no
//! throughput of the run.

use crate::ParseError;
use crate::lines::{last, numbered};
use crate::number::{counted, real};

const WHAT: &str = "log of pgbench";

/// 2001-09-09 in seconds since the epoch: intervals begin later, and no client has a number like it.
const EARLIEST_TIME: u64 = 1_000_000_000;

/// Columns of the log of transactions, in their order.
const COLUMNS: [&str; 8] =
    ["client_id", "transaction_no", "time", "script_no", "time_epoch", "time_us", "schedule_lag", "retries"];
/// Columns that each line of it has.
const LEAST_COLUMNS: usize = 6;

/// Columns of the aggregated log of 15 and later; up to 14 it had the first 6, 10 or 11.
const AGGREGATED_COLUMNS: [&str; 16] = [
    "interval_start",
    "num_transactions",
    "sum_latency",
    "sum_latency_2",
    "min_latency",
    "max_latency",
    "sum_lag",
    "sum_lag_2",
    "min_lag",
    "max_lag",
    "skipped",
    "retried",
    "retries",
    "serialization_failures",
    "deadlock_failures",
    "other_failures",
];
/// Numbers of columns that a release writes.
const AGGREGATED_WIDTHS: [usize; 5] = [6, 10, 11, 15, 16];

/// A log.
#[derive(Debug, Clone, PartialEq)]
pub enum PgbenchLog {
    /// A line per transaction.
    Transactions(Vec<LoggedTransaction>),
    /// A line per interval.
    Intervals(Vec<LoggedInterval>),
}

/// One transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedTransaction {
    pub client: u32,
    /// How many that client had run.
    pub number: u64,
    /// Its time, or why it has none.
    pub outcome: LoggedOutcome,
    /// The script that it ran, from 0.
    pub script: u32,
    /// When it ended, in microseconds since the epoch.
    pub end_us: u64,
    /// How late it began, in microseconds; absent without `-R`.
    pub lag_us: Option<u64>,
    /// How often it was tried again; absent without `--max-tries`.
    pub retries: Option<u64>,
    /// The seventh of seven columns, where nothing tells whether it is lag or retries.
    pub lag_or_retries: Option<u64>,
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedOutcome {
    /// It took so many microseconds.
    Done(u64),
    /// It was too late and not begun.
    Skipped,
    /// It failed; the log does not say why.
    Failed,
    /// It could not be serialized.
    SerializationFailure,
    Deadlock,
    /// It failed by another error, and the client went on.
    OtherFailure,
}

/// One interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LoggedInterval {
    /// Its begin, in seconds since the epoch.
    pub start_s: u64,
    /// Transactions that ended in it.
    pub transactions: u64,
    /// Sum of their latencies in microseconds.
    pub us_sum: f64,
    pub us_sum_of_squares: f64,
    /// Smallest latency in microseconds.
    pub us_min: f64,
    pub us_max: f64,
    /// Transactions that were skipped.
    pub skipped: Option<u64>,
    /// That were tried more than once; from 15 on.
    pub retried: Option<u64>,
    /// That failed, where the log says how: with `--failures-detailed`; else 0. From 15 on.
    pub failures: Option<u64>,
}

/// Reads a log. A last line without a line break is left out: it may lack digits. Errors: there is no line, a line has
/// another number of columns than the first, or a column is no number.
pub fn parse(text: &str) -> Result<PgbenchLog, ParseError> {
    let failed = |line, problem| ParseError { what: WHAT, line, problem };
    let lines = || numbered(text).filter(|line| line.whole && !line.text.is_empty());
    let Some(first) = lines().next() else {
        return Err(failed(last(text), "there is no whole line".to_owned()));
    };
    let width = first.text.split(' ').count();
    let is_aggregated = first
        .text
        .split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .is_some_and(|number: u64| number >= EARLIEST_TIME);
    if is_aggregated && !AGGREGATED_WIDTHS.contains(&width) {
        return Err(failed(first.number, format!("an aggregated log has no {width} columns")));
    }
    if !is_aggregated && !(LEAST_COLUMNS..=COLUMNS.len()).contains(&width) {
        return Err(failed(first.number, format!("{width} columns, a log has 6, 7 or 8")));
    }
    let rows = lines().map(|line| {
        let cells: Vec<&str> = line.text.split(' ').collect();
        if cells.len() != width {
            let problem = format!("it has {} columns, the first line has {width}", cells.len());
            return Err(failed(line.number, problem));
        }
        Ok((line.number, cells))
    });
    if is_aggregated {
        let intervals = rows.map(|row| {
            let (line, cells) = row?;
            interval(&cells).map_err(|problem| failed(line, problem))
        });
        return Ok(PgbenchLog::Intervals(intervals.collect::<Result<_, _>>()?));
    }
    let transactions = rows.map(|row| {
        let (line, cells) = row?;
        transaction(&cells).map_err(|problem| failed(line, problem))
    });
    let mut transactions: Vec<LoggedTransaction> = transactions.collect::<Result<_, _>>()?;
    // Only what has a schedule can be too late for it.
    if transactions.iter().any(|transaction| transaction.outcome == LoggedOutcome::Skipped) {
        for transaction in &mut transactions {
            transaction.lag_us = transaction.lag_us.or(transaction.lag_or_retries.take());
        }
    }
    Ok(PgbenchLog::Transactions(transactions))
}

fn transaction(cells: &[&str]) -> Result<LoggedTransaction, String> {
    let count = |index: usize| counted(cells[index], &in_column(COLUMNS[index]));
    let too_large = |index: usize| format!("`{}` {} is too large", cells[index], in_column(COLUMNS[index]));
    let small = |index: usize| u32::try_from(count(index)?).map_err(|_| too_large(index));
    let outcome = match cells[2] {
        "skipped" => LoggedOutcome::Skipped,
        "failed" => LoggedOutcome::Failed,
        "serialization" => LoggedOutcome::SerializationFailure,
        "deadlock" => LoggedOutcome::Deadlock,
        "other" => LoggedOutcome::OtherFailure,
        _ => LoggedOutcome::Done(count(2)?),
    };
    let (seconds, us) = (count(4)?, count(5)?);
    let end_us = seconds.checked_mul(1_000_000).and_then(|seconds_us| seconds_us.checked_add(us));
    let (lag_us, retries, lag_or_retries) = match cells.len() {
        7 => (None, None, Some(count(6)?)),
        8 => (Some(count(6)?), Some(count(7)?), None),
        _ => (None, None, None),
    };
    Ok(LoggedTransaction {
        client: small(0)?,
        number: count(1)?,
        outcome,
        script: small(3)?,
        end_us: end_us.ok_or_else(|| too_large(4))?,
        lag_us,
        retries,
        lag_or_retries,
    })
}

fn in_column(column: &str) -> String {
    format!("in column {column}")
}

fn interval(cells: &[&str]) -> Result<LoggedInterval, String> {
    let cell = |index: usize| cells.get(index).map(|cell| (*cell, in_column(AGGREGATED_COLUMNS[index])));
    let count = |index: usize| cell(index).map(|(cell, of)| counted(cell, &of)).transpose();
    let number = |index: usize| match cell(index) {
        Some((cell, of)) => real(cell, &of)?.ok_or_else(|| format!("`{cell}` {of} is no number")),
        None => Ok(0.0), // each width has these columns
    };
    let failures: Vec<u64> = [count(13)?, count(14)?, count(15)?].into_iter().flatten().collect();
    Ok(LoggedInterval {
        start_s: count(0)?.unwrap_or(0),
        transactions: count(1)?.unwrap_or(0),
        us_sum: number(2)?,
        us_sum_of_squares: number(3)?,
        us_min: number(4)?,
        us_max: number(5)?,
        skipped: count(10)?,
        retried: count(11)?,
        failures: failures.into_iter().reduce(u64::saturating_add),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const PLAIN: &str = include_str!("../fixtures/pgbench/15.18.log");
    const LATE: &str = include_str!("../fixtures/pgbench/15.18.late.log");
    const FAILED: &str = include_str!("../fixtures/pgbench/15.18.failed.log");
    const INTERVALS: &str = include_str!("../fixtures/pgbench/15.18.interval.log");
    const OLDER_INTERVALS: &str = include_str!("../fixtures/pgbench/14.interval.log");

    fn transactions(text: &str) -> Vec<LoggedTransaction> {
        match parse(text).unwrap() {
            PgbenchLog::Transactions(transactions) => transactions,
            PgbenchLog::Intervals(intervals) => panic!("{intervals:?}"),
        }
    }

    fn intervals(text: &str) -> Vec<LoggedInterval> {
        match parse(text).unwrap() {
            PgbenchLog::Intervals(intervals) => intervals,
            PgbenchLog::Transactions(transactions) => panic!("{transactions:?}"),
        }
    }

    fn count(transactions: &[LoggedTransaction], outcome: LoggedOutcome) -> usize {
        transactions.iter().filter(|transaction| transaction.outcome == outcome).count()
    }

    #[test]
    fn each_transaction_of_each_client_has_a_line() {
        let found = transactions(PLAIN);
        assert_eq!(found.len(), 40);
        for client in 0..2 {
            let mut numbers: Vec<u64> =
                found.iter().filter(|it| it.client == client).map(|it| it.number).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (1..=20).collect::<Vec<u64>>());
        }
        assert!(found.iter().all(|it| matches!(it.outcome, LoggedOutcome::Done(us) if us > 100)));
        assert!(found.iter().all(|it| (it.lag_us, it.retries, it.lag_or_retries) == (None, None, None)));
        let seconds = found.iter().map(|it| it.end_us).max().unwrap() - found[0].end_us;
        assert!(seconds < 10_000_000, "{seconds}");
    }

    #[test]
    fn where_transactions_are_skipped_the_seventh_column_is_lag() {
        let found = transactions(LATE);
        assert_eq!(found.len(), 30);
        assert!(count(&found, LoggedOutcome::Skipped) > 5);
        assert!(found.iter().all(|it| it.lag_us.is_some() && it.lag_or_retries.is_none()));
    }

    #[test]
    fn where_nothing_tells_the_seventh_column_is_either() {
        let found = transactions(FAILED);
        assert_eq!((found.len(), count(&found, LoggedOutcome::Skipped)), (32, 0));
        assert!(count(&found, LoggedOutcome::SerializationFailure) > 5);
        assert!(found.iter().all(|it| it.lag_us.is_none() && it.lag_or_retries.is_some_and(|it| it <= 1)));
        let both = transactions("0 7 failed 2 1499414498 84905 12 9\n1 1 deadlock 0 1499414498 84905 12 9\n");
        assert_eq!((both[0].outcome, both[0].script), (LoggedOutcome::Failed, 2));
        assert_eq!(
            (both[0].lag_us, both[0].retries, both[1].outcome),
            (Some(12), Some(9), LoggedOutcome::Deadlock)
        );
        assert_eq!(both[0].end_us, 1_499_414_498_084_905);
    }

    #[test]
    fn intervals_have_sums() {
        let found = intervals(INTERVALS);
        assert!(found.len() >= 4);
        assert!(found.is_sorted_by(|one, next| one.start_s < next.start_s));
        for interval in &found {
            let mean = interval.us_sum / interval.transactions as f64;
            assert!(interval.us_min <= mean && mean <= interval.us_max, "{interval:?}");
            assert!(interval.us_sum_of_squares >= mean * interval.us_sum, "{interval:?}");
            assert_eq!((interval.skipped, interval.retried, interval.failures), (Some(0), Some(0), Some(0)));
        }
        let older = intervals(OLDER_INTERVALS);
        assert_eq!((older[0].transactions, older[0].us_sum, older[1].us_max), (1000, 2e6, 12_000.0));
        assert_eq!((older[1].skipped, older[1].retried, older[1].failures), (Some(6), None, None));
        let oldest = intervals("1345828501 5601 1542744 483552416 61 2573\n");
        assert_eq!((oldest[0].us_min, oldest[0].skipped), (61.0, None));
    }

    #[test]
    fn a_last_line_without_a_line_break_is_left_out() {
        let all = transactions(PLAIN);
        for end in 40..PLAIN.len() {
            let found = transactions(&PLAIN[..end]);
            assert_eq!(found, all[..PLAIN[..end].matches('\n').count()], "cut at {end}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = refused("log of pgbench", parse);
        check("", "1: there is no whole line");
        check("0 199 2241 0 1175850568 995598", "1: there is no whole line");
        check("transaction type: x\n", "1: 3 columns, a log has 6, 7 or 8");
        check("1345828501 5601 1542744\n", "1: an aggregated log has no 3 columns");
        check(
            "0 1 2241 0 1175850568 99\n0 2 2465 0 1175850568\n",
            "2: it has 5 columns, the first line has 6",
        );
        check("0 1 nan 0 1175850568 99\n", "1: `nan` in column time is no count");
        check("0 1 2,241 0 1175850568 99\n", "1: `2,241` in column time is no count");
        check("0 1 22 0 1175850568 9x\n", "1: `9x` in column time_us is no count");
        let second = |line: &str| format!("0 1 22 0 1 2\n{line}\n");
        check(&second("9999999999 1 22 0 1 2"), "2: `9999999999` in column client_id is too large");
        let endless = "0 1 22 0 18446744073709551615 2";
        check(&second(endless), "2: `18446744073709551615` in column time_epoch is too large");
        check("1345828501 5601 inf 483552416 61 2573\n", "1: `inf` in column sum_latency is no number");
    }
}
