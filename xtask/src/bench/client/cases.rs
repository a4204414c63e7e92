//! What is measured: the data, the options and the cases, the same for both sides. Nothing runs here.

use model::workload::{DataSet, Direction, Operation};

/// Rows of the database that is read and overwritten: 210 MB, in a block cache of 512 MB, as in the workload
/// `quick`.
pub const KEYS: u64 = 500_000;
/// Keys that a fill may write; more than any run of it does.
pub const FILL_KEYS: u64 = 20_000_000;

/// The rows.
pub const DATA: DataSet =
    DataSet { keys: KEYS, key_bytes: 20, value_bytes: 400, value_compressible_percent: 50 };

/// What the worker opens with, over the defaults of the library. Nothing is compacted on its own: compactions come
/// in lumps of a fifth of a second of CPU, which scattered the ratios of pairs of overwrites by 4 %, and are the
/// library's cost, not the client's. The size of level 1 is out of reach because level 0 would
/// else count as waiting for a compaction that never comes.
///
/// A writer that waits for its group does not spin before it sleeps (`enable_write_thread_adaptive_yield`): what two
/// threads burn there depends on when the other one comes, so that a faster client is charged for waiting longer. With
/// spinning, two threads that overwrite had a median of 1.008 over 40 pairs, at a client's cost of 33 of 9,500 ns.
pub const WORKER_OPTIONS: &str = "max_background_jobs=2;write_buffer_size=16777216;\
    max_bytes_for_level_base=1099511627776;compression=kNoCompression;disable_auto_compactions=true;\
    level0_file_num_compaction_trigger=1000000;level0_slowdown_writes_trigger=1000000;\
    level0_stop_writes_trigger=1000000;enable_write_thread_adaptive_yield=false;\
    block_based_table_factory={block_size=8192;block_cache=536870912;filter_policy=bloomfilter:10:false;}";

/// The same for db_bench. The second half are defaults of the library that db_bench has changed for itself.
pub const DB_BENCH_FLAGS: &[&str] = &[
    "--key_size=20",
    "--value_size=400",
    "--compression_ratio=0.5",
    "--compression_type=none",
    "--cache_size=536870912",
    "--block_size=8192",
    "--bloom_bits=10",
    "--write_buffer_size=16777216",
    "--max_bytes_for_level_base=1099511627776",
    "--max_background_jobs=2",
    "--enable_write_thread_adaptive_yield=0",
    "--disable_auto_compactions=1",
    "--level0_file_num_compaction_trigger=1000000",
    "--level0_slowdown_writes_trigger=1000000",
    "--level0_stop_writes_trigger=1000000",
    "--sync=0",
    "--histogram=1",
    "--statistics=0",
    "--stats_interval=1000000000",
    "--format_version=5",
    "--open_files=-1",
    "--cache_numshardbits=-1",
    "--cache_high_pri_pool_ratio=0.5",
    "--index_shortening_mode=1",
    "--pin_top_level_index_and_filter=1",
    "--enable_pipelined_write=0",
    "--dump_malloc_stats=0",
    "--table_cache_numshardbits=6",
    "--hard_pending_compaction_bytes_limit=274877906944",
    "--delayed_write_rate=0",
];

/// `PerfLevel::kEnableCount`: the level at which the library starts every thread, so that of the worker's threads
/// and of any application's. db_bench alone would lower its own to 1, which saves it the counting of key
/// comparisons: a tenth of the instructions of an overwrite, and nothing of the client.
pub const PERF_LEVEL: u8 = 2;

/// One row of the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The name that db_bench has for it.
    pub test: &'static str,
    /// What one operation is.
    pub operation: Operation,
    pub threads: u32,
    /// Whether writes go through the write-ahead log.
    pub wal: bool,
    /// Operations of the short run, over all threads. In a read it is enough to bring every block into the
    /// cache, so that the long run has no more misses than the short one.
    pub short: u64,
    /// Operations of the long run.
    pub long: u64,
}

impl Case {
    /// `readrandom-2`: the test and its threads.
    pub fn name(&self) -> String {
        format!("{}-{}", self.test, self.threads)
    }

    /// Whether it starts with an empty directory.
    pub fn fills(&self) -> bool {
        self.operation == Operation::FillSequential
    }

    /// Whether it changes the database, so that background work has to be waited for.
    pub fn writes(&self) -> bool {
        self.operation.writes()
    }

    /// Operations that the long run has more than the short one.
    pub fn difference(&self) -> u64 {
        self.long - self.short
    }
}

const READ: Case = Case {
    test: "readrandom",
    operation: Operation::ReadRandom,
    threads: 1,
    wal: true,
    short: 300_000,
    long: 1_000_000,
};
const SEEK: Case = Case {
    test: "seekrandom",
    operation: Operation::SeekRandom { nexts: 10, direction: Direction::Forward, among_keys: None },
    threads: 1,
    wal: true,
    short: 200_000,
    long: 500_000,
};
const OVERWRITE: Case = Case {
    test: "overwrite",
    operation: Operation::Overwrite,
    threads: 1,
    wal: true,
    short: 50_000,
    long: 900_000,
};
const FILL: Case = Case {
    test: "fillseq",
    operation: Operation::FillSequential,
    threads: 1,
    wal: false,
    short: 100_000,
    long: 1_300_000,
};

/// All cases. On a machine of 2020 long runs take 2 to 10 s of CPU.
pub const CASES: [Case; 7] = [
    READ,
    Case { threads: 2, ..READ },
    SEEK,
    Case { threads: 2, ..SEEK },
    FILL,
    OVERWRITE,
    Case { threads: 2, ..OVERWRITE },
];
