//! Summaries and logs of pgbench as values.

use super::{Case, Source, percentile_metric, real};
use crate::pgbench::{PgbenchRun, Transactions};
use crate::pgbench_log::{LoggedInterval, LoggedOutcome, LoggedTransaction, PgbenchLog};
use model::import::ImportedValue;
use std::collections::BTreeMap;

/// The percentiles that a log is summed up by.
const PERCENTILES: [(&str, f64); 5] =
    [("50", 0.5), ("95", 0.95), ("99", 0.99), ("99.9", 0.999), ("99.99", 0.9999)];

/// The query mode that is not told in the name of a test: pgbench's own.
const USUAL_MODE: &str = "simple";

/// The values of pgbench's summaries, one after another; an operation is a transaction. The test is named after the
/// transactions, scale, clients, and mode unless it is `simple`: `select only.s10.c8.prepared`. With several scripts
/// each is a test too: `select only.s10.c8 (script 2)`.
pub fn of_pgbench(runs: &[PgbenchRun], source: Source<'_>) -> Vec<ImportedValue> {
    runs.iter().flat_map(|run| of_run(run, source)).collect()
}

fn of_run(run: &PgbenchRun, source: Source<'_>) -> Vec<ImportedValue> {
    let subject = run.version.as_deref().unwrap_or(source.subject);
    let step = step_of(&run.transaction_type, run);
    let place = format!("line {}", run.line);
    let case = Case { file: source.file, subject, step: &step, place: &place };
    let mut values = Vec::new();
    values.extend(case.value("ops_per_s", "ops/s", run.transactions_per_s));
    values.extend(of_transactions(&case, &run.total));
    let mut add = |metric: &str, unit, value| values.extend(case.value(metric, unit, value));
    add("ops_per_s_with_connecting", "ops/s", run.transactions_per_s_with_connecting);
    add("connecting_us", "us", run.us_connecting);
    add("connecting_us_mean", "us", run.us_connecting_mean);
    add("lag_us_mean", "us", run.lag.map(|lag| lag.us_mean));
    add("lag_us_max", "us", run.lag.map(|lag| lag.us_max));
    for (script, number) in run.scripts.iter().zip(1..) {
        let Some(name) = &script.name else { continue };
        let step = format!("{} (script {number})", step_of(name, run));
        let place = format!("line {}", script.line);
        let case = Case { file: source.file, subject, step: &step, place: &place };
        values.extend(case.value("ops_per_s", "ops/s", script.transactions_per_s));
        values.extend(of_transactions(&case, &script.transactions));
    }
    values
}

fn step_of(name: &str, run: &PgbenchRun) -> String {
    let mut step = name.to_owned();
    step.extend(run.scale.map(|scale| format!(".s{scale}")));
    step.extend(run.clients.map(|clients| format!(".c{clients}")));
    step.extend(run.query_mode.iter().filter(|mode| *mode != USUAL_MODE).map(|mode| format!(".{mode}")));
    step
}

fn of_transactions(case: &Case<'_>, transactions: &Transactions) -> Vec<ImportedValue> {
    let mut values = Vec::new();
    let mut add = |metric: &str, unit, value| values.extend(case.value(metric, unit, value));
    add("latency_us_mean", "us", transactions.us_mean);
    add("latency_us_stddev", "us", transactions.us_stddev);
    add("operations", "", real(transactions.processed));
    add("failed", "", real(transactions.failed));
    add("serialization_failures", "", real(transactions.serialization_failures));
    add("deadlocks", "", real(transactions.deadlock_failures));
    add("retried", "", real(transactions.retried));
    add("retries", "", real(transactions.retries));
    add("skipped", "", real(transactions.skipped));
    add("over_limit", "", real(transactions.over_limit));
    values
}

/// The values of a log: by script where it has a line per transaction, else of all. It has no `ops_per_s`: each thread of
/// pgbench has a log of its own, and a log may hold a sample only. Percentiles are nearest-rank.
pub fn of_pgbench_log(log: &PgbenchLog, source: Source<'_>) -> Vec<ImportedValue> {
    match log {
        PgbenchLog::Transactions(transactions) => {
            let mut scripts: BTreeMap<u32, Vec<&LoggedTransaction>> = BTreeMap::new();
            for transaction in transactions {
                scripts.entry(transaction.script).or_default().push(transaction);
            }
            scripts
                .iter()
                .flat_map(|(script, transactions)| of_logged(*script, transactions, source))
                .collect()
        }
        PgbenchLog::Intervals(intervals) => of_intervals(intervals, source),
    }
}

