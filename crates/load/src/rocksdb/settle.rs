//! Waiting until a tree is in a stated shape.
//!
//! Every release is asked in the same way, by polling four properties: `rocksdb_wait_for_compact` exists only
//! from 8.7 on, and two sides must not be treated differently.

use super::database::{Database, EngineError};
use crate::clock;
use model::units::Nanos;
use model::workload::Settle;
use std::ffi::CStr;

/// Why a tree did not settle.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// The engine failed.
    #[error("flush before settling failed")]
    Engine(#[from] EngineError),
    /// The bound was reached.
    #[error(
        "compaction did not drain within {:.0} s ({pending} of its four properties above 0); \
         raise the bound or lower the write load of the step",
        bound.as_secs_f64()
    )]
    TimedOut {
        /// The bound.
        bound: Nanos,
        /// How many of the four properties were not zero.
        pending: usize,
    },
}

/// What is not zero while background work is running or due.
const BUSY_PROPERTIES: [&CStr; 4] = [
    c"rocksdb.compaction-pending",
    c"rocksdb.num-running-compactions",
    c"rocksdb.num-running-flushes",
    c"rocksdb.mem-table-flush-pending",
];
/// Quiet in this many polls in a row is drained: between a flush and the compaction it causes there is a
/// moment at which all four are zero.
const QUIET_POLLS: u32 = 3;
/// Pause between polls. Not tuned: short against a compaction, long against a property read.
const POLL_PAUSE: Nanos = Nanos::from_millis(5);

/// Brings the tree to a shape; returns how long that took.
pub fn settle(database: &Database, to: Settle, bound: Nanos) -> Result<Nanos, SettleError> {
    let start = clock::now();
    match to {
        Settle::None => return Ok(Nanos(0)),
        Settle::Drained => database.flush()?,
        Settle::FullyCompacted => {
            database.flush()?;
            database.compact_all();
        }
    }
    let mut quiet_polls = 0;
    while quiet_polls < QUIET_POLLS {
        let pending = BUSY_PROPERTIES.iter().filter(|name| database.property(name).unwrap_or(0) > 0).count();
        quiet_polls = if pending == 0 { quiet_polls + 1 } else { 0 };
        if clock::now().saturating_sub(start) > bound {
            return Err(SettleError::TimedOut { bound, pending });
        }
        clock::sleep_until(clock::now() + POLL_PAUSE);
    }
    Ok(clock::now().saturating_sub(start))
}
