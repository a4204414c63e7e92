//! A workload as data: the data set, the engine options it needs, and its steps in order.

mod codec;
mod companion;
mod extent;
mod file;
pub mod fio;
mod operation;
mod scale;
mod sequence;
pub mod sql;
mod sql_file;
mod sweep;

pub use codec::Codec;
pub use extent::Extent;
pub use file::WorkloadError;
pub use operation::{Direction, Operation};
pub use scale::Scale;
pub use sequence::Sequences;

use self::sql::Tables;
use crate::config::Options;
use crate::limits::{MOST_BYTES, MOST_KEYS};
use crate::names;
use crate::units::{Bytes, Nanos};
use crate::wire::BlockLimit;
use serde::{Deserialize, Serialize};

/// A named sequence of steps on one data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// `quick`, `rocksdb.byrx`
    pub name: String,
    /// The family of engines that it is written for: `rocksdb`, `sql`.
    pub engine: String,
    /// One line for lists.
    pub description: String,
    /// What its numbers can tell; the report's first line.
    pub tells: String,
    /// What they cannot; the report's first line goes on with it.
    pub does_not_tell: String,
    /// The rows: of tables all of them, as keys.
    pub data: DataSet,
    /// The tables, where the engines are SQL servers.
    #[serde(default)]
    pub tables: Option<Tables>,
    /// Memory that a server is given: its configuration sizes its caches by it. Absent where the workload states
    /// cache sizes itself.
    #[serde(default)]
    pub memory: Option<Bytes>,
    /// Wall time of a comparison whose user states none.
    #[serde(default)]
    pub budget: Option<Nanos>,
    /// Whether a hardware class sizes the data by its memory or by its device.
    #[serde(default)]
    pub fits: Fits,
    /// Engine options that are part of the workload; a configuration is laid over them.
    pub options: Options,
    /// What RocksDB counts in each thread that the workload has.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub perf_level: PerfLevel,
    /// The name of the sequence that its steps are; absent of one that has steps of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<String>,
    /// The steps in their order.
    pub steps: Vec<Step>,
    /// The definition as it was read, that of its sequence included: its hash identifies the workload.
    pub text: String,
}

/// What RocksDB counts of a thread's own operations (`rocksdb::PerfLevel`), comparisons of keys first: a tenth of the instructions of an
/// overwrite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PerfLevel {
    /// The library's default, which applications have that change nothing.
    #[default]
    EnableCount,
    /// As db_bench sets it in its threads.
    Disable,
}

/// What the data of a workload is meant to fit in: which size of a hardware class it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fits {
    /// Memory: `keys_in_memory` of the class.
    #[default]
    Memory,
    /// The device only: `keys_on_device` of the class.
    Device,
}

/// The rows of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// Number of keys; all of them exist after a fill.
    pub keys: u64,
    /// Bytes of a key: its number, big-endian, in the first eight, padded with `0`.
    pub key_bytes: usize,
    pub value_bytes: usize,
    /// Share of a value that a compressor would remove, in percent.
    pub value_compressible_percent: u8,
}

impl DataSet {
    /// The rows of tables as keys, with the sizes of sysbench's rows: a number of 4 bytes, and one, a text of 120 and
    /// one of 60 beside it. What the figures of size rest on, nothing else.
    fn of_tables(tables: &Tables) -> DataSet {
        const KEY_BYTES: usize = 8;
        DataSet {
            keys: tables.rows.saturating_mul(u64::from(tables.count)),
            key_bytes: KEY_BYTES,
            value_bytes: tables.row_bytes.map_or(184, |bytes| bytes as usize - KEY_BYTES),
            value_compressible_percent: 0,
        }
    }

    /// The blocks of a file of fio as keys, of 4 KiB each: what the figures of size rest on, nothing else.
    fn of_file(bytes: Bytes) -> DataSet {
        const BLOCK_BYTES: usize = 4096;
        const KEY_BYTES: usize = 8;
        // It is laid out in requests of a MiB: what would be left would never be on the device.
        let bytes = bytes.0.next_multiple_of(1 << 20);
        DataSet {
            keys: bytes / BLOCK_BYTES as u64,
            key_bytes: KEY_BYTES,
            value_bytes: BLOCK_BYTES - KEY_BYTES,
            value_compressible_percent: 0,
        }
    }

