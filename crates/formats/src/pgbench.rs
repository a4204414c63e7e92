//! What pgbench prints: a summary per run, with progress lines and latencies of statements where it was told to.
//!
//! Releases 10 to 18; the second pair of rates is that of releases up to 13:
//!
//! ```text
//! progress: 1.0 s, 512.0 tps, lat 1.909 ms stddev 0.403, 0 failed
//! tps = 346.224794 (without initial connection time)
//! tps = 85.296346 (excluding connections establishing)
//! ```
//!
//! Lines are found by their labels. What stands before and after is passed over.

mod parse;

pub use parse::parse;

/// One run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PgbenchRun {
    /// The line of its transaction type, from 1.
    pub line: usize,
    /// Release of the server, or of pgbench where both are the same: `15.18`; printed from 14 on.
    pub version: Option<String>,
    /// `TPC-B (sort of)`, the path of a script, or `multiple scripts`.
    pub transaction_type: String,
    pub scale: Option<u64>,
    /// `simple`, `extended`, `prepared`.
    pub query_mode: Option<String>,
    pub clients: Option<u64>,
    pub threads: Option<u64>,
    /// Seconds that were asked for; absent where a number of transactions was.
    pub duration_s: Option<u64>,
    /// Transactions of each client that were asked for.
    pub transactions_per_client: Option<u64>,
    /// What the transactions of all scripts were like.
    pub total: Transactions,
    /// Transactions per second, without the time to connect in the beginning; with it where each transaction connects
    /// anew (`-C`). Absent where the text was cut off.
    pub transactions_per_s: Option<f64>,
    /// Transactions per second, the time to connect included; up to 13.
    pub transactions_per_s_with_connecting: Option<f64>,
    /// Microseconds to connect all clients; from 14 on.
    pub us_connecting: Option<f64>,
    /// Microseconds to connect, mean over transactions; from 14 on, with `-C`.
    pub us_connecting_mean: Option<f64>,
    /// How late transactions began, in microseconds; with `-R`.
    pub lag: Option<Lag>,
    /// Scripts one by one, where there were several; also with `-r`, where there was one.
    pub scripts: Vec<Script>,
    /// Progress lines, in their order.
    pub progress: Vec<Progress>,
}

/// Transactions of a run or of one of its scripts. What a release or an option does not print is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Transactions {
    /// How many were done.
    pub processed: Option<u64>,
    /// That failed; from 15 on.
    pub failed: Option<u64>,
    /// Of these: that could not be serialized; with `--failures-detailed`.
    pub serialization_failures: Option<u64>,
    /// That met a deadlock; with `--failures-detailed`.
    pub deadlock_failures: Option<u64>,
    /// That were tried more than once; with `--max-tries`.
    pub retried: Option<u64>,
    /// Times that any was tried again.
    pub retries: Option<u64>,
    /// That were not begun since they were too late; with `-R` and `-L`.
    pub skipped: Option<u64>,
    /// That took longer than the limit; with `-L`.
    pub over_limit: Option<u64>,
    /// Mean latency in microseconds.
    pub us_mean: Option<f64>,
    /// Its standard deviation; only where latency was measured (`-P`, `-R`, `-L`, several scripts).
    pub us_stddev: Option<f64>,
}

/// `rate limit schedule lag: avg 1.250 (max 9.998) ms`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lag {
    pub us_mean: f64,
    pub us_max: f64,
}

/// One script of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// The line it begins on, from 1.
    pub line: usize,
    /// `TPC-B (sort of)`, a path; absent where the run had but one.
    pub name: Option<String>,
    /// What its transactions were like.
    pub transactions: Transactions,
    pub transactions_per_s: Option<f64>,
    /// Its statements, in their order; with `-r`.
    pub statements: Vec<Statement>,
}

/// One statement of a script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statement {
    pub text: String,
    /// Mean latency in microseconds.
    pub us_mean: Option<f64>,
    /// Times that it failed; from 15 on.
    pub failures: Option<u64>,
    /// Times that it was tried again; with `--max-tries`.
    pub retries: Option<u64>,
}

/// One progress line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Its time: seconds since the beginning, or since the epoch (`--progress-timestamp`).
    pub end_s: f64,
    /// Transactions per second since the line before.
    pub transactions_per_s: Option<f64>,
    /// Mean latency in microseconds; absent where no transaction ended.
    pub us_mean: Option<f64>,
    pub us_stddev: Option<f64>,
    /// Mean lag in microseconds; with `-R`.
    pub us_lag: Option<f64>,
    /// Transactions that failed; from 15 on.
    pub failed: Option<u64>,
    /// That were skipped; with `-R` and `-L`.
    pub skipped: Option<u64>,
    /// That were tried more than once; with `--max-tries`.
    pub retried: Option<u64>,
}

#[cfg(test)]
mod tests;
