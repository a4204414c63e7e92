//! Messages between runner and worker: one JSON object per line, requests on the worker's standard input,
//! one reply to each on its standard output. A block that is asked for its seconds is answered by one
//! [`Reply::Second`] for each, then those of its companions, and then its [`Reply::Block`].

use crate::address::ServerAddress;
use crate::block::{Latency, Second};
use crate::counter::Counters;
use crate::planted::PlantedAs;
use crate::shape::Shape;
use crate::units::{Bytes, Nanos};
use crate::workload::sql::Tables;
use crate::workload::{DataSet, Operation, PerfLevel, Settle};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the runner asks of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "request")]
pub enum Request {
    /// Load the engine's library, or connect to its server. The first request.
    Load {
        library: Library,
    },
    Open {
        directory: PathBuf,
        /// Options as one string in the engine's own syntax.
        options: String,
        /// Whether to create it; an existing one is then an error.
        create: bool,
        /// Whether the engine counts its tickers.
        #[serde(default)]
        tickers: bool,
    },
    /// Write a fully compacted database of all keys, from files written in key order and ingested.
    BulkLoad {
        data: DataSet,
        /// Seed of the values and of where files are cut.
        seed: u64,
        /// Threads that write files.
        threads: u32,
        /// Directory for files that are not yet ingested; on the file system of the database.
        scratch: PathBuf,
    },
    /// Read the whole database once, so that it is in the block cache; of a server these tables.
    Scan {
        /// The rows that must be found.
        data: DataSet,
        /// The names of the tables, where the engine is a SQL server.
        #[serde(default)]
        tables: Vec<String>,
    },
    /// Make ready for blocks of a step: threads, generators, histograms. Refused for a step that only settles.
    Prepare(Box<StepSetup>),
    /// Run one block. Where this fails, the step is over.
    RunBlock {
        limit: BlockLimit,
        /// Whether it only warms up: then its latency is not recorded.
        #[serde(default)]
        warm_up: bool,
        /// Whether each second of it is told when it is over.
        #[serde(default)]
        seconds: bool,
    },
    /// The step is over: give its latency, let its threads go.
    FinishStep,
    /// The step is given up, if there is one: let its threads go.
    AbandonStep,
    /// Wait until the tree is in a stated shape.
    Settle {
        to: Settle,
        /// Give up after this long.
        timeout: Nanos,
    },
    /// Make a database that is not ours ready for tables of these names. What an earlier run of ours left there is
    /// dropped, and no other run of ours has the database until the worker ends. Refused where there are tables of
    /// these names, or of those of the earlier run, that are not ours.
    ClaimTables {
        names: Vec<String>,
    },
    /// Drop the tables that were claimed and are ours, and what says that they were claimed.
    DropTables,
    /// Count what others ask of the server in this time.
    WatchOthers {
        wall: Nanos,
    },
    ReadShape,
    /// Read what the engine says of itself.
    ReadText {
        what: EngineText,
    },
    /// Ask a SQL server how it would run each statement of a step; the answer is a text of [`crate::query_plan`]. A statement that it refuses to
    /// explain is no error.
    ExplainStatements(Box<StepSetup>),
    /// Close the database; a step that was not finished ends without its latency.
    Close,
    Exit,
}

/// What an engine says of itself, as text for people.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum EngineText {
    /// The property `rocksdb.stats`: compaction, stalls, uptime.
    Stats,
    /// The tickers and histograms; empty where the database was opened without.
    Tickers,
    /// What a SQL server says of its state: SHOW ENGINE STATUS, the pg_stat views.
    Status,
    /// The settings of a SQL server, one `name = value` a line, sorted.
    Settings,
    /// How a SQL server runs the statements of a step.
    QueryPlans,
}

impl EngineText {
    /// Every text.
    pub const ALL: [EngineText; 5] = [
        EngineText::Stats,
        EngineText::Tickers,
        EngineText::Status,
        EngineText::Settings,
        EngineText::QueryPlans,
    ];