fn of_logged(script: u32, transactions: &[&LoggedTransaction], source: Source<'_>) -> Vec<ImportedValue> {
    let step = format!("script {script}");
    let case = Case { file: source.file, subject: source.subject, step: &step, place: "line 1" };
    let mut latencies: Vec<u64> = transactions
        .iter()
        .filter_map(|transaction| match transaction.outcome {
            LoggedOutcome::Done(us) => Some(us),
            LoggedOutcome::Skipped
            | LoggedOutcome::Failed
            | LoggedOutcome::SerializationFailure
            | LoggedOutcome::Deadlock
            | LoggedOutcome::OtherFailure => None,
        })
        .collect();
    latencies.sort_unstable();
    let skipped =
        transactions.iter().filter(|transaction| transaction.outcome == LoggedOutcome::Skipped).count();
    let failed = transactions.len() - latencies.len() - skipped;
    let mut values = Vec::new();
    let mut add = |metric: &str, unit, value| values.extend(case.value(metric, unit, value));
    add("latency_us_min", "us", real(latencies.first().copied()));
    add("latency_us_mean", "us", mean(&latencies));
    for (percent, share) in PERCENTILES {
        add(&percentile_metric(percent), "us", percentile(&latencies, share));
    }
    add("latency_us_max", "us", real(latencies.last().copied()));
    add("operations", "", Some(latencies.len() as f64));
    add("failed", "", Some(failed as f64));
    add("skipped", "", Some(skipped as f64));
    add("retries", "", transactions.iter().map(|transaction| real(transaction.retries)).sum());
    values
}

/// Absent where there is nothing to take the mean of.
fn mean(sorted: &[u64]) -> Option<f64> {
    let sum: u128 = sorted.iter().copied().map(u128::from).sum();
    (!sorted.is_empty()).then(|| sum as f64 / sorted.len() as f64)
}

/// The least value that at least this share of the values does not exceed (nearest rank); of one value, that value.
/// Absent where there is none.
fn percentile(sorted: &[u64], share: f64) -> Option<f64> {
    let rank = crate::number::whole((share * sorted.len() as f64).ceil());
    let index = usize::try_from(rank).ok()?.saturating_sub(1);
    sorted.get(index).map(|us| *us as f64)
}

fn of_intervals(intervals: &[LoggedInterval], source: Source<'_>) -> Vec<ImportedValue> {
    let case = Case { file: source.file, subject: source.subject, step: "all scripts", place: "line 1" };
    let sum =
        |of: fn(&LoggedInterval) -> Option<u64>| -> Option<f64> { intervals.iter().map(of).map(real).sum() };
    let with_transactions = || intervals.iter().filter(|interval| interval.transactions > 0);
    let count = sum(|interval| Some(interval.transactions)).filter(|count| *count > 0.0);
    let us_mean = count.map(|count| intervals.iter().map(|interval| interval.us_sum).sum::<f64>() / count);
    let squares = count.map(|count| intervals.iter().map(|it| it.us_sum_of_squares).sum::<f64>() / count);
    let variance = squares.zip(us_mean).map(|(squares, mean)| (squares - mean * mean).max(0.0));
    let mut values = Vec::new();
    let mut add = |metric: &str, unit, value| values.extend(case.value(metric, unit, value));
    add("latency_us_min", "us", with_transactions().map(|it| it.us_min).reduce(f64::min));
    add("latency_us_mean", "us", us_mean);
    add("latency_us_stddev", "us", variance.map(f64::sqrt));
    add("latency_us_max", "us", with_transactions().map(|it| it.us_max).reduce(f64::max));
    add("operations", "", sum(|interval| Some(interval.transactions)));
    add("failed", "", sum(|interval| interval.failures));
    add("skipped", "", sum(|interval| interval.skipped));
    add("retried", "", sum(|interval| interval.retried));
    values
}
