//! A visit by the user's own db_bench: which program is called with which flags, step after step. Pure.
//!
//! Every step is an invocation of its own, also where a sequence would go on in one process: flags hold for all
//! benchmarks of an invocation. Engine options become the flags of the same meaning; those without one are told.

use super::visits::Visit;
use crate::campaign::action::{Action, DATABASE, Line, Meaning, Part, Role, WorkerId};
use crate::campaign::draws::data_seed;
use model::block::TrialKey;
use model::block_cache::{self, BLOCK_CACHE};
use model::config::{Options, overlaid};
use model::plan::Plan;
use model::wire::BlockLimit;
use model::workload::{Direction, Operation, Settle, Step};

/// The script of a visit.
pub fn script(plan: &Plan, visit: Visit, steps: &[&Step]) -> Vec<Line> {
    let worker = WorkerId { role: Role::Writer, side: visit.side, slot: 0 };
    let line = |step: Option<&Step>, meaning, action| Line {
        part: Part::Visit,
        step: step.map(|step| step.name.clone()),
        meaning,
        action,
    };
    let make = Action::MakeDirectories { launch: visit.launch, workers: vec![worker] };
    let mut lines = vec![line(None, Meaning::Done, make)];
    for (step, index) in steps.iter().zip(0..) {
        if step.operation.fills() && index > 0 {
            lines.push(line(Some(step), Meaning::Done, Action::RemoveDatabase { worker }));
        }
        if step.cold {
            lines.push(line(Some(step), Meaning::Done, Action::Evict { worker }));
        }
        let run = Action::RunDbBench {
            worker,
            trial: TrialKey { launch: visit.launch, step: step.name.clone(), side: visit.side },
            position: visit.position,
            benchmark: benchmark(step).to_owned(),
            arguments: arguments(plan, visit, step),
            timeout: step.timeout(&plan.workload.data),
        };
        lines.push(line(Some(step), Meaning::DbBench, run));
    }
    lines.push(line(None, Meaning::Done, Action::RemoveDirectories { workers: vec![worker] }));
    lines
}

/// The benchmark of db_bench that a step is.
pub fn benchmark(step: &Step) -> &'static str {
    let writes_meanwhile = step.background_write_bytes_per_s.is_some();
    match step.operation {
        Operation::FillSequential => "fillseq",
        Operation::FillRandom => "fillrandom",
        Operation::Overwrite => "overwrite",
        Operation::ReadRandom if writes_meanwhile => "readwhilewriting",
        Operation::ReadRandom => "readrandom",
        Operation::MultiRead { .. } => "multireadrandom",
        Operation::ReadSequential { .. } => "readseq",
        Operation::SeekRandom { .. } if writes_meanwhile => "seekrandomwhilewriting",
        Operation::SeekRandom { .. } => "seekrandom",
        Operation::Compact => "compact",
        Operation::Settle => "flush",
        Operation::BuildFiles { .. }
        | Operation::LoadTables
        | Operation::BuildIndexes
        | Operation::Transaction(_)
        | Operation::LayOutFile
        | Operation::Fio(_) => {
            unreachable!("a plan that names a db_bench for steps that it has not is refused")
        }
    }
}

fn arguments(plan: &Plan, visit: Visit, step: &Step) -> Vec<String> {
    let data = &plan.workload.data;
    let mut benchmarks = vec![benchmark(step)];
    benchmarks.extend(settling(step));
    benchmarks.push("stats");
    let threads = u64::from(step.threads);
    let mut flags = vec![
        format!("--benchmarks={}", benchmarks.join(",")),
        format!("--db={DATABASE}"),
        format!("--use_existing_db={}", !step.operation.fills()),
        format!("--num={}", step.operation.keys_drawn(data.keys)),
        format!("--key_size={}", data.key_bytes),
        format!("--value_size={}", data.value_bytes),
        format!("--compression_ratio={}", 1.0 - f64::from(data.value_compressible_percent) / 100.0),
        format!("--threads={}", step.threads),
        format!("--disable_wal={}", !step.wal),
        format!("--sync={}", step.sync),
        format!("--statistics={}", plan.layout.tickers),
        format!("--seed={}", data_seed(plan.seed, visit.launch) >> 1),
        "--histogram=true".to_owned(),
        "--stats_interval=1000000000".to_owned(),
    ];
    match step.limit(data) {
        BlockLimit::Time { wall } => flags.push(format!("--duration={}", wall.as_secs_f64().ceil())),
        // A fill writes all keys and a pass reads them, and the other two are one operation.
        BlockLimit::Operations { .. }
            if step.operation.fills()
                || matches!(
                    step.operation,
                    Operation::Compact | Operation::Settle | Operation::ReadSequential { one_pass: true }
                ) => {}
        BlockLimit::Operations { count } => {
            let kind = if step.operation.writes() { "writes" } else { "reads" };
            flags.push(format!("--{kind}={}", count.div_ceil(threads)));
        }
    }
    match step.operation {
        Operation::SeekRandom { nexts, direction, among_keys: _ } => {
            flags.push(format!("--seek_nexts={nexts}"));
            flags.push(format!("--reverse_iterator={}", direction == Direction::Reverse));
        }
        Operation::MultiRead { batch } => {
            flags.push(format!("--batch_size={batch}"));
            flags.push("--multiread_batched=true".to_owned());
            // Before 7.0 there is no such flag, and one way to read several keys.
            flags.push("--undefok=multiread_batched".to_owned());
        }
        Operation::FillSequential
        | Operation::FillRandom
        | Operation::Overwrite
        | Operation::ReadRandom
        | Operation::ReadSequential { .. }
        | Operation::BuildFiles { .. }
        | Operation::Compact
        | Operation::Settle
        | Operation::LoadTables
        | Operation::BuildIndexes
        | Operation::Transaction(_)
        | Operation::LayOutFile
        | Operation::Fio(_) => {}
    }
    if let Some(bytes_per_s) = step.background_write_bytes_per_s {
        flags.push(format!("--benchmark_write_rate_limit={bytes_per_s}"));
    }
    let options = overlaid(&plan.subjects[visit.side].options, &step.options);
    flags.extend(options.iter().flat_map(|(name, value)| flags_for(name, value)));
    flags
}

