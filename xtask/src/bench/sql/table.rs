//! The table of a bench: what the worker is asked to make and to remove it.

use crate::bench::worker;
use anyhow::Context;
use model::units::Nanos;
use model::wire::{BlockLimit, Request, StepSetup};
use model::workload::{Operation, Settle};

/// Makes the table with its rows and indexes, and waits until the server is at rest, at most for `timeout`.
pub fn load(
    rows: u64,
    timeout: Nanos,
    setup: impl Fn(Operation) -> anyhow::Result<StepSetup>,
) -> anyhow::Result<Vec<Request>> {
    let mut requests = Vec::new();
    for operation in [Operation::LoadTables, Operation::BuildIndexes] {
        requests.extend(worker::step(setup(operation)?, BlockLimit::Operations { count: rows }));
    }
    requests.push(Request::Settle { to: Settle::Postwrite, timeout });
    Ok(requests)
}

/// Removes the table.
pub fn unload(setup: impl Fn(Operation) -> anyhow::Result<StepSetup>) -> anyhow::Result<Vec<Request>> {
    let drop = serde_json::json!({ "prepared": false, "statements": [{ "sql": "DROP TABLE {table}" }] });
    let drop = serde_json::from_value(drop).context("failed to make the statement")?;
    let once = BlockLimit::Operations { count: 1 };
    Ok(worker::step(setup(Operation::Transaction(drop))?, once).into())
}
