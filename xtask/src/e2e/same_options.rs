//! Cases that hold our options against those of the program that the posts ran: what differs is what the page of the workload lists, no more and
//! no less. Workloads that are not among them differ from one of these in their cache or their codecs alone, which tests of the workloads say.

use super::campaigns::DB_BENCH;
use super::fake_engine::opened;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use crate::bench::{library_of, same_options};
use anyhow::{Context, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("same options as db_bench in rocksdb.byrx", |scratch| as_db_bench(scratch, &BYRX))
            .shares_host(),
        Case::new("same options as db_bench in rocksdb.iobuf", |scratch| as_db_bench(scratch, &IOBUF))
            .shares_host(),
        Case::new("same options as db_bench in rocksdb.iodir", |scratch| as_db_bench(scratch, &IODIR))
            .shares_host(),
        Case::new("same options as db_bench in rocksdb.2021", |scratch| as_db_bench(scratch, &OF_2021))
            .shares_host(),
    ]
}

/// A workload, and how the scripts start db_bench for it.
struct Classic {
    workload: &'static str,
    /// Flags of all steps; of two of one name db_bench takes the last.
    flags: [&'static [&'static str]; 2],
    /// Those of the step that fills the database, beside them.
    fill: &'static [&'static str],
    /// Sections of pages that list together what differs in `readrandom`.
    listed: &'static [Section],
    /// The section that lists what differs in the fill and in no other step, if it has options of its own.
    listed_of_fill: Option<Section>,
}

/// A page and the heading of one of its sections.
struct Section(&'static str, &'static str);

const OF_SEQUENCE: Section =
    Section("docs/workloads/sequence-rocksdb-2022.md", "### Options that differ from db_bench's");
const OF_FILLSEQ: Section =
    Section("docs/workloads/sequence-rocksdb-2022.md", "### Options that differ in fillseq alone");

const BYRX: Classic = Classic {
    workload: "rocksdb.byrx",
    flags: [&FLAGS, &[]],
    fill: &FILLSEQ,
    listed: &[OF_SEQUENCE],
    listed_of_fill: Some(OF_FILLSEQ),
};

const IOBUF: Classic = Classic {
    workload: "rocksdb.iobuf",
    flags: [&FLAGS, &["--compression_type=lz4", "--min_level_to_compress=3"]],
    fill: &FILLSEQ,
    listed: &[OF_SEQUENCE],
    listed_of_fill: Some(Section(
        "docs/workloads/rocksdb.iobuf.md",
        "## Options that differ from db_bench's in fillseq alone",
    )),
};

/// Its fill is that of `iobuf`.
const IODIR: Classic = Classic {
    workload: "rocksdb.iodir",
    listed: &[
        OF_SEQUENCE,
        Section("docs/workloads/rocksdb.iodir.md", "## Options that differ from db_bench's with direct IO"),
    ],
    flags: [
        &FLAGS,
        &[
            "--compression_type=lz4",
            "--min_level_to_compress=3",
            "--use_direct_reads=1",
            "--use_direct_io_for_flush_and_compaction=1",
            "--prepopulate_block_cache=1",
            "--bytes_per_sync=0",
        ],
    ],
    ..IOBUF
};

const OF_2021: Classic = Classic {
    workload: "rocksdb.2021",
    flags: [&FLAGS_2021, &[]],
    fill: &["--benchmarks=fillrandom"],
    listed: &[Section("docs/workloads/rocksdb.2021.md", "## Options that differ from db_bench's")],
    listed_of_fill: None,
};

/// What benchmark.sh adds for the load.
const FILLSEQ: [&str; 5] = [
    "--benchmarks=fillseq",
    "--memtablerep=vector",
    "--allow_concurrent_memtable_write=false",
    "--disable_wal=1",
    "--min_level_to_compress=0",
];
const READRANDOM: [&str; 3] = ["--benchmarks=readrandom", "--use_existing_db=1", "--reads=10"];