/// The benchmarks that bring the tree to a shape.
fn settling(step: &Step) -> Vec<&'static str> {
    match step.settle {
        // The last is of SQL servers, which db_bench knows nothing of.
        Settle::None | Settle::Postwrite => Vec::new(),
        Settle::Flushed if step.only_settles() => Vec::new(),
        Settle::Flushed => vec!["flush"],
        Settle::Drained => vec!["flush", "waitforcompaction"],
        Settle::Level0Compacted => vec!["flush", "waitforcompaction", "compact0", "waitforcompaction"],
        Settle::FullyCompacted => vec!["flush", "compact", "waitforcompaction"],
    }
}

/// Options of the engine with a flag of the same name.
const SAME_NAME: [&str; 28] = [
    "allow_concurrent_memtable_write",
    "bytes_per_sync",
    "cache_type",
    "compaction_readahead_size",
    "delayed_write_rate",
    "delete_obsolete_files_period_micros",
    "disable_auto_compactions",
    "enable_blob_files",
    "enable_pipelined_write",
    "hard_pending_compaction_bytes_limit",
    "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger",
    "level_compaction_dynamic_level_bytes",
    "max_background_jobs",
    "max_bytes_for_level_base",
    "max_bytes_for_level_multiplier",
    "max_total_wal_size",
    "max_write_buffer_number",
    "min_blob_size",
    "num_levels",
    "soft_pending_compaction_bytes_limit",
    "table_cache_numshardbits",
    "target_file_size_base",
    "use_direct_io_for_flush_and_compaction",
    "use_direct_reads",
    "wal_bytes_per_sync",
    "write_buffer_size",
];

/// Options of the engine with a flag of another name.
const OTHER_NAME: [(&str, &str); 8] = [
    ("blob_file_size", "blob_file_size"),
    ("block_based_table_factory.block_size", "block_size"),
    ("block_based_table_factory.cache_index_and_filter_blocks", "cache_index_and_filter_blocks"),
    ("block_based_table_factory.format_version", "format_version"),
    (
        "block_based_table_factory.pin_l0_filter_and_index_blocks_in_cache",
        "pin_l0_filter_and_index_blocks_in_cache",
    ),
    ("max_open_files", "open_files"),
    ("max_subcompactions", "subcompactions"),
    ("memtable", "memtablerep"),
];

/// Names of values: the engine's, db_bench's.
type Names = &'static [(&'static str, &'static str)];

/// Options whose values have other names in db_bench.
const VALUES: [(&str, &str, Names); 3] = [
    (
        "compression",
        "compression_type",
        &[
            ("kNoCompression", "none"),
            ("kSnappyCompression", "snappy"),
            ("kLZ4Compression", "lz4"),
            ("kZSTD", "zstd"),
        ],
    ),
    (
        "compaction_style",
        "compaction_style",
        &[("kCompactionStyleLevel", "0"), ("kCompactionStyleUniversal", "1")],
    ),
    (
        "compaction_pri",
        "compaction_pri",
        &[("kByCompensatedSize", "0"), ("kMinOverlappingRatio", "3"), ("kRoundRobin", "4")],
    ),
];

/// Settings of a block cache, and their flags.
const CACHE: [(&str, &str); 3] = [
    ("capacity", "cache_size"),
    ("num_shard_bits", "cache_numshardbits"),
    ("high_pri_pool_ratio", "cache_high_pri_pool_ratio"),
];