    /// What is wrong with the sizes.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=MOST_KEYS).contains(&self.keys) {
            return Err(format!("keys (rows of all tables) is {}, must be 1 to {MOST_KEYS}", self.keys));
        }
        if !(8..=1024).contains(&self.key_bytes) {
            return Err(format!(
                "key_bytes is {}, must be 8 to 1024 (eight hold the key's number)",
                self.key_bytes
            ));
        }
        if !(1..=1 << 20).contains(&self.value_bytes) {
            return Err(format!("value_bytes is {}, must be 1 to 1048576", self.value_bytes));
        }
        if self.value_compressible_percent > 100 {
            return Err(format!(
                "value_compressible_percent is {}, must be 0 to 100",
                self.value_compressible_percent
            ));
        }
        let Bytes(bytes) = self.size();
        if bytes > MOST_BYTES.0 {
            return Err(format!("all keys and values have {bytes} bytes, must be at most {}", MOST_BYTES.0));
        }
        Ok(())
    }

    /// Bytes of one key and its value.
    pub fn row_bytes(&self) -> u64 {
        (self.key_bytes + self.value_bytes) as u64
    }

    /// Bytes of all keys and values.
    pub fn size(&self) -> Bytes {
        Bytes(self.keys.saturating_mul(self.row_bytes()))
    }
}

/// One entry of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// `readrandom`
    pub name: String,
    /// Steps that are summarised together.
    pub group: Group,
    pub operation: Operation,
    /// Which database it runs on when sides are interleaved; in rounds every step runs on the side's own.
    pub database: DatabaseKind,
    /// Foreground threads, each in a closed loop unless the step has a rate.
    pub threads: u32,
    /// Whether the number of threads belongs to the step, so that no scale changes it.
    #[serde(default)]
    pub threads_fixed: bool,
    /// Operations per second over all threads of an open loop; a closed loop where absent.
    pub rate: Option<f64>,
    /// Whether the operations of a second are all due when it begins, as in the scripts of the Insert Benchmark; else evenly spaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_bursts: bool,
    /// Whether writes go through the write-ahead log.
    pub wal: bool,
    /// Whether each write waits for the device.
    pub sync: bool,
    /// Bytes per second that a background thread overwrites meanwhile.
    pub background_write_bytes_per_s: Option<u64>,
    /// The step beside which it runs, as long as that one does and on threads of its own: a companion. It has no
    /// extent, blocks or settling of its own.
    #[serde(default)]
    pub beside: Option<String>,
    /// The stream whose events a companion follows, one of its own after each, thread by thread: the step that it is
    /// beside, or a companion before it. A companion that follows none has a rate, or runs as fast as the server answers.
    #[serde(default)]
    pub follows: Option<String>,
    /// The step of the workload that it is at one of the numbers of clients that the plan asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep_of: Option<String>,
    /// How long a block lasts when sides are interleaved: exactly where it reads only, on the base in the
    /// pilot where it writes.
    pub block: Nanos,
    /// Blocks of each side in one interleaved launch. A fill ignores it: it has as many as its keys need.
    pub cycles: u32,
    /// What is waited for after the step.
    pub settle: Settle,
    /// How much is done in one go in rounds and one after another.
    #[serde(default)]
    pub extent: Extent,
    /// Whether the step goes on in the process of the step before it (db_bench: in the same `--benchmarks`
    /// list). Else it begins with a fresh process and an empty block cache.
    #[serde(default)]
    pub same_process: bool,
    /// Whether the files are put out of the page cache before the step.
    #[serde(default)]
    pub cold: bool,
    /// Engine options of this step only; not when sides are interleaved, where a side has one process.
    #[serde(default)]
    pub options: Options,
    /// Whether the step is left out of summaries: it only brings the tree into a state.
    #[serde(default)]
    pub helper: bool,
    /// Whether its cost shows only while it runs without pauses: write stalls, compactions that it leaves behind, a table whose rows it
    /// replaces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uninterrupted: bool,
    /// A step that lasts longer than its extent by this much hangs.
    #[serde(default = "default_grace")]
    pub grace: Nanos,
}