    /// Its name among raw outputs, after the step's.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Library {
    /// A RocksDB shared library.
    RocksDb { path: PathBuf },
    Server {
        /// How it is reached.
        address: ServerAddress,
    },
    /// A program that runs each block: fio.
    Fio {
        program: PathBuf,
        /// A file or a block device that is there already and only read; else a file of the worker's own.
        target: Option<PathBuf>,
    },
    /// An engine that does nothing and answers as expected: what remains is the client's own cost.
    Nothing,
}

/// Everything a worker needs to know of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepSetup {
    pub operation: Operation,
    pub data: DataSet,
    /// The tables, where the engine is a SQL server.
    #[serde(default)]
    pub tables: Option<Tables>,
    pub threads: u32,
    /// Operations per second over all threads; closed loop where absent.
    pub rate: Option<f64>,
    /// Whether the operations of a second are all due when it begins, where there is a rate.
    #[serde(default)]
    pub in_bursts: bool,
    /// Whether writes go through the write-ahead log.
    pub wal: bool,
    /// Whether writes wait for the device.
    pub sync: bool,
    /// What RocksDB counts in its threads.
    #[serde(default)]
    pub perf_level: PerfLevel,
    /// Bytes per second of a background writer.
    pub background_write_bytes_per_s: Option<u64>,
    /// Seed of keys and values: equal on all sides of a launch.
    pub seed: u64,
    /// Test hook: CPU burnt after each operation, in percent of the operation's time.
    pub planted_slowdown_percent: f64,
    /// What that time is spent on.
    #[serde(default)]
    pub planted_as: PlantedAs,
    /// Whether every key was written: after a fill in random order about a third of them are missing, and a key
    /// that is not found is no wrong answer.
    #[serde(default = "crate::yes")]
    pub all_keys_exist: bool,
    /// Whether the SQL server is ours and on this host, so that its thread may be kept on a CPU and its tables need no mark.
    #[serde(default)]
    pub server_is_ours: bool,
    /// What runs beside it, as long as it does.
    #[serde(default)]
    pub companions: Vec<CompanionSetup>,
}

impl StepSetup {
    /// One thread at full speed, logged but not synced, with every key there and nothing beside.
    pub fn plain(operation: Operation, data: DataSet, seed: u64) -> StepSetup {
        StepSetup {
            operation,
            data,
            tables: None,
            threads: 1,
            rate: None,
            in_bursts: false,
            wal: true,
            sync: false,
            perf_level: PerfLevel::default(),
            background_write_bytes_per_s: None,
            seed,
            planted_slowdown_percent: 0.0,
            planted_as: PlantedAs::default(),
            all_keys_exist: true,
            server_is_ours: false,
            companions: Vec::new(),
        }
    }
}

/// A step that runs beside another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompanionSetup {
    /// The step; it has no companions of its own.
    pub step: StepSetup,
    /// The stream that it follows; it has a rate where absent.
    pub follows: Option<Stream>,
}

/// One of the streams of operations that run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    Own,
    /// That of the companion of this number, from 0.
    Companion(usize),
}

impl Stream {
    /// Its place among the streams of a step, its own first.
    pub fn place(self) -> usize {
        match self {
            Stream::Own => 0,
            Stream::Companion(companion) => companion + 1,
        }
    }
}

/// When a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "limit")]
pub enum BlockLimit {
    /// After this much wall time.
    Time { wall: Nanos },
    /// After this many operations over all threads.
    Operations { count: u64 },
}