/// The flags for an option; none where db_bench has none.
fn flags_for(name: &str, value: &str) -> Vec<String> {
    if name != BLOCK_CACHE {
        return flag(name, value).into_iter().collect();
    }
    let flag = |(setting, value): (&str, &str)| {
        let (_, flag) = CACHE.iter().find(|(known, _)| *known == setting)?;
        Some(format!("--{flag}={value}"))
    };
    block_cache::settings(value).into_iter().filter_map(flag).collect()
}

/// The flag for an option that is one setting; absent where db_bench has none.
fn flag(name: &str, value: &str) -> Option<String> {
    if SAME_NAME.contains(&name) {
        return Some(format!("--{name}={value}"));
    }
    if let Some((_, flag)) = OTHER_NAME.iter().find(|(option, _)| *option == name) {
        return Some(format!("--{flag}={value}"));
    }
    if let Some((_, flag, values)) = VALUES.iter().find(|(option, _, _)| *option == name) {
        let (_, value) = values.iter().find(|(known, _)| *known == value)?;
        return Some(format!("--{flag}={value}"));
    }
    if name == "compression_per_level" {
        return Some(format!("--min_level_to_compress={}", uncompressed_levels(value)?));
    }
    // bloomfilter:10:false
    let bits =
        (name == "block_based_table_factory.filter_policy").then(|| value.split(':').nth(1)).flatten()?;
    Some(format!("--bloom_bits={bits}"))
}

/// The levels before the first that is compressed, if all after it are compressed alike: what db_bench can be told.
fn uncompressed_levels(per_level: &str) -> Option<usize> {
    let codecs: Vec<&str> = per_level.split(':').filter(|codec| !codec.is_empty()).collect();
    let first = codecs.iter().position(|codec| *codec != "kNoCompression").unwrap_or(0);
    codecs[first..].windows(2).all(|pair| pair[0] == pair[1]).then_some(first)
}

/// The options for which db_bench has no flag: it runs with its own values of these.
pub fn without_flag(options: &Options) -> Vec<&str> {
    options
        .iter()
        .filter(|(name, value)| flags_for(name, value).is_empty())
        .map(|(name, _)| name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::samples;
    use model::units::Nanos;
    use model::workload::Extent;

    fn flags_of(step: usize, change: impl FnOnce(&mut Plan)) -> Vec<String> {
        let mut plan = samples::plan(&["rocksdb@8.5.4"], &["fillseq", "overwrite"], Nanos(0));
        change(&mut plan);
        arguments(&plan, Visit { launch: 1, side: 0, position: 0 }, &plan.workload.steps[step])
    }

    #[test]
    fn a_step_becomes_the_flags_of_the_same_meaning() {
        let fill = flags_of(0, |_| {});
        for flag in [
            "--benchmarks=fillseq,flush,waitforcompaction,stats",
            "--use_existing_db=false",
            "--disable_wal=true",
        ] {
            assert!(fill.iter().any(|found| found == flag), "{flag} is not in {fill:?}");
        }
        let overwrite = flags_of(1, |plan| {
            plan.workload.steps[1].extent = Extent::Operations { count: 1001 };
            plan.workload.steps[1].threads = 2;
        });
        for flag in ["--benchmarks=overwrite,stats", "--writes=501", "--threads=2", "--use_existing_db=true"]
        {
            assert!(overwrite.iter().any(|found| found == flag), "{flag} is not in {overwrite:?}");
        }
    }

    #[test]
    fn engine_options_become_flags_and_those_without_one_are_named() {
        let option = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let options: Options = [
            ("compression", "kLZ4Compression"),
            ("block_based_table_factory.filter_policy", "bloomfilter:10:false"),
            (BLOCK_CACHE, "{capacity=1024;num_shard_bits=6;high_pri_pool_ratio=0.5;}"),
            ("arena_block_size", "1048576"),
        ]
        .into_iter()
        .map(option)
        .collect();
        let flags: Vec<String> = options.iter().flat_map(|(name, value)| flags_for(name, value)).collect();
        let of_cache = ["--cache_size=1024", "--cache_numshardbits=6", "--cache_high_pri_pool_ratio=0.5"];
        assert_eq!(flags[..3], of_cache);
        assert_eq!(flags[3..], ["--bloom_bits=10", "--compression_type=lz4"]);
        assert_eq!(flags_for(BLOCK_CACHE, "1024"), ["--cache_size=1024"]);
        assert_eq!(without_flag(&options), ["arena_block_size"]);
        let per_level = |value: &str| flags_for("compression_per_level", value);
        let lz4 = "kNoCompression:kNoCompression:kLZ4Compression:kLZ4Compression";
        assert_eq!(per_level(lz4), ["--min_level_to_compress=2"]);
        assert_eq!(per_level(""), ["--min_level_to_compress=0"], "all levels as `compression` says");
        assert!(per_level("kLZ4Compression:kZSTD").is_empty());
    }
}
