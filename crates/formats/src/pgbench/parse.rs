//! Reads pgbench's text line by line. Progress lines stand before the summary that they belong to.

use super::{Lag, PgbenchRun, Progress, Script, Statement, Transactions};
use crate::ParseError;
use crate::lines::{Line, last, numbered};
use crate::number::{counted, real};

const WHAT: &str = "output of pgbench";

/// Every summary begins with it.
const FIRST_LABEL: &str = "transaction type: ";

/// Microseconds of a millisecond.
const MS: f64 = 1000.0;

type Read<T> = Result<T, String>;

/// Reads the text. Errors: there is no summary, progress lines have none after them, or a known line cannot be read.
pub fn parse(text: &str) -> Result<Vec<PgbenchRun>, ParseError> {
    let mut reader = Reader::default();
    for line in numbered(text) {
        reader.line(line).map_err(|problem| ParseError { what: WHAT, line: line.number, problem })?;
    }
    let problem = match (reader.runs.is_empty(), reader.progress.is_empty()) {
        (false, true) => return Ok(reader.runs),
        (true, true) => format!("there is no summary that begins with `{FIRST_LABEL}`"),
        (_, false) => format!("there is no `{FIRST_LABEL}` after the last progress line: it was cut off"),
    };
    Err(ParseError { what: WHAT, line: last(text), problem })
}

#[derive(Default)]
struct Reader {
    runs: Vec<PgbenchRun>,
    /// Of the run whose summary is to come.
    progress: Vec<Progress>,
    version: Option<String>,
    /// The columns of the statements that follow.
    statements: Option<StatementColumns>,
}

/// What stands before a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatementColumns {
    Latency,
    LatencyAndFailures,
    LatencyFailuresAndRetries,
}

impl Reader {
    fn line(&mut self, line: Line<'_>) -> Read<()> {
        let text = line.text;
        if let Some(version) = version(text) {
            self.version = Some(version.to_owned());
        } else if let Some(rest) = text.strip_prefix("progress: ") {
            if line.whole {
                self.progress.push(progress(rest)?);
            }
        } else if let Some(transaction_type) = text.strip_prefix(FIRST_LABEL) {
            self.runs.push(PgbenchRun {
                line: line.number,
                version: self.version.clone(),
                transaction_type: name(transaction_type),
                progress: std::mem::take(&mut self.progress),
                ..PgbenchRun::default()
            });
            self.statements = None;
        } else if let Some(run) = self.runs.last_mut() {
            if let Some(rest) = text.strip_prefix("SQL script ") {
                let name = rest.split_once(": ").map(|(_, script)| name(script));
                run.scripts.push(Script { line: line.number, name, ..Script::default() });
                self.statements = None;
            } else if let Some(columns) = statement_columns(text) {
                self.statements = Some(columns);
                if !text.starts_with(" - ") {
                    run.scripts.push(Script { line: line.number, ..Script::default() });
                }
            } else if let (Some(columns), Some(script), true) =
                (self.statements, run.scripts.last_mut(), text.starts_with("  "))
            {
                if line.whole {
                    script.statements.push(statement(text, columns)?);
                }
            } else {
                self.statements = None;
                labelled(run, line)?;
            }
        }
        Ok(())
    }
}

/// `pgbench (16.1, server 15.4)` is of 15.4, `pgbench (15.18 (Debian 15.18-0+deb12u1))` of 15.18.
fn version(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("pgbench (")?.strip_suffix(')')?;
    let server = inner.split_once(", server ").map_or(inner, |(_, server)| server);
    server.split_whitespace().next()
}

/// `<builtin: TPC-B (sort of)>` is `TPC-B (sort of)`.
fn name(text: &str) -> String {
    let inner = text.strip_prefix("<builtin: ").and_then(|it| it.strip_suffix('>'));
    inner.unwrap_or(text).to_owned()
}

/// `1.0 s, 512.0 tps, lat 1.909 ms stddev 0.403, 0 failed, lag 0.011 ms, 0 skipped, 0 retried, 0 retries`
fn progress(rest: &str) -> Read<Progress> {
    let mut progress = Progress::default();
    let mut has_time = false;
    for part in rest.split(", ") {
        let words: Vec<&str> = part.split_whitespace().collect();
        let microseconds = |number: &str, of: &str| Ok::<_, String>(real(number, of)?.map(|ms| ms * MS));
        match words[..] {
            [seconds, "s"] => {
                progress.end_s = real(seconds, "of a progress line")?.ok_or("a progress line has no time")?;
                has_time = true;
            }
            [tps, "tps"] => progress.transactions_per_s = real(tps, "of tps")?,
            ["lat", mean, "ms", "stddev", stddev] => {
                progress.us_mean = microseconds(mean, "of lat")?;
                progress.us_stddev = microseconds(stddev, "of stddev")?;
            }
            ["lag", lag, "ms"] => progress.us_lag = microseconds(lag, "of lag")?,
            [count, "failed"] => progress.failed = Some(counted(count, "of failed")?),
            [count, "skipped"] => progress.skipped = Some(counted(count, "of skipped")?),
            [count, "retried"] => progress.retried = Some(counted(count, "of retried")?),
            _ => {} // what a later release adds
        }
    }
    if has_time { Ok(progress) } else { Err("a progress line has no time".to_owned()) }
}

/// The heading of statements: ` - statement latencies in milliseconds and failures:` from 15 on.
fn statement_columns(text: &str) -> Option<StatementColumns> {
    let rest =
        text.strip_prefix(" - ").unwrap_or(text).strip_prefix("statement latencies in milliseconds")?;
    Some(match rest {
        " and failures:" => StatementColumns::LatencyAndFailures,
        ", failures and retries:" => StatementColumns::LatencyFailuresAndRetries,
        _ => StatementColumns::Latency,
    })
}

