//! A small plan for tests.

use model::plan::Plan;
use model::units::Nanos;
use model::workload::Workload;

/// The steps of a small workload of every kind.
pub const WORKLOAD: &str = r#"
    name = "small"
    engine = "rocksdb"
    description = "d"
    tells = "t"
    does_not_tell = "n"
    block_ms = 100
    data = { keys = 100000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
    [[step]]
    name = "fillseq"
    group = "writes"
    operation = "fill-sequential"
    database = "own"
    wal = false
    settle = "drained"
    [[step]]
    name = "overwrite"
    group = "writes"
    operation = "overwrite"
    database = "own"
    cycles = 4
    [[step]]
    name = "readrandom"
    group = "point"
    operation = "read-random"
    database = "image"
    cycles = 3
"#;

/// A load that settles after the read that follows it, as that of the 42 microbenchmarks does, and two reads with a write
/// between them.
pub const SQL_WORKLOAD: &str = r#"
    name = "sql"
    engine = "sql"
    description = "d"
    tells = "t"
    does_not_tell = "n"
    block_ms = 50
    tables = { count = 1, rows = 1000 }
    [schema]
    prefix = "t"
    create = { postgres = ["CREATE TABLE {table} (id INTEGER)"] }
    insert = "INSERT INTO {table} VALUES "
    row = "({id})"
    [parameters]
    id = { draw = "uniform", low = 1, high = "rows" }
    [[transaction]]
    name = "read"
    statements = [{ sql = "SELECT id FROM {table} WHERE id = {id}" }]
    [[transaction]]
    name = "write"
    statements = [{ sql = "UPDATE {table} SET id = id WHERE id = {id}" }]
    [[step]]
    name = "load"
    group = "writes"
    operation = "load-tables"
    settle = "none"
    helper = true
    [[step]]
    name = "read.warm"
    group = "point-1"
    operation = "transaction"
    transaction = "read"
    same_process = true
    settle = "postwrite"
    helper = true
    [[step]]
    name = "read.pre"
    group = "point-1"
    operation = "transaction"
    transaction = "read"
    same_process = true
    cycles = 3
    [[step]]
    name = "write"
    group = "writes"
    operation = "transaction"
    transaction = "write"
    same_process = true
    cycles = 4
    settle = "postwrite"
    [[step]]
    name = "read"
    group = "point-1"
    operation = "transaction"
    transaction = "read"
    same_process = true
    cycles = 3
"#;

/// Two more streams beside the write: as the Insert Benchmark has them.
pub const STREAMS: &str = r#"
    [[step]]
    name = "queries"
    group = "point-1"
    operation = "transaction"
    transaction = "read"
    same_process = true
    cycles = 2
    [[step]]
    name = "queries.writes"
    group = "beside"
    operation = "transaction"
    transaction = "write"
    beside = "queries"
    rate = 10
    [[step]]
    name = "queries.more"
    group = "beside"
    operation = "transaction"
    transaction = "write"
    beside = "queries"
    follows = "queries.writes"
"#;

/// The plan for servers with streams beside its last step.
pub fn streams_plan(steps: &[&str], budget: Nanos) -> Plan {
    let workload = Workload::parse(&format!("{SQL_WORKLOAD}{STREAMS}"), "test").unwrap();
    Plan { workload, ..sql_plan(steps, budget) }
}

/// The same plan for servers.
pub fn sql_plan(steps: &[&str], budget: Nanos) -> Plan {
    let workload = Workload::parse(SQL_WORKLOAD, "test").unwrap();
    Plan { workload, ..plan(&["postgres@15.7", "postgres@16.3"], steps, budget) }
}

/// A plan of these subjects and steps.
pub fn plan(subjects: &[&str], steps: &[&str], budget: Nanos) -> Plan {
    let steps = steps.iter().map(|step| (*step).to_owned()).collect();
    Plan { steps, budget, seed: 42, ..testing::plan(WORKLOAD, subjects) }
}
