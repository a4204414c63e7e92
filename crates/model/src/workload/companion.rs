//! What a step that runs beside another one must be.

use super::sql::Dialect;
use super::{Extent, Operation, Settle, Step};
use crate::units::Nanos;

/// A stream that does less than this share of its rate has missed it, as in Small Datum's reports of the Insert Benchmark.
const LEAST_SHARE: f64 = 0.95;
/// Of fewer events one more or less would decide.
const LEAST_EVENTS: f64 = 40.0;

impl Step {
    /// Operations per second, if so many in `wall` miss the rate of the step; absent if it has none, kept it, or ran too short to tell.
    pub fn missed_rate(&self, operations: u64, wall: Nanos) -> Option<f64> {
        let rate = self.rate?;
        let per_event = match &self.operation {
            Operation::Transaction(transaction) => {
                Dialect::ALL.into_iter().map(|dialect| transaction.operations(dialect)).max().unwrap_or(1)
            }
            _ => 1,
        };
        let seconds = wall.as_secs_f64();
        let achieved = operations as f64 / seconds;
        let can_tell = rate * seconds >= LEAST_EVENTS * per_event as f64;
        (can_tell && achieved < rate * LEAST_SHARE).then_some(achieved)
    }
}

/// Checks a step against those before it: a companion stands directly after its step or another companion of it.
pub(super) fn check(step: &Step, before: &[Step]) -> Result<(), String> {
    let Some(main) = &step.beside else {
        return match step.follows {
            Some(_) => Err("`follows` goes with `beside`".to_owned()),
            None => Ok(()),
        };
    };
    let start = before.iter().rposition(|other| !other.is_companion()).unwrap_or(0);
    let streams = &before[start.min(before.len())..];
    match streams.first() {
        Some(first) if first.name == *main => {}
        Some(_) | None => {
            return Err(format!(
                "it runs concurrently with `{main}` (`beside`): put it directly after that step or after another that does"
            ));
        }
    }
    let is_transaction = |step: &Step| matches!(step.operation, Operation::Transaction(_));
    if !(is_transaction(step) && is_transaction(&streams[0])) {
        return Err(
            "`beside`: the step and the one that it runs concurrently with must both be transactions"
                .to_owned(),
        );
    }
    let own = step.extent != Extent::Blocks || step.settle != Settle::None || step.cold || step.same_process;
    if own || !step.options.is_empty() {
        return Err("a concurrent step (`beside`) begins and ends with the other one, so it cannot have `seconds`, `operations`, \
             `operations_per_key`, `settle`, `cold`, `same_process` or `options`"
            .to_owned());
    }
    match (&step.follows, step.rate) {
        // Without either it runs as fast as the server answers.
        (None, _) => Ok(()),
        (Some(_), Some(_)) => Err("`follows` and `rate` exclude each other".to_owned()),
        (Some(leader), None) => match streams.iter().find(|other| other.name == *leader) {
            None => Err(format!(
                "it follows `{leader}`, which is neither `{main}` nor a concurrent step before it"
            )),
            Some(leader) if (leader.threads, leader.threads_fixed) != (step.threads, step.threads_fixed) => {
                Err(format!("it follows `{}` thread by thread and needs as many threads", leader.name))
            }
            Some(_) => Ok(()),
        },
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Workload;

    pub(in super::super) const TEXT: &str = r#"
name = "streams"
engine = "sql"
description = "d"
tells = "t"
does_not_tell = "n"
tables = { count = 1, rows = 1000 }

[schema]
prefix = "t"
id = "id"
insert = "INSERT INTO {table} (v) VALUES"
row = "({v})"
create.postgres = ["CREATE TABLE {table} (id SERIAL PRIMARY KEY, v INTEGER)"]
create.mysql = ["CREATE TABLE {table} (id INTEGER AUTO_INCREMENT PRIMARY KEY, v INTEGER) ENGINE = {storage}"]

[parameters]
v = { draw = "uniform", low = 1, high = 9 }
oldest = { draw = "oldest" }

[[transaction]]
name = "insert"
prepared = false
counts = "rows"
statements = [{ sql = "INSERT INTO {table} (v) VALUES {row*50}", rows = 50 }]

[[transaction]]
name = "read"
statements = [{ sql = "SELECT v FROM {table} WHERE id = {oldest}" }]

[[step]]
name = "load"
group = "writes"
operation = "load-tables"

[[step]]
name = "q"
group = "point"
operation = "transaction"
transaction = "read"

[[step]]
name = "q.inserts"
group = "writes"
operation = "transaction"
transaction = "insert"
beside = "q"
rate = 100

[[step]]
name = "q.more"
group = "writes"
operation = "transaction"
transaction = "insert"
beside = "q"
follows = "q.inserts"
"#;

    #[test]
    fn streams_stand_behind_their_step() {
        let workload = Workload::parse(TEXT, "test").unwrap();
        assert_eq!(workload.streams("q").collect::<Vec<_>>(), ["q", "q.inserts", "q.more"]);
        assert_eq!(workload.streams("load").count(), 1);
        let twice = workload.scaled(&super::super::Scale { threads: Some(12), ..Default::default() });
        let inserts = twice.step("q.inserts").unwrap();
        assert_eq!((inserts.threads, inserts.rate), (12, Some(1200.0)), "the rate is each client's");
        let wire = serde_json::to_string(&twice).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&wire).unwrap(), twice);
    }

    #[test]
    fn mistakes_are_named() {
        let check = |from: &str, to: &str, expected: &str| {
            assert!(TEXT.contains(from), "{from}");
            let error = Workload::parse(&TEXT.replacen(from, to, 1), "test").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("beside = \"q\"", "beside = \"load\"", "directly after that step");
        check("rate = 100", "rate = 100\nfollows = \"q\"", "exclude each other");
        check("rate = 100", "rate = 100\nseconds = 5", "begins and ends with the other");
        check("follows = \"q.inserts\"", "follows = \"q.insert\"", "neither `q` nor");
        check("follows = \"q.inserts\"", "follows = \"q.inserts\"\nthreads = 2", "as many threads");
        check("beside = \"q\"\nrate = 100", "follows = \"q\"", "goes with `beside`");
        check("rows = 50", "rows = [1, 50]", "says how many");
        check("prepared = false\n", "", "prepared = false");
        check("id = \"id\"\n", "", "must name the column");
    }
}
