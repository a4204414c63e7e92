//! What is measured: the table, the statements and the cases, the same for both sides. Nothing runs here.

use model::workload::sql::{Tables, Transaction};
use model::workload::{DataSet, Operation};
use serde_json::json;

/// Rows of the one table: 25 MB, in the cache of any server.
pub const ROWS: u64 = 100_000;

/// What figures of size would rest on.
pub const DATA: DataSet =
    DataSet { keys: ROWS, key_bytes: 8, value_bytes: 184, value_compressible_percent: 0 };

/// One row of the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// The name that Small Datum has for it.
    pub test: &'static str,
    pub script: &'static str,
    /// Connections, a thread each.
    pub threads: u32,
    /// Whether each event stands between BEGIN and COMMIT.
    pub begin: bool,
    /// Statements of one event, BEGIN and COMMIT included.
    pub queries: u64,
    /// Events of the long run; the short one has a tenth of them.
    pub events: u64,
}

const POINT: Case = Case {
    test: "point-query",
    script: "oltp_point_select",
    threads: 1,
    begin: false,
    queries: 1,
    events: 100_000,
};
const READ_ONLY: Case =
    Case { test: "read-only", script: "oltp_read_only", threads: 1, begin: true, queries: 16, events: 5_000 };
const UPDATE: Case = Case {
    test: "update-index",
    script: "oltp_update_index",
    threads: 1,
    begin: false,
    queries: 1,
    events: 50_000,
};

/// All cases.
pub const CASES: [Case; 7] = [
    POINT,
    Case { threads: 8, ..POINT },
    Case { threads: 64, ..POINT },
    READ_ONLY,
    Case { threads: 8, ..READ_ONLY },
    UPDATE,
    Case { threads: 8, ..UPDATE },
];

impl Case {
    /// `point-query-8`: the test and its connections.
    pub fn name(&self) -> String {
        format!("{}-{}", self.test, self.threads)
    }

    /// The same statements as in sysbench's script.
    pub fn operation(&self) -> serde_json::Result<Operation> {
        const RANGE: &str = "FROM {table} WHERE id BETWEEN {id} AND {id+99}";
        let point = "SELECT c FROM {table} WHERE id = {id}";
        let statements = match self.script {
            "oltp_update_index" => {
                json!([{ "sql": "UPDATE {table} SET k = k + 1 WHERE id = {id}", "rows": 1 }])
            }
            "oltp_read_only" => json!([
                { "sql": point, "repeat": 10, "rows": 1 },
                { "sql": format!("SELECT c {RANGE}") },
                { "sql": format!("SELECT SUM(k) {RANGE}") },
                { "sql": format!("SELECT c {RANGE} ORDER BY c") },
                { "sql": format!("SELECT DISTINCT c {RANGE} ORDER BY c") },
            ]),
            _ => json!([{ "sql": point, "rows": 1 }]),
        };
        let transaction: Transaction =
            serde_json::from_value(json!({ "begin": self.begin, "statements": statements }))?;
        Ok(Operation::Transaction(Box::new(transaction)))
    }
}

/// The table as sysbench makes it, under its name.
pub fn tables() -> serde_json::Result<Tables> {
    const COLUMNS: &str = "k INTEGER NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
                           pad CHAR(60) NOT NULL DEFAULT ''";
    serde_json::from_value(json!({
        "count": 1, "rows": ROWS, "prefix": "sbtest",
        "create": {
            "postgres": [format!("CREATE TABLE {{table}} (id SERIAL PRIMARY KEY, {COLUMNS})")],
            "mysql": [format!(
                "CREATE TABLE {{table}} (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, {COLUMNS}) ENGINE = {{storage}}"
            )],
        },
        "insert": "INSERT INTO {table} (k, c, pad) VALUES",
        "row": "({id}, '{c}', '{pad}')",
        "index": ["CREATE INDEX k_{number} ON {table} (k)"],
        "parameters": {
            "id": { "draw": "uniform", "low": 1, "high": "rows" },
            "c": { "draw": "digits", "groups": 10, "of": 11 },
            "pad": { "draw": "digits", "groups": 5, "of": 11 },
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::sql::Dialect;

    #[test]
    fn queries_are_counted_as_the_worker_counts_them() {
        tables().unwrap();
        for case in CASES {
            let Operation::Transaction(transaction) = case.operation().unwrap() else {
                panic!("no transaction")
            };
            assert_eq!(transaction.operations(Dialect::Postgres), case.queries, "{}", case.name());
        }
    }
}
