//! What one operation of a step is.

use super::DataSet;
use super::codec::Codec;
use super::fio::FioJob;
use super::sql::Transaction;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What one operation is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Step through the entries in key order; one entry is one operation.
    ReadSequential {
        /// Whether each thread ends with the last entry, as db_bench's readseq does; else it begins again with the first.
        #[serde(default)]
        one_pass: bool,
    },
    /// Seek to a key drawn uniformly, then step; all entries must be there.
    SeekRandom {
        /// Steps after the seek.
        nexts: u32,
        /// Which way they go.
        #[serde(default)]
        direction: Direction,
        /// Keys are drawn among so many of the first; among all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        among_keys: Option<u32>,
    },
    /// Put the next key into a sorted file that belongs to no database; a file that is full is finished and dropped,
    /// and the next one is begun. One key is one operation.
    BuildFiles {
        /// What compresses the blocks of the files, whatever the options of the database say.
        codec: Codec,
        /// Bytes of keys and values that go into a file, before compression; fewer if the data set has fewer.
        file: Bytes,
    },
    /// Compact the whole key range; the one operation is all of it.
    Compact,
    /// Nothing: the step only waits for what its `settle` says.
    Settle,
    /// Make the tables of a SQL server and insert their rows in key order; one row is one operation.
    LoadTables,
    /// Build the indexes of tables that were loaded; one row is one operation.
    BuildIndexes,
    /// Send the statements of a transaction; one statement is one operation, BEGIN and COMMIT included.
    Transaction(Box<Transaction>),
    /// Write the whole file of fio once, in order, and sync it; one block of 4 KiB is one operation.
    LayOutFile,
    /// Run a job of fio; one request is one operation.
    Fio(Box<FioJob>),
}

/// The way that an iterator steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    #[default]
    Forward,
    Reverse,
}

impl Operation {
    /// Of how many of the first keys it draws, if the data set has so many.
    pub fn keys_drawn(&self, keys: u64) -> u64 {
        match self {
            Operation::SeekRandom { among_keys: Some(among), .. } => u64::from(*among).min(keys),
            _ => keys,
        }
    }

    /// The names in workload files.
    pub const NAMES: [&'static str; 15] = [
        "fill-sequential",
        "fill-random",
        "overwrite",
        "read-random",
        "multi-read",
        "read-sequential",
        "seek-random",
        "build-files",
        "compact",
        "settle",
        "load-tables",
        "build-indexes",
        "transaction",
        "lay-out-file",
        "fio",
    ];

    /// Whether the operation itself changes the database.
    pub fn writes(&self) -> bool {
        match self {
            Operation::FillSequential
            | Operation::FillRandom
            | Operation::Overwrite
            | Operation::Compact
            | Operation::Settle
            | Operation::LoadTables
            | Operation::BuildIndexes
            | Operation::LayOutFile => true,
            Operation::ReadRandom
            | Operation::MultiRead { .. }
            | Operation::ReadSequential { .. }
            | Operation::SeekRandom { .. }
            | Operation::BuildFiles { .. } => false,
            Operation::Transaction(transaction) => transaction.writes(),
            Operation::Fio(job) => job.writes(),
        }
    }

    /// Whether it makes a database from nothing.
    pub fn fills(&self) -> bool {
        matches!(
            self,
            Operation::FillSequential | Operation::FillRandom | Operation::LoadTables | Operation::LayOutFile
        )
    }

    /// Whether it reads keys of a database, so that it can say how many it found.
    pub fn finds_keys(&self) -> bool {
        !self.writes() && !self.is_sql() && !self.is_fio() && !matches!(self, Operation::BuildFiles { .. })
    }

    /// Whether it is of a SQL server.
    pub fn is_sql(&self) -> bool {
        matches!(self, Operation::LoadTables | Operation::BuildIndexes | Operation::Transaction(_))
    }

    /// Whether it is of fio.
    pub fn is_fio(&self) -> bool {
        matches!(self, Operation::LayOutFile | Operation::Fio(_))
    }

    /// Whether it happens once and cannot be cut into blocks that take turns: such a step is measured in rounds and
    /// one after another, and only done where sides are interleaved.
    pub fn is_one_go(&self) -> bool {
        match self {
            Operation::Compact
            | Operation::Settle
            | Operation::LoadTables
            | Operation::BuildIndexes
            | Operation::LayOutFile => true,
            Operation::FillSequential
            | Operation::FillRandom
            | Operation::Overwrite
            | Operation::ReadRandom
            | Operation::MultiRead { .. }
            | Operation::ReadSequential { .. }
            | Operation::SeekRandom { .. }
            | Operation::BuildFiles { .. }
            | Operation::Transaction(_)
            | Operation::Fio(_) => false,
        }
    }

    /// Keys and values that one operation touches; unknown of a transaction, whose statements differ.
    pub fn rows_per_operation(&self, data: &DataSet) -> u64 {
        match self {
            Operation::FillSequential
            | Operation::FillRandom
            | Operation::Overwrite
            | Operation::ReadRandom
            | Operation::MultiRead { .. }
            | Operation::ReadSequential { .. }
            | Operation::BuildFiles { .. }
            | Operation::LoadTables
            | Operation::BuildIndexes
            | Operation::LayOutFile => 1,
            Operation::SeekRandom { nexts, .. } => u64::from(*nexts) + 1,
            Operation::Compact => data.keys,
            Operation::Settle | Operation::Transaction(_) | Operation::Fio(_) => 0,
        }
    }
}
