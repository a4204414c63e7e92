//! A data image made cheaply: sorted files written by several threads, then ingested into the last level.
//!
//! The result is what a full compaction leaves: one sorted run, nothing in memtables or level 0. Each seed
//! has other values and cuts its files elsewhere, so that launches do not all measure one layout.

use super::api::Api;
use super::database::{Database, EngineError, Options, c_string, checked};
use super::file_writer::FileWriter;
use crate::keys::{KeyBytes, Stream, below, generator};
use crate::values::Values;
use model::workload::DataSet;
use std::ffi::CString;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Target size of a file: RocksDB's default `target_file_size_base`. Cuts vary below it by up to a quarter.
const FILE_BYTES: u64 = 64 << 20;

/// What to write.
pub struct ImagePlan<'a> {
    pub data: DataSet,
    /// Seed of values and cuts.
    pub seed: u64,
    /// Threads that write files.
    pub threads: u32,
    /// Where files lie until they are ingested: the file system of the database, so that a link suffices.
    pub scratch: &'a Path,
}

/// Writes all keys into an empty database.
pub fn bulk_load(
    api: &Api,
    database: &Database,
    options: &Options,
    plan: &ImagePlan<'_>,
) -> Result<(), EngineError> {
    let files: Vec<(PathBuf, Range<u64>)> = cuts(&plan.data, plan.seed)
        .into_iter()
        .enumerate()
        .map(|(index, keys)| (plan.scratch.join(format!("{index:06}.sst")), keys))
        .collect();
    let shared = SharedOptions(options);
    let threads = usize::try_from(plan.threads.max(1)).unwrap_or(1);
    let results: Vec<Result<(), EngineError>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..threads)
            .map(|thread| {
                let (files, shared) = (&files, &shared);
                scope.spawn(move || {
                    files.iter().enumerate().skip(thread).step_by(threads).try_for_each(
                        |(index, (path, keys))| {
                            let seed = plan.seed.wrapping_add(index as u64);
                            write_file(api, shared.get(), path, keys.clone(), &plan.data, seed)
                        },
                    )
                })
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap_or_else(|_| Err(EngineError("a writer panicked".into()))))
            .collect()
    });
    results.into_iter().collect::<Result<(), EngineError>>()?;
    ingest(database, files.iter().map(|(path, _)| path.as_path()))
}

/// The key range of each file.
fn cuts(data: &DataSet, seed: u64) -> Vec<Range<u64>> {
    let row_bytes = (data.key_bytes + data.value_bytes) as u64;
    // At least two files for two writers, however small the data set is.
    let most = (FILE_BYTES / row_bytes).clamp(1, data.keys.div_ceil(2).max(1));
    let mut random = generator(seed, Stream::FileCuts);
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < data.keys {
        let length = (most - below(&mut random, most / 4 + 1)).max(1);
        let end = (start + length).min(data.keys);
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// Options that several writers read at once.
struct SharedOptions<'a>(&'a Options);

// SAFETY: the writers only read the options; RocksDB copies them when a writer is created.
unsafe impl Sync for SharedOptions<'_> {}

impl SharedOptions<'_> {
    fn get(&self) -> &Options {
        self.0
    }
}

fn write_file(
    api: &Api,
    options: &Options,
    path: &Path,
    keys: Range<u64>,
    data: &DataSet,
    seed: u64,
) -> Result<(), EngineError> {
    let mut writer = FileWriter::open(api, options, path)?;
    let mut key_bytes = KeyBytes::new(data.key_bytes);
    let mut values = Values::new(seed, data.value_bytes, data.value_compressible_percent);
    for number in keys {
        writer.put(key_bytes.of(number), values.next())?;
    }
    writer.finish()
}

fn ingest<'a>(database: &Database, files: impl Iterator<Item = &'a Path>) -> Result<(), EngineError> {
    let functions = database.functions();
    let names: Vec<CString> =
        files.map(|path| c_string(&path.to_string_lossy())).collect::<Result<_, _>>()?;
    let pointers: Vec<*const std::ffi::c_char> = names.iter().map(|name| name.as_ptr()).collect();
    // SAFETY: names and pointers outlive the call; the options are destroyed after it.
    unsafe {
        let options = (functions.ingestoptions_create)();
        (functions.ingestoptions_set_move_files)(options, 1);
        let ingested = checked(functions, |error| {
            (functions.ingest_external_file)(
                database.handle(),
                pointers.as_ptr(),
                pointers.len(),
                options,
                error,
            );
        });
        (functions.ingestoptions_destroy)(options);
        ingested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_cover_every_key_once_and_differ_by_seed() {
        let data = DataSet { keys: 500_000, key_bytes: 20, value_bytes: 400, value_compressible_percent: 50 };
        let first = cuts(&data, 1);
        assert_eq!(first[0].start, 0);
        assert_eq!(first[first.len() - 1].end, data.keys);
        assert!(first.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(first.len() >= 2);
        assert_ne!(first, cuts(&data, 2));
        let tiny = DataSet { keys: 1, ..data };
        assert_eq!(cuts(&tiny, 1), std::slice::from_ref(&(0..1)));
    }
}
