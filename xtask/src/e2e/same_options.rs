//! A case that holds our options against those of the program that the posts ran: what differs is what the page of the workload lists, no more and
//! no less.

use super::campaigns::DB_BENCH;
use super::fake_engine::opened;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use crate::bench::{library_of, same_options};
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

pub fn cases() -> Vec<Case> {
    vec![Case::new("same options as db_bench", as_db_bench)]
}

/// The flags that benchmark.sh gives to every step of `byrx`, and those that it gives to all steps with leveled compaction.
const FLAGS: [&str; 44] = [
    "--num=1000",
    "--key_size=20",
    "--value_size=400",
    "--block_size=8192",
    "--cache_size=67108864",
    "--cache_numshardbits=6",
    "--compression_max_dict_bytes=0",
    "--compression_ratio=0.5",
    "--compression_type=none",
    "--bytes_per_sync=1048576",
    "--cache_index_and_filter_blocks=1",
    "--cache_high_pri_pool_ratio=0.5",
    "--cache_low_pri_pool_ratio=0",
    "--partition_index_and_filters=0",
    "--pin_top_level_index_and_filter=0",
    "--metadata_block_size=16384",
    "--write_buffer_size=16777216",
    "--target_file_size_base=16777216",
    "--max_bytes_for_level_base=67108864",
    "--verify_checksum=1",
    "--delete_obsolete_files_period_micros=62914560",
    "--max_bytes_for_level_multiplier=8",
    "--statistics=0",
    "--stats_interval_seconds=20",
    "--histogram=1",
    "--memtablerep=skip_list",
    "--bloom_bits=10",
    "--open_files=-1",
    "--subcompactions=1",
    "--compaction_style=0",
    "--num_levels=8",
    "--min_level_to_compress=-1",
    "--level_compaction_dynamic_level_bytes=true",
    "--pin_l0_filter_and_index_blocks_in_cache=1",
    "--level0_file_num_compaction_trigger=4",
    "--level0_slowdown_writes_trigger=20",
    "--level0_stop_writes_trigger=30",
    "--max_write_buffer_number=8",
    "--max_background_jobs=3",
    "--sync=0",
    "--threads=1",
    "--allow_concurrent_memtable_write=1",
    "--seed=1",
    "--disable_wal=0",
];
/// The page with the table of options that differ.
const PAGE: &str = "docs/workloads/sequence-rocksdb-2022.md";
const HEADING: &str = "| option | db_bench 7.8.3 | here | why |";

/// The OPTIONS file of db_bench as the scripts start it, and that of our worker on the same library, in the step that reads.
fn as_db_bench(scratch: &Scratch) -> anyhow::Result<Ending> {
    let program = Path::new(DB_BENCH);
    if !program.exists() {
        return Ok(Ending::NotHere { reason: format!("no `{DB_BENCH}` (package rocksdb-tools)") });
    }
    let theirs = scratch.path("theirs");
    for benchmark in
        [&["--benchmarks=fillseq"][..], &["--benchmarks=readrandom", "--use_existing_db=1", "--reads=10"]]
    {
        let output = Command::new(program)
            .arg(format!("--db={}", theirs.display()))
            .args(FLAGS)
            .args(benchmark)
            .output()
            .context("failed to start db_bench")?;
        ensure!(output.status.success(), "db_bench: {}", String::from_utf8_lossy(&output.stderr));
    }
    let shown = Call::new(scratch, ["workload", "show", "rocksdb.byrx"]).succeeds()?.stdout;
    let small = shown
        .replace("keys = 10_000_000", "keys = 1000")
        .replace("capacity=10737418240", "capacity=67108864");
    ensure!(
        !small.contains("10737418240") && !small.contains("10_000_000"),
        "the workload has other sizes: {shown}"
    );
    let workload = scratch.write("byrx.toml", &small)?;
    Call::new(scratch, ["engine", "add", "deb"]).own_cache().and([library_of(program)?]).succeeds()?;
    let plan = format!(
        "name = \"options\"\nworkloads = [\"{}\"]\nsubjects = [\"rocksdb@deb\"]\nsteps = [\"readrandom\"]\nrounds = 1\nseed = 1\n\
         design = \"rounds\"\nscale = {{ read_seconds = 1 }}\n",
        workload.display()
    );
    let plan = scratch.write("plan.toml", &plan)?;
    Call::new(scratch, ["run"]).own_cache().and([plan]).succeeds()?;
    let ours = of_our_run(scratch)?;
    let of_db_bench = same_options::of_directory(&theirs)?;
    fs::remove_dir_all(&theirs)?;
    let differing: BTreeMap<String, [String; 2]> = same_options::differing(&of_db_bench, &ours);
    let root = crate::workspace::root()?;
    let page = fs::read_to_string(root.join(PAGE)).with_context(|| format!("failed to read `{PAGE}`"))?;
    let listed = listed(&page);
    ensure!(
        differing == listed,
        "these options differ, and {PAGE} lists others:\n{}\nlisted:\n{}",
        rows(&differing),
        rows(&listed)
    );
    Ok(Ending::Passed)
}

fn rows(options: &BTreeMap<String, [String; 2]>) -> String {
    options.iter().map(|(name, [theirs, ours])| format!("| `{name}` | {theirs} | {ours} | |\n")).collect()
}

/// The options that the worker's database had, as the run keeps them.
fn of_our_run(scratch: &Scratch) -> anyhow::Result<BTreeMap<String, String>> {
    let store = opened(&scratch.data().join("dbdyno/dbdyno.sqlite"))?;
    let text = |name: &str| -> anyhow::Result<String> {
        store
            .query_row(
                "SELECT text FROM raw_outputs WHERE name LIKE ?1 ORDER BY raw_output_key DESC LIMIT 1",
                [name],
                |row| row.get(0),
            )
            .with_context(|| format!("the run has kept no `{name}`"))
    };
    same_options::of_texts(&text("OPTIONS")?, &text("write/LOG")?)
        .context("the LOG of the run has no table options")
}

/// The rows of the table of the page.
fn listed(page: &str) -> BTreeMap<String, [String; 2]> {
    let rows =
        page.lines().skip_while(|line| *line != HEADING).skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| -> Option<(String, [String; 2])> {
        let mut cells =
            row.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned());
        Some((cells.next()?, [cells.next()?, cells.next()?]))
    };
    rows.filter_map(cells).collect()
}
