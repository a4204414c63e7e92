//! Workload files: TOML in, [`Workload`] out, every mistake named with its place.

use super::fio::FioJob;
use super::sequence::{Sequence, Sequences, without};
use super::sql_file::{SchemaEntry, SqlParts, TablesEntry, TransactionEntry};
use super::{
    Codec, DataSet, DatabaseKind, Direction, Fits, Group, Operation, PerfLevel, Settle, Step, Workload,
};
use super::{DEFAULT_GRACE_SECONDS, companion, extent};
use crate::config::Options;
use crate::limits::{MOST_BUDGET_MINUTES, MOST_BYTES, MOST_CLIENTS, MOST_GRACE_SECONDS};
use crate::names;
use crate::units::{Bytes, BytesError, Nanos};
use crate::workload::sql::Parameter;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The file behind a [`Workload`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    name: String,
    engine: String,
    description: String,
    tells: String,
    does_not_tell: String,
    #[serde(default = "default_block_ms")]
    block_ms: u64,
    /// Of engines with keys and values.
    data: Option<DataSet>,
    tables: Option<TablesEntry>,
    /// Bytes of the file that fio reads and writes.
    file: Option<String>,
    /// Memory that a server is given.
    memory: Option<String>,
    /// Clients of each step that has not a number of its own.
    clients: Option<u32>,
    /// Operations of steps, by their names, in place of what its sequence says.
    #[serde(default)]
    operations: BTreeMap<String, u64>,
    /// Of a comparison that states none.
    budget_minutes: Option<u32>,
    #[serde(default)]
    fits: Fits,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    perf_level: PerfLevel,
    /// The name of a sequence, instead of steps.
    sequence: Option<String>,
    schema: Option<SchemaEntry>,
    #[serde(default)]
    parameters: BTreeMap<String, Parameter>,
    #[serde(default, rename = "transaction")]
    transactions: Vec<TransactionEntry>,
    #[serde(default, rename = "step")]
    steps: Vec<StepEntry>,
}

/// 20 to 100 ms serve (statistics 7).
fn default_block_ms() -> u64 {
    100
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepEntry {
    name: String,
    group: Group,
    operation: String,
    nexts: Option<u32>,
    direction: Option<Direction>,
    /// Seeks are among so many of the first keys.
    among_keys: Option<u32>,
    /// Whether a sequential read ends with the last entry.
    #[serde(default)]
    one_pass: bool,
    batch: Option<u32>,
    /// What compresses files that are built.
    codec: Option<String>,
    /// Bytes of keys and values in each of them.
    file_bytes: Option<u64>,
    /// The name of a transaction.
    transaction: Option<String>,
    /// What stands for `$NAME` in its statements.
    #[serde(default)]
    with: BTreeMap<String, u64>,
    #[serde(default = "own")]
    database: DatabaseKind,
    threads: Option<u32>,
    rate: Option<f64>,
    #[serde(default)]
    in_bursts: bool,
    #[serde(default = "crate::yes")]
    wal: bool,
    #[serde(default)]
    sync: bool,
    background_write_bytes_per_s: Option<u64>,
    /// The step beside which this one runs.
    beside: Option<String>,
    /// The stream that it follows there.
    follows: Option<String>,
    block_ms: Option<u64>,
    #[serde(default)]
    cycles: Option<u32>,
    #[serde(default = "no_settle")]
    settle: Settle,
    pub(super) seconds: Option<f64>,
    pub(super) operations: Option<u64>,
    pub(super) operations_per_key: Option<f64>,
    #[serde(default)]
    same_process: bool,
    #[serde(default)]
    cold: bool,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    helper: bool,
    #[serde(default)]
    uninterrupted: bool,
    grace_seconds: Option<u64>,
}

fn own() -> DatabaseKind {
    DatabaseKind::Own
}

fn no_settle() -> Settle {
    Settle::None
}

/// Pairs in a launch where a step states none: on a quiet machine the launch is the floor and more pairs do
/// not help (statistics 7).
const DEFAULT_CYCLES: u32 = 10;

/// Why a workload file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error("failed to parse the workload file `{origin}`")]
    Toml {
        /// The file, or `embedded:NAME`.
        origin: String,
        source: Box<toml::de::Error>,
    },
    #[error("workload file `{origin}`, {place}: {problem}")]
    Invalid {
        origin: String,
        /// `data`, or the step.
        place: String,
        problem: String,
    },
    #[error("workload `{workload}` at this size, data: {problem}")]
    Data { workload: String, problem: String },
    #[error("workload `{workload}` has no step `{step}`{hint}; `dbdyno workload show {workload}` lists them")]
    UnknownStep { workload: String, step: String, hint: String },
    #[error(
        "step `{step}` of workload `{workload}` is done by a fixed number of clients, so `clients` cannot vary it: leave it out of `steps`"
    )]
    FixedClients { workload: String, step: String },
}