/// The flags that all3.sh gives to every step, with the sizes of the post.
const FLAGS_2021: [&str; 35] = [
    "--num=1000",
    "--key_size=8",
    "--value_size=64",
    "--stats_per_interval=1",
    "--stats_interval_seconds=10",
    "--max_write_buffer_number=4",
    "--write_buffer_size=8388608",
    "--target_file_size_base=8388608",
    "--max_background_compactions=2",
    "--max_background_flushes=2",
    "--cache_index_and_filter_blocks=1",
    "--pin_l0_filter_and_index_blocks_in_cache=1",
    "--block_size=8192",
    "--cache_size=67108864",
    "--level_compaction_dynamic_level_bytes=1",
    "--max_bytes_for_level_base=33554432",
    "--compression_type=none",
    "--min_level_to_compress=3",
    "--bytes_per_sync=8388608",
    "--wal_bytes_per_sync=8388608",
    "--statistics=0",
    "--histogram=0",
    "--bloom_bits=10",
    "--open_files=45000",
    "--sync=0",
    "--disable_wal=0",
    "--compaction_pri=3",
    "--max_total_wal_size=1073741824",
    "--verify_checksum=1",
    "--allow_concurrent_memtable_write",
    "--max_bytes_for_level_multiplier=8",
    "--level0_file_num_compaction_trigger=4",
    "--level0_slowdown_writes_trigger=16",
    "--level0_stop_writes_trigger=20",
    "--hard_pending_compaction_bytes_limit=128849018880",
];

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
const HEADING: &str = "| option | db_bench 7.8.3 | here | why |";
/// Bytes of the block cache on both sides.
const CACHE: &str = "67108864";

/// The OPTIONS file and the LOG of db_bench as the scripts start it, and those of our worker on the same library, in the step that reads; and what
/// the step that fills has otherwise than that one.
fn as_db_bench(scratch: &Scratch, classic: &Classic) -> anyhow::Result<Ending> {
    let program = Path::new(DB_BENCH);
    if !program.exists() {
        return Ok(Ending::NotHere { reason: format!("no `{DB_BENCH}` (package rocksdb-tools)") });
    }
    let theirs = scratch.path("theirs");
    let run = |flags: &[&str]| -> anyhow::Result<String> {
        let mut command = Command::new(program);
        command.arg(format!("--db={}", theirs.display())).args(classic.flags.concat()).args(flags);
        let output = command.output().context("failed to start db_bench")?;
        ensure!(output.status.success(), "db_bench: {}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(theirs.join("LOG")).context("db_bench has left no LOG")
    };
    let [their_fill, their_read] = [run(classic.fill)?, run(&READRANDOM)?];
    let of_db_bench = same_options::of_directory(&theirs)?;
    fs::remove_dir_all(&theirs)?;
    run_ours(scratch, classic.workload, program)?;
    let (logs, ours) = of_our_run(scratch)?;
    let [our_fill, .., our_read] = &logs[..] else {
        bail!("the run has kept the LOGs of fewer than two steps")
    };

    let mut listed = BTreeMap::new();
    for section in classic.listed {
        listed.extend(section.options()?);
    }
    // A row of a later section with one value on both sides says that what differs elsewhere is the same here.
    for (name, [value, _]) in listed.extract_if(.., |_, [theirs, ours]| theirs == ours) {
        ensure!(
            of_db_bench.get(&name) == Some(&value),
            "db_bench has no `{name}` of {value}, as the page says"
        );
    }
    must_be(&same_options::differing(&of_db_bench, &ours), &listed, "readrandom")?;
    let in_every_step = differing_of_logs(&their_read, our_read);
    let mut of_fill = differing_of_logs(&their_fill, our_fill);
    of_fill.retain(|name, values| in_every_step.get(name) != Some(values));
    let listed = classic.listed_of_fill.as_ref().map_or(Ok(BTreeMap::new()), Section::options)?;
    must_be(&of_fill, &listed, "the step that fills, and there alone")?;
    Ok(Ending::Passed)
}

type Differing = BTreeMap<String, [String; 2]>;

fn differing_of_logs(theirs: &str, ours: &str) -> Differing {
    same_options::differing(&same_options::of_log(theirs), &same_options::of_log(ours))
}

fn must_be(differing: &Differing, listed: &Differing, step: &str) -> anyhow::Result<()> {
    ensure!(
        differing == listed,
        "these options differ in {step}, and the page lists others:\n{}\nlisted:\n{}",
        rows(differing),
        rows(listed)
    );
    Ok(())
}

/// A campaign of the workload with few keys and the small cache, up to `readrandom`.
fn run_ours(scratch: &Scratch, workload: &str, db_bench: &Path) -> anyhow::Result<()> {
    let shown = Call::new(scratch, ["workload", "show", workload]).succeeds()?.stdout;
    let is_sized = |line: &str| line.starts_with("keys = ") || line.contains("{capacity=");
    let sized = shown.lines().map(|line| match line.split_once("{capacity=") {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
            format!("{before}{{capacity={CACHE}{rest}\n")
        }
        None if is_sized(line) => "keys = 1000\n".to_owned(),
        None => format!("{line}\n"),
    });
    let small: String = sized.collect();
    ensure!(shown.lines().filter(|line| is_sized(line)).count() == 2, "no keys and no cache: {shown}");
    let workload = scratch.write("small.toml", &small)?;
    Call::new(scratch, ["engine", "add", "deb"]).own_cache().and([library_of(db_bench)?]).succeeds()?;
    let plan = format!(
        "name = \"options\"\nworkloads = [\"{}\"]\nsubjects = [\"rocksdb@deb\"]\nsteps = [\"readrandom\"]\nrounds = 1\nseed = 1\n\
         design = \"rounds\"\nscale = {{ read_seconds = 0.2, write_seconds = 0.2 }}\n",
        workload.display()
    );
    let plan = scratch.write("plan.toml", &plan)?;
    Call::new(scratch, ["run", "--no-fingerprint"]).own_cache().and([plan]).succeeds()?;
    Ok(())
}

