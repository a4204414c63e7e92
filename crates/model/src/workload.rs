//! A workload as data: the data set, the engine options it needs, and its steps in order.

use crate::config::Options;
use crate::names;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A named sequence of steps on one data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// `quick`
    pub name: String,
    /// The engine it is written for.
    pub engine: String,
    /// One line for lists.
    pub description: String,
    /// What its numbers can tell; the report's first line.
    pub tells: String,
    /// What they cannot; the report's first line goes on with it.
    pub does_not_tell: String,
    /// The rows.
    pub data: DataSet,
    /// Engine options that are part of the workload; a configuration is laid over them.
    pub options: Options,
    /// The steps in their order.
    pub steps: Vec<Step>,
    /// The definition as it was read: its hash identifies the workload.
    pub text: String,
}

/// The rows of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// Number of keys; all of them exist after a fill.
    pub keys: u64,
    /// Bytes of a key: its number, big-endian, in the first eight, padded with `0`.
    pub key_bytes: usize,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Share of a value that a compressor would remove, in percent.
    pub value_compressible_percent: u8,
}

impl DataSet {
    /// Bytes of all keys and values.
    pub fn size(&self) -> Bytes {
        Bytes(self.keys * (self.key_bytes + self.value_bytes) as u64)
    }
}

/// One entry of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// `readrandom`
    pub name: String,
    /// Steps that are summarised together.
    pub group: Group,
    /// What one operation is.
    pub operation: Operation,
    /// Which database it runs on.
    pub database: DatabaseKind,
    /// Foreground threads, each in a closed loop unless the step has a rate.
    pub threads: u32,
    /// Operations per second over all threads of an open loop; a closed loop where absent.
    pub rate: Option<f64>,
    /// Whether writes go through the write-ahead log.
    pub wal: bool,
    /// Whether each write waits for the device.
    pub sync: bool,
    /// Bytes per second that a background thread overwrites meanwhile.
    pub background_write_bytes_per_s: Option<u64>,
    /// How long a block lasts: exactly where it reads only, on the base in the pilot where it writes.
    pub block: Nanos,
    /// Blocks of each side in one launch. A fill ignores it: it has as many as its keys need.
    pub cycles: u32,
    /// What is waited for after the step.
    pub settle: Settle,
}

impl Step {
    /// Whether the step changes the database: then its blocks are of a fixed number of operations, on the
    /// same keys on every side, and none is trimmed (statistics 1.9, rules 8 and 9).
    pub fn writes(&self) -> bool {
        self.background_write_bytes_per_s.is_some()
            || match self.operation {
                Operation::FillSequential | Operation::Overwrite => true,
                Operation::ReadRandom | Operation::SeekRandom { .. } => false,
            }
    }
}

/// Steps that are summarised together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Reads of single keys.
    Point,
    /// Reads of ranges.
    Range,
    /// Everything that writes.
    Writes,
}

impl Group {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Group::Point => "point",
            Group::Range => "range",
            Group::Writes => "writes",
        }
    }
}

/// What one operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Operation {
    /// Put the next key; all keys once.
    FillSequential,
    /// Put a key drawn uniformly, with replacement.
    Overwrite,
    /// Get a key drawn uniformly; it must be found.
    ReadRandom,
    /// Seek to a key drawn uniformly, then step forward; all entries must be there.
    SeekRandom {
        /// Steps after the seek.
        nexts: u32,
    },
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
    /// Nothing.
    None,
    /// Memtables flushed, no flush or compaction running or pending.
    Drained,
    /// Drained, after a compaction of the whole key range.
    FullyCompacted,
}