/// What a worker answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub enum Reply {
    /// The library is loaded, or the server answers.
    Loaded {
        /// Optional symbols that this build has not.
        missing_symbols: Vec<String>,
        /// What a server says of itself: `version`, and what else is known of its build.
        #[serde(default)]
        facts: BTreeMap<String, String>,
    },
    Opened,
    /// The image is written.
    BulkLoaded {
        keys: u64,
    },
    /// The database was read.
    Scanned {
        keys: u64,
    },
    Prepared,
    /// A second of the block that is running is over.
    Second(Second),
    /// What a companion did in a second of the block, told when the block is over.
    CompanionSecond {
        /// Which one, from 0.
        companion: usize,
        second: Second,
    },
    Block(BlockReport),
    /// The step is over.
    StepFinished {
        /// Latency of its operations.
        latency: Latency,
        /// Latency of those of each companion.
        #[serde(default)]
        companions: Vec<Latency>,
    },
    /// No step is prepared any more.
    Abandoned,
    /// The tree has the shape asked for.
    Settled {
        /// How long that took.
        waited: Nanos,
    },
    /// The database is ready for our tables.
    TablesClaimed,
    /// Our tables are gone.
    TablesDropped,
    /// What others asked of the server.
    OthersWatched {
        /// Statements, of Postgres transactions; absent where the server does not tell.
        statements: Option<u64>,
    },
    Shape(Shape),
    /// What the engine says of itself; absent where it has no such text.
    Text {
        text: Option<String>,
    },
    Closed,
    /// The worker is about to exit.
    Bye {
        /// Largest heap of the worker's own allocations.
        heap_peak: Bytes,
    },
    /// The request failed; the worker is as it was before it, unless the request says otherwise.
    Failed {
        /// What kind of failure.
        kind: FailureKind,
        /// What happened, to which object, what to do next.
        message: String,
    },
}

/// What kind of failure a worker reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The file is not a library that can be loaded here.
    NotAnEngine,
    /// This release lacks what the request needs.
    NotSupported,
    /// The engine refused an option.
    BadOption,
    /// The engine returned an error.
    Engine,
    /// An operation gave a wrong answer.
    WrongAnswer,
    /// A timeout was reached.
    TimedOut,
    /// The request makes no sense now.
    Protocol,
}

/// What a worker measured in a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockReport {
    pub operations: u64,
    /// Operations with an error or a wrong answer.
    pub failed_operations: u64,
    /// Operations whose key was there; absent where the step reads none.
    #[serde(default)]
    pub found: Option<u64>,
    /// The function of the engine that was called, where releases differ in it.
    #[serde(default)]
    pub api: Option<String>,
    pub first_error: Option<String>,
    /// Errors of a SQL server that the client met by sending the event again, by kind: `deadlock`, `lock-timeout`,
    /// `duplicate-key`, `serialization`.
    #[serde(default)]
    pub retries: BTreeMap<String, u64>,
    /// By how much operations of an open loop began after they were due; absent in a closed loop.
    #[serde(default)]
    pub lag: Option<Lag>,
    /// Wall time from the first thread's start to the last one's end.
    pub wall: Nanos,
    /// CPU time of each foreground thread.
    pub thread_cpu: Vec<Nanos>,
    /// Time runnable but not running of each foreground thread; absent where the kernel does not tell.
    pub thread_run_delay: Option<Vec<Nanos>>,
    /// The CPU on which the one client's thread and the server's that serves it stay; absent where each thread is
    /// where the kernel puts it.
    #[serde(default)]
    pub shared_cpu: Option<SharedCpu>,
    /// CPU time of all threads of the process over the same interval.
    pub process_cpu: Nanos,
    /// Whether the engine was delaying or stopping writes when the block ended.
    pub writes_delayed: bool,
    /// What was counted for the program that ran the block, if the worker has no engine in itself; `process_cpu` and
    /// `thread_cpu` are that program's too.
    #[serde(default)]
    pub counters: Counters,
    /// What each companion did meanwhile; `process_cpu` above includes theirs, and theirs is that of their threads.
    #[serde(default)]
    pub companions: Vec<BlockReport>,
}

/// What the CPU did meanwhile that a client's thread shares with the server's that serves it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedCpu {
    /// Time in which nothing ran on it; absent where the kernel does not tell.
    pub idle: Option<Nanos>,
}

/// By how much operations of an open loop began after they were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lag {
    pub p50: Nanos,
    pub p99: Nanos,
    pub max: Nanos,
}
