//! Whether two databases were opened with the same options: by the OPTIONS files that the engine wrote, and by
//! the table options in its LOG, which tell of the block cache what the OPTIONS file does not.

use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Options that may differ, each with its reason.
const HARMLESS: &[&str] = &[
    "listeners",                      // db_bench's own, called when background work fails
    "create_if_missing",              // used when opening
    "create_missing_column_families", // used when opening
    "error_if_exists",                // used when opening
    "compaction_options_fifo",        // the style is level
];

/// An error that lists every option that differs.
pub fn check(db_bench: &Path, worker: &Path) -> anyhow::Result<()> {
    let shown =
        |(name, [theirs, ours]): (String, [String; 2])| format!("{name}: {theirs} in db_bench, {ours} here");
    let differing: Vec<String> =
        differing(&of_directory(db_bench)?, &of_directory(worker)?).into_iter().map(shown).collect();
    ensure!(
        differing.is_empty(),
        "db_bench and the worker ran with different options; align the flags in cases.rs:\n  {}",
        differing.join("\n  ")
    );
    Ok(())
}

/// The options of a database, by what lies in its directory.
pub fn of_directory(directory: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let shown = directory.display();
    let mut files: Vec<String> = fs::read_dir(directory)
        .with_context(|| format!("failed to list `{shown}`"))?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("OPTIONS-") && !name.ends_with(".dbtmp"))
        .collect();
    files.sort(); // the numbers have six digits: the last is the newest
    let newest = files.last().with_context(|| format!("there is no OPTIONS file in `{shown}`"))?;
    let read = |name: &str| {
        let path = directory.join(name);
        fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))
    };
    of_texts(&read(newest)?, &read("LOG")?)
        .with_context(|| format!("the LOG in `{shown}` has no table options"))
}

/// The options of an OPTIONS file and of the LOG beside it; none if the LOG has no table options.
pub fn of_texts(options: &str, log: &str) -> Option<BTreeMap<String, String>> {
    let mut options = options_file(options);
    let cache = table_options(log);
    let has_any = !cache.is_empty();
    options.extend(cache);
    has_any.then_some(options)
}

/// `name=value` lines below `[Section "name"]` lines; comments begin with `#`. RocksDB 7.8.3:
///
/// ```text
/// [DBOptions]
///   max_background_jobs=2
/// [TableOptions/BlockBasedTable "default"]
/// ```
fn options_file(text: &str) -> BTreeMap<String, String> {
    let mut section = "";
    let mut options = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some((name, value)) = line.split_once('=')
            && !line.starts_with('#')
        {
            options.insert(format!("{section} {name}"), value.to_owned());
        }
    }
    options
}

/// The lines after the one that says `table_factory options:`, up to the next one with a time stamp. Addresses
/// differ in each process and are left out. RocksDB 7.8.3:
///
/// ```text
///   block_cache_options:
///     capacity : 536870912
///   block_size: 8192
/// ```
fn table_options(log: &str) -> BTreeMap<String, String> {
    log.lines()
        .skip_while(|line| !line.contains("table_factory options:"))
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (format!("LOG {}", name.trim()), value.trim().to_owned()))
        .filter(|(_, value)| !value.contains("0x"))
        .collect()
}

/// All options that a LOG tells of, those of the table too. Lists are a line for each level, and so one option here; addresses are left out.
/// RocksDB 7.8.3:
///
/// ```text
/// 2026/11/27-20:55:02.504384 30220        Options.use_direct_reads: 1
/// 2026/11/27-20:55:02.532284 30220        Options.compression[0]: LZ4
/// ```
pub fn of_log(log: &str) -> BTreeMap<String, String> {
    let mut options = table_options(log);
    let lines = log.lines().filter_map(|line| line.split_once(" Options.")?.1.split_once(':'));
    for (name, value) in lines.filter(|(_, value)| !value.contains("0x")) {
        let (name, value) = (name.trim(), value.trim());
        match name.split_once('[') {
            None => {
                options.insert(format!("LOG Options.{name}"), value.to_owned());
            }
            Some((list, _)) => {
                let all = options.entry(format!("LOG Options.{list}[]")).or_default();
                *all = if all.is_empty() { value.to_owned() } else { format!("{all}:{value}") };
            }
        }
    }
    options
}

/// Options that are not the same, each as db_bench and as the worker has it; without the harmless ones.
pub fn differing(
    db_bench: &BTreeMap<String, String>,
    worker: &BTreeMap<String, String>,
) -> BTreeMap<String, [String; 2]> {
    let is_harmless =
        |name: &str| name.rsplit([' ', '.']).next().is_some_and(|last| HARMLESS.contains(&last));
    let shown = |value: Option<&String>| value.map_or("absent", String::as_str).to_owned();
    let names = db_bench.keys().chain(worker.keys());
    names
        .filter(|name| db_bench.get(*name) != worker.get(*name) && !is_harmless(name))
        .map(|name| (name.clone(), [shown(db_bench.get(name)), shown(worker.get(name))]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_differ_are_listed_and_harmless_ones_are_not() {
        let file = |jobs: u32, create: bool| {
            options_file(&format!(
                "# a=b\n[DBOptions]\n  max_background_jobs={jobs}\n  create_if_missing={create}\n"
            ))
        };
        assert!(differing(&file(2, true), &file(2, false)).is_empty());
        let log = |create: u8| of_log(&format!("2026/11/27 30220  Options.create_if_missing: {create}\n"));
        assert!(log(0) != log(1) && differing(&log(0), &log(1)).is_empty());
        let jobs = ("[DBOptions] max_background_jobs".to_owned(), ["2", "4"].map(str::to_owned));
        assert_eq!(differing(&file(2, true), &file(4, true)), BTreeMap::from([jobs]));
    }

    #[test]
    fn all_options_are_read_from_the_log_with_lists_as_one() {
        let log = "2026/11/27-20:55:02.504365 30220            Options.env: 0x7f95c80ed5a0\n\
                   2026/11/27-20:55:02.504412 30220            Options.delayed_write_rate : 8388608\n\
                   2026/11/27-20:55:02.532284 30220        Options.compression[0]: LZ4\n\
                   2026/11/27-20:55:02.532285 30220        Options.compression[1]: ZSTD\n\
                   2026/11/27-20:55:02.532299 30220 Compression algorithms supported:\n";
        let options = of_log(log);
        let pairs: Vec<(&str, &str)> =
            options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            pairs,
            [("LOG Options.compression[]", "LZ4:ZSTD"), ("LOG Options.delayed_write_rate", "8388608")]
        );
    }

    #[test]
    fn the_block_cache_is_read_from_the_log() {
        let log = "2026/11/21-10:15:09.461997 15498 table_factory options:   flush: X (0x55)\n\
                   \x20 block_cache: 0x5586e5c2e6e0\n  block_cache_options:\n    capacity : 536870912\n\
                   2026/11/21-10:15:09.462003 15498 Options.write_buffer_size: 16777216\n";
        let options = table_options(log);
        assert_eq!(options.get("LOG capacity").map(String::as_str), Some("536870912"));
        assert!(!options.contains_key("LOG block_cache"));
        assert_eq!(options.len(), 2);
    }
}