/// The file behind a [`Workload`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    name: String,
    engine: String,
    description: String,
    tells: String,
    does_not_tell: String,
    block_ms: u64,
    data: DataSet,
    #[serde(default)]
    options: Options,
    #[serde(rename = "step")]
    steps: Vec<StepEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepEntry {
    name: String,
    group: Group,
    operation: String,
    nexts: Option<u32>,
    database: DatabaseKind,
    #[serde(default = "one")]
    threads: u32,
    rate: Option<f64>,
    #[serde(default = "yes")]
    wal: bool,
    #[serde(default)]
    sync: bool,
    background_write_bytes_per_s: Option<u64>,
    block_ms: Option<u64>,
    #[serde(default)]
    cycles: Option<u32>,
    #[serde(default = "no_settle")]
    settle: Settle,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn no_settle() -> Settle {
    Settle::None
}

/// Pairs in a launch where a step states none: on a quiet machine the launch is the floor and more pairs do
/// not help (statistics section 7).
const DEFAULT_CYCLES: u32 = 10;

/// Why a workload file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Not TOML, or not of this form.
    #[error("failed to parse the workload file `{origin}`")]
    Toml {
        /// The file, or `embedded:NAME`.
        origin: String,
        /// Line, column and caret.
        source: Box<toml::de::Error>,
    },
    /// A value that no run could use.
    #[error("workload file `{origin}`, {place}: {problem}")]
    Invalid {
        /// The file.
        origin: String,
        /// `data`, or the step.
        place: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A step that the workload does not have.
    #[error("workload `{workload}` has no step `{step}`{hint}; `dbdyno workload show {workload}` lists them")]
    UnknownStep {
        /// The workload.
        workload: String,
        /// What was asked for.
        step: String,
        /// The nearest names.
        hint: String,
    },
}

const OPERATIONS: [&str; 4] = ["fill-sequential", "overwrite", "read-random", "seek-random"];

impl Workload {
    /// Reads a workload; `origin` names the file in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Workload, WorkloadError> {
        let file: WorkloadFile = toml::from_str(text)
            .map_err(|source| WorkloadError::Toml { origin: origin.to_owned(), source: Box::new(source) })?;
        let invalid = |place: &str, problem: String| WorkloadError::Invalid {
            origin: origin.to_owned(),
            place: place.to_owned(),
            problem,
        };
        check_data(&file.data).map_err(|problem| invalid("data", problem))?;
        let mut steps: Vec<Step> = Vec::new();
        for entry in file.steps {
            let place = format!("step `{}`", entry.name);
            if steps.iter().any(|step| step.name == entry.name) {
                return Err(invalid(&place, "the name is taken by an earlier step".to_owned()));
            }
            let step = step_of(entry, file.block_ms).map_err(|problem| invalid(&place, problem))?;
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(invalid("step", "there is none; a workload needs at least one".to_owned()));
        }
        check_order(&steps).map_err(|(place, problem)| invalid(&place, problem))?;
        Ok(Workload {
            name: file.name,
            engine: file.engine,
            description: file.description,
            tells: file.tells,
            does_not_tell: file.does_not_tell,
            data: file.data,
            options: file.options,
            steps,
            text: text.to_owned(),
        })
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

fn check_data(data: &DataSet) -> Result<(), String> {
    if data.keys == 0 {
        return Err("keys must be at least 1".to_owned());
    }
    if !(8..=1024).contains(&data.key_bytes) {
        return Err(format!(
            "key_bytes is {}, must be 8 to 1024 (eight hold the key's number)",
            data.key_bytes
        ));
    }
    if !(1..=1 << 20).contains(&data.value_bytes) {
        return Err(format!("value_bytes is {}, must be 1 to 1048576", data.value_bytes));
    }
    if data.value_compressible_percent > 100 {
        return Err(format!(
            "value_compressible_percent is {}, must be 0 to 100",
            data.value_compressible_percent
        ));
    }
    Ok(())
}

fn step_of(entry: StepEntry, workload_block_ms: u64) -> Result<Step, String> {
    let operation = match (entry.operation.as_str(), entry.nexts) {
        ("seek-random", nexts) => Operation::SeekRandom { nexts: nexts.unwrap_or(0) },
        (_, Some(_)) => return Err("`nexts` goes with the operation seek-random only".to_owned()),
        ("fill-sequential", None) => Operation::FillSequential,
        ("overwrite", None) => Operation::Overwrite,
        ("read-random", None) => Operation::ReadRandom,
        (other, None) => {
            let hint = names::hint(other, OPERATIONS);
            return Err(format!("unknown operation `{other}`{hint}; there are {}", OPERATIONS.join(", ")));
        }
    };
    let cycles = entry.cycles.unwrap_or(DEFAULT_CYCLES);
    let block_ms = entry.block_ms.unwrap_or(workload_block_ms);
    if !(1..=1000).contains(&cycles) {
        return Err(format!("cycles is {cycles}, must be 1 to 1000"));
    }
    if !(5..=600_000).contains(&block_ms) {
        return Err(format!("block_ms is {block_ms}, must be 5 to 600000"));
    }
    if !(1..=1024).contains(&entry.threads) {
        return Err(format!("threads is {}, must be 1 to 1024", entry.threads));
    }
    if entry.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
        return Err("rate must be a positive number of operations per second".to_owned());
    }
    if entry.sync && !entry.wal {
        return Err("sync = true needs wal = true".to_owned());
    }
    let step = Step {
        name: entry.name,
        group: entry.group,
        operation,
        database: entry.database,
        threads: entry.threads,
        rate: entry.rate,
        wal: entry.wal,
        sync: entry.sync,
        background_write_bytes_per_s: entry.background_write_bytes_per_s,
        block: Nanos::from_millis(block_ms),
        cycles,
        settle: entry.settle,
    };
    if step.writes() && step.database == DatabaseKind::Image {
        return Err(
            "a step that writes needs database = \"own\": the image is shared by all sides".to_owned()
        );
    }
    if step.operation == Operation::FillSequential && step.threads != 1 {
        return Err("fill-sequential has one thread: keys arrive in order".to_owned());
    }
    Ok(step)
}

/// The first step of an own database must fill it.
fn check_order(steps: &[Step]) -> Result<(), (String, String)> {
    let mut own = steps.iter().filter(|step| step.database == DatabaseKind::Own);
    match own.next() {
        Some(first) if first.operation != Operation::FillSequential => Err((
            format!("step `{}`", first.name),
            "the first step on an own database must be fill-sequential: there is nothing to read or \
             overwrite before it"
                .to_owned(),
        )),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        name = "small"
        engine = "rocksdb"
        description = "d"
        tells = "t"
        does_not_tell = "n"
        block_ms = 20
        data = { keys = 1000, key_bytes = 20, value_bytes = 100, value_compressible_percent = 50 }
        [[step]]
        name = "fillseq"
        group = "writes"
        operation = "fill-sequential"
        database = "own"
        wal = false
        settle = "drained"
        [[step]]
        name = "readrandom"
        group = "point"
        operation = "read-random"
        database = "image"
    "#;

    #[test]
    fn a_workload_is_read() {
        let workload = Workload::parse(SMALL, "test").unwrap();
        assert_eq!(workload.data.size(), Bytes(120_000));
        assert!(workload.steps[0].writes());
        assert!(!workload.steps[0].wal);
        assert_eq!(workload.steps[1].block, Nanos::from_millis(20));
        assert_eq!(workload.steps[1].cycles, DEFAULT_CYCLES);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let check = |from: &str, to: &str, expected: &str| {
            let error = Workload::parse(&SMALL.replace(from, to), "w.toml").unwrap_err();
            let text = format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string));
            assert!(text.contains(expected), "{text}");
            assert!(text.contains("w.toml"), "{text}");
        };
        check("\"read-random\"", "\"read-randm\"", "did you mean `read-random`?");
        check("keys = 1000", "keys = 0", "keys must be at least 1");
        check("key_bytes = 20", "key_bytes = 4", "8 to 1024");
        check("fill-sequential", "overwrite", "must be fill-sequential");
        check("wal = false", "wal = false\nsync = true", "needs wal = true");
        check("name = \"readrandom\"", "name = \"fillseq\"", "taken by an earlier step");
        check("block_ms = 20", "block_msec = 20", "unknown field");
    }

    #[test]
    fn an_unknown_step_offers_the_nearest() {
        let error = Workload::parse(SMALL, "test").unwrap().step("readrandm").unwrap_err().to_string();
        assert!(error.contains("did you mean `readrandom`?"), "{error}");
    }
}
