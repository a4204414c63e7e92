//! Which microbenchmarks have a counterpart among the scripts that come with sysbench, and how sysbench is told to run it.

/// A step of the sequence and its counterpart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// As the workload names it.
    pub step: &'static str,
    pub script: &'static str,
    /// Beside the connection and the size of the table.
    pub options: &'static [&'static str],
    /// Events of the long run; the short one has a tenth of them.
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

/// All of them. Those that change the table have one that is loaded again before each run.
pub const CASES: [Case; 17] = [
    case("point-query_range=100", "oltp_point_select", &[], 20_000),
    case("read-only_range=10", "oltp_read_only", &["--range-size=10"], 3_000),
    case("read-only_range=100", "oltp_read_only", &["--range-size=100"], 2_000),
    case("read-only_range=10000", "oltp_read_only", &["--range-size=10000"], 1_500),
    case("read-only-simple_range=1000", "oltp_read_only", ONLY_SIMPLE, 1_500),
    case("read-only-sum_range=1000", "oltp_read_only", ONLY_SUM, 1_500),
    case("read-only-order_range=1000", "oltp_read_only", ONLY_ORDER, 1_000),
    case("read-only-distinct_range=1000", "oltp_read_only", ONLY_DISTINCT, 1_000),
    case("update-index_range=100", "oltp_update_index", &[], 10_000),
    case("update-nonindex_range=100", "oltp_update_non_index", &[], 10_000),
    case("write-only_range=10000", "oltp_write_only", &["--range-size=10000"], 3_000),
    case("read-write_range=10", "oltp_read_write", &["--range-size=10"], 2_000),
    case("read-write_range=100", "oltp_read_write", &["--range-size=100"], 1_500),
    case("delete_range=100", "oltp_delete", &[], 5_000),
    case("insert_range=100", "oltp_insert", &[], 10_000),
    case("point-query.pre_range=100", "oltp_point_select", &[], 20_000),
    case(
        "update-zipf_range=100",
        "oltp_update_non_index",
        &["--rand-type=zipfian", "--rand-zipfian-exp=1.0"],
        10_000,
    ),
];

impl Case {
    pub fn name(&self) -> String {
        self.step.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::Workload;
    use std::fs;

    #[test]
    fn every_case_is_a_step_of_the_sequence() {
        let root = crate::workspace::root().unwrap();
        let read = |path: &str| fs::read_to_string(root.join("workloads").join(path)).unwrap();
        let sequences = [
            ("sysbench-32".to_owned(), read("sequences/sysbench-32.toml")),
            ("sysbench".to_owned(), read("sequences/sysbench.toml")),
        ];
        let sequences: Vec<(&str, &str)> =
            sequences.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let workload = Workload::parse_with(&read("sysbench-32.quick.toml"), "test", &sequences).unwrap();
        for case in CASES {
            workload.step(case.step).unwrap();
        }
    }
}
