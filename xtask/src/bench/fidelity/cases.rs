//! The microbenchmarks, and how sysbench is told to run each: by a script that comes with it, or by one of ours for those that have none.

use std::time::Duration;

/// Our script, in the directory of a run.
pub const OURS: &str = "microbenchmarks.lua";
pub const OUR_SCRIPT: &str = include_str!("microbenchmarks.lua");

/// A step of the sequence and its counterpart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// As the workload names it.
    pub step: &'static str,
    pub script: &'static str,
    /// Beside the connection and the size of the table.
    pub options: &'static [&'static str],
    /// Events of the long run; the short one has a tenth of them. So many that the long one requests 140,000 pages of InnoDB: in one of five runs
    /// MariaDB itself requested 700, which is to be less than the tolerance of 1 %.
    pub events: u64,
}

const fn case(
    step: &'static str,
    script: &'static str,
    options: &'static [&'static str],
    events: u64,
) -> Case {
    Case { step, script, options, events }
}

/// Read-only events with one kind of range and the ten point queries, as the steps of 2025 have them.
const ONLY_SUM: &[&str] =
    &["--range-size=1000", "--simple-ranges=0", "--sum-ranges=1", "--order-ranges=0", "--distinct-ranges=0"];
const ONLY_ORDER: &[&str] =
    &["--range-size=1000", "--simple-ranges=0", "--sum-ranges=0", "--order-ranges=1", "--distinct-ranges=0"];
const ONLY_DISTINCT: &[&str] =
    &["--range-size=1000", "--simple-ranges=0", "--sum-ranges=0", "--order-ranges=0", "--distinct-ranges=1"];
const ONLY_SIMPLE: &[&str] =
    &["--range-size=1000", "--simple-ranges=1", "--sum-ranges=0", "--order-ranges=0", "--distinct-ranges=0"];

/// All of them.
pub const CASES: [Case; 32] = [
    case("point-query_range=100", "oltp_point_select", &[], 50_000),
    case("random-points_range=10", OURS, &["--benchmark=random-points", "--range=10"], 10_000),
    case("random-points_range=100", OURS, &["--benchmark=random-points", "--range=100"], 3_000),
    case("random-points_range=1000", OURS, &["--benchmark=random-points", "--range=1000"], 600),
    case("hot-points_range=100", OURS, &["--benchmark=hot-points", "--range=100"], 5_000),
    case("points-covered-pk_range=100", OURS, &["--benchmark=points-covered-pk", "--range=100"], 3_000),
    case("points-notcovered-pk_range=100", OURS, &["--benchmark=points-notcovered-pk", "--range=100"], 3_000),
    case("points-covered-si_range=100", OURS, &["--benchmark=points-covered-si", "--range=100"], 3_000),
    case("points-notcovered-si_range=100", OURS, &["--benchmark=points-notcovered-si", "--range=100"], 3_000),
    case("range-covered-pk_range=100", OURS, &["--benchmark=range-covered-pk", "--range=100"], 20_000),
    case("range-notcovered-pk_range=100", OURS, &["--benchmark=range-notcovered-pk", "--range=100"], 20_000),
    case("range-covered-si_range=100", OURS, &["--benchmark=range-covered-si", "--range=100"], 40_000),
    case("range-notcovered-si_range=100", OURS, &["--benchmark=range-notcovered-si", "--range=100"], 10_000),
    case("read-only_range=10", "oltp_read_only", &["--range-size=10"], 3_000),
    case("read-only_range=100", "oltp_read_only", &["--range-size=100"], 2_000),
    case("read-only_range=10000", "oltp_read_only", &["--range-size=10000"], 1_500),
    case("read-only-simple_range=1000", "oltp_read_only", ONLY_SIMPLE, 1_500),
    case("read-only-sum_range=1000", "oltp_read_only", ONLY_SUM, 1_500),
    case("read-only-order_range=1000", "oltp_read_only", ONLY_ORDER, 1_000),
    case("read-only-distinct_range=1000", "oltp_read_only", ONLY_DISTINCT, 1_000),
    // Its script adds one less than the length of the range, too.
    case("read-only-count_range=1000", OURS, &["--benchmark=read-only-count", "--range=999"], 5_000),
    // A server may answer the bench itself with 200 bytes more or less, which is nothing of so many.
    case("scan_range=100", OURS, &["--benchmark=scan"], 240),
    case("update-inlist_range=100", OURS, &["--benchmark=update-inlist"], 3_000),
    case("update-index_range=100", "oltp_update_index", &[], 20_000),
    case("update-nonindex_range=100", "oltp_update_non_index", &[], 30_000),
    case("update-one_range=100", OURS, &["--benchmark=update-one"], 30_000),
    // Postgres logs the first change of a page as the whole page: how many pages 10,000 events touch differs from draw to draw by 2 %.
    case("update-zipf_range=100", OURS, &["--benchmark=update-zipf"], 40_000),
    case("write-only_range=10000", "oltp_write_only", &["--range-size=10000"], 3_000),
    case("read-write_range=10", "oltp_read_write", &["--range-size=10"], 2_000),
    case("read-write_range=100", "oltp_read_write", &["--range-size=100"], 1_500),
    case("delete_range=100", "oltp_delete", &[], 20_000),
    case("insert_range=100", "oltp_insert", &[], 40_000),
];

