//! What sysbench prints: a report per run, with interval lines and a histogram where it was told to.
//!
//! Version 1.0, and what 1.1 has in place of its general statistics:
//!
//! ```text
//! [ 1s ] thds: 2 tps: 318.33 qps: 6386.52 (r/w/o: 4474.57/1273.31/638.65) lat (ms,95%): 8.90 err/s: 0.00 reconn/s: 0.00
//!     queries:                             19300  (6414.57 per sec.)
//!     events/s (eps):                      1475.6309
//! ```
//!
//! Labels are found by their section. What stands before and after (shell lines, plans of queries) is passed over. A
//! second report of one invocation is that of a checkpoint: sysbench sets its counters back there.

mod parse;

pub use parse::parse;

/// One report: of an invocation, or of the part of one that a checkpoint ends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SysbenchRun {
    /// The line it begins on, from 1.
    pub line: usize,
    /// `1.0.20`; absent where the first lines are.
    pub version: Option<String>,
    /// `oltp_read_only`: from the command line, where that stands before it.
    pub script: Option<String>,
    pub threads: Option<u64>,
    /// Seconds since the beginning at which a checkpoint ended the part before this one; 0 where none did.
    pub begin_s: f64,
    /// Seconds since the beginning at which a checkpoint ended this part.
    pub checkpoint_s: Option<f64>,
    /// Queries by what they do.
    pub queries_by_kind: QueriesByKind,
    /// Transactions; absent where the test is not of SQL.
    pub transactions: Option<Counted>,
    /// Queries, BEGIN and COMMIT among them; absent where the test is not of SQL.
    pub queries: Option<Counted>,
    /// Errors that were told to be ignored.
    pub ignored_errors: Option<Counted>,
    /// Times that a client connected again.
    pub reconnects: Option<Counted>,
    /// Events: for SQL, calls of the script's function.
    pub events: Option<u64>,
    /// Events per second as printed: by 1.1, and by the test of CPUs.
    pub events_per_s: Option<f64>,
    /// Wall seconds of this part; sysbench prints those since the beginning.
    pub seconds: Option<f64>,
    pub latency: Latency,
    /// How evenly threads were served.
    pub fairness: Fairness,
    /// Interval lines, in their order.
    pub intervals: Vec<Interval>,
    /// The histogram, where it was asked for.
    pub histogram: Vec<Bucket>,
}

/// Queries by what they do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueriesByKind {
    pub read: Option<u64>,
    pub write: Option<u64>,
    pub other: Option<u64>,
    pub total: Option<u64>,
}

/// `19300  (6414.57 per sec.)`
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    pub count: u64,
    /// How many a second of wall time; absent where sysbench had none to print.
    pub per_s: Option<f64>,
}

/// Latency, in microseconds; sysbench prints milliseconds with two decimals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latency {
    pub us_min: Option<f64>,
    pub us_mean: Option<f64>,
    pub us_max: Option<f64>,
    /// The one percentile that was asked for; absent where none was.
    pub percentile: Option<Percentile>,
    /// Sum over all events.
    pub us_sum: Option<f64>,
}

/// A percentile.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentile {
    /// Which, as it is written: `95`.
    pub percent: String,
    /// Its value in microseconds.
    pub us: f64,
}

/// How evenly threads were served: over threads, mean and standard deviation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fairness {
    /// Events of a thread.
    pub events: Option<Spread>,
    /// Seconds of a thread.
    pub seconds: Option<Spread>,
}

/// `482.5000/4.50`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub stddev: f64,
}

/// One interval line. Rates are those of the interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interval {
    /// Its end, in seconds since the beginning.
    pub end_s: f64,
    pub threads: Option<u64>,
    /// Transactions per second; of SQL tests.
    pub transactions_per_s: Option<f64>,
    /// Queries per second; of SQL tests.
    pub queries_per_s: Option<f64>,
    /// Of these: that read.
    pub reads_per_s: Option<f64>,
    pub writes_per_s: Option<f64>,
    pub others_per_s: Option<f64>,
    /// Events per second; of tests that are not of SQL.
    pub events_per_s: Option<f64>,
    /// The percentile of latency.
    pub latency: Option<Percentile>,
    /// Ignored errors per second.
    pub errors_per_s: Option<f64>,
    pub reconnects_per_s: Option<f64>,
}

/// One row of the histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    pub us: f64,
    pub count: u64,
}

impl SysbenchRun {
    /// Whether it came to a report: what failed, and what was cut off, has its first lines only.
    pub fn has_report(&self) -> bool {
        self.queries.is_some()
            || self.transactions.is_some()
            || self.events.is_some()
            || self.events_per_s.is_some()
    }

    /// Operations per second: of queries, as Small Datum gives it; of events where the test is not of SQL. Absent where the
    /// text does not say, and where no time went by.
    pub fn ops_per_s(&self) -> Option<f64> {
        let by_time = || {
            let seconds = self.seconds.filter(|seconds| *seconds > 0.0)?;
            Some(self.events? as f64 / seconds)
        };
        match self.queries {
            Some(queries) => queries.per_s,
            None => self.events_per_s.or_else(by_time),
        }
    }
}

#[cfg(test)]
mod tests;
