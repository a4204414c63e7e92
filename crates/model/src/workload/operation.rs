//! What one operation of a step is.

use super::DataSet;
use serde::{Deserialize, Serialize};

/// What one operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Operation {
    /// Put the next key; all keys once.
    FillSequential,
    /// Put a key drawn uniformly, with replacement, into an empty database: as many as there are keys.
    FillRandom,
    /// Put a key drawn uniformly, with replacement.
    Overwrite,
    /// Get a key drawn uniformly; it must be found.
    ReadRandom,
    /// Get a batch of keys drawn uniformly in one call; all must be found. One key is one operation, as db_bench
    /// counts.
    MultiRead {
        /// Keys in a batch.
        batch: u32,
    },
    /// Step through the entries in key order, from the first again after the last; one entry is one operation.
    ReadSequential,
    /// Seek to a key drawn uniformly, then step; all entries must be there.
    SeekRandom {
        /// Steps after the seek.
        nexts: u32,
        /// Which way they go.
        #[serde(default)]
        direction: Direction,
    },
    /// Compact the whole key range; the one operation is all of it.
    Compact,
    /// Nothing: the step only waits for what its `settle` says.
    Settle,
}

/// The way that an iterator steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// To larger keys.
    #[default]
    Forward,
    /// To smaller keys.
    Reverse,
}

impl Operation {
    /// The names in workload files.
    pub const NAMES: [&'static str; 9] = [
        "fill-sequential",
        "fill-random",
        "overwrite",
        "read-random",
        "multi-read",
        "read-sequential",
        "seek-random",
        "compact",
        "settle",
    ];

    /// Whether the operation itself changes the database.
    pub fn writes(self) -> bool {
        match self {
            Operation::FillSequential
            | Operation::FillRandom
            | Operation::Overwrite
            | Operation::Compact
            | Operation::Settle => true,
            Operation::ReadRandom
            | Operation::MultiRead { .. }
            | Operation::ReadSequential
            | Operation::SeekRandom { .. } => false,
        }
    }

    /// Whether it makes a database from nothing.
    pub fn fills(self) -> bool {
        matches!(self, Operation::FillSequential | Operation::FillRandom)
    }

    /// Keys and values that one operation touches.
    pub fn rows_per_operation(self, data: &DataSet) -> u64 {
        match self {
            Operation::FillSequential
            | Operation::FillRandom
            | Operation::Overwrite
            | Operation::ReadRandom
            | Operation::MultiRead { .. }
            | Operation::ReadSequential => 1,
            Operation::SeekRandom { nexts, .. } => u64::from(nexts) + 1,
            Operation::Compact => data.keys,
            Operation::Settle => 0,
        }
    }
}