impl Case {
    pub fn name(&self) -> String {
        self.step.to_owned()
    }

    pub fn short_events(&self) -> u64 {
        self.events / 10
    }

    /// In the answer to each of its statements: one that is prepared has its columns described once, one without values is sent as text.
    pub fn described_columns(&self) -> f64 {
        if self.step == "scan_range=100" { 4.0 } else { 0.0 }
    }

    /// How many fit in this time, if the long run took so long.
    pub fn events_in(&self, long_run: Duration, time: Duration) -> u64 {
        let events = u128::from(self.events) * time.as_micros() / long_run.as_micros().max(1);
        u64::try_from(events).unwrap_or(u64::MAX)
    }

    /// By how many the runs differ.
    pub fn events_between(&self) -> f64 {
        (self.events - self.short_events()) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::{Operation, Workload};
    use std::fs;

    fn workload(file: &str) -> Workload {
        let root = crate::workspace::root().unwrap();
        let read = |path: &str| fs::read_to_string(root.join("workloads").join(path)).unwrap();
        let texts = ["sysbench", "sysbench-32", "sysbench-42"]
            .map(|name| (name, read(&format!("sequences/{name}.toml"))));
        let sequences: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        Workload::parse_with(&read(file), "test", &sequences).unwrap()
    }

    /// A step without a case of its name sends what another one sends.
    #[test]
    fn every_step_of_both_lists_is_compared() {
        let newest = workload("sysbench-32.quick.toml");
        let compared: Vec<&Operation> =
            CASES.iter().map(|case| &newest.step(case.step).unwrap().operation).collect();
        for list in [&newest, &workload("sysbench.quick.toml")] {
            let sends = |operation: &Operation| matches!(operation, Operation::Transaction(_));
            let left_out: Vec<&str> = list
                .steps
                .iter()
                .filter(|step| sends(&step.operation) && !compared.contains(&&step.operation))
                .map(|step| step.name.as_str())
                .collect();
            assert!(left_out.is_empty(), "{left_out:?}");
        }
    }

    #[test]
    fn columns_are_described_in_answers_to_text() {
        let workload = workload("sysbench-32.quick.toml");
        for case in CASES {
            let Operation::Transaction(transaction) = &workload.step(case.step).unwrap().operation else {
                panic!("{}", case.step)
            };
            let has_text =
                transaction.statements.iter().any(|statement| statement.sql.parameters().next().is_none());
            assert_eq!(has_text, case.described_columns() > 0.0, "{}", case.step);
        }
    }

    #[test]
    fn as_many_events_as_fit_in_a_time() {
        let case = CASES[0];
        let in_half = case.events_in(Duration::from_secs(2), Duration::from_secs(1));
        assert_eq!(in_half, case.events / 2);
        assert_eq!(case.events_in(Duration::ZERO, Duration::from_micros(1)), case.events);
    }

    #[test]
    fn our_script_knows_each_test_that_it_is_asked_for() {
        for case in CASES.iter().filter(|case| case.script == OURS) {
            let test = case.options[0].strip_prefix("--benchmark=").unwrap();
            assert!(OUR_SCRIPT.contains(&format!("[\"{test}\"]")), "{test}");
        }
    }
}