impl Workload {
    /// Reads a workload whose steps are all in it; `origin` names the file in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Workload, WorkloadError> {
        Workload::parse_with(text, origin, &[])
    }

    /// Reads a workload that may name one of these sequences instead of steps.
    pub fn parse_with(text: &str, origin: &str, sequences: Sequences<'_>) -> Result<Workload, WorkloadError> {
        let file: WorkloadFile = read(text, origin)?;
        let invalid = |place: &str, problem: String| WorkloadError::Invalid {
            origin: origin.to_owned(),
            place: place.to_owned(),
            problem,
        };
        let sql =
            SqlParts { schema: file.schema, parameters: file.parameters, transactions: file.transactions };
        let (entries, sql, whole_text) = match &file.sequence {
            None => (file.steps, sql, text.to_owned()),
            Some(_) if !(file.steps.is_empty() && sql.is_empty()) => {
                return Err(invalid(
                    "sequence",
                    "a workload has steps, transactions and a schema, or names a sequence; not both"
                        .to_owned(),
                ));
            }
            Some(name) => {
                let sequence = Sequence::named(name, sequences, &invalid)?;
                let whole_text = with_steps(text, name, &sequence.text);
                (sequence.steps, sequence.sql, whole_text)
            }
        };
        let tables = file.tables.map(|entry| sql.tables(&entry)).transpose();
        let tables = tables.map_err(|(place, problem)| invalid(&place, problem))?;
        let bytes = file.file.as_deref().map(bytes_of).transpose();
        let bytes = bytes.map_err(|problem| invalid("file", problem))?;
        let data = match (file.data, &tables, bytes) {
            (Some(data), None, None) => data,
            (None, Some(tables), None) => DataSet::of_tables(tables),
            (None, None, Some(bytes)) => DataSet::of_file(bytes),
            (_, _, _) => {
                return Err(invalid(
                    "data",
                    "a workload has either `data` (keys and values), `tables` (of SQL servers) or `file` (of fio)".to_owned(),
                ));
            }
        };
        data.check().map_err(|problem| invalid("data", problem))?;
        let memory = file.memory.as_deref().map(bytes_of).transpose();
        let memory = memory.map_err(|problem| invalid("memory", problem))?;
        if let Some(minutes) = file.budget_minutes.map(u64::from)
            && !(1..=MOST_BUDGET_MINUTES).contains(&minutes)
        {
            let problem = format!("{minutes} is not 1 to {MOST_BUDGET_MINUTES}");
            return Err(invalid("budget_minutes", problem));
        }
        let mut steps: Vec<Step> = Vec::new();
        for entry in entries {
            let place = format!("step `{}`", entry.name);
            if steps.iter().any(|step| step.name == entry.name) {
                return Err(invalid(&place, "the name is taken by an earlier step".to_owned()));
            }
            let operation =
                operation_of(&entry, &sql, &file.options).map_err(|problem| invalid(&place, problem))?;
            if operation.is_sql() != tables.is_some() && operation != Operation::Settle {
                let problem =
                    format!("the operation `{}` goes with `tables`, the others do not", entry.operation);
                return Err(invalid(&place, problem));
            }
            if operation.is_fio() != bytes.is_some() {
                let problem =
                    format!("the operation `{}` goes with `file`, the others do not", entry.operation);
                return Err(invalid(&place, problem));
            }
            let step =
                step_of(entry, operation, file.block_ms).map_err(|problem| invalid(&place, problem))?;
            companion::check(&step, &steps).map_err(|problem| invalid(&place, problem))?;
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(invalid("step", "there is none; a workload needs at least one".to_owned()));
        }
        check_order(&steps).map_err(|(place, problem)| invalid(&place, problem))?;
        extent::give_operations(&mut steps, &file.operations, &data)
            .map_err(|problem| invalid("operations", problem))?;
        if let Some(clients) = file.clients {
            check_threads(clients).map_err(|problem| invalid("clients", problem))?;
            let scalable = |step: &&mut Step| step.threads_scale();
            steps.iter_mut().filter(scalable).for_each(|step| step.set_threads(clients));
        }
        Ok(Workload {
            name: file.name,
            engine: file.engine,
            description: file.description,
            tells: file.tells,
            does_not_tell: file.does_not_tell,
            data,
            tables,
            memory,
            budget: file.budget_minutes.map(|minutes| Nanos::from_secs(u64::from(minutes) * 60)),
            fits: file.fits,
            options: file.options,
            perf_level: file.perf_level,
            sequence: file.sequence,
            steps,
            text: whole_text,
        })
    }
}

