//! A block: one uninterrupted measuring interval of one side, and the trial that it belongs to.

use crate::counter::Counters;
use crate::reason::Reason;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The index of a subject in its plan: 0 is the base.
pub type Side = usize;

/// The base's side.
pub const BASE: Side = 0;

/// One case within one launch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrialKey {
    /// The launch, from 1.
    pub launch: u32,
    pub step: String,
    pub side: Side,
}

/// What a block is of its trial. An interleaved trial has a block in each cycle; in rounds and one after another a
/// trial has one [`BlockKind::Whole`], and where the step settles a [`BlockKind::Drain`] behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// Of the cycle of this number within the trial, from 0: the blocks of one cycle are neighbours in time, and each
    /// candidate's is paired with the base's.
    Cycle(u32),
    /// The step in one go.
    Whole,
    /// From the end of the step's operations until the tree had settled: no operations of the client, and what they
    /// still cost.
    Drain,
}

/// What was measured in one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The trial it belongs to.
    pub trial: TrialKey,
    /// The data image of the launch; equal numbers are equal bytes.
    pub image: u32,
    pub kind: BlockKind,
    /// The place within its cycle, or of its visit within the round, from 0, drawn at random.
    pub position: u32,
    /// When it began, in microseconds since the epoch, to within a message to the worker; absent in runs of older
    /// versions and where a db_bench ran it.
    #[serde(default)]
    pub started_at_us: Option<i64>,
    pub operations: u64,
    /// Operations that returned an error or a wrong answer.
    pub failed_operations: u64,
    /// Wall time from the first thread's start to the last one's end.
    pub wall: Nanos,
    /// Time runnable but not running: mean over the foreground threads. Of a server's client and the thread that serves it
    /// only what they did not wait for each other; in runs of versions that did not tell the two apart, all of it.
    pub run_delay: Nanos,
    /// CPU time of the foreground threads: mean over them.
    pub foreground_cpu: Nanos,
    pub foreground_threads: u32,
    /// CPU time of the side's processes from thaw to freeze, all threads; absent where the side is a server that is not
    /// ours to look into. Then `run_delay` and `foreground_cpu` are those of the client alone.
    pub process_cpu: Option<Nanos>,
    /// Everything else that was counted at the block's edges.
    pub counters: Counters,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// All blocks were measured.
    Done,
    /// Something broke.
    Failed {
        /// What happened, to which object.
        reason: Reason,
    },
    /// Not tried, because something before it failed or the time was up.
    Skipped { reason: Reason },
}

/// Latency of the operations of one trial, from the intended start where the loop is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub p50: Nanos,
    pub p99: Nanos,
    pub p999: Nanos,
    /// 99.99th percentile; absent in runs of older versions.
    #[serde(default)]
    pub p9999: Option<Nanos>,
    pub max: Nanos,
    /// The histogram: HdrHistogram V2 encoding, hexadecimal.
    pub histogram: String,
}

/// What the operations of one second of a trial did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// The second of the block, from 0; the last one may be cut short.
    pub second: u32,
    /// Operations that ended in it.
    pub operations: u64,
    /// Median of their latency, to within 7 %.
    pub p50: Nanos,
    /// 99th percentile, to within 7 %.
    pub p99: Nanos,
    /// Largest, to within 7 %.
    pub max: Nanos,
}