/// The grace of Small Datum: each db_bench is killed 600 s after its time.
const DEFAULT_GRACE_SECONDS: u64 = 600;

fn default_grace() -> Nanos {
    Nanos::from_secs(DEFAULT_GRACE_SECONDS)
}

impl Step {
    /// Whether the step changes the database: then its interleaved blocks are of a fixed number of operations,
    /// on the same keys on every side, and none is trimmed (statistics 1.9, rules 8 and 9).
    pub fn writes(&self) -> bool {
        self.background_write_bytes_per_s.is_some() || self.operation.writes()
    }

    /// Whether it runs beside another step.
    pub fn is_companion(&self) -> bool {
        self.beside.is_some()
    }

    /// Whether there is nothing to measure but settling.
    pub fn only_settles(&self) -> bool {
        self.operation == Operation::Settle
    }

    /// Why it cannot be cut into blocks that take turns with those of other sides; absent if it can.
    pub fn why_no_blocks(&self) -> Option<&'static str> {
        match (self.operation.is_one_go(), self.cold) {
            (true, _) => Some("is done in one go"),
            // Its process would have to be started again in the middle of a launch, and only its first block would be cold.
            (false, true) => Some("begins with a fresh process and its files out of the page cache"),
            (false, false) => None,
        }
    }

    /// Whether rounds tell more of it than interleaved blocks.
    pub fn suits_rounds(&self) -> bool {
        self.uninterrupted || self.why_no_blocks().is_some() || self.operation.is_fio()
    }

    /// When the step ends in rounds and one after another.
    pub fn limit(&self, data: &DataSet) -> BlockLimit {
        match self.operation {
            Operation::FillSequential
            | Operation::FillRandom
            | Operation::LoadTables
            | Operation::BuildIndexes
            | Operation::LayOutFile => BlockLimit::Operations { count: data.keys },
            Operation::Compact | Operation::Settle => BlockLimit::Operations { count: 1 },
            // Each thread ends by itself at the last entry.
            Operation::ReadSequential { one_pass: true } => {
                BlockLimit::Operations { count: data.keys * u64::from(self.threads) }
            }
            Operation::Overwrite
            | Operation::ReadRandom
            | Operation::MultiRead { .. }
            | Operation::ReadSequential { .. }
            | Operation::SeekRandom { .. }
            | Operation::BuildFiles { .. }
            | Operation::Transaction(_)
            | Operation::Fio(_) => self.extent.limit(self.expected(), data),
        }
    }

    /// What a side does in a launch of interleaved blocks, over all threads, if the workload says so: as many operations on every host, so
    /// that every side leaves the same tree. Absent for a step whose blocks are as many as its cycles.
    pub fn stated_operations(&self, data: &DataSet) -> Option<u64> {
        match self.limit(data) {
            _ if self.operation.fills() => Some(data.keys),
            BlockLimit::Operations { count } if self.operation == Operation::Overwrite => Some(count),
            BlockLimit::Operations { .. } | BlockLimit::Time { .. } => None,
        }
    }

    /// A step that has not ended by then hangs: its grace after its time, or its grace alone where it ends by its
    /// operations.
    pub fn timeout(&self, data: &DataSet) -> Nanos {
        match self.limit(data) {
            BlockLimit::Time { wall } => wall + self.grace,
            BlockLimit::Operations { .. } => self.grace,
        }
    }

    /// Wall time that the blocks of a step last together where it states no extent.
    fn expected(&self) -> Nanos {
        Nanos(self.block.0 * u64::from(self.cycles))
    }

    /// Bytes of keys and values that one operation reads or writes: the `mb_sec` of db_bench.
    pub fn bytes_per_operation(&self, data: &DataSet) -> u64 {
        match &self.operation {
            Operation::Fio(job) => job.block.map_or(0, |block| block.0),
            operation => data.row_bytes() * operation.rows_per_operation(data),
        }
    }
}