/// A workload with the steps of its sequence in their place: what can be shown, changed and used as a file.
fn with_steps(text: &str, name: &str, steps: &str) -> String {
    let head = without(text, "sequence");
    format!("{}\n\n# The steps of the sequence {name}.\n\n{steps}", head.trim_end())
}

pub(super) fn read<T: serde::de::DeserializeOwned>(text: &str, origin: &str) -> Result<T, WorkloadError> {
    toml::from_str(text)
        .map_err(|source| WorkloadError::Toml { origin: origin.to_owned(), source: Box::new(source) })
}

fn bytes_of(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error: BytesError| error.to_string())?;
    if bytes > MOST_BYTES {
        return Err(format!("`{text}` is {} bytes, must be at most {}", bytes.0, MOST_BYTES.0));
    }
    Ok(bytes)
}

fn step_of(entry: StepEntry, operation: Operation, workload_block_ms: u64) -> Result<Step, String> {
    let extent = extent::stated(&entry)?;
    let threads = entry.threads.unwrap_or(1);
    let cycles = entry.cycles.unwrap_or(DEFAULT_CYCLES);
    let block_ms = entry.block_ms.unwrap_or(workload_block_ms);
    if !(1..=1000).contains(&cycles) {
        return Err(format!("cycles is {cycles}, must be 1 to 1000"));
    }
    if !(5..=600_000).contains(&block_ms) {
        return Err(format!("block_ms is {block_ms}, must be 5 to 600000"));
    }
    check_threads(threads)?;
    if entry.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
        return Err("rate must be a positive number of operations per second".to_owned());
    }
    if entry.in_bursts && entry.rate.is_none() {
        return Err("in_bursts goes with a rate".to_owned());
    }
    if entry.sync && !entry.wal {
        return Err("sync = true needs wal = true".to_owned());
    }
    let is_fio = operation.is_fio();
    let builds_files = matches!(operation, Operation::BuildFiles { .. });
    let grace_seconds = entry.grace_seconds.unwrap_or(DEFAULT_GRACE_SECONDS);
    if grace_seconds > MOST_GRACE_SECONDS {
        return Err(format!("grace_seconds is {grace_seconds}, must be at most {MOST_GRACE_SECONDS}"));
    }
    let step = Step {
        name: entry.name,
        group: entry.group,
        operation,
        database: entry.database,
        threads,
        threads_fixed: entry.threads.is_some() || builds_files,
        rate: entry.rate,
        in_bursts: entry.in_bursts,
        wal: entry.wal,
        sync: entry.sync,
        background_write_bytes_per_s: entry.background_write_bytes_per_s,
        beside: entry.beside,
        follows: entry.follows,
        sweep_of: None,
        block: Nanos::from_millis(block_ms),
        cycles,
        settle: entry.settle,
        extent,
        same_process: entry.same_process,
        cold: entry.cold,
        // Those of a job of fio are the job.
        options: if is_fio { Options::new() } else { entry.options },
        helper: entry.helper,
        uninterrupted: entry.uninterrupted,
        grace: Nanos::from_secs(grace_seconds),
    };
    if step.writes() && step.database == DatabaseKind::Image {
        return Err(
            "a step that writes needs database = \"own\": the image is shared by all sides".to_owned()
        );
    }
    if matches!(step.operation, Operation::BuildFiles { .. }) {
        check_build_files(&step)?;
    }
    if matches!(step.operation, Operation::FillSequential | Operation::Compact) && step.threads != 1 {
        return Err(format!("{} has one thread", entry_name(&step.operation)));
    }
    if step.operation.is_sql()
        && (step.database == DatabaseKind::Image || step.background_write_bytes_per_s.is_some())
    {
        return Err("a step on tables has neither an image nor a background writer".to_owned());
    }
    if step.operation.is_fio()
        && (step.database == DatabaseKind::Image
            || step.background_write_bytes_per_s.is_some()
            || step.rate.is_some()
            || step.settle != Settle::None)
    {
        return Err("a step of fio has no image, background writer, `rate` or `settle`".to_owned());
    }
    if step.only_settles() && step.settle == Settle::None {
        return Err("a step that only settles needs `settle`: flushed, drained, level0-compacted or \
             fully-compacted"
            .to_owned());
    }
    if step.same_process && (!step.options.is_empty() || step.cold) {
        return Err(
            "`options` and `cold` need a process of the step's own: leave `same_process` out".to_owned()
        );
    }
    Ok(step)
}

fn check_threads(threads: u32) -> Result<(), String> {
    if (1..=MOST_CLIENTS).contains(&threads) {
        return Ok(());
    }
    Err(format!("the number of threads is {threads}, must be 1 to {MOST_CLIENTS}"))
}