fn rows(options: &Differing) -> String {
    options.iter().map(|(name, [theirs, ours])| format!("| `{name}` | {theirs} | {ours} | |\n")).collect()
}

/// The LOG of each process of the run's, in their order, and the options that the worker's database had in the last one.
fn of_our_run(scratch: &Scratch) -> anyhow::Result<(Vec<String>, BTreeMap<String, String>)> {
    let store = opened(&scratch.data().join("dbdyno/dbdyno.sqlite"))?;
    let texts = |name: &str| -> anyhow::Result<Vec<String>> {
        let mut kept =
            store.prepare("SELECT text FROM raw_outputs WHERE name = ?1 ORDER BY raw_output_key")?;
        let texts = kept.query_map([name], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(texts)
    };
    let (options, logs) = (texts("OPTIONS")?, texts("write/LOG")?);
    let last = options.last().zip(logs.last()).context("the run has kept no OPTIONS file or no LOG")?;
    let ours = same_options::of_texts(last.0, last.1).context("the LOG of the run has no table options")?;
    Ok((logs, ours))
}

impl Section {
    /// The rows of its table; none if it has no table.
    fn options(&self) -> anyhow::Result<Differing> {
        let Section(page, heading) = *self;
        let text = fs::read_to_string(crate::workspace::root()?.join(page))
            .with_context(|| format!("failed to read `{page}`"))?;
        let mut lines = text.lines().skip_while(|line| *line != heading);
        ensure!(lines.next().is_some(), "`{page}` has no section `{heading}`");
        let section = lines.take_while(|line| !line.starts_with('#'));
        let rows =
            section.skip_while(|line| *line != HEADING).skip(2).take_while(|line| line.starts_with('|'));
        let cells = |row: &str| -> Option<(String, [String; 2])> {
            let mut cells =
                row.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned());
            Some((cells.next()?, [cells.next()?, cells.next()?]))
        };
        Ok(rows.filter_map(cells).collect())
    }
}
