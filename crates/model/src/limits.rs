//! The largest sizes that a plan or a workload may state. No host of today has room for them, and what is computed from them (bytes of the
//! data of all subjects, nanoseconds of a budget) fits into 64 bits.

use crate::units::Bytes;

/// Keys of a data set; of tables, the rows of all of them.
pub const MOST_KEYS: u64 = 1_000_000_000_000;
/// Bytes of all keys and values, of a file, of a server's memory: 1 PB.
pub const MOST_BYTES: Bytes = Bytes(1_000_000_000_000_000);
/// Tables of a workload.
pub const MOST_TABLES: u32 = 10_000;
/// Subjects of a plan, with all that its configurations make of them.
pub const MOST_SUBJECTS: usize = 1000;
/// Threads of a step, which on a server are its clients.
pub const MOST_CLIENTS: u32 = 1024;
/// Operations of a step.
pub const MOST_OPERATIONS: u64 = 1_000_000_000_000_000;
/// Operations of a step for each key: with [`MOST_KEYS`] not more than [`MOST_OPERATIONS`].
pub const MOST_OPERATIONS_PER_KEY: f64 = 1000.0;
/// Seconds that a step may take longer than its time.
pub const MOST_GRACE_SECONDS: u64 = 1_000_000;
/// Minutes of a budget: a year, which a campaign without one is given.
pub const MOST_BUDGET_MINUTES: u64 = 366 * 24 * 60;