/// `0.319  0  BEGIN;`
fn statement(text: &str, columns: StatementColumns) -> Read<Statement> {
    let mut rest = text.trim_start();
    let mut next = || {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = after.trim_start();
        word
    };
    let us_mean = real(next(), "in column latency of a statement")?.map(|ms| ms * MS);
    let mut count = |column: &str| counted(next(), &format!("in column {column} of a statement")).map(Some);
    let (failures, retries) = match columns {
        StatementColumns::Latency => (None, None),
        StatementColumns::LatencyAndFailures => (count("failures")?, None),
        StatementColumns::LatencyFailuresAndRetries => (count("failures")?, count("retries")?),
    };
    Ok(Statement { text: rest.to_owned(), us_mean, failures, retries })
}

fn labelled(run: &mut PgbenchRun, line: Line<'_>) -> Read<()> {
    // A number at the very end of a text that was cut off may lack digits.
    let is_whole = line.whole || line.text.ends_with(')') || line.text.ends_with(" ms");
    if !is_whole {
        return Ok(());
    }
    if let Some(of_script) = line.text.strip_prefix(" - ") {
        return run.scripts.last_mut().map_or(Ok(()), |script| labelled_of_script(script, of_script));
    }
    let Some((label, value)) = label_and_value(line.text) else { return Ok(()) };
    let of = format!("of {label}");
    let count = || counted(value.trim_end_matches(" s"), &of).map(Some);
    match label {
        "scaling factor" => run.scale = count()?,
        "query mode" => run.query_mode = Some(value.to_owned()),
        "number of clients" => run.clients = count()?,
        "number of threads" => run.threads = count()?,
        "number of transactions per client" => run.transactions_per_client = count()?,
        "duration" => run.duration_s = count()?,
        "initial connection time" => run.us_connecting = milliseconds(value, &of)?,
        "average connection time" => run.us_connecting_mean = milliseconds(value, &of)?,
        "rate limit schedule lag" => run.lag = lag(value, &of)?,
        "tps" => {
            let (rate, what) =
                value.split_once(' ').ok_or_else(|| format!("`{value}` {of} says not what"))?;
            let rate = real(rate, &of)?;
            if what == "(including connections establishing)" {
                run.transactions_per_s_with_connecting = rate;
            } else {
                run.transactions_per_s = rate;
            }
        }
        _ => transactions(&mut run.total, label, value)?,
    }
    Ok(())
}

fn labelled_of_script(script: &mut Script, text: &str) -> Read<()> {
    if let Some((_, rate)) = text.split_once("tps = ") {
        script.transactions_per_s = real(rate.trim_end_matches(')'), "of tps")?;
    }
    // `5000 transactions (50.0% of total, tps = 256.02)`; later releases add a line that leaves out what failed.
    if let Some((count, _)) = text.split_once(" transactions (") {
        script.transactions.processed = Some(counted(count, "of transactions")?);
        return Ok(());
    }
    label_and_value(text)
        .map_or(Ok(()), |(label, value)| transactions(&mut script.transactions, label, value))
}

/// `number of clients: 10` and `latency average = 28.488 ms`.
fn label_and_value(text: &str) -> Option<(&str, &str)> {
    let (label, value) = text.split_once(": ").or_else(|| text.split_once(" = "))?;
    Some((label, value.trim()))
}

fn transactions(transactions: &mut Transactions, label: &str, value: &str) -> Read<()> {
    let of = format!("of {label}");
    // `10000/10000`, `3683 (36.830%)`, `1311/10000 (13.110 %)`
    let first = || value.split([' ', '/']).next().unwrap_or_default();
    let count = || counted(first(), &of).map(Some);
    match label {
        "number of transactions actually processed" => transactions.processed = count()?,
        "number of failed transactions" => transactions.failed = count()?,
        "number of serialization failures" => transactions.serialization_failures = count()?,
        "number of deadlock failures" => transactions.deadlock_failures = count()?,
        "number of transactions retried" => transactions.retried = count()?,
        "total number of retries" => transactions.retries = count()?,
        "number of transactions skipped" => transactions.skipped = count()?,
        "latency average" => transactions.us_mean = milliseconds(value, &of)?,
        "latency stddev" => transactions.us_stddev = milliseconds(value, &of)?,
        over if over.starts_with("number of transactions above the ") => transactions.over_limit = count()?,
        _ => {} // settings that we do not compare by, and what a later release adds
    }
    Ok(())
}

/// `28.488 ms`, also `28.488 ms (including failures)`.
fn milliseconds(value: &str, of: &str) -> Read<Option<f64>> {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    if !unit.starts_with("ms") {
        return Err(format!("`{value}` {of} is not in ms"));
    }
    Ok(real(number, of)?.map(|ms| ms * MS))
}

/// `avg 1.250 (max 9.998) ms`
fn lag(value: &str, of: &str) -> Read<Option<Lag>> {
    let wrong = || format!("`{value}` {of} is not like `avg 1.250 (max 9.998) ms`");
    let inner = value.strip_prefix("avg ").and_then(|it| it.strip_suffix(") ms")).ok_or_else(wrong)?;
    let (mean, max) = inner.split_once(" (max ").ok_or_else(wrong)?;
    let (mean, max) = (real(mean, of)?, real(max, of)?);
    Ok(mean.zip(max).map(|(mean, max)| Lag { us_mean: mean * MS, us_max: max * MS }))
}