/// It puts keys into files of its own, in one thread: what a database, a log or a writer beside it would do is not of it.
fn check_build_files(step: &Step) -> Result<(), String> {
    if step.threads != 1 {
        return Err("build-files has one thread".to_owned());
    }
    if step.background_write_bytes_per_s.is_some() || step.sync || step.settle != Settle::None {
        return Err("a step that builds files has no background writer, `sync` or `settle`: it changes no \
             database, and its files are in memory"
            .to_owned());
    }
    Ok(())
}

fn entry_name(operation: &Operation) -> &'static str {
    if operation.fills() { "fill-sequential" } else { "compact" }
}

fn operation_of(entry: &StepEntry, sql: &SqlParts, of_workload: &Options) -> Result<Operation, String> {
    let name = entry.operation.as_str();
    let of_seeks = entry.nexts.is_some() || entry.direction.is_some() || entry.among_keys.is_some();
    if name != "seek-random" && of_seeks {
        return Err("`nexts`, `direction` and `among_keys` go with the operation seek-random only".to_owned());
    }
    if name != "read-sequential" && entry.one_pass {
        return Err("`one_pass` goes with the operation read-sequential only".to_owned());
    }
    if entry.among_keys == Some(0) {
        return Err("among_keys must be at least 1".to_owned());
    }
    if name != "multi-read" && entry.batch.is_some() {
        return Err("`batch` goes with the operation multi-read only".to_owned());
    }
    if name != "build-files" && (entry.codec.is_some() || entry.file_bytes.is_some()) {
        return Err("`codec` and `file_bytes` go with the operation build-files only".to_owned());
    }
    Ok(match name {
        "fill-sequential" => Operation::FillSequential,
        "fill-random" => Operation::FillRandom,
        "overwrite" => Operation::Overwrite,
        "read-random" => Operation::ReadRandom,
        "multi-read" => match entry.batch.unwrap_or(10) {
            batch @ 1..=10_000 => Operation::MultiRead { batch },
            batch => return Err(format!("batch is {batch}, must be 1 to 10000")),
        },
        "read-sequential" => Operation::ReadSequential { one_pass: entry.one_pass },
        "seek-random" => Operation::SeekRandom {
            nexts: entry.nexts.unwrap_or(0),
            direction: entry.direction.unwrap_or_default(),
            among_keys: entry.among_keys,
        },
        "build-files" => build_files(entry)?,
        "compact" => Operation::Compact,
        "settle" => Operation::Settle,
        "load-tables" => Operation::LoadTables,
        "build-indexes" => Operation::BuildIndexes,
        "transaction" => sql.transaction(entry.transaction.as_deref(), &entry.with)?,
        "lay-out-file" => Operation::LayOutFile,
        "fio" => Operation::Fio(Box::new(FioJob::of(&entry.options, of_workload)?)),
        other => {
            let hint = names::hint(other, Operation::NAMES);
            return Err(format!(
                "unknown operation `{other}`{hint}; there are {}",
                Operation::NAMES.join(", ")
            ));
        }
    })
}

/// 1 MiB at least, so that what a file costs once is shared by many keys; 64 MiB at most, for files are in memory.
const FILE_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=64 << 20;
/// Of a step that states none: many files in each block, however slow the codec.
const DEFAULT_FILE_BYTES: u64 = 4 << 20;

fn build_files(entry: &StepEntry) -> Result<Operation, String> {
    let names = || Codec::ALL.iter().map(|codec| codec.name());
    let all = names().collect::<Vec<_>>().join(", ");
    let Some(name) = entry.codec.as_deref() else {
        return Err(format!("build-files needs `codec`: one of {all}"));
    };
    let codec = Codec::named(name)
        .ok_or_else(|| format!("unknown codec `{name}`{}; there are {all}", names::hint(name, names())))?;
    let file = entry.file_bytes.unwrap_or(DEFAULT_FILE_BYTES);
    if !FILE_BYTES.contains(&file) {
        return Err(format!("file_bytes is {file}, must be {} to {}", FILE_BYTES.start(), FILE_BYTES.end()));
    }
    Ok(Operation::BuildFiles { codec, file: Bytes(file) })
}

/// The first step of an own database must fill it.
fn check_order(steps: &[Step]) -> Result<(), (String, String)> {
    let mut own = steps.iter().filter(|step| step.database == DatabaseKind::Own);
    match own.next() {
        Some(first) if !first.operation.fills() => Err((
            format!("step `{}`", first.name),
            "the first step on an own database must be fill-sequential, fill-random, load-tables or lay-out-file: there is \
             nothing to read or overwrite before it"
                .to_owned(),
        )),
        Some(_) | None => Ok(()),
    }
}