/// Steps that are summarised together.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Group {
    /// Reads of single keys.
    Point,
    Range,
    /// Reads of rows by their keys: Small Datum's first group of sysbench.
    #[serde(rename = "point-1")]
    #[strum(to_string = "point-1")]
    Point1,
    /// Reads of many random rows by one statement: Small Datum's second group.
    #[serde(rename = "point-2")]
    #[strum(to_string = "point-2")]
    Point2,
    /// Reads of ranges without aggregation.
    #[serde(rename = "range-1")]
    #[strum(to_string = "range-1")]
    Range1,
    /// Reads of ranges with aggregation.
    #[serde(rename = "range-2")]
    #[strum(to_string = "range-2")]
    Range2,
    /// Reads of a device or a file system.
    Reads,
    Writes,
    /// Streams that run beside other steps.
    Beside,
}

impl Group {
    /// Every group, in the order of reports.
    pub const ALL: &[Group] = <Group as strum::VariantArray>::VARIANTS;

    /// The name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Which database a step runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseKind {
    /// The side's own, made anew in each launch, handed on from step to step in the order of the workload.
    Own,
    /// The launch's image: the same bytes for every side, fully compacted, opened without compaction. Such
    /// steps run in random order.
    Image,
}

/// What is waited for between steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settle {
    None,
    /// Memtables flushed; compaction goes on.
    Flushed,
    /// Memtables flushed, no flush or compaction running or pending.
    Drained,
    /// Drained, with level 0 emptied into the next level where the style has levels.
    Level0Compacted,
    /// Drained, after a compaction of the whole key range.
    FullyCompacted,
    /// What Small Datum does to a SQL server after writes: tables analyzed (Postgres: vacuumed), dirty pages written,
    /// memtables and level 0 emptied; until nothing of it is left, or the bound is reached.
    Postwrite,
}

impl Workload {
    /// Whether its engines are SQL servers.
    pub fn is_sql(&self) -> bool {
        self.tables.is_some()
    }

    /// Whether fio runs its steps.
    pub fn is_fio(&self) -> bool {
        self.steps.iter().any(|step| step.operation.is_fio())
    }

    /// The steps that run beside this one, in their order.
    pub fn companions<'a>(&'a self, step: &'a str) -> impl Iterator<Item = &'a Step> {
        self.steps.iter().filter(move |other| other.beside.as_deref() == Some(step))
    }

    /// The step that this one is beside; itself if it is no companion.
    pub fn main_of<'a>(&'a self, step: &'a Step) -> &'a Step {
        let main = step.beside.as_ref().and_then(|main| self.steps.iter().find(|other| other.name == *main));
        main.unwrap_or(step)
    }

    /// The names of a step and of its companions: all that is measured at once.
    pub fn streams<'a>(&'a self, step: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::once(step).chain(self.companions(step).map(|companion| companion.name.as_str()))
    }

    /// The steps of a turn in which those of `judged` are measured: all up to the last of them, for those before it make its tree. One
    /// that is `judged_elsewhere`, leaves the tree as it was and ends its process is left out.
    pub fn steps_of_turn(&self, judged: &[String], judged_elsewhere: &[String]) -> Vec<&Step> {
        let is_judged = |step: &Step| judged.contains(&step.name);
        let last = self.steps.iter().rposition(is_judged);
        let up_to_last = &self.steps[..last.map_or(0, |last| last + 1)];
        let goes_on = |index: usize| up_to_last.get(index + 1).is_some_and(|next| next.same_process);
        let leaves_nothing = |(index, step): (usize, &Step)| {
            let writes = std::iter::once(step).chain(self.companions(&step.name)).any(Step::writes);
            judged_elsewhere.contains(&step.name) && !writes && step.settle == Settle::None && !goes_on(index)
        };
        up_to_last.iter().enumerate().filter(|step| !leaves_nothing(*step)).map(|(_, step)| step).collect()
    }

    /// Checks the size of its data, after a hardware class or a scale has changed it.
    pub fn check_data(&self) -> Result<(), WorkloadError> {
        let error = |problem| WorkloadError::Data { workload: self.name.clone(), problem };
        self.data.check().map_err(error)
    }

    /// The step of this name.
    pub fn step(&self, name: &str) -> Result<&Step, WorkloadError> {
        self.steps.iter().find(|step| step.name == name).ok_or_else(|| WorkloadError::UnknownStep {
            workload: self.name.clone(),
            step: name.to_owned(),
            hint: names::hint(name, self.steps.iter().map(|step| step.name.as_str())),
        })
    }
}

#[cfg(test)]
mod tests;
